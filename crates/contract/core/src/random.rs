//! The random stream of a logical process, and the distributions that models draw from.
//!
//! An [`Rng`] is 16 bytes of an LP's state. Rollback restores it with the rest, so an LP draws the same
//! numbers on every engine. The generator is xoroshiro128++ (Blackman and Vigna, *Scrambled linear
//! pseudorandom number generators*, ACM Transactions on Mathematical Software 47, 2021). Each LP has a stream
//! of its own, which [`Rng::stream`] derives from the seed of the run.
//!
//! The streams are part of the contract: the draws of a sampler from a given state never change, on any
//! machine. So transcendental functions come from `libm`, and the tests hold the first values of every
//! sampler as bit patterns.
//!
//! *Read next*: `ziggurat`, how [`Rng::exponential`] and [`Rng::normal`] avoid logarithms.

mod distributions;
mod empirical;
mod ziggurat;
mod ziggurat_tables;
mod zipf;

pub use distributions::{DistributionError, LogNormal, Pareto, Uniform, Weibull};
pub use empirical::Empirical;
pub use zipf::Zipf;

use crate::time::{Delay, Time};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use std::cell::Cell;

/// 2^64 divided by the golden ratio, made odd: the increment of splitmix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of splitmix64 (Stafford's thirteenth variant): a bijection in which every input bit affects
/// every output bit.
#[inline]
const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A random stream. Drawing needs no exclusive access, so a draw may stand among the arguments of a call:
/// `ctx.set_timer(id, ctx.rng().exponential_delay(mean))`. A stream is not `Copy`, because two copies in use
/// by mistake would give the same numbers twice.
///
/// ```
/// # use parades_core::random::Rng;
/// let mut arrivals = Rng::stream(42, 7);
/// let mut again = Rng::stream(42, 7);
/// let mut neighbour = Rng::stream(42, 8);
/// let first = arrivals.next_u64();
/// assert_eq!(first, again.next_u64());
/// assert_ne!(first, neighbour.next_u64());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    /// Never both zero, because xoroshiro would stay there.
    state: Cell<[u64; 2]>,
}

/// A stream as its 16 bytes.
impl Serialize for Rng {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [a, b] = self.state.get().map(u64::to_le_bytes);
        (a, b).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rng {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rng, D::Error> {
        let (a, b) = <([u8; 8], [u8; 8])>::deserialize(deserializer)?;
        match [a, b].map(u64::from_le_bytes) {
            [0, 0] => Err(D::Error::custom("no random stream is in this state")),
            state => Ok(Rng { state: Cell::new(state) }),
        }
    }
}

impl Rng {
    /// Returns a stream that is never drawn from, for a place that is filled later.
    pub(crate) const fn unset() -> Rng {
        Rng { state: Cell::new([0, 1]) }
    }

    /// Returns the stream of the LP `lp` in the run with this seed.
    pub fn stream(seed: u64, lp: u32) -> Rng {
        Rng::substream(seed, lp, 0)
    }

    /// Returns the stream of the LP `lp` for one purpose, such as its start-up. Purpose 0 is [`Rng::stream`].
    ///
    /// Two different triples never share a state, and their streams are no more alike than random streams.
    pub fn substream(seed: u64, lp: u32, purpose: u32) -> Rng {
        // Four rounds of a Feistel network are a bijection of 128 bits, whatever `mix` is. So different
        // triples have different states. Two rounds mix each word into the other; four leave no trace of the
        // difference between neighbours.
        let (mut left, mut right) = (seed, u64::from(purpose) << 32 | u64::from(lp));
        for round in 1..=4 {
            (left, right) = (right, left ^ mix(right.wrapping_add(GOLDEN.wrapping_mul(round))));
        }
        // One triple in 2^128 has the all-zero state, and gets another state.
        Rng::from_state([left, right]).unwrap_or(Rng { state: Cell::new([GOLDEN, mix(GOLDEN)]) })
    }

    /// Returns the stream of the LP `lp` in a branch with this seed, from the cut at `time` on, where its
    /// stream was this one. It is no more like another stream than random streams are: not like the LP's
    /// stream before, nor like one from a cut at another time, of another run, or with another seed.
    ///
    /// ```
    /// # use parades_core::random::Rng;
    /// # use parades_core::time::Time;
    /// let first = |rng: Rng| rng.next_u64();
    /// let afresh = |run, seed, secs| first(Rng::stream(run, 7).afresh(seed, 7, Time::from_secs(secs)));
    /// assert_eq!(afresh(1, 2, 3), afresh(1, 2, 3));
    /// for other in [afresh(2, 2, 3), afresh(1, 3, 3), afresh(1, 2, 4), first(Rng::stream(2, 7))] {
    ///     assert_ne!(afresh(1, 2, 3), other);
    /// }
    /// ```
    #[must_use]
    pub fn afresh(&self, seed: u64, lp: u32, time: Time) -> Rng {
        /// The purpose of these streams. No model has as many.
        const AFRESH: u32 = u32::MAX;
        let [a, b] = self.state();
        let from = mix(a.wrapping_add(GOLDEN.wrapping_mul(2)) ^ mix(b));
        // From one cut, different seeds lead to different streams.
        Rng::substream(mix(seed.wrapping_add(GOLDEN)) ^ mix(time.as_ps()) ^ from, lp, AFRESH)
    }

    /// Returns a stream that belongs to no LP. It is for things that all LPs share, such as a topology or a
    /// routing table. Each purpose of the model has a stream of its own.
    ///
    /// ```
    /// # use parades_core::random::Rng;
    /// assert_ne!(Rng::shared(42, 0), Rng::shared(42, 1));
    /// assert_ne!(Rng::shared(42, 0), Rng::stream(42, 0));
    /// ```
    pub fn shared(seed: u64, purpose: u32) -> Rng {
        // No LP has this id: the last one is 2^32 - 2.
        Rng::substream(seed, u32::MAX, purpose)
    }

    /// Returns the stream with this state, as [`Rng::state`] returned it. `None` for two zeros, a state that
    /// no stream reaches.
    pub const fn from_state(state: [u64; 2]) -> Option<Rng> {
        if state[0] | state[1] == 0 { None } else { Some(Rng { state: Cell::new(state) }) }
    }

    /// Returns the state of the stream, for checkpoints and digests.
    pub const fn state(&self) -> [u64; 2] {
        self.state.get()
    }

    /// Continues where `other` stands: both give the same numbers from now on.
    pub fn continue_at(&self, other: &Rng) {
        self.state.set(other.state.get());
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn next_u64(&self) -> u64 {
        let [s0, s1] = self.state.get();
        let bits = s0.wrapping_add(s1).rotate_left(17).wrapping_add(s0);
        let s1 = s1 ^ s0;
        self.state.set([s0.rotate_left(49) ^ s1 ^ (s1 << 21), s1.rotate_left(28)]);
        bits
    }

    /// Draws an integer from `0..n`, each with the same probability (Lemire, *Fast random integer generation
    /// in an interval*, 2019).
    ///
    /// # Panics
    ///
    /// If `n` is zero.
    #[inline]
    #[track_caller]
    pub fn below(&self, n: u64) -> u64 {
        assert!(n > 0, "there is no number below zero to draw");
        // The upper half of draw * n is the result. The lower half shows whether the draw belongs to the
        // surplus, which would make some results more likely.
        let mut product = widening_product(self.next_u64(), n);
        if product.1 < n {
            let surplus = n.wrapping_neg() % n;
            while product.1 < surplus {
                product = widening_product(self.next_u64(), n);
            }
        }
        product.0
    }

    /// Draws an integer from `lo..hi`, each with the same probability.
    ///
    /// # Panics
    ///
    /// If `lo` is not below `hi`.
    #[inline]
    #[track_caller]
    pub fn range(&self, lo: u64, hi: u64) -> u64 {
        assert!(lo < hi, "an empty range holds no number to draw");
        lo + self.below(hi - lo)
    }

    /// Draws a fraction from `[0, 1)`: a multiple of 2^-53, each with the same probability.
    #[inline]
    pub fn unit(&self) -> f64 {
        (self.next_u64() >> 11) as f64 * TWO_TO_MINUS_53
    }

    /// Draws a fraction from `(0, 1]`: a multiple of 2^-53, each with the same probability. Its logarithm
    /// exists.
    #[inline]
    pub fn unit_open(&self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * TWO_TO_MINUS_53
    }

    /// Returns true with probability `p`: never if `p` is 0 or less, always if it is 1 or more. It always
    /// takes one draw.
    #[inline]
    pub fn chance(&self, p: f64) -> bool {
        self.unit() < p
    }

    /// Draws a span from an exponential distribution, such as the time between arrivals. It can round to
    /// [`Delay::ZERO`].
    ///
    /// ```
    /// # use parades_core::{random::Rng, time::Delay};
    /// let mut rng = Rng::stream(42, 7);
    /// let total: u64 = (0..10_000).map(|_| rng.exponential_delay(Delay::from_ms(1)).as_ps()).sum();
    /// assert!(total.abs_diff(Delay::from_secs(10).as_ps()) < Delay::from_ms(300).as_ps());
    /// ```
    #[inline]
    pub fn exponential_delay(&self, mean: Delay) -> Delay {
        mean.scaled(self.exponential())
    }

    /// Draws a span from `lo` to `hi`, both included, each picosecond with the same probability. The two may
    /// be equal, for example for no jitter.
    ///
    /// # Panics
    ///
    /// If `hi` is shorter than `lo`.
    #[inline]
    #[track_caller]
    pub fn uniform_delay(&self, lo: Delay, hi: Delay) -> Delay {
        let (lo, hi) = (lo.as_ps(), hi.as_ps());
        assert!(lo <= hi, "the shortest delay is longer than the longest");
        Delay::from_ps(match (hi - lo).checked_add(1) {
            Some(spans) => lo + self.below(spans),
            None => self.next_u64(),
        })
    }
}

/// The gap between neighbouring fractions of [`Rng::unit`].
const TWO_TO_MINUS_53: f64 = 1.0 / (1_u64 << 53) as f64;

/// Returns the product of two words as (upper, lower) half.
#[inline]
const fn widening_product(a: u64, b: u64) -> (u64, u64) {
    let product = a as u128 * b as u128;
    #[expect(clippy::cast_possible_truncation, reason = "the halves are taken on purpose")]
    ((product >> 64) as u64, product as u64)
}
