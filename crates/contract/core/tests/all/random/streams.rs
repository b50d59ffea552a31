//! The generator is the published one. Its streams are even, and independent of their neighbours.

use crate::random::statistics::{assert_chi_square, assert_even, assert_share};
use parades_core::random::Rng;
use parades_core::time::Delay;

#[test]
fn the_generator_is_xoroshiro128_plus_plus() {
    // The output of Blackman and Vigna's xoroshiro128plusplus.c from the state (1, 2).
    let reference = [
        393_217,
        669_327_710_093_319,
        1_732_421_326_133_921_491,
        11_394_790_081_659_126_983,
        9_555_452_776_773_192_676,
        3_586_421_180_005_889_563,
        1_691_397_964_866_707_553,
        10_735_626_796_753_111_697,
        15_216_282_715_349_408_991,
        14_247_243_556_711_267_923,
    ];
    let rng = Rng::from_state([1, 2]).expect("the state is not zero");
    assert_eq!(reference.map(|_| rng.next_u64()), reference);
}

#[test]
fn a_stream_is_sixteen_bytes_and_continues_from_its_state() {
    assert_eq!(size_of::<Rng>(), 16);
    let rng = Rng::stream(1, 2);
    rng.next_u64();
    let copy = Rng::from_state(rng.state()).expect("a stream never reaches zero");
    assert_eq!(copy, rng);
    assert_eq!(copy.next_u64(), rng.next_u64());
    assert_eq!(copy, rng);
}

#[test]
fn no_stream_starts_at_the_all_zero_state() {
    assert_eq!(Rng::from_state([0, 0]), None);
    // The only triple whose derived state is zero, found by running the derivation backwards.
    let rng = Rng::substream(0xaf84_b9b8_82b3_9688, 0x7e60_8a0f, 0x7c42_7d05);
    assert_eq!(rng.state()[0], 0x9e37_79b9_7f4a_7c15, "this is no longer the triple that derives zero");
    assert_ne!(rng.next_u64(), rng.next_u64());
}

#[test]
fn numbers_below_a_bound_are_even() {
    let rng = Rng::stream(3, 0);
    for n in [1, 2, 3, 10, 1000] {
        let mut counts = vec![0; n];
        for _ in 0..1_000_000 {
            counts[usize::try_from(rng.below(n as u64)).expect("below n")] += 1;
        }
        if n > 1 {
            assert_even(&format!("below {n}"), &counts);
        }
    }
}

#[test]
fn numbers_below_a_huge_bound_are_even() {
    // Without rejection, each of the 3 * 2^62 numbers would come from one or two of the 2^64 draws. The
    // numbers that come from two are the multiples of 3.
    let rng = Rng::stream(4, 0);
    let mut counts = [0; 3];
    for _ in 0..300_000 {
        counts[usize::try_from(rng.below(3 << 62) % 3).expect("below 3")] += 1;
    }
    assert_even("below 3 * 2^62, modulo 3", &counts);
}

#[test]
fn fractions_are_even_and_within_their_bounds() {
    let rng = Rng::stream(5, 0);
    let (mut unit, mut open) = (vec![0; 1000], vec![0; 1000]);
    for _ in 0..2_000_000 {
        let (x, y) = (rng.unit(), rng.unit_open());
        assert!((0.0..1.0).contains(&x) && y > 0.0 && y <= 1.0);
        unit[bin(x, 1000)] += 1;
        open[bin(1.0 - y, 1000)] += 1;
    }
    assert_even("unit", &unit);
    assert_even("unit_open", &open);
}

#[test]
fn the_extreme_draws_give_the_extreme_fractions() {
    // With s0 = 0 the draw is s1 rotated left by 17: 1 << 47 becomes 1, and all ones stay all ones.
    let draw = |s1| Rng::from_state([0, s1]).expect("the state is not zero");
    assert_eq!(draw(1 << 47).next_u64(), 1);
    assert_eq!(draw(1 << 47).unit().to_bits(), 0.0_f64.to_bits());
    assert_eq!(draw(1 << 47).unit_open().to_bits(), 2_f64.powi(-53).to_bits());
    assert_eq!(draw(u64::MAX).unit().to_bits(), (1.0 - 2_f64.powi(-53)).to_bits());
    assert_eq!(draw(u64::MAX).unit_open().to_bits(), 1_f64.to_bits());
}

#[test]
fn chances_are_as_stated() {
    let rng = Rng::stream(6, 0);
    for p in [0.001, 0.3, 0.999] {
        let hits = (0..1_000_000).filter(|_| rng.chance(p)).count() as u64;
        assert_share(&format!("chance {p}"), hits, 1_000_000, p);
    }
    for (p, always) in [(0.0, false), (-1.0, false), (f64::NAN, false), (1.0, true), (2.0, true)] {
        assert!((0..1000).all(|_| rng.chance(p) == always), "chance {p}");
    }
}

#[test]
fn ranges_and_delays_reach_their_ends_and_no_further() {
    let rng = Rng::stream(7, 0);
    let (mut numbers, mut delays) = ([0; 3], [0; 3]);
    for _ in 0..100_000 {
        numbers[usize::try_from(rng.range(10, 13) - 10).expect("from 10 to 12")] += 1;
        let delay = rng.uniform_delay(Delay::from_ps(5), Delay::from_ps(7));
        delays[usize::try_from(delay.as_ps() - 5).expect("from 5 to 7")] += 1;
    }
    assert_even("range", &numbers);
    assert_even("uniform_delay", &delays);
    assert_eq!(rng.uniform_delay(Delay::from_ms(1), Delay::from_ms(1)), Delay::from_ms(1));
    // The range of all spans, whose number is 2^64.
    let halves = (0..100_000).filter(|_| rng.uniform_delay(Delay::ZERO, Delay::MAX).as_ps() >> 63 == 1).count();
    assert_share("uniform_delay over everything", halves as u64, 100_000, 0.5);
}

/// A function that returns two neighbouring streams.
type Pair = fn(u32) -> (Rng, Rng);

/// LPs, seeds and purposes that differ by one, and one number used as a seed and as an LP.
const NEIGHBOURS: [(&str, Pair); 5] = [
    ("LPs", |i| (Rng::stream(42, 2 * i), Rng::stream(42, 2 * i + 1))),
    ("seeds", |i| (Rng::stream(2 * u64::from(i), 7), Rng::stream(2 * u64::from(i) + 1, 7))),
    ("purposes", |i| (Rng::substream(42, 7, 2 * i), Rng::substream(42, 7, 2 * i + 1))),
    ("seed and LP", |i| (Rng::stream(u64::from(i), i + 1), Rng::stream(u64::from(i) + 1, i))),
    ("an LP and the shared streams", |i| (Rng::stream(42, i), Rng::shared(42, i))),
];

/// Returns the number of the bin that `x` is in, for `bins` equal parts of `[0, 1)`.
fn bin(x: f64, bins: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`x` is a fraction")]
    ((x * bins as f64) as usize).min(bins - 1)
}

#[test]
fn neighbouring_streams_are_uncorrelated() {
    for (what, pair) in NEIGHBOURS {
        let (streams, draws) = (500, 10_000);
        let mut statistic = 0.0;
        for i in 0..streams {
            let (a, b) = pair(i);
            // A product of two centred fractions has variance 1/144.
            let sum: f64 = (0..draws).map(|_| (a.unit() - 0.5) * (b.unit() - 0.5)).sum();
            statistic += sum * sum * 144.0 / f64::from(draws);
        }
        assert_chi_square(&format!("correlation of neighbouring {what}"), statistic, f64::from(streams));
    }
}

#[test]
fn first_draws_of_neighbouring_streams_are_even_and_independent() {
    for (what, pair) in NEIGHBOURS {
        let mut squares = vec![0; 32 * 32];
        for i in 0..200_000 {
            let (a, b) = pair(i);
            squares[bin(a.unit(), 32) * 32 + bin(b.unit(), 32)] += 1;
        }
        assert_even(&format!("first draws of neighbouring {what}"), &squares);
    }
}

/// Returns the first state of the stream of (purpose, LP, seed), given as one number.
fn state(input: u128) -> u128 {
    #[expect(clippy::cast_possible_truncation, reason = "the three parts are taken on purpose")]
    let [s0, s1] = Rng::substream(input as u64, (input >> 64) as u32, (input >> 96) as u32).state();
    u128::from(s0) << 64 | u128::from(s1)
}

#[test]
fn every_bit_of_seed_lp_and_purpose_affects_every_bit_of_state() {
    let mut statistic = 0.0;
    for bit in 0..128 {
        let mut changes = [0_u32; 128];
        let mut pairs = 0;
        for base in 0..2048 {
            // Typical inputs are small seeds, LPs and purposes. If the bit is set, the same pair was tested
            // with the input in which the bit is clear.
            let input = base & 7 | (base >> 3 & 63) << 64 | (base >> 9) << 96;
            if input >> bit & 1 == 1 {
                continue;
            }
            pairs += 1;
            let change = state(input) ^ state(input | 1 << bit);
            for (place, count) in changes.iter_mut().enumerate() {
                *count += u32::from(change >> place & 1 == 1);
            }
        }
        let half = f64::from(pairs) / 2.0;
        statistic += changes.iter().map(|&count| (f64::from(count) - half).powi(2) / (half / 2.0)).sum::<f64>();
    }
    assert_chi_square("avalanche", statistic, 128.0 * 128.0);
}
