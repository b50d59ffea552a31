//! A program over the router line: each node sends to random others, and waits for some of its messages.

use crate::router_line::RouterLine;
use parades_core::prelude::*;
use parades_program::{Program, Start};

/// The program.
#[derive(Debug)]
pub struct RandomTraffic {
    nodes: u32,
    carrier: RouterLine,
}

/// The messages of a node.
#[derive(Debug, Default)]
pub struct Seen {
    /// The number of messages that it received.
    pub received: u64,
    /// The number of its messages that arrived, of those for which it waited.
    pub arrived: u64,
    /// The number of its messages that were dropped, of those for which it waited.
    pub dropped: u64,
}

impl RandomTraffic {
    /// The program of `nodes` nodes.
    pub fn new(nodes: u32) -> RandomTraffic {
        RandomTraffic { nodes, carrier: RouterLine }
    }
}

impl Program for RandomTraffic {
    type Message = u64;
    type State = Seen;
    type Carrier = RouterLine;

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn carrier(&self) -> &RouterLine {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        for name in ["received", "arrived", "dropped"] {
            metrics.counter(name, Unit::Count);
        }
        metrics
    }

    fn start(&self, start: &mut Start<'_, RandomTraffic>) -> Seen {
        start.spawn("speaker", |node| async move {
            for burst in 0..200 {
                node.sleep(node.random(|rng| rng.exponential_delay(Delay::from_ms(5)))).await;
                let mut last = None;
                for _ in 0..3 {
                    let nodes = u64::from(node.nodes());
                    let to = node.random(|rng| rng.below(nodes));
                    last = Some(node.send(LpId(u32::try_from(to).expect("a node")), burst));
                }
                if let Some(last) = last {
                    let outcome = last.await;
                    node.with_state(|seen| match outcome {
                        Ok(()) => seen.arrived += 1,
                        Err(_) => seen.dropped += 1,
                    });
                }
            }
        });
        start.spawn("listener", |node| async move {
            loop {
                node.receive().await;
                node.with_state(|seen| seen.received += 1);
            }
        });
        Seen::default()
    }

    fn fold(&self, seen: &Seen, digest: &mut Digest) {
        [seen.received, seen.arrived, seen.dropped].into_iter().for_each(|word| digest.word(word));
    }

    fn finish(&self, _: LpId, seen: &Seen, _: &End, metrics: &mut Metrics) {
        for (id, value) in (0..).zip([seen.received, seen.arrived, seen.dropped]) {
            metrics.count(MetricId(id), value);
        }
    }
}
