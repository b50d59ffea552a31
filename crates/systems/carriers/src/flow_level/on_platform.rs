//! The methods of processes on a platform, beside sending messages: those of SimGrid's actors.

use super::FlowLevel;
use super::packet::{ChangeOfCall, Failure, Meeting, Name, Request, Semaphore};
use parades_core::digest::Payload;
use parades_core::time::Delay;
use parades_flow::network::{Execution, Transfer};
use parades_flow::platform::HostId;
use parades_program::{Call, Claim, Either, Node, Order, ProcessId, Program, Received, select};
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// A program whose nodes are on the hosts of a platform.
pub trait PlatformProgram: Program<Carrier = FlowLevel<<Self as Program>::Message>> {}

impl<M: Payload + Clone, P: Program<Message = M, Carrier = FlowLevel<M>>> PlatformProgram for P {}

/// The methods of processes on a platform, beside sending messages. Processes compute, use disks, meet
/// processes of other hosts, and end, suspend and watch them, as actors in SimGrid's S4U.
///
/// A method begins something at once, and its value is awaited for the end. So one method serves for
/// SimGrid's `put` and `put_async`. A value that is dropped before its end cancels it. So [`Node::within`] is
/// a wait with a timeout, and [`parades_program::any`] and [`parades_program::all`] wait for several.
///
/// Names of mailboxes, mutexes, semaphores, barriers and conditions hold in the whole run, and each is made
/// by its first use. Processes are served in the order in which they began to wait. Effects that take no time
/// happen at the same time, in a later round.
///
/// # Examples
///
/// Two processes compute on a host of one core of 1 Gflop/s. One then sends 10 MB through a mailbox:
///
/// ```
/// use parades_core::prelude::*;
/// use parades_carriers::{FlowLevel, OnPlatform};
/// use parades_flow::network_model::{MaxMinModel, NetworkModel};
/// use parades_program::{Node, Processes, Program, Start};
///
/// struct Work(FlowLevel<u64>); // a message is its number of bytes
///
/// impl Program for Work {
///     type Message = u64;
///     type State = Vec<f64>; // the times at which something was done
///     type Carrier = FlowLevel<u64>;
///     fn nodes(&self) -> u32 { 2 }
///     fn carrier(&self) -> &FlowLevel<u64> { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Vec<f64> {
///         let done = |node: Node<Work>| node.with(|here| { let now = here.now().as_secs_f64(); here.state.push(now) });
///         if start.id() == LpId(0) {
///             start.spawn("long", move |node| async move {
///                 node.compute(2e9).await.expect("the host works");
///                 done(node);
///             });
///             start.spawn("short", move |node| async move {
///                 node.compute(1e9).await.expect("the host works");
///                 node.mailbox("data").put(10_000_000).await.expect("it is got");
///                 done(node);
///             });
///         } else {
///             start.spawn("receiver", move |node| async move {
///                 assert_eq!(node.mailbox("data").get().await.map(|got| got.message), Ok(10_000_000));
///                 done(node);
///             });
///         }
///         Vec::new()
///     }
///     fn finish(&self, id: LpId, times: &Vec<f64>, _: &End, _: &mut Metrics) {
///         // The short one has half of the core for 2 s. Then 10 MB take 1 s and 1 ms.
///         assert_eq!(*times, if id == LpId(0) { vec![3.0, 3.001] } else { vec![3.001] });
///     }
/// }
///
/// let platform = parades_flow::xml::parse("two.xml".as_ref(), br#"<platform version="4.1"><zone id="w" routing="Full">
///     <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <link id="ab" bandwidth="10MBps" latency="1ms"/>
///     <route src="a" dst="b"><link_ctn id="ab"/></route></zone></platform>"#)?;
/// let model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
/// let flows = FlowLevel::new(platform.into(), model, 2, |&bytes| bytes as f64);
/// parades_engine::sequential::run(&Processes::new(Work(flows)), RunOptions::until(Time::from_secs(9)))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait OnPlatform<P: PlatformProgram>: Copy {
    /// Returns the host of the process.
    fn host(self) -> HostId;

    /// Returns the host of this name on the platform.
    fn host_named(self, name: &str) -> Option<HostId>;

    /// Computes `flops` flops on one core of the host.
    fn compute(self, flops: f64) -> Activity<P>;

    /// Computes on the host, with threads, a priority or a bound. A process may compute several things at a
    /// time.
    ///
    /// # Panics
    ///
    /// If a number is impossible ([`Execution::refusal`]).
    fn execute(self, execution: Execution) -> Activity<P>;

    /// Computes on another host, which the process does not leave.
    ///
    /// # Panics
    ///
    /// As [`OnPlatform::execute`].
    fn execute_on(self, host: HostId, execution: Execution) -> Activity<P>;

    /// Reads bytes from a disk of the host.
    ///
    /// # Panics
    ///
    /// If the host has no such disk, or the number is negative or not finite.
    fn read_disk(self, disk: &str, bytes: f64) -> Activity<P>;

    /// Writes bytes to a disk of the host.
    ///
    /// # Panics
    ///
    /// As [`OnPlatform::read_disk`].
    fn write_disk(self, disk: &str, bytes: f64) -> Activity<P>;

    /// Returns the mailbox of this name.
    fn mailbox(self, name: impl Into<Name>) -> Mailbox<P>;

    /// Returns the mutex of this name for processes of all hosts.
    fn shared_mutex(self, name: impl Into<Name>) -> SharedSemaphore<P>;

    /// Returns the semaphore of this name for processes of all hosts. It has `permits` permits at the start;
    /// another number for the same name is an error of the run.
    fn shared_semaphore(self, name: impl Into<Name>, permits: u32) -> SharedSemaphore<P>;

    /// Waits until `parties` processes of any hosts wait at the barrier of this name. Returns true in the
    /// process that came last. The barrier can be used again at once.
    ///
    /// # Panics
    ///
    /// If `parties` is zero.
    fn shared_barrier(self, name: impl Into<Name>, parties: u32) -> Call<bool>;

    /// Returns the condition of this name for processes of all hosts.
    fn shared_condition(self, name: impl Into<Name>) -> SharedCondition<P>;

    /// Ends a process of any node where it waits, as [`parades_program::Handle::kill`]. Its activities are
    /// cancelled, and its locks are free.
    fn kill(self, process: ProcessId);

    /// Suspends a process of any node until it is resumed. Its computations, transfers and messages of
    /// mailboxes make no progress, except detached messages. A sleep ends at its time, but the process goes
    /// on only when resumed.
    fn suspend(self, process: ProcessId);

    /// Lets a suspended process of any node go on. Activities that were suspended by themselves
    /// ([`Activity::suspend`]) stay so.
    fn resume(self, process: ProcessId);

    /// Waits until a process of any node is over. Does not wait if it is.
    fn join(self, process: ProcessId) -> Call<()>;

    /// Switches a host on or off.
    fn switch_host(self, host: HostId, works: bool);

    /// Sets the power state of a host: an index into its speeds.
    ///
    /// # Panics
    ///
    /// If the host has no such state.
    fn set_power_state(self, host: HostId, state: u32);
}

impl<P: PlatformProgram> OnPlatform<P> for Node<P> {
    #[track_caller]
    fn host(self) -> HostId {
        self.with_program(|program| program.carrier().host(self.id()))
    }

    #[track_caller]
    fn host_named(self, name: &str) -> Option<HostId> {
        self.with_program(|program| program.carrier().platform().host(name))
    }

    #[track_caller]
    fn compute(self, flops: f64) -> Activity<P> {
        self.execute(Execution::new(flops))
    }

    #[track_caller]
    fn execute(self, execution: Execution) -> Activity<P> {
        self.execute_on(self.host(), execution)
    }

    #[track_caller]
    fn execute_on(self, host: HostId, execution: Execution) -> Activity<P> {
        if let Some(why) = execution.refusal() {
            panic!("{why}");
        }
        Activity { node: self, call: self.call(Request::Compute(host, execution), "its computation") }
    }

    #[track_caller]
    fn read_disk(self, disk: &str, bytes: f64) -> Activity<P> {
        transfer(self, disk, Transfer::Read, bytes)
    }

    #[track_caller]
    fn write_disk(self, disk: &str, bytes: f64) -> Activity<P> {
        transfer(self, disk, Transfer::Write, bytes)
    }

    fn mailbox(self, name: impl Into<Name>) -> Mailbox<P> {
        Mailbox { node: self, name: name.into() }
    }

    fn shared_mutex(self, name: impl Into<Name>) -> SharedSemaphore<P> {
        SharedSemaphore { node: self, which: Semaphore::Mutex(name.into()) }
    }

    fn shared_semaphore(self, name: impl Into<Name>, permits: u32) -> SharedSemaphore<P> {
        SharedSemaphore { node: self, which: Semaphore::Permits(name.into(), permits) }
    }

    #[track_caller]
    fn shared_barrier(self, name: impl Into<Name>, parties: u32) -> Call<bool> {
        assert!(parties > 0, "a barrier is for one process at least");
        self.call(Request::Meet(Box::new(Meeting::Barrier(name.into(), parties))), "the others at a shared barrier")
    }

    fn shared_condition(self, name: impl Into<Name>) -> SharedCondition<P> {
        SharedCondition { node: self, name: name.into() }
    }

    #[track_caller]
    fn kill(self, process: ProcessId) {
        self.ask(Request::Order(process, Order::Kill));
    }

    #[track_caller]
    fn suspend(self, process: ProcessId) {
        self.ask(Request::Order(process, Order::Suspend));
    }

    #[track_caller]
    fn resume(self, process: ProcessId) {
        self.ask(Request::Order(process, Order::Resume));
    }

    #[track_caller]
    fn join(self, process: ProcessId) -> Call<()> {
        self.call(Request::Join(process), "the end of another process")
    }

    #[track_caller]
    fn switch_host(self, host: HostId, works: bool) {
        self.ask(Request::SetHost(host, works));
    }

    #[track_caller]
    fn set_power_state(self, host: HostId, state: u32) {
        let states = self.with_program(|program| program.carrier().platform().hosts()[host.0 as usize].speeds.len());
        assert!(
            (state as usize) < states,
            "the host has {states} power states, counted from 0, and so no state {state}"
        );
        self.ask(Request::SetPowerState(host, state));
    }
}

/// Begins a transfer of a disk.
#[track_caller]
fn transfer<P: PlatformProgram>(node: Node<P>, name: &str, transfer: Transfer, bytes: f64) -> Activity<P> {
    assert!(bytes >= 0.0 && bytes.is_finite(), "a disk cannot transfer {bytes} bytes");
    let disk = node.with_program(|program| {
        let (platform, host) = (program.carrier().platform(), program.carrier().host(node.id()));
        platform.disk(host, name).ok_or_else(|| platform.hosts()[host.0 as usize].name.clone())
    });
    match disk {
        Ok(disk) => Activity { node, call: node.call(Request::Disk(disk, transfer, bytes), "its disk") },
        Err(host) => panic!("the host `{host}` has no disk `{name}`: add a <disk> to it in the platform's file"),
    }
}

/// A computation, a transfer of a disk, or a message of a mailbox. Await it to wait for its end. If it is
/// dropped before, it is cancelled.
#[derive(Debug)]
#[must_use = "an activity that is dropped is cancelled"]
pub struct Activity<P: PlatformProgram> {
    node: Node<P>,
    call: Call<Result<(), Failure>>,
}

impl<P: PlatformProgram> Activity<P> {
    fn change(&self, change: ChangeOfCall) {
        if let Some(receipt) = self.call.receipt() {
            self.node.ask(Request::Change(receipt, change));
        }
    }

    /// Lets the activity make no progress until [`Activity::resume`]. A message that does not travel yet sets
    /// out only then.
    #[track_caller]
    pub fn suspend(&self) {
        self.change(ChangeOfCall::Suspend);
    }

    /// Lets the activity go on, unless its process is suspended.
    #[track_caller]
    pub fn resume(&self) {
        self.change(ChangeOfCall::Resume);
    }

    /// Changes the weight of a computation among those of its host.
    ///
    /// # Panics
    ///
    /// If the priority is not above zero and finite.
    #[track_caller]
    pub fn set_priority(&self, priority: f64) {
        assert!(priority > 0.0 && priority.is_finite(), "a computation cannot have the priority {priority}");
        self.change(ChangeOfCall::Priority(priority));
    }

    /// Changes the greatest rate, in flops or bytes per second; infinite for none.
    ///
    /// # Panics
    ///
    /// If the bound is not above zero.
    #[track_caller]
    pub fn set_bound(&self, bound: f64) {
        assert!(bound > 0.0, "an activity cannot have the bound {bound}");
        self.change(ChangeOfCall::Bound(bound));
    }

    /// Returns the remaining amount, in flops or bytes: 0 after the end, and for a message that does not
    /// travel yet.
    pub async fn remaining(&self) -> f64 {
        match self.call.receipt() {
            Some(receipt) => self.node.call::<f64>(Request::Remaining(receipt), "what is left of it").await,
            None => 0.0,
        }
    }

    /// Returns whether the activity has ended, so that awaiting it takes no time (SimGrid's `test`).
    #[track_caller]
    pub fn is_over(&self) -> bool {
        self.call.is_answered()
    }
}

impl<P: PlatformProgram> Future for Activity<P> {
    type Output = Result<(), Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Pin::new(&mut self.call).poll(context)
    }
}

/// A mailbox: a name at which a process that puts a message and one that gets it meet. The message sets out
/// when both are there, from the host of the one to that of the other.
#[derive(Clone, Debug)]
pub struct Mailbox<P: PlatformProgram> {
    node: Node<P>,
    name: Name,
}

impl<P: PlatformProgram> Mailbox<P> {
    /// Puts a message, whose bytes the carrier knows. The activity ends when the message has arrived.
    #[track_caller]
    pub fn put(&self, message: P::Message) -> Activity<P> {
        let request = Request::Put(self.name.clone(), message);
        Activity { node: self.node, call: self.node.call(request, "a message of a mailbox to arrive") }
    }

    /// Puts a message for whose arrival nobody waits (SimGrid's detached communications). It is independent
    /// of its process from then on: it travels although the process is suspended, or over.
    #[track_caller]
    pub fn put_detached(&self, message: P::Message) {
        self.node.ask(Request::Put(self.name.clone(), message));
    }

    /// Gets a message, and waits until it has arrived.
    #[track_caller]
    pub fn get(&self) -> Call<Result<Received<P::Message>, Failure>> {
        self.node.call(Request::Get(self.name.clone()), "a message of a mailbox")
    }

    /// Gets the message that was put first into this mailbox or one of the others, or that is put first if
    /// all are empty, and waits until it has arrived. Each of the mailboxes serves its gets in their order.
    #[track_caller]
    pub fn get_or_from(
        &self,
        others: impl IntoIterator<Item = Mailbox<P>>,
    ) -> Call<Result<Received<P::Message>, Failure>> {
        let names = std::iter::once(self.name.clone()).chain(others.into_iter().map(|other| other.name));
        self.node.call(Request::GetFirst(names.collect()), "a message of several mailboxes")
    }

    /// Makes the node of the process the receiver of all messages that are put from now on. These travel to
    /// the node at once, before a process gets them (SimGrid's `set_receiver`).
    #[track_caller]
    pub fn set_receiver(&self) {
        self.node.ask(Request::SetReceiver(self.name.clone()));
    }
}

/// A semaphore or mutex for processes of all hosts.
#[derive(Clone, Debug)]
pub struct SharedSemaphore<P: PlatformProgram> {
    node: Node<P>,
    which: Semaphore,
}

impl<P: PlatformProgram> SharedSemaphore<P> {
    /// Waits for a permit: of a mutex, its lock. It is returned when the value is dropped, also with its
    /// process.
    #[track_caller]
    pub fn acquire(&self) -> AcquireShared {
        let SharedSemaphore { node, which } = self;
        let call = node.call(
            Request::Meet(Box::new(Meeting::Acquire(which.clone(), true))),
            "a permit that processes of all hosts share",
        );
        AcquireShared { call, which: which.clone() }
    }

    /// Waits for a permit that is not returned with its process. Any process may [`SharedSemaphore::release`]
    /// it.
    pub async fn take(&self) {
        let request = Request::Meet(Box::new(Meeting::Acquire(self.which.clone(), false)));
        let _: bool = self.node.call(request, "a permit that processes of all hosts share").await;
    }

    /// Adds a permit, for the process that has waited longest. The release of a mutex that no process has
    /// taken ends the run with an error.
    #[track_caller]
    pub fn release(&self) {
        self.node.ask(Request::Meet(Box::new(Meeting::Release(self.which.clone()))));
    }
}

/// A wait for a permit that processes of all hosts share.
#[derive(Debug)]
#[must_use = "a permit is acquired only where that is awaited"]
pub struct AcquireShared {
    /// The answer is false after a wait at a condition that ended without a notification.
    call: Call<bool>,
    which: Semaphore,
}

impl AcquireShared {
    /// Polls the wait, for the permit and the answer.
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<(SharedPermit, bool)> {
        let receipt = self.call.receipt().expect("it is awaited once");
        let answer = ready!(Pin::new(&mut self.call).poll(context));
        Poll::Ready((SharedPermit { claim: Claim::of(receipt), which: self.which.clone() }, answer))
    }
}

impl Future for AcquireShared {
    type Output = SharedPermit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<SharedPermit> {
        self.poll_answer(context).map(|(permit, _)| permit)
    }
}

/// A permit, which is returned when this value is dropped.
#[derive(Debug)]
#[must_use = "a permit that is dropped is returned"]
pub struct SharedPermit {
    claim: Claim,
    which: Semaphore,
}

/// A condition at which processes of all hosts wait until they are notified.
#[derive(Clone)]
pub struct SharedCondition<P: PlatformProgram> {
    node: Node<P>,
    name: Name,
}

impl<P: PlatformProgram> fmt::Debug for SharedCondition<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedCondition").field(&self.name).finish()
    }
}

impl<P: PlatformProgram> SharedCondition<P> {
    /// Unlocks a mutex, waits for a notification, and locks the mutex again.
    #[track_caller]
    pub fn wait(&self, held: SharedPermit) -> AcquireShared {
        let SharedPermit { claim, which } = held;
        let (condition, mutex, held) = (self.name.clone(), which.clone(), claim.into_receipt());
        let call =
            self.node.call(Request::Meet(Box::new(Meeting::Wait { condition, mutex, held })), "a shared condition");
        AcquireShared { call, which }
    }

    /// Does the same as [`SharedCondition::wait`], for `patience` at most. Returns the lock, and whether the
    /// process was notified. A process that is notified in time waits for its mutex however long that takes.
    pub async fn wait_for(&self, held: SharedPermit, patience: Delay) -> (SharedPermit, bool) {
        let mut wait = self.wait(held);
        let wake = wait.call.receipt().expect("it has just begun");
        let answered = poll_fn(|context| wait.poll_answer(context));
        match select(pin!(answered), self.node.timer(patience)).await {
            Either::Left(answer) => return answer,
            Either::Right(()) => self.node.ask(Request::Meet(Box::new(Meeting::TimeIsOver(wake)))),
        }
        poll_fn(|context| wait.poll_answer(context)).await
    }

    /// Notifies the process that has waited longest.
    #[track_caller]
    pub fn notify_one(&self) {
        self.node.ask(Request::Meet(Box::new(Meeting::Notify(self.name.clone(), false))));
    }

    /// Notifies all processes that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        self.node.ask(Request::Meet(Box::new(Meeting::Notify(self.name.clone(), true))));
    }
}
