//! Small models for teaching, for measuring and for testing engines.
//!
//! | module | model |
//! |---|---|
//! | [`phold`] | the classic synthetic workload |
//! | [`multicast`] | packets multicast down trees, with shared or copied data |
//! | [`queueing`] | open networks of M/M/1 stations, whose results are known in closed form |
//! | [`transfer`] | sliding-window transfers over channels that lose, delay and reorder |
//! | [`clusters`] | programs on clusters of a platform, without a route between the clusters |
//! | [`faulty`] | a model with planted faults, to test how errors are reported |
//!
//! The models depend on no engine. So the compiler proves that they cannot know theirs.

#![forbid(unsafe_code)]

pub mod clusters;
pub mod faulty;
pub mod multicast;
pub mod phold;
pub mod queueing;
pub mod transfer;
