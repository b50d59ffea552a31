//! The kernel's contract, and each engine by itself. Most tests share a model,
//! since each pair of a model and an engine is compiled by itself.

mod balance;
mod changes;
mod contract;
mod null_message;
mod ranks;
mod rounds;
mod stepped;
mod support;
mod time_warp;
mod window;
