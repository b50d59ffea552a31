//! A sender and a path, packet by packet: each packet is acknowledged by itself.
//!
//! The sender always has data. Loss is noticed when the acknowledgement would have arrived, and ends at the
//! first acknowledgement of a packet that was sent after it. Lost data are not sent again.

use crate::controls::harness::{MSS, ack, window};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Ack, Algorithm, Congestion, CongestionControl, Control, RateSample, Window};
use std::collections::VecDeque;

/// A path. Without a rate, each packet is acknowledged one round trip after it was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    /// The round trip of an idle path, without the time of transmission.
    pub(crate) rtt: Delay,
    /// The bottleneck's rate.
    pub(crate) rate_bps: Option<u64>,
    /// The largest number of packets waiting at the bottleneck.
    pub(crate) queue_max: Option<u64>,
    /// Each packet whose number is a multiple of this one is lost.
    pub(crate) lose_every: Option<u64>,
    /// A packet that finds this number of packets waiting, or more, is marked.
    pub(crate) mark_from: Option<u64>,
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    sent: Time,
    ack_at: Time,
    is_lost: bool,
    is_marked: bool,
    /// The values for the delivery rate when the packet was sent.
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
}

/// A sender at one end of a path.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    path: Path,
    pub(crate) control: Control,
    pub(crate) window: Window,
    pub(crate) now: Time,
    flight: VecDeque<Packet>,
    next: u64,
    srtt: Delay,
    /// The time at which the bottleneck is idle again.
    busy_until: Time,
    /// The time before which a paced sender sends nothing.
    next_send: Time,
    /// The number of the first packet that was sent after the last loss, or after the last mark.
    recover_until: u64,
    pub(crate) is_recovering: bool,
    /// Delivered bytes.
    pub(crate) delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    pub(crate) losses: u32,
    pub(crate) marks: u64,
    /// The integral of the window over time, in byte seconds.
    pub(crate) area: f64,
}

impl Sender {
    /// Starts a sender with a window of ten segments.
    pub(crate) fn start(algorithm: Algorithm, path: Path) -> Sender {
        let (mut control, mut window) = (algorithm.start(), window(10 * MSS, u32::MAX));
        control.on_start(Time::ZERO, &mut window);
        let mut sender = Sender {
            path,
            control,
            window,
            now: Time::ZERO,
            flight: VecDeque::new(),
            next: 1,
            srtt: Delay::ZERO,
            busy_until: Time::ZERO,
            next_send: Time::ZERO,
            recover_until: 0,
            is_recovering: false,
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            losses: 0,
            marks: 0,
            area: 0.0,
        };
        sender.send();
        sender
    }

    /// Sets a longer round trip of the idle path.
    pub(crate) fn lengthen(&mut self, rtt: Delay) {
        self.path.rtt = self.path.rtt.max(rtt);
    }

    /// Returns the window in segments.
    pub(crate) fn segments(&self) -> f64 {
        f64::from(self.window.cwnd) / f64::from(MSS)
    }

    /// Returns the packets in flight.
    pub(crate) fn in_flight(&self) -> u32 {
        u32::try_from(self.flight.len()).expect("fewer packets than bytes in the window")
    }

    /// Returns the packets at the bottleneck, with the one in transmission.
    pub(crate) fn queued(&self) -> u64 {
        self.path.rate_bps.map_or(0, |bps| {
            let one = Delay::serialisation(u64::from(MSS), bps).as_ps();
            self.busy_until.since(self.now).as_ps().div_ceil(one)
        })
    }

    /// Executes events before `end`, and calls `look` after each.
    pub(crate) fn run(&mut self, end: Time, mut look: impl FnMut(&Sender)) {
        while self.step(end) {
            look(self);
        }
    }

    /// Executes the next event: an acknowledgement, or a transmission that was paced. Returns false if it is
    /// not before `end`.
    pub(crate) fn step(&mut self, end: Time) -> bool {
        let ack_at = self.flight.front().map_or(Time::MAX, |packet| packet.ack_at);
        let is_paced = self.has_room() && self.next_send < ack_at;
        let at = if is_paced { self.next_send } else { ack_at };
        if at >= end {
            return false;
        }
        self.area += f64::from(self.window.cwnd) * at.since(self.now).as_secs_f64();
        self.now = at;
        if !is_paced && let Some(packet) = self.flight.pop_front() {
            self.acknowledge(packet);
        }
        self.send();
        true
    }

    fn has_room(&self) -> bool {
        (self.in_flight() + 1) * MSS <= self.window.cwnd
    }

    fn send(&mut self) {
        while self.has_room() && self.next_send <= self.now {
            self.transmit();
            if let (true, Some(bps)) = (self.control.needs_pacing(), self.window.pacing_bps) {
                self.next_send = self.now.saturating_add(Delay::serialisation(u64::from(MSS), bps));
            }
        }
    }

    fn transmit(&mut self) {
        let (number, waiting) = (self.next, self.queued());
        self.next += 1;
        if self.flight.is_empty() {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        let is_full = self.path.queue_max.is_some_and(|most| waiting > most);
        let is_lost = is_full || self.path.lose_every.is_some_and(|every| number.is_multiple_of(every));
        if let (false, Some(bps)) = (is_full, self.path.rate_bps) {
            let start = self.busy_until.max(self.now);
            self.busy_until = start.saturating_add(Delay::serialisation(u64::from(MSS), bps));
        }
        let packet = Packet {
            number,
            sent: self.now,
            ack_at: self.busy_until.max(self.now).saturating_add(self.path.rtt),
            is_lost,
            is_marked: self.path.mark_from.is_some_and(|least| waiting >= least),
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        };
        self.flight.push_back(packet);
    }

    fn acknowledge(&mut self, packet: Packet) {
        if packet.is_lost && !self.is_recovering {
            self.losses += 1;
            self.is_recovering = true;
            self.react(Congestion::Loss);
        } else if packet.is_marked && packet.number >= self.recover_until {
            self.react(Congestion::Mark);
        }
        self.marks += u64::from(packet.is_marked);
        if self.is_recovering && packet.number >= self.recover_until {
            self.is_recovering = false;
            self.control.on_recovered(self.now, &mut self.window);
        }
        let ack = self.ack_of(packet);
        self.control.on_ack(&ack, &mut self.window);
    }

    fn react(&mut self, congestion: Congestion) {
        self.recover_until = self.next;
        let in_flight = (self.in_flight() + 1) * MSS;
        self.control.on_congestion(congestion, self.now, in_flight, &mut self.window);
        if !self.control.owns_recovery() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    fn ack_of(&mut self, packet: Packet) -> Ack {
        let (in_flight, unacked, next) = (self.in_flight() * MSS, packet.number + 1, self.next);
        let places = Ack {
            now: self.now,
            in_flight_before: in_flight + MSS,
            in_flight,
            unacked: unacked * u64::from(MSS),
            next: next * u64::from(MSS),
            is_recovering: self.is_recovering,
            ..ack(1)
        };
        if packet.is_lost {
            let nothing = Ack { acked: 0, segments: 0, delivered: 0, lost: MSS, ..places };
            return Ack { delivered_total: self.delivered, srtt: self.srtt, ..nothing };
        }
        let rtt = self.now.since(packet.sent);
        let eighths = (self.srtt.as_ps() * 7 + rtt.as_ps()) / 8;
        self.srtt = if self.srtt == Delay::ZERO { rtt } else { Delay::from_ps(eighths) };
        let rate = self.deliver(packet);
        let is_marked = packet.is_marked;
        Ack { rtt: Some(rtt), srtt: self.srtt, rate, delivered_total: self.delivered, is_marked, ..places }
    }

    /// Returns the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02, section 3).
    fn deliver(&mut self, packet: Packet) -> Option<RateSample> {
        self.delivered += u64::from(MSS);
        self.delivered_at = self.now;
        self.first_sent = packet.sent;
        let sending = packet.sent.since(packet.first_sent);
        let interval = sending.max(self.now.since(packet.delivered_at));
        Some(RateSample {
            delivered: self.delivered - packet.delivered,
            interval,
            prior_delivered: packet.delivered,
            is_app_limited: false,
        })
    }
}
