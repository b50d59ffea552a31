//! Mutexes, semaphores, barriers and conditions, at which processes of all hosts meet.

use super::calls::{CallId, Served, What, answer};
use super::packet::{Answer, Meeting, Name, Packet, Semaphore};
use super::solver::Solver;
use parades_program::{CarrierContext, ProcessId};
use std::collections::VecDeque;

/// The permits of a semaphore, and the calls that wait for one.
#[derive(Debug)]
pub(super) struct Permits {
    free: u32,
    at_start: u32,
    /// The number of permits that are returned only by [`Meeting::Release`].
    taken: u32,
    waiting: VecDeque<CallId>,
}

/// The use of a permit for which a call waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// The permit is returned when its claim is dropped.
    Claim,
    /// The permit is returned by [`Meeting::Release`].
    Take,
    /// The mutex is locked again after a wait at a condition, and is returned as a claim.
    Relock {
        /// False if the time of the wait was over before a notification.
        is_notified: bool,
        /// The condition whose notification another call gets if this one is given up before the lock.
        passes_on: Option<Name>,
    },
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

/// Serves a request of a process at a mutex, semaphore, barrier or condition.
pub(super) fn meet<M>(
    solver: &mut Solver<M>,
    process: ProcessId,
    call: Option<CallId>,
    meeting: &Meeting,
    ctx: &mut impl CarrierContext<Packet<M>>,
) {
    let mut served = |what: What| {
        let call = call.expect("a process that meets others awaits them");
        solver.calls.served.insert(call, Served::new(process, what));
        call
    };
    match meeting {
        Meeting::Acquire(semaphore, returns) => {
            let wants = if *returns { Wants::Claim } else { Wants::Take };
            let call = served(What::Waits(semaphore.clone(), wants));
            acquire(solver, semaphore, call, ctx);
        }
        Meeting::Release(semaphore) => {
            let permits = permits(solver, semaphore, ctx);
            match (semaphore, permits.taken) {
                (Semaphore::Mutex(name), 0) => {
                    return ctx.fail(format!(
                        "a process of node {} releases the mutex `{name}`, which no process has taken: release it \
                         once for each `take`; a lock of `acquire` is free when its permit is dropped",
                        process.node.0
                    ));
                }
                (_, taken) => permits.taken = taken.saturating_sub(1),
            }
            release(solver, semaphore, ctx);
        }
        Meeting::Barrier(name, parties) => {
            let call = served(What::Barrier(name.clone()));
            pass(solver, name, *parties, call, ctx);
        }
        Meeting::Wait { condition, mutex, held } => {
            let call = served(What::Condition(condition.clone(), mutex.clone()));
            let holds = solver.calls.served.remove(&(process.node, *held));
            if holds.is_none_or(|holds| holds.what != What::Holds(mutex.clone())) {
                return ctx.fail(format!("the condition `{condition}` is awaited with a mutex that is not locked"));
            }
            solver.calls.conditions.entry(condition.clone()).or_default().push_back(call);
            release(solver, mutex, ctx);
        }
        Meeting::Notify(name, all) => notify(solver, name, *all, ctx),
        Meeting::TimeIsOver(held) => time_is_over(solver, (process.node, *held), ctx),
    }
}

/// Ends the wait or the permit of a call that has been given up.
pub(super) fn leave<M>(solver: &mut Solver<M>, what: &What, call: CallId, ctx: &mut impl CarrierContext<Packet<M>>) {
    let is_other = |other: &CallId| *other != call;
    match what {
        What::Waits(semaphore, wants) => {
            let permits = solver.calls.permits.get_mut(&key_of(semaphore).0);
            permits.into_iter().for_each(|permits| permits.waiting.retain(is_other));
            if let Wants::Relock { passes_on: Some(condition), .. } = wants {
                notify(solver, condition, false, ctx);
            }
        }
        What::Holds(semaphore) => release(solver, semaphore, ctx),
        What::Barrier(name) => {
            let barrier = solver.calls.barriers.get_mut(name);
            barrier.into_iter().for_each(|barrier| barrier.waiting.retain(is_other));
        }
        What::Condition(name, _) => leave_condition(solver, name, call),
        What::Activity(_) | What::Put(_) | What::Get(_) => {}
    }
}

/// Removes a call from those that wait at a condition.
fn leave_condition<M>(solver: &mut Solver<M>, name: &Name, call: CallId) {
    if let Some(waiting) = solver.calls.conditions.get_mut(name) {
        waiting.retain(|other| *other != call);
        if waiting.is_empty() {
            solver.calls.conditions.remove(name);
        }
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
    let permits = permits.or_insert_with(|| Permits { free: at_start, at_start, taken: 0, waiting: VecDeque::new() });
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
    let permits = permits(solver, semaphore, ctx);
    permits.free = permits.free.saturating_add(1);
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
        let What::Waits(_, wants) = std::mem::replace(&mut served.what, What::Holds(semaphore.clone())) else {
            unreachable!("it waits for a permit")
        };
        if wants == Wants::Take {
            solver.calls.served.remove(&call);
            self::permits(solver, semaphore, ctx).taken += 1;
        }
        let is_late = matches!(wants, Wants::Relock { is_notified: false, .. });
        answer(call, Answer::Permit(!is_late), ctx);
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

/// Notifies the call that has waited longest at a condition, or all of them.
fn notify<M>(solver: &mut Solver<M>, name: &Name, all: bool, ctx: &mut impl CarrierContext<Packet<M>>) {
    let Some(waiting) = solver.calls.conditions.get_mut(name) else { return };
    let count = if all { waiting.len() } else { 1 };
    let notified: Vec<CallId> = waiting.drain(..count).collect();
    if waiting.is_empty() {
        solver.calls.conditions.remove(name);
    }
    let passes_on = (!all).then(|| name.clone());
    for call in notified {
        relock(solver, call, Wants::Relock { is_notified: true, passes_on: passes_on.clone() }, ctx);
    }
}

/// Ends the wait of a call at a condition without a notification. Does nothing if it has been notified.
fn time_is_over<M>(solver: &mut Solver<M>, call: CallId, ctx: &mut impl CarrierContext<Packet<M>>) {
    let Some(Served { what: What::Condition(name, _), .. }) = solver.calls.served.get(&call) else { return };
    let name = name.clone();
    leave_condition(solver, &name, call);
    relock(solver, call, Wants::Relock { is_notified: false, passes_on: None }, ctx);
}

/// Lets a call that has waited at a condition lock its mutex again.
fn relock<M>(solver: &mut Solver<M>, call: CallId, wants: Wants, ctx: &mut impl CarrierContext<Packet<M>>) {
    let served = solver.calls.served.get_mut(&call).expect("a call that waits is served");
    let What::Condition(_, mutex) = &served.what else { unreachable!("it waits at a condition") };
    let mutex = mutex.clone();
    served.what = What::Waits(mutex.clone(), wants);
    acquire(solver, &mutex, call, ctx);
}
