//! The desk of a worker thread: the place where processes find their node while they are polled.
//!
//! Futures hold no pointer to their node. During an event the node lies in a cell of the thread, where its
//! futures find it. The node is moved there and back by one pointer. So there is no lock, no count of
//! references and no allocation. Several simulations may run at a time, since each thread has its desk. A
//! simulation that runs inside a process of another has a desk of its own until it ends.

use crate::carrier::{Letter, PacketOf, PlanOf, Receipt};
use crate::life::{AtExit, Exit, Pause};
use crate::model::Inner;
use crate::program::Program;
use crate::table::{Code, State, Table};
use crate::wait::{Place, Ticket, Wait, Waiter};
use parades_core::event::LpId;
use parades_core::metrics::Sample;
use parades_core::random::Rng;
use parades_core::time::Instant;
use parades_raw::typed::Typed;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::panic::Location;
use std::sync::Arc;
use std::task::{Wake, Waker};

thread_local! {
    /// The desk of this thread, with a node on it while one of its processes is polled.
    static DESK: RefCell<Option<AnyDesk>> = const { RefCell::new(None) };
    /// Actions on a node that were requested while a closure used its desk. They are done after the closure.
    static LATER: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
    /// The instant of the event that this thread executes, for closures that use the desk and ask for it.
    static NOW: Cell<Instant> = const { Cell::new(Instant::START) };
    /// True if [`LATER`] has actions.
    static IS_LATE: Cell<bool> = const { Cell::new(false) };
}

/// The desk of a thread, for programs of any type.
pub(crate) struct AnyDesk {
    desk: Typed,
    parts: fn(&mut Typed) -> Option<(&mut Worker, &mut Table)>,
}

impl AnyDesk {
    #[cold]
    fn new<P: Program>(program: &Arc<P>, outer: Option<AnyDesk>) -> AnyDesk {
        let (program, outgoing, calls) = (Arc::clone(program), Vec::new(), Vec::new());
        let desk = Desk { program, worker: Worker::new(), node: None, outgoing, calls, outer };
        AnyDesk { desk: Typed::new(desk), parts: |desk| desk.get_mut::<Desk<P>>().and_then(Desk::parts) }
    }

    /// Returns the parts of the desk that do not depend on the program, if there is a node on it.
    #[inline]
    fn parts(&mut self) -> Option<(&mut Worker, &mut Table)> {
        (self.parts)(&mut self.desk)
    }

    /// Returns the desk, if it is that of the program `P`.
    #[inline(always)]
    fn of<P: Program>(&mut self) -> Option<&mut Desk<P>> {
        self.desk.get_mut()
    }
}

/// The desk of a thread that runs the program `P`.
pub(crate) struct Desk<P: Program> {
    pub(crate) program: Arc<P>,
    pub(crate) worker: Worker,
    pub(crate) node: Option<Box<Inner<P>>>,
    pub(crate) outgoing: Vec<Outgoing<P::Message, PlanOf<P>>>,
    /// The packets of [`Asked::Call`], in their order.
    pub(crate) calls: Vec<PacketOf<P>>,
    /// The desk of the outer simulation, if this simulation runs inside a process of another.
    pub(crate) outer: Option<AnyDesk>,
}

/// A message that goes out when the event is over.
pub(crate) struct Outgoing<M, P> {
    pub(crate) to: LpId,
    /// The name by which the sender waits for the message to arrive; 0 if the sender does not wait.
    pub(crate) ticket: Ticket,
    pub(crate) plan: P,
    pub(crate) message: M,
    /// The line that sent it, for an error.
    pub(crate) caller: &'static Location<'static>,
}

impl<M, P> Outgoing<M, P> {
    /// Returns the message as its carrier posts it. A sender that has stopped waiting needs no report.
    #[inline]
    pub(crate) fn into_letter(self, table: &Table) -> Letter<M, P> {
        let Outgoing { to, ticket, plan, message, .. } = self;
        let receipt = NonZeroU32::new(ticket).filter(|&ticket| table.awaits_delivery(ticket.get())).map(Receipt);
        Letter { to, receipt, plan, message }
    }
}

/// A request to the carrier other than a message. It goes out when the event is over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// The next packet of [`Desk::calls`] goes out.
    Call,
    /// The call or claim of this name was given up.
    GiveUp(Receipt),
    /// A process of this node has ended, and the call of another node waits for its end.
    End(LpId, Receipt),
}

/// The state of a thread that executes events, of any node.
pub(crate) struct Worker {
    pub(crate) now: Instant,
    /// A tie seed shuffles the events of this time.
    pub(crate) shuffles_ties: bool,
    pub(crate) id: LpId,
    pub(crate) nodes: u32,
    pub(crate) rng: Rng,
    /// The process that is being polled.
    pub(crate) current: Place,
    /// The address to which that process's waker points.
    pub(crate) own_waker: usize,
    /// True if the code that is being polled runs on a stack of its own, so that it can wait without `async`.
    pub(crate) stackful: bool,
    /// The first of the ready processes; `None` if there is none, and so between events.
    pub(crate) first_ready: Option<Place>,
    /// The other ready processes, in the order in which they became ready.
    ready: VecDeque<Place>,
    /// Wakers of other crates' combinators that must be called.
    pub(crate) foreign: Vec<Waker>,
    /// A waker for each place, the same for all nodes; `None` while the process at that place is polled.
    pub(crate) wakers: Vec<Option<Waker>>,
    /// The code of killed processes, which must be dropped at a place where its destructors can use the desk.
    pub(crate) dropped: Vec<Code>,
    /// The code that runs as processes are over, with how they ended.
    pub(crate) exits: Vec<(Exit, AtExit)>,
    /// The number of messages sent in this event.
    pub(crate) sent: u32,
    /// The requests of this event, each with the number of messages sent before it.
    pub(crate) asked: Vec<(u32, Asked)>,
    /// Measurements that are applied when the event is over.
    pub(crate) records: Vec<Sample>,
    pub(crate) notes: Vec<String>,
    pub(crate) failure: Option<String>,
}

impl Worker {
    pub(crate) fn new() -> Worker {
        Worker {
            now: Instant::START,
            shuffles_ties: false,
            id: LpId(0),
            nodes: 0,
            rng: Rng::stream(0, 0),
            current: 0,
            own_waker: 0,
            stackful: false,
            first_ready: None,
            ready: VecDeque::new(),
            foreign: Vec::new(),
            wakers: Vec::new(),
            dropped: Vec::new(),
            exits: Vec::new(),
            sent: 0,
            asked: Vec::new(),
            records: Vec::new(),
            notes: Vec::new(),
            failure: None,
        }
    }

    /// Puts a process into the queue of ready processes, unless it is there already.
    #[inline]
    pub(crate) fn ready(&mut self, table: &mut Table, place: Place) {
        if let Some(process) = table.processes.get_mut(place as usize)
            && process.state == State::Alive
            && !process.queued
        {
            if process.pause != Pause::Runs {
                process.pause = Pause::WithMore;
                return;
            }
            process.queued = true;
            if self.first_ready.is_none() {
                self.first_ready = Some(place);
            } else {
                self.ready.push_back(place);
            }
        }
    }

    /// Takes the next ready process.
    #[inline]
    pub(crate) fn pop_ready(&mut self) -> Option<Place> {
        let first = self.first_ready.take();
        if first.is_some() && !self.ready.is_empty() {
            self.first_ready = self.ready.pop_front();
        }
        first
    }

    /// Takes the waker of the process at a place.
    #[inline]
    pub(crate) fn take_waker(&mut self, place: Place) -> Waker {
        let waker = self.wakers.get_mut(place as usize).and_then(Option::take);
        waker.unwrap_or_else(|| self.new_waker(place))
    }

    #[cold]
    fn new_waker(&mut self, place: Place) -> Waker {
        if self.wakers.len() <= place as usize {
            self.wakers.resize(place as usize + 1, None);
        }
        Waker::from(Arc::new(ProcessWaker { place }))
    }

    /// Adds a request, which goes out after the messages and requests before it.
    pub(crate) fn ask(&mut self, asked: Asked) {
        self.asked.push((self.sent, asked));
    }

    /// Wakes a waiter.
    #[inline]
    pub(crate) fn wake(&mut self, table: &mut Table, waiter: Waiter) {
        self.ready(table, waiter.place);
        if let Some(waker) = waiter.waker {
            self.foreign.push(waker);
        }
    }

    /// Returns whether the processes have left measurements, notes or a failure.
    #[inline]
    pub(crate) fn has_records(&self) -> bool {
        !(self.records.is_empty() && self.notes.is_empty() && self.failure.is_none())
    }

    /// Returns whether other crates' wakers must be called, killed processes dropped, or code run at the end
    /// of one.
    #[inline]
    pub(crate) fn has_cleanup(&self) -> bool {
        !(self.foreign.is_empty() && self.dropped.is_empty() && self.exits.is_empty())
    }

    /// Records the reason for which the current process waits, for reports.
    #[inline]
    pub(crate) fn waits(&self, table: &mut Table, wait: Wait) {
        if let Some(process) = table.processes.get_mut(self.current as usize) {
            process.wait = wait;
        }
    }
}

impl<P: Program> Desk<P> {
    #[inline]
    fn parts(&mut self) -> Option<(&mut Worker, &mut Table)> {
        let node = self.node.as_deref_mut()?;
        Some((&mut self.worker, &mut node.table))
    }
}

const OUTSIDE: &str = "a node was used outside of its processes, or inside a closure that holds the state of the node: use it \
                       in the process itself";

/// Gives access to this thread's desk. It uses `try_with`, which is inlined, unlike `with`.
#[inline(always)]
fn with_cell<T>(act: impl FnOnce(&RefCell<Option<AnyDesk>>) -> T) -> T {
    DESK.try_with(act).unwrap_or_else(|gone| panic!("{gone}"))
}

/// Ends the process, because it used its node where it cannot. The caller's line is that of the process.
#[cold]
#[inline(never)]
#[track_caller]
fn refuse() -> ! {
    panic!("{OUTSIDE}")
}

/// Sets the instant of the event that this thread executes.
#[inline]
pub(crate) fn set_instant(worker: &mut Worker, now: Instant) {
    worker.now = now;
    NOW.set(now);
}

/// Returns the instant of the event of which a process is being polled, even inside of a closure that uses
/// the desk.
#[inline]
#[track_caller]
pub(crate) fn instant() -> Instant {
    let now = with_cell(|desk| match desk.try_borrow_mut() {
        Ok(mut desk) => desk.as_mut().and_then(AnyDesk::parts).map(|(worker, _)| worker.now),
        Err(_) => Some(NOW.get()),
    });
    match now {
        Some(now) => now,
        None => refuse(),
    }
}

/// Acts on the node of the process that is being polled, whatever its program.
#[inline]
#[track_caller]
pub(crate) fn with_parts<T>(act: impl FnOnce(&mut Worker, &mut Table) -> T) -> T {
    match try_with_parts(act) {
        Some(given) => given,
        None => refuse(),
    }
}

/// Does the same as [`with_parts`]; returns `None` if no process is being polled.
#[inline]
pub(crate) fn try_with_parts<T>(act: impl FnOnce(&mut Worker, &mut Table) -> T) -> Option<T> {
    with_cell(|desk| {
        let mut desk = desk.try_borrow_mut().ok()?;
        let (worker, table) = desk.as_mut()?.parts()?;
        Some(act(worker, table))
    })
}

/// Does the same as [`try_with_parts`], for destructors and wakers, which cannot choose when they are called.
/// If a closure uses the desk, `act` is called after the closure. The result of `act` is dropped when the
/// desk is free, so its destructor may use the desk.
#[inline]
pub(crate) fn now_or_later<T>(act: impl FnOnce(&mut Worker, &mut Table) -> T + 'static) {
    let _given = with_cell(|cell| {
        let Ok(mut desk) = cell.try_borrow_mut() else {
            later(act);
            return None;
        };
        let (worker, table) = desk.as_mut()?.parts()?;
        Some(act(worker, table))
    });
}

#[cold]
fn later<T>(act: impl FnOnce(&mut Worker, &mut Table) -> T + 'static) {
    IS_LATE.set(true);
    LATER.with_borrow_mut(|later| later.push(Box::new(move || drop(try_with_parts(act)))));
}

/// Does the actions that were requested while a closure used the desk.
#[cold]
fn catch_up() {
    IS_LATE.set(false);
    for act in LATER.take() {
        act();
    }
}

/// Acts on the node by a closure that may be the user's. Values that the closure drops, and processes that it
/// wakes, are handled afterwards.
#[inline]
#[track_caller]
pub(crate) fn with_desk<P: Program, T>(act: impl FnOnce(&mut Desk<P>) -> T) -> T {
    let given = with_cell(|desk| Some(act(desk.try_borrow_mut().ok()?.as_mut().and_then(AnyDesk::of)?)));
    if IS_LATE.get() {
        catch_up();
    }
    match given {
        Some(given) => given,
        None => refuse(),
    }
}

/// Takes this thread's desk, for another thread.
pub(crate) fn lend() -> Option<AnyDesk> {
    DESK.take()
}

/// Makes the desk of another thread this thread's desk.
pub(crate) fn borrow(mut desk: Option<AnyDesk>) {
    if let Some((worker, _)) = desk.as_mut().and_then(AnyDesk::parts) {
        NOW.set(worker.now);
    }
    DESK.set(desk);
}

/// Prepares this thread's desk for a node. The desk of another program is replaced. A desk in use is set
/// aside until [`leave`].
#[inline]
pub(crate) fn take_up<P: Program, T>(program: &Arc<P>, act: impl FnOnce(&mut Desk<P>) -> T) -> T {
    with_cell(|cell| {
        let mut slot = cell.borrow_mut();
        let is_it = |desk: &&mut Desk<P>| desk.node.is_none() && Arc::ptr_eq(&desk.program, program);
        if slot.as_mut().and_then(AnyDesk::of).filter(is_it).is_none() {
            let outer = slot.take().and_then(|mut outer| outer.parts().is_some().then_some(outer));
            *slot = Some(AnyDesk::new(program, outer));
        }
        act(slot.as_mut().and_then(AnyDesk::of).expect("it was just put there"))
    })
}

/// Puts back the desk that was set aside for this one.
#[cold]
pub(crate) fn leave<P: Program>() {
    if let Some(outer) = with_desk::<P, _>(|desk| desk.outer.take()) {
        borrow(Some(outer));
    }
}

/// Wakes the process at a place of the node that is on the desk.
struct ProcessWaker {
    place: Place,
}

impl Wake for ProcessWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        let place = self.place;
        now_or_later(move |worker, table| worker.ready(table, place));
    }
}
