//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `ranks_under_mpirun_give_one_answer` is a program of its own: it needs the feature `mpi`.

mod a_signal_ends_a_run_soon;
mod bad_input_gets_one_sentence;
mod bad_input_of_peer_to_peer_scenarios;
mod branches_change_what_they_say;
mod common;
mod comparisons_are_proofs;
mod configurations_of_speer_become_scenarios;
mod documents_say_what_the_program_does;
mod impossible_networks_get_one_sentence;
mod names_in_files_are_shown_escaped_and_shortened;
mod outputs_of_saved_runs_go_on;
mod parameters_without_effect_are_refused;
mod processes_give_one_answer;
mod results_are_whole_or_not_there;
mod runs_are_looked_into;
mod saved_runs_go_on;
mod shards_add_up_to_one_sweep;
mod sweeps_add_up_and_go_on;
mod sweeps_from_saved_runs_say_what_they_share;
mod tables_fit_the_terminal;
mod the_command_keeps_its_promises;
mod the_memory_limit_holds;
