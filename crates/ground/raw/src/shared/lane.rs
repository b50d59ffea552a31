//! Lanes: bytes from process to process, through slots in memory that both map.
//!
//! *Idea.* Each rank has a segment, which all ranks map. The segment has one *lane* for each sender. A lane
//! has slots of equal size and two rings of slot numbers: those of filled slots, and those of free slots. The
//! sender pops a free slot, writes it, and pushes its number to the filled ring. The receiver reads the slot
//! in place and pushes its number to the free ring. Each ring has one producer and one consumer, so there is
//! no lock, and slots arrive in the order in which they were sent.
//!
//! *Memory.* A lane begins with one slot. If no slot is free, the sender takes one more into use and commits
//! its memory. So a lane takes memory for the most messages that ever waited in it. A sender that finds
//! memory exhausted waits for a free slot.
//!
//! *Waking.* Each segment has a bell, on which threads of its rank sleep. Senders ring it after they have
//! filled a slot, if the rank has asked for it. Receivers ring a sender's bell after they have freed a slot,
//! if the sender has asked for it.
//!
//! *Reference.* X. Li et al., *Towards Order-Preserving and Zero-Copy Communication on Shared Memory for
//! Large Scale Simulation*. The rings are its two levels of index. Its two mutexes for each segment are not
//! needed with a lane for each sender.

#[cfg(not(test))]
mod mapped;
mod ring;

#[cfg(not(test))]
pub use mapped::{LaneShape, Lanes, Receiver, Sender};
