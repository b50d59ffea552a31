//! Arriving data: reassembly, delayed acknowledgements, and blocks to report.

use crate::connection::ConnectionUndo;
use crate::endpoint::Endpoint;
use crate::environment::{Environment, Timer};
use crate::header::SACK_BLOCKS_MAX;
use crate::receiver::{Due, Span};
use crate::sender::bytes;
use crate::settings::{DelayedAckCount, IpVersion, Settings};
use parades_core::restore::Recorder;

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Receives the places `from..to`; the last one is a FIN if `has_fin`.
    pub(crate) fn receive_data(&mut self, from: u64, to: u64, has_fin: bool) {
        let end = to.min(self.receive.window_end).min(self.receive.fin.map_or(u64::MAX, |fin| fin + 1));
        if has_fin && end == to && self.receive.fin.is_none() {
            self.receive.fin = Some(to - 1);
        }
        let segment = Span { from, to: end };
        self.note_duplicate(segment);
        let next = self.receive.next;
        let start = from.max(next);
        if start >= end {
            if to > from {
                self.counts.duplicates += 1;
                self.receive.due = Due::Now;
            }
            return;
        }
        self.keep_new(segment);
        if end < to {
            self.receive.due = Due::Now; // The sender hears that the window is full.
        }
        let had_gap = !self.arrived.is_empty();
        if start > next {
            self.counts.out_of_order += 1;
            self.insert(Span { from: start, to: end });
            self.note_recent(start);
            self.receive.due = Due::Now;
            return;
        }
        self.advance(end);
        self.deliver(next);
        self.schedule_ack(had_gap, bytes(to - from) - u32::from(has_fin));
    }

    /// Notes the first part of a segment that had arrived before (RFC 2883).
    pub(crate) fn note_duplicate(&mut self, segment: Span) {
        if !self.settings.dsack || !self.receive.has_sack || segment.from >= segment.to {
            return;
        }
        if segment.from < self.receive.next {
            self.receive.duplicate = Some(Span { from: segment.from, to: segment.to.min(self.receive.next) });
            return;
        }
        let overlap = |span: &Span| {
            let (from, to) = (span.from.max(segment.from), span.to.min(segment.to));
            (from < to).then_some(Span { from, to })
        };
        self.receive.duplicate = self.arrived.iter().find_map(overlap);
    }

    /// Tells the environment which bytes of a segment are new.
    fn keep_new(&mut self, segment: Span) {
        let last = self.receive.fin.map_or(segment.to, |fin| segment.to.min(fin));
        let mut from = segment.from.max(self.receive.next);
        let first = self.arrived.partition_point(|span| span.to <= from);
        for index in first..=self.arrived.len() {
            let span = self.arrived.get(index).copied().unwrap_or(Span { from: u64::MAX, to: u64::MAX });
            let to = span.from.min(last);
            if from < to {
                self.env.keep(from.saturating_sub(1), bytes(from - segment.from), bytes(to - from));
            }
            from = from.max(span.to);
            if from >= last {
                break;
            }
        }
    }

    /// Adds a range beyond the next place, and merges it with its neighbours.
    fn insert(&mut self, mut span: Span) {
        let first = self.arrived.partition_point(|other| other.to < span.from);
        while let Some(other) = self.arrived.get(first).copied()
            && other.from <= span.to
        {
            span = Span { from: span.from.min(other.from), to: span.to.max(other.to) };
            self.arrived.remove(first);
        }
        self.arrived.insert(first, span);
    }

    /// Advances the next place to `end`, and past all ranges that are in order now.
    fn advance(&mut self, end: u64) {
        self.receive.next_before = self.receive.next;
        self.receive.next = self.receive.next.max(end);
        while let Some(span) = self.arrived.first().copied()
            && span.from <= self.receive.next
        {
            self.receive.next = self.receive.next.max(span.to);
            self.arrived.remove(0);
        }
    }

    /// Gives the application the bytes from `old` to the next place.
    fn deliver(&mut self, old: u64) {
        let end = self.receive.fin.map_or(self.receive.next, |fin| fin.min(self.receive.next));
        let count = bytes(end.saturating_sub(old));
        if count > 0 {
            let read = self.env.deliver(count);
            self.receive.read = (self.receive.read + u64::from(read)).min(end);
        }
    }

    /// Decides when data in order are acknowledged (RFC 9293, section 3.8.6.3; RFC 5681, section 4.2).
    fn schedule_ack(&mut self, had_gap: bool, payload: u32) {
        let is_full = self.count_segment(payload);
        let is_quick = self.receive.quick_acks > 0;
        self.receive.quick_acks = self.receive.quick_acks.saturating_sub(1);
        let due = if had_gap || is_full || is_quick { Due::Now } else { Due::Delayed };
        self.receive.due = self.receive.due.max(due);
    }

    /// Counts a segment towards the acknowledgement of several. Returns true if their number is reached.
    fn count_segment(&mut self, payload: u32) -> bool {
        let Settings { mss, delayed_ack_segments, delayed_ack_count, .. } = *self.settings;
        self.receive.largest_segment = self.receive.largest_segment.max(payload);
        let full_size = self.receive.largest_segment.max(IpVersion::V4.default_mss().min(mss));
        let counts = delayed_ack_count != DelayedAckCount::FullSegments || payload >= full_size;
        self.receive.unacknowledged_segments += u32::from(counts);
        if delayed_ack_count == DelayedAckCount::Bytes {
            let unacknowledged = self.receive.next - self.receive.acknowledged;
            return unacknowledged > u64::from(full_size) * u64::from(delayed_ack_segments.saturating_sub(1));
        }
        self.receive.unacknowledged_segments >= delayed_ack_segments
    }

    /// Sends the acknowledgement that is due, or sets the timer of a delayed one.
    pub(crate) fn settle_ack(&mut self) {
        match self.receive.due {
            Due::None => {}
            Due::Now => self.send_ack(),
            Due::Delayed if !self.receive.is_delaying => {
                self.receive.is_delaying = true;
                self.env.set_timer(Timer::DelayedAck, self.settings.delayed_ack_timeout);
            }
            Due::Delayed => {}
        }
    }

    /// Puts a place in front of the places that were reported lately.
    pub(crate) fn note_recent(&mut self, place: u64) {
        let receive = &mut *self.receive;
        let len = (usize::from(receive.recent_len) + 1).min(SACK_BLOCKS_MAX);
        receive.recent.copy_within(0..len - 1, 1);
        receive.recent[0] = place;
        receive.recent_len = u8::try_from(len).unwrap_or(0);
    }

    /// Returns the blocks to report, the most important first.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Span> {
        let recent = &self.receive.recent[..usize::from(self.receive.recent_len)];
        let block = |place: u64| {
            let index = self.arrived.partition_point(|span| span.to <= place);
            self.arrived.get(index).copied().filter(|span| span.from <= place)
        };
        let is_first =
            move |index: usize, span: Span| recent[..index].iter().all(|&place| place < span.from || place >= span.to);
        let in_recent = recent
            .iter()
            .enumerate()
            .filter_map(move |(index, &place)| block(place).filter(|&span| is_first(index, span)));
        let others = self.arrived.iter().rev().copied().filter(move |&span| is_first(recent.len(), span));
        self.receive.duplicate.into_iter().chain(in_recent).chain(others)
    }
}
