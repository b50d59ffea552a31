//! Decorations of links, and records of messages: on every engine, under both kinds of routing.

use crate::support::{Arrival, Exchange, arrivals, counter, run_under_all_engines};
use parades_carriers::underlay::{Decoration, Effect, Jitter, Passage, Recorded, Routing, Underlay};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_topology::{Link, NodeId, Topology};

/// Messages to peer 2 take 5 ms longer, and one half of those from peer 1 is lost.
#[derive(Debug)]
struct Proxy;

impl Decoration for Proxy {
    fn on_message(&self, passage: Passage, rng: &Rng) -> Effect {
        match passage {
            Passage { from: LpId(1), .. } if rng.chance(0.5) => Effect::Lose,
            Passage { to: LpId(2), .. } => Effect::Delay(Delay::from_ms(5)),
            _ => Effect::None,
        }
    }
}

/// Doubles the time of what takes longer than 10 ms.
#[derive(Debug)]
struct Doubled;

impl Decoration for Doubled {
    fn on_message(&self, passage: Passage, _: &Rng) -> Effect {
        if passage.delay > Delay::from_ms(10) { Effect::Delay(passage.delay) } else { Effect::None }
    }
}

/// Four peers on a ring of eight routers: 4 ms for each quarter.
fn ring(routing: Routing) -> Underlay {
    let names: Vec<String> = (0..8).map(|node| format!("n{node}")).collect();
    let link = |a: u32| Link { a: NodeId(a), b: NodeId((a + 1) % 8), rate_bps: 1, delay: Delay::from_ms(2) };
    let topology = Topology::new(&names, (0..8).map(link).collect()).expect("a ring");
    let places = [0, 2, 4, 6].map(NodeId);
    Underlay::graph(topology, &places, routing).expect("each peer has a router")
}

#[test]
fn peers_get_messages_late_or_not_at_all_and_the_record_has_all() {
    let mut records = Vec::new();
    for routing in [Routing::EndToEnd, Routing::HopByHop] {
        let recorded = Recorded { peer: Some(LpId(2)), messages_max: 1000 };
        let carrier = ring(routing).with_decoration(Proxy).with_decoration(Doubled).with_record(recorded);
        let outcome = run_under_all_engines(Exchange { nodes: 4, messages: 200, carrier }, 5);
        let arrived = arrivals(&outcome);
        for arrival in arrived.iter().filter(|arrival| arrival.from != arrival.to) {
            let quarters = u64::from((arrival.from.0 + 4 - arrival.to.0) % 4);
            let plain = 4 * quarters.min(4 - quarters) + if arrival.to == LpId(2) { 5 } else { 0 };
            let ms = if plain > 10 { 2 * plain } else { plain };
            assert_eq!(arrival.took, Delay::from_ms(ms), "{arrival:?}");
        }
        let dropped = counter(&outcome, "underlay_drops");
        assert!((50..100).contains(&dropped), "of 200 messages, some to itself: {dropped}");
        assert_eq!(arrived.len() as u128 + dropped, 800);
        let table = outcome.metrics.get("underlay_record").and_then(MetricValue::table).expect("a record").rows();
        let cell = |row: &[Cell], column: usize| match row[column] {
            Cell::Integer(value) => value,
            _ => unreachable!("all are integers"),
        };
        assert!(table.iter().all(|row| cell(row, 0) == 2 || cell(row, 1) == 2));
        let recorded = |arrives| table.iter().filter(|row| cell(row, 4) == arrives).count();
        let of_peer = |arrival: &&Arrival| arrival.from != arrival.to && [arrival.from, arrival.to].contains(&LpId(2));
        assert_eq!(recorded(1), arrived.iter().filter(of_peer).count());
        assert!(recorded(0) > 10, "messages of peer 1 to peer 2 that were lost");
        records.push(table);
    }
    assert_eq!(records[0], records[1]);
}

#[test]
fn a_record_ends_when_it_is_full() {
    let carrier = ring(Routing::EndToEnd).with_record(Recorded { peer: None, messages_max: 7 });
    let outcome = run_under_all_engines(Exchange { nodes: 4, messages: 50, carrier }, 5);
    let table = outcome.metrics.get("underlay_record").and_then(MetricValue::table).expect("a record");
    assert_eq!(table.rows().len(), 28);
}

/// Returns the number of messages that overtook another one of the same sender and receiver.
fn overtakings(arrivals: &[Arrival]) -> usize {
    let mut arrivals: Vec<&Arrival> = arrivals.iter().filter(|arrival| arrival.from != arrival.to).collect();
    arrivals.sort_by_key(|arrival| (arrival.from, arrival.to, arrival.sent));
    let of_one_pair = |pair: &&[&Arrival]| (pair[0].from, pair[0].to) == (pair[1].from, pair[1].to);
    let arrives = |arrival: &Arrival| arrival.sent + arrival.took.as_ps();
    arrivals.windows(2).filter(of_one_pair).filter(|pair| arrives(pair[0]) >= arrives(pair[1])).count()
}

#[test]
fn messages_in_order_do_not_overtake_where_jitter_would_let_them() {
    let jitter = || Jitter::exponential(Delay::from_ms(20));
    for routing in [Routing::EndToEnd, Routing::HopByHop] {
        let run = |carrier| arrivals(&run_under_all_engines(Exchange { nodes: 4, messages: 200, carrier }, 5));
        let free = run(ring(routing).with_jitter(jitter()));
        let ordered = run(ring(routing).with_jitter(jitter()).in_order());
        assert!(overtakings(&free) > 100, "{}", overtakings(&free));
        assert_eq!(overtakings(&ordered), 0);
        assert_eq!(ordered.len(), free.len());
        // A message waits for the one before it, and no longer.
        let sum = |arrivals: &[Arrival]| arrivals.iter().map(|arrival| arrival.took.as_secs_f64()).sum::<f64>();
        assert!(sum(&ordered) < 2.0 * sum(&free));
        // Decorations let messages overtake too.
        assert_eq!(overtakings(&run(ring(routing).with_decoration(Proxy).with_decoration(Doubled).in_order())), 0);
    }
}
