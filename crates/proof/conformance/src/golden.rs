//! Golden traces: the first events of small runs as text, and the digest, kept beside the code.
//!
//! They change only by `cargo run -p parades-conformance -- bless`, and whoever does that says why.

use crate::compare::{Answer, Question, expected};
use crate::matrix::models;
use crate::random_model::{Genes, RandomModel};
use std::fs;
use std::io;
use std::path::PathBuf;

/// Events that a golden trace shows.
const EVENTS: usize = 200;
/// Characters of a line that it shows.
const WIDTH: usize = 120;
/// The models of the matrix that have one, and the tie seed.
const OF_MATRIX: [(&str, Option<u64>); 4] =
    [("phold", None), ("phold-ties", Some(7)), ("transfer", None), ("jackson", None)];
/// The seeds of random models that have one: with timers and global events; the second and the last end with an error.
const OF_SEEDS: [u64; 4] = [1, 5, 24, 49];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("{name}.trace"))
}

/// The golden traces as they are now: name and text.
pub fn traces() -> Vec<(String, String)> {
    let mut traces = Vec::new();
    for (name, tie_seed) in OF_MATRIX {
        let case = models().into_iter().find(|case| case.name == name).expect("a model of the matrix");
        traces.push((name.to_string(), text(name, &case.trace(tie_seed))));
    }
    for seed in OF_SEEDS {
        let model = RandomModel::new(Genes::from_seed(seed));
        let options = model.options();
        let question = Question { until: options.until, seed: options.seed, tie_seed: options.tie_seed, traced: true };
        let name = format!("random-{seed}");
        traces.push((name.clone(), text(&name, &expected(&model, question))));
    }
    traces
}

fn text(name: &str, answer: &Answer) -> String {
    let mut text = format!("# {name}: the first of {} events\n", answer.trace.len());
    for line in answer.trace.iter().take(EVENTS) {
        for line in line.lines() {
            text.extend(line.chars().take(WIDTH));
            text.push('\n');
        }
    }
    text + &match &answer.result {
        Ok(outcome) => format!("# digest {:016x}, end {}\n", outcome.digest.unwrap_or_default(), outcome.end),
        Err(error) => format!("# error: {error}\n"),
    }
}

/// Writes the golden traces anew.
///
/// # Errors
///
/// Those of the file system.
pub fn bless() -> io::Result<()> {
    for (name, text) in traces() {
        fs::write(path(&name), text)?;
    }
    Ok(())
}

/// Where the traces are no longer as they were.
///
/// # Errors
///
/// The first line that differs.
pub fn check() -> Result<(), String> {
    for (name, now) in traces() {
        let before = fs::read_to_string(path(&name)).map_err(|error| format!("{name}: {error}"))?;
        let mut lines = before.lines().zip(now.lines()).zip(1..);
        if let Some(((before, now), number)) = lines.find(|((before, now), _)| before != now) {
            return Err(format!("{name}.trace, line {number}: `{now}` instead of `{before}`"));
        }
        if before.len() != now.len() {
            return Err(format!("{name}.trace has another length"));
        }
    }
    Ok(())
}
