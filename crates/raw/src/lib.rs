//! The only crate of parades that may contain `unsafe`. Each type states its invariant; each block its SAFETY sentence.
//!
//! Everything public here is safe to use: a caller cannot break memory safety, only get a wrong answer.

pub mod affinity;
pub mod huge_pages;
#[cfg(all(target_os = "linux", not(miri)))]
mod overflow;
pub mod prefetch;
#[cfg(all(target_os = "linux", not(miri)))]
mod slab;
pub mod stackful;
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
mod ucontext;
