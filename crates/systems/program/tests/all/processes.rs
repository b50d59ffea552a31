//! Processes: their actions, their waits, and their ends.

use crate::support::{self, Flag, Script, counter, log_of, ms, run, run_with};
use parades_core::prelude::*;
use parades_program::{Barrier, Condition, Either, Here, Killed, Node, Semaphore, all, select};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Polls a future once. The future must not be ready.
async fn begun<F: Future>(future: F) -> Pin<Box<F>> {
    let mut future = Box::pin(future);
    std::future::poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending(), "it has to wait");
        Poll::Ready(())
    })
    .await;
    future
}

#[test]
fn sleeps_end_at_their_time_and_in_the_order_of_setting() {
    let log = log_of(1, |node| async move {
        for (name, delay) in [("b", 20), ("a", 10), ("c", 20), ("z", 0)] {
            node.spawn("sleeper", move |node| async move {
                node.sleep(ms(delay)).await;
                support::log(node, name);
            });
        }
        support::log(node, "begun");
    });
    assert_eq!(log, ["0 begun", "0 z", "10 a", "20 b", "20 c"]);
}

#[test]
fn a_dropped_sleep_is_no_event() {
    let with = |drops: bool| {
        let (outcome, _) = run(1, move |node: Node<Script>| async move {
            for _ in 0..10 {
                let long = node.sleep(ms(500));
                if drops {
                    assert_eq!(select(long, node.sleep(ms(1))).await, Either::Right(()));
                } else {
                    node.sleep(ms(1)).await;
                }
            }
        });
        (outcome.events, outcome.end)
    };
    assert_eq!(with(true), with(false));
    assert_eq!(with(true).0, 11, "one start, ten sleeps");
}

#[test]
fn messages_are_received_in_the_order_of_their_arrival() {
    let log = log_of(3, |node| async move {
        match node.id().0 {
            0 => {
                for _ in 0..4 {
                    let received = node.receive().await;
                    support::log(node, &format!("{} from {}", received.message, received.from.0));
                }
            }
            id => {
                node.sleep(ms(10 * u64::from(id))).await;
                node.send(LpId(0), u64::from(id));
                assert_eq!(node.send(LpId(0), u64::from(id) + 100).await, Ok(()));
                support::log(node, "arrived");
            }
        }
    });
    assert_eq!(log, ["11 1 from 1", "11 101 from 1", "21 2 from 2", "21 102 from 2", "11 arrived", "21 arrived"]);
}

#[test]
fn a_picky_process_leaves_messages_to_others() {
    let log = log_of(2, |node| async move {
        if node.id().0 == 1 {
            (1..=4).for_each(|number| drop(node.send(LpId(0), number)));
            return;
        }
        node.spawn("even", |node| async move {
            for _ in 0..2 {
                let even = node.receive_where(|received| received.message % 2 == 0).await;
                support::log(node, &format!("even {}", even.message));
            }
        });
        node.spawn("any", |node| async move {
            for _ in 0..2 {
                let any = node.receive().await;
                support::log(node, &format!("any {}", any.message));
            }
        });
    });
    assert_eq!(log, ["1 any 1", "1 even 2", "1 any 3", "1 even 4"]);
}

#[test]
fn a_message_whose_receiver_gave_up_goes_to_the_next() {
    let log = log_of(2, |node| async move {
        if node.id().0 == 1 {
            node.sleep(ms(9)).await;
            node.send(LpId(0), 7);
            return;
        }
        let first = node.spawn("first", |node| async move {
            node.receive().await;
        });
        node.spawn("second", |node| async move {
            let received = node.receive().await;
            support::log(node, &format!("{}", received.message));
        });
        // The process is killed at the instant of the message.
        node.sleep(ms(10)).await;
        first.kill();
    });
    assert_eq!(log.len(), 1, "{log:?}");
}

#[test]
fn receiving_gives_up_in_time() {
    let log = log_of(2, |node| async move {
        if node.id().0 == 1 {
            node.sleep(ms(30)).await;
            node.send(LpId(0), 7);
            return;
        }
        assert_eq!(node.receive_within(ms(10)).await, None);
        support::log(node, "gave up");
        assert_eq!(node.within(ms(10), node.receive()).await, None);
        support::log(node, "gave up");
        assert!(node.receive_within(ms(50)).await.is_some());
        support::log(node, "received");
        assert_eq!(node.try_receive(), None);
    });
    assert_eq!(log, ["10 gave up", "20 gave up", "31 received"]);
}

#[test]
fn handles_give_results_and_tell_of_the_killed() {
    let log = log_of(1, |node| async move {
        let quick = node.spawn("quick", |_| async { 6 * 7 });
        let slow = node.spawn("slow", |node| async move {
            node.sleep(ms(5)).await;
            "slow".to_owned()
        });
        let endless = node.spawn("endless", |node| async move {
            let _told = support::TellsWhenDropped(node);
            node.receive().await;
        });
        assert_eq!(quick.await, Ok(42));
        assert_eq!(slow.await, Ok("slow".to_owned()));
        assert!(endless.is_alive());
        endless.kill();
        assert!(!endless.is_alive());
        assert_eq!(endless.await, Err(Killed));
        support::log(node, "over");
    });
    assert_eq!(log, ["5 dropped", "5 over"]);
}

#[test]
fn a_node_crashes_as_a_whole() {
    let (outcome, log) = run(1, |node: Node<Script>| async move {
        for delay in [3, 7] {
            node.spawn("other", move |node| async move {
                let _told = support::TellsWhenDropped(node);
                node.sleep(ms(delay)).await;
                support::log(node, "goes on");
            });
        }
        node.sleep(ms(5)).await;
        node.kill_others();
        support::log(node, "alone");
    });
    assert_eq!(log, ["3 goes on", "3 dropped", "5 dropped", "5 alone"]);
    assert_eq!((counter(&outcome, "processes_ended"), counter(&outcome, "processes_killed")), (2, 1));
}

#[test]
fn other_crates_combinators_are_woken() {
    use futures_util::stream::{FuturesUnordered, StreamExt};
    let log = log_of(1, |node| async move {
        let mut sleeps: FuturesUnordered<_> = [30, 10, 20]
            .map(|delay| async move {
                node.sleep(ms(delay)).await;
                delay
            })
            .into_iter()
            .collect();
        while let Some(delay) = sleeps.next().await {
            support::log(node, &delay.to_string());
        }
        let results = all((1..=40).map(|i| async move {
            node.sleep(ms(41 - i)).await;
            i
        }))
        .await;
        assert_eq!(results, (1..=40).collect::<Vec<_>>());
        futures_util::future::join_all((0..100).map(|i| node.sleep(ms(i)))).await;
        support::log(node, "all");
    });
    assert_eq!(log, ["10 10", "20 20", "30 30", "169 all"]);
}

#[test]
fn a_mutex_goes_from_one_to_the_next_in_order() {
    let log = log_of(1, |node| async move {
        let mutex = Arc::new(node.mutex());
        for id in 0..3 {
            let mutex = Arc::clone(&mutex);
            node.spawn("owner", move |node| async move {
                let _held = mutex.lock().await;
                support::log(node, &format!("{id} has it"));
                node.sleep(ms(10)).await;
            });
        }
    });
    assert_eq!(log, ["0 0 has it", "10 1 has it", "20 2 has it"]);
}

#[test]
fn a_wait_for_permits_that_is_given_up_lets_others_pass() {
    let log = log_of(1, |node| async move {
        let semaphore = Arc::new(node.semaphore(2));
        let held = semaphore.acquire(1).await;
        let (greedy, modest) = (Arc::clone(&semaphore), Arc::clone(&semaphore));
        node.spawn("greedy", |node| async move {
            assert!(node.within(ms(10), greedy.acquire(2)).await.is_none());
            support::log(node, "gave up");
        });
        node.spawn("modest", |node| async move {
            let _one = modest.acquire(1).await;
            support::log(node, "has one");
        });
        node.sleep(ms(20)).await;
        drop(held);
        assert_eq!(semaphore.permits(), 2);
    });
    assert_eq!(log, ["10 gave up", "10 has one"]);
}

#[test]
fn a_barrier_lets_all_go_on_at_once_and_again() {
    let log = log_of(1, |node| async move {
        let barrier = Arc::new(node.barrier(3));
        for id in 0..3 {
            let barrier = Arc::clone(&barrier);
            node.spawn("party", move |node| async move {
                for lap in 0..2 {
                    node.sleep(ms(10 * (id + 1))).await;
                    if barrier.wait().await {
                        support::log(node, &format!("{id} was last in lap {lap}"));
                    }
                }
            });
        }
    });
    assert_eq!(log, ["30 2 was last in lap 0", "60 2 was last in lap 1"]);
}

#[test]
fn a_condition_is_waited_for_without_the_mutex_and_left_with_it() {
    let log = log_of(1, |node| async move {
        let shared = Arc::new((node.mutex(), node.condition()));
        for id in 0..2 {
            let shared = Arc::clone(&shared);
            node.spawn("consumer", move |node| async move {
                let (mutex, condition) = &*shared;
                let held = mutex.lock().await;
                let _held = condition.wait(held).await;
                support::log(node, &format!("{id} goes on"));
                node.sleep(ms(1)).await;
            });
        }
        node.sleep(ms(10)).await;
        let (mutex, condition) = &*shared;
        drop(mutex.lock().await);
        condition.notify_one();
        node.sleep(ms(10)).await;
        condition.notify_all();
    });
    assert_eq!(log, ["10 0 goes on", "20 1 goes on"]);
}

#[test]
fn a_panic_names_its_process() {
    let error = run_with(1, false, |node: Node<Script>| async move {
        node.sleep(ms(3)).await;
        panic!("it went wrong")
    })
    .expect_err("it panics");
    assert!(error.to_string().contains("in the process `main` of node 0: it went wrong"), "{error}");
}

#[test]
fn who_waits_for_ever_is_named_and_an_error_where_all_must_end() {
    let program = |node: Node<Script>| async move {
        let other = LpId(1 - node.id().0);
        if node.id().0 == 0 {
            node.receive().await;
        } else {
            let mutex = node.mutex();
            let _held = mutex.lock().await;
            let _never = mutex.lock().await;
        }
        node.send(other, 1);
    };
    let sentence = "2 processes wait for ever, as nothing is left to happen: `main` of node 0 waits for a message; \
                    `main` of node 1 waits for its mutex 0";
    let (outcome, _) = run(2, program);
    let told = outcome.metrics.get("deadlock").and_then(|metric| metric.value()).expect("it is declared");
    assert_eq!(*told, Cell::Text(sentence.into()));
    assert_eq!(counter(&outcome, "processes_waiting"), 2);
    let error = run_with(2, true, program).expect_err("they must end");
    assert!(error.to_string().contains(sentence), "{error}");
}

#[test]
fn a_node_that_is_disconnected_loses_messages() {
    let (outcome, log) = run(2, |node: Node<Script>| async move {
        if node.id().0 == 0 {
            node.sleep(ms(5)).await;
            node.disconnect();
            node.sleep(ms(10)).await;
            node.connect();
            let received = node.receive().await;
            support::log(node, &received.message.to_string());
        } else {
            for number in 0..20 {
                node.sleep(ms(1)).await;
                node.send(LpId(0), number);
            }
        }
    });
    assert_eq!(log, ["15 13"], "at 15 ms the node's own timer comes before what the other sent");
    assert_eq!(counter(&outcome, "messages_lost"), 13 + 6, "and when its process is over, messages are lost too");
}

#[test]
fn a_simulation_runs_inside_of_a_process_of_another() {
    let log = log_of(1, |node| async move {
        node.sleep(ms(1)).await;
        let inner = log_of(2, |node| async move {
            let timer = node.sleep(ms(2));
            timer.await;
            support::log(node, "inner");
            // This process still waits when the inner run ends, and is dropped then.
            let _told = support::TellsWhenDropped(node);
            node.sleep(ms(10_000)).await;
        });
        support::log(node, &inner.join("+"));
        node.sleep(ms(1)).await;
        support::log(node, "outer");
    });
    assert_eq!(log, ["1 2 inner+2 inner", "2 outer"]);
}

#[test]
fn what_belongs_to_a_node_is_refused_elsewhere() {
    let error = run_with(1, false, |node: Node<Script>| async move {
        node.with_state(|_| node.send(LpId(0), 1)).await.expect("it is refused before");
    })
    .expect_err("it is refused");
    assert!(error.to_string().contains("use it in the process itself"), "{error}");
}

#[test]
fn closures_may_ask_the_node_for_its_id_the_number_of_nodes_and_the_time() {
    let log = log_of(3, |node| async move {
        node.sleep(ms(2)).await;
        let drawn = node.random(|rng| rng.below(u64::from(node.nodes())));
        assert!(drawn < 3 && node.random_node().0 < 3);
        node.with_state(|log| {
            log.push(format!("{} of {} at {} ms", node.id().0, node.nodes(), node.now().as_ps() / 1_000_000_000));
        });
        node.with_state(|_| node.sleep(ms(1))).await;
        support::log(node, "awake");
    });
    assert_eq!(log, ["0 of 3 at 2 ms", "3 awake", "1 of 3 at 2 ms", "3 awake", "2 of 3 at 2 ms", "3 awake"]);
}

#[test]
fn an_error_names_the_line_of_the_process_that_sent() {
    for (line, send) in [
        (line!(), (|node| drop(node.send(LpId(7), 1))) as fn(Node<Script>)),
        (line!(), |node| node.send_after(LpId(1), Delay::ZERO, 1)),
        (line!(), |node| assert!(node.with(|here| here.send(LpId(7), 1)).is_some())),
    ] {
        let error = run_with(2, false, move |node: Node<Script>| async move {
            node.sleep(ms(1)).await;
            send(node);
        })
        .expect_err("it is refused");
        assert_eq!(error.line(), Some(format!("{}:{line}", file!()).as_str()), "{error}");
    }
}

#[test]
#[ignore = "panics; the test below starts it"]
fn a_process_sends_inside_of_a_closure() {
    let _ = run_with(1, false, |node: Node<Script>| async move {
        node.random(|_| drop(node.send(LpId(0), 1))); // the line that the next test looks for
    });
}

#[test]
fn a_panic_of_misuse_names_the_line_of_the_process() {
    let lines = include_str!("processes.rs").lines();
    let line = 1 + lines.take_while(|line| !line.ends_with("// the line that the next test looks for")).count();
    let this = std::env::current_exe().expect("this test has a path");
    let name = "processes::a_process_sends_inside_of_a_closure";
    let child = std::process::Command::new(this).args([name, "--exact", "--ignored", "--nocapture"]).output();
    let error = String::from_utf8(child.expect("it starts").stderr).expect("text");
    assert!(error.contains(&format!("panicked at {}:{line}:", file!())), "{error}");
}

#[test]
fn a_sleep_beyond_the_end_of_time_is_an_error() {
    let error = run_with(1, false, |node: Node<Script>| async move {
        node.sleep(ms(1)).await;
        node.sleep(Delay::MAX).await;
    })
    .expect_err("there is no such time");
    assert!(error.to_string().contains("slept beyond the end of virtual time"), "{error}");
}

#[test]
fn who_is_woken_inside_of_a_closure_goes_on() {
    let log = log_of(2, |node| async move {
        if node.id().0 == 1 {
            node.sleep(ms(9)).await;
            node.send(LpId(0), 7);
            return;
        }
        let flags = ["state", "random", "serve"].map(|name| {
            let flag = Flag::default();
            let waits = flag.clone();
            node.spawn("waits", move |node| async move {
                waits.wait().await;
                support::log(node, name);
            });
            flag
        });
        let [state, random, serve] = flags;
        node.sleep(ms(1)).await;
        node.with_state(|_| state.set());
        node.sleep(ms(1)).await;
        node.random(|_| random.set());
        let served = node.serve(move |_, _| {
            serve.set();
            ControlFlow::Break(())
        });
        served.await;
    });
    assert_eq!(log, ["1 state", "2 random", "10 serve"]);
}

#[test]
fn a_permit_that_is_dropped_inside_of_a_closure_goes_to_the_next() {
    let log = log_of(1, |node| async move {
        let semaphore = Arc::new(node.semaphore(1));
        let held = semaphore.acquire(1).await;
        let waits = Arc::clone(&semaphore);
        node.spawn("next", move |node| async move {
            let _permit = waits.acquire(1).await;
            support::log(node, "has it");
        });
        node.sleep(ms(1)).await;
        node.with_state(|_| drop(held));
        node.sleep(ms(1)).await;
        let held = semaphore.acquire(1).await;
        node.with_state(|_| drop(held));
        assert_eq!(semaphore.permits(), 1, "it is back when the closure is over");
    });
    assert_eq!(log, ["1 has it"]);
}

#[test]
fn a_sleep_that_is_dropped_inside_of_a_closure_is_no_event() {
    let with = |inside: bool| {
        let (outcome, _) = run(1, move |node: Node<Script>| async move {
            let long = begun(node.sleep(ms(500))).await;
            let longer = begun(node.sleep(ms(600))).await;
            let two = (long, longer);
            if inside {
                node.with(|_| drop(two))
            } else {
                drop(two)
            }
            node.sleep(ms(1)).await;
        });
        outcome.events
    };
    assert_eq!((with(true), with(false)), (2, 2));
}

#[test]
fn waits_that_are_dropped_inside_of_a_closure_leave_nothing_behind() {
    let (outcome, log) = run(1, |node: Node<Script>| async move {
        let (semaphore, condition) = (Arc::new(node.semaphore(0)), Arc::new(node.condition()));
        let barrier = node.barrier(2);
        let receive = begun(node.receive()).await;
        let serve = begun(node.serve(|_, _| ControlFlow::<()>::Continue(()))).await;
        let acquire = begun(semaphore.acquire(1)).await;
        let notified = begun(condition.notified()).await;
        let pass = begun(barrier.wait()).await;
        let over = node.spawn("over", move |node| async move { support::TellsWhenDropped(node) });
        let others = (Arc::clone(&semaphore), Arc::clone(&condition));
        node.spawn("other", move |node| async move {
            let _permit = others.0.acquire(1).await;
            others.1.notified().await;
            support::log(node, &format!("{}", node.receive().await.message));
        });
        node.sleep(ms(1)).await;
        node.with_state(|_| drop((receive, serve, acquire, notified, pass, over)));
        assert!(node.within(ms(1), barrier.wait()).await.is_none(), "nobody else is there");
        semaphore.release(1);
        node.sleep(ms(1)).await;
        condition.notify_one();
        node.sleep(ms(1)).await;
        assert_eq!(node.send(node.id(), 7).await, Ok(()));
    });
    assert_eq!(log, ["1 dropped", "5 7"]);
    assert_eq!(counter(&outcome, "processes_waiting"), 0);
}

#[test]
fn a_notification_whose_receiver_is_gone_before_it_has_the_mutex_goes_to_the_next() {
    let log = log_of(1, |node| async move {
        let shared = Arc::new((node.mutex(), node.condition()));
        let [first, _second] = ["first", "second"].map(|name| {
            let shared = Arc::clone(&shared);
            node.spawn("consumer", move |node| async move {
                let held = shared.0.lock().await;
                let _held = shared.1.wait(held).await;
                support::log(node, name);
            })
        });
        node.sleep(ms(1)).await;
        let held = shared.0.lock().await;
        shared.1.notify_one();
        node.sleep(ms(1)).await;
        first.kill();
        node.sleep(ms(1)).await;
        drop(held);
    });
    assert_eq!(log, ["3 second"]);
}

#[test]
fn a_notification_of_all_is_for_those_alone_who_waited() {
    let log = log_of(1, |node| async move {
        let condition = Arc::new(node.condition());
        let waits = Arc::clone(&condition);
        let gone = node.spawn("gone", move |_| async move { waits.notified().await });
        node.sleep(ms(1)).await;
        condition.notify_all();
        let late = begun(condition.notified()).await;
        gone.kill();
        assert_eq!(node.within(ms(1), late).await, None);
        // A notification of one process passes to another process, and is used once.
        let (first, second, third) =
            (begun(condition.notified()).await, begun(condition.notified()).await, begun(condition.notified()).await);
        condition.notify_one();
        drop(first);
        second.await;
        assert_eq!(node.within(ms(1), third).await, None);
        support::log(node, "over");
    });
    assert_eq!(log, ["3 over"]);
}

/// Begins to wait for a future, and lets another process go on with it.
async fn hand_over<F>(node: Node<Script>, name: &'static str, future: F)
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let future = begun(future).await;
    node.spawn("other", move |node| async move {
        future.await;
        support::log(node, name);
    });
    node.sleep(Delay::ZERO).await;
}

#[test]
fn what_has_begun_to_wait_in_one_process_and_goes_on_in_another_wakes_the_other() {
    let log = log_of(1, |node| async move {
        let semaphore: &'static Semaphore = Box::leak(Box::new(node.semaphore(0)));
        let barrier: &'static Barrier = Box::leak(Box::new(node.barrier(2)));
        let condition: &'static Condition = Box::leak(Box::new(node.condition()));
        hand_over(node, "slept", node.sleep(ms(5))).await;
        hand_over(node, "slept longer", node.sleep(ms(6))).await;
        hand_over(node, "received", node.receive()).await;
        hand_over(node, "served", node.serve(|_, _| ControlFlow::Break(()))).await;
        hand_over(node, "has a permit", semaphore.acquire(1)).await;
        hand_over(node, "passed", barrier.wait()).await;
        hand_over(node, "notified", condition.notified()).await;
        let quick = node.spawn("quick", |node| node.sleep(ms(7)));
        hand_over(node, "joined", quick).await;
        for _ in 0..2 {
            assert_eq!(node.send(node.id(), 1).await, Ok(()));
        }
        node.sleep(ms(8)).await;
        semaphore.release(1);
        assert!(barrier.wait().await);
        condition.notify_one();
        node.sleep(ms(1)).await;
    });
    let expected = [
        "1 received",
        "2 served",
        "5 slept",
        "6 slept longer",
        "7 joined",
        "10 has a permit",
        "10 passed",
        "10 notified",
    ];
    assert_eq!(log, expected);
}

#[test]
fn who_has_served_its_message_leaves_the_others_in_their_order() {
    let log = log_of(1, |node| async move {
        node.spawn("first", |node| async move {
            let served = node.serve(|_, received| ControlFlow::Break(received.message)).await;
            support::log(node, &format!("first served {served:?}"));
        });
        for name in ["second", "third"] {
            node.spawn(name, move |node| async move {
                let received = node.receive().await;
                support::log(node, &format!("{name} received {}", received.message));
            });
        }
        node.sleep(Delay::ZERO).await;
        for message in 1..=3 {
            assert_eq!(node.send(node.id(), message).await, Ok(()));
        }
    });
    assert_eq!(log, ["1 first served Some(1)", "2 second received 2", "3 third received 3"]);
}

#[test]
fn a_deadline_that_messages_postpone_keeps_its_place_among_other_timeouts() {
    let log = log_of(1, |node| async move {
        node.spawn("patient", |node| async move {
            let all = node.serve(|_, _| ControlFlow::<()>::Continue(()));
            let served = all.until(|here| here.now().checked_add(ms(10)).expect("a short run")).await;
            support::log(node, &format!("given up: {}", served.is_none()));
        });
        node.sleep(Delay::ZERO).await;
        // First the timer is alone on its clock; then there is a timeout before it and one after it.
        assert_eq!(node.send(node.id(), 1).await, Ok(()));
        for wait in [4, 20] {
            node.spawn("timer", move |node| async move {
                node.timer(ms(wait)).await;
                support::log(node, &format!("timer of {wait}"));
            });
        }
        assert_eq!(node.send(node.id(), 2).await, Ok(()));
    });
    assert_eq!(log, ["5 timer of 4", "12 given up: true", "21 timer of 20"]);
}

#[test]
fn a_deadline_that_a_message_takes_away_is_none() {
    let log = log_of(1, |node| async move {
        node.spawn("patient", |node| async move {
            let two = node.serve(|here, received| match received.message {
                2 => ControlFlow::Break(()),
                _ => {
                    here.state.push("no deadline".into());
                    ControlFlow::Continue(())
                }
            });
            let five_ms = |here: &Here<'_, Script>| match here.state.is_empty() {
                true => Time::from_ps(5_000_000_000),
                false => Time::MAX,
            };
            let served = two.until(five_ms).await;
            support::log(node, &format!("given up: {}", served.is_none()));
        });
        assert_eq!(node.send(node.id(), 1).await, Ok(()));
        node.sleep(ms(20)).await;
        assert_eq!(node.send(node.id(), 2).await, Ok(()));
    });
    assert_eq!(log, ["no deadline", "22 given up: false"]);
}

#[test]
fn what_goes_on_under_another_waker_calls_that() {
    use futures_util::stream::{FuturesUnordered, StreamExt};
    let log = log_of(1, |node| async move {
        let mut sleep = Box::pin(node.sleep(ms(5)));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let mut sleeps: FuturesUnordered<_> = [sleep].into_iter().collect();
        sleeps.next().await;
        support::log(node, "woken");
    });
    assert_eq!(log, ["5 woken"]);
}

#[test]
fn thousands_of_processes_begin_and_are_waited_for() {
    // If the cost of a begin or of a poll grew with the number of processes, this would take minutes.
    let log = log_of(1, |node| async move {
        let handles: Vec<_> = (0..200_000_u64).map(|i| node.spawn("short", move |_| async move { i })).collect();
        node.sleep(ms(1)).await;
        drop(handles);
        let one_by_one = (0..3000_u64).map(|i| {
            node.spawn("longer", move |node| async move {
                node.sleep(Delay::from_us(i)).await;
                i
            })
        });
        let sum: u64 = all(one_by_one).await.into_iter().map(|result| result.expect("nobody kills it")).sum();
        support::log(node, &sum.to_string());
    });
    assert_eq!(log, ["3 4498500"]);
}
