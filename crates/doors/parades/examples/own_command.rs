//! A token goes round a ring of nodes. Each node holds it for a random time. The program is a whole command:
//! `cargo run --example own_command -- compare token-ring --set nodes=100`.

use parades::prelude::*;
use parades::{FromValues, Parameters, Scenario, Simulation};

#[derive(Parameters)]
struct TokenRing {
    #[parameter(integer, default = 10, range = 2..=1_000_000, meaning = "nodes in the ring")]
    nodes: u32,
    #[parameter(duration, default = Delay::from_ms(5), meaning = "mean time for which a node holds the token")]
    hold: Delay,
    #[parameter(duration, default = Delay::from_ms(1), positive, meaning = "delay of a link")]
    link: Delay,
}

const METRICS: Declared<2> =
    Declared::new([Declaration::counter("passes", Unit::Count), Declaration::tally("held", Unit::Picoseconds)]);
const PASSES: CounterId = METRICS.counter("passes");
const HELD: IntegerId = METRICS.integer("held");
const RELEASE: TimerId = TimerId(0);

impl Model for TokenRing {
    type State = Time; // when the node got the token
    type Message = (); // the token
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.nodes
    }

    fn channels(&self) -> Channels {
        let mut channels = Channels::none();
        (0..self.nodes).for_each(|node| channels.connect(LpId(node), LpId((node + 1) % self.nodes), self.link));
        channels
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> Time {
        if ctx.id() == LpId(0) {
            ctx.send_self(Delay::ZERO, ());
        }
        Time::ZERO
    }

    fn handle(&self, since: &mut Time, event: Body<&()>, ctx: &mut Context<'_, Self>) {
        match event {
            Body::Message(()) => {
                *since = ctx.now();
                ctx.set_timer(RELEASE, ctx.rng().exponential_delay(self.hold));
            }
            Body::Timer(_) => {
                ctx.count(PASSES, 1);
                ctx.observe(HELD, ctx.now().since(*since).as_ps());
                ctx.send(Port(0), self.link, ());
            }
        }
    }
}

impl ByCopy for TokenRing {}

const SCENARIO: Scenario =
    Scenario::new("token-ring", "a token goes round a ring", TokenRing::PARAMETERS, |values, _seed| {
        Ok(Simulation::distributed(TokenRing::from_values(values)?, Time::from_secs(100)))
    });

fn main() -> std::process::ExitCode {
    parades::cli([SCENARIO])
}
