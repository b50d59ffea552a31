//! The slowdown of flows against an idle network, and the state of each flow at the end: values by hand.

use parades_core::metrics::Cell;
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_packet::description::{App, AppKind, Change, Description, Ends, Event, Link, Marking};
use parades_packet::flow::Limit;
use parades_packet::network::Network;
use parades_packet::protocols::tcp::{ENDLESS, Tcp, Writes};
use parades_packet::protocols::{Control, Datagrams, Requests, Transfer};
use parades_packet::queue::QueueLimit;
use parades_packet::segment::SegmentRef;
use parades_packet::traffic::{Pattern, Period, Sizes};
use parades_tcp::control::{Algorithm, NewReno};
use parades_tcp::settings::Settings;
use parades_topology::NodeId;

const MSS: u32 = 1000;

/// The end of a note on unfinished flows.
const LEFT_OUT: &str = "what is unfinished is left out of completion times, response times and slowdowns";

fn link((from, to): (u32, u32), rate_bps: u64, ms: u64) -> Link {
    let (name, delay) = (format!("{from}-{to}"), Delay::from_ms(ms));
    Link { name, from, to, rate_bps, delay, queue: QueueLimit::Packets(100_000).into(), ..Link::default() }
}

/// A line of three nodes: 100 Mbps and 1 ms, then 10 Mbps and 10 ms.
fn line() -> Vec<Link> {
    vec![link((0, 1), 100_000_000, 1), link((1, 2), 10_000_000, 10)]
}

/// A flow from the first node to the last one.
fn app(name: &str, kind: AppKind) -> App {
    let flows = vec![Ends { source: NodeId(0), destination: NodeId(2), start: Time::from_ms(500) }];
    App { name: name.into(), kind, flows, marking: Marking::default() }
}

fn network(links: Vec<Link>, apps: Vec<App>, events: Vec<Event>) -> Network<SegmentRef> {
    let nodes = ["a", "b", "c"].map(String::from).into();
    Network::described(Description { nodes, links, apps, events, headers: 28, ..Description::default() })
        .expect("the network is possible")
}

/// Plain `NewReno`: segments of 1000 bytes with headers of 40 bytes, and acknowledgements of 40 bytes.
fn settings(initial_window: u32) -> Settings {
    Settings {
        algorithm: Algorithm::NewReno(NewReno::rfc5681()),
        mss: MSS,
        announces_mss: false,
        absent_mss: u32::MAX,
        window_scaling: false,
        timestamps: false,
        sack: false,
        rack: false,
        tail_loss_probe: false,
        delayed_ack_segments: 1,
        initial_window,
        ..Settings::linux()
    }
}

fn tcp(settings: Settings, bytes: u64, writes: Option<Writes>) -> AppKind {
    AppKind::Tcp(Box::new(Tcp { settings, bytes, writes, read_rate_bps: None }))
}

fn datagrams(limit: Limit) -> AppKind {
    let (sizes, pattern) = (Sizes::Constant(972), Pattern::Constant { rate_bps: 77_760 }); // Ten packets a second.
    AppKind::Datagrams(Datagrams { sizes, pattern, limit })
}

fn until(ms: u64) -> RunOptions<'static> {
    RunOptions::until(Time::from_ms(ms))
}

fn run(network: &Network<SegmentRef>, ms: u64) -> Outcome {
    sequential::run(network, until(ms)).expect("it runs")
}

/// Returns a column of the table of flows.
fn column(outcome: &Outcome, name: &str) -> Vec<Cell> {
    let table = outcome.metrics.get("flows").and_then(|metric| metric.table()).expect("a table");
    let place = table.columns().iter().position(|column| &*column.name == name).expect("a column");
    table.rows().iter().map(|row| row[place].clone()).collect()
}

fn slowdown(outcome: &Outcome) -> f64 {
    match column(outcome, "slowdown")[0] {
        Cell::Float(slowdown) => slowdown,
        ref other => panic!("{other:?}"),
    }
}

fn value(outcome: &Outcome, name: &str) -> Cell {
    let value = outcome.metrics.get(name).and_then(|metric| metric.value());
    value.expect("a value").clone()
}

fn states(outcome: &Outcome) -> Vec<String> {
    let text = |cell: Cell| if let Cell::Text(text) = cell { text.to_string() } else { panic!("{cell:?}") };
    column(outcome, "state").into_iter().map(text).collect()
}

fn since(outcome: &Outcome) -> Vec<Cell> {
    column(outcome, "no_path_since")
}

/// The time in milliseconds of a SYN and its answer over the line: 40 bytes take 3.2 us and 32 us.
const HANDSHAKE: f64 = 2.0 * (11.0 + 0.0032 + 0.032);

#[test]
fn a_stream_alone_with_an_open_window_has_a_slowdown_of_one() {
    // 50 segments leave at once. The first takes 11 ms, 83.2 us and 832 us, and each later one 832 us. The
    // acknowledgement of the handshake leaves before them, and takes 3.2 us on the first link.
    let network = network(line(), vec![app("x", tcp(settings(100), 50_000, None))], vec![]);
    let alone = HANDSHAKE + 11.0 + 0.0832 + 50.0 * 0.832;
    let expected = 1.0 + 0.0032 / alone;
    let found = slowdown(&run(&network, 2000));
    assert!(found > 1.0 && (found - expected).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn slow_start_costs_round_trips() {
    // Windows of 2, 4, 8, 16 and 32 segments: the 50 segments need five rounds, and the first four take a
    // round trip of 22 ms, 950.4 us with segment and acknowledgement. The last round has 20 segments.
    let network = network(line(), vec![app("x", tcp(settings(2), 50_000, None))], vec![]);
    let round_trip = 22.0 + 0.0832 + 0.832 + 0.0032 + 0.032;
    let burst = |segments: f64| 11.0 + 0.0832 + segments * 0.832;
    let expected = (HANDSHAKE + 4.0 * round_trip + burst(20.0)) / (HANDSHAKE + burst(50.0));
    let found = slowdown(&run(&network, 2000));
    assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
}

#[test]
fn a_slow_application_slows_no_stream_down() {
    let writes = Some(Writes { bytes: MSS, rate_bps: Some(400_000) });
    let network = network(line(), vec![app("x", tcp(settings(10), 50_000, writes))], vec![]);
    let found = slowdown(&run(&network, 5000));
    assert!((found - 1.0).abs() < 1e-9, "{found}");
}

#[test]
fn transfers_and_requests_alone_have_a_slowdown_of_exactly_one() {
    let transfer = Transfer { bytes: 50_500, segment: 1000, window: 100, control: Control::Fixed };
    let network_of = |kind| network(line(), vec![app("x", kind)], vec![]);
    assert_eq!(column(&run(&network_of(AppKind::Transfer(transfer)), 2000), "slowdown"), [Cell::Float(1.0)]);
    let requests = Requests {
        request: 100,
        response: 5500,
        packet: 1000,
        think: Period::Constant(Delay::from_ms(20)),
        service: Period::Constant(Delay::from_ms(3)),
        timeout: Delay::from_secs(1),
        stop: Time::MAX,
        count: 5,
    };
    let outcome = run(&network_of(AppKind::Requests(requests)), 2000);
    assert_eq!(column(&outcome, "slowdown"), [Cell::Float(1.0)]);
    assert_eq!(states(&outcome), ["complete"]);
    let summary = ["mean", "p50", "p99", "max"].map(|of| value(&outcome, &format!("slowdown_{of}")));
    assert_eq!(summary, [1.0; 4].map(Cell::Float));
}

#[test]
fn a_transfer_that_waits_for_another_is_slowed_down() {
    // Both send all their 1000 segments at once, and those of y wait behind those of x. A segment of 1028
    // bytes takes 82.24 us and 822.4 us, and an acknowledgement of 28 bytes 22.4 us and 2.24 us.
    let transfer = Transfer { bytes: 1_000_000, segment: 1000, window: 2000, control: Control::Fixed };
    let apps = ["x", "y"].map(|name| app(name, AppKind::Transfer(transfer)));
    let outcome = run(&network(line(), apps.into(), vec![]), 5000);
    let of = |segments: f64| 22.0 + 0.08224 + 0.0224 + 0.00224 + segments * 0.8224;
    let slowdowns = column(&outcome, "slowdown");
    assert_eq!(slowdowns[0], Cell::Float(1.0));
    let Cell::Float(y) = slowdowns[1] else { panic!("no slowdown") };
    assert!((y - of(2000.0) / of(1000.0)).abs() < 1e-9, "{y}");
    assert_eq!(value(&outcome, "slowdown_max"), Cell::Float(y));
}

fn change(ms: u64, link: u32, is_up: bool) -> Event {
    Event { at: Time::from_ms(ms), change: Change::Link { link, is_up } }
}

#[test]
fn flows_across_a_cut_say_since_when_they_have_no_path() {
    // From 2 s on, nothing crosses. Of ten datagrams a second, those of 2.0 s to 3.9 s are lost at b, and the
    // one of 1.9 s, 11 ms long, has arrived.
    let patient = tcp(settings(10), 10_000_000, None);
    let hasty = tcp(Settings { data_retries: 1, ..settings(10) }, 10_000_000, None);
    let done = tcp(settings(10), 1000, None);
    let apps = [
        app("patient", patient),
        app("hasty", hasty),
        app("done", done),
        app("sound", datagrams(Limit::Never)),
        app("ended", datagrams(Limit::Until(Time::from_ms(1000)))),
    ];
    let apps = |names: &[&str]| apps.iter().filter(|app| names.contains(&&*app.name)).cloned().collect();
    let outcome = run(&network(line(), apps(&["sound", "ended", "done"]), vec![change(2000, 1, false)]), 4000);
    assert_eq!(states(&outcome), ["complete", "cut off", "complete"]);
    let cut = Cell::Integer(Time::from_ms(2000).as_ps());
    assert_eq!(since(&outcome), [Cell::Empty, cut.clone(), Cell::Empty]);
    let note =
        "1 flow has had no path since 2s: sound#1 (20 packets were lost where a link was down or no path led on)";
    assert_eq!(value(&outcome, "note"), Cell::from(note));

    // The hasty sender retransmits once, and gives up at the next timeout, each at least 200 ms long.
    let outcome = run(&network(line(), apps(&["patient", "hasty"]), vec![change(2000, 1, false)]), 8000);
    assert_eq!(states(&outcome), ["cut off", "timed out"]);
    assert_eq!(since(&outcome), [cut.clone(), cut]);
    let Cell::Text(note) = value(&outcome, "note") else { panic!("no note") };
    assert!(note.starts_with("2 flows have had no path since 2s: patient#0, hasty#1 ("), "{note}");
    assert!(note.contains("; 1 flow gave up, as its segments had no answer: hasty#1; "), "{note}");
    assert!(
        note.ends_with(&format!("; 2 of 2 flows with an end are unfinished: patient#0, hasty#1; {LEFT_OUT}")),
        "{note}"
    );
    let count = |name: &str| outcome.metrics.get(name).and_then(|metric| metric.counter());
    assert_eq!((count("flows_cut_off"), count("flows_given_up")), (Some(2), Some(1)));
}

#[test]
fn a_path_that_comes_back_cuts_nothing_off() {
    let events = vec![change(2000, 1, false), change(3000, 1, true)];
    let apps = vec![app("x", tcp(settings(10), 10_000_000, None)), app("late", datagrams(Limit::Never))];
    let network = network(line(), apps, events);
    assert_eq!(states(&run(&network, 400)), ["not started", "not started"]);
    assert_eq!(states(&run(&network, 2500)), ["cut off", "cut off"]);
    let outcome = run(&network, 4000);
    assert_eq!(states(&outcome), ["going on", "going on"]);
    let note = format!("1 of 1 flows with an end is unfinished: x#0; {LEFT_OUT}");
    assert_eq!((since(&outcome), value(&outcome, "note")), (vec![Cell::Empty; 2], Cell::from(&*note)));
}

#[test]
fn a_connection_that_the_other_end_forgot_is_reset() {
    // The SYN passes at 0.51 s. From 0.52 s to 6 s nothing passes from b to c. The end at c repeats its
    // answer once, and gives up 3 s later. The first data after 6 s meet no connection.
    let one_way = |ends, name: &str| Link { name: name.into(), is_duplex: false, ..link(ends, 10_000_000, 10) };
    let links = vec![link((0, 1), 100_000_000, 1), one_way((1, 2), "there"), one_way((2, 1), "back")];
    let settings = Settings { syn_retries: 1, ..settings(10) };
    let app = app("x", tcp(settings, 1_000_000, Some(Writes { bytes: 1000, rate_bps: Some(80_000) })));
    let network = network(links, vec![app], vec![change(520, 1, false), change(6000, 1, true)]);
    let outcome = run(&network, 20_000);
    assert_eq!(states(&outcome), ["reset"]);
    let Cell::Text(note) = value(&outcome, "note") else { panic!("no note") };
    assert!(note.starts_with("1 flow was reset by the other end: x#0; "), "{note}");
    // The application does not write any more: the run has no further events.
    assert_eq!(run(&network, 200_000).events, outcome.events);
}

#[test]
fn a_group_reports_the_receivers_behind_a_cut() {
    let AppKind::Datagrams(stream) = datagrams(Limit::Never) else { unreachable!("it is of datagrams") };
    let ends = |destination| Ends { source: NodeId(0), destination: NodeId(destination), start: Time::ZERO };
    let flows = vec![ends(1), ends(2)];
    let group = App { name: "x".into(), kind: AppKind::Multicast(stream), flows, marking: Marking::default() };
    let outcome = run(&network(line(), vec![group], vec![change(2000, 1, false)]), 4000);
    assert_eq!(states(&outcome), ["going on", "cut off"]);
}

/// The direct link has 64 kbit/s, and fails at 600 ms. The detour has 10 Mbit/s.
#[test]
fn a_failure_that_leads_to_a_faster_path_makes_no_slowdown_below_one() {
    let links = vec![link((0, 2), 64_000, 1), link((0, 1), 10_000_000, 10), link((1, 2), 10_000_000, 10)];
    let transfer = Transfer { bytes: 1_000_000, segment: 1000, window: 2000, control: Control::Fixed };
    for kind in [tcp(settings(10), 1_000_000, None), AppKind::Transfer(transfer)] {
        let network = network(links.clone(), vec![app("x", kind)], vec![change(600, 0, false)]);
        let found = slowdown(&run(&network, 20_000));
        assert!((1.0..3.0).contains(&found), "{found}");
    }
}

#[test]
fn slowdowns_and_states_are_the_same_on_every_engine() {
    let mut apps = vec![
        app("a", tcp(settings(10), 200_000, None)),
        app("b", tcp(Settings { data_retries: 1, ..settings(10) }, 10_000_000, None)),
        app("c", tcp(settings(10), ENDLESS, Some(Writes { bytes: 1000, rate_bps: Some(80_000) }))),
    ];
    apps.push(app("d", datagrams(Limit::Never)));
    let network = network(line(), apps, vec![change(1500, 1, false)]);
    let expected = run(&network, 4000);
    assert_eq!(states(&expected), ["complete", "timed out", "cut off", "cut off"]);
    let others = [
        window::run(&network, until(4000), &window::Settings::of_threads(2)),
        null_message::run(&network, until(4000), &null_message::Settings::of_threads(2)),
        time_warp::run(&network, until(4000), &time_warp::Settings::of_threads(2)),
        rollback_check::run(&network, until(4000)),
    ];
    for outcome in others.map(|run| run.expect("it runs")) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics));
    }
}
