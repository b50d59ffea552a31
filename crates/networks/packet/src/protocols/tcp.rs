//! TCP: a stream of bytes over a connection ([`parades_tcp`]), and the applications at its ends.
//!
//! The end that begins opens the connection. Once it is established, the application writes its bytes, all at
//! once or piece by piece, and closes. The other end reads everything at once, or at a rate, and closes when
//! it has read the whole stream. A segment's header travels in a record ([`crate::segment`]).

mod facts;
mod io;

pub use facts::{Counts, Ending, Heard, Progress};
pub(super) use io::{ConnectionEnvironment, Notices};

use super::{Duration, Environment, Protocol, Segment, Setup};
use crate::packet::PAYLOAD_MAX;
use crate::save::{check, is_number};
use crate::segment::TcpSegment;
use crate::sink::Sink;
use io::{Application, Io, Unwritten};
use parades_capture::address::flow_ports;
use parades_core::digest::Digest;
use parades_core::restore::{Recorder, Tracked, Undoable};
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed};
use parades_tcp::connection::{Connection, ConnectionMut, ConnectionUndo, Ports};
use parades_tcp::environment::{Ecn, Timer};
use parades_tcp::seq::Seq;
use parades_tcp::settings::Settings;
use serde::{Deserialize, Serialize};

/// The parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// The settings of both ends.
    pub settings: Settings,
    /// The bytes of the stream, or [`ENDLESS`].
    pub bytes: u64,
    /// The pieces in which the application writes. `None` if it writes everything at once: in pieces of a
    /// segment, where the send buffer takes whole pieces only ([`Settings::takes_whole_writes`]).
    pub writes: Option<Writes>,
    /// The rate at which the receiving application reads, in bits per second. It reads a piece of at most a
    /// segment when the time has passed that the piece takes at this rate. `None` if it reads at once.
    pub read_rate_bps: Option<u64>,
}

/// The bytes of a stream that does not end.
pub const ENDLESS: u64 = u64::MAX;

/// The pieces in which an application writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writes {
    /// The bytes of a piece. The last piece has the rest.
    pub bytes: u32,
    /// The rate of the application in bits per second. A piece is written after the time that it takes at
    /// this rate, the first one that time after the connection is established. `None` if each piece is
    /// written as soon as the send buffer has room for it.
    pub rate_bps: Option<u64>,
}

impl Writes {
    /// Returns the time between two pieces. `None` if only the send buffer delays them.
    pub(crate) fn gap(self) -> Option<Delay> {
        self.rate_bps.map(|rate_bps| Delay::serialisation(u64::from(self.bytes), rate_bps))
    }
}

/// The largest segment: with its headers, an IP packet has 65,535 bytes.
pub const SEGMENT_MAX: u32 = PAYLOAD_MAX - 60;
/// The largest buffer: the largest window that can be announced (RFC 7323, section 2.3).
pub const BUFFER_MAX: u32 = 1 << 30;

/// The timer of the application. The timers before it are those of the connection.
pub(crate) const APPLICATION: u32 = 4;
pub(super) const TIMERS: [Timer; 4] = [Timer::Retransmit, Timer::DelayedAck, Timer::Pacing, Timer::Reordering];

/// The application of the end that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
struct Source {
    /// Bytes produced by the application.
    produced: u64,
    /// Bytes that the connection has accepted.
    written: u64,
    is_connected: bool,
    /// `None` unless the connection has ended early.
    ending: Option<Ending>,
}

/// The state of the end that begins.
#[derive(Clone, Debug, PartialEq, Undoable)]
pub struct Sender {
    /// The end of the connection.
    pub connection: Connection,
    source: Source,
    /// The segments of this end.
    pub counts: Counts,
    /// The SYN and the FIN of the other end.
    pub heard: Heard,
}

/// The state of the other end.
#[derive(Clone, Debug, PartialEq, Undoable)]
pub struct Receiver {
    /// The end of the connection.
    pub connection: Connection,
    #[undoable(constant)]
    start: Time,
    /// The segments that arrived.
    pub sink: Sink,
    /// The segments of this end.
    pub counts: Counts,
    /// The progress of the stream.
    pub progress: Progress,
    /// The application, if it does not read everything at once.
    reader: Option<Reader>,
}

/// An application that reads at a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
struct Reader {
    /// Bytes in order that it has not read.
    unread: u64,
    /// The bytes that it reads next, when its timer is due; 0 if there are none.
    piece: u64,
    /// True if the other end has closed.
    is_finished: bool,
}

/// Returns the ports of a flow: those of the end that begins, or of the other one. Flows between the same
/// nodes have different ports.
pub(super) fn ports(flow: u32, begins: bool) -> Ports {
    let (client, server) = flow_ports(flow);
    if begins { Ports { local: client, remote: server } } else { Ports { local: server, remote: client } }
}

/// Draws an initial sequence number (RFC 6528 asks for numbers that others cannot predict).
pub(super) fn initial(setup: &mut impl Setup) -> Seq {
    #[expect(clippy::cast_possible_truncation, reason = "below 2^32")]
    Seq(setup.rng().below(1 << 32) as u32)
}

/// Returns the purpose of a timer, in words.
pub(crate) fn timer_text(timer: u32) -> &'static str {
    match TIMERS.get(timer as usize) {
        None => "start, next write or next read",
        Some(Timer::Retransmit) => "retransmission",
        Some(Timer::DelayedAck) => "delayed acknowledgement",
        Some(Timer::Pacing) => "pacing",
        Some(Timer::Reordering) => "reordering window",
    }
}

impl Tcp {
    /// Checks the parameters. The error is the end of a sentence that begins with the flow or the app.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.bytes == 0 {
            return Err("has no bytes to send; give it some".into());
        }
        if self.bytes == ENDLESS && self.gap().is_none() {
            return Err("writes an endless stream at once; give it a size, or a rate".into());
        }
        if self.read_rate_bps == Some(0) {
            return Err("reads nothing; give it a `read_rate` above zero".into());
        }
        if self.writes.is_some_and(|writes| writes.bytes == 0 || writes.rate_bps == Some(0)) {
            return Err("writes nothing at a time; give `writes` and `rate` values above zero".into());
        }
        check_settings(&self.settings)?;
        let (piece, buffer) = (self.piece(), self.settings.send_buffer);
        if piece > buffer && self.bytes > buffer.into() {
            return Err(format!(
                "writes {piece} bytes at a time, which never fit in its send buffer of {buffer}, and ns-3 takes \
                 whole writes only; lower `writes`, or raise `buffer`"
            ));
        }
        Ok(())
    }

    /// Returns the time between two pieces that the application writes. `None` if only the send buffer delays
    /// them.
    fn gap(&self) -> Option<Delay> {
        self.writes.and_then(Writes::gap)
    }

    /// Returns the bytes that the send buffer takes as a whole or not at all.
    fn piece(&self) -> u32 {
        let Settings { takes_whole_writes, mss, .. } = self.settings;
        if takes_whole_writes { self.writes.map_or(mss, |writes| writes.bytes) } else { 1 }
    }
}

/// Checks the settings of connections. The error is the end of a sentence that begins with the flow or the
/// app.
pub(super) fn check_settings(settings: &Settings) -> Result<(), String> {
    let Settings { mss, initial_window, send_buffer, receive_buffer, .. } = *settings;
    if mss == 0 || mss > SEGMENT_MAX || initial_window == 0 {
        return Err(format!("needs segments of 1 to {SEGMENT_MAX} bytes, and an initial window above zero"));
    }
    if send_buffer.min(receive_buffer) < mss || send_buffer.max(receive_buffer) > BUFFER_MAX {
        return Err(format!("needs buffers of at least a segment, and at most {BUFFER_MAX} bytes (RFC 7323)"));
    }
    Ok(())
}

impl Sender {
    /// Returns the end that begins flow `flow`, and sets its timer to the start.
    pub(crate) fn on_start(tcp: &Tcp, flow: u32, start: Time, setup: &mut impl Setup) -> Sender {
        setup.set_timer(APPLICATION, start.since(Time::ZERO));
        let connection = Connection::connect(&tcp.settings, ports(flow, true), initial(setup));
        let source = Source { produced: 0, written: 0, is_connected: false, ending: None };
        Sender { connection, source, counts: Counts::default(), heard: Heard::default() }
    }

    /// Returns the reason why the connection has ended early. `None` if it has not.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.source.ending
    }
    /// Appends the bytes of the state.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        self.connection.write(to);
        wire::write(&(self.source, self.counts, self.heard), to);
    }

    /// Reads a state.
    pub(crate) fn read(of: &Tcp, from: &mut &[u8]) -> Result<Sender, Malformed> {
        let connection = Connection::read(&of.settings, from)?;
        let (source, counts, heard): (Source, Counts, Heard) = wire::read(from)?;
        let is_possible = source.written <= source.produced && source.produced <= of.bytes;
        check(is_possible && counts.are_possible() && heard.is_possible(), "a sender over TCP")?;
        Ok(Sender { connection, source, counts, heard })
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.connection.fold(digest);
        let Source { produced, written, is_connected, ending } = self.source;
        let words = [produced, written, is_connected.into()];
        ending.into_iter().for_each(|ending| digest.word(ending as u64));
        Some(self.heard.repeated).filter(|repeated| *repeated > 0).into_iter().for_each(|word| digest.word(word));
        words.into_iter().chain([self.counts.sent, self.counts.received]).for_each(|word| digest.word(word));
    }
}

impl Receiver {
    /// Returns the other end of flow `flow`.
    pub(crate) fn on_start(tcp: &Tcp, flow: u32, start: Time, sink: Sink, setup: &mut impl Setup) -> Receiver {
        let connection = Connection::listen(&tcp.settings, ports(flow, false), initial(setup));
        let progress = Progress { bytes: 0, first: Time::MAX, last: Time::MAX };
        let reader = tcp.read_rate_bps.map(|_| Reader::default());
        Receiver { connection, start, sink, counts: Counts::default(), progress, reader }
    }
    /// Appends the bytes of the state.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        self.connection.write(to);
        wire::write(&(&self.sink, self.counts, self.progress, self.reader), to);
    }

    /// Reads a state of a stream that starts at `start`.
    pub(crate) fn read(of: &Tcp, start: Time, has_percentiles: bool, from: &mut &[u8]) -> Result<Receiver, Malformed> {
        let connection = Connection::read(&of.settings, from)?;
        let (sink, counts, progress, reader): (Sink, Counts, Progress, Option<Reader>) = wire::read(from)?;
        let reads = |reader: Reader| reader.piece <= reader.unread && is_number(reader.unread);
        let is_possible = sink.is_possible(has_percentiles)
            && counts.are_possible()
            && is_number(progress.bytes)
            && reader.is_some() == of.read_rate_bps.is_some()
            && reader.is_none_or(reads);
        check(is_possible, "a receiver over TCP")?;
        Ok(Receiver { connection, start, sink, counts, progress, reader })
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.connection.fold(digest);
        self.sink.fold(digest);
        let Progress { bytes, first, last } = self.progress;
        for word in [self.counts.sent, self.counts.received, bytes, first.as_ps(), last.as_ps()] {
            digest.word(word);
        }
        if let Some(Reader { unread, piece, is_finished }) = self.reader {
            [unread, piece, is_finished.into()].into_iter().for_each(|word| digest.word(word));
        }
    }
}

/// Returns the segment of a packet, and its mark.
pub(super) fn segment_of<'a, E: Environment>(segment: &Segment<'a, E::Record>) -> (&'a TcpSegment, Ecn) {
    use crate::record::Record;
    let record = segment.record.and_then(Record::segment);
    (record.expect("packets of TCP flows carry segments"), segment.ecn)
}

/// A call of a connection.
pub(super) enum Call<'a> {
    Open,
    Write(u64),
    /// The application reads bytes that it was told of.
    Read(u64),
    /// Writes the last bytes of the stream, and closes.
    WriteLast(u64),
    Close,
    Abort,
    Arrive(&'a TcpSegment, Ecn),
    Timer(Timer),
}

/// Calls a connection. Returns the bytes that it has accepted, and its notices. `counts` are those of this
/// end.
pub(super) fn call<R: Recorder<ConnectionUndo>, C: Recorder<Counts>>(
    connection: ConnectionMut<'_, R>,
    counts: Tracked<'_, Counts, C>,
    settings: &Settings,
    call: Call<'_>,
    env: &mut dyn ConnectionEnvironment,
) -> (u64, Notices) {
    call_with(connection, counts, settings, call, Application::default(), env)
}

/// As [`call`], for an application that does not write or read everything at once.
fn call_with<R: Recorder<ConnectionUndo>, C: Recorder<Counts>>(
    mut connection: ConnectionMut<'_, R>,
    counts: Tracked<'_, Counts, C>,
    settings: &Settings,
    call: Call<'_>,
    application: Application,
    env: &mut dyn ConnectionEnvironment,
) -> (u64, Notices) {
    let mut io = Io { env, application, sent: counts.sent, notices: Notices::default() };
    let mut accepted = 0;
    match call {
        Call::Open => connection.open(settings, &mut io),
        Call::Read(bytes) => connection.read(settings, bytes, &mut io),
        Call::Write(bytes) => accepted = connection.write(settings, bytes, &mut io),
        Call::WriteLast(bytes) => accepted = connection.write_last(settings, bytes, &mut io),
        Call::Close => connection.close(settings, &mut io),
        Call::Abort => connection.abort(settings, &mut io),
        Call::Arrive(TcpSegment { header, bytes, .. }, ecn) => {
            connection.on_segment(settings, header, *bytes, ecn, &mut io);
        }
        Call::Timer(timer) => connection.on_timer(settings, timer, &mut io),
    }
    let Io { sent, notices, .. } = io;
    if sent > counts.sent {
        counts.into_mut().sent = sent;
    }
    (accepted, notices)
}

impl<R: Recorder<SenderUndo>> Protocol for SenderMut<'_, R> {
    type Parameters = Tcp;

    fn on_segment<E: Environment>(&mut self, tcp: &Tcp, segment: &Segment<'_, E::Record>, env: &mut E) {
        let (tcp_segment, ecn) = segment_of::<E>(segment);
        if !segment.is_copy {
            self.counts().into_mut().received += 1;
            let heard = self.heard.after(tcp_segment);
            if heard != self.heard {
                *self.heard() = heard;
            }
        }
        self.act(tcp, Call::Arrive(tcp_segment, ecn), env);
    }

    fn on_timer<E: Environment>(&mut self, tcp: &Tcp, timer: u32, env: &mut E) {
        if let Some(&timer) = TIMERS.get(timer as usize) {
            self.act(tcp, Call::Timer(timer), env);
            return;
        }
        if self.source.ending.is_some() {
            // The application cannot write any more.
        } else if self.source.is_connected {
            self.produce(tcp, env);
            self.write(tcp, env);
        } else {
            self.act(tcp, Call::Open, env);
        }
    }
}

impl<R: Recorder<SenderUndo>> SenderMut<'_, R> {
    /// Calls the connection, and writes more if the send buffer has room again.
    fn act<E: Environment>(&mut self, tcp: &Tcp, what: Call<'_>, env: &mut E) {
        let notices = self.call(tcp, what, env).1;
        if notices.ending.is_some() {
            self.source().into_mut().ending = notices.ending;
        }
        if notices.is_connected {
            self.source().into_mut().is_connected = true;
            match tcp.gap() {
                Some(gap) => env.set_timer(APPLICATION, gap),
                None => self.produce(tcp, env),
            }
        }
        if notices.has_room || notices.is_connected {
            self.write(tcp, env);
        }
    }

    /// Gives the stream up: resets the connection.
    pub(crate) fn abort<E: Environment>(&mut self, tcp: &Tcp, env: &mut E) {
        self.call(tcp, Call::Abort, env);
    }

    /// Returns the bytes that the application has produced, and that wait for room in the send buffer.
    fn unwritten(&self, tcp: &Tcp) -> Unwritten {
        let Source { produced, written, .. } = self.source;
        Unwritten { bytes: produced - written, is_last: produced == tcp.bytes, piece: tcp.piece() }
    }

    fn call<E: Environment>(&mut self, tcp: &Tcp, what: Call<'_>, env: &mut E) -> (u64, Notices) {
        let unwritten = match what {
            // The call itself writes all that it can.
            Call::Write(_) | Call::WriteLast(_) => Unwritten::default(),
            _ => self.unwritten(tcp),
        };
        let application = Application { unwritten, ..Application::default() };
        let SenderParts { mut connection, counts, .. } = self.split();
        let answer = call_with(connection.reborrow(), counts, &tcp.settings, what, application, env);
        if answer.1.refilled > 0 {
            self.source().into_mut().written += answer.1.refilled;
        }
        answer
    }

    /// Lets the application produce its next bytes.
    fn produce<E: Environment>(&mut self, tcp: &Tcp, env: &mut E) {
        let left = tcp.bytes - self.source.produced;
        let Some((writes, gap)) = tcp.writes.and_then(|writes| Some((writes, writes.gap()?))) else {
            self.source().into_mut().produced += left;
            return;
        };
        let bytes = left.min(u64::from(writes.bytes));
        self.source().into_mut().produced += bytes;
        if bytes < left {
            env.set_timer(APPLICATION, gap);
        }
    }

    /// Writes what the application has produced, as far as the send buffer has room. The last bytes close the
    /// stream.
    fn write<E: Environment>(&mut self, tcp: &Tcp, env: &mut E) {
        let unwritten = self.unwritten(tcp);
        let bytes = unwritten.fitting(self.connection.room(&tcp.settings));
        if bytes == 0 {
            return;
        }
        let is_last = unwritten.is_last && bytes == unwritten.bytes;
        let what = if is_last { Call::WriteLast(bytes) } else { Call::Write(bytes) };
        let (accepted, _) = self.call(tcp, what, env);
        self.source().into_mut().written += accepted;
    }
}

impl<R: Recorder<ReceiverUndo>> Protocol for ReceiverMut<'_, R> {
    type Parameters = Tcp;

    fn on_segment<E: Environment>(&mut self, tcp: &Tcp, segment: &Segment<'_, E::Record>, env: &mut E) {
        let (tcp_segment, ecn) = segment_of::<E>(segment);
        if !segment.is_copy {
            let now = env.now();
            self.sink().receive(now, segment.sent, segment.number, tcp_segment.bytes);
            env.observe(Duration::Delay, now.since(segment.sent));
        }
        self.act(tcp, Call::Arrive(tcp_segment, ecn), env);
    }

    fn on_timer<E: Environment>(&mut self, tcp: &Tcp, timer: u32, env: &mut E) {
        match TIMERS.get(timer as usize) {
            Some(&timer) => self.act(tcp, Call::Timer(timer), env),
            None => self.on_read(tcp, env),
        }
    }
}

impl<R: Recorder<ReceiverUndo>> ReceiverMut<'_, R> {
    /// Calls the connection. The application reads what has arrived, and closes at the end of the stream.
    fn act<E: Environment>(&mut self, tcp: &Tcp, what: Call<'_>, env: &mut E) {
        let notices = self.call(tcp, what, env);
        let Some(mut reader) = self.reader else {
            if notices.received > 0 {
                self.receive(tcp, notices.received, env);
            }
            if notices.is_finished {
                self.call(tcp, Call::Close, env);
            }
            return;
        };
        if notices.received > 0 || notices.is_finished {
            reader.unread += notices.received;
            reader.is_finished |= notices.is_finished;
            self.read_on(tcp, reader, env);
        }
    }

    /// The application has read a piece.
    fn on_read<E: Environment>(&mut self, tcp: &Tcp, env: &mut E) {
        let Some(mut reader) = self.reader else { return };
        let piece = std::mem::take(&mut reader.piece);
        reader.unread -= piece;
        self.receive(tcp, piece, env);
        self.call(tcp, Call::Read(piece), env);
        self.read_on(tcp, reader, env);
    }

    /// Lets the application read its next piece, or close at the end of the stream.
    fn read_on<E: Environment>(&mut self, tcp: &Tcp, mut reader: Reader, env: &mut E) {
        if reader.piece == 0 && reader.unread > 0 {
            reader.piece = reader.unread.min(u64::from(tcp.settings.mss));
            let rate_bps = tcp.read_rate_bps.expect("a reader has a rate");
            env.set_timer(APPLICATION, Delay::serialisation(reader.piece, rate_bps));
        }
        let closes = reader.is_finished && reader.unread == 0;
        reader.is_finished &= !closes;
        *self.reader() = Some(reader);
        if closes {
            self.call(tcp, Call::Close, env);
        }
    }

    fn call<E: Environment>(&mut self, tcp: &Tcp, what: Call<'_>, env: &mut E) -> Notices {
        let reads_late = self.reader.is_some();
        let ReceiverParts { mut connection, counts, .. } = self.split();
        let application = Application { reads_late, ..Application::default() };
        call_with(connection.reborrow(), counts, &tcp.settings, what, application, env).1
    }

    /// Counts bytes that the application has read.
    fn receive<E: Environment>(&mut self, tcp: &Tcp, bytes: u64, env: &mut E) {
        let (now, start) = (env.now(), self.start);
        let progress = self.progress().into_mut();
        progress.first = progress.first.min(now);
        progress.bytes += bytes;
        if progress.bytes == tcp.bytes {
            progress.last = now;
            env.observe(Duration::Completion, now.since(start));
        }
    }
}
