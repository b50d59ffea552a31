//! The context of one of two carriers.

use super::Of;
use parades_core::channel::Port;
use parades_core::event::{LpId, TimerId};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_program::{CarrierContext, Layout, NodeContext, Receipt, ToProcesses, Undelivered};
use std::marker::PhantomData;

/// One of two carriers.
pub(super) trait Side<A, B> {
    /// The packets of this side.
    type Packet;
    /// The place of this side's timers among those of a node, 0 or 1.
    const PLACE: u32;
    /// Makes a packet of both.
    fn wrap(packet: Self::Packet) -> Of<A, B>;
}

/// The packets of the first carrier.
pub(super) struct AsFirst;
/// The packets of the second carrier.
pub(super) struct AsSecond;

impl<A, B> Side<A, B> for AsFirst {
    type Packet = A;
    const PLACE: u32 = 0;
    #[inline]
    fn wrap(packet: A) -> Of<A, B> {
        Of::First(packet)
    }
}

impl<A, B> Side<A, B> for AsSecond {
    type Packet = B;
    const PLACE: u32 = 1;
    #[inline]
    fn wrap(packet: B) -> Of<A, B> {
        Of::Second(packet)
    }
}

/// The context of one of two carriers, inside the context of both.
pub(super) struct Half<'a, X, S, A, B> {
    ctx: &'a mut X,
    layout: Layout,
    /// The ports of a node that belong to the other carrier and come first.
    ports: u32,
    is_node: bool,
    side: PhantomData<fn(S, A, B)>,
}

impl<'a, X, S: Side<A, B>, A, B> Half<'a, X, S, A, B> {
    #[inline]
    pub(super) fn own(ctx: &'a mut X, layout: Layout, _: S) -> Half<'a, X, S, A, B> {
        Half { ctx, layout, ports: 0, is_node: false, side: PhantomData }
    }

    #[inline]
    pub(super) fn node(ctx: &'a mut X, layout: Layout, ports: u32, _: S) -> Half<'a, X, S, A, B> {
        Half { ctx, layout, ports, is_node: true, side: PhantomData }
    }

    /// Returns the number of a timer in the context of both carriers. At a node the timers of the two
    /// alternate. An LP of a carrier's own has no other timers.
    #[inline]
    fn timer(&self, TimerId(timer): TimerId) -> TimerId {
        TimerId(if self.is_node { timer.saturating_mul(2).saturating_add(S::PLACE) } else { timer })
    }
}

impl<X, S, A, B> CarrierContext<S::Packet> for Half<'_, X, S, A, B>
where
    S: Side<A, B>,
    X: CarrierContext<Of<A, B>>,
{
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
        self.ctx.sender()
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
    fn send(&mut self, Port(port): Port, delay: Delay, packet: S::Packet) {
        self.ctx.send(Port(port.saturating_add(self.ports)), delay, S::wrap(packet));
    }
    #[inline]
    fn send_to(&mut self, receiver: LpId, delay: Delay, packet: S::Packet) {
        self.ctx.send_to(receiver, delay, S::wrap(packet));
    }
    #[inline]
    fn set_timer(&mut self, timer: TimerId, delay: Delay) {
        self.ctx.set_timer(self.timer(timer), delay);
    }
    #[inline]
    fn cancel_timer(&mut self, timer: TimerId) {
        self.ctx.cancel_timer(self.timer(timer));
    }
    fn fail(&mut self, why: String) {
        self.ctx.fail(why);
    }
}

impl<M, X, S, A, B> NodeContext<M, S::Packet> for Half<'_, X, S, A, B>
where
    S: Side<A, B>,
    X: NodeContext<M, Of<A, B>>,
{
    #[inline]
    fn deliver(&mut self, from: LpId, message: M) {
        self.ctx.deliver(from, message);
    }
    fn report(&mut self, receipt: Receipt, outcome: Result<(), Undelivered>) {
        self.ctx.report(receipt, outcome);
    }
    fn report_host(&mut self, works: bool) {
        self.ctx.report_host(works);
    }
    fn tell(&mut self, news: ToProcesses) {
        self.ctx.tell(news);
    }
}
