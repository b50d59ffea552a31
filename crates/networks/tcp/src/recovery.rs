//! Loss recovery: its begin, its progress by acknowledgements, and its end (RFC 5681, RFC 6582, RFC 6675).

use crate::connection::ConnectionUndo;
use crate::control::{Congestion, CongestionControl};
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::scoreboard::Report;
use crate::sender::{Mode, Prior, bytes};
use crate::settings::FlightSize;
use parades_core::restore::Recorder;

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Advances loss recovery by an acknowledgement. Returns the acknowledged bytes that let the window grow.
    pub(crate) fn recover(&mut self, report: &Report, is_duplicate: bool) -> u32 {
        match self.send.mode {
            Mode::Loss => {
                self.on_ack_in_loss(report);
                let is_over = self.send.mode != Mode::Loss;
                if is_over && !self.settings.grows_at_end_of_loss {
                    return bytes(self.send.una.saturating_sub(self.send.recover));
                }
            }
            Mode::Recovery if self.send.una >= self.send.recover => self.leave_recovery(),
            Mode::Recovery => self.on_ack_in_recovery(report, is_duplicate),
            Mode::Reduced => self.on_ack_in_reduction(report, is_duplicate),
            Mode::Open | Mode::Disorder => {
                if report.acked > 0 && !is_duplicate {
                    self.send.duplicates = 0;
                    self.send.mode = Mode::Open;
                    self.forget_duplicates();
                }
                if is_duplicate {
                    self.on_duplicate();
                }
                let is_lost = self.has_unrepaired_loss();
                if is_lost && self.settings.rack && self.send.mode != Mode::Recovery {
                    self.enter_recovery();
                }
                if self.send.mode == Mode::Disorder && !self.settings.grows_in_disorder {
                    return 0;
                }
            }
        }
        report.acked
    }

    /// Handles a duplicate acknowledgement outside of a recovery.
    fn on_duplicate(&mut self) {
        self.send.duplicates += 1;
        self.send.mode = Mode::Disorder;
        if self.shows_loss() || (self.has_enough_duplicates() && self.may_recover_again()) {
            self.enter_recovery();
        } else if !self.receive.has_sack && self.settings.limited_transmit && !self.has_enough_duplicates() {
            self.add_duplicate();
        }
    }

    /// Returns true if selective acknowledgements show that the first segment is lost (RFC 6675, section 5,
    /// step 2). ns-3 looks at the segments after the first one.
    fn shows_loss(&self) -> bool {
        if !self.receive.has_sack || self.settings.judges_first_segment {
            return self.receive.has_sack && self.outstanding.front().is_some_and(|front| front.is_lost);
        }
        let second = self.index_after(self.send.una + u64::from(self.send.window.mss));
        let mut others = self.outstanding.iter().skip(second);
        others.find(|sent| sent.is_lost || sent.is_sacked).is_some_and(|sent| sent.is_lost)
    }

    /// Returns true if duplicate acknowledgements alone show a loss. With RACK, only the time of arrival
    /// does, unless there is no SACK (RFC 8985, section 3).
    fn has_enough_duplicates(&self) -> bool {
        let counts = !self.settings.rack || !self.receive.has_sack;
        counts && self.send.duplicates >= self.settings.duplicate_threshold
    }

    /// Returns true if duplicate acknowledgements cannot come from retransmissions of the last recovery (RFC
    /// 6582, section 3.2, step 1). With SACK, blocks tell both apart.
    fn may_recover_again(&self) -> bool {
        let send = &*self.send;
        self.receive.has_sack || self.settings.recovers_at_last_recovery || send.recover == 0 || send.una > send.recover
    }

    /// Handles an acknowledgement within the reduction after a mark. A loss begins a recovery, whose window
    /// is already reduced.
    fn on_ack_in_reduction(&mut self, report: &Report, is_duplicate: bool) {
        if is_duplicate {
            self.send.duplicates += 1;
        } else if report.acked > 0 {
            self.send.duplicates = 0;
        }
        if self.settings.recovers_in_reduction && (self.has_unrepaired_loss() || self.has_enough_duplicates()) {
            self.mark_for_recovery();
            self.begin_recovery();
        }
    }

    /// Enters fast recovery.
    pub(crate) fn enter_recovery(&mut self) {
        self.mark_for_recovery();
        let flight = match self.settings.flight_size {
            FlightSize::Outstanding => self.send.flight(),
            // Without SACK the first segment counts as in flight.
            FlightSize::Pipe if self.receive.has_sack => self.send.in_flight(),
            FlightSize::Pipe => self.send.in_flight() + self.send.window.mss,
        };
        self.reduce(Congestion::Loss, flight);
        self.begin_proportional();
        self.begin_recovery();
    }

    /// Marks the segment that a recovery repairs first.
    fn mark_for_recovery(&mut self) {
        if !self.receive.has_sack {
            self.add_duplicate();
            self.mark_first_lost();
        } else if self.send.lost == 0 {
            self.mark_first_lost();
        }
    }

    /// Begins fast recovery: it ends when everything is acknowledged that was sent before.
    fn begin_recovery(&mut self) {
        self.counts.recoveries += 1;
        self.send.mode = Mode::Recovery;
        self.send.recover = self.send.next;
        self.send.is_first_part = true;
        self.send.rescue = self.send.una;
        self.send.probe.is_out = false;
        self.must_send = true;
    }

    /// Tells the congestion control about congestion, and keeps the values for an undo.
    pub(crate) fn reduce(&mut self, congestion: Congestion, flight: u32) {
        let now = self.env.now();
        let send = &mut *self.send;
        if !send.prior.is_set || send.mode == Mode::Open {
            send.prior =
                Prior { is_set: true, cwnd: send.window.cwnd, ssthresh: send.window.ssthresh, retransmissions: 0 };
        }
        self.control.reborrow().into_mut().on_congestion(congestion, now, flight, &mut self.send.window);
    }

    /// Handles an acknowledgement within fast recovery.
    fn on_ack_in_recovery(&mut self, report: &Report, is_duplicate: bool) {
        if !self.receive.has_sack && is_duplicate {
            self.add_duplicate();
        }
        if report.acked == 0 {
            return;
        }
        if !self.receive.has_sack {
            self.correct_duplicates();
            self.mark_first_lost_once();
        }
        let is_in_flight = self.outstanding.front().is_some_and(|front| front.is_retransmitted && !front.is_sacked);
        self.must_send |= !is_in_flight && (self.settings.retransmits_at_each_part || !self.receive.has_sack);
    }

    /// Marks the first segment as lost, unless its retransmission is in flight.
    fn mark_first_lost_once(&mut self) {
        if self.outstanding.front().is_some_and(|front| !front.is_lost) {
            self.mark_first_lost();
        }
    }

    /// Leaves fast recovery.
    fn leave_recovery(&mut self) {
        self.send.rack.on_recovered();
        self.forget_duplicates();
        self.leave();
    }

    /// Leaves fast recovery, or the reduction after a mark.
    fn leave(&mut self) {
        let now = self.env.now();
        self.send.mode = Mode::Open;
        self.send.duplicates = 0;
        self.send.is_first_part = true;
        if !self.control.owns_recovery() {
            self.send.window.cwnd = self.send.window.ssthresh;
        }
        self.control.reborrow().into_mut().on_recovered(now, &mut self.send.window);
    }

    /// Ends the reduction after a mark, once everything sent before it is acknowledged.
    pub(crate) fn end_reduction(&mut self) {
        if self.send.mode == Mode::Reduced && self.send.una > self.send.recover {
            self.leave();
        }
    }

    /// Handles an acknowledgement after a timeout.
    fn on_ack_in_loss(&mut self, report: &Report) {
        if self.settings.frto && self.send.frto > 0 && self.detect_spurious_timeout(report) {
            return;
        }
        if self.send.una >= self.send.recover {
            self.send.mode = Mode::Open;
            self.send.duplicates = 0;
            self.send.is_first_part = true;
            self.send.frto = 0;
            self.send.rack.on_recovered();
        }
    }

    /// Notes a reported duplicate. Undoes the last reduction if all its retransmissions were duplicates.
    pub(crate) fn on_reported_duplicate(&mut self) {
        self.counts.spurious_retransmissions += 1;
        self.send.rack.on_duplicate(self.send.una, self.send.next);
        let prior = &mut self.send.prior;
        if !self.settings.undoes_by_dsack || !prior.is_set || prior.retransmissions == 0 {
            return;
        }
        prior.retransmissions -= 1;
        if prior.retransmissions == 0 {
            self.undo_reduction();
        }
    }

    /// Undoes the last reduction, because it was spurious (RFC 4015).
    pub(crate) fn undo_reduction(&mut self) {
        let now = self.env.now();
        self.counts.undone += 1;
        let send = &mut *self.send;
        send.window.cwnd = send.window.cwnd.max(send.prior.cwnd);
        send.window.ssthresh = send.window.ssthresh.max(send.prior.ssthresh);
        send.prior.is_set = false;
        send.frto = 0;
        send.duplicates = 0;
        send.mode = Mode::Open;
        self.unmark_lost();
        self.control.reborrow().into_mut().on_undo(now, &mut self.send.window);
    }
}
