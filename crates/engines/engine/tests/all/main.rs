//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `payloads_are_read_where_they_were_written` is a program of its own: it puts an arena into its process,
//! and counts the bytes that the process copies.

mod engines;
mod partitions;
mod rollback_check;
