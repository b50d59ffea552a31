//! Golden traces: the first events of small runs as text, and the digest, kept beside the code.
//!
//! Only `cargo run -p parades-conformance -- bless` changes them, and the commit says why.

use crate::compare::{Answer, Question, expected};
use crate::matrix::models;
use crate::random_model::{Genes, RandomModel};
use std::fs;
use std::io;
use std::path::PathBuf;

/// The number of events in a golden trace.
const EVENTS: usize = 200;
/// The largest number of characters in a line.
const WIDTH: usize = 120;
/// The models of the matrix that have a golden trace, with the tie seed.
const MATRIX_MODELS: [(&str, Option<u64>); 4] =
    [("phold", None), ("phold-ties", Some(7)), ("transfer", None), ("jackson", None)];
/// The seeds of the random models that have a golden trace. They have timers and global events; the second
/// and the last end with an error.
const RANDOM_SEEDS: [u64; 4] = [1, 5, 24, 49];

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("{name}.trace"))
}

/// Returns the present traces: name and text.
pub fn traces() -> Vec<(String, String)> {
    let mut traces = Vec::new();
    for (name, tie_seed) in MATRIX_MODELS {
        let case = models().into_iter().find(|case| case.name == name).expect("a model of the matrix");
        traces.push((name.to_string(), text(name, &case.trace(tie_seed))));
    }
    for seed in RANDOM_SEEDS {
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
        // Without the line of the model, which changes with each edit of its file.
        Err(error) => {
            let line = error.line().map_or_else(String::new, |line| format!(" ({line})"));
            format!("# error: {}\n", error.to_string().replace(&line, ""))
        }
    }
}

/// Rewrites the golden traces.
///
/// # Errors
///
/// The error of the file system.
pub fn bless() -> io::Result<()> {
    for (name, text) in traces() {
        fs::write(path(&name), text)?;
    }
    Ok(())
}

/// Compares the present traces with the golden ones.
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
