//! The metrics of transfers, and the checks at the end of a run.

use super::Transfer;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// The ids of the metrics, in the order of [`declare`].
pub(super) struct Ids;

impl Ids {
    const GOODPUT: MetricId = MetricId(0);
    const GOODPUT_BOUND: MetricId = MetricId(1);
    pub(super) const TRANSFERS: MetricId = MetricId(2);
    pub(super) const TRANSFER_TIME: MetricId = MetricId(3);
    pub(super) const ROUND_TRIP: MetricId = MetricId(4);
    pub(super) const SEGMENTS_SENT: MetricId = MetricId(5);
    pub(super) const RETRANSMITTED: MetricId = MetricId(6);
    pub(super) const SEGMENTS_LOST: MetricId = MetricId(7);
    pub(super) const SEGMENTS_ARRIVED: MetricId = MetricId(8);
    pub(super) const SEGMENTS_IN_FLIGHT: MetricId = MetricId(9);
    pub(super) const DELIVERED: MetricId = MetricId(10);
    pub(super) const REPEATED: MetricId = MetricId(11);
    pub(super) const BUFFERED: MetricId = MetricId(12);
    pub(super) const TIMEOUTS: MetricId = MetricId(13);
    pub(super) const FAST_RETRANSMISSIONS: MetricId = MetricId(14);
    pub(super) const ACKS_SENT: MetricId = MetricId(15);
    pub(super) const ACKS_LOST: MetricId = MetricId(16);
    pub(super) const ACKS_ARRIVED: MetricId = MetricId(17);
    pub(super) const ACKS_IN_FLIGHT: MetricId = MetricId(18);
    /// A table with a row for each pair. Its sums are segments delivered, sent, retransmitted and lost;
    /// transfers; timeouts; fast retransmissions.
    pub(super) const FLOWS: MetricId = MetricId(19);
}

pub(super) fn declare() -> Metrics {
    let mut metrics = Metrics::new();
    let columns = [
        ("flow", Unit::Count),
        ("goodput", Unit::BitsPerSecond),
        ("delivered", Unit::Bytes),
        ("segments_delivered", Unit::Count),
        ("segments_sent", Unit::Count),
        ("segments_retransmitted", Unit::Count),
        ("segments_lost", Unit::Count),
        ("transfers_completed", Unit::Count),
        ("timeouts", Unit::Count),
        ("fast_retransmissions", Unit::Count),
    ];
    let columns = columns.map(|(name, unit)| Column::new(name, unit)).into();
    let declared: [MetricId; 20] = [
        metrics.value("goodput", Unit::BitsPerSecond).into(),
        metrics.value("goodput_bound", Unit::BitsPerSecond).into(),
        metrics.counter("transfers_completed", Unit::Count).into(),
        metrics.histogram("transfer_time", Unit::Picoseconds).into(),
        metrics.histogram("round_trip_time", Unit::Picoseconds).into(),
        metrics.counter("segments_sent", Unit::Count).into(),
        metrics.counter("segments_retransmitted", Unit::Count).into(),
        metrics.counter("segments_lost", Unit::Count).into(),
        metrics.counter("segments_arrived", Unit::Count).into(),
        metrics.counter("segments_in_flight", Unit::Count).into(),
        metrics.counter("segments_delivered", Unit::Count).into(),
        metrics.counter("segments_repeated", Unit::Count).into(),
        metrics.counter("segments_buffered", Unit::Count).into(),
        metrics.counter("timeouts", Unit::Count).into(),
        metrics.counter("fast_retransmissions", Unit::Count).into(),
        metrics.counter("acks_sent", Unit::Count).into(),
        metrics.counter("acks_lost", Unit::Count).into(),
        metrics.counter("acks_arrived", Unit::Count).into(),
        metrics.counter("acks_in_flight", Unit::Count).into(),
        metrics.table("flows", columns).into(),
    ];
    debug_assert!(declared.into_iter().zip(0..).all(|(id, place)| id == MetricId(place)));
    metrics
}

/// Computes the goodput of all pairs together, and its bound. Checks that no segment or acknowledgement was
/// lost without a count, or duplicated.
pub(super) fn conclude(model: &Transfer, end: Time, metrics: &mut Metrics) -> Result<(), String> {
    let counts = |metrics: &Metrics, ids: [MetricId; 4]| {
        ids.map(|id| metrics.by_id(id).and_then(MetricValue::counter).expect("it is declared as a counter"))
    };
    for (what, ids) in [
        ("segments", [Ids::SEGMENTS_SENT, Ids::SEGMENTS_ARRIVED, Ids::SEGMENTS_LOST, Ids::SEGMENTS_IN_FLIGHT]),
        ("acknowledgements", [Ids::ACKS_SENT, Ids::ACKS_ARRIVED, Ids::ACKS_LOST, Ids::ACKS_IN_FLIGHT]),
    ] {
        let [sent, arrived, lost, in_flight] = counts(metrics, ids);
        if sent != arrived + lost + in_flight {
            return Err(format!(
                "{sent} {what} were sent, but {arrived} arrived, {lost} were lost and {in_flight} are in flight"
            ));
        }
    }
    let ids = [Ids::SEGMENTS_ARRIVED, Ids::DELIVERED, Ids::REPEATED, Ids::BUFFERED];
    let [arrived, delivered, repeated, buffered] = counts(metrics, ids);
    if arrived != delivered + repeated + buffered {
        return Err(format!(
            "{arrived} segments arrived, but {delivered} were delivered, {repeated} were there already and {buffered} are buffered"
        ));
    }
    let parameters = model.parameters();
    metrics.set(Ids::GOODPUT_BOUND, model.goodput_bound() * f64::from(parameters.pairs));
    if end > Time::ZERO {
        let bits = delivered as f64 * f64::from(parameters.segment_bytes) * 8.0;
        metrics.set(Ids::GOODPUT, bits / end.as_secs_f64());
    }
    let segment_bytes = u64::from(parameters.segment_bytes);
    for (pair, sums) in metrics.take_sums(Ids::FLOWS) {
        let bytes = sums.first().copied().unwrap_or(0) * segment_bytes;
        let goodput = match end > Time::ZERO {
            true => Cell::Float(bytes as f64 * 8.0 / end.as_secs_f64()),
            false => Cell::Empty,
        };
        let of_sums = sums.iter().map(|&sum| Cell::Integer(sum));
        metrics.row(Ids::FLOWS, [pair.into(), goodput, bytes.into()].into_iter().chain(of_sums).collect::<Vec<_>>());
    }
    Ok(())
}
