//! Polling the processes of the node that is on the desk.
//!
//! A process is taken out of the node, polled while the desk is free for its actions, and put back.

use crate::desk::{Desk, Worker, leave, with_desk, with_parts};
use crate::life::{Exit, Pause, at_end};
use crate::program::Program;
use crate::table::{Code, Killed, State, Table};
use crate::wait::{Place, Wait};
use std::any::Any;
use std::task::Waker;

/// Polls the ready processes of the node on the desk, beginning with the one in `polled`, until none is
/// ready. Then calls `close`, which applies their effects, and leaves the desk. Returns the panic of a
/// process, with its name, as an error.
#[inline]
pub(crate) fn poll_all<P: Program>(polled: &mut Polled, close: impl FnOnce(&mut Desk<P>)) -> Result<(), String> {
    let mut close = Some(close);
    loop {
        let result = poll(polled);
        if result.is_err() {
            // Here the code can use the desk while it is dropped.
            polled.code = None;
            with_desk::<P, _>(|desk| {
                // Another run on this thread must not find remains of this event.
                desk.worker = Worker::new();
                if let Some(close) = close.take() {
                    close(desk);
                }
            });
            leave::<P>();
            return result;
        }
        let step = with_desk::<P, _>(|desk| {
            let node = desk.node.as_deref_mut().expect("the node is on the desk until `close`");
            return_to(&mut desk.worker, &mut node.table, polled);
            if desk.worker.has_cleanup() {
                return Step::CleanUp;
            }
            if desk.worker.first_ready.is_some() && next_of_several(&mut desk.worker, &mut node.table, polled) {
                return Step::Poll;
            }
            if let Some(close) = close.take() {
                close(desk);
            }
            Step::Done(desk.outer.is_some())
        });
        match step {
            Step::Poll => {}
            Step::CleanUp => clean_up(),
            Step::Done(is_inner) => {
                if is_inner {
                    leave::<P>();
                }
                return Ok(());
            }
        }
    }
}

/// The next step after a process has been polled.
enum Step {
    /// Another process is polled.
    Poll,
    /// Wakers are called and code is dropped first.
    CleanUp,
    /// The node is off the desk. True if another desk must be put back.
    Done(bool),
}

/// Calls other crates' wakers, drops the code of killed processes, and runs code at the end of processes. All
/// may use the desk here.
#[cold]
fn clean_up() {
    let take = |worker: &mut Worker, _: &mut Table| {
        let Worker { foreign, dropped, exits, .. } = worker;
        (std::mem::take(foreign), std::mem::take(dropped), std::mem::take(exits))
    };
    let (foreign, dropped, exits) = with_parts(take);
    foreign.into_iter().for_each(Waker::wake);
    drop(dropped);
    exits.into_iter().for_each(|(exit, code)| code(exit));
}

/// A process taken out of its node to be polled, or none.
///
/// It is filled and emptied in place. Moving it as a whole just after its fields were written one by one
/// would stall the core, whose store buffer still holds them.
#[derive(Default)]
pub(crate) struct Polled {
    place: Place,
    /// `None` when the process is over.
    code: Option<Code>,
    /// `None` if there is no process.
    waker: Option<Waker>,
}

/// Polls a process.
#[inline]
fn poll(polled: &mut Polled) -> Result<(), String> {
    let Polled { place, code, waker } = polled;
    let (Some(running), Some(waker)) = (&mut *code, waker) else { return Ok(()) };
    let poll = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        running.as_mut().poll(&mut std::task::Context::from_waker(waker))
    }));
    match poll {
        Ok(std::task::Poll::Pending) => Ok(()),
        // Here the code can use the desk while it is dropped.
        Ok(std::task::Poll::Ready(())) => {
            *code = None;
            Ok(())
        }
        Err(panic) => Err(with_parts(|worker, table| panicked(worker, table, *place, panic.as_ref()))),
    }
}

/// Takes the next ready process out of the node. Returns false if there is none.
#[inline(always)]
pub(crate) fn next(worker: &mut Worker, table: &mut Table, polled: &mut Polled) -> bool {
    while let Some(place) = worker.pop_ready() {
        let Some(process) = table.processes.get_mut(place as usize) else { continue };
        process.queued = false;
        if process.pause != Pause::Runs {
            process.pause = Pause::WithMore;
            continue;
        }
        polled.code = process.code.take();
        if polled.code.is_none() {
            continue;
        }
        process.wait = Wait::Unknown;
        worker.current = place;
        let waker = polled.waker.insert(worker.take_waker(place));
        worker.own_waker = waker.data().addr();
        polled.place = place;
        return true;
    }
    false
}

/// Does the same as [`next`], if a process has become ready during the poll.
#[inline(never)]
fn next_of_several(worker: &mut Worker, table: &mut Table, polled: &mut Polled) -> bool {
    next(worker, table, polled)
}

/// Puts the polled process back into the node, unless it is over.
#[inline(always)]
fn return_to(worker: &mut Worker, table: &mut Table, polled: &mut Polled) {
    if polled.waker.is_none() {
        return;
    }
    let place = polled.place;
    worker.wakers[place as usize] = polled.waker.take();
    let process = &mut table.processes[place as usize];
    if process.state == State::Alive && polled.code.is_some() {
        process.code = polled.code.take();
    } else {
        ended(worker, table, place, polled.code.take());
    }
}

/// Ends the process at `place`. If it still has code, it was killed while it was polled: by itself, or by
/// code that it called.
#[cold]
fn ended(worker: &mut Worker, table: &mut Table, place: Place, code: Option<Code>) {
    match code {
        Some(code) => {
            worker.dropped.push(code);
            over(worker, table, place, Err(Killed));
        }
        None => over(worker, table, place, Ok(Box::new(()))),
    }
}

/// Records that the process at `place` is over, and wakes the process that waits for its end.
pub(crate) fn over(worker: &mut Worker, table: &mut Table, place: Place, outcome: Result<Box<dyn Any + Send>, Killed>) {
    table.alive -= 1;
    at_end(worker, table, place, if outcome.is_ok() { Exit::Returned } else { Exit::Killed });
    match outcome {
        Ok(_) => table.ended += 1,
        Err(Killed) => table.killed += 1,
    }
    let process = &mut table.processes[place as usize];
    // A process with a result has stored it already.
    if process.held && process.outcome.is_none() {
        process.outcome = Some(outcome);
    }
    process.wait = Wait::Unknown;
    process.state = State::Over;
    if !process.held {
        table.free(place);
    }
    if let Some(joiner) = table.take_joiner(place) {
        worker.wake(table, joiner);
    }
}

/// Returns the text of a process's panic, with its name.
#[cold]
fn panicked(worker: &Worker, table: &Table, place: Place, panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let name = table.processes[place as usize].name;
    format!("in the process `{name}` of node {}: {}", worker.id.0, text.unwrap_or("with something that is no text"))
}
