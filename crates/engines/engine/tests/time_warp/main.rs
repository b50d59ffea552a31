//! `time-warp`: rollbacks happen and leave no trace, and nobody waits for ever.

mod coasting;
mod compare;
mod cuts;
mod failures;
mod memory;
mod mesh;
mod offers;
mod releases;
mod requests;
mod rollbacks;
#[path = "../support/mod.rs"]
mod support;
mod timers;
mod turns;
