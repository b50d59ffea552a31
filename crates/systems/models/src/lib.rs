//! Small models that ship with parades, for teaching, measuring and testing engines.
//!
//! They depend on the contract alone, never on an engine: the compiler proves that they are engine-neutral.

#![forbid(unsafe_code)]

pub mod faulty;
pub mod multicast;
pub mod phold;
pub mod queueing;
pub mod transfer;
