//! One end of a connection: its state, and the calls that change it.

use crate::control::{Control, Window};
use crate::counts::Counts;
use crate::endpoint::Endpoint;
use crate::environment::{Ecn, Environment, Timer};
use crate::header::Header;
use crate::receiver::{Receiver, Span};
use crate::rtt::RoundTrip;
use crate::sender::{Sender, Sent};
use crate::seq::Seq;
use crate::settings::Settings;
use crate::state::State;
use parades_core::digest::Digest;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::Delay;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The ports of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// The port of this end.
    pub local: u16,
    /// The port of the other end. A listening connection learns it from the SYN, if it is 0.
    pub remote: u16,
}

/// The part of a connection that has a fixed size. It is recorded once for each call.
#[derive(Clone, Copy, Debug, PartialEq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Core {
    /// The ports.
    pub(crate) ports: Ports,
    /// The state.
    pub(crate) state: State,
    /// True if the connection began as a listening one.
    pub(crate) is_passive: bool,
    /// The sending half.
    pub(crate) send: Sender,
    /// The receiving half.
    pub(crate) receive: Receiver,
    /// The counts for reports.
    pub(crate) counts: Counts,
}

/// One end of a TCP connection.
///
/// The application calls [`ConnectionMut::open`], [`ConnectionMut::write`], [`ConnectionMut::read`],
/// [`ConnectionMut::close`] and [`ConnectionMut::abort`]. The network calls [`ConnectionMut::on_segment`],
/// and the clock calls [`ConnectionMut::on_timer`]. All of them act through an [`Environment`].
#[derive(Clone, Debug, PartialEq, Undoable)]
pub struct Connection {
    #[undoable(boxed)]
    pub(crate) core: Core,
    #[undoable(boxed)]
    pub(crate) control: Control,
    /// Transmitted segments that are not acknowledged cumulatively, in order.
    pub(crate) outstanding: VecDeque<Sent>,
    /// Ranges that have arrived beyond the next expected place, in order, with gaps between them.
    pub(crate) arrived: Vec<Span>,
}

impl Connection {
    /// Returns an end that will open the connection. `initial` is its initial sequence number, which the
    /// caller draws at random (RFC 6528).
    #[must_use]
    pub fn connect(settings: &Settings, ports: Ports, initial: Seq) -> Connection {
        Connection::new(settings, ports, initial, State::Closed)
    }

    /// Returns an end that waits for a SYN.
    #[must_use]
    pub fn listen(settings: &Settings, ports: Ports, initial: Seq) -> Connection {
        Connection::new(settings, ports, initial, State::Listen)
    }

    fn new(settings: &Settings, ports: Ports, initial: Seq, state: State) -> Connection {
        let window = Window {
            cwnd: settings.initial_window.saturating_mul(settings.mss),
            ssthresh: settings.initial_ssthresh,
            mss: settings.mss,
            pacing_bps: None,
        };
        Connection {
            core: Core {
                ports,
                state,
                is_passive: state == State::Listen,
                send: Sender::new(initial, window, RoundTrip::new(settings)),
                receive: Receiver::default(),
                counts: Counts::default(),
            },
            control: settings.algorithm.start(),
            outstanding: VecDeque::new(),
            arrived: Vec::new(),
        }
    }

    /// Returns the state.
    #[must_use]
    pub fn state(&self) -> State {
        self.core.state
    }

    /// Returns the ports.
    #[must_use]
    pub fn ports(&self) -> Ports {
        self.core.ports
    }

    /// Returns the sending half of the state.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.core.send
    }

    /// Returns the receiving half of the state.
    #[must_use]
    pub fn receiver(&self) -> &Receiver {
        &self.core.receive
    }

    /// Returns the counts of segments, retransmissions and timeouts.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.core.counts
    }

    /// Returns the state of the congestion control.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Returns the congestion window in bytes.
    #[must_use]
    pub fn cwnd(&self) -> u32 {
        self.core.send.window.cwnd
    }

    /// Returns the threshold of slow start in bytes.
    #[must_use]
    pub fn ssthresh(&self) -> u32 {
        self.core.send.window.ssthresh
    }

    /// Returns the smoothed round trip; zero before the first measurement.
    #[must_use]
    pub fn smoothed_rtt(&self) -> Delay {
        self.core.send.round_trip.smoothed
    }

    /// Returns the bytes that are believed to be in the network.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.core.send.in_flight()
    }

    /// Returns the bytes of the stream that are acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.core.send.una.saturating_sub(1).min(self.core.send.written - 1)
    }

    /// Returns the bytes of the stream that have arrived in order.
    #[must_use]
    pub fn received(&self) -> u64 {
        let Receiver { next, fin, .. } = self.core.receive;
        fin.map_or(next, |fin| next.min(fin)).saturating_sub(1)
    }

    /// Returns the number of bytes that the send buffer has room for.
    #[must_use]
    pub fn room(&self, settings: &Settings) -> u64 {
        let send = &self.core.send;
        u64::from(settings.send_buffer).saturating_sub(send.written - send.una.clamp(1, send.written))
    }

    /// Returns true if the sums of the scoreboard agree with its segments, and all places are in order. Meant
    /// for tests.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let Core { send, receive, .. } = &self.core;
        let sum = |is_counted: fn(&Sent) -> bool| {
            self.outstanding.iter().filter(|sent| is_counted(sent)).map(|sent| sent.len).sum::<u32>()
        };
        let mut place = send.una;
        let follows = |sent: &Sent| std::mem::replace(&mut place, sent.end()) == sent.from;
        let is_chain = self.outstanding.is_empty() || (self.outstanding.iter().all(follows) && place == send.next);
        let mut last = receive.next;
        let is_sorted = self.arrived.iter().all(|span| std::mem::replace(&mut last, span.to) < span.from);
        is_chain
            && is_sorted
            && send.sacked == sum(|sent| sent.is_sacked)
            && send.lost == sum(|sent| sent.is_lost)
            && send.retransmitted == sum(|sent| sent.is_retransmitted)
            && self.outstanding.iter().all(|sent| !(sent.is_sacked && sent.is_lost))
    }

    /// Folds the state into a digest.
    pub fn fold(&self, digest: &mut Digest) {
        let Core { state, send, receive, counts, .. } = &self.core;
        digest.word(*state as u64);
        digest.word((send.mode as u64) << 8 | send.timer as u64);
        let places = [send.una, send.next, send.written, receive.next, receive.read, receive.window_end];
        let windows = [send.window.cwnd, send.window.ssthresh, send.peer_window, send.sacked, send.lost];
        let counts_in_row = [send.retransmitted, send.duplicates, send.retries, receive.unacknowledged_segments];
        let round_trip = &send.round_trip;
        let times = [round_trip.smoothed, round_trip.variation, round_trip.timeout];
        counts_in_row.into_iter().for_each(|count| digest.word(count.into()));
        digest.word(send.rate.delivered);
        digest.word(u64::from(receive.timestamp));
        places.into_iter().for_each(|place| digest.word(place));
        windows.into_iter().for_each(|window| digest.word(window.into()));
        times.into_iter().for_each(|time| digest.word(time.as_ps()));
        counts.fold(digest);
        crate::control::CongestionControl::fold(&self.control, digest);
        digest.word(self.outstanding.len() as u64);
        for span in &self.arrived {
            digest.word(span.from);
            digest.word(span.to);
        }
    }
}

impl<R: Recorder<ConnectionUndo>> ConnectionMut<'_, R> {
    /// Returns the connection at work: its parts, the settings and the environment.
    fn endpoint<'b, E: Environment>(&'b mut self, settings: &'b Settings, env: &'b mut E) -> Endpoint<'b, R, E> {
        let ConnectionParts { core, control, outstanding, arrived } = self.split();
        let Core { ports, state, is_passive, send, receive, counts } = core.into_mut();
        Endpoint {
            settings,
            env,
            ports,
            state,
            is_passive: *is_passive,
            send,
            receive,
            counts,
            control,
            outstanding,
            arrived,
            must_send: false,
        }
    }

    /// Opens the connection: sends the SYN. A listening end needs no call.
    pub fn open<E: Environment>(&mut self, settings: &Settings, env: &mut E) {
        self.endpoint(settings, env).open();
    }

    /// Writes at most `bytes` bytes to the stream. Returns the number of bytes that the send buffer had room
    /// for. [`crate::environment::Notice::Acknowledged`] reports new room.
    pub fn write<E: Environment>(&mut self, settings: &Settings, bytes: u64, env: &mut E) -> u64 {
        self.endpoint(settings, env).write(bytes)
    }

    /// Writes the last bytes of the stream, and closes this direction if the send buffer had room for all. So
    /// the FIN can leave with the last byte. Returns the number of bytes that were written.
    pub fn write_last<E: Environment>(&mut self, settings: &Settings, bytes: u64, env: &mut E) -> u64 {
        self.endpoint(settings, env).write_last(bytes)
    }

    /// Notes that the application has read `bytes` more bytes, so the receive window can open.
    pub fn read<E: Environment>(&mut self, settings: &Settings, bytes: u64, env: &mut E) {
        self.endpoint(settings, env).read(bytes);
    }

    /// Closes this direction: a FIN follows the last byte. Data of the other end are still received.
    pub fn close<E: Environment>(&mut self, settings: &Settings, env: &mut E) {
        self.endpoint(settings, env).close();
    }

    /// Closes both directions: the application reads nothing more either, as after `close` of a socket. The
    /// connection is reset if bytes are unread, or if more data arrive (RFC 9293, section 3.6).
    pub fn release<E: Environment>(&mut self, settings: &Settings, env: &mut E) {
        self.endpoint(settings, env).release();
    }

    /// Resets the connection. Nothing that is still unsent will be sent.
    pub fn abort<E: Environment>(&mut self, settings: &Settings, env: &mut E) {
        self.endpoint(settings, env).abort();
    }

    /// Handles an arriving segment with `bytes` bytes of payload.
    pub fn on_segment<E: Environment>(
        &mut self,
        settings: &Settings,
        header: &Header,
        bytes: u32,
        ecn: Ecn,
        env: &mut E,
    ) {
        self.endpoint(settings, env).on_segment(header, bytes, ecn);
    }

    /// Handles a timer that is due.
    pub fn on_timer<E: Environment>(&mut self, settings: &Settings, timer: Timer, env: &mut E) {
        self.endpoint(settings, env).on_timer(timer);
    }
}
