//! The seam between programs and carriers of their messages.
//!
//! A [`Carrier`] moves the messages of a program from node to node. Any crate may write one. A carrier may
//! have logical processes (LPs) of its own, such as routers, links or a solver; may keep state at each node,
//! such as the queue of an access link; and declares its channels with their lookahead.
//!
//! # The life of a message
//!
//! 1. A process sends a message. [`Carrier::plan`] makes the sender's decisions at once, and
//!    [`Carrier::arrival`] says whether the arrival is known already.
//! 2. When the event is over, [`Carrier::post`] sends the message on as packets: to the receiver, or to an LP
//!    of the carrier's own.
//! 3. Each LP of the carrier's own executes the packets that reach it: [`Carrier::execute`].
//! 4. A packet reaches a node: [`Carrier::receive`] delivers the message to the node's processes, or reports
//!    to the sender whether the message arrived.

mod at_end;
mod context;
mod restore;
mod save;
mod wiring;

pub use at_end::{AtEnd, Held};
pub use context::{AtNode, CarrierContext, Kernel, Mailbox, NodeContext};
pub use restore::{Copies, RestorableCarrier, Restore};
pub use save::SaveCarrier;
pub use wiring::{Layout, Wiring};

use parades_core::digest::{Digest, Payload};
use parades_core::event::{Body, LpId, TimerId};
use parades_core::metrics::{MetricId, Metrics};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use std::fmt;
use std::num::NonZeroU32;

/// A carrier of the messages `M` of a program.
///
/// The [module](self#the-life-of-a-message) tells in which order its functions are called. A carrier must be
/// a pure function of its inputs: its own constants, its states, the events, and the random stream of the LP
/// on which it acts. Then every engine gives the same answer.
///
/// # Examples
///
/// A hub of one LP that handles one message at a time, and takes 1 ms for each:
///
/// ```
/// use parades_core::prelude::*;
/// use parades_program::{
///     Carrier, CarrierContext, Departure, Layout, Letter, NodeContext, Processes, Program, Start, Wiring,
/// };
///
/// const WIRE: Delay = Delay::from_us(10); // from a node to the hub, and from the hub to a node
///
/// #[derive(Clone, Debug)]
/// struct Packet { from: LpId, to: LpId, number: u64 }
/// impl Payload for Packet {
///     fn fold(&self, digest: &mut Digest) { digest.word(self.number) }
/// }
///
/// struct Hub;
///
/// impl Carrier<u64> for Hub {
///     type Packet = Packet;
///     type Access = ();
///     type Lp = Time; // the time at which the hub is free
///     type Plan = ();
///
///     fn lps(&self, _: u32) -> u32 { 1 }
///     fn wire(&self, layout: Layout, wiring: &mut Wiring) {
///         for node in (0..layout.nodes()).map(LpId) {
///             wiring.connect(node, layout.own(0), WIRE);
///         }
///         wiring.to_anyone(layout.own(0), WIRE);
///     }
///     fn access(&self, _: LpId, _: Layout) {}
///     fn start(&self, _: &mut impl CarrierContext<Packet>) -> Time { Time::ZERO }
///     fn plan(&self, _: Departure<'_, u64>, _: &mut (), _: &Rng) {}
///     fn arrival(&self, _: (), _: Time) -> Option<Time> { None }
///     fn post(&self, letter: Letter<u64, ()>, _: &mut (), node: &mut impl CarrierContext<Packet>) {
///         let packet = Packet { from: node.id(), to: letter.to, number: letter.message };
///         node.send(Port(0), WIRE, packet);
///     }
///     fn execute(&self, free: &mut Time, event: Body<&Packet>, hub: &mut impl CarrierContext<Packet>) {
///         let Body::Message(packet) = event else { return };
///         let begin = hub.now().max(*free);
///         *free = begin.checked_add(Delay::from_ms(1)).unwrap_or(Time::MAX);
///         let delay = free.since(hub.now()).saturating_add(WIRE);
///         hub.send_to(packet.to, delay, packet.clone());
///     }
///     fn receive(&self, packet: &Packet, _: &mut (), node: &mut impl NodeContext<u64, Packet>) {
///         node.deliver(packet.from, packet.number);
///     }
/// }
///
/// /// All nodes but the first send it a message at once.
/// struct Crowd(Hub);
///
/// impl Program for Crowd {
///     type Message = u64;
///     type State = Option<Time>; // when the last message came
///     type Carrier = Hub;
///     fn nodes(&self) -> u32 { 4 }
///     fn carrier(&self) -> &Hub { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
///         start.spawn("main", |node| async move {
///             if node.id() != LpId(0) {
///                 node.send(LpId(0), 7);
///                 return;
///             }
///             for _ in 1..4 { node.receive().await; }
///             node.with(|here| *here.state = Some(here.now()));
///         });
///         None
///     }
///     fn finish(&self, id: LpId, last: &Option<Time>, _: &End, _: &mut Metrics) {
///         assert!(id != LpId(0) || *last == Some(Time::from_ps(3_020_000_000)));
///     }
/// }
///
/// let model = Processes::new(Crowd(Hub));
/// parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(1_000_000_000_000)))?;
/// # Ok::<(), parades_core::error::Error>(())
/// ```
pub trait Carrier<M>: Send + Sync + 'static {
    /// The messages of the carrier's events, between nodes and own LPs.
    type Packet: Payload;
    /// The carrier's state at a node, `()` for none.
    type Access: Send + 'static;
    /// The state of an LP of the carrier's own, [`std::convert::Infallible`] if there is none.
    type Lp: Send + 'static;
    /// The decision of [`Carrier::plan`] about a message.
    type Plan: Copy + Send + fmt::Debug + 'static;

    /// True if [`Carrier::post`] only sends packets: it neither reads nor writes the state at the node, and
    /// draws no random numbers. Then it may also be called earlier in the event, which saves time.
    const POSTS_AT_ONCE: bool = false;

    /// True if messages may fail although the carrier has no LP of its own. The metric `messages_failed`
    /// counts those of [`Carrier::held_at_node`] and [`Carrier::held`].
    const MAY_FAIL_AT_NODES: bool = false;

    /// Returns the number of LPs that the carrier has beside the nodes. They follow the nodes in the order of
    /// ids ([`Layout`]).
    fn lps(&self, nodes: u32) -> u32 {
        let _ = nodes;
        0
    }

    /// Returns the number of channels by pair that [`Carrier::wire`] declares for a node. A carrier that
    /// shares nodes with another needs it, so that the two know each other's ports.
    fn node_ports(&self, layout: Layout, node: LpId) -> u32 {
        let _ = (layout, node);
        0
    }

    /// Returns the message that a packet carries, for traces. By default none is known, and a trace shows the
    /// packet in its `Debug` form.
    fn message(packet: &Self::Packet) -> Option<&M> {
        let _ = packet;
        None
    }

    /// Returns the name of a node or an own LP, for traces. By default none has a name.
    fn lp_name(&self, lp: LpId, layout: Layout) -> Option<String> {
        let _ = (lp, layout);
        None
    }

    /// Returns the name of the kind of an own LP, for profiles; `None` for a node, which is of the program's
    /// kind.
    fn lp_kind(&self, lp: LpId, layout: Layout) -> Option<&'static str> {
        layout.index(lp).map(|_| "carrier")
    }

    /// Declares the channels between nodes, between nodes and own LPs, and among own LPs.
    fn wire(&self, layout: Layout, wiring: &mut Wiring);

    /// Makes the state at a node.
    fn access(&self, node: LpId, layout: Layout) -> Self::Access;

    /// Makes the state of an LP of the carrier's own. A pure function of the carrier, the seed and the LP.
    fn start(&self, lp: &mut impl CarrierContext<Self::Packet>) -> Self::Lp;

    /// Makes the sender's decisions about a message, at the moment when it is sent. Random numbers come from
    /// `rng`, the sender's stream.
    fn plan(&self, departure: Departure<'_, M>, access: &mut Self::Access, rng: &Rng) -> Self::Plan;

    /// Returns the arrival of a message that is sent now, if nothing can change it any more; [`Time::MAX`]
    /// beyond the end of time. With `None` the carrier reports the arrival itself ([`NodeContext::report`]).
    fn arrival(&self, plan: Self::Plan, now: Time) -> Option<Time>;

    /// Sends a message on, at the end of the event in which the process sent it.
    fn post(
        &self,
        letter: Letter<M, Self::Plan>,
        access: &mut Self::Access,
        node: &mut impl CarrierContext<Self::Packet>,
    );

    /// Handles a packet that has reached a node.
    fn receive(&self, packet: &Self::Packet, access: &mut Self::Access, node: &mut impl NodeContext<M, Self::Packet>);

    /// Handles a timer that the carrier has set at a node.
    fn timer(&self, timer: TimerId, access: &mut Self::Access, node: &mut impl NodeContext<M, Self::Packet>) {
        let _ = (access, node);
        unreachable!("the carrier sets no timer at nodes, but {timer:?} is due");
    }

    /// Sends the packet of a call on, at the end of the event in which a process made it ([`crate::Serves`]).
    /// By default the carrier serves no calls.
    fn post_call(&self, packet: Self::Packet, node: &mut impl CarrierContext<Self::Packet>) {
        let _ = node;
        unreachable!("the carrier serves no calls, but {packet:?} is one");
    }

    /// Learns, at the end of an event, that a process has given up a call, or returned the [`crate::Claim`]
    /// of one. By default the carrier serves no calls.
    fn give_up(&self, receipt: Receipt, node: &mut impl CarrierContext<Self::Packet>) {
        let _ = node;
        unreachable!("the carrier serves no calls, but {receipt:?} is one");
    }

    /// Tells another node, at the end of an event, that the process here has ended for whose end it waits
    /// under `receipt` ([`crate::ToProcesses::Join`]). By default the carrier serves no calls.
    fn report_end(&self, to: LpId, receipt: Receipt, node: &mut impl CarrierContext<Self::Packet>) {
        let _ = (to, node);
        unreachable!("the carrier serves no calls, but {receipt:?} is one");
    }

    /// Returns true if the failure of a node's host ends the node's processes, and its recovery begins them
    /// again ([`crate::Program::restart`]). By default processes are told, and go on.
    fn kills_with_host(&self) -> bool {
        false
    }

    /// Executes an event of an LP of the carrier's own: a packet, or a timer of that LP.
    fn execute(&self, lp: &mut Self::Lp, event: Body<&Self::Packet>, ctx: &mut impl CarrierContext<Self::Packet>);

    /// Folds the final state of an LP of the carrier's own into the digest. By default the digest covers
    /// events alone.
    fn fold(&self, lp: &Self::Lp, digest: &mut Digest) {
        let _ = (lp, digest);
    }

    /// Folds the final state at a node into the digest, as [`Carrier::fold`].
    fn fold_access(&self, access: &Self::Access, digest: &mut Digest) {
        let _ = (access, digest);
    }

    /// Returns the messages that an LP of the carrier's own holds at the end, and those that it did not
    /// deliver.
    fn held(&self, lp: &Self::Lp) -> Held {
        let _ = lp;
        Held::default()
    }

    /// Returns the messages that the carrier holds at a node at the end, and those that it lost there.
    fn held_at_node(&self, access: &Self::Access) -> Held {
        let _ = access;
        Held::default()
    }

    /// Declares the carrier's metrics, after those of the program. Returns their ids, which the carrier gets
    /// back at the end of the run ([`AtEnd`]).
    fn metrics(&self, metrics: &mut Metrics) -> Vec<MetricId> {
        let _ = metrics;
        Vec::new()
    }

    /// Adds the final state of an LP of the carrier's own to the carrier's metrics.
    fn finish(&self, lp: &Self::Lp, at_end: AtEnd<'_>) {
        let _ = (lp, at_end);
    }

    /// Adds the final state at a node to the carrier's metrics.
    fn finish_access(&self, access: &Self::Access, at_end: AtEnd<'_>) {
        let _ = (access, at_end);
    }
}

/// A carrier whose messages can also arrive after a delay that the program chooses
/// ([`crate::Node::send_after`]).
pub trait Timed<M>: Carrier<M> {
    /// Returns the plan of a message that arrives after `delay`.
    fn after(delay: Delay) -> Self::Plan;
}

/// A message at the moment it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<'a, M> {
    /// The sender.
    pub from: LpId,
    /// The receiver.
    pub to: LpId,
    /// The message.
    pub message: &'a M,
    /// The virtual time.
    pub now: Time,
}

/// A message on its way out of its sender's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Letter<M, P> {
    /// The receiver.
    pub to: LpId,
    /// The name by which the sender waits for the message to arrive; `None` if it does not wait.
    pub receipt: Option<Receipt>,
    /// The decision of [`Carrier::plan`].
    pub plan: P,
    /// The message.
    pub message: M,
}

/// The name of a message at its sender, which waits for the carrier's report on the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Receipt(pub NonZeroU32);

/// A message did not arrive: a part of the carrier failed, or the host of the sender or receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Undelivered;

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message did not arrive: a link or host on its way failed")
    }
}
impl std::error::Error for Undelivered {}

/// The packets of a program's carrier.
pub(crate) type PacketOf<P> = <CarrierOf<P> as Carrier<MessageOf<P>>>::Packet;
/// The plans of a program's carrier.
pub(crate) type PlanOf<P> = <CarrierOf<P> as Carrier<MessageOf<P>>>::Plan;
/// The state of a program's carrier at a node.
pub(crate) type AccessOf<P> = <CarrierOf<P> as Carrier<MessageOf<P>>>::Access;
/// The state of an LP that a program's carrier has of its own.
pub(crate) type OwnLpOf<P> = <CarrierOf<P> as Carrier<MessageOf<P>>>::Lp;

type CarrierOf<P> = <P as crate::Program>::Carrier;
type MessageOf<P> = <P as crate::Program>::Message;
