//! Carriers: what the messages of programs travel over.
//!
//! [`flow_level`] makes each message a flow over the links of a platform.
//!
//! *Read next*: [`FlowLevel`].

#![forbid(unsafe_code)]

pub mod flow_level;

pub use flow_level::FlowLevel;
