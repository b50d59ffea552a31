//! The fabric over MPI.

use crate::queues::Queues;
use parades_transport::{Bell, Fabric, Lost};
use std::fmt;
use std::sync::Arc;
use std::thread::Thread;

/// Carries byte strings between ranks that MPI has started. [`connect`](crate::connect) opens it.
pub struct MpiFabric {
    pub(crate) queues: Arc<Queues>,
    /// The communicating thread.
    pub(crate) thread: Thread,
}

impl fmt::Debug for MpiFabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MpiFabric(rank {} of {})", self.queues.rank, self.queues.ranks())
    }
}

impl Fabric for MpiFabric {
    fn rank(&self) -> usize {
        self.queues.rank
    }

    fn ranks(&self) -> usize {
        self.queues.ranks()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        if to == self.queues.rank {
            let mut stream = Vec::new();
            crate::framing::append(&mut stream, bytes);
            self.queues.add_arrived(to, stream);
            self.queues.ring();
        } else {
            self.queues.push(to, bytes);
            self.thread.unpark();
        }
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        if self.queues.read(accept) && self.queues.want() {
            self.thread.unpark();
        }
    }

    fn set_bell(&self, bell: Bell) {
        self.queues.set_bell(bell);
    }

    fn lost(&self, rank: usize) -> Option<Lost> {
        self.queues.is_lost(rank).then_some(Lost { rank, why: None, has_crashed: false })
    }
}

impl Drop for MpiFabric {
    fn drop(&mut self) {
        self.queues.close();
        self.thread.unpark();
    }
}
