//! `bittorrent`.

use super::access::{self, Lengths, Network};
use super::{Scenario, about_file, churn, int32, underlay};
use crate::simulation::Simulation;
use parades_carriers::{Underlay, Which};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_p2p::bittorrent::{Distance, Message, PEERS_MAX, Parameters, Swarm, TRACKER, Torrent};
use parades_p2p::driver::AsModel;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "bittorrent",
    "swarms of peers that exchange the pieces of a file; the defaults are the workload published with Speer",
    &underlay::join::<{ WITH_LINKS.len() + underlay::PARAMETERS.len() }>(WITH_LINKS, underlay::PARAMETERS),
    build,
);

const WITH_LINKS: &[Parameter] =
    &underlay::join::<{ WITH_CHURN.len() + access::PARAMETERS.len() }>(WITH_CHURN, access::PARAMETERS);
const WITH_CHURN: &[Parameter] = &underlay::join::<{ OWN.len() + churn::PARAMETERS.len() }>(OWN, churn::PARAMETERS);

const OWN: &[Parameter] = &[
    Parameter::integer("peers", 50, 1..=PEERS_MAX as u64, "number of peers, beside the tracker"),
    Parameter::integer("swarms", 1, 1..=PEERS_MAX as u64, "number of swarms of peers, each with a file of its own"),
    Parameter::integer("seeds", 1, 0..=1_000_000, "number of peers in each swarm that have all pieces from the start"),
    Parameter::integer("free_riders", 0, 0..=1_000_000_000, "number of peers in each swarm that never upload"),
    Parameter::integer("pieces", 1000, 1..=10_000_000, "number of pieces"),
    Parameter::integer("piece_bits", 196, 1..=1_000_000_000_000, "length of a piece in bits"),
    Parameter::path(
        "torrent",
        "`.torrent` file that gives the number and lengths of pieces, instead of `pieces` and `piece_bits`",
    ),
    Parameter::duration(
        "spacing",
        Delay::from_ms(2),
        "mean time between two joins of a swarm, which are a Poisson process",
    ),
    Parameter::integer("outgoing", 7, 1..=60_000, "greatest number of connections that a peer opens"),
    Parameter::integer("connections", 55, 1..=60_000, "greatest number of connections of a peer"),
    Parameter::integer("unchokes", 4, 0..=60_000, "number of neighbours that tit-for-tat unchokes"),
    Parameter::duration("rechoke", Delay::from_secs(10), "period of the choice of unchoked neighbours").positive(),
    Parameter::boolean(
        "fills_slots",
        true,
        "a peer gives a free slot to the next neighbour at once; false: at the end of the period",
    ),
    Parameter::integer(
        "optimistic_turns",
        3,
        1..=1_000_000,
        "periods after which another neighbour is the optimistic one",
    ),
    Parameter::duration("snub", Delay::from_secs(60), "time without a requested piece after which a neighbour snubs"),
    Parameter::integer("pipeline", 10, 1..=1_000_000, "greatest number of requests to a neighbour without an answer"),
    Parameter::integer("on_way", 10, 1..=1_000_000, "greatest number of pieces on their way to a neighbour"),
    Parameter::integer(
        "random_first",
        4,
        0..=1_000_000,
        "number of pieces that a peer picks at random, before the rarest",
    ),
    Parameter::integer("answer", 50, 1..=1_000_000, "number of peers in an answer of the tracker"),
    Parameter::duration("announce", Delay::from_secs(1800), "period of announces to the tracker").positive(),
    Parameter::fraction(
        "locality",
        0.0,
        "probability that a peer connects to the peer of the least latency among those that it knows; otherwise to any",
    ),
    Parameter::duration("seeding", Delay::ZERO, "time for which a peer stays once it has all pieces; 0s: for ever"),
    underlay::latency(Delay::from_ms(50)),
];

/// The end of a run by default.
const UNTIL: Time = Time::from_secs(1000);

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let refused = |(key, what): (&'static str, String)| values.error_at(key, &what, "choose another value");
    let swarm = Swarm::new(parameters(values, seed)?, seed).map_err(refused)?;
    // Node 0 is the tracker.
    let nodes = swarm.parameters().peers + 1;
    let (underlay, mut notes) = underlay::build(values, ("peers", nodes), seed)?;
    let underlay = underlay.in_order();
    let groups: Vec<u32> = (0..nodes).filter_map(|node| swarm.swarm_of(node)).collect();
    let swarm = match swarm.parameters().locality > 0.0 {
        true => swarm.with_distance(distance(underlay.clone())),
        false => swarm,
    };
    let simulation = match access::network(values) {
        Network::Latency => Simulation::distributed(AsModel::new(swarm, underlay), UNTIL),
        network @ (Network::Capacity | Network::Both) => {
            if network == Network::Capacity {
                notes.push("the underlay gives distances alone: with `network=capacity`, nothing takes latency".into());
            }
            let lengths = Lengths {
                data: |message: &Message| message.data_bits() as f64,
                whole: |message| 8.0 * message.bytes(),
                which: |message| if message.data_bits() > 0 { Which::Second } else { Which::First },
            };
            let links = access::links(values, underlay, &groups, lengths)?;
            Simulation::distributed(AsModel::new(swarm, links), UNTIL)
        }
    };
    Ok(simulation.with_notes(notes))
}

/// Returns the latency between two peers as their distance.
fn distance(underlay: Underlay) -> Distance {
    Box::new(move |from, to| underlay.latency(from, to).map_or(u64::MAX, Delay::as_ps))
}

fn parameters(values: &Values, seed: u64) -> Result<Parameters, ConfigError> {
    let piece_bits = values.integer("piece_bits");
    let of_values = || Ok(Torrent { pieces: int32(values, "pieces"), piece_bits, last_piece_bits: piece_bits });
    let of_file = |path: std::path::PathBuf| Torrent::read(&path).map_err(|error| about_file(values, "torrent", error));
    let Torrent { pieces, piece_bits, last_piece_bits } = values.path("torrent").map_or_else(of_values, of_file)?;
    let peers = int32(values, "peers");
    Ok(Parameters {
        peers,
        swarms: int32(values, "swarms"),
        seeds: int32(values, "seeds"),
        free_riders: int32(values, "free_riders"),
        pieces,
        piece_bits,
        last_piece_bits,
        spacing: values.duration("spacing"),
        outgoing: int32(values, "outgoing"),
        connections: int32(values, "connections"),
        unchokes: int32(values, "unchokes"),
        rechoke: values.duration("rechoke"),
        fills_slots: values.boolean("fills_slots"),
        optimistic_turns: int32(values, "optimistic_turns"),
        snub: values.duration("snub"),
        pipeline: int32(values, "pipeline"),
        on_way: int32(values, "on_way"),
        random_first: int32(values, "random_first"),
        answer: int32(values, "answer"),
        announce: values.duration("announce"),
        locality: values.float("locality"),
        // The tracker is a node too, and stays.
        churn: churn::build(values, ("peers", peers + 1), seed)?.map(|churn| churn.with_stable(TRACKER + 1)),
        seeding: Some(values.duration("seeding")).filter(|&seeding| seeding > Delay::ZERO),
        ..Parameters::default()
    })
}
