//! Lanes: bytes from process to process, through memory that both map.
//!
//! *Idea.* Each rank has a segment, which all ranks map. The segment has one *lane* for each sender, a ring
//! of cache lines. The sender writes a frame into the ring, and the receiver reads it in place. Each lane has
//! one sender and one receiver, so there is no lock, and frames arrive in the order in which they were sent.
//!
//! *Memory.* A lane begins with the memory for some frames, and grows to near memory, in which some tens of
//! frames have room ([`Sender::write`]). A sender that must send then takes twice as much into use and
//! commits it ([`Sender::send`]). One that can do something else first should: the first use of a page takes
//! longer than a short wait. So a lane takes a few times the memory of the most bytes that ever waited in it.
//! A sender that finds memory exhausted waits for room.
//!
//! *Waking.* Each segment has a bell, on which threads of its rank sleep. Senders ring it after they have
//! sent a frame, if the rank has asked for it. Receivers ring a sender's bell after they have read frames, if
//! the sender has asked for it.
//!
//! *References.* X. Li et al., *Towards Order-Preserving and Zero-Copy Communication on Shared Memory for
//! Large Scale Simulation*, has a segment for each receiver too. With a lane for each sender, its two mutexes
//! and its two levels of index are not needed. Headers in the ring instead of an index: J. Giacomoni, T.
//! Moseley, M. Vachharajani, *FastForward for Efficient Pipeline Parallelism*, PPoPP, 2008.

#[cfg(not(test))]
mod mapped;
mod ring;

#[cfg(not(test))]
pub use mapped::{LaneShape, Lanes, Receiver, Sender};
