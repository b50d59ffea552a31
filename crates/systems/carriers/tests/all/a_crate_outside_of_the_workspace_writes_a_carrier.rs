//! The carrier of `tests/outside`, which is a crate of its own outside of the workspace. `.ci/run` builds
//! that crate alone.

use crate::random_traffic::RandomTraffic;
use crate::router_line::{ACCESS, QUEUE, RouterLine, SENDING, TRUNK};
use crate::support::{Exchange, arrivals, counter, run_under_all_engines};
use parades_core::prelude::*;

#[test]
fn it_gives_one_answer_under_every_engine() {
    let outcome = run_under_all_engines(RandomTraffic::new(12), 10);
    assert!(counter(&outcome, "arrived") > 2000, "{:?}", outcome.metrics);
    assert_eq!(counter(&outcome, "arrived") + counter(&outcome, "dropped"), 12 * 200);
    assert_eq!(counter(&outcome, "received") + counter(&outcome, "messages_failed"), 12 * 200 * 3);
}

#[test]
fn a_message_alone_takes_the_delays_of_its_links() {
    let outcome = run_under_all_engines(Exchange { nodes: 9, messages: 40, carrier: RouterLine }, 1);
    let arrivals = arrivals(&outcome);
    assert_eq!(arrivals.len(), 9 * 40);
    let alone = |from: LpId, to: LpId| {
        let trunks = u64::from((from.0 % 3).abs_diff(to.0 % 3));
        // The node and each router send once; each link has its delay.
        Delay::from_ps(SENDING.as_ps() * (2 + trunks) + ACCESS.as_ps() * 2 + TRUNK.as_ps() * trunks)
    };
    assert_eq!(alone(LpId(0), LpId(2)), Delay::from_us(4 * 50 + 2 * 100 + 2 * 2000));
    let exact = arrivals.iter().filter(|arrival| arrival.took == alone(arrival.from, arrival.to)).count();
    assert!(arrivals.iter().all(|arrival| arrival.took >= alone(arrival.from, arrival.to)));
    assert!(exact > arrivals.len() / 2, "most find the links free: {exact}");
}

/// Nodes that all send to node 0 at the same time, and wait for the last of their messages.
struct Flood;

impl parades_program::Program for Flood {
    type Message = u64;
    type State = [u64; 3];
    type Carrier = RouterLine;
    fn nodes(&self) -> u32 {
        4
    }
    fn carrier(&self) -> &RouterLine {
        &RouterLine
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        for name in ["received", "arrived", "dropped"] {
            metrics.counter(name, Unit::Count);
        }
        metrics
    }
    fn start(&self, start: &mut parades_program::Start<'_, Flood>) -> [u64; 3] {
        start.spawn("main", |node| async move {
            if node.id() == LpId(0) {
                loop {
                    node.receive().await;
                    node.with_state(|seen| seen[0] += 1);
                }
            }
            let sent: Vec<_> = (0..20).map(|number| node.send(LpId(0), number)).collect();
            for outcome in parades_program::all(sent).await {
                node.with_state(|seen| seen[if outcome.is_ok() { 1 } else { 2 }] += 1);
            }
        });
        [0; 3]
    }
    fn finish(&self, _: LpId, seen: &[u64; 3], _: &End, metrics: &mut Metrics) {
        for (id, &value) in (0..).zip(seen) {
            metrics.count(MetricId(id), value);
        }
    }
}

#[test]
fn a_full_queue_drops_messages_and_their_senders_are_told() {
    let outcome = run_under_all_engines(Flood, 1);
    let (arrived, dropped) = (counter(&outcome, "arrived"), counter(&outcome, "dropped"));
    assert_eq!(arrived + dropped, 3 * 20);
    assert_eq!(counter(&outcome, "received"), arrived);
    assert_eq!(counter(&outcome, "messages_failed"), dropped);
    assert!(arrived >= QUEUE as u128 && dropped > 0, "{arrived} arrived, {dropped} were dropped");
}
