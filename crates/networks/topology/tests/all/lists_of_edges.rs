//! Lists of edges, as SNAP writes graphs of autonomous systems.

use parades_core::time::Delay;
use parades_topology::import::{Network, Options, parse};

fn network(text: &str) -> Result<Network, String> {
    let options = Options { delay: Delay::from_ms(7), ..Options::default() };
    parse("as.txt".as_ref(), text.as_bytes(), &options).map_err(|error| error.to_string())
}

#[test]
fn an_edge_that_is_saved_twice_is_one_link_and_remarks_are_skipped() {
    let found = network("# Nodes: 3\r\n# From\tTo\r\n\r\n10\t3\r\n3\t10\r\n 3 7\n7 3\n3 7\n7\t7\n").expect("a list");
    let topology = found.topology;
    let names: Vec<&str> = topology.node_ids().map(|node| topology.name(node)).collect();
    assert_eq!(names, ["10", "3", "7"]);
    let links: Vec<_> = topology.links().iter().map(|link| (link.a.0, link.b.0, link.delay)).collect();
    assert_eq!(links, [(0, 1, Delay::from_ms(7)), (1, 2, Delay::from_ms(7))]);
    assert!(topology.is_symmetric());
    assert!(found.notes.iter().any(|note| note.contains("from a node to itself")), "{:?}", found.notes);
}

#[test]
fn mistakes_are_found_at_their_lines() {
    let refused = |text: &str| network(text).expect_err("a mistake");
    assert_eq!(
        refused("1 2\n2 3 40\n"),
        "as.txt:2:1: this line has 3 words, not the two ends of an edge; write two ids; GraphML can hold latencies"
    );
    assert_eq!(refused("1 2\n  2 x\n"), "as.txt:2:3: `x` is no id of a node; write whole numbers");
    let apart = refused("1 2\n3 4\n");
    assert!(apart.starts_with("as.txt:2:1: `1` and `3` cannot meet"), "{apart}");
}

#[test]
fn a_remark_before_a_gml_file_is_still_one() {
    let text = "# a remark\ngraph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] ]";
    assert_eq!(network(text).expect("GML").topology.links().len(), 1);
}
