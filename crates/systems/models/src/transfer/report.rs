//! The metrics of transfers, and the checks at the end of a run.

use super::Transfer;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// The columns of the last table.
const COLUMNS: &[(&str, Unit)] = &[
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

pub(super) const METRICS: Declared<20> = Declared::new([
    Declaration::value("goodput", Unit::BitsPerSecond),
    Declaration::value("goodput_bound", Unit::BitsPerSecond),
    Declaration::counter("transfers_completed", Unit::Count),
    Declaration::histogram("transfer_time", Unit::Picoseconds),
    Declaration::histogram("round_trip_time", Unit::Picoseconds),
    Declaration::counter("segments_sent", Unit::Count),
    Declaration::counter("segments_retransmitted", Unit::Count),
    Declaration::counter("segments_lost", Unit::Count),
    Declaration::counter("segments_arrived", Unit::Count),
    Declaration::counter("segments_in_flight", Unit::Count),
    Declaration::counter("segments_delivered", Unit::Count),
    Declaration::counter("segments_repeated", Unit::Count),
    Declaration::counter("segments_buffered", Unit::Count),
    Declaration::counter("timeouts", Unit::Count),
    Declaration::counter("fast_retransmissions", Unit::Count),
    Declaration::counter("acks_sent", Unit::Count),
    Declaration::counter("acks_lost", Unit::Count),
    Declaration::counter("acks_arrived", Unit::Count),
    Declaration::counter("acks_in_flight", Unit::Count),
    Declaration::table("flows", COLUMNS),
]);

/// The ids of the metrics.
pub(super) struct Ids;

impl Ids {
    const GOODPUT: ValueId = METRICS.value("goodput");
    const GOODPUT_BOUND: ValueId = METRICS.value("goodput_bound");
    pub(super) const TRANSFERS: CounterId = METRICS.counter("transfers_completed");
    pub(super) const TRANSFER_TIME: IntegerId = METRICS.integer("transfer_time");
    pub(super) const ROUND_TRIP: IntegerId = METRICS.integer("round_trip_time");
    pub(super) const SEGMENTS_SENT: CounterId = METRICS.counter("segments_sent");
    pub(super) const RETRANSMITTED: CounterId = METRICS.counter("segments_retransmitted");
    pub(super) const SEGMENTS_LOST: CounterId = METRICS.counter("segments_lost");
    pub(super) const SEGMENTS_ARRIVED: CounterId = METRICS.counter("segments_arrived");
    pub(super) const SEGMENTS_IN_FLIGHT: CounterId = METRICS.counter("segments_in_flight");
    pub(super) const DELIVERED: CounterId = METRICS.counter("segments_delivered");
    pub(super) const REPEATED: CounterId = METRICS.counter("segments_repeated");
    pub(super) const BUFFERED: CounterId = METRICS.counter("segments_buffered");
    pub(super) const TIMEOUTS: CounterId = METRICS.counter("timeouts");
    pub(super) const FAST_RETRANSMISSIONS: CounterId = METRICS.counter("fast_retransmissions");
    pub(super) const ACKS_SENT: CounterId = METRICS.counter("acks_sent");
    pub(super) const ACKS_LOST: CounterId = METRICS.counter("acks_lost");
    pub(super) const ACKS_ARRIVED: CounterId = METRICS.counter("acks_arrived");
    pub(super) const ACKS_IN_FLIGHT: CounterId = METRICS.counter("acks_in_flight");
    /// A table with a row for each pair. Its sums are segments delivered, sent, retransmitted and lost;
    /// transfers; timeouts; fast retransmissions.
    pub(super) const FLOWS: TableId = METRICS.table("flows");
}

/// Computes the goodput of all pairs together, and its bound. Checks that no segment or acknowledgement was
/// lost without a count, or duplicated.
pub(super) fn conclude(model: &Transfer, end: Time, metrics: &mut Metrics) -> Result<(), String> {
    let counts = |metrics: &Metrics, ids: [CounterId; 4]| {
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
