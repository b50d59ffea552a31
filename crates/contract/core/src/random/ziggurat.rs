//! The exponential and the normal distribution without logarithms.
//!
//! *Idea* (Marsaglia and Tsang, *The ziggurat method for generating random variables*, Journal of Statistical
//! Software 5, 2000). The area under a falling density `f` is covered by 256 layers of equal area. Rectangle
//! `i` reaches from 0 to `X[i]`, and from `f(X[i])` up to `f(X[i + 1])`. The lowest layer also holds the tail
//! beyond `R = X[1]`.
//!
//! A random point in a layer that lies left of `X[i + 1]` is under the curve. That is so for 99 % of the
//! points, which cost one draw, one multiplication and one comparison. The other points fall into the tail,
//! or into the *wedge* between rectangle and curve, where the density decides.
//!
//! One 64-bit draw gives both the layer and the place in it, from different bits. With shared bits the place
//! would depend on the layer (Doornik, *An improved ziggurat method to generate normal random samples*,
//! 2005).

use super::Rng;
use super::ziggurat_tables::{EXPONENTIAL_AREA, EXPONENTIAL_X, NORMAL_AREA, NORMAL_X};

/// The gap between neighbouring places of a layer. Half of it is added to each place, so that no place is 0
/// and the signed places are symmetric.
const TWO_TO_MINUS_52: f64 = 1.0 / (1_u64 << 52) as f64;

/// Returns the layer: bits 0 to 7 of a draw.
#[inline]
fn layer(bits: u64) -> usize {
    (bits & 0xff) as usize
}

/// Returns the place in a layer, in (0, 1): bits 12 to 63 of a draw.
///
/// The bits become the fraction of a number in `1..2`, from which nearly 1 is subtracted. This is as exact as
/// a conversion and a multiplication. It takes half as long, and the event that waits for the draw gains that
/// time.
#[inline]
fn place(bits: u64) -> f64 {
    const ONE: u64 = 1.0_f64.to_bits();
    f64::from_bits(bits >> 12 | ONE) - (1.0 - TWO_TO_MINUS_52 / 2.0)
}

/// Returns the place in a layer on both sides of 0, in (-1, 1). It consists of bits 11 to 63 of a draw, of
/// which the top bit is the sign.
#[inline]
fn signed_place(bits: u64) -> f64 {
    ((bits.cast_signed() >> 11) as f64 + 0.5) * TWO_TO_MINUS_52
}

impl Rng {
    /// Draws from the exponential distribution of mean 1. Multiply by the mean. The result is above zero.
    #[inline]
    pub fn exponential(&self) -> f64 {
        let bits = self.next_u64();
        let layer = layer(bits);
        let x = place(bits) * EXPONENTIAL_X[layer];
        if x < EXPONENTIAL_X[layer + 1] { x } else { self.exponential_wedge_or_tail(layer, x) }
    }

    /// Decides about the 1 % of points that are not surely under the curve.
    #[cold]
    #[inline(never)]
    fn exponential_wedge_or_tail(&self, layer: usize, x: f64) -> f64 {
        if layer == 0 {
            // The distribution has no memory: its tail is a copy of the whole.
            return EXPONENTIAL_X[1] + self.exponential();
        }
        let edge = EXPONENTIAL_X[layer];
        let height = libm::exp(-edge) + EXPONENTIAL_AREA / edge * self.unit();
        if height < libm::exp(-x) { x } else { self.exponential() }
    }

    /// Draws from the standard normal distribution: mean 0, standard deviation 1.
    #[inline]
    pub fn normal(&self) -> f64 {
        let bits = self.next_u64();
        let layer = layer(bits);
        let x = signed_place(bits) * NORMAL_X[layer];
        if x.abs() < NORMAL_X[layer + 1] { x } else { self.normal_wedge_or_tail(layer, x) }
    }

    /// Decides about the 1 % of points that are not surely under the curve.
    #[cold]
    #[inline(never)]
    fn normal_wedge_or_tail(&self, layer: usize, x: f64) -> f64 {
        if layer == 0 {
            return self.normal_tail().copysign(x);
        }
        let edge = NORMAL_X[layer];
        let height = libm::exp(-0.5 * edge * edge) + NORMAL_AREA / edge * self.unit();
        if height < libm::exp(-0.5 * x * x) { x } else { self.normal() }
    }

    /// Draws a number beyond `NORMAL_X[1]` (Marsaglia, *Generating a variable from the tail of the normal
    /// distribution*, Technometrics 6, 1964).
    fn normal_tail(&self) -> f64 {
        let start = NORMAL_X[1];
        loop {
            let beyond = self.exponential() / start;
            if 2.0 * self.exponential() > beyond * beyond {
                return start + beyond;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ziggurat_tables::TABLES_TEXT;
    use super::{EXPONENTIAL_X, NORMAL_X, Rng, layer, place, signed_place};
    use std::fmt::Write;

    /// A falling density with its inverse, and the area beyond a point. It is not normalised: `f(0)` is 1.
    struct Density {
        name: &'static str,
        of: fn(f64) -> f64,
        inverse: fn(f64) -> f64,
        area_beyond: fn(f64) -> f64,
    }

    const EXPONENTIAL: Density = Density {
        name: "EXPONENTIAL",
        of: |x| libm::exp(-x),
        inverse: |y| -libm::log(y),
        area_beyond: |x| libm::exp(-x),
    };
    const NORMAL: Density = Density {
        name: "NORMAL",
        of: |x| libm::exp(-0.5 * x * x),
        inverse: |y| (-2.0 * libm::log(y)).sqrt(),
        area_beyond: |x| std::f64::consts::FRAC_PI_2.sqrt() * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2),
    };

    /// Returns the area of a layer and the edges of all layers, `X[0]` first, if the tail starts at `start`.
    /// `None` if the layers are so large that they rise above `f(0)`.
    fn edges(density: &Density, start: f64) -> Option<(f64, Vec<f64>)> {
        let area = start * (density.of)(start) + (density.area_beyond)(start);
        let mut edges = vec![area / (density.of)(start), start];
        while edges.len() < 256 {
            let edge = edges[edges.len() - 1];
            let top = (density.of)(edge) + area / edge;
            if top >= 1.0 {
                return None;
            }
            edges.push((density.inverse)(top));
        }
        let top = (density.of)(edges[255]) + area / edges[255];
        edges.push(0.0);
        (top <= 1.0).then_some((area, edges))
    }

    /// Returns the smallest start of the tail whose 256 layers stay under `f(0)`, found by bisection down to
    /// neighbouring numbers.
    fn solve(density: &Density) -> (f64, Vec<f64>) {
        let (mut too_low, mut high) = (1_f64.to_bits(), 16_f64.to_bits());
        while high - too_low > 1 {
            let middle = too_low.midpoint(high);
            *(if edges(density, f64::from_bits(middle)).is_some() { &mut high } else { &mut too_low }) = middle;
        }
        edges(density, f64::from_bits(high)).expect("the bisection keeps it so")
    }

    /// Returns the text of `ziggurat_tables.rs`.
    fn tables_text() -> String {
        let mut text = String::from(
            "//! The edges of the layers of the ziggurats. Generated by the test `the_tables_are_what_libm_computes`.\n\n\
             /// This file, for the test that compares it with the output of the generator.\n\
             #[cfg(test)]\n\
             pub(super) const TABLES_TEXT: &str = include_str!(\"ziggurat_tables.rs\");\n",
        );
        for density in [EXPONENTIAL, NORMAL] {
            let (area, edges) = solve(&density);
            let name = density.name;
            writeln!(text, "\n/// The area of each layer.\npub(super) const {name}_AREA: f64 = {area:?};\n")
                .expect("a string takes all");
            writeln!(text, "/// The right edges of the layers, from the lowest up, and 0.\n#[rustfmt::skip]")
                .expect("a string takes all");
            writeln!(text, "pub(super) static {name}_X: [f64; 257] = [").expect("a string takes all");
            for four in edges.chunks(4) {
                let four: Vec<String> = four.iter().map(|edge| format!("{edge:?},")).collect();
                writeln!(text, "    {}", four.join(" ")).expect("a string takes all");
            }
            text.push_str("];\n");
        }
        text
    }

    #[test]
    fn the_tables_are_what_libm_computes() {
        // The text has the shortest decimals that read back as the same number, so equal text means equal
        // bits.
        let text = tables_text();
        assert!(TABLES_TEXT == text, "ziggurat_tables.rs should read\n{text}");
    }

    #[test]
    fn the_tails_start_where_the_literature_says() {
        let (_, exponential) = solve(&EXPONENTIAL);
        let (_, normal) = solve(&NORMAL);
        // Marsaglia and Tsang (2000), section 2: r for 256 layers.
        assert!((exponential[1] - 7.697_117_470_131_487).abs() < 1e-12, "{}", exponential[1]);
        assert!((normal[1] - 3.654_152_885_361_009).abs() < 1e-12, "{}", normal[1]);
    }

    /// Compares the acceptance rate of the middle of a layer's wedge with the share of the wedge's height
    /// that is under the curve there.
    fn assert_wedge_is_fair(density: &Density, edges: &[f64; 257], layer: usize, draw: fn(&Rng, usize, f64) -> f64) {
        let (edge, next) = (edges[layer], edges[layer + 1]);
        let x = edge.midpoint(next);
        let share = ((density.of)(x) - (density.of)(edge)) / ((density.of)(next) - (density.of)(edge));
        let rng = Rng::stream(1, 1);
        let n = 100_000;
        let kept = (0..n).filter(|_| draw(&rng, layer, x).to_bits() == x.to_bits()).count();
        let z = (kept as f64 - f64::from(n) * share) / (f64::from(n) * share * (1.0 - share)).sqrt();
        assert!(z.abs() < 3.29, "{} layer {layer}: z = {z}, critical value 3.29 at the level 1/1000", density.name);
    }

    #[test]
    fn wedges_keep_what_is_under_the_curve() {
        for layer in [1, 2, 64, 128, 200, 254, 255] {
            assert_wedge_is_fair(&EXPONENTIAL, &EXPONENTIAL_X, layer, Rng::exponential_wedge_or_tail);
            assert_wedge_is_fair(&NORMAL, &NORMAL_X, layer, Rng::normal_wedge_or_tail);
        }
    }

    #[test]
    fn layer_and_place_share_no_bit() {
        for bits in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
            for bit in 0..64 {
                let flipped = bits ^ 1 << bit;
                let layer_changes = layer(bits) != layer(flipped);
                let place_changes = place(bits).to_bits() != place(flipped).to_bits();
                let signed_changes = signed_place(bits).to_bits() != signed_place(flipped).to_bits();
                assert_eq!(
                    (layer_changes, place_changes, signed_changes),
                    (bit < 8, bit >= 12, bit >= 11),
                    "bit {bit}"
                );
            }
        }
    }

    #[test]
    fn a_place_is_what_its_bits_say() {
        let rng = Rng::stream(1, 1);
        for bits in [0, 0xfff, 0x1000, u64::MAX].into_iter().chain((0..10_000).map(|_| rng.next_u64())) {
            let converted = ((bits >> 12) as f64 + 0.5) * super::TWO_TO_MINUS_52;
            assert_eq!(place(bits).to_bits(), converted.to_bits(), "{bits:#x}");
        }
    }

    #[test]
    fn places_are_inside_their_layer_and_symmetric() {
        assert!(place(0) > 0.0 && place(u64::MAX) < 1.0);
        assert!(signed_place(i64::MAX.cast_unsigned()) < 1.0 && signed_place(1 << 63) > -1.0);
        for bits in [0, 1 << 11, 0x0123_4567_89ab_cdef, i64::MAX.cast_unsigned()] {
            assert_eq!(signed_place(bits).to_bits(), (-signed_place(!bits)).to_bits());
        }
    }
}
