//! The metrics of a queueing network, with the theoretical values.

use super::{Customer, Queue, Queueing, State, Station};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// The columns of the last table.
const COLUMNS: &[(&str, Unit)] = &[
    ("station", Unit::Count),
    ("arrivals", Unit::Count),
    ("utilisation", Unit::Ratio),
    ("utilisation_theory", Unit::Ratio),
    ("number", Unit::Count),
    ("number_theory", Unit::Count),
    ("time", Unit::Seconds),
    ("time_theory", Unit::Seconds),
];

pub(super) const METRICS: Declared<10> = Declared::new([
    Declaration::steady("sojourn", Unit::Seconds),
    Declaration::value("sojourn_theory", Unit::Seconds),
    Declaration::value("sojourn_relative_half_width", Unit::Ratio),
    Declaration::value("theory_inside_interval", Unit::Count),
    Declaration::histogram("sojourn_distribution", Unit::Picoseconds),
    Declaration::counter("customers_entered", Unit::Count),
    Declaration::counter("customers_left", Unit::Count),
    Declaration::counter("customers_at_stations", Unit::Count),
    Declaration::counter("customers_moving", Unit::Count),
    Declaration::table("stations", COLUMNS),
]);

/// The ids of the metrics.
pub(super) struct Ids;

impl Ids {
    pub(super) const SOJOURN: FloatId = METRICS.float("sojourn");
    const THEORY: ValueId = METRICS.value("sojourn_theory");
    const HALF_WIDTH: ValueId = METRICS.value("sojourn_relative_half_width");
    const INSIDE: ValueId = METRICS.value("theory_inside_interval");
    pub(super) const DISTRIBUTION: IntegerId = METRICS.integer("sojourn_distribution");
    const ENTERED: CounterId = METRICS.counter("customers_entered");
    const LEFT: CounterId = METRICS.counter("customers_left");
    const PRESENT: CounterId = METRICS.counter("customers_at_stations");
    pub(super) const MOVING: CounterId = METRICS.counter("customers_moving");
    const STATIONS: TableId = METRICS.table("stations");
}

/// Adds an LP's part to the metrics: the sink its count, a station its row of the table.
pub(super) fn finish(model: &Queueing, id: LpId, state: &State, end: Time, metrics: &mut Metrics) {
    match state {
        State::Sink(left) => metrics.count(Ids::LEFT, *left),
        State::Station(queue) => {
            metrics.count(Ids::ENTERED, queue.statistics.entered);
            metrics.count(Ids::PRESENT, queue.present.len() as u64);
            metrics.row(Ids::STATIONS, row(id, queue, &model.network.stations()[id.index()], end));
        }
    }
}

/// Returns the row of a station: its statistics, and the theoretical values.
fn row(id: LpId, Queue { present, statistics }: &Queue, theory: &Station, end: Time) -> [Cell; 8] {
    // The time of served customers is the time of all customers, less that of the customers still present.
    let present_for = |customer: &Customer| u128::from(statistics.changed_ps - customer.arrived_ps);
    let stayed_ps = statistics.present_ps - present.iter().map(present_for).sum::<u128>();
    let served = statistics.arrivals - present.len() as u64;
    // The number present at the station's last event did not change until the end.
    let since_ps = end.as_ps().saturating_sub(statistics.changed_ps);
    let busy_ps = statistics.busy_ps + if present.is_empty() { 0 } else { since_ps };
    let present_ps = statistics.present_ps + u128::from(since_ps) * present.len() as u128;
    let ratio = |above: f64, below: u64| if below > 0 { Cell::Float(above / below as f64) } else { Cell::Empty };
    [
        Cell::Integer(u64::from(id.0)),
        Cell::Integer(statistics.arrivals),
        ratio(busy_ps as f64, end.as_ps()),
        Cell::Float(theory.utilisation()),
        ratio(present_ps as f64, end.as_ps()),
        Cell::Float(theory.mean_number()),
        ratio(stayed_ps as f64 / 1e12, served),
        Cell::Float(theory.mean_time()),
    ]
}

/// Adds the comparison with theory. Checks that no customer was lost or duplicated.
pub(super) fn conclude(model: &Queueing, metrics: &mut Metrics) -> Result<(), String> {
    let theory = model.mean_sojourn();
    metrics.set(Ids::THEORY, theory);
    let estimate = metrics.by_id(Ids::SOJOURN).and_then(MetricValue::steady).and_then(|sojourn| sojourn.estimate());
    if let Some((estimate, half_width)) = estimate.and_then(|estimate| Some((estimate, estimate.half_width?))) {
        metrics.set(Ids::HALF_WIDTH, half_width / estimate.mean);
        metrics.set(Ids::INSIDE, if estimate.contains(theory) { "yes" } else { "no" });
    }
    let count = |metric| metrics.by_id(metric).and_then(MetricValue::counter).expect("it is declared as a counter");
    let [entered, left, present, moving] = [Ids::ENTERED, Ids::LEFT, Ids::PRESENT, Ids::MOVING].map(count);
    if entered != left + present + moving {
        return Err(format!(
            "{entered} customers entered, but {left} left, {present} are at stations and {moving} move between them"
        ));
    }
    Ok(())
}
