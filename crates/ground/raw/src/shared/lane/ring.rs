//! The frames of a lane, in a ring of lines, with one sender and one receiver.
//!
//! *Idea.* A frame takes consecutive lines of the ring. It begins with a header of eight bytes, and its bytes
//! follow. The receiver looks at one header, that of the next frame. This header is zero until the sender has
//! written the frame. So a small frame and the news of it are one cache line. Before the sender publishes a
//! frame, it writes zero to the header that follows. A *jump* is a header that leads to another line, at
//! which the next frame begins.
//!
//! *Room.* The receiver publishes the line of the next frame, its *begin*, after each frame. The sender reads
//! it only if it has found no room among the near lines by the begin that it has read last. An old begin is
//! safe: the sender takes fewer lines to be free than there are. A new frame never ends at the begin. So if
//! the end and the begin are equal, all frames have been read.
//!
//! *Warm memory.* While the receiver keeps up, the sender turns back to the front after the first lines, the
//! *near* ones, and the ring stays in the cache. There are more of them after each turn, up to a limit. If
//! the frames that wait fill the near lines, the sender goes on behind all of them. It turns back again once
//! the receiver has come as far.
//!
//! *Why a line is not written before it is read.* The receiver reads a frame before it publishes a begin
//! behind the frame, with Release order. The sender reads that begin with Acquire order before it writes
//! these lines again.
//!
//! *Why a frame is read as it was written.* The sender writes the bytes and the zero of the header after
//! them. Then it stores the header, with Release order. The receiver loads the header with Acquire order. For
//! a frame behind a jump, the jump is stored last and loaded first, in the same orders.

#[cfg(test)]
use loom::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::atomic::Ordering;
#[cfg(not(test))]
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The bytes of a line: of a cache line.
pub(super) const LINE: usize = 64;
/// The bytes of a header.
pub(super) const HEADER: usize = size_of::<u64>();

/// The header of a frame that is not written yet.
const EMPTY: u64 = 0;
/// The lowest two bits of a jump. The others are the line to which it leads.
const JUMP: u64 = 2;

/// Returns the number of lines of a frame with `bytes` bytes.
pub(super) fn lines_of(bytes: usize) -> u32 {
    u32::try_from((HEADER + bytes).div_ceil(LINE)).unwrap_or(u32::MAX)
}

/// A frame, as its header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The number of bytes.
    pub(super) bytes: usize,
    /// True if the next frame is a part of the same byte string.
    pub(super) continues: bool,
}

impl Frame {
    fn header(self) -> u64 {
        (self.bytes as u64) << 2 | u64::from(self.continues) << 1 | 1
    }

    fn of_header(header: u64) -> Frame {
        Frame { bytes: usize::try_from(header >> 2).unwrap_or(usize::MAX), continues: header & 2 != 0 }
    }
}

/// The memory of a ring.
pub(super) trait Lines {
    /// Returns the header at the front of a line.
    fn header(&self, line: u32) -> &AtomicU64;

    /// Returns the number of the line before which everything was read.
    fn begin(&self) -> &AtomicU32;
}

/// The sender's position in a ring.
#[derive(Debug)]
pub(super) struct Writing {
    /// The line of the next header.
    end: u32,
    /// The begin that was read last.
    begin: u32,
    /// The number of near lines.
    near: u32,
    /// The number of lines that may be used. A frame must have less than half as many.
    lines: u32,
    /// The line of the jump to the front that was written last.
    turn: u32,
    /// The sender turns back to the front only once the begin is at least this line.
    least_begin: u32,
}

impl Writing {
    /// Begins an empty ring, whose lines are near.
    pub(super) fn new(lines: u32) -> Writing {
        Writing { end: 0, begin: 0, near: lines, lines, turn: 0, least_begin: 0 }
    }

    /// Returns the number of lines that may be used.
    pub(super) fn lines(&self) -> u32 {
        self.lines
    }

    /// Returns the number of near lines.
    pub(super) fn near(&self) -> u32 {
        self.near
    }

    /// Returns true if a frame of `lines` lines has no room behind the last one among the near lines.
    pub(super) fn is_at_turn(&self, lines: u32) -> bool {
        self.begin <= self.end && self.end + lines >= self.near
    }

    /// Adds lines at the end of the ring.
    pub(super) fn extend(&mut self, lines: u32) {
        self.lines = lines;
    }

    /// Makes at least this number of lines near, if there are as many.
    pub(super) fn prefer(&mut self, lines: u32) {
        self.near = self.near.max(lines).min(self.lines);
    }

    /// Returns the line for a frame of `lines` lines. Returns `None` if there is no room.
    pub(super) fn room(&mut self, ring: &impl Lines, lines: u32) -> Option<u32> {
        if let Some(line) = self.near_room(lines) {
            return Some(line);
        }
        // Ordering: Acquire; pairs with the Release in `Reading::advance`.
        self.begin = ring.begin().load(Ordering::Acquire);
        self.near_room(lines).or_else(|| self.further_room(lines))
    }

    /// Returns the line for a frame among the near lines, or between the frames that wait.
    fn near_room(&self, lines: u32) -> Option<u32> {
        if self.end < self.begin {
            return (self.end + lines < self.begin).then_some(self.end);
        }
        let is_near = self.end + lines < self.near;
        let may_turn = lines < self.begin && self.begin >= self.least_begin;
        if is_near { Some(self.end) } else { may_turn.then_some(0) }
    }

    /// Returns the line for a frame behind all frames that wait.
    pub(super) fn further_room(&self, lines: u32) -> Option<u32> {
        let line = if self.end < self.begin { self.turn + 1 } else { self.end };
        (line + lines < self.lines).then_some(line)
    }

    /// Publishes a frame that was written at `line`, which [`Writing::room`] has returned for `lines` lines.
    pub(super) fn publish(&mut self, ring: &impl Lines, line: u32, lines: u32, frame: Frame) {
        // Ordering: Relaxed. The store of the header before it publishes it.
        ring.header(line + lines).store(EMPTY, Ordering::Relaxed);
        // Ordering: Release; pairs with the Acquire in `Reading::next`.
        ring.header(line).store(frame.header(), Ordering::Release);
        if line != self.end {
            // Ordering: Release, as above.
            ring.header(self.end).store(u64::from(line) << 2 | JUMP, Ordering::Release);
            // Until the receiver has passed this jump, its begin is below `line`.
            (self.turn, self.least_begin) = if line == 0 { (self.end, 0) } else { (self.turn, line) };
        }
        self.end = line + lines;
    }
}

/// The receiver's position in a ring.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The line of the next header.
    line: u32,
}

impl Reading {
    /// Returns true if [`Reading::next`] returns a frame.
    #[inline]
    pub(super) fn has_next(&self, ring: &impl Lines) -> bool {
        // Ordering: Relaxed. `next` reads the header again before it reads a frame.
        ring.header(self.line).load(Ordering::Relaxed) != EMPTY
    }

    /// Returns the number of frames that were published and are not freed.
    pub(super) fn arrived(&self, ring: &impl Lines) -> usize {
        let (mut line, mut frames) = (self.line, 0);
        loop {
            // Ordering: Acquire; pairs with the Release in `Writing::publish`. So the line behind a frame has
            // a header too.
            let header = ring.header(line).load(Ordering::Acquire);
            if header == EMPTY {
                return frames;
            }
            if header & 3 == JUMP {
                line = u32::try_from(header >> 2).unwrap_or(u32::MAX);
            } else {
                line = line.saturating_add(lines_of(Frame::of_header(header).bytes));
                frames += 1;
            }
        }
    }

    /// Returns the next frame and its line. Returns `None` if none was published.
    pub(super) fn next(&mut self, ring: &impl Lines) -> Option<(u32, Frame)> {
        // Ordering: Acquire; pairs with the Release in `Writing::publish`.
        let mut header = ring.header(self.line).load(Ordering::Acquire);
        if header & 3 == JUMP {
            self.line = u32::try_from(header >> 2).unwrap_or(u32::MAX);
            // Ordering: Acquire, as above.
            header = ring.header(self.line).load(Ordering::Acquire);
        }
        assert!(header == EMPTY || header & 1 == 1, "a lane has a malformed header: {header:#x}");
        (header != EMPTY).then(|| (self.line, Frame::of_header(header)))
    }

    /// Frees the next frame, which has been read and has `lines` lines.
    pub(super) fn advance(&mut self, ring: &impl Lines, lines: u32) {
        self.line += lines;
        // Ordering: Release; pairs with the Acquire in `Writing::room`.
        ring.begin().store(self.line, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    /// The memory of a ring. `UnsafeCell` fails the model if a read and a write of a line are not ordered.
    struct Memory {
        headers: Vec<AtomicU64>,
        lines: Vec<UnsafeCell<u32>>,
        begin: AtomicU32,
    }

    impl Memory {
        fn new(lines: usize) -> Memory {
            Memory {
                headers: (0..lines).map(|_| AtomicU64::new(0)).collect(),
                lines: (0..lines).map(|_| UnsafeCell::new(0)).collect(),
                begin: AtomicU32::new(0),
            }
        }

        /// Sends a frame whose lines all have the value `message`. Returns false if there is no room.
        fn send(&self, writing: &mut Writing, lines: u32, message: u32) -> bool {
            let Some(line) = writing.room(self, lines) else { return false };
            for at in line..line + lines {
                // SAFETY: the model checks that nobody else accesses the cell.
                self.lines[at as usize].with_mut(|cell| unsafe { *cell = message });
                if at > line {
                    // Ordering: Relaxed, as bytes of a frame. No header lies there.
                    self.headers[at as usize].store(u64::MAX, Ordering::Relaxed);
                }
            }
            let bytes = lines as usize * LINE - HEADER;
            writing.publish(self, line, lines, Frame { bytes, continues: message.is_multiple_of(2) });
            true
        }

        /// Receives a frame, and checks it. Returns false if there is none.
        fn receive(&self, reading: &mut Reading, lines: u32, message: u32) -> bool {
            let Some((line, frame)) = reading.next(self) else { return false };
            assert_eq!((lines_of(frame.bytes), frame.continues), (lines, message.is_multiple_of(2)));
            for at in line..line + lines {
                // SAFETY: the model checks that nobody writes the cell.
                assert_eq!(self.lines[at as usize].with(|cell| unsafe { *cell }), message);
            }
            reading.advance(self, lines);
            true
        }
    }

    impl Lines for Memory {
        fn header(&self, line: u32) -> &AtomicU64 {
            &self.headers[line as usize]
        }

        fn begin(&self) -> &AtomicU32 {
            &self.begin
        }
    }

    // SAFETY: the model checks every access of the cells.
    unsafe impl Send for Memory {}
    // SAFETY: as above.
    unsafe impl Sync for Memory {}

    /// Sends frames of these numbers of lines through a ring of 4 lines, which becomes one of `grown` lines
    /// once it is full.
    fn check(frames: &'static [u32], grown: u32) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let memory = Arc::new(Memory::new(grown as usize));
            let sender = {
                let memory = memory.clone();
                thread::spawn(move || {
                    let mut writing = Writing::new(4);
                    for (message, &lines) in (1..).zip(frames) {
                        while !memory.send(&mut writing, lines, message) {
                            writing.extend(grown);
                            thread::yield_now();
                        }
                    }
                })
            };
            let mut reading = Reading::default();
            for (message, &lines) in (1..).zip(frames) {
                while !memory.receive(&mut reading, lines, message) {
                    thread::yield_now();
                }
            }
            sender.join().expect("no panic");
            assert!(reading.next(&*memory).is_none());
        });
    }

    #[test]
    fn frames_arrive_once_and_in_order_though_the_ring_is_small() {
        check(&[1, 1, 1, 1, 1, 1], 4);
    }

    #[test]
    fn frames_that_have_arrived_can_be_received() {
        loom::model(|| {
            let memory = Arc::new(Memory::new(8));
            let sender = {
                let memory = memory.clone();
                thread::spawn(move || {
                    let mut writing = Writing::new(8);
                    assert!((1..4).all(|message| memory.send(&mut writing, 1, message)));
                })
            };
            let (mut reading, mut next) = (Reading::default(), 1);
            for _ in 0..2 {
                let has_next = reading.has_next(&*memory);
                let arrived = reading.arrived(&*memory);
                assert!(!has_next || arrived > 0);
                for _ in 0..arrived {
                    assert!(memory.receive(&mut reading, 1, next), "message {next} has arrived");
                    next += 1;
                }
            }
            sender.join().expect("no panic");
            assert_eq!(reading.arrived(&*memory), 4 - next as usize);
        });
    }

    #[test]
    fn a_ring_that_grows_loses_nothing() {
        check(&[1, 2, 1, 2, 1], 8);
        check(&[1, 1, 1, 1, 1], 8);
    }

    #[test]
    fn the_near_lines_are_used_again_while_the_receiver_keeps_up() {
        loom::model(|| {
            let memory = Memory::new(16);
            let (mut writing, mut reading) = (Writing::new(8), Reading::default());
            writing.extend(16);
            for message in 0..12 {
                assert!(writing.room(&memory, 2).is_some_and(|line| line + 2 < 8));
                assert!(memory.send(&mut writing, 2, message) && memory.receive(&mut reading, 2, message));
            }
            // Without the receiver, all lines are used.
            let waiting = (0..).take_while(|&message| memory.send(&mut writing, 2, message)).count();
            assert!((5..8).contains(&waiting), "{waiting}");
            let received = (0..).take_while(|&message| memory.receive(&mut reading, 2, message)).count();
            assert_eq!(received, waiting);
            assert!(writing.room(&memory, 2).is_some_and(|line| line + 2 < 8));
            writing.prefer(20);
            assert_eq!((writing.lines(), writing.near()), (16, 16));
            // Frames go on behind the last one up to the last near line.
            let mut longest = 0;
            for message in 0..20 {
                let is_at_turn = writing.is_at_turn(2);
                assert!(writing.room(&memory, 2).is_some_and(|line| !is_at_turn || line == 0));
                assert!(memory.send(&mut writing, 2, message) && memory.receive(&mut reading, 2, message));
                longest = longest.max(writing.end);
            }
            assert_eq!(longest, 14);
        });
    }
}
