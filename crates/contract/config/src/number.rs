//! Exact decimal numbers of any length.
//!
//! Binary floating point cannot represent 0.1, so a duration of `0.1s` must not pass through it. A [`Number`]
//! keeps the digits as written. It is rounded once, when it is multiplied by its unit.

/// A decimal number as written: its digits times a power of ten.
#[derive(Debug)]
pub(crate) struct Number {
    pub(crate) negative: bool,
    /// The digits, each `0..=9`, the most significant first.
    digits: Vec<u8>,
    /// The power of ten of the last digit.
    exponent: i64,
}

/// A product that fits in 64 bits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// The product, rounded to the nearest integer, halves up.
    pub(crate) rounded: u64,
    /// True if `rounded` is the product itself.
    pub(crate) is_exact: bool,
}

/// Largest magnitude of an exponent. A larger one is cut to this value, which has the same effect: no input
/// has this many digits.
const EXPONENT_MAX: i64 = 1_000_000_000;

impl Number {
    /// Reads a number at the start of `text`. Returns the number and the remaining text, or `None` if there
    /// is no number.
    ///
    /// A number consists of an optional sign, digits, an optional fraction and an optional exponent. As in
    /// TOML, `_` is allowed between digits.
    pub(crate) fn read(text: &str) -> Option<(Number, &str)> {
        let mut number = Number { negative: text.starts_with('-'), digits: Vec::new(), exponent: 0 };
        let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        rest = read_digits(rest, &mut number.digits);
        if let Some(fraction) = rest.strip_prefix('.').filter(|rest| starts_with_digit(rest)) {
            let whole = number.digits.len();
            rest = read_digits(fraction, &mut number.digits);
            number.exponent = -i64::try_from(number.digits.len() - whole).ok()?;
        }
        if number.digits.is_empty() {
            return None;
        }
        if let Some((exponent, after)) = read_exponent(rest) {
            number.exponent += exponent;
            rest = after;
        }
        Some((number, rest))
    }

    /// Multiplies the magnitude by `unit`, rounding once. Returns `None` if the product does not fit in 64
    /// bits.
    ///
    /// `unit` must be below 2^59, so that the carry plus a digit times `unit` fits in 64 bits.
    pub(crate) fn times(&self, unit: u64) -> Option<Product> {
        debug_assert!(unit < 1 << 59, "a unit of {unit} would overflow the carry");
        // The digits of the product, the least significant first.
        let mut product = Vec::with_capacity(self.digits.len() + 20);
        let mut carry = 0;
        for &digit in self.digits.iter().rev() {
            carry += u64::from(digit) * unit;
            product.push((carry % 10) as u8);
            carry /= 10;
        }
        while carry > 0 {
            product.push((carry % 10) as u8);
            carry /= 10;
        }
        let fraction_digits = usize::try_from(-self.exponent).unwrap_or(0);
        let (fraction, whole) = product.split_at(fraction_digits.min(product.len()));
        let mut rounded = whole.iter().rev().try_fold(0_u64, push_digit)?;
        let zeros = usize::try_from(self.exponent).unwrap_or(0);
        if rounded > 0 {
            // Multiplying by ten overflows after 19 steps at most, so this loop is short.
            rounded = std::iter::repeat_n(&0, zeros).try_fold(rounded, push_digit)?;
        }
        // The first digit after the point decides. If the product has fewer digits than the fraction, that
        // digit is 0.
        let tenths = if fraction.len() == fraction_digits { fraction.last() } else { None };
        if tenths.is_some_and(|&digit| digit >= 5) {
            rounded = rounded.checked_add(1)?;
        }
        Some(Product { rounded, is_exact: fraction.iter().all(|&digit| digit == 0) })
    }

    /// Returns the double nearest to the number times `10^shift`, or `None` if that is infinite.
    pub(crate) fn to_f64(&self, shift: i64) -> Option<f64> {
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits.iter().map(|&digit| char::from(b'0' + digit)).collect();
        let value: f64 = format!("{sign}{digits}e{}", self.exponent + shift).parse().ok()?;
        value.is_finite().then_some(value)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that `try_fold` over a slice asks for")]
fn push_digit(value: u64, digit: &u8) -> Option<u64> {
    value.checked_mul(10)?.checked_add(u64::from(*digit))
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Moves the digits at the start of `text` to `digits`. Returns the remaining text.
fn read_digits<'a>(text: &'a str, digits: &mut Vec<u8>) -> &'a str {
    let mut rest = text;
    while let Some(&byte) = rest.as_bytes().first() {
        let between = byte == b'_' && rest.len() < text.len() && starts_with_digit(&rest[1..]);
        match byte {
            b'0'..=b'9' => digits.push(byte - b'0'),
            b'_' if between => {}
            _ => break,
        }
        rest = &rest[1..];
    }
    rest
}

/// Returns the exponent at the start of `text` and the remaining text. An `e` without digits is not an
/// exponent, since it may begin a unit.
fn read_exponent(text: &str) -> Option<(i64, &str)> {
    let after = text.strip_prefix(['e', 'E'])?;
    let unsigned = after.strip_prefix(['-', '+']).unwrap_or(after);
    if !starts_with_digit(unsigned) {
        return None;
    }
    let mut digits = Vec::new();
    let rest = read_digits(unsigned, &mut digits);
    let size = digits.iter().fold(0, |size, &digit| EXPONENT_MAX.min(size * 10 + i64::from(digit)));
    Some((if after.starts_with('-') { -size } else { size }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str, unit: u64) -> Option<(u64, bool)> {
        let (number, rest) = Number::read(text).expect("a number");
        assert_eq!(rest, "");
        number.times(unit).map(|product| (product.rounded, product.is_exact))
    }

    #[test]
    fn products_are_exact_and_rounded_once() {
        assert_eq!(times("0.1", 10), Some((1, true)));
        assert_eq!(times("0.49999999999999999999999999999999999", 1), Some((0, false)));
        assert_eq!(times("0.5", 1), Some((1, false)));
        assert_eq!(times("0.05", 1), Some((0, false)));
        assert_eq!(times("1_000.000", 3), Some((3000, true)));
        assert_eq!(times("18446744073709551615", 1), Some((u64::MAX, true)));
        assert_eq!(times("18446744073709551615.4", 1), Some((u64::MAX, false)));
        assert_eq!(times("18446744073709551615.5", 1), None);
        assert_eq!(times("18446744073709551616", 1), None);
    }

    #[test]
    fn exponents_of_any_size_cost_no_time() {
        assert_eq!(times("1.5e3", 2), Some((3000, true)));
        assert_eq!(times("25e-2", 4), Some((1, true)));
        assert_eq!(times("1e99999999999999999999", 1), None);
        assert_eq!(times("0e99999999999999999999", 1), Some((0, true)));
        assert_eq!(times("1e-99999999999999999999", 1), Some((0, false)));
    }

    #[test]
    fn text_that_is_not_a_number_is_left() {
        for text in ["", "-", ".", "_1", "e5", "s", "inf", "NaN", "½"] {
            assert!(Number::read(text).is_none(), "{text}");
        }
        for (text, left) in [("1_", "_"), ("1__0", "__0"), ("1.", "."), ("2e", "e"), ("2e+s", "e+s"), ("3.5ms", "ms")] {
            assert_eq!(Number::read(text).map(|(_, rest)| rest), Some(left), "{text}");
        }
    }
}
