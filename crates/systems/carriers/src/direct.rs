//! Carriers without LPs of their own: each message is one event at its receiver, and takes a time that no
//! other message changes.

use parades_core::digest::Payload;
use parades_core::event::{Body, LpId};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_core::wire::{Malformed, Wire};
use parades_program::{
    Carrier, CarrierContext, Copies, Departure, Layout, Letter, NodeContext, RestorableCarrier, SaveCarrier, Timed,
    Wiring,
};
use std::convert::Infallible;

/// The delay of each message, and the least delay, which is the lookahead. A program uses it as [`Direct`].
///
/// ```
/// use parades_carriers::Latencies;
/// use parades_core::prelude::*;
/// use parades_program::{Departure, Layout, Wiring};
///
/// /// Nodes on a line: the greater the distance, the longer a message takes.
/// struct Line;
/// impl<M> Latencies<M> for Line {
///     fn wire(&self, _: Layout, wiring: &mut Wiring) { wiring.nodes_to_anyone(Delay::from_us(10)) }
///     fn delay(&self, departure: Departure<'_, M>, _: &Rng) -> Delay {
///         Delay::from_us(10 * u64::from(departure.from.0.abs_diff(departure.to.0)).max(1))
///     }
/// }
/// # let mut rng = Rng::stream(1, 1);
/// let departure = Departure { from: LpId(3), to: LpId(5), message: &(), now: Time::ZERO };
/// assert_eq!(Line.delay(departure, &mut rng), Delay::from_us(20));
/// ```
pub trait Latencies<M>: Send + Sync + 'static {
    /// Declares the channels between nodes, with their least delay. Nodes name their receivers, so the
    /// declaration must be by sender ([`Wiring::to_anyone`]) or for all nodes ([`Wiring::nodes_to_anyone`]).
    fn wire(&self, layout: Layout, wiring: &mut Wiring);

    /// Returns the delay of a message; never less than the channel's lookahead. Random numbers come from
    /// `rng`, the sender's stream.
    fn delay(&self, departure: Departure<'_, M>, rng: &Rng) -> Delay;
}

/// Every message takes the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency(pub Delay);

impl<M> Latencies<M> for Latency {
    fn wire(&self, _: Layout, wiring: &mut Wiring) {
        wiring.nodes_to_anyone(self.0);
    }
    #[inline]
    fn delay(&self, _: Departure<'_, M>, _: &Rng) -> Delay {
        self.0
    }
}

/// The carrier of a program whose messages take these [`Latencies`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direct<L>(pub L);

/// The carrier of a program whose messages all take the same time.
pub type Constant = Direct<Latency>;

impl Direct<Latency> {
    /// Every message takes `latency`.
    pub const fn new(latency: Delay) -> Constant {
        Direct(Latency(latency))
    }
}

impl<M: Payload + Clone, L: Latencies<M>> RestorableCarrier<M> for Direct<L> {
    type Restore = Copies;
}

impl<M: Payload + Clone + Wire, L: Latencies<M>> SaveCarrier<M> for Direct<L> {
    fn write_access(&self, (): &(), _: &mut Vec<u8>) {}

    fn read_access(&self, _: LpId, _: Layout, _: &mut &[u8]) -> Result<(), Malformed> {
        Ok(())
    }

    fn write_lp(&self, lp: &Infallible, _: &mut Vec<u8>) {
        match *lp {}
    }

    fn read_lp(&self, _: LpId, _: Layout, _: &mut &[u8]) -> Result<Infallible, Malformed> {
        Err(Malformed::new("the carrier has no LP of its own"))
    }
}

impl<M: Payload + Clone, L: Latencies<M>> Carrier<M> for Direct<L> {
    type Packet = M;
    type Access = ();
    type Lp = Infallible;
    type Plan = Delay;

    const POSTS_AT_ONCE: bool = true;

    fn message(packet: &M) -> Option<&M> {
        Some(packet)
    }

    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        self.0.wire(layout, wiring);
    }

    fn access(&self, _: LpId, _: Layout) {}

    fn start(&self, _: &mut impl CarrierContext<M>) -> Infallible {
        unreachable!("a direct carrier has no LP of its own")
    }

    #[inline]
    fn plan(&self, departure: Departure<'_, M>, (): &mut (), rng: &Rng) -> Delay {
        self.0.delay(departure, rng)
    }

    #[inline]
    fn arrival(&self, delay: Delay, now: Time) -> Option<Time> {
        Some(now.checked_add(delay).unwrap_or(Time::MAX))
    }

    #[inline]
    fn post(&self, letter: Letter<M, Delay>, (): &mut (), node: &mut impl CarrierContext<M>) {
        node.send_to(letter.to, letter.plan, letter.message);
    }

    #[inline]
    fn receive(&self, message: &M, (): &mut (), node: &mut impl NodeContext<M, M>) {
        // A message without a sender began with the node.
        let from = node.sender().unwrap_or(node.id());
        node.deliver(from, message.clone());
    }

    fn execute(&self, lp: &mut Infallible, _: Body<&M>, _: &mut impl CarrierContext<M>) {
        match *lp {}
    }
}

impl<M: Payload + Clone, L: Latencies<M>> Timed<M> for Direct<L> {
    #[inline]
    fn after(delay: Delay) -> Delay {
        delay
    }
}
