//! The only crate of parades that may contain `unsafe`.
//!
//! Each type with unsafe code states its invariant, and each unsafe block has a SAFETY sentence. Everything
//! public is safe to use: a caller can get a wrong answer, but cannot break memory safety. The crate depends
//! on no other crate of parades.
//!
//! | module | contents |
//! |---|---|
//! | [`prefetch`], [`huge_pages`] | hints to the processor and to the operating system |
//! | [`affinity`] | binding a thread to a core |
//! | [`allocator`] | returning freed memory to the system; a clear end when memory is exhausted |
//! | [`memory`] | the memory that the process holds, and a limit that the allocator keeps |
//! | [`shared::arena`] | reference-counted blocks of bytes in memory that several processes map |
//! | `shared::segment`, `shared::lane` | anonymous files that several processes map; bytes from process to process |
//! | [`message`] | messages whose type the code around them does not know |
//! | [`typed`] | a box that holds a value of any type, with a fast check of that type |
//! | [`stackful`] | code on a stack of its own: starting, switching and unwinding |
//! | `stack_pool` | the stacks themselves, each above a guard |
//! | `ucontext` | switching stacks by the C library |
//! | `overflow` | an error message for a stack overflow, instead of a segmentation fault |

pub mod affinity;
pub mod allocator;
pub mod huge_pages;
pub mod memory;
pub mod message;
#[cfg(all(target_os = "linux", not(miri)))]
mod overflow;
pub mod prefetch;
pub mod shared;
#[cfg(all(target_os = "linux", not(miri)))]
mod stack_pool;
pub mod stackful;
pub mod typed;
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
mod ucontext;
