//! The lives of processes, as others end, suspend and watch them.

use crate::call::{Order, ProcessId};
use crate::carrier::Receipt;
use crate::context::Node;
use crate::desk::{Worker, with_parts};
use crate::program::Program;
use crate::spawn::kill;
use crate::table::{State, Table};
use crate::wait::Place;
use parades_core::event::LpId;
use std::pin::Pin;
use std::task::{Context, Poll};

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Its code came to its end.
    Returned,
    /// It was killed, by another process or with its host.
    Killed,
}

/// Code that runs when a process is over.
pub(crate) type AtExit = Box<dyn FnOnce(Exit) + Send>;

/// Carries out an order for a process of the node. The code of a killed process is dropped once the desk is
/// free.
pub(crate) fn obey(worker: &mut Worker, table: &mut Table, process: ProcessId, order: Order) {
    let ProcessId { place, serial, .. } = process;
    if table.process(place, serial).is_none_or(|process| process.state != State::Alive) {
        return;
    }
    match order {
        Order::Kill => {
            let code = kill(worker, table, place);
            worker.dropped.extend(code);
        }
        Order::Suspend => suspend(table, place, false),
        Order::Resume => resume(worker, table, place),
    }
}

/// Ends all processes of a node, whose host has failed.
pub(crate) fn kill_all(worker: &mut Worker, table: &mut Table) {
    for place in 0..u32::try_from(table.processes.len()).expect("places are u32") {
        let code = kill(worker, table, place);
        worker.dropped.extend(code);
    }
}

/// Registers the process of another node that waits for the end of a process here.
pub(crate) fn join(worker: &mut Worker, table: &mut Table, process: ProcessId, from: LpId, receipt: Receipt) {
    let ProcessId { place, serial, .. } = process;
    let is_over = table.process(place, serial).is_none_or(|process| matches!(process.state, State::Over | State::Free));
    match is_over {
        true => worker.ends.push((from, receipt)),
        false => table.rare().watchers.entry(place).or_default().push((from, receipt)),
    }
}

/// Lets those who wait for the end of a process know, and the code for its end run.
pub(crate) fn at_end(worker: &mut Worker, table: &mut Table, place: Place, exit: Exit) {
    let Some(rare) = table.rare_mut() else { return };
    if let Some(watchers) = rare.watchers.remove(&place) {
        worker.ends.extend(watchers);
    }
    if let Some(at_exit) = rare.at_exit.remove(&place) {
        worker.exits.extend(at_exit.into_iter().rev().map(|code| (exit, code)));
    }
}

/// Suspends the process at a place. `has_more` says that it is to go on as soon as it is resumed.
fn suspend(table: &mut Table, place: Place, has_more: bool) {
    let pause = &mut table.processes[place as usize].pause;
    *pause = if has_more || *pause == Pause::WithMore { Pause::WithMore } else { Pause::Suspended };
}

/// Lets the process at a place go on.
fn resume(worker: &mut Worker, table: &mut Table, place: Place) {
    let pause = &mut table.processes[place as usize].pause;
    if std::mem::take(pause) == Pause::WithMore {
        worker.ready(table, place);
    }
}

/// Whether a process is suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pause {
    /// It is not.
    #[default]
    Runs,
    /// It is.
    Suspended,
    /// It is, and the thing that it waited for has happened.
    WithMore,
}

/// A process that has suspended itself, until another resumes it.
#[derive(Debug)]
#[must_use = "a process is suspended only where it is awaited"]
pub struct SuspendSelf {
    has_begun: bool,
}

impl Future for SuspendSelf {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.has_begun {
            return Poll::Ready(());
        }
        self.has_begun = true;
        with_parts(|worker, table| {
            let number = table.rare().number_of("its being resumed");
            worker.waits(table, crate::wait::Wait::Named(number));
            suspend(table, worker.current, true);
        });
        Poll::Pending
    }
}

impl<P: Program> Node<P> {
    /// Suspends the process that calls, until another process resumes it.
    pub fn suspend_self(self) -> SuspendSelf {
        SuspendSelf { has_begun: false }
    }

    /// Runs code when the process that calls is over, whether it returns or is killed. Code that was given
    /// later runs first. Nothing runs for processes that are left at the end of the run.
    #[track_caller]
    pub fn on_exit(self, code: impl FnOnce(Exit) + Send + 'static) {
        with_parts(|worker, table| {
            let place = worker.current;
            table.rare().at_exit.entry(place).or_default().push(Box::new(code));
        });
    }

    /// Makes the process that calls a daemon, as one of [`Node::spawn_daemon`].
    #[track_caller]
    pub fn daemonize(self) {
        with_parts(|worker, table| {
            if let Some(process) = table.processes.get_mut(worker.current as usize) {
                process.is_daemon = true;
            }
        });
    }

    /// Waits until everything else that the node does at this instant has been done.
    #[track_caller]
    pub fn yield_now(self) -> crate::Sleep {
        self.sleep(parades_core::time::Delay::ZERO)
    }
}
