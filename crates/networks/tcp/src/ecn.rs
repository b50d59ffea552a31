//! Congestion marks (RFC 3168), and exact echoes of them (RFC 8257, section 3.2).

use crate::connection::ConnectionUndo;
use crate::control::{Congestion, CongestionControl};
use crate::endpoint::Endpoint;
use crate::environment::{Ecn, Environment};
use crate::header::Flags;
use crate::receiver::{Due, Span};
use crate::sender::Mode;
use crate::settings::Settings;
use parades_core::restore::Recorder;

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Notes the mark of an arriving segment, and the answer of the other end to an echo.
    pub(crate) fn note_mark(&mut self, flags: Flags, ecn: Ecn, segment: Span) {
        if !self.send.uses_ecn {
            return;
        }
        let is_marked = ecn == Ecn::Marked && self.counts_mark(segment.from);
        if self.control.needs_exact_marks() {
            if segment.from < segment.to && ecn != Ecn::NotCapable {
                self.note_exact_mark(is_marked);
            }
            return;
        }
        if flags.has(Flags::CWR) {
            self.receive.echoes_mark = false;
        }
        self.receive.echoes_mark |= is_marked;
    }

    /// Returns true if the mark of a segment that begins at `place` counts.
    fn counts_mark(&mut self, place: u64) -> bool {
        if self.settings.counts_all_marks {
            return true;
        }
        let is_new = place > self.receive.marked_at;
        self.receive.marked_at = self.receive.marked_at.max(place);
        is_new
    }

    /// Notes whether a segment has a mark. When this changes, the segments before are acknowledged at once,
    /// with the old echo.
    fn note_exact_mark(&mut self, is_marked: bool) {
        if self.receive.echoes_mark == is_marked {
            return;
        }
        if self.receive.due == Due::Delayed {
            let next = self.receive.next;
            if !self.settings.acknowledges_all_at_mark_change {
                self.receive.next = self.receive.next_before;
            }
            self.send_ack();
            self.receive.next = next;
        }
        self.receive.echoes_mark = is_marked;
    }

    /// Reduces the window because of an echoed mark, at most once a round trip.
    pub(crate) fn on_echo(&mut self) {
        if matches!(self.send.mode, Mode::Reduced | Mode::Recovery | Mode::Loss) {
            return;
        }
        self.counts.mark_reductions += 1;
        self.reduce(Congestion::Mark, self.send.in_flight());
        self.send.prior.is_set = false;
        self.send.owes_cwr = true;
        self.send.mode = Mode::Reduced;
        self.send.recover = self.send.next;
        if self.control.owns_recovery() {
            return;
        }
        if self.settings.reduces_gradually_after_mark {
            self.begin_proportional();
        } else {
            let window = &mut self.send.window;
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
    }

    /// Returns the code point of a segment with data.
    pub(crate) fn ecn_of_data(&self, is_retransmission: bool) -> Ecn {
        let Settings { marks_all_segments, .. } = *self.settings;
        if self.send.uses_ecn && (!is_retransmission || marks_all_segments) { Ecn::Capable0 } else { Ecn::NotCapable }
    }
}
