//! Usual programs take the times of SimGrid 3.32: `simgrid/times.sh` runs them as actors, and their log is in
//! `simgrid/times.txt`. That file also has the programs of `programs_on_platforms.rs` and `deployments.rs`,
//! by the names of their tests.

use parades_carriers::FlowLevel;
use parades_carriers::flow_level::OnPlatform;
use parades_core::prelude::*;
use parades_engine::{rounds, sequential};
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::xml;
use parades_program::{Node, Processes, Program, Start};

type Begin = fn(&mut Start<'_, Logged>);

/// A program on the hosts `a`, `b` and `c`, whose nodes keep a log. Messages are numbers of bytes.
struct Logged {
    begin: Begin,
    carrier: FlowLevel<u64>,
}

impl Program for Logged {
    type Message = u64;
    type State = Vec<String>;
    type Carrier = FlowLevel<u64>;
    fn nodes(&self) -> u32 {
        3
    }
    fn carrier(&self) -> &Self::Carrier {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.table("log", vec![Column::new("line", Unit::Count)]);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Self::State {
        (self.begin)(start);
        Vec::new()
    }
    fn must_end(&self) -> bool {
        true
    }
    fn finish(&self, _: LpId, log: &Self::State, _: &End, metrics: &mut Metrics) {
        for line in log {
            metrics.row(MetricId(0), [Cell::Text(line.as_str().into())]);
        }
    }
}

fn say(node: Node<Logged>, text: &str) {
    let line = format!("  {:.9} {text}", node.now().as_secs_f64());
    node.with_state(|log| log.push(line));
}

/// Asserts that a program has the log that `times.txt` has under a name.
#[track_caller]
fn assert_times(name: &str, begin: Begin) {
    let platform = xml::parse("three.xml".as_ref(), include_bytes!("../../simgrid/three.xml")).expect("it is right");
    let model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
    let carrier = FlowLevel::new(platform.into(), model, 3, |&bytes| bytes as f64);
    let program = Processes::new(Logged { begin, carrier });
    let outcome = sequential::run(&program, RunOptions::until(Time::MAX)).expect("it runs");
    let settings = rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(2) };
    let other = rounds::run(&program, RunOptions::until(Time::MAX), &settings).expect("it runs");
    assert_eq!(other.digest, outcome.digest);
    let table = outcome.metrics.get("log").and_then(|metric| metric.table()).expect("it is declared");
    let text = |row: &Vec<Cell>| if let [Cell::Text(line)] = &row[..] { line.to_string() } else { String::new() };
    let mut log: Vec<String> = table.rows().iter().map(text).collect();
    log.sort();
    let of_simgrid = include_str!("../../simgrid/times.txt").lines().skip_while(|line| *line != name).skip(1);
    let expected: Vec<&str> = of_simgrid.take_while(|line| line.starts_with(' ')).collect();
    assert!(!expected.is_empty(), "times.txt lacks {name}");
    assert_eq!(log, expected);
}

#[test]
fn a_master_gives_tasks_to_workers() {
    assert_times("a_master_gives_tasks_to_workers", |start| {
        if start.id() == LpId(0) {
            return start.spawn("master", |node| async move {
                for task in 1..=6 {
                    node.mailbox("tasks").put(task * 1_000_000).await.expect("nothing fails");
                    say(node, &format!("put task {task}"));
                }
                for _ in 0..2 {
                    node.mailbox("tasks").put(0).await.expect("nothing fails");
                }
            });
        }
        let name = ["a", "b", "c"][start.id().index()];
        start.spawn("worker", move |node| async move {
            loop {
                let task = node.mailbox("tasks").get().await.expect("nothing fails").message;
                if task == 0 {
                    break;
                }
                node.compute(1e9).await.expect("the host works");
                say(node, &format!("{name} has done task {}", task / 1_000_000));
            }
        });
    });
}

#[test]
fn a_token_goes_around_a_ring() {
    assert_times("a_token_goes_around_a_ring", |start| {
        let place = start.id().index();
        start.spawn("passes the token", move |node| async move {
            let names = ["a", "b", "c"];
            let (mine, next) = (names[place], names[(place + 1) % 3]);
            for round in 0..2 {
                if place > 0 || round > 0 {
                    node.mailbox(mine).get().await.expect("nothing fails");
                    say(node, &format!("{mine} has the token"));
                }
                node.mailbox(next).put(1_000_000).await.expect("nothing fails");
            }
            if place == 0 {
                node.mailbox(mine).get().await.expect("nothing fails");
                say(node, "a has the token back");
            }
        });
    });
}

#[test]
fn a_get_from_several_mailboxes_takes_the_message_that_was_put_first() {
    // By hand: a message takes 1 ms and 0.1 s from `a` to `b`, and 2 ms and 0.05 s from `c`.
    let begin: Begin = |start| match start.id().index() {
        0 => start.spawn("puts", |node| async move {
            node.sleep(Delay::from_secs(1)).await;
            node.mailbox("one").put(1_000_000).await.expect("nothing fails");
            node.mailbox("one").put(1_000_001).await.expect("nothing fails");
        }),
        1 => start.spawn("gets", |node| async move {
            let mailbox = |name: &str| node.mailbox(name);
            let got = mailbox("one").get_or_from([mailbox("two"), mailbox("three")]).await.expect("nothing fails");
            assert_eq!((got.message, node.now()), (2_000_000, Time::from_ms(602)));
            // It no longer waits at the other mailboxes: another get has the message of `one`.
            let got = mailbox("one").get().await.expect("nothing fails");
            assert_eq!((got.message, node.now()), (1_000_000, Time::from_ms(1101)));
            node.sleep(Delay::from_secs(2)).await;
            let mut order = Vec::new();
            for _ in 0..2 {
                let got = mailbox("three").get_or_from([mailbox("one")]).await.expect("nothing fails");
                order.push(got.message);
            }
            assert_eq!(order, [1_000_001, 3_000_000]);
            // A get that is dropped leaves all its mailboxes.
            drop(mailbox("five").get_or_from([mailbox("four")]));
            assert_eq!(mailbox("four").get().await.map(|got| got.message), Ok(4_000_000));
            say(node, "done");
        }),
        _ => start.spawn("puts later", |node| async move {
            node.sleep(Delay::from_ms(500)).await;
            node.mailbox("two").put(2_000_000).await.expect("nothing fails");
            node.sleep(Delay::from_secs(1)).await;
            node.mailbox("three").put(3_000_000).await.expect("nothing fails");
            node.mailbox("four").put(4_000_000).await.expect("nothing fails");
        }),
    };
    let platform = xml::parse("three.xml".as_ref(), include_bytes!("../../simgrid/three.xml")).expect("it is right");
    let model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
    let carrier = FlowLevel::new(platform.into(), model, 3, |&bytes| bytes as f64);
    let program = Processes::new(Logged { begin, carrier });
    let outcome = sequential::run(&program, RunOptions::until(Time::MAX)).expect("it runs");
    let table = outcome.metrics.get("log").and_then(|metric| metric.table()).expect("it is declared");
    assert_eq!(table.rows().len(), 1);
}
