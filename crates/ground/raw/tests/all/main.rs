//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `allocator` is a program of its own: it sets the allocator of its process.
//!
//! `segments` is a program of its own: it measures the memory of its process.

mod arena;
mod stackful;
