//! Malformed and hostile files: each gives an error of one sentence with its place, and none a panic.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::{pattern, toml_form, xml};
use proptest::prelude::*;

const MODEL: NetworkModel = NetworkModel::MaxMin(MaxMinModel::CM02);

/// Returns the error of an XML file.
fn error(text: &str) -> String {
    let error = xml::parse("bad.xml".as_ref(), text.as_bytes()).expect_err(text).to_string();
    assert!(!error.contains('\n') && error.len() < 400, "not one sentence: {error}");
    error
}

/// Returns the error of an XML file whose zone has this content in line 2.
fn in_zone(content: &str) -> String {
    error(&format!("<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n{content}</zone></platform>"))
}

const HOSTS: &str = r#"<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="1MBps"/>"#;

/// Wrong contents of a zone, and a part of the error of each.
const MISTAKES: &[(&str, &str)] = &[
    (r#"<host id="a"/>"#, "bad.xml:2:1: <host> has no speed; add the attribute"),
    (r#"<host id="a" speed="fast"/>"#, "bad.xml:2:1: the speed of <host>, `fast`, is not a speed such as `1Gf`"),
    (r#"<host id="a" speed="1Gf" core="0"/>"#, "the host `a` has no core"),
    (r#"<host id="a" speed="1Gf" core="1.5"/>"#, "is not a whole number"),
    (r#"<host id="a" speed="1Gf" pstate="3"/>"#, "the host `a` has no state of power 3"),
    (r#"<host id="a" sped="1Gf"/>"#, "<host> has no attribute `sped`; did you mean `speed`?"),
    (r#"<host id="a" speed="1Gf"/><host id="a" speed="1Gf"/>"#, "bad.xml:2:27: the name `a` is taken"),
    (r#"<hots id="a" speed="1Gf"/>"#, "there is no element `hots` in platforms; did you mean `host`?"),
    (r#"<link id="l" bandwidth="1parsec"/>"#, "has the unit `parsec`, and a bandwidth is written as"),
    (r#"<link id="l" bandwidth="-1MBps"/>"#, "is below zero"),
    (r#"<link id="l" bandwidth="1MBps" sharing_policy="WIFI"/>"#, "is not supported"),
    (r#"<link id="l" bandwidth="1MBps" sharing_policy="MINE"/>"#, "is none of SHARED, FATPIPE"),
    (r#"<link id="l" bandwidth="1MBps"/><link id="l" bandwidth="1MBps"/>"#, "there is another link `l` before"),
    (
        r#"<link id="l" bandwidth="1MBps" latency_file="nowhere.txt"/>"#,
        "`nowhere.txt` cannot be read: No such file or directory; its",
    ),
    (r#"<zone id="y" routing="Ful"></zone>"#, "there is no routing `Ful`; did you mean `Full`?"),
    (r#"<zone id="y" routing="Wifi"></zone>"#, "the routing `Wifi` is not supported; use wired links"),
    (r#"<zone id="z" routing="Full"></zone>"#, "the name `z` is taken"),
    (r#"<host_link id="a" up="l" down="l"/>"#, "there is no host, router or zone `a`"),
    (r#"<backbone id="l" bandwidth="1MBps" latency="0"/>"#, "lies in a zone whose routing is not Cluster"),
    (r#"<peer id="p" speed="1Gf" bw_in="1MBps" bw_out="1MBps" coordinates="0 0 0"/>"#, "is not Vivaldi"),
    (r#"<trace id="t" periodicity="0">1 2 3</trace>"#, "the profile's line `1 2 3` is not a date and a value"),
    (
        r#"<trace id="t" periodicity="0">2 1
1 1</trace>"#,
        "is earlier than the one before it",
    ),
    (r#"<trace id="t" periodicity="1e-9">0 1</trace>"#, "repeats after less than"),
    (r#"<trace_connect kind="SPEED" trace="t" element="a"/>"#, "there is no trace `t`"),
    (r#"<trace_connect kind="SPED" trace="t" element="a"/>"#, "is none of SPEED"),
    ("stray text", "bad.xml:2:1: there is text between the elements"),
    ("&evil;", "the entity `evil` is not one of XML's own"),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="9-0" speed="1Gf" bw="1MBps" lat="0"/>"#,
        "`9-0` is neither a number nor a range",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0-4000000000" speed="1Gf" bw="1MBps" lat="0"/>"#,
        "lists more than",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0-4" speed="1Gf" bw="1MBps" lat="0" bb_lat="1s"/>"#,
        "comes without bb_bw",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0-4" speed="1Gf" bw="1MBps" lat="0" topology="TORUS" topo_parameters="2,3"/>"#,
        "needs 6 hosts, and its radical lists 5",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0" speed="1Gf" bw="1MBps" lat="0" topology="TORUS" topo_parameters="99999,99999,99999,99999,99999"/>"#,
        "more than",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0" speed="1Gf" bw="1MBps" lat="0" topology="TORUS" topo_parameters="0,x"/>"#,
        "are not numbers above zero",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0" speed="1Gf" bw="1MBps" lat="0" topology="FAT_TREE" topo_parameters="1"/>"#,
        "have four parts",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0" speed="1Gf" bw="1MBps" lat="0" topology="FAT_TREE" topo_parameters="2;1;1;1"/>"#,
        "as many numbers in each part",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0" speed="1Gf" bw="1MBps" lat="0" topology="FAT_TREE" topo_parameters="1;4000000000;1;1"/>"#,
        "more than",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0" speed="1Gf" bw="1MBps" lat="0" topology="DRAGONFLY" topo_parameters="9,1;1,1;2,1;1"/>"#,
        "fewer than groups",
    ),
    (
        r#"<cluster id="c" prefix="" suffix="" radical="0" speed="1Gf" bw="1MBps" lat="0" topology="DRAGONFLY" topo_parameters="9"/>"#,
        "seven numbers",
    ),
];

#[test]
fn each_mistake_in_a_zone_is_reported_with_its_place() {
    for (content, wanted) in MISTAKES {
        let error = in_zone(content);
        assert!(error.contains(wanted), "{content}\n  {error}\n  does not say: {wanted}");
        assert!(error.starts_with("bad.xml:2:") || content.contains('\n'), "{error}");
    }
}

#[test]
fn each_mistake_in_a_route_is_reported() {
    for (content, wanted) in [
        (r#"<route src="a" dst="c"><link_ctn id="l"/></route>"#, "there is no host, router or zone `c`"),
        (r#"<route src="a" dst="b"></route>"#, "the route has no link"),
        (r#"<route src="a" dst="b"><link_ctn id="m"/></route>"#, "there is no link `m` before this; declare it"),
        (
            r#"<route src="a" dst="b"><link_ctn id="l" direction="UP"/></route>"#,
            "there is no link `l` of two directions",
        ),
        (r#"<route src="a" dst="b"><link_ctn id="l" direction="LEFT"/></route>"#, "is none of UP, DOWN, NONE"),
        (r#"<route src="a" dst="b"><host id="c" speed="1Gf"/></route>"#, "`host` does not belong here"),
        (
            r#"<route src="a" dst="b"><link_ctn id="l"/></route><route src="b" dst="a"><link_ctn id="l"/></route>"#,
            "there is a route between these two",
        ),
        (r#"<route src="a" dst="z"><link_ctn id="l"/></route>"#, "`z` is a zone, which a route cannot end in"),
        (r#"<zoneRoute src="a" dst="b" gw_src="a" gw_dst="b"><link_ctn id="l"/></zoneRoute>"#, "`a` is no zone"),
        (
            r#"<link id="d" bandwidth="1MBps" sharing_policy="SPLITDUPLEX"/><route src="a" dst="b"><link_ctn id="d"/></route>"#,
            "say which: UP or DOWN",
        ),
    ] {
        let error = in_zone(&format!("{HOSTS}{content}"));
        assert!(error.contains(wanted), "{content}\n  {error}\n  does not say: {wanted}");
    }
}

#[test]
fn files_that_are_no_platforms_are_refused() {
    for (text, wanted) in [
        ("", "bad.xml:1:1: the file has no <platform> element"),
        ("<html/>", "bad.xml:1:1: the root element is `html`, not <platform>"),
        ("<platform version=\"4.1\"/>", "the file has no zone"),
        ("<platform version=\"2\"/>", "the file is of version `2`; 3, 4 and 4.1 can be read"),
        ("<platform/>", "<platform> has no version"),
        ("<platform version=\"4.1\"><host id=\"a\" speed=\"1f\"/></platform>", "this lies outside every zone"),
        ("<platform version=\"4.1\"><zone id=\"a\" routing=\"Full\">", "the file ends before `<zone>` is closed"),
        ("<platform version=\"4.1\"></zone>", "not well-formed XML"),
        ("<platform version=\"4.1\"/><platform version=\"4.1\"/>", "a second root element"),
        (
            "<platform version=\"4.1\"><zone id=\"a\" routing=\"Full\"/><zone id=\"b\" routing=\"Full\"/></platform>",
            "a second zone lies beside the outermost",
        ),
        (
            "<!DOCTYPE platform [<!ENTITY a \"b\">]><platform version=\"4.1\"/>",
            "declares entities or elements of its own",
        ),
    ] {
        let error = error(text);
        assert!(error.contains(wanted), "{error}\n  does not say: {wanted}");
    }
    let not_text = xml::parse("bad.xml".as_ref(), b"<platform\n \xff").unwrap_err();
    assert_eq!(not_text.to_string(), "bad.xml:2:2: the file is not text in UTF-8; convert it to UTF-8");
    let missing = parades_flow::read("/nowhere/at all.xml".as_ref()).unwrap_err().to_string();
    assert!(missing.starts_with("/nowhere/at all.xml: the file cannot be read"), "{missing}");
}

#[test]
fn hostile_files_end_in_one_sentence() {
    let deep = format!("<platform version=\"4.1\">{}", "<zone id=\"a\" routing=\"Full\"><prop>".repeat(1000));
    assert!(error(&deep).contains("nest more than") || error(&deep).contains("taken"));
    let zones: String = (0..100).map(|number| format!("<zone id=\"{number}\" routing=\"Full\">")).collect();
    assert!(error(&format!("<platform version=\"4.1\">{zones}")).contains("zones nest more than 64 deep"));
    let wide = format!("<platform version=\"4.1\" {}/>", "x".repeat(2 << 20));
    assert!(error(&wide).contains("longer than") || error(&wide).contains("well-formed"));
    let huge = format!("<platform version=\"{}\"/>", "4".repeat(1000));
    assert!(error(&huge).contains("…"));
    // Without bounds, the memory for the first file would grow with the square of its length, and the memory
    // for the last with its length times the number of hosts.
    let ones = vec!["1"; 170_000].join(",");
    let tree = format!(
        r#"<cluster id="c" prefix="" suffix="" radical="0" speed="1Gf" bw="1MBps" lat="0" topology="FAT_TREE" topo_parameters="170000;{ones};{ones};{ones}"/>"#
    );
    assert!(in_zone(&tree).contains("the fat tree `c` has 170000 levels, more than 32; give it fewer"));
    let speeds = vec!["1Gf"; 65].join(",");
    let wanted = "the host `0` has 65 states of power, more than 64; give it fewer";
    for (element, wanted) in [
        (format!(r#"<host id="0" speed="{speeds}"/>"#), wanted),
        (format!(r#"<cluster id="c" prefix="" suffix="" radical="0-9" speed="{speeds}" bw="1MBps" lat="0"/>"#), wanted),
    ] {
        assert!(in_zone(&element).contains(wanted), "{}", in_zone(&element));
    }
}

#[test]
fn gateways_that_lead_in_circles_give_an_error_of_one_sentence() {
    // The route from `a` to the exit gateway `y` uses the same bypass, and so on without end.
    let circle = r#"<platform version="4.1"><zone id="Z" routing="Full"><host id="a" speed="1Gf"/>
        <zone id="sub" routing="Full"><host id="x" speed="1Gf"/><host id="y" speed="1Gf"/></zone><link id="l" bandwidth="1MBps"/>
        <bypassZoneRoute src="Z" dst="sub" gw_src="y" gw_dst="x"><link_ctn id="l"/></bypassZoneRoute></zone></platform>"#;
    let platform = xml::parse("circle.xml".as_ref(), circle.as_bytes()).unwrap();
    let (a, x) = (platform.host("a").unwrap(), platform.host("x").unwrap());
    // The stack is as small as that of an engine's thread may be.
    let find = move || platform.route(a, x).unwrap_err().to_string();
    let found = std::thread::Builder::new().stack_size(1 << 20).spawn(find).unwrap().join().unwrap();
    assert_eq!(found, "the platform has no route from `a` to `x`: the gateways of its zones lead in circles");
}

#[test]
fn mistakes_in_toml_and_in_patterns_are_reported_with_their_place() {
    let toml = |text: &str| toml_form::parse("bad.toml".as_ref(), text.as_bytes()).unwrap_err().to_string();
    assert!(toml("zone = 3").starts_with("bad.toml:1:8: "), "{}", toml("zone = 3"));
    assert!(toml("[zone]\nname = \"a\"\n").contains("missing field `routing`"));
    assert!(
        toml("[zone]\nname = \"a\"\nrouting = \"Full\"\nhots = 1").starts_with("bad.toml:4:1: unknown field `hots`")
    );
    let routed = "[zone]\nname = \"a\"\nrouting = \"Full\"\nroute = [{ from = \"x\", to = \"y\", links = [] }]";
    assert!(toml(routed).starts_with("bad.toml:4:10: there is no host, router or zone `x`"), "{}", toml(routed));
    let one = |host: &str| {
        format!("zone = {{ name = \"a\", routing = \"Full\", host = [{{ name = \"h\", speed = \"1Gf\"{host} }}] }}\n")
    };
    for not_finite in ["nan", "inf", "-inf"] {
        let far = one(&format!(", coordinates = [1.0, {not_finite}, 3.0]"));
        assert_eq!(toml(&far), "bad.toml:1:91: the coordinates are not three finite numbers; correct them");
        let router = format!(
            "[zone]\nname = \"a\"\nrouting = \"Full\"\nrouter = [{{ name = \"r\", coordinates = [{not_finite}, 1.0, 1.0] }}]"
        );
        assert!(toml(&router).starts_with("bad.toml:4:39: the coordinates are not three"), "{}", toml(&router));
        let profile =
            one("") + &format!("[[profile]]\nkind = \"SPEED\"\nof = \"h\"\npoints = \"0 1\"\nperiod = {not_finite}");
        assert!(toml(&profile).starts_with("bad.toml:6:10: the period is not a finite number"), "{}", toml(&profile));
    }
    let platform = format!("<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">{HOSTS}</zone></platform>");
    let platform = xml::parse("p.xml".as_ref(), platform.as_bytes()).unwrap();
    let pattern =
        |text: &str| pattern::parse("p.txt".as_ref(), text.as_bytes(), &platform, MODEL).unwrap_err().to_string();
    for (text, wanted) in [
        ("", "p.txt:1:1: the pattern has no flow"),
        ("# nothing\n\n", "the pattern has no flow"),
        ("1 a b 5", "p.txt:1:1: the line has 4 words"),
        ("\n 1 a x 5 0", "p.txt:2:6: there is no host `x`"),
        ("1 a b many 0", "p.txt:1:7: `many` is no number of bytes"),
        ("1 a b -5 0", "`-5` is no number of bytes"),
        ("1 a b 5 never", "p.txt:1:9: `never` is no date"),
        ("1 a b 5 inf", "`inf` is no date"),
        ("1 a b 5 0", "p.txt:1:3: the platform has no route from `a` to `b`"),
        ("1 a a 5 0\n1 a a 5 0", "p.txt:2:1: a flow before this one has the id `1`"),
    ] {
        assert!(pattern(text).contains(wanted), "{text:?}: {}\n  does not say: {wanted}", pattern(text));
    }
}

proptest! {
    /// Truncated files with changed bytes give an error or a platform.
    #[test]
    fn damaged_files_do_not_panic(cut in 0usize..2000, changes in prop::collection::vec((0usize..2000, any::<u8>()), 0..6)) {
        let text = format!(
            r#"<?xml version='1.0'?><platform version="4.1"><trace id="t" periodicity="5">0 1
            2 0.5</trace><zone id="z" routing="Floyd">{HOSTS}<router id="r" coordinates="1 2 3"/>
            <route src="a" dst="r"><link_ctn id="l"/></route><route src="r" dst="b"><link_ctn id="l"/></route>
            <bypassRoute src="a" dst="b"><link_ctn id="l"/></bypassRoute></zone>
            <trace_connect kind="BANDWIDTH" trace="t" element="l"/></platform>"#
        );
        let mut bytes = text.into_bytes();
        for (place, byte) in changes {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        bytes.truncate(cut);
        if let Err(error) = xml::parse("bad.xml".as_ref(), &bytes) {
            prop_assert!(!error.to_string().contains('\n'));
        }
        let _ = toml_form::parse("bad.toml".as_ref(), &bytes);
    }
}
