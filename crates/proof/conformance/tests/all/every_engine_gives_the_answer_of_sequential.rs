//! Every model on every engine over every transport gives the answer of `sequential`.

use parades_conformance::matrix::{Selection, check_selection};
use parades_conformance::random::{ALL, SOAK, check_genes, check_seeds};
use parades_conformance::random_model::{COUNT, Genes, MAX};
use parades_conformance::report::{Feature, Report, silence_panics};
use parades_core::run::{Control, RunOptions};
use parades_core::time::{Delay, Time};
use parades_core::trace::{TraceFilter, Tracer};
use parades_engine::sequential;
use parades_models::phold::{Parameters, Phold};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::collections::BTreeMap;

fn assert_alike(report: &Report) {
    assert!(report.differences.is_empty(), "{report}");
}

/// Every model on every engine over every transport once, and once more with shuffled ties.
#[test]
fn shipped_models_give_one_answer() {
    for tie_seed in [None, Some(7)] {
        let once = Selection { workers: Some(3), seed: Some(1), tie_seed, ..Selection::default() };
        let report = check_selection(&once);
        assert_alike(&report);
        assert!(report.rollbacks > 1_000 && report.anti_messages > 1_000, "rollbacks are forced: {report}");
    }
}

#[test]
#[ignore = "takes minutes; `.ci/run` executes it"]
fn shipped_models_give_one_answer_at_length() {
    let report = check_selection(&Selection::default());
    assert_alike(&report);
    assert!(report.rollbacks > 10_000 && report.anti_messages > 10_000, "rollbacks are forced: {report}");
    // Runs that are broken at cuts, or change their engine there, have the features of the engines between
    // the cuts.
    let shown = |wanted| {
        let all = report.occurrences.keys().filter(|(_, engine, _)| !["broken", "changing"].contains(engine));
        all.filter_map(move |&(feature, engine, _)| (feature == wanted).then_some(engine))
    };
    let over_both = |engines: &[&'static str]| engines.iter().flat_map(|&engine| [engine; 2]).collect::<Vec<_>>();
    assert_eq!(shown(Feature::Rollback).collect::<Vec<_>>(), over_both(&["time-warp", "time-warp-test"]));
    assert_eq!(shown(Feature::ModeSwitch).collect::<Vec<_>>(), over_both(&["null-message", "time-warp", "window"]));
    assert!(report.gaps.is_empty(), "each of them has to: {report}");
}

/// The whole matrix on ranks is the command `ranks`.
#[test]
fn models_give_one_answer_on_ranks_that_share_nothing_but_bytes() {
    let (mut crossed, mut moved) = (0, BTreeMap::<&str, u64>::new());
    for model in ["jackson", "averaging", "campus-sampled", "phold-one-lp", "faulty-loop"] {
        let report = check_selection(&Selection { model: Some(model.into()), ranks: true, ..Selection::default() });
        assert_alike(&report);
        // Three engines and `broken`, three numbers of ranks, two numbers of workers for each, three seeds.
        assert_eq!(report.runs, 4 * 3 * 2 * 3, "{report}");
        crossed += report.crossed;
        let travels = report.occurrences.iter().filter(|((feature, ..), _)| *feature == Feature::Travel);
        travels.for_each(|((_, engine, _), travel)| *moved.entry(*engine).or_default() += travel.times);
    }
    assert!(crossed > 10_000, "events cross ranks: {crossed}");
    // Under `null-message`, most of these runs are over before ranks are reviewed.
    for engine in ["window", "time-warp"] {
        assert!(moved.get(engine).is_some_and(|&moved| moved > 10), "LPs move between ranks under {engine}: {moved:?}");
    }
}

#[test]
fn random_models_give_one_answer() {
    silence_panics(false);
    let report = check_seeds(0..600, ALL);
    assert_alike(&report);
    assert!(report.failing_models > 100, "many models fail, and alike: {report}");
    assert!(report.switches > 3_000, "engines change during runs: {report}");
    let kinds: Vec<&str> = report.failures.iter().map(String::as_str).collect();
    assert_eq!(kinds, ["Declaration", "Lookahead", "Model", "NoChannel", "Panic", "Rounds"]);
    assert!(report.rollbacks > 10_000 && report.anti_messages > 10_000, "rollbacks are forced: {report}");
}

/// In this model, the executions ahead of GVT follow each other in a cycle, each later than the last. The
/// anti-messages never catch up with them. Without a remedy this would go on long after the model's last
/// event.
#[test]
fn echoes_of_rolled_back_events_die_out() {
    silence_panics(false);
    let genes = "8,1,3,1,3,17,86,40,3,0,2,8,59,4,0,0,1,6,0,18,7,0,0,0,0,82,3,8294,0";
    let genes: Genes = genes.parse().expect("it was written by a run");
    let mut report = Report::default();
    (0..100).for_each(|_| check_genes(genes, SOAK, &mut report));
    assert_alike(&report);
    assert!(report.rollbacks > 1_000, "it echoes: {report}");
}

#[test]
fn arbitrary_genes_give_one_answer() {
    silence_panics(false);
    let ranges: [std::ops::RangeInclusive<u16>; COUNT] = MAX.map(|max| 0..=max);
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&ranges, |genes| {
        let mut report = Report::default();
        check_genes(Genes(genes), parades_conformance::random::ALL, &mut report);
        match report.differences.first() {
            None => Ok(()),
            Some(what) => Err(TestCaseError::fail(what.clone())),
        }
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_run_stopped_by_hand_is_the_run_until_where_it_stopped() {
    let model = Phold::<()>::new(Parameters { lps: 16, ..Parameters::default() });
    let control = Control::default();
    let until = Time::ZERO.checked_add(Delay::from_secs(10_000)).expect("within virtual time");
    let mut lines = 0;
    let tracer = Tracer::new(TraceFilter::default(), |_| {
        lines += 1;
        if lines == 1000 {
            control.stop();
        }
        Ok(())
    });
    let options = RunOptions { control: Some(&control), tracer: Some(tracer), ..RunOptions::until(until) };
    let stopped = sequential::run(&model, options);
    let stopped = stopped.expect("phold does not fail");
    let at = stopped.stopped_at.expect("it was stopped before its time");
    assert!(at < until && stopped.events == 1000, "it stops after the very event that it was asked at");
    let again = sequential::run(&model, RunOptions::until(at)).expect("phold does not fail");
    assert_eq!((stopped.digest, stopped.events), (again.digest, again.events));
    assert_eq!(stopped.lp_digests, again.lp_digests);
}

#[test]
fn genes_are_parsed_as_they_are_printed() {
    let genes = Genes::from_seed(77);
    assert_eq!(genes.to_string().parse(), Ok(genes));
    assert!("1,2".parse::<Genes>().expect_err("too few").starts_with("there are"));
    let too_great = genes.to_string().replacen(|c: char| c.is_ascii_digit(), "99", 1);
    assert!(too_great.parse::<Genes>().expect_err("too many LPs").contains("the gene Lps is at most 39"));
}
