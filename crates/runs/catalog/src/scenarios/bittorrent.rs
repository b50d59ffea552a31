//! `bittorrent`.

use super::access::{self, Lengths, Network};
use super::{Scenario, Split, about_file, all_needing, churn, joined, length, needing, split_at, underlay};
use crate::simulation::Simulation;
use parades_carriers::{Underlay, Which};
use parades_config::{ConfigError, FromValues, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_p2p::bittorrent::{Distance, Message, Parameters, Swarm, TRACKER, Torrent};
use parades_p2p::driver::AsModel;

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "bittorrent",
    "swarms of peers that exchange the pieces of a file; the defaults are the workload published with Speer",
    &needing(joined::<{ length(PARAMETERS) }>(PARAMETERS), NEEDS),
    build,
);

const SPLIT: Split = split_at(Parameters::PARAMETERS, "spacing");
const PARAMETERS: &[&[Parameter]] =
    &[SPLIT.before, &[TORRENT], SPLIT.from, LATENCY, churn::PARAMETERS, access::PARAMETERS, UNDERLAY];

/// Where nothing takes latency, an underlay gives distances alone, which `locality` needs.
const OF_DISTANCES: &str = "network=latency|both or locality";
const LATENCY: &[Parameter] = &all_needing::<1>(&[underlay::latency(Delay::from_ms(50))], OF_DISTANCES);
const UNDERLAY: &[Parameter] = &all_needing::<{ underlay::PARAMETERS.len() }>(underlay::PARAMETERS, OF_DISTANCES);
/// What parameters need of others.
const NEEDS: &[(&str, &str)] = &[
    ("pieces", "no torrent"),
    ("piece_bits", "no torrent"),
    ("crowd_seeds", "crowd"),
    ("jitter", HAS_LATENCY),
    ("jitter_law", HAS_LATENCY),
    ("loss", HAS_LATENCY),
    ("partition_for", HAS_LATENCY),
];
const HAS_LATENCY: &str = "network=latency|both";

const TORRENT: Parameter = Parameter::path(
    "torrent",
    "`.torrent` file that gives the number and lengths of pieces, instead of `pieces` and `piece_bits`",
);

/// The end of a run by default.
const UNTIL: Time = Time::from_secs(1000);

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let refused = |(key, what): (&'static str, String)| values.error_at(key, &what, "choose another value");
    let swarm = Swarm::new(parameters(values, seed)?, seed).map_err(refused)?;
    // Node 0 is the tracker.
    let nodes = swarm.parameters().peers + 1;
    let (underlay, mut notes) = underlay::build(values, ("peers", nodes), seed)?;
    notes.extend(nobody_downloads(&swarm));
    if values.duration("session") > Delay::ZERO && swarm.parameters().seeds > 0 {
        let what = "seeds come and go too, and come back with all pieces";
        notes.push(format!("{what}: raise `seeds`, or name the sessions of others in `churn_file`"));
    }
    let underlay = underlay.in_order();
    let groups: Vec<u32> = (0..nodes).filter_map(|node| swarm.swarm_of(node)).collect();
    let swarm = match swarm.parameters().locality > 0.0 {
        true => swarm.with_distance(distance(underlay.clone())),
        false => swarm,
    };
    let simulation = match access::network(values) {
        Network::Latency => Simulation::saved(AsModel::new(swarm, underlay), UNTIL),
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
            Simulation::saved(AsModel::new(swarm, links), UNTIL)
        }
    };
    Ok(simulation.with_notes(notes))
}

/// Returns a note on swarms in which no peer can get a piece from another one.
fn nobody_downloads(swarm: &Swarm) -> Option<String> {
    let Parameters { seeds, swarms, .. } = *swarm.parameters();
    if seeds == 0 {
        return Some("no peer has a piece at the start, so nobody can download one: set `seeds` to 1 or more".into());
    }
    let idle = (0..swarms).filter(|&number| swarm.members(number).len() <= seeds as usize).count();
    let who = match (idle, swarms) {
        (0, _) => return None,
        (_, 1) => "all peers".to_owned(),
        (idle, swarms) => format!("all peers of {idle} of the {swarms} swarms"),
    };
    Some(format!("{who} are seeds, which download nothing: raise `peers`, or lower `seeds`"))
}

/// Returns the latency between two peers as their distance.
fn distance(underlay: Underlay) -> Distance {
    Box::new(move |from, to| underlay.latency(from, to).map_or(u64::MAX, Delay::as_ps))
}

fn parameters(values: &Values, seed: u64) -> Result<Parameters, ConfigError> {
    let parameters = Parameters::from_values(values)?;
    let Parameters { peers, pieces, piece_bits, .. } = parameters;
    let of_values = || Ok(Torrent { pieces, piece_bits, shorter: Vec::new() });
    let of_file = |path: std::path::PathBuf| Torrent::read(&path).map_err(|error| about_file(values, "torrent", error));
    let Torrent { pieces, piece_bits, shorter } = values.path("torrent").map_or_else(of_values, of_file)?;
    // The tracker is a node too, and stays.
    let churn = churn::build(values, ("peers", peers + 1), seed)?.map(|churn| churn.with_stable(TRACKER + 1));
    Ok(Parameters { pieces, piece_bits, shorter, churn, ..parameters })
}
