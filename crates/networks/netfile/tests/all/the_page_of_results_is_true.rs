//! `docs/network-results.md` defines every metric and every column of network files.

use crate::common::built;
use parades_core::metrics::MetricValue;
use parades_core::prelude::Model;
use std::collections::BTreeSet;
use std::path::Path;

/// A network with apps of every kind, a failure, a group, and series of everything.
const EVERYTHING: &str = r#"
network = "everything"
until = "1s"
nodes = ["a", "b", "c"]
link = [{ from = "a", to = ["b", "c"], rate = "10Mbps", delay = "1ms" }]
app = [
    { name = "app1", kind = "constant", from = "a", to = "b", rate = "100kbps" },
    { name = "app2", kind = "transfer", from = "a", to = "b", size = "10kB" },
    { name = "app3", kind = "request-response", from = "a", to = "b", response = "10kB" },
    { name = "app4", kind = "tcp", from = "a", to = "b", size = "10kB" },
    { name = "app5", kind = "constant", from = "a", to = ["b", "c"], rate = "100kbps", multicast = true },
]
event = [{ at = "500ms", link = "a-b", state = "down", for = "10ms" }]
measure = { every = "100ms", links = "a-b", apps = "app4", flows = "app4", percentiles = true }
"#;

/// Returns the words in backticks of a text.
fn words(page: &str) -> BTreeSet<&str> {
    page.split('`').skip(1).step_by(2).collect()
}

/// True if the page has the name, or the end of it (`_fast`), or its beginning (`delay_*`).
fn is_defined(name: &str, words: &BTreeSet<&str>) -> bool {
    words.iter().any(|word| match word.strip_suffix('*') {
        Some(beginning) => !beginning.is_empty() && name.starts_with(beginning),
        None => *word == name || word.len() > 2 && word.starts_with('_') && name.ends_with(word),
    })
}

#[test]
fn every_metric_and_every_column_is_defined() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/network-results.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let words = words(&page);
    let metrics = built(EVERYTHING).model.metrics();
    let mut missing = Vec::new();
    for (name, _, value) in metrics.iter() {
        let mut general = name.replace("app4#0", "FLOW").replace("app4#3", "FLOW").replace("a-b", "LINK");
        (1..=5).for_each(|app| general = general.replace(&format!("app{app}"), "APP"));
        if let MetricValue::Table(table) = value {
            let columns = table.columns().iter().map(|column| column.name.to_string());
            missing
                .extend(columns.filter(|column| !is_defined(column, &words)).map(|column| format!("{name}: {column}")));
        }
        if !words.contains(&*general) {
            missing.push(general);
        }
    }
    assert!(missing.is_empty(), "docs/network-results.md does not define {missing:?}");
    assert!(metrics.iter().count() > 40, "the network has metrics of all kinds");
    assert!(!is_defined("nothing_of_this_name", &words));
}
