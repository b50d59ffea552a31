//! The random streams and the distributions are correct, and never change.
//!
//! Every statistical test uses fixed seeds, so it always passes or always fails. With random seeds, a correct
//! sampler would fail a test with probability 1/1000.

mod distributions;
mod golden;
mod refusals;
mod statistics;
mod streams;
