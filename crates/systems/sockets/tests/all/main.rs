//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod a_stream_takes_the_time_of_the_packet_network;
mod datagrams;
mod over_any_carrier;
mod streams;
mod support;
