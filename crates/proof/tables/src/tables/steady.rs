//! `bench steady`: the share of runs whose final interval holds the value of theory.

use crate::child;
use crate::sides::progress;
use crate::{Measured, Options};
use parades_core::metrics::Estimate;
use parades_report::drawing::table;
use parades_session::Failure;
use std::path::Path;

/// The utilisations of the single server, whose mean service takes a millisecond.
const UTILISATIONS: [f64; 3] = [0.5, 0.7, 0.9];
/// The seeds of each utilisation.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=20;
/// The half-width of the intervals, as a share of the mean.
const SHARE: f64 = 0.01;

pub(super) fn measure(Options { program, .. }: &Options) -> Result<Measured, Failure> {
    let mut drawn = table(&["utilisation", "seed", "mean sojourn, ms", "half-width, %", "customers", "theory, ms", ""]);
    let mut text = String::new();
    for utilisation in UTILISATIONS {
        let truth = 1.0 / (1.0 - utilisation);
        let progress = progress(20, &format!("M/M/1, utilisation {utilisation}"));
        let mut inside = 0;
        for seed in SEEDS {
            progress.inc(1);
            let Estimate { count, mean, half_width } = estimate(program, utilisation, seed)?;
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

/// Returns the estimate of a run with this seed, in seconds.
fn estimate(program: &Path, utilisation: f64, seed: u64) -> Result<Estimate, Failure> {
    let words = format!(
        "mm1 --set utilisation={utilisation} --set service_rate=1000 --set customers=200000 --seed {seed} \
         --engine sequential --no-digest --until-interval {SHARE} --metric sojourn"
    );
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let run = child::json(program, &words)?;
    let sojourn = &run["metrics"]["sojourn_s"];
    let read = || {
        let (count, mean) = (sojourn["count"].as_u64()?, sojourn["mean"].as_f64()?);
        Some(Estimate { count, mean, half_width: sojourn["half_width_95"].as_f64() })
    };
    read().ok_or_else(|| child::cannot_read(&child::name(&words)))
}
