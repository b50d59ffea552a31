//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod models_are_restored_alike_in_every_way;
mod packets_reach_every_node_once;
mod queueing_networks_agree_with_theory;
mod transfers_deliver_all_data_in_order;
