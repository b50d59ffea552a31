//! The queues between the workers and the communicating thread.

use crate::framing;
use parades_transport::Bell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The waiting bytes for one rank above which workers wait.
const ROOM: usize = 16 << 20;
/// Larger buffers are freed after use.
const KEPT: usize = 1 << 20;

/// The queues of one rank.
pub(crate) struct Queues {
    pub(crate) rank: usize,
    /// By receiver.
    outgoing: Vec<Outgoing>,
    /// Streams of whole byte strings, with their senders.
    arrived: Mutex<VecDeque<(usize, Vec<u8>)>>,
    /// By sender: the number of streams that have arrived and are not read yet.
    unread: Vec<AtomicUsize>,
    /// By sender: true once its end mark has arrived.
    ended: Vec<AtomicBool>,
    bell: Mutex<Option<Bell>>,
    /// True if a worker has looked for byte strings and found none.
    wanted: AtomicBool,
    /// True once the end marks of this rank are in the queues.
    closed: Mutex<bool>,
}

/// The stream to one rank, as far as it waits.
#[derive(Default)]
struct Outgoing {
    stream: Mutex<Vec<u8>>,
    /// Notified after the communicating thread has taken the stream.
    room: Condvar,
}

/// The content of each of these locks is consistent whenever the lock is free.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queues {
    pub(crate) fn new(rank: usize, ranks: usize) -> Queues {
        Queues {
            rank,
            outgoing: (0..ranks).map(|_| Outgoing::default()).collect(),
            arrived: Mutex::default(),
            unread: (0..ranks).map(|_| AtomicUsize::new(0)).collect(),
            ended: (0..ranks).map(|_| AtomicBool::new(false)).collect(),
            bell: Mutex::default(),
            wanted: AtomicBool::new(false),
            closed: Mutex::default(),
        }
    }

    pub(crate) fn ranks(&self) -> usize {
        self.outgoing.len()
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let rank = self.rank;
        (0..self.ranks()).filter(move |&other| other != rank)
    }

    /// Appends a byte string for another rank. Waits while too many bytes wait for that rank.
    pub(crate) fn push(&self, to: usize, bytes: &[u8]) {
        let Outgoing { stream, room } = &self.outgoing[to];
        let mut stream = lock(stream);
        while stream.len() > ROOM {
            stream = room.wait(stream).unwrap_or_else(PoisonError::into_inner);
        }
        framing::append(&mut stream, bytes);
    }

    /// Takes the waiting bytes for all ranks. Each goes into its place in `streams`, which were empty.
    /// Returns true if bytes waited.
    pub(crate) fn take_outgoing(&self, streams: &mut [Vec<u8>]) -> bool {
        for (Outgoing { stream, room }, taken) in self.outgoing.iter().zip(&mut *streams) {
            if taken.capacity() > KEPT {
                *taken = Vec::new();
            }
            std::mem::swap(&mut *lock(stream), taken);
            room.notify_all();
        }
        streams.iter().any(|stream| !stream.is_empty())
    }

    /// Sends the end marks, once. Nothing may be sent afterwards.
    pub(crate) fn close(&self) {
        let mut closed = lock(&self.closed);
        if !*closed {
            self.others().for_each(|to| framing::append_end(&mut lock(&self.outgoing[to].stream)));
            *lock(&self.bell) = None;
            *closed = true;
        }
    }

    /// Returns true if the end marks of all others have arrived, and those of this rank are in the queues.
    pub(crate) fn all_have_ended(&self) -> bool {
        *lock(&self.closed) && self.others().all(|rank| self.has_ended(rank))
    }

    /// Adds a stream of whole byte strings that has arrived.
    pub(crate) fn add_arrived(&self, from: usize, stream: Vec<u8>) {
        if !stream.is_empty() {
            // Ordering: Relaxed; the lock that follows publishes it.
            self.unread[from].fetch_add(1, Ordering::Relaxed);
            lock(&self.arrived).push_back((from, stream));
        }
    }

    /// Notes the end mark of a rank, after everything that the rank has sent was added.
    pub(crate) fn add_end(&self, from: usize) {
        // Ordering: Release; pairs with the Acquire in `has_ended`, so that `unread` is seen with it.
        self.ended[from].store(true, Ordering::Release);
    }

    fn has_ended(&self, rank: usize) -> bool {
        // Ordering: Acquire; pairs with the Release in `add_end`.
        self.ended[rank].load(Ordering::Acquire)
    }

    /// Returns true if a rank has ended and everything that it sent has been read.
    pub(crate) fn is_lost(&self, rank: usize) -> bool {
        // Ordering: Acquire; pairs with the Release in `read`, so that a lost rank's bytes were accepted.
        self.has_ended(rank) && self.unread[rank].load(Ordering::Acquire) == 0
    }

    /// Passes each byte string that has arrived to `accept`. Returns true if there was none.
    pub(crate) fn read(&self, accept: &mut dyn FnMut(usize, &[u8])) -> bool {
        let streams = std::mem::take(&mut *lock(&self.arrived));
        for (from, stream) in &streams {
            let mut rest = &stream[..];
            while let Some((bytes, after)) = framing::split_first(rest) {
                accept(*from, bytes);
                rest = after;
            }
            // Ordering: Release; pairs with the Acquire in `is_lost`.
            self.unread[*from].fetch_sub(1, Ordering::Release);
        }
        streams.is_empty()
    }

    pub(crate) fn set_bell(&self, bell: Bell) {
        *lock(&self.bell) = Some(bell);
        self.ring();
    }

    /// Wakes the workers.
    pub(crate) fn ring(&self) {
        let bell = lock(&self.bell).clone();
        bell.inspect(|bell| bell());
    }

    /// Notes that a worker has found nothing. Returns true if this was not noted before.
    pub(crate) fn want(&self) -> bool {
        // Ordering: Relaxed; a hint.
        !self.wanted.swap(true, Ordering::Relaxed)
    }

    /// Returns true if a worker has found nothing since the last call.
    pub(crate) fn take_wanted(&self) -> bool {
        // Ordering: Relaxed; a hint.
        self.wanted.swap(false, Ordering::Relaxed)
    }
}
