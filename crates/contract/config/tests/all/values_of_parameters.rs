//! Values from the command line are checked against the declaration, and remember where they were set.

use parades_config::{Json, Parameter, Place, Value, Values};
use parades_core::time::Delay;
use std::path::PathBuf;

const DELAYS: &[&str] = &["exponential", "uniform", "constant"];

const PARAMETERS: &[Parameter] = &[
    Parameter::integer("lps", 1024, 1..=4_000_000_000, "logical processes"),
    Parameter::integer("salt", 0, 0..=u64::MAX, "folded into the digest"),
    Parameter::integer("trees", 1, 1..=u64::MAX, "trees"),
    Parameter::fraction("remote", 0.1, "share of remote events"),
    Parameter::float("load", 0.5, 0.0..=f64::INFINITY, "offered load").positive(),
    Parameter::float("offset", 0.0, -1.5..=1.5, "offset"),
    Parameter::duration("lookahead", Delay::from_ms(500), "least delay").with_default_unit("s"),
    Parameter::duration("period", Delay::from_secs(20), "stabilisation period").positive(),
    Parameter::size("payload", 32, "bytes carried").with_default_unit("B"),
    Parameter::rate("link", 10_000_000, "rate of a link").positive(),
    Parameter::boolean("share", false, "whether data are shared"),
    Parameter::choice("delay", "exponential", DELAYS, "distribution of the delay"),
    Parameter::text("note", "", "carried along"),
    Parameter::path("topology", "a GraphML file"),
];

fn values() -> Values {
    Values::new("phold", PARAMETERS)
}

fn set(assignment: &str) -> Values {
    let mut values = values();
    values.set_argument("--set", assignment).expect("a right assignment");
    values
}

fn wrong(assignment: &str) -> String {
    values().set_argument("--set", assignment).expect_err("a wrong assignment").to_string()
}

#[test]
fn defaults_hold_until_something_is_set() {
    let values = values();
    assert_eq!(values.integer("lps"), 1024);
    assert_eq!(values.float("remote").to_bits(), 0.1_f64.to_bits());
    assert_eq!(values.duration("lookahead"), Delay::from_ms(500));
    assert_eq!(values.size("payload"), 32);
    assert_eq!(values.rate("link"), 10_000_000);
    assert!(!values.boolean("share"));
    assert_eq!(values.choice("delay"), "exponential");
    assert_eq!(values.text("note"), "");
    assert_eq!(values.path("topology"), None);
    assert!(PARAMETERS.iter().all(|parameter| !values.is_set(parameter.key())));
}

#[test]
fn every_kind_is_set_from_text() {
    assert_eq!(set("lps=1e6").integer("lps"), 1_000_000);
    assert_eq!(set("lps=16_384").integer("lps"), 16_384);
    assert_eq!(set("salt=18446744073709551615").integer("salt"), u64::MAX);
    assert_eq!(set("remote=7%").float("remote").to_bits(), 0.07_f64.to_bits());
    assert_eq!(set("offset=-1.5").float("offset").to_bits(), (-1.5_f64).to_bits());
    assert_eq!(set("lookahead=0.001").duration("lookahead"), Delay::from_ms(1));
    assert_eq!(set("lookahead=2ms").duration("lookahead"), Delay::from_ms(2));
    assert_eq!(set("payload=1KiB").size("payload"), 1024);
    assert_eq!(set("payload=100").size("payload"), 100);
    assert_eq!(set("link=2Gbps").rate("link"), 2_000_000_000);
    assert!(set("share=true").boolean("share"));
    assert_eq!(set("delay=constant").choice("delay"), "constant");
    assert_eq!(set("note=a=b, c").text("note"), "a=b, c");
    assert_eq!(set("topology=a.graphml").path("topology"), Some(PathBuf::from("a.graphml")));
}

#[test]
fn a_later_assignment_replaces_an_earlier_one() {
    let mut values = set("lps=2");
    values.set_argument("--set", "lps=3").expect("a right assignment");
    assert_eq!(values.integer("lps"), 3);
    assert_eq!(values.place("lps"), Some(Place::Argument("--set lps=3".to_owned())));
}

#[test]
fn a_wrong_assignment_changes_nothing() {
    let mut values = set("lps=2");
    values.set_argument("--set", "lps=0").expect_err("a wrong assignment");
    assert_eq!(values, set("lps=2"));
}

#[test]
fn the_error_of_a_value_out_of_range_gives_the_range() {
    assert_eq!(wrong("remote=1.5"), "--set remote=1.5: `remote` must be between 0 and 1, not 1.5");
    assert_eq!(wrong("remote=101%"), "--set remote=101%: `remote` must be between 0 and 1, not 101%");
    assert_eq!(wrong("lps=0"), "--set lps=0: `lps` must be between 1 and 4000000000, not 0");
    assert_eq!(wrong("lps=-5"), "--set lps=-5: `lps` must be between 1 and 4000000000, not -5");
    assert_eq!(wrong("trees=0"), "--set trees=0: `trees` must be at least 1, not 0");
    assert_eq!(wrong("trees=-2"), "--set trees=-2: `trees` must be at least 1, not -2");
    assert_eq!(wrong("trees=1e30"), "--set trees=1e30: `trees` must be below 2^64, not 1e30");
    assert_eq!(wrong("offset=2"), "--set offset=2: `offset` must be between -1.5 and 1.5, not 2");
    assert_eq!(wrong("load=-1"), "--set load=-1: `load` must be at least 0, and finite, not -1");
    assert_eq!(wrong("load=1e999"), "--set load=1e999: `load` must be at least 0, and finite, not 1e999");
    assert_eq!(wrong("load=0"), "--set load=0: `load` must be above 0, not 0");
    assert_eq!(wrong("period=0s"), "--set period=0s: `period` must be above 0, not 0s");
    assert_eq!(wrong("link=0bps"), "--set link=0bps: `link` must be above 0, not 0bps");
}

#[test]
fn text_that_is_not_a_value_of_the_kind_is_refused() {
    assert_eq!(wrong("lps=many"), "--set lps=many: `lps` must be a whole number, not `many`");
    assert_eq!(wrong("lps=1.5"), "--set lps=1.5: `lps` must be a whole number, not 1.5");
    assert_eq!(wrong("lps="), "--set lps=: `lps` must be a whole number, not ``");
    assert_eq!(wrong("remote=nan"), "--set remote=nan: `remote` must be a number, not `nan`");
    assert_eq!(wrong("load=inf"), "--set load=inf: `load` must be a number, not `inf`");
    assert_eq!(wrong("load=5%"), "--set load=5%: `load` must be a number, not `5%`");
    assert_eq!(wrong("share=yes"), "--set share=yes: `share` must be `true` or `false`, not `yes`");
    assert_eq!(
        wrong("delay=exponental"),
        "--set delay=exponental: `delay` must be exponential, uniform or constant, not `exponental`; \
         did you mean `exponential`?"
    );
    assert_eq!(
        wrong("period=10"),
        "--set period=10: `period`: `10` has no unit; a duration's units are ps, ns, us, ms, s, min, h and d, as in `10s`"
    );
}

#[test]
fn an_unknown_key_suggests_the_nearest_or_lists_all() {
    assert_eq!(wrong("lokahead=1"), "--set lokahead=1: phold has no key `lokahead`; did you mean `lookahead`?");
    assert_eq!(wrong("LPs=1"), "--set LPs=1: phold has no key `LPs`; did you mean `lps`?");
    assert_eq!(
        wrong("zz=1"),
        "--set zz=1: phold has no key `zz`; its keys are lps, salt, trees, remote, load, offset, lookahead, period, \
         payload, link, share, delay, note and topology"
    );
    let error = Values::new("empty", &[]).set_argument("--tune", "a=1").unwrap_err();
    assert_eq!(error.to_string(), "--tune a=1: empty has no key `a`; it has none");
    assert_eq!(wrong("lps"), "--set lps: `lps` is not KEY=VALUE; write for example `--set lps=1024`");
}

#[test]
fn errors_stay_one_short_line_whatever_was_typed() {
    let long = "x".repeat(10_000_000);
    for assignment in
        [format!("lps={long}"), format!("{long}=1"), long.clone(), format!("lps={}", "9".repeat(1_000_000))]
    {
        assert!(wrong(&assignment).chars().count() < 400);
    }
    assert_eq!(
        wrong("lps=\u{1b}[31m\n\u{202e}x"),
        "--set lps=\\u{1b}[31m\\n\\u{202e}x: `lps` must be a whole number, not `\\u{1b}[31m\\n\\u{202e}x`"
    );
}

#[test]
fn the_error_of_a_check_by_the_scenario_points_at_the_origin() {
    let message = "`lookahead` is above the mean delay";
    assert_eq!(
        set("lookahead=2").error_at("lookahead", message, "lower it").to_string(),
        "--set lookahead=2: `lookahead` is above the mean delay; lower it"
    );
    assert_eq!(
        values().error_at("lookahead", message, "lower it").to_string(),
        "`lookahead` is above the mean delay (`lookahead` is 500ms by default); lower it"
    );
    assert_eq!(
        values().error_at("topology", "there is no topology", "name a GraphML file").to_string(),
        "there is no topology (`topology` is not set); name a GraphML file"
    );
}

#[test]
fn a_preset_replaces_defaults_and_nothing_else() {
    let mut values = set("lps=7");
    values.preset("lps", "100");
    values.preset("period", "30s");
    assert_eq!(values.integer("lps"), 7);
    assert_eq!(values.duration("period"), Delay::from_secs(30));
    assert!(!values.is_set("period"));
}

#[test]
fn canonical_text_reads_back_as_the_same_values() {
    let mut once = values();
    let assignments = ["remote=0.30000000000000004", "lookahead=1.5ms", "payload=4096", "link=1.5Mbps", "load=1e-300"];
    for assignment in assignments {
        once.set_argument("--set", assignment).expect("a right assignment");
    }
    let mut twice = values();
    for (parameter, value) in once.iter() {
        twice.set_argument("--set", &format!("{}={value}", parameter.key())).expect("canonical text");
    }
    assert_eq!(once, twice);
    assert_ne!(once, values());
    assert_eq!(once.get("link").map(Value::to_string).as_deref(), Some("1500kbps"));
}

#[test]
fn json_has_numbers_where_there_is_a_default_unit_and_keeps_the_declared_order() {
    let json = serde_json::to_string(&set("lookahead=250ms")).expect("plain values");
    assert_eq!(
        json,
        r#"{"lps":1024,"salt":0,"trees":1,"remote":0.1,"load":0.5,"offset":0.0,"lookahead":0.25,"period":"20s","payload":32,"link":"10Mbps","share":false,"delay":"exponential","note":"","topology":null}"#
    );
    let lookahead = PARAMETERS.iter().find(|parameter| parameter.key() == "lookahead").expect("declared above");
    assert_eq!(lookahead.json(&Value::Duration(Delay::from_secs(3))), Json::Integer(3));
    assert_eq!(lookahead.accepts(), "duration; a number alone counts in s");
}

#[test]
#[should_panic(expected = "phold declares no `nodes`")]
fn asking_for_an_undeclared_key_is_a_mistake_of_the_scenario() {
    values().integer("nodes");
}

#[test]
#[should_panic(expected = "phold declares `lps`, but not as a duration")]
fn asking_for_another_kind_is_a_mistake_of_the_scenario() {
    values().duration("lps");
}
