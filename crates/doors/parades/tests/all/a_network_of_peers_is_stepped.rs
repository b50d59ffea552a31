//! A network of peers that is stepped has the times of closed forms, under every engine that it may have.

use parades::AnyEngine;
use parades::carriers::Underlay;
use parades::carriers::underlay::Partition;
use parades::network::{Completion, Outcome, PeerNetwork, TransferId};
use parades::prelude::*;
use parades::{null_message, rounds, time_warp, window};

const LATENCY: Delay = Delay::from_ms(40);
const BYTES: u64 = 1_000_000;
/// The seconds that a transfer takes alone: 8 Mbit over 8 Mbit/s.
const ALONE: f64 = 1.0;

fn engines() -> Vec<AnyEngine> {
    let mut engines = vec![AnyEngine::Auto { threads: 2 }, AnyEngine::Sequential];
    for workers in 1..=3 {
        engines.extend([
            AnyEngine::Rounds(rounds::Settings::of_threads(workers)),
            AnyEngine::Window(window::Settings::of_threads(workers)),
            AnyEngine::NullMessage(null_message::Settings::of_threads(workers)),
        ]);
    }
    engines
}

fn network(peers: usize, engine: AnyEngine) -> PeerNetwork {
    PeerNetwork::new(Underlay::constant(LATENCY), vec![[8e6, 8e6]; peers], engine).expect("it starts")
}

fn secs(end: &Completion) -> f64 {
    assert_eq!(end.outcome, Outcome::Done);
    end.at.as_secs_f64()
}

#[test]
fn an_all_to_all_takes_as_long_as_a_peer_sends_on_every_engine() {
    let mut digests = Vec::new();
    for engine in engines() {
        let mut network = network(5, engine);
        for (from, to) in (0..5).flat_map(|from| (0..5).map(move |to| (from, to))).filter(|(from, to)| from != to) {
            network.send(LpId(from), LpId(to), BYTES).expect("there are such peers");
        }
        network.advance_to(Time::from_secs(100)).expect("nothing fails");
        let ends = network.completions().expect("nothing fails");
        assert_eq!(ends.len(), 20);
        for end in &ends {
            assert!((secs(end) / (4.0 * ALONE + 0.04) - 1.0).abs() < 1e-9, "{end:?}");
        }
        digests.push(network.digest().expect("nothing fails"));
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
}

#[test]
fn a_transfer_that_comes_later_shares_from_then_on_however_the_network_is_stepped() {
    for step in [Delay::from_ms(3), Delay::from_ms(500), Delay::from_secs(100)] {
        let mut network = network(3, AnyEngine::Sequential);
        let first = network.send(LpId(0), LpId(2), BYTES).expect("there are such peers");
        network.advance_to(Time::from_ms(250)).expect("nothing fails");
        let second = network.send(LpId(1), LpId(2), BYTES).expect("there are such peers");
        let mut branch = network.branch().expect("it can be saved");
        branch.continue_under(AnyEngine::Window(window::Settings::of_threads(2))).expect("it can");
        branch.advance_to(Time::from_secs(9)).expect("nothing fails");
        let mut ends = Vec::new();
        while network.now() < Time::from_secs(9) {
            let next = network.now().checked_add(step).expect("virtual time is long");
            network.advance_to(next.min(Time::from_secs(9))).expect("nothing fails");
            ends.extend(network.completions().expect("nothing fails"));
        }
        assert_eq!(ends, branch.completions().expect("nothing fails"));
        assert_eq!((ends[0].id, ends[1].id), (first, second));
        assert!((secs(&ends[0]) - 1.79).abs() < 1e-9 && (secs(&ends[1]) - 2.04).abs() < 1e-9, "{ends:?}");
        assert_eq!(network.completions(), Ok(Vec::new()));
    }
}

#[test]
fn transfers_that_were_returned_are_forgotten_and_a_saved_network_goes_on() {
    let (mut network, mut sizes) = (network(3, AnyEngine::Sequential), Vec::new());
    for round in 0..300 {
        let sent = [0, 1].map(|peer| network.send(LpId(peer), LpId(2), 1000).expect("there are such peers"));
        network.advance_to(Time::from_secs(round + 1)).expect("nothing fails");
        let mut file = Vec::new();
        network.save(&mut file).expect("it can be saved");
        sizes.push(file.len());
        let ends = network.completions().expect("nothing fails");
        assert_eq!(ends.iter().map(|end| end.id).collect::<Vec<_>>(), sent);
        let (underlay, capacities) = (Underlay::constant(LATENCY), vec![[8e6, 8e6]; 3]);
        let window = AnyEngine::Window(window::Settings::of_threads(2));
        let mut loaded = PeerNetwork::load(underlay, capacities, window, &file[..]).expect("it is one");
        assert_eq!((loaded.completions(), loaded.digest()), (Ok(ends), network.digest()));
    }
    assert!(sizes[299] < sizes[1] + 50, "{sizes:?}");
}

#[test]
fn what_peers_cannot_do_is_refused_or_fails() {
    let mut network = network(2, AnyEngine::Sequential);
    let refused = network.send(LpId(0), LpId(2), 1).expect_err("there is no such peer").to_string();
    assert_eq!(refused, "there is no peer 2, since there are 2; the run is as it was");
    let time_warp = AnyEngine::TimeWarp(time_warp::Settings::of_threads(1));
    network.continue_under(time_warp).expect_err("it rolls back");
    assert_eq!(network.send(LpId(1), LpId(1), 5), Ok(TransferId(0)), "nothing was sent before");
    let cut = Partition::new(Time::ZERO, Time::from_secs(1), vec![0, 1]).expect("it is one");
    let cut = Underlay::constant(LATENCY).with_partition(cut);
    let mut cut = PeerNetwork::new(cut, vec![[8e6, 8e6]; 2], AnyEngine::Sequential).expect("it starts");
    cut.send(LpId(0), LpId(1), BYTES).expect("there are such peers");
    cut.advance_to(Time::from_secs(1)).expect("nothing fails");
    cut.send(LpId(0), LpId(1), BYTES).expect("there are such peers");
    cut.advance_to(Time::from_secs(3)).expect("nothing fails");
    let ends = cut.completions().expect("nothing fails");
    assert_eq!(ends[0], Completion { id: TransferId(0), at: Time::ZERO, outcome: Outcome::Failed });
    assert!(ends.len() == 2 && (secs(&ends[1]) - 2.04).abs() < 1e-9, "{ends:?}");
    let none = PeerNetwork::new(Underlay::constant(LATENCY), vec![[8e6, 0.0]], AnyEngine::Sequential);
    let none = none.expect_err("the down link has no capacity").to_string();
    assert_eq!(none, "a peer cannot have a link of 0 bits per second; the run is as it was");
}
