//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod frames_have_the_bytes_of_known_captures;
mod tshark_reads_captures_without_complaint;
