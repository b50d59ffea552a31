//! Conditions on metrics, such as `sojourn > 20ms`.

use crate::Failure;
use parades_config::units::{parse_duration, parse_rate, parse_size};
use parades_config::{nearest, quoted};
use parades_core::metrics::{MetricValue, Metrics, Unit};
use std::fmt;

/// A condition on a metric of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The condition, as the user wrote it.
    text: String,
    /// The declared name of the metric.
    metric: String,
    figure: Figure,
    /// True for `>`, false for `<`.
    is_above: bool,
    /// The bound, in the unit in which the metric is recorded.
    bound: f64,
}

/// A number that stands for a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    /// The sum of a counter, the mean of observations, the number of a value, the last point of a series.
    Main,
    Count,
    Min,
    Max,
    Deviation,
    /// The percentile of a histogram, from 0 to 100.
    Percentile(f64),
}

impl Condition {
    /// Returns the condition of a text on a run with these metrics: a metric, `>` or `<`, and a value with
    /// its unit. The metric is named as in the results: `sojourn`, `sojourn_s`, `sojourn.max`.
    ///
    /// ```
    /// use parades_core::metrics::{Metrics, Unit};
    /// use parades_session::condition::Condition;
    /// let mut metrics = Metrics::new();
    /// let wait = metrics.tally("wait", Unit::Picoseconds);
    /// let long = Condition::of("wait.max > 2us", &metrics)?;
    /// metrics.observe(wait, 2_000_000);
    /// assert!(!long.holds(&metrics));
    /// metrics.observe(wait, 2_000_001);
    /// assert!(long.holds(&metrics));
    /// # Ok::<(), parades_session::Failure>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if the text is no condition, if there is no such metric, or if the value has
    /// another unit.
    pub fn of(text: &str, metrics: &Metrics) -> Result<Condition, Failure> {
        let wrong = |what: String, help: String| Failure::usage(format!("--save-when {}: {what}", quoted(text)), help);
        let parts = text.find(['>', '<']).map(|place| (&text[..place], &text[place..=place], &text[place + 1..]));
        let Some((name, sign, value)) = parts else {
            let help = "write a metric, `>` or `<`, and a value, as in 'sojourn > 20ms'";
            return Err(wrong("it is no condition".into(), help.into()));
        };
        let (name, value) = (name.trim(), value.trim());
        let (name, field) = name.split_once('.').unwrap_or((name, ""));
        let has_number = |value: &MetricValue| !matches!(value, MetricValue::Table(_));
        let found = metrics.iter().find(|(declared, unit, _)| is_name_of(name, declared, *unit));
        let Some((metric, unit, declared)) = found.filter(|(.., value)| has_number(value)) else {
            let all = || metrics.iter().filter(|(.., value)| has_number(value)).map(|(name, ..)| name);
            let what = match found {
                Some(_) => format!("the metric {} is a table, and no single number", quoted(name)),
                None => format!("there is no metric {} in this run", quoted(name)),
            };
            let near = nearest(name, all()).filter(|_| found.is_none());
            return Err(wrong(
                what,
                match (near, all().next()) {
                    (Some(near), _) => format!("did you mean `{near}`?"),
                    (None, Some(_)) => format!("choose one of {}", all().collect::<Vec<_>>().join(", ")),
                    (None, None) => "this scenario has no metrics with a number".into(),
                },
            ));
        };
        let figure = figure(field, declared).ok_or_else(|| {
            let what = format!("the metric {} has no figure {}", quoted(metric), quoted(field));
            wrong(what, format!("choose one of {}", figures(declared)))
        })?;
        let unit = if figure == Figure::Count { Unit::Count } else { unit };
        let bound = parse(value, unit).map_err(|what| wrong(format!("`{metric}`: {what}"), help_on(unit).into()))?;
        Ok(Condition { text: text.into(), metric: metric.into(), figure, is_above: sign == ">", bound })
    }

    /// Returns true if the condition is true of these metrics. It is false of a metric without a value.
    pub fn holds(&self, metrics: &Metrics) -> bool {
        let value = metrics.get(&self.metric).and_then(|value| self.figure.of(value));
        value.is_some_and(|value| if self.is_above { value > self.bound } else { value < self.bound })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns true if `name` is the declared name of a metric, or that name with its unit, as results have it.
fn is_name_of(name: &str, declared: &str, unit: Unit) -> bool {
    let suffix = match unit {
        Unit::Picoseconds | Unit::Seconds => "_s",
        Unit::Bytes => "_bytes",
        Unit::BitsPerSecond => "_bps",
        Unit::PerSecond => "_per_s",
        Unit::Count | Unit::Ratio => "",
    };
    name.strip_prefix(declared).is_some_and(|rest| rest.is_empty() || rest == suffix)
}

/// Returns the figure with this name, if a metric of this kind has it.
fn figure(field: &str, declared: &MetricValue) -> Option<Figure> {
    use MetricValue::{Float, Histogram, Steady, Tally};
    let percentile = || field.strip_prefix('p')?.replace('_', ".").parse().ok().filter(|p| (0.0..=100.0).contains(p));
    let figure = match field {
        "" => return Some(Figure::Main),
        "mean" => Figure::Main,
        "count" => Figure::Count,
        "min" => Figure::Min,
        "max" => Figure::Max,
        "deviation" => Figure::Deviation,
        _ => Figure::Percentile(percentile()?),
    };
    let has = match declared {
        Histogram(_) => true,
        Tally(_) | Float(_) => !matches!(figure, Figure::Percentile(_)),
        Steady(_) => matches!(figure, Figure::Main | Figure::Count),
        _ => false,
    };
    has.then_some(figure)
}

/// Returns the names of the figures of a metric of this kind, for a message.
fn figures(declared: &MetricValue) -> &'static str {
    match declared {
        MetricValue::Histogram(_) => "mean, count, min, max, deviation, p5, p50, p95, p99, p99_9",
        MetricValue::Tally(_) | MetricValue::Float(_) => "mean, count, min, max, deviation",
        MetricValue::Steady(_) => "mean, count",
        _ => "none: the metric is one number",
    }
}

impl Figure {
    /// Returns this figure of a metric; `None` if nothing was recorded.
    fn of(self, value: &MetricValue) -> Option<f64> {
        let (tally, float) = (value.tally(), value.float().map(|float| float.total()));
        let whole = |x: Option<u64>| x.map(|x| x as f64);
        match self {
            Figure::Main => match value.series() {
                Some(series) => series.points().last().map(|(_, x)| *x),
                None => value.headline(),
            },
            Figure::Count => {
                let steady = value.steady().and_then(|steady| steady.estimate()).map(|estimate| estimate.count);
                whole(tally.map(|tally| tally.count()).or(float.map(|float| float.count())).or(steady))
            }
            Figure::Min => whole(tally.and_then(|tally| tally.min())).or(float.and_then(|float| float.min())),
            Figure::Max => whole(tally.and_then(|tally| tally.max())).or(float.and_then(|float| float.max())),
            Figure::Deviation => {
                tally.and_then(|tally| tally.deviation()).or(float.and_then(|float| float.deviation()))
            }
            Figure::Percentile(percent) => whole(value.histogram().and_then(|histogram| histogram.percentile(percent))),
        }
    }
}

/// Reads a value in the unit in which a metric is recorded.
fn parse(value: &str, unit: Unit) -> Result<f64, String> {
    let number = |text: &str| match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("{} is no number", quoted(value))),
    };
    let as_text = |error: parades_config::ConfigError| error.to_string();
    match unit {
        Unit::Picoseconds => parse_duration(value).map(|delay| delay.as_ps() as f64).map_err(as_text),
        Unit::Seconds => parse_duration(value).map(|delay| delay.as_secs_f64()).map_err(as_text),
        Unit::Bytes => parse_size(value).map(|bytes| bytes as f64).map_err(as_text),
        Unit::BitsPerSecond => parse_rate(value).map(|rate| rate as f64).map_err(as_text),
        Unit::PerSecond => number(value.strip_suffix("/s").unwrap_or(value)),
        Unit::Ratio => match value.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0),
            None => number(value),
        },
        Unit::Count => number(value),
    }
}

fn help_on(unit: Unit) -> &'static str {
    match unit {
        Unit::Picoseconds | Unit::Seconds => "write a duration, as `20ms`",
        Unit::Bytes => "write a size, as `64KiB`",
        Unit::BitsPerSecond => "write a rate, as `10Mbps`",
        Unit::PerSecond => "write a number of things in a second, as `100/s`",
        Unit::Ratio => "write a share, as `0.5` or `50%`",
        Unit::Count => "write a number without a unit",
    }
}
