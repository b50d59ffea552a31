//! Counts of a connection, for reports.

use crate::save::is_place;
use parades_core::digest::Digest;
use serde::{Deserialize, Serialize};

/// The number of segments, retransmissions and other happenings of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Segments sent, of all kinds.
    pub segments_sent: u64,
    /// Segments that arrived.
    pub segments_received: u64,
    /// Bytes of payload sent, retransmissions included.
    pub bytes_sent: u64,
    /// Retransmissions by fast recovery.
    pub fast_retransmissions: u64,
    /// Retransmissions after a timeout.
    pub timeout_retransmissions: u64,
    /// Retransmissions as tail loss probes.
    pub probe_retransmissions: u64,
    /// Retransmissions that the other end reported as duplicates.
    pub spurious_retransmissions: u64,
    /// Timeouts of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Reductions that were undone, because they were spurious.
    pub undone: u64,
    /// Reductions because of a congestion mark.
    pub mark_reductions: u64,
    /// Duplicate acknowledgements that arrived.
    pub duplicate_acks: u64,
    /// Segments that arrived out of order.
    pub out_of_order: u64,
    /// Segments that arrived and carried nothing new.
    pub duplicates: u64,
    /// Challenge acknowledgements sent (RFC 5961).
    pub challenges: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Keep-alive probes.
    pub keep_alives: u64,
}

impl Counts {
    /// Returns the number of retransmitted segments.
    #[must_use]
    pub const fn retransmissions(&self) -> u64 {
        self.fast_retransmissions + self.timeout_retransmissions + self.probe_retransmissions
    }

    /// Returns true if a connection may have these counts. Those that were read may be others.
    pub(crate) fn are_possible(&self) -> bool {
        let Counts {
            segments_sent,
            segments_received,
            bytes_sent,
            fast_retransmissions,
            timeout_retransmissions,
            probe_retransmissions,
            spurious_retransmissions,
            timeouts,
            recoveries,
            undone,
            mark_reductions,
            duplicate_acks,
            out_of_order,
            duplicates,
            challenges,
            window_probes,
            keep_alives,
        } = *self;
        let sending = [segments_sent, segments_received, bytes_sent, timeouts, recoveries, undone, mark_reductions];
        let again = [
            fast_retransmissions,
            timeout_retransmissions,
            probe_retransmissions,
            spurious_retransmissions,
            duplicate_acks,
        ];
        let others = [out_of_order, duplicates, challenges, window_probes, keep_alives];
        sending.into_iter().chain(again).chain(others).all(is_place)
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        let words = [
            self.segments_sent,
            self.segments_received,
            self.bytes_sent,
            self.fast_retransmissions,
            self.timeout_retransmissions,
            self.probe_retransmissions,
            self.timeouts,
        ];
        words.into_iter().for_each(|word| digest.word(word));
    }
}
