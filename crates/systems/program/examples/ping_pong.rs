//! Ping-pong: two nodes pass a ball to and fro.
//!
//! *Covers*: sending, receiving, sleeping, the end of a process.
//!
//! *Scenario*: node 0 serves. A node that receives the ball holds it for a millisecond and sends it back,
//! which takes 10 ms. After six hits the receiver keeps the ball, and both nodes are done.

use parades_carriers::Constant;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_program::{Node, Processes, Program, Start};

const HITS: u32 = 6;

struct PingPong {
    carrier: Constant,
}

const METRICS: Declared<1> = Declared::new([Declaration::table("log", &[("line", Unit::Count)])]);
const LOG: TableId = METRICS.table("log");

impl Program for PingPong {
    /// The number of hits so far.
    type Message = u32;
    type State = Vec<String>;
    type Carrier = Constant;

    fn nodes(&self) -> u32 {
        2
    }

    fn carrier(&self) -> &Constant {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Vec<String> {
        start.spawn("player", player);
        Vec::new()
    }

    /// A player that waits forever is a mistake.
    fn must_end(&self) -> bool {
        true
    }

    fn finish(&self, _: LpId, log: &Vec<String>, _: &End, metrics: &mut Metrics) {
        for line in log {
            metrics.row(LOG, [Cell::Text(line.as_str().into())]);
        }
    }
}

async fn player(node: Node<PingPong>) {
    let (me, other) = (node.id(), LpId(1 - node.id().0));
    if me == LpId(0) {
        node.send(other, 1);
    }
    loop {
        let hits = node.receive().await.message;
        let now = node.now();
        node.with_state(|log| log.push(format!("player {} has the ball at {now}, after hit {hits}", me.0)));
        node.sleep(Delay::from_ms(1)).await;
        if hits < HITS {
            node.send(other, hits + 1);
        }
        if hits + 1 >= HITS {
            return;
        }
    }
}

/// Runs the example. Returns its output.
pub(crate) fn run() -> Result<String, Error> {
    let model = Processes::new(PingPong { carrier: Constant::new(Delay::from_ms(10)) });
    let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(1_000_000_000_000)))?;
    let log = outcome.metrics.get("log").and_then(|log| log.table()).map(|log| log.rows()).unwrap_or_default();
    let lines = log.iter().filter_map(|row| match &row[0] {
        Cell::Text(line) => Some(format!("{line}\n")),
        _ => None,
    });
    Ok(lines.collect::<String>() + &format!("{} events\n", outcome.events))
}

#[allow(dead_code, reason = "the test of the examples has a main function of its own")]
#[allow(clippy::print_stdout, reason = "it is what examples do")]
fn main() -> Result<(), Error> {
    print!("{}", run()?);
    Ok(())
}
