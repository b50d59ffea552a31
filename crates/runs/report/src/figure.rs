//! Numbers as people read them.

use parades_core::metrics::Unit;

/// The unit in which the numbers of a column are shown: `ms`, `Mbit/s`.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    unit: Unit,
    /// The size of the unit in the base unit.
    size: f64,
    prefix: &'static str,
}

impl Scale {
    /// Returns the scale in which raw values of `unit` have the fewest digits: that of their median.
    pub fn of(unit: Unit, raw: impl IntoIterator<Item = f64>) -> Scale {
        let scales: &[(f64, &'static str)] = match unit {
            Unit::Picoseconds | Unit::Seconds => &[(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p")],
            Unit::Bytes | Unit::BitsPerSecond | Unit::PerSecond => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
            _ => &[(1.0, "")],
        };
        let sizes = raw.into_iter().map(|x| unit.show(x).0.abs()).filter(|x| x.is_finite() && *x > 0.0);
        let mut sizes: Vec<f64> = sizes.collect();
        sizes.sort_by(f64::total_cmp);
        let (size, prefix) = sizes.get(sizes.len() / 2).map_or((1.0, ""), |median| {
            let smallest = scales[scales.len() - 1];
            scales.iter().copied().find(|(size, _)| median >= size).unwrap_or(smallest)
        });
        Scale { unit, size, prefix }
    }

    /// Returns the name of the unit; empty if numbers of this kind have none.
    pub fn name(&self) -> String {
        let (_, suffix) = self.unit.show(0.0);
        if suffix.is_empty() { String::new() } else { format!("{}{suffix}", self.prefix) }
    }

    /// Returns a raw value in this unit.
    pub fn in_unit(&self, raw: f64) -> f64 {
        self.unit.show(raw).0 / self.size
    }

    /// Returns a raw value in this unit, to four digits, without the name of the unit.
    pub fn number(&self, raw: f64) -> String {
        four_digits(self.in_unit(raw))
    }
}

/// Returns a number with its unit, to four digits: `12.5 ms`, `14.2 M/s`, `4.67 MB`.
///
/// ```
/// use parades_core::metrics::Unit;
/// use parades_report::figure::figure;
/// assert_eq!(figure(Unit::Seconds, 0.0125), "12.5 ms");
/// assert_eq!(figure(Unit::Bytes, 4_670_000.0), "4.67 MB");
/// assert_eq!(figure(Unit::Seconds, 12_345.6), "12,346 s");
/// ```
pub fn figure(unit: Unit, raw: f64) -> String {
    let scale = Scale::of(unit, [raw]);
    format!("{} {}", scale.number(raw), scale.name()).trim_end().to_owned()
}

/// Returns a number to four digits, without trailing zeros, and its whole part in groups.
pub(crate) fn four_digits(x: f64) -> String {
    let magnitude = x.abs();
    let digits = match magnitude {
        m if m >= 1000.0 => 0,
        m if m >= 100.0 => 1,
        m if m >= 10.0 => 2,
        m if m >= 1.0 || m == 0.0 => 3,
        m if m >= 0.1 => 4,
        m if m >= 0.001 => 5,
        _ => return format!("{x:.3e}"),
    };
    let number = format!("{x:.digits$}");
    let number = if digits > 0 { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    if number.contains('.') { number.to_owned() } else { grouped(number) }
}

/// Returns an integer in groups of three digits: `1,048,576`.
pub fn group(x: u128) -> String {
    grouped(&x.to_string())
}

/// Puts a comma between the groups of three digits of a whole number.
fn grouped(number: &str) -> String {
    let digits = number.trim_start_matches('-');
    let mut grouped = number[..number.len() - digits.len()].to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_unit_of_its_median() {
        let column = [0.0, 0.000_9, 0.0125, 1.5];
        let scale = Scale::of(Unit::Seconds, column);
        assert_eq!(scale.name(), "ms");
        assert_eq!(column.map(|x| scale.number(x)), ["0", "0.9", "12.5", "1,500"]);
        assert_eq!(Scale::of(Unit::Bytes, []).name(), "B");
    }

    #[test]
    fn digits_are_grouped_in_numbers_of_any_kind() {
        assert_eq!(group(1_048_576), "1,048,576");
        assert_eq!(figure(Unit::Count, -12_345.6), "-12,346");
        assert_eq!(figure(Unit::BitsPerSecond, 2e12), "2,000 Gbit/s");
        assert_eq!(figure(Unit::Count, 999.96), "1,000");
    }
}
