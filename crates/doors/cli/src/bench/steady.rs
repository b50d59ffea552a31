//! `bench steady`: how often the interval at which a run stops holds the truth, where theory knows it.

use super::Measured;
use super::sides::progress;
use crate::arguments::{Arguments, Command, RunArguments};
use crate::failure::Failure;
use crate::plan::Plan;
use crate::report::table;
use crate::run::Done;
use crate::steady::Wanted;
use clap::Parser;
use parades_core::metrics::{Estimate, MetricValue};

/// Utilisations of the one server, whose mean service takes a millisecond.
const UTILISATIONS: [f64; 3] = [0.5, 0.7, 0.9];
/// The seeds of each.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=20;
/// How narrow the intervals are to be.
const SHARE: f64 = 0.01;

pub(super) fn measure(_: u32) -> Result<Measured, Failure> {
    let mut drawn = table(&["utilisation", "seed", "mean sojourn, ms", "half-width, %", "customers", "theory, ms", ""]);
    let mut text = String::new();
    for utilisation in UTILISATIONS {
        let truth = 1.0 / (1.0 - utilisation);
        let progress = progress(20, &format!("M/M/1, utilisation {utilisation}"));
        let mut inside = 0;
        for seed in SEEDS {
            progress.inc(1);
            let Estimate { count, mean, half_width } = estimate(utilisation, seed)?;
            let (mean, half_width) = (mean * 1e3, half_width.unwrap_or(f64::NAN) * 1e3);
            let holds = (mean - truth).abs() <= half_width;
            inside += u32::from(holds);
            drawn.add_row([
                utilisation.to_string(),
                seed.to_string(),
                format!("{mean:.4}"),
                format!("{:.3}", half_width / mean * 100.0),
                count.to_string(),
                format!("{truth:.4}"),
                if holds { "inside" } else { "OUTSIDE" }.to_owned(),
            ]);
        }
        progress.finish_and_clear();
        text += &format!("utilisation {utilisation}: theory is inside the interval in {inside} of 20\n");
    }
    let about = "`parades run mm1 --until-interval 1% --metric sojourn`: batch means, warm-up left out, 95 % intervals";
    Ok(Measured { text: format!("{about}\n{drawn}\n{text}"), figures: Vec::new() })
}

/// What a run with this seed comes to, in seconds.
fn estimate(utilisation: f64, seed: u64) -> Result<Estimate, Failure> {
    let words = format!(
        "parades run mm1 --set utilisation={utilisation} --set service_rate=1000 --set customers=200000 --seed {seed} \
         --engine sequential --quiet --no-digest"
    );
    let arguments = Arguments::try_parse_from(words.split_whitespace());
    let Ok(Arguments { command: Command::Run(RunArguments { scenario, engine, how, .. }) }) = arguments else {
        unreachable!("the words above are a run's")
    };
    let plan = Plan::of(&scenario)?;
    let choice = plan.engine(engine.as_deref(), &how)?;
    let wanted = Wanted { share: SHARE, metrics: vec!["sojourn".to_owned()] };
    let failed = |error: parades_core::error::Error| Failure::simulation(error.to_string());
    let done: Done = wanted.lengthen(&plan, &choice, &how)?.map_err(failed)?;
    match done.outcome.metrics.get("sojourn") {
        Some(MetricValue::Steady(steady)) => steady.estimate(),
        _ => None,
    }
    .ok_or_else(|| Failure::simulation("mm1 has no sojourn times"))
}
