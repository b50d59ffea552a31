//! The scoreboard of transmitted segments: which are received, lost, and in flight again (RFC 6675).

use crate::connection::ConnectionUndo;
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::header::{Header, SACK_BLOCKS_MAX};
use crate::rate::Newest;
use crate::receiver::Span;
use crate::sender::{Sent, bytes};
use parades_core::restore::Recorder;
use parades_core::time::Time;

/// The news of an acknowledgement about transmitted segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    /// Places acknowledged cumulatively for the first time.
    pub(crate) acked: u32,
    /// Segments acknowledged cumulatively for the first time.
    pub(crate) segments: u32,
    /// Places acknowledged selectively for the first time.
    pub(crate) sacked: u32,
    /// The place after the highest segment that had arrived before.
    pub(crate) highest: u64,
    /// The echoed timestamp, if the connection uses timestamps.
    pub(crate) echo: Option<u32>,
    /// The newest segment that was delivered.
    pub(crate) newest: Newest,
    /// Places acknowledged cumulatively that duplicates had shown as received.
    pub(crate) presumed: u32,
    /// The transmission time of the first segment that is acknowledged cumulatively, was not delivered
    /// before, and was never retransmitted.
    pub(crate) first_sent: Option<Time>,
    /// As `first_sent`, for segments that are acknowledged selectively.
    pub(crate) first_sacked_sent: Option<Time>,
    /// The transmission time of the last delivered segment that was never retransmitted.
    pub(crate) last_sent: Option<Time>,
    /// The first timed segment that is acknowledged.
    pub(crate) timed: Option<Sent>,
    /// True if a retransmission was acknowledged cumulatively.
    pub(crate) has_repaired: bool,
    /// True if a segment that was not retransmitted after a timeout was delivered.
    pub(crate) has_original: bool,
    /// True if the first block reports a duplicate (RFC 2883).
    pub(crate) is_duplicate: bool,
}

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Returns the number of the first segment that ends after `place`.
    pub(crate) fn index_after(&self, place: u64) -> usize {
        self.outstanding.partition_point(|sent| sent.end() <= place)
    }

    /// Removes the segments below `ack`.
    pub(crate) fn take_acknowledged(&mut self, ack: u64, report: &mut Report) {
        report.acked = bytes(ack - self.send.una);
        while let Some(front) = self.outstanding.front().copied()
            && front.from < ack
        {
            if front.end() > ack {
                self.shorten_front(front, ack);
                break;
            }
            self.outstanding.pop_front();
            report.segments += 1;
            if front.is_timed {
                report.timed.get_or_insert(front);
            }
            report.has_repaired |= front.is_retransmitted && !front.is_sacked;
            if !front.is_sacked || !self.receive.has_sack {
                self.on_delivered(&front, report);
                if !front.was_retransmitted {
                    report.first_sent.get_or_insert(front.sent_at);
                }
            }
            if front.is_sacked && !self.receive.has_sack {
                report.presumed += front.len;
            }
            self.uncount(&front, front.len);
        }
        self.send.una = ack;
        self.send.marked_end = self.send.marked_end.max(ack);
    }

    /// Removes the acknowledged part of the first segment.
    fn shorten_front(&mut self, front: Sent, ack: u64) {
        let cut = bytes(ack - front.from);
        self.uncount(&front, cut);
        if !front.is_sacked {
            self.send.rate.delivered += u64::from(cut);
        }
        let mut first = self.outstanding.at(0);
        *first = Sent { from: ack, len: front.len - cut, ..front };
    }

    /// Takes `len` places of a segment out of the sums.
    fn uncount(&mut self, sent: &Sent, len: u32) {
        let send = &mut *self.send;
        if sent.is_sacked {
            send.sacked -= len;
        }
        if sent.is_lost {
            send.lost -= len;
        }
        if sent.is_retransmitted {
            send.retransmitted -= len;
        }
    }

    /// Notes the delivery of a segment.
    fn on_delivered(&mut self, sent: &Sent, report: &mut Report) {
        let now = self.env.now();
        self.send.rate.on_delivered(sent, &mut report.newest, now);
        let is_earlier = sent.was_retransmitted && self.acknowledges_earlier(sent, report.echo);
        self.send.rack.on_delivered(sent, report.highest, is_earlier, now);
        report.has_original |= !sent.is_retransmitted && sent.end() <= self.send.frto;
        if !sent.was_retransmitted {
            report.last_sent = report.last_sent.max(Some(sent.sent_at));
        }
    }

    /// Marks the segments that the blocks of a SACK option cover.
    pub(crate) fn mark_sacked(&mut self, header: &Header, ack: u64, report: &mut Report) {
        let mut spans = [Span::default(); SACK_BLOCKS_MAX];
        let mut len = 0;
        for range in header.sack() {
            let places =
                (range.from.place(self.send.una, self.send.base), range.to.place(self.send.una, self.send.base));
            if let (Some(from), Some(to)) = places
                && from < to
                && to <= self.send.next
            {
                spans[len] = Span { from, to };
                len += 1;
            }
        }
        let spans = &spans[..len];
        // The first block repeats something below the acknowledgement, or a part of the second block.
        let repeats = |first: Span| {
            first.to <= ack || spans.get(1).is_some_and(|second| second.from <= first.from && first.to <= second.to)
        };
        report.is_duplicate = header.sack_blocks > 0 && spans.first().is_some_and(|&first| repeats(first));
        let reported = &spans[usize::from(report.is_duplicate)..];
        for span in reported {
            self.mark_span_sacked(*span, report);
        }
        self.send.blocks = [Span::default(); SACK_BLOCKS_MAX];
        self.send.blocks[..reported.len()].copy_from_slice(reported);
        if report.sacked > 0 && !self.settings.rack {
            self.mark_lost_by_count();
        }
    }

    /// Marks the segments of a block. The parts that the last option has reported are skipped, because a
    /// block may cover thousands of segments.
    fn mark_span_sacked(&mut self, span: Span, report: &mut Report) {
        let mut place = span.from;
        let mut index = self.index_after(place);
        while place < span.to {
            if let Some(known) = self.send.blocks.iter().find(|known| known.from <= place && place < known.to) {
                place = known.to;
                index = self.index_after(place);
                continue;
            }
            let Some(sent) = self.outstanding.get(index).copied().filter(|sent| sent.end() <= span.to) else { return };
            if sent.from >= span.from && !sent.is_sacked {
                self.on_delivered(&sent, report);
                if !sent.was_retransmitted {
                    report.first_sacked_sent.get_or_insert(sent.sent_at);
                }
                report.sacked += sent.len;
                self.set_sacked(index);
            }
            place = sent.end();
            index += 1;
        }
    }

    /// Marks a segment as received.
    fn set_sacked(&mut self, index: usize) {
        let mut sent = self.outstanding[index];
        self.send.sacked += sent.len;
        if sent.is_lost {
            self.send.lost -= sent.len;
        }
        if sent.is_retransmitted && !self.settings.counts_sacked_retransmissions {
            self.send.retransmitted -= sent.len;
            sent.is_retransmitted = false;
        }
        sent.is_sacked = true;
        sent.is_lost = false;
        self.send.sacked_end = self.send.sacked_end.max(sent.end());
        *self.outstanding.at(index) = sent;
    }

    /// Marks all segments as lost that have enough received ones above them.
    fn mark_lost_by_count(&mut self) {
        let mut above = 0;
        let mut index = self.index_after(self.send.sacked_end.saturating_sub(1)) + 1;
        index = index.min(self.outstanding.len());
        while above < self.settings.duplicate_threshold {
            if index == 0 {
                return;
            }
            index -= 1;
            above += u32::from(self.outstanding[index].is_sacked);
        }
        let first = self.index_after(self.send.marked_end);
        for lost in first..index {
            self.mark_lost(lost);
        }
        self.send.marked_end = self.send.marked_end.max(self.outstanding[index].from);
    }

    /// Marks a segment as lost, unless it is received or already marked.
    pub(crate) fn mark_lost(&mut self, index: usize) {
        let mut sent = self.outstanding[index];
        if sent.is_sacked || sent.is_lost {
            return;
        }
        sent.is_lost = true;
        self.send.lost += sent.len;
        self.send.lost_total += u64::from(sent.len);
        self.send.repaired_end = self.send.repaired_end.min(sent.from);
        *self.outstanding.at(index) = sent;
    }

    /// Notes that the retransmission of a segment is lost too.
    pub(crate) fn forget_retransmission(&mut self, index: usize) {
        let mut sent = self.outstanding[index];
        if sent.is_retransmitted {
            sent.is_retransmitted = false;
            self.send.retransmitted -= sent.len;
            self.send.repaired_end = self.send.repaired_end.min(sent.from);
            *self.outstanding.at(index) = sent;
        }
    }

    /// Marks the first segment as lost.
    pub(crate) fn mark_first_lost(&mut self) {
        if let Some(mut first) = self.outstanding.front().copied() {
            if first.is_sacked {
                self.send.blocks = [Span::default(); SACK_BLOCKS_MAX];
                first.is_sacked = false;
                self.send.sacked -= first.len;
                *self.outstanding.at(0) = first;
            }
            self.forget_retransmission(0);
            self.mark_lost(0);
        }
    }

    /// Counts a duplicate acknowledgement without SACK as the receipt of one segment after the first one.
    pub(crate) fn add_duplicate(&mut self) {
        let first = (1..self.outstanding.len()).find(|&index| !self.outstanding[index].is_sacked);
        if let Some(index) = first {
            self.set_sacked(index);
        }
    }

    /// Corrects the count of duplicates without SACK after an acknowledgement: its first segment is missing.
    pub(crate) fn correct_duplicates(&mut self) {
        if !self.receive.has_sack && self.outstanding.front().is_some_and(|front| front.is_sacked) {
            self.mark_first_lost();
            self.add_duplicate();
        }
    }

    /// Forgets which segments duplicates have shown as received.
    pub(crate) fn forget_duplicates(&mut self) {
        if self.receive.has_sack || self.settings.keeps_presumed || self.send.sacked == 0 {
            return;
        }
        for index in 0..self.outstanding.len() {
            if self.outstanding[index].is_sacked {
                let sent = Sent { is_sacked: false, ..self.outstanding[index] };
                *self.outstanding.at(index) = sent;
            }
        }
        (self.send.sacked, self.send.sacked_end) = (0, 0);
    }

    /// Marks all segments as lost that are not received, after a timeout.
    pub(crate) fn mark_all_lost(&mut self) {
        // A receiver may drop what it has reported (RFC 2018, section 8). The first segment shows it.
        let forgets = !self.receive.has_sack || self.outstanding.front().is_some_and(|front| front.is_sacked);
        let (mut sacked, mut lost) = (0, 0);
        for index in 0..self.outstanding.len() {
            let old = self.outstanding[index];
            let is_sacked = old.is_sacked && !forgets;
            let sent = Sent { is_sacked, is_lost: !is_sacked, is_retransmitted: false, is_timed: false, ..old };
            if is_sacked {
                sacked += sent.len;
            } else {
                lost += sent.len;
            }
            if sent != old {
                *self.outstanding.at(index) = sent;
            }
        }
        let send = &mut *self.send;
        (send.sacked, send.lost, send.retransmitted) = (sacked, lost, 0);
        (send.marked_end, send.repaired_end) = (send.next, send.una);
        if forgets {
            send.sacked_end = 0;
            send.blocks = [Span::default(); SACK_BLOCKS_MAX];
        }
    }

    /// Takes all marks of loss back, after a spurious timeout.
    pub(crate) fn unmark_lost(&mut self) {
        for index in 0..self.outstanding.len() {
            let sent = self.outstanding[index];
            if sent.is_lost {
                let is_retransmitted = false;
                *self.outstanding.at(index) = Sent { is_lost: false, is_retransmitted, ..sent };
                self.send.lost -= sent.len;
                if sent.is_retransmitted {
                    self.send.retransmitted -= sent.len;
                }
            }
        }
        self.send.marked_end = self.send.una;
    }

    /// Returns true if a FIN without data is lost and not retransmitted. No sum of bytes shows it.
    fn is_fin_lost(&self) -> bool {
        self.outstanding.back().is_some_and(|last| last.len == 0 && last.is_lost && !last.is_retransmitted)
    }

    /// Returns true if a lost segment waits for its retransmission.
    pub(crate) fn has_unrepaired_loss(&self) -> bool {
        self.send.lost > self.send.retransmitted || self.is_fin_lost()
    }

    /// Returns the number of the first lost segment that is not retransmitted.
    pub(crate) fn first_lost(&mut self) -> Option<usize> {
        if self.send.lost == 0 && !self.is_fin_lost() {
            return None;
        }
        let first = self.index_after(self.send.repaired_end.max(self.send.una));
        let is_due = |sent: &Sent| sent.is_lost && !sent.is_retransmitted;
        let found = (first..self.outstanding.len()).find(|&index| is_due(&self.outstanding[index]));
        self.send.repaired_end = found.map_or(self.send.next, |index| self.outstanding[index].from);
        found
    }
}
