//! Settings of a connection: every choice that the RFCs leave open, and every deviation from them.
//!
//! Two profiles set all of them: [`Settings::linux`] and [`Settings::ns3`]. A field whose value in a profile
//! deviates from an RFC says so.
//!
//! In one place the profile `linux` follows an RFC and not Linux: an acknowledgement of a retransmitted
//! segment that echoes an older timestamp tells loss detection by time nothing (RFC 8985, section 6.2, step
//! 2). Linux does not compare timestamps there, and undoes the needless recovery later.

mod choices;

use crate::control::{Algorithm, Cubic, NewReno};
pub use choices::{DelayedAckCount, EcnUse, FlightSize, IpVersion, KeepAlive, Reduction, RtoFloor, RttSource};
use parades_core::time::Delay;

/// The settings of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The congestion control.
    pub algorithm: Algorithm,
    /// The largest segment that this end receives and the path carries, in bytes of payload and options.
    pub mss: u32,
    /// True if a SYN has the MSS option. ns-3 never sends it.
    pub announces_mss: bool,
    /// The MSS of an end that sends no MSS option: 536 (RFC 9293, MUST-15). Unlimited in ns-3.
    pub absent_mss: u32,
    /// True if options reduce the payload of a segment (RFC 6691). In ns-3 the payload alone is `mss`.
    pub options_reduce_payload: bool,
    /// The size of the send buffer in bytes.
    pub send_buffer: u32,
    /// The size of the receive buffer in bytes.
    pub receive_buffer: u32,
    /// True if the send buffer takes a piece that the application writes as a whole or not at all (ns-3).
    /// Linux takes the part that fits, and RFC 9293 leaves it open (section 3.9.1.2). Only the application
    /// knows its pieces, so it observes this setting.
    pub takes_whole_writes: bool,
    /// True if windows are scaled (RFC 7323).
    pub window_scaling: bool,
    /// True if a window is rounded up to the unit of its scale, so that it never shrinks (Linux). RFC 7323
    /// (section 2.3) and ns-3 round down.
    pub rounds_window_up: bool,
    /// True if both ends avoid silly windows (RFC 9293, section 3.8.6.2): the announced window grows by a
    /// segment or half the buffer, and a part of a segment is sent if it fills half of the largest window. In
    /// ns-3 the window grows by any number of bytes, and no part of a segment is sent while more data wait.
    pub avoids_silly_windows: bool,
    /// True if segments have timestamps (RFC 7323).
    pub timestamps: bool,
    /// The tick of the timestamps' clock.
    pub timestamp_tick: Delay,
    /// True if acknowledgements are selective (RFC 2018).
    pub sack: bool,
    /// True if duplicate segments are reported (RFC 2883). ns-3 does not report them.
    pub dsack: bool,
    /// The use of congestion marks.
    pub ecn: EcnUse,
    /// True if all segments can be marked, also those without data and retransmissions. RFC 3168 (section
    /// 6.1.4) permits marks of new data only. ns-3's DCTCP permits all.
    pub marks_all_segments: bool,
    /// True if each mark counts (RFC 3168, section 6.1.3). In ns-3 a mark counts only if its segment begins
    /// beyond the last one whose mark counted. So a retransmission's mark is lost, and that of the first data
    /// if the acknowledgement of the SYN, which begins at the same number, had a mark too.
    pub counts_all_marks: bool,
    /// True if everything that arrived before a change of marks is acknowledged at the change (RFC 8257,
    /// section 3.2). ns-3 leaves the last segment out, so its acknowledgement repeats the previous one.
    pub acknowledges_all_at_mark_change: bool,
    /// The initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// The initial threshold of slow start in bytes.
    pub initial_ssthresh: u32,
    /// The number of segments after which an acknowledgement is sent at once. RFC 9293 requires 2.
    pub delayed_ack_segments: u32,
    /// The segments that count towards this number.
    pub delayed_ack_count: DelayedAckCount,
    /// The longest delay of an acknowledgement. RFC 9293 requires less than 500 ms.
    pub delayed_ack_timeout: Delay,
    /// The number of segments at the begin of a connection that are acknowledged without delay.
    pub quick_acks: u32,
    /// True if Nagle's algorithm holds small segments back (RFC 9293, section 3.7.4).
    pub nagle: bool,
    /// The timeout before the first measurement: 1 s (RFC 6298, rule 2.1). ns-3 adds its granularity.
    pub rto_initial: Delay,
    /// The lower bound of the timeout.
    pub rto_floor: RtoFloor,
    /// The upper bound of the timeout.
    pub rto_max: Delay,
    /// The least timeout of the first data if a SYN was retransmitted and no timestamp measured the round
    /// trip: 3 s (RFC 6298, rule 5.7). ns-3 keeps the initial timeout.
    pub rto_after_syn_loss: Delay,
    /// The granularity of the clock in the timeout (RFC 6298, rule 2.3).
    pub rto_granularity: Delay,
    /// The source of round-trip measurements.
    pub rtt_source: RttSource,
    /// True if the timeout stays doubled until the round trip is measured again (RFC 6298, rule 5.7). In ns-3
    /// each acknowledgement of new data ends the backoff.
    pub keeps_backoff: bool,
    /// True if each acknowledgement of a part restarts the timer in a recovery. False in ns-3, which restarts
    /// it at the first one only ("impatient", RFC 6582, section 4).
    pub restarts_timer_at_each_part: bool,
    /// True if an acknowledgement that advances restarts the timer also if it reports segments out of order
    /// for the first time (RFC 6298, rule 5.3). In ns-3 it does not, outside of a recovery.
    pub restarts_timer_in_disorder: bool,
    /// True if each timeout reduces the threshold of slow start, also a repeated one of the same segment.
    /// RFC 5681 (section 3.1) reduces it at the first one only; ns-3 at each one.
    pub reduces_at_each_timeout: bool,
    /// The first timeout of a SYN.
    pub syn_timeout: Delay,
    /// The number of retransmissions of a SYN before the connection is given up.
    pub syn_retries: u32,
    /// The number of retransmissions of a segment before the connection is given up.
    pub data_retries: u32,
    /// The time for which data may stay unacknowledged before the connection is given up (RFC 9293, section
    /// 3.8.3; RFC 5482). It replaces both numbers of retransmissions. `None` if those decide, as in Linux.
    pub user_timeout: Option<Delay>,
    /// Probes of a connection that is idle; `None` for no probes, as RFC 9293 requires by default (MUST-25).
    pub keep_alive: Option<KeepAlive>,
    /// The longest stay in FIN-WAIT-2 of a connection that its application has released
    /// ([`crate::ConnectionMut::release`]). `None` without a bound: RFC 9293 has none. Linux has 60 s.
    pub fin_wait_2_timeout: Option<Delay>,
    /// The number of duplicate acknowledgements that show a loss (RFC 5681).
    pub duplicate_threshold: u32,
    /// True if a duplicate acknowledgement without SACK has neither data nor another window (RFC 5681,
    /// section 2). In ns-3 every acknowledgement that does not advance is a duplicate.
    pub duplicates_are_plain: bool,
    /// True if the first duplicate acknowledgements begin a recovery if the first segment is lost (RFC 6675,
    /// section 5, step 2). In ns-3 the first segment after it that is marked must be lost, not received.
    pub judges_first_segment: bool,
    /// True if duplicates without SACK begin a recovery even if nothing beyond the last recovery is
    /// acknowledged. RFC 6582 requires more (section 3.2, step 1); ns-3 does not.
    pub recovers_at_last_recovery: bool,
    /// True if the first duplicate acknowledgements allow new segments (RFC 3042).
    pub limited_transmit: bool,
    /// The way in which the window shrinks in a recovery.
    pub reduction: Reduction,
    /// The bytes that count as flight size when a loss reduces the window.
    pub flight_size: FlightSize,
    /// True if a congestion mark shrinks the window as a recovery does. Otherwise it shrinks at once (RFC
    /// 3168).
    pub reduces_gradually_after_mark: bool,
    /// True if a loss within the reduction after a mark begins a recovery, without another reduction (Linux).
    /// In ns-3 lost segments are only retransmitted.
    pub recovers_in_reduction: bool,
    /// True if an end that has sent its FIN first retransmits nothing outside of a recovery, also if a
    /// segment is marked as lost (ns-3).
    pub is_silent_after_fin: bool,
    /// True if the acknowledgement that begins a reduction after a mark counts twice in proportional rate
    /// reduction (ns-3).
    pub counts_mark_twice: bool,
    /// True if an acknowledgement of a part retransmits the next segment whatever the window is, also with
    /// SACK. RFC 6675 sends within the window; RFC 6582 retransmits at once, but without SACK only.
    pub retransmits_at_each_part: bool,
    /// True if a segment without a sign of loss is retransmitted in a recovery, only because nothing else can
    /// be sent, although nothing above it was received. RFC 6675 (rule 3) requires that something was.
    pub retransmits_beyond_sacked: bool,
    /// True if one segment at the end is retransmitted in each recovery (RFC 6675, rule 4). RFC 6675 says
    /// SHOULD; ns-3 does not, and tail loss probes make it superfluous.
    pub rescues: bool,
    /// True if a retransmitted segment counts as in flight after it was acknowledged selectively, until it is
    /// acknowledged cumulatively (ns-3).
    pub counts_sacked_retransmissions: bool,
    /// True if a duplicate acknowledgement without SACK counts as a delivered segment in proportional rate
    /// reduction (RFC 6937). It does not in ns-3.
    pub duplicates_deliver: bool,
    /// True if proportional rate reduction takes the bytes in flight from before a duplicate without SACK is
    /// counted. So each duplicate in a recovery allows a new segment (ns-3; as in RFC 6582).
    pub counts_duplicates_late: bool,
    /// True if duplicates without SACK stay counted as received segments after the recovery. Then a first
    /// segment that was counted so is retransmitted (ns-3). RFC 6582 forgets them at the end of the recovery.
    pub keeps_presumed: bool,
    /// True if the window grows by an acknowledgement that advances, while other segments are out of order.
    /// It does not grow in ns-3.
    pub grows_in_disorder: bool,
    /// True if the acknowledgement that ends the recovery after a timeout lets the window grow. In ns-3 only
    /// what was sent after the timeout counts, which is usually nothing.
    pub grows_at_end_of_loss: bool,
    /// True if losses are detected by time (RACK, RFC 8985).
    pub rack: bool,
    /// True if a tail loss probe precedes a timeout (RFC 8985).
    pub tail_loss_probe: bool,
    /// The time that a tail loss probe waits beyond two round trips while several segments are in flight. RFC
    /// 8985 (section 7.2) has none. Linux has two ticks of its timers, 2 ms at 1,000 Hz: timers within a tick
    /// would probe a data center before its queues have drained.
    pub probe_margin: Delay,
    /// True if spurious timeouts are detected (F-RTO, RFC 5682).
    pub frto: bool,
    /// True if a reduction is undone when all retransmissions prove to be duplicates (RFC 3708, RFC 4015).
    pub undoes_by_dsack: bool,
    /// The first timeout of a window probe; `None` for the retransmission timeout (RFC 9293, section
    /// 3.8.6.1).
    pub persist_timeout: Option<Delay>,
    /// The longest timeout of a window probe.
    pub persist_max: Delay,
    /// The duration of TIME-WAIT: two maximum segment lifetimes. RFC 9293 has 4 minutes.
    pub time_wait: Delay,
    /// True if a window that is not used does not grow (RFC 9293, RFC 7661). ns-3 lets it grow.
    pub validates_window: bool,
    /// True if the window restarts after an idle period (RFC 5681, section 4.1).
    pub restarts_after_idle: bool,
    /// The number of retransmissions of a SYN after which the window is one segment, unless a timestamp shows
    /// that they were needless. RFC 5681 (section 3.1) has 1. Linux has 2, because its first timeout is only
    /// 1 s. `None` if the initial window is kept, as in ns-3.
    pub restarts_after_syn_losses: Option<u32>,
    /// True if segments are paced, also if the congestion control does not need it.
    pub paces: bool,
    /// The shortest time between two challenge acknowledgements (RFC 5961, section 7).
    pub challenge_interval: Delay,
}

impl Settings {
    /// Returns `Ok` if the state of a connection with these settings can be written
    /// ([`Connection::write`](crate::Connection::write)).
    ///
    /// # Errors
    ///
    /// If its congestion control is of another crate and cannot: the reason, as a part of a sentence.
    pub fn can_save(&self) -> Result<(), String> {
        match &self.algorithm {
            Algorithm::Other(other) => other.can_save(),
            _ => Ok(()),
        }
    }

    /// Returns the settings of Linux. They follow the RFCs where Linux does.
    #[must_use]
    #[expect(clippy::too_many_lines, reason = "one line for each setting")]
    pub fn linux() -> Settings {
        Settings {
            algorithm: Algorithm::Cubic(Cubic::rfc9438()),
            mss: 1460,
            announces_mss: true,
            absent_mss: 536,
            options_reduce_payload: true,
            send_buffer: 4 << 20,
            receive_buffer: 6 << 20,
            takes_whole_writes: false,
            window_scaling: true,
            rounds_window_up: true,
            avoids_silly_windows: true,
            timestamps: true,
            timestamp_tick: Delay::from_ms(1),
            sack: true,
            dsack: true,
            ecn: EcnUse::Accept,
            marks_all_segments: false,
            counts_all_marks: true,
            acknowledges_all_at_mark_change: true,
            initial_window: 10,
            initial_ssthresh: u32::MAX,
            delayed_ack_segments: 2,
            delayed_ack_count: DelayedAckCount::Bytes,
            delayed_ack_timeout: Delay::from_ms(40),
            quick_acks: 16,
            nagle: true,
            rto_initial: Delay::from_secs(1),
            rto_floor: RtoFloor::Variation(Delay::from_ms(200)),
            rto_max: Delay::from_secs(120),
            rto_after_syn_loss: Delay::from_secs(3),
            rto_granularity: Delay::ZERO,
            rtt_source: RttSource::Sent,
            keeps_backoff: true,
            restarts_timer_at_each_part: true,
            restarts_timer_in_disorder: true,
            reduces_at_each_timeout: false,
            syn_timeout: Delay::from_secs(1),
            syn_retries: 6,
            data_retries: 15,
            user_timeout: None,
            keep_alive: None,
            fin_wait_2_timeout: Some(Delay::from_secs(60)),
            duplicate_threshold: 3,
            duplicates_are_plain: true,
            judges_first_segment: true,
            recovers_at_last_recovery: false,
            limited_transmit: true,
            reduction: Reduction::Rfc9937,
            flight_size: FlightSize::Outstanding,
            reduces_gradually_after_mark: true,
            recovers_in_reduction: true,
            is_silent_after_fin: false,
            counts_mark_twice: false,
            retransmits_at_each_part: false,
            retransmits_beyond_sacked: false,
            rescues: false,
            counts_sacked_retransmissions: false,
            duplicates_deliver: true,
            counts_duplicates_late: false,
            keeps_presumed: false,
            grows_in_disorder: true,
            grows_at_end_of_loss: true,
            rack: true,
            tail_loss_probe: true,
            probe_margin: Delay::from_ms(2),
            frto: true,
            undoes_by_dsack: true,
            persist_timeout: None,
            persist_max: Delay::from_secs(120),
            time_wait: Delay::from_secs(60),
            validates_window: true,
            restarts_after_idle: true,
            restarts_after_syn_losses: Some(2),
            paces: false,
            challenge_interval: Delay::from_ms(500),
        }
    }

    /// Returns the settings of ns-3.37 (`TcpSocketBase`).
    #[must_use]
    pub fn ns3() -> Settings {
        Settings {
            algorithm: Algorithm::NewReno(NewReno::ns3()),
            mss: 536,
            announces_mss: false,
            absent_mss: u32::MAX,
            options_reduce_payload: false,
            send_buffer: 131_072,
            receive_buffer: 131_072,
            takes_whole_writes: true,
            rounds_window_up: false,
            avoids_silly_windows: false,
            dsack: false,
            ecn: EcnUse::Off,
            counts_all_marks: false,
            acknowledges_all_at_mark_change: false,
            delayed_ack_count: DelayedAckCount::Segments,
            delayed_ack_timeout: Delay::from_ms(200),
            quick_acks: 1,
            nagle: false,
            rto_initial: Delay::from_ms(1001),
            rto_floor: RtoFloor::Whole(Delay::from_secs(1)),
            rto_max: Delay::from_secs(60),
            rto_after_syn_loss: Delay::ZERO,
            rto_granularity: Delay::from_ms(1),
            rtt_source: RttSource::Echo,
            keeps_backoff: false,
            restarts_timer_at_each_part: false,
            restarts_timer_in_disorder: false,
            reduces_at_each_timeout: true,
            syn_timeout: Delay::from_secs(3),
            data_retries: 6,
            fin_wait_2_timeout: None,
            duplicates_are_plain: false,
            judges_first_segment: false,
            recovers_at_last_recovery: true,
            reduction: Reduction::Rfc6937 { wraps: true },
            flight_size: FlightSize::Pipe,
            recovers_in_reduction: false,
            is_silent_after_fin: true,
            counts_mark_twice: true,
            retransmits_at_each_part: true,
            retransmits_beyond_sacked: true,
            counts_sacked_retransmissions: true,
            duplicates_deliver: false,
            counts_duplicates_late: true,
            keeps_presumed: true,
            grows_in_disorder: false,
            grows_at_end_of_loss: false,
            rack: false,
            tail_loss_probe: false,
            frto: false,
            undoes_by_dsack: false,
            persist_timeout: Some(Delay::from_secs(6)),
            persist_max: Delay::from_secs(60),
            time_wait: Delay::from_secs(240),
            validates_window: false,
            restarts_after_idle: false,
            restarts_after_syn_losses: None,
            ..Settings::linux()
        }
    }

    /// Returns the settings for the same frames over another version of the Internet protocol. They are those
    /// of version 4 before.
    #[must_use]
    pub fn over(self, version: IpVersion) -> Settings {
        let larger = version.header_bytes() - IpVersion::V4.header_bytes();
        let has_default = self.absent_mss == IpVersion::V4.default_mss();
        let absent_mss = if has_default { version.default_mss() } else { self.absent_mss };
        Settings { mss: self.mss.saturating_sub(larger), absent_mss, ..self }
    }
}
