//! The metrics are equal, bit for bit, however LPs are spread over workers, interleaved, moved and merged.

use parades_core::event::{LpId, Sender};
use parades_core::metrics::{Cell, Column, MetricId, MetricValue, Metrics, Sample, Unit};
use parades_core::time::Time;
use proptest::prelude::*;
use std::collections::VecDeque;

const LPS: u32 = 9;
const WORKERS: usize = 4;

/// A recording of an LP: the metric by its position in the declaration, and the bits of a number.
type Recording = (u32, u64);

fn declared() -> Metrics {
    let mut metrics = Metrics::new();
    metrics.counter("counter", Unit::Count);
    metrics.tally("tally", Unit::Bytes);
    metrics.histogram("histogram", Unit::Picoseconds);
    metrics.float("float", Unit::Ratio);
    metrics.steady("steady", Unit::Seconds);
    metrics.series("series", Unit::Count);
    metrics.table("table", vec![Column::new("a", Unit::Count), Column::new("b", Unit::Ratio)]);
    metrics.value("value", Unit::Count);
    metrics
}

/// Returns a double of moderate size that uses its whole mantissa, so that sums round.
fn double(bits: u64) -> f64 {
    (bits >> 11) as f64 / 1e13 - 300.0
}

fn record(metrics: &mut Metrics, lp: u32, (metric, bits): Recording) {
    metrics.record_as(Sender::lp(LpId(lp)));
    let id = MetricId(metric);
    match metric {
        // About one recording in 2^8 is a mistake, which must be reported equally too.
        0..=2 if bits % 256 == 255 => metrics.apply(LpId(lp), &Sample::float(id, double(bits))),
        0..=2 => metrics.apply(LpId(lp), &Sample::integer(id, bits)),
        3 | 4 => metrics.apply(LpId(lp), &Sample::float(id, double(bits))),
        5 => metrics.point(id, Time::from_ps(bits % 4), double(bits)),
        6 => metrics.row(id, [Cell::Integer(bits % 3), Cell::Float(double(bits))]),
        _ => metrics.set(id, bits),
    }
}

/// Returns everything that can be read, with doubles as bits, so that the test does not depend on `==` of the
/// library.
fn bits_of(metrics: &Metrics) -> String {
    let mut out = format!("{:?}\n", metrics.check());
    let bits = |x: Option<f64>| x.map(f64::to_bits);
    for (name, unit, value) in metrics.iter() {
        out += &format!("{name} {unit:?} {:?} {:?} ", value.counter(), bits(value.headline()));
        if let Some(tally) = value.tally() {
            out += &format!("{:?} {:?} {:?}", tally.sum(), tally.max(), bits(tally.deviation()));
        }
        match value {
            MetricValue::Histogram(histogram) => out += &format!("{:?}", histogram.buckets().collect::<Vec<_>>()),
            MetricValue::Float(float) => {
                let total = float.total();
                out += &format!("{:?} {:?} {:?}", bits(total.min()), bits(total.max()), bits(total.deviation()));
            }
            MetricValue::Steady(steady) => {
                for (lp, estimate) in steady.lps() {
                    out += &format!("{lp} {} {:?} ", estimate.count, bits(estimate.half_width));
                }
                out += &format!("{:?}", steady.estimate().map(|estimate| bits(estimate.half_width)));
            }
            MetricValue::Series(series) => {
                series.points().iter().for_each(|&(time, x)| out += &format!("{time} {:?} ", x.to_bits()));
            }
            MetricValue::Table(table) => out += &format!("{:?}", table.rows()),
            _ => {}
        }
        out.push('\n');
    }
    out
}

/// Returns the metrics by definition: all recordings of every LP, in id order.
fn reference(lps: &[Vec<Recording>]) -> Metrics {
    let mut metrics = declared();
    for (lp, recordings) in (0..).zip(lps) {
        recordings.iter().for_each(|&recording| record(&mut metrics, lp, recording));
    }
    metrics
}

/// The course of a run.
#[derive(Clone, Debug)]
struct Course {
    /// The LP of each recording. Each LP keeps its own order.
    turns: Vec<u32>,
    /// The worker of each LP in the first half.
    homes: Vec<usize>,
    /// The worker of each LP in the second half.
    moves: Vec<usize>,
    /// The worker that executes the event of each recording.
    executors: Vec<usize>,
    /// The pairs of workers whose metrics are merged.
    merges: Vec<(usize, usize)>,
}

fn recordings() -> impl Strategy<Value = Vec<Vec<Recording>>> {
    prop::collection::vec(prop::collection::vec((0..8u32, any::<u64>()), 0..150), LPS as usize)
}

fn course(lps: &[Vec<Recording>]) -> impl Strategy<Value = Course> + use<> {
    let turns: Vec<u32> =
        (0..).zip(lps).flat_map(|(lp, recordings)| std::iter::repeat_n(lp, recordings.len())).collect();
    let count = turns.len();
    let workers = || prop::collection::vec(0..WORKERS, LPS as usize);
    (
        Just(turns).prop_shuffle(),
        workers(),
        workers(),
        prop::collection::vec(0..WORKERS, count),
        prop::collection::vec((0..WORKERS, 0..WORKERS), WORKERS * 3),
    )
        .prop_map(|(turns, homes, moves, executors, merges)| Course { turns, homes, moves, executors, merges })
}

fn run(lps: &[Vec<Recording>], course: &Course) -> Metrics {
    let mut queues: Vec<VecDeque<Recording>> = lps.iter().map(|lp| lp.iter().copied().collect()).collect();
    let mut workers = vec![declared(); WORKERS];
    let mut homes = course.homes.clone();
    for (turn, &lp) in course.turns.iter().enumerate() {
        if turn == course.turns.len() / 2 {
            homes.clone_from(&course.moves);
            Metrics::redistribute(&mut workers.iter_mut().collect::<Vec<_>>(), &|id| homes[id.index()]);
        }
        let recording = queues[lp as usize].pop_front().expect("each LP has as many turns as recordings");
        // Any worker may record integers. Other numbers are recorded at the worker of the LP.
        let worker = if recording.0 <= 2 { course.executors[turn] } else { homes[lp as usize] };
        record(&mut workers[worker], lp, recording);
    }
    // Merges workers at random, and then the remaining ones into the first.
    let mut workers: Vec<Option<Metrics>> = workers.into_iter().map(Some).collect();
    for &(into, from) in &course.merges {
        if into == from || workers[into].is_none() {
            continue;
        }
        let other = workers[from].take();
        workers[into].iter_mut().zip(other).for_each(|(into, other)| into.merge(other));
    }
    workers
        .into_iter()
        .flatten()
        .reduce(|mut one, two| {
            one.merge(two);
            one
        })
        .expect("a worker is left, having merged the others")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_spread_and_interleaving_gives_the_same_bits(
        (lps, course) in recordings().prop_flat_map(|lps| { let course = course(&lps); (Just(lps), course) })
    ) {
        let (expected, got) = (reference(&lps), run(&lps, &course));
        prop_assert_eq!(bits_of(&expected), bits_of(&got));
        prop_assert!(expected == got);
        prop_assert_eq!(format!("{expected:?}"), format!("{got:?}"), "equal metrics are shown alike");
    }
}

#[test]
fn equality_sees_the_last_bit_and_the_order_within_an_lp() {
    let one = reference(&[vec![(3, u64::MAX), (3, 1 << 60), (3, 7 << 50)]]);
    let nudged = reference(&[vec![(3, u64::MAX), (3, 1 << 60), (3, (7 << 50) + (1 << 20))]]);
    assert_ne!(one, nudged);
    assert_ne!(bits_of(&one), bits_of(&nudged));
    let rows = |order: [u64; 2]| reference(&[order.map(|x| (6, 3 * (x << 40))).to_vec()]);
    assert_ne!(bits_of(&rows([1, 2])), bits_of(&rows([2, 1])));
}

#[test]
#[should_panic(expected = "recorded in two places at once")]
fn an_lp_may_not_record_doubles_in_two_places() {
    let (mut one, mut two) = (declared(), declared());
    record(&mut one, 5, (3, 1));
    record(&mut two, 5, (3, 1));
    one.merge(two);
}

#[test]
#[should_panic(expected = "different declarations")]
fn different_declarations_do_not_merge() {
    let mut other = Metrics::new();
    other.counter("counter", Unit::Bytes);
    declared().merge(other);
}

#[test]
#[should_panic(expected = "the name `tally`")]
fn a_name_is_declared_once() {
    declared().counter("tally", Unit::Count);
}

#[test]
fn what_a_metric_cannot_take_is_left_out_and_named() {
    let complaint = |record: &dyn Fn(&mut Metrics)| {
        let mut metrics = declared();
        record(&mut metrics);
        assert_eq!(metrics.iter().map(|(.., value)| value).collect::<Vec<_>>(), {
            let empty = declared();
            let values: Vec<MetricValue> = empty.iter().map(|(.., value)| value.clone()).collect();
            values.leak().iter().collect::<Vec<_>>()
        });
        metrics.check().expect_err("the recording is a mistake")
    };
    let lp = LpId(2);
    assert_eq!(
        complaint(&|metrics| metrics.apply(lp, &Sample::float(MetricId(0), 1.0))),
        "LP 2 recorded 1 in the metric `counter`, a counter: it takes integers"
    );
    assert_eq!(
        complaint(&|metrics| metrics.apply(lp, &Sample::float(MetricId(4), f64::NAN))),
        "LP 2 recorded NaN in the metric `steady`, a steady: it takes observations of floating-point numbers, at most 1e140 in magnitude"
    );
    assert_eq!(
        complaint(&|metrics| metrics.apply(lp, &Sample::integer(MetricId(99), 1))),
        "LP 2 recorded 1 in metric 99, but the model declares 8: use the ids it was given"
    );
    assert_eq!(
        complaint(&|metrics| metrics.row(MetricId(6), [Cell::Integer(1)])),
        "a global event, or the end of the run, recorded the row [Integer(1)] in the metric `table`, a table: it takes rows of 2 cells, \
         numbers at most 1e140"
    );
    for record in [
        (&|metrics: &mut Metrics| metrics.point(MetricId(5), Time::ZERO, f64::INFINITY)) as &dyn Fn(&mut Metrics),
        &|metrics| metrics.set(MetricId(7), -1e141),
        &|metrics| metrics.set(MetricId(1), 1u64),
        &|metrics| metrics.row(MetricId(6), [Cell::Empty, Cell::Float(f64::NAN)]),
        &|metrics| metrics.count(MetricId(3), 1),
        &|metrics| metrics.observe_float(MetricId(2), 1.0),
    ] {
        complaint(record);
    }
}

#[test]
fn counters_go_beyond_64_bits_and_the_greatest_lp_sets_the_value() {
    let mut metrics = declared();
    metrics.count(MetricId(0), u64::MAX);
    metrics.count(MetricId(0), u64::MAX);
    assert_eq!(metrics.get("counter").and_then(MetricValue::counter), Some(2 * u128::from(u64::MAX)));
    for (lp, x) in [(7, 70u64), (3, 30), (7, 71), (1, 10)] {
        metrics.record_as(Sender::lp(LpId(lp)));
        metrics.set(MetricId(7), x);
    }
    assert_eq!(metrics.by_id(MetricId(7)).and_then(MetricValue::value), Some(&Cell::Integer(71)));
}
