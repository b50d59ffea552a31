//! When a flow sends, and how much at a time.
//!
//! Rates are of payload: headers come on top. The gaps of a constant rate are rounded up to a picosecond each, so such a flow
//! is slower than its rate by less than one part in a million at a gigabit per second.

use parades_core::random::{Pareto, Rng};
use parades_core::time::{Delay, Time};

/// The payload of a packet, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Always the same.
    Constant(u32),
    /// One of these, drawn by weight: bytes and weight.
    Mix(Vec<(u32, u32)>),
}

impl Sizes {
    /// The simple Internet mix: IP packets of 40, 576 and 1500 bytes, 7 : 4 : 1, as UDP payloads (28 bytes less each).
    ///
    /// ```
    /// # use parades_net::traffic::Sizes;
    /// assert!((Sizes::internet_mix().mean() - (340.33 - 28.0)).abs() < 0.01);
    /// ```
    pub fn internet_mix() -> Sizes {
        Sizes::Mix(vec![(12, 7), (548, 4), (1472, 1)])
    }

    /// The mean payload.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Constant(bytes) => f64::from(*bytes),
            Sizes::Mix(sizes) => {
                let product = |&(bytes, weight): &(u32, u32)| u64::from(bytes) * u64::from(weight);
                sizes.iter().map(product).sum::<u64>() as f64 / total_weight(sizes) as f64
            }
        }
    }

    /// The least payload that can be drawn; `None` where none can.
    pub(crate) fn least(&self) -> Option<u32> {
        self.possible().min()
    }

    /// The greatest payload that can be drawn; `None` where none can.
    pub(crate) fn greatest(&self) -> Option<u32> {
        self.possible().max()
    }

    fn possible(&self) -> impl Iterator<Item = u32> {
        let (constant, mix) = match self {
            Sizes::Constant(bytes) => (Some(*bytes), &[][..]),
            Sizes::Mix(sizes) => (None, &sizes[..]),
        };
        let mix = mix.iter().filter(|(_, weight)| *weight > 0).map(|&(bytes, _)| bytes);
        constant.into_iter().chain(mix)
    }

    /// A payload.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            Sizes::Constant(bytes) => *bytes,
            Sizes::Mix(sizes) => {
                let mut at = rng.below(total_weight(sizes));
                for &(bytes, weight) in sizes {
                    match at.checked_sub(u64::from(weight)) {
                        Some(beyond) => at = beyond,
                        None => return bytes,
                    }
                }
                unreachable!("the draw is below the total weight")
            }
        }
    }
}

fn total_weight(sizes: &[(u32, u32)]) -> u64 {
    sizes.iter().map(|&(_, weight)| u64::from(weight)).sum()
}

/// The length of an on or an off period.
#[derive(Clone, Debug, PartialEq)]
pub enum Period {
    /// Always the same.
    Constant(Delay),
    /// Exponential, with this mean.
    Exponential(Delay),
    /// Pareto, in seconds: the sum of many such flows is self-similar where the shape is between 1 and 2.
    Pareto(Pareto),
}

impl Period {
    fn draw(&self, rng: &mut Rng) -> Delay {
        match self {
            Period::Constant(length) => *length,
            Period::Exponential(mean) => rng.exponential_delay(*mean),
            // What is too long lasts to the end of time.
            Period::Pareto(pareto) => Delay::from_secs_f64(pareto.sample(rng)).unwrap_or(Delay::MAX),
        }
    }
}

/// When the packets of a flow are sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// At a constant bit rate: after a packet, the time that its payload takes at the rate. The first is sent at the flow's start.
    Constant {
        /// Bits of payload in a second.
        rate_bps: u64,
    },
    /// As a Poisson process from the flow's start on.
    Poisson {
        /// The mean time between packets.
        mean_gap: Delay,
    },
    /// At a constant rate in *on* periods, not at all between them. The first on period begins at the flow's start. A packet that
    /// is not yet due when a period ends waits for the rest of its time in the next one, so the mean rate is the rate times the share of
    /// on periods.
    OnOff {
        /// Bits of payload in a second of an on period.
        rate_bps: u64,
        /// How long it sends.
        on: Period,
        /// How long it does not.
        off: Period,
    },
}

/// How many on periods the gap before one packet may span at most, so that a mistaken parameter cannot stop the run.
const PERIODS_MAX: u32 = 1 << 16;

impl Pattern {
    /// When the first packet of a flow is sent that starts at `start`; and when its first on period ends.
    pub(crate) fn first(&self, start: Time, rng: &mut Rng) -> Option<(Time, Time)> {
        match self {
            Pattern::Constant { .. } => Some((start, Time::MAX)),
            Pattern::Poisson { mean_gap } => Some((start.checked_add(rng.exponential_delay(*mean_gap))?, Time::MAX)),
            Pattern::OnOff { on, .. } => Some((start, start.checked_add(on.draw(rng)).unwrap_or(Time::MAX))),
        }
    }

    /// When the packet after one of `payload` bytes, sent `now`, is sent; `on_until`, the end of the on period, moves along. `None` past
    /// the end of time.
    #[inline]
    pub(crate) fn next(&self, now: Time, payload: u32, on_until: &mut Time, rng: &mut Rng) -> Option<Time> {
        match self {
            Pattern::Constant { rate_bps } => now.checked_add(Delay::serialisation(u64::from(payload), *rate_bps)),
            Pattern::Poisson { mean_gap } => now.checked_add(rng.exponential_delay(*mean_gap)),
            Pattern::OnOff { rate_bps, on, off } => {
                let mut gap = Delay::serialisation(u64::from(payload), *rate_bps);
                let mut from = now;
                for _ in 0..PERIODS_MAX {
                    let left = on_until.since(from);
                    if gap <= left {
                        return from.checked_add(gap);
                    }
                    gap = Delay::from_ps(gap.as_ps() - left.as_ps());
                    from = on_until.checked_add(off.draw(rng))?;
                    *on_until = from.checked_add(on.draw(rng)).unwrap_or(Time::MAX);
                }
                None
            }
        }
    }

    /// What makes no sense, as the end of a sentence about a flow whose greatest payload is `greatest`.
    pub(crate) fn check(&self, greatest: u32) -> Result<(), String> {
        match self {
            Pattern::Constant { rate_bps: 0 } | Pattern::OnOff { rate_bps: 0, .. } => Err("has a rate of zero".into()),
            Pattern::Poisson { mean_gap: Delay::ZERO } => Err("has a mean time between packets of zero".into()),
            Pattern::OnOff { rate_bps, on, .. } => {
                let gap = Delay::serialisation(u64::from(greatest), *rate_bps);
                match on {
                    Period::Constant(mean) | Period::Exponential(mean)
                        if mean.as_ps().saturating_mul(1000) < gap.as_ps() =>
                    {
                        Err(format!("has on periods of {mean}, in 1000 of which it cannot send one packet of {gap}"))
                    }
                    _ => Ok(()),
                }
            }
            Pattern::Constant { .. } | Pattern::Poisson { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(pattern: &Pattern, payload: u32, seconds: u64) -> u64 {
        let mut rng = Rng::stream(3, 4);
        let end = Time::ZERO.checked_add(Delay::from_secs(seconds)).expect("short");
        let (mut now, mut on_until) = pattern.first(Time::ZERO, &mut rng).expect("short");
        let mut packets = 0;
        while now < end {
            packets += 1;
            now = pattern.next(now, payload, &mut on_until, &mut rng).expect("short");
        }
        packets
    }

    #[test]
    fn a_constant_rate_is_exact() {
        assert_eq!(sent(&Pattern::Constant { rate_bps: 8000 }, 100, 10), 100);
    }

    #[test]
    fn on_periods_carry_the_rest_of_a_gap_over() {
        // A packet takes 100 ms of on time, of which a period has 250 ms: 2.5 packets in each second, for ever.
        let pattern = Pattern::OnOff {
            rate_bps: 8000,
            on: Period::Constant(Delay::from_ms(250)),
            off: Period::Constant(Delay::from_ms(750)),
        };
        // The first is sent at once, the 250th after 24.9 s of on time, the 251st after 25.0 s, at the very end of the hundredth period.
        assert_eq!(sent(&pattern, 100, 100), 251);
    }

    #[test]
    fn mean_rates_of_random_patterns_are_kept() {
        let poisson = Pattern::Poisson { mean_gap: Delay::from_ms(1) };
        assert!(sent(&poisson, 100, 100).abs_diff(100_000) < 1000);
        let exponential = |ms| Period::Exponential(Delay::from_ms(ms));
        let on_off = Pattern::OnOff { rate_bps: 800_000, on: exponential(10), off: exponential(30) };
        assert!(sent(&on_off, 100, 200).abs_diff(50_000) < 1500);
        let pareto = Period::Pareto(Pareto::new(0.01, 3.0).expect("valid")); // mean 15 ms
        let on_off = Pattern::OnOff { rate_bps: 800_000, on: pareto, off: exponential(15) };
        assert!(sent(&on_off, 100, 200).abs_diff(100_000) < 3000);
    }

    #[test]
    fn sizes_are_drawn_by_weight() {
        let sizes = Sizes::Mix(vec![(10, 3), (999, 0), (20, 1)]);
        let mut rng = Rng::stream(1, 1);
        let tens = (0..10_000).filter(|_| sizes.draw(&mut rng) == 10).count();
        assert!(tens.abs_diff(7500) < 150, "{tens}");
        assert_eq!((sizes.least(), sizes.greatest(), sizes.mean()), (Some(10), Some(20), 12.5));
    }
}
