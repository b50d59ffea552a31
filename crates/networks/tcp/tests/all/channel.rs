//! Two ends over a channel that loses, delays, reorders, duplicates and marks segments at random.
//! Applications write, read and close at random times. Every byte is followed from its writing to its
//! reading.

use parades_core::restore::{UndoLog, Undoable};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Algorithm, Bbr, Cubic, Dctcp, NewReno, Vegas};
use parades_tcp::environment::{Ecn, Environment, Notice, Timer};
use parades_tcp::header::{Flags, Header, Range};
use parades_tcp::seq::Seq;
use parades_tcp::settings::{DelayedAckCount, EcnUse, FlightSize, KeepAlive, Reduction, Settings};
use parades_tcp::{Connection, ConnectionUndo, Ports, Span, State};

/// A generator of random numbers (xorshift64*).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Returns a number from `low` to `high`.
    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// Returns a small number from `low` to `high`.
    pub(crate) fn small(&mut self, low: u32, high: u32) -> u32 {
        u32::try_from(self.within(low.into(), high.into())).expect("a small number")
    }

    /// Returns true once in `n` times.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.once_in(2)
    }
}

/// Returns random settings. The numbers of retries are high enough that no connection is given up.
pub(crate) fn random_settings(random: &mut Random) -> Settings {
    let base = if random.flip() { Settings::linux() } else { Settings::ns3() };
    let algorithms = [
        Algorithm::NewReno(NewReno::rfc5681()),
        Algorithm::NewReno(NewReno::ns3()),
        Algorithm::Cubic(Cubic::rfc9438()),
        Algorithm::Cubic(Cubic::ns3()),
        Algorithm::Dctcp(Dctcp::rfc8257()),
        Algorithm::Vegas(Vegas::linux()),
        Algorithm::Bbr(Bbr::draft00()),
    ];
    let algorithm = algorithms[random.small(0, 6) as usize].clone();
    let reductions = [
        Reduction::AtOnce,
        Reduction::Rfc6937 { wraps: true },
        Reduction::Rfc6937 { wraps: false },
        Reduction::Rfc9937,
    ];
    let counts = [DelayedAckCount::FullSegments, DelayedAckCount::Bytes, DelayedAckCount::Segments];
    let brief = KeepAlive { idle: Delay::from_secs(1), interval: Delay::from_ms(600), probes: 200 };
    let mut settings = Settings {
        algorithm,
        mss: if random.flip() { 1460 } else { random.small(30, 2000) },
        send_buffer: 1 << random.small(7, 20),
        receive_buffer: 1 << random.small(7, 20),
        window_scaling: !random.once_in(4),
        timestamps: !random.once_in(3),
        sack: !random.once_in(3),
        ecn: [EcnUse::Off, EcnUse::Accept, EcnUse::Ask][random.small(0, 2) as usize],
        initial_window: random.small(1, 10),
        delayed_ack_segments: random.small(1, 3),
        delayed_ack_count: counts[random.small(0, 2) as usize],
        keep_alive: random.once_in(4).then_some(brief),
        reduction: reductions[random.small(0, 3) as usize],
        syn_retries: 60,
        data_retries: 200,
        rto_max: Delay::from_secs(2),
        persist_max: Delay::from_secs(2),
        ..base
    };
    let flags: [&mut bool; 20] = [
        &mut settings.dsack,
        &mut settings.nagle,
        &mut settings.keeps_backoff,
        &mut settings.restarts_timer_at_each_part,
        &mut settings.limited_transmit,
        &mut settings.reduces_gradually_after_mark,
        &mut settings.retransmits_at_each_part,
        &mut settings.retransmits_beyond_sacked,
        &mut settings.rescues,
        &mut settings.counts_sacked_retransmissions,
        &mut settings.duplicates_deliver,
        &mut settings.rack,
        &mut settings.tail_loss_probe,
        &mut settings.frto,
        &mut settings.undoes_by_dsack,
        &mut settings.paces,
        &mut settings.restarts_after_idle,
        &mut settings.counts_all_marks,
        &mut settings.judges_first_segment,
        &mut settings.restarts_timer_in_disorder,
    ];
    for flag in flags {
        *flag ^= random.once_in(4);
    }
    settings.flight_size = if random.flip() { FlightSize::Pipe } else { FlightSize::Outstanding };
    settings
}

/// The quality of a channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    pub(crate) delay_us: u64,
    pub(crate) jitter_us: u64,
    /// One segment in `lost_of` is lost; none if 0.
    pub(crate) lost_of: u64,
    pub(crate) duplicated_of: u64,
    pub(crate) marked_of: u64,
    /// One forged segment for this many real ones; none if 0.
    pub(crate) forged_of: u64,
}

impl Channel {
    pub(crate) fn random(random: &mut Random) -> Channel {
        Channel {
            delay_us: random.within(10, 50_000),
            jitter_us: [0, 100, 20_000][random.small(0, 2) as usize],
            lost_of: [0, 100, 20, 8][random.small(0, 3) as usize],
            duplicated_of: [0, 0, 30][random.small(0, 2) as usize],
            marked_of: [0, 10][random.small(0, 1) as usize],
            forged_of: 0,
        }
    }
}

/// A segment on the channel.
#[derive(Clone, Copy, Debug)]
struct Segment {
    header: Header,
    /// The place of the payload in the stream, or `None` if the segment is forged.
    offset: Option<u64>,
    bytes: u32,
    ecn: Ecn,
}

/// The environment of an end, and what its application knows.
#[derive(Debug, Default)]
struct Surroundings {
    now: Time,
    out: Vec<Segment>,
    timers: [Option<Time>; 4],
    /// The offset of the arriving segment's payload at its sender.
    arriving: Option<u64>,
    /// Ranges of the other end's stream that were kept, in order.
    kept: Vec<Span>,
    delivered: u64,
    read_at_once: bool,
    notices: Vec<Notice>,
}

impl Environment for Surroundings {
    fn now(&self) -> Time {
        self.now
    }
    fn transmit(&mut self, header: &Header, offset: u64, bytes: u32, ecn: Ecn) {
        self.out.push(Segment { header: *header, offset: Some(offset), bytes, ecn });
    }
    fn set_timer(&mut self, timer: Timer, delay: Delay) {
        self.timers[timer as usize] = Some(self.now.saturating_add(delay));
    }
    fn cancel_timer(&mut self, timer: Timer) {
        self.timers[timer as usize] = None;
    }
    fn keep(&mut self, offset: u64, skip: u32, bytes: u32) {
        if let Some(sent) = self.arriving {
            assert_eq!(offset, sent + u64::from(skip), "a byte has moved");
        }
        let (from, to) = (offset, offset + u64::from(bytes));
        let index = self.kept.partition_point(|span| span.to <= from);
        let is_free = self.kept.get(index).is_none_or(|span| to <= span.from);
        assert!(is_free, "a byte arrived twice: {from}..{to} in {:?}", self.kept);
        self.kept.insert(index, Span { from, to });
        let index = index.saturating_sub(1);
        while let Some(next) = self.kept.get(index + 1).copied()
            && self.kept[index].to == next.from
        {
            self.kept[index].to = next.to;
            self.kept.remove(index + 1);
        }
    }
    fn deliver(&mut self, bytes: u32) -> u32 {
        self.delivered += u64::from(bytes);
        let first = self.kept.first().copied().unwrap_or_default();
        assert!(first.from == 0 && self.delivered <= first.to, "bytes are delivered that have not arrived");
        if self.read_at_once { bytes } else { 0 }
    }
    fn notify(&mut self, notice: Notice) {
        self.notices.push(notice);
    }
}

const TIMERS: [Timer; 4] = [Timer::Retransmit, Timer::DelayedAck, Timer::Pacing, Timer::Reordering];

/// One end with its application.
struct End {
    settings: Settings,
    connection: Connection,
    around: Surroundings,
    /// Bytes that the application has not written yet.
    to_write: u64,
    written: u64,
    read: u64,
    has_closed: bool,
    /// True if the application closes only after the other end has.
    waits: bool,
    next_action: Time,
}

/// Two ends and the channel between them.
pub(crate) struct World {
    now: Time,
    random: Random,
    channel: Channel,
    ends: [End; 2],
    wire: Vec<(Time, usize, Segment)>,
    /// Segments that have arrived.
    pub(crate) segments: u64,
    checks_undo: bool,
}

impl World {
    /// Returns a world whose parameters all follow from a seed.
    pub(crate) fn new(seed: u64, is_hostile: bool, checks_undo: bool) -> World {
        let mut random = Random::new(seed);
        let mut channel = Channel::random(&mut random);
        if is_hostile {
            channel.forged_of = random.within(1, 20);
        }
        let is_simultaneous = random.once_in(8);
        let ends = [0, 1].map(|index| {
            let mut settings = random_settings(&mut random);
            if is_hostile {
                settings.syn_retries = 10; // A forged SYN can make a handshake impossible.
            }
            let initial =
                if random.flip() { Seq(u32::MAX - random.small(0, 20_000)) } else { Seq(random.small(0, u32::MAX)) };
            let ports = Ports { local: 10 + index, remote: 11 - index };
            let connection = if index == 0 || is_simultaneous {
                Connection::connect(&settings, ports, initial)
            } else {
                Connection::listen(&settings, ports, initial)
            };
            let to_write = [0, random.within(1, 2000), random.within(1, 60_000)][random.small(0, 2) as usize];
            let around = Surroundings { read_at_once: random.flip(), ..Surroundings::default() };
            End {
                settings,
                connection,
                around,
                to_write,
                written: 0,
                read: 0,
                has_closed: false,
                waits: random.once_in(3) && index == 1 && !is_hostile,
                // Ends that open at the same time must both open before a SYN arrives.
                next_action: Time::from_ps(random.within(0, channel.delay_us * 900_000)),
            }
        });
        World { now: Time::ZERO, random, channel, ends, wire: Vec::new(), segments: 0, checks_undo }
    }

    /// Calls an end. If undo is checked, the call is made, undone and made again.
    fn call(&mut self, index: usize, call: Call) {
        let end = &mut self.ends[index];
        end.around.now = self.now;
        if self.checks_undo {
            let before = end.connection.clone();
            let mut log = UndoLog::<ConnectionUndo>::default();
            let mut aside = Surroundings {
                now: self.now,
                kept: end.around.kept.clone(),
                delivered: end.around.delivered,
                read_at_once: end.around.read_at_once,
                ..Surroundings::default()
            };
            let settings = end.settings.clone();
            log.recording(|recorder| apply(&mut end.connection.view(recorder), &settings, call, &mut aside));
            let after = end.connection.clone();
            end.connection.undo_all(&mut log);
            assert_eq!(end.connection, before, "undone");
            apply(&mut end.connection.unrecorded(), &settings, call, &mut end.around);
            assert_eq!(end.connection, after, "done again");
        } else {
            apply(&mut end.connection.unrecorded(), &end.settings, call, &mut end.around);
        }
        assert!(end.connection.is_consistent(), "the sums of the scoreboard: {:?}", end.connection);
        let out = std::mem::take(&mut end.around.out);
        for segment in out {
            self.carry(index, segment);
        }
    }

    /// Puts a segment on the channel.
    fn carry(&mut self, from: usize, mut segment: Segment) {
        let Channel { delay_us, jitter_us, lost_of, duplicated_of, marked_of, forged_of } = self.channel;
        if forged_of > 0 && self.random.once_in(forged_of) {
            let forged = self.forge(&segment);
            let to = self.random.small(0, 1) as usize;
            self.wire.push((self.now.saturating_add(Delay::from_us(delay_us)), to, forged));
        }
        if lost_of > 0 && self.random.once_in(lost_of) {
            return;
        }
        if marked_of > 0 && segment.ecn != Ecn::NotCapable && self.random.once_in(marked_of) {
            segment.ecn = Ecn::Marked;
        }
        let copies = 1 + u64::from(duplicated_of > 0 && self.random.once_in(duplicated_of));
        for _ in 0..copies {
            let delay = delay_us + self.random.within(0, jitter_us);
            self.wire.push((self.now.saturating_add(Delay::from_us(delay)), 1 - from, segment));
        }
    }

    /// Returns a segment that resembles a real one, with some fields changed at random.
    fn forge(&mut self, real: &Segment) -> Segment {
        let random = &mut self.random;
        let mut header = real.header;
        let near = |seq: Seq, random: &mut Random| match random.small(0, 3) {
            0 => seq,
            1 => seq.add(random.small(0, 3000)),
            2 => Seq(seq.0.wrapping_sub(random.small(0, 3000))),
            _ => Seq(random.small(0, u32::MAX)),
        };
        header.seq = near(header.seq, random);
        header.ack = near(header.ack, random);
        if random.flip() {
            header.flags = Flags(u8::try_from(random.small(0, 255)).expect("a byte"));
        }
        if random.once_in(4) {
            header.window = u16::try_from(random.small(0, 65535)).expect("a window");
        }
        if random.once_in(3) {
            header.sack_blocks = u8::try_from(random.small(0, 9)).expect("a number");
            for block in &mut header.sack {
                *block = Range { from: near(header.ack, random), to: near(header.ack, random) };
            }
        }
        if random.once_in(3) {
            header.timestamps = None;
        }
        let bytes = if random.flip() { real.bytes } else { random.small(0, 3000) };
        Segment { header, offset: None, bytes, ecn: real.ecn }
    }

    /// Returns the time of the next event, and its place: the wire, a timer, or an application.
    fn next_event(&self) -> Option<(Time, Event)> {
        let mut best: Option<(Time, Event)> = None;
        let mut offer = |time: Time, event: Event| {
            if best.is_none_or(|(at, _)| time < at) {
                best = Some((time, event));
            }
        };
        for (index, &(time, ..)) in self.wire.iter().enumerate() {
            offer(time, Event::Wire(index));
        }
        for (index, end) in self.ends.iter().enumerate() {
            for timer in TIMERS {
                if let Some(time) = end.around.timers[timer as usize] {
                    offer(time, Event::Timer(index, timer));
                }
            }
            if !end.is_done() {
                offer(end.next_action, Event::Application(index));
            }
        }
        best
    }

    /// Runs until nothing happens any more, or until `limit`.
    pub(crate) fn run(&mut self, limit: Time) {
        while let Some((time, event)) = self.next_event() {
            if time > limit {
                return;
            }
            self.now = time;
            assert!(self.segments < 1_000_000, "the ends answer each other without end");
            match event {
                Event::Wire(index) => {
                    let (_, to, segment) = self.wire.swap_remove(index);
                    self.segments += 1;
                    // After a forged segment, places need not agree any more.
                    self.ends[to].around.arriving = segment.offset.filter(|_| self.channel.forged_of == 0);
                    self.call(to, Call::Segment(segment.header, segment.bytes, segment.ecn));
                }
                Event::Timer(index, timer) => {
                    self.ends[index].around.timers[timer as usize] = None;
                    self.call(index, Call::Timer(timer));
                }
                Event::Application(index) => self.act(index),
            }
        }
    }

    /// Lets an application do something.
    fn act(&mut self, index: usize) {
        let pause = Delay::from_us(self.random.within(100, 30_000));
        let share = self.random.within(1, 20_000);
        let end = &mut self.ends[index];
        end.next_action = self.now.saturating_add(pause);
        let state = end.connection.state();
        if state == State::Closed && index == 0 && end.around.notices.is_empty() && end.written == 0 {
            return self.call(index, Call::Open);
        }
        if state == State::Closed && end.around.notices.is_empty() {
            return self.call(index, Call::Open); // Only a connecting end; a listening one is not closed.
        }
        let unread = end.around.delivered - end.read;
        if unread > 0 && !end.around.read_at_once {
            let bytes = unread.min(share);
            end.read += bytes;
            return self.call(index, Call::Read(bytes));
        }
        let is_connected = end.around.notices.contains(&Notice::Connected);
        if is_connected && end.to_write > end.written {
            let room = end.connection.room(&end.settings);
            let bytes = (end.to_write - end.written).min(share).min(room);
            end.written += bytes;
            return self.call(index, Call::Write(bytes));
        }
        let may_close = !end.waits || end.around.notices.contains(&Notice::Finished);
        if is_connected && end.to_write == end.written && !end.has_closed && may_close {
            end.has_closed = true;
            self.call(index, Call::Close);
        }
    }

    /// Asserts that all bytes have arrived in both directions, and that both ends are closed.
    pub(crate) fn assert_complete(&self) {
        for (one, other) in [(0, 1), (1, 0)] {
            let (from, to) = (&self.ends[one], &self.ends[other]);
            assert_eq!(to.around.delivered, from.to_write, "bytes from end {one}");
            assert_eq!(from.connection.acknowledged(), from.to_write, "acknowledged to end {one}");
            assert_eq!(from.connection.state(), State::Closed, "end {one}: {:?}", from.around.notices);
            let closed = from.around.notices.iter().filter(|&&notice| notice == Notice::Closed).count();
            assert_eq!(closed, 1, "end {one}: {:?}", from.around.notices);
        }
    }

    /// Asserts that nothing is left to happen but the end of a connection whose other end was reset.
    pub(crate) fn assert_ended(&self) {
        let states = [0, 1].map(|index| self.ends[index].connection.state());
        let is_over = |state| matches!(state, State::Closed | State::FinWait2 | State::Listen);
        assert!(states.into_iter().all(is_over), "{:?}", self.outcome());
        assert!(self.ends.iter().all(|end| end.around.timers.iter().all(Option::is_none)), "{:?}", self.outcome());
    }

    /// Returns the states and notices of both ends.
    pub(crate) fn outcome(&self) -> [(State, &[Notice]); 2] {
        [0, 1].map(|index| (self.ends[index].connection.state(), &*self.ends[index].around.notices))
    }
}

impl End {
    /// Returns true if the application has nothing left to do.
    fn is_done(&self) -> bool {
        let is_over = self.connection.state() == State::Closed && !self.around.notices.is_empty();
        let has_read = self.around.read_at_once || self.read == self.around.delivered;
        is_over || (self.has_closed && has_read && self.around.notices.contains(&Notice::Finished))
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Wire(usize),
    Timer(usize, Timer),
    Application(usize),
}

/// A call of a connection.
#[derive(Clone, Copy, Debug)]
enum Call {
    Open,
    Write(u64),
    Read(u64),
    Close,
    Segment(Header, u32, Ecn),
    Timer(Timer),
}

fn apply<R: parades_core::restore::Recorder<ConnectionUndo>>(
    view: &mut parades_tcp::ConnectionMut<'_, R>,
    settings: &Settings,
    call: Call,
    env: &mut Surroundings,
) {
    match call {
        Call::Open => view.open(settings, env),
        Call::Write(bytes) => assert_eq!(view.write(settings, bytes, env), bytes, "there was room"),
        Call::Read(bytes) => view.read(settings, bytes, env),
        Call::Close => view.close(settings, env),
        Call::Segment(header, bytes, ecn) => view.on_segment(settings, &header, bytes, ecn, env),
        Call::Timer(timer) => view.on_timer(settings, timer, env),
    }
}
