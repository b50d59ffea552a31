//! Ranges of values: `1..4` is 1, 2, 3 and 4; `10ms..50ms..20ms` goes in steps of 20 ms.

use parades_config::{ConfigError, Kind, Parameter, Value};

/// The largest number of values of a range.
const VALUES_MAX: usize = 100_000;

/// Returns the values of a range `FIRST..LAST` or `FIRST..LAST..STEP` of a parameter that counts something,
/// or that takes whole numbers besides words. `None` if `text` is no range. Without a step, whole numbers go
/// by 1; all others need one.
///
/// # Errors
///
/// If a part is no value of the parameter, or the step leads nowhere.
pub(crate) fn values(parameter: &Parameter, text: &str) -> Result<Option<Vec<String>>, ConfigError> {
    const COUNTS: Parameter = Parameter::integer("count", 0, 0..=u64::MAX, "a whole number");
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    // Words may look like `1..3`.
    let has_step = text.matches("..").count() == 2;
    if matches!(parameter.kind(), Kind::Text { .. }) && has_step && text.split("..").all(is_digits) {
        return values(&COUNTS.with_key(parameter.key()), text);
    }
    let is_countable = matches!(
        parameter.kind(),
        Kind::Integer { .. }
            | Kind::Float { .. }
            | Kind::Fraction { .. }
            | Kind::Duration { .. }
            | Kind::Size { .. }
            | Kind::Rate { .. }
    );
    let Some((first, rest)) = text.split_once("..").filter(|_| is_countable) else { return Ok(None) };
    let (last, step) = match rest.split_once("..") {
        Some((last, step)) => (last, Some(step)),
        None => (rest, None),
    };
    let key = parameter.key();
    let wrong =
        |what: &str| ConfigError::new(format!("the range of `{key}` {what}")).with_help("write FIRST..LAST..STEP");
    let [first_value, last_value] = [parameter.parse(first)?, parameter.parse(last)?];
    if let (Value::Float(_), Value::Float(_)) = (&first_value, &last_value) {
        return decimals([first, last, step.ok_or_else(|| wrong("needs a step"))?])
            .ok_or_else(|| wrong("has no values"))
            .map(Some);
    }
    let step_value = match (&first_value, step) {
        (_, Some(step)) => parameter.parse(step)?,
        (Value::Integer(_), None) => Value::Integer(1),
        _ => return Err(wrong("needs a step")),
    };
    let (first, last, step) = (amount(&first_value), amount(&last_value), amount(&step_value));
    if step == 0 || first > last {
        return Err(wrong("has no values"));
    }
    let count = (last - first) / step + 1;
    if count > VALUES_MAX as u64 {
        return Err(wrong("has more than 100000 values"));
    }
    Ok(Some((0..count).map(|number| with_amount(&first_value, first + number * step).to_string()).collect()))
}

fn amount(value: &Value) -> u64 {
    match value {
        Value::Integer(amount) | Value::Size(amount) | Value::Rate(amount) => *amount,
        Value::Duration(delay) => delay.as_ps(),
        _ => 0,
    }
}

fn with_amount(like: &Value, amount: u64) -> Value {
    match like {
        Value::Size(_) => Value::Size(amount),
        Value::Rate(_) => Value::Rate(amount),
        Value::Duration(_) => Value::Duration(parades_core::time::Delay::from_ps(amount)),
        _ => Value::Integer(amount),
    }
}

/// Returns the decimal numbers of a range, each with as many digits as its ends and its step have.
fn decimals([first, last, step]: [&str; 3]) -> Option<Vec<String>> {
    let digits =
        [first, step].iter().map(|text| text.trim().split_once('.').map_or(0, |(_, digits)| digits.len())).max()?;
    let number = |text: &str| text.trim().trim_end_matches('%').parse::<f64>().ok().filter(|number| number.is_finite());
    let (percent, first, last, step) = (first.trim().ends_with('%'), number(first)?, number(last)?, number(step)?);
    // A step of 0.1 is not exact: its last value may lie a little beyond the end.
    let count = ((last - first) / step + 1e-9).floor();
    if !(0.0..VALUES_MAX as f64).contains(&count) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked above")]
    let count = count as u64;
    let sign = if percent { "%" } else { "" };
    Some((0..=count).map(|place| format!("{:.digits$}{sign}", first + place as f64 * step)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::time::Delay;

    #[test]
    fn ranges_are_read_with_their_units_and_steps() {
        const COUNT: Parameter = Parameter::integer("n", 1, 1..=100, "a count");
        const DELAY: Parameter = Parameter::duration("d", Delay::ZERO, "a delay");
        const RATE: Parameter = Parameter::rate("r", 1, "a rate").positive();
        const SHARE: Parameter = Parameter::float("x", 0.5, 0.0..=10.0, "a number");
        const NAME: Parameter = Parameter::text("t", "", "a text");
        let of = |parameter: &Parameter, text: &str| values(parameter, text).expect("it is right");
        let list = |values: &[&str]| Some(values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&COUNT, "1..4"), list(&["1", "2", "3", "4"]));
        assert_eq!(of(&COUNT, "1..10..4"), list(&["1", "5", "9"]));
        assert_eq!(of(&DELAY, "10ms..50ms..20ms"), list(&["10ms", "30ms", "50ms"]));
        assert_eq!(of(&RATE, "1Mbps..2Mbps..500kbps"), list(&["1Mbps", "1500kbps", "2Mbps"]));
        assert_eq!(of(&SHARE, "0.1..0.5..0.1"), list(&["0.1", "0.2", "0.3", "0.4", "0.5"]));
        assert_eq!(of(&NAME, "../a.toml"), None);
        assert_eq!(of(&NAME, "10..30..10"), list(&["10", "20", "30"]));
        assert_eq!(of(&COUNT, "7"), None);
        for (parameter, text) in [
            (&COUNT, "4..1"),
            (&COUNT, "1..4..0"),
            (&DELAY, "1ms..2ms"),
            (&COUNT, "0..4"),
            (&SHARE, "1..2"),
            (&SHARE, "1..2..0"),
        ] {
            assert!(values(parameter, text).is_err(), "{text}");
        }
    }
}
