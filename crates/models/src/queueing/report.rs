//! What a run of a queueing network reports, and the theory beside it.

use super::{Customer, Queue, Queueing, State};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// The metrics, in the order of [`declare`].
pub(super) struct Ids;

impl Ids {
    pub(super) const SOJOURN: MetricId = MetricId(0);
    const THEORY: MetricId = MetricId(1);
    const HALF_WIDTH: MetricId = MetricId(2);
    const INSIDE: MetricId = MetricId(3);
    pub(super) const DISTRIBUTION: MetricId = MetricId(4);
    const ENTERED: MetricId = MetricId(5);
    const LEFT: MetricId = MetricId(6);
    const PRESENT: MetricId = MetricId(7);
    pub(super) const MOVING: MetricId = MetricId(8);
    const STATIONS: MetricId = MetricId(9);
}

pub(super) fn declare() -> Metrics {
    let mut metrics = Metrics::new();
    let columns = vec![
        Column::new("station", Unit::Count),
        Column::new("arrivals", Unit::Count),
        Column::new("utilisation", Unit::Ratio),
        Column::new("utilisation_theory", Unit::Ratio),
        Column::new("number", Unit::Count),
        Column::new("number_theory", Unit::Count),
        Column::new("time", Unit::Seconds),
        Column::new("time_theory", Unit::Seconds),
    ];
    let declared = [
        metrics.steady("sojourn", Unit::Seconds),
        metrics.value("sojourn_theory", Unit::Seconds),
        metrics.value("sojourn_relative_half_width", Unit::Ratio),
        metrics.value("theory_inside_interval", Unit::Count),
        metrics.histogram("sojourn_distribution", Unit::Picoseconds),
        metrics.counter("customers_entered", Unit::Count),
        metrics.counter("customers_left", Unit::Count),
        metrics.counter("customers_at_stations", Unit::Count),
        metrics.counter("customers_moving", Unit::Count),
        metrics.table("stations", columns),
    ];
    debug_assert!(declared.into_iter().zip(0..).all(|(id, place)| id == MetricId(place)));
    metrics
}

/// What an LP adds. The averages over time need the end of the run, which only [`conclude`] knows: until then a station's row of the
/// table holds what they are made of.
pub(super) fn finish(id: LpId, state: &State, metrics: &mut Metrics) {
    match state {
        State::Sink(left) => metrics.count(Ids::LEFT, *left),
        State::Station(Queue { present, books }) => {
            metrics.count(Ids::ENTERED, books.entered);
            metrics.count(Ids::PRESENT, present.len() as u64);
            // What the customers present have spent here is all that those served have not.
            let present_for = |customer: &Customer| u128::from(books.changed_ps - customer.arrived_ps);
            let stayed_ps = books.present_ps - present.iter().map(present_for).sum::<u128>();
            let row = [
                Cell::Integer(u64::from(id.0)),
                Cell::Integer(books.arrivals),
                Cell::Integer(books.busy_ps),
                Cell::Integer(books.changed_ps),
                Cell::Integer(present.len() as u64),
                Cell::Float(books.present_ps as f64),
                Cell::Integer(books.arrivals - present.len() as u64),
                Cell::Float(stayed_ps as f64),
            ];
            metrics.row(Ids::STATIONS, row);
        }
    }
}

/// Makes the rows of the table, compares with the theory, and checks that no customer was lost or made.
pub(super) fn conclude(model: &Queueing, end: Time, metrics: &mut Metrics) -> Result<(), String> {
    let parts = metrics.split_off(|lp| lp != model.sink());
    let table = parts.by_id(Ids::STATIONS).and_then(MetricValue::table).expect("it is declared as a table");
    for row in table.rows() {
        metrics.row(Ids::STATIONS, finished_row(model, end, row));
    }
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

/// A row of the table from what [`finish`] left of it.
fn finished_row(model: &Queueing, end: Time, row: &[Cell]) -> [Cell; 8] {
    let &[
        Cell::Integer(station),
        Cell::Integer(arrivals),
        Cell::Integer(busy_ps),
        Cell::Integer(changed_ps),
        Cell::Integer(present),
        Cell::Float(present_ps),
        Cell::Integer(served),
        Cell::Float(stayed_ps),
    ] = row
    else {
        unreachable!("every station leaves a row of this form");
    };
    let theory = &model.network.stations()[usize::try_from(station).expect("a station's id has 32 bits")];
    let end_ps = end.as_ps();
    // Who was there at the station's last event stayed until the end.
    let since_ps = end_ps.saturating_sub(changed_ps);
    let busy_ps = busy_ps + if present > 0 { since_ps } else { 0 };
    let present_ps = present_ps + since_ps as f64 * present as f64;
    let ratio = |above: f64, below: u64| if below > 0 { Cell::Float(above / below as f64) } else { Cell::Empty };
    [
        Cell::Integer(station),
        Cell::Integer(arrivals),
        ratio(busy_ps as f64, end_ps),
        Cell::Float(theory.utilisation()),
        ratio(present_ps, end_ps),
        Cell::Float(theory.mean_number()),
        ratio(stayed_ps / 1e12, served),
        Cell::Float(theory.mean_time()),
    ]
}
