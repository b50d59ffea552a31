//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod access_links_are_shared_max_min_fairly;
mod engines;
mod fat_pipes;
mod files;
mod malformed;
mod network;
mod networks_of_parts_end_alike;
mod platforms;
mod solver;
mod states_are_written_and_read;
