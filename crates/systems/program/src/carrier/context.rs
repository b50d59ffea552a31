//! The contexts in which a carrier acts.

use super::{Layout, Receipt, Undelivered};
use crate::call::ToProcesses;
use crate::table::CLOCKS;
use parades_core::channel::Port;
use parades_core::event::{LpId, Sender, TimerId};
use parades_core::model::{Context, Model};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};

/// The LP on which a carrier acts: a node, or an LP of its own. `P` are the carrier's packets.
pub trait CarrierContext<P> {
    /// Returns the ids of nodes and of the carrier's own LPs.
    fn layout(&self) -> Layout;

    /// Returns the LP on which the carrier acts.
    fn id(&self) -> LpId;

    /// Returns the virtual time.
    fn now(&self) -> Time;

    /// Returns the LP that sent the packet that is being handled; `None` when the LP starts up.
    fn sender(&self) -> Option<LpId>;

    /// Returns the order of the event and something that the LP does at this time without one: see
    /// [`parades_core::prelude::Context::precedes`].
    fn precedes(&self, what: u32) -> Option<bool>;

    /// Returns the LP's own random stream.
    fn rng(&mut self) -> &Rng;

    /// Sends a packet through a channel by pair. A delay below the channel's lookahead is an error of the
    /// run.
    fn send(&mut self, port: Port, delay: Delay, packet: P);

    /// Sends a packet to any LP, as declared by [`super::Wiring::to_anyone`] or
    /// [`super::Wiring::nodes_to_anyone`]; to the LP itself without a declaration.
    fn send_to(&mut self, receiver: LpId, delay: Delay, packet: P);

    /// Sets a timer of the carrier's own at this LP, or resets it: it will be due once, after `delay`.
    fn set_timer(&mut self, timer: TimerId, delay: Delay);

    /// Cancels a timer of the carrier's own at this LP.
    fn cancel_timer(&mut self, timer: TimerId);

    /// Ends the run with an error: the carrier cannot go on.
    fn fail(&mut self, why: String);
}

/// A node that a packet has reached, as its carrier sees it. `M` are the program's messages.
pub trait NodeContext<M, P>: CarrierContext<P> {
    /// Delivers a message to the node's processes. It is lost if the node is disconnected, or all its
    /// processes are over.
    fn deliver(&mut self, from: LpId, message: M);

    /// Reports whether a message that the node sent has arrived.
    fn report(&mut self, receipt: Receipt, outcome: Result<(), Undelivered>);

    /// Reports that the node's host fails, or works again.
    fn report_host(&mut self, works: bool);

    /// Tells the node's processes the news of a carrier that serves calls.
    fn tell(&mut self, news: ToProcesses);
}

/// The receiver of a carrier's news for a node: the node's processes, or a part of another model.
pub trait Mailbox<M> {
    /// Accepts a message, or loses it, as [`NodeContext::deliver`].
    fn deliver(&mut self, from: LpId, message: M);

    /// Accepts a report, as [`NodeContext::report`].
    fn report(&mut self, receipt: Receipt, outcome: Result<(), Undelivered>);

    /// Accepts news of the node's host, as [`NodeContext::report_host`].
    fn report_host(&mut self, works: bool);

    /// Accepts the news of a carrier that serves calls, as [`NodeContext::tell`]. By default there
    /// are no processes, and so no calls.
    fn tell(&mut self, news: ToProcesses) {
        unreachable!("no process has made a call: {news:?}");
    }
}

/// The context of an event, as a carrier sees it. It is public for models other than [`crate::Processes`]
/// that use carriers.
#[derive(Debug)]
pub struct Kernel<'a, 'c, L: Model> {
    ctx: &'a mut Context<'c, L>,
    layout: Layout,
    /// The kernel's number of the carrier's timer 0.
    first_timer: u32,
}

impl<'a, 'c, L: Model> Kernel<'a, 'c, L> {
    /// Makes the context of an LP of the carrier's own.
    #[inline]
    pub fn own(ctx: &'a mut Context<'c, L>, layout: Layout) -> Kernel<'a, 'c, L> {
        Kernel { ctx, layout, first_timer: 0 }
    }

    /// Makes the context of a node. The kernel's timers 0 and 1 there belong to the model. The carrier's
    /// timers follow.
    #[inline]
    pub fn node(ctx: &'a mut Context<'c, L>, layout: Layout) -> Kernel<'a, 'c, L> {
        Kernel { ctx, layout, first_timer: CLOCKS }
    }
}

impl<L: Model> CarrierContext<L::Message> for Kernel<'_, '_, L> {
    #[inline]
    fn layout(&self) -> Layout {
        self.layout
    }
    #[inline]
    fn id(&self) -> LpId {
        self.ctx.id()
    }
    #[inline]
    fn now(&self) -> Time {
        self.ctx.now()
    }
    #[inline]
    fn sender(&self) -> Option<LpId> {
        self.ctx.sender().and_then(Sender::as_lp)
    }
    #[inline]
    fn precedes(&self, what: u32) -> Option<bool> {
        self.ctx.precedes(what)
    }
    #[inline]
    fn rng(&mut self) -> &Rng {
        self.ctx.rng()
    }
    #[inline]
    fn send(&mut self, port: Port, delay: Delay, packet: L::Message) {
        self.ctx.send(port, delay, packet);
    }
    #[inline]
    fn send_to(&mut self, receiver: LpId, delay: Delay, packet: L::Message) {
        self.ctx.send_to(receiver, delay, packet);
    }
    #[inline]
    fn set_timer(&mut self, timer: TimerId, delay: Delay) {
        // A number beyond the greatest is refused by the kernel.
        self.ctx.set_timer(TimerId(timer.0.saturating_add(self.first_timer)), delay);
    }
    #[inline]
    fn cancel_timer(&mut self, timer: TimerId) {
        self.ctx.cancel_timer(TimerId(timer.0.saturating_add(self.first_timer)));
    }
    #[cold]
    fn fail(&mut self, why: String) {
        self.ctx.fail(why);
    }
}

/// A node that a packet has reached, with the mailbox for the carrier's news.
#[derive(Debug)]
pub struct AtNode<'a, 'c, L: Model, B> {
    /// The context of the event.
    pub kernel: Kernel<'a, 'c, L>,
    /// The receiver of the news.
    pub mailbox: B,
}

impl<L: Model, B> CarrierContext<L::Message> for AtNode<'_, '_, L, B> {
    #[inline]
    fn layout(&self) -> Layout {
        self.kernel.layout()
    }
    #[inline]
    fn id(&self) -> LpId {
        self.kernel.id()
    }
    #[inline]
    fn now(&self) -> Time {
        self.kernel.now()
    }
    #[inline]
    fn sender(&self) -> Option<LpId> {
        self.kernel.sender()
    }
    #[inline]
    fn precedes(&self, what: u32) -> Option<bool> {
        self.kernel.precedes(what)
    }
    #[inline]
    fn rng(&mut self) -> &Rng {
        self.kernel.rng()
    }
    #[inline]
    fn send(&mut self, port: Port, delay: Delay, packet: L::Message) {
        self.kernel.send(port, delay, packet);
    }
    #[inline]
    fn send_to(&mut self, receiver: LpId, delay: Delay, packet: L::Message) {
        self.kernel.send_to(receiver, delay, packet);
    }
    #[inline]
    fn set_timer(&mut self, timer: TimerId, delay: Delay) {
        self.kernel.set_timer(timer, delay);
    }
    #[inline]
    fn cancel_timer(&mut self, timer: TimerId) {
        self.kernel.cancel_timer(timer);
    }
    #[cold]
    fn fail(&mut self, why: String) {
        self.kernel.fail(why);
    }
}

impl<L: Model, M, B: Mailbox<M>> NodeContext<M, L::Message> for AtNode<'_, '_, L, B> {
    #[inline]
    fn deliver(&mut self, from: LpId, message: M) {
        self.mailbox.deliver(from, message);
    }
    #[inline]
    fn report(&mut self, receipt: Receipt, outcome: Result<(), Undelivered>) {
        self.mailbox.report(receipt, outcome);
    }
    #[inline]
    fn report_host(&mut self, works: bool) {
        self.mailbox.report_host(works);
    }
    #[inline]
    fn tell(&mut self, news: ToProcesses) {
        self.mailbox.tell(news);
    }
}
