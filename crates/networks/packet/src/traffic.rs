//! The times at which a flow sends, and the sizes of its packets.
//!
//! Rates are of payload; headers come on top. Each gap of a constant rate is rounded up to a picosecond. So
//! such a flow is slightly slower than its rate: by less than one part in a million, if a gap is at least a
//! microsecond.

use parades_config::{ConfigError, FromValue, Values};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};

/// The payload of a packet, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All packets are alike.
    Constant(u32),
    /// Each packet has one of these sizes: bytes and weight of the draw.
    Mix(Vec<(u32, u32)>),
}

impl FromValue for Sizes {
    /// Returns packets of one size, or the Internet mix if the size is zero.
    fn from_value(values: &Values, key: &str) -> Result<Sizes, ConfigError> {
        Ok(match u32::from_value(values, key)? {
            0 => Sizes::internet_mix(),
            payload => Sizes::Constant(payload),
        })
    }
}

impl Sizes {
    /// Returns the simple Internet mix: IP packets of 40, 576 and 1500 bytes in the proportion 7 : 4 : 1, as
    /// UDP payloads, which are 28 bytes shorter.
    ///
    /// ```
    /// # use parades_packet::traffic::Sizes;
    /// assert!((Sizes::internet_mix().mean() - (340.33 - 28.0)).abs() < 0.01);
    /// ```
    pub fn internet_mix() -> Sizes {
        Sizes::Mix(vec![(12, 7), (548, 4), (1472, 1)])
    }

    /// Returns the mean payload.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Constant(bytes) => f64::from(*bytes),
            Sizes::Mix(sizes) => {
                let product = |&(bytes, weight): &(u32, u32)| u64::from(bytes) * u64::from(weight);
                sizes.iter().map(product).sum::<u64>() as f64 / total_weight(sizes) as f64
            }
        }
    }

    /// Returns the least payload that can be drawn. `None` if none can.
    pub fn least(&self) -> Option<u32> {
        self.possible().min()
    }

    /// Returns the greatest payload that can be drawn. `None` if none can.
    pub fn greatest(&self) -> Option<u32> {
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

    /// Draws a payload.
    #[inline]
    pub(crate) fn draw(&self, rng: &Rng) -> u32 {
        match self {
            Sizes::Constant(bytes) => *bytes,
            Sizes::Mix(sizes) => draw_weighted(sizes, |_, weight| u64::from(weight), rng),
        }
    }

    /// Draws the time from a random moment to the next packet of a flow that sends at this rate. The moment
    /// falls into the gap after a packet with a probability proportional to the packet's bytes. All points of
    /// the gap are equally likely.
    pub(crate) fn residual_gap(&self, rate_bps: u64, rng: &Rng) -> Delay {
        let bytes = match self {
            Sizes::Constant(bytes) => *bytes,
            Sizes::Mix(sizes) => draw_weighted(sizes, |bytes, weight| u64::from(bytes) * u64::from(weight), rng),
        };
        Delay::serialisation(u64::from(bytes), rate_bps).scaled(rng.unit())
    }
}

fn total_weight(sizes: &[(u32, u32)]) -> u64 {
    sizes.iter().map(|&(_, weight)| u64::from(weight)).sum()
}

/// Draws one of `sizes`, and returns its bytes. `weigh` computes the weight in this draw from a size and its
/// own weight.
#[inline]
fn draw_weighted(sizes: &[(u32, u32)], weigh: impl Fn(u32, u32) -> u64, rng: &Rng) -> u32 {
    let mut at = rng.below(sizes.iter().map(|&(bytes, weight)| weigh(bytes, weight)).sum());
    for &(bytes, weight) in sizes {
        match at.checked_sub(weigh(bytes, weight)) {
            Some(beyond) => at = beyond,
            None => return bytes,
        }
    }
    unreachable!("the draw is below the total weight")
}

/// The length of an on or an off period.
#[derive(Clone, Debug, PartialEq)]
pub enum Period {
    /// All periods are alike.
    Constant(Delay),
    /// An exponential distribution with this mean.
    Exponential(Delay),
    /// A Pareto distribution: `P(length > x) = (least / x)^shape`. The sum of many such flows is self-similar
    /// if the shape is between 1 and 2.
    Pareto {
        /// The shortest period.
        least: Delay,
        /// The exponent of the tail. It is above 1, so that there is a mean.
        shape: f64,
    },
}

impl Period {
    /// Draws a length.
    pub fn draw(&self, rng: &Rng) -> Delay {
        match self {
            Period::Constant(length) => *length,
            Period::Exponential(mean) => rng.exponential_delay(*mean),
            Period::Pareto { least, shape } => pareto(*least, *shape, rng),
        }
    }

    /// Returns the mean length.
    pub fn mean(&self) -> Delay {
        match self {
            Period::Constant(mean) | Period::Exponential(mean) => *mean,
            Period::Pareto { least, shape } => least.scaled(shape / (shape - 1.0)),
        }
    }

    /// Draws the residual length of a period at a random moment, which has the density `P(length > x) / mean`
    /// of renewal theory.
    fn draw_residual(&self, rng: &Rng) -> Delay {
        match self {
            Period::Constant(length) => length.scaled(rng.unit()),
            // The exponential distribution has no memory.
            Period::Exponential(_) => self.draw(rng),
            // The density is constant up to the least length, with a total probability of 1 - 1 / shape.
            // Above, it is that of a Pareto distribution with a heavier tail.
            Period::Pareto { least, shape } if rng.chance(1.0 - 1.0 / shape) => least.scaled(rng.unit()),
            Period::Pareto { least, shape } => pareto(*least, shape - 1.0, rng),
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// The end of a sentence that begins with the flow.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Period::Pareto { shape, .. } if !(*shape > 1.0 && shape.is_finite()) => {
                Err(format!("has Pareto periods of shape {shape}, which have no mean; give them a shape above 1"))
            }
            _ => Ok(()),
        }
    }
}

/// Draws from a Pareto distribution, whose logarithm is exponential. A result that is too large becomes
/// [`Delay::MAX`].
fn pareto(least: Delay, shape: f64, rng: &Rng) -> Delay {
    least.scaled(libm::exp(rng.exponential() / shape))
}

/// The times at which the packets of a flow are sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// A constant bit rate. The first packet is sent at the flow's start. After a packet comes a gap, the
    /// time that its payload takes at the rate.
    Constant {
        /// Bits of payload in a second.
        rate_bps: u64,
    },
    /// A Poisson process from the flow's start on.
    Poisson {
        /// The mean time between packets.
        mean_gap: Delay,
    },
    /// A constant rate in *on* periods, and nothing between them. If a period ends in the middle of a gap,
    /// the gap goes on in the next period. So the mean rate is the rate times the share of on periods. The
    /// flow starts in the stationary state, as if it had always been sending: on with the probability of that
    /// share, at a random moment of a period and of a gap.
    OnOff {
        /// Bits of payload in a second of an on period.
        rate_bps: u64,
        /// The length of on periods.
        on: Period,
        /// The length of the periods between them.
        off: Period,
    },
}

/// The largest number of on periods that a gap may span. So a mistaken parameter cannot stop the run.
const PERIODS_MAX: u32 = 1 << 16;

impl Pattern {
    /// Returns the time of the first packet of a flow that starts at `start`, and the end of the on period
    /// then. `None` past the end of time.
    pub(crate) fn first(&self, start: Time, sizes: &Sizes, rng: &Rng) -> Option<(Time, Time)> {
        match self {
            Pattern::Constant { .. } => Some((start, Time::MAX)),
            Pattern::Poisson { mean_gap } => Some((start.checked_add(rng.exponential_delay(*mean_gap))?, Time::MAX)),
            Pattern::OnOff { rate_bps, on, off } => {
                let gap = sizes.residual_gap(*rate_bps, rng);
                let [mean_on, mean_off] = [on, off].map(|period| period.mean().as_secs_f64());
                let (from, mut on_until) = if rng.chance(mean_on / (mean_on + mean_off)) {
                    (start, start.checked_add(on.draw_residual(rng)).unwrap_or(Time::MAX))
                } else {
                    let from = start.checked_add(off.draw_residual(rng))?;
                    (from, from.checked_add(on.draw(rng)).unwrap_or(Time::MAX))
                };
                let first = after_on_time(gap, from, &mut on_until, on, off, rng)?;
                Some((first, on_until))
            }
        }
    }

    /// Returns the time of the packet that follows a packet of `payload` bytes, sent `now`. Moves `on_until`,
    /// the end of the on period. `None` past the end of time.
    #[inline]
    pub(crate) fn next(&self, now: Time, payload: u32, on_until: &mut Time, rng: &Rng) -> Option<Time> {
        match self {
            Pattern::Constant { rate_bps } => now.checked_add(Delay::serialisation(u64::from(payload), *rate_bps)),
            Pattern::Poisson { mean_gap } => now.checked_add(rng.exponential_delay(*mean_gap)),
            Pattern::OnOff { rate_bps, on, off } => {
                let gap = Delay::serialisation(u64::from(payload), *rate_bps);
                after_on_time(gap, now, on_until, on, off, rng)
            }
        }
    }

    /// Checks the parameters, for a flow whose greatest payload is `greatest`. The error is the end of a
    /// sentence that begins with the flow.
    pub(crate) fn check(&self, greatest: u32) -> Result<(), String> {
        match self {
            Pattern::Constant { rate_bps: 0 } | Pattern::OnOff { rate_bps: 0, .. } => Err("has a rate of zero".into()),
            Pattern::Poisson { mean_gap: Delay::ZERO } => Err("has a mean time between packets of zero".into()),
            Pattern::OnOff { rate_bps, on, off } => {
                on.check().and_then(|()| off.check())?;
                let (mean, gap) = (on.mean(), Delay::serialisation(u64::from(greatest), *rate_bps));
                if mean.as_ps().saturating_mul(1000) < gap.as_ps() {
                    return Err(format!(
                        "has on periods of {mean} on average, in 1000 of which it cannot send one packet of {gap}"
                    ));
                }
                Ok(())
            }
            Pattern::Constant { .. } | Pattern::Poisson { .. } => Ok(()),
        }
    }
}

/// Returns the time at which `gap` of on time has passed after `from`, a moment of the on period that ends at
/// `on_until`. Moves `on_until`.
#[inline]
fn after_on_time(
    mut gap: Delay,
    mut from: Time,
    on_until: &mut Time,
    on: &Period,
    off: &Period,
    rng: &Rng,
) -> Option<Time> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(pattern: &Pattern, payload: u32, seconds: u64) -> u64 {
        let rng = Rng::stream(3, 4);
        let end = Time::ZERO.checked_add(Delay::from_secs(seconds)).expect("short");
        let sizes = Sizes::Constant(payload);
        let (mut now, mut on_until) = pattern.first(Time::ZERO, &sizes, &rng).expect("short");
        let mut packets = 0;
        while now < end {
            packets += 1;
            now = pattern.next(now, payload, &mut on_until, &rng).expect("short");
        }
        packets
    }

    #[test]
    fn a_constant_rate_is_exact() {
        assert_eq!(sent(&Pattern::Constant { rate_bps: 8000 }, 100, 10), 100);
    }

    #[test]
    fn a_gap_goes_on_in_the_next_on_period() {
        // A gap is 100 ms of on time, and a second has 250 ms of it: 2.5 packets.
        let pattern = Pattern::OnOff {
            rate_bps: 8000,
            on: Period::Constant(Delay::from_ms(250)),
            off: Period::Constant(Delay::from_ms(750)),
        };
        let at_ms = |ms| Time::ZERO.checked_add(Delay::from_ms(ms)).expect("short");
        let (mut now, mut on_until, rng) = (Time::ZERO, at_ms(250), Rng::stream(3, 4));
        for expected in [100, 200, 1050, 1150, 1250, 2100, 2200, 3050] {
            now = pattern.next(now, 100, &mut on_until, &rng).expect("short");
            assert_eq!(now, at_ms(expected));
        }
    }

    #[test]
    fn on_off_flows_start_in_the_stationary_state() {
        // Periods are 20 ms on and 60 ms off on average, and gaps 0.4 or 1.6 ms. So at every time 1 in 4
        // flows sends, on average 1 packet each millisecond. In each window of 2 ms, a flow sends half a
        // packet on average.
        let exponential = |ms| Period::Exponential(Delay::from_ms(ms));
        let constant = |ms| Period::Constant(Delay::from_ms(ms));
        let pareto = |ms| Period::Pareto { least: Delay::from_ms(ms), shape: 1.5 }; // The mean is three times that.
        let off_pareto = Period::Pareto { least: Delay::from_ms(40), shape: 3.0 };
        let on_pareto = Period::Pareto { least: Delay::from_us(13_333), shape: 3.0 };
        let sizes = Sizes::Mix(vec![(40, 1), (160, 1)]);
        for (on, off) in [
            (exponential(20), exponential(60)),
            (constant(20), constant(60)),
            (on_pareto, off_pareto),
            (constant(20), pareto(20)),
        ] {
            let pattern = Pattern::OnOff { rate_bps: 800_000, on, off };
            const FLOWS: u32 = 40_000;
            let mut sent = [0_u32; 10];
            for flow in 0..FLOWS {
                let rng = Rng::stream(9, flow);
                // A Pareto period of shape 1.5 may last beyond the end of time.
                let first = pattern.first(Time::ZERO, &sizes, &rng);
                let (mut now, mut on_until) = first.unwrap_or((Time::MAX, Time::MAX));
                while let Some(count) = sent.get_mut((now.as_ps() / 2_000_000_000) as usize) {
                    *count += 1;
                    let payload = sizes.draw(&rng);
                    now = pattern.next(now, payload, &mut on_until, &rng).unwrap_or(Time::MAX);
                }
            }
            for count in sent {
                // The standard deviation of the packets of one flow in a window is about 1.
                let mean = f64::from(count) / f64::from(FLOWS);
                assert!((mean - 0.5).abs() < 4.0 / f64::from(FLOWS).sqrt(), "{pattern:?}: {sent:?}");
            }
        }
    }

    #[test]
    fn mean_rates_of_random_patterns_are_kept() {
        let poisson = Pattern::Poisson { mean_gap: Delay::from_ms(1) };
        assert!(sent(&poisson, 100, 100).abs_diff(100_000) < 1000);
        let exponential = |ms| Period::Exponential(Delay::from_ms(ms));
        let on_off = Pattern::OnOff { rate_bps: 800_000, on: exponential(10), off: exponential(30) };
        assert!(sent(&on_off, 100, 200).abs_diff(50_000) < 1500);
        let pareto = Period::Pareto { least: Delay::from_ms(10), shape: 3.0 }; // The mean is 15 ms.
        let on_off = Pattern::OnOff { rate_bps: 800_000, on: pareto, off: exponential(15) };
        assert!(sent(&on_off, 100, 200).abs_diff(100_000) < 3000);
    }

    #[test]
    fn sizes_are_drawn_by_weight() {
        let sizes = Sizes::Mix(vec![(10, 3), (999, 0), (20, 1)]);
        let rng = Rng::stream(1, 1);
        let tens = (0..10_000).filter(|_| sizes.draw(&rng) == 10).count();
        assert!(tens.abs_diff(7500) < 150, "{tens}");
        assert_eq!((sizes.least(), sizes.greatest(), sizes.mean()), (Some(10), Some(20), 12.5));
    }
}
