//! The kernel's contract, sentence by sentence, as `sequential` keeps it: the definition of the right
//! answer for all engines.

mod answers;
mod digests;
mod failures;
mod global_events;
mod order;
mod sends;
mod stops;
mod timers;
