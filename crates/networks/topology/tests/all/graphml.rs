//! Each quirk of the Internet Topology Zoo's files, and what becomes of it.

use parades_config::{ConfigError, Place};
use parades_core::time::Delay;
use parades_topology::NodeId;
use parades_topology::geo::{EARTH_RADIUS_KM, FIBRE_KM_PER_S};
use parades_topology::import::{Network, Options, parse};

/// A file with the keys that the Zoo declares, and this graph.
fn zoo(graph: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkLabel" attr.type="string" for="edge" id="d40" />
  <key attr.name="LinkSpeed" attr.type="string" for="edge" id="d39" />
  <key attr.name="LinkSpeedUnits" attr.type="string" for="edge" id="d38" />
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d37" />
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d32" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d29" />
  <key attr.name="hyperedge" attr.type="int" for="node" id="d30" />
  <key attr.name="Internal" attr.type="int" for="node" id="d28" />
  <key attr.name="label" attr.type="string" for="graph" id="d12" />
  <graph edgedefault="undirected">
    <data key="d12">A graph has a label too</data>
{graph}  </graph>
</graphml>
"#
    )
}

fn node(id: &str, data: &[(&str, &str)]) -> String {
    let data: String = data.iter().map(|(key, value)| format!("<data key=\"{key}\">{value}</data>")).collect();
    format!("<node id=\"{id}\">{data}</node>\n")
}

fn place(id: &str, latitude: f64, longitude: f64) -> String {
    node(id, &[("d29", &latitude.to_string()), ("d32", &longitude.to_string())])
}

fn edge(source: &str, target: &str, data: &[(&str, &str)]) -> String {
    node("", data)
        .replace("<node id=\"\">", &format!("<edge source=\"{source}\" target=\"{target}\">"))
        .replace("/node", "/edge")
}

fn read(graph: &str) -> Network {
    parse("net.graphml".as_ref(), zoo(graph).as_bytes(), &Options::default()).expect("the file is good")
}

/// Returns the line and the column of an error; zeros for an error of the whole file.
fn spot(error: &ConfigError) -> (usize, usize) {
    match error.place() {
        Some(Place::Spot(spot)) => (spot.line, spot.column),
        _ => (0, 0),
    }
}

fn refused(graph: &str) -> ConfigError {
    parse("net.graphml".as_ref(), zoo(graph).as_bytes(), &Options::default()).expect_err("the file must be refused")
}

/// Returns the time in seconds that light in a fibre needs along an arc of a number of degrees.
fn arc(degrees: f64) -> f64 {
    degrees.to_radians() * EARTH_RADIUS_KM / FIBRE_KM_PER_S
}

#[test]
fn delays_follow_great_circles_at_two_thirds_of_the_speed_of_light() {
    // Along the equator across the date line, along a meridian across the equator, over the pole.
    let graph = place("a", 0.0, 179.5)
        + &place("b", 0.0, -178.0)
        + &place("c", 10.0, 179.5)
        + &place("d", 89.0, 0.0)
        + &place("e", 89.0, 180.0);
    let edges = edge("a", "b", &[]) + &edge("c", "a", &[]) + &edge("c", "d", &[]) + &edge("d", "e", &[]);
    let network = read(&(graph + &edges));
    let delays: Vec<f64> = network.topology.links().iter().map(|link| link.delay.as_secs_f64()).collect();
    for (link, degrees) in [(0, 2.5), (1, 10.0), (3, 2.0)] {
        assert!((delays[link] - arc(degrees)).abs() < 2e-12, "link {link}: {} s, not {} s", delays[link], arc(degrees));
    }
    // New York to London, 5,570 km by every atlas.
    let far = read(&(place("nyc", 40.7128, -74.0060) + &place("lon", 51.5074, -0.1278) + &edge("nyc", "lon", &[])));
    let km = far.topology.links()[0].delay.as_secs_f64() * FIBRE_KM_PER_S;
    assert!((km - 5570.2).abs() < 0.5, "{km} km");
    assert_eq!(
        far.notes,
        ["1 of 1 links without a speed, given 100 Mbit/s", "descriptions, which change nothing: `label` of the graph"]
    );
}

#[test]
fn speeds_are_raw_or_in_units_or_the_default() {
    let edges = edge("0", "1", &[("d37", "155000000.0"), ("d39", "155"), ("d38", "M")])
        + &edge("0", "1", &[("d39", "2.5"), ("d38", "G"), ("d40", "2.5 Gbps")])
        + &edge("1", "0", &[("d39", "64"), ("d38", "K")])
        + &edge("0", "1", &[("d40", "< 10 Gbps".replace('<', "&lt;").as_str())]);
    let network = read(&(place("0", 1.0, 1.0) + &place("1", 2.0, 2.0) + &edges));
    let rates: Vec<u64> = network.topology.links().iter().map(|link| link.rate_bps).collect();
    assert_eq!(rates, [155_000_000, 2_500_000_000, 64_000, 100_000_000]);
    assert_eq!(network.topology.interfaces(NodeId(0)).len(), 4, "parallel edges are parallel links");
    let descriptions = "descriptions, which change nothing: `LinkLabel` of edges; `label` of the graph";
    assert_eq!(network.notes, ["1 of 4 links without a speed, given 100 Mbit/s", descriptions]);
}

#[test]
fn a_key_may_have_a_default_and_a_value_may_be_in_pieces() {
    let text = r#"<graphml><key id="s" for="all" attr.name="LinkSpeedRaw"><default>2e6</default></key><key id="l" for="node" attr.name="label"/>
      <graph><edge source="a" target="b"/><edge source="b" target="a" directed="false"><data key="s">3<!-- not 4 -->e6</data></edge>
      <node id="a"><data key="l"> P&amp;T <![CDATA[<Bern> ]]>
        &#233;tage</data></node><node id="b"/></graph></graphml>"#;
    let network = parse("x".as_ref(), text.as_bytes(), &Options::default()).unwrap();
    assert_eq!(network.topology.links().iter().map(|link| link.rate_bps).collect::<Vec<_>>(), [2_000_000, 3_000_000]);
    assert_eq!(network.topology.name(NodeId(0)), "P&T <Bern> étage");
    assert_eq!(network.topology.name(NodeId(1)), "b", "without a label, the id is the name");
}

#[test]
fn shared_names_are_told_apart() {
    let label = |id, label| node(id, &[("d33", label)]);
    let graph = label("0", "None") + &label("1", "") + &label("2", "None") + &label("3", "Rome");
    let network = read(&(graph + &edge("0", "1", &[]) + &edge("1", "2", &[]) + &edge("2", "3", &[])));
    let names: Vec<&str> = network.topology.node_ids().map(|node| network.topology.name(node)).collect();
    assert_eq!(names, ["None (0)", "1", "None (2)", "Rome"]);
}

#[test]
fn nodes_without_coordinates_lie_between_their_neighbours() {
    // `mid` lies between `w` and `e` (which counts once, though joined twice); `far` can only be placed after
    // it, at the same spot.
    let graph = place("w", 0.0, 178.0) + &place("e", 0.0, -178.0) + &node("mid", &[]) + &node("far", &[]);
    let edges = edge("w", "mid", &[]) + &edge("mid", "e", &[]) + &edge("e", "mid", &[]) + &edge("far", "mid", &[]);
    let network = read(&(graph + &edges));
    let delays: Vec<Delay> = network.topology.links().iter().map(|link| link.delay).collect();
    for delay in &delays[..3] {
        assert!((delay.as_secs_f64() - arc(2.0)).abs() < 2e-12, "{delay}");
    }
    assert_eq!(delays[3], Options::default().delay_min);
    let far = network.positions[3].unwrap();
    assert!(far.latitude().abs() < 1e-9 && (far.longitude().abs() - 180.0).abs() < 1e-9, "{far:?}");
    assert_eq!(
        network.notes,
        [
            "nodes without coordinates, placed in the middle of their neighbours: `mid`, `far`",
            "4 of 4 links without a speed, given 100 Mbit/s",
            "1 of 4 links between places that (nearly) coincide, given the least delay of 0.000005s",
            "descriptions, which change nothing: `label` of the graph",
        ]
    );
}

#[test]
fn links_of_nodes_that_nothing_places_have_the_default_delay() {
    // Between antipodes there is no middle; a file without any coordinates has no places at all.
    let antipodes = place("n", 90.0, 0.0)
        + &place("s", -90.0, 0.0)
        + &node("mid", &[])
        + &edge("n", "mid", &[])
        + &edge("s", "mid", &[]);
    let options = Options { delay: Delay::from_ms(7), ..Options::default() };
    let network = parse("x".as_ref(), zoo(&antipodes).as_bytes(), &options).unwrap();
    assert!(network.topology.links().iter().all(|link| link.delay == Delay::from_ms(7)));
    assert_eq!(
        network.notes[0],
        "nodes without coordinates that no neighbour places, whose links have the default delay: `mid`"
    );
    let nowhere = read(&(node("0", &[]) + &node("1", &[]) + &edge("0", "1", &[])));
    assert_eq!(nowhere.topology.links()[0].delay, Options::default().delay);
    assert_eq!(nowhere.positions, [None, None]);
}

#[test]
fn loops_are_dropped_and_odd_nodes_kept_and_all_is_said() {
    let graph = node("0", &[("d33", "Dubai"), ("d28", "1")])
        + &node("1", &[("d30", "1")])
        + &node("2", &[("d33", "AKAMAI"), ("d28", "0")]);
    let network = read(&(graph + &edge("0", "0", &[]) + &edge("0", "1", &[]) + &edge("1", "2", &[])));
    assert_eq!((network.topology.nodes(), network.topology.links().len()), (3, 2));
    assert_eq!(
        network.notes[..3],
        [
            "nodes that stand for a link of several ends (hyperedge), kept: `1`",
            "nodes outside the network itself (Internal is 0), kept: `AKAMAI`",
            "edges from a node to itself, dropped: `Dubai`",
        ]
    );
}

#[test]
fn a_network_in_parts_is_refused_and_names_two_nodes_that_cannot_meet() {
    let graph = node("0", &[("d33", "Oslo")])
        + &node("1", &[("d33", "Lima")])
        + &node("2", &[("d33", "Rome")])
        + &edge("0", "2", &[]);
    assert_eq!(
        refused(&graph).to_string(),
        "net.graphml:15:1: `Oslo` and `Lima` cannot meet: the network is in 2 parts that no link joins; \
         join the parts by edges, or delete all but one of them"
    );
}

#[test]
fn impossible_options_are_refused_where_they_matter() {
    let text = zoo(&(node("0", &[]) + &node("1", &[]) + &edge("0", "1", &[])));
    let error =
        parse("net.graphml".as_ref(), text.as_bytes(), &Options { rate_bps: 0, ..Options::default() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "net.graphml: link 0, between `0` and `1`, has a rate of zero bits per second; a rate must be positive; \
         correct the default rate, the default delay or the least delay"
    );
}

#[test]
fn impossible_values_are_refused_where_they_stand() {
    let node_of = |latitude: &str, longitude: &str| node("0", &[("d29", latitude), ("d32", longitude)]);
    let edge_of = |data: &[(&str, &str)]| node("0", &[]) + &node("1", &[]) + &edge("0", "1", data);
    for (graph, message, line, column) in [
        (node_of("200", "0"), "there is no place at latitude 200.0, longitude 0.0", 14, 14),
        (node_of("0", "-180.5"), "there is no place at latitude 0.0, longitude -180.5", 14, 14),
        (node("0", &[("d29", "1"), ("d29", "1")]), "Latitude is given a second time", 14, 38),
        (node("0", &[("d30", "maybe")]), "hyperedge is `maybe`, which is neither 0 nor 1", 14, 14),
        (node("0", &[("x9", "1")]), "<data> has the key `x9`, which no <key> before it declares", 14, 14),
        (edge_of(&[("d37", "-1")]), "a link cannot have a speed of -1.0 bits per second", 16, 29),
        (edge_of(&[("d37", "0.0")]), "a link cannot have a speed of 0.0 bits per second", 16, 29),
        (edge_of(&[("d37", "1e19")]), "a link cannot have a speed of 1e19 bits per second", 16, 29),
        (edge_of(&[("d39", "fast")]), "LinkSpeed is `fast`, which is not a number", 16, 29),
        (edge_of(&[("d39", "10")]), "LinkSpeed is given without LinkSpeedUnits", 16, 29),
        (edge_of(&[("d39", "10"), ("d38", "X")]), "LinkSpeedUnits is `X`, which is no unit", 16, 54),
    ] {
        let error = refused(&graph);
        assert_eq!((error.message(), spot(&error)), (message, (line, column)), "{graph}");
        assert!(error.to_string().starts_with("net.graphml:"));
        assert!(error.help().is_some_and(|help| !help.is_empty()));
    }
}

#[test]
fn graphs_that_are_no_networks_are_refused_where_they_go_wrong() {
    let two = node("0", &[]) + &node("1", &[]);
    for (graph, message, line, column) in [
        (String::new(), "the graph has no nodes", 12, 3),
        (node("0", &[]) + &node("0", &[]), "the node `0` is declared a second time", 15, 1),
        (two.clone() + &edge("0", "7", &[]), "an edge ends at `7`, which is no node of the graph", 16, 1),
        (two.clone() + "<edge source=\"0\"/>", "<edge> has no target", 16, 1),
        (two.clone() + "<node/>", "<node> has no id", 16, 1),
        (two.clone() + "<hyperedge/>", "<hyperedge> joins any number of nodes, a link two", 16, 1),
        ("<node id='0'><graph/></node>".to_owned(), "a graph lies inside a node or an edge", 14, 14),
        (two + "</graph><graph>", "the file has a second <graph>", 16, 9),
    ] {
        let error = refused(&graph);
        assert_eq!((error.message(), spot(&error)), (message, (line, column)), "{graph}");
    }
}
