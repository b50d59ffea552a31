//! A packet network that is stepped has the packets of a file with the same flows and events, under every
//! engine.

use parades::core::error::{Error, ErrorKind};
use parades::core::metrics::Cell;
use parades::netfile::NetworkFile;
use parades::network::{Fate, PacketCompletion, PacketLinkChange, PacketNetwork, TcpApp, TransferId};
use parades::packet::description::Description;
use parades::packet::network::Network;
use parades::prelude::*;
use parades::tcp::control::Algorithm;
use parades::tcp::settings::Settings;
use parades::topology::{LinkId, NodeId};
use parades::{AnyEngine, null_message, rounds, sequential, time_warp, window};

/// Three hosts behind `west` and three behind `east`, at the ends of a link of 20 Mbit/s and 5 ms with a queue
/// of 20 packets.
const DUMBBELL: &str = r#"
network = "a dumbbell"
until = "1000s"
nodes = ["west", "east"]

[[group]]
name = "left"
size = 3
attach = "west"
rate = "100Mbps"
delay = "1ms"

[[group]]
name = "right"
size = 3
attach = "east"
rate = "100Mbps"
delay = "100us"

[[link]]
from = "west"
to = "east"
rate = "20Mbps"
delay = "5ms"
queue = 20
"#;

/// The transfers: source, destination, bytes and start in ms. They overlap, and packets are lost at the queue.
const TRANSFERS: [(&str, &str, u64, u64); 6] = [
    ("left.0", "right.0", 1_000_000, 0),
    ("left.1", "right.0", 700_000, 3),
    ("left.2", "right.2", 10_000, 50),
    ("left.0", "right.1", 500_001, 120),
    ("right.1", "left.0", 300_000, 121),
    ("left.2", "right.1", 1, 900),
];

fn description(text: &str) -> Description {
    let file = NetworkFile::parse("net.toml".as_ref(), text.into()).expect("it is TOML").expect("it is a network");
    file.describe(&file.parameters(), 1).expect("it is possible").0
}

/// Returns the file with the transfers as apps.
fn file_of(text: &str) -> String {
    let app = |(number, (from, to, bytes, start)): (usize, &(&str, &str, u64, u64))| {
        format!(
            "[[app]]\nname = \"t{number}\"\nkind = \"tcp\"\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"{bytes}B\"\nstart = \"{start}ms\"\n"
        )
    };
    TRANSFERS.iter().enumerate().map(app).fold(text.to_owned(), |text, app| text + "\n" + &app)
}

fn options() -> RunOptions<'static> {
    RunOptions::until(Time::from_secs(1000))
}

fn network_of(text: &str, engine: AnyEngine) -> PacketNetwork {
    let tcp_apps = vec![TcpApp::new(Settings::linux())];
    PacketNetwork::new(description(text), tcp_apps, engine, options()).expect("it starts")
}

/// Sends all transfers in their time, by steps of at most `step`.
fn play(network: &mut PacketNetwork, step: Delay) -> Vec<PacketCompletion> {
    let mut ends = Vec::new();
    for (number, (from, to, bytes, start)) in (0..).zip(TRANSFERS) {
        ends.append(&mut go_to(network, Time::from_ms(start), step));
        let [from, to] = [from, to].map(|name| network.node(name).expect("there is such a node"));
        assert_eq!(network.send(from, to, bytes), Ok(TransferId(number)));
    }
    ends.append(&mut go_to(network, Time::from_secs(10), step));
    ends
}

fn go_to(network: &mut PacketNetwork, until: Time, step: Delay) -> Vec<PacketCompletion> {
    let mut ends = Vec::new();
    while network.now() < until {
        let next = network.now().checked_add(step).expect("virtual time is long");
        network.advance_to(next.min(until)).expect("nothing fails");
        ends.append(&mut network.completions().expect("nothing fails"));
    }
    ends
}

fn by_id(mut ends: Vec<PacketCompletion>) -> Vec<PacketCompletion> {
    assert!(ends.is_sorted_by_key(|end| end.end));
    ends.sort_unstable_by_key(|end| end.id);
    ends
}

/// Returns the completion time and the retransmissions of each connection of a file, by the model of files.
fn connections(text: &str) -> Vec<(u64, u64)> {
    let model = Network::described(description(text)).expect("it is possible");
    let outcome = sequential::run(&model, RunOptions::until(Time::from_secs(10))).expect("nothing fails");
    let table = outcome.metrics.get("connections").and_then(|metric| metric.table()).expect("there are connections");
    let place =
        |name: &str| table.columns().iter().position(|column| *column.name == *name).expect("there is such a column");
    let (completion, again) = (place("completion"), place("retransmissions"));
    let number = |cell: &Cell| match cell {
        Cell::Integer(number) => *number,
        other => panic!("{other:?} is no number"),
    };
    table.rows().iter().map(|row| (number(&row[completion]), number(&row[again]))).collect()
}

fn durations(ends: &[PacketCompletion]) -> Vec<(u64, u64)> {
    ends.iter().map(|end| (end.end.since(end.begin).as_ps(), end.retransmissions)).collect()
}

#[test]
fn transfers_end_when_the_flows_of_a_file_end() {
    let expected = connections(&file_of(DUMBBELL));
    assert!(expected.iter().map(|(_, again)| again).sum::<u64>() > 20, "packets are lost: {expected:?}");
    let asked = by_id(play(&mut network_of(DUMBBELL, AnyEngine::Sequential), Delay::from_ms(7)));
    assert_eq!(durations(&asked), expected);
    assert!(asked.iter().zip(TRANSFERS).all(|(end, (_, _, bytes, _))| (end.fate, end.bytes) == (Fate::Done, bytes)));

    // The flows of the description are transfers too.
    let mut of_file = network_of(&file_of(DUMBBELL), AnyEngine::Sequential);
    let ends = by_id(go_to(&mut of_file, Time::from_secs(10), Delay::from_secs(10)));
    assert_eq!(ends, asked);
    let [from, to] = ["left.0", "right.0"].map(|name| of_file.node(name).expect("there is such a node"));
    assert_eq!(of_file.send(from, to, 1), Ok(TransferId(6)));
}

#[test]
fn all_engines_have_one_digest_however_the_network_is_stepped() {
    let mut engines = vec![AnyEngine::Auto { threads: 2 }, AnyEngine::Sequential];
    for workers in 1..=2 {
        engines.extend([
            AnyEngine::Rounds(rounds::Settings::of_threads(workers)),
            AnyEngine::Window(window::Settings::of_threads(workers)),
            AnyEngine::NullMessage(null_message::Settings::of_threads(workers)),
            AnyEngine::TimeWarp(time_warp::Settings::of_threads(workers)),
        ]);
    }
    let mut seen = Vec::new();
    for (engine, step) in engines.into_iter().zip([1, 3, 10, 33, 100, 1000, 5000, 10_000, 17, 50].map(Delay::from_ms)) {
        let mut network = network_of(DUMBBELL, engine);
        let ends = play(&mut network, step);
        seen.push((ends, network.digest().expect("nothing fails").expect("digests are on")));
    }
    assert_eq!(seen.len(), 10);
    assert!(seen.iter().all(|run| *run == seen[0]), "{seen:?}");
}

#[test]
fn an_execution_can_be_undone() {
    let text = file_of(DUMBBELL).replace("queue = 20", "queue = { kind = \"fqcodel\" }\nloss = 0.01");
    let model = parades::packet::on_demand::OnDemand::new(description(&text), Vec::new()).expect("it is possible");
    let until = || RunOptions::until(Time::from_secs(3));
    let expected = sequential::run(&model, until()).expect("nothing fails");
    assert_eq!(parades::rollback_check::run(&model, until()).expect("nothing fails").digest, expected.digest);
}

#[test]
fn a_link_that_is_changed_is_one_that_the_file_changes() {
    // Two links change, one of them twice, while packets wait for them.
    let event = |at: u64, link: &str, what: &str| format!("\n[[event]]\nat = \"{at}ms\"\nlink = \"{link}\"\n{what}\n");
    let events = [
        event(40, "west-east", "rate = \"7Mbps\""),
        event(150, "west-east", "rate = \"30Mbps\"\ndelay = \"8ms\""),
        event(150, "left.0-west", "rate = \"5Mbps\""),
        event(20, "west-east", "rate = \"19Mbps\""), // this one is in both files
    ];
    let expected = connections(&(file_of(DUMBBELL) + &events.concat()));
    assert_ne!(expected, connections(&file_of(DUMBBELL)));
    let text = file_of(DUMBBELL) + &events[3];
    for engine in [AnyEngine::Sequential, AnyEngine::TimeWarp(time_warp::Settings::of_threads(2))] {
        let mut network = network_of(&text, engine);
        let link = |network: &PacketNetwork, name| network.link(name).expect("there is such a link");
        let (middle, left) = (link(&network, "west-east"), link(&network, "left.0-west"));
        network.advance_to(Time::from_ms(40)).expect("nothing fails");
        network.set_link(middle, PacketLinkChange::Rate(7_000_000)).expect("it can change");
        network.advance_to(Time::from_ms(150)).expect("nothing fails");
        let waiting = network.ports(middle).expect("there is such a link");
        assert!(waiting.iter().any(|port| port.waiting > 0), "packets wait: {waiting:?}");
        let changes = [
            (middle, PacketLinkChange::Rate(30_000_000)),
            (middle, PacketLinkChange::Delay(Delay::from_ms(8))),
            (left, PacketLinkChange::Rate(5_000_000)),
        ];
        network.set_links(&changes).expect("they can change");
        // A saved network has the links as they are.
        let mut file = Vec::new();
        network.save(&mut file).expect("it can be saved");
        let tcp_apps = vec![TcpApp::new(Settings::linux())];
        let mut loaded = PacketNetwork::load(description(&text), tcp_apps, engine, &file[..]).expect("it is one");
        for network in [&mut network, &mut loaded] {
            assert_eq!(durations(&by_id(go_to(network, Time::from_secs(10), Delay::from_secs(10)))), expected);
        }
        assert_eq!(network.digest(), loaded.digest());
    }
}

#[test]
fn a_link_that_is_taken_down_loses_the_packets_that_a_file_loses() {
    let event =
        |at: u64, state: &str| format!("\n[[event]]\nat = \"{at}ms\"\nlink = \"west-east\"\nstate = \"{state}\"\n");
    let text = file_of(DUMBBELL) + &event(100, "down") + &event(250, "up");
    let mut of_file = network_of(&text, AnyEngine::Sequential);
    let expected = by_id(go_to(&mut of_file, Time::from_secs(10), Delay::from_secs(10)));
    assert_eq!(durations(&expected), connections(&text));
    for engine in [AnyEngine::Sequential, AnyEngine::Window(window::Settings::of_threads(2))] {
        let mut network = network_of(&file_of(DUMBBELL), engine);
        let link = network.link("west-east").expect("there is such a link");
        network.advance_to(Time::from_ms(100)).expect("nothing fails");
        assert!(network.ports(link).expect("there is such a link").iter().any(|port| port.waiting > 5));
        network.set_link(link, PacketLinkChange::Down).expect("it has drop-tail queues");
        let [from, to] = ["left.0", "right.0"].map(|name| network.node(name).expect("there is such a node"));
        let refused = network.send(from, to, 1).expect_err("there is no other path").to_string();
        assert_eq!(refused, "no path leads from `left.0` to `right.0` at 0.1s; the run is as it was");
        network.advance_to(Time::from_ms(250)).expect("nothing fails");
        network.set_link(link, PacketLinkChange::Up).expect("it can");
        let ends = by_id(go_to(&mut network, Time::from_secs(10), Delay::from_secs(10)));
        assert_eq!(ends, expected);
        let [ports, of_file] = [&mut network, &mut of_file].map(|network| network.ports(link).expect("there is one"));
        assert!(ports[0].lost[2] > 10, "{ports:?}");
        assert_eq!(ports, of_file);
    }
}

#[test]
fn a_link_that_loses_all_packets_ends_its_transfers_and_nothing_else() {
    let mut network = network_of(DUMBBELL, AnyEngine::Sequential);
    let node = |network: &PacketNetwork, name| network.node(name).expect("there is such a node");
    let (from, to) = (node(&network, "left.0"), node(&network, "right.0"));
    let lost = network.send(from, to, 10_000_000).expect("there is a path");
    network.advance_to(Time::from_ms(500)).expect("nothing fails");
    let link = network.link("right.0-east").or(network.link("east-right.0")).expect("there is such a link");
    network.set_link(link, PacketLinkChange::Loss(1.0)).expect("it can change");
    let (from, other) = (node(&network, "left.1"), node(&network, "right.1"));
    let whole = network.send(from, other, 10_000).expect("there is a path");
    network.advance_to(Time::from_secs(3)).expect("nothing fails");
    let ends = network.completions().expect("nothing fails");
    assert_eq!(ends.iter().map(|end| (end.id, end.fate)).collect::<Vec<_>>(), [(whole, Fate::Done)]);
    // Linux gives up after 15 retransmissions, about a quarter of an hour.
    network.advance_to(Time::from_secs(1000)).expect("nothing fails");
    let ends = network.completions().expect("nothing fails");
    let [PacketCompletion { id, end, bytes, fate, .. }] = ends[..] else { panic!("one has failed: {ends:?}") };
    assert_eq!((id, fate), (lost, Fate::Failed));
    assert!((500..10_000_000).contains(&bytes) && end > Time::from_secs(600), "{ends:?}");
}

#[test]
fn a_transfer_that_is_cancelled_leaves_the_link_to_others() {
    let run = |cancels: bool| {
        let mut network = network_of(DUMBBELL, AnyEngine::Sequential);
        let [from, to, other] =
            ["left.0", "right.0", "left.1"].map(|name| network.node(name).expect("there is such a node"));
        let first = network.send(from, to, 10_000_000).expect("there is a path");
        let second = network.send(other, to, 3_000_000).expect("there is a path");
        network.advance_to(Time::from_ms(400)).expect("nothing fails");
        if cancels {
            network.cancel(first).expect("it was sent");
            network.cancel(first).expect("it is the same");
        }
        network.advance_to(Time::from_secs(100)).expect("nothing fails");
        let ends = network.completions().expect("nothing fails");
        network.cancel(second).expect("it has ended");
        network.advance_to(Time::from_secs(101)).expect("nothing fails");
        assert_eq!(network.completions(), Ok(Vec::new()));
        by_id(ends)
    };
    let (cancelled, whole) = (run(true), run(false));
    assert_eq!((cancelled[0].fate, cancelled[0].end), (Fate::Cancelled, Time::from_ms(400)));
    // The two have had 400 ms of a link of 20 Mbit/s.
    assert!((200_000..800_000).contains(&cancelled[0].bytes), "{cancelled:?}");
    assert_eq!((cancelled[1].fate, whole[1].fate), (Fate::Done, Fate::Done));
    assert!(cancelled[1].end < whole[1].end, "{cancelled:?} {whole:?}");
    // At once after the sending, nothing has been delivered.
    let mut network = network_of(DUMBBELL, AnyEngine::Sequential);
    let [from, to] = ["left.0", "right.0"].map(|name| network.node(name).expect("there is such a node"));
    let id = network.send(from, to, 1).expect("there is a path");
    network.cancel(id).expect("it was sent");
    network.advance_to(Time::from_secs(1)).expect("nothing fails");
    let ends = network.completions().expect("nothing fails");
    assert_eq!((ends[0].fate, ends[0].bytes, ends[0].end), (Fate::Cancelled, 0, Time::ZERO));
}

#[test]
fn branches_do_not_see_each_other_and_go_on_under_other_engines() {
    let mut network = network_of(DUMBBELL, AnyEngine::Sequential);
    let [from, to, other] =
        ["left.0", "right.0", "left.1"].map(|name| network.node(name).expect("there is such a node"));
    network.send(from, to, 1_000_000).expect("there is a path");
    network.advance_to(Time::from_ms(100)).expect("nothing fails");
    let (mut same, mut busier) = (network.branch().expect("it can"), network.branch().expect("it can"));
    same.continue_under(AnyEngine::Window(window::Settings::of_threads(2))).expect("it can");
    busier.continue_under(AnyEngine::TimeWarp(time_warp::Settings::of_threads(2))).expect("it can");
    busier.send(other, to, 1_000_000).expect("there is a path");
    let end = |network: &mut PacketNetwork| {
        network.advance_to(Time::from_secs(5)).expect("nothing fails");
        network.completions().expect("nothing fails")
    };
    let (plain, same_ends, busier) = (end(&mut network), end(&mut same), end(&mut busier));
    assert_eq!((&plain, network.digest()), (&same_ends, same.digest()));
    assert_eq!(busier.len(), 2);
    assert!(busier.iter().find(|end| end.id == plain[0].id).expect("it has ended").end > plain[0].end);
}

#[test]
fn apps_differ_by_their_congestion_control() {
    let tcp_apps = ["cubic", "newreno", "vegas", "bbr"].map(|name| {
        TcpApp::new(Settings { algorithm: name.parse::<Algorithm>().expect("it is one"), ..Settings::linux() })
    });
    let times = (0..4).map(|tcp_app| {
        let mut network =
            PacketNetwork::new(description(DUMBBELL), tcp_apps.to_vec(), AnyEngine::Sequential, options())
                .expect("it starts");
        network.send_by(tcp_app, NodeId(2), NodeId(5), 3_000_000).expect("there is a path");
        network.advance_to(Time::from_secs(20)).expect("nothing fails");
        let end = network.completions().expect("nothing fails")[0];
        let name = format!("completion_{}", ["cubic", "newreno", "vegas", "bbr"][tcp_app as usize]);
        let metrics = network.metrics().expect("nothing fails");
        let tally = metrics.get(&name).and_then(|metric| metric.tally()).expect("it is one");
        assert_eq!((tally.count(), tally.max()), (1, Some(end.end.as_ps())));
        end.end
    });
    let times: std::collections::BTreeSet<Time> = times.collect();
    assert_eq!(times.len(), 4, "{times:?}");
}

#[test]
fn memory_is_in_proportion_to_what_is_on_its_way() {
    let mut network = network_of(DUMBBELL, AnyEngine::Sequential);
    let mut sizes = Vec::new();
    for round in 0..4 {
        for _ in 0..30 {
            for host in 0..3 {
                network.send(NodeId(2 + host), NodeId(5 + host), 2000).expect("there is a path");
            }
            let next = network.now().checked_add(Delay::from_secs(1)).expect("virtual time is long");
            network.advance_to(next).expect("nothing fails");
            assert_eq!(network.completions().expect("nothing fails").len(), 3);
        }
        // Senders wait 60 s for old segments.
        network.advance_to(Time::from_secs(100 * (round + 1))).expect("nothing fails");
        for host in 0..3 {
            network.send(NodeId(2 + host), NodeId(5 + host), 1).expect("there is a path");
        }
        network.advance_to(network.now().checked_add(Delay::from_ms(500)).expect("it is")).expect("nothing fails");
        let mut file = Vec::new();
        network.save(&mut file).expect("it can be saved");
        sizes.push(file.len());
        assert_eq!(network.completions().expect("nothing fails").len(), 3);
    }
    let (least, most) = (*sizes.iter().min().expect("there are four"), *sizes.iter().max().expect("there are four"));
    assert!(most < least + least / 20, "{sizes:?}");
}

#[test]
fn what_no_network_can_do_is_refused() {
    let mut network = network_of(DUMBBELL, AnyEngine::Sequential);
    let text = |error: Error| {
        assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error}");
        error.to_string()
    };
    let (left, right) = (NodeId(2), NodeId(5));
    let mut refused = vec![
        network.send(left, NodeId(8), 1).map(drop).map_err(text),
        network.send_by(1, left, right, 1).map(drop).map_err(text),
        network.send(left, left, 1).map(drop).map_err(text),
        network.send(left, right, 0).map(drop).map_err(text),
        network.cancel(TransferId(0)).map_err(text),
        network.set_link(LinkId(7), PacketLinkChange::Rate(1)).map_err(text),
        network.set_link(LinkId(0), PacketLinkChange::Rate(0)).map_err(text),
        network.set_link(LinkId(0), PacketLinkChange::RateBack(5)).map_err(text),
        network.set_link(LinkId(0), PacketLinkChange::Loss(1.5)).map_err(text),
        network.ports(LinkId(9)).map(drop).map_err(text),
    ];
    network.advance_to(Time::from_secs(5)).expect("nothing fails");
    refused.push(network.advance_to(Time::from_secs(4)).map_err(text));
    refused.push(network.advance_to(Time::from_secs(1001)).map_err(text));
    network.advance_to(Time::from_secs(1000)).expect("it is the end");
    refused.push(network.send(left, right, 1).map(drop).map_err(text));
    let apart = DUMBBELL.replace("nodes = [\"west\", \"east\"]", "nodes = [\"west\", \"east\", \"alone\"]");
    let alone =
        PacketNetwork::new(description(&apart), vec![TcpApp::new(Settings::ns3())], AnyEngine::Sequential, options())
            .and_then(|mut network| network.send(NodeId(2), NodeId(3), 1));
    refused.push(alone.map(drop).map_err(text));
    let twice = vec![TcpApp::new(Settings::linux()); 2];
    let twice = PacketNetwork::new(description(DUMBBELL), twice, AnyEngine::Sequential, options());
    refused.push(twice.map(drop).map_err(text));
    // Packets wait, and their times rest on an event to come.
    let later = "\n[[event]]\nat = \"90s\"\nlink = \"west-east\"\nrate = \"5Mbps\"\n";
    let mut later = network_of(&(DUMBBELL.to_owned() + later), AnyEngine::Sequential);
    later.send(left, right, 1_000_000).expect("there is a path");
    later.advance_to(Time::from_ms(200)).expect("nothing fails");
    let link = later.link("west-east").expect("there is such a link");
    refused.push(later.set_link(link, PacketLinkChange::Rate(9)).map_err(text));
    let expected = [
        "there is no node 8, since there are 8",
        "there is no app 1 of the program, since there are 1",
        "a transfer leads from one node to another, and not from `left.0` to itself",
        "a transfer has 1 to 2^64 - 2 bytes, and not 0",
        "there is no transfer 0, since 0 were sent",
        "there is no link 7, since there are 7",
        "the link `left.0-west` cannot have a rate of zero",
        "the link `left.0-west` has one rate for both ways",
        "the link `left.0-west` cannot lose packets with the probability 1.5",
        "there is no link 9, since there are 7",
        "the time cannot go back from 5s to 4s",
        "the run ends at 1000s, before 1001s",
        "the run has ended at 1000s",
        "no path leads from `alone` to `left.0` at 0s",
        "`cubic` has the name of another app; give it its own",
        "packets wait for the link `west-east`, which changes again later",
    ];
    let expected = expected.map(|what| Err(format!("{what}; the run is as it was")));
    assert_eq!(refused, expected);
}
