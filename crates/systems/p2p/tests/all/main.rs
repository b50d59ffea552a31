//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod a_machine_runs_over_a_carrier_with_state_of_its_own;
mod averaging_keeps_the_sum_and_divides_the_variance;
mod bittorrent;
mod chord;
mod chord_runs_over_underlays_on_every_engine;
mod churn_follows_its_law;
mod gossip_spreads_as_theory_says;
mod gossipsub_delivers_and_keeps_its_meshes;
mod kademlia;
mod one_answer;
mod rumours_spread_as_theory_says;
mod saved_runs_go_on;
mod sessions_fit_their_law;
mod sessions_of_a_program_begin_and_end_as_its_churn_says;
mod the_program_and_the_machine_give_one_answer;
mod ties_come_in_both_orders;
mod unfinished_look_ups_are_counted;
