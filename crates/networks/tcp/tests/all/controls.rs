//! Congestion controls compute the windows that their RFCs and papers state.

#![forbid(unsafe_code)]

mod bbr;
mod cubic;
mod dctcp;
mod harness;
mod mean_windows;
mod naming;
mod path;
mod reno;
mod slow_start;
mod vegas;
