//! `time-warp`: rollbacks happen and do not change the result. No worker waits for ever.

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
mod timers;
mod turns;
