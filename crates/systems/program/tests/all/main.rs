//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod examples;
mod processes;
mod stacks;
mod support;
