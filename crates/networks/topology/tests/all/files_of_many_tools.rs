//! Files as other tools write them: names, units, directions and formats.

use parades_core::time::Delay;
use parades_topology::import::{Network, Options, parse};
use parades_topology::{LinkId, NodeId};

fn read(text: &str) -> Network {
    parse("net".as_ref(), text.as_bytes(), &Options::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refused(text: &str) -> String {
    parse("net".as_ref(), text.as_bytes(), &Options::default()).expect_err("it is refused").to_string()
}

/// A GraphML file with an edge that has these values.
fn edge_with(values: &[(&str, &str)]) -> String {
    let keys: String = (0..)
        .zip(values)
        .map(|(id, (name, _))| format!("<key id=\"e{id}\" for=\"edge\" attr.name=\"{name}\"/>\n"))
        .collect();
    let data: String =
        (0..).zip(values).map(|(id, (_, value))| format!("<data key=\"e{id}\">{value}</data>")).collect();
    format!(
        "<graphml>{keys}<graph><node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\">{data}</edge></graph></graphml>"
    )
}

fn names(network: &Network) -> Vec<&str> {
    network.topology.node_ids().map(|node| network.topology.name(node)).collect()
}

fn says(network: &Network, what: &str) -> bool {
    network.notes.iter().any(|note| note == what)
}

#[test]
fn rates_delays_and_losses_are_found_by_the_names_of_tools() {
    let (ms, mbps) = (Delay::from_ms, |n: u64| Some(n * 1_000_000));
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<u64>, Option<Delay>, Option<f64>);
    let cases: &[Case<'_>] = &[
        (&[("LinkDelay", "10")], None, Some(ms(10)), None),
        (&[("latency", "50.0"), ("packetloss", "0.01")], None, Some(ms(50)), Some(0.01)),
        (&[("latency", "10 ms"), ("packet_loss", "0.5")], None, Some(ms(10)), Some(0.5)),
        (&[("bw", "10"), ("delay", "5ms"), ("loss", "2")], mbps(10), Some(ms(5)), Some(0.02)),
        (&[("bandwidth", "81920 Kibit")], Some(83_886_080), None, None),
        (&[("capacity", "1 Gbit/s"), ("delay_us", "1500")], mbps(1000), Some(Delay::from_us(1500)), None),
        (&[("LinkSpeed", "10"), ("LinkSpeedUnits", "G"), ("LinkSpeedRaw", "1e10")], mbps(10_000), None, None),
        (&[("loss", "3%")], None, None, Some(0.03)),
    ];
    for (values, rate_bps, delay, loss) in cases {
        let network = read(&edge_with(values));
        let link = network.topology.links()[0];
        let default = Options::default();
        assert_eq!(link.rate_bps, rate_bps.unwrap_or(default.rate_bps), "{values:?}");
        assert_eq!(link.delay, delay.unwrap_or(default.delay), "{values:?}");
        assert_eq!(network.losses, [*loss], "{values:?}");
        assert!(network.notes.iter().all(|note| !note.contains("not used")), "{values:?}: {:?}", network.notes);
    }
}

#[test]
fn an_assumed_unit_is_said() {
    let network = read(&edge_with(&[("LinkDelay", "10"), ("loss", "2")]));
    assert!(says(&network, "`LinkDelay` of edges is read as milliseconds, as coord-sim writes it"));
    assert!(says(&network, "`loss` of edges is read as percent, as Mininet writes it"));
}

#[test]
fn data_without_use_are_named_with_their_count_and_place() {
    let network = read(&edge_with(&[("weight", "7"), ("LinkFwdCap", "1000"), ("jitter", "1.0")]));
    assert!(says(
        &network,
        "`weight` of edges is not used (1 value, the first `7` in line 4): its name has no meaning here"
    ));
    assert!(says(
        &network,
        "`LinkFwdCap` of edges is not used (1 value, the first `1000` in line 4), as it has no unit; \
         write it as in `10Mbps`"
    ));
    assert!(says(
        &network,
        "`jitter` of edges is not used (1 value, the first `1.0` in line 4): the delay of a link is constant"
    ));
    assert_eq!(network.topology.links()[0].rate_bps, Options::default().rate_bps);
}

#[test]
fn the_units_of_a_graph_are_those_of_its_numbers() {
    // As fnss writes them: attributes of the graph.
    let text = r#"{"graph": {"capacity_unit": "Gbps", "delay_unit": "us"}, "nodes": [{"id": 0}, {"id": 1}],
        "links": [{"source": 0, "target": 1, "capacity": 2.5, "delay": 40}]}"#;
    let network = read(text);
    let link = network.topology.links()[0];
    assert_eq!((link.rate_bps, link.delay), (2_500_000_000, Delay::from_us(40)));
}

#[test]
fn impossible_quantities_are_refused_where_they_stand() {
    for (value, message) in [
        (("LinkDelay", "-1"), "a link cannot have a delay of `-1`"),
        (("latency", "soon"), "latency is `soon`, which is not a number"),
        (("packetloss", "1.5"), "packetloss is `1.5`, which is no probability; it lies between 0 and 1"),
        (("bw", "0"), "a link cannot have a speed of 0.0 bits per second"),
    ] {
        let said = refused(&edge_with(&[value]));
        assert!(said.starts_with("net:2:") && said.contains(message), "{said}");
    }
}

const YED: &str = r#"<graphml xmlns:y="http://www.yworks.com/xml/graphml">
  <key for="node" id="d6" yfiles.type="nodegraphics"/> <key for="edge" id="d9" yfiles.type="edgegraphics"/>
  <graph edgedefault="directed">
    <node id="n0"><data key="d6"><y:ShapeNode><y:Geometry x="1"/><y:NodeLabel>Here<y:LabelModel/></y:NodeLabel></y:ShapeNode></data></node>
    <node id="n1"><data key="d6"><y:ShapeNode><y:NodeLabel> There </y:NodeLabel></y:ShapeNode></data></node>
    <edge source="n0" target="n1"><data key="d9"><y:PolyLineEdge><y:EdgeLabel>20 Mbit/s, 3ms</y:EdgeLabel></y:PolyLineEdge></data></edge>
  </graph></graphml>"#;

#[test]
fn a_drawing_of_yed_has_labels_and_lines() {
    let network = read(YED);
    assert_eq!(names(&network), ["Here", "There"]);
    let link = network.topology.links()[0];
    assert_eq!((link.rate_bps, link.delay), (20_000_000, Delay::from_ms(3)));
    assert!(network.topology.is_symmetric());
    let alone = "directed edges without an opposite, taken as links that carry both directions: `Here` to `There`";
    assert!(says(&network, alone), "{:?}", network.notes);
}

fn directed(edges: &[(u32, u32, &str)]) -> String {
    let links: Vec<String> = edges
        .iter()
        .map(|(a, b, latency)| format!(r#"{{"source": {a}, "target": {b}, "latency": "{latency}"}}"#))
        .collect();
    format!(
        r#"{{"directed": true, "multigraph": false, "nodes": [{{"id": 0}}, {{"id": 1}}, {{"id": 2}}], "edges": [{}]}}"#,
        links.join(", ")
    )
}

#[test]
fn two_directed_edges_that_are_alike_are_one_link() {
    let network = read(&directed(&[(0, 1, "1ms"), (1, 0, "1ms"), (2, 1, "2ms"), (1, 2, "2ms")]));
    let ends: Vec<_> = network.topology.links().iter().map(|link| (link.a, link.b, link.delay)).collect();
    let expected = [(NodeId(0), NodeId(1), Delay::from_ms(1)), (NodeId(2), NodeId(1), Delay::from_ms(2))];
    assert_eq!(ends, expected);
    assert!(network.topology.is_symmetric());
}

#[test]
fn two_directed_edges_that_differ_are_a_link_each_way() {
    let network = read(&directed(&[(0, 1, "1ms"), (1, 0, "9ms"), (1, 2, "2ms")]));
    assert_eq!(network.topology.links().len(), 3);
    let one_way = (0..3).map(|link| network.topology.is_one_way(LinkId(link))).collect::<Vec<_>>();
    assert_eq!(one_way, [true, true, false]);
    assert!(says(&network, "links whose directions differ: `1` to `0`"), "{:?}", network.notes);
}

#[test]
fn flags_are_read_as_tools_write_them() {
    for (text, is_outside) in
        [("1", false), ("0", true), ("True", false), ("False", true), ("1.0", false), ("0.0", true), ("true", false)]
    {
        let text = format!(r#"{{"nodes": [{{"id": "a", "Internal": "{text}"}}], "links": []}}"#);
        let network = read(&text);
        assert_eq!(says(&network, "nodes outside the network itself (Internal is 0), kept: `a`"), is_outside, "{text}");
    }
}

#[test]
fn coordinates_that_are_no_numbers_count_as_missing() {
    for (latitude, longitude) in [("", ""), ("NaN", "1.0"), ("unknown", "2"), ("47.0", "")] {
        let text = format!(
            "graph [ node [ id 0 Latitude \"{latitude}\" Longitude \"{longitude}\" ] node [ id 1 ] edge [ source 0 target 1 ] ]"
        );
        let network = read(&text);
        assert_eq!(network.positions, [None, None]);
        let said = "coordinates that are empty, incomplete or no numbers, taken as missing: `0`";
        assert!(says(&network, said), "{:?}", network.notes);
    }
}

#[test]
fn keys_may_share_an_id_and_serve_edges_too() {
    let text = r#"<graphml>
        <key attr.name="name" for="node" id="name"/> <key attr.name="name" for="edge" id="name"/>
        <key attr.name="LinkSpeedRaw" for="node" id="speed"/>
        <graph><node id="1"><data key="name">Bern</data></node><node id="2"><data key="name">Thun</data></node>
        <edge source="1" target="2"><data key="name">A6</data><data key="speed">1.0E10</data></edge></graph></graphml>"#;
    let network = read(text);
    assert_eq!((names(&network), network.topology.links()[0].rate_bps), (vec!["Bern", "Thun"], 10_000_000_000));
    assert!(says(&network, "descriptions, which change nothing: `name` of edges"), "{:?}", network.notes);
}

#[test]
fn gml_is_read_as_the_zoo_and_networkx_write_it() {
    let text = "# a comment\nCreator \"by hand\"\ngraph [\n  directed 0\n  label \"R&amp;D\"\n  node [ id 5 label \"K&#246;ln\" Latitude 50.9 Longitude 6.96 ]\n\
                node [ id 7 label \"Bonn\" Latitude 50.7 Longitude 7.1 graphics [ x 1 y [ z 2 ] ] ]\n\
                edge [ source 7 target 5 LinkSpeed \"10\" LinkSpeedUnits \"G\" LinkSpeedRaw 10000000000.0 ]\n]\n";
    let network = read(text);
    assert_eq!(names(&network), ["Köln", "Bonn"]);
    let link = network.topology.links()[0];
    assert_eq!((link.a, link.b, link.rate_bps), (NodeId(1), NodeId(0), 10_000_000_000));
    // 24 km apart, by the haversine formula.
    assert!((110e-6..130e-6).contains(&link.delay.as_secs_f64()), "{}", link.delay);
}

#[test]
fn node_link_json_has_links_or_edges() {
    for key in ["links", "edges"] {
        let text = format!(
            r#"{{"directed": false, "multigraph": true, "graph": {{}}, "nodes": [{{"id": "x", "Internal": true}}, {{"id": 3}}],
               "{key}": [{{"source": "x", "target": 3, "key": 0, "bandwidth": "5Mbps"}}, {{"source": 3, "target": "x", "key": 1}}]}}"#
        );
        let network = read(&text);
        assert_eq!(names(&network), ["x", "3"]);
        let rates: Vec<u64> = network.topology.links().iter().map(|link| link.rate_bps).collect();
        assert_eq!(rates, [5_000_000, Options::default().rate_bps], "{key}");
    }
}

#[test]
fn broken_gml_and_json_are_refused_with_their_place() {
    let deep = format!("graph [ x {}", "[ y ".repeat(100));
    for (text, message) in [
        ("graph [\n node [ id 0 ]", "net:1:1: the file ends before this list is closed"),
        ("graph [\n node [ label \"a\" ] ]", "net:2:2: a node has no id"),
        ("graph [ node [ id 0 ]\n edge [ source 0 ] ]", "net:2:2: an edge has no target"),
        ("graph [ node [ id 0 ] edge [ source 0 target 9 ] ]", "net:1:23: an edge ends at `9`, which is no node"),
        ("graph [ node [ id 0 label \"x ] ]", "net:1:27: a text in quotes has no end"),
        ("graph [ directed 2 ]", "net:1:9: `directed` is `2`"),
        ("graph [ [ ] ]", "net:1:9: a name must stand here"),
        (
            "time,value\n1,2",
            "net:1:1: this is no graph: neither GraphML, nor GML, nor JSON, nor a list of edges, nor a topology of BRITE or HPCC",
        ),
        (&deep, "net:1:9: lists nest more than 64 deep"),
        ("{\"nodes\": [{\"id\": 0},]}", "net:1:22: this is no graph in JSON: expected value"),
        ("{\"links\": []}", "net:1:1: the object has no `nodes`"),
        ("{\"nodes\": 5}", "net:1:11: `nodes` must be a list"),
        ("{\"nodes\": [{}]}", "net:1:12: a node has no `id`"),
        ("{\"nodes\": [{\"id\": 1}], \"links\": [{\"source\": 1}]}", "net:1:34: a link has no `target`"),
        ("{\"nodes\": [{\"id\": 1}], \"links\": [], \"edges\": []}", "net:1:46: `edges` stands beside `links`"),
        ("{\"nodes\": []}", "net:1:11: the graph has no nodes"),
    ] {
        let said = refused(text);
        assert!(said.starts_with(message), "{said}\n{message}");
    }
}

#[test]
fn names_cannot_command_a_terminal() {
    let network = read(
        "{\"nodes\": [{\"id\": \"a\\u001b[31m\"}, {\"id\": 1, \"label\": \"b\\u202e!\"}], \"links\": [{\"source\": 1, \"target\": \"a\\u001b[31m\", \"we\\u001bight\": 1}]}",
    );
    assert_eq!(names(&network), ["a\\u{1b}[31m", "b!"]);
    assert!(network.notes.iter().all(|note| note.chars().all(|c| !parades_config::is_executed(c))));
}
