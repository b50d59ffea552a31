//! Programs with sockets over a network of packets, run by every engine.

use parades_carriers::PacketLevel;
use parades_core::prelude::*;
use parades_engine::{null_message, rounds, sequential, window};
use parades_packet::network::Settings as NetworkSettings;
use parades_packet::plane::Plane;
use parades_program::{Node, Processes, Program, Start};
use parades_sockets::{Packet, Sockets};
use parades_tcp::settings::Settings;
use parades_topology::{Link, NodeId, Topology};
use std::pin::Pin;

/// The process with which every node begins.
pub(crate) type Main = fn(Node<Script>, Sockets) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// A program whose nodes have sockets, and leave lines in a table.
pub(crate) struct Script {
    pub(crate) carrier: PacketLevel<Packet>,
    pub(crate) settings: Settings,
    pub(crate) main: Main,
}

impl Program for Script {
    type Message = Packet;
    type State = Vec<String>;
    type Carrier = PacketLevel<Packet>;

    fn nodes(&self) -> u32 {
        u32::try_from(self.carrier.plane().destinations().len()).expect("there are few")
    }
    fn carrier(&self) -> &PacketLevel<Packet> {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.table("log", vec![Column::new("line", Unit::Count)]);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Vec<String> {
        let sockets = Sockets::start(start, self.settings.clone());
        let main = self.main;
        start.spawn("main", move |node| main(node, sockets));
        Vec::new()
    }
    fn must_end(&self) -> bool {
        true
    }
    fn finish(&self, id: LpId, log: &Vec<String>, _: &End, metrics: &mut Metrics) {
        for line in log {
            metrics.row(MetricId(0), [Cell::Text(format!("{}: {line}", id.0).into())]);
        }
    }
}

/// Adds a line to the log, with the time in milliseconds.
pub(crate) fn log(node: Node<Script>, line: impl std::fmt::Display) {
    let line = format!("{:.3} {line}", node.now().as_secs_f64() * 1e3);
    node.with_state(|log| log.push(line));
}

/// Adds a line without the time.
pub(crate) fn say(node: Node<Script>, line: impl std::fmt::Display) {
    let line = line.to_string();
    node.with_state(|log| log.push(line));
}

/// Returns the lines of all nodes, in the order of nodes.
pub(crate) fn lines(outcome: &Outcome) -> Vec<String> {
    let table = outcome.metrics.get("log").and_then(|metric| metric.table()).expect("it is declared");
    let line = |row: &Vec<Cell>| if let [Cell::Text(line)] = &row[..] { line.to_string() } else { String::new() };
    table.rows().iter().map(line).collect()
}

pub(crate) fn link(a: u32, b: u32, rate_bps: u64, ms: u64) -> Link {
    Link { a: NodeId(a), b: NodeId(b), rate_bps, delay: Delay::from_ms(ms) }
}

/// Two hosts with a link of 10 Mbit/s and 5 ms between them.
pub(crate) fn two(settings: NetworkSettings) -> PacketLevel<Packet> {
    let topology = Topology::new(&["a", "b"], vec![link(0, 1, 10_000_000, 5)]).expect("the link joins nodes");
    let plane = Plane::new(topology, &[NodeId(0), NodeId(1)], settings).expect("it is possible");
    PacketLevel::new(plane, Packet::FORMAT).expect("each node has a place of its own")
}

/// A server, node 0, and clients, all at a router of their own.
pub(crate) fn star(clients: u32, settings: NetworkSettings) -> PacketLevel<Packet> {
    let names: Vec<String> = (0..clients + 2).map(|node| format!("n{node}")).collect();
    let router = clients + 1;
    let mut links = vec![link(0, router, 20_000_000, 2)];
    links.extend((1..=clients).map(|client| link(client, router, 10_000_000, 2 + u64::from(client))));
    let topology = Topology::new(&names, links).expect("the links join nodes");
    let hosts: Vec<NodeId> = (0..=clients).map(NodeId).collect();
    let plane = Plane::new(topology, &hosts, settings).expect("it is possible");
    PacketLevel::new(plane, Packet::FORMAT).expect("each node has a place of its own")
}

/// Runs a program by `sequential` alone.
pub(crate) fn run(program: Script, seconds: u64) -> Outcome {
    sequential::run(&Processes::new(program), RunOptions::until(Time::from_secs(seconds))).expect("it runs")
}

/// Runs a program under every engine that needs no rollback, on one to three workers. All must agree.
pub(crate) fn run_under_all_engines(program: Script, seconds: u64) -> Outcome {
    let model = Processes::new(program);
    let options = || RunOptions::until(Time::from_secs(seconds));
    let expected = sequential::run(&model, options()).expect("it runs");
    for workers in 1..=3 {
        let threshold = rounds::Threshold::Fixed(2);
        let settings = rounds::Settings { threshold, ..rounds::Settings::of_threads(workers) };
        let found = [
            ("rounds", rounds::run(&model, options(), &settings)),
            ("window", window::run(&model, options(), &window::Settings::of_threads(workers))),
            ("null-message", null_message::run(&model, options(), &null_message::Settings::of_threads(workers))),
        ];
        for (engine, outcome) in found {
            let outcome = outcome.expect("it runs");
            assert_eq!(outcome.digest, expected.digest, "{engine} on {workers}");
            assert_eq!(outcome.metrics, expected.metrics, "{engine} on {workers}");
        }
    }
    expected
}

/// Returns the value of a counter.
pub(crate) fn counter(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).expect("it is declared")
}

/// Returns `len` bytes that look random, and differ from `seed` to `seed`.
pub(crate) fn bytes(seed: u32, len: usize) -> Vec<u8> {
    let rng = Rng::stream(seed.into(), 0);
    (0..len).map(|_| u8::try_from(rng.below(256)).expect("below 256")).collect()
}
