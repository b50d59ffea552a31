//! One end of a connection that a test plays the other end of.

use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use parades_tcp::environment::{Ecn, Environment, Notice, Refill, Timer};
use parades_tcp::header::{Flags, Header, Range, SynOptions, Timestamps};
use parades_tcp::seq::Seq;
use parades_tcp::settings::{DelayedAckCount, EcnUse, RtoFloor, Settings};
use parades_tcp::{Connection, Ports, State};

/// The initial sequence number of the end under test.
pub(crate) const OURS: Seq = Seq(1000);
/// The initial sequence number of the other end, which the test plays.
pub(crate) const THEIRS: Seq = Seq(5000);
/// The payload of a full segment.
pub(crate) const MSS: u32 = 1000;

/// A segment that the end under test has sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    pub(crate) at: Time,
    pub(crate) header: Header,
    pub(crate) bytes: u32,
    pub(crate) ecn: Ecn,
}

impl Out {
    /// Returns the first byte of the stream in the segment, from 0, and the number of bytes.
    pub(crate) fn data(&self) -> (u32, u32) {
        (self.header.seq.since(OURS) - 1, self.bytes)
    }

    /// Returns the byte of the other end's stream that is expected next, from 0.
    pub(crate) fn ack(&self) -> u32 {
        self.header.ack.since(THEIRS) - 1
    }

    pub(crate) fn has(&self, flags: Flags) -> bool {
        self.header.flags.has(flags)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Kept {
    now: Time,
    out: Vec<Out>,
    timers: [Option<Time>; 4],
    pub(crate) notices: Vec<Notice>,
    pub(crate) delivered: u32,
    /// Bytes that the application adds as soon as the send buffer has room.
    pub(crate) unwritten: u64,
    reads: bool,
}

impl Environment for Kept {
    fn now(&self) -> Time {
        self.now
    }
    fn transmit(&mut self, header: &Header, _: u64, bytes: u32, ecn: Ecn) {
        self.out.push(Out { at: self.now, header: *header, bytes, ecn });
    }
    fn refill(&mut self, room: u64) -> Refill {
        let bytes = room.min(self.unwritten);
        self.unwritten -= bytes;
        Refill { bytes, is_last: false }
    }
    fn set_timer(&mut self, timer: Timer, delay: Delay) {
        self.timers[timer as usize] = Some(self.now.saturating_add(delay));
    }
    fn cancel_timer(&mut self, timer: Timer) {
        self.timers[timer as usize] = None;
    }
    fn deliver(&mut self, bytes: u32) -> u32 {
        self.delivered += bytes;
        if self.reads { bytes } else { 0 }
    }
    fn notify(&mut self, notice: Notice) {
        self.notices.push(notice);
    }
}

/// The end under test.
pub(crate) struct Script {
    pub(crate) settings: Settings,
    pub(crate) end: Connection,
    pub(crate) env: Kept,
    /// The sequence number of the other end's next segment.
    pub(crate) seq: Seq,
    /// The window of the other end's segments, as it is on the wire.
    pub(crate) window: u16,
    /// The shift of the other end's windows.
    pub(crate) shift: u8,
    /// True if the other end permits selective acknowledgements.
    pub(crate) has_sack: bool,
    /// The timestamps of the other end's segments.
    pub(crate) timestamps: Option<Timestamps>,
}

/// Returns settings without options that would change the numbers: no timestamps, RTO of at least a second,
/// no probes, no loss detection by time, no Nagle. Every second segment is acknowledged, whatever its size.
pub(crate) fn plain() -> Settings {
    Settings {
        mss: MSS,
        timestamps: false,
        quick_acks: 0,
        delayed_ack_count: DelayedAckCount::Segments,
        nagle: false,
        rack: false,
        tail_loss_probe: false,
        frto: false,
        ecn: EcnUse::Off,
        rto_floor: RtoFloor::Whole(Delay::from_secs(1)),
        delayed_ack_timeout: Delay::from_ms(200),
        ..Settings::linux()
    }
}

const PORTS: Ports = Ports { local: 1, remote: 2 };

impl Script {
    /// Returns an end that is closed and will connect.
    pub(crate) fn closed(settings: Settings) -> Script {
        let end = Connection::connect(&settings, PORTS, OURS);
        Script::new(settings, end)
    }

    /// Returns an end that listens.
    pub(crate) fn listening(settings: Settings) -> Script {
        let end = Connection::listen(&settings, PORTS, OURS);
        Script::new(settings, end)
    }

    fn new(settings: Settings, end: Connection) -> Script {
        let env = Kept { now: Time::from_secs(1), reads: true, ..Kept::default() };
        Script { settings, end, env, seq: THEIRS, window: u16::MAX, shift: 0, has_sack: true, timestamps: None }
    }

    /// Returns an end that has opened the connection. The round trip of the handshake was 100 ms. Nothing is
    /// left of what was sent.
    pub(crate) fn established(settings: Settings) -> Script {
        Script::closed(settings).establish()
    }

    pub(crate) fn establish(mut self) -> Script {
        self.open();
        self.wait(Delay::from_ms(100));
        let flags = Flags::SYN | Flags::ACK;
        self.arrive(Header { flags, ack: OURS.add(1), ..self.syn() }, 0);
        assert_eq!(self.end.state(), State::Established);
        self.env.out.clear();
        self
    }

    /// Returns the other end's SYN.
    pub(crate) fn syn(&self) -> Header {
        let syn = SynOptions { mss: Some(1460), window_shift: Some(self.shift), has_sack: self.has_sack };
        let (seq, window, timestamps) = (THEIRS, self.window, self.timestamps);
        Header {
            source_port: 2,
            destination_port: 1,
            seq,
            flags: Flags::SYN,
            window,
            timestamps,
            syn,
            ..Header::default()
        }
    }

    /// Makes the application read late, by [`Script::read`].
    pub(crate) fn reading_late(mut self) -> Script {
        self.env.reads = false;
        self
    }

    pub(crate) fn open(&mut self) {
        self.end.unrecorded().open(&self.settings, &mut self.env);
    }

    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        self.end.unrecorded().write(&self.settings, bytes, &mut self.env)
    }

    pub(crate) fn read(&mut self, bytes: u64) {
        self.end.unrecorded().read(&self.settings, bytes, &mut self.env);
    }

    pub(crate) fn close(&mut self) {
        self.end.unrecorded().close(&self.settings, &mut self.env);
    }

    pub(crate) fn release(&mut self) {
        self.end.unrecorded().release(&self.settings, &mut self.env);
    }

    pub(crate) fn abort(&mut self) {
        self.end.unrecorded().abort(&self.settings, &mut self.env);
    }

    /// Lets a segment arrive.
    pub(crate) fn arrive(&mut self, header: Header, bytes: u32) {
        self.arrive_marked(header, bytes, Ecn::NotCapable);
    }

    pub(crate) fn arrive_marked(&mut self, header: Header, bytes: u32, ecn: Ecn) {
        self.end.unrecorded().on_segment(&self.settings, &header, bytes, ecn, &mut self.env);
        assert!(self.end.is_consistent());
        if header.seq == self.seq {
            let flags = header.flags;
            self.seq = self.seq.add(bytes + u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN)));
        }
    }

    /// Returns an acknowledgement of all bytes below `byte` of our stream.
    pub(crate) fn ack_of(&self, byte: u32) -> Header {
        let (seq, window, timestamps) = (self.seq, self.window, self.timestamps);
        Header {
            source_port: 2,
            destination_port: 1,
            seq,
            ack: OURS.add(1 + byte),
            flags: Flags::ACK,
            window,
            timestamps,
            ..Header::default()
        }
    }

    /// Acknowledges all bytes below `byte`, and selectively those in `blocks`.
    pub(crate) fn ack(&mut self, byte: u32, blocks: &[(u32, u32)]) {
        let mut header = self.ack_of(byte);
        for (index, &(from, to)) in blocks.iter().enumerate() {
            header.sack[index] = Range { from: OURS.add(1 + from), to: OURS.add(1 + to) };
            header.sack_blocks += 1;
        }
        self.arrive(header, 0);
    }

    /// Lets `bytes` bytes of the other end's stream arrive, from `byte` on.
    pub(crate) fn data(&mut self, byte: u32, bytes: u32) {
        let acked = u32::try_from(self.end.sender().next - 1).expect("a short stream");
        let header = Header { seq: THEIRS.add(1 + byte), ..self.ack_of(acked) };
        self.arrive(header, bytes);
    }

    /// Returns what was sent since the last call.
    pub(crate) fn sent(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.env.out)
    }

    /// Returns the data segments sent since the last call, as first byte and length.
    pub(crate) fn sent_data(&mut self) -> Vec<(u32, u32)> {
        self.sent().iter().filter(|out| out.bytes > 0).map(Out::data).collect()
    }

    /// Returns the time until a timer is due.
    pub(crate) fn timer(&self, timer: Timer) -> Option<Delay> {
        self.env.timers[timer as usize].map(|due| due.since(self.env.now))
    }

    /// Lets time pass, and calls all timers that become due.
    pub(crate) fn wait(&mut self, delay: Delay) {
        let end = self.env.now.saturating_add(delay);
        loop {
            let timers = [Timer::Retransmit, Timer::DelayedAck, Timer::Pacing, Timer::Reordering];
            let next = timers.into_iter().filter_map(|timer| Some((self.env.timers[timer as usize]?, timer)));
            let Some((due, timer)) = next.min_by_key(|&(due, _)| due).filter(|&(due, _)| due <= end) else { break };
            self.env.now = due;
            self.env.timers[timer as usize] = None;
            self.end.unrecorded().on_timer(&self.settings, timer, &mut self.env);
            assert!(self.end.is_consistent());
        }
        self.env.now = end;
    }
}
