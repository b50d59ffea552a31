//! The transit–stub generator: sizes, latencies, and what is impossible.

use parades_core::random::Rng;
use parades_core::time::Delay;
use parades_topology::generators::{Domains, TransitStub, TransitStubError};
use parades_topology::{Link, NodeId, TopologyError};

fn generate(sizes: [u32; 4], seed: u64) -> Result<Domains, TransitStubError> {
    let [transit_domains, transit_nodes, stub_domains, stub_nodes] = sizes;
    TransitStub { transit_domains, transit_nodes, stub_domains, stub_nodes }.generate(&Rng::shared(seed, 0))
}

/// Returns the number of a router's domain.
fn domain_of(domains: &Domains, NodeId(router): NodeId) -> usize {
    domains.transit().chain(domains.stubs()).position(|domain| domain.contains(&router)).expect("each has a domain")
}

#[test]
fn links_have_the_numbers_and_latencies_of_their_kinds() {
    for seed in 0..20 {
        let domains = generate([10, 20, 10, 20], seed).expect("possible");
        let topology = domains.topology();
        assert_eq!(topology.connected(), Ok(()));
        let mut counts = [0; 3];
        for &Link { a, b, delay, .. } in topology.links() {
            let transit = [a, b].map(|end| end.0 < domains.transit_routers());
            let (kind, shortest, longest) = match (domain_of(&domains, a) == domain_of(&domains, b), transit) {
                (true, _) => (0, 2, 10),
                (false, [true, true]) => (1, 98, 102),
                (false, [false, true] | [true, false]) => (2, 98, 102),
                (false, [false, false]) => panic!("a link joins two stub domains"),
            };
            counts[kind] += 1;
            assert!((Delay::from_ms(shortest)..=Delay::from_ms(longest)).contains(&delay), "{delay}");
        }
        // ⌊log2 10⌋ + 1 = 4 links for each transit domain; one tie for each stub domain, and a half more.
        assert_eq!(counts[1..], [40, 15], "seed {seed}");
    }
}

#[test]
fn each_domain_is_a_connected_graph_of_its_degree() {
    let domains = generate([40, 20, 40, 5], 7).expect("possible");
    let mut sizes = std::collections::BTreeSet::new();
    for (number, domain) in domains.transit().chain(domains.stubs()).enumerate() {
        let size = domain.end - domain.start;
        assert!(size.abs_diff(if number < 40 { 20 } else { 5 }) <= 2);
        sizes.insert(size);
        let inside =
            domains.topology().links().iter().filter(|link| domain.contains(&link.a.0) && domain.contains(&link.b.0));
        let links: Vec<Link> = inside
            .map(|link| Link { a: NodeId(link.a.0 - domain.start), b: NodeId(link.b.0 - domain.start), ..*link })
            .collect();
        let degree_sum = size * (size.ilog2() + 1);
        assert_eq!(links.len(), degree_sum.div_ceil(2).min(size * (size - 1) / 2) as usize, "a domain of {size}");
        let alone = parades_topology::Topology::new(&vec![""; size as usize], links).expect("the links are inside");
        assert_eq!(alone.connected(), Ok(()));
    }
    assert_eq!(sizes.len(), 10, "every size from 3 to 7 and from 18 to 22 is drawn");
}

#[test]
fn the_seed_decides_and_latencies_do_not_tie() {
    let generated = |seed| generate([4, 10, 20, 10], seed).expect("possible");
    assert_eq!(generated(3), generated(3));
    assert_ne!(generated(3), generated(4));
    let domains = generated(3);
    let mut delays: Vec<Delay> = domains.topology().links().iter().map(|link| link.delay).collect();
    delays.sort_unstable();
    assert!(delays.windows(2).all(|pair| pair[0] < pair[1]), "delays are drawn to the picosecond");
    assert_eq!(domains.stub_routers().len(), domains.stubs().map(|domain| domain.len()).sum::<usize>());
    assert_eq!(domains.topology().name(domains.stub_routers().next().expect("there are some")), "s0.0");
}

#[test]
fn small_sizes_are_possible_and_impossible_ones_are_refused() {
    for sizes in [[1, 1, 0, 0], [1, 1, 1, 1], [2, 1, 3, 1], [1, 2, 2, 2]] {
        for seed in 0..20 {
            let domains = generate(sizes, seed).expect("possible");
            assert_eq!(domains.topology().connected(), Ok(()), "{sizes:?}");
            assert_eq!(domains.stubs().len(), sizes[2] as usize);
        }
    }
    assert_eq!(generate([0, 1, 1, 1], 0), Err(TransitStubError::NoTransitDomain));
    assert_eq!(generate([1, 0, 1, 1], 0), Err(TransitStubError::NoRouter));
    assert_eq!(generate([1, 1, 1, 0], 0), Err(TransitStubError::NoRouter));
    let too_large = Err(TransitStubError::TooLarge(TopologyError::TooLarge));
    assert_eq!(generate([1, 1, 70_000, 70_000], 0), too_large);
    assert_eq!(generate([u32::MAX, u32::MAX, u32::MAX, u32::MAX], 0), too_large);
    let limited = || generate([10, 20, 400_000, 10_000], 0);
    let refused = parades_core::budget::within(1 << 30, || 0, limited).0.expect_err("it takes a terabyte");
    assert!(matches!(refused, TransitStubError::Memory(_)), "{refused}");
}
