//! Our sides, over the shared-memory transport. [`Payload::Batched`] writes messages for one receiver into
//! one byte string, in the lane, as a run does with events. [`Payload::Copied`] sends a byte string for each
//! message. [`Payload::InPlace`] writes each message into an arena and sends the place, as a run does with
//! bulk payloads.

use super::Cell;
use crate::child::cannot_start;
use parades_core::arena::{self, Installed};
use parades_core::bytes::Bytes;
use parades_core::wire::{self, Destination, FrameWriter, Room, Sink};
use parades_session::Failure;
use parades_transport::{Fabric, LaneShape, SegmentFile, SharedMemory};
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// The environment variable that makes a process a rank: the [`Role`] in words.
pub(super) const RANK: &str = "PARADES_BENCH_RANK";
/// The attempts without success after which a rank gives up its core, as the rivals do. With more ranks than
/// cores, it does so after each, as a worker of a run does (`parades_sync::patience`).
const IDLE_SPINS: u32 = 100;
/// The pauses between two checks that the other ranks are alive.
const PAUSES_PER_CHECK: u32 = 64;

/// The slots of the rivals between two ranks. An arena has room for as many messages to each receiver. A
/// sender that runs ahead further copies its messages, as in a run, and then waits for room.
const SLOTS: usize = 256;

/// The bytes of the messages of a batch from which on it is sent, as those of a bundle in a run.
const BATCH_BYTES: usize = 8 << 10;
/// The same, for messages in place.
const PLACES_BYTES: usize = 15 << 10;
/// The bytes before each message of a batch: its length.
const PREFIX: usize = size_of::<usize>();
/// More bytes than the places of a batch take, so that the first one fits.
const FORM: usize = 512;

/// The path of a message's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// The sender writes them in the lane, behind other messages for the same receiver, where the receiver
    /// reads them. It does so once there are enough of them, or at the end of all messages.
    Batched,
    /// The sender writes them into memory of its own. The transport copies them into a lane, where the
    /// receiver reads them.
    Copied,
    /// As payloads of a run. The sender writes them into its arena, where the receiver reads them. A batch
    /// has their places. Messages below [`ARENA_MIN`](parades_core::bytes::ARENA_MIN) are copied, by both; so
    /// is a message for which the arena has no room.
    InPlace,
}

/// Runs a cell. `command` starts a process that calls [`run_as_rank`]. Returns the nanoseconds a message.
pub(super) fn run(command: &dyn Fn() -> Command, cell: Cell, payload: Payload) -> Result<f64, Failure> {
    let segments = SharedMemory::create(cell.ranks, LaneShape::default()).map_err(|error| wrong(&error))?;
    let arenas = if payload == Payload::InPlace { cell.ranks } else { 0 };
    let arenas = (0..arenas).map(|rank| SegmentFile::create(arena_bytes(cell, rank))).collect::<Result<Vec<_>, _>>();
    let arenas = arenas.map_err(|error| wrong(&error))?;
    let fds: Vec<String> = segments.iter().chain(&arenas).map(|file| file.raw_fd().to_string()).collect();
    let start = |rank: usize| {
        let Cell { pattern, bytes, ranks, messages } = cell;
        let is_batched = u8::from(payload == Payload::Batched);
        let parent = std::process::id();
        let role = format!("{rank} {pattern} {bytes} {ranks} {messages} {is_batched} {parent} {}", fds.join(" "));
        let mut command = command();
        command.env(RANK, role).stdout(Stdio::null()).spawn().map_err(|error| cannot_start(&error))
    };
    let mut children = Children((1..cell.ranks).map(start).collect::<Result<_, _>>()?);
    let fabric = SharedMemory::join(0, segments).map_err(|error| wrong(&error))?;
    let _installed = install(0, &arenas)?;
    let ns = Rank::new(&*fabric, cell, payload).lead(&mut || children.check())?;
    children.join()?;
    Ok(ns)
}

/// Returns the bytes of the arena of a rank. A message takes up to a quarter more than its bytes, and an
/// entry; the head takes some kilobytes.
fn arena_bytes(cell: Cell, rank: usize) -> usize {
    let receivers = if (cell.pattern, rank) == ("star", 0) { cell.ranks - 1 } else { 1 };
    SLOTS * receivers * (cell.bytes + cell.bytes / 4 + 128) + (64 << 10)
}

/// Returns true if the environment makes this process a rank.
pub(super) fn is_rank() -> bool {
    std::env::var_os(RANK).is_some()
}

/// Runs this process as a rank, if the environment says so. Returns true if it was one.
pub(super) fn run_as_rank() -> Result<bool, Failure> {
    let Ok(role) = std::env::var(RANK) else { return Ok(false) };
    let malformed = || Failure::simulation(format!("{RANK} is malformed: {role}"));
    let words: Vec<&str> = role.split(' ').collect();
    let [rank, pattern, bytes, ranks, messages, is_batched, parent, fds @ ..] = &words[..] else {
        return Err(malformed());
    };
    let number = |word: &str| word.parse::<usize>().map_err(|_| malformed());
    let pattern = *super::PATTERNS.iter().find(|known| *known == pattern).ok_or_else(malformed)?;
    let cell = Cell { pattern, bytes: number(bytes)?, ranks: number(ranks)?, messages: number(messages)? };
    let parent = parent.parse().map_err(|_| malformed())?;
    let open = |fd: &&str| SegmentFile::of_process(parent, fd.parse().map_err(io::Error::other)?);
    let mut segments = fds.iter().map(open).collect::<Result<Vec<_>, _>>().map_err(|error| wrong(&error))?;
    let arenas = segments.split_off(cell.ranks.min(segments.len()));
    let fabric = SharedMemory::join(number(rank)?, segments).map_err(|error| wrong(&error))?;
    let _installed = install(number(rank)?, &arenas)?;
    let payload = match (arenas.is_empty(), *is_batched) {
        (false, _) => Payload::InPlace,
        (true, "1") => Payload::Batched,
        (true, _) => Payload::Copied,
    };
    Rank::new(&*fabric, cell, payload).follow()?;
    Ok(true)
}

/// Installs the arenas of all ranks, if there are any.
fn install(rank: usize, arenas: &[SegmentFile]) -> Result<Option<Installed>, Failure> {
    if arenas.is_empty() {
        return Ok(None);
    }
    let arenas: Result<Vec<_>, _> = arenas.iter().map(|file| file.try_clone().map(Some)).collect();
    arenas.and_then(|arenas| arena::install_segments(rank, arenas)).map(Some).map_err(|error| wrong(&error))
}

fn wrong(error: &io::Error) -> Failure {
    Failure::simulation(format!("shared memory for the ranks cannot be had: {error}"))
}

/// The processes of the other ranks. They are killed when this is dropped before they have ended.
struct Children(Vec<Child>);

impl Children {
    /// Returns true if all other ranks have ended, and an error if one has failed.
    fn check(&mut self) -> Result<bool, Failure> {
        let mut have_ended = true;
        for child in &mut self.0 {
            match child.try_wait().map_err(|error| cannot_start(&error))? {
                None => have_ended = false,
                Some(status) if status.success() => {}
                Some(status) => return Err(Failure::simulation(format!("a rank failed ({status})"))),
            }
        }
        Ok(have_ended)
    }

    fn join(mut self) -> Result<(), Failure> {
        self.0.iter_mut().try_for_each(|child| child.wait().map(drop)).map_err(|error| cannot_start(&error))?;
        self.check().map(drop)
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Both fail if the process has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns true if all other ranks have ended, and an error if one has failed.
type Check<'a> = &'a mut dyn FnMut() -> Result<bool, Failure>;

/// A rank, and its progress. Empty frames are signals: that a rank is ready for the next exchange, that all
/// may begin it, that a rank is done, and that all are.
struct Rank<'a> {
    fabric: &'a dyn Fabric,
    cell: Cell,
    payload: Payload,
    /// The buffer of the message to send.
    bytes: Vec<u8>,
    /// The batches that are not sent yet, by receiver.
    batches: Vec<Batch>,
    /// The number of exchanges that this rank has begun.
    exchanges: usize,
    received: usize,
    signals: usize,
    /// The attempts without success after which this rank gives up its core.
    idle_spins: u32,
}

/// Messages for one receiver that travel together.
#[derive(Clone, Default)]
struct Batch {
    /// The seeds of the messages that are not written yet.
    seeds: Vec<u64>,
    /// The messages that are written and not encoded yet.
    messages: Vec<Bytes>,
    /// The bytes of all these messages.
    bytes: usize,
    /// The bytes that the last batch had when it was encoded. The next will have about as many, as in a run.
    encoded: usize,
}

impl Batch {
    /// Writes the messages in memory of the transport, `length` bytes each, and encodes those that lie
    /// elsewhere, as a run encodes events.
    fn write(&mut self, length: usize, room: &mut Room<'_>) {
        for seed in self.seeds.drain(..) {
            room.put_all(&length.to_ne_bytes());
            room.fill(length, |message| write_words(seed, message));
        }
        if !self.messages.is_empty() {
            let encode = || self.messages.iter().for_each(|message| wire::write(message, room));
            FrameWriter::new(Destination::SameMemory).within(encode);
            self.messages.clear();
        }
        (self.bytes, self.encoded) = (0, room.len());
    }
}

impl Rank<'_> {
    fn new(fabric: &dyn Fabric, cell: Cell, payload: Payload) -> Rank<'_> {
        // A rank looks for messages by itself. So the bell has to ring once at most, and not for each of
        // them.
        fabric.request_bell();
        let batches = vec![Batch::default(); cell.ranks];
        let idle_spins = if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < cell.ranks) {
            1
        } else {
            IDLE_SPINS
        };
        let bytes = vec![0; cell.bytes];
        Rank { fabric, cell, payload, bytes, batches, exchanges: 0, received: 0, signals: 0, idle_spins }
    }

    /// Runs rank 0. `check` fails if another rank has failed.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    fn lead(mut self, check: Check<'_>) -> Result<f64, Failure> {
        let others = self.cell.ranks - 1;
        let go = |rank: &Self| (1..=others).for_each(|to| rank.fabric.send(to, &[]));
        // A rank that has not started may never receive. So nothing is sent to it before its first signal.
        self.receive_until(&|rank| rank.signals == others, check)?;
        go(&self);
        self.exchange(check)?;
        self.receive_until(&|rank| rank.signals == 2 * others, check)?;
        go(&self);
        let begin = Instant::now();
        self.exchange(check)?;
        self.receive_until(&|rank| rank.signals == 3 * others, check)?;
        let elapsed = begin.elapsed();
        go(&self);
        Ok(elapsed.as_nanos() as f64 / self.expected() as f64)
    }

    /// Runs another rank. Such a rank is killed if rank 0 fails.
    fn follow(mut self) -> Result<(), Failure> {
        for time in 1..=2 {
            self.fabric.send(0, &[]);
            self.receive_until(&|rank| rank.signals == time, &mut || Ok(false))?;
            self.exchange(&mut || Ok(false))?;
        }
        self.fabric.send(0, &[]);
        // A process that ends takes time from the ranks that still work. So it ends after the measurement.
        self.receive_until(&|rank| rank.signals == 3, &mut || Ok(false))
    }

    /// Returns the number of messages that this rank sends, and receives.
    fn expected(&self) -> usize {
        let Cell { pattern, ranks, messages, .. } = self.cell;
        if pattern == "star" && self.fabric.rank() > 0 { messages / (ranks - 1) } else { messages }
    }

    fn receiver_of(&self, number: usize) -> usize {
        let (rank, ranks) = (self.fabric.rank(), self.cell.ranks);
        match self.cell.pattern {
            "star" if rank > 0 => 0,
            "star" => 1 + number % (ranks - 1),
            _ => (rank + 1) % ranks,
        }
    }

    /// Sends and receives all messages. Every rank does so twice: the first time finds the memory, and the
    /// second time is measured. A message of the second time may arrive during the first.
    fn exchange(&mut self, check: Check<'_>) -> Result<(), Failure> {
        let expected = self.expected();
        self.exchanges += 1;
        let in_all = self.exchanges * expected;
        for number in 0..expected {
            // A worker of a run too looks for news after it has sent a byte string, not after each event.
            if self.send(self.receiver_of(number), number as u64) {
                self.receive();
            }
        }
        for to in 0..self.cell.ranks {
            self.send_batch(to, 1);
        }
        self.receive_until(&|rank| rank.received >= in_all, check)
    }

    /// Writes every word of a message, and sends it unless it joins a batch. Returns true if it was sent.
    fn send(&mut self, to: usize, number: u64) -> bool {
        let seed = number << 8 | self.fabric.rank() as u64;
        match self.payload {
            Payload::Batched => {
                let batch = &mut self.batches[to];
                batch.seeds.push(seed);
                batch.bytes += PREFIX + self.cell.bytes;
                self.send_batch(to, BATCH_BYTES)
            }
            Payload::Copied => {
                write_words(seed, &mut self.bytes);
                self.fabric.send(to, &self.bytes);
                true
            }
            Payload::InPlace => {
                let batch = &mut self.batches[to];
                batch.messages.push(Bytes::write(self.cell.bytes, |to| write_words(seed, to)));
                batch.bytes += self.cell.bytes;
                self.send_batch(to, PLACES_BYTES)
            }
        }
    }

    /// Sends the batch for a rank if its messages have `least` bytes. While there is no room, receives.
    /// Returns true if it was sent.
    fn send_batch(&mut self, to: usize, least: usize) -> bool {
        if self.batches[to].bytes < least {
            return false;
        }
        let mut batch = std::mem::take(&mut self.batches[to]);
        let bytes = if batch.messages.is_empty() { batch.bytes } else { FORM + batch.encoded + batch.encoded / 4 };
        let mut spins = 0;
        while !self.fabric.try_write(to, bytes, &mut |room| batch.write(self.cell.bytes, room)) {
            if !self.receive() {
                spins += 1;
                if spins % self.idle_spins == 0 {
                    std::thread::yield_now();
                }
            }
        }
        self.batches[to] = batch;
        true
    }

    /// Receives what has arrived. Returns true if there was something.
    fn receive(&mut self) -> bool {
        let before = (self.received, self.signals);
        self.fabric.receive(&mut |_, bytes| match bytes.is_empty() {
            true => self.signals += 1,
            false => {
                self.received += match self.payload {
                    Payload::Batched => check_batch(bytes),
                    Payload::Copied => check_words(bytes),
                    Payload::InPlace => check_frame(bytes),
                };
            }
        });
        (self.received, self.signals) != before
    }

    fn receive_until(&mut self, is_reached: &dyn Fn(&Self) -> bool, check: Check<'_>) -> Result<(), Failure> {
        let (mut spins, mut pauses) = (0, 0);
        while !is_reached(self) {
            if self.receive() {
                continue;
            }
            spins += 1;
            if spins % self.idle_spins == 0 {
                std::thread::yield_now();
                pauses += 1;
                // Everything that a rank has sent has arrived once the rank has ended.
                if pauses % PAUSES_PER_CHECK == 0 && check()? && !self.receive() && !is_reached(self) {
                    return Err(Failure::simulation("the other ranks ended too early"));
                }
            }
        }
        Ok(())
    }
}

/// Writes every word of a message.
fn write_words(seed: u64, bytes: &mut [u8]) {
    let words = bytes.chunks_exact_mut(8);
    (seed..).zip(words).for_each(|(value, word)| word.copy_from_slice(&value.to_ne_bytes()));
}

/// Checks the messages of a batch, which is one frame. Returns their number. A run too reads a frame before
/// it executes its events.
fn check_frame(mut batch: &[u8]) -> usize {
    let next = || (!batch.is_empty()).then(|| wire::read(&mut batch).expect("the sender wrote a message"));
    let messages: Vec<Bytes> = wire::read_frame(|| std::iter::from_fn(next).collect());
    messages.iter().map(|message| check_words(message)).sum()
}

/// Checks the messages of a batch. Returns their number.
fn check_batch(mut batch: &[u8]) -> usize {
    let mut messages = 0;
    while let Some((length, rest)) = batch.split_first_chunk::<PREFIX>() {
        let (message, rest) = rest.split_at(usize::from_ne_bytes(*length));
        messages += check_words(message);
        batch = rest;
    }
    messages
}

/// Reads every word of a message, and checks their sum. Returns the number of messages, 1.
fn check_words(bytes: &[u8]) -> usize {
    let words = bytes.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")));
    let (first, count) = (words.clone().next().expect("it is not empty"), words.len() as u64);
    let expected = count.wrapping_mul(first).wrapping_add(count * (count - 1) / 2);
    assert_eq!(words.fold(0_u64, u64::wrapping_add), expected, "a message arrived with wrong bytes");
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_messages_arrive_between_processes_in_every_pattern() {
        if run_as_rank().expect("the rank runs") {
            return;
        }
        let name = "tables::transport::ours::tests::all_messages_arrive_between_processes_in_every_pattern";
        let command = || {
            let mut command = Command::new(std::env::current_exe().expect("this test runs"));
            command.args(["--exact", name, "--nocapture"]);
            command
        };
        for (pattern, ranks) in [("pair", 2), ("ring", 3), ("star", 4)] {
            for (bytes, payload) in [
                (64, Payload::Batched),
                (64 << 10, Payload::Batched),
                (64, Payload::Copied),
                (64 << 10, Payload::Copied),
                (64, Payload::InPlace),
                (64 << 10, Payload::InPlace),
            ] {
                let ns = run(&command, Cell { pattern, bytes, ranks, messages: 420 }, payload).expect("all arrive");
                assert!(ns > 0.0, "{pattern} {bytes} {payload:?}");
            }
        }
    }

    #[test]
    fn a_rank_that_ends_too_early_ends_the_measurement() {
        let cell = Cell { pattern: "pair", bytes: 64, ranks: 2, messages: 420 };
        for (program, sentence) in [("false", "a rank failed"), ("true", "the other ranks ended too early")] {
            let result = run(&|| Command::new(program), cell, Payload::Copied);
            assert!(result.is_err_and(|why| why.to_string().contains(sentence)), "{program}");
        }
    }

    #[test]
    #[should_panic(expected = "wrong bytes")]
    fn a_changed_byte_is_noticed() {
        let mut bytes: Vec<u8> = (7..15_u64).flat_map(u64::to_ne_bytes).collect();
        bytes[20] ^= 1;
        check_words(&bytes);
    }
}
