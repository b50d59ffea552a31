//! Random models on all engines.

use crate::compare::{Question, check, expected};
use crate::engines::{CHANGING, Fault, SaveView, Setting, WireView, engines, index_below, save_view, wire_view};
use crate::random_model::{Genes, RandomModel};
use crate::report::Report;
use crate::transport::Carrier;
use parades_core::digest::Digest;
use parades_core::random::Rng;
use std::time::Instant as WallInstant;

/// The numbers of workers of runs.
pub const WORKERS: [usize; 4] = [1, 2, 3, 8];

/// The engines and settings with which random models are run.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The planted fault.
    pub fault: Fault,
    /// The only engine to run, or `None` for all.
    pub engine: Option<&'a str>,
    /// The numbers of workers, of which each run draws one.
    pub workers: &'a [usize],
    /// The arguments after `genes LIST` that make the same choice.
    pub arguments: &'a str,
}

/// All engines, without a fault.
pub const ALL: Choice<'static> = Choice { fault: Fault::None, engine: None, workers: &WORKERS, arguments: "" };

/// `time-warp` alone, on several workers, which sometimes fall behind.
pub const SOAK: Choice<'static> =
    Choice { fault: Fault::None, engine: Some("time-warp"), workers: &[2, 3, 4, 5, 6, 7, 8], arguments: " --soak 100" };

/// One engine after another, which change at short intervals.
pub const SWITCHES: Choice<'static> = Choice { engine: Some(CHANGING), arguments: " --switches 20", ..ALL };

/// Runs the model of these genes on the engines, and compares each answer with that of `sequential`.
pub fn check_genes(genes: Genes, choice: Choice<'_>, report: &mut Report) {
    let model = RandomModel::new(genes);
    let options = model.options();
    let question = Question { until: options.until, seed: options.seed, tie_seed: options.tie_seed, traced: true };
    let expected = expected(&model, question);
    report.count_model(&expected);
    let mut digest = Digest::default();
    genes.0.iter().for_each(|gene| digest.word(u64::from(*gene)));
    let rng = Rng::shared(digest.value(), 14);
    for engine in &engines() {
        for (carrier, _) in engine.varies.variants(Carrier::ALL, [0]) {
            let workers = choice.workers[index_below(&rng, choice.workers.len())];
            let wire = Some(wire_view as WireView<_>);
            let save = Some(save_view as SaveView<_>);
            let setting = Setting { workers, seed: rng.next_u64(), carrier, wire, save, fault: choice.fault };
            if choice.engine.is_some_and(|name| name != engine.name) {
                continue;
            }
            let (found, same) = check(&model, question, engine, &setting, &expected);
            report.add(&found);
            if let Err(what) = same {
                let carrier = carrier.name();
                let replay = if choice.fault == Fault::None {
                    format!("genes {genes}{}", choice.arguments)
                } else {
                    "faults".into()
                };
                report.difference(format!("{} over {carrier}, {workers} workers: {what}", engine.name), &replay);
            }
        }
    }
}

/// Runs the models of these seeds. The first difference of a model is shrunk.
pub fn check_seeds(seeds: impl IntoIterator<Item = u64>, choice: Choice<'_>) -> Report {
    let mut report = Report::default();
    for seed in seeds {
        let genes = Genes::from_seed(seed);
        let before = report.differences.len();
        check_genes(genes, choice, &mut report);
        if report.differences.len() > before {
            let simplest = genes.shrunk(|genes| has_difference(genes, choice));
            let mut simplest_report = Report::default();
            check_genes(simplest, choice, &mut simplest_report);
            report.differences.truncate(before);
            report.differences.push(format!("seed {seed}, shrunk to {simplest:?}"));
            report.differences.append(&mut simplest_report.differences);
        }
    }
    report
}

/// True if an engine differs from `sequential` on the model of these genes.
pub fn has_difference(genes: Genes, choice: Choice<'_>) -> bool {
    let mut report = Report::default();
    check_genes(genes, choice, &mut report);
    !report.differences.is_empty()
}

/// A planted fault that was caught.
#[derive(Debug)]
pub struct Caught {
    /// The number of models run. The last one showed the fault.
    pub models: u64,
    /// The number of events of those runs.
    pub events: u64,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
    /// The difference.
    pub what: String,
    /// The shrunk model.
    pub simplest: Genes,
}

/// Runs up to `limit` random models until one shows a fault planted in an engine. Returns `None` if none
/// does.
#[expect(clippy::disallowed_methods, reason = "the time is only reported")]
pub fn catch_fault(fault: Fault, engine: &str, limit: u64) -> Option<Caught> {
    let begin = WallInstant::now();
    let mut report = Report::default();
    let choice = Choice { fault, engine: Some(engine), ..ALL };
    for seed in 0..limit {
        let genes = Genes::from_seed(seed);
        check_genes(genes, choice, &mut report);
        if let Some(what) = report.differences.first() {
            let seconds = begin.elapsed().as_secs_f64();
            let simplest = genes.shrunk(|genes| has_difference(genes, choice));
            return Some(Caught { models: seed + 1, events: report.events, seconds, what: what.clone(), simplest });
        }
    }
    None
}
