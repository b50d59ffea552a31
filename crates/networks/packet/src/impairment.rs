//! Impairments of a link, as in the network emulator netem: jitter, reordering, duplication, and losses in
//! bursts.
//!
//! Impairments act on packets behind the transmitter, on their way to the far end. They only make delays
//! longer, so the lookahead of a link does not depend on them. All chances are drawn from the random stream
//! of the sending node, one packet after the other.
//!
//! In order: a packet may be lost; if it is not, it may be duplicated; then it and its copy get a delay each.

use crate::probability::Probability;
use parades_core::random::{Pareto, Rng};
use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The greatest number of scales by which Pareto jitter delays a packet. Without a limit, a rare delay could
/// pass the end of virtual time.
const PARETO_MOST: f64 = 1e6;

/// A delay that is drawn for each packet, in addition to the delay of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Jitter {
    /// No delay.
    #[default]
    None,
    /// Uniform between zero and `most`.
    Uniform {
        /// The longest delay.
        most: Delay,
    },
    /// Normal. A delay below zero is drawn as zero.
    Normal {
        /// The mean.
        mean: Delay,
        /// The standard deviation.
        deviation: Delay,
    },
    /// Pareto, shifted so that it begins at zero: longer than `x` with the probability
    /// `(1 + x / scale)^-shape`, and at most a million scales.
    Pareto {
        /// The scale.
        scale: Delay,
        /// The shape, in thousandths. Above 1000, so that there is a mean: `scale / (shape - 1)`.
        shape_milli: u32,
    },
}

impl Jitter {
    fn draw(self, rng: &Rng) -> Delay {
        match self {
            Jitter::None => Delay::ZERO,
            Jitter::Uniform { most } => rng.uniform_delay(Delay::ZERO, most),
            Jitter::Normal { mean, deviation } => {
                let normal = rng.normal();
                if normal >= 0.0 {
                    mean.saturating_add(deviation.scaled(normal))
                } else {
                    Delay::from_ps(mean.as_ps().saturating_sub(deviation.scaled(-normal).as_ps()))
                }
            }
            Jitter::Pareto { scale, shape_milli } => {
                let shape = f64::from(shape_milli) / 1000.0;
                let pareto = Pareto::new(1.0, shape).expect("the shape is checked");
                scale.scaled((pareto.sample(rng) - 1.0).clamp(0.0, PARETO_MOST))
            }
        }
    }

    fn check(self) -> Result<(), String> {
        match self {
            Jitter::None => Ok(()),
            Jitter::Uniform { most: Delay::ZERO } | Jitter::Pareto { scale: Delay::ZERO, .. } => {
                Err("has a jitter of zero; leave the jitter out, or give it a time".into())
            }
            Jitter::Normal { mean: Delay::ZERO, deviation: Delay::ZERO } => {
                Err("has a jitter of zero; leave the jitter out, or give it a time".into())
            }
            Jitter::Pareto { shape_milli: ..=1000, .. } => {
                Err("has Pareto jitter with a shape of 1 or less, which has no mean; give it a greater shape".into())
            }
            Jitter::Uniform { .. } | Jitter::Normal { .. } | Jitter::Pareto { .. } => Ok(()),
        }
    }
}

/// Losses in bursts (Gilbert 1960, Elliott 1963): the link is in a good or a bad state, and each packet may
/// change the state. The chance of a loss depends on the state.
///
/// The mean share of the bad state is `to_bad / (to_bad + to_good)`, and a bad spell lasts for `1 / to_good`
/// packets in the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bursts {
    /// The probability that the next packet meets the bad state, after one that met the good state.
    pub to_bad: Probability,
    /// The probability that the next packet meets the good state, after one that met the bad state.
    pub to_good: Probability,
    /// The probability of a loss in the good state.
    pub loss_good: Probability,
    /// The probability of a loss in the bad state.
    pub loss_bad: Probability,
}

/// The impairments of a link, alike in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Impairments {
    /// A delay that is drawn for each packet.
    pub jitter: Jitter,
    /// True if no packet overtakes another one on the link: a packet arrives no earlier than its predecessor.
    /// Otherwise jitter reorders packets.
    pub keeps_order: bool,
    /// The probability that a packet is reordered: it skips the jitter, and may overtake others.
    pub reorder: Probability,
    /// The probability that a packet arrives twice. The copy takes no time of the transmitter.
    pub duplicate: Probability,
    /// Losses in bursts, in addition to the loss of the link.
    pub bursts: Option<Bursts>,
}

impl Impairments {
    /// Returns true if there are none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Impairments { keeps_order: self.keeps_order, ..Impairments::default() }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// The end of a sentence that begins with the link's name.
    pub fn check(&self) -> Result<(), String> {
        self.jitter.check()?;
        if !self.reorder.is_zero() && self.jitter == Jitter::None {
            return Err("reorders packets, but has no jitter; a packet overtakes others by skipping the jitter".into());
        }
        match self.bursts {
            Some(Bursts { to_bad, .. }) if to_bad.is_zero() => {
                Err("has bursts of losses that never begin; give `to_bad` more than 0".into())
            }
            _ => Ok(()),
        }
    }

    /// Returns true if a packet is lost.
    pub(crate) fn loses(&self, state: &mut State, rng: &Rng) -> bool {
        let Some(bursts) = &self.bursts else { return false };
        let (leave, loss) = match state.is_bad {
            true => (bursts.to_good, bursts.loss_bad),
            false => (bursts.to_bad, bursts.loss_good),
        };
        let is_lost = rng.chance(loss.get());
        state.is_bad ^= rng.chance(leave.get());
        is_lost
    }

    /// Returns true if a packet arrives twice.
    pub(crate) fn duplicates(&self, rng: &Rng) -> bool {
        !self.duplicate.is_zero() && rng.chance(self.duplicate.get())
    }

    /// Returns the delay from `now` to the arrival of a packet that would arrive after `delay` without
    /// impairments.
    pub(crate) fn delay(&self, state: &mut State, now: Time, delay: Delay, rng: &Rng) -> Delay {
        if !self.reorder.is_zero() && rng.chance(self.reorder.get()) {
            return delay;
        }
        let delay = delay.saturating_add(self.jitter.draw(rng));
        if !self.keeps_order {
            return delay;
        }
        let delay = delay.max(state.last_arrival.since(now));
        state.last_arrival = now.saturating_add(delay);
        delay
    }
}

/// The state of the impairments in one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(crate) struct State {
    /// The latest arrival of a packet that keeps the order.
    last_arrival: Time,
    /// True if the next packet meets the bad state of [`Bursts`].
    is_bad: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(of: u32, by: u32) -> Probability {
        Probability::quotient(of, by)
    }

    #[test]
    fn losses_in_bursts_have_the_mean_and_the_length_of_theory() {
        // A hundredth of the packets meets a bad spell's begin, and a spell is 4 packets long in the mean. So
        // 1/26 of the time is bad. Of packets in bad spells, 3/4 are lost, of the others 1/500.
        let bursts =
            Bursts { to_bad: ratio(1, 100), to_good: ratio(1, 4), loss_good: ratio(1, 500), loss_bad: ratio(3, 4) };
        let impairments = Impairments { bursts: Some(bursts), ..Impairments::default() };
        let (mut state, rng, count) = (State::default(), Rng::stream(5, 1), 1_000_000);
        let lost = (0..count).filter(|_| impairments.loses(&mut state, &rng)).count();
        let expected = f64::from(count) * (0.75 + 25.0 * 0.002) / 26.0;
        assert!((lost as f64 / expected - 1.0).abs() < 0.03, "{lost} lost, not {expected}");

        // If every packet of a bad spell is lost and no other one (Gilbert), runs of losses are the spells.
        let bursts = Bursts { loss_good: Probability::ZERO, loss_bad: Probability::ONE, ..bursts };
        let impairments = Impairments { bursts: Some(bursts), ..Impairments::default() };
        let losses: Vec<bool> = (0..count).map(|_| impairments.loses(&mut state, &rng)).collect();
        let lost = losses.iter().filter(|&&is_lost| is_lost).count();
        let runs = losses.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        assert!((lost as f64 / runs as f64 - 4.0).abs() < 0.1, "{lost} in {runs} runs");
        assert!((lost as f64 / f64::from(count) - 1.0 / 26.0).abs() < 0.001, "{lost}");
    }

    /// Returns the mean and the least of many delays, in milliseconds.
    fn drawn(jitter: Jitter) -> (f64, f64) {
        let rng = Rng::stream(5, 1);
        let delays: Vec<f64> = (0..400_000).map(|_| jitter.draw(&rng).as_secs_f64() * 1e3).collect();
        let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
        (delays.iter().sum::<f64>() / delays.len() as f64, least)
    }

    #[test]
    fn jitter_has_the_mean_of_its_distribution_and_only_delays() {
        let ms = Delay::from_ms;
        for (jitter, expected) in [
            (Jitter::Uniform { most: ms(10) }, 5.0),
            (Jitter::Normal { mean: ms(20), deviation: ms(3) }, 20.0),
            // The positive half of a normal distribution has the mean 1/sqrt(2 pi).
            (Jitter::Normal { mean: ms(0), deviation: ms(10) }, 10.0 / (2.0 * std::f64::consts::PI).sqrt()),
            // The mean of a shifted Pareto distribution is scale / (shape - 1).
            (Jitter::Pareto { scale: ms(10), shape_milli: 3000 }, 5.0),
        ] {
            let (mean, least) = drawn(jitter);
            assert!((mean / expected - 1.0).abs() < 0.02, "{jitter:?}: {mean} ms");
            assert!(least >= 0.0);
        }
    }

    #[test]
    fn without_reordering_no_packet_overtakes_and_with_it_some_do() {
        let jitter = Jitter::Uniform { most: Delay::from_ms(10) };
        for (keeps_order, reorder) in [(true, 0), (false, 0), (true, 10)] {
            let impairments =
                Impairments { jitter, keeps_order, reorder: ratio(reorder, 100), ..Impairments::default() };
            let (mut state, rng) = (State::default(), Rng::stream(5, 1));
            let arrivals: Vec<Time> = (0..10_000)
                .map(|ms| {
                    let now = Time::from_ms(ms);
                    let delay = impairments.delay(&mut state, now, Delay::from_ms(1), &rng);
                    assert!(delay >= Delay::from_ms(1));
                    now.saturating_add(delay)
                })
                .collect();
            assert_eq!(arrivals.is_sorted(), keeps_order && reorder == 0);
        }
    }
}
