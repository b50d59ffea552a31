//! What a process may do.

use crate::desk::{Desk, Outgoing, Record, Worker, with_desk, with_parts};
use crate::inbox::Inbox;
use crate::model::{Inner, Program, Received};
use crate::network::{Carries, HostIs, SendingOf, WayOf};
use crate::receive::{Pick, Receive};
use crate::serve::Serve;
use crate::sleep::{Sleep, TIMEOUT, WAIT};
use crate::spawn::{Handle, code};
use crate::sync::{Barrier, Condition, Mutex, Semaphore};
use crate::table::Table;
use crate::wait::Waiter;
use parades_core::event::LpId;
use parades_core::metrics::MetricId;
use parades_core::random::Rng;
use parades_core::time::{Delay, Instant, Time};
use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;

/// The node to which a process belongs, as the process sees it. Copy it wherever it is needed.
///
/// It can be used by the node's own processes alone, while they are polled: elsewhere its methods panic.
pub struct Node<P> {
    id: LpId,
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
    pub(crate) fn new(id: LpId) -> Node<P> {
        Node { id, program: PhantomData }
    }

    /// Which node it is.
    #[inline]
    pub fn id(self) -> LpId {
        self.id
    }

    /// How many nodes there are.
    pub fn nodes(self) -> u32 {
        with_parts(|worker, _| worker.nodes)
    }

    /// The virtual time.
    #[inline]
    pub fn now(self) -> Time {
        with_parts(|worker, _| worker.now.time)
    }

    /// The virtual time with its round.
    pub fn instant(self) -> Instant {
        with_parts(|worker, _| worker.now)
    }

    /// Draws from the node's random stream.
    #[inline]
    pub fn random<T>(self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        self.with(|here| draw(here.rng()))
    }

    /// Sends a message to a node, itself perhaps. It is on its way at once; who awaits what is returned goes on when the message has arrived:
    /// [`Sending`], or in a shared network [`crate::Delivery`], which tells of messages that fail.
    #[inline]
    pub fn send(self, to: LpId, message: P::Message) -> SendingOf<P> {
        with_desk::<P, _>(|desk| {
            let (mut here, table) = Here::on(desk);
            let now = here.now();
            let mut way = here.way(to, &message);
            let sending = P::Network::sending(now, &mut way, table);
            here.outgoing.push(Outgoing { to, way, message });
            sending
        })
    }

    /// Sends a message so that it arrives after `delay`, whatever the network. That must not be less than the channel's lookahead.
    pub fn send_after(self, to: LpId, delay: Delay, message: P::Message) {
        let way = P::Network::after(delay);
        with_desk::<P, _>(|desk| desk.outgoing.push(Outgoing { to, way, message }));
    }

    /// Waits for `delay` of virtual time. With [`Delay::ZERO`], what else the node does at this instant comes first.
    #[inline]
    pub fn sleep(self, delay: Delay) -> Sleep {
        Sleep::until(self.now().checked_add(delay), WAIT)
    }

    /// Waits until a time, or for no time if it is past.
    #[inline]
    pub fn sleep_until(self, time: Time) -> Sleep {
        Sleep::until(Some(time), WAIT)
    }

    /// A sleep that will probably be dropped before its time. It does the same as [`Node::sleep`]; timeouts that are set and dropped again and again
    /// cost less in this form.
    #[inline]
    pub fn timer(self, delay: Delay) -> Sleep {
        Sleep::until(self.now().checked_add(delay), TIMEOUT)
    }

    /// Waits for a message; those that have come are received in their order. Several processes are served in the order in which they began to wait.
    #[inline]
    pub fn receive(self) -> Receive<P> {
        Receive::new(Pick::Any)
    }

    /// Waits for a message that the test picks; others are left where they are.
    pub fn receive_where(self, picks: impl Fn(&Received<P::Message>) -> bool + Send + 'static) -> Receive<P> {
        Receive::new(Pick::Some(Box::new(picks)))
    }

    /// Takes the first message that has come, if there is one.
    #[inline]
    pub fn try_receive(self) -> Option<Received<P::Message>> {
        with_desk::<P, _>(|desk| inner(desk.node.as_deref_mut()).inbox.pop())
    }

    /// Waits for a message, but not for longer than `patience`.
    #[inline]
    pub fn receive_within(self, patience: Delay) -> impl Future<Output = Option<Received<P::Message>>> + Send {
        let mut timer = self.timer(patience);
        async move { self.receive_before(&mut timer).await }
    }

    /// Waits for a message until `timer` is over; a timer can be used for several.
    #[inline]
    pub fn receive_before(self, timer: &mut Sleep) -> crate::receive::ReceiveBefore<'_, P> {
        crate::receive::ReceiveBefore { receive: self.receive(), timer }
    }

    /// Waits for a future, but not for longer than `patience`: the future is then dropped.
    pub async fn within<F: Future>(self, patience: Delay, future: F) -> Option<F::Output> {
        match crate::select::select(future, self.timer(patience)).await {
            crate::select::Either::Left(output) => Some(output),
            crate::select::Either::Right(()) => None,
        }
    }

    /// Begins another process of the node. It runs after the processes that are ready now.
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

    /// Reads or changes what the processes of the node share. Nothing else of the node can be used inside the closure; [`Node::with`] offers more.
    #[inline]
    pub fn with_state<T>(self, act: impl FnOnce(&mut P::State) -> T) -> T {
        self.with(|here| act(here.state))
    }

    /// Reads the program's constants. Nothing else of the node can be used inside the closure; [`Node::with`] offers more.
    #[inline]
    pub fn with_program<T>(self, read: impl FnOnce(&P) -> T) -> T {
        self.with(|here| read(here.program))
    }

    /// Does several things to the node at once, for which it must be found only once. What the closure drops (permits, sleeps, handles) and whom it wakes is
    /// dealt with when it is over.
    #[inline(always)]
    pub fn with<T>(self, act: impl FnOnce(&mut Here<'_, P>) -> T) -> T {
        with_desk::<P, _>(|desk| act(&mut Here::on(desk).0))
    }

    /// Waits for messages and has `serve` deal with each that comes, until that breaks with a value.
    #[inline]
    pub fn serve<T, F>(self, serve: F) -> Serve<P, F>
    where
        F: FnMut(&mut Here<'_, P>, Received<P::Message>) -> ControlFlow<T>,
    {
        Serve::new(serve)
    }

    /// Ends all other processes of the node, as [`Handle::kill`] does: with [`Node::disconnect`], the node crashes.
    pub fn kill_others(self) {
        crate::spawn::kill_others();
    }

    /// Lets no message reach the node from now on, and forgets those that wait: it has crashed, or is switched off.
    pub fn disconnect(self) {
        with_desk::<P, _>(|desk| {
            let node = inner(desk.node.as_deref_mut());
            node.table.online = false;
            node.lost += node.inbox.len() as u64;
            node.inbox.clear();
        });
    }

    /// Lets messages reach the node again.
    pub fn connect(self) {
        with_parts(|_, table| table.online = true);
    }

    /// Whether the node's host works: on a platform, hosts may fail and come back. Until they do, no message reaches them or leaves them.
    pub fn host_works(self) -> bool {
        with_parts(|_, table| table.works)
    }

    /// Waits until the node's host fails, unless it has.
    pub fn until_host_fails(self) -> HostIs {
        HostIs::new(false)
    }

    /// Waits until the node's host works, unless it does.
    pub fn until_host_works(self) -> HostIs {
        HostIs::new(true)
    }

    /// Adds to a counter.
    #[inline]
    pub fn count(self, metric: MetricId, amount: u64) {
        self.observe(metric, amount);
    }

    /// Records one observation of an integer metric.
    #[inline]
    pub fn observe(self, metric: MetricId, value: u64) {
        with_parts(|worker, _| worker.records.push(Record::Integer(metric, value)));
    }

    /// Records one observation of a floating-point metric.
    pub fn observe_float(self, metric: MetricId, value: f64) {
        with_parts(|worker, _| worker.records.push(Record::Float(metric, value)));
    }

    /// Adds a line to the trace of the event that is being executed.
    pub fn note(self, text: impl Into<String>) {
        let text = text.into();
        with_parts(|worker, _| worker.notes.push(text));
    }

    /// Ends the run with an error: the program cannot go on.
    pub fn fail(self, why: impl Into<String>) {
        let why = why.into();
        with_parts(|worker, _| {
            worker.failure.get_or_insert(why);
        });
    }

    /// A mutex for the processes of the node.
    pub fn mutex(self) -> Mutex {
        Mutex::new()
    }

    /// A semaphore of so many permits for the processes of the node.
    pub fn semaphore(self, permits: u32) -> Semaphore {
        Semaphore::new(permits)
    }

    /// A barrier for so many processes of the node.
    pub fn barrier(self, parties: u32) -> Barrier {
        Barrier::new(parties)
    }

    /// A condition for the processes of the node.
    pub fn condition(self) -> Condition {
        Condition::new()
    }
}

#[inline]
pub(crate) fn inner<P: Program>(node: Option<&mut Inner<P>>) -> &mut Inner<P> {
    node.expect("a process runs only while its node is on the desk")
}

/// A node, found: what needs no waiting is done here.
pub struct Here<'a, P: Program> {
    /// The program's constants.
    pub program: &'a P,
    /// What the processes of the node share.
    pub state: &'a mut P::State,
    worker: &'a mut Worker,
    inbox: &'a mut Inbox<Received<P::Message>>,
    outgoing: &'a mut Vec<Outgoing<P::Message, WayOf<P>>>,
}

impl<P: Program> fmt::Debug for Here<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Here").field(&self.worker.id.0).finish()
    }
}

impl<'a, P: Program> Here<'a, P> {
    /// What lies on the desk, and the node's waits.
    #[inline(always)]
    pub(crate) fn on(desk: &'a mut Desk<P>) -> (Here<'a, P>, &'a mut Table) {
        let Desk { program, worker, node, outgoing, .. } = desk;
        let Inner { table, inbox, state, .. } = inner(node.as_deref_mut());
        (Here { program, state, worker, inbox, outgoing }, table)
    }

    /// Which node it is.
    #[inline]
    pub fn id(&self) -> LpId {
        self.worker.id
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.worker.nodes
    }

    /// The virtual time.
    #[inline]
    pub fn now(&self) -> Time {
        self.worker.now.time
    }

    /// The node's random stream.
    #[inline]
    pub fn rng(&mut self) -> &mut Rng {
        &mut self.worker.rng
    }

    /// Sends a message to a node, as [`Node::send`]; when it arrives, where the network knows.
    #[inline]
    pub fn send(&mut self, to: LpId, message: P::Message) -> Option<Time> {
        let way = self.way(to, &message);
        self.outgoing.push(Outgoing { to, way, message });
        P::Network::arrival(self.worker.now.time, way)
    }

    #[inline]
    fn way(&mut self, to: LpId, message: &P::Message) -> WayOf<P> {
        self.program.network().way(self.worker.id, to, message, &mut self.worker.rng)
    }

    /// Takes the first message that has come, if there is one.
    #[inline]
    pub fn try_receive(&mut self) -> Option<Received<P::Message>> {
        self.inbox.pop()
    }

    #[inline]
    pub(crate) fn is_inbox_empty(&self) -> bool {
        self.inbox.is_empty()
    }

    /// As [`Node::timer`].
    #[inline]
    pub fn timer(&self, delay: Delay) -> Sleep {
        Sleep::until(self.now().checked_add(delay), TIMEOUT)
    }

    /// Adds to a counter.
    #[inline]
    pub fn count(&mut self, metric: MetricId, amount: u64) {
        self.observe(metric, amount);
    }

    /// Records one observation of an integer metric.
    #[inline]
    pub fn observe(&mut self, metric: MetricId, value: u64) {
        self.worker.records.push(Record::Integer(metric, value));
    }

    /// Records one observation of a floating-point metric.
    pub fn observe_float(&mut self, metric: MetricId, value: f64) {
        self.worker.records.push(Record::Float(metric, value));
    }

    /// The worker, for what waits.
    #[inline]
    pub(crate) fn worker(&mut self) -> &mut Worker {
        self.worker
    }
}

/// A message on its way. Awaiting it is to wait until it has arrived; it arrives all the same if it is not awaited.
#[derive(Debug)]
pub struct Sending(pub(crate) Sleep);

impl Future for Sending {
    type Output = ();
    #[inline]
    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        std::pin::Pin::new(&mut self.0).poll(context)
    }
}

/// A node that starts up.
pub struct Start<'a, P> {
    node: Node<P>,
    nodes: u32,
    rng: &'a mut Rng,
    table: &'a mut Table,
}

impl<P: Program> fmt::Debug for Start<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Start").field(&self.node).finish()
    }
}

impl<'a, P: Program> Start<'a, P> {
    pub(crate) fn new(node: Node<P>, nodes: u32, rng: &'a mut Rng, table: &'a mut Table) -> Start<'a, P> {
        Start { node, nodes, rng, table }
    }

    /// Which node it is.
    pub fn id(&self) -> LpId {
        self.node.id
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The node's random stream.
    pub fn rng(&mut self) -> &mut Rng {
        self.rng
    }

    /// Begins a process of the node, at time 0; several begin in the order in which they are spawned.
    pub fn spawn<F>(&mut self, name: &'static str, process: impl FnOnce(Node<P>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (place, _) = self.table.add(name, Box::pin(process(self.node)), false);
        let ticket = self.table.ticket();
        self.table.sleep(WAIT, Time::ZERO, Waiter { place, ticket, waker: None });
    }
}
