//! Replications and parameter grids: which runs there are, who executes them, what is kept of them, and what they come to together.
//!
//! A *sweep* is a [`Grid`] of points (one value for each swept parameter), each run with several [`seeds`]. A [`Pool`] of worker
//! processes executes the runs. What each came to goes into a [`Journal`], so that a sweep that was killed goes on where it was, and
//! at the end into a [`Results`]: a row a run, and for each point the means over seeds with their intervals. A [`Schedule`] says which
//! run is next; with a [`Precision`], it adds seeds until the intervals are narrow enough.
//!
//! Which runs a sweep consists of, and so its tables, depends on the grid, the seeds and the precision alone: not on the number of
//! workers, on who was first, or on how often it was killed.
//!
//! This crate knows neither models nor engines. A worker is any program that answers a line with a line.
//!
//! *Read next*: [`grid`], [`schedule`], [`journal`], [`pool`], [`drive`](mod@drive), which puts them together, then [`results`].

#![forbid(unsafe_code)]

pub mod drive;
pub mod grid;
pub mod journal;
pub mod outcome;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod pool;
pub mod precision;
pub mod results;
pub mod schedule;
pub mod seeds;

pub use drive::{Drive, End, drive};
pub use grid::{Axis, Grid};
pub use journal::{Header, Journal};
pub use outcome::{Failed, Figures, Outcome, Run};
pub use pool::{Answer, Pool};
pub use precision::Precision;
pub use results::{Interval, Point, Results};
pub use schedule::Schedule;
