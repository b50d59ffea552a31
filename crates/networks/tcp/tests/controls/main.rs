//! Congestion controls compute the windows that their RFCs and papers state.

#![forbid(unsafe_code)]

mod harness;
mod naming;
mod reno;
