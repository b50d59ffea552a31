//! Messages as flows, and the reports on hosts and links that fail.

use parades_carriers::FlowLevel;
use parades_core::prelude::*;
use parades_engine::{rounds, sequential};
use parades_flow::generators::star;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::xml;
use parades_program::{Delivery, Either, Node, Processes, Program, Start, Undelivered, select};
use std::path::Path;
use std::pin::Pin;

type Main = fn(Node<Script>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Nodes that all begin with the same process and keep a log. A message is its number of bytes.
struct Script {
    nodes: u32,
    main: Main,
    carrier: FlowLevel<u64>,
}

impl Program for Script {
    type Message = u64;
    type State = Vec<String>;
    type Carrier = FlowLevel<u64>;
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn carrier(&self) -> &Self::Carrier {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.table("log", vec![Column::new("line", Unit::Count)]);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Vec<String> {
        start.spawn("main", self.main);
        Vec::new()
    }
    fn finish(&self, id: LpId, log: &Vec<String>, _: &End, metrics: &mut Metrics) {
        for line in log {
            metrics.row(MetricId(0), [Cell::Text(format!("{}: {line}", id.0).into())]);
        }
    }
}

fn log(node: Node<Script>, line: &str) {
    let line = format!("{:.3} {line}", node.now().as_secs_f64());
    node.with_state(|log| log.push(line));
}

fn cm02() -> NetworkModel {
    NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 })
}

fn lines(outcome: &Outcome) -> Vec<String> {
    let table = outcome.metrics.get("log").and_then(|metric| metric.table()).expect("it is declared");
    table
        .rows()
        .iter()
        .map(|row| if let [Cell::Text(line)] = &row[..] { line.to_string() } else { String::new() })
        .collect()
}

/// Runs a program for 100 s under two engines.
fn run(platform: parades_flow::platform::Platform, nodes: u32, main: Main) -> Outcome {
    let carrier = FlowLevel::new(platform.into(), cm02(), nodes, |&bytes| bytes as f64);
    let model = Processes::new(Script { nodes, main, carrier });
    let options = || RunOptions::until(Time::try_from_secs_f64(100.0).expect("short"));
    let outcome = sequential::run(&model, options()).expect("it runs");
    let settings = rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(2) };
    let other = rounds::run(&model, options(), &settings).expect("it runs");
    assert_eq!((outcome.digest, &outcome.metrics), (other.digest, &other.metrics));
    outcome
}

/// Two hosts with a wire of 10 MB/s and 1 ms between them, whose availabilities follow profiles.
fn two(host_b: &str, wire: &str) -> parades_flow::platform::Platform {
    let profile = |id: &str, element: &str, kind: &str, lines: &str| match lines {
        "" => String::new(),
        lines => format!(
            r#"<trace id="{id}" periodicity="-1">{lines}</trace><trace_connect trace="{id}" element="{element}" kind="{kind}"/>"#
        ),
    };
    let text = format!(
        r#"<platform version="4.1"><zone id="world" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
        <link id="wire" bandwidth="10MBps" latency="1ms"/><route src="a" dst="b"><link_ctn id="wire"/></route>{}{}</zone></platform>"#,
        profile("host", "b", "HOST_AVAIL", host_b),
        profile("link", "wire", "LINK_AVAIL", wire),
    );
    xml::parse(Path::new("two.xml"), text.as_bytes()).expect("it is right")
}

fn counter(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).expect("it is declared")
}

#[test]
fn messages_share_links_and_senders_are_told_of_their_arrival() {
    let outcome = run(star(4).expect("a star"), 4, |node| {
        Box::pin(async move {
            match node.id().0 {
                0 => {
                    for _ in 0..3 {
                        let received = node.receive().await;
                        log(node, &format!("from {}", received.from.0));
                    }
                }
                id => {
                    node.sleep(Delay::from_secs(u64::from(id) / 3)).await;
                    node.send(LpId(0), 125_000_000).await.expect("nothing fails");
                    log(node, "arrived");
                }
            }
        })
    });
    // The first two share the link down for 1 s, all three for 1.5 s, and the last has it alone for half a
    // second.
    let expected = [
        "0: 2.501 from 1",
        "0: 2.501 from 2",
        "0: 3.001 from 3",
        "1: 2.501 arrived",
        "2: 2.501 arrived",
        "3: 3.001 arrived",
    ];
    assert_eq!(lines(&outcome), expected);
    assert_eq!(counter(&outcome, "messages_failed"), 0);
}

#[test]
fn who_sends_to_a_host_that_fails_is_told_and_so_is_who_is_on_it() {
    let outcome = run(two("5 0\n8 1", ""), 2, |node| {
        Box::pin(async move {
            if node.id().0 == 1 {
                let hears = async {
                    loop {
                        let received = node.receive().await;
                        log(node, &format!("got {}", received.message));
                    }
                };
                assert_eq!(select(hears, node.until_host_fails()).await, Either::Right(()));
                log(node, &format!("down: {}", !node.host_works()));
                node.until_host_works().await;
                log(node, "up");
                node.receive().await;
                return log(node, "got the last");
            }
            for bytes in [10_000_000, 100_000_000, 1_000] {
                let sent = node.send(LpId(1), bytes).await;
                log(node, if sent == Err(Undelivered) { "failed" } else { "arrived" });
            }
            node.sleep(Delay::from_secs(4)).await;
            assert_eq!(node.send(LpId(1), 10_000_000).await, Ok(()));
            log(node, "arrived");
        })
    });
    let expected = [
        "0: 1.001 arrived",
        "0: 5.000 failed",
        "0: 5.000 failed",
        "0: 10.001 arrived",
        "1: 1.001 got 10000000",
        "1: 5.000 down: true",
        "1: 8.000 up",
        "1: 10.001 got the last",
    ];
    assert_eq!(lines(&outcome), expected);
    assert_eq!(counter(&outcome, "messages_failed"), 2);
}

#[test]
fn a_link_that_fails_fails_the_messages_on_it_and_who_has_stopped_waiting_is_not_told() {
    let outcome = run(two("", "3 0\n4 1"), 2, |node| {
        Box::pin(async move {
            if node.id().0 == 1 {
                return;
            }
            let mut kept: Option<Delivery> = None;
            for _ in 0..2 {
                kept = Some(node.send(LpId(1), 40_000_000));
            }
            drop(node.send(LpId(1), 40_000_000));
            assert_eq!(node.within(Delay::from_secs(1), kept.expect("two were sent")).await, None);
            log(node, "gave up");
            node.sleep(Delay::from_secs(5)).await;
            log(node, &format!("{:?}", node.send(LpId(1), 10).await));
        })
    });
    assert_eq!(lines(&outcome), ["0: 1.000 gave up", "0: 6.001 Ok(())"]);
    assert_eq!(counter(&outcome, "messages_failed"), 3);
    // No process is left to read the last message.
    assert_eq!(counter(&outcome, "messages_lost"), 1);
}

#[test]
fn a_message_that_nothing_carries_any_more_is_lost_and_who_waits_is_named() {
    let outcome = run(two("", ""), 2, |node| {
        Box::pin(async move {
            if node.id().0 == 1 {
                node.receive().await;
            }
        })
    });
    let deadlock = outcome.metrics.get("deadlock").map(|metric| format!("{metric:?}")).expect("it is declared");
    assert!(deadlock.contains("`main` of node 1 waits for a message"), "{deadlock}");
}

#[test]
fn more_nodes_than_hosts_share_them_and_reach_each_other() {
    let outcome = run(star(2).expect("a star"), 5, |node| {
        Box::pin(async move {
            let next = LpId((node.id().0 + 1) % 5);
            node.send(next, 10).await.expect("nothing fails");
            let received = node.receive().await;
            assert_eq!((received.from.0 + 1) % 5, node.id().0);
            // A node reaches itself too.
            node.send(node.id(), 10).await.expect("nothing fails");
            assert_eq!(node.receive().await.from, node.id());
            log(node, "done");
        })
    });
    assert_eq!(lines(&outcome).len(), 5);
}

#[test]
fn a_route_that_is_missing_ends_the_run_with_a_sentence() {
    let text = r#"<platform version="4.1"><zone id="world" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/></zone></platform>"#;
    let platform = xml::parse(Path::new("apart.xml"), text.as_bytes()).expect("it is right");
    let carrier = FlowLevel::new(platform.into(), cm02(), 2, |&bytes: &u64| bytes as f64);
    let main: Main = |node| {
        Box::pin(async move {
            drop(node.send(LpId(1 - node.id().0), 1));
        })
    };
    let model = Processes::new(Script { nodes: 2, main, carrier });
    let error = sequential::run(&model, RunOptions::until(Time::MAX)).expect_err("there is no route");
    assert!(error.to_string().contains("the platform has no route from `a` to `b`"), "{error}");
}

#[test]
fn who_waits_for_a_change_of_its_host_that_is_to_come_does_not_wait_for_ever() {
    let waits: Main = |node| {
        Box::pin(async move {
            if node.id().0 == 1 {
                node.until_host_fails().await;
            }
        })
    };
    let deadlock = |outcome: &Outcome| outcome.metrics.get("deadlock").map(|metric| format!("{metric:?}"));
    // The run ends at 100 s.
    let outcome = run(two("200 0", ""), 2, waits);
    assert_eq!((counter(&outcome, "processes_waiting"), counter(&outcome, "nodes_asleep")), (1, 1));
    assert!(!deadlock(&outcome).expect("it is declared").contains("for ever"), "{:?}", deadlock(&outcome));
    // After the last change nothing can happen any more.
    let outcome = run(two("50 1", ""), 2, waits);
    assert!(deadlock(&outcome).expect("it is declared").contains("`main` of node 1 waits for a change of its host"));
}

#[test]
fn a_message_to_no_node_ends_the_run_with_a_sentence_however_it_is_sent() {
    for (to, past) in [(2, false), (2, true), (9, true)] {
        let carrier = FlowLevel::new(two("", "").into(), cm02(), 2, |&bytes: &u64| bytes as f64);
        let main: Main = match (to, past) {
            (2, false) => |node| Box::pin(async move { drop(node.send(LpId(2), 1)) }),
            (2, _) => |node| Box::pin(async move { node.send_after(LpId(2), Delay::from_ms(1), 1) }),
            _ => |node| Box::pin(async move { node.send_after(LpId(9), Delay::from_ms(1), 1) }),
        };
        let model = Processes::new(Script { nodes: 2, main, carrier });
        let error = sequential::run(&model, RunOptions::until(Time::MAX)).expect_err("there is no such node");
        assert!(error.to_string().contains(&format!("it sent to node {to}, but there are only 2 nodes")), "{error}");
    }
}
