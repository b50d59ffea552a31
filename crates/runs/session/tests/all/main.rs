//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod a_run_stops_where_it_is_saved;
mod a_task_is_stopped_alone;
mod causes_are_those_of_the_model;
mod engines_that_cannot_run_a_model_are_left_out;
