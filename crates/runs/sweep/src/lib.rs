//! Sweeps: many runs of a scenario, over a grid of parameters and several seeds.
//!
//! - A [`Grid`] has the points: one combination of the swept parameters' values each. Each point is run with
//!   several [`seeds`].
//! - A [`Schedule`] selects the next run. With a [`Precision`], it adds seeds until the intervals are narrow
//!   enough.
//! - A [`Shard`] has the runs that one of several independent processes executes.
//! - A [`Pool`] of worker processes executes the runs.
//! - A [`Journal`] keeps the outcome of each run. A sweep that was killed continues from its journal.
//! - [`Results`] has a row for each run and, for each point, the means over the seeds with their intervals.
//! - [`ties`] tells which metrics depend on the order of simultaneous events.
//!
//! The runs of a sweep, and so its tables, depend only on the grid, the seeds and the precision. They depend
//! neither on the number of workers, nor on the order in which runs end, nor on how often the sweep was
//! killed.
//!
//! This crate knows neither models nor engines. A worker is any program that answers each line with a line.
//!
//! *Read next*: [`grid`], [`schedule`], [`journal`], [`pool`], [`drive`](mod@drive), which combines them,
//! then [`results`].

#![forbid(unsafe_code)]

pub mod drive;
pub mod grid;

pub mod journal;
pub mod outcome;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod pool;
pub mod precision;
mod range;
pub mod results;
pub mod schedule;
pub mod seeds;
pub mod shard;
pub mod ties;

pub use drive::{Drive, End, drive};
pub use grid::{Axis, Grid};
pub use journal::{Header, Journal};
pub use outcome::{DIGEST, Failed, Figures, Outcome, Run};
pub use pool::{Answer, Pool};
pub use precision::Precision;
pub use results::{Interval, Point, Results};
pub use schedule::Schedule;
pub use shard::Shard;
