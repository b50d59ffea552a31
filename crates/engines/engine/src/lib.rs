//! The synchronisation engines. Each decides *when* an LP executes an event
//! ([`parades_core::any_model::Lps`]), and nothing else.
//!
//! An engine knows no model. Its loops over events are compiled in this crate, once for each form in which
//! messages are stored ([`parades_core::any_model`]). The rest of it is compiled once.

#![forbid(unsafe_code)]

pub mod any_engine;
pub mod auto;
pub mod balance;
mod costs;
mod course;
mod fetch;
mod grace;
mod handlers;
mod ledger;
pub mod null_message;
pub mod partition;
mod peers;
mod quiescence;
pub mod retreat;
pub mod rollback_check;
pub mod rounds;
mod seats;
pub mod sequential;
pub mod stepped;
mod stopwatch;
pub mod time_warp;
mod travel;
mod tune;
pub mod window;
mod workers;

pub use parades_core::any_model::WireModel;
pub use peers::OfRank;
