//! Scalable TCP (T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM SIGCOMM
//! CCR
//! 33(2), 2003): the window grows by a hundredth of what is acknowledged, and loses an eighth at a loss.

use parades_core::digest::Digest;
use parades_core::time::Time;
use parades_tcp::control::{Ack, Algorithm, Congestion, CongestionControl, OtherControl, Window};

#[derive(Clone, Debug, Default)]
struct Scalable {
    /// Acknowledged bytes for which the window has not grown yet.
    acked: u32,
}

/// Returns the setting for connections with this control.
pub(crate) fn algorithm() -> Algorithm {
    Algorithm::Other(OtherControl::new("scalable", Scalable::default()))
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if ack.is_recovering || !ack.is_window_limited {
            return;
        }
        if window.is_slow_start() {
            window.cwnd += ack.acked;
            return;
        }
        self.acked += ack.acked;
        window.cwnd += self.acked / 100;
        self.acked %= 100;
    }

    fn on_congestion(&mut self, _: Congestion, _: Time, _: u32, window: &mut Window) {
        window.ssthresh = (window.cwnd / 8 * 7).max(2 * window.mss);
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.acked));
    }
}
