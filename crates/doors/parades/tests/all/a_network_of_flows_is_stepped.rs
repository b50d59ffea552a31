//! A network that is stepped has the times of closed forms, however it is stepped.

use parades::core::error::{Error, ErrorKind};
use parades::flow::generators::{of_topology, star};
use parades::flow::network_model::NetworkModel;
use parades::flow::platform::{HostId, LinkId};
use parades::network::{Completion, IDEAL, LinkChange, Network, Outcome, TransferId};
use parades::prelude::*;
use parades::topology::{Link, NodeId, Topology};

/// The bandwidth of a host of [`star`], in bytes per second, and the latency of a route, in seconds.
const BANDWIDTH: f64 = 125e6;
const LATENCY: f64 = 600e-6;
const BYTES: u64 = 50_000_000;
const ALONE: f64 = BYTES as f64 / BANDWIDTH;

fn network(hosts: u32) -> Network {
    Network::new(star(hosts).expect("a star has hosts"), IDEAL).expect("it starts")
}

fn secs(time: f64) -> Time {
    Time::from_secs_f64(time)
}

/// Advances to the end, and returns the times and the outcomes of all transfers in the order of their
/// numbers.
fn ends(network: &mut Network) -> Vec<(f64, Outcome)> {
    network.advance_to(Time::from_secs(1000)).expect("nothing fails");
    let mut ends = network.completions().expect("nothing fails");
    assert!(ends.is_sorted_by_key(|end| end.at));
    ends.sort_unstable_by_key(|end| end.id);
    assert!((0..).zip(&ends).all(|(number, end)| end.id == TransferId(number)));
    ends.iter().map(|end| (end.at.as_secs_f64(), end.outcome)).collect()
}

#[track_caller]
fn assert_close(ends: &[(f64, Outcome)], expected: &[f64]) {
    assert_eq!(ends.len(), expected.len());
    for ((end, outcome), expected) in ends.iter().zip(expected) {
        assert!(*outcome == Outcome::Done && (end / expected - 1.0).abs() < 1e-9, "{end} s, and not {expected} s");
    }
}

#[test]
fn transfers_into_one_host_share_its_link() {
    let mut network = network(4);
    network.send(HostId(0), HostId(3), BYTES).expect("there is a route");
    network.send(HostId(1), HostId(3), 2 * BYTES).expect("there is a route");
    // Both have half of the link until the first has ended, and then the second has all.
    assert_close(&ends(&mut network), &[LATENCY + 2.0 * ALONE, LATENCY + 3.0 * ALONE]);
}

#[test]
fn a_transfer_that_comes_later_shares_from_then_on() {
    let mut network = network(4);
    network.send(HostId(0), HostId(3), BYTES).expect("there is a route");
    network.advance_to(secs(ALONE / 4.0)).expect("nothing fails");
    network.send(HostId(1), HostId(3), BYTES).expect("there is a route");
    // The first has sent a quarter when the second begins.
    assert_close(&ends(&mut network), &[LATENCY + ALONE * 1.75, LATENCY + ALONE * 2.0]);
}

#[test]
fn an_all_to_all_takes_as_long_as_a_host_sends() {
    for hosts in [2, 5, 8] {
        let mut network = network(hosts);
        for from in 0..hosts {
            for to in (0..hosts).filter(|to| *to != from) {
                network.send(HostId(from), HostId(to), BYTES).expect("there is a route");
            }
        }
        let expected = LATENCY + f64::from(hosts - 1) * ALONE;
        assert_close(&ends(&mut network), &vec![expected; (hosts * (hosts - 1)) as usize]);
    }
}

#[test]
fn a_link_that_changes_changes_what_is_left() {
    let mut network = network(4);
    let down = network.platform().route(HostId(0), HostId(3)).expect("there is one").links[2];
    network.send(HostId(0), HostId(3), BYTES).expect("there is a route");
    network.advance_to(secs(LATENCY + ALONE / 2.0)).expect("nothing fails");
    network.set_link(down, LinkChange::Rate(BANDWIDTH / 4.0)).expect("there is such a link");
    assert_close(&ends(&mut network), &[LATENCY + ALONE * 2.5]);

    let now = network.now().as_secs_f64();
    network.set_link(down, LinkChange::Rate(BANDWIDTH)).expect("there is such a link");
    network.set_link(down, LinkChange::Latency(Delay::from_ms(1))).expect("there is such a link");
    network.send(HostId(0), HostId(3), BYTES).expect("there is a route");
    network.advance_to(Time::from_secs(2000)).expect("nothing fails");
    let end = network.completions().expect("nothing fails")[0].at.as_secs_f64() - now;
    assert!((end - (0.001 + LATENCY - 50e-6 + ALONE)).abs() < 1e-9, "{end}");

    let now = network.now();
    network.send(HostId(1), HostId(3), BYTES).expect("there is a route");
    network.set_link(down, LinkChange::Down).expect("there is such a link");
    network.send(HostId(2), HostId(3), BYTES).expect("there is a route");
    network.set_link(down, LinkChange::Up).expect("there is such a link");
    network.send(HostId(2), HostId(3), 0).expect("there is a route");
    network.advance_to(Time::from_secs(3000)).expect("nothing fails");
    let failed = |id| Completion { id: TransferId(id), at: now, outcome: Outcome::Failed };
    let ends = network.completions().expect("nothing fails");
    assert_eq!((&ends[..2], ends[2].outcome), (&[failed(2), failed(3)][..], Outcome::Done));
    let metrics = network.metrics().expect("nothing fails");
    let count = |name| metrics.get(name).and_then(|metric| metric.counter()).expect("it is a counter");
    assert_eq!((count("transfers_done"), count("transfers_failed"), count("delivered")), (3, 2, 2 * u128::from(BYTES)));
}

#[test]
fn a_transfer_that_is_cancelled_leaves_its_share() {
    let mut network = network(4);
    network.send(HostId(0), HostId(3), BYTES).expect("there is a route");
    let other = network.send(HostId(1), HostId(3), BYTES).expect("there is a route");
    let at = secs(LATENCY + ALONE);
    network.advance_to(at).expect("nothing fails");
    network.cancel(other).expect("nothing fails");
    network.cancel(other).expect("it does nothing");
    let error = network.cancel(TransferId(2)).expect_err("two were sent");
    assert!(error.to_string().contains("there is no transfer 2, since 2 were sent"), "{error}");
    let ends = ends(&mut network);
    assert_eq!(ends[1], (at.as_secs_f64(), Outcome::Cancelled));
    assert_close(&ends[..1], &[LATENCY + ALONE * 1.5]); // half of it was sent
}

#[test]
fn steps_change_nothing_and_branches_do_not_see_each_other() {
    let play = |step: Option<Delay>| {
        let mut network = network(16);
        let rng = Rng::shared(1, 2);
        for number in 0..200 {
            let [from, to] = [0, 1].map(|_| HostId(u32::try_from(rng.below(16)).expect("it is small")));
            network.send(from, to, rng.below(10_000_000)).expect("there is a route");
            let until = Time::from_ms(number * 7);
            while let Some(step) = step
                && network.now() < until
            {
                let next = network.now().checked_add(step).expect("there is such a time");
                network.advance_to(next.min(until)).expect("nothing fails");
            }
            network.advance_to(until).expect("nothing fails");
        }
        network
    };
    let (mut plain, mut stepped) = (play(None), play(Some(Delay::from_us(777))));
    let mut branch = plain.branch().expect("it can be saved");
    branch.send(HostId(0), HostId(1), 1).expect("there is a route");
    let mut all = [plain.digest(), stepped.digest()].map(|digest| digest.expect("nothing fails")).to_vec();
    for network in [&mut plain, &mut stepped, &mut branch] {
        network.advance_to(Time::from_secs(100)).expect("nothing fails");
        all.push(network.digest().expect("nothing fails"));
    }
    assert!(all[0] == all[1] && all[2] == all[3] && all[3] != all[4]);
    let ends = plain.completions().expect("nothing fails");
    assert_eq!((ends.len(), &ends), (200, &stepped.completions().expect("nothing fails")));
    assert_eq!(branch.completions().expect("nothing fails").len(), 201);
}

#[test]
fn transfers_that_were_returned_are_forgotten_and_a_saved_network_goes_on() {
    let (mut network, mut sizes) = (network(4), Vec::new());
    for round in 0..300 {
        let ids: Vec<TransferId> =
            (0..3).map(|host| network.send(HostId(host), HostId(3), 1000).expect("there is a route")).collect();
        network.advance_to(Time::from_ms(10 * (round + 1))).expect("nothing fails");
        let mut file = Vec::new();
        network.save(&mut file).expect("it can be saved");
        sizes.push(file.len());
        let ends = network.completions().expect("nothing fails");
        assert_eq!(ends.iter().map(|end| end.id).collect::<Vec<_>>(), ids);
        let platform = star(4).expect("a star has hosts");
        let mut loaded = Network::load(platform, IDEAL, &file[..]).expect("it is one");
        assert_eq!((loaded.completions(), loaded.digest()), (Ok(ends), network.digest()));
        network = loaded;
    }
    assert!(sizes[299] < sizes[1] + 50, "{sizes:?}");
    let error = Network::load(star(5).expect("a star has hosts"), IDEAL, &[1, 2, 3][..]).expect_err("it is none");
    assert!(error.to_string().contains("it is no saved network"), "{error}");
}

#[test]
fn a_network_advances_to_what_happens_next() {
    let mut network = network(4);
    assert_eq!((network.advance_to_next(), network.now()), (Ok(false), Time::ZERO));
    network.send(HostId(0), HostId(3), BYTES).expect("there is a route");
    let mut times = Vec::new();
    while network.advance_to_next().expect("nothing fails") {
        times.push(network.now().as_ps() - 1);
    }
    let end = network.completions().expect("nothing fails")[0].at;
    assert_eq!(times, [0, 600_000_000, end.as_ps()]); // the wish, the first byte, the end
}

#[test]
fn a_platform_of_a_topology_has_its_links() {
    let link = |a, b, gbps: u64, us| Link {
        a: NodeId(a),
        b: NodeId(b),
        rate_bps: gbps * 1_000_000_000,
        delay: Delay::from_us(us),
    };
    let links = vec![link(0, 1, 10, 1), link(1, 2, 2, 10), link(2, 3, 10, 100), link(0, 3, 1, 1000)];
    let topology = Topology::with_one_way(&["same", "same", "c", "d"], links, vec![parades::topology::LinkId(3)]);
    let platform = of_topology(&topology.expect("it is one")).expect("it is one");
    let mut network = Network::new(platform, IDEAL).expect("it starts");
    for (from, to) in [(0, 2), (2, 0), (0, 3), (3, 0)] {
        network.send(HostId(from), HostId(to), 1_000_000).expect("there is a route");
        network.advance_to(network.now().checked_add(Delay::from_secs(1)).expect("it is")).expect("nothing fails");
    }
    // 2 Gb/s over 11 µs there and back; 1 Gb/s over 1 ms there, and back over three links.
    let expected = [0.004 + 11e-6, 1.004 + 11e-6, 2.008 + 1e-3, 3.004 + 111e-6];
    assert_close(&ends(&mut network), &expected);
    let twice = Topology::new(&["a", "b"], vec![link(0, 1, 1, 1), link(1, 0, 1, 1)]).expect("it is one");
    assert!(of_topology(&twice).is_err());
}

#[test]
fn wishes_that_no_network_can_fulfil_are_refused() {
    let mut network = network(4);
    let route = network.platform().route(HostId(0), HostId(1)).expect("there is one").links;
    let apart = Topology::new(&["a", "b"], Vec::new()).expect("it is one");
    let mut apart = Network::new(of_topology(&apart).expect("it is one"), IDEAL).expect("it starts");
    let constant = NetworkModel::Constant(Delay::from_ms(1));
    let mut constant = Network::new(star(2).expect("a star has hosts"), constant).expect("it starts");
    let text = |error: Error| {
        assert!(matches!(error.kind(), ErrorKind::Refused(_)));
        error.to_string()
    };
    let refused = [
        network.send(HostId(4), HostId(0), 1).map_err(text),
        network.set_link(LinkId(99), LinkChange::Up).map_err(text).map(|()| TransferId(0)),
        network.set_link(route[0], LinkChange::Rate(-1.0)).map_err(text).map(|()| TransferId(0)),
        network.set_link(route[0], LinkChange::Rate(f64::NAN)).map_err(text).map(|()| TransferId(0)),
        constant.set_link(LinkId(0), LinkChange::Up).map_err(text).map(|()| TransferId(0)),
    ];
    let expected = [
        "there is no host 4, since there are 4; the run is as it was",
        "there is no link 99, since there are 9; the run is as it was",
        "a link cannot have the rate -1; the run is as it was",
        "a link cannot have the rate NaN; the run is as it was",
        "no link can be changed, since every transfer takes the same time; the run is as it was",
    ];
    assert_eq!(refused, expected.map(|what| Err(what.to_owned())));
    assert!(text(apart.send(HostId(0), HostId(1), 1).expect_err("no link")).starts_with("nothing can be sent: "));
    constant.send(HostId(0), HostId(1), BYTES).expect("it needs no route");
    assert_close(&ends(&mut constant), &[0.001]);
    assert_eq!(network.send(HostId(0), HostId(1), 1), Ok(TransferId(0)), "nothing was sent before");
}
