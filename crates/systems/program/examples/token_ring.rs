//! Token ring: only the node with the token may use the shared resource.
//!
//! *Covers*: random draws, receiving from a neighbour, state that is read at the end of the run, the same
//! answer on several engines.
//!
//! *Scenario*: six nodes in a ring pass a token on. With probability one half a node with the token has work,
//! which takes a random time. After five rounds the first node removes the token, and all nodes end.

use parades_carriers::Constant;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::{sequential, window};
use parades_program::{Node, Processes, Program, Start};

const NODES: u32 = 6;
const ROUNDS: u32 = 5;

struct TokenRing {
    carrier: Constant,
}

/// The number of times that a node worked, and the total time of its work.
#[derive(Default)]
struct Work {
    times: u64,
    total: Delay,
}

const METRICS: Declared<1> = Declared::new([Declaration::table(
    "work",
    &[("node", Unit::Count), ("times", Unit::Count), ("total", Unit::Count)],
)]);
const WORK: TableId = METRICS.table("work");

impl Program for TokenRing {
    /// The token with the number of its round. After the last round the token ends the nodes.
    type Message = u32;
    type State = Work;
    type Carrier = Constant;

    fn nodes(&self) -> u32 {
        NODES
    }

    fn carrier(&self) -> &Constant {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Work {
        start.spawn("worker", worker);
        Work::default()
    }

    fn must_end(&self) -> bool {
        true
    }

    fn finish(&self, id: LpId, work: &Work, _: &End, metrics: &mut Metrics) {
        metrics.row(WORK, [u64::from(id.0), work.times, work.total.as_ps() / 1_000_000_000].map(Cell::from));
    }
}

async fn worker(node: Node<TokenRing>) {
    let next = LpId((node.id().0 + 1) % node.nodes());
    let first = node.id() == LpId(0);
    if first {
        node.send(next, 0);
    }
    loop {
        let round = node.receive().await.message + u32::from(first);
        if round < ROUNDS && node.random(|rng| rng.chance(0.5)) {
            let time = node.random(|rng| rng.uniform_delay(Delay::from_ms(1), Delay::from_ms(20)));
            node.sleep(time).await;
            node.with_state(|work| {
                work.times += 1;
                work.total = work.total.saturating_add(time);
            });
        }
        if round <= ROUNDS {
            node.send(next, round);
        }
        if round >= ROUNDS {
            return;
        }
    }
}

/// Runs the example. Returns its output.
pub(crate) fn run() -> Result<String, Error> {
    let model = Processes::new(TokenRing { carrier: Constant::new(Delay::from_ms(1)) });
    let options = || RunOptions::until(Time::from_ps(10_000_000_000_000));
    let outcome = sequential::run(&model, options())?;
    let parallel = window::run(&model, options(), &window::Settings::of_threads(2))?;
    let mut text = String::new();
    for row in outcome.metrics.get("work").and_then(|work| work.table()).map(|work| work.rows()).unwrap_or_default() {
        if let [Cell::Integer(node), Cell::Integer(times), Cell::Integer(total)] = &row[..] {
            text += &format!("node {node} worked {times} times, {total} ms in all\n");
        }
    }
    let same = if parallel.digest == outcome.digest { "the same" } else { "something else" };
    Ok(text + &format!("{} events; on two threads it came to {same}\n", outcome.events))
}

#[allow(dead_code, reason = "the test of the examples has a main function of its own")]
#[allow(clippy::print_stdout, reason = "it is what examples do")]
fn main() -> Result<(), Error> {
    print!("{}", run()?);
    Ok(())
}
