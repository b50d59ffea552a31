//! The kernel's contract, and each engine by itself. They are one program, because the tests share a model:
//! each pair of a model and an engine is compiled once for each program.

mod contract;
mod null_message;
mod rounds;
mod support;
mod time_warp;
