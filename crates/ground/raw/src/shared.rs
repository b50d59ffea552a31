//! Memory that several processes map.

pub mod arena;
#[cfg(target_os = "linux")]
mod bell;
#[cfg(target_os = "linux")]
mod futex;
#[cfg(target_os = "linux")]
pub mod lane;
#[cfg(target_os = "linux")]
pub mod segment;
