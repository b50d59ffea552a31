//! Means over seeds and their intervals against values computed by hand; and seeds that are added until an
//! interval is narrow enough.

use crate::common::{driven, echoes, figures, precision};
use parades_core::metrics::{Estimate, student_t95};
use parades_sweep::precision::RUNS_MIN;
use parades_sweep::{Outcome, Results, Run, Schedule};
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Returns a schedule whose finished runs have these values of the metric `x`, point by point. `None` is a
/// failed run.
fn schedule(points: &[Vec<Option<f64>>]) -> Schedule {
    let mut recorded = BTreeMap::new();
    for (point, values) in points.iter().enumerate() {
        for (replication, value) in values.iter().enumerate() {
            let outcome = value.map_or_else(
                || Outcome::failed("it broke, \"quite\"", false),
                |value| {
                    let mut figures = figures(1);
                    figures.metrics =
                        [("x".to_owned(), json!(value)), ("word".into(), json!("yes"))].into_iter().collect();
                    Outcome::Figures(Box::new(figures))
                },
            );
            recorded.insert(Run { point, replication }, outcome);
        }
    }
    let seeds = (1..=points[0].len() as u64).collect();
    Schedule::new(points.len(), seeds, None, recorded)
}

fn estimates(points: &[Vec<Option<f64>>]) -> Vec<Option<Estimate>> {
    let schedule = schedule(points);
    let values = (0..points.len()).map(|point| vec![json!(point)]).collect();
    let results = Results::new(&schedule, vec!["k".into()], values);
    results
        .points()
        .map(|point| {
            assert!(point.intervals.iter().all(|interval| interval.metric == "x"), "text has no mean");
            point.intervals.first().map(|interval| interval.estimate)
        })
        .collect()
}

#[test]
fn means_and_half_widths_are_those_of_students_t() {
    // 9, 10, 11: the variance is 1, and t of 2 degrees of freedom is 4.302652729749.
    //
    // 1..=5: the variance is 2.5, and t of 4 degrees is 2.776445105198.
    //
    // 2, 4: the variance is 2, and t of 1 degree is tan(0.475 pi) = 12.706204736175.
    let cases = [
        (vec![9.0, 10.0, 11.0], 10.0, 4.302_652_729_749 / 3_f64.sqrt()),
        (vec![1.0, 2.0, 3.0, 4.0, 5.0], 3.0, 2.776_445_105_198 * 0.5_f64.sqrt()),
        (vec![2.0, 4.0], 3.0, 12.706_204_736_175),
        (vec![7.0; 4], 7.0, 0.0),
    ];
    for (values, mean, half_width) in cases {
        let found = estimates(&[values.iter().copied().map(Some).collect()])[0].expect("there are values");
        assert_eq!(usize::try_from(found.count), Ok(values.len()));
        assert!((found.mean - mean).abs() < 1e-12, "{found:?}");
        assert!((found.half_width.unwrap() - half_width).abs() < 1e-8, "{found:?} should have {half_width}");
    }
    assert_eq!(estimates(&[vec![Some(3.0)]])[0], Some(Estimate { count: 1, mean: 3.0, half_width: None }));
}

#[test]
fn students_t_is_right_to_a_billionth_for_any_number_of_seeds() {
    // The quantiles are computed by the incomplete beta function with 30 digits (mpmath).
    let quantiles = [
        (1.0, 12.706_204_736_174_7),
        (2.0, 4.302_652_729_749_464),
        (3.0, 3.182_446_305_283_71),
        (4.0, 2.776_445_105_197_794),
        (9.0, 2.262_157_162_798_206),
        (11.0, 2.200_985_160_091_64),
        (29.0, 2.045_229_642_132_704),
        (49.0, 2.009_575_237_129_24),
        (99.0, 1.984_216_951_586_417),
        (100.0, 1.983_971_518_523_552),
        (150.0, 1.975_905_330_896_621),
        (999.0, 1.962_341_461_133_45),
        (99_999.0, 1.959_987_707_771_845),
    ];
    for (freedom, t) in quantiles {
        assert!((student_t95(freedom) - t).abs() < 1e-9, "{freedom}: {} should be {t}", student_t95(freedom));
    }
}

#[test]
fn each_point_is_estimated_alone_and_without_its_failed_runs() {
    let found = estimates(&[vec![Some(1.0), Some(3.0), None], vec![None, None, None], vec![Some(5.0), None, None]]);
    assert_eq!(found[0].map(|estimate| (estimate.count, estimate.mean)), Some((2, 2.0)));
    assert_eq!(found[1], None);
    assert_eq!(found[2], Some(Estimate { count: 1, mean: 5.0, half_width: None }));
}

#[test]
fn the_tables_have_a_row_for_each_run_and_a_row_for_each_mean() {
    let schedule = schedule(&[vec![Some(1.0), Some(2.0)], vec![None, Some(0.1)]]);
    let values = vec![vec![json!("a,b")], vec![json!(0.5)]];
    let results = Results::new(&schedule, vec!["k".into()], values);
    let text = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut table = Vec::new();
        write(&mut table).unwrap();
        String::from_utf8(table).unwrap()
    };
    assert_eq!(
        text(&|to| results.write_runs(to)),
        "k,seed,events,global_events,digest,virtual_time_s,x,word,error\n\
         \"a,b\",1,1,0,00000000000000ff,0.1,1.0,yes,\n\
         \"a,b\",2,1,0,00000000000000ff,0.1,2.0,yes,\n\
         0.5,1,,,,,,,\"it broke, \"\"quite\"\"\"\n\
         0.5,2,1,0,00000000000000ff,0.1,0.1,yes,\n"
    );
    let means = text(&|to| results.write_means(to));
    let lines: Vec<&str> = means.lines().collect();
    assert_eq!(lines[0], "k,metric,runs,mean,half_width_95");
    let half_width: f64 = lines[1].strip_prefix("\"a,b\",x,2,1.5,").expect("the mean of 1 and 2").parse().unwrap();
    assert!((half_width - 12.706_204_736_175 / 2.0).abs() < 1e-8);
    assert_eq!(lines[2], "0.5,x,1,0.1,");
    let points = json!(parades_sweep::results::Points(&results));
    assert_eq!(
        points[1],
        json!({"parameters": {"k": 0.5}, "runs": 1, "failed": 1, "metrics": {"x": {"count": 1, "mean": 0.1, "half_width_95": null}}})
    );
    let runs = json!(parades_sweep::results::Runs(&results));
    assert_eq!((&runs[2]["error"], &runs[2]["seed"]), (&json!("it broke, \"quite\""), &json!(1)));
    assert_eq!(runs[3]["metrics"]["x"], json!(0.1));
}

/// Executes a sweep with a precision. Returns for each point the number of its runs, and true if it reached
/// the precision.
///
/// At point `p`, the metric `x` of seed `s` is `(s + 10 p) / 3`.
fn runs_of(workers: usize, seeds: u64, relative_half_width: f64) -> Vec<(usize, Option<bool>)> {
    let mut schedule = Schedule::new(3, (1..=seeds).collect(), Some(precision(relative_half_width)), BTreeMap::new());
    driven(&mut schedule, &echoes(workers), None, &Cell::new(0), usize::MAX);
    (0..3).map(|point| (schedule.outcomes(point).count(), schedule.reached(point))).collect()
}

#[test]
fn seeds_are_added_at_points_with_wide_intervals_whatever_the_number_of_workers() {
    // The seeds 1..=n have the mean (n + 1) / 2 and the variance n (n + 1) / 12. So at point p, the
    // half-width divided by the mean is t sqrt((n + 1) / 12) / ((n + 1) / 2 + 10 p).
    let ratio = |n: f64, t: f64, p: f64| t * ((n + 1.0) / 12.0).sqrt() / ((n + 1.0) / 2.0 + 10.0 * p);
    assert!(ratio(10.0, 2.262_157, 2.0) < 0.12 && ratio(10.0, 2.262_157, 1.0) > 0.12);
    let found = runs_of(1, 200, 0.12);
    assert_eq!(found[2], (RUNS_MIN, Some(true)), "precise enough after the first batch");
    assert!(found[1].0 > RUNS_MIN && found[0].0 > found[1].0, "{found:?}");
    let n = found[0].0 as f64;
    assert!(n < 200.0 && found[0].1 == Some(true) && ratio(n, 2.0, 0.0) < 0.12, "{found:?}");
    for workers in [2, 5] {
        assert_eq!(runs_of(workers, 200, 0.12), found);
    }
}

#[test]
fn a_point_without_further_seeds_has_not_reached_its_precision() {
    assert_eq!(runs_of(2, 15, 0.12)[0], (15, Some(false)));
    assert_eq!(runs_of(2, 5, 1e-6), vec![(5, Some(false)); 3], "fewer seeds than a first batch");
}

#[test]
fn a_point_whose_runs_all_fail_gets_no_second_batch() {
    let fails =
        |point| (0..100).map(move |replication| (Run { point, replication }, Outcome::failed("it broke", false)));
    let schedule = Schedule::new(1, (1..=100).collect(), Some(precision(0.01)), fails(0).collect());
    assert_eq!((schedule.progress(), schedule.reached(0)), ((RUNS_MIN, RUNS_MIN), Some(false)));
    assert!(schedule.is_hopeless(0));
}
