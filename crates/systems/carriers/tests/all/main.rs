//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod a_crate_outside_of_the_workspace_writes_a_carrier;
mod a_program_uses_two_carriers_at_once;
mod data_shares_access_links;
mod decorated_links;
mod deployments;
mod each_part_of_a_platform_has_a_solver;
mod flow_level;
mod messages_take_the_latency_that_a_table_has;
mod packet_level;
mod programs_on_platforms;
mod programs_take_the_times_of_simgrid;
#[path = "../outside/src/random_traffic.rs"]
#[allow(unreachable_pub, reason = "in its own crate it is public")]
mod random_traffic;
#[path = "../outside/src/router_line.rs"]
#[allow(unreachable_pub, reason = "in its own crate it is public")]
mod router_line;
mod routing_hop_by_hop_equals_routing_end_to_end;
mod support;
mod underlays_from_files;
