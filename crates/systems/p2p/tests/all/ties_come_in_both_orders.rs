//! What happens to a node at one time happens in either order under tie seeds: its timer, messages over
//! different routes, its coming, its leaving and its crash.

use parades_carriers::underlay::{Routing, Underlay};
use parades_core::metrics::{MetricValue, TableId};
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::churn::{Churn, Schedule};
use parades_p2p::driver::{AsModel, AsProgram, Dependencies, Protocol, Wait};
use parades_topology::{Link, NodeId, Topology};
use std::collections::BTreeSet;

/// The node that all others send to at time 0. The messages arrive after 20 ms.
const RECEIVER: u32 = 1;
/// The number of nodes. The receiver stands in their middle.
const NODES: u32 = 4;
/// The time of the tie.
const TIE: Delay = Delay::from_ms(20);
/// What the log of the receiver has for its timer, for its coming and for its leaving.
const TIMER: u64 = 100;
const COMES: u64 = 101;
const LEAVES: u64 = 102;

/// Each node but the receiver sends it one message.
struct Tie {
    /// The receiver has a timer at the time of the tie.
    has_timer: bool,
    churn: Option<Churn>,
}

/// What happened to a node, in order: the senders of messages, and the marks above.
#[derive(Clone, Debug, PartialEq)]
struct Log {
    wait: Time,
    log: Vec<u64>,
}

impl Tie {
    fn table(metrics: &mut Metrics) -> TableId {
        metrics.table("log", ["place", "entry"].map(|name| Column::new(name, Unit::Count)).to_vec())
    }
}

impl Protocol for Tie {
    type Message = ();
    type Machine = Log;

    fn nodes(&self) -> u32 {
        NODES
    }
    fn bytes((): &()) -> f64 {
        1.0
    }
    fn churn(&self) -> Option<&Churn> {
        self.churn.as_ref()
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        Tie::table(&mut metrics);
        metrics
    }
    fn machine(&self, _: LpId, _: &Rng) -> Log {
        Log { wait: Time::MAX, log: Vec::new() }
    }
    fn wait(&self, machine: &Log) -> Wait {
        if machine.log.last() == Some(&LEAVES) { Wait::Gone } else { Wait::Messages(machine.wait) }
    }
    fn begin(&self, machine: &mut Log, end: Time, driver: &mut impl Dependencies<()>) {
        machine.log.push(COMES);
        machine.wait = end;
        if self.has_timer {
            machine.wait = Time::ZERO.saturating_add(TIE);
        }
        driver.send(LpId(RECEIVER), ());
    }
    fn on_message(&self, machine: &mut Log, from: LpId, (): (), _: &mut impl Dependencies<()>) {
        machine.log.push(u64::from(from.0));
    }
    fn on_timer(&self, machine: &mut Log, _: &mut impl Dependencies<()>) {
        machine.wait = Time::MAX;
        machine.log.push(if self.has_timer { TIMER } else { LEAVES });
    }
    fn leave(&self, machine: &mut Log, _: Time, _: bool) {
        machine.wait = Time::MAX;
    }
    fn forget(&self, _: &mut Log) {}
    fn fold(&self, machine: &Log, digest: &mut Digest) {
        machine.log.iter().for_each(|&entry| digest.word(entry));
    }
    fn finish(&self, node: LpId, machine: &Log, _: &End, metrics: &mut Metrics) {
        let table = Tie::table(&mut Metrics::new());
        if node.0 == RECEIVER {
            (0_u64..).zip(&machine.log).for_each(|(place, &entry)| metrics.row(table, [place.into(), entry.into()]));
        }
    }
}

/// Returns an underlay in which the other nodes are two links of 10 ms away from the receiver: nodes 0 and 2
/// behind one router, node 3 behind another one.
fn underlay(routing: Routing) -> Underlay {
    let link = |(a, b)| Link { a: NodeId(a), b: NodeId(b), rate_bps: 1, delay: Delay::from_ms(10) };
    let links = [(0, 4), (2, 4), (3, 5), (4, 1), (5, 1)].map(link).to_vec();
    let names: Vec<String> = (0..6).map(|node| format!("n{node}")).collect();
    let topology = Topology::new(&names, links).expect("the links join nodes");
    let places: Vec<NodeId> = (0..NODES).map(NodeId).collect();
    Underlay::graph(topology, &places, routing).expect("the peers are connected")
}

/// Returns the log of the receiver, without its coming at the start, by the program and by the machine.
fn logs(churn: Option<&str>, crash: f64, has_timer: bool, tie_seed: Option<u64>, routing: Routing) -> [Vec<u64>; 2] {
    let until = Time::from_secs(1);
    let schedule = |text: &str| Schedule::parse("schedule".as_ref(), text.to_owned()).expect("it is right");
    let churn = churn.map(|text| Churn::scheduled(schedule(text), until).with_crash(crash));
    let tie = || Tie { has_timer, churn: churn.clone() };
    let options = || RunOptions { tie_seed, ..RunOptions::until(until) };
    let program = sequential::run(&AsProgram::model(tie(), underlay(routing)), options()).expect("it runs");
    let machine = sequential::run(&AsModel::new(tie(), underlay(routing)), options()).expect("it runs");
    let logs = [&program, &machine].map(|outcome| {
        let rows = outcome.metrics.get("log").and_then(MetricValue::table).expect("it is declared").rows();
        rows.iter().map(|row| if let Cell::Integer(entry) = row[1] { entry } else { 0 }).collect::<Vec<u64>>()
    });
    assert_eq!(logs[0], logs[1], "tie seed {tie_seed:?}");
    assert_eq!((program.digest, program.events), (machine.digest, machine.events), "tie seed {tie_seed:?}");
    logs
}

/// A kind of tie: the schedule of the receiver, the probability of its crash, and whether it has a timer.
type Kind = (&'static str, Option<&'static str>, f64, bool);

const KINDS: [Kind; 4] = [
    ("timer", None, 0.0, true),
    ("coming", Some("0 0 9\n1 0.02 9\n2 0 9\n3 0 9\n"), 0.0, false),
    ("leaving", Some("0 0 9\n1 0 0.02\n2 0 9\n3 0 9\n"), 0.0, false),
    ("crash", Some("0 0 9\n1 0 0.02\n2 0 9\n3 0 9\n"), 1.0, false),
];

const ROUTINGS: [Routing; 2] = [Routing::EndToEnd, Routing::HopByHop];

/// Any two messages occur in both orders, and any number of messages comes before the other event. The
/// program and the machine agree.
#[test]
fn under_tie_seeds_each_order_occurs() {
    for routing in ROUTINGS {
        for (name, churn, crash, has_timer) in KINDS {
            let all: BTreeSet<Vec<u64>> =
                (0..400).flat_map(|seed| logs(churn, crash, has_timer, Some(seed), routing)).collect();
            let is_message = |entry: &u64| *entry < u64::from(NODES) && *entry != u64::from(RECEIVER);
            let messages = |log: &Vec<u64>| log.iter().copied().filter(is_message).collect::<Vec<u64>>();
            let orders: BTreeSet<Vec<u64>> = all.iter().map(messages).filter(|order| order.len() == 3).collect();
            // Hop by hop, the receiver's last router has sent it two of the messages, one after the other.
            let expected = if routing == Routing::EndToEnd { 6 } else { 4 };
            assert_eq!(orders.len(), expected, "{name}, {routing:?}: orders of messages {orders:?}");
            let counted: BTreeSet<usize> = all
                .iter()
                .map(|log| match log.iter().position(|&entry| entry == TIMER) {
                    Some(timer) => messages(&log[..timer].to_vec()).len(),
                    None => messages(log).len(),
                })
                .collect();
            // A node that has not come yet keeps its messages.
            let expected = if name == "coming" { 3..=3 } else { 0..=3 };
            assert_eq!(counted, expected.collect(), "{name}, {routing:?}: {all:?}");
        }
    }
}

/// Without a tie seed a message and the timer come in the order of their senders. Hop by hop, the sender of a
/// message is the last router.
#[test]
fn without_a_tie_seed_the_order_is_that_of_the_senders() {
    let [hop_by_hop, end_to_end] =
        [Routing::HopByHop, Routing::EndToEnd].map(|routing| logs(None, 0.0, true, None, routing)[0].clone());
    assert_eq!(end_to_end, [COMES, 1, 0, TIMER, 2, 3]);
    assert_eq!(hop_by_hop, [COMES, 1, TIMER, 0, 2, 3]);
}
