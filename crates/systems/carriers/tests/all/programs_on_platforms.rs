//! Processes on a platform: they compute, use disks, meet at mailboxes and locks, and are killed, suspended
//! and begun again with their hosts.
//!
//! Unless a test says otherwise, its times are those of SimGrid 3.32 for actors that do the same on the same
//! platform (`network/model:CM02`, `network/crosstraffic:0`).

use parades_carriers::FlowLevel;
use parades_carriers::flow_level::{Failure, OnPlatform};
use parades_core::prelude::*;
use parades_engine::{null_message, rounds, sequential, window};
use parades_flow::network::Execution;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::xml;
use parades_program::{Exit, Node, ProcessId, Processes, Program, Start, any};

const PLATFORM: &str = r#"<platform version="4.1"><zone id="world" routing="Full">
<host id="a" speed="1Gf,500Mf" core="1"><disk id="d" read_bw="100MBps" write_bw="40MBps"/></host>
<host id="b" speed="2Gf" core="4"/>
<host id="c" speed="1Gf" core="2"/>
<link id="ab" bandwidth="10MBps" latency="1ms"/><link id="bc" bandwidth="20MBps" latency="2ms"/>
<route src="a" dst="b"><link_ctn id="ab"/></route>
<route src="b" dst="c"><link_ctn id="bc"/></route>
<route src="a" dst="c"><link_ctn id="ab"/><link_ctn id="bc"/></route>
</zone></platform>"#;

const A: LpId = LpId(0);
const B: LpId = LpId(1);
const C: LpId = LpId(2);

/// A message: its number of bytes, or the name of a process.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Word {
    Bytes(u32),
    Process(ProcessId),
}

impl Payload for Word {
    fn fold(&self, digest: &mut Digest) {
        digest.word(match self {
            Word::Bytes(bytes) => u64::from(*bytes),
            Word::Process(process) => u64::from(process.place()),
        });
    }
}

fn bytes(word: &Word) -> f64 {
    match word {
        Word::Bytes(bytes) => f64::from(*bytes),
        Word::Process(_) => 0.0,
    }
}

type Begin = fn(&mut Start<'_, Script>);

/// Nodes that keep a log, one on each host.
struct Script {
    begin: Begin,
    restart: Begin,
    carrier: FlowLevel<Word>,
}

type Me = Node<Script>;

impl Program for Script {
    type Message = Word;
    type State = Vec<(Time, String)>;
    type Carrier = FlowLevel<Word>;
    fn nodes(&self) -> u32 {
        3
    }
    fn carrier(&self) -> &Self::Carrier {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.table("log", vec![Column::new("time", Unit::Seconds), Column::new("line", Unit::Count)]);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Self::State {
        (self.begin)(start);
        Vec::new()
    }
    fn restart(&self, start: &mut Start<'_, Self>, _: &mut Self::State) {
        (self.restart)(start);
    }
    fn finish(&self, _: LpId, log: &Self::State, _: &End, metrics: &mut Metrics) {
        for (time, line) in log {
            metrics.row(MetricId(0), [Cell::Float(time.as_secs_f64()), Cell::Text(line.as_str().into())]);
        }
    }
}

fn say(node: Me, line: impl Into<String>) {
    let (line, now) = (line.into(), node.now());
    node.with_state(|log| log.push((now, line)));
}

fn secs(seconds: f64) -> Delay {
    Delay::try_from_secs_f64(seconds).expect("a short time")
}

/// Makes a program on a platform.
fn program(platform: &str, begin: Begin, restart: Begin) -> Processes<Script> {
    let platform = xml::parse("three.xml".as_ref(), platform.as_bytes()).expect("it is right");
    let model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
    let carrier = FlowLevel::new(platform.into(), model, 3, bytes).with_ends_of_processes();
    Processes::new(Script { begin, restart, carrier })
}

/// Returns the error with which a program ends.
#[track_caller]
fn error_of(begin: Begin) -> String {
    let options = RunOptions::until(Time::from_secs(10));
    sequential::run(&program(PLATFORM, begin, |_| {}), options).expect_err("it is wrong").to_string()
}

/// Runs a program under every engine that needs no rollback. Returns its log by time, then by text, with the
/// counters.
fn log_of_restarting(begin: Begin, restart: Begin) -> (Vec<(f64, String)>, Outcome) {
    log_on(PLATFORM, begin, restart)
}

fn log_on(platform: &str, begin: Begin, restart: Begin) -> (Vec<(f64, String)>, Outcome) {
    let program = program(platform, begin, restart);
    let options = || RunOptions::until(Time::from_secs(100));
    let outcome = sequential::run(&program, options()).expect("it runs");
    let settings = rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(2) };
    for other in [
        rounds::run(&program, options(), &settings),
        window::run(&program, options(), &window::Settings::of_threads(2)),
        null_message::run(&program, options(), &null_message::Settings::of_threads(2)),
    ] {
        let other = other.expect("it runs");
        assert_eq!((other.digest, &other.metrics), (outcome.digest, &outcome.metrics));
    }
    let table = outcome.metrics.get("log").and_then(|metric| metric.table()).expect("it is declared");
    let mut log: Vec<(f64, String)> = table
        .rows()
        .iter()
        .map(|row| match &row[..] {
            [Cell::Float(time), Cell::Text(line)] => (*time, line.to_string()),
            _ => unreachable!("a time and a line"),
        })
        .collect();
    log.sort_by(|one, other| one.0.total_cmp(&other.0).then_with(|| one.1.cmp(&other.1)));
    (log, outcome)
}

fn log_of(begin: Begin) -> Vec<(f64, String)> {
    log_of_restarting(begin, |_| {}).0
}

/// Asserts that a log has these lines, at these times to a nanosecond.
#[track_caller]
fn assert_log(log: &[(f64, String)], expected: &[(f64, &str)]) {
    let lines: Vec<&str> = log.iter().map(|(_, line)| &**line).collect();
    assert_eq!(lines, expected.iter().map(|(_, line)| *line).collect::<Vec<_>>(), "{log:?}");
    for ((time, line), (expected, _)) in log.iter().zip(expected) {
        assert!((time - expected).abs() < 1.5e-9, "{line} at {time}, not at {expected}");
    }
}

#[test]
fn computations_share_the_cores_of_their_host() {
    let log = log_of(|start| match start.id() {
        A => {
            let all = [("plain", 1.0, f64::INFINITY), ("priority 2", 2.0, f64::INFINITY), ("bounded", 1.0, 1e8)];
            for (name, priority, bound) in all {
                start.spawn(name, move |node| async move {
                    node.execute(Execution { priority, bound, ..Execution::new(1e9) }).await.expect("the host works");
                    say(node, name);
                });
            }
        }
        C => {
            for (name, begin, priority) in [("c0", 0.0, 1.0), ("c1", 0.5, 1.0), ("c2", 1.0, 1.0), ("prio 3", 0.25, 3.0)]
            {
                start.spawn(name, move |node| async move {
                    node.sleep(secs(begin)).await;
                    node.execute(Execution { priority, ..Execution::new(1e9) }).await.expect("the host works");
                    say(node, name);
                });
            }
        }
        _ => {
            // Three threads and three plain computations share the 8 Gflop/s of B.
            start.spawn("threads", |node| async move {
                node.execute(Execution { threads: 3, ..Execution::new(1e9) }).await.expect("the host works");
                say(node, "threads");
            });
            start.spawn("others", |node| async move {
                let others = [1e9; 3].map(|flops| node.compute(flops));
                for other in others {
                    other.await.expect("the host works");
                }
                say(node, "others");
            });
        }
    });
    let expected = [
        (0.75, "others"),
        (0.75, "threads"),
        (1.25, "prio 3"),
        (1.5, "c0"),
        (5.0 / 3.0, "priority 2"),
        (2.0, "c1"),
        (20.0 / 9.0, "plain"),
        (2.25, "c2"),
        (10.0, "bounded"),
    ];
    assert_log(&log, &expected);
}

#[test]
fn a_computation_is_suspended_and_changed_and_says_what_is_left() {
    let log = log_of(|start| match start.id() {
        A => {
            start.spawn("first", |node| async move {
                let computation = node.compute(1e9);
                node.sleep(secs(0.25)).await;
                computation.suspend();
                say(node, format!("left {}", computation.remaining().await));
                node.sleep(secs(1.0)).await;
                computation.resume();
                assert!(!computation.is_over());
                computation.await.expect("the host works");
                say(node, "first");
            });
            start.spawn("second", |node| async move {
                node.compute(2e9).await.expect("the host works");
                say(node, "second");
            });
        }
        C => start.spawn("slowed", |node| async move {
            // By hand: 0.5 Gflop at full speed, 0.25 at half of it, the rest at full speed again.
            let computation = node.compute(1e9);
            node.sleep(secs(0.5)).await;
            computation.set_bound(5e8);
            node.sleep(secs(0.5)).await;
            computation.set_bound(f64::INFINITY);
            node.sleep(secs(1.0)).await;
            assert!(computation.is_over());
            assert!(computation.remaining().await <= 0.0);
            computation.await.expect("the host works");
            // A computation that is dropped frees its core.
            assert_eq!(node.within(secs(1.0), node.compute(1e12)).await, None);
            node.execute(Execution { threads: 2, ..Execution::new(1e9) }).await.expect("the host works");
            say(node, "slowed");
        }),
        _ => {}
    });
    assert_log(&log, &[(0.25, "left 875000000"), (3.0, "first"), (3.0, "second"), (4.0, "slowed")]);
}

#[test]
fn the_power_state_of_a_host_changes_its_speed_and_reads_and_writes_share_a_disk() {
    let log = log_of(|start| match start.id() {
        A => {
            start.spawn("computes", |node| async move {
                node.compute(1e9).await.expect("the host works");
                say(node, "computed");
            });
            start.spawn("reads", |node| async move {
                node.read_disk("d", 1e8).await.expect("the host works");
                say(node, "read");
            });
            for (name, begin) in [("first write", 0.0), ("second write", 0.1)] {
                start.spawn(name, move |node| async move {
                    node.sleep(secs(begin)).await;
                    node.write_disk("d", 2e7).await.expect("the host works");
                    say(node, name);
                });
            }
        }
        B => start.spawn("slows", |node| async move {
            node.sleep(secs(0.5)).await;
            let a = node.host_named("a").expect("there is such a host");
            node.set_power_state(a, 1);
        }),
        _ => {}
    });
    assert_log(&log, &[(0.9, "first write"), (1.0, "second write"), (1.4, "read"), (1.5, "computed")]);
}

#[test]
fn a_disk_that_a_host_lacks_ends_the_run_with_a_sentence() {
    let error = error_of(|start| {
        if start.id() == B {
            start.spawn("reads", |node| async move { node.read_disk("d", 1.0).await.expect("there is none") });
        }
    });
    assert!(error.contains("the host `b` has no disk `d`: add a <disk> to it"), "{error}");
}

#[test]
fn a_message_sets_out_when_both_ends_are_there_and_waits_can_be_combined() {
    let log = log_of(|start| {
        if start.id() == A {
            start.spawn("puts", |node| async move {
                let mut puts: Vec<_> = (0..3)
                    .map(|number| node.mailbox(format!("m{number}")).put(Word::Bytes((3 - number) * 5_000_000)))
                    .collect();
                while !puts.is_empty() {
                    let (place, outcome) = any(&mut puts).await;
                    outcome.expect("nothing fails");
                    say(node, format!("put at place {place}"));
                }
            });
            return;
        }
        let gets: &[u32] = if start.id() == B { &[1] } else { &[0, 2] };
        for &number in gets {
            start.spawn("gets", move |node| async move {
                node.sleep(Delay::from_ms(100 * u64::from(number))).await;
                let got = node.mailbox(format!("m{number}")).get().await.expect("nothing fails");
                assert_eq!((got.from, got.message), (A, Word::Bytes((3 - number) * 5_000_000)));
                say(node, format!("got {number}"));
            });
        }
    });
    let expected = [
        (1.742_166_667, "got 1"),
        (1.742_166_667, "put at place 1"),
        (2.1265, "got 2"),
        (2.1265, "put at place 1"),
        (3.003, "got 0"),
        (3.003, "put at place 0"),
    ];
    assert_log(&log, &expected);
}

#[test]
fn messages_travel_at_once_to_a_permanent_receiver_and_a_detached_one_needs_no_sender() {
    let log = log_of(|start| match start.id() {
        A => {
            start.spawn("puts", |node| async move {
                node.sleep(secs(0.01)).await;
                for bytes in [2_000_000, 5_000_000] {
                    node.mailbox("m").put(Word::Bytes(bytes)).await.expect("nothing fails");
                    say(node, "put");
                }
                node.mailbox("detached").put_detached(Word::Bytes(5_000_000));
            });
        }
        B => start.spawn("gets", |node| async move {
            node.mailbox("m").set_receiver();
            node.sleep(secs(0.5)).await;
            for _ in 0..2 {
                node.mailbox("m").get().await.expect("nothing fails");
                say(node, "got");
            }
            // From here by hand: the detached message sets out with its get, 1 s later.
            node.sleep(secs(1.0)).await;
            node.mailbox("detached").get().await.expect("nothing fails");
            say(node, "got the detached one");
        }),
        _ => {}
    });
    let expected = [(0.211, "put"), (0.5, "got"), (0.712, "got"), (0.712, "put"), (2.213, "got the detached one")];
    assert_log(&log, &expected);
}

#[test]
fn a_peer_that_is_killed_or_gives_up_fails_the_message() {
    let log = log_of(|start| match start.id() {
        A => {
            start.spawn("puts", |node| async move {
                node.send_after(C, Delay::ZERO, Word::Process(node.process_id()));
                node.mailbox("m").put(Word::Bytes(10_000_000)).await.expect("it is killed before");
            });
            start.spawn("puts later", |node| async move {
                node.sleep(secs(1.5)).await;
                say(node, format!("{:?}", node.mailbox("m").put(Word::Bytes(10_000_000)).await));
            });
            start.spawn("puts with a timeout", |node| async move {
                node.sleep(secs(10.0)).await;
                let put = node.mailbox("m").put(Word::Bytes(10_000_000));
                say(node, format!("{:?}", node.within(secs(0.3), put).await));
            });
        }
        B => {
            start.spawn("gets", |node| async move {
                say(node, format!("got {:?}", node.mailbox("m").get().await));
            });
            start.spawn("gets later", |node| async move {
                node.sleep(secs(1.5)).await;
                node.send_after(C, Delay::ZERO, Word::Process(node.process_id()));
                node.mailbox("m").get().await.map(|_| ()).expect("it is killed before");
            });
            start.spawn("gets with a timeout", |node| async move {
                node.sleep(secs(10.1)).await;
                say(node, format!("got {:?}", node.mailbox("m").get().await));
                say(node, format!("got {:?}", node.within(secs(0.2), node.mailbox("m").get()).await));
            });
        }
        _ => start.spawn("kills", |node| async move {
            for time in [0.5, 2.0] {
                let Word::Process(process) = node.receive().await.message else { unreachable!("only processes") };
                node.sleep_until(Time::try_from_secs_f64(time).expect("short")).await;
                node.kill(process);
                node.join(process).await;
                say(node, "killed");
            }
        }),
    });
    // SimGrid names the reason by exceptions: of the network if the peer was killed, a timeout if it gave up.
    let expected = [
        (0.5, "got Err(Peer)"),
        (0.5, "killed"),
        (2.0, "Err(Peer)"),
        (2.0, "killed"),
        (10.3, "None"),
        (10.3, "got Err(Peer)"),
        (10.5, "got None"),
    ];
    assert_log(&log, &expected);
}

#[test]
fn a_suspended_process_makes_no_progress_and_its_sleep_ends_at_its_time() {
    let log = log_of(|start| match start.id() {
        A => {
            start.spawn("sleeps", |node| async move {
                node.send_after(B, Delay::ZERO, Word::Process(node.process_id()));
                node.sleep(secs(2.0)).await;
                say(node, "slept");
                node.compute(1e9).await.expect("the host works");
                say(node, "computed");
                // The message travels from 10 s on, and is suspended for 2 s.
                node.sleep_until(Time::from_secs(10)).await;
                node.mailbox("m").put(Word::Bytes(10_000_000)).await.expect("nothing fails");
                say(node, "put");
            });
            start.spawn("sleeps for a part", |node| async move {
                node.send_after(C, Delay::ZERO, Word::Process(node.process_id()));
                node.sleep(secs(2.0)).await;
                say(node, "slept in part");
                node.suspend_self().await;
                say(node, "goes on");
            });
        }
        B => {
            start.spawn("suspends", |node| async move {
                let Word::Process(process) = node.receive().await.message else { unreachable!("a process") };
                for (from, to) in [(1.0, 4.0), (4.5, 5.5), (10.5, 12.5)] {
                    node.sleep_until(Time::try_from_secs_f64(from).expect("short")).await;
                    node.suspend(process);
                    node.sleep_until(Time::try_from_secs_f64(to).expect("short")).await;
                    node.resume(process);
                }
            });
            start.spawn("gets", |node| async move {
                node.mailbox("m").get().await.expect("nothing fails");
                say(node, "got");
            });
        }
        _ => start.spawn("suspends", |node| async move {
            let Word::Process(process) = node.receive().await.message else { unreachable!("a process") };
            node.sleep(secs(1.0)).await;
            node.suspend(process);
            node.sleep(secs(0.5)).await;
            node.resume(process);
            node.sleep(secs(1.5)).await;
            node.resume(process);
        }),
    });
    let expected = [
        (2.0, "slept in part"),
        (3.0, "goes on"),
        (4.0, "slept"),
        // By hand: half a second of the computation, one second suspended, the other half.
        (6.0, "computed"),
        (13.001, "got"),
        (13.001, "put"),
    ];
    assert_log(&log, &expected);
}

#[test]
fn a_host_that_fails_ends_its_processes_and_they_begin_again_with_it() {
    fn computes(start: &mut Start<'_, Script>) {
        start.spawn("computes", |node| async move {
            node.on_exit(move |exit| say(node, if exit == Exit::Killed { "ends killed" } else { "ends" }));
            node.send_after(A, Delay::ZERO, Word::Process(node.process_id()));
            say(node, "begins");
            node.compute(2e9).await.expect("it is killed before");
            say(node, "computed");
        });
    }
    let begin: Begin = |start| match start.id() {
        A => {
            start.spawn("joins", |node| async move {
                let Word::Process(process) = node.receive().await.message else { unreachable!("a process") };
                assert_eq!(node.within(secs(0.5), node.join(process)).await, None);
                say(node, "joined with timeout");
                node.join(process).await;
                say(node, "joined");
            });
            start.spawn("switches", |node| async move {
                let c = node.host_named("c").expect("there is such a host");
                node.sleep(secs(1.0)).await;
                node.switch_host(c, false);
                node.sleep(secs(1.0)).await;
                node.switch_host(c, true);
            });
        }
        B => start.spawn("computes there", |node| async move {
            let c = node.host_named("c").expect("there is such a host");
            say(node, format!("{:?}", node.execute_on(c, Execution::new(3e9)).await));
            say(node, format!("{:?}", node.execute_on(c, Execution::new(3e9)).await));
        }),
        _ => computes(start),
    };
    let (log, outcome) = log_of_restarting(begin, computes);
    let expected = [
        (0.0, "begins"),
        (0.5, "joined with timeout"),
        (1.0, "Err(Host)"),
        (1.0, "Err(Host)"),
        (1.0, "ends killed"),
        (1.0, "joined"),
        (2.0, "begins"),
        (4.0, "computed"),
        (4.0, "ends"),
    ];
    assert_log(&log, &expected);
    assert_eq!(Failure::Host.to_string(), "the host has failed");
    let counter = |name| outcome.metrics.get(name).and_then(|metric| metric.counter());
    assert_eq!((counter("processes_killed"), counter("processes_waiting")), (Some(1), Some(0)));
}

#[test]
fn mutexes_semaphores_and_barriers_hold_between_hosts() {
    let log = log_of(|start| {
        let name = ["a", "b", "c"][start.id().0 as usize];
        start.spawn("works", move |node| async move {
            {
                let _locked = node.shared_mutex("m").acquire().await;
                say(node, format!("{name} locks"));
                node.sleep(secs(1.0)).await;
            }
            {
                let _permit = node.shared_semaphore("s", 2).acquire().await;
                say(node, format!("{name} has a permit"));
                node.sleep(secs(2.0)).await;
            }
            let last = node.shared_barrier("b", 3).await;
            say(node, format!("{name} passes{}", if last { ", the last" } else { "" }));
        });
    });
    let expected = [
        (0.0, "a locks"),
        (1.0, "a has a permit"),
        (1.0, "b locks"),
        (2.0, "b has a permit"),
        (2.0, "c locks"),
        (3.0, "c has a permit"),
        (5.0, "a passes"),
        (5.0, "b passes"),
        (5.0, "c passes, the last"),
    ];
    assert_log(&log, &expected);
}

#[test]
fn conditions_hold_between_hosts_and_a_wait_may_have_a_timeout() {
    let log = log_of(|start| match start.id() {
        A => {
            start.spawn("waits", |node| async move {
                let held = node.shared_mutex("m").acquire().await;
                let _held = node.shared_condition("c").wait(held).await;
                say(node, "woken");
                node.sleep(secs(0.5)).await;
            });
            start.spawn("waits with a timeout", |node| async move {
                let held = node.shared_mutex("m").acquire().await;
                let (_held, notified) = node.shared_condition("c").wait_for(held, secs(0.7)).await;
                say(node, format!("notified: {notified}"));
                node.sleep(secs(0.5)).await;
            });
        }
        B => start.spawn("notifies", |node| async move {
            node.sleep(secs(1.0)).await;
            let _held = node.shared_mutex("m").acquire().await;
            node.shared_condition("c").notify_all();
            say(node, "notifies");
            node.sleep(secs(1.0)).await;
        }),
        _ => {}
    });
    assert_log(&log, &[(0.7, "notified: false"), (1.2, "notifies"), (2.2, "woken")]);
}

/// A buffer of two places between a producer and a consumer, as SimGrid's example of semaphores. The times
/// follow by hand: an item takes the producer 1 s, and the consumer 2.5 s.
#[test]
fn a_producer_waits_for_room_and_what_a_killed_process_has_locked_is_free() {
    let log = log_of(|start| match start.id() {
        A => {
            start.spawn("produces", |node| async move {
                for item in 0..5 {
                    node.sleep(secs(1.0)).await;
                    node.shared_semaphore("room", 2).take().await;
                    say(node, format!("produced {item}"));
                    node.shared_semaphore("items", 0).release();
                }
            });
            start.spawn("locks and is killed", |node| async move {
                node.send_after(C, Delay::ZERO, Word::Process(node.process_id()));
                let _held = node.shared_mutex("m").acquire().await;
                node.sleep(secs(50.0)).await;
            });
        }
        B => start.spawn("consumes", |node| async move {
            for item in 0..5 {
                node.shared_semaphore("items", 0).take().await;
                node.sleep(secs(2.5)).await;
                say(node, format!("consumed {item}"));
                node.shared_semaphore("room", 2).release();
            }
        }),
        _ => start.spawn("kills", |node| async move {
            let Word::Process(process) = node.receive().await.message else { unreachable!("a process") };
            let waits = node.spawn("waits for the lock", |node| async move {
                node.sleep(secs(1.0)).await;
                let _held = node.shared_mutex("m").acquire().await;
                say(node, "locked");
            });
            node.sleep(secs(20.0)).await;
            node.kill(process);
            waits.await.expect("it ends");
        }),
    });
    let expected = [
        (1.0, "produced 0"),
        (2.0, "produced 1"),
        (3.5, "consumed 0"),
        (3.5, "produced 2"),
        (6.0, "consumed 1"),
        (6.0, "produced 3"),
        (8.5, "consumed 2"),
        (8.5, "produced 4"),
        (11.0, "consumed 3"),
        (13.5, "consumed 4"),
        (20.0, "locked"),
    ];
    assert_log(&log, &expected);
}

#[test]
fn objects_that_processes_describe_differently_end_the_run() {
    for (begin, sentence) in [
        (
            (|start| {
                let permits = 1 + start.id().0;
                start.spawn("acquires", move |node| async move {
                    node.shared_semaphore("s", permits).take().await;
                });
            }) as Begin,
            "the semaphore `s` has 1 permits for one process and 2 for another",
        ),
        (
            |start| {
                let parties = 5 + start.id().0;
                start.spawn("meets", move |node| async move {
                    node.shared_barrier("b", parties).await;
                });
            },
            "the barrier `b` is for 5 processes and for 6",
        ),
        // SimGrid ends with `Cannot release that mutex: you're not the owner.`
        (
            |start| {
                if start.id() == B {
                    start.spawn("releases", |node| async move { node.shared_mutex("m").release() });
                }
            },
            "a process of node 1 releases the mutex `m`, which no process has taken: release it once for each `take`",
        ),
        (
            |start| {
                start.spawn("releases", |node| async move {
                    let _held = node.shared_mutex("m").acquire().await;
                    node.shared_mutex("m").release();
                });
            },
            "a process of node 0 releases the mutex `m`, which no process has taken",
        ),
    ] {
        let error = error_of(begin);
        assert!(error.contains(sentence), "{error}");
    }
}

/// Begins a process that suspends another for a time, in seconds, once it has been told the name of that one.
fn suspends(start: &mut Start<'_, Script>, from: f64, to: f64) {
    start.spawn("suspends", move |node| async move {
        let Word::Process(process) = node.receive().await.message else { unreachable!("a process") };
        node.sleep_until(Time::try_from_secs_f64(from).expect("short")).await;
        node.suspend(process);
        node.sleep_until(Time::try_from_secs_f64(to).expect("short")).await;
        node.resume(process);
    });
}

#[test]
fn a_detached_message_travels_although_its_sender_is_suspended() {
    let log = log_of(|start| match start.id() {
        A => start.spawn("puts", |node| async move {
            node.send_after(C, Delay::ZERO, Word::Process(node.process_id()));
            node.mailbox("m").put_detached(Word::Bytes(10_000_000));
            node.mailbox("late").put_detached(Word::Bytes(10_000_000));
            node.sleep(secs(0.6)).await;
            say(node, "goes on");
        }),
        B => start.spawn("gets", |node| async move {
            node.mailbox("m").get().await.expect("nothing fails");
            say(node, "got");
            node.sleep(secs(0.999)).await;
            // By hand: in SimGrid 3.32 such a message that sets out while its sender is suspended never
            // arrives.
            node.mailbox("late").get().await.expect("nothing fails");
            say(node, "got the late one");
        }),
        _ => suspends(start, 0.5, 3.5),
    });
    assert_log(&log, &[(1.001, "got"), (3.001, "got the late one"), (3.5, "goes on")]);
}

/// By hand. SimGrid 3.32 also resumes the activities that the process has suspended itself.
#[test]
fn activities_that_a_process_has_suspended_stay_so_when_the_process_is_resumed() {
    let log = log_of(|start| match start.id() {
        A => start.spawn("computes", |node| async move {
            node.send_after(C, Delay::ZERO, Word::Process(node.process_id()));
            let computation = node.compute(1e9);
            let put = node.mailbox("m").put(Word::Bytes(10_000_000));
            put.suspend();
            node.sleep(secs(0.25)).await;
            computation.suspend();
            node.sleep(secs(4.75)).await;
            say(node, format!("left {}, {}", computation.remaining().await, put.remaining().await));
            computation.resume();
            computation.await.expect("the host works");
            say(node, "computed");
            put.resume();
            put.await.expect("nothing fails");
            say(node, "put");
        }),
        B => start.spawn("gets", |node| async move {
            node.sleep(secs(0.1)).await;
            node.mailbox("m").get().await.expect("nothing fails");
            say(node, "got");
        }),
        _ => suspends(start, 0.5, 1.0),
    });
    let expected = [(5.0, "left 750000000, 10000000"), (5.75, "computed"), (6.751, "got"), (6.751, "put")];
    assert_log(&log, &expected);
}

#[test]
fn requests_of_one_event_are_served_in_the_order_in_which_the_process_asks() {
    let log = log_of(|start| match start.id() {
        A => start.spawn("takes its message back", |node| async move {
            let put = node.mailbox("m").put(Word::Bytes(1));
            node.sleep(secs(1.0)).await;
            drop(put);
            // Its own message is there no longer.
            let got = node.mailbox("m").get().await.expect("nothing fails");
            say(node, format!("got {:?} from {}", got.message, got.from.0));
        }),
        B => start.spawn("puts", |node| async move {
            node.sleep(secs(2.0)).await;
            node.mailbox("m").put(Word::Bytes(10_000_000)).await.expect("nothing fails");
        }),
        _ => {}
    });
    assert_log(&log, &[(3.001, "got Bytes(10000000) from 1")]);
}

/// A process waits at a condition, 1 s at most: the flag says by `within`. Another waits without a bound. A
/// third notifies one of them before 1 s, and holds the mutex until 1.9 s.
fn notified_late(start: &mut Start<'_, Script>, drops: bool) {
    match start.id() {
        A => start.spawn("waits 1 s", move |node| async move {
            let held = node.shared_mutex("m").acquire().await;
            let condition = node.shared_condition("c");
            if drops {
                say(node, format!("{}", node.within(secs(1.0), condition.wait(held)).await.is_some()));
            } else {
                let (_held, notified) = condition.wait_for(held, secs(1.0)).await;
                say(node, format!("notified: {notified}"));
            }
        }),
        B => start.spawn("waits", |node| async move {
            node.sleep(secs(0.1)).await;
            let held = node.shared_mutex("m").acquire().await;
            let _held = node.shared_condition("c").wait(held).await;
            say(node, "woken");
        }),
        _ => start.spawn("notifies", |node| async move {
            node.sleep(secs(0.9)).await;
            let _held = node.shared_mutex("m").acquire().await;
            node.shared_condition("c").notify_one();
            say(node, "notifies");
            node.sleep(secs(1.0)).await;
        }),
    }
}

#[test]
fn a_process_that_is_notified_in_time_waits_for_its_mutex() {
    let log = log_of(|start| notified_late(start, false));
    assert_log(&log, &[(0.9, "notifies"), (1.9, "notified: true")]);
}

/// By hand, as [`parades_program::Condition`].
#[test]
fn a_notification_that_its_process_gives_up_is_for_the_next() {
    let log = log_of(|start| notified_late(start, true));
    assert_log(&log, &[(0.9, "notifies"), (1.0, "false"), (1.9, "woken")]);
}

#[test]
fn messages_that_nobody_gets_are_counted() {
    let (_, outcome) = log_of_restarting(
        |start| match start.id() {
            A => start.spawn("puts", |node| async move {
                for name in ["m", "m", "received"] {
                    node.mailbox(name).put_detached(Word::Bytes(1));
                }
            }),
            B => start.spawn("receives", |node| async move { node.mailbox("received").set_receiver() }),
            _ => start.spawn("gets", |node| async move {
                assert!(node.within(secs(1.0), node.mailbox("n").get()).await.is_none());
            }),
        },
        |_| {},
    );
    let counter = |name| outcome.metrics.get(name).and_then(|metric| metric.counter());
    assert_eq!((counter("messages_unread"), counter("messages_on_their_way")), (Some(3), Some(0)));
}

/// The message takes no time. The process that gets it gives up one round before the message arrives.
#[test]
fn a_get_may_be_given_up_at_the_time_at_which_its_message_arrives() {
    let (log, outcome) = log_on(
        &PLATFORM.replace("latency=\"1ms\"", "latency=\"0\""),
        |start| match start.id() {
            A => start.spawn("puts", |node| async move {
                let process = Word::Process(node.process_id());
                say(node, format!("{:?}", node.mailbox("m").put(process).await));
            }),
            B => start.spawn("gets", |node| async move {
                say(node, format!("got: {}", node.within(Delay::ZERO, node.mailbox("m").get()).await.is_some()));
            }),
            _ => {}
        },
        |_| {},
    );
    assert_log(&log, &[(0.0, "Err(Peer)"), (0.0, "got: false")]);
    let counter = |name| outcome.metrics.get(name).and_then(|metric| metric.counter());
    assert_eq!((counter("messages_failed"), counter("messages_lost")), (Some(1), Some(0)));
}

/// Both flows end at one time. They end in the order of their starts.
#[test]
fn a_message_that_is_sent_after_a_put_sets_out_after_it() {
    let (_, outcome) = log_of_restarting(
        |start| match start.id() {
            A => start.spawn("sends", |node| async move {
                node.sleep(secs(0.1)).await;
                node.mailbox("m").put_detached(Word::Bytes(1_000_000));
                node.send(B, Word::Bytes(1_000_000)).await.expect("nothing fails");
            }),
            B => {
                start.spawn("receives", |node| async move {
                    node.receive().await;
                    say(node, "message");
                });
                start.spawn("gets", |node| async move {
                    node.mailbox("m").get().await.expect("nothing fails");
                    say(node, "mailbox");
                });
            }
            _ => {}
        },
        |_| {},
    );
    let table = outcome.metrics.get("log").and_then(|metric| metric.table()).expect("it is declared");
    let rows = table.rows();
    let lines = ["mailbox", "message"].map(|line| [Cell::Float(0.301), Cell::Text(line.into())]);
    assert_eq!(rows, lines);
}
