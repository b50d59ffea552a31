//! The models of the matrix that run over carriers: each peer-to-peer protocol, and a replay. Between them
//! they have each carrier that the scenarios use.

use crate::engines::Subject;
use parades_carriers::packet_level::Format;
use parades_carriers::underlay::{Jitter, Routing, draw_places};
use parades_carriers::{Both, Capacity, Constant, FlowLevel, PacketLevel, Underlay, Which};
use parades_core::any_model::SaveModel;
use parades_core::model::Model;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_flow::{generators, network_model};
use parades_models::clusters::{self, Clusters};
use parades_p2p::averaging::{self, Averaging};
use parades_p2p::bittorrent::{self, Swarm};
use parades_p2p::chord::{self, Chord};
use parades_p2p::churn::{Churn, Law};
use parades_p2p::driver::AsModel;
use parades_p2p::gossip::{self, Gossip};
use parades_p2p::gossipsub::{self, GossipSub};
use parades_p2p::kademlia::{self, Kademlia};
use parades_packet::network::Settings;
use parades_packet::plane::Plane;
use parades_packet::queue::{Discipline, FairCodel};
use parades_replay::Replay;
use parades_replay::trace::Stencil;
use parades_topology::generators::TransitStub;
use parades_topology::{Link, NodeId, Topology};

/// Returns a churn with these mean lengths of sessions and absences in seconds.
fn churn(session: u64, absence: u64) -> Churn {
    let law = |mean| Law::exponential(Delay::from_secs(mean)).expect("a mean above zero");
    Churn::random(law(session), law(absence), Time::MAX).with_crash(0.5)
}

/// Places peers on a small transit–stub network.
fn transit_stub(peers: u32, routing: Routing) -> Underlay {
    let sizes = TransitStub { transit_domains: 2, transit_nodes: 3, stub_domains: 6, stub_nodes: 8 };
    let domains = sizes.generate(&Rng::shared(1, 0)).expect("possible sizes");
    let routers: Vec<NodeId> = domains.stub_routers().collect();
    let places = draw_places(&routers, peers, "stub routers", &Rng::shared(1, 1)).expect("there are as many routers");
    Underlay::transit_stub(&domains, &places, routing).expect("each peer has a router")
}

/// Returns the parameters of Chord with few nodes, which join and leave.
fn few() -> chord::Parameters {
    chord::Parameters { nodes: 16, churn: Some(churn(10, 2)), ..chord::Parameters::default() }
}

pub(super) fn chord_constant() -> impl Model + 'static {
    Chord::model(few(), 1).expect("the parameters are possible")
}

/// Makes the same Chord as a model whose state can be restored.
pub(super) fn chord_machine() -> impl Subject + SaveModel + 'static {
    Chord::restorable(few(), 1).expect("the parameters are possible")
}

/// Makes a Chord whose messages are packets that wait in managed queues of a star.
pub(super) fn chord_packets() -> impl Subject + SaveModel + 'static {
    let ends: Vec<NodeId> = (1..17).map(NodeId).collect();
    let names: Vec<String> = (0..17).map(|node| format!("n{node}")).collect();
    let link = |&end| Link { a: NodeId(0), b: end, rate_bps: 200_000, delay: Delay::from_ms(5) };
    let topology = Topology::new(&names, ends.iter().map(link).collect()).expect("it is a star");
    let queue = Discipline::FairCodel(FairCodel::default());
    let settings = Settings { queue, ..Settings::default() };
    let plane = Plane::new(topology, &ends, settings).expect("the settings are possible");
    let carrier = PacketLevel::new(plane, Format::of_bytes(|_: &chord::Message| 700)).expect("one node at each place");
    AsModel::new(Chord::new(few(), 1).expect("the parameters are possible"), carrier)
}

/// Makes a Chord whose messages are flows that share the links of a star.
pub(super) fn chord_precise() -> impl Model + 'static {
    let platform = generators::star(16).expect("it is possible").into();
    let network_model = network_model::NetworkModel::MaxMin(network_model::MaxMinModel::LV08);
    let flows: FlowLevel<chord::Message> = FlowLevel::new(platform, network_model, 16, |_| 10.0);
    Chord::over(flows, few(), 1).expect("the parameters are possible")
}

/// Makes the replay of a stencil, whose ranks compute on the hosts of a star, two on two of them.
pub(super) fn replay() -> impl Model + 'static {
    let platform = generators::star(10).expect("it is possible");
    let network_model = network_model::NetworkModel::MaxMin(network_model::MaxMinModel::LV08);
    let trace = Stencil { ranks: 12, steps: 40, flops: 1e8, bytes: 2e5 }.trace();
    Replay::model(platform, network_model, trace, None)
}

/// Makes programs on three clusters, each with a solver.
pub(super) fn clusters(deviation: f64) -> impl Model + 'static {
    let parameters = clusters::Parameters { clusters: 3, programs: 12, steps: 30, deviation, ..Default::default() };
    Clusters::model(parameters).expect("some hosts")
}

/// Makes a swarm whose pieces have four blocks. They share access links. Control messages have jitter, and
/// keep their order.
pub(super) fn bittorrent() -> impl Subject + SaveModel + 'static {
    use bittorrent::{Message, Parameters};
    let churn = Some(churn(20, 2));
    let parameters = Parameters { peers: 12, pieces: 30, block_bits: 60, churn, ..Parameters::default() };
    let nodes = parameters.peers + 1;
    let swarm = Swarm::new(parameters, 1).expect("the parameters are possible");
    let underlay = transit_stub(nodes, Routing::EndToEnd);
    let bits: fn(&Message) -> f64 = |message| message.data_bits() as f64;
    let links = Capacity::new(underlay.clone(), vec![[10e3, 20e3]; nodes as usize], bits);
    let control = underlay.with_jitter(Jitter::exponential(Delay::from_ms(20))).in_order();
    let which: fn(&Message) -> Which = |message| match message.data_bits() {
        0 => Which::First,
        _ => Which::Second,
    };
    AsModel::new(swarm, Both::new(control, links, which))
}

/// Makes a Kademlia with churn and values, hop by hop over an underlay.
pub(super) fn kademlia() -> impl Subject + SaveModel + 'static {
    let parameters = kademlia::Parameters {
        nodes: 24,
        k: 4,
        resiliency: 4,
        look_up: Delay::from_secs(5),
        values: 6,
        find_values: 0.3,
        churn: Some(churn(20, 5)),
        ..kademlia::Parameters::default()
    };
    let kademlia = Kademlia::new(parameters, 1).expect("the parameters are possible");
    AsModel::new(kademlia, transit_stub(24, Routing::HopByHop))
}

/// Makes rumours that messages lose, over one latency.
pub(super) fn gossip() -> impl Subject + SaveModel + 'static {
    let parameters = gossip::Parameters { nodes: 40, rumours: 3, ..gossip::Parameters::default() };
    let gossip = Gossip::new(parameters).expect("the parameters are possible");
    AsModel::new(gossip, Underlay::constant(Delay::from_ms(20)).with_loss(0.05).expect("a probability"))
}

/// Makes a GossipSub over an underlay with jitter.
pub(super) fn gossipsub() -> impl Subject + SaveModel + 'static {
    let parameters = gossipsub::Parameters {
        nodes: 20,
        connections: 5,
        messages: 10,
        warm_up: Delay::from_secs(3),
        spacing: Delay::from_ms(500),
        ..gossipsub::Parameters::default()
    };
    let gossipsub = GossipSub::new(parameters, 1).expect("the parameters are possible");
    let underlay = transit_stub(20, Routing::EndToEnd).with_jitter(Jitter::uniform(Delay::from_ms(30)));
    AsModel::new(gossipsub, underlay.in_order())
}

pub(super) fn averaging() -> impl Subject + SaveModel + 'static {
    let parameters = averaging::Parameters {
        nodes: 40,
        cycles: 10,
        cycle: Delay::from_secs(1),
        timeout: Delay::from_secs(10),
        ..averaging::Parameters::default()
    };
    let averaging = Averaging::new(parameters).expect("the parameters are possible");
    AsModel::new(averaging, Constant::new(Delay::from_ms(50)))
}
