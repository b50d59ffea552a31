//! Transports: how the workers and the ranks of a run reach each other.
//!
//! The parallel engines are written over two traits and know nothing of the memory behind them:
//!
//! - [`Transport`] carries events between workers, in lists ([`Parcel`]). By its [`Meeting`] the workers
//!   agree and wait; with [`Promising`] it also carries promises. [`Threads`] is the transport of one
//!   process.
//! - [`Group`] carries byte strings between the *ranks* of a run: processes that share no memory. Each rank
//!   has workers of its own. Its leader uses the group at cuts, for everything that is neither an event nor a
//!   promise.
//!
//! [`Ranked`] is both at once, over a [`Fabric`]: anything that carries byte strings from rank to rank, in
//! order for each pair. [`SharedMemory`] is the fabric between processes of one machine. [`Loopback`] is the
//! fabric between ranks that are threads of one process. They share nothing but bytes, so every engine can be
//! proved over it.
//!
//! This crate may use the contract and the ground, and knows no engine.
//!
//! *Read next*: [`Transport`], then [`Ranked`].

#![forbid(unsafe_code)]

mod arrived;
mod clocks;
mod fabric;
mod group;
mod ranked;
mod routed;
#[cfg(target_os = "linux")]
mod shared_memory;
mod summary;
mod threads;
mod timekeeper;
mod transport;

pub use arrived::Arrived;
pub use clocks::{Between, ClockId, Clocks};
pub use fabric::{Bell, Fabric, Loopback, Lost};
pub use group::{Group, gather_all, gather_all_by, gather_to_first, gather_to_first_by, swap_by};
pub use parades_core::any_model::Codec;
pub use parades_core::any_model::parcel::{Conservative, Lists, Optimistic, Parcel, ParcelRef, Traffic, parcel_len};
#[cfg(target_os = "linux")]
pub use parades_raw::shared::{lane::LaneShape, segment::SegmentFile};
pub use ranked::Ranked;
pub use routed::Routed;
#[cfg(target_os = "linux")]
pub use shared_memory::SharedMemory;
pub use summary::Summary;
pub use threads::Threads;
pub use timekeeper::{Begun, Timekeeper};
pub use transport::{Meeting, Promising, Transport};
