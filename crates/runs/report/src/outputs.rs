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
use parades_session::{Failure, LpNames, Plan, Saved, Saving};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The files that a user wants of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Outputs {
    /// The folder of results.
    pub folder: Option<PathBuf>,
    /// The events of the trace that goes into the folder of results, if one does.
    pub trace_in_folder: Option<TracedEvents>,
    /// True if the results may replace those of another run in that folder.
    pub overwrite: bool,
    /// True if tables go into the folder of results as Parquet files too.
    pub parquet: bool,
    /// True if the files that the run reads are copied into the folder of results.
    pub copy_inputs: bool,
    /// The trace.
    pub trace: Option<TraceOutputs>,
    /// The captures of packets.
    pub captures: Option<CaptureOutputs>,
    /// The samples: each observation of a metric.
    pub samples: Option<SampleOutputs>,
    /// The timeline.
    pub timeline: Option<TraceOutputs>,
    /// The log of rounds.
    pub rounds: Option<PathBuf>,
    /// True if the results have a profile.
    #[serde(skip)]
    pub profile: bool,
    /// The outputs that are those of a saved run, and go on.
    #[serde(skip)]
    pub goes_on: GoesOn,
}

/// A file of events, and the events in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TraceOutputs {
    /// The file.
    pub path: PathBuf,
    /// The events.
    pub events: TracedEvents,
}

/// A choice of events, in the user's words.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TracedEvents {
    /// The logical processes that execute them: `3,10..=20`, `east.0`. All by default.
    pub lps: Option<String>,
    /// The time from which there are events.
    pub from: Option<Time>,
    /// The time before which there are events.
    pub before: Option<Time>,
}

/// The kinds of outputs of a saved run that go on when the run does.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoesOn {
    pub(crate) folder: bool,
    pub(crate) trace: bool,
    pub(crate) captures: bool,
    pub(crate) samples: bool,
}

impl TracedEvents {
    /// Returns the filter of these events, without the logical processes: see [`traced_lps`].
    pub(crate) fn filter(&self) -> TraceFilter {
        TraceFilter { lps: Vec::new(), from: self.from.unwrap_or(Time::ZERO), before: self.before.unwrap_or(Time::MAX) }
    }

    /// Returns the filter of these events in the runs of a model.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if the model has no such logical processes.
    pub fn in_model(&self, simulation: &Simulation) -> Result<TraceFilter, Failure> {
        let lps = self.lps.as_ref().map_or(Ok(Vec::new()), |lps| traced_lps(lps, simulation))?;
        Ok(TraceFilter { lps, ..self.filter() })
    }

    /// Returns the choice as the summary records it.
    pub(crate) fn as_json(&self) -> Value {
        let text = |time: Option<Time>| time.map(|time| time.to_string());
        json!({"lps": self.lps, "from": text(self.from), "before": text(self.before)})
    }
}

impl Outputs {
    /// Checks that the files of the run have different places. None may be an input of the plan, the file of
    /// the saves, or the saved run.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] otherwise.
    pub fn check_apart(&self, plan: &Plan, saving: Option<&Saving>, from: Option<&Saved>) -> Result<(), Failure> {
        let saving = saving.map(|saving| ("the file of `--save`", saving.file.clone()));
        let saved = from.map(|saved| ("the saved run", saved.path().to_owned()));
        let path = |outputs: &Option<TraceOutputs>| outputs.as_ref().map(|outputs| outputs.path.clone());
        let Outputs { folder, trace, timeline, rounds, samples, .. } = self;
        let (trace, timeline) = (path(trace), path(timeline));
        // A trace at the place of the folder's own trace is that trace.
        let is_own_trace = |path: &PathBuf| path.ends_with(TRACE) && trace.as_ref() == Some(path);
        let in_folder = folder.iter().flat_map(|folder| results_in(folder)).filter(|path| !is_own_trace(path));
        let samples = samples.as_ref().map(|samples| samples.folder.clone());
        let named = [
            ("--trace", trace.clone()),
            ("--timeline", timeline),
            ("--rounds", rounds.clone()),
            ("--samples", samples),
        ];
        let named = named.into_iter().filter_map(|(what, path)| Some((what, path?)));
        check_apart(plan.inputs().chain(saving).chain(saved), named.chain(in_folder.map(|path| ("--out", path))))
    }

    /// Returns the places of the outputs that can go on, by their options.
    fn places(&self) -> [(&'static str, Option<&PathBuf>); 4] {
        let Outputs { folder, trace, captures, samples, .. } = self;
        [
            ("--out", folder.as_ref()),
            ("--trace", trace.as_ref().map(|trace| &trace.path)),
            ("--pcap", captures.as_ref().map(|captures| &captures.folder)),
            ("--samples", samples.as_ref().map(|samples| &samples.folder)),
        ]
    }

    /// True if there are none.
    pub(crate) fn are_none(&self) -> bool {
        self.timeline.is_none() && self.rounds.is_none() && self.places().iter().all(|(_, place)| place.is_none())
    }

    /// True if there is a file of events that does not go on from a saved run.
    pub(crate) fn has_new_files(&self) -> bool {
        let Outputs { trace, captures, samples, timeline, rounds, trace_in_folder, goes_on, .. } = self;
        let new = [
            timeline.is_some(),
            rounds.is_some(),
            trace.is_some() && !goes_on.trace,
            captures.is_some() && !goes_on.captures,
            samples.is_some() && !goes_on.samples,
            trace_in_folder.is_some() && !goes_on.folder,
        ];
        new.contains(&true)
    }

    /// Adds the outputs of a saved run, of each kind of which there is none here: they go on.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if a path here is that of an output which could go on.
    pub fn going_on_with(self, saved: &Saved) -> Result<Outputs, Failure> {
        let Some(at) = &saved.head.outputs else { return Ok(self) };
        let earlier: Outputs = serde_json::from_value(at.wishes.clone())
            .map_err(|error| saved.malformed(&format!("its record of outputs is wrong: {error}")))?;
        for ((option, here), (_, there)) in self.places().into_iter().zip(earlier.places()) {
            if here.is_some_and(|here| std::path::absolute(here).ok().as_ref() == there) {
                let message = format!("`{option}` names an output of the saved run, which goes on by itself");
                return Err(Failure::usage(message, "leave the option out, or name another place"));
            }
        }
        let goes_on = GoesOn {
            folder: self.folder.is_none() && earlier.folder.is_some(),
            trace: self.trace.is_none() && earlier.trace.is_some(),
            captures: self.captures.is_none() && earlier.captures.is_some(),
            samples: self.samples.is_none() && earlier.samples.is_some(),
        };
        let of_folder = if goes_on.folder { earlier.clone() } else { self.clone() };
        Ok(Outputs {
            trace: self.trace.or(earlier.trace),
            captures: self.captures.or(earlier.captures),
            samples: self.samples.or(earlier.samples),
            timeline: self.timeline,
            rounds: self.rounds,
            profile: self.profile,
            goes_on,
            ..of_folder
        })
    }

    /// Returns the outputs as a save records them: those that go on, with absolute paths.
    pub(crate) fn for_save(mut self) -> Outputs {
        let Outputs { folder, trace, captures, samples, .. } = &mut self;
        let samples = samples.as_mut().map(|samples| {
            samples.overwrites = true;
            &mut samples.folder
        });
        let captures = captures.as_mut().map(|captures| &mut captures.folder);
        let trace = trace.as_mut().map(|trace| &mut trace.path);
        for path in [folder.as_mut(), trace, captures, samples].into_iter().flatten() {
            *path = std::path::absolute(&*path).unwrap_or_else(|_| path.clone());
        }
        Outputs { timeline: None, rounds: None, overwrite: true, ..self }
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
