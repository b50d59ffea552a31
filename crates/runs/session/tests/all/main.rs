//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod causes_are_those_of_the_model;
mod engines_that_cannot_run_a_model_are_left_out;
