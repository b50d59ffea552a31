//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod a_dumbbell_agrees_with_arithmetic;
mod arriving_segments_follow_the_table_of_states;
mod channel;
mod connections_open_and_close;
mod controls;
mod each_change_of_a_connection_has_one_record;
mod every_byte_arrives_once_and_in_order;
mod every_control_carries_a_transfer;
mod harness;
mod ns3_deviates_from_rfcs_by_settings;
mod receivers_acknowledge_and_open_their_window;
mod script;
mod senders_recover_from_losses;
mod senders_respect_windows_and_pace;
mod silent_ends_are_given_up;
