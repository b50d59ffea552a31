//! Two carriers, which share the nodes, their ports and their timers.

use crate::router_line::{ACCESS, RouterLine, SENDING};
use crate::support::{Arrival, Exchange, arrivals, run_under_all_engines};
use parades_carriers::{Both, Constant, FlowLevel, Matrix, Which};
use parades_core::prelude::*;
use parades_flow::generators::star;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_program::{Carrier, CarrierContext, Departure, Layout, Letter, NodeContext, Wiring};
use std::convert::Infallible;

/// Even messages take the first carrier.
fn by_parity(message: &u64) -> Which {
    if message.is_multiple_of(2) { Which::First } else { Which::Second }
}

fn table() -> Matrix {
    Matrix::new(6, |from, to| Delay::from_us(50 + 10 * u64::from(from) + u64::from(to)))
}

/// Checks the messages of both kinds, of which there must be many.
fn check(arrivals: &[Arrival], first: impl Fn(&Arrival) -> bool, second: impl Fn(&Arrival) -> bool) {
    let (even, odd): (Vec<_>, Vec<_>) = arrivals.iter().partition(|arrival| arrival.sent.is_multiple_of(2));
    assert!(even.len() > 100 && odd.len() > 100, "{} even, {} odd", even.len(), odd.len());
    assert!(even.into_iter().all(first));
    assert!(odd.into_iter().all(second));
}

#[test]
fn each_message_takes_its_own_carrier_though_both_have_channels_by_pair() {
    let carrier = Both::new(table(), RouterLine, by_parity);
    let outcome = run_under_all_engines(Exchange { nodes: 6, messages: 60, carrier }, 1);
    let table = table();
    check(
        &arrivals(&outcome),
        |arrival| arrival.took == table.latency(arrival.from, arrival.to),
        |arrival| arrival.took.as_ps() >= SENDING.as_ps() * 2 + ACCESS.as_ps() * 2,
    );
}

#[test]
fn control_takes_a_latency_while_data_shares_the_links() {
    let network_model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
    let flows = FlowLevel::new(star(6).expect("a star").into(), network_model, 6, |_| 125_000.0);
    let carrier = Both::new(Constant::new(Delay::from_us(10)), flows, by_parity);
    let outcome = run_under_all_engines(Exchange { nodes: 6, messages: 60, carrier }, 2);
    check(
        &arrivals(&outcome),
        |arrival| arrival.took == Delay::from_us(10),
        // 600 us of latency and 1 ms for the bytes, if the flow has the links alone. A node's way to itself
        // is shorter.
        |arrival| arrival.from == arrival.to || arrival.took >= Delay::from_us(1600 - 1),
    );
}

#[test]
fn one_of_two_carriers_may_be_two_itself() {
    let inner = Both::new(RouterLine, Constant::new(Delay::from_us(10)), |message: &u64| {
        if message.is_multiple_of(3) { Which::First } else { Which::Second }
    });
    let carrier = Both::new(RouterLine, inner, by_parity);
    let outcome = run_under_all_engines(Exchange { nodes: 6, messages: 60, carrier }, 1);
    let through_routers = |arrival: &Arrival| arrival.took.as_ps() >= SENDING.as_ps() * 2 + ACCESS.as_ps() * 2;
    check(&arrivals(&outcome), through_routers, |arrival| match arrival.sent.is_multiple_of(3) {
        true => through_routers(arrival),
        false => arrival.took == Delay::from_us(10),
    });
}

/// Holds each message back at its sender, by a timer of the carrier's own there.
struct Held(Delay);

impl Carrier<u64> for Held {
    type Packet = u64;
    type Access = std::collections::VecDeque<(Time, LpId, u64)>;
    type Lp = Infallible;
    type Plan = ();

    fn wire(&self, _: Layout, wiring: &mut Wiring) {
        wiring.nodes_to_anyone(Delay::from_us(1));
    }
    fn access(&self, _: LpId, _: Layout) -> Self::Access {
        Self::Access::new()
    }
    fn start(&self, _: &mut impl CarrierContext<u64>) -> Infallible {
        unreachable!("it has no LP of its own")
    }
    fn plan(&self, _: Departure<'_, u64>, _: &mut Self::Access, _: &Rng) {}
    fn arrival(&self, (): (), _: Time) -> Option<Time> {
        None
    }
    fn post(&self, letter: Letter<u64, ()>, held: &mut Self::Access, node: &mut impl CarrierContext<u64>) {
        let due = node.now().checked_add(self.0).expect("a short run");
        if held.is_empty() {
            node.set_timer(TimerId(0), self.0);
        }
        held.push_back((due, letter.to, letter.message));
    }
    fn timer(&self, _: TimerId, held: &mut Self::Access, node: &mut impl NodeContext<u64, u64>) {
        while let Some((_, to, message)) = held.pop_front_if(|first| first.0 <= node.now()) {
            node.send_to(to, Delay::from_us(1), message);
        }
        if let Some(&(due, ..)) = held.front() {
            node.set_timer(TimerId(0), due.since(node.now()));
        }
    }
    fn receive(&self, message: &u64, _: &mut Self::Access, node: &mut impl NodeContext<u64, u64>) {
        node.deliver(node.sender().expect("a node sends"), *message);
    }
    fn execute(&self, lp: &mut Infallible, _: Body<&u64>, _: &mut impl CarrierContext<u64>) {
        match *lp {}
    }
}

#[test]
fn both_may_set_timers_at_the_same_node() {
    let carrier = Both::new(Held(Delay::from_ms(2)), Held(Delay::from_ms(5)), by_parity);
    let outcome = run_under_all_engines(Exchange { nodes: 5, messages: 60, carrier }, 1);
    check(
        &arrivals(&outcome),
        |arrival| arrival.took == Delay::from_us(2001),
        |arrival| arrival.took == Delay::from_us(5001),
    );
}
