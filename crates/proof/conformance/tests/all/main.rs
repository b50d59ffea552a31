//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `planted_faults_are_caught` is a program of its own: it silences all panics of its process.
//!
//! `random_models_give_one_answer_on_processes` is a program of its own: its runs put arenas into its
//! process.

mod every_engine_gives_the_answer_of_sequential;
mod every_test_is_executed;
mod golden_traces_stay_as_they_are;
mod no_crate_depends_upwards;
mod random_networks_give_one_answer;
mod saved_runs_go_on_or_are_refused;
mod stacks_give_one_answer;
mod the_glossary_is_true;
mod the_tools_of_the_proof_work;
mod workspace;
