//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `held_inputs_are_read_once` is a program of its own: held inputs belong to the process.

mod quantities_with_units;
mod scenario_files;
mod values_of_parameters;
