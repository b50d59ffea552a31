//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod a_timeline_has_the_events_and_arrows_of_its_run;
