//! PIE, the proportional integral controller enhanced (RFC 8033).
//!
//! A probability of drops follows the queueing delay: it is updated at fixed times, by the distance of the
//! delay from a target, and by the change of the delay since the last update.
//!
//! The queue is first-in-first-out, so its delay at any time is the time until the transmitter is free, which
//! is known without an estimate of the departure rate. Between two arrivals the delay only falls, so updates
//! are made up for at the next arrival, and cost no event.

use super::own::PortView;
use super::{Admission, QueueLimit};
use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The parameters of PIE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pie {
    /// The limit of the queue itself.
    pub limit: QueueLimit,
    /// The queueing delay that is aimed at (`QDELAY_REF`).
    pub target: Delay,
    /// The time between two updates of the probability (`T_UPDATE`).
    pub update: Delay,
    /// The length of a burst after a quiet time in which nothing is dropped (`MAX_BURST`).
    pub burst: Delay,
    /// The mean size of packets in bytes, headers included. Nothing is dropped while two of them or less
    /// wait.
    pub mean_packet: u32,
    /// True if packets whose senders understand marks are marked instead of dropped, as long as the
    /// probability is below a tenth.
    pub marks: bool,
}

/// The weights of the distance from the target, and of the change, in one update: per second of delay (RFC
/// 8033, section 4.2).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// The probability from which on packets are dropped, also those that might be marked (`MARK_ECNTH`, section
/// 5.1).
const MARKS_BELOW: f64 = 0.1;
/// The probability below which nothing is dropped while the last delay was below half the target (section
/// 4.1).
const SAFE_BELOW: f64 = 0.2;
/// The factor by which the probability decays at each update of a queue without delay (section 4.2).
const DECAY: f64 = 0.98;
/// The probabilities below which an update is divided, so that it is no larger than the probability itself
/// (section 4.2).
const SCALES: [(f64, f64); 6] =
    [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];
/// The largest growth in one update once the probability has reached a tenth (section 5.5).
const GROWTH_MAX: f64 = 0.02;

impl Default for Pie {
    /// The values of RFC 8033: a target of 15 ms, an update each 15 ms, bursts of 150 ms; 1000 packets as in
    /// Linux.
    fn default() -> Pie {
        Pie {
            limit: QueueLimit::Packets(1000),
            target: Delay::from_ms(15),
            update: Delay::from_ms(15),
            burst: Delay::from_ms(150),
            mean_packet: 1500,
            marks: true,
        }
    }
}

impl Pie {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.limit.check_positive()?;
        if self.target == Delay::ZERO || self.update == Delay::ZERO {
            return Err("has a target or an update of zero; give both some time".into());
        }
        Ok(())
    }

    /// Returns half the target: a delay below it is low.
    fn low(&self) -> Delay {
        Delay::from_ps(self.target.as_ps() / 2)
    }
}

/// The state of PIE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(crate) struct State {
    /// The probability of a drop.
    pub(crate) probability: f64,
    /// The delay at the last update.
    old: Delay,
    /// The time for which nothing is dropped, counted in updates.
    burst_left: Delay,
    /// The time of the last update.
    updated: Time,
}

// The probability is never NaN, so equality is an equivalence.
impl Eq for State {}

impl State {
    /// Decides about a packet that arrives.
    pub(crate) fn admit(&mut self, pie: &Pie, port: &PortView<'_>, is_capable: bool) -> Admission {
        self.update_until(pie, port.now, port.busy_until);
        let (delay, low) = (port.busy_until.since(port.now), pie.low());
        if self.probability <= 0.0 && delay < low && self.old < low {
            self.burst_left = pie.burst;
        }
        let is_safe = self.old < low && self.probability < SAFE_BELOW;
        let is_short = port.waiting_bytes <= 2 * u64::from(pie.mean_packet);
        if self.burst_left > Delay::ZERO || is_safe || is_short || !port.rng.chance(self.probability) {
            return Admission::Pass;
        }
        Admission::mark_or_drop(pie.marks && is_capable && self.probability < MARKS_BELOW)
    }

    /// Makes up for the updates until `now`. Since the last arrival, the transmitter is busy until `free`.
    fn update_until(&mut self, pie: &Pie, now: Time, free: Time) {
        loop {
            let at = self.updated.saturating_add(pie.update);
            if at > now {
                return;
            }
            self.updated = at;
            self.update(pie, free.since(at));
            // From here on, nothing changes but the time and the burst.
            if self.probability <= 0.0 && self.old == Delay::ZERO {
                let skipped = now.since(at).as_ps() / pie.update.as_ps();
                let span = Delay::from_ps(skipped * pie.update.as_ps());
                self.updated = at.saturating_add(span);
                self.burst_left = Delay::from_ps(self.burst_left.as_ps().saturating_sub(span.as_ps()));
                return;
            }
        }
    }

    /// Updates the probability (RFC 8033, section 4.2).
    fn update(&mut self, pie: &Pie, delay: Delay) {
        let seconds = |delay: Delay| delay.as_secs_f64();
        let distance = seconds(delay) - seconds(pie.target);
        let mut change = ALPHA * distance + BETA * (seconds(delay) - seconds(self.old));
        if let Some((_, scale)) = SCALES.iter().find(|(below, _)| self.probability < *below) {
            change /= scale;
        }
        if self.probability >= MARKS_BELOW {
            change = change.min(GROWTH_MAX);
        }
        self.probability += change;
        if delay == Delay::ZERO && self.old == Delay::ZERO {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_left = Delay::from_ps(self.burst_left.as_ps().saturating_sub(pie.update.as_ps()));
        self.old = delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(probability: f64, old_ms: u64) -> State {
        State { probability, old: Delay::from_ms(old_ms), ..State::default() }
    }

    /// Computed by hand: 0.125 × (delay - 0.015) + 1.25 × (delay - old), divided by the scale.
    #[test]
    fn updates_are_those_of_the_rfc() {
        for (before, old_ms, delay_ms, expected) in [
            (0.0, 0, 30, (0.001_875 + 0.037_5) / 2048.0),
            (0.000_02, 30, 30, 0.000_02 + 0.001_875 / 128.0),
            (0.05, 30, 20, 0.05 + (0.000_625 - 0.012_5) / 2.0),
            (0.5, 20, 20, 0.500_625),
            // Growth is capped from a tenth on.
            (0.1, 20, 120, 0.12),
            (0.99, 20, 120, 1.0),
            // An empty queue: down by the distance, and by a fiftieth.
            (0.5, 0, 0, (0.5 - 0.001_875) * 0.98),
            (0.000_000_5, 0, 0, 0.0),
        ] {
            let mut state = state(before, old_ms);
            state.update(&Pie::default(), Delay::from_ms(delay_ms));
            assert!(
                (state.probability - expected).abs() < 1e-12,
                "{before} {old_ms} {delay_ms}: {}",
                state.probability
            );
        }
    }

    #[test]
    fn an_idle_time_is_the_same_in_one_step_and_in_many() {
        let pie = Pie::default();
        let start = State { burst_left: pie.burst, ..state(0.3, 200) };
        let free = Time::from_ms(40);
        let (mut once, mut often) = (start, start);
        once.update_until(&pie, Time::from_ms(10_007), free);
        (1..=10_007).for_each(|ms| often.update_until(&pie, Time::from_ms(ms), free));
        assert_eq!(once, often);
        assert_eq!((once.probability, once.burst_left, once.updated), (0.0, Delay::ZERO, Time::from_ms(10_005)));
    }
}
