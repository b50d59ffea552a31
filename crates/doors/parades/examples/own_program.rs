//! Nodes tell each other a rumour. They crash and come back, and latencies come from a file. The program is a
//! whole command: `cargo run --example own_program -- compare rumour --set nodes=50`.

use parades::carriers::underlay::Underlay;
use parades::p2p::churn::{Churn, Ending, Sessions};
use parades::prelude::*;
use parades::program::{Node, Processes, Program, Start};
use parades::{ChurnParameters, ConfigError, FromValues, Parameters, Scenario, Simulation, UnderlayParameters, Values};
use serde::{Deserialize, Serialize};

#[derive(Parameters)]
struct Settings {
    #[parameter(integer, default = 100, range = 2..=100_000, meaning = "number of nodes")]
    nodes: u32,
    #[parameter(integer, default = 2, range = 1..=100, meaning = "nodes that a node tells in each period")]
    fanout: u32,
    #[parameter(duration, default = Delay::from_secs(1), positive, meaning = "time from telling to telling again")]
    period: Delay,
    #[parameter(group)]
    underlay: UnderlayParameters,
    #[parameter(group)]
    churn: ChurnParameters,
}

struct Gossip {
    nodes: u32,
    fanout: u32,
    period: Delay,
    carrier: Underlay,
    churn: Option<Churn>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Rumour {
    hops: u32,
}

impl Payload for Rumour {
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.hops));
    }
}

const METRICS: Declared<4> = Declared::new([
    Declaration::counter("told", Unit::Count),
    Declaration::counter("crashes", Unit::Count),
    Declaration::histogram("heard_after", Unit::Picoseconds),
    Declaration::counter("informed", Unit::Count),
]);
const TOLD: CounterId = METRICS.counter("told");
const CRASHES: CounterId = METRICS.counter("crashes");
const HEARD_AFTER: IntegerId = METRICS.integer("heard_after");
const INFORMED: CounterId = METRICS.counter("informed");

/// The node that knows the rumour at the start, and that neither leaves nor crashes.
const SOURCE: LpId = LpId(0);

impl Program for Gossip {
    type Message = Rumour;
    type State = Option<Rumour>; // what the node has heard
    type Carrier = Underlay;

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn carrier(&self) -> &Underlay {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Option<Rumour> {
        start.spawn("node", come_and_go);
        None
    }

    fn fold(&self, heard: &Option<Rumour>, digest: &mut Digest) {
        heard.fold(digest);
    }

    fn finish(&self, _: LpId, heard: &Option<Rumour>, _: &End, metrics: &mut Metrics) {
        metrics.count(INFORMED, u64::from(heard.is_some()));
    }
}

/// The life of a node: one session after another.
async fn come_and_go(node: Node<Gossip>) {
    let mut sessions = Sessions::new(node, |program| program.churn.as_ref());
    while let Some(session) = sessions.next().await {
        if session.is_fresh() {
            node.with_state(|heard| *heard = None);
        }
        if session.run(gossip(node)).await == Ending::Crash {
            node.count(CRASHES, 1);
        }
    }
}

/// A session, until it is dropped.
async fn gossip(node: Node<Gossip>) {
    let (fanout, period) = node.with_program(|program| (program.fanout, program.period));
    if node.id() == SOURCE {
        hear(node, Rumour { hops: 0 });
    }
    node.sleep(node.random(|rng| rng.uniform_delay(Delay::ZERO, period))).await;
    loop {
        if let Some(Rumour { hops }) = node.with_state(|heard| *heard) {
            for _ in 0..fanout {
                node.send(node.random_node(), Rumour { hops: hops + 1 });
                node.count(TOLD, 1);
            }
        }
        let mut timer = node.timer(period);
        while let Some(received) = node.receive_before(&mut timer).await {
            hear(node, received.message);
        }
    }
}

fn hear(node: Node<Gossip>, rumour: Rumour) {
    if node.with_state(|heard| heard.is_none()) {
        node.with_state(|heard| *heard = Some(rumour));
        node.observe(HEARD_AFTER, node.now().as_ps());
    }
}

const SCENARIO: Scenario =
    Scenario::new("rumour", "nodes tell each other a rumour", Settings::PARAMETERS, build).without_rollback();

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let Settings { nodes, fanout, period, underlay, churn } = Settings::from_values(values)?;
    let (carrier, notes) = underlay.carrier("nodes", nodes, seed)?;
    let churn = churn.churn("nodes", nodes, seed)?.map(|churn| churn.with_stable(1));
    let program = Gossip { nodes, fanout, period, carrier, churn };
    let simulation = Simulation::distributed_unrestorable(Processes::new(program), Time::from_secs(60));
    Ok(simulation.with_notes(notes))
}

fn main() -> std::process::ExitCode {
    parades::cli([SCENARIO])
}
