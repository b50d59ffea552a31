//! Tables and series by the names that users write.

use crate::metrics::name as full_name;
use parades_config::{nearest, quoted};
use parades_core::metrics::{MetricValue, Metrics, Unit};
use parades_session::Failure;

/// Returns the table or series of this name. A name may leave out its unit, and have blanks for underscores.
///
/// # Errors
///
/// [`Failure::Input`] where there is none of this name, with the nearest name.
pub fn table_named<'a>(metrics: &'a Metrics, wanted: &str) -> Result<(&'a str, Unit, &'a MetricValue), Failure> {
    let is_table = |value: &MetricValue| matches!(value, MetricValue::Table(_) | MetricValue::Series(_));
    let tables = || metrics.iter().filter(|(_, _, value)| is_table(value));
    let is_wanted = |name: &str, unit| {
        let plain = wanted.replace(' ', "_");
        [name.to_owned(), full_name(name, unit)].iter().any(|name| *name == wanted || *name == plain)
    };
    tables().find(|&(name, unit, _)| is_wanted(name, unit)).ok_or_else(|| {
        let names: Vec<&str> = tables().map(|(name, ..)| name).collect();
        let message = format!("--table {wanted}: there is no table {} in this run", quoted(wanted));
        let help = match (nearest(wanted, names.iter().copied()), &names[..]) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "this scenario has no tables".to_owned(),
            (None, names) => format!("choose one of {}", names.join(", ")),
        };
        Failure::usage(message, help)
    })
}
