//! A node, looked up once for several actions that need no waiting.

use crate::carrier::{AccessOf, Carrier, Departure, PlanOf};
use crate::context::inner;
use crate::delivery::Delivery;
use crate::desk::{Desk, Outgoing, Worker};
use crate::inbox::Inbox;
use crate::model::Inner;
use crate::program::{Program, Received};
use crate::sleep::{Sleep, TIMEOUT, WAIT};
use crate::table::Table;
use parades_core::event::LpId;
use parades_core::metrics::{CounterId, FloatId, IntegerId, Sample};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use std::fmt;
use std::panic::Location;

/// A node that has been looked up: its state, and the actions on it that need no waiting.
///
/// Its methods are those of [`Actions`]. Its fields can be borrowed separately, so that code can change the
/// state and act at the same time.
pub struct Here<'a, P: Program> {
    /// The program's constants.
    pub program: &'a P,
    /// The state that the processes of the node share.
    pub state: &'a mut P::State,
    /// The actions on the node.
    pub actions: Actions<'a, P>,
}

/// The actions on a node that need no waiting.
pub struct Actions<'a, P: Program> {
    program: &'a P,
    worker: &'a mut Worker,
    inbox: &'a mut Inbox<Received<P::Message>>,
    access: &'a mut AccessOf<P>,
    outgoing: &'a mut Vec<Outgoing<P::Message, PlanOf<P>>>,
}

impl<P: Program> fmt::Debug for Here<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Here").field(&self.actions.worker.id.0).finish()
    }
}

impl<P: Program> fmt::Debug for Actions<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Actions").field(&self.worker.id.0).finish()
    }
}

impl<'a, P: Program> Here<'a, P> {
    /// Returns the node on the desk, and its waits.
    #[inline(always)]
    pub(crate) fn on(desk: &'a mut Desk<P>) -> (Here<'a, P>, &'a mut Table) {
        let Desk { program, worker, node, outgoing, .. } = desk;
        let Inner { table, inbox, state, access, .. } = inner(node.as_deref_mut());
        let program: &P = program;
        (Here { program, state, actions: Actions { program, worker, inbox, access, outgoing } }, table)
    }

    /// Returns the node's id.
    #[inline]
    pub fn id(&self) -> LpId {
        self.actions.id()
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.actions.nodes()
    }

    /// Returns the virtual time.
    #[inline]
    pub fn now(&self) -> Time {
        self.actions.now()
    }

    /// Returns the node's random stream.
    #[inline]
    pub fn rng(&mut self) -> &Rng {
        self.actions.rng()
    }

    /// Sends a message, as [`Actions::send`].
    #[inline]
    #[track_caller]
    pub fn send(&mut self, to: LpId, message: P::Message) -> Option<Time> {
        self.actions.send(to, message)
    }

    /// Takes the first message from the inbox, if there is one.
    #[inline]
    pub fn try_receive(&mut self) -> Option<Received<P::Message>> {
        self.actions.inbox.pop()
    }

    /// Returns a sleep that is probably dropped before its time, as [`crate::Node::timer`].
    #[inline]
    pub fn timer(&self, delay: Delay) -> Sleep {
        Sleep::until(self.now().checked_add(delay), TIMEOUT)
    }

    /// Adds to a counter.
    #[inline]
    pub fn count(&mut self, counter: impl Into<CounterId>, amount: u64) {
        self.actions.count(counter, amount);
    }

    /// Records one observation of an integer metric.
    #[inline]
    pub fn observe(&mut self, metric: impl Into<IntegerId>, value: u64) {
        self.actions.observe(metric, value);
    }

    /// Records one observation of a floating-point metric.
    pub fn observe_float(&mut self, metric: impl Into<FloatId>, value: f64) {
        self.actions.observe_float(metric, value);
    }

    #[inline]
    pub(crate) fn is_inbox_empty(&self) -> bool {
        self.actions.inbox.is_empty()
    }

    /// Returns the worker, which futures need to begin a wait.
    #[inline]
    pub(crate) fn worker(&mut self) -> &mut Worker {
        self.actions.worker
    }
}

impl<P: Program> Actions<'_, P> {
    /// Returns the node's id.
    #[inline]
    pub fn id(&self) -> LpId {
        self.worker.id
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.worker.nodes
    }

    /// Returns the virtual time.
    #[inline]
    pub fn now(&self) -> Time {
        self.worker.now.time
    }

    /// Returns the node's random stream.
    #[inline]
    pub fn rng(&mut self) -> &Rng {
        &mut self.worker.rng
    }

    /// Sends a message to a node, as [`crate::Node::send`]. Returns the time of its arrival, if it is known
    /// already.
    #[inline]
    #[track_caller]
    pub fn send(&mut self, to: LpId, message: P::Message) -> Option<Time> {
        let plan = self.plan(to, &message);
        self.worker.sent += 1;
        self.outgoing.push(Outgoing { to, ticket: 0, plan, message, caller: Location::caller() });
        self.program.carrier().arrival(plan, self.worker.now.time)
    }

    /// Sends a message, and returns its delivery, which a process may await.
    #[inline]
    pub(crate) fn post(
        &mut self,
        to: LpId,
        message: P::Message,
        table: &mut Table,
        caller: &'static Location<'static>,
    ) -> Delivery {
        let plan = self.plan(to, &message);
        let (ticket, delivery) = match self.program.carrier().arrival(plan, self.worker.now.time) {
            Some(arrival) => (0, Delivery::at(Sleep::until(Some(arrival), WAIT))),
            None => {
                let ticket = table.ticket();
                (ticket, Delivery::reported(ticket, table))
            }
        };
        self.worker.sent += 1;
        self.outgoing.push(Outgoing { to, ticket, plan, message, caller });
        delivery
    }

    #[inline]
    fn plan(&mut self, to: LpId, message: &P::Message) -> PlanOf<P> {
        let departure = Departure { from: self.worker.id, to, message, now: self.worker.now.time };
        self.program.carrier().plan(departure, self.access, &self.worker.rng)
    }

    #[inline]
    fn record(&mut self, sample: Sample) {
        self.worker.records.push(sample);
    }

    /// Adds to a counter.
    #[inline]
    pub fn count(&mut self, counter: impl Into<CounterId>, amount: u64) {
        self.record(Sample::integer(counter.into().into(), amount));
    }

    /// Records one observation of an integer metric.
    #[inline]
    pub fn observe(&mut self, metric: impl Into<IntegerId>, value: u64) {
        self.record(Sample::integer(metric.into().into(), value));
    }

    /// Records one observation of a floating-point metric.
    pub fn observe_float(&mut self, metric: impl Into<FloatId>, value: f64) {
        self.record(Sample::float(metric.into().into(), value));
    }
}
