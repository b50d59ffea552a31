//! Runs of all protocols over several carriers go on from their bytes, and bytes that were changed do no
//! harm.

use parades_carriers::packet_level::Format;
use parades_carriers::underlay::{Jitter, Partition, Recorded, Routing, draw_places};
use parades_carriers::{Both, Capacity, FlowLevel, Matrix, PacketLevel, Underlay, Which};
use parades_core::any_model::{AnyModel, AnySave, SaveModel, Typed, with_model};
use parades_core::cut::{AtRest, Cut, Cuts, Reached, Span, Then};
use parades_core::error::{Error, ErrorKind};
use parades_core::placement::Placement;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_flow::generators::star;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_p2p::bittorrent::{self, Swarm};
use parades_p2p::churn::{Churn, Law};
use parades_p2p::driver::{AsModel, SaveProtocol};
use parades_p2p::{averaging, chord, gossip, gossipsub, kademlia};
use parades_packet::network::Settings;
use parades_packet::plane::Plane;
use parades_packet::queue::{Discipline, FairCodel};
use parades_program::SaveCarrier;
use parades_topology::generators::TransitStub;
use parades_topology::{Link, NodeId, Topology};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Returns the bytes of a run at a time.
fn bytes_at<'k, M: SaveModel>(model: &'k Typed<'k, '_, M>, time: Time) -> Vec<u8> {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&bytes);
    let act = move |run: &mut AtRest<'_, '_>| {
        run.write(&mut written.lock().expect("no holder of this lock panics"));
        Then::Leave
    };
    let cuts = Some(Cuts { next: time, at_end: false, act: Box::new(act) });
    let options = RunOptions { cuts, ..RunOptions::until(Time::MAX) };
    let reached = sequential::advance(model, Span { save: Some(model), ..Span::from(options) });
    assert!(matches!(reached, Ok(Reached::Cut(_))), "the run comes to the cut");
    std::mem::take(&mut *bytes.lock().expect("no holder of this lock panics"))
}

/// Lets a run go on from a cut to its end.
fn go_on<'k>(model: &'k dyn AnySave<'k>, cut: Cut<'k>, until: Time) -> Result<Outcome, Error> {
    let span = Span { from: Some(Box::new(cut)), save: Some(model), ..Span::from(RunOptions::until(until)) };
    sequential::advance(model, span).map(Reached::end)
}

/// Returns the place of the first `nodes` LPs in the bytes of a cut.
fn place_of_nodes<'k, M: SaveModel>(model: &'k Typed<'k, '_, M>, nodes: u32, bytes: &[u8]) -> Range<usize> {
    let mut lps = Vec::new();
    Cut::read(model, &mut &*bytes).expect("it was written").lps.put_down(0);
    let placement = Placement::one(AnyModel::lps(model));
    (0..nodes).for_each(|id| model.write_lp(LpId(id), &placement, &mut lps));
    let begin = bytes.windows(lps.len()).position(|window| window == lps).expect("they are written in one piece");
    begin..begin + lps.len()
}

/// Checks that the run goes on from its bytes at the second `at` as if it were not broken. Then changes the
/// bytes of nodes at random. They must be refused, or be those of a run that does not panic.
fn check<P: SaveProtocol, C: SaveCarrier<P::Message>>(model: &AsModel<P, C>, at: u64, until: u64) {
    let (name, nodes) = (std::any::type_name::<P>(), model.protocol().nodes());
    let [at, until] = [at, until].map(Time::from_secs);
    let whole = sequential::run(model, RunOptions::until(until)).expect("the model has no fault");
    with_model(model, RunOptions::until(until), |model, _| {
        assert_eq!(model.can_save(), Ok(()));
        let bytes = bytes_at(model, at);
        let read = |bytes: &[u8]| Cut::read(model, &mut &*bytes);
        let outcome = go_on(model, read(&bytes).expect("it was written"), until).expect("as the whole run");
        assert_eq!((outcome.digest, outcome.events), (whole.digest, whole.events), "{name}");
        assert_eq!(outcome.metrics, whole.metrics, "{name}");

        let states = place_of_nodes(model, nodes, &bytes);
        let rng = Rng::shared(1, 1);
        let mut refused = 0;
        for _ in 0..200 {
            let mut changed = bytes.clone();
            let place = states.start + usize::try_from(rng.below(states.len() as u64)).expect("an index");
            changed[place] =
                if rng.chance(0.5) { changed[place] ^ 1 << rng.below(8) } else { rng.next_u64().to_le_bytes()[0] };
            let Ok(cut) = read(&changed) else {
                refused += 1;
                continue;
            };
            if let Err(error) = go_on(model, cut, until) {
                let is_panic = matches!(error.kind(), ErrorKind::Panic(_));
                assert!(!is_panic, "{name}, with byte {place} of {}: {error}", bytes.len());
            }
        }
        assert!((10..190).contains(&refused), "{name}: {refused} of 200 were refused");
    });
}

fn churn() -> Churn {
    let law = |mean| Law::exponential(Delay::from_secs(mean)).expect("it is possible");
    Churn::random(law(20), law(3), Time::MAX).with_crash(0.5).with_keep(0.5)
}

fn transit_stub(peers: u32, routing: Routing) -> Underlay {
    let sizes = TransitStub { transit_domains: 2, transit_nodes: 3, stub_domains: 6, stub_nodes: 8 };
    let domains = sizes.generate(&Rng::shared(1, 0)).expect("it is possible");
    let routers: Vec<NodeId> = domains.stub_routers().collect();
    let places = draw_places(&routers, peers, "stub routers", &Rng::shared(1, 1)).expect("it is possible");
    Underlay::transit_stub(&domains, &places, routing).expect("it is possible")
}

#[test]
fn of_averaging() {
    let parameters = averaging::Parameters {
        nodes: 30,
        cycles: 10,
        cycle: Delay::from_secs(1),
        timeout: Delay::from_secs(2),
        ..averaging::Parameters::default()
    };
    let underlay = Underlay::constant(Delay::from_ms(400)).with_loss(0.05).unwrap();
    check(&AsModel::new(averaging::Averaging::new(parameters).unwrap(), underlay), 5, 12);
}

#[test]
fn of_gossip() {
    let parameters = gossip::Parameters { nodes: 30, rumours: 70, ..gossip::Parameters::default() };
    let groups = (0..30).map(|node| node % 2).collect();
    let underlay = Underlay::constant(Delay::from_ms(20))
        .with_partition(Partition::new(Time::from_secs(1), Time::from_secs(4), groups).unwrap())
        .with_record(Recorded { peer: None, messages_max: 20 });
    check(&AsModel::new(gossip::Gossip::new(parameters).unwrap(), underlay), 3, 10);
}

#[test]
fn of_chord() {
    let parameters = chord::Parameters {
        nodes: 16,
        churn: Some(churn()),
        idle: Delay::from_ms(700),
        keeps_look_ups: true,
        ..chord::Parameters::default()
    };
    let matrix = Matrix::new(4, |from, to| Delay::from_ms(u64::from(10 + from + 5 * to)));
    check(&AsModel::new(chord::Chord::new(parameters, 1).unwrap(), matrix), 60, 90);
}

/// Returns a Chord whose nodes come and go.
fn few() -> chord::Chord {
    let parameters = chord::Parameters { nodes: 16, churn: Some(churn()), ..chord::Parameters::default() };
    chord::Chord::new(parameters, 1).expect("it is possible")
}

#[test]
fn of_chord_as_packets() {
    let ends: Vec<NodeId> = (1..17).map(NodeId).collect();
    let names: Vec<String> = (0..17).map(|node| format!("n{node}")).collect();
    let link = |&end| Link { a: NodeId(0), b: end, rate_bps: 100_000, delay: Delay::from_ms(5) };
    let topology = Topology::new(&names, ends.iter().map(link).collect()).unwrap();
    let settings = Settings { queue: Discipline::FairCodel(FairCodel::default()), ..Settings::default() };
    let plane = Plane::new(topology, &ends, settings).unwrap();
    check(&AsModel::new(few(), PacketLevel::new(plane, Format::of_bytes(|_| 1200)).unwrap()), 40, 60);
}

#[test]
fn of_chord_as_flows() {
    let network_model = NetworkModel::MaxMin(MaxMinModel::LV08);
    let flows = FlowLevel::new(star(16).unwrap().into(), network_model, 16, |_| 1e7);
    check(&AsModel::new(few(), flows), 40, 60);
}

#[test]
fn of_kademlia() {
    let parameters = kademlia::Parameters {
        nodes: 24,
        k: 4,
        resiliency: 4,
        look_up: Delay::from_secs(5),
        refresh: Delay::from_secs(20),
        values: 6,
        find_values: 0.3,
        churn: Some(churn()),
        ..kademlia::Parameters::default()
    };
    let kademlia = kademlia::Kademlia::new(parameters, 1).unwrap();
    check(&AsModel::new(kademlia, transit_stub(24, Routing::HopByHop)), 30, 45);
}

#[test]
fn of_gossipsub() {
    let parameters = gossipsub::Parameters {
        nodes: 16,
        connections: 5,
        messages: 70,
        topics: 2,
        warm_up: Delay::from_secs(3),
        spacing: Delay::from_ms(100),
        validation: Delay::from_ms(50),
        spammers: 1,
        ..gossipsub::Parameters::default()
    };
    let gossipsub = gossipsub::GossipSub::new(parameters, 1).unwrap();
    let underlay = transit_stub(16, Routing::EndToEnd).with_jitter(Jitter::uniform(Delay::from_ms(30)));
    check(&AsModel::new(gossipsub, underlay.in_order()), 7, 12);
}

#[test]
fn of_a_swarm() {
    use bittorrent::{Message, Parameters};
    let parameters = Parameters {
        peers: 12,
        pieces: 70,
        piece_bits: 40_000,
        block_bits: 10_000,
        spacing: Delay::from_ms(500),
        seeding: Some(Delay::from_secs(10)),
        churn: Some(churn().with_stable(2)),
        keeps_sources: true,
        ..Parameters::default()
    };
    let nodes = parameters.peers + 1;
    let swarm = Swarm::new(parameters, 1).unwrap();
    let underlay = transit_stub(nodes, Routing::EndToEnd);
    let bits: fn(&Message) -> f64 = |message| message.data_bits() as f64;
    let links = Capacity::new(underlay.clone(), vec![[500e3, 2e6]; nodes as usize], bits);
    let which: fn(&Message) -> Which = |message| match message.data_bits() {
        0 => Which::First,
        _ => Which::Second,
    };
    let control = underlay.with_jitter(Jitter::exponential(Delay::from_ms(20))).in_order();
    check(&AsModel::new(swarm, Both::new(control, links, which)), 10, 20);
}
