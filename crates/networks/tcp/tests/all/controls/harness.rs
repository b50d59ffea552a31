//! Windows and acknowledgements for calls of a control by hand.

use parades_core::time::{Delay, Time};
use parades_tcp::control::{Ack, Window};

pub(crate) const MSS: u32 = 1000;

pub(crate) fn window(cwnd: u32, ssthresh: u32) -> Window {
    Window { cwnd, ssthresh, mss: MSS, pacing_bps: None }
}

/// Returns an acknowledgement of `segments` full segments.
pub(crate) fn ack(segments: u32) -> Ack {
    Ack {
        now: Time::from_secs(1),
        acked: segments * MSS,
        segments,
        delivered: segments * MSS,
        lost: 0,
        in_flight_before: 20 * MSS,
        in_flight: 20 * MSS - segments * MSS,
        delivered_total: 0,
        rtt: None,
        srtt: Delay::ZERO,
        rate: None,
        unacked: 0,
        next: 0,
        is_marked: false,
        is_window_limited: true,
        is_recovering: false,
    }
}
