//! Results of runs: as JSON for scripts, as tables for people, as files in a folder.
//!
//! - [`Report::write_json_line`], [`Report::for_people`], [`Report::write_folder`]: a run in each of these
//!   forms.
//! - [`comparison`]: one run on several engines, in each of these forms.
//! - [`metrics`]: metrics as JSON values, with the names that all forms share.
//! - [`Outputs`] and [`Files`]: the files that a run writes while it is executed, its trace, its timeline,
//!   its captures and its samples. [`Task`] executes a plan with them.
//! - [`Profile`]: where the wall time of a run went.
//! - [`ResultFile`]: a file that is whole under its own name, or not there.
//! - [`timeline`]: the format that Perfetto and Chrome read.
//! - [`drawing`]: tables of text; [`View`]: what is shown of them, and how wide.
//! - [`escaping`]: output for terminals, whatever names a file contains.
//!
//! ```
//! use parades_report::{Report, View};
//! use parades_session::{Plan, Program, Recording, Request, run};
//!
//! let mut request = Request::of("phold");
//! (request.set, request.engine) = (vec!["lps=16".into()], Some("sequential".into()));
//! let plan = Plan::of(&request)?;
//! let run = run(&plan, &plan.choice()?, Recording::default(), &mut ())?;
//! let program = Program { version: "0.1.0", commit: "unknown", build: "", command: "an example".into() };
//! let report = Report::of(&run, &program);
//!
//! let mut line = Vec::new();
//! report.write_json_line(&mut line)?;
//! let object: serde_json::Value = serde_json::from_slice(&line)?;
//! assert_eq!(object["scenario"], "phold");
//! assert_eq!(object["events"], run.outcome.events);
//! assert!(report.for_people(&View::default())?.contains("logical processes"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod begin;
mod captures;
mod chain;
pub mod comparison;
mod difference;
pub mod drawing;
pub mod escaping;
pub mod figure;
mod files;
pub mod folder;
pub mod metrics;
mod outputs;
mod people;
mod plot;
mod profile;
mod rounds_file;
mod rows;
mod samples;
mod summary;
pub mod sweep;
mod tables;
mod task;
mod ties;
pub mod timeline;
mod timeline_file;
mod trace_file;
mod view;

pub use captures::CaptureOutputs;
pub use chain::{chain_as_json, chain_for_people};
pub use difference::difference_for_people;
pub use files::Files;
pub use outputs::{GoesOn, Outputs, TraceOutputs, TracedEvents};
pub use parades_session::result_file::{self, ResultFile};
pub use plot::check_plot;
pub use profile::Profile;
pub use rows::{Rows, parquet_is_possible, table_of};
pub use samples::SampleOutputs;
pub use tables::table_named;
pub use task::Task;
pub use trace_file::FinishedTrace;
pub use view::View;

use parades_session::{FinishedRun, Program};

/// A run, to be reported in any form.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The run.
    pub run: &'a FinishedRun,
    /// The program that executed it.
    pub program: &'a Program,
    /// The trace that goes into the folder of results, if there is one.
    pub trace: Option<&'a FinishedTrace>,
    /// True if tables go into the folder of results as Parquet files too.
    pub parquet: bool,
    /// True if the files that the run read are copied into the folder of results.
    pub copy_inputs: bool,
    /// The profile of the run, if one is wanted.
    pub profile: Option<&'a Profile>,
}

impl<'a> Report<'a> {
    /// Returns the report of a run without a trace and a profile.
    pub fn of(run: &'a FinishedRun, program: &'a Program) -> Report<'a> {
        Report { run, program, trace: None, parquet: false, copy_inputs: false, profile: None }
    }
}
