//! A topology keeps what it was given, and refuses what no network can be.

use parades_core::time::Delay;
use parades_topology::{Link, LinkId, NodeId, Topology, TopologyError};

fn link(a: u32, b: u32) -> Link {
    Link { a: NodeId(a), b: NodeId(b), rate_bps: 1_000_000, delay: Delay::from_us(1) }
}

#[test]
fn interfaces_are_ordered_by_neighbour_then_link_and_parallel_links_are_kept() {
    let links = vec![link(3, 0), link(0, 1), link(1, 0), link(0, 1)];
    let topology = Topology::new(&["a", "", "c", "dé"], links.clone()).unwrap();
    let seen = |node| -> Vec<(u32, u32)> {
        topology.interfaces(NodeId(node)).iter().map(|i| (i.neighbour.0, i.link.0)).collect()
    };
    assert_eq!(seen(0), [(1, 1), (1, 2), (1, 3), (3, 0)]);
    assert_eq!(seen(1), [(0, 1), (0, 2), (0, 3)]);
    assert_eq!(seen(2), []);
    assert_eq!(seen(3), [(0, 0)]);
    assert_eq!(topology.links(), links);
    assert_eq!(topology.link(LinkId(3)), links[3]);
    assert_eq!(topology.node_ids().map(|node| topology.name(node)).collect::<Vec<_>>(), ["a", "", "c", "dé"]);
    assert_eq!(topology.node_ids().map(|node| topology.first_interface(node)).collect::<Vec<_>>(), [0, 4, 7, 7]);
    assert_eq!(topology.interface_count(), 8);
    // Out by the link that was listed third, back by the one listed last, and on to the far node.
    let ends: Vec<_> = topology.follow(NodeId(0), &[1, 2, 3]).map(|i| (i.neighbour.0, i.link.0)).collect();
    assert_eq!(ends, [(1, 2), (0, 3), (3, 0)]);
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let refused = |links: Vec<Link>| Topology::new(&["a", "b"], links).unwrap_err().to_string();
    assert_eq!(Topology::new::<&str>(&[], Vec::new()), Err(TopologyError::Empty));
    assert_eq!(refused(vec![link(0, 1), link(1, 2)]), "link 1 ends at node 2, but the nodes are numbered from 0 to 1");
    assert_eq!(refused(vec![link(1, 1)]), "link 0 joins node `b` to itself; a link has two different ends");
    assert_eq!(
        refused(vec![Link { rate_bps: 0, ..link(0, 1) }]),
        "link 0, between `a` and `b`, has a rate of zero bits per second; a rate must be positive"
    );
    assert_eq!(
        refused(vec![link(0, 1), Link { delay: Delay::MAX, ..link(1, 0) }]),
        "the links' delays add up to more than virtual time holds, 213 days; the longest, between `b` and `a`, is 18446744.073709551615s"
    );
    // The longest delay is fine by itself, and so is none at all.
    assert!(
        Topology::new(
            &["a", "b"],
            vec![Link { delay: Delay::MAX, ..link(0, 1) }, Link { delay: Delay::ZERO, ..link(0, 1) }]
        )
        .is_ok()
    );
}

#[test]
fn a_network_in_parts_names_two_nodes_that_cannot_meet() {
    let topology = Topology::new(&["lone", "x", "y", "z", "p", "q"], vec![link(3, 1), link(2, 3), link(5, 4)]).unwrap();
    assert_eq!(topology.parts(), [0, 1, 1, 1, 2, 2]);
    let why = topology.connected().unwrap_err();
    assert_eq!(why, TopologyError::Disconnected { a: "x".to_owned(), b: "lone".to_owned(), parts: 3 });
    assert_eq!(why.to_string(), "`x` and `lone` cannot meet: the network is in 3 parts that no link joins");
    assert_eq!(Topology::new(&["alone"], Vec::new()).unwrap().connected(), Ok(()));
}
