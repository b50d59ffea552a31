//! Processes on stacks of their own do the same as `async` ones.

use crate::support::{Flag, Script, TellsWhenDropped, counter, log, ms, run, run_with};
use futures_util::future::join;
use parades_carriers::Constant;
use parades_core::prelude::*;
use parades_program::{Killed, Node, Processes, Program, Stack, Start, select};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The kinds of stacks on this system.
fn stacks() -> Vec<Stack> {
    let mut stacks = vec![Stack::THREAD];
    if cfg!(target_os = "linux") {
        stacks.push(Stack::SLAB);
    }
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        stacks.push(Stack::UCONTEXT);
    }
    stacks
}

/// Nodes in a ring that draw, sleep, send and receive. `stack` decides the stack of each node.
struct Ring {
    nodes: u32,
    stack: fn(u32) -> Option<Stack>,
    carrier: Constant,
}

impl Ring {
    fn model(nodes: u32, stack: fn(u32) -> Option<Stack>) -> Processes<Ring> {
        Processes::new(Ring { nodes, stack, carrier: Constant::new(ms(1)) })
    }
}

async fn pass(node: Node<Ring>) {
    loop {
        let delay = node.random(|rng| rng.below(1_000_000_000));
        node.sleep(Delay::from_ps(delay)).await;
        node.send(LpId((node.id().0 + 1) % node.nodes()), delay);
        let received = select(node.receive(), node.sleep(ms(3))).await;
        node.with_state(|sum| {
            *sum = sum.wrapping_mul(31).wrapping_add(u64::from(matches!(received, parades_program::Either::Left(_))))
        });
    }
}

/// Does the same as [`pass`], deep in calls that are not `async`.
fn pass_deep(node: Node<Ring>, depth: u32) -> u64 {
    if depth > 0 {
        return pass_deep(node, depth - 1) ^ u64::from(depth);
    }
    loop {
        let delay = node.random(|rng| rng.below(1_000_000_000));
        node.wait(node.sleep(Delay::from_ps(delay)));
        node.send(LpId((node.id().0 + 1) % node.nodes()), delay);
        let received = node.wait(select(node.receive(), node.sleep(ms(3))));
        node.with_state(|sum| {
            *sum = sum.wrapping_mul(31).wrapping_add(u64::from(matches!(received, parades_program::Either::Left(_))))
        });
    }
}

impl Program for Ring {
    type Message = u64;
    type State = u64;
    type Carrier = Constant;
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn carrier(&self) -> &Constant {
        &self.carrier
    }
    fn start(&self, start: &mut Start<'_, Self>) -> u64 {
        match (self.stack)(start.id().0) {
            None => start.spawn("pass", pass),
            Some(stack) => start.spawn_on(stack, "pass", |node| {
                pass_deep(node, 20);
            }),
        }
        0
    }
    fn fold(&self, state: &u64, digest: &mut Digest) {
        digest.word(*state);
    }
}

fn until_ms(ms: u64) -> RunOptions<'static> {
    RunOptions::until(Time::from_ps(ms * 1_000_000_000))
}

/// Alternates between the kinds of stacks, and `async`.
fn mixed(node: u32) -> Option<Stack> {
    let stacks = stacks();
    stacks.get(node as usize % (stacks.len() + 1)).copied()
}

#[test]
fn the_answer_is_the_same_on_every_stack() {
    let run = |stack| parades_engine::sequential::run(&Ring::model(12, stack), until_ms(200)).expect("it can run");
    let wanted = run(|_| None);
    assert!(wanted.events > 3000, "{}", wanted.events);
    for stack in [|_| stacks().get(1).copied(), |_| stacks().last().copied(), |_| Some(Stack::THREAD), mixed] {
        let outcome = run(stack);
        assert_eq!((outcome.digest, outcome.events), (wanted.digest, wanted.events));
    }
}

#[test]
fn processes_on_threads_of_their_own_run_on_any_number_of_threads() {
    use parades_engine::{rounds, window};
    let wanted = parades_engine::sequential::run(&Ring::model(12, |_| None), until_ms(100)).expect("it can run").digest;
    for threads in [1, 2, 3] {
        let model = Ring::model(12, |_| Some(Stack::THREAD));
        let settings = window::Settings::of_threads(threads);
        assert_eq!(window::run(&model, until_ms(100), &settings).expect("it can run").digest, wanted);
        let settings = rounds::Settings::of_threads(threads);
        assert_eq!(rounds::run(&model, until_ms(100), &settings).expect("it can run").digest, wanted);
    }
}

#[test]
fn processes_on_stacks_of_a_slab_run_on_any_number_of_threads() {
    use parades_engine::{null_message, rounds, window};
    let wanted = parades_engine::sequential::run(&Ring::model(12, |_| None), until_ms(100)).expect("it can run").digest;
    for threads in [1, 2, 3, 8] {
        for stack in [|_| stacks().first().copied(), |_| stacks().last().copied()] {
            let model = || Ring::model(12, stack);
            let answers = [
                window::run(&model(), until_ms(100), &window::Settings::of_threads(threads)),
                null_message::run(&model(), until_ms(100), &null_message::Settings::of_threads(threads)),
                rounds::run(&model(), until_ms(100), &rounds::Settings::of_threads(threads)),
            ];
            for answer in answers {
                assert_eq!(answer.expect("it can run").digest, wanted, "{threads} threads");
            }
        }
    }
}

#[test]
fn each_worker_unwinds_the_processes_that_wait_at_the_end() {
    use parades_engine::window;
    let count = |threads| {
        let drops = Arc::new(AtomicU32::new(0));
        let model = Processes::new(Waiting { carrier: Constant::new(ms(1)), drops: Arc::clone(&drops) });
        let outcome = window::run(&model, until_ms(10), &window::Settings::of_threads(threads)).expect("it can run");
        let (_, workers) = outcome.engine_stats.iter().find(|(name, _)| *name == "workers").expect("it is counted");
        (drops.load(Ordering::Relaxed), *workers)
    };
    if !stacks().is_empty() {
        assert_eq!([1, 2, 3].map(count), [(64, 1.0), (64, 2.0), (64, 3.0)]);
    }
}

/// Nodes that wait for ever on a stack, and count what is dropped there.
struct Waiting {
    carrier: Constant,
    drops: Arc<AtomicU32>,
}

impl Program for Waiting {
    type Message = ();
    type State = ();
    type Carrier = Constant;
    fn nodes(&self) -> u32 {
        64
    }
    fn carrier(&self) -> &Constant {
        &self.carrier
    }
    fn start(&self, start: &mut Start<'_, Self>) {
        let counts = Counts(Arc::clone(&self.drops));
        start.spawn_on(Stack::SLAB, "waits", move |node| {
            let _counts = counts;
            node.wait(node.receive());
        });
    }
}

/// Counts that it is dropped.
struct Counts(Arc<AtomicU32>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn waits_within(node: Node<Script>) {
    let _told = TellsWhenDropped(node);
    node.wait(node.receive());
    log(node, "never");
}

#[test]
fn a_killed_process_is_unwound_from_its_innermost_call() {
    for stack in stacks() {
        let (outcome, lines) = run(1, move |node: Node<Script>| async move {
            let endless = node.spawn_on(stack, "endless", move |node| {
                let _told = TellsWhenDropped(node);
                waits_within(node);
            });
            let finished = node.spawn_on(stack, "finished", |node| {
                node.wait(node.sleep(ms(2)));
                42
            });
            node.sleep(ms(5)).await;
            endless.kill();
            log(node, "killed");
            assert_eq!(endless.await, Err(Killed));
            assert_eq!(finished.await, Ok(42));
        });
        assert_eq!(lines, ["5 dropped", "5 dropped", "5 killed"], "{stack:?}");
        assert_eq!((counter(&outcome, "processes_ended"), counter(&outcome, "processes_killed")), (2, 1));
    }
}

#[test]
fn what_waits_at_the_end_of_the_run_is_unwound() {
    for stack in stacks() {
        let drops = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&drops);
        run(3, move |node: Node<Script>| {
            let counts = Counts(Arc::clone(&counter));
            async move {
                node.spawn_on(stack, "waits", move |node| {
                    let _counts = counts;
                    node.wait(node.receive());
                });
            }
        });
        assert_eq!(drops.load(Ordering::Relaxed), 3, "{stack:?}");
    }
}

#[test]
fn a_panic_is_the_error_of_the_run_with_the_name_of_the_process() {
    for stack in stacks() {
        let result = run_with(2, false, move |node| async move {
            if node.id() == LpId(1) {
                node.spawn_on(stack, "careless", |node| {
                    node.wait(node.sleep(ms(7)));
                    std::panic::resume_unwind(Box::new("no more luck"));
                });
            }
        });
        let error = result.expect_err("it panics").to_string();
        assert!(error.contains("in the process `careless` of node 1: no more luck"), "{stack:?}: {error}");
    }
}

#[test]
fn a_wait_inside_of_a_future_that_is_waited_for_suspends_the_whole_process() {
    for stack in stacks() {
        let (_, lines) = run(1, move |node: Node<Script>| async move {
            node.spawn_on(stack, "outer", |node| {
                let inside = async move {
                    node.wait(node.sleep(ms(3))); // Nothing of this process is executed during this wait.
                    log(node, "inside");
                    node.sleep(ms(3)).await;
                };
                node.wait(join(inside, async move {
                    node.sleep(ms(1)).await;
                    log(node, "beside");
                }));
                log(node, "after");
            });
        });
        assert_eq!(lines, ["3 inside", "4 beside", "6 after"], "{stack:?}");
    }
}

#[test]
fn processes_on_stacks_begin_others_and_wait_for_them() {
    for stack in stacks() {
        let (_, lines) = run(1, move |node: Node<Script>| async move {
            node.spawn_on(stack, "parent", move |node| {
                let children: Vec<_> = (1..=3)
                    .map(|number| {
                        node.spawn_on(stack, "child", move |node| {
                            node.wait(node.sleep(ms(10 * number)));
                            number
                        })
                    })
                    .collect();
                let sum: u64 = children.into_iter().map(|child| node.wait(child).expect("nobody kills it")).sum();
                log(node, &sum.to_string());
                let gave_up = node.wait(node.within(ms(5), node.receive())).is_none();
                log(node, &gave_up.to_string());
            });
        });
        assert_eq!(lines, ["30 6", "35 true"], "{stack:?}");
    }
}

#[test]
fn a_simulation_runs_inside_of_a_process_of_another() {
    for stack in stacks() {
        let (_, lines) = run(1, move |node: Node<Script>| async move {
            node.spawn_on(stack, "outer", move |node| {
                let (_, inner) = run(1, move |node: Node<Script>| async move {
                    node.spawn_on(stack, "inner", |node| {
                        node.wait(node.sleep(ms(2)));
                        log(node, "inner");
                    });
                });
                node.wait(node.sleep(ms(3)));
                log(node, &inner.join(" "));
            });
        });
        assert_eq!(lines, ["3 2 inner"], "{stack:?}");
    }
}

#[test]
fn a_wait_without_a_stack_is_an_error_that_says_so() {
    // The same holds inside a simulation that runs in a process on a stack.
    for stack in stacks() {
        let result = run_with(1, false, move |node| async move {
            node.spawn_on(stack, "outer", move |_| {
                let inner = run_with(1, false, |node| async move { node.wait(node.sleep(ms(1))) });
                std::panic::resume_unwind(Box::new(inner.expect_err("it has no stack").to_string()));
            });
        });
        let error = result.expect_err("the inner run fails").to_string();
        assert!(error.contains("spawn_on") && error.contains("`.await`"), "{stack:?}: {error}");
    }
}

#[test]
fn a_stack_for_which_there_is_no_room_is_an_error_that_names_the_process() {
    for stack in stacks() {
        let result = run_with(1, false, move |node| async move {
            node.spawn_on(stack.with_bytes(1 << 62), "large", |_| ());
        });
        let error = result.expect_err("there is no such room").to_string();
        assert!(error.contains("in the process `large` of node 0"), "{stack:?}: {error}");
    }
}

#[test]
fn a_hundred_thousand_processes_wait_on_stacks_of_the_slab() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let run = |stack| parades_engine::sequential::run(&Ring::model(100_000, stack), until_ms(5));
    match run(|_| Some(Stack::SLAB)) {
        Ok(outcome) => assert_eq!(outcome.digest, run(|_| None).expect("it can run").digest),
        // On an older system there is room for about 32,000 stacks.
        Err(error) => assert!(error.to_string().contains("vm.max_map_count"), "{error}"),
    }
}

#[test]
fn who_is_woken_inside_of_a_closure_of_a_process_on_its_own_stack_goes_on() {
    for stack in stacks() {
        let (_, lines) = run(1, move |node: Node<Script>| async move {
            let flag = Flag::default();
            let sets = flag.clone();
            node.spawn_on(stack, "sets", move |node| {
                node.wait(node.sleep(ms(1)));
                node.with_state(|_| sets.set());
                node.wait(node.sleep(ms(1)));
            });
            flag.wait().await;
            log(node, "set");
        });
        assert_eq!(lines, ["1 set"], "{stack:?}");
    }
}
