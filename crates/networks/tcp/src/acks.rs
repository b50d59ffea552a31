//! Arriving acknowledgements (RFC 9293, section 3.10.7.4; RFC 5681; RFC 6675, section 5).

use crate::connection::ConnectionUndo;
use crate::control::{Ack, CongestionControl};
use crate::endpoint::Endpoint;
use crate::environment::{Environment, Notice};
use crate::header::{Flags, Header};
use crate::proportional::Progress;
use crate::scoreboard::Report;
use crate::sender::{Mode, TimerUse, bytes};
use crate::settings::RttSource;
use parades_core::restore::Recorder;
use parades_core::time::Delay;

/// The state before an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Before {
    in_flight: u32,
    lost_total: u64,
    delivered: u64,
}

/// The values for the congestion control that are not in the report.
#[derive(Clone, Copy, Debug)]
struct Told {
    delivered: u32,
    is_marked: bool,
    /// The acknowledged bytes that let the window grow.
    acked: u32,
}

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Handles an acknowledgement of all places below `ack`, at most `next`.
    pub(crate) fn process_ack(&mut self, header: &Header, ack: u64, from: u64, has_text: bool) {
        if ack < self.send.una {
            return;
        }
        let send = &*self.send;
        let (lost_total, delivered) = (send.lost_total, send.rate.delivered);
        let before = Before { in_flight: send.in_flight(), lost_total, delivered };
        let had_window = send.peer_window;
        let echo = header.timestamps.filter(|_| self.receive.has_timestamps).map(|timestamps| timestamps.echo);
        let mut report = Report { highest: send.rack.highest, echo, ..Report::default() };
        self.update_window(header, ack, from);
        if self.receive.has_sack {
            self.mark_sacked(header, ack, &mut report);
        }
        self.take_acknowledged(ack, &mut report);
        if report.acked > 0 && self.settings.keeps_presumed {
            self.correct_duplicates();
        }
        self.measure(header, &report);
        if report.is_duplicate {
            self.on_reported_duplicate();
        }
        let is_plain = report.acked == 0 && !has_text && self.send.peer_window == had_window;
        let has_flight = !self.outstanding.is_empty();
        let is_duplicate = if self.receive.has_sack {
            report.sacked > 0
        } else {
            has_flight && (is_plain || (report.acked == 0 && !self.settings.duplicates_are_plain))
        };
        self.counts.duplicate_acks += u64::from(is_plain && has_flight);
        if report.acked > 0 || report.sacked > 0 || is_duplicate {
            self.react(header, &report, is_duplicate, before);
        }
        self.end_probe(&report);
        if report.acked > 0 {
            self.on_advance(&report);
        }
    }

    /// Takes the other end's window from a segment that is not older than the last one (RFC 9293).
    fn update_window(&mut self, header: &Header, ack: u64, from: u64) {
        let send = &mut *self.send;
        let is_newer = send.window_seq < from || (send.window_seq == from && send.window_ack <= ack);
        if is_newer {
            send.peer_window = u32::from(header.window) << send.shift;
            send.peer_window_max = send.peer_window_max.max(send.peer_window);
            (send.window_seq, send.window_ack) = (from, ack);
        }
        // An answer to a probe shows that the other end is alive.
        if send.timer == TimerUse::Persist {
            send.retries = 0;
            self.note_answer();
        }
    }

    /// Returns the round trip that the echoed timestamp shows.
    pub(crate) fn echoed(&self, header: &Header) -> Option<Delay> {
        let timestamps = header.timestamps.filter(|_| self.receive.has_timestamps)?;
        let ticks = self.clock().wrapping_sub(timestamps.echo);
        let tick = self.settings.timestamp_tick;
        let least = match self.settings.rtt_source {
            RttSource::Sent => tick,
            RttSource::Echo => Delay::from_us(1),
        };
        // An echo from the future, or from hours ago, is no measurement.
        (ticks < 1 << 24).then(|| Delay::from_ps(u64::from(ticks) * tick.as_ps()).max(least))
    }

    /// Measures the round trip (RFC 6298, with Karn's rule).
    fn measure(&mut self, header: &Header, report: &Report) {
        let now = self.env.now();
        let measured = match self.settings.rtt_source {
            RttSource::Echo => report
                .timed
                .filter(|timed| !timed.was_retransmitted)
                .map(|timed| self.echoed(header).unwrap_or(now.since(timed.sent_at))),
            RttSource::Sent => {
                let sent = report.first_sent.or(report.first_sacked_sent).map(|sent_at| now.since(sent_at));
                sent.or_else(|| self.echoed(header).filter(|_| report.acked > 0))
            }
        };
        if let Some(round_trip) = measured {
            self.send.round_trip.measure(round_trip, self.settings);
            if let Some(last) = report.last_sent.filter(|_| self.settings.rtt_source == RttSource::Sent) {
                let round_trip = &mut self.send.round_trip;
                round_trip.latest = now.since(last);
                round_trip.min = round_trip.min.min(round_trip.latest);
            }
        }
    }

    /// Lets loss recovery and the congestion control react.
    fn react(&mut self, header: &Header, report: &Report, is_duplicate: bool, before: Before) {
        let mut delivered = bytes(self.send.rate.delivered - before.delivered);
        if !self.receive.has_sack && self.settings.duplicates_deliver {
            delivered = delivered.saturating_sub(report.presumed);
            delivered += if is_duplicate { self.send.window.mss } else { 0 };
        }
        if self.settings.rack {
            self.detect_losses_by_time();
        }
        self.end_reduction();
        let is_marked = self.send.uses_ecn && header.flags.has(Flags::ECE);
        if is_marked && report.acked > 0 {
            self.on_echo();
        }
        let earlier = self.send.in_flight();
        let acked = self.recover(report, is_duplicate);
        self.tell_control(report, Told { delivered, is_marked, acked }, before);
        let is_late = self.settings.counts_duplicates_late && self.send.proportional.flight > 0;
        let in_flight = if is_late { earlier } else { self.send.in_flight() };
        let has_new_loss = self.send.lost_total > before.lost_total;
        self.shrink(report, Progress { delivered, has_new_loss, in_flight });
    }

    /// Tells the congestion control about the acknowledgement.
    fn tell_control(&mut self, report: &Report, told: Told, before: Before) {
        let Told { delivered, is_marked, acked } = told;
        let now = self.env.now();
        let needs_rates = self.control.needs_rates();
        let send = &mut *self.send;
        let min = if send.round_trip.min == Delay::MAX { Delay::ZERO } else { send.round_trip.min };
        let rate = if needs_rates { send.rate.sample(&report.newest, min, now) } else { None };
        let is_window_limited = !self.settings.validates_window
            || send.is_window_limited
            || (send.window.is_slow_start() && send.window.cwnd < 2 * before.in_flight);
        let has_rtt = report.last_sent.is_some();
        let segments = if acked < report.acked { acked / send.window.mss } else { report.segments.max(acked.min(1)) };
        let ack = Ack {
            now,
            acked,
            segments,
            delivered,
            lost: bytes(send.lost_total - before.lost_total),
            in_flight_before: before.in_flight,
            in_flight: send.in_flight(),
            delivered_total: send.rate.delivered,
            rtt: has_rtt.then_some(send.round_trip.latest),
            srtt: send.round_trip.smoothed,
            rate,
            unacked: send.una,
            next: send.next,
            is_marked,
            is_window_limited,
            is_recovering: matches!(send.mode, Mode::Recovery | Mode::Reduced),
        };
        self.control.reborrow().into_mut().on_ack(&ack, &mut self.send.window);
    }

    /// Does what is due when the first place that is not acknowledged has advanced.
    fn on_advance(&mut self, report: &Report) {
        self.send.retries = 0;
        self.send.persist_backoff = 0;
        self.note_answer();
        if !self.settings.keeps_backoff {
            self.send.round_trip.backoff = 0;
        }
        let is_disordered = self.send.mode == Mode::Disorder && !self.settings.restarts_timer_in_disorder;
        let is_later_part = self.send.mode == Mode::Recovery && !self.send.is_first_part;
        let keeps_timer = is_disordered || (is_later_part && !self.settings.restarts_timer_at_each_part);
        if !keeps_timer || self.outstanding.is_empty() {
            self.restart_timer();
        }
        if self.send.mode == Mode::Recovery {
            self.send.is_first_part = false;
        }
        let fin_acked = self.send.is_closing && self.send.una > self.send.written;
        let freed = report.acked - u32::from(fin_acked);
        if freed > 0 {
            self.env.notify(Notice::Acknowledged { bytes: freed });
        }
        if fin_acked {
            self.on_fin_acknowledged();
        }
    }
}
