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
    /// The greatest difference between runs that differ in the tie seed alone. `None` if there is none.
    pub greatest: Option<Greatest>,
}

/// The greatest difference of a metric between runs that differ in the tie seed alone, and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Greatest {
    /// The difference.
    pub spread: Spread,
    /// The index of the group of runs.
    pub group: usize,
    /// The row, if the metric is a column of a table: its texts if they name each row, or else the value of
    /// the table's first column if that names each row, or else its number, from 1. The time, if the metric
    /// is a series. `None` for other metrics, and for tables with more rows in some runs.
    pub row: Option<String>,
}

/// The difference of a metric between runs that differ in the tie seed alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// The metric is a number.
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
/// table: `links.rate` is one of the table `links`. If its texts name each row of a table, rows are matched
/// by them, since the order of rows may depend on results.
///
/// ```
/// use parades_sweep::ties::{Greatest, Spread, effects};
/// use serde_json::{Map, json};
/// let run = |drops: u64| Map::from_iter([("events".to_owned(), json!(50)), ("drops".to_owned(), json!(drops))]);
/// let [events, drops] = &effects(&[vec![run(9), run(11), run(10)]])[..] else { panic!() };
/// assert_eq!((events.metric.as_str(), &events.greatest), ("events", &None));
/// let spread = Spread::Numbers { least: 9.0, greatest: 11.0, relative: Some(0.2) };
/// assert_eq!(drops.greatest, Some(Greatest { spread, group: 0, row: None }));
/// ```
pub fn effects(groups: &[Vec<Map<String, Value>>]) -> Vec<Effect> {
    let groups: Vec<Vec<Ordered>> = groups.iter().map(|runs| runs.iter().map(Ordered::of).collect()).collect();
    let mut names: Vec<&String> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let all = groups.iter().flatten().flat_map(|run| run.metrics.keys());
    names.extend(all.filter(|name| seen.insert(*name)));
    let effect = |metric: &String| {
        let of_group = |(group, runs): (usize, &Vec<Ordered>)| {
            let values: Vec<&Value> = runs.iter().map(|run| run.metrics.get(metric).unwrap_or(&Value::Null)).collect();
            let (spread, row) = spread(&values)?;
            Some(Greatest { spread, group, row: row.map(|row| runs[0].name_of(metric, row)) })
        };
        let found = groups.iter().enumerate().filter_map(of_group);
        Effect { metric: metric.clone(), greatest: greatest(found, |found| found.spread) }
    };
    names.into_iter().map(effect).collect()
}

/// The metrics of a run, in which the rows of each table are sorted by their texts if those name each row.
struct Ordered {
    metrics: Map<String, Value>,
    /// The names of the rows of each table that has some.
    names: BTreeMap<String, Vec<String>>,
}

impl Ordered {
    fn of(run: &Map<String, Value>) -> Ordered {
        let mut tables: BTreeMap<&str, Vec<(&str, &Vec<Value>)>> = BTreeMap::new();
        for (name, value) in run {
            if let (Some((table, column)), Some(list)) = (name.split_once('.'), value.as_array()) {
                tables.entry(table).or_default().push((column, list));
            }
        }
        let orders: BTreeMap<&str, (Vec<usize>, Vec<String>)> =
            tables.iter().filter_map(|(table, columns)| Some((*table, order_of(columns)?))).collect();
        let sorted = |(name, value): (&String, &Value)| {
            let order = name.split_once('.').and_then(|(table, _)| orders.get(table));
            let value = match (value.as_array(), order) {
                (Some(column), Some((order, _))) if column.len() == order.len() => {
                    order.iter().map(|&row| column[row].clone()).collect()
                }
                _ => value.clone(),
            };
            (name.clone(), value)
        };
        let metrics = run.iter().map(sorted).collect();
        Ordered { metrics, names: orders.into_iter().map(|(table, (_, names))| (table.to_owned(), names)).collect() }
    }

    /// Returns the name of a row of a metric.
    fn name_of(&self, metric: &str, row: usize) -> String {
        let names = metric.split_once('.').and_then(|(table, _)| self.names.get(table));
        // A row of a series is a time and a value.
        let time = || self.metrics.get(metric)?.get(row)?.get(0)?.as_f64();
        match (names.and_then(|names| names.get(row)), time()) {
            (Some(name), _) => name.clone(),
            (None, Some(time)) => format!("{time} s"),
            (None, None) => format!("row {}", row + 1),
        }
    }
}

/// Returns the order of the rows of a table and their names in that order, if something names each row: its
/// texts, or the value of the first column. Only texts change the order.
fn order_of(columns: &[(&str, &Vec<Value>)]) -> Option<(Vec<usize>, Vec<String>)> {
    let (first, values) = columns.first()?;
    let texts_of = |(_, list): &(&str, &Vec<Value>)| {
        let texts: Option<Vec<String>> = list.iter().map(|text| text.as_str().map(str::to_owned)).collect();
        texts.filter(|texts| texts.len() == values.len())
    };
    let texts: Vec<Vec<String>> = columns.iter().filter_map(texts_of).collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    // As few texts as name each row.
    for count in 1..=texts.len() {
        let name = |&row: &usize| texts[..count].iter().map(|texts| texts[row].as_str()).collect::<Vec<_>>();
        order.sort_by_key(name);
        if order.windows(2).all(|pair| name(&pair[0]) != name(&pair[1])) {
            let names = order.iter().map(|row| name(row).join(" ")).collect();
            return Some((order, names));
        }
    }
    let names: Vec<String> = values.iter().map(|value| format!("{first} {value}")).collect();
    let are_names = names.iter().collect::<std::collections::BTreeSet<_>>().len() == names.len();
    are_names.then(|| ((0..values.len()).collect(), names))
}

/// Returns the item with the greatest spread; of equal ones, the first.
fn greatest<T>(items: impl Iterator<Item = T>, spread: impl Fn(&T) -> Spread) -> Option<T> {
    items.reduce(|first, next| if spread(&next).rank() > spread(&first).rank() { next } else { first })
}

/// Returns the spread of the values that a metric has in several runs, and the row in which it is, if the
/// values are lists of equal length. `None` if all values are equal.
fn spread(values: &[&Value]) -> Option<(Spread, Option<usize>)> {
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let lists: Option<Vec<&Vec<Value>>> = values.iter().map(|value| value.as_array()).collect();
    if let Some(lists) = lists {
        let rows = lists[0].len();
        if lists.iter().any(|list| list.len() != rows) {
            return Some((Spread::Other, None));
        }
        let of_row = |row: usize| {
            let (spread, _) = spread(&lists.iter().map(|list| &list[row]).collect::<Vec<_>>())?;
            Some((spread, Some(row)))
        };
        return greatest((0..rows).filter_map(of_row), |(spread, _)| *spread);
    }
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.as_f64()).collect();
    let spread = numbers.map_or(Spread::Other, |numbers| {
        let (least, greatest) = numbers.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let relative = (greatest - least) / mean.abs();
        Spread::Numbers { least, greatest, relative: relative.is_finite().then_some(relative) }
    });
    Some((spread, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn effects_of(groups: Value) -> Vec<Effect> {
        effects(&serde_json::from_value::<Vec<Vec<Map<String, Value>>>>(groups).expect("lists of objects"))
    }

    fn of(groups: Value) -> Vec<(String, Option<Spread>)> {
        let found = effects_of(groups).into_iter();
        found.map(|effect| (effect.metric, effect.greatest.map(|greatest| greatest.spread))).collect()
    }

    /// Returns the group and the row of the greatest difference of each metric that has one.
    fn places(groups: Value) -> Vec<(String, usize, Option<String>)> {
        let place = |effect: Effect| effect.greatest.map(|found| (effect.metric, found.group, found.row));
        effects_of(groups).into_iter().filter_map(place).collect()
    }

    fn numbers(least: f64, greatest: f64, relative: Option<f64>) -> Option<Spread> {
        Some(Spread::Numbers { least, greatest, relative })
    }

    #[test]
    fn the_place_of_the_greatest_difference_is_named() {
        let found = places(json!([
            [{"x": 10.0, "same": 1}, {"x": 11.0, "same": 1}],
            [{"x": 8.0, "same": 1}, {"x": 12.0, "same": 1}],
        ]));
        assert_eq!(found, [("x".to_owned(), 1, None)]);
        let found = places(json!([[
            {
                "links.link": ["a-b", "b-c"], "links.queue": ["red", "red"], "links.sent": [9, 7],
                "twins.from": ["a", "a"], "twins.to": ["x", "y"], "twins.sent": [5, 7],
                "peers.peer": [3, 5], "peers.load": [1, 9], "list": [1, 2], "rate_bps": [[0.5, 8.0], [1.5, 9.0]],
            },
            {
                "links.link": ["b-c", "a-b"], "links.queue": ["red", "red"], "links.sent": [8, 9],
                "twins.from": ["a", "a"], "twins.to": ["y", "x"], "twins.sent": [6, 5],
                "peers.peer": [3, 5], "peers.load": [1, 8], "list": [1, 3], "rate_bps": [[0.5, 8.0], [1.5, 3.0]],
            },
        ]]));
        let expected = [
            ("links.sent", "b-c"),
            ("twins.sent", "a y"),
            ("peers.load", "peer 5"),
            ("list", "row 2"),
            ("rate_bps", "1.5 s"),
        ];
        assert_eq!(found, expected.map(|(metric, row)| (metric.to_owned(), 0, Some(row.to_owned()))));
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
