//! The flows that are sampled one by one: the key `flows` of `[measure]`.

use crate::draft::select;
use crate::given::Fields;
use parades_config::ConfigError;
use parades_packet::description::App;
use parades_packet::flow;
use std::collections::BTreeMap;

/// The largest number of flows that are sampled one by one. Each has up to six series.
const SAMPLED_MAX: usize = 10_000;

/// Returns the numbers of the flows that the key names.
pub(crate) fn sampled(fields: &Fields<'_>, apps: &[App]) -> Result<Vec<u32>, ConfigError> {
    let mut patterns = fields.texts("flows")?;
    if patterns.is_empty() {
        return Ok(Vec::new());
    }
    for (pattern, _) in &mut patterns {
        if apps.iter().any(|app| app.name == *pattern) {
            pattern.push_str("#*");
        }
    }
    let of_app = apps.iter().flat_map(|app| app.flows.iter().map(|_| &app.name));
    let names: Vec<String> = (0..).zip(of_app).map(|(number, app)| flow::name(app, number)).collect();
    let numbers: BTreeMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let all = || names.iter().map(String::as_str);
    let flows = select(fields.reader, "flow", &patterns, all, |name| numbers.get(name).copied())?;
    if flows.len() > SAMPLED_MAX {
        let message = format!("`flows` names {} flows, more than {SAMPLED_MAX}", flows.len());
        return Err(fields.wrong("flows", message, "sample fewer of them"));
    }
    Ok(flows)
}
