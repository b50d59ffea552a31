//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod barriers_hold_and_break;
