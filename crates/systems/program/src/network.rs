//! How messages get from node to node.
//!
//! Two kinds of network: those in which a message takes a time that nothing else has a say in ([`Network`]), and those that all messages share
//! ([`SharedNetwork`]). A program names one of either: [`Constant`], [`Direct`], [`Shared`].

mod delivery;
mod shared;

pub(crate) use delivery::{Deliveries, host, told};
pub use delivery::{Delivery, HostIs};
pub(crate) use shared::Held;
pub use shared::{Flight, News, Parcel, Shared, SharedNetwork, Undelivered};

use crate::context::Sending;
use crate::sleep::{Sleep, WAIT};
use crate::table::Table;
use parades_core::channel::Channels;
use parades_core::digest::Payload;
use parades_core::event::{LpId, Sender};
use parades_core::model::{Context, Model};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use std::convert::Infallible;
use std::fmt;

/// A network that messages do not share: how long each takes, and the least that any takes, which is the lookahead. A program has it as
/// [`Direct`].
///
/// ```
/// use parades_core::prelude::*;
/// use parades_program::Network;
///
/// /// Nodes on a line: the further, the longer.
/// struct Line;
/// impl<M> Network<M> for Line {
///     fn channels(&self, nodes: u32) -> Channels { Channels::whole(Delay::from_us(10)) }
///     fn delay(&self, from: LpId, to: LpId, _: &M, _: &mut Rng) -> Delay {
///         Delay::from_us(10 * u64::from(from.0.abs_diff(to.0)).max(1))
///     }
/// }
/// # let mut rng = Rng::stream(1, 1);
/// assert_eq!(Line.delay(LpId(3), LpId(5), &(), &mut rng), Delay::from_us(20));
/// ```
pub trait Network<M>: Send + Sync + 'static {
    /// Who may send to whom with what least delay. Nodes name their receivers, so it must be declared for senders or for the whole model
    /// ([`Channels::to_anyone`], [`Channels::whole`]).
    fn channels(&self, nodes: u32) -> Channels;

    /// How long a message takes; never less than the channel's lookahead. What is random in it is drawn from the sender's stream.
    fn delay(&self, from: LpId, to: LpId, message: &M, rng: &mut Rng) -> Delay;
}

/// Every message takes the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency(pub Delay);

impl<M> Network<M> for Latency {
    fn channels(&self, _: u32) -> Channels {
        Channels::whole(self.0)
    }
    #[inline]
    fn delay(&self, _: LpId, _: LpId, _: &M, _: &mut Rng) -> Delay {
        self.0
    }
}

/// A [`Network`] as a program has it: each message is an event at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direct<N>(pub N);

/// A network in which every message takes the same time.
pub type Constant = Direct<Latency>;

impl Direct<Latency> {
    /// Every message takes `latency`.
    pub const fn new(latency: Delay) -> Constant {
        Direct(Latency(latency))
    }
}

/// What a program may have for its network: [`Constant`], [`Direct`] or [`Shared`].
pub trait Carrier<M>: Carries<M> {}
impl<M, C: Carries<M>> Carrier<M> for C {}

/// What a node gets in an event.
#[derive(Clone, Copy, Debug)]
pub enum Opened<'a, M> {
    /// A message, and who sent it; nobody where it began with the node.
    Message(Option<LpId>, &'a M),
    /// What became of a message of the node's own.
    Told(u32, Result<(), Undelivered>),
    /// The host of the node fails, or works again.
    Host(bool),
}

/// How each kind of network does its work. Only this crate implements it.
pub trait Carries<M>: Send + Sync + 'static {
    /// A message as an event.
    type Parcel: Payload;
    /// What is known of a message's way when it is sent.
    type Way: Copy + Send + fmt::Debug;
    /// The state of the LP that the network is.
    type Hub: Send + 'static;
    /// What awaits the arrival of a message.
    type Sending: Future + Send + Unpin + fmt::Debug;
    /// LPs that the network has, beside the nodes.
    const HUBS: u32;

    /// As of [`Model::channels`].
    fn channels(&self, nodes: u32) -> Channels;
    /// Sends a message on its way.
    fn way(&self, from: LpId, to: LpId, message: &M, rng: &mut Rng) -> Self::Way;
    /// A way that takes so long.
    fn after(delay: Delay) -> Self::Way;
    /// When a message arrives that goes this way now, where that is known.
    fn arrival(now: Time, way: Self::Way) -> Option<Time>;
    /// Waits for the arrival of a message that goes out at the end of the event.
    fn sending(now: Time, way: &mut Self::Way, table: &mut Table) -> Self::Sending;
    /// Sends the event that a message is.
    fn post<L: Model<Message = Self::Parcel>>(ctx: &mut Context<'_, L>, parcel: (LpId, Self::Way, M), table: &Table);
    /// What a node gets.
    fn open(parcel: &Self::Parcel, sender: Option<Sender>) -> Opened<'_, M>;

    /// The LP of the network at the start.
    fn open_hub<L: Model<Message = Self::Parcel>>(&self, ctx: &mut Context<'_, L>) -> Self::Hub;
    /// What the network does with an event: a parcel, or its timer.
    fn serve<L: Model<Message = Self::Parcel>>(
        &self,
        hub: &mut Self::Hub,
        parcel: Option<&Self::Parcel>,
        ctx: &mut Context<'_, L>,
    );
    /// What the network still holds at the end.
    fn held(&self, hub: &Self::Hub) -> Held;
}

impl<M: Payload + Clone, N: Network<M>> Carries<M> for Direct<N> {
    type Parcel = M;
    type Way = Delay;
    type Hub = Infallible;
    type Sending = Sending;
    const HUBS: u32 = 0;

    fn channels(&self, nodes: u32) -> Channels {
        self.0.channels(nodes)
    }
    #[inline]
    fn way(&self, from: LpId, to: LpId, message: &M, rng: &mut Rng) -> Delay {
        self.0.delay(from, to, message, rng)
    }
    #[inline]
    fn after(delay: Delay) -> Delay {
        delay
    }
    #[inline]
    fn arrival(now: Time, delay: Delay) -> Option<Time> {
        now.checked_add(delay)
    }
    #[inline]
    fn sending(now: Time, delay: &mut Delay, _: &mut Table) -> Sending {
        Sending(Sleep::until(now.checked_add(*delay), WAIT))
    }
    #[inline]
    fn post<L: Model<Message = M>>(ctx: &mut Context<'_, L>, (to, delay, message): (LpId, Delay, M), _: &Table) {
        ctx.send_to(to, delay, message);
    }
    #[inline]
    fn open(message: &M, sender: Option<Sender>) -> Opened<'_, M> {
        Opened::Message(sender.and_then(Sender::as_lp), message)
    }
    fn open_hub<L: Model<Message = M>>(&self, _: &mut Context<'_, L>) -> Infallible {
        unreachable!("a direct network has no LP")
    }
    fn serve<L: Model<Message = M>>(&self, hub: &mut Infallible, _: Option<&M>, _: &mut Context<'_, L>) {
        match *hub {}
    }
    fn held(&self, hub: &Infallible) -> Held {
        match *hub {}
    }
}

/// The way of messages that a program's network carries.
pub(crate) type WayOf<P> = <<P as crate::Program>::Network as Carries<<P as crate::Program>::Message>>::Way;
/// A program's messages as events.
pub(crate) type ParcelOf<P> = <<P as crate::Program>::Network as Carries<<P as crate::Program>::Message>>::Parcel;
/// The LP that a program's network is.
pub(crate) type HubOf<P> = <<P as crate::Program>::Network as Carries<<P as crate::Program>::Message>>::Hub;
/// What awaits the arrival of a program's message.
pub(crate) type SendingOf<P> = <<P as crate::Program>::Network as Carries<<P as crate::Program>::Message>>::Sending;
