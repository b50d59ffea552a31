//! Lanes in a mapped segment.

use super::ring::{Frame, HEADER, LINE, Lines, Reading, Writing, lines_of};
use crate::shared::bell::{Bell, Request};
use crate::shared::segment::{Segment, SegmentFile};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The shape of all lanes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneShape {
    /// The most bytes of memory that a lane takes, rounded up to a power of two of at least 512 bytes.
    pub bytes: u32,
}

impl Default for LaneShape {
    /// One megabyte: some thousands of events.
    fn default() -> LaneShape {
        LaneShape { bytes: 1 << 20 }
    }
}

/// The bytes with which a lane begins, if it may have as many. They hold several byte strings of events.
const FIRST_BYTES: usize = 32 << 10;
/// The bytes to which the near lines of a lane grow that carries more. They are several times as large as the
/// first-level cache of a core, and stay in the second: a sender fetches a line faster that has left the
/// first-level cache of the receiver.
const NEAR_BYTES: usize = 256 << 10;
/// The frames for which the near lines suffice, up to [`NEAR_BYTES_MAX`]. A sender of large frames would soon
/// wait otherwise.
const NEAR_FRAMES: u32 = 64;
/// The most bytes of near lines: half of the second-level cache of many cores.
const NEAR_BYTES_MAX: usize = 1 << 20;

/// The front of a segment.
#[repr(C, align(64))]
struct Head {
    magic: AtomicU64,
    ranks: AtomicU32,
    lines: AtomicU32,
    /// 1 once a process receives here.
    is_claimed: AtomicU32,
    /// 1 once the rank has ended.
    has_ended: AtomicU32,
    /// The rank's request to be woken when a frame has arrived.
    wants_frames: Request,
    bell: Bell,
}

/// The front of a lane. Its lines follow it.
#[repr(C, align(64))]
struct LaneHead {
    begin: Begin,
    /// The sender's request to be woken when there is room.
    wants_room: Request,
    /// 1 once a process sends here.
    is_claimed: AtomicU32,
}

/// The line before which the receiver has read everything, on a cache line of its own.
#[repr(C, align(64))]
struct Begin(AtomicU32);

const MAGIC: u64 = u64::from_le_bytes(*b"lanes 02");

/// The positions in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    ranks: usize,
    /// The most lines of a lane.
    lines: usize,
}

impl Layout {
    /// Returns the layout for a shape, or `None` if it exceeds the limits of its numbers.
    fn new(ranks: usize, LaneShape { bytes }: LaneShape) -> Option<Layout> {
        // A lane of 8 lines has room for a frame of more than one.
        let lines = bytes.max(8 * 64).checked_next_power_of_two()? as usize / LINE;
        let layout = Layout { ranks, lines };
        let all = layout.lane_bytes().checked_mul(ranks)?.checked_add(size_of::<Head>())?;
        (isize::try_from(all).is_ok() && ranks > 0 && u32::try_from(ranks).is_ok()).then_some(layout)
    }

    /// Returns the numbers of ranks, and of lines of a lane.
    fn as_numbers(self) -> [u32; 2] {
        [self.ranks, self.lines].map(|number| u32::try_from(number).expect("`new` has checked it"))
    }

    /// Returns the number of lines with which a lane begins.
    fn first_lines(self) -> usize {
        self.lines.min(FIRST_BYTES / LINE)
    }

    fn lane_bytes(self) -> usize {
        size_of::<LaneHead>() + self.lines * LINE
    }

    /// Returns the position of a line in a lane.
    fn line_at(line: usize) -> usize {
        size_of::<LaneHead>() + line * LINE
    }

    /// Returns the position of the lane of a sender in a segment.
    fn lane_at(self, from: usize) -> usize {
        size_of::<Head>() + from * self.lane_bytes()
    }

    fn bytes(self) -> usize {
        size_of::<Head>() + self.ranks * self.lane_bytes()
    }
}

/// The lanes to one rank, in its segment.
///
/// Invariant: the segment has at least `layout.bytes()` bytes, all zero at first. [`Lanes::create`] has
/// committed the heads and the first lines of each lane, and the sender of a lane the other lines that it
/// uses. All processes that map the segment access it by this type. Bytes of frames are accessed by the
/// sender before it publishes the frame, and by the receiver until it frees the frame (module `ring`); all
/// else is atomic. [`Sender`] and [`Receiver`] claim their end of the lanes in the segment itself, so each
/// end has one holder over all processes.
#[derive(Debug)]
pub struct Lanes {
    segment: Segment,
    layout: Layout,
}

/// One lane.
#[derive(Clone, Copy)]
struct Lane<'a> {
    head: &'a LaneHead,
    lines: NonNull<u8>,
    layout: Layout,
}

impl Lane<'_> {
    /// Returns the bytes of a frame, which the sender may access before it publishes the frame, and the
    /// receiver before it frees the frame.
    fn bytes(&self, line: u32, bytes: usize) -> NonNull<[u8]> {
        let at = line as usize * LINE + HEADER;
        let is_inside = bytes <= self.layout.lines * LINE && at + bytes <= self.layout.lines * LINE;
        assert!(is_inside, "a lane has no frame of {bytes} bytes at line {line}");
        // SAFETY: the frame lies in the lane.
        NonNull::slice_from_raw_parts(unsafe { self.lines.add(at) }, bytes)
    }
}

impl Lines for Lane<'_> {
    #[inline]
    fn header(&self, line: u32) -> &AtomicU64 {
        assert!((line as usize) < self.layout.lines, "a lane has no line {line}");
        // SAFETY: the line lies in the lane.
        let first = unsafe { self.lines.add(line as usize * LINE) };
        // SAFETY: the front of a line is aligned. While it is a header, all processes access it as an atomic
        // number. It becomes a part of a frame and a header again in the order that `ring` describes.
        unsafe { first.cast().as_ref() }
    }

    #[inline]
    fn begin(&self) -> &AtomicU32 {
        &self.head.begin.0
    }
}

impl Lanes {
    /// Creates the segment of one of `ranks` ranks.
    ///
    /// # Errors
    ///
    /// Fails if memory is exhausted, or if the shape is too large.
    pub fn create(ranks: usize, shape: LaneShape) -> io::Result<SegmentFile> {
        let layout = Layout::new(ranks, shape).ok_or(io::ErrorKind::InvalidInput)?;
        let [in_ranks, lines] = layout.as_numbers();
        let file = SegmentFile::create(layout.bytes())?;
        let segment = Segment::map(file.try_clone()?)?;
        segment.commit(0..size_of::<Head>())?;
        let lanes = Lanes { segment, layout };
        for from in 0..ranks {
            let at = layout.lane_at(from);
            // The first lines too, so that a lane works even if there is no memory for more.
            lanes.segment.commit(at..at + Layout::line_at(layout.first_lines()))?;
        }
        let head = lanes.head();
        head.wants_frames.make_lasting();
        // Ordering: Relaxed. No other process knows the segment yet.
        head.ranks.store(in_ranks, Ordering::Relaxed);
        head.lines.store(lines, Ordering::Relaxed);
        // Ordering: Release; pairs with the Acquire in `open`.
        head.magic.store(MAGIC, Ordering::Release);
        Ok(file)
    }

    /// Maps the segment of a rank.
    ///
    /// # Errors
    ///
    /// Fails if the segment is not one of `ranks` ranks.
    pub fn open(file: SegmentFile, ranks: usize) -> io::Result<Arc<Lanes>> {
        let foreign = || io::Error::other("this descriptor is not a segment of the run");
        let segment = Segment::map(file)?;
        if segment.size() < size_of::<Head>() {
            return Err(foreign());
        }
        let unchecked = Lanes { segment, layout: Layout { ranks, lines: 0 } };
        let head = unchecked.head();
        // Ordering: Acquire; pairs with the Release in `create`, which makes the numbers visible.
        let magic = head.magic.load(Ordering::Acquire);
        let [of_ranks, lines] = [&head.ranks, &head.lines].map(|number| number.load(Ordering::Relaxed));
        let bytes = u32::try_from(lines as usize * LINE).map_err(|_| foreign())?;
        let layout = Layout::new(ranks, LaneShape { bytes }).ok_or_else(foreign)?;
        if magic != MAGIC || of_ranks as usize != ranks || unchecked.segment.size() != layout.bytes() {
            return Err(foreign());
        }
        Ok(Arc::new(Lanes { segment: unchecked.segment, layout }))
    }

    fn head(&self) -> &Head {
        // SAFETY: the segment starts at a page, and `create` and `open` have checked that it has room for a
        // `Head`. All fields are atomic numbers, for which all bits are valid.
        unsafe { self.segment.base().cast().as_ref() }
    }

    #[inline]
    fn lane(&self, from: usize) -> Lane<'_> {
        assert!(from < self.layout.ranks, "rank {from} of {}", self.layout.ranks);
        // SAFETY: by the invariant, the lane of each rank lies in the segment.
        let base = unsafe { self.segment.base().add(self.layout.lane_at(from)) };
        // SAFETY: the lane has a `LaneHead` at its front. The sizes of `Head` and of lanes are multiples of a
        // cache line. All fields are atomic numbers.
        let head = unsafe { base.cast::<LaneHead>().as_ref() };
        // SAFETY: the lines lie in the lane.
        let lines = unsafe { base.add(Layout::line_at(0)) };
        Lane { head, lines, layout: self.layout }
    }

    /// Commits the memory of the lines of a lane from `begin` to `end`.
    fn commit_lines(&self, from: usize, begin: u32, end: u32) -> io::Result<()> {
        let [begin, end] = [begin, end].map(|line| self.layout.lane_at(from) + Layout::line_at(line as usize));
        self.segment.commit(begin..end)
    }

    /// Returns the number of times that the bell has rung.
    pub fn rings(&self) -> u32 {
        self.head().bell.seen()
    }

    /// Sleeps until the bell has rung more often than `seen` times. May return early.
    pub fn wait(&self, seen: u32) {
        self.head().bell.wait(seen);
    }

    /// Wakes all threads that wait for the bell.
    pub fn ring(&self) {
        self.head().bell.ring();
    }

    /// Requests that the bell rings when the next frame is sent. The caller looks for frames after this
    /// call, and before it sleeps.
    pub fn request_ring(&self) {
        self.head().wants_frames.make();
    }

    /// As [`request_ring`](Lanes::request_ring). Without any call of this function, the bell rings for every
    /// frame; after it, the bell rings only on request.
    pub fn request_only_this_ring(&self) {
        self.head().wants_frames.make_only();
    }

    /// Rings the bell if its rank has asked for it. Senders call this after they have sent a frame.
    pub fn announce(&self) {
        if self.head().wants_frames.take() {
            self.ring();
        }
    }

    /// Notes that the rank has ended: nothing that it sends comes after this.
    pub fn end(&self) {
        // Ordering: Release; pairs with the Acquire in `has_ended`.
        self.head().has_ended.store(1, Ordering::Release);
    }

    /// Returns true if the rank has ended. Every frame that it sent before is then visible.
    pub fn has_ended(&self) -> bool {
        // Ordering: Acquire; pairs with the Release in `end`.
        self.head().has_ended.load(Ordering::Acquire) != 0
    }
}

fn claim(is_claimed: &AtomicU32) -> io::Result<()> {
    // Ordering: Relaxed. The first process wins, and no other memory is read by it.
    match is_claimed.swap(1, Ordering::Relaxed) {
        0 => Ok(()),
        _ => Err(io::Error::other("another process has this rank already")),
    }
}

/// The sending end of one lane.
#[derive(Debug)]
pub struct Sender {
    lanes: Arc<Lanes>,
    from: usize,
    writing: Writing,
}

impl Sender {
    /// Claims the sending end of the lane of rank `from`.
    ///
    /// # Errors
    ///
    /// Fails if it was claimed before, by this or another process.
    pub fn claim(lanes: Arc<Lanes>, from: usize) -> io::Result<Sender> {
        claim(&lanes.lane(from).head.is_claimed)?;
        let lines = u32::try_from(lanes.layout.first_lines()).expect("they are few");
        Ok(Sender { lanes, from, writing: Writing::new(lines) })
    }

    /// Returns the greatest number of bytes up to `wanted` for which one frame has room once all frames
    /// before it are read. Takes more memory if that is needed, up to a quarter of the lane for a frame.
    pub fn part(&mut self, wanted: usize) -> usize {
        let [_, most] = self.lanes.layout.as_numbers();
        let wanted = wanted.min(most as usize / 4 * LINE - HEADER);
        // A frame has less than half of the lines.
        let needed = (2 * lines_of(wanted) + 2).next_power_of_two();
        self.take_lines(needed);
        self.writing.prefer(needed);
        wanted.min((self.writing.lines() / 2 - 1) as usize * LINE - HEADER)
    }

    /// Sends a frame of `bytes` bytes, at most those that [`Sender::part`] returns. `write` fills it, and
    /// finds any bytes in it. `continues` is true if the next frame is a part of the same byte string. Takes
    /// further memory if that is needed. Returns false if there is no room.
    pub fn send(&mut self, bytes: usize, continues: bool, write: impl FnOnce(&mut [u8])) -> bool {
        let lines = lines_of(bytes);
        let Some(line) = self.room(lines).or_else(|| self.further_room(lines)) else { return false };
        self.write_at(line, bytes, |frame| {
            write(frame);
            (bytes, continues)
        });
        true
    }

    /// As [`Sender::send`], of a frame of at most `most` bytes, and only in memory that the lane has or in
    /// near memory. `write` returns the number of bytes that it has written, and whether the next frame is a
    /// part of the same byte string. If there is no room, `write` is not called.
    ///
    /// # Panics
    ///
    /// If `write` returns a greater number than `most`.
    pub fn write(&mut self, most: usize, write: impl FnOnce(&mut [u8]) -> (usize, bool)) -> bool {
        let Some(line) = self.room(lines_of(most)) else { return false };
        self.write_at(line, most, write);
        true
    }

    /// Writes and publishes a frame of at most `most` bytes at a line that `room` or `further_room` has
    /// returned for as many.
    fn write_at(&mut self, line: u32, most: usize, write: impl FnOnce(&mut [u8]) -> (usize, bool)) {
        let lane = self.lanes.lane(self.from);
        // SAFETY: these lines are free, so nobody else accesses them. They are committed, and initialised
        // because a new segment has bytes of zero.
        let (bytes, continues) = write(unsafe { lane.bytes(line, most).as_mut() });
        assert!(bytes <= most, "a frame of {bytes} bytes in room for {most}");
        self.writing.publish(&lane, line, lines_of(bytes), Frame { bytes, continues });
    }

    /// Returns the line for a frame of `lines` lines. Takes further lines only if they will be near.
    fn room(&mut self, lines: u32) -> Option<u32> {
        let [_, most] = self.lanes.layout.as_numbers();
        if self.writing.is_at_turn(lines) {
            let of_frames = lines.saturating_mul(NEAR_FRAMES).min(lines_of(NEAR_BYTES_MAX - HEADER));
            let limit = lines_of(NEAR_BYTES - HEADER).max(of_frames);
            let near = (2 * self.writing.near()).min(most).min(limit);
            self.take_lines(near);
            self.writing.prefer(near);
        }
        self.writing.room(&self.lanes.lane(self.from), lines)
    }

    /// Returns the line for a frame of `lines` lines for which there is no room, in further memory.
    fn further_room(&mut self, lines: u32) -> Option<u32> {
        let [_, most] = self.lanes.layout.as_numbers();
        self.take_lines(most.min(2 * self.writing.lines()));
        self.writing.further_room(lines)
    }

    /// Takes further lines into use, up to `lines` in all. If memory is exhausted, the lane keeps the lines
    /// that it has, and the sender waits for room in them.
    fn take_lines(&mut self, lines: u32) {
        let begin = self.writing.lines();
        if begin < lines && self.lanes.commit_lines(self.from, begin, lines).is_ok() {
            self.writing.extend(lines);
        }
    }

    /// Returns true if a frame of `bytes` bytes has room in the memory that the lane has. [`Sender::send`]
    /// also takes further memory.
    pub fn has_room(&mut self, bytes: usize) -> bool {
        self.writing.room(&self.lanes.lane(self.from), lines_of(bytes)).is_some()
    }

    /// Requests that the receiver rings the bell of this sender's rank when it has read frames. The caller
    /// calls [`has_room`](Sender::has_room) after this, and before it sleeps.
    pub fn request_room(&mut self) {
        self.lanes.lane(self.from).head.wants_room.make();
    }
}

/// The receiving end of all lanes of a segment.
#[derive(Debug)]
pub struct Receiver {
    lanes: Arc<Lanes>,
    /// By sender.
    reading: Vec<Reading>,
}

impl Receiver {
    /// Claims the receiving end of all lanes of a segment.
    ///
    /// # Errors
    ///
    /// Fails if it was claimed before, by this or another process.
    pub fn claim(lanes: Arc<Lanes>) -> io::Result<Receiver> {
        claim(&lanes.head().is_claimed)?;
        let reading = (0..lanes.layout.ranks).map(|_| Reading::default()).collect();
        Ok(Receiver { lanes, reading })
    }

    /// Returns the first rank from `first` on whose next frame has arrived. Returns `None` if there is none.
    pub fn next_with_frame(&self, first: usize) -> Option<usize> {
        let Receiver { lanes, reading } = self;
        (first..reading.len()).find(|&from| reading[from].has_next(&lanes.lane(from)))
    }

    /// Returns the number of frames of rank `from` that have arrived and are not received.
    pub fn arrived(&self, from: usize) -> usize {
        self.reading[from].arrived(&self.lanes.lane(from))
    }

    /// Passes the next frame of rank `from` to `read`, and frees its lines. `read` also learns whether the
    /// next frame is a part of the same byte string. Returns false if there is no frame.
    pub fn receive(&mut self, from: usize, read: impl FnOnce(&[u8], bool)) -> bool {
        let lane = self.lanes.lane(from);
        let Some((line, Frame { bytes, continues })) = self.reading[from].next(&lane) else { return false };
        // SAFETY: the frame is published and not freed, so nobody writes it. Its bytes are initialised.
        read(unsafe { lane.bytes(line, bytes).as_ref() }, continues);
        self.reading[from].advance(&lane, lines_of(bytes));
        true
    }

    /// Returns true if rank `from` has sent no frame that is not received.
    pub fn is_empty(&mut self, from: usize) -> bool {
        self.reading[from].next(&self.lanes.lane(from)).is_none()
    }

    /// Returns true if rank `from` waits for room, so that its bell must be rung. Receivers call this after
    /// they have received frames.
    pub fn take_request_for_room(&mut self, from: usize) -> bool {
        self.lanes.lane(from).head.wants_room.take()
    }
}
