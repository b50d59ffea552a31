//! First-Fit: a segment of slots for each receiver, where the sender takes the first free slot, and the
//! receiver the first full one. A pair of mutexes protects the slots, as in the paper.
//!
//! *Order.* A slot that is filled later may be received earlier. So messages have numbers, and the receiver
//! keeps a message until it has received all earlier messages of the sender.
//!
//! *Ranks* are threads of one process here, because the language offers mutexes between processes only to
//! unsafe code. A mutex between threads costs as much. Payloads lie in an arena and are read in place, as in
//! the paper.

use parades_transport::{Bell, Fabric, Lost};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const FREE: u8 = 0;
const BEING_WRITTEN: u8 = 1;
const FULL: u8 = 2;
const BEING_READ: u8 = 3;

/// One end of the fabric.
pub(super) struct FirstFit {
    rank: usize,
    segments: Arc<Vec<Segment>>,
    /// By receiver: the number of messages sent.
    sent: Vec<Mutex<u64>>,
    inbox: Mutex<Inbox>,
}

/// The messages to one rank.
struct Segment {
    write_mutex: Mutex<()>,
    read_mutex: Mutex<()>,
    states: Vec<AtomicU8>,
    messages: Vec<Mutex<Message>>,
    bell: Mutex<Option<Bell>>,
    is_bell_requested: AtomicBool,
    has_ended: AtomicBool,
}

#[derive(Default)]
struct Message {
    from: usize,
    number: u64,
    bytes: Vec<u8>,
}

/// The messages that have left their slots.
struct Inbox {
    /// By sender: the number of the next message in order.
    next: Vec<u64>,
    /// By sender: messages that arrived too early.
    early: Vec<BTreeMap<u64, Vec<u8>>>,
    /// Messages in order.
    ready: VecDeque<(usize, Vec<u8>)>,
}

/// The content of each of these locks is consistent whenever the lock is free.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FirstFit {
    /// Connects `ranks` ranks by segments of `slots` slots. Returns one end for each.
    pub(super) fn connect(ranks: usize, slots: usize) -> Vec<FirstFit> {
        let segment = |_| Segment {
            write_mutex: Mutex::default(),
            read_mutex: Mutex::default(),
            states: (0..slots).map(|_| AtomicU8::new(FREE)).collect(),
            messages: (0..slots).map(|_| Mutex::default()).collect(),
            bell: Mutex::default(),
            is_bell_requested: AtomicBool::new(true),
            has_ended: AtomicBool::new(false),
        };
        let segments = Arc::new((0..ranks).map(segment).collect::<Vec<_>>());
        let end = |rank| FirstFit {
            rank,
            segments: Arc::clone(&segments),
            sent: (0..ranks).map(|_| Mutex::default()).collect(),
            inbox: Mutex::new(Inbox {
                next: vec![0; ranks],
                early: vec![BTreeMap::new(); ranks],
                ready: VecDeque::new(),
            }),
        };
        (0..ranks).map(end).collect()
    }

    /// Receives all full slots of this rank's segment into the inbox.
    fn empty_slots(&self, inbox: &mut Inbox) {
        while let Some(Message { from, number, bytes }) = self.segments[self.rank].take() {
            if number == inbox.next[from] {
                inbox.next[from] += 1;
                inbox.ready.push_back((from, bytes));
            } else {
                inbox.early[from].insert(number, bytes);
            }
            while let Some(bytes) = inbox.early[from].remove(&inbox.next[from]) {
                inbox.next[from] += 1;
                inbox.ready.push_back((from, bytes));
            }
        }
    }
}

impl Segment {
    /// Moves the first slot in the state `from` to the state `to`. Returns its number.
    fn first(&self, mutex: &Mutex<()>, from: u8, to: u8) -> Option<usize> {
        let _locked = lock(mutex);
        let slot = self.states.iter().position(|state| state.load(SeqCst) == from)?;
        self.states[slot].store(to, SeqCst);
        Some(slot)
    }

    /// Fills the first free slot. Returns the message if there is none.
    fn put(&self, message: Message) -> Result<(), Message> {
        let Some(slot) = self.first(&self.write_mutex, FREE, BEING_WRITTEN) else { return Err(message) };
        *lock(&self.messages[slot]) = message;
        let locked = lock(&self.read_mutex);
        self.states[slot].store(FULL, SeqCst);
        drop(locked);
        // The receiver requests the bell before it looks for the last time. Both orders are sequentially
        // consistent, so it sees the slot, or this call sees the request.
        if self.is_bell_requested.swap(false, SeqCst) {
            self.ring();
        }
        Ok(())
    }

    /// Takes the message of the first full slot.
    fn take(&self) -> Option<Message> {
        let slot = self.first(&self.read_mutex, FULL, BEING_READ)?;
        let message = std::mem::take(&mut *lock(&self.messages[slot]));
        let _locked = lock(&self.write_mutex);
        self.states[slot].store(FREE, SeqCst);
        Some(message)
    }

    fn ring(&self) {
        let bell = lock(&self.bell).clone();
        bell.inspect(|bell| bell());
    }
}

impl Fabric for FirstFit {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.segments.len()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        let mut sent = lock(&self.sent[to]);
        let mut message = Message { from: self.rank, number: *sent, bytes: bytes.to_vec() };
        *sent += 1;
        while let Err(refused) = self.segments[to].put(message) {
            if self.segments[to].has_ended.load(SeqCst) {
                return;
            }
            message = refused;
            self.empty_slots(&mut lock(&self.inbox));
            std::thread::yield_now();
        }
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        let mut inbox = lock(&self.inbox);
        self.empty_slots(&mut inbox);
        inbox.ready.drain(..).for_each(|(from, bytes)| accept(from, &bytes));
    }

    fn set_bell(&self, bell: Bell) {
        *lock(&self.segments[self.rank].bell) = Some(bell);
    }

    fn request_bell(&self) {
        self.segments[self.rank].is_bell_requested.store(true, SeqCst);
    }

    fn lost(&self, rank: usize) -> Option<Lost> {
        if !self.segments[rank].has_ended.load(SeqCst) {
            return None;
        }
        let mut inbox = lock(&self.inbox);
        self.empty_slots(&mut inbox);
        let all_received = inbox.ready.iter().all(|(from, _)| *from != rank);
        all_received.then_some(Lost { rank, why: None, has_crashed: false })
    }

    /// All ranks are threads of one process.
    fn shares_memory_with(&self, _: usize) -> bool {
        true
    }
}

impl Drop for FirstFit {
    fn drop(&mut self) {
        *lock(&self.segments[self.rank].bell) = None;
        self.segments[self.rank].has_ended.store(true, SeqCst);
        self.segments.iter().for_each(Segment::ring);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_their_order_through_slots_that_are_taken_in_another() {
        let ends = FirstFit::connect(2, 3);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1000_u32).for_each(|number| ends[0].send(1, &number.to_le_bytes())));
            let mut received = Vec::new();
            while received.len() < 1000 {
                ends[1].receive(&mut |from, bytes| received.push((from, bytes.to_vec())));
            }
            let expected: Vec<_> = (0..1000_u32).map(|number| (0, number.to_le_bytes().to_vec())).collect();
            assert_eq!(received, expected);
        });
    }

    #[test]
    fn the_first_free_slot_is_filled_and_the_first_full_one_is_read() {
        let ends = FirstFit::connect(1, 4);
        let segment = &ends[0].segments[0];
        let message = |number| Message { from: 0, number, bytes: Vec::new() };
        (0..3).for_each(|number| assert!(segment.put(message(number)).is_ok()));
        assert_eq!(segment.take().map(|message| message.number), Some(0));
        assert!(segment.put(message(3)).is_ok() && segment.put(message(4)).is_ok());
        assert!(segment.put(message(5)).is_err());
        let order: Vec<u64> = std::iter::from_fn(|| segment.take()).map(|message| message.number).collect();
        assert_eq!(order, [3, 1, 2, 4]);
    }
}
