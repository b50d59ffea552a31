//! The node, as its processes see it.

use crate::carrier::Timed;
use crate::delivery::{Delivery, HostIs};
use crate::desk::{Outgoing, instant, with_desk, with_parts};
use crate::here::Here;
use crate::model::Inner;
use crate::program::{Program, Received};
use crate::receive::{Pick, Receive};
use crate::serve::Serve;
use crate::sleep::{Sleep, TIMEOUT, WAIT};
use crate::spawn::{Handle, code};
use crate::sync::{Barrier, Condition, Mutex, Semaphore};
use crate::table::Table;
use crate::wait::{Place, Waiter};
use parades_core::event::LpId;
use parades_core::metrics::{CounterId, FloatId, IntegerId, Sample};
use parades_core::random::Rng;
use parades_core::time::{Delay, Instant, Time};
use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::panic::Location;

/// The node to which a process belongs, as the process sees it. Copy it wherever it is needed.
///
/// Only the node's own processes can use this value, while they are polled. Elsewhere its methods panic.
/// Those that act at once name the line that called them.
///
/// An id of a metric of another kind does not compile:
///
/// ```compile_fail,E0277
/// use parades_core::prelude::*;
/// use parades_program::{Node, Program};
///
/// const METRICS: Declared<1> = Declared::new([Declaration::tally("wait", Unit::Picoseconds)]);
/// const WAIT: IntegerId = METRICS.integer("wait");
///
/// fn arrive(node: Node<impl Program>) {
///     node.count(WAIT, 1);
/// }
/// ```
pub struct Node<P> {
    id: LpId,
    nodes: u32,
    program: PhantomData<fn() -> P>,
}

impl<P> Clone for Node<P> {
    fn clone(&self) -> Node<P> {
        *self
    }
}
impl<P> Copy for Node<P> {}
impl<P> fmt::Debug for Node<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(&self.id.0).finish()
    }
}

impl<P: Program> Node<P> {
    pub(crate) fn new(id: LpId, nodes: u32) -> Node<P> {
        Node { id, nodes, program: PhantomData }
    }

    /// Returns the node's id.
    #[inline]
    pub fn id(self) -> LpId {
        self.id
    }

    /// Returns the number of nodes.
    #[inline]
    pub fn nodes(self) -> u32 {
        self.nodes
    }

    /// Returns the virtual time.
    #[inline]
    #[track_caller]
    pub fn now(self) -> Time {
        self.instant().time
    }

    /// Returns the virtual time with its round.
    #[inline]
    #[track_caller]
    pub fn instant(self) -> Instant {
        instant()
    }

    /// Draws one of the nodes, each with the same probability, from the node's random stream.
    #[track_caller]
    pub fn random_node(self) -> LpId {
        let nodes = u64::from(self.nodes);
        #[expect(clippy::cast_possible_truncation, reason = "below the number of nodes")]
        LpId(self.random(|rng| rng.below(nodes)) as u32)
    }

    /// Draws from the node's random stream. The closure may ask the node for its id, the number of nodes and
    /// the time; nothing else of the node can be used inside it.
    #[inline]
    #[track_caller]
    pub fn random<T>(self, draw: impl FnOnce(&Rng) -> T) -> T {
        self.with(|here| draw(here.rng()))
    }

    /// Sends a message to a node, which may be the node itself. The message sets out at once. Await the
    /// returned [`Delivery`] to wait until the message has arrived, or has failed.
    #[inline]
    #[track_caller]
    pub fn send(self, to: LpId, message: P::Message) -> Delivery {
        let caller = Location::caller();
        with_desk::<P, _>(|desk| {
            let (mut here, table) = Here::on(desk);
            here.actions.post(to, message, table, caller)
        })
    }

    /// Sends a message so that it arrives after `delay`, independent of all other messages. A delay below the
    /// channel's lookahead is an error of the run.
    #[track_caller]
    pub fn send_after(self, to: LpId, delay: Delay, message: P::Message)
    where
        P::Carrier: Timed<P::Message>,
    {
        let (plan, caller) = (P::Carrier::after(delay), Location::caller());
        with_desk::<P, _>(|desk| {
            desk.worker.sent += 1;
            desk.outgoing.push(Outgoing { to, ticket: 0, plan, message, caller });
        });
    }

    /// Waits for `delay` of virtual time. With [`Delay::ZERO`], the process goes on in the next round of this
    /// time, after the other processes of the node that can go on now.
    #[inline]
    #[track_caller]
    pub fn sleep(self, delay: Delay) -> Sleep {
        Sleep::until(self.now().checked_add(delay), WAIT)
    }

    /// Waits until a time. Does not wait if the time is past.
    #[inline]
    pub fn sleep_until(self, time: Time) -> Sleep {
        Sleep::until(Some(time), WAIT)
    }

    /// Returns a sleep that is probably dropped before its time. It does the same as [`Node::sleep`], and
    /// costs less where timeouts are set and dropped again and again.
    #[inline]
    #[track_caller]
    pub fn timer(self, delay: Delay) -> Sleep {
        Sleep::until(self.now().checked_add(delay), TIMEOUT)
    }

    /// Waits for a message. Messages are received in the order of their arrival. If several processes wait,
    /// the first to wait is served first.
    #[inline]
    pub fn receive(self) -> Receive<P> {
        Receive::new(Pick::Any)
    }

    /// Waits for a message that the test picks. Other messages stay in the inbox.
    pub fn receive_where(self, picks: impl Fn(&Received<P::Message>) -> bool + Send + 'static) -> Receive<P> {
        Receive::new(Pick::Some(Box::new(picks)))
    }

    /// Takes the first message from the inbox, if there is one.
    #[inline]
    #[track_caller]
    pub fn try_receive(self) -> Option<Received<P::Message>> {
        with_desk::<P, _>(|desk| inner(desk.node.as_deref_mut()).inbox.pop())
    }

    /// Waits for a message, for `patience` at most.
    #[inline]
    #[track_caller]
    pub fn receive_within(self, patience: Delay) -> impl Future<Output = Option<Received<P::Message>>> + Send {
        let mut timer = self.timer(patience);
        async move { self.receive_before(&mut timer).await }
    }

    /// Waits for a message until `timer` is over. One timer can be used for several messages.
    #[inline]
    #[track_caller]
    pub fn receive_before(self, timer: &mut Sleep) -> crate::receive::ReceiveBefore<'_, P> {
        crate::receive::ReceiveBefore { receive: self.receive(), timer }
    }

    /// Waits for a future, for `patience` at most. Then the future is dropped.
    pub async fn within<F: Future>(self, patience: Delay, future: F) -> Option<F::Output> {
        match crate::select::select(future, self.timer(patience)).await {
            crate::select::Either::Left(output) => Some(output),
            crate::select::Either::Right(()) => None,
        }
    }

    /// Begins another process of the node. It runs after the processes that are ready now.
    #[track_caller]
    pub fn spawn<F>(self, name: &'static str, process: impl FnOnce(Node<P>) -> F) -> Handle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let code = code(process(self));
        with_parts(|worker, table| {
            let (place, serial) = table.add(name, code, true);
            worker.ready(table, place);
            Handle::new(place, serial)
        })
    }

    /// Begins a process that serves the node's other processes, as [`Node::spawn`]. That it waits forever is
    /// no deadlock, and no error of a program whose processes must end.
    #[track_caller]
    pub fn spawn_daemon<F>(self, name: &'static str, process: impl FnOnce(Node<P>) -> F) -> Handle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let handle = self.spawn(name, process);
        with_parts(|_, table| handle.make_daemon(table));
        handle
    }

    /// Reads or changes the state that the node's processes share. The closure may ask the node for its id,
    /// the number of nodes and the time; nothing else of the node can be used inside it. [`Node::with`]
    /// offers more.
    #[inline]
    #[track_caller]
    pub fn with_state<T>(self, act: impl FnOnce(&mut P::State) -> T) -> T {
        self.with(|here| act(here.state))
    }

    /// Reads the program's constants, as [`Node::with_state`] reads the state.
    #[inline]
    #[track_caller]
    pub fn with_program<T>(self, read: impl FnOnce(&P) -> T) -> T {
        self.with(|here| read(here.program))
    }

    /// Does several things to the node at once, so that the node is looked up only once. Permits, sleeps and
    /// handles that the closure drops, and processes that it wakes, are handled after the closure has
    /// returned.
    #[inline(always)]
    #[track_caller]
    pub fn with<T>(self, act: impl FnOnce(&mut Here<'_, P>) -> T) -> T {
        with_desk::<P, _>(|desk| act(&mut Here::on(desk).0))
    }

    /// Waits for messages, and calls `serve` with each message until `serve` breaks with a value.
    #[inline]
    pub fn serve<T, F>(self, serve: F) -> Serve<P, F>
    where
        F: FnMut(&mut Here<'_, P>, Received<P::Message>) -> ControlFlow<T>,
    {
        Serve::new(serve)
    }

    /// Ends all other processes of the node, as [`Handle::kill`] does. Together with [`Node::disconnect`]
    /// this is a crash of the node.
    #[track_caller]
    pub fn kill_others(self) {
        crate::spawn::kill_others();
    }

    /// Disconnects the node, which has crashed or is switched off. From now on no message reaches it. The
    /// messages in its inbox are lost.
    #[track_caller]
    pub fn disconnect(self) {
        with_desk::<P, _>(|desk| {
            let node = inner(desk.node.as_deref_mut());
            node.table.online = false;
            node.lost += node.inbox.len() as u64;
            node.inbox.clear();
        });
    }

    /// Connects the node again, so that messages reach it.
    #[track_caller]
    pub fn connect(self) {
        with_parts(|_, table| table.online = true);
    }

    /// Returns whether the node's host works. On a platform, hosts may fail and come back. No message reaches
    /// or leaves a host that has failed.
    #[track_caller]
    pub fn host_works(self) -> bool {
        with_parts(|_, table| table.works)
    }

    /// Waits until the node's host fails. Does not wait if the host has failed.
    pub fn until_host_fails(self) -> HostIs {
        HostIs::new(false)
    }

    /// Waits until the node's host works. Does not wait if the host works.
    pub fn until_host_works(self) -> HostIs {
        HostIs::new(true)
    }

    /// Adds to a counter.
    #[inline]
    #[track_caller]
    pub fn count(self, counter: impl Into<CounterId>, amount: u64) {
        self.record(Sample::integer(counter.into().into(), amount));
    }

    /// Records one observation of an integer metric.
    #[inline]
    #[track_caller]
    pub fn observe(self, metric: impl Into<IntegerId>, value: u64) {
        self.record(Sample::integer(metric.into().into(), value));
    }

    /// Records one observation of a floating-point metric.
    #[track_caller]
    pub fn observe_float(self, metric: impl Into<FloatId>, value: f64) {
        self.record(Sample::float(metric.into().into(), value));
    }

    #[inline]
    #[track_caller]
    fn record(self, sample: Sample) {
        with_parts(|worker, _| worker.records.push(sample));
    }

    /// Adds a line to the trace of the event that is being executed.
    #[track_caller]
    pub fn note(self, text: impl Into<String>) {
        let text = text.into();
        with_parts(|worker, _| worker.notes.push(text));
    }

    /// Ends the run with an error: the program cannot go on.
    #[track_caller]
    pub fn fail(self, why: impl Into<String>) {
        let why = why.into();
        with_parts(|worker, _| {
            worker.failure.get_or_insert(why);
        });
    }

    /// Makes a mutex for the processes of the node.
    pub fn mutex(self) -> Mutex {
        Mutex::new()
    }

    /// Makes a semaphore with `permits` permits for the processes of the node.
    pub fn semaphore(self, permits: u32) -> Semaphore {
        Semaphore::new(permits)
    }

    /// Makes a barrier at which `parties` processes of the node meet.
    pub fn barrier(self, parties: u32) -> Barrier {
        Barrier::new(parties)
    }

    /// Makes a condition for the processes of the node.
    pub fn condition(self) -> Condition {
        Condition::new()
    }
}

#[inline]
pub(crate) fn inner<P: Program>(node: Option<&mut Inner<P>>) -> &mut Inner<P> {
    node.expect("a process runs only while its node is on the desk")
}

/// A node that starts up.
pub struct Start<'a, P> {
    node: Node<P>,
    now: Time,
    rng: &'a Rng,
    table: &'a mut Table,
}

impl<P: Program> fmt::Debug for Start<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Start").field(&self.node).finish()
    }
}

impl<'a, P: Program> Start<'a, P> {
    pub(crate) fn new(node: Node<P>, now: Time, rng: &'a Rng, table: &'a mut Table) -> Start<'a, P> {
        Start { node, now, rng, table }
    }

    /// Returns the virtual time: zero, or the time at which the node's host works again.
    pub fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn table_mut(&mut self) -> &mut Table {
        self.table
    }

    /// Returns the node's id.
    pub fn id(&self) -> LpId {
        self.node.id
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.node.nodes
    }

    /// Returns the node's random stream.
    pub fn rng(&mut self) -> &Rng {
        self.rng
    }

    /// Begins a process of the node, now. Processes begin in the order in which they are spawned.
    pub fn spawn<F>(&mut self, name: &'static str, process: impl FnOnce(Node<P>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.begin(name, process, true);
    }

    /// Begins a process that serves the node's other processes, as [`Node::spawn_daemon`].
    pub fn spawn_daemon<F>(&mut self, name: &'static str, process: impl FnOnce(Node<P>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let place = self.begin(name, process, true);
        self.table.processes[place as usize].is_daemon = true;
    }

    /// Adds a process to the table, and wakes it now if `begins`.
    pub(crate) fn begin<F>(&mut self, name: &'static str, process: impl FnOnce(Node<P>) -> F, begins: bool) -> Place
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (place, _) = self.table.add(name, Box::pin(process(self.node)), false);
        if begins {
            let ticket = self.table.ticket();
            self.table.sleep(WAIT, self.now, Waiter { place, ticket, waker: None });
        }
        place
    }
}
