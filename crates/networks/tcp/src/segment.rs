//! Headers of outgoing segments.

use crate::connection::ConnectionUndo;
use crate::endpoint::Endpoint;
use crate::environment::{Ecn, Environment, Timer};
use crate::header::{BASE_BYTES, Flags, Header, SynOptions, Timestamps};
use crate::receiver::Due;
use crate::seq::Seq;
use crate::state::State;
use parades_core::restore::Recorder;
use parades_core::time::Time;

/// Returns the segment that answers a segment to a port without a connection: a reset (RFC 9293, section
/// 3.10.7.1). Returns `None` for a reset, which is never answered.
#[must_use]
pub fn reset_for(header: &Header, bytes: u32) -> Option<Header> {
    if header.flags.has(Flags::RST) {
        return None;
    }
    let (source_port, destination_port) = (header.destination_port, header.source_port);
    if header.flags.has(Flags::ACK) {
        let seq = header.ack;
        return Some(Header { source_port, destination_port, seq, flags: Flags::RST, ..Header::default() });
    }
    let ack = header.seq.add(length(header, bytes));
    Some(Header { source_port, destination_port, ack, flags: Flags::RST | Flags::ACK, ..Header::default() })
}

/// Returns the number of sequence numbers that a segment takes.
pub(crate) fn length(header: &Header, bytes: u32) -> u32 {
    bytes + u32::from(header.flags.has(Flags::SYN)) + u32::from(header.flags.has(Flags::FIN))
}

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Sends a segment with `payload` bytes from `place` on.
    pub(crate) fn transmit(&mut self, flags: Flags, place: u64, payload: u32, ecn: Ecn) {
        let mut header = Header {
            source_port: self.ports.local,
            destination_port: self.ports.remote,
            seq: Seq::at(place, self.send.base),
            flags,
            ..Header::default()
        };
        self.add_timestamps(&mut header);
        if flags.has(Flags::SYN) {
            self.add_syn_options(&mut header);
        } else {
            header.window = self.announce();
        }
        if flags.has(Flags::ACK) {
            header.ack = Seq::at(self.receive.next, self.receive.base);
            self.add_sack(&mut header, payload);
            self.on_ack_sent();
        }
        self.counts.segments_sent += 1;
        self.counts.bytes_sent += u64::from(payload);
        self.env.transmit(&header, place.saturating_sub(1), payload, ecn);
    }

    /// Notes that an acknowledgement leaves.
    fn on_ack_sent(&mut self) {
        self.receive.acknowledged = self.receive.acknowledged.max(self.receive.next);
        self.receive.unacknowledged_segments = 0;
        self.receive.due = Due::None;
        self.receive.duplicate = None;
        if self.receive.is_delaying {
            self.receive.is_delaying = false;
            self.env.cancel_timer(Timer::DelayedAck);
        }
    }

    /// Sends an acknowledgement without data.
    pub(crate) fn send_ack(&mut self) {
        let mut flags = Flags::ACK;
        if self.send.uses_ecn && self.receive.echoes_mark {
            flags = flags | Flags::ECE;
        }
        let ecn = self.ecn_of_control();
        self.transmit(flags, self.send.next, 0, ecn);
    }

    /// Sends a reset with the next sequence number.
    pub(crate) fn send_reset(&mut self) {
        self.transmit(Flags::RST | Flags::ACK, self.send.next, 0, Ecn::NotCapable);
    }

    /// Sends the answer of a port without a connection.
    pub(crate) fn answer_with_reset(&mut self, header: &Header, bytes: u32) {
        if let Some(reset) = reset_for(header, bytes) {
            self.counts.segments_sent += 1;
            self.env.transmit(&reset, 0, 0, Ecn::NotCapable);
        }
    }

    /// Returns the value of the timestamps' clock.
    pub(crate) fn clock(&self) -> u32 {
        self.timestamp_at(self.env.now())
    }

    /// Returns the timestamp of a segment that was sent at a time.
    pub(crate) fn timestamp_at(&self, time: Time) -> u32 {
        let ticks = time.as_ps() / self.settings.timestamp_tick.as_ps().max(1);
        Seq::at(ticks, Seq(0)).0
    }

    fn add_timestamps(&self, header: &mut Header) {
        let is_first = *self.state == State::SynSent;
        let uses = if is_first { self.settings.timestamps } else { self.receive.has_timestamps };
        if uses {
            header.timestamps = Some(Timestamps { value: self.clock(), echo: self.receive.timestamp });
        }
    }

    fn add_syn_options(&mut self, header: &mut Header) {
        let settings = self.settings;
        let is_first = *self.state == State::SynSent;
        header.syn = SynOptions {
            mss: settings.announces_mss.then(|| u16::try_from(settings.mss).unwrap_or(u16::MAX)),
            window_shift: (if is_first { settings.window_scaling } else { self.receive.shift_is_agreed })
                .then_some(self.receive.shift),
            has_sack: if is_first { settings.sack } else { self.receive.has_sack },
        };
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        header.window = u16::try_from(settings.receive_buffer).unwrap_or(u16::MAX);
        self.receive.window_end = self.receive.next.max(1) + u64::from(header.window);
    }

    /// Adds the blocks of a SACK option: the last duplicate, then the blocks that changed lately (RFC 2018,
    /// section 4; RFC 2883, section 4). A segment with data has only the blocks that it has room for.
    fn add_sack(&self, header: &mut Header, payload: u32) {
        if !self.receive.has_sack || (self.arrived.is_empty() && self.receive.duplicate.is_none()) {
            return;
        }
        let in_header = (60 - header.bytes() - 2) / 8;
        let free = (self.settings.mss + BASE_BYTES).saturating_sub(header.bytes() + payload + 4);
        let room = if payload == 0 { in_header } else { in_header.min(free / 8) };
        for span in self.blocks().take(room as usize) {
            let base = self.receive.base;
            let block = crate::header::Range { from: Seq::at(span.from, base), to: Seq::at(span.to, base) };
            header.sack[usize::from(header.sack_blocks)] = block;
            header.sack_blocks += 1;
        }
    }
}
