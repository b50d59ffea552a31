//! The random streams and the distributions: they are what they claim to be, and they never change.
//!
//! Every statistical test draws from fixed seeds, so it passes always or never; a correct sampler would fail one with probability 1/1000.

mod cost;
mod distributions;
mod golden;
mod refusals;
mod statistics;
mod streams;
