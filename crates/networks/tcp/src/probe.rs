//! Tail loss probes (RFC 8985, section 7).

use crate::connection::ConnectionUndo;
use crate::control::{Congestion, CongestionControl};
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::scoreboard::Report;
use crate::sender::{Mode, Probe, Reason, TimerUse};
use parades_core::restore::Recorder;
use parades_core::time::Delay;

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Returns true if a probe may precede the timeout.
    pub(crate) fn can_probe(&self) -> bool {
        let send = &*self.send;
        self.settings.tail_loss_probe
            && self.receive.has_sack
            && send.mode == Mode::Open
            && send.sacked == 0
            && !send.probe.is_out
            && send.round_trip.backoff == 0
            && send.round_trip.smoothed > Delay::ZERO
    }

    /// Returns the time until the probe (section 7.2). With one segment in flight, its acknowledgement may be
    /// delayed. The delay that is allowed for is the least timeout, as in Linux.
    pub(crate) fn probe_timeout(&self) -> Delay {
        let round_trip = self.send.round_trip.smoothed;
        let is_single = self.outstanding.len() == 1;
        let more = if is_single { self.settings.rto_floor.delay() } else { self.settings.probe_margin };
        round_trip.saturating_add(round_trip).saturating_add(more).min(self.send.round_trip.timeout(self.settings))
    }

    /// Sends a probe: a new segment, or the last one again (section 7.3).
    pub(crate) fn on_probe_timer(&mut self) {
        let Some(last) = self.outstanding.len().checked_sub(1) else { return };
        let before = self.send.next;
        self.probe_with_new_data();
        let is_retransmission = self.send.next == before;
        if is_retransmission {
            self.retransmit(last, Reason::TailLossProbe);
        }
        self.send.probe = Probe { is_out: true, end: self.send.next, is_retransmission };
        self.set_timer(TimerUse::Retransmit, self.send.round_trip.timeout(self.settings));
    }

    /// Ends the episode of a probe (section 7.4). A probe that repaired a loss reduces the window.
    pub(crate) fn end_probe(&mut self, report: &Report) {
        let probe = self.send.probe;
        if !probe.is_out || self.send.una < probe.end {
            return;
        }
        // An acknowledgement of exactly this place leaves open which of the two copies has arrived.
        let repeats = report.acked == 0 && report.sacked == 0;
        if self.send.una == probe.end && probe.is_retransmission && !report.is_duplicate && !repeats {
            return;
        }
        self.send.probe.is_out = false;
        if !probe.is_retransmission || report.is_duplicate || self.send.una == probe.end {
            return;
        }
        self.reduce(Congestion::Loss, self.send.flight() + report.acked);
        if !self.control.owns_recovery() {
            self.send.window.cwnd = self.send.window.cwnd.min(self.send.window.ssthresh);
        }
    }
}
