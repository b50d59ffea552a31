//! Mutexes, semaphores, barriers and conditions, at which processes of all hosts meet.

use super::calls::{CallId, Served, What, answer};
use super::packet::{Answer, Meeting, Name, Packet, Semaphore};
use super::solver::Solver;
use parades_program::{CarrierContext, ProcessId};
use std::collections::VecDeque;

/// The free permits, and the calls that wait for one.
#[derive(Debug)]
pub(super) struct Permits {
    free: u32,
    at_start: u32,
    waiting: VecDeque<CallId>,
}

/// A barrier: the calls that wait for the others.
#[derive(Debug)]
pub(super) struct Barrier {
    parties: u32,
    waiting: Vec<CallId>,
}

/// The key of the permits, and their number at the start.
fn key_of(semaphore: &Semaphore) -> ((bool, Name), u32) {
    match semaphore {
        Semaphore::Mutex(name) => ((false, name.clone()), 1),
        Semaphore::Permits(name, permits) => ((true, name.clone()), *permits),
    }
}

/// Serves a request for one of these.
pub(super) fn meet<M>(
    solver: &mut Solver<M>,
    process: ProcessId,
    call: Option<CallId>,
    meeting: &Meeting,
    ctx: &mut impl CarrierContext<Packet<M>>,
) {
    let served = |call: CallId, what: What, solver: &mut Solver<M>| {
        solver.calls.served.insert(call, Served { process, what });
    };
    match meeting {
        Meeting::Acquire(semaphore, returns) => {
            let call = call.expect("whoever acquires a permit awaits it");
            served(call, What::Waits(semaphore.clone(), *returns), solver);
            acquire(solver, semaphore, call, ctx);
        }
        Meeting::Release(semaphore) => release(solver, semaphore, ctx),
        Meeting::Barrier(name, parties) => {
            let call = call.expect("whoever comes to a barrier awaits the others");
            served(call, What::Barrier(name.clone()), solver);
            pass(solver, name, *parties, call, ctx);
        }
        Meeting::Wait { condition, mutex, held } => {
            let call = call.expect("whoever waits at a condition awaits it");
            let holds = solver.calls.served.remove(&(process.node, *held));
            if holds.is_none_or(|holds| holds.what != What::Holds(mutex.clone())) {
                return ctx.fail(format!("the condition `{condition}` is awaited with a mutex that is not locked"));
            }
            served(call, What::Condition(condition.clone(), mutex.clone()), solver);
            solver.calls.conditions.entry(condition.clone()).or_default().push_back(call);
            release(solver, mutex, ctx);
        }
        Meeting::Notify(name, all) => notify(solver, name, *all, ctx),
    }
}

/// Lets a call no longer wait, or returns its permit.
pub(super) fn leave<M>(solver: &mut Solver<M>, what: &What, call: CallId, ctx: &mut impl CarrierContext<Packet<M>>) {
    let is_other = |other: &CallId| *other != call;
    match what {
        What::Waits(semaphore, _) => {
            let permits = solver.calls.permits.get_mut(&key_of(semaphore).0);
            permits.into_iter().for_each(|permits| permits.waiting.retain(is_other));
        }
        What::Holds(semaphore) => release(solver, semaphore, ctx),
        What::Barrier(name) => {
            let barrier = solver.calls.barriers.get_mut(name);
            barrier.into_iter().for_each(|barrier| barrier.waiting.retain(is_other));
        }
        What::Condition(name, _) => {
            let waiting = solver.calls.conditions.get_mut(name);
            waiting.into_iter().for_each(|waiting| waiting.retain(is_other));
        }
        What::Activity(_) | What::Put(_) | What::Get(_) => {}
    }
}

/// Returns the permits, which are made at their first use.
fn permits<'a, M>(
    solver: &'a mut Solver<M>,
    semaphore: &Semaphore,
    ctx: &mut impl CarrierContext<Packet<M>>,
) -> &'a mut Permits {
    let (key, at_start) = key_of(semaphore);
    let name = key.1.clone();
    let permits = solver.calls.permits.entry(key);
    let permits = permits.or_insert_with(|| Permits { free: at_start, at_start, waiting: VecDeque::new() });
    if permits.at_start != at_start {
        let before = permits.at_start;
        ctx.fail(format!("the semaphore `{name}` has {before} permits for one process and {at_start} for another"));
    }
    permits
}

/// Lets a call wait for a permit.
fn acquire<M>(solver: &mut Solver<M>, semaphore: &Semaphore, call: CallId, ctx: &mut impl CarrierContext<Packet<M>>) {
    permits(solver, semaphore, ctx).waiting.push_back(call);
    grant(solver, semaphore, ctx);
}

/// Returns a permit.
fn release<M>(solver: &mut Solver<M>, semaphore: &Semaphore, ctx: &mut impl CarrierContext<Packet<M>>) {
    permits(solver, semaphore, ctx).free += 1;
    grant(solver, semaphore, ctx);
}

/// Gives free permits to the calls that have waited longest.
fn grant<M>(solver: &mut Solver<M>, semaphore: &Semaphore, ctx: &mut impl CarrierContext<Packet<M>>) {
    loop {
        let permits = permits(solver, semaphore, ctx);
        if permits.free == 0 {
            return;
        }
        let Some(call) = permits.waiting.pop_front() else { return };
        permits.free -= 1;
        let served = solver.calls.served.get_mut(&call).expect("a call that waits is served");
        match served.what {
            What::Waits(_, false) => {
                solver.calls.served.remove(&call);
            }
            _ => served.what = What::Holds(semaphore.clone()),
        }
        answer(call, Answer::Done(Ok(())), ctx);
    }
}

/// Lets a call wait for the others at a barrier, or all of them pass.
fn pass<M>(solver: &mut Solver<M>, name: &Name, parties: u32, call: CallId, ctx: &mut impl CarrierContext<Packet<M>>) {
    let barrier = solver.calls.barriers.entry(name.clone());
    let barrier = barrier.or_insert_with(|| Barrier { parties, waiting: Vec::new() });
    if barrier.parties != parties {
        let before = barrier.parties;
        return ctx.fail(format!("the barrier `{name}` is for {before} processes and for {parties}"));
    }
    barrier.waiting.push(call);
    if barrier.waiting.len() < parties as usize {
        return;
    }
    for other in std::mem::take(&mut barrier.waiting) {
        solver.calls.served.remove(&other);
        answer(other, Answer::Passed(other == call), ctx);
    }
}

/// Lets those who wait at a condition lock their mutex again: the first, or all.
fn notify<M>(solver: &mut Solver<M>, name: &Name, all: bool, ctx: &mut impl CarrierContext<Packet<M>>) {
    let Some(waiting) = solver.calls.conditions.get_mut(name) else { return };
    let count = if all { waiting.len() } else { waiting.len().min(1) };
    let notified: Vec<CallId> = waiting.drain(..count).collect();
    for call in notified {
        let served = solver.calls.served.get_mut(&call).expect("a call that waits is served");
        let What::Condition(_, mutex) = &served.what else { unreachable!("it waits at a condition") };
        let mutex = mutex.clone();
        served.what = What::Waits(mutex.clone(), true);
        acquire(solver, &mutex, call, ctx);
    }
}
