//! Protocols and applications that this test writes, as another crate would: results computed by hand, and
//! one answer on every engine.

use parades_core::metrics::Cell;
use parades_core::prelude::*;
use parades_core::trace::{TraceFilter, Tracer};
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_packet::description::{App, AppKind, Change, Description, Ends, Event, Link, Marking};
use parades_packet::network::Network;
use parades_packet::protocols::own::{Arrival, OtherProtocol, PacketEnd, PacketIo};
use parades_packet::protocols::stream::{OtherStream, StreamEnd, StreamIo};
use parades_packet::queue::QueueLimit;
use parades_packet::segment::SegmentRef;
use parades_tcp::settings::Settings;
use parades_topology::NodeId;

/// Asks `count` times, each time after the answer or 50 ms, and measures the time of each answer.
#[derive(Clone, Debug)]
struct Asker {
    count: u32,
    asked: u32,
    answered: u32,
}

const RETRY: u32 = 3;

impl Asker {
    fn ask(&mut self, io: &mut dyn PacketIo) {
        if self.asked < self.count {
            io.send(self.asked, 64, &io.now().as_ps().to_le_bytes());
            self.asked += 1;
            io.set_timer(RETRY, Delay::from_ms(50));
        }
    }
}

impl PacketEnd for Asker {
    fn on_start(&mut self, io: &mut dyn PacketIo) {
        self.ask(io);
    }

    fn on_packet(&mut self, packet: &Arrival<'_>, io: &mut dyn PacketIo) {
        let Ok(asked) = packet.data.try_into() else {
            return io.fail("got an answer without the time of its question");
        };
        self.answered += 1;
        io.observe(io.now().since(Time::from_ps(u64::from_le_bytes(asked))));
        io.cancel_timer(RETRY);
        self.ask(io);
    }

    fn on_timer(&mut self, timer: u32, io: &mut dyn PacketIo) {
        assert_eq!(timer, RETRY);
        self.ask(io);
    }

    fn is_complete(&self) -> bool {
        self.answered == self.count
    }

    fn check(&self) -> Result<(), String> {
        if self.count == 0 { Err("asks nothing; let it ask something".into()) } else { Ok(()) }
    }

    fn copy(&self) -> Box<dyn PacketEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.asked) << 32 | u64::from(self.answered));
    }
}

/// Answers after a time, some of it random, with a larger packet.
#[derive(Clone, Debug, Default)]
struct Answerer {
    jitter: Delay,
    /// The questions that are not answered yet.
    pending: std::collections::VecDeque<(u32, Vec<u8>)>,
}

impl PacketEnd for Answerer {
    fn on_packet(&mut self, packet: &Arrival<'_>, io: &mut dyn PacketIo) {
        self.pending.push_back((packet.number, packet.data.to_vec()));
        let jitter = io.rng().uniform_delay(Delay::ZERO, self.jitter);
        io.call(Delay::from_ms(3).saturating_add(jitter), packet.number);
    }

    fn on_call(&mut self, number: u32, io: &mut dyn PacketIo) {
        let place = self.pending.iter().position(|question| question.0 == number).expect("it was asked");
        let (number, data) = self.pending.remove(place).expect("it was found");
        io.send(number, 970, &data);
    }

    fn copy(&self) -> Box<dyn PacketEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.pending.len() as u64);
    }
}

fn questions(count: u32, jitter: Delay) -> AppKind {
    let asker = Asker { count, asked: 0, answered: 0 };
    let answerer = Answerer { jitter, ..Answerer::default() };
    AppKind::Other(OtherProtocol::new("questions", asker, answerer).with_least_payload(64))
}

/// Asks for pages one after the other over one connection, and closes it.
#[derive(Clone, Debug)]
struct Browser {
    pages: u32,
    left: u64,
    asked: Time,
}

const PAGE: u64 = 30_000;
const ASK: u64 = 200;

impl Browser {
    fn ask(&mut self, io: &mut dyn StreamIo) {
        if self.pages == 0 {
            return io.close();
        }
        self.pages -= 1;
        (self.left, self.asked) = (PAGE, io.now());
        io.write(ASK);
    }
}

impl StreamEnd for Browser {
    fn on_connected(&mut self, io: &mut dyn StreamIo) {
        self.ask(io);
    }

    fn on_data(&mut self, bytes: u64, io: &mut dyn StreamIo) {
        self.left -= bytes;
        if self.left == 0 {
            io.observe(io.now().since(self.asked));
            let pause = io.rng().uniform_delay(Delay::from_ms(1), Delay::from_ms(20));
            io.set_timer(2, pause);
        }
    }

    fn on_timer(&mut self, timer: u32, io: &mut dyn StreamIo) {
        assert_eq!(timer, 2);
        self.ask(io);
    }

    fn copy(&self) -> Box<dyn StreamEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.pages));
        digest.word(self.left);
        digest.word(self.asked.as_ps());
    }
}

#[derive(Clone, Debug, Default)]
struct WebServer {
    read: u64,
}

impl StreamEnd for WebServer {
    fn on_data(&mut self, bytes: u64, io: &mut dyn StreamIo) {
        self.read += bytes;
        while self.read >= ASK {
            self.read -= ASK;
            io.write(PAGE);
        }
    }

    fn copy(&self) -> Box<dyn StreamEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.read);
    }
}

fn web(pages: u32) -> AppKind {
    let browser = Browser { pages, left: 0, asked: Time::ZERO };
    AppKind::Stream(Box::new(OtherStream::new("web", Settings::linux(), browser, WebServer::default())))
}

/// Flows from `a` and `b` over a router to `c`. The link to `c` has 8 Mbit/s, 1 ms, and this loss.
fn network(kinds: Vec<(&str, AppKind)>, loss: f64) -> Description {
    let link = |name: &str, from, to, rate_bps| Link {
        name: name.into(),
        from,
        to,
        rate_bps,
        delay: Delay::from_ms(1),
        queue: QueueLimit::Packets(20).into(),
        ..Link::default()
    };
    let app = |(number, (name, kind)): (u32, (&str, AppKind))| {
        let flow = Ends { source: NodeId(number % 2), destination: NodeId(3), start: Time::from_ms(10) };
        App { name: name.into(), kind, marking: Marking::default(), flows: vec![flow] }
    };
    Description {
        nodes: ["a", "b", "router", "c"].map(String::from).into(),
        links: vec![
            link("a", 0, 2, 800_000_000),
            link("b", 1, 2, 800_000_000),
            Link { loss, ..link("trunk", 2, 3, 8_000_000) },
        ],
        apps: (0..).zip(kinds).map(app).collect(),
        ..Description::default()
    }
}

fn described(description: Description) -> Network<SegmentRef> {
    Network::described(description).unwrap_or_else(|error| panic!("{error}"))
}

fn options() -> RunOptions<'static> {
    RunOptions::until(Time::from_secs(4))
}

fn run(description: Description) -> Outcome {
    sequential::run(&described(description), options()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a cell of the only row of a table.
fn cell(outcome: &Outcome, table: &str, column: &str) -> Cell {
    let table = outcome.metrics.get(table).and_then(|metric| metric.table()).expect("a table");
    let place = table.columns().iter().position(|c| &*c.name == column).unwrap_or_else(|| panic!("no `{column}`"));
    table.rows()[0][place].clone()
}

#[test]
fn questions_and_answers_take_the_time_that_one_computes_and_are_counted_in_the_table_of_flows() {
    let outcome = run(network(vec![("ask", questions(20, Delay::ZERO))], 0.0));
    // With headers of 30 bytes, a question has 94 bytes and an answer 1000. At 8 Mbit/s a byte takes 1 us,
    // and at 800 Mbit/s 10 ns. Each way has two links of 1 ms. The answer comes 3 ms after the question.
    let there = 2_000_000 + 94 * 1010;
    let round = there + 3_000_000 + 2_000_000 + 1000 * 1010;
    let times = outcome.metrics.get("completion_ask").and_then(|metric| metric.tally()).expect("a histogram");
    assert_eq!((times.count(), times.min(), times.max()), (20, Some(round * 1000), Some(round * 1000)));
    let delays = outcome.metrics.get("delay_ask").and_then(|metric| metric.tally()).expect("a histogram");
    assert_eq!((delays.count(), delays.min(), delays.max()), (20, Some(there * 1000), Some(there * 1000)));
    for (column, expected) in [
        ("packets_sent", 20),
        ("packets_received", 20),
        ("bytes_received", 20 * 64),
        ("answers_sent", 20),
        ("answers_received", 20),
        ("delay_mean", there * 1000),
        ("complete", 1),
    ] {
        assert_eq!(cell(&outcome, "flows", column), Cell::Integer(expected), "{column}");
    }
    // Two starts; for each question two hops, a call, and two hops. No timer of a retry is due.
    assert_eq!(outcome.events, 2 + 20 * 5);
}

#[test]
fn a_lost_packet_is_asked_for_again_by_the_timer() {
    let outcome = run(network(vec![("ask", questions(1000, Delay::ZERO))], 0.3));
    let Cell::Integer(sent) = cell(&outcome, "flows", "packets_sent") else { panic!("a count") };
    let Cell::Integer(answered) = cell(&outcome, "flows", "answers_received") else { panic!("a count") };
    // An answer takes 8.1 ms, and a retry 50 ms: about half of the questions are answered, since 0.7^2 =
    // 0.49.
    assert!((answered as f64 / sent as f64 - 0.49).abs() < 0.12, "{answered} of {sent}");
    let spent = answered as f64 * 8.1 + (sent - answered) as f64 * 50.0;
    assert!((spent - 3990.0).abs() < 60.0, "{spent} ms");
    assert_eq!(cell(&outcome, "flows", "complete"), Cell::Integer(0));
}

#[test]
fn an_application_over_tcp_reads_what_the_other_end_writes() {
    let outcome = run(network(vec![("web", web(10))], 0.0));
    // Both directions count: ten requests, ten pages.
    assert_eq!(cell(&outcome, "flows", "bytes_received"), Cell::Integer(10 * (ASK + PAGE)));
    assert_eq!(cell(&outcome, "flows", "complete"), Cell::Integer(1));
    assert_eq!(cell(&outcome, "connections", "bytes_received"), Cell::Integer(10 * ASK));
    assert_eq!(cell(&outcome, "connections", "retransmissions"), Cell::Integer(0));
    assert_eq!(cell(&outcome, "connections", "segments_received"), cell(&outcome, "flows", "packets_received"));
    let pages = outcome.metrics.get("completion_web").and_then(|metric| metric.tally()).expect("a histogram");
    // A page takes at least two ways of 2 ms, and 30 ms on the slow link.
    assert_eq!(pages.count(), 10);
    assert!(pages.min() >= Some(Delay::from_ms(34).as_ps()), "{:?}", pages.min());
    assert!(pages.max() <= Some(Delay::from_ms(60).as_ps()), "{:?}", pages.max());
}

#[test]
fn every_engine_gives_the_same_answer_with_protocols_of_other_crates() {
    let apps =
        vec![("ask", questions(400, Delay::from_ms(9))), ("web", web(1000)), ("too", questions(90, Delay::ZERO))];
    let mut description = network(apps, 0.02);
    let change = |at, change| Event { at: Time::from_ms(at), change };
    description.events = vec![
        change(700, Change::Link { link: 2, is_up: false }),
        change(720, Change::Link { link: 2, is_up: true }),
        change(1500, Change::Node { node: 0, is_up: false }),
        change(1600, Change::Node { node: 0, is_up: true }),
    ];
    let network = described(description);
    let expected = sequential::run(&network, options()).expect("it runs");
    let delivered = expected.metrics.get("packets_received").and_then(|metric| metric.counter()).expect("a counter");
    assert!(delivered > 2500, "{delivered}");
    let mut outcomes = vec![("rollback-check", rollback_check::run(&network, options()))];
    for threads in [1, 2, 3] {
        let optimistic = time_warp::Settings::of_threads(threads);
        let null_messages = null_message::Settings::of_threads(threads);
        outcomes.push(("window", window::run(&network, options(), &window::Settings::of_threads(threads))));
        outcomes.push(("null-message", null_message::run(&network, options(), &null_messages)));
        outcomes.push(("time-warp", time_warp::run(&network, options(), &optimistic)));
    }
    for (engine, outcome) in outcomes {
        let outcome = outcome.unwrap_or_else(|error| panic!("{engine}: {error}"));
        assert_eq!((outcome.digest, outcome.events), (expected.digest, expected.events), "{engine}");
        assert_eq!(outcome.metrics, expected.metrics, "{engine}");
    }
}

type Act = fn(&mut dyn PacketIo);

/// Does one thing when it starts.
#[derive(Clone, Debug)]
struct Once(Act);

impl PacketEnd for Once {
    fn on_start(&mut self, io: &mut dyn PacketIo) {
        (self.0)(io);
    }

    fn on_packet(&mut self, _: &Arrival<'_>, _: &mut dyn PacketIo) {}

    fn copy(&self) -> Box<dyn PacketEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, _: &mut Digest) {}
}

#[test]
fn what_an_end_may_not_do_fails_the_run_with_a_sentence() {
    let faults: [(Act, &str); 4] = [
        (|io| io.set_timer(7, Delay::ZERO), "flow 0 uses timer 7; an end has timers 0 to 6"),
        (|io| io.send(0, 65_508, &[]), "flow 0 sends a packet of 65508 bytes; its protocol allows 64 to 65507"),
        (|io| io.send(0, 63, &[]), "flow 0 sends a packet of 63 bytes; its protocol allows 64 to 65507"),
        (|io| io.send(0, 64, &[1; 65]), "flow 0 sends 65 bytes of data in a payload of 64 bytes"),
    ];
    for (fault, expected) in faults {
        let kind = OtherProtocol::new("once", Once(fault), Once(|_| {})).with_least_payload(64);
        let network = described(network(vec![("once", AppKind::Other(kind))], 0.0));
        let error = sequential::run(&network, options()).map(|_| ()).expect_err("it is not allowed");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let error = Network::described(network(vec![("ask", questions(0, Delay::ZERO))], 0.0)).map(|_| ());
    assert!(error.expect_err("it asks nothing").to_string().contains("the app `ask` asks nothing"));
}

#[test]
fn the_name_of_a_protocol_is_in_the_words_of_traces() {
    let network = described(network(vec![("shop", questions(1, Delay::ZERO)), ("page", web(1))], 0.0));
    let mut text = String::new();
    let tracer = Tracer::new(TraceFilter::default(), |line| {
        text.push_str(line);
        text.push('\n');
        Ok(())
    });
    sequential::run(&network, RunOptions { tracer: Some(tracer), ..options() }).expect("it runs");
    for words in [
        "timer: start of questions of app shop to c",
        "app shop questions #0, 64 B, a to c",
        "app shop questions #0, 970 B, c to a",
        "app page web segment #0 SYN, 0 B, b to c",
        "timer: web timer 2 of app page to c",
    ] {
        assert!(text.contains(words), "`{words}` is not in\n{text}");
    }
}
