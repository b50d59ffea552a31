//! Multicast down trees: the receivers of each packet, the times of arrival, and the number of times that
//! data are written.

use parades_core::prelude::*;
use parades_core::trace::{TraceFilter, Tracer};
use parades_engine::{rollback_check, sequential, time_warp, window};
use parades_models::multicast::{Copied, Multicast, Packet, PacketHandle, Parameters};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

type Sharing = Multicast<Shared<Packet>>;

fn until_ms(milliseconds: u64) -> Time {
    Time::ZERO.checked_add(Delay::from_ms(milliseconds)).unwrap()
}

fn count(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).unwrap()
}

fn small(trees: u32, levels: u32, start_events: u32) -> Parameters {
    Parameters { trees, levels, start_events, data: 9, ..Parameters::default() }
}

/// One event of a trace.
#[derive(Debug)]
struct Line {
    at_ps: u64,
    /// The packet's number, and the time at which the root sent it. `None` if the event is for a root.
    packet: Option<(u64, u64)>,
}

/// Runs the model. Returns the events that each LP executed, in its order, as the trace has them.
fn trace(model: &Sharing, until: Time) -> (Outcome, BTreeMap<u32, Vec<Line>>) {
    let mut lines: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
    let after = |text: &str, label: &str| -> Option<u64> {
        let digits = text.split(label).nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    let tracer = Tracer::new(TraceFilter::default(), |text| {
        let time = Time::try_from_secs_f64(text.split('s').next().unwrap().parse().unwrap()).unwrap();
        let packet = after(text, "number: ").zip(after(text, "sent_ps: "));
        let lp = u32::try_from(after(text, " LP ").unwrap()).unwrap();
        lines.entry(lp).or_default().push(Line { at_ps: time.as_ps(), packet });
        Ok(())
    });
    let outcome = sequential::run(model, RunOptions { tracer: Some(tracer), ..RunOptions::until(until) }).unwrap();
    (outcome, lines)
}

#[test]
fn every_node_receives_every_packet_once() {
    for (trees, levels, start_events) in [(1, 2, 1), (3, 5, 1), (2, 6, 4), (1, 4, 11)] {
        let parameters = small(trees, levels, start_events);
        let model = Sharing::new(parameters).unwrap();
        let (outcome, lines) = trace(&model, until_ms(60));
        let nodes = (1 << levels) - 1;
        let executed = |id: u32| lines.get(&id).map_or(&[][..], Vec::as_slice);
        for root in (0..trees).map(|tree| tree * nodes) {
            assert!(executed(root).len() > 10, "{parameters:?}: {} packets from LP {root}", executed(root).len());
            assert!(executed(root).iter().all(|line| line.packet.is_none()));
            // The packets that the root sent, by number. Those under way at the start have smaller numbers.
            let first_sent = u64::from((levels - 1) * start_events);
            let sent: BTreeMap<u64, u64> = (first_sent..).zip(executed(root).iter().map(|line| line.at_ps)).collect();
            let received = |node: u32| -> BTreeMap<u64, u64> {
                let packets: Vec<_> =
                    executed(root + node).iter().map(|line| (line.packet.unwrap(), line.at_ps)).collect();
                for ((number, sent_ps), _) in &packets {
                    let expected = if *number < first_sent { 0 } else { sent[number] };
                    assert!(expected.abs_diff(*sent_ps) <= 1, "packet {number} at node {node}");
                }
                let by_number: BTreeMap<u64, u64> =
                    packets.iter().map(|&((number, _), at_ps)| (number, at_ps)).collect();
                assert_eq!(by_number.len(), packets.len(), "{parameters:?}: node {node} got a packet twice");
                by_number
            };
            for node in 1..nodes {
                let parent = if node < 3 { sent.clone() } else { received((node - 1) / 2) };
                check_node(&parameters, node, &received(node), &parent, outcome.end);
            }
        }
        let received = |leaves: bool| -> usize {
            let of = |id: &u32| (id % nodes >= nodes / 2) == leaves;
            lines.iter().filter(|(id, _)| of(id)).map(|(_, lines)| lines.len()).sum()
        };
        assert_eq!(count(&outcome, "packets_delivered"), received(true) as u128);
        assert_eq!(count(&outcome, "hops"), 2 * received(false) as u128);
    }
}

/// Checks that a node received the packets that it began with and those that its parent forwarded, and that
/// the delays are right.
fn check_node(parameters: &Parameters, node: u32, own: &BTreeMap<u64, u64>, parent: &BTreeMap<u64, u64>, end: Time) {
    let Parameters { levels, start_events, delay, jitter, .. } = *parameters;
    let (least, most) = (delay.as_ps(), delay.saturating_add(jitter).as_ps());
    let first = u64::from((levels - 1 - (node + 1).ilog2()) * start_events);
    let at_start = first..first + u64::from(start_events);
    assert!(at_start.clone().all(|number| own[&number] < least), "{parameters:?}, node {node}");
    for (number, at_ps) in own.iter().filter(|(number, _)| !at_start.contains(number)) {
        // Times in a trace are rounded.
        let took = at_ps - parent[number];
        assert!((least - 1..=most + 1).contains(&took), "{parameters:?}, node {node}: packet {number} took {took} ps");
    }
    let due = parent.iter().filter(|(_, at_ps)| **at_ps + most + 1 < end.as_ps());
    for (number, _) in due {
        assert!(own.contains_key(number), "{parameters:?}: packet {number} did not reach node {node}");
    }
}

#[test]
fn without_jitter_every_step_moves_every_packet_on() {
    for (trees, levels, start_events, steps) in [(1, 2, 1, 1), (2, 5, 3, 7), (3, 10, 8, 12)] {
        let parameters = Parameters { jitter: Delay::ZERO, ..small(trees, levels, start_events) };
        let model = Sharing::new(parameters).unwrap();
        let outcome = sequential::run(&model, RunOptions::until(until_ms(steps))).unwrap();
        let per_step = u64::from(trees * ((1 << levels) - 1) * start_events);
        assert_eq!(outcome.events, steps * per_step);
        let each = u128::from(steps) * u128::from(trees * start_events);
        assert_eq!((count(&outcome, "packets_sent"), count(&outcome, "notices")), (each, each));
        assert_eq!(count(&outcome, "packets_delivered"), each << (levels - 1));
        assert_eq!(count(&outcome, "hops"), each * 2 * ((1 << (levels - 1)) - 1));
        assert_eq!(count(&outcome, "in_flight"), u128::from(per_step), "as many as at the start");
        let delay = outcome.metrics.get("leaf_delay").and_then(|metric| metric.histogram()).unwrap().tally();
        if steps >= u64::from(levels) {
            let way = u64::from(levels - 1) * parameters.delay.as_ps();
            assert_eq!((delay.min(), delay.max()), (Some(way), Some(way)));
            assert_eq!(delay.count(), u64::from(trees << (levels - 1)), "one for each leaf");
            let timed = ((steps - u64::from(levels - 1)) * u64::from(trees * start_events)) << (levels - 1);
            assert_eq!(count(&outcome, "packets_timed"), u128::from(timed), "packets that a root sent");
            assert_eq!(count(&outcome, "total_delay"), u128::from(timed * way));
        }
    }
}

#[test]
fn with_jitter_the_number_of_pending_events_stays_about_the_same() {
    let model = Sharing::new(small(4, 8, 5)).unwrap();
    let at_start = f64::from(model.lps() * 5);
    for milliseconds in [1, 10, 50, 200] {
        let outcome = sequential::run(&model, RunOptions::until(until_ms(milliseconds))).unwrap();
        let ratio = count(&outcome, "in_flight") as f64 / at_start;
        assert!((0.8..1.25).contains(&ratio), "after {milliseconds} ms {ratio}");
    }
}

#[test]
fn sharing_changes_no_answer_on_any_engine() {
    let parameters = small(1, 7, 3);
    let (sharing, copying) = (Sharing::new(parameters).unwrap(), Multicast::<Copied>::new(parameters).unwrap());
    let options = || RunOptions::until(until_ms(60));
    let expected = sequential::run(&sharing, options()).unwrap();
    assert!(expected.events > 10_000);
    let stalls = time_warp::Settings { stalls: Some(1), ..time_warp::Settings::of_threads(2) };
    let rolled_back = time_warp::run(&sharing, options(), &stalls).unwrap();
    let rollbacks = rolled_back.engine_stats.iter().find(|(name, _)| *name == "rollbacks").unwrap().1;
    assert!(rollbacks > 10.0, "packets overtake each other: {rollbacks} rollbacks");
    let outcomes = [
        Ok(rolled_back),
        sequential::run(&copying, options()),
        rollback_check::run(&sharing, options()),
        rollback_check::run(&copying, options()),
        window::run(&sharing, options(), &window::Settings::of_threads(2)),
        window::run(&copying, options(), &window::Settings::of_threads(2)),
        time_warp::run(&sharing, options(), &time_warp::Settings::of_threads(2)),
        time_warp::run(&copying, options(), &time_warp::Settings::of_threads(2)),
    ];
    for outcome in outcomes {
        let outcome = outcome.unwrap();
        assert_eq!((outcome.events, outcome.digest), (expected.events, expected.digest));
        assert_eq!(outcome.metrics, expected.metrics);
    }
    let other = sequential::run(&sharing, RunOptions { seed: 2, ..options() }).unwrap();
    assert_ne!(other.digest, expected.digest);
    let more_data = Sharing::new(Parameters { data: 10, ..parameters }).unwrap();
    assert_ne!(sequential::run(&more_data, options()).unwrap().digest, expected.digest, "the digest covers the data");
}

/// The number of packets written, the number that exist, and the largest number that existed at one time.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
static ALIVE: AtomicU64 = AtomicU64::new(0);
static ALIVE_MAX: AtomicU64 = AtomicU64::new(0);

/// A shared packet whose creation and end are counted.
#[derive(Clone, Debug)]
struct Counted(Shared<Alive>);

#[derive(Debug)]
struct Alive(Packet);

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Payload for Alive {
    fn fold(&self, digest: &mut Digest) {
        self.0.fold(digest);
    }
}

impl Payload for Counted {
    fn fold(&self, digest: &mut Digest) {
        self.0.fold(digest);
    }
}

impl Deref for Counted {
    type Target = Packet;
    fn deref(&self) -> &Packet {
        &self.0.0
    }
}

impl PacketHandle for Counted {
    const IS_SHARED: bool = true;

    fn from_packet(packet: Packet) -> Counted {
        WRITTEN.fetch_add(1, Ordering::Relaxed);
        ALIVE_MAX.fetch_max(ALIVE.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        Counted(Shared::new(Alive(packet)))
    }
}

#[test]
fn a_shared_packet_is_written_once_and_dropped_when_it_is_not_needed_any_more() {
    let (trees, levels, start_events) = (2, 8, 3);
    let model = Multicast::<Counted>::new(small(trees, levels, start_events)).unwrap();
    let under_way = u64::from(trees * (levels - 1) * start_events);
    let outcome = sequential::run(&model, RunOptions::until(until_ms(100))).unwrap();
    let written = WRITTEN.load(Ordering::Relaxed);
    assert_eq!(u128::from(written), u128::from(under_way) + count(&outcome, "packets_sent"));
    assert!(outcome.events > 20 * written, "{} events shared {written} packets", outcome.events);
    // The sum has three parts: the packets of the start, which the model keeps; the same number of later
    // packets; and some packets on their way to the slowest leaves.
    let alive_max = ALIVE_MAX.load(Ordering::Relaxed);
    assert!(alive_max < 3 * under_way, "{alive_max} packets at once, {under_way} at the start");
    drop(model);
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0, "all have been given back");
}

#[test]
fn the_memory_of_the_start_counts_shared_data_once() {
    // 8 trees of 255 nodes: 8 * 254 * 8 events, and 8 * 7 * 8 packets under way. Each has 4 MB of data, and
    // less than 100 bytes otherwise.
    let large = Parameters { levels: 8, data: 1_000_000, ..Parameters::default() };
    let data = [large.start_bytes::<Copied>(), large.start_bytes::<Shared<Packet>>()].map(|bytes| bytes / 4_000_000);
    assert_eq!(data, [8 * 254 * 8 + 8 * 7 * 8, 8 * 7 * 8]);
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let usual = Parameters::default();
    let day = Delay::from_secs(86_400);
    let cases = [
        (Parameters { levels: 1, ..usual }, "levels", "a tree has 2 to 31 levels, not 1"),
        (Parameters { levels: 32, ..usual }, "levels", "a tree has 2 to 31 levels, not 32"),
        (Parameters { trees: 0, ..usual }, "trees", "there must be a tree"),
        (
            Parameters { delay: Delay::ZERO, ..usual },
            "delay",
            "without delay packets would go round for ever at one time",
        ),
        (
            Parameters { jitter: day.saturating_add(day), ..usual },
            "jitter",
            "`jitter` must be at most 86400s, not 172800s",
        ),
        (
            Parameters { trees: 3, levels: 31, ..usual },
            "trees",
            "3 trees of 31 levels have 6442450941 nodes: a model has fewer than 2^32 - 1 LPs",
        ),
    ];
    for (parameters, key, what) in cases {
        assert_eq!(Sharing::new(parameters).unwrap_err(), (key, what.to_owned()));
    }
}
