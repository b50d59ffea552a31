//! Arenas: blocks of bytes in memory that several processes map.
//!
//! *Idea.* One process, the *owner*, allocates blocks. A block is written once, by its creator. Then any
//! process that maps the memory can hold it, and reads it in place. The process that drops the last
//! holder gives the slot back to the owner through a list in the memory.
//!
//! *Memory.* A head is at the front. A table of entries, one a slot, follows it and grows upwards. The bytes
//! of the slots grow downwards from the end. The arena is full when both meet. Space is committed just
//! before it is used.
//!
//! *Safety.* A reference from another process is only a number. [`Arena::adopt`] checks the number against
//! the table and takes a count that [`Block::send`] has added. So a wrong reference is refused, or leads to
//! another block that was sent too. It never leads to bytes that may be written.

mod class;
mod entry;
#[cfg(not(test))]
mod mapped;
#[cfg(not(test))]
mod memory;

#[cfg(not(test))]
pub use mapped::{Arena, Block, Reference};
#[cfg(not(test))]
pub use memory::{Anonymous, Memory};
