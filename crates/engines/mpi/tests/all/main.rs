//! The integration tests of this crate, in one program: cargo compiles and links each program by itself.
//!
//! `ranks_under_mpirun` is a program of its own: `mpirun` starts it, and it has no test harness.

mod ranks_without_mpi;
