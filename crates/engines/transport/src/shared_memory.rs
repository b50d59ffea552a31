//! The fabric between processes of one machine: lanes in memory that all of them map.
//!
//! *Idea.* Each rank has a segment with one lane for each sender ([`parades_raw::shared::lane`]). A byte
//! string is one frame of a lane in the receiver's segment, and is read there. A byte string larger than a
//! quarter of a lane travels as several frames, and the receiver joins the parts.
//!
//! *A full lane.* [`Fabric::try_write`] returns, so that a worker can receive. [`Fabric::send`] takes further
//! memory up to the size of the lane, and then waits for room. While it waits, it receives everything that
//! arrives for its own rank into a list, the *stash*. After it has found no room, it sleeps on the bell of
//! its own segment. Three things ring this bell: a frame, room in a lane, and the end of a rank.
//!
//! *Why nobody waits forever.* Take any rank that waits for room in a lane of rank *r*. Rank *r* is in one of
//! three states:
//! 1. It waits for room itself. Then it receives into its stash, which has no limit, and so frees the lane.
//! 2. It has ended. Then the sender drops the byte string and continues.
//! 3. It does neither. Then it works, and by the contract of [`Fabric`] receives or sends or ends later.
//!
//! *Why nothing is lost, and order is kept.* A lane keeps the order of its frames. The lock of the lane keeps
//! the parts of a byte string together. The stash is received before the lanes, and both are read under one
//! lock.
//!
//! *Waking.* A listener thread sleeps on the bell of the segment, and calls the rank's [`Bell`] whenever it
//! has rung. Once [`Fabric::request_bell`] has been called, the bell rings only on request.

use crate::fabric::{Bell, Fabric, Lost};
use parades_core::wire::Room;
use parades_raw::shared::lane::{LaneShape, Lanes, Receiver, Sender};
use parades_raw::shared::segment::SegmentFile;
use parades_sync::patience::Patience;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The fabric of one rank, over memory that all ranks map.
///
/// ```
/// use parades_transport::{Fabric, LaneShape, SegmentFile, SharedMemory};
/// let segments = SharedMemory::create(2, LaneShape::default())?;
/// // Another process would open them by their descriptors.
/// let same = segments.iter().map(|file| SegmentFile::of_process(std::process::id(), file.raw_fd()));
/// let other = SharedMemory::join(1, same.collect::<Result<_, _>>()?)?;
/// let first = SharedMemory::join(0, segments)?;
/// first.send(1, &[7, 8]);
/// let mut received = Vec::new();
/// other.receive(&mut |from, bytes| received.push((from, bytes.to_vec())));
/// assert_eq!(received, [(0, vec![7, 8])]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct SharedMemory {
    rank: usize,
    shared: Arc<Shared>,
    /// By receiver.
    senders: Vec<Mutex<Sender>>,
    inbox: Mutex<Inbox>,
    /// By rank: its loss, if it was declared lost.
    declared: Vec<Mutex<Option<Lost>>>,
    /// By rank: true if it was declared lost.
    is_declared: Vec<AtomicBool>,
    patience: Patience,
    listener: Option<JoinHandle<()>>,
}

/// The state that the listener uses too.
struct Shared {
    /// By rank: its segment.
    lanes: Vec<Arc<Lanes>>,
    bell: Mutex<Option<Bell>>,
    /// True once the listener must end.
    is_closing: AtomicBool,
}

/// The receiving end, and what was received before a worker asked for it.
struct Inbox {
    receiver: Receiver,
    /// By sender: whole byte strings, in order.
    stash: Vec<VecDeque<Vec<u8>>>,
    /// The number of byte strings in the stash.
    stashed: usize,
    /// By sender: the parts of a byte string whose last part has not arrived.
    parts: Vec<Vec<u8>>,
}

/// The content of each of these locks is consistent whenever the lock is free.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedMemory(rank {} of {})", self.rank, self.shared.lanes.len())
    }
}

impl SharedMemory {
    /// Creates the segments of all ranks, in rank order. The launcher calls this, and passes the descriptors
    /// to the other ranks.
    ///
    /// # Errors
    ///
    /// Fails if memory is exhausted, or if the shape is too large.
    pub fn create(ranks: usize, shape: LaneShape) -> io::Result<Vec<SegmentFile>> {
        (0..ranks).map(|_| Lanes::create(ranks, shape)).collect()
    }

    /// Connects one rank, by the segments of all ranks.
    ///
    /// # Errors
    ///
    /// Fails if the segments are not those of a run with this number of ranks, or if another process has
    /// joined as this rank.
    pub fn join(rank: usize, segments: Vec<SegmentFile>) -> io::Result<Arc<SharedMemory>> {
        let ranks = segments.len();
        if rank >= ranks {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let lanes: Vec<_> = segments.into_iter().map(|file| Lanes::open(file, ranks)).collect::<Result<_, _>>()?;
        let receiver = Receiver::claim(Arc::clone(&lanes[rank]))?;
        let senders = lanes.iter().map(|lanes| Sender::claim(Arc::clone(lanes), rank).map(Mutex::new));
        let senders = senders.collect::<Result<_, _>>()?;
        let shared = Arc::new(Shared { lanes, bell: Mutex::default(), is_closing: AtomicBool::new(false) });
        let listened = Arc::clone(&shared);
        let listener = std::thread::Builder::new().name("listener".into()).spawn(move || listened.listen(rank))?;
        Ok(Arc::new(SharedMemory {
            rank,
            shared,
            senders,
            inbox: Mutex::new(Inbox {
                receiver,
                stash: vec![VecDeque::new(); ranks],
                stashed: 0,
                parts: vec![Vec::new(); ranks],
            }),
            declared: (0..ranks).map(|_| Mutex::default()).collect(),
            is_declared: (0..ranks).map(|_| AtomicBool::new(false)).collect(),
            patience: Patience::for_threads(ranks),
            listener: Some(listener),
        }))
    }

    /// Notes that a rank has ended, as this process has learnt elsewhere. Wakes all sleeping workers of this
    /// process. The first loss of a rank stays.
    pub fn declare_lost(&self, lost: Lost) {
        let rank = lost.rank;
        lock(&self.declared[rank]).get_or_insert(lost);
        // Ordering: Release; pairs with the Acquire in `is_gone`.
        self.is_declared[rank].store(true, Ordering::Release);
        self.shared.lanes[self.rank].ring();
    }

    /// Returns true if a rank has ended.
    fn is_gone(&self, rank: usize) -> bool {
        // Ordering: Acquire; pairs with the Release in `declare_lost`.
        self.is_declared[rank].load(Ordering::Acquire) || self.shared.lanes[rank].has_ended()
    }

    /// Sends a byte string to rank `to`, or the rest of one, in as many frames as it needs.
    fn send_parts(&self, sender: &mut Sender, to: usize, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let (part, after) = rest.split_at(sender.part(rest.len()));
            let is_sent = self.send_part(sender, to, part, !after.is_empty());
            self.shared.lanes[to].announce();
            if !is_sent || after.is_empty() {
                return;
            }
            rest = after;
        }
    }

    /// Sends one frame to rank `to`. Waits for room. Returns false if that rank has ended.
    fn send_part(&self, sender: &mut Sender, to: usize, part: &[u8], continues: bool) -> bool {
        loop {
            if sender.send(part.len(), continues, |frame| frame.copy_from_slice(part)) {
                return true;
            }
            if self.is_gone(to) {
                return false;
            }
            let checked = self.patience.watch(|| {
                self.fill_stash();
                (sender.has_room(part.len()) || self.is_gone(to)).then_some(())
            });
            if checked.is_none() {
                self.sleep_until_room(sender, to, part.len());
            }
        }
    }

    /// Sleeps until the lane to rank `to` has room for a frame of `bytes` bytes or that rank has ended. May
    /// return early.
    fn sleep_until_room(&self, sender: &mut Sender, to: usize, bytes: usize) {
        let own = &self.shared.lanes[self.rank];
        let seen = own.rings();
        sender.request_room();
        own.request_ring();
        self.fill_stash();
        if !sender.has_room(bytes) && !self.is_gone(to) {
            own.wait(seen);
        }
    }

    /// Receives everything that has arrived into the stash.
    fn fill_stash(&self) {
        let Inbox { receiver, stash, stashed, parts } = &mut *lock(&self.inbox);
        self.empty_lanes(receiver, parts, &mut |from, bytes| {
            stash[from].push_back(bytes.to_vec());
            *stashed += 1;
        });
    }

    /// Passes the byte strings in all lanes to `accept`. Of each lane, these are the frames that have arrived
    /// when this function comes to the lane. A receiver that also took later ones would follow the sender
    /// line by line, and send nothing meanwhile.
    fn empty_lanes(&self, receiver: &mut Receiver, parts: &mut [Vec<u8>], accept: &mut dyn FnMut(usize, &[u8])) {
        let mut first = 0;
        while let Some(from) = receiver.next_with_frame(first) {
            let parts = &mut parts[from];
            let mut accept = |bytes: &[u8]| accept(from, bytes);
            for _ in 0..receiver.arrived(from) {
                receiver.receive(from, |part, continues| append(parts, part, continues, &mut accept));
            }
            if receiver.take_request_for_room(from) {
                self.shared.lanes[from].ring();
            }
            first = from + 1;
        }
    }
}

/// Passes the byte string that ends with `part` to `accept`. Keeps the part if the byte string continues.
fn append(parts: &mut Vec<u8>, part: &[u8], continues: bool, accept: &mut dyn FnMut(&[u8])) {
    if parts.is_empty() && !continues {
        return accept(part);
    }
    parts.extend_from_slice(part);
    if !continues {
        accept(parts);
        *parts = Vec::new();
    }
}

impl Shared {
    /// Calls the rank's bell whenever the bell of its segment has rung.
    fn listen(&self, rank: usize) {
        let lanes = &self.lanes[rank];
        let mut seen = 0;
        // Ordering: Relaxed. The ring that follows the store publishes it.
        while !self.is_closing.load(Ordering::Relaxed) {
            lanes.wait(seen);
            let rings = lanes.rings();
            if rings != seen {
                seen = rings;
                let bell = lock(&self.bell).clone();
                bell.inspect(|bell| bell());
            }
        }
    }
}

impl Fabric for SharedMemory {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.shared.lanes.len()
    }

    /// All ranks are processes of one machine, which map the arenas of all if they have arenas.
    fn shares_memory_with(&self, _: usize) -> bool {
        true
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        self.send_parts(&mut lock(&self.senders[to]), to, bytes);
    }

    fn try_write(&self, to: usize, bytes: usize, write: &mut dyn FnMut(&mut Room<'_>)) -> bool {
        let sender = &mut *lock(&self.senders[to]);
        let most = sender.part(bytes);
        let mut rest = Vec::new();
        let is_sent = sender.write(most, |frame| {
            let mut room = Room::new(frame);
            write(&mut room);
            let (used, behind) = room.finish();
            rest = behind;
            (used, !rest.is_empty())
        });
        if !is_sent && !self.is_gone(to) {
            return false;
        }
        if !is_sent {
            // Bytes for a rank that has ended are dropped, but the caller counts on their being written.
            Room::behind(&mut Vec::new(), write);
            return true;
        }
        self.shared.lanes[to].announce();
        if !rest.is_empty() {
            self.send_parts(sender, to, &rest);
        }
        true
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        let Inbox { receiver, stash, stashed, parts } = &mut *lock(&self.inbox);
        if *stashed > 0 {
            *stashed = 0;
            for (from, stash) in stash.iter_mut().enumerate() {
                stash.drain(..).for_each(|bytes| accept(from, &bytes));
            }
        }
        self.empty_lanes(receiver, parts, accept);
    }

    fn set_bell(&self, bell: Bell) {
        *lock(&self.shared.bell) = Some(bell);
    }

    fn request_bell(&self) {
        self.shared.lanes[self.rank].request_only_this_ring();
    }

    fn lost(&self, rank: usize) -> Option<Lost> {
        // The end is read before the lane, which then has everything that the rank has sent.
        if !self.is_gone(rank) {
            return None;
        }
        let Inbox { receiver, stash, .. } = &mut *lock(&self.inbox);
        let all_received = stash[rank].is_empty() && receiver.is_empty(rank);
        let declared = || lock(&self.declared[rank]).clone();
        all_received.then(|| declared().unwrap_or(Lost { rank, why: None, has_crashed: false }))
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        *lock(&self.shared.bell) = None;
        self.shared.lanes[self.rank].end();
        // Ordering: Relaxed. The ring publishes it.
        self.shared.is_closing.store(true, Ordering::Relaxed);
        // The others may sleep, and this rank's listener does.
        self.shared.lanes.iter().for_each(|lanes| lanes.ring());
        if let Some(listener) = self.listener.take() {
            // A panic in the bell has been reported by its thread.
            let _ = listener.join();
        }
    }
}

/// Several owners may use one fabric: the run, and a thread that declares ranks lost.
impl<F: Fabric + ?Sized> Fabric for Arc<F> {
    fn rank(&self) -> usize {
        (**self).rank()
    }

    fn ranks(&self) -> usize {
        (**self).ranks()
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        (**self).send(to, bytes);
    }

    fn try_write(&self, to: usize, bytes: usize, write: &mut dyn FnMut(&mut Room<'_>)) -> bool {
        (**self).try_write(to, bytes, write)
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        (**self).receive(accept);
    }

    fn set_bell(&self, bell: Bell) {
        (**self).set_bell(bell);
    }

    fn request_bell(&self) {
        (**self).request_bell();
    }

    fn lost(&self, rank: usize) -> Option<Lost> {
        (**self).lost(rank)
    }

    fn shares_memory_with(&self, rank: usize) -> bool {
        (**self).shares_memory_with(rank)
    }
}
