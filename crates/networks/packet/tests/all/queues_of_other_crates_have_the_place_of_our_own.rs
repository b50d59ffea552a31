//! Queue disciplines that this test writes, as another crate would: beside the same disciplines of the crate,
//! and on every engine.

use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_packet::description::{App, AppKind, Change, Description, Ends, Event, Link, Marking};
use parades_packet::flow::Limit;
use parades_packet::network::Network;
use parades_packet::protocols::Datagrams;
use parades_packet::queue::{
    Admission, ArrivalQueue, Departure, DepartureQueue, Discipline, Drops, HeldPacket, Offered, PortView, Priority,
    QueueLimit, Threshold, TokenBucket,
};
use parades_packet::traffic::{Pattern, Sizes};
use parades_topology::NodeId;
use std::collections::VecDeque;

const LIMIT: QueueLimit = QueueLimit::Packets(20);

/// DCTCP's threshold: marks a packet that finds `mark_at` packets or more.
#[derive(Clone, Debug)]
struct OwnThreshold {
    mark_at: usize,
    marked: u64,
}

impl ArrivalQueue for OwnThreshold {
    fn on_arrival(&mut self, packet: &Offered, port: &PortView<'_>) -> Admission {
        if !port.has_room(LIMIT, packet.bytes) {
            return Admission::Full;
        }
        if packet.is_capable && port.waiting >= self.mark_at {
            self.marked += 1;
            return Admission::Mark;
        }
        Admission::Pass
    }

    fn check(&self) -> Result<(), String> {
        if self.mark_at == 0 { Err("marks every packet".into()) } else { Ok(()) }
    }

    fn copy(&self) -> Box<dyn ArrivalQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.marked);
    }
}

/// A shaper: a packet of `n` bytes starts `n` bytes of the rate after the one before. It is a token bucket
/// whose burst is one packet, if all packets have the same size.
#[derive(Clone, Debug)]
struct Pacer {
    rate_bps: u64,
    next: Time,
}

impl ArrivalQueue for Pacer {
    fn on_arrival(&mut self, packet: &Offered, port: &PortView<'_>) -> Admission {
        let waits = port.busy_until > port.now || self.next > port.now;
        let is_full = !LIMIT.allows(port.waiting + 1, port.waiting_bytes + u64::from(packet.bytes));
        if waits && is_full { Admission::Full } else { Admission::Pass }
    }

    fn start(&mut self, packet: &Offered, port: &PortView<'_>) -> Time {
        let start = self.next.max(port.now);
        self.next = start.saturating_add(Delay::serialisation(packet.bytes.into(), self.rate_bps));
        start
    }

    fn copy(&self) -> Box<dyn ArrivalQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.next.as_ps());
    }
}

/// Strict priorities.
#[derive(Clone, Debug, Default)]
struct OwnPriority {
    classes: [VecDeque<HeldPacket>; 8],
}

impl DepartureQueue for OwnPriority {
    fn enqueue(&mut self, packet: HeldPacket, _: &PortView<'_>, drops: &mut Drops<'_>) {
        let queue = &mut self.classes[usize::from(packet.offered.class)];
        if LIMIT.allows(queue.len() + 1, 0) { queue.push_back(packet) } else { drops.full(packet) }
    }

    fn dequeue(&mut self, _: &PortView<'_>, _: &mut Drops<'_>) -> Option<Departure> {
        self.classes.iter_mut().rev().find_map(VecDeque::pop_front).map(Departure::Pass)
    }

    fn visit(&self, visitor: &mut dyn FnMut(&HeldPacket)) {
        self.classes.iter().rev().flatten().for_each(visitor);
    }

    fn copy(&self) -> Box<dyn DepartureQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, _: &mut Digest) {}
}

/// The last packet first. Drops packets that have waited too long, and some arrivals by chance.
#[derive(Clone, Debug)]
struct Stack {
    patience: Delay,
    packets: Vec<HeldPacket>,
    too_old: u64,
}

impl DepartureQueue for Stack {
    fn enqueue(&mut self, packet: HeldPacket, port: &PortView<'_>, drops: &mut Drops<'_>) {
        if port.rng.chance(0.02) {
            return drops.early(packet);
        }
        self.packets.push(packet);
        if !LIMIT.allows(port.waiting + 1, port.waiting_bytes) {
            drops.full(self.packets.remove(0));
        }
    }

    fn dequeue(&mut self, port: &PortView<'_>, drops: &mut Drops<'_>) -> Option<Departure> {
        while self.packets.first().is_some_and(|packet| port.now.since(packet.since) > self.patience) {
            self.too_old += 1;
            drops.early(self.packets.remove(0));
        }
        let packet = self.packets.pop()?;
        Some(if packet.offered.is_capable { Departure::Mark(packet) } else { Departure::Pass(packet) })
    }

    fn visit(&self, visitor: &mut dyn FnMut(&HeldPacket)) {
        self.packets.iter().for_each(visitor);
    }

    fn copy(&self) -> Box<dyn DepartureQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.too_old);
    }
}

fn threshold(mark_at: usize) -> Discipline {
    Discipline::on_arrival("own-threshold", OwnThreshold { mark_at, marked: 0 })
}

fn pacer() -> Discipline {
    Discipline::on_arrival("pacer", Pacer { rate_bps: SLOW / 2, next: Time::ZERO })
}

fn priority() -> Discipline {
    Discipline::on_departure("own-priority", OwnPriority::default())
}

fn stack() -> Discipline {
    let patience = Delay::from_ms(15);
    Discipline::on_departure("stack", Stack { patience, packets: Vec::new(), too_old: 0 })
}

/// 8 Mbit/s: a packet of 970 bytes, 1000 with its headers, takes 1 ms.
const SLOW: u64 = 8_000_000;

/// Two sources send over a router and a slow link with this queue: packets that may be marked, and packets of
/// a higher class. Together they need a tenth more than the link has. The link is down for 100 ms.
fn network(queue: Discipline, device: u32) -> Description {
    let link = |name: &str, from, to, rate_bps| {
        let delay = Delay::from_ms(1);
        Link { name: name.into(), from, to, rate_bps, delay, ..Link::default() }
    };
    let trunk = Link { queue, device, ..link("trunk", 2, 3, SLOW) };
    let app = |name: &str, source, marking, mean_gap| {
        let pattern = Pattern::Poisson { mean_gap };
        let kind = AppKind::Datagrams(Datagrams { sizes: Sizes::Constant(970), pattern, limit: Limit::Never });
        let flow = Ends { source: NodeId(source), destination: NodeId(3), start: Time::ZERO };
        App { name: name.into(), kind, marking, flows: vec![flow] }
    };
    let change = |at, is_up| Event { at: Time::from_ms(at), change: Change::Link { link: 2, is_up } };
    Description {
        nodes: ["a", "b", "router", "sink"].map(String::from).into(),
        links: vec![link("a", 0, 2, SLOW * 100), link("b", 1, 2, SLOW * 100), trunk],
        apps: vec![
            app("low", 0, Marking { class: 0, is_ecn_capable: true }, Delay::from_us(1666)),
            app("high", 1, Marking { class: 6, is_ecn_capable: false }, Delay::from_us(2000)),
        ],
        events: vec![change(1500, false), change(1600, true)],
        ..Description::default()
    }
}

fn options() -> RunOptions<'static> {
    RunOptions::until(Time::from_secs(4))
}

fn run(description: Description) -> Outcome {
    let network = Network::described(description).unwrap_or_else(|error| panic!("{error}"));
    sequential::run(&network, options()).unwrap_or_else(|error| panic!("{error}"))
}

fn count(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).unwrap_or_else(|| panic!("no counter `{name}`"))
}

#[test]
fn a_discipline_written_outside_gives_the_results_of_the_same_one_inside() {
    let bucket = TokenBucket { rate_bps: SLOW / 2, burst_bytes: 1000, limit: LIMIT };
    for (outside, inside) in [
        (threshold(5), Discipline::Threshold(Threshold { mark_at: 5, limit: LIMIT })),
        (pacer(), Discipline::TokenBucket(bucket)),
        (priority(), Discipline::Priority(Priority { limit: LIMIT })),
    ] {
        for device in [0, 2] {
            // The pacer has no exception for packets that the device has room for.
            let device = if outside == pacer() { 0 } else { device };
            let [ours, theirs] = [&outside, &inside].map(|queue| run(network(queue.clone(), device)));
            assert!(count(&ours, "packets_lost_queue") > 50, "{outside:?}");
            // Results have delays, losses for each reason, marks, utilisation, and the mean length of the
            // queue.
            assert_eq!(ours.metrics, theirs.metrics, "{outside:?}");
            assert_eq!(ours.events, theirs.events, "{outside:?}");
        }
    }
}

#[test]
fn every_engine_gives_the_same_answer_with_queues_of_other_crates() {
    for (device, queue) in (0..).zip([threshold(3), pacer(), priority(), stack()]) {
        let network = Network::described(network(queue.clone(), device % 3)).expect("it is possible");
        let expected = sequential::run(&network, options()).expect("it runs");
        assert!(count(&expected, "packets_received") > 1500, "{queue:?}");
        let mut outcomes = vec![("rollback-check", rollback_check::run(&network, options()))];
        for threads in [1, 2, 3] {
            let optimistic = time_warp::Settings::of_threads(threads);
            let null_messages = null_message::Settings::of_threads(threads);
            outcomes.push(("window", window::run(&network, options(), &window::Settings::of_threads(threads))));
            outcomes.push(("null-message", null_message::run(&network, options(), &null_messages)));
            outcomes.push(("time-warp", time_warp::run(&network, options(), &optimistic)));
        }
        for (engine, outcome) in outcomes {
            let outcome = outcome.unwrap_or_else(|error| panic!("{engine}, {queue:?}: {error}"));
            assert_eq!((outcome.digest, outcome.events), (expected.digest, expected.events), "{engine}, {queue:?}");
            assert_eq!(outcome.metrics, expected.metrics, "{engine}, {queue:?}");
        }
    }
}

#[test]
fn a_stack_serves_the_last_packet_first_and_drops_the_oldest() {
    let outcome = run(network(stack(), 0));
    assert!(count(&outcome, "packets_lost_early") > 100, "{}", count(&outcome, "packets_lost_early"));
    // A packet that is sent has waited 15 ms and a transmission at most.
    let delays = outcome.metrics.get("delay_low").and_then(|metric| metric.tally()).expect("a histogram");
    assert!(delays.max() <= Some(Delay::from_us(2010 + 1000 + 16_000).as_ps()), "{:?}", delays.max());
    assert_eq!(delays.min(), Some(Delay::from_us(3010).as_ps()));
}

#[test]
fn the_state_of_a_queue_is_part_of_the_digest() {
    // Both mark the same packets, and count them differently.
    let other = Discipline::on_arrival("own-threshold", OwnThreshold { mark_at: 5, marked: 1 });
    let [one, two] = [threshold(5), other].map(|queue| run(network(queue, 0)));
    assert_eq!(one.metrics, two.metrics);
    assert_ne!(one.digest, two.digest);
}

#[test]
fn disciplines_are_equal_if_name_and_parameters_are_and_bad_parameters_are_refused() {
    assert_eq!(threshold(5), threshold(5));
    assert_ne!(threshold(5), threshold(6));
    assert_ne!(threshold(5), Discipline::on_arrival("another", OwnThreshold { mark_at: 5, marked: 0 }));
    let error = Network::described(network(threshold(0), 0)).map(|_| ()).expect_err("it marks every packet");
    assert!(error.to_string().contains("the queue of the link `trunk` marks every packet"), "{error}");
}

/// A queue that forgets what it holds.
#[derive(Clone, Debug)]
struct Forgetful;

impl DepartureQueue for Forgetful {
    fn enqueue(&mut self, _: HeldPacket, _: &PortView<'_>, _: &mut Drops<'_>) {}

    fn dequeue(&mut self, _: &PortView<'_>, _: &mut Drops<'_>) -> Option<Departure> {
        None
    }

    fn visit(&self, _: &mut dyn FnMut(&HeldPacket)) {}

    fn copy(&self) -> Box<dyn DepartureQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, _: &mut Digest) {}
}

#[test]
fn a_queue_that_loses_packets_without_a_word_fails_the_run_and_is_named() {
    let network = Network::described(network(Discipline::on_departure("forgetful", Forgetful), 0)).expect("a network");
    let error = sequential::run(&network, options()).map(|_| ()).expect_err("a packet is missing");
    assert!(error.to_string().contains("the queue `forgetful` holds packets, but selects none of them"), "{error}");
}
