//! Two carriers at once, such as one by latency for control messages and one by capacity for data.

mod half;

use half::{AsFirst, AsSecond, Half};
use parades_core::digest::{Digest, Payload};
use parades_core::event::{Body, LpId, TimerId};
use parades_core::metrics::{MetricId, Metrics};
use parades_core::random::Rng;
use parades_core::time::Time;
use parades_core::wire::Malformed;
use parades_program::{
    AtEnd, Carrier, CarrierContext, Departure, Held, Layout, Letter, NodeContext, RestorableCarrier, Restore,
    SaveCarrier, Wiring,
};
use std::fmt;

/// Names one of two carriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first carrier.
    First,
    /// The second carrier.
    Second,
}

/// Something of the first carrier, or of the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Of<A, B> {
    /// Of the first.
    First(A),
    /// Of the second.
    Second(B),
}

impl<A: Payload, B: Payload> Payload for Of<A, B> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        match self {
            Of::First(packet) => {
                digest.word(1);
                packet.fold(digest);
            }
            Of::Second(packet) => {
                digest.word(2);
                packet.fold(digest);
            }
        }
    }
}

/// Two carriers of one program. Each message names its carrier.
///
/// The LPs of the second follow those of the first. Each of the two may be such a pair itself.
///
/// # Examples
///
/// Questions take 1 ms whatever else goes on; answers are flows, and share the links of a star:
///
/// ```
/// use parades_carriers::{Both, Constant, FlowLevel, Which};
/// use parades_core::prelude::*;
/// use parades_flow::generators::star;
/// use parades_flow::network_model::{MaxMinModel, NetworkModel};
/// use parades_program::{Processes, Program, Start};
///
/// #[derive(Clone, Debug)]
/// enum Message { Ask, Block { bytes: u64 } }
/// impl Payload for Message {
///     fn fold(&self, digest: &mut Digest) {
///         digest.word(match self { Message::Ask => 0, Message::Block { bytes } => *bytes })
///     }
/// }
///
/// struct Download(Both<Constant, FlowLevel<Message>, Message>);
///
/// impl Program for Download {
///     type Message = Message;
///     type State = Option<Time>;
///     type Carrier = Both<Constant, FlowLevel<Message>, Message>;
///     fn nodes(&self) -> u32 { 2 }
///     fn carrier(&self) -> &Self::Carrier { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
///         start.spawn("main", |node| async move {
///             if node.id() == LpId(0) {
///                 node.send(LpId(1), Message::Ask);
///                 node.receive().await;
///                 node.with(|here| *here.state = Some(here.now()));
///             } else {
///                 let asked = node.receive().await;
///                 node.send(asked.from, Message::Block { bytes: 125_000_000 });
///             }
///         });
///         None
///     }
///     fn finish(&self, id: LpId, arrived: &Option<Time>, _: &End, _: &mut Metrics) {
///         // 1 ms for the question; 600 µs and a second for 125 MB at 125 MB/s.
///         assert!(id != LpId(0) || arrived.unwrap().as_secs_f64() == 1.0016);
///     }
/// }
///
/// let network_model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
/// let flows = FlowLevel::new(star(2).unwrap().into(), network_model, 2, |message| match message {
///     Message::Ask => 0.0,
///     Message::Block { bytes } => *bytes as f64,
/// });
/// let which = |message: &Message| match message { Message::Ask => Which::First, Message::Block { .. } => Which::Second };
/// let model = Processes::new(Download(Both::new(Constant::new(Delay::from_ms(1)), flows, which)));
/// parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(9_000_000_000_000)))?;
/// # Ok::<(), parades_core::error::Error>(())
/// ```
pub struct Both<A, B, M> {
    first: A,
    second: B,
    which: fn(&M) -> Which,
}

impl<A: fmt::Debug, B: fmt::Debug, M> fmt::Debug for Both<A, B, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Both").field(&self.first).field(&self.second).finish()
    }
}

impl<A, B, M> Both<A, B, M> {
    /// Makes one carrier of two; `which` names the carrier of a message.
    pub fn new(first: A, second: B, which: fn(&M) -> Which) -> Both<A, B, M> {
        Both { first, second, which }
    }
}

impl<M: 'static, A: Carrier<M>, B: Carrier<M>> Both<A, B, M> {
    fn layouts(&self, layout: Layout) -> (Layout, Layout) {
        let (nodes, lps) = (layout.nodes(), self.first.lps(layout.nodes()));
        let begin = layout.own(0).0;
        (Layout::new(nodes, begin, lps), Layout::new(nodes, begin + lps, layout.lps() - lps))
    }
}

/// The part of the end of a run that belongs to one of two carriers.
struct EndOf<'a> {
    layout: Layout,
    ids: &'a [MetricId],
}

impl<'a> EndOf<'a> {
    fn of(self, AtEnd { lp, end, metrics, .. }: AtEnd<'a>) -> AtEnd<'a> {
        AtEnd { lp, layout: self.layout, end, ids: self.ids, metrics }
    }
}

fn reborrow<'b>(at_end: &'b mut AtEnd<'_>) -> AtEnd<'b> {
    AtEnd { metrics: &mut *at_end.metrics, ..*at_end }
}

impl<M: 'static, A: Carrier<M>, B: Carrier<M>> Both<A, B, M> {
    /// Divides the layout and the ids of metrics between the two.
    fn ends<'a>(&self, layout: Layout, ids: &'a [MetricId]) -> (EndOf<'a>, EndOf<'a>) {
        let (first, second) = self.layouts(layout);
        let (of_first, of_second) = ids.split_at(self.first.metrics(&mut Metrics::new()).len());
        (EndOf { layout: first, ids: of_first }, EndOf { layout: second, ids: of_second })
    }
}

impl<M, A, B> RestorableCarrier<M> for Both<A, B, M>
where
    M: 'static,
    A: RestorableCarrier<M>,
    B: RestorableCarrier<M>,
{
    type Restore = (A::Restore, B::Restore);
}

/// Each of two carriers restores its own LPs.
impl<A, B, RA: Restore<A>, RB: Restore<B>> Restore<Of<A, B>> for (RA, RB) {
    type Undo = Of<RA::Undo, RB::Undo>;

    const COPIES: bool = RA::COPIES && RB::COPIES;

    fn before(lp: &mut Of<A, B>) -> Option<Self::Undo> {
        match lp {
            Of::First(lp) => RA::before(lp).map(Of::First),
            Of::Second(lp) => RB::before(lp).map(Of::Second),
        }
    }

    fn after(lp: &mut Of<A, B>) -> Option<Self::Undo> {
        match lp {
            Of::First(lp) => RA::after(lp).map(Of::First),
            Of::Second(lp) => RB::after(lp).map(Of::Second),
        }
    }

    fn undo(lp: &mut Of<A, B>, undo: Option<Self::Undo>) {
        match (lp, undo) {
            (Of::First(lp), Some(Of::First(undo))) => RA::undo(lp, Some(undo)),
            (Of::Second(lp), Some(Of::Second(undo))) => RB::undo(lp, Some(undo)),
            (Of::First(lp), None) => RA::undo(lp, None),
            (Of::Second(lp), None) => RB::undo(lp, None),
            _ => unreachable!("an LP belongs to one carrier throughout"),
        }
    }
}
/// Each of two carriers writes its own states.
impl<M: 'static, A: SaveCarrier<M>, B: SaveCarrier<M>> SaveCarrier<M> for Both<A, B, M> {
    fn can_save(&self) -> Result<(), String> {
        self.first.can_save().and_then(|()| self.second.can_save())
    }

    fn write_access(&self, (first, second): &Self::Access, to: &mut Vec<u8>) {
        self.first.write_access(first, to);
        self.second.write_access(second, to);
    }

    fn read_access(&self, node: LpId, layout: Layout, from: &mut &[u8]) -> Result<Self::Access, Malformed> {
        let (first, second) = self.layouts(layout);
        Ok((self.first.read_access(node, first, from)?, self.second.read_access(node, second, from)?))
    }

    fn write_lp(&self, lp: &Self::Lp, to: &mut Vec<u8>) {
        match lp {
            Of::First(lp) => self.first.write_lp(lp, to),
            Of::Second(lp) => self.second.write_lp(lp, to),
        }
    }

    fn read_lp(&self, lp: LpId, layout: Layout, from: &mut &[u8]) -> Result<Self::Lp, Malformed> {
        let (first, second) = self.layouts(layout);
        if first.index(lp).is_some() {
            self.first.read_lp(lp, first, from).map(Of::First)
        } else {
            self.second.read_lp(lp, second, from).map(Of::Second)
        }
    }
}

impl<M: 'static, A: Carrier<M>, B: Carrier<M>> Carrier<M> for Both<A, B, M> {
    type Packet = Of<A::Packet, B::Packet>;
    type Access = (A::Access, B::Access);
    type Lp = Of<A::Lp, B::Lp>;
    type Plan = Of<A::Plan, B::Plan>;

    const MAY_FAIL_AT_NODES: bool = A::MAY_FAIL_AT_NODES || B::MAY_FAIL_AT_NODES;

    fn message(packet: &Self::Packet) -> Option<&M> {
        match packet {
            Of::First(packet) => A::message(packet),
            Of::Second(packet) => B::message(packet),
        }
    }

    fn lps(&self, nodes: u32) -> u32 {
        self.first.lps(nodes).saturating_add(self.second.lps(nodes))
    }

    fn node_ports(&self, layout: Layout, node: LpId) -> u32 {
        let (first, second) = self.layouts(layout);
        self.first.node_ports(first, node) + self.second.node_ports(second, node)
    }

    fn lp_kind(&self, lp: LpId, layout: Layout) -> Option<&'static str> {
        let (first, second) = self.layouts(layout);
        self.first.lp_kind(lp, first).or_else(|| self.second.lp_kind(lp, second))
    }

    fn lp_name(&self, lp: LpId, layout: Layout) -> Option<String> {
        let (first, second) = self.layouts(layout);
        self.first.lp_name(lp, first).or_else(|| self.second.lp_name(lp, second))
    }

    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        let (first, second) = self.layouts(layout);
        self.first.wire(first, wiring);
        self.second.wire(second, wiring);
    }

    fn access(&self, node: LpId, layout: Layout) -> Self::Access {
        let (first, second) = self.layouts(layout);
        (self.first.access(node, first), self.second.access(node, second))
    }

    fn start(&self, lp: &mut impl CarrierContext<Self::Packet>) -> Self::Lp {
        let (first, second) = self.layouts(lp.layout());
        if first.index(lp.id()).is_some() {
            Of::First(self.first.start(&mut Half::own(lp, first, AsFirst)))
        } else {
            Of::Second(self.second.start(&mut Half::own(lp, second, AsSecond)))
        }
    }

    #[inline]
    fn plan(&self, departure: Departure<'_, M>, access: &mut Self::Access, rng: &Rng) -> Self::Plan {
        match (self.which)(departure.message) {
            Which::First => Of::First(self.first.plan(departure, &mut access.0, rng)),
            Which::Second => Of::Second(self.second.plan(departure, &mut access.1, rng)),
        }
    }

    #[inline]
    fn arrival(&self, plan: Self::Plan, now: Time) -> Option<Time> {
        match plan {
            Of::First(plan) => self.first.arrival(plan, now),
            Of::Second(plan) => self.second.arrival(plan, now),
        }
    }

    #[inline]
    fn post(
        &self,
        letter: Letter<M, Self::Plan>,
        access: &mut Self::Access,
        node: &mut impl CarrierContext<Self::Packet>,
    ) {
        let Letter { to, receipt, plan, message } = letter;
        let (first, second) = self.layouts(node.layout());
        let ports = self.first.node_ports(first, node.id());
        match plan {
            Of::First(plan) => {
                let letter = Letter { to, receipt, plan, message };
                self.first.post(letter, &mut access.0, &mut Half::node(node, first, 0, AsFirst));
            }
            Of::Second(plan) => {
                let letter = Letter { to, receipt, plan, message };
                self.second.post(letter, &mut access.1, &mut Half::node(node, second, ports, AsSecond));
            }
        }
    }

    #[inline]
    fn receive(&self, packet: &Self::Packet, access: &mut Self::Access, node: &mut impl NodeContext<M, Self::Packet>) {
        let (first, second) = self.layouts(node.layout());
        let ports = self.first.node_ports(first, node.id());
        match packet {
            Of::First(packet) => {
                self.first.receive(packet, &mut access.0, &mut Half::node(node, first, 0, AsFirst));
            }
            Of::Second(packet) => {
                self.second.receive(packet, &mut access.1, &mut Half::node(node, second, ports, AsSecond));
            }
        }
    }

    fn timer(&self, TimerId(timer): TimerId, access: &mut Self::Access, node: &mut impl NodeContext<M, Self::Packet>) {
        let (first, second) = self.layouts(node.layout());
        let ports = self.first.node_ports(first, node.id());
        let own = TimerId(timer / 2);
        if timer.is_multiple_of(2) {
            self.first.timer(own, &mut access.0, &mut Half::node(node, first, 0, AsFirst));
        } else {
            self.second.timer(own, &mut access.1, &mut Half::node(node, second, ports, AsSecond));
        }
    }

    fn kills_with_host(&self) -> bool {
        self.first.kills_with_host() || self.second.kills_with_host()
    }

    #[inline]
    fn execute(&self, lp: &mut Self::Lp, event: Body<&Self::Packet>, ctx: &mut impl CarrierContext<Self::Packet>) {
        let (first, second) = self.layouts(ctx.layout());
        match lp {
            Of::First(lp) => {
                let event = only(event, |packet| if let Of::First(packet) = packet { Some(packet) } else { None });
                self.first.execute(lp, event, &mut Half::own(ctx, first, AsFirst));
            }
            Of::Second(lp) => {
                let event = only(event, |packet| if let Of::Second(packet) = packet { Some(packet) } else { None });
                self.second.execute(lp, event, &mut Half::own(ctx, second, AsSecond));
            }
        }
    }

    fn fold(&self, lp: &Self::Lp, digest: &mut Digest) {
        match lp {
            Of::First(lp) => self.first.fold(lp, digest),
            Of::Second(lp) => self.second.fold(lp, digest),
        }
    }

    fn held(&self, lp: &Self::Lp) -> Held {
        match lp {
            Of::First(lp) => self.first.held(lp),
            Of::Second(lp) => self.second.held(lp),
        }
    }

    fn fold_access(&self, access: &Self::Access, digest: &mut Digest) {
        self.first.fold_access(&access.0, digest);
        self.second.fold_access(&access.1, digest);
    }

    fn held_at_node(&self, access: &Self::Access) -> Held {
        let [first, second] = [self.first.held_at_node(&access.0), self.second.held_at_node(&access.1)];
        Held {
            on_their_way: first.on_their_way + second.on_their_way,
            stuck: first.stuck + second.stuck,
            unread: first.unread + second.unread,
            failed: first.failed + second.failed,
            is_active: first.is_active || second.is_active,
        }
    }

    fn metrics(&self, metrics: &mut Metrics) -> Vec<MetricId> {
        let mut ids = self.first.metrics(metrics);
        ids.extend(self.second.metrics(metrics));
        ids
    }

    fn finish(&self, lp: &Self::Lp, at_end: AtEnd<'_>) {
        let (of_first, of_second) = self.ends(at_end.layout, at_end.ids);
        match lp {
            Of::First(lp) => self.first.finish(lp, of_first.of(at_end)),
            Of::Second(lp) => self.second.finish(lp, of_second.of(at_end)),
        }
    }

    fn finish_access(&self, access: &Self::Access, mut at_end: AtEnd<'_>) {
        let (of_first, of_second) = self.ends(at_end.layout, at_end.ids);
        self.first.finish_access(&access.0, of_first.of(reborrow(&mut at_end)));
        self.second.finish_access(&access.1, of_second.of(at_end));
    }
}

/// Returns the event of an LP as its own carrier knows it.
#[inline]
fn only<'p, P, Q>(event: Body<&'p P>, packet: impl Fn(&'p P) -> Option<&'p Q>) -> Body<&'p Q> {
    match event {
        Body::Message(of) => Body::Message(packet(of).expect("an LP is sent packets by its own carrier")),
        Body::Timer(timer) => Body::Timer(timer),
    }
}
