//! Forms of other tools: JSON by index, as adjacency and by Cytoscape; CAIDA's lists; BRITE; HPCC's
//! simulator.

use parades_core::time::Delay;
use parades_topology::import::{Network, Options, parse};

fn network(text: &str) -> Result<Network, String> {
    let options = Options { delay: Delay::from_ms(7), ..Options::default() };
    parse("net".as_ref(), text.as_bytes(), &options).map_err(|error| error.to_string())
}

fn read(text: &str) -> Network {
    network(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the links by the names of their ends.
fn links(network: &Network) -> Vec<String> {
    let topology = &network.topology;
    topology.links().iter().map(|link| format!("{}-{}", topology.name(link.a), topology.name(link.b))).collect()
}

#[test]
fn node_link_data_may_name_nodes_by_their_places() {
    let found = read(
        r#"{"nodes": [{"name": "Myriel"}, {"name": "Napoleon"}, {"name": "Valjean"}],
            "links": [{"source": 0, "target": 1, "value": 1}, {"source": 1, "target": 2, "value": 8}]}"#,
    );
    assert_eq!(links(&found), ["Myriel-Napoleon", "Napoleon-Valjean"]);
    // Numbers that are ids are ids, although they would be places, too.
    let found = read(r#"{"nodes": [{"id": 1}, {"id": 0}], "links": [{"source": 0, "target": 1}]}"#);
    assert_eq!(links(&found), ["0-1"]);
    // networkx 1 writes places beside ids.
    let found = read(
        r#"{"nodes": [{"id": 1}, {"id": 2}, {"id": 3}],
        "links": [{"source": 0, "target": 1}, {"source": 1, "target": 2}]}"#,
    );
    assert_eq!(links(&found), ["1-2", "2-3"]);
    let beyond = r#"{"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"source": 0, "target": 2}]}"#;
    assert!(network(beyond).expect_err("there is no third node").contains("`0`, which is no node"));
}

#[test]
fn adjacency_data_have_an_edge_in_two_lists() {
    let found = read(
        r#"{"directed": false, "multigraph": false, "graph": [], "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
            "adjacency": [[{"id": "b", "delay": "2ms"}], [{"id": "a", "delay": "2ms"}, {"id": "c"}], [{"id": "b"}]]}"#,
    );
    assert_eq!(links(&found), ["a-b", "b-c"]);
    assert_eq!(found.topology.links()[0].delay, Delay::from_ms(2));
    let parallel = r#"{"multigraph": true, "nodes": [{"id": 1}, {"id": 2}],
        "adjacency": [[{"id": 2, "key": 0}, {"id": 2, "key": 1}], [{"id": 1, "key": 0}, {"id": 1, "key": 1}]]}"#;
    assert_eq!(links(&read(parallel)), ["1-2", "1-2"]);
    let directed = r#"{"directed": true, "nodes": [{"id": 1}, {"id": 2}],
        "adjacency": [[{"id": 2, "delay": "1ms"}], [{"id": 1, "delay": "3ms"}]]}"#;
    assert_eq!(links(&read(directed)), ["1-2", "2-1"]);
    let short = r#"{"nodes": [{"id": 1}, {"id": 2}], "adjacency": [[{"id": 2}]]}"#;
    assert!(network(short).expect_err("a list is missing").contains("1 lists for 2 nodes"));
}

#[test]
fn cytoscape_has_elements_with_data() {
    let nodes =
        r#"{"data": {"id": "7", "name": "Oslo"}, "position": {"x": 1, "y": 2}}, {"data": {"id": "9", "name": "Lima"}}"#;
    let edges = r#"{"data": {"id": "e1", "source": "7", "target": "9", "delay": "4ms"}}"#;
    for elements in [format!(r#"{{"nodes": [{nodes}], "edges": [{edges}]}}"#), format!("[{nodes}, {edges}]")] {
        let found = read(&format!(r#"{{"data": {{"name": "two"}}, "elements": {elements}}}"#));
        assert_eq!(links(&found), ["Oslo-Lima"]);
        assert_eq!(found.topology.links()[0].delay, Delay::from_ms(4));
    }
}

#[test]
fn a_tree_is_refused_by_its_name() {
    let refused = network(r#"{"id": 1, "children": [{"id": 2}]}"#).expect_err("a tree");
    assert_eq!(refused, "net:1:1: this is a tree (networkx's `tree_data`); save it as node-link data");
}

#[test]
fn coordinates_of_a_plane_are_not_needed_where_links_have_lengths() {
    let file = |edge: &str| {
        format!(
            "graph [ node [ id 0 label \"R0\" lon 180.69 lat 135.63 ] node [ id 1 label \"R1\" lon 182.81 lat 65.17 ]\n\
             edge [ source 0 target 1 {edge} ] ]"
        )
    };
    let found = read(&file("dist 200"));
    // 200 km at 199,861.638 km/s.
    assert_eq!(found.topology.links()[0].delay.as_ps(), 1_000_692_286);
    let note = "coordinates of a plane, without use: each link has its own delay or length: `R0`, `R1`";
    assert!(found.notes.iter().any(|other| other == note), "{:?}", found.notes);
    let refused = network(&file("")).expect_err("the delay depends on the places");
    assert!(refused.contains("there is no place at latitude 135.63, longitude 180.69"), "{refused}");
}

#[test]
fn relationships_of_autonomous_systems_are_left_out() {
    let found = read("# source:topology|BGP\n1|11537|0|bgp\n1|21616|-1|bgp\n2|3999|-1|bgp\n1|2|0|bgp\n");
    assert_eq!(links(&found), ["1-11537", "1-21616", "2-3999", "1-2"]);
    let note = "descriptions, which change nothing: `relationship` of edges";
    assert!(found.notes.iter().any(|other| other == note), "{:?}", found.notes);
    assert_eq!(links(&read("1|2|-1\n2|3|0\n")), ["1-2", "2-3"]);
    assert!(network("1|2|3|4|5\n").expect_err("five parts").contains("5 parts between `|`"));
}

#[test]
fn brite_gives_delays_in_milliseconds_and_rates_in_megabits() {
    let text = "Topology: ( 3 Nodes, 2 Edges )\nModel (1 - RTWaxman):  3 1000 100 1  2  0.15 0.2 1 1 10.0 1024.0\n\n\
        Nodes: ( 3 )\n0\t57.00\t90.00\t2\t2\t-1\tRT_NODE\n1\t50\t40\t3\t3\t-1\tRT_NODE\n2\t1\t2\t2\t2\t-1\tRT_NODE\n\n\
        Edges: ( 2 )\n0\t2\t0\t113.0\t0.375\t10.5\t-1\t-1\tE_RT\tU\n1\t1\t2\t15.0\t-1\t10.0\t-1\t-1\tE_AS\tU\n";
    let found = read(text);
    assert_eq!(links(&found), ["2-0", "1-2"]);
    let [first, second] = found.topology.links() else { panic!("two links") };
    assert_eq!((first.rate_bps, first.delay), (10_500_000, Delay::from_us(375)));
    assert_eq!((second.rate_bps, second.delay), (10_000_000, Delay::from_ms(7)));
    let cut = network(&text[..text.len() - 30]).expect_err("the last line is cut");
    assert!(cut.contains("an edge has an id, two ends, a length, a delay and a bandwidth"), "{cut}");
}

#[test]
fn topologies_of_rdma_simulators_are_read_and_counted() {
    let text = "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n2 1 25Gbps 1000ns 0.01\n";
    let found = read(text);
    assert_eq!(links(&found), ["0-2", "2-1"]);
    let rates: Vec<u64> = found.topology.links().iter().map(|link| link.rate_bps).collect();
    assert_eq!(rates, [100_000_000_000, 25_000_000_000]);
    assert!(found.topology.links().iter().all(|link| link.delay == Delay::from_us(1)));
    assert_eq!(found.losses, [Some(0.0), Some(0.01)]);
    // SimAI's first line; line ends make no difference.
    let simai = read("4 8 1 1 3 H100\n2 3 0 2 1Gbps 1us 0 1 2 1Gbps 1us 0\n2 3 1Gbps 1us 0");
    assert_eq!(links(&simai).len(), 3);
    let note = "descriptions, which change nothing: `gpu type`, `gpus per server` of the graph";
    assert!(simai.notes.iter().any(|other| other == note), "{:?}", simai.notes);
    let refused = |text: &str| network(text).expect_err("a mistake");
    assert!(refused("3 1 3\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n").contains("ends where an end of a link"));
    assert!(refused("3 1 1\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n").contains("net:4:1: `1` stands behind the 1 links"));
    assert!(refused("3 1 2\n2\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n").contains("net:4:1: node 3 is beyond the 3 nodes"));
    assert!(refused("3 1 2\nx\n0 2 1Gbps 1us 0\n").contains("net:2:1: `x` is no switch"));
}
