//! A program as a model: what every node does with an event.

use crate::context::{Node, Start};
use crate::desk::{self, Desk, Outgoing, Record, Worker};
use crate::inbox::Inbox;
use crate::network::{Carrier, Carries, HubOf, Opened, ParcelOf};
use crate::polling::{self, Polled};
use crate::report;
use crate::table::{CLOCKS, Table};
use parades_core::prefetch::prefetch_all;
use parades_core::prelude::*;
use std::fmt;
use std::sync::Arc;

/// What the nodes of a simulation do, as processes.
///
/// # Examples
///
/// Two nodes that pass a ball to and fro:
///
/// ```
/// use parades_core::prelude::*;
/// use parades_program::{Constant, Program, Processes, Start};
///
/// struct PingPong { network: Constant }
///
/// impl Program for PingPong {
///     type Message = u64;
///     type State = u64; // hits so far
///     type Network = Constant;
///
///     fn nodes(&self) -> u32 { 2 }
///     fn network(&self) -> &Constant { &self.network }
///     fn start(&self, start: &mut Start<'_, Self>) -> u64 {
///         start.spawn("player", |node| async move {
///             let other = LpId(1 - node.id().0);
///             if node.id() == LpId(0) {
///                 node.send(other, 1);
///             }
///             loop {
///                 let ball = node.receive().await;
///                 node.with_state(|hits| *hits += 1);
///                 node.send(ball.from, ball.message + 1);
///             }
///         });
///         0
///     }
/// }
///
/// let model = Processes::new(PingPong { network: Constant::new(Delay::from_ms(10)) });
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(1_000_000_000_000)))?;
/// assert_eq!(outcome.events, 2 + 99); // two starts, then a hit each 10 ms
/// # Ok::<(), parades_core::error::Error>(())
/// ```
pub trait Program: Sized + Send + Sync + 'static {
    /// What nodes send each other. A message is copied from the event to the process that receives it: share what is large
    /// ([`parades_core::shared::Shared`]).
    type Message: Payload + Clone;
    /// What the processes of a node share, and what is left of the node at the end of the run.
    type State: Send + 'static;
    /// How messages get from node to node.
    type Network: Carrier<Self::Message>;

    /// How many nodes there are. Node `i` is the LP of that id.
    fn nodes(&self) -> u32;

    /// The network between them.
    fn network(&self) -> &Self::Network;

    /// The metrics of the program, as of [`Model::metrics`].
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// Makes the state of a node and spawns its first processes, which begin at time 0. A pure function of the program, the seed and the node.
    fn start(&self, start: &mut Start<'_, Self>) -> Self::State;

    /// Whether it is an error if a process waits for ever: if the run comes to a point where nothing will ever happen again, with processes that
    /// have not ended. Servers do; workers should not.
    fn must_end(&self) -> bool {
        false
    }

    /// Asks the processor for what the state of a node points to, an event for it being due soon, as [`Model::fetch`].
    #[inline]
    fn fetch(&self, state: &Self::State) {
        let _ = state;
    }

    /// Folds the final state of a node into the digest.
    fn fold(&self, state: &Self::State, digest: &mut Digest) {
        let _ = (state, digest);
    }

    /// Adds what is left in the final state of a node to the metrics, as [`Model::finish`].
    fn finish(&self, id: LpId, state: &Self::State, end: &End, metrics: &mut Metrics) {
        let _ = (id, state, end, metrics);
    }

    /// Checks what must hold at the end, as [`Model::conclude`].
    ///
    /// # Errors
    ///
    /// One sentence on what does not hold; it becomes the error of the run.
    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        let _ = (end, metrics);
        Ok(())
    }
}

/// A program as a model, which engines run. Its state cannot be restored (a process under way cannot be copied), so
/// optimistic engines refuse it by its type.
pub struct Processes<P> {
    program: Arc<P>,
    metrics: Metrics,
    ids: report::Ids,
    /// Whether the nodes are so many that what they remember has to be fetched into the cache.
    fetches: bool,
}

impl<P: fmt::Debug> fmt::Debug for Processes<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Processes").field(&self.program).finish()
    }
}

/// An LP of a program: a node, or its network if that is [`crate::Shared`].
#[derive(Debug)]
pub enum LpState<P: Program> {
    /// A node.
    Node(NodeState<P>),
    /// The network.
    Hub(HubState<P>),
}

/// The network of a program, with the messages on their way.
pub struct HubState<P: Program>(HubOf<P>);

impl<P: Program> fmt::Debug for HubState<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubState").finish_non_exhaustive()
    }
}

/// A node: its processes, the messages that wait for them, and what they share.
pub struct NodeState<P: Program>(Option<Box<Inner<P>>>, Arc<P>);

impl<P: Program> fmt::Debug for NodeState<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeState").finish_non_exhaustive()
    }
}

/// A node, in one piece that moves by one pointer.
pub(crate) struct Inner<P: Program> {
    pub(crate) table: Table,
    pub(crate) inbox: Inbox<Received<P::Message>>,
    pub(crate) lost: u64,
    pub(crate) state: P::State,
}

/// A message that a node received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<M> {
    /// Who sent it.
    pub from: LpId,
    /// What it says.
    pub message: M,
}

/// Nodes that the caches near a core hold, at one or two kilobytes each.
const CACHED: u32 = 1500;

const WHOLE: &str = "a node is whole between events";

impl<P: Program> NodeState<P> {
    fn inner(&self) -> &Inner<P> {
        self.0.as_deref().expect(WHOLE)
    }
}

/// What a dropped process cleans up concerns its own node, and no other that may be on the desk.
impl<P: Program> Drop for NodeState<P> {
    fn drop(&mut self) {
        let Some(mut inner) = self.0.take() else { return };
        let code: Vec<_> = inner.table.processes.iter_mut().filter_map(|process| process.code.take()).collect();
        desk::take_up(&self.1, |desk| {
            desk.worker.dropped = code;
            desk.node = Some(inner);
        });
        // Nothing that they do counts: the run is over.
        let mut inner = None;
        let clear = |desk: &mut Desk<P>| {
            desk.outgoing.clear();
            desk.worker.records.clear();
            desk.worker.notes.clear();
            desk.worker.failure = None;
            inner = desk.node.take();
        };
        // Not even the failure of a process that they begin.
        let _ = polling::poll_all(&mut Polled::default(), clear);
        drop(inner);
    }
}

impl<P: Program> Processes<P> {
    /// The model of a program.
    pub fn new(program: P) -> Processes<P> {
        let mut metrics = program.metrics();
        let ids = report::Ids::declare(&mut metrics, P::Network::HUBS > 0);
        let fetches = program.nodes() > CACHED;
        Processes { program: Arc::new(program), metrics, ids, fetches }
    }

    /// The program.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// Lets the node's processes run: those that `begin` makes ready, and those that they make ready.
    #[inline]
    fn run(&self, state: &mut NodeState<P>, ctx: &mut Context<'_, Self>, begin: impl FnOnce(&mut Worker, &mut Table)) {
        let mut node = state.0.take().expect(WHOLE);
        let mut polled = Polled::default();
        desk::take_up(&self.program, |desk| {
            let worker = &mut desk.worker;
            worker.now = ctx.instant();
            worker.id = ctx.id();
            worker.nodes = ctx.lps() - P::Network::HUBS;
            worker.rng = ctx.rng().clone();
            begin(worker, &mut node.table);
            polling::next(worker, &mut node.table, &mut polled);
            desk.node = Some(node);
        });
        let result = polling::poll_all::<P>(&mut polled, |desk| {
            hand_on(desk, ctx);
            state.0 = desk.node.take();
        });
        if let Err(panic) = result {
            // Not `panic!`, which would report it once more.
            std::panic::resume_unwind(Box::new(panic));
        }
        arm(&mut state.0.as_mut().expect(WHOLE).table, ctx);
    }
}

/// Hands on what the node's processes did.
#[inline]
fn hand_on<P: Program>(desk: &mut Desk<P>, ctx: &mut Context<'_, Processes<P>>) {
    let Desk { worker, outgoing, node, .. } = desk;
    *ctx.rng() = worker.rng.clone();
    if let Some(node) = node {
        for Outgoing { to, way, message } in outgoing.drain(..) {
            P::Network::post(ctx, (to, way, message), &node.table);
        }
    }
    if worker.has_told() {
        tell(worker, ctx);
    }
}

/// Hands on what few events have.
#[inline(never)]
fn tell<P: Program>(worker: &mut Worker, ctx: &mut Context<'_, Processes<P>>) {
    for record in worker.records.drain(..) {
        match record {
            Record::Integer(metric, value) => ctx.observe(metric, value),
            Record::Float(metric, value) => ctx.observe_float(metric, value),
        }
    }
    for note in worker.notes.drain(..) {
        ctx.note(|| note);
    }
    if let Some(failure) = worker.failure.take() {
        ctx.fail(failure);
    }
}

/// Sets the kernel's timers to when the first sleep and the first timeout are due.
#[inline]
fn arm<P: Program>(table: &mut Table, ctx: &mut Context<'_, Processes<P>>) {
    for (clock, id) in table.clocks.iter_mut().zip(0..) {
        if clock.due == clock.armed {
            continue;
        }
        clock.armed = clock.due;
        match clock.due {
            Time::MAX => ctx.cancel_timer(TimerId(id)),
            due => ctx.set_timer(TimerId(id), due.since(ctx.now())),
        }
    }
}

impl<P: Program> Model for Processes<P> {
    type State = LpState<P>;
    type Message = ParcelOf<P>;
    type Global = NoGlobal;

    const FETCHES: usize = 3;

    fn lps(&self) -> u32 {
        self.program.nodes().saturating_add(P::Network::HUBS)
    }

    fn channels(&self) -> Channels {
        self.program.network().channels(self.program.nodes())
    }

    fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> LpState<P> {
        let mut table = Table::default();
        let (id, nodes) = (ctx.id(), ctx.lps() - P::Network::HUBS);
        if id.0 >= nodes {
            return LpState::Hub(HubState(self.program.network().open_hub(ctx)));
        }
        let state = self.program.start(&mut Start::new(Node::new(id), nodes, ctx.rng(), &mut table));
        arm(&mut table, ctx);
        let inner = Inner { table, inbox: Inbox::new(), lost: 0, state };
        LpState::Node(NodeState(Some(Box::new(inner)), Arc::clone(&self.program)))
    }

    #[inline]
    fn fetches(&self) -> bool {
        self.fetches
    }

    /// First the node, with its first message; then its first process and what its state points to; then what that process remembers.
    #[inline]
    fn fetch(&self, state: &LpState<P>, step: usize) {
        let LpState::Node(NodeState(Some(node), _)) = state else { return };
        let first = || node.table.processes.first();
        match step {
            0 => prefetch_all(&**node),
            1 => {
                self.program.fetch(&node.state);
                first().into_iter().for_each(prefetch_all);
            }
            _ => first().and_then(|process| process.code.as_deref()).into_iter().for_each(prefetch_all),
        }
    }

    #[inline]
    fn handle(&self, state: &mut LpState<P>, event: Body<&ParcelOf<P>>, ctx: &mut Context<'_, Self>) {
        let state = match state {
            LpState::Node(state) => state,
            LpState::Hub(hub) => {
                let parcel = match event {
                    Body::Message(parcel) => Some(parcel),
                    Body::Timer(_) => None,
                };
                return self.program.network().serve(&mut hub.0, parcel, ctx);
            }
        };
        let node = state.0.as_deref_mut().expect(WHOLE);
        match event {
            Body::Message(parcel) => {
                let (from, message) = match P::Network::open(parcel, ctx.sender()) {
                    Opened::Message(from, message) => (from, message),
                    Opened::Told(ticket, outcome) => {
                        return self.run(state, ctx, |worker, table| {
                            crate::network::told(worker, table, ticket, outcome);
                        });
                    }
                    Opened::Host(works) => {
                        return self.run(state, ctx, |worker, table| {
                            crate::network::host(worker, table, works);
                        });
                    }
                };
                if !node.table.online || node.table.alive == 0 {
                    node.lost += 1;
                    return;
                }
                let from = from.unwrap_or(ctx.id());
                node.inbox.push(Received { from, message: message.clone() });
                if node.table.receiver.is_some() {
                    self.run(state, ctx, offer);
                }
            }
            Body::Timer(TimerId(id)) => {
                let clock = id as usize % CLOCKS;
                node.table.clocks[clock].armed = Time::MAX;
                self.run(state, ctx, |worker, table| ring(worker, table, clock));
            }
        }
    }

    fn fold(&self, state: &LpState<P>, digest: &mut Digest) {
        let LpState::Node(state) = state else { return };
        let node = state.inner();
        digest.word(u64::from(node.table.alive) << 32 | node.inbox.len() as u64);
        self.program.fold(&node.state, digest);
    }

    fn finish(&self, id: LpId, state: &LpState<P>, end: &End, metrics: &mut Metrics) {
        let state = match state {
            LpState::Node(state) => state,
            LpState::Hub(hub) => return self.ids.finish_network(self.program.network().held(&hub.0), metrics),
        };
        let node = state.inner();
        self.ids.finish(id, (&node.table, node.lost, node.inbox.len() as u64), metrics);
        self.program.finish(id, &node.state, end, metrics);
    }

    fn unfinished(&self, messages: Unfinished<ParcelOf<P>>, metrics: &mut Metrics) {
        self.ids.unfinished(messages.count(), metrics);
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        let deadlock = self.ids.conclude(metrics);
        self.program.conclude(end, metrics)?;
        deadlock.filter(|_| self.program.must_end()).map_or(Ok(()), Err)
    }
}

/// Wakes those whose time has come.
#[inline]
fn ring(worker: &mut Worker, table: &mut Table, clock: usize) {
    let now = worker.now.time;
    while let Some(waiter) = table.pop_due(clock, now) {
        worker.wake(table, waiter);
    }
}

/// Wakes who may take a message, in the order in which they began to wait.
#[inline]
pub(crate) fn offer(worker: &mut Worker, table: &mut Table) {
    while let Some(receiver) = table.pop_receiver() {
        let takes_any = !receiver.picky;
        worker.wake(table, receiver.waiter);
        if takes_any {
            return;
        }
    }
}
