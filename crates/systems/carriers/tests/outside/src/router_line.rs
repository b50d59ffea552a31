//! A carrier: three routers in a line, to which nodes are attached in turn.
//!
//! ```text
//! node 0, 3, 6 …    node 1, 4, 7 …    node 2, 5, 8 …
//!      |                 |                 |
//!  router 0 ————————— router 1 ————————— router 2
//! ```
//!
//! Routers store and forward: each has a queue for each of its outputs, and sends one packet at a time. A
//! queue that is full drops what arrives, and the sender that waits gets a report. A node has an access link
//! of its own, which also sends one message at a time.

use parades_core::prelude::*;
use parades_program::{
    Carrier, CarrierContext, Departure, Held, Layout, Letter, NodeContext, Receipt, Undelivered, Wiring,
};
use std::collections::VecDeque;

/// The number of routers.
pub const ROUTERS: u32 = 3;
/// The delay of a link between a node and its router.
pub const ACCESS: Delay = Delay::from_us(100);
/// The delay of a link between two routers.
pub const TRUNK: Delay = Delay::from_ms(2);
/// The time for which a packet occupies a link.
pub const SENDING: Delay = Delay::from_us(50);
/// The greatest number of packets in a queue, the one that is being sent included.
pub const QUEUE: usize = 8;

/// The carrier.
#[derive(Clone, Copy, Debug)]
pub struct RouterLine;

/// A message on its way, or the report on one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The node that sent the message, or to which the report goes.
    pub from: LpId,
    /// The receiver of the message.
    pub to: LpId,
    /// The name by which the sender waits.
    pub receipt: Option<Receipt>,
    /// The content.
    pub content: Content,
}

/// The content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The message.
    Message(u64),
    /// To the sender: whether its message arrived at its receiver's router.
    Report(bool),
}

impl Payload for Packet {
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.from.0) << 32 | u64::from(self.to.0));
        digest.word(self.receipt.map_or(0, |Receipt(number)| u64::from(number.get())));
        let (kind, word) = match self.content {
            Content::Message(message) => (1, message),
            Content::Report(arrived) => (2, u64::from(arrived)),
        };
        digest.word(kind);
        digest.word(word);
    }
}

/// The outputs of a router, which are also its timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Left = 0,
    Right = 1,
    Nodes = 2,
}

const OUTPUTS: [Output; 3] = [Output::Left, Output::Right, Output::Nodes];

/// A router: a queue for each output. The first packet of a queue is being sent.
#[derive(Debug, Default)]
pub struct Router {
    queues: [VecDeque<Packet>; 3],
    dropped: u64,
}

impl RouterLine {
    /// Returns the router of a node.
    fn router(node: LpId) -> u32 {
        node.0 % ROUTERS
    }

    /// Queues a packet at a router.
    fn enqueue(self, router: &mut Router, packet: Packet, ctx: &mut impl CarrierContext<Packet>) {
        let own = ctx.layout().index(ctx.id()).expect("routers queue packets");
        let end = if let Content::Report(_) = packet.content { packet.from } else { packet.to };
        let output = match RouterLine::router(end).cmp(&own) {
            std::cmp::Ordering::Less => Output::Left,
            std::cmp::Ordering::Greater => Output::Right,
            std::cmp::Ordering::Equal => Output::Nodes,
        };
        let queue = &mut router.queues[output as usize];
        // Reports are small, and are never dropped.
        if queue.len() >= QUEUE && matches!(packet.content, Content::Message(_)) {
            router.dropped += 1;
            if packet.receipt.is_some() {
                self.enqueue(router, Packet { content: Content::Report(false), ..packet }, ctx);
            }
            return;
        }
        queue.push_back(packet);
        if queue.len() == 1 {
            ctx.set_timer(TimerId(output as u32), SENDING);
        }
    }

    /// Sends on the packet that has left the queue of an output.
    fn forward(self, router: &mut Router, output: Output, ctx: &mut impl CarrierContext<Packet>) {
        let own = ctx.layout().index(ctx.id()).expect("routers forward packets");
        let queue = &mut router.queues[output as usize];
        let packet = queue.pop_front().expect("a link that sends has a packet");
        if !queue.is_empty() {
            ctx.set_timer(TimerId(output as u32), SENDING);
        }
        match (output, packet.content) {
            // The router in the middle has two channels to routers, that to the left first.
            (Output::Left, _) => ctx.send(Port(0), TRUNK, packet),
            (Output::Right, _) => ctx.send(Port(u32::from(own > 0)), TRUNK, packet),
            (Output::Nodes, Content::Report(_)) => ctx.send_to(packet.from, ACCESS, packet),
            (Output::Nodes, Content::Message(_)) => {
                let report = packet.receipt.is_some().then_some(Packet { content: Content::Report(true), ..packet });
                ctx.send_to(packet.to, ACCESS, packet);
                if let Some(report) = report {
                    self.enqueue(router, report, ctx);
                }
            }
        }
    }
}

impl Carrier<u64> for RouterLine {
    type Packet = Packet;
    /// The time at which the access link is free.
    type Access = Time;
    type Lp = Router;
    /// The delay to the router.
    type Plan = Delay;

    fn lps(&self, _: u32) -> u32 {
        ROUTERS
    }

    fn node_ports(&self, _: Layout, _: LpId) -> u32 {
        1
    }

    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        for node in (0..layout.nodes()).map(LpId) {
            wiring.connect(node, layout.own(RouterLine::router(node)), ACCESS);
        }
        for router in 0..ROUTERS {
            let neighbours = [router.checked_sub(1), (router + 1 < ROUTERS).then_some(router + 1)];
            for neighbour in neighbours.into_iter().flatten() {
                wiring.connect(layout.own(router), layout.own(neighbour), TRUNK);
            }
            wiring.to_anyone(layout.own(router), ACCESS);
        }
    }

    fn access(&self, _: LpId, _: Layout) -> Time {
        Time::ZERO
    }

    fn start(&self, _: &mut impl CarrierContext<Packet>) -> Router {
        Router::default()
    }

    fn plan(&self, departure: Departure<'_, u64>, free: &mut Time, _: &Rng) -> Delay {
        let begin = departure.now.max(*free);
        *free = begin.checked_add(SENDING).expect("the run is short");
        free.since(departure.now).saturating_add(ACCESS)
    }

    fn arrival(&self, _: Delay, _: Time) -> Option<Time> {
        None
    }

    fn post(&self, letter: Letter<u64, Delay>, _: &mut Time, node: &mut impl CarrierContext<Packet>) {
        let Letter { to, receipt, plan: delay, message } = letter;
        let packet = Packet { from: node.id(), to, receipt, content: Content::Message(message) };
        node.send(Port(0), delay, packet);
    }

    fn receive(&self, packet: &Packet, _: &mut Time, node: &mut impl NodeContext<u64, Packet>) {
        match (packet.content, packet.receipt) {
            (Content::Message(message), _) => node.deliver(packet.from, message),
            (Content::Report(arrived), Some(receipt)) => {
                node.report(receipt, if arrived { Ok(()) } else { Err(Undelivered) });
            }
            (Content::Report(_), None) => unreachable!("only a sender that waits gets a report"),
        }
    }

    fn execute(&self, router: &mut Router, event: Body<&Packet>, ctx: &mut impl CarrierContext<Packet>) {
        match event {
            Body::Message(packet) => self.enqueue(router, packet.clone(), ctx),
            Body::Timer(TimerId(output)) => self.forward(router, OUTPUTS[output as usize], ctx),
        }
    }

    fn fold(&self, router: &Router, digest: &mut Digest) {
        digest.word(router.dropped);
    }

    fn held(&self, router: &Router) -> Held {
        let on_their_way = router.queues.iter().map(VecDeque::len).sum::<usize>() as u64;
        Held { on_their_way, failed: router.dropped, is_active: on_their_way > 0, ..Held::default() }
    }
}
