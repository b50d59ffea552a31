//! A flow-level network: how long transfers and computations take that share links and processors max-min fairly.
//!
//! Packets are not simulated. A flow has a rate at each moment, the one that max-min fairness gives it among all flows of that moment, and the
//! rates change only when a flow begins or ends. So a transfer costs a few events, whatever it carries.
//!
//! | where | what |
//! |---|---|
//! | [`solver`] | max-min fairness, solved again only where something has changed |
//! | [`terms`] | the models: latency, penalties, bounds |
//! | [`platform`] | hosts, links, zones and their routes |
//! | [`xml`] | platforms from files |
//! | [`network`] | activities, and when they end |

#![forbid(unsafe_code)]

mod build;
mod fault;
pub mod network;
pub mod platform;
pub mod profile;
pub mod solver;
pub mod terms;

mod units;
pub mod xml;
