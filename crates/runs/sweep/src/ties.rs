//! The effect of the order of simultaneous events on results.
//!
//! Runs that differ in their tie seed alone execute simultaneous events in other orders. A result that is
//! equal in all of them does not depend on that order, as far as these runs tell.
//!
//! *Read next*: [`crate::results`].

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The effect of the tie seed on a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The name of the metric.
    pub metric: String,
    /// The difference between runs that differ in the tie seed alone. `None` if there is none.
    pub spread: Option<Spread>,
}

/// The difference of a metric between runs that differ in the tie seed alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// The metric is a number. Of several groups of runs, or of several rows of a table, this is the one with
    /// the greatest spread.
    Numbers {
        /// The least value.
        least: f64,
        /// The greatest value.
        greatest: f64,
        /// The difference of both, divided by the size of the mean over the runs. `None` if that mean is 0.
        relative: Option<f64>,
    },
    /// The metric is a text, is missing in some of the runs, or is a table with more rows in some of them.
    Other,
}

impl Spread {
    /// Returns a number that orders spreads: the relative spread, or else infinity.
    fn rank(&self) -> f64 {
        match self {
            Spread::Numbers { relative: Some(relative), .. } => *relative,
            Spread::Numbers { relative: None, .. } | Spread::Other => f64::INFINITY,
        }
    }
}

/// Returns the effect of the tie seed on each metric, in the order in which runs have them. The runs of a
/// group differ in the tie seed alone, and each run is given by its metrics. A list stands for a column of a
/// table: `links.rate` is one of the table `links`. If its texts name each row of a table, rows are matched by
/// them, since the order of rows may depend on results.
///
/// ```
/// use parades_sweep::ties::{Spread, effects};
/// use serde_json::{Map, json};
/// let run = |drops: u64| Map::from_iter([("events".to_owned(), json!(50)), ("drops".to_owned(), json!(drops))]);
/// let [events, drops] = &effects(&[vec![run(9), run(11), run(10)]])[..] else { panic!() };
/// assert_eq!((events.metric.as_str(), events.spread), ("events", None));
/// assert_eq!(drops.spread, Some(Spread::Numbers { least: 9.0, greatest: 11.0, relative: Some(0.2) }));
/// ```
pub fn effects(groups: &[Vec<Map<String, Value>>]) -> Vec<Effect> {
    let groups: Vec<Vec<Map<String, Value>>> =
        groups.iter().map(|runs| runs.iter().map(in_order_of_names).collect()).collect();
    let mut names: Vec<&String> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    names.extend(groups.iter().flatten().flat_map(Map::keys).filter(|name| seen.insert(*name)));
    let effect = |metric: &String| {
        let of_group = |runs: &Vec<Map<String, Value>>| {
            spread(&runs.iter().map(|run| run.get(metric).unwrap_or(&Value::Null)).collect::<Vec<_>>())
        };
        Effect { metric: metric.clone(), spread: greatest(groups.iter().map(of_group)) }
    };
    names.into_iter().map(effect).collect()
}

/// Returns metrics in which the rows of each table are sorted by their texts, if those name each row.
fn in_order_of_names(run: &Map<String, Value>) -> Map<String, Value> {
    let table_of = |name: &str| name.split_once('.').map(|(table, _)| table.to_owned());
    let mut names_of_rows: BTreeMap<String, Vec<Vec<&str>>> = BTreeMap::new();
    for (name, value) in run {
        let (Some(table), Some(column)) = (table_of(name), value.as_array()) else { continue };
        let texts: Option<Vec<&str>> = column.iter().map(Value::as_str).collect();
        let Some(texts) = texts else { continue };
        let rows = names_of_rows.entry(table).or_insert_with(|| vec![Vec::new(); texts.len()]);
        if rows.len() == texts.len() {
            rows.iter_mut().zip(texts).for_each(|(row, text)| row.push(text));
        }
    }
    let order_of = |rows: &Vec<Vec<&str>>| {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&row| &rows[row]);
        let is_named = order.windows(2).all(|pair| rows[pair[0]] != rows[pair[1]]);
        is_named.then_some(order)
    };
    let orders: BTreeMap<&String, Vec<usize>> =
        names_of_rows.iter().filter_map(|(table, rows)| Some((table, order_of(rows)?))).collect();
    let sorted = |(name, value): (&String, &Value)| {
        let order = table_of(name).and_then(|table| orders.get(&table));
        let value = match (value.as_array(), order) {
            (Some(column), Some(order)) if column.len() == order.len() => {
                order.iter().map(|&row| column[row].clone()).collect()
            }
            _ => value.clone(),
        };
        (name.clone(), value)
    };
    run.iter().map(sorted).collect()
}

/// Returns the greatest spread.
fn greatest(spreads: impl Iterator<Item = Option<Spread>>) -> Option<Spread> {
    // Of equal ones, the first.
    spreads.flatten().reduce(|first, next| if next.rank() > first.rank() { next } else { first })
}

/// Returns the spread of the values that a metric has in several runs.
fn spread(values: &[&Value]) -> Option<Spread> {
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let lists: Option<Vec<&Vec<Value>>> = values.iter().map(|value| value.as_array()).collect();
    if let Some(lists) = lists {
        let rows = lists[0].len();
        if lists.iter().any(|list| list.len() != rows) {
            return Some(Spread::Other);
        }
        return greatest((0..rows).map(|row| spread(&lists.iter().map(|list| &list[row]).collect::<Vec<_>>())));
    }
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.as_f64()).collect();
    Some(numbers.map_or(Spread::Other, |numbers| {
        let (least, greatest) = numbers.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let relative = (greatest - least) / mean.abs();
        Spread::Numbers { least, greatest, relative: relative.is_finite().then_some(relative) }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(groups: Value) -> Vec<(String, Option<Spread>)> {
        let groups: Vec<Vec<Map<String, Value>>> = serde_json::from_value(groups).expect("lists of objects");
        effects(&groups).into_iter().map(|effect| (effect.metric, effect.spread)).collect()
    }

    fn numbers(least: f64, greatest: f64, relative: Option<f64>) -> Option<Spread> {
        Some(Spread::Numbers { least, greatest, relative })
    }

    #[test]
    fn the_greatest_spread_over_groups_and_rows_is_told() {
        let found = of(json!([
            [{"same": 1, "x": 10.0, "rows": [1, 4, 2]}, {"same": 1, "x": 10.0, "rows": [1, 4, 2]}],
            [{"same": 2, "x": 8.0, "rows": [1, 3, 2]}, {"same": 2, "x": 12.0, "rows": [1, 5, 2]}],
            [{"same": 3, "x": 9.0, "rows": [1, 4, 2]}, {"same": 3, "x": 10.0, "rows": [1, 4, 2]}],
        ]));
        let expected = [
            ("same".to_owned(), None),
            ("x".to_owned(), numbers(8.0, 12.0, Some(0.4))),
            ("rows".to_owned(), numbers(3.0, 5.0, Some(0.5))),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_are_matched_by_their_names() {
        let found = of(json!([[
            {"links.link": ["a-b", "b-c"], "links.rate": [1, 4], "links.sent": [9, 7], "sent": [9, 7]},
            {"links.link": ["b-c", "a-b"], "links.rate": [4, 1], "links.sent": [8, 9], "sent": [8, 9]},
        ]]));
        let of = |name: &str| found.iter().find(|(metric, _)| metric == name).expect("it is there").1;
        assert_eq!((of("links.link"), of("links.rate")), (None, None));
        assert_eq!(of("links.sent"), numbers(7.0, 8.0, Some(1.0 / 7.5)));
        assert!(of("sent").is_some(), "rows without names are in their order");
    }

    #[test]
    fn what_is_no_number_has_no_relative_spread() {
        let found = of(json!([[
            {"word": "a", "zero": -1, "gone": 1, "rows": [1], "none": null},
            {"word": "b", "zero": 1, "rows": [1, 2], "none": null},
        ]]));
        let expected = [
            ("word", Some(Spread::Other)),
            ("zero", numbers(-1.0, 1.0, None)),
            ("gone", Some(Spread::Other)),
            ("rows", Some(Spread::Other)),
            ("none", None),
        ];
        assert_eq!(found, expected.map(|(name, spread)| (name.to_owned(), spread)));
    }
}
