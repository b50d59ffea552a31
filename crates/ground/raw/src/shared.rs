//! Memory that several processes map.

pub mod arena;
