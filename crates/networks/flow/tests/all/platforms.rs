//! The routes of each kind of zone and cluster, in both file forms.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_flow::platform::Platform;
use parades_flow::{toml_form, xml};

fn read(content: &str) -> Platform {
    let text = format!(r#"<platform version="4.1">{content}</platform>"#);
    xml::parse("test.xml".as_ref(), text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the names of the links from one host to another, and the latency in seconds.
fn route(platform: &Platform, from: &str, to: &str) -> (String, f64) {
    let host = |name: &str| platform.host(name).unwrap_or_else(|| panic!("no host {name}"));
    let route = platform.route(host(from), host(to)).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = route.links.iter().map(|link| &*platform.links()[link.0 as usize].name).collect();
    (names.join(" "), route.latency_s)
}

fn links(platform: &Platform, from: &str, to: &str) -> String {
    route(platform, from, to).0
}

fn host(name: &str) -> String {
    format!(r#"<host id="{name}" speed="1Gf"/>"#)
}

fn link(name: &str) -> String {
    format!(r#"<link id="{name}" bandwidth="1MBps" latency="1ms"/>"#)
}

fn declared_route(from: &str, to: &str, links: &[&str]) -> String {
    let links: String = links.iter().map(|link| format!(r#"<link_ctn id="{link}"/>"#)).collect();
    format!(r#"<route src="{from}" dst="{to}">{links}</route>"#)
}

#[test]
fn a_reverse_route_has_the_links_in_reverse_order_unless_the_route_is_not_symmetrical() {
    let platform = read(&format!(
        r#"<zone id="world" routing="Full">{}{}{}{}{}
        <link id="duplex" bandwidth="1MBps" latency="1ms" sharing_policy="SPLITDUPLEX"/>
        <route src="a" dst="b"><link_ctn id="one"/><link_ctn id="duplex" direction="UP"/></route>
        <route src="a" dst="c" symmetrical="NO"><link_ctn id="two"/></route></zone>"#,
        host("a"),
        host("b"),
        host("c"),
        link("one"),
        link("two")
    ));
    assert_eq!(route(&platform, "a", "b"), ("one duplex_UP".into(), 0.002));
    assert_eq!(links(&platform, "b", "a"), "duplex_DOWN one");
    assert_eq!(links(&platform, "a", "c"), "two");
    let (a, c) = (platform.host("a").unwrap(), platform.host("c").unwrap());
    assert_eq!(
        platform.route(c, a).unwrap_err().to_string(),
        "the platform has no route from `c` to `a`: the zone `world` knows none from `c` to `a`"
    );
    assert_eq!(links(&platform, "b", "b"), "__loopback__");
}

#[test]
fn floyd_and_dijkstra_find_the_routes_with_the_fewest_links() {
    for routing in ["Floyd", "Dijkstra", "DijkstraCache"] {
        let hosts: String = ["a", "b", "c", "d"].map(host).concat();
        let all: String = ["ab", "bc", "cd", "ad1", "ad2", "ad3", "ad4"].map(link).concat();
        let routes = [
            declared_route("a", "b", &["ab"]),
            declared_route("b", "c", &["bc"]),
            declared_route("c", "d", &["cd"]),
            declared_route("a", "d", &["ad1", "ad2", "ad3", "ad4"]),
        ];
        let platform = read(&format!(r#"<zone id="world" routing="{routing}">{hosts}{all}{}</zone>"#, routes.concat()));
        assert_eq!(route(&platform, "a", "d"), ("ab bc cd".into(), 0.003), "{routing}");
        assert_eq!(links(&platform, "d", "b"), "cd bc", "{routing}");
        assert_eq!(links(&platform, "c", "c"), "__loopback__", "{routing}");
    }
}

#[test]
fn a_route_in_a_cluster_has_limiters_and_the_backbone_once_and_loopbacks_are_apart() {
    let platform = read(
        r#"<cluster id="c" prefix="n" suffix=".x" radical="0-1,7" speed="1Gf" bw="1MBps" lat="1ms" bb_bw="9MBps" bb_lat="2ms"
        limiter_link="5MBps" loopback_bw="3MBps" loopback_lat="4ms"/>"#,
    );
    let expected = "c_link_0_limiter c_link_0_UP c_backbone c_link_7_DOWN c_link_7_limiter";
    assert_eq!(route(&platform, "n0.x", "n7.x"), (expected.into(), 0.004));
    assert_eq!(route(&platform, "n1.x", "n1.x"), ("c_link_1_loopback".into(), 0.004));
    let shared = read(
        r#"<cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1MBps" lat="1ms" sharing_policy="SHARED"/>"#,
    );
    assert_eq!(links(&shared, "n0", "n1"), "c_link_0 c_link_1");
    assert_eq!(links(&shared, "n0", "n0"), "c_link_0");
}

#[test]
fn a_zone_of_hosts_with_host_links_routes_like_a_cluster() {
    let platform = read(
        r#"<zone id="z" routing="Cluster"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
        <link id="la" bandwidth="1MBps" latency="1ms" sharing_policy="SPLITDUPLEX"/><link id="lb" bandwidth="1MBps" latency="1ms"/>
        <host_link id="a" up="la_UP" down="la_DOWN"/><host_link id="b" up="lb" down="lb"/>
        <cabinet id="cab" prefix="c" suffix="" radical="3" speed="1Gf" bw="1MBps" lat="1ms"/>
        <backbone id="bb" bandwidth="1MBps" latency="5ms"/></zone>"#,
    );
    assert_eq!(route(&platform, "a", "b"), ("la_UP bb lb".into(), 0.007));
    assert_eq!(links(&platform, "b", "c3"), "lb bb link_c3_DOWN");
    assert_eq!(links(&platform, "c3", "a"), "link_c3_UP bb la_DOWN");
}

#[test]
fn a_route_in_a_torus_takes_the_shorter_direction_dimension_by_dimension() {
    let platform = read(
        r#"<cluster id="t" prefix="n" suffix="" radical="0-11" speed="1Gf" bw="1MBps" lat="1ms" topology="TORUS" topo_parameters="4,3"/>"#,
    );
    assert_eq!(links(&platform, "n0", "n1"), "t_link_from_0_to_1_UP");
    assert_eq!(links(&platform, "n0", "n3"), "t_link_from_3_to_0_DOWN");
    assert_eq!(links(&platform, "n1", "n6"), "t_link_from_1_to_2_UP t_link_from_2_to_6_UP");
    assert_eq!(links(&platform, "n0", "n8"), "t_link_from_8_to_0_DOWN");
}

#[test]
fn a_route_in_a_fat_tree_goes_up_to_the_first_common_switch_and_down() {
    let platform = read(
        r#"<cluster id="f" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1MBps" lat="1ms" topology="FAT_TREE"
        topo_parameters="2;2,2;1,2;1,1" loopback_bw="1MBps" loopback_lat="0"/>"#,
    );
    // Numbers of switches descend from twice the number of members: the leaves are 7 and 6, the spines 5 and
    // 4.
    assert_eq!(links(&platform, "n0", "n1"), "link_from_0_7_0_UP link_from_1_7_1_DOWN");
    assert_eq!(
        links(&platform, "n0", "n3"),
        "link_from_0_7_0_UP link_from_7_4_5_UP link_from_6_4_7_DOWN link_from_3_6_3_DOWN"
    );
    assert_eq!(links(&platform, "n2", "n2"), "f_link_2_loopback");
}

#[test]
fn a_route_in_a_dragonfly_crosses_between_groups_once() {
    let platform = read(
        r#"<cluster id="d" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="1MBps" lat="1ms" topology="DRAGONFLY"
        topo_parameters="2,1;2,1;2,1;2"/>"#,
    );
    let kinds = |from: &str, to: &str| -> Vec<String> {
        let all = links(&platform, from, to);
        all.split(' ').map(|link| link.split('_').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(kinds("n0", "n1"), ["local", "local"]);
    assert_eq!(kinds("n0", "n2"), ["local", "green", "local"]);
    assert_eq!(kinds("n0", "n4"), ["local", "black", "local"]);
    assert_eq!(kinds("n0", "n8"), ["local", "green", "blue", "local"]);
    assert_eq!(kinds("n4", "n15"), ["local", "green", "black", "blue", "green", "black", "local"]);
}

#[test]
fn the_latency_between_peers_is_the_distance_of_their_coordinates() {
    let platform = read(
        r#"<zone id="v" routing="Vivaldi"><peer id="a" speed="1Gf" bw_in="1MBps" bw_out="2MBps" coordinates="0 0 1"/>
        <peer id="b" speed="1Gf" bw_in="1MBps" bw_out="2MBps" coordinates="3 4 2"/></zone>"#,
    );
    assert_eq!(route(&platform, "a", "b"), ("link_a_UP link_b_DOWN".into(), 0.008));
}

/// Three clusters in a zone, with routes from the first to the second and from the second to the third.
const NESTED: &str = r#"<zone id="world" routing="ROUTING">
    <cluster id="c" prefix="c" suffix="" radical="0-1" speed="1Gf" bw="1MBps" lat="1ms" router_id="rc"/>
    <cluster id="d" prefix="d" suffix="" radical="0-1" speed="1Gf" bw="1MBps" lat="1ms" router_id="rd"/>
    <cluster id="e" prefix="e" suffix="" radical="0-1" speed="1Gf" bw="1MBps" lat="1ms" router_id="re"/>
    <link id="cd" bandwidth="1MBps" latency="1ms"/><link id="de" bandwidth="1MBps" latency="1ms"/>
    <zoneRoute src="c" dst="d" gw_src="rc" gw_dst="rd"><link_ctn id="cd"/></zoneRoute>
    <zoneRoute src="d" dst="e" gw_src="d1" gw_dst="re"><link_ctn id="de"/></zoneRoute>
    BYPASS</zone>"#;

#[test]
fn routes_between_zones_go_through_their_gateways() {
    for routing in ["Floyd", "Dijkstra"] {
        let platform = read(&NESTED.replace("ROUTING", routing).replace("BYPASS", ""));
        assert_eq!(links(&platform, "c0", "d1"), "c_link_0_UP cd d_link_1_DOWN", "{routing}");
        // In the middle zone, the route goes from the entry gateway to the exit gateway.
        let through = ("c_link_0_UP cd d_link_1_DOWN de e_link_1_DOWN".into(), 0.005);
        assert_eq!(route(&platform, "c0", "e1"), through, "{routing}");
    }
}

#[test]
fn the_gateway_of_a_zone_may_lie_in_an_inner_zone() {
    let platform = read(
        r#"<zone id="w" routing="Floyd">
        <zone id="x" routing="Full"><zone id="x1" routing="Full"><host id="a" speed="1Gf"/></zone><zone id="x2" routing="Full"><host id="b" speed="1Gf"/></zone>
        <link id="m" bandwidth="1MBps"/><zoneRoute src="x1" dst="x2" gw_src="a" gw_dst="b"><link_ctn id="m"/></zoneRoute></zone>
        <zone id="y" routing="Full"><host id="c" speed="1Gf"/></zone><link id="l" bandwidth="1MBps"/>
        <zoneRoute src="x" dst="y" gw_src="b" gw_dst="c"><link_ctn id="l"/></zoneRoute></zone>"#,
    );
    assert_eq!(links(&platform, "a", "c"), "m l");
}

#[test]
fn a_bypass_replaces_the_route_of_the_routing() {
    let bypass = r#"<link id="short" bandwidth="1MBps" latency="1us"/>
        <bypassZoneRoute src="c" dst="e" gw_src="rc" gw_dst="re"><link_ctn id="short"/></bypassZoneRoute>"#;
    let platform = read(&NESTED.replace("ROUTING", "Floyd").replace("BYPASS", bypass));
    assert_eq!(links(&platform, "c0", "e1"), "c_link_0_UP short e_link_1_DOWN");
    assert_eq!(links(&platform, "e1", "c0"), "e_link_1_UP de d_link_1_UP cd c_link_0_DOWN");
}

#[test]
fn a_bypass_in_toml_is_symmetrical_only_if_it_says_so() {
    for (key, reverse) in [("", "wire"), (", symmetrical = false", "wire"), (", symmetrical = true", "y x_DOWN")] {
        let text = format!(
            r#"
[zone]
name = "world"
routing = "Full"
host = [{{ name = "a", speed = "1Gf" }}, {{ name = "b", speed = "1Gf" }}]
link = [
    {{ name = "wire", bandwidth = "1MBps" }},
    {{ name = "x", bandwidth = "1MBps", sharing = "SPLITDUPLEX" }},
    {{ name = "y", bandwidth = "1MBps" }},
]
route = [{{ from = "a", to = "b", links = ["wire"] }}]
bypass = [{{ from = "a", to = "b", links = ["x:UP", "y"]{key} }}]
"#
        );
        let platform =
            toml_form::parse("test.toml".as_ref(), text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(links(&platform, "a", "b"), "x_UP y", "{key}");
        assert_eq!(links(&platform, "b", "a"), reverse, "{key}");
    }
    // The reverse of a bypass between zones has exchanged gateways.
    let text = r#"
[zone]
name = "world"
routing = "Full"
link = [{ name = "far", bandwidth = "1MBps" }, { name = "near", bandwidth = "1MBps" }]
route = [{ from = "c", to = "d", from_gateway = "rc", to_gateway = "rd", links = ["far"] }]
bypass = [{ from = "c", to = "d", from_gateway = "rc", to_gateway = "d1", links = ["near"], symmetrical = true }]
[[zone.cluster]]
name = "c"
hosts = "0-1"
prefix = "c"
speed = "1Gf"
bandwidth = "1MBps"
latency = "1ms"
router = "rc"
[[zone.cluster]]
name = "d"
hosts = "0-1"
prefix = "d"
speed = "1Gf"
bandwidth = "1MBps"
latency = "1ms"
router = "rd"
"#;
    let platform = toml_form::parse("test.toml".as_ref(), text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(links(&platform, "c0", "d0"), "c_link_0_UP near d_link_1_UP d_link_0_DOWN");
    assert_eq!(links(&platform, "d0", "c0"), "d_link_0_UP d_link_1_DOWN near c_link_0_DOWN");
}

#[test]
fn both_file_forms_describe_the_same_platform() {
    let text = r#"
[zone]
name = "world"
routing = "Full"
link = [{ name = "between", bandwidth = "1MBps", latency = "1ms" }]
route = [{ from = "c", to = "inner", from_gateway = "rc", to_gateway = "r", links = ["between"] }]
[[zone.cluster]]
name = "c"
hosts = "0-2"
prefix = "c"
speed = "1Gf"
bandwidth = "1MBps"
latency = "1ms"
router = "rc"
[[zone.zone]]
name = "inner"
routing = "Full"
host = [{ name = "h", speed = "2Gf,1Gf", cores = 4, power_state = 1 }]
router = [{ name = "r" }]
link = [{ name = "wire", bandwidth = "1MBps", latency = "1ms", sharing = "SPLITDUPLEX" }]
route = [{ from = "h", to = "r", links = ["wire:UP"] }]
[[profile]]
kind = "BANDWIDTH"
of = "between"
points = "1 5e5"
"#;
    let by_toml = toml_form::parse("test.toml".as_ref(), text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let by_xml = read(
        r#"<trace id="t" periodicity="0">1 5e5</trace><zone id="world" routing="Full">
        <zone id="inner" routing="Full"><host id="h" speed="2Gf,1Gf" core="4" pstate="1"/><router id="r"/>
        <link id="wire" bandwidth="1MBps" latency="1ms" sharing_policy="SPLITDUPLEX"/>
        <route src="h" dst="r"><link_ctn id="wire" direction="UP"/></route></zone>
        <cluster id="c" prefix="c" suffix="" radical="0-2" speed="1Gf" bw="1MBps" lat="1ms" router_id="rc"/>
        <link id="between" bandwidth="1MBps" latency="1ms"/>
        <zoneRoute src="c" dst="inner" gw_src="rc" gw_dst="r"><link_ctn id="between"/></zoneRoute></zone>
        <trace_connect kind="BANDWIDTH" trace="t" element="between"/>"#,
    );
    for (from, to) in [("c0", "c2"), ("c1", "h"), ("h", "c1"), ("h", "h")] {
        assert_eq!(route(&by_toml, from, to), route(&by_xml, from, to), "{from} to {to}");
    }
    for platform in [&by_toml, &by_xml] {
        let host = &platform.hosts()[platform.host("h").unwrap().0 as usize];
        assert_eq!((host.speed(), host.cores), (1e9, 4));
    }
}
