//! What processes do, wait for, and leave behind.

mod support;

use parades_core::prelude::*;
use parades_process::{Either, Killed, Node, all, select};
use std::sync::Arc;
use support::{Script, counter, log_of, ms, run, run_with};

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
                node.send(LpId(0), u64::from(id) + 100).await;
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
        // It is killed at the instant of the message.
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
            // This one is still waiting when the inner run ends, and is dropped then.
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
        node.with_state(|_| node.sleep(ms(1))).await;
    })
    .expect_err("it is refused");
    assert!(error.to_string().contains("use it in the process itself"), "{error}");
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
