//! The only crate of parades that may contain `unsafe`. Each type states its invariant; each block its SAFETY sentence.
//!
//! Everything public here is safe to use: a caller cannot break memory safety, only get a wrong answer.
//!
//! | where | what |
//! |---|---|
//! | [`prefetch`], [`huge_pages`] | hints to the processor and to the system |
//! | [`affinity`] | binding a thread to a core |
//! | [`allocator`] | what becomes of freed memory, and of a program for which there is none left |
//! | [`typed`] | a box whose type is known to those who ask for it |
//! | [`stackful`] | code on a stack of its own: beginning it, going over to it and back, unwinding it |
//! | `slab` | the stacks: of one size side by side, each above a guard |
//! | `ucontext` | the switch between stacks by the C library |
//! | `overflow` | what is said when a stack is too small, instead of a segmentation fault |

pub mod affinity;
pub mod allocator;
pub mod huge_pages;
#[cfg(all(target_os = "linux", not(miri)))]
mod overflow;
pub mod prefetch;
#[cfg(all(target_os = "linux", not(miri)))]
mod slab;
pub mod stackful;
pub mod typed;
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
mod ucontext;
