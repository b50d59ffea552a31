//! Detection of spurious timeouts (F-RTO, RFC 5682, in its form for SACK).
//!
//! After a timeout, the acknowledgement of a segment that was not retransmitted shows that the timeout was
//! spurious: the original was only late.

use crate::connection::ConnectionUndo;
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::scoreboard::Report;
use parades_core::restore::Recorder;

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Begins the detection, if this is the first timeout of a recovery.
    pub(crate) fn begin_frto(&mut self, is_first: bool) {
        let runs = self.settings.frto && is_first && self.receive.has_sack;
        self.send.frto = if runs { self.send.next } else { 0 };
    }

    /// Decides on the acknowledgement after a timeout. Returns true if the timeout was spurious.
    pub(crate) fn detect_spurious_timeout(&mut self, report: &Report) -> bool {
        if report.has_original {
            self.undo_reduction();
            return true;
        }
        if report.acked == 0 || self.send.una >= self.send.frto {
            self.send.frto = 0;
        }
        false
    }
}
