//! The lives of processes, as others end, suspend and watch them.

use crate::call::{Order, ProcessId};
use crate::carrier::Receipt;
use crate::context::{Node, Start};
use crate::desk::{Asked, Worker, now_or_later, with_parts};
use crate::program::Program;
use crate::sleep::{Sleep, TIMEOUT, WAIT};
use crate::spawn::kill;
use crate::table::{State, Table};
use crate::wait::{Place, Ticket, Waiter};
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

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

/// Registers the process of another node that waits for the end of a process here.
pub(crate) fn join(worker: &mut Worker, table: &mut Table, process: ProcessId, from: LpId, receipt: Receipt) {
    let ProcessId { place, serial, .. } = process;
    let is_over = table.process(place, serial).is_none_or(|process| matches!(process.state, State::Over | State::Free));
    match is_over {
        true => worker.ask(Asked::End(from, receipt)),
        false => table.rare().watchers.entry(place).or_default().push((from, receipt)),
    }
}

/// Tells the calls that wait for the end of a process, lets the code for its end run, and ends its wait to be
/// killed.
pub(crate) fn at_end(worker: &mut Worker, table: &mut Table, place: Place, exit: Exit) {
    let Some(rare) = table.rare_mut() else { return };
    if let Some(watchers) = rare.watchers.remove(&place) {
        watchers.into_iter().for_each(|(from, receipt)| worker.ask(Asked::End(from, receipt)));
    }
    if let Some(at_exit) = rare.at_exit.remove(&place) {
        worker.exits.extend(at_exit.into_iter().rev().map(|code| (exit, code)));
    }
    if let Some((time, ticket)) = rare.kills.remove(&place) {
        table.wake_early(TIMEOUT, time, ticket);
    }
}

/// A process that begins, or is killed, when this waker is called.
#[derive(Clone, Copy, Debug)]
struct AtTime {
    place: Place,
    serial: u32,
    is_begin: bool,
}

impl AtTime {
    /// Sets the clock. Returns the name of the wait.
    fn set(self, table: &mut Table, time: Time) -> Ticket {
        let ticket = table.ticket();
        let clock = if self.is_begin { WAIT } else { TIMEOUT };
        // No process is at the place that this waiter has, so nothing but the waker is woken.
        let waiter = Waiter { place: Place::MAX, ticket, waker: Some(Waker::from(Arc::new(self))) };
        table.sleep(clock, time, waiter);
        ticket
    }
}

impl Wake for AtTime {
    fn wake(self: Arc<Self>) {
        let AtTime { place, serial, is_begin } = *self;
        now_or_later(move |worker, table| {
            let process = table.process(place, serial)?;
            if !is_begin {
                table.rare().kills.remove(&place);
                return kill(worker, table, place);
            }
            process.state = State::Alive;
            worker.ready(table, place);
            None
        });
    }
}

/// Suspends the process at a place. With `has_more`, the process goes on as soon as it is resumed.
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

/// The suspension of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The process is not suspended.
    #[default]
    Runs,
    /// The process is suspended.
    Suspended,
    /// The process is suspended, and its wait is over.
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

    /// Lets the other processes of the node that can go on now do so first. The process goes on at the same
    /// time, in the next round: the same as [`Node::sleep`] for [`Delay::ZERO`]. Answers to messages and
    /// calls of this event may come later.
    #[track_caller]
    pub fn yield_now(self) -> Sleep {
        self.sleep(Delay::ZERO)
    }
}

impl<P: Program> Start<'_, P> {
    /// Begins a process of the node at the time `begin`, or now if that is past. Before, the process does not
    /// exist: it is in no result, and a failure of its host does not end it. Returns its name.
    ///
    /// ```
    /// use parades_carriers::Constant;
    /// use parades_core::prelude::*;
    /// use parades_program::{Processes, Program, Start};
    ///
    /// /// Counts seconds, from 2 s to 4.5 s.
    /// struct Counts(Constant);
    ///
    /// impl Program for Counts {
    ///     type Message = ();
    ///     type State = u32;
    ///     type Carrier = Constant;
    ///     fn nodes(&self) -> u32 { 1 }
    ///     fn carrier(&self) -> &Constant { &self.0 }
    ///     fn start(&self, start: &mut Start<'_, Self>) -> u32 {
    ///         let counts = start.spawn_at(Time::from_secs(2), "counts", |node| async move {
    ///             loop {
    ///                 node.sleep(Delay::from_secs(1)).await;
    ///                 node.with_state(|count| *count += 1);
    ///             }
    ///         });
    ///         start.kill_at(counts, Time::from_ms(4500));
    ///         0
    ///     }
    ///     fn finish(&self, _: LpId, count: &u32, _: &End, _: &mut Metrics) {
    ///         assert_eq!(*count, 2);
    ///     }
    /// }
    ///
    /// let model = Processes::new(Counts(Constant::new(Delay::ZERO)));
    /// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_secs(9)))?;
    /// assert_eq!(outcome.metrics.get("processes_killed").and_then(|killed| killed.counter()), Some(1));
    /// # Ok::<(), parades_core::error::Error>(())
    /// ```
    pub fn spawn_at<F>(&mut self, begin: Time, name: &'static str, process: impl FnOnce(Node<P>) -> F) -> ProcessId
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (node, is_late) = (self.id(), begin > self.now());
        let place = self.begin(name, process, !is_late);
        let table = self.table_mut();
        let process = &mut table.processes[place as usize];
        let serial = process.serial;
        if is_late {
            process.state = State::Late;
            AtTime { place, serial, is_begin: true }.set(table, begin);
        }
        ProcessId { node, place, serial }
    }

    /// Kills a process of the node at a time, unless it is over then. Does nothing if the time is not after
    /// now.
    pub fn kill_at(&mut self, process: ProcessId, time: Time) {
        let ProcessId { place, serial, .. } = process;
        let is_future = time > self.now();
        let table = self.table_mut();
        if is_future && table.process(place, serial).is_some() {
            let ticket = AtTime { place, serial, is_begin: false }.set(table, time);
            if let Some((earlier, old)) = table.rare().kills.insert(place, (time, ticket)) {
                table.wake_early(TIMEOUT, earlier, old);
            }
        }
    }
}
