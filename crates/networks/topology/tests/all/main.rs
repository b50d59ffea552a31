//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod common;
mod equal_paths;
mod files_of_many_tools;
mod graphml;
mod graphml_hostile;
mod lists_of_edges;
mod more_forms;
mod routing;
mod static_routes;
mod topology;
mod transit_stub_networks_have_the_sizes_asked_for;
