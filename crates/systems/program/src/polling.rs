//! Polling the processes of the node that is on the desk.
//!
//! One is taken out of the node, polled while the desk is free for what it does, and put back.

use crate::desk::{Desk, Worker, leave, with_desk, with_parts};
use crate::program::Program;
use crate::table::{Code, Killed, State, Table};
use crate::wait::{Place, Wait};
use std::any::Any;
use std::task::Waker;

/// Polls the processes of the node on the desk that are ready, the one taken out and those that become ready by that, until none is; then has `close` deal
/// with what they did, and leaves the desk. The panic of one, with its name.
#[inline]
pub(crate) fn poll_all<P: Program>(polled: &mut Polled, close: impl FnOnce(&mut Desk<P>)) -> Result<(), String> {
    let mut close = Some(close);
    loop {
        let result = poll(polled);
        if result.is_err() {
            polled.code = None; // Dropped where it may use the desk.
            with_desk::<P, _>(|desk| {
                desk.worker = Worker::new(); // What is left of the event must not be there for another run on this thread.
                if let Some(close) = close.take() {
                    close(desk);
                }
            });
            leave::<P>();
            return result;
        }
        let step = with_desk::<P, _>(|desk| {
            let node = desk.node.as_deref_mut().expect("it lies there until it is closed");
            return_to(&mut desk.worker, &mut node.table, polled);
            if desk.worker.owes() {
                return Step::Owes;
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
            Step::Owes => call_others(),
            Step::Done(is_inner) => {
                if is_inner {
                    leave::<P>();
                }
                return Ok(());
            }
        }
    }
}

/// What comes after a process has been polled.
enum Step {
    Poll,
    /// Others are to be called first.
    Owes,
    /// The node is off the desk; whether another desk is to be put back.
    Done(bool),
}

/// Calls other crates' wakers, and drops what killed processes remembered, where both may use the desk.
#[cold]
fn call_others() {
    let take =
        |worker: &mut Worker, _: &mut Table| (std::mem::take(&mut worker.foreign), std::mem::take(&mut worker.dropped));
    let (foreign, dropped) = with_parts(take);
    foreign.into_iter().for_each(Waker::wake);
    drop(dropped);
}

/// A process taken out of its node to be polled, or none. Filled and emptied where it lies: what is moved whole just after its fields were written one by one
/// is read before these have left the core's store buffer, which stalls.
#[derive(Default)]
pub(crate) struct Polled {
    place: Place,
    /// `None` when it is over.
    code: Option<Code>,
    /// `None` where there is no process.
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
        // Dropped here, where it may use the desk.
        Ok(std::task::Poll::Ready(())) => {
            *code = None;
            Ok(())
        }
        Err(panic) => Err(with_parts(|worker, table| panicked(worker, table, *place, panic.as_ref()))),
    }
}

/// Takes the next process out that is ready, if there is one.
#[inline(always)]
pub(crate) fn next(worker: &mut Worker, table: &mut Table, polled: &mut Polled) -> bool {
    while let Some(place) = worker.pop_ready() {
        let Some(process) = table.processes.get_mut(place as usize) else { continue };
        process.queued = false;
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

/// As [`next`], where the one that was polled, or another, has been made ready meanwhile.
#[inline(never)]
fn next_of_several(worker: &mut Worker, table: &mut Table, polled: &mut Polled) -> bool {
    next(worker, table, polled)
}

/// Puts a process back where it was, unless there is none, or it is over.
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

/// The process at `place` has come to its end, or, where it still has code, has killed itself or was killed by what it called.
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

/// The process at `place` is over.
pub(crate) fn over(worker: &mut Worker, table: &mut Table, place: Place, outcome: Result<Box<dyn Any + Send>, Killed>) {
    table.alive -= 1;
    match outcome {
        Ok(_) => table.ended += 1,
        Err(Killed) => table.killed += 1,
    }
    let process = &mut table.processes[place as usize];
    // A process with a result has left it there itself.
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

/// What the panic of a process says, with its name.
#[cold]
fn panicked(worker: &Worker, table: &Table, place: Place, panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let name = table.processes[place as usize].name;
    format!("in the process `{name}` of node {}: {}", worker.id.0, text.unwrap_or("with something that is no text"))
}
