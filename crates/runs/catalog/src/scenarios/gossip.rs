//! `gossip`.

use super::{Scenario, int32, underlay};
use crate::simulation::Simulation;
use crate::words::{Table, value_of, words};
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_p2p::driver::AsModel;
use parades_p2p::gossip::{Calls, Direction, Gossip, Parameters, RUMOURS_MAX};

pub(crate) const SCENARIO: Scenario = Scenario::new(
    "gossip",
    "rumours that nodes push to, or pull from, random other nodes",
    &underlay::join::<{ OWN.len() + underlay::PARAMETERS.len() }>(OWN, underlay::PARAMETERS),
    build,
);

const OWN: &[Parameter] = &[
    Parameter::integer("nodes", 1000, 2..=4_294_967_293, "number of nodes"),
    Parameter::choice(
        "protocol",
        "push",
        &words(&DIRECTIONS),
        "direction of rumours in a call: to the called node, from it, or both; see also the scenario `gossipsub`",
    ),
    Parameter::integer("fanout", 1, 1..=1_000_000, "number of nodes that a node calls each period"),
    Parameter::duration("period", Delay::from_secs(1), "time between a node's calls").positive(),
    Parameter::choice(
        "calls",
        "random-phases",
        &words(&CALLS),
        "each node begins at a random time within the first period; or all call at once",
    ),
    Parameter::integer(
        "rumours",
        1,
        1..=RUMOURS_MAX as u64,
        "number of rumours; rumour `r` begins at node `r mod nodes`",
    ),
    Parameter::duration("spacing", Delay::from_secs(1), "time between the beginnings of two rumours"),
    Parameter::integer("rumour_bytes", 100, 0..=1_000_000_000, "length of a rumour in bytes"),
    Parameter::integer(
        "interest",
        0,
        0..=1_000_000,
        "mean number of calls to nodes that know a rumour, after which a node stops to push it; 0: it never stops",
    ),
    underlay::latency(Delay::from_ms(50)),
];

const DIRECTIONS: Table<Direction, 3> =
    [("push", Direction::Push), ("pull", Direction::Pull), ("push-pull", Direction::PushPull)];
const CALLS: Table<Calls, 2> = [("random-phases", Calls::AtRandomPhases), ("rounds", Calls::InRounds)];

/// The number of periods after the beginning of the last rumour at which a run ends by default.
const PERIODS: u64 = 60;

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let nodes = int32(values, "nodes");
    let parameters = Parameters {
        nodes,
        direction: value_of(values, "protocol", &DIRECTIONS),
        fanout: int32(values, "fanout"),
        period: values.duration("period"),
        calls: value_of(values, "calls", &CALLS),
        rumours: int32(values, "rumours"),
        spacing: values.duration("spacing"),
        rumour_bytes: int32(values, "rumour_bytes"),
        interest: Some(int32(values, "interest")).filter(|&interest| interest > 0),
    };
    let gossip = Gossip::new(parameters).map_err(|(key, what)| values.error_at(key, &what, "choose another value"))?;
    let (carrier, notes) = underlay::build(values, ("nodes", nodes), seed)?;
    let Parameters { period, rumours, .. } = gossip.parameters();
    let rest = Delay::from_ps(period.as_ps().saturating_mul(PERIODS));
    let end = gossip.beginning(rumours - 1).saturating_add(rest).min(Time::from_ps(u64::MAX - 1));
    Ok(Simulation::distributed(AsModel::new(gossip, carrier), end).with_notes(notes))
}
