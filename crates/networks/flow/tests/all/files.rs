//! Each part of a platform file or a pattern file is applied, or named in a note.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::metrics::Cell;
use parades_core::prelude::*;
use parades_core::run::Outcome;
use parades_engine::sequential;
use parades_flow::flows::Flows;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::platform::Platform;
use parades_flow::{pattern, toml_form, xml};

const CM02: NetworkModel = NetworkModel::MaxMin(MaxMinModel::CM02);

fn read(text: &str) -> Platform {
    xml::parse("test.xml".as_ref(), text.as_bytes()).unwrap()
}

/// A platform with this content before its only zone.
fn platform(before: &str, zone: &str) -> Platform {
    read(&format!(r#"<platform version="4.1">{before}<zone id="world" routing="Full">{zone}</zone></platform>"#))
}

fn outcome(platform: Platform, lines: &str, model: NetworkModel, until: Time) -> Outcome {
    let flows = pattern::parse("test.pat".as_ref(), lines.as_bytes(), &platform, model).unwrap();
    sequential::run(&Flows::new(platform, flows, model), RunOptions::until(until)).unwrap()
}

fn end_cells(outcome: &Outcome) -> Vec<Cell> {
    let table = outcome.metrics.get("flows").and_then(|metric| metric.table()).unwrap();
    table.rows().into_iter().map(|row| row[2].clone()).collect()
}

/// Returns the ends of the flows in seconds.
fn ends(platform: Platform, lines: &str, model: NetworkModel) -> Vec<f64> {
    let outcome = outcome(platform, lines, model, Time::MAX);
    assert_eq!(outcome.metrics.incomplete(), None);
    let seconds = |cell: Cell| match cell {
        Cell::Integer(ps) => Time::from_ps(ps).as_secs_f64(),
        other => panic!("{other:?} is no end"),
    };
    end_cells(&outcome).into_iter().map(seconds).collect()
}

fn assert_close(end: f64, expected: f64) {
    assert!((end / expected - 1.0).abs() < 1e-9, "{end} is not {expected}");
}

const PAIR: &str = r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
    <link id="l" bandwidth="100MBps" latency="20ms"/><route src="a" dst="b"><link_ctn id="l"/></route>"#;

#[test]
fn settings_of_config_are_applied() {
    let config = r#"<config id="g"><prop id="network/TCP-gamma" value="40000"/><prop id="network/crosstraffic" value="no"/>
        <prop id="network/latency_factor" value="2"/><prop id="network/bandwidth-factor" value="0.5"/></config>"#;
    let platform = platform(config, PAIR);
    assert!(platform.notes().is_empty(), "{:?}", platform.notes());
    let model = platform.settings().network_model(Delay::ZERO);
    // By hand: twice the latency, then half of the window of 40 kB a round trip of 40 ms.
    assert_close(ends(platform, "0 a b 1e6 0", model)[0], 0.04 + 1e6 / (0.5 * 1e6));
}

#[test]
fn a_config_may_choose_the_model_and_the_loopback() {
    let config =
        r#"<config><prop id="network/model" value="CM02"/><prop id="network/loopback-bw" value="1MBps"/></config>"#;
    let platform = platform(config, PAIR);
    let model = platform.settings().network_model(Delay::ZERO);
    assert_eq!(model, CM02);
    assert_close(ends(platform, "0 a a 1e6 0", model)[0], 1.0);
}

#[test]
fn an_unknown_model_is_an_error_unless_another_is_chosen() {
    let platform = platform("<config>\n<prop id=\"network/model\" value=\"SMPI\"/></config>", PAIR);
    assert_eq!(
        platform.model_refusal().unwrap().to_string(),
        "test.xml:2:1: the value `SMPI` of the setting `network/model` is none of the models CM02, LV08, LV08-noct, \
         constant; choose a model by a parameter of the scenario"
    );
    assert_close(ends(platform, "0 a a 1e10 0", CM02)[0], 1.0);
}

#[test]
fn what_has_no_effect_is_named_once_for_each_kind() {
    let text = r#"<platform version="4.1">
<config><prop id="contexts/stack-size" value="16"/></config>
<zone id="world" routing="Full"><prop id="owner" value="me"/>
<host id="a" speed="1Gf,2Gf" core="2"><disk id="d" read_bw="1MBps" write_bw="1MBps"><prop id="x" value="y"/></disk></host>
<host id="b" speed="1Gf" core="4" coordinates="1 2 3"><prop id="p" value="q"/></host>
<link id="l" bandwidth="1MBps"><prop id="p" value="q"/></link>
<trace id="unused" periodicity="1">0 1</trace>
</zone>
<actor host="a" function="f"><argument value="1"/></actor></platform>"#;
    let expected = [
        "test.xml:2:9: the setting `contexts/stack-size` of <config> has no effect on flows",
        "test.xml:3:33: the element `prop` has no effect on flows (4 times in the file)",
        "test.xml:4:1: several cores of a host have no effect on flows (2 times in the file)",
        "test.xml:4:1: several speeds of a host have no effect on flows",
        "test.xml:4:39: a disk of a host has no effect on flows",
        "test.xml:5:1: coordinates in a zone whose routing is not Vivaldi have no effect on flows",
        "test.xml:9:1: the element `actor` has no effect on flows",
        "test.xml:7:1: a <trace> is connected to nothing",
    ];
    let platform = read(text);
    let mut notes = platform.notes().to_vec();
    let mut expected: Vec<String> = expected.map(str::to_owned).to_vec();
    // A platform in TOML is read by the same builder.
    let toml = "[zone]\nname = \"w\"\nrouting = \"Full\"\nhost = [{ name = \"a\", speed = \"1Gf\", cores = 2 }]";
    let platform_toml = toml_form::parse("test.toml".as_ref(), toml.as_bytes()).unwrap();
    assert_eq!(platform_toml.notes(), ["test.toml:4:9: several cores of a host have no effect on flows"]);
    // The order is that of the first places, but for what is known at the end only.
    notes.sort();
    expected.sort();
    assert_eq!(notes, expected);
}

#[test]
fn the_notes_on_a_file_of_many_kinds_are_few() {
    let settings: String = (0..1000).map(|number| format!(r#"<prop id="my/{number}" value="1"/>"#)).collect();
    let platform = platform(&format!("<config>{settings}</config>"), PAIR);
    assert_eq!(platform.notes().len(), 30);
    assert!(platform.notes()[29].ends_with("(971 times in the file)"), "{}", platform.notes()[29]);
}

#[test]
fn names_from_files_are_shown_escaped_and_shortened() {
    let long = "n".repeat(500);
    let text = format!(
        r#"<platform version="4.1"><zone id="w" routing="Full"><host id="&#x202e;a" speed="1Gf"/><host id="{long}" speed="1Gf"/>
        <link id="l" bandwidth="1MBps"/></zone><config><prop id="&#x9b;31m&#x7f;" value="1"/></config></platform>"#
    );
    let platform = read(&text);
    let mut said = platform.notes().join("\n");
    for line in ["1 a\u{202e} b 1 0", &format!("1 \u{202e}a {long} 1 0"), &format!("1 {long}n b 1 0")] {
        said += &pattern::parse("a\u{1b}.pat".as_ref(), line.as_bytes(), &platform, CM02).unwrap_err().to_string();
    }
    assert!(said.contains("\\u{202e}") && said.contains("\\u{9b}31m\\u{7f}"), "{said}");
    assert!(!said.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{said:?}");
    assert!(!said.contains(&"n".repeat(100)), "{said}");
}

#[test]
fn version_3_is_read_with_its_attributes() {
    let text = |state: &str| {
        format!(
            r#"<platform version="3"><AS id="AS0" routing="Full">
            <host id="a" power="98095000" availability="0.5" state="ON"/><host id="b" power="1E9"/><host id="c" power="1E9" state="{state}"/>
            <link id="l" bandwidth="10000000" latency="0.001" sharing_policy="FULLDUPLEX" state="ON"/>
            <route src="a" dst="b"><link_ctn id="l" direction="UP"/></route><route src="a" dst="c"><link_ctn id="l" direction="UP"/></route>
            </AS></platform>"#
        )
    };
    let platform = read(&text("ON"));
    let a = platform.host("a").unwrap();
    assert_close(platform.hosts()[a.0 as usize].speed(), 98_095_000.0);
    assert_eq!(platform.notes(), ["test.xml:2:13: the availability of a host has no effect on flows"]);
    // Bytes per second and seconds; both directions have a link of their own.
    assert_close(ends(platform, "1 a b 1e6 0\n2 b a 1e6 0", CM02)[0], 0.001 + 1e6 / (10e6 / 1.05));
    let failed = outcome(read(&text("OFF")), "1 a c 1e6 0", CM02, Time::MAX);
    assert_eq!(end_cells(&failed), [Cell::Empty]);
    // Such attributes belong to version 3 alone.
    for attribute in [r#"power="1""#, r#"speed="1" state="ON""#] {
        let text = format!(
            r#"<platform version="4.1"><zone id="z" routing="Full"><host id="a" {attribute}/></zone></platform>"#
        );
        assert!(xml::parse("test.xml".as_ref(), text.as_bytes()).is_err(), "{attribute}");
    }
}

#[test]
fn the_constant_model_needs_no_routes() {
    let text = r#"<platform version="4.1"><zone id="w" routing="None"><host id="a" speed="1"/><host id="b" speed="1"/></zone></platform>"#;
    let constant = NetworkModel::Constant(Delay::from_ms(3));
    assert_close(ends(read(text), "0 a b 5e9 4", constant)[0], 4.003);
    assert!(pattern::parse("test.pat".as_ref(), b"0 a b 1 0", &read(text), CM02).is_err());
}

#[test]
fn names_with_blanks_are_quoted_or_clear_from_the_hosts() {
    let hosts = r#"<host id="Node 1" speed="1Gf"/><host id="Node 1 b" speed="1Gf"/><host id="b" speed="1Gf"/><host id="it's" speed="1Gf"/>
        <link id="l" bandwidth="1MBps"/>"#;
    let routes: String = [("Node 1", "b"), ("Node 1 b", "b"), ("Node 1", "it's"), ("Node 1 b", "Node 1")]
        .map(|(src, dst)| format!(r#"<route src="{src}" dst="{dst}"><link_ctn id="l"/></route>"#))
        .concat();
    let platform = platform("", &format!("{hosts}{routes}"));
    let flow = |line: &str| {
        let flows = pattern::parse("test.pat".as_ref(), line.as_bytes(), &platform, CM02);
        let name = |host: parades_flow::platform::HostId| platform.hosts()[host.0 as usize].name.to_string();
        flows.map(|flows| (name(flows[0].source), name(flows[0].destination))).map_err(|error| error.to_string())
    };
    let pair = |one: &str, other: &str| Ok((one.to_owned(), other.to_owned()));
    assert_eq!(flow(r#"1 "Node 1" b 1 0"#), pair("Node 1", "b"));
    assert_eq!(flow(r#""my flow" 'Node 1' "it's" 1 0"#), pair("Node 1", "it's"));
    assert_eq!(flow("1 Node 1 b Node 1 1 0"), pair("Node 1 b", "Node 1"));
    // `Node 1` and `b b`, or `Node 1 b` and `b`: only the second pair exists.
    assert_eq!(flow("1 Node 1 b b 1 0"), pair("Node 1 b", "b"));
    let quotes = "write `id source destination bytes start_s`, and put a name with blanks between quotes";
    assert_eq!(
        flow("1 Node 2 b 1 0"),
        Err(format!("test.pat:1:1: the line has 6 words, and a flow has five; {quotes}"))
    );
    assert!(flow(r#"1 "Node 1 b 1 0"#).unwrap_err().contains("the quote \" is not closed"));
    assert!(flow(r#"1 "Node 1"b 1 0"#).unwrap_err().contains("a letter follows a closing quote"));
}

#[test]
fn a_way_to_a_gateway_that_a_full_zone_does_not_declare_takes_no_links() {
    let text = r#"<platform version="4.1"><zone id="world" routing="Full">
        <zone id="left" routing="Full"><host id="a" speed="1Gf"/><host id="a2" speed="1Gf"/><router id="exit"/></zone>
        <zone id="right" routing="Full"><host id="b" speed="1Gf"/></zone>
        <link id="between" bandwidth="1MBps" latency="5ms"/>
        <zoneRoute src="left" dst="right" gw_src="exit" gw_dst="b"><link_ctn id="between"/></zoneRoute></zone></platform>"#;
    let platform = read(text);
    let host = |name| platform.host(name).unwrap();
    let route = platform.route(host("a"), host("b")).unwrap();
    assert_eq!((route.links, route.latency_s), (vec![platform.link("between").unwrap()], 0.005));
    // A route that has no links at all is none.
    assert!(platform.route(host("a"), host("a2")).is_err());
}

#[test]
fn what_lies_beyond_virtual_time_is_said_and_the_results_are_kept() {
    let slow = r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="1Bps"/>
        <route src="a" dst="b"><link_ctn id="l"/></route>"#;
    for (lines, flows) in [
        ("0 a b 2e7 0\n1 b a 1e3 0", "the flow `0` from `a` to `b` has not ended"),
        ("1 b a 1e3 0\n2 a b 1 2e7\n3 a b 1 3e7", "2 flows have not ended, the first of them `2` from `a` to `b`"),
    ] {
        let outcome = outcome(platform("", slow), lines, CM02, Time::MAX);
        let why = outcome.metrics.incomplete().unwrap();
        assert_eq!(
            why,
            format!(
                "virtual time ends after 18446744 s (213 days), and {flows}; \
                 end the run earlier, or let the flows take less time"
            )
        );
        assert!(end_cells(&outcome).iter().any(|cell| *cell != Cell::Empty), "no results of {lines}");
    }
}

#[test]
fn what_lies_beyond_the_end_of_a_run_is_no_error() {
    let slow = r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="1Bps"/>
        <route src="a" dst="b"><link_ctn id="l"/></route>"#;
    let until = Time::try_from_secs_f64(100.0).unwrap();
    let outcome = outcome(platform("", slow), "0 a b 2e7 0\n1 a b 1 2e7", CM02, until);
    assert_eq!((outcome.metrics.incomplete(), outcome.end), (None, until));
    assert_eq!(end_cells(&outcome), [Cell::Empty, Cell::Empty]);
}
