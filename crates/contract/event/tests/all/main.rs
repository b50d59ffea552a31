//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `bytes_cross_without_being_copied` is a program of its own: it puts an arena into its process, and counts
//! the bytes that the process copies.

mod each_lp_gets_its_events_in_order;
mod pending_sets_pop_every_event_in_order;
mod shared_data_cross_once_in_a_frame;
mod the_digest_counts_every_field;
mod times_are_rounded_and_never_wrap;
