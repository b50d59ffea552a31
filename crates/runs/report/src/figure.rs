//! Numbers as people read them.

use parades_core::metrics::Unit;

/// Returns a number with its unit, to four digits: `12.5 ms`, `14.2 M/s`, `4.67 MB`.
///
/// ```
/// use parades_core::metrics::Unit;
/// use parades_report::figure::figure;
/// assert_eq!(figure(Unit::Seconds, 0.0125), "12.5 ms");
/// assert_eq!(figure(Unit::Bytes, 4_670_000.0), "4.67 MB");
/// ```
pub fn figure(unit: Unit, raw: f64) -> String {
    let (x, suffix) = unit.show(raw);
    let scales: &[(f64, &str)] = match unit {
        Unit::Picoseconds | Unit::Seconds => &[(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p")],
        Unit::Bytes | Unit::BitsPerSecond | Unit::PerSecond => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
        _ => &[(1.0, "")],
    };
    let smallest = scales[scales.len() - 1];
    let (scale, prefix) = scales.iter().copied().find(|(scale, _)| x.abs() >= *scale).unwrap_or(smallest);
    let (scale, prefix) = if x == 0.0 { (1.0, "") } else { (scale, prefix) };
    let number = four_digits(x / scale);
    if suffix.is_empty() { number } else { format!("{number} {prefix}{suffix}") }
}

/// Returns a number to four digits, without trailing zeros.
fn four_digits(x: f64) -> String {
    let magnitude = x.abs();
    let digits = match magnitude {
        m if m >= 1000.0 => 0,
        m if m >= 100.0 => 1,
        m if m >= 10.0 => 2,
        m if m >= 1.0 || m == 0.0 => 3,
        m if m >= 0.001 => 5,
        _ => return format!("{x:.3e}"),
    };
    let number = format!("{x:.digits$}");
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.').to_owned() } else { number }
}

/// Returns an integer in groups of three digits: `1,048,576`.
pub fn group(x: u128) -> String {
    let digits = x.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
