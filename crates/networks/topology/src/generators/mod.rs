//! Networks made from a few numbers.
//!
//! A [`Shape`] has names of nodes and pairs of nodes to link, but neither rates nor delays: whoever uses the
//! shape chooses them. [`scatter`] places nodes on a plane at random. [`backbone`] and [`campus`] are whole
//! topologies. [`TransitStub`] makes networks of domains, as the Internet has them.
//!
//! SimGrid's tori and fat trees (`parades_flow`) are not made here. Their fat tree has any number of levels
//! and cables, and numbers its switches, labels and parallel cables as the D-mod-k rule of SimGrid's routing
//! needs. Their torus numbers members with the first dimension running fastest, here the last one does; the
//! order of nodes is part of the results of both.

mod backbone;
pub mod campus;
mod scatter;
mod shape;
mod transit_stub;

pub use backbone::backbone;
pub use scatter::scatter;
pub use shape::{Class, Shape};
pub use transit_stub::{Domains, TransitStub, TransitStubError};
