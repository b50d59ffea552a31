//! The part of a sample about single flows: goodput, and the state of TCP senders.

use super::{Payload, PayloadSeries};
use crate::description::AppKind;
use crate::flow;
use crate::network::Layout;
use crate::protocols::Endpoint;
use parades_core::metrics::{Metrics, SeriesId, Unit};
use parades_core::time::Delay;
use parades_tcp::connection::Connection;
use std::collections::BTreeMap;

/// Totals of a flow up to a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct FlowTotals {
    received: Payload,
    /// The payload that a TCP sender knows to be delivered, selective acknowledgements included.
    delivered: u64,
}

/// The state of a TCP sender at a time.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct SenderState {
    cwnd: u32,
    /// `None` before the first loss or mark, unless the settings have a threshold.
    ssthresh: Option<u32>,
    in_flight: u32,
    /// `None` before the first measurement.
    rtt: Option<Delay>,
}

/// The state of a flow at a time. Each end has a part of it.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct FlowState {
    pub(super) totals: FlowTotals,
    sender: Option<SenderState>,
}

/// The series of a flow.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct FlowSeries {
    goodput: PayloadSeries,
    sender: Option<SenderSeries>,
}

/// The series of a TCP sender.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct SenderSeries {
    cwnd: SeriesId,
    ssthresh: SeriesId,
    in_flight: SeriesId,
    rtt: SeriesId,
    delivery_rate: SeriesId,
}

impl FlowSeries {
    /// Declares the series of a flow.
    pub(super) fn declare(net: &Layout, flow: u32, metrics: &mut Metrics) -> FlowSeries {
        let name = flow::name(&net.apps[net.app_of_flow[flow as usize] as usize].name, flow);
        let names = ["goodput", "payload_received"].map(|what| format!("flow_{what}_{name}"));
        let kinds = std::iter::once(net.kind_of(flow));
        let goodput = PayloadSeries::declare([&names[0], &names[1]], net, kinds, metrics);
        let mut series = |what: &str, unit| metrics.series(&format!("flow_{what}_{name}"), unit);
        let sender = matches!(net.kind_of(flow), AppKind::Tcp(_) | AppKind::Stream(_)).then(|| SenderSeries {
            cwnd: series("cwnd", Unit::Bytes),
            ssthresh: series("ssthresh", Unit::Bytes),
            in_flight: series("in_flight", Unit::Bytes),
            rtt: series("rtt", Unit::Seconds),
            delivery_rate: series("delivery_rate", Unit::BitsPerSecond),
        });
        FlowSeries { goodput, sender }
    }

    /// Returns the points of a sample. `before` are the totals of the sample before, a period ago.
    pub(super) fn points(&self, state: &FlowState, before: FlowTotals, period: Delay) -> Vec<(SeriesId, f64)> {
        let rate = |bytes: u64| bytes as f64 * 8.0 / period.as_secs_f64();
        let mut points: Vec<_> = self.goodput.points(state.totals.received, before.received, period).collect();
        let (Some(series), Some(sender)) = (&self.sender, state.sender) else { return points };
        points.push((series.cwnd, f64::from(sender.cwnd)));
        points.extend(sender.ssthresh.map(|bytes| (series.ssthresh, f64::from(bytes))));
        points.push((series.in_flight, f64::from(sender.in_flight)));
        points.extend(sender.rtt.map(|rtt| (series.rtt, rtt.as_secs_f64())));
        points.push((series.delivery_rate, rate(state.totals.delivered.saturating_sub(before.delivered))));
        points
    }
}

impl SenderState {
    fn of(connection: &Connection) -> SenderState {
        let (ssthresh, rtt) = (connection.ssthresh(), connection.smoothed_rtt());
        SenderState {
            cwnd: connection.cwnd(),
            ssthresh: (ssthresh < u32::MAX).then_some(ssthresh),
            in_flight: connection.in_flight(),
            rtt: (rtt > Delay::ZERO).then_some(rtt),
        }
    }
}

impl FlowState {
    /// Returns the part of the state that an end has. `received` is the payload that it has received.
    pub(super) fn of_end(endpoint: &Endpoint, received: Payload) -> FlowState {
        match endpoint {
            Endpoint::TcpSender(sender) => FlowState::of_sender(&sender.connection, received),
            Endpoint::Stream(end) if end.begins => FlowState::of_sender(&end.connection, received),
            _ => FlowState { totals: FlowTotals { received, delivered: 0 }, sender: None },
        }
    }

    fn of_sender(connection: &Connection, received: Payload) -> FlowState {
        let totals = FlowTotals { received, delivered: connection.sender().rate.delivered };
        FlowState { totals, sender: Some(SenderState::of(connection)) }
    }

    /// Adds the part of the other end.
    pub(super) fn add(&mut self, other: &FlowState) {
        self.totals.received.add(other.totals.received);
        self.totals.delivered += other.totals.delivered;
        self.sender = self.sender.or(other.sender);
    }
}

/// Adds the parts that some nodes have of the states of flows.
pub(super) fn merge(states: &mut BTreeMap<u32, FlowState>, more: BTreeMap<u32, FlowState>) {
    for (flow, state) in more {
        states.entry(flow).or_default().add(&state);
    }
}
