//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.

mod byte_strings_take_the_near_path_where_there_is_one;
mod ranks_share_nothing_but_bytes;
mod shared_memory_keeps_order_and_loses_nothing;
