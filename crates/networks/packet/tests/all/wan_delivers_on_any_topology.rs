//! The `wan` scenario: offered load, bounds, and any topology.

use parades_core::prelude::*;
use parades_packet::queue::QueueLimit;
use parades_packet::wan::{Arrivals, Parameters, Wan, Weights};
use parades_topology::generators::backbone;
use parades_topology::import;
use parades_topology::{Link, NodeId, Topology};

fn run(wan: &Wan, seconds: f64) -> Outcome {
    let end = Time::try_from_secs_f64(seconds).expect("a time");
    parades_engine::sequential::run(&wan.network, RunOptions::until(end)).expect("it runs")
}

fn count(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).expect("a counter")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.get(name).and_then(|metric| metric.headline()).expect("a value")
}

#[test]
fn the_most_loaded_link_is_offered_the_load() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson, Arrivals::OnOff] {
        for weights in [Weights::Rate, Weights::Degree, Weights::Equal] {
            let queue = QueueLimit::Packets(100_000);
            let parameters = Parameters {
                load: 0.6,
                period: Delay::from_ms(10),
                flows: 300,
                packets_per_s: 1e9,
                arrivals,
                weights,
                queue,
                ..Parameters::default()
            };
            let wan = parameters.build(backbone(), 7).expect("a network");
            let outcome = run(&wan, 3.0);
            let busy = value(&outcome, "utilisation_max");
            assert!((busy - 0.6).abs() < 0.03, "{arrivals:?} {weights:?}: {busy}");
            let rate = count(&outcome, "packets_sent") as f64 / 3.0;
            assert!((rate / wan.packets_per_s - 1.0).abs() < 0.03, "{rate} {}", wan.packets_per_s);
            assert_eq!(count(&outcome, "packets_lost"), 0);
        }
    }
}

#[test]
fn overload_drops_and_the_bound_on_packets_holds() {
    let overload = Parameters { load: 1.5, packets_per_s: 1e9, ..Parameters::default() };
    let outcome = run(&overload.build(backbone(), 1).expect("a network"), 1.0);
    assert!(count(&outcome, "packets_lost") > 1000);
    let links = outcome.metrics.get("links").and_then(|metric| metric.table()).expect("a table").rows();
    assert!((2..=70).contains(&links.len()));
    let dropped = |row: &Vec<Cell>| if let Cell::Integer(packets) = row[6] { packets } else { 0 };
    assert!(links.is_sorted_by_key(|row| std::cmp::Reverse(dropped(row))), "the most dropping come first");
    let dropped: u64 = links.iter().map(dropped).sum();
    assert_eq!(u128::from(dropped), count(&outcome, "packets_lost"));

    let bounded = Parameters { packets_per_s: 5000.0, ..overload }.build(backbone(), 1).expect("a network");
    assert!(bounded.load < 0.2 && (bounded.packets_per_s - 5000.0).abs() < 1e-6);
    let sent = count(&run(&bounded, 1.0), "packets_sent");
    assert!(sent.abs_diff(5000) < 400, "{sent}");
}

#[test]
fn the_seed_alone_decides_who_sends_to_whom() {
    let ends = |seed| -> Vec<_> {
        let wan = Parameters::default().build(backbone(), seed).expect("a network");
        wan.network.flows().iter().map(|flow| (flow.source, flow.destination)).collect()
    };
    assert_eq!(ends(1), ends(1));
    assert_ne!(ends(1), ends(2));
}

#[test]
fn a_run_can_be_undone_and_redone() {
    let parameters = Parameters {
        load: 2.0,
        flows: 100,
        packets_per_s: 1e6,
        arrivals: Arrivals::OnOff,
        period: Delay::from_ms(5),
        queue: QueueLimit::Bytes(8000),
        ..Parameters::default()
    };
    let wan = parameters.build(backbone(), 3).expect("a network");
    let options = || RunOptions::until(Time::try_from_secs_f64(0.2).expect("a time"));
    let once = parades_engine::sequential::run(&wan.network, options()).expect("it runs");
    let redone = parades_engine::rollback_check::run(&wan.network, options()).expect("all is restored");
    assert!(count(&once, "packets_lost") > 100);
    assert_eq!((once.digest, once.metrics), (redone.digest, redone.metrics));
}

#[test]
fn slow_and_unequal_links_still_deliver() {
    // Modems at one end, terabits at the other.
    let link = |a, b, rate_bps| Link { a: NodeId(a), b: NodeId(b), rate_bps, delay: Delay::from_ms(20) };
    let links = vec![link(0, 1, 64_000), link(1, 2, 1_000_000_000_000), link(2, 3, 9_600), link(2, 4, 1_000_000_000)];
    let topology = Topology::new(&["a", "b", "c", "d", "e"], links).expect("a network");
    let parameters = Parameters { weights: Weights::Equal, ..Parameters::default() };
    let outcome = run(&parameters.build(topology, 1).expect("a network"), 1.0);
    assert!(count(&outcome, "packets_delivered") > 100);
}

#[test]
fn impossible_parameters_are_refused() {
    let base = Parameters::default();
    for parameters in [
        Parameters { flows: 0, ..base.clone() },
        Parameters { load: 0.0, ..base.clone() },
        Parameters { load: f64::NAN, ..base.clone() },
        Parameters { load: 1e-300, ..base.clone() },
        Parameters { packets_per_s: f64::INFINITY, ..base.clone() },
        Parameters { arrivals: Arrivals::OnOff, period: Delay::ZERO, ..base.clone() },
        Parameters { arrivals: Arrivals::OnOff, period: Delay::from_ps(1), ..base.clone() },
    ] {
        assert!(parameters.build(backbone(), 1).is_err(), "{parameters:?}");
    }
    let alone = Topology::new(&["alone"], Vec::new()).expect("a node");
    assert!(base.build(alone, 1).is_err());
    let apart = Topology::new(&["one", "two"], Vec::new()).expect("two nodes");
    assert!(base.build(apart, 1).is_err());
}

/// Runs every GraphML file of the folder that the environment variable `TOPOLOGIES` names, such as the
/// Internet Topology Zoo's.
#[test]
#[ignore = "needs a folder of GraphML files; run by hand"]
fn every_file_of_a_folder_delivers() {
    let folder = std::env::var("TOPOLOGIES").expect("TOPOLOGIES names a folder of GraphML files");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "graphml"));
    files.sort();
    let options = import::Options::default();
    let (mut refused, mut silent, mut delivered) = (0, 0, 0);
    let mut events_max = 0;
    for file in &files {
        let name = file.file_name().unwrap_or_default().display();
        let built = import::read(file, &options).map_err(|why| why.to_string());
        let built = built.and_then(|read| Parameters::default().build(read.topology, 1).map_err(|why| why.to_string()));
        match built {
            Err(why) => {
                refused += 1;
                println!("{name}: {why}");
            }
            Ok(wan) => {
                let outcome = run(&wan, 1.0);
                events_max = events_max.max(outcome.events);
                let packets = count(&outcome, "packets_delivered");
                if packets == 0 {
                    silent += 1
                } else {
                    delivered += 1
                }
                println!(
                    "{name}: load {:.3}, {} events, {packets} packets delivered, {} dropped",
                    wan.load,
                    outcome.events,
                    count(&outcome, "packets_lost")
                );
            }
        }
    }
    println!(
        "{} files: {delivered} delivered, {silent} did not, {refused} refused; at most {events_max} events",
        files.len()
    );
    assert!(silent == 0 && delivered > 0);
}
