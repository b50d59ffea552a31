//! Chord over a carrier that has an LP of its own, state at each node and timers there, by both drivers.

use parades_carriers::PacketLevel;
use parades_carriers::packet_level::Format;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::{rollback_check, sequential, time_warp, window};
use parades_p2p::chord::{Chord, Message, Parameters};
use parades_p2p::churn::{Churn, Law};
use parades_p2p::driver::AsModel;
use parades_packet::network::Settings as NetworkSettings;
use parades_packet::plane::Plane;
use parades_packet::queue::{Codel, Discipline};
use parades_program::{
    Carrier, CarrierContext, Copies, Departure, Layout, Letter, NodeContext, RestorableCarrier, Wiring,
};
use parades_topology::{Link, NodeId, Topology};
use std::fmt::Debug;

/// The delay from a node to the hub, and from the hub to a node.
const WIRE: Delay = Delay::from_ms(2);
/// The greatest time for which the hub handles a message.
const HANDLING_MAX: u64 = 3_000_000_000;

/// A hub that handles one message at a time, and nodes that deliver messages a little later.
#[derive(Clone, Copy, Debug)]
struct Hub;

#[derive(Clone, Debug, PartialEq)]
struct Packet {
    from: LpId,
    to: LpId,
    message: Message,
}

impl Payload for Packet {
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.from.0) << 32 | u64::from(self.to.0));
        self.message.fold(digest);
    }
}

impl RestorableCarrier<Message> for Hub {
    type Restore = Copies;
}

impl Carrier<Message> for Hub {
    type Packet = Packet;
    /// The number of messages that the node has sent, and those that wait for its timer.
    type Access = (u64, Vec<Packet>);
    /// The time at which the hub is free.
    type Lp = Time;
    type Plan = u64;

    fn lps(&self, _: u32) -> u32 {
        1
    }
    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        (0..layout.nodes()).for_each(|node| wiring.connect(LpId(node), layout.own(0), WIRE));
        wiring.to_anyone(layout.own(0), WIRE);
    }
    fn access(&self, _: LpId, _: Layout) -> (u64, Vec<Packet>) {
        (0, Vec::new())
    }
    fn start(&self, _: &mut impl CarrierContext<Packet>) -> Time {
        Time::ZERO
    }
    fn plan(&self, _: Departure<'_, Message>, access: &mut (u64, Vec<Packet>), rng: &Rng) -> u64 {
        // It sees what `post` writes, so the two must come in the same order under both drivers.
        access.0 * 1_000 + rng.below(1_000)
    }
    fn arrival(&self, _: u64, _: Time) -> Option<Time> {
        None
    }
    fn post(
        &self,
        letter: Letter<Message, u64>,
        access: &mut (u64, Vec<Packet>),
        node: &mut impl CarrierContext<Packet>,
    ) {
        access.0 += 1;
        let noise = letter.plan + node.rng().below(1_000);
        let packet = Packet { from: node.id(), to: letter.to, message: letter.message };
        node.send(Port(0), WIRE.saturating_add(Delay::from_ps(noise)), packet);
    }
    fn execute(&self, free: &mut Time, event: Body<&Packet>, hub: &mut impl CarrierContext<Packet>) {
        let Body::Message(packet) = event else { unreachable!("the hub sets no timer") };
        let handling = Delay::from_ps(hub.rng().below(HANDLING_MAX));
        *free = hub.now().max(*free).checked_add(handling).expect("a short run");
        hub.send_to(packet.to, free.since(hub.now()).saturating_add(WIRE), packet.clone());
    }
    fn fold(&self, free: &Time, digest: &mut Digest) {
        digest.word(free.as_ps());
    }
    fn receive(&self, packet: &Packet, access: &mut (u64, Vec<Packet>), node: &mut impl NodeContext<Message, Packet>) {
        access.1.push(packet.clone());
        node.set_timer(TimerId(0), Delay::from_ms(1));
    }
    fn timer(&self, _: TimerId, access: &mut (u64, Vec<Packet>), node: &mut impl NodeContext<Message, Packet>) {
        // Several messages may be delivered in one event.
        access.1.drain(..).for_each(|packet| node.deliver(packet.from, packet.message));
    }
}

/// Thirty hosts at five routers in a ring, whose queues hold packets, over links that lose some.
fn packets() -> PacketLevel<Message> {
    let link = |a, b, ms| Link { a: NodeId(a), b: NodeId(b), rate_bps: 100_000, delay: Delay::from_ms(ms) };
    let mut links: Vec<Link> = (0..30).map(|host| link(host, 30 + host % 5, 2)).collect();
    links.extend((0..5).map(|router| link(30 + router, 30 + (router + 1) % 5, 10)));
    let names: Vec<String> = (0..35).map(|node| format!("n{node}")).collect();
    let topology = Topology::new(&names, links).expect("the links join nodes");
    let queue = Discipline::Codel(Codel::default());
    let settings = NetworkSettings { queue, losses: vec![0.01; 35], ..NetworkSettings::default() };
    let hosts: Vec<NodeId> = (0..30).map(NodeId).collect();
    let plane = Plane::new(topology, &hosts, settings).expect("it is possible");
    PacketLevel::new(plane, Format::of_bytes(|_| 480)).expect("each node has a place of its own")
}

#[test]
fn both_drivers_give_one_answer_and_the_machine_can_be_rolled_back() {
    agree(|| Hub);
}

#[test]
fn so_do_they_over_packets_whose_queues_are_rolled_back_too() {
    agree(packets);
}

/// Runs Chord over a carrier by both drivers, and the machine under engines that roll back.
fn agree<C>(carrier: fn() -> C)
where
    C: RestorableCarrier<Message, Access: PartialEq + Debug, Lp: Clone + PartialEq + Debug>,
{
    let law = |mean| Law::exponential(Delay::from_secs(mean)).expect("a mean above zero");
    let churn = Churn::random(law(20), law(5), Time::MAX).with_crash(0.5);
    for churn in [None, Some(churn)] {
        for seed in 1..=3 {
            let parameters =
                Parameters { nodes: 30, churn: churn.clone(), fingers_at_once: true, ..Parameters::default() };
            let until = Time::ZERO.checked_add(Delay::from_secs(100)).expect("a short run");
            let options = || RunOptions { seed, ..RunOptions::until(until) };
            let program = Chord::over(carrier(), parameters.clone(), seed).expect("possible");
            let expected = sequential::run(&program, options()).expect("it runs");
            let model = AsModel::new(Chord::new(parameters, seed).expect("possible"), carrier());
            let check = |engine: &str, outcome: Result<Outcome, Error>| {
                let outcome = outcome.expect("it runs");
                assert_eq!(
                    (outcome.events, outcome.digest),
                    (expected.events, expected.digest),
                    "{engine}, seed {seed}"
                );
                for (name, _, value) in outcome.metrics.iter() {
                    assert_eq!(expected.metrics.get(name), Some(value), "{engine}, seed {seed}: {name}");
                }
            };
            check("sequential", sequential::run(&model, options()));
            check("rollback-check", rollback_check::run(&model, options()));
            check("window", window::run(&model, options(), &window::Settings::of_threads(2)));
            check("time-warp", time_warp::run(&model, options(), &time_warp::Settings::of_threads(2)));
        }
    }
}
