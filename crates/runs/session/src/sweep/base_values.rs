//! The values of swept parameters in base units, for tables of numbers.

use parades_config::Value;
use parades_config::units::{parse_duration, parse_rate, parse_size};
use serde_json::{Value as Json, json};

/// A kind of quantity. Values of several kinds have no unit in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Seconds,
    Bytes,
    BitsPerSecond,
}

/// Returns the values of a swept parameter in seconds, bytes or bits per second. Values that have no such
/// unit in common stay as they are `shown`.
pub(super) fn in_base_units(values: &[&Value], shown: &[Json]) -> Vec<Json> {
    let found: Vec<Option<(Quantity, Json)>> = values.iter().map(|value| quantity(value)).collect();
    let kind = found.first().and_then(|first| first.as_ref().map(|(kind, _)| *kind));
    let numbers = found.into_iter().map(|found| found.filter(|(of, _)| Some(*of) == kind).map(|(_, number)| number));
    // A parameter that takes numbers besides words may have numbers alone.
    let number = |value: &Json| value.as_str()?.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let plain = || shown.iter().map(|value| number(value).map(Json::from)).collect();
    numbers.collect::<Option<Vec<Json>>>().or_else(plain).unwrap_or_else(|| shown.to_vec())
}

/// Returns the number of a quantity in its base unit. Parameters of network files are texts.
fn quantity(value: &Value) -> Option<(Quantity, Json)> {
    match value {
        Value::Duration(delay) => Some((Quantity::Seconds, json!(delay.as_secs_f64()))),
        Value::Size(bytes) => Some((Quantity::Bytes, json!(bytes))),
        Value::Rate(bits) => Some((Quantity::BitsPerSecond, json!(bits))),
        // A bare number has no unit.
        Value::Text(text) if text.trim().parse::<f64>().is_err() => {
            let duration = || Some((Quantity::Seconds, json!(parse_duration(text).ok()?.as_secs_f64())));
            let size = || Some((Quantity::Bytes, json!(parse_size(text).ok()?)));
            let rate = || Some((Quantity::BitsPerSecond, json!(parse_rate(text).ok()?)));
            duration().or_else(size).or_else(rate)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the values of a text parameter, as tables of numbers have them.
    fn in_tables(texts: &[&str]) -> Vec<Json> {
        let values: Vec<Value> = texts.iter().map(|&text| Value::Text(text.into())).collect();
        let shown: Vec<Json> = texts.iter().map(|&text| json!(text)).collect();
        in_base_units(&values.iter().collect::<Vec<_>>(), &shown)
    }

    #[test]
    fn quantities_of_one_kind_are_numbers_and_all_else_stays() {
        assert_eq!(in_tables(&["4Mbps", "10kbps"]), [json!(4_000_000), json!(10_000)]);
        assert_eq!(in_tables(&["50us", "2ms"]), [json!(0.00005), json!(0.002)]);
        assert_eq!(in_tables(&["1KiB", "64KiB"]), [json!(1024), json!(65_536)]);
        assert_eq!(in_tables(&["20", "1000"]), [json!(20.0), json!(1000.0)]);
        assert_eq!(in_tables(&["1", "nan"]), [json!("1"), json!("nan")]);
        // A queue of 100 packets, and one of 64 KiB.
        assert_eq!(in_tables(&["100", "64KiB"]), [json!("100"), json!("64KiB")]);
        assert_eq!(in_tables(&["64KiB", "50ms"]), [json!("64KiB"), json!("50ms")]);
        assert_eq!(in_tables(&["cubic", "reno"]), [json!("cubic"), json!("reno")]);
        let (rate, text) = (Value::Rate(8_000), json!("8kbps"));
        assert_eq!(in_base_units(&[&rate], std::slice::from_ref(&text)), [json!(8_000)]);
    }
}
