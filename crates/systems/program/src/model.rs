//! A program as a model: how a node executes an event.

use crate::carrier::{AccessOf, AtEnd, AtNode, Carrier, Kernel, Layout, OwnLpOf, PacketOf, PlanOf, Wiring};
use crate::context::{Node, Start};
use crate::desk::{self, Asked, Desk, Outgoing, Worker};
use crate::inbox::Inbox;
use crate::news::{News, ToProcesses};
use crate::polling::{self, Polled};
use crate::program::{Program, Received};
use crate::spawn::kill_all;
use crate::table::{CLOCKS, Table};
use crate::{call, delivery, life, report};
use parades_core::prefetch::prefetch_all;
use parades_core::prelude::*;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A program as a model, which engines run. Its state cannot be restored, since a process that has begun
/// cannot be copied. So optimistic engines refuse it by its type. Nor can its state be written: it has no
/// [`parades_core::any_model::SaveModel`], and a run can only be executed again from its start.
pub struct Processes<P> {
    program: Arc<P>,
    layout: Layout,
    metrics: Metrics,
    ids: report::Ids,
    /// The ids of the carrier's metrics.
    carrier_ids: Vec<MetricId>,
    /// True if the nodes' states are too large for the caches, so that they are prefetched.
    fetches: bool,
    /// True once a process has begun on a stack that stays on its thread.
    stays_on_threads: AtomicBool,
}

impl<P: fmt::Debug> fmt::Debug for Processes<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Processes").field(&self.program).finish()
    }
}

/// An LP of a program: a node, or an LP of its carrier.
#[derive(Debug)]
pub enum LpState<P: Program> {
    /// A node.
    Node(NodeState<P>),
    /// An LP of the carrier's own.
    Carrier(CarrierState<P>),
}

/// An LP of a carrier's own.
pub struct CarrierState<P: Program>(OwnLpOf<P>);

impl<P: Program> fmt::Debug for CarrierState<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CarrierState").finish_non_exhaustive()
    }
}

/// A node: its processes, the messages that wait for them, and their shared state.
pub struct NodeState<P: Program>(Option<Box<Inner<P>>>, Arc<P>);

impl<P: Program> fmt::Debug for NodeState<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeState").finish_non_exhaustive()
    }
}

/// The parts of a node, in one piece that moves by one pointer.
pub(crate) struct Inner<P: Program> {
    pub(crate) table: Table,
    pub(crate) inbox: Inbox<Received<P::Message>>,
    /// Messages that reached the node and that no process can receive.
    pub(crate) lost: u64,
    /// The carrier's state at the node.
    pub(crate) access: AccessOf<P>,
    pub(crate) state: P::State,
}

/// The number of nodes that the caches near a core hold, at one or two kilobytes each.
const CACHED: u32 = 1500;

const WHOLE: &str = "a node is whole between events";

impl<P: Program> NodeState<P> {
    fn inner(&self) -> &Inner<P> {
        self.0.as_deref().expect(WHOLE)
    }
}

/// While the processes of a node are dropped, their destructors act on that node, even if another node is on
/// the desk.
impl<P: Program> Drop for NodeState<P> {
    fn drop(&mut self) {
        let Some(mut inner) = self.0.take() else { return };
        let code: Vec<_> = inner.table.processes.iter_mut().filter_map(|process| process.code.take()).collect();
        desk::take_up(&self.1, |desk| {
            desk.worker.dropped = code;
            desk.node = Some(inner);
        });
        // The run is over, so the effects of the destructors do not count.
        let mut inner = None;
        let clear = |desk: &mut Desk<P>| {
            desk.outgoing.clear();
            desk.calls.clear();
            desk.worker.asked.clear();
            desk.worker.sent = 0;
            desk.worker.exits.clear();
            desk.worker.records.clear();
            desk.worker.notes.clear();
            desk.worker.failure = None;
            inner = desk.node.take();
        };
        // The failure of a process that a destructor begins does not count either.
        let _ = polling::poll_all(&mut Polled::default(), clear);
        drop(inner);
    }
}

impl<P: Program> Processes<P> {
    /// Makes the model of a program.
    pub fn new(program: P) -> Processes<P> {
        let mut metrics = program.metrics();
        let nodes = program.nodes();
        let layout = Layout::new(nodes, nodes, program.carrier().lps(nodes));
        let ids = report::Ids::declare(&mut metrics, layout.lps() > 0 || P::Carrier::MAY_FAIL_AT_NODES);
        let carrier_ids = program.carrier().metrics(&mut metrics);
        Processes {
            program: Arc::new(program),
            layout,
            metrics,
            ids,
            carrier_ids,
            fetches: nodes > CACHED,
            stays_on_threads: AtomicBool::new(false),
        }
    }

    /// Returns the program.
    pub fn program(&self) -> &P {
        &self.program
    }

    fn at_end<'a>(&'a self, lp: LpId, end: &'a End, metrics: &'a mut Metrics) -> AtEnd<'a> {
        AtEnd { lp, layout: self.layout, end, ids: &self.carrier_ids, metrics }
    }

    /// Polls the processes that `begin` makes ready, and then those that become ready by them.
    #[inline]
    fn run(&self, state: &mut NodeState<P>, ctx: &mut Context<'_, Self>, begin: impl FnOnce(&mut Worker, &mut Table)) {
        let mut node = state.0.take().expect(WHOLE);
        let mut polled = Polled::default();
        desk::take_up(&self.program, |desk| {
            let worker = &mut desk.worker;
            desk::set_instant(worker, ctx.instant());
            worker.shuffles_ties = ctx.shuffles_ties();
            worker.id = ctx.id();
            worker.nodes = self.layout.nodes();
            worker.rng = ctx.rng().clone();
            begin(worker, &mut node.table);
            polling::next(worker, &mut node.table, &mut polled);
            desk.node = Some(node);
        });
        let result = polling::poll_all::<P>(&mut polled, |desk| {
            self.apply_effects(desk, ctx);
            state.0 = desk.node.take();
        });
        if let Err(panic) = result {
            // `panic!` would report the panic a second time.
            std::panic::resume_unwind(Box::new(panic));
        }
        let table = &mut state.0.as_mut().expect(WHOLE).table;
        self.note_stacks(table);
        arm(table, ctx);
    }

    /// Notes that a node has processes on stacks that stay on its thread.
    #[inline]
    fn note_stacks(&self, table: &Table) {
        if table.stays_on_thread && !self.stays_on_threads.load(Ordering::Relaxed) {
            // Ordering: Relaxed. The engine reads it at a cut, where the workers have exchanged with it; a
            // worker needs it only for its own nodes.
            self.stays_on_threads.store(true, Ordering::Relaxed);
        }
    }

    /// Applies the messages, the requests and the records of the node's processes.
    #[inline]
    fn apply_effects(&self, desk: &mut Desk<P>, ctx: &mut Context<'_, Self>) {
        let Desk { worker, outgoing, calls, node, .. } = desk;
        ctx.rng().continue_at(&worker.rng);
        if let Some(node) = node {
            let mut letters = outgoing.drain(..);
            if !worker.asked.is_empty() {
                self.apply_requests(worker, calls, &mut letters, node, ctx);
            }
            for letter in letters {
                self.post(letter, node, ctx);
            }
        }
        worker.sent = 0;
        calls.clear();
        if worker.has_records() {
            apply_records(worker, ctx);
        }
    }

    /// Hands a message over to the carrier. Does nothing once the event has failed.
    #[inline]
    fn post(&self, letter: Outgoing<P::Message, PlanOf<P>>, node: &mut Inner<P>, ctx: &mut Context<'_, Self>) {
        if ctx.has_failed() {
            return;
        }
        let caller = letter.caller;
        if self.layout.lps() > 0 && letter.to.0 >= self.layout.nodes() {
            ctx.fail(format!("it sent to node {}, but there are only {} nodes", letter.to.0, self.layout.nodes()));
        } else {
            let letter = Outgoing::into_letter(letter, &node.table);
            self.program.carrier().post(letter, &mut node.access, &mut Kernel::node(ctx, self.layout));
        }
        if ctx.has_failed() {
            ctx.blame(caller);
        }
    }

    /// Hands the requests of the node's processes over to the carrier, each after the messages that were sent
    /// before it. Later messages are left in `letters`.
    #[inline(never)]
    fn apply_requests(
        &self,
        worker: &mut Worker,
        calls: &mut Vec<PacketOf<P>>,
        letters: &mut impl Iterator<Item = Outgoing<P::Message, PlanOf<P>>>,
        node: &mut Inner<P>,
        ctx: &mut Context<'_, Self>,
    ) {
        let (carrier, mut calls, mut sent) = (self.program.carrier(), calls.drain(..), 0);
        for (before, asked) in worker.asked.drain(..) {
            let count = before.saturating_sub(std::mem::replace(&mut sent, before));
            letters.by_ref().take(count as usize).for_each(|letter| self.post(letter, node, ctx));
            let mut kernel = Kernel::node(ctx, self.layout);
            match asked {
                Asked::Call => carrier.post_call(calls.next().expect("each call has a packet"), &mut kernel),
                Asked::GiveUp(receipt) => carrier.give_up(receipt, &mut kernel),
                Asked::End(to, receipt) => carrier.report_end(to, receipt, &mut kernel),
            }
        }
    }

    /// Lets the carrier handle an event at a node. Then lets the node's processes handle the carrier's news.
    #[inline]
    fn carry(
        &self,
        state: &mut NodeState<P>,
        ctx: &mut Context<'_, Self>,
        handle: impl FnOnce(&P::Carrier, &mut AccessOf<P>, &mut AtNode<'_, '_, Self, ToProcesses<'_, P::Message>>),
    ) {
        let Inner { table, inbox, lost, access, state: own } = state.0.as_deref_mut().expect(WHOLE);
        let kernel = Kernel::node(ctx, self.layout);
        let mut node = AtNode { kernel, mailbox: ToProcesses { table, inbox, lost, news: News::default() } };
        handle(self.program.carrier(), access, &mut node);
        let News { delivered, reports, host, told } = node.mailbox.news;
        let is_received = delivered > 0 && table.receiver.is_some();
        if !is_received && reports.is_empty() && host.is_none() && told.is_empty() {
            return;
        }
        let ends = host.filter(|_| self.program.carrier().kills_with_host());
        match ends {
            Some(false) => {
                *lost += inbox.len() as u64;
                inbox.clear();
            }
            Some(true) => {
                let (me, now) = (Node::new(ctx.id(), self.layout.nodes()), ctx.now());
                self.program.restart(&mut Start::new(me, now, ctx.rng(), table), own);
            }
            None => {}
        }
        self.run(state, ctx, |worker, table| {
            for (receipt, outcome) in reports {
                delivery::settle(worker, table, receipt.0.get(), outcome);
            }
            if let Some(works) = host {
                delivery::host_changed(worker, table, works);
            }
            if ends == Some(false) {
                let code = kill_all(worker, table, None);
                worker.dropped.extend(code);
            }
            for news in told {
                tell(worker, table, news);
            }
            for _ in 0..delivered {
                offer(worker, table);
            }
        });
    }
}

/// Passes the news of a carrier that serves calls on to the processes of a node.
#[cold]
fn tell(worker: &mut Worker, table: &mut Table, news: call::ToProcesses) {
    match news {
        call::ToProcesses::Answer(receipt, answer) => {
            if let Some(waiter) = table.rare().calls.come(receipt.0.get(), answer) {
                worker.wake(table, waiter);
            }
        }
        call::ToProcesses::Order(process, order) => life::obey(worker, table, process, order),
        call::ToProcesses::Join { process, from, receipt } => life::join(worker, table, process, from, receipt),
    }
}

/// Applies measurements, notes and failures, which few events have.
#[inline(never)]
fn apply_records<P: Program>(worker: &mut Worker, ctx: &mut Context<'_, Processes<P>>) {
    worker.records.drain(..).for_each(|sample| ctx.record(sample));
    for note in worker.notes.drain(..) {
        ctx.note(|| note);
    }
    if let Some(failure) = worker.failure.take() {
        ctx.fail(failure);
    }
}

/// Sets the kernel's timers to the first sleep and the first timeout that are due.
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
    type Message = PacketOf<P>;
    type Global = NoGlobal;

    const FETCHES: usize = 3;

    fn lps(&self) -> u32 {
        self.layout.nodes().saturating_add(self.layout.lps())
    }

    fn lp_name(&self, lp: LpId) -> Option<String> {
        self.program.carrier().lp_name(lp, self.layout)
    }

    fn lp_kind(&self, lp: LpId) -> String {
        self.program.carrier().lp_kind(lp, self.layout).map_or_else(|| self.program.name(), str::to_owned)
    }

    fn describe(&self, event: &Event<&Self::Message>, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match event.body {
            Body::Message(packet) => match P::Carrier::message(packet) {
                Some(message) => self.program.describe(message, to),
                None => write!(to, "{packet:?}"),
            },
            Body::Timer(timer) => write!(to, "timer {}", timer.0),
        }
    }

    fn channels(&self) -> Channels {
        let mut wiring = Wiring::new(self.layout.nodes(), self.lps());
        self.program.carrier().wire(self.layout, &mut wiring);
        wiring.into_channels()
    }

    fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> LpState<P> {
        let (id, nodes) = (ctx.id(), self.layout.nodes());
        let carrier = self.program.carrier();
        if id.0 >= nodes {
            return LpState::Carrier(CarrierState(carrier.start(&mut Kernel::own(ctx, self.layout))));
        }
        let mut table = Table::default();
        let state = self.program.start(&mut Start::new(Node::new(id, nodes), Time::ZERO, ctx.rng(), &mut table));
        self.note_stacks(&table);
        arm(&mut table, ctx);
        let access = carrier.access(id, self.layout);
        let inner = Inner { table, inbox: Inbox::new(), lost: 0, access, state };
        LpState::Node(NodeState(Some(Box::new(inner)), Arc::clone(&self.program)))
    }

    fn stays_on_threads(&self) -> bool {
        self.stays_on_threads.load(Ordering::Relaxed)
    }

    #[inline]
    fn fetches(&self) -> bool {
        self.fetches
    }

    /// Step 0 prefetches the node with its first message. Step 1 prefetches its first process and the memory
    /// to which its state points, step 2 the memory of that process.
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
    fn handle(&self, state: &mut LpState<P>, event: Body<&PacketOf<P>>, ctx: &mut Context<'_, Self>) {
        let state = match state {
            LpState::Node(state) => state,
            LpState::Carrier(CarrierState(lp)) => {
                return self.program.carrier().execute(lp, event, &mut Kernel::own(ctx, self.layout));
            }
        };
        match event {
            Body::Message(packet) => {
                self.carry(state, ctx, |carrier, access, node| carrier.receive(packet, access, node));
            }
            Body::Timer(TimerId(id)) if id < CLOCKS => {
                let clock = id as usize;
                state.0.as_deref_mut().expect(WHOLE).table.clocks[clock].armed = Time::MAX;
                self.run(state, ctx, |worker, table| wake_due(worker, table, clock));
            }
            Body::Timer(TimerId(id)) => {
                let timer = TimerId(id - CLOCKS);
                self.carry(state, ctx, |carrier, access, node| carrier.timer(timer, access, node));
            }
        }
    }

    fn fold(&self, state: &LpState<P>, digest: &mut Digest) {
        match state {
            LpState::Node(state) => {
                let node = state.inner();
                digest.word(u64::from(node.table.alive) << 32 | node.inbox.len() as u64);
                self.program.carrier().fold_access(&node.access, digest);
                self.program.fold(&node.state, digest);
            }
            LpState::Carrier(CarrierState(lp)) => self.program.carrier().fold(lp, digest),
        }
    }

    fn finish(&self, id: LpId, state: &LpState<P>, end: &End, metrics: &mut Metrics) {
        let carrier = self.program.carrier();
        match state {
            LpState::Node(state) => {
                let node = state.inner();
                self.ids.finish(id, &node.table, node.lost, node.inbox.len() as u64, metrics);
                self.ids.finish_carrier(carrier.held_at_node(&node.access), metrics);
                self.program.finish(id, &node.state, end, metrics);
                carrier.finish_access(&node.access, self.at_end(id, end, metrics));
            }
            LpState::Carrier(CarrierState(lp)) => {
                self.ids.finish_carrier(carrier.held(lp), metrics);
                carrier.finish(lp, self.at_end(id, end, metrics));
            }
        }
    }

    fn splits_unfinished(&self) -> bool {
        true
    }

    fn unfinished(&self, messages: Unfinished<PacketOf<P>>, metrics: &mut Metrics) {
        self.ids.unfinished(messages.count(), metrics);
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        let deadlock = self.ids.conclude(metrics);
        self.program.conclude(end, metrics)?;
        deadlock.filter(|_| self.program.must_end()).map_or(Ok(()), Err)
    }
}

/// Wakes the sleepers of a clock that are due.
#[inline]
fn wake_due(worker: &mut Worker, table: &mut Table, clock: usize) {
    let now = worker.now.time;
    while let Some(waiter) = table.pop_due(clock, now) {
        worker.wake(table, waiter);
    }
}

/// Wakes the processes that may take a message, in the order in which they began to wait.
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
