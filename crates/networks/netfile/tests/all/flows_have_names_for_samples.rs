//! The key `flows` of `[measure]`: flows by number, by app, and by patterns.

use crate::common::{self, built, error, file};
use parades_core::prelude::Model;
use parades_netfile::explicit;

/// Two apps: `video` with the flows 0 and 1, and `bulk` with the flow 2.
fn text(measure: &str) -> String {
    format!(
        r#"
network = "flows"
until = "1s"
nodes = ["a", "b", "c"]
[defaults]
rate = "10Mbps"
delay = "10ms"
[[link]]
from = "a"
to = "b"
[[link]]
from = "b"
to = "c"
[[app]]
name = "video"
kind = "constant"
rate = "1Mbps"
from = ["a", "b"]
to = "c"
[[app]]
name = "bulk"
kind = "tcp"
size = "1MB"
from = "a"
to = "c"
[measure]
{measure}
"#
    )
}

/// The goodput series of flows.
fn sampled(measure: &str) -> Vec<String> {
    let metrics = built(&text(measure)).model.metrics();
    metrics.iter().filter_map(|(name, ..)| name.strip_prefix("flow_goodput_").map(str::to_owned)).collect()
}

#[test]
fn flows_are_named_by_their_number_by_their_app_and_by_patterns() {
    for (flows, expected) in [
        ("'bulk#2'", &["bulk#2"][..]),
        ("['video#1', 'bulk#2']", &["video#1", "bulk#2"]),
        ("'video'", &["video#0", "video#1"]),
        ("['*', 'video']", &["video#0", "video#1", "bulk#2"]),
        ("'*#1'", &["video#1"]),
    ] {
        assert_eq!(sampled(&format!("every = \"100ms\"\nflows = {flows}")), expected);
    }
    assert_eq!(sampled("every = \"100ms\""), [""; 0]);
}

#[test]
fn unknown_flows_get_a_suggestion_and_samples_need_a_period() {
    let wrong = error(&text("every = \"100ms\"\nflows = \"video#2\""));
    assert!(wrong.contains("there is no flow `video#2`"), "{wrong}");
    assert!(wrong.contains("did you mean `video#"), "{wrong}");
    let wrong = error(&text("flows = \"video\""));
    assert!(wrong.contains("`flows` are sampled, but nothing says how often"), "{wrong}");
}

#[test]
fn sampled_flows_are_written_out() {
    let file = file(&text("every = \"100ms\"\nflows = [\"bulk\", \"video#0\"]"));
    let (description, until, _) = file.describe(&file.parameters(), 1).expect("it is right");
    assert_eq!(description.measure.flows, [0, 2]);
    let written = explicit("flows", &file.settings(&file.parameters()).expect("it is right"), until, &description);
    let again = common::file(&written);
    assert_eq!(again.describe(&again.parameters(), 1).expect("it is right").0, description);
}
