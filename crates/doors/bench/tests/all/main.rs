//! The tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `ranks_under_mpirun_write_results` is a program of its own: it needs the feature `mpi`.

mod common;
mod the_program_keeps_its_promises;
