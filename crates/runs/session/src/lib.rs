//! From a plan of a run to its result.
//!
//! A [`Request`] is what a user asks for, in the user's words. A [`Plan`] is a request understood: a scenario
//! with the values of its parameters, the seeds and the end. [`run`] executes a plan on an engine. It returns
//! a [`FinishedRun`] with the metrics, the digest, times and memory.
//!
//! ```
//! use parades_session::{Plan, Recording, Request, run};
//!
//! let mut request = Request::of("mm1");
//! request.set.push("customers=1000".into());
//! request.engine = Some("sequential".into());
//! let plan = Plan::of(&request)?;
//! let finished = run(&plan, &plan.choice()?, Recording::default(), &mut ())?;
//! let sojourns = finished.outcome.metrics.get("sojourn").expect("mm1 measures sojourn times");
//! assert!(sojourns.headline().is_some_and(|seconds| seconds > 0.0));
//! assert_eq!(finished.choice.engine.name(), "sequential");
//! # Ok::<(), parades_session::Failure>(())
//! ```
//!
//! A plan can also be executed in other ways:
//!
//! - [`steady`]: a run that is made longer until the intervals of its metrics are narrow enough.
//! - [`why()`]: the chain of events that led to a given one, or to the failure of a run.
//! - [`compare()`]: the same run on several engines, which must come to the same result.
//! - [`diff()`]: the first event at which two runs part.
//! - [`rerun()`](rerun::rerun): a recorded run, whose digest must be the same again.
//! - [`sweep`]: replications over a grid of parameters.
//!
//! Around runs there are:
//!
//! - [`Observer`]: hears of a run while it goes on. Nothing in this crate prints.
//! - [`Recording`]: the trace and the timesheets that a run records while it goes on.
//! - [`ranks`]: the processes of a run, and their handshake.
//! - [`interrupt`]: Ctrl-C, for programs that want it to end runs at a consistent cut.
//! - [`itself`]: how the program starts itself for further processes.
//! - [`recorded`]: folders of results, as they were written; [`Claim`]: the right to write into one.
//! - [`saved`]: runs in files, which go on later; [`condition`]: the metric that says which save is kept.
//! - [`result_file`]: files that are whole, or not there.
//! - [`Failure`]: why there is no result, and the exit status that says so.

#![forbid(unsafe_code)]

pub mod branch;
pub mod cause;
pub mod circumstances;
mod claim;
mod compare;
pub mod condition;
pub mod diff;
pub mod failure;
pub mod interrupt;
pub mod itself;
pub mod lp_names;
pub mod machine;
mod names;
pub mod observer;
pub mod panics;
pub mod plan;
pub mod ranks;
pub mod recorded;
pub mod recording;
pub mod request;
pub mod rerun;
pub mod result_file;
mod run;
pub mod saved;
pub mod steady;
pub mod sweep;
mod target;
mod watchman;
pub mod why;

pub use branch::Branched;
pub use claim::Claim;
pub use compare::{Comparison, LeftOut, Planned, Sides, compare};
pub use diff::diff;
pub use failure::Failure;
pub use lp_names::LpNames;
pub use names::safe_name;
pub use observer::{Observer, Progress};
pub use plan::Plan;
pub use recording::{Recording, Tracing};
pub use request::Request;
pub use result_file::ResultFile;
pub use run::{Ending, FinishedRun, NOTE, Resumed, note_of, run};
pub use saved::{Saved, Saving};
pub use why::why;

pub use parades_sweep::Precision;

/// The program that runs simulations, as results record it.
#[derive(Clone, Debug)]
pub struct Program {
    /// The version of parades.
    pub version: &'static str,
    /// The commit that it was built from.
    pub commit: &'static str,
    /// The compiler, the target and the settings by which it was built.
    pub build: &'static str,
    /// The command that the user typed.
    pub command: String,
}
