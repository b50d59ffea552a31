//! The choices that a setting has.

use parades_core::time::Delay;
use serde::{Deserialize, Serialize};

/// The use of congestion marks (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// Marks are never negotiated.
    Off,
    /// Marks are used if the other end asks for them.
    Accept,
    /// A SYN asks for marks.
    Ask,
}

/// The way in which the window shrinks in a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// To the threshold of slow start at once (RFC 6675, RFC 6582).
    AtOnce,
    /// Proportional rate reduction, RFC 6937 with its slow-start reduction bound.
    Rfc6937 {
        /// True if the product of the proportional part is computed modulo 2^32, as in ns-3. Above 4 GiB the
        /// recovery then sends too little, until the bytes in flight have reached the threshold.
        wraps: bool,
    },
    /// Proportional rate reduction, RFC 9937.
    Rfc9937,
}

/// The lower bound of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The whole timeout is at least this long (RFC 6298, rule 2.4).
    Whole(Delay),
    /// The part for the variation of the round trip is at least this long (Linux).
    Variation(Delay),
}

impl RtoFloor {
    /// Returns the bound.
    #[must_use]
    pub const fn delay(self) -> Delay {
        match self {
            RtoFloor::Whole(delay) | RtoFloor::Variation(delay) => delay,
        }
    }
}

/// The source of round-trip measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSource {
    /// The times at which segments were sent. The echoed timestamp measures an acknowledgement that advances
    /// by retransmitted segments only, a SYN included (RFC 7323, section 4.1; Linux).
    Sent,
    /// The echoed timestamp, in its ticks, of the oldest segment that is acknowledged. No measurement if this
    /// segment was retransmitted, or was sent before the last timeout (ns-3).
    Echo,
}

/// The bytes that count as flight size when a loss reduces the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlightSize {
    /// All bytes that are not acknowledged cumulatively (RFC 5681).
    Outstanding,
    /// The bytes that are believed to be in the network, after the loss was noticed (ns-3).
    Pipe,
}

/// The segments that count until an acknowledgement is sent at once ([`Settings::delayed_ack_segments`]).
///
/// A segment is full-sized if none was larger. The estimate of the size begins at 536 bytes, the default MSS.
///
/// [`Settings::delayed_ack_segments`]: super::Settings::delayed_ack_segments
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAckCount {
    /// Full-sized segments (RFC 5681, section 4.2).
    FullSegments,
    /// Bytes: more than one full-sized segment less than the number (Linux). So a full-sized segment and a
    /// smaller one are acknowledged at once, and two small ones are not.
    Bytes,
    /// All segments with data (ns-3).
    Segments,
}

/// Keep-alive (RFC 9293, section 3.8.4): an end that hears nothing asks whether the other end is alive.
///
/// A probe is an acknowledgement whose number lies one before the next one, so the other end must answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// The time without any segment from the other end before the first probe.
    pub idle: Delay,
    /// The time between two probes.
    pub interval: Delay,
    /// The number of probes without an answer before the connection is given up.
    pub probes: u32,
}

impl KeepAlive {
    /// Two hours, the least default that RFC 9293 permits. Then 9 probes every 75 s, as in Linux.
    pub const DEFAULT: KeepAlive = KeepAlive { idle: Delay::from_hours(2), interval: Delay::from_secs(75), probes: 9 };
}

/// A version of the Internet Protocol.
///
/// ```
/// use parades_tcp::settings::{IpVersion, Settings};
/// // An Ethernet frame carries 1500 bytes.
/// assert_eq!([IpVersion::V4, IpVersion::V6].map(|version| version.mss_of_mtu(1500)), [1460, 1440]);
/// let settings = Settings::linux().over(IpVersion::V6);
/// assert_eq!((settings.mss, settings.absent_mss), (1440, 1220));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IpVersion {
    /// Version 4 (RFC 791).
    #[default]
    V4,
    /// Version 6 (RFC 8200).
    V6,
}

impl IpVersion {
    /// Returns the bytes of an IP header without options.
    #[must_use]
    pub const fn header_bytes(self) -> u32 {
        match self {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    /// Returns the MSS of an end that sends no MSS option (RFC 9293, MUST-15 and MUST-16).
    #[must_use]
    pub const fn default_mss(self) -> u32 {
        match self {
            IpVersion::V4 => 536,
            IpVersion::V6 => 1220,
        }
    }

    /// Returns the MSS of a path that carries packets of at most `mtu` bytes (RFC 6691).
    #[must_use]
    pub const fn mss_of_mtu(self, mtu: u32) -> u32 {
        mtu.saturating_sub(self.header_bytes() + crate::header::BASE_BYTES)
    }
}
