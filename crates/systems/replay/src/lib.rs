//! Time-independent traces of MPI programs, replayed on a platform.
//!
//! A time-independent trace lists the actions of each rank of an MPI program, without times: a number of
//! flops, a message with its size, a barrier. A replay computes the times on a platform, perhaps another one
//! than that of the trace. Ranks are processes of a program over [`parades_carriers::FlowLevel`]. Actions
//! take the time that they take in a replay by SimGrid's SMPI, with its default algorithms of collectives.
//!
//! *Read next*: [`trace`], the files; [`Replay`], the program.
//!
//! *References*: H. Casanova, F. Desprez, G. S. Markomanolis, F. Suter, *Simulation of MPI applications with
//! time-independent traces*, Concurrency and Computation 27(5), 2015; A. Degomme et al., *Simulating MPI
//! applications: the SMPI approach*, IEEE TPDS 28(8), 2017.

#![forbid(unsafe_code)]

mod all_to_all;
mod collectives;
mod rank;
mod reduce_scatter;
mod replay;
pub mod trace;

pub use all_to_all::AllToAll;
pub use replay::{Data, RankState, Replay};
