//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod a_network_of_flows_is_stepped;
mod a_network_of_packets_is_stepped;
mod a_network_of_peers_is_stepped;
mod a_program_has_the_whole_command;
mod examples;
mod several_simulations_run_at_once_in_one_process;
mod the_page_of_own_programs_runs;
mod the_page_of_own_protocols_runs;
