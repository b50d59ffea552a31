//! The window in a recovery: proportional rate reduction (RFC 6937, RFC 9937), or the threshold at once.

use crate::connection::ConnectionUndo;
use crate::control::{CongestionControl, Window};
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::scoreboard::Report;
use crate::sender::{Mode, Proportional};
use crate::settings::Reduction;
use parades_core::restore::Recorder;

/// The progress of a recovery by an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Bytes newly delivered.
    pub(crate) delivered: u32,
    /// True if the acknowledgement has shown a further loss.
    pub(crate) has_new_loss: bool,
    /// Bytes in flight.
    pub(crate) in_flight: u32,
}

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Lets the window shrink from the next acknowledgement on.
    pub(crate) fn begin_proportional(&mut self) {
        self.send.proportional = Proportional::default();
    }

    /// Shrinks the window by an acknowledgement within a recovery, or within the reduction after a mark.
    pub(crate) fn shrink(&mut self, report: &Report, progress: Progress) {
        let is_gradual = match self.send.mode {
            Mode::Recovery => true,
            Mode::Reduced => self.settings.reduces_gradually_after_mark,
            _ => false,
        };
        if !is_gradual || self.control.owns_recovery() {
            return;
        }
        let send = &mut *self.send;
        if send.proportional.flight == 0 {
            // Bytes that were received before the recovery are not delivered in it (RFC 9937, section 6.1).
            let earlier = match self.settings.reduction {
                Reduction::Rfc9937 => send.sacked.saturating_sub(report.sacked + report.acked),
                _ => 0,
            };
            send.proportional.flight = send.flight().saturating_sub(earlier).max(1);
            if send.mode == Mode::Reduced && self.settings.counts_mark_twice {
                send.proportional.delivered = progress.delivered;
            }
        }
        send.proportional.delivered = send.proportional.delivered.saturating_add(progress.delivered);
        let window = send.window;
        let count = match self.settings.reduction {
            Reduction::AtOnce => {
                send.window.cwnd = window.ssthresh;
                return;
            }
            Reduction::Rfc6937 { wraps } => send.proportional.rfc6937(progress, report.has_repaired, &window, wraps),
            Reduction::Rfc9937 => {
                let is_safe = report.acked > 0 && !progress.has_new_loss;
                send.proportional.rfc9937(progress, is_safe, &window)
            }
        };
        // The first acknowledgement retransmits a segment.
        let least = if send.proportional.out > 0 { 0 } else { window.mss };
        send.window.cwnd = progress.in_flight.saturating_add(count.max(least));
    }
}

impl Proportional {
    /// Returns the bytes that may be sent (RFC 6937, section 3.1, with the slow-start reduction bound).
    ///
    /// `has_repaired` is true if a retransmission was acknowledged. As in ns-3, the bound without an
    /// acknowledged retransmission is the delivered bytes alone. Differences that are negative there are
    /// taken modulo 2^32.
    fn rfc6937(self, progress: Progress, has_repaired: bool, window: &Window, wraps: bool) -> u32 {
        let (Window { ssthresh, mss, .. }, in_flight) = (*window, progress.in_flight);
        if in_flight > ssthresh {
            return self.share(ssthresh, wraps).saturating_sub(self.out);
        }
        let bound = if has_repaired {
            self.delivered.wrapping_sub(self.out).max(progress.delivered).wrapping_add(mss)
        } else {
            progress.delivered
        };
        u32::try_from(bound.cast_signed()).unwrap_or(0).min(ssthresh - in_flight)
    }

    /// Returns the bytes that may be sent (RFC 9937, section 6.2). `is_safe` is true if the acknowledgement
    /// advances and shows no further loss.
    fn rfc9937(self, progress: Progress, is_safe: bool, window: &Window) -> u32 {
        let (Window { ssthresh, mss, .. }, in_flight) = (*window, progress.in_flight);
        if in_flight > ssthresh {
            return self.share(ssthresh, false).saturating_sub(self.out);
        }
        let mut bound = self.delivered.saturating_sub(self.out).max(progress.delivered);
        if is_safe {
            bound = bound.saturating_add(mss);
        }
        bound.min(ssthresh - in_flight)
    }

    /// Returns the delivered bytes, reduced in proportion, rounded up.
    fn share(self, ssthresh: u32, wraps: bool) -> u32 {
        let product = if wraps {
            u64::from(self.delivered.wrapping_mul(ssthresh))
        } else {
            u64::from(self.delivered) * u64::from(ssthresh)
        };
        u32::try_from(product.div_ceil(u64::from(self.flight.max(1)))).unwrap_or(u32::MAX)
    }
}
