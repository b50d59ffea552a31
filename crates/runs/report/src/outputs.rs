//! The files that a user wants of a run.

use crate::captures::CaptureOutputs;
use crate::folder::results_in;
use crate::result_file::check_apart;
use crate::samples::SampleOutputs;
use parades_catalog::Simulation;
use parades_config::quoted;
use parades_core::time::Time;
use parades_core::trace::TraceFilter;
use parades_session::lp_names::NoLp;
use parades_session::recorded::TRACE;
use parades_session::{Failure, LpNames, Plan};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The files that a user wants of a run, and the events that the user wants in them.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The folder of results.
    pub folder: Option<PathBuf>,
    /// True if the trace goes into the folder of results.
    pub trace_in_folder: bool,
    /// True if the results may replace those of another run in that folder.
    pub overwrite: bool,
    /// True if tables go into the folder of results as Parquet files too.
    pub parquet: bool,
    /// The file of the trace.
    pub trace: Option<PathBuf>,
    /// The captures of packets.
    pub captures: Option<CaptureOutputs>,
    /// The samples: each observation of a metric.
    pub samples: Option<SampleOutputs>,
    /// The file of the timeline.
    pub timeline: Option<PathBuf>,
    /// The logical processes to trace, as the user wrote them: `3,10..=20`, `east.0`. All by default.
    pub trace_lps: Option<String>,
    /// The time from which events are traced.
    pub trace_from: Option<Time>,
    /// The time before which events are traced.
    pub trace_before: Option<Time>,
}

impl Outputs {
    /// Checks that the run overwrites no file from which it is read, and that all its files have different
    /// places.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] otherwise.
    pub fn check_apart(&self, plan: &Plan) -> Result<(), Failure> {
        let Outputs { folder, trace, timeline, samples, .. } = self;
        // A trace at the place of the folder's own trace is that trace.
        let is_own_trace = |path: &PathBuf| path.ends_with(TRACE) && trace.as_ref() == Some(path);
        let in_folder = folder.iter().flat_map(|folder| results_in(folder)).filter(|path| !is_own_trace(path));
        let samples = samples.as_ref().map(|samples| samples.folder.clone());
        let named = [("--trace", trace.clone()), ("--timeline", timeline.clone()), ("--samples", samples)];
        let named = named.into_iter().filter_map(|(what, path)| Some((what, path?)));
        check_apart(plan.inputs(), named.chain(in_folder.map(|path| ("--out", path))))
    }

    /// Returns the filter of the trace and the timeline, without the logical processes: see [`traced_lps`].
    pub(crate) fn filter(&self) -> TraceFilter {
        TraceFilter {
            lps: Vec::new(),
            from: self.trace_from.unwrap_or(Time::ZERO),
            before: self.trace_before.unwrap_or(Time::MAX),
        }
    }

    /// Returns the choice of events as the summary records it.
    pub(crate) fn traced_events(&self) -> Value {
        json!({
            "lps": self.trace_lps,
            "from": self.trace_from.map(|time| time.to_string()),
            "before": self.trace_before.map(|time| time.to_string()),
        })
    }
}

/// Reads the logical processes of `3`, `east.0`, `east.*`, `10..=20` and lists of these. A name with commas
/// stands alone, or in double quotes.
pub(crate) fn traced_lps(text: &str, simulation: &Simulation) -> Result<Vec<RangeInclusive<u32>>, Failure> {
    let (names, lps) = (LpNames::of(simulation), simulation.lps());
    if let Ok(lp) = names.find(text) {
        return check_range(lp.0..=lp.0, text, lps).map(|range| vec![range]);
    }
    let wrong = |NoLp { message, help }: NoLp| Failure::usage(format!("--trace-lps: {message}"), help);
    let mut ranges = Vec::new();
    for (part, is_quoted) in parts(text) {
        if part.contains('*') && !is_quoted && names.find(part).is_err() {
            ranges.extend(names.matching(part).map_err(wrong)?.into_iter().map(|lp| lp.0..=lp.0));
            continue;
        }
        let (first, last) = part.split_once("..=").filter(|_| !is_quoted).unwrap_or((part, part));
        let range = names.find(first).map_err(wrong)?.0..=names.find(last).map_err(wrong)?.0;
        ranges.push(check_range(range, part, lps)?);
    }
    Ok(ranges)
}

/// Checks that a range that `part` names has LPs that the run has.
fn check_range(range: RangeInclusive<u32>, part: &str, lps: u32) -> Result<RangeInclusive<u32>, Failure> {
    if range.is_empty() {
        let message = format!("{} names no LPs for `--trace-lps`", quoted(part));
        return Err(Failure::usage(message, "write `3`, `10..=20`, or several of them with commas"));
    }
    if *range.start() >= lps {
        let message = format!("--trace-lps: there is no LP {}", range.start());
        return Err(Failure::usage(message, format!("the run has LPs 0 to {}", lps - 1)));
    }
    Ok(range)
}

/// Splits a list at its commas, except inside double quotes. Returns each part without its quotes, and
/// whether it had any.
fn parts(text: &str) -> Vec<(&str, bool)> {
    let mut is_inside = false;
    let is_end = |character: char| {
        is_inside ^= character == '"';
        character == ',' && !is_inside
    };
    text.split(is_end).map(|part| unquoted(part.trim())).collect()
}

/// Returns a text without the double quotes around it, and whether it had any.
fn unquoted(text: &str) -> (&str, bool) {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.map_or((text, false), |inner| (inner, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_double_quotes_belong_to_a_name() {
        let expected = [("east.0", false), ("a, b", true), ("3..=5", false), ("gw-*", false)];
        assert_eq!(parts("east.0,\"a, b\", 3..=5,gw-*"), expected);
        assert_eq!(parts("\"open, 1"), [("\"open, 1", false)]);
    }
}
