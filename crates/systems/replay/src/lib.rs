//! Time-independent traces of MPI programs, replayed on a platform.
//!
//! A time-independent trace says what each rank of an MPI program did, without when: so many flops, a message
//! of so many bytes, a barrier. A replay computes the times on a platform, which need not be the one on which
//! the trace was taken. Ranks are processes of a program over [`parades_carriers::FlowLevel`]. What an action
//! does is what SimGrid's SMPI does in its replay, with its default collectives.
//!
//! *Read next*: [`trace`], the files; [`Replay`], the program.
//!
//! *References*: H. Casanova, F. Desprez, G. S. Markomanolis, F. Suter, *Simulation of MPI applications with
//! time-independent traces*, Concurrency and Computation 27(5), 2015; A. Degomme et al., *Simulating MPI
//! applications: the SMPI approach*, IEEE TPDS 28(8), 2017.

#![forbid(unsafe_code)]

mod collectives;
mod rank;
mod replay;
pub mod trace;

pub use replay::{AllToAll, Replay};
