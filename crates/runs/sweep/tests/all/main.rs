//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `a_parquet_file_has_the_table_of_runs` is a program of its own: it needs the feature `parquet`.

mod a_killed_sweep_continues_from_its_journal;
mod a_worker_that_ends_affects_no_other_run;
mod common;
mod intervals_equal_those_computed_by_hand;
