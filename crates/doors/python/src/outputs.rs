//! The files that a run writes while it is executed, and its saves, as a user asks for them.

use crate::errors::raise;
use crate::request::moment_of;
use parades_capture::recorder::Settings;
use parades_cli::values::{ip_version, snap_length, span, wall_time};
use parades_config::{ConfigError, Place};
use parades_report::{CaptureOutputs, Outputs, SampleOutputs, TraceOutputs, TracedEvents};
use parades_session::{Failure, Program, Saved, Saving};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The attributes of `parades.Outputs`.
#[derive(Default, FromPyObject)]
pub(crate) struct Wishes {
    out: Option<PathBuf>,
    out_trace: bool,
    copy_inputs: bool,
    overwrite: bool,
    trace: Option<PathBuf>,
    timeline: Option<PathBuf>,
    trace_lps: Option<String>,
    trace_from: Option<String>,
    trace_before: Option<String>,
    rounds: Option<PathBuf>,
    profile: bool,
    pcap: Option<PathBuf>,
    pcap_at: Vec<String>,
    pcap_ip: Option<String>,
    pcap_snap: Option<String>,
    samples: Option<PathBuf>,
    samples_limit: u64,
}

/// Reads a value of the argument `name`. The error of `read` says what can be written.
fn read<T>(name: &str, text: Option<&String>, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Failure> {
    let wrong = |text: &str, error: String| {
        Failure::from(ConfigError::new(error).at(Place::Argument(format!("{name}={text}"))))
    };
    text.map(|text| read(text).map_err(|error| wrong(text, error))).transpose()
}

impl Wishes {
    /// Returns the outputs of a run that begins, or of one that goes on from `from`.
    pub(crate) fn outputs(&self, from: Option<&Saved>) -> Result<Outputs, Failure> {
        let moment = |name: &str, text: &Option<String>| text.as_deref().map(|text| moment_of(name, text)).transpose();
        let asked = moment("trace_from", &self.trace_from)?;
        let events = TracedEvents {
            lps: self.trace_lps.clone(),
            // New files of a run that goes on begin there.
            from: asked.max(from.map(|saved| saved.head.time())),
            before: moment("trace_before", &self.trace_before)?,
        };
        let of = |path: &Option<PathBuf>| Some(TraceOutputs { path: path.clone()?, events: events.clone() });
        let version = read("pcap_ip", self.pcap_ip.as_ref(), ip_version)?;
        let snap_length = read("pcap_snap", self.pcap_snap.as_ref(), snap_length)?.unwrap_or(0);
        let captures = self.pcap.clone().map(|folder| CaptureOutputs {
            folder,
            places: self.pcap_at.clone(),
            settings: Settings { version, snap_length },
        });
        let samples = self.samples.clone().map(|folder| SampleOutputs {
            folder,
            rows_max: self.samples_limit,
            overwrites: self.overwrite,
        });
        let outputs = Outputs {
            folder: self.out.clone(),
            overwrite: self.overwrite,
            trace_in_folder: self.out_trace.then(|| events.clone()),
            copy_inputs: self.copy_inputs,
            trace: of(&self.trace),
            timeline: of(&self.timeline),
            rounds: self.rounds.clone(),
            profile: self.profile,
            captures,
            samples,
            ..Outputs::default()
        };
        from.map_or(Ok(outputs.clone()), |saved| outputs.going_on_with(saved))
    }
}

/// The attributes of `parades.Saving`.
#[derive(FromPyObject)]
pub(crate) struct Saves {
    file: PathBuf,
    every: Option<String>,
    every_virtual: Option<String>,
    when: Option<String>,
    before_failure: bool,
    stop_at: Option<String>,
}

impl Saves {
    /// Returns the saves of a run of this program.
    pub(crate) fn saving(self, py: Python<'_>, program: &Program) -> PyResult<Saving> {
        let Saves { file, every, every_virtual, when, before_failure, stop_at } = self;
        let made = || {
            Ok(Saving {
                file,
                version: program.version,
                commit: program.commit,
                at_end: true,
                stop_at: stop_at.map(|text| crate::request::time_of("until", &text)).transpose()?,
                every: read("every", every.as_ref(), wall_time)?,
                every_virtual: read("every_virtual", every_virtual.as_ref(), span)?,
                when,
                before_failure,
            })
        };
        raise(py, made())
    }
}
