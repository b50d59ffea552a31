//! The ring of campuses of `parades_packet::campus`. Its backbone links have a delay of 5 ms, its links to
//! hosts 1 ms, and the links of the ring 200 ms.

use super::{check, cut, find, imbalance, linked};
use parades_core::prelude::*;
use parades_core::world::World;
use parades_engine::partition::{Partitioning, Wish};

/// The links between the routers and servers of a campus: a line for each part, and last the links between
/// the parts.
const BACKBONE: &str = "0-1 1-2 2-0 \
    3-4 5-3 6-3 7-4 8-4 \
    11-12 13-11 12-14 14-13 15-13 16-14 17-16 18-13 19-14 20-15 21-16 22-17 23-17 24-17 \
    25-26 26-27 27-28 28-26 29-25 30-25 31-27 32-28 33-28 \
    2-3 9-10 9-0 10-1 9-11 10-12 10-25 10-26";
const HOSTS: u32 = 34;
const HOSTS_AT_ROUTER: u32 = 42;
const NODES: u32 = HOSTS + 12 * HOSTS_AT_ROUTER;

/// Returns the router of a host. Both are numbered within a campus.
fn router_of(host: u32) -> u32 {
    match (host - HOSTS) / HOSTS_AT_ROUTER {
        lan @ 0..7 => 18 + lan,
        lan => 22 + lan,
    }
}

/// Returns the lookahead of a link: its delay plus the transmission time of a header of 30 bytes.
fn lookahead(ms: u64, bits_per_second: u64) -> Delay {
    Delay::from_ms(ms).saturating_add(Delay::serialisation(30, bits_per_second))
}

fn ring_lookahead() -> Delay {
    lookahead(200, 2_000_000_000)
}

fn backbone_lookahead() -> Delay {
    lookahead(5, 1_000_000_000)
}

fn campuses(networks: u32) -> World {
    let campus = |z: u32| {
        let first = z * NODES;
        let node = move |number: &str| first + number.parse::<u32>().expect("a number");
        let ends = BACKBONE.split(' ').filter_map(|link| link.split_once('-'));
        let backbone = ends.map(move |(a, b)| (node(a), node(b), backbone_lookahead()));
        let hosts = (HOSTS..NODES).map(move |h| (first + router_of(h), first + h, lookahead(1, 100_000_000)));
        let next = (z + 1) % networks * NODES;
        let ring = (networks > 1).then_some((first, next, ring_lookahead()));
        backbone.chain(hosts).chain(ring)
    };
    linked(networks * NODES, (0..networks).flat_map(campus))
}

/// Returns true if each host is in the partition of its router.
fn hosts_stay(found: &Partitioning, networks: u32) -> bool {
    let mut hosts =
        (0..networks).flat_map(|z| (HOSTS..NODES).map(move |host| (z * NODES + host, z * NODES + router_of(host))));
    hosts.all(|(host, router)| found.of(LpId(host)) == found.of(LpId(router)))
}

fn degree(world: &World) -> impl Fn(LpId) -> u64 + '_ {
    |lp| world.channels().from_sender(lp).len() as u64
}

#[test]
fn the_ring_is_cut_where_it_gives_every_worker_enough() {
    for (networks, workers) in [(2, 2), (10, 2), (10, 4), (100, 2), (100, 8), (100, 16)] {
        let found = check(&campuses(networks), &Wish::of_workers(workers));
        assert_eq!(found.lookahead(), Some(ring_lookahead()), "{networks} campuses, {workers} workers");
        // There are as many partitions as campuses, but at most sixteen for each worker.
        assert_eq!(found.partitions(), networks.min(16 * workers), "{networks} campuses, {workers} workers");
        assert!(
            (0..networks)
                .all(|z| { (z * NODES..(z + 1) * NODES).all(|lp| found.of(LpId(lp)) == found.of(LpId(z * NODES))) })
        );
    }
}

#[test]
fn the_backbone_is_cut_where_campuses_do_not_suffice() {
    for (networks, workers) in [(1, 2), (1, 4), (1, 8), (2, 4), (2, 8), (2, 16), (10, 16)] {
        let world = campuses(networks);
        let found = check(&world, &Wish::of_workers(workers));
        assert_eq!(found.lookahead(), Some(backbone_lookahead()), "{networks} campuses, {workers} workers");
        assert!(found.partitions() >= 2 * workers, "{networks} campuses, {workers} workers: {}", found.partitions());
        assert!(hosts_stay(&found, networks), "{networks} campuses, {workers} workers");
        // Twelve groups of hosts in each campus have nearly all the weight.
        let groups = f64::from(12 * networks);
        let rounded_up = (groups / f64::from(workers)).ceil() * f64::from(workers) / groups;
        assert!(imbalance(&found, workers, degree(&world)) <= 1.02 * rounded_up);
    }
}

#[test]
fn a_few_partitions_are_neighbourhoods() {
    let world = campuses(1);
    let found = check(&world, &Wish { partitions: Some(2), ..Wish::of_workers(2) });
    assert_eq!((found.partitions(), found.lookahead()), (2, Some(backbone_lookahead())));
    assert!(hosts_stay(&found, 1));
    assert!(imbalance(&found, 2, degree(&world)) < 1.15);
    assert!(cut(&world, &found) < 0.02, "of 543 links {} are cut", cut(&world, &found));
}

#[test]
fn measurements_overrule_guesses() {
    // The hosts of the first campus are idle, so that the campus has little work.
    let world = campuses(2);
    let weights: Vec<u64> = (0..2 * NODES).map(|lp| if lp < NODES { 1 } else { 1000 }).collect();
    let wish = Wish { weights: Some(&weights), events_per_second: Some(1e6), ..Wish::of_workers(2) };
    let found = check(&world, &wish);
    assert_eq!(found.lookahead(), Some(backbone_lookahead()));
    assert!(imbalance(&found, 2, |lp| weights[lp.index()]) < 1.1);
    // Windows of 5 ms do not pay if they hold only one event.
    let found = check(&world, &Wish { events_per_second: Some(200.0), ..wish });
    assert_eq!(found.lookahead(), Some(ring_lookahead()));
    // Windows of 200 ms do not pay if the control delay ends them after 5 ms.
    let even = check(&world, &Wish { longest_window: Some(Delay::from_ms(5)), ..Wish::of_workers(2) });
    assert!(even.speedup() < check(&world, &Wish::of_workers(2)).speedup());
}

/// Prints how campuses and large graphs are cut, and the time that it takes.
#[test]
#[ignore = "prints a table of times"]
#[expect(clippy::disallowed_methods, reason = "it measures the wall clock")]
fn table() {
    println!("| graph | workers | partitions | lookahead | imbalance | cut | estimated speed-up | ms |");
    println!("|---|---|---|---|---|---|---|---|");
    let row = |name: &str, world: &World, workers: u32| {
        let begin = std::time::Instant::now();
        let found = find(world, &Wish::of_workers(workers));
        let ms = begin.elapsed().as_secs_f64() * 1e3;
        let lookahead = found.lookahead().map_or("none".into(), |lookahead| lookahead.to_string());
        let imbalance = imbalance(&found, workers, degree(world));
        let (partitions, cut, speedup) = (found.partitions(), 100.0 * cut(world, &found), found.speedup());
        println!(
            "| {name} | {workers} | {partitions} | {lookahead} | {imbalance:.2} | {cut:.1} % | {speedup:.1} | {ms:.2} |"
        );
        assert!(workers == 1 || (partitions > 1 && imbalance < 2.0));
    };
    for networks in [1, 2, 10, 100] {
        let world = campuses(networks);
        [1, 2, 4, 8, 16].into_iter().for_each(|workers| row(&format!("campus {networks}"), &world, workers));
    }
    let equal = |_, _| Delay::from_ms(1);
    let differ = |a: u32, b: u32| {
        Delay::from_us(500 + u64::from(a.wrapping_mul(0x9e37_79b9) ^ b.wrapping_mul(0x85eb_ca6b)) % 20_000)
    };
    row("torus of 10^6, equal delays", &torus(1000, equal), 8);
    row("torus of 10^6, different delays", &torus(1000, differ), 8);
    row("torus of 50,000, different delays", &torus(224, differ), 8);
}

fn torus(side: u32, lookahead: impl Fn(u32, u32) -> Delay) -> World {
    let links = (0..side * side).flat_map(|lp| {
        let (x, y) = (lp % side, lp / side);
        [(lp, y * side + (x + 1) % side), (lp, (y + 1) % side * side + x)]
    });
    linked(side * side, links.map(|(a, b)| (a, b, lookahead(a, b))))
}
