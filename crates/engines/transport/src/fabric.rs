//! Fabrics: byte strings from rank to rank.

use parades_core::wire::Room;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Carries byte strings between the ranks of a run. Byte strings between two ranks arrive in the order in
/// which they were sent, and none is lost.
///
/// This is the trait to implement for a new path between processes: [`Ranked`](crate::Ranked) makes the
/// transport and the group of a run from it. Any worker of a rank may call any function at any time.
///
/// *Ends*: a rank ends when its fabric is dropped. The bytes that it has sent must still arrive; only then is
/// the rank [`lost`](Fabric::lost) to the others. A connection that breaks is such an end too.
pub trait Fabric: Send + Sync {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Sends a copy of `bytes` to another rank, or to this one. Sending to a rank that has ended is no error;
    /// the bytes are dropped.
    ///
    /// The call may wait for room until the receiver receives, sends or ends; every rank does one of these
    /// sooner or later. While it waits, it receives what arrives here into a list of its own. So two ranks
    /// that send to each other both get on.
    fn send(&self, to: usize, bytes: &[u8]);

    /// As [`send`](Fabric::send), of the bytes that `write` writes. Returns false, without calling `write`,
    /// if there is no room without waiting or taking further memory. The caller may then receive, and so give
    /// room to others. Otherwise `write` is called once, also if the rank has ended, and must not call this
    /// fabric.
    ///
    /// A fabric may lend memory for about `bytes` bytes, in which the receiver reads them.
    fn try_write(&self, to: usize, bytes: usize, write: &mut dyn FnMut(&mut Room<'_>)) -> bool {
        let mut written = Vec::with_capacity(bytes);
        Room::behind(&mut written, write);
        self.send(to, &written);
        true
    }

    /// Passes each byte string that has arrived to `accept`, with the rank that sent it. Does not wait.
    /// `accept` reads the bytes where they lie, and must not call this fabric.
    ///
    /// Two calls at the same time may each receive a part of the bytes of one rank. A caller that needs the
    /// order of these bytes calls this under a lock.
    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8]));

    /// Sets the function that is called, on any thread, after bytes have arrived or a rank has ended. It must
    /// be called without any lock that [`receive`](Fabric::receive) takes.
    fn set_bell(&self, bell: Bell);

    /// Requests that the bell rings for the next bytes. After this call, a worker receives once more, and
    /// sleeps if nothing has arrived. A fabric may stay silent without a request, once there has been a
    /// request. A fabric whose bell always rings need not implement this.
    fn request_bell(&self) {}

    /// Returns the loss of a rank, if the rank has ended and everything that it sent has been received.
    fn lost(&self, rank: usize) -> Option<Lost>;

    /// Returns true if `rank` has this rank's memory for payloads mapped, so that payloads need not be
    /// copied.
    fn shares_memory_with(&self, rank: usize) -> bool {
        let _ = rank;
        false
    }
}

/// A function that wakes the workers of a rank.
pub type Bell = Arc<dyn Fn() + Send + Sync>;

/// A rank that has ended before the run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The number of the rank.
    pub rank: usize,
    /// The cause, if it is known here: "worker 2 (process 4711) was killed by SIGKILL".
    pub why: Option<String>,
    /// True if the rank ended in the middle of something, for example by a signal. It may have sent its last
    /// frame to some ranks and not to others.
    pub has_crashed: bool,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost { rank, why, .. } = self;
        match why {
            None => write!(f, "rank {rank} ended before the run did; its own message says why"),
            Some(why) => write!(f, "rank {rank} ended before the run did: {why}"),
        }
    }
}

/// The fabric between ranks that are threads of one process, for tests: they share nothing but byte strings.
///
/// ```
/// use parades_transport::{Fabric, Loopback};
/// let ranks = Loopback::connect(2);
/// ranks[0].send(1, &[7, 8]);
/// let mut received = Vec::new();
/// ranks[1].receive(&mut |from, bytes| received.push((from, bytes.to_vec())));
/// assert_eq!(received, [(0, vec![7, 8])]);
/// ```
pub struct Loopback {
    rank: usize,
    links: Arc<Links>,
}

struct Links {
    ranks: usize,
    /// By receiver, then sender.
    queues: Vec<Mutex<VecDeque<Vec<u8>>>>,
    /// By rank: true once it has ended.
    ended: Vec<AtomicBool>,
    /// By rank.
    bells: Vec<Mutex<Option<Bell>>>,
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loopback(rank {} of {})", self.rank, self.links.ranks)
    }
}

impl Loopback {
    /// Connects `ranks` ranks. Returns one end for each.
    pub fn connect(ranks: usize) -> Vec<Loopback> {
        let links = Arc::new(Links {
            ranks,
            queues: (0..ranks * ranks).map(|_| Mutex::default()).collect(),
            ended: (0..ranks).map(|_| AtomicBool::new(false)).collect(),
            bells: (0..ranks).map(|_| Mutex::default()).collect(),
        });
        (0..ranks).map(|rank| Loopback { rank, links: Arc::clone(&links) }).collect()
    }
}

impl Links {
    fn queue(&self, from: usize, to: usize) -> MutexGuard<'_, VecDeque<Vec<u8>>> {
        lock(&self.queues[to * self.ranks + from])
    }

    fn ring(&self, rank: usize) {
        let bell = lock(&self.bells[rank]).clone();
        if let Some(bell) = bell {
            bell();
        }
    }
}

/// The queues are consistent whenever their lock is free, also after a panic elsewhere.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fabric for Loopback {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.links.ranks
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        self.links.queue(self.rank, to).push_back(bytes.to_vec());
        self.links.ring(to);
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        for from in 0..self.links.ranks {
            // The lock is free while `accept` runs.
            let next = || self.links.queue(from, self.rank).pop_front();
            std::iter::from_fn(next).for_each(|bytes| accept(from, &bytes));
        }
    }

    fn set_bell(&self, bell: Bell) {
        *lock(&self.links.bells[self.rank]) = Some(bell);
    }

    fn lost(&self, rank: usize) -> Option<Lost> {
        // Ordering: Acquire. It pairs with the Release in `drop`, so that the bytes sent before the end are
        // visible in the queue.
        let ended = self.links.ended[rank].load(Ordering::Acquire);
        (ended && self.links.queue(rank, self.rank).is_empty()).then_some(Lost { rank, why: None, has_crashed: false })
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        *lock(&self.links.bells[self.rank]) = None;
        // Ordering: Release; pairs with the Acquire in `lost`.
        self.links.ended[self.rank].store(true, Ordering::Release);
        (0..self.links.ranks).filter(|&rank| rank != self.rank).for_each(|rank| self.links.ring(rank));
    }
}
