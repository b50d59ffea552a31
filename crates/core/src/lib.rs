//! The contract.
pub mod event;
pub mod time;
