//! The results that depend on the order of simultaneous events, as JSON and for people.
//!
//! The digest is among them. It tells of any difference in history, also of one that no metric shows.

use crate::drawing::{Column, Entry, draw};
use crate::figure::figure;
use crate::metrics::{bare_name, unit_of_values};
use parades_core::metrics::Unit;
use parades_sweep::DIGEST;
use parades_sweep::results::cell;
use parades_sweep::ties::{Effect, Greatest, Spread};
use serde_json::{Value, json};
use std::fmt::Write;

/// The effects of several tie seeds.
pub(crate) struct Ties {
    /// The effect on each metric.
    pub(crate) effects: Vec<Effect>,
    /// The grid point and the seed of each group of runs: `{"parameters": {…}, "seed": 1}`. Empty in a
    /// comparison, which has one group.
    pub(crate) places: Vec<Value>,
}

/// An effect that is shown: the metric, and its greatest difference.
type Shown<'a> = (&'a str, &'a Greatest);

impl Ties {
    /// Returns the effects as an object: the metrics that depend on the tie seed, with their spread and its
    /// place, and the names of the others.
    pub(crate) fn as_json(&self) -> Value {
        let depends = |Effect { metric, greatest }: &Effect| {
            let Greatest { spread, group, row } = greatest.as_ref()?;
            let mut effect = match spread {
                Spread::Numbers { least, greatest, relative } => {
                    json!({"metric": metric, "least": least, "greatest": greatest, "relative_spread": relative})
                }
                Spread::Other => json!({"metric": metric, "least": null, "greatest": null, "relative_spread": null}),
            };
            match self.places.get(*group) {
                Some(place) => effect["greatest_at"] = place.clone(),
                None => effect["row"] = json!(row),
            }
            Some(effect)
        };
        let independent = self.effects.iter().filter(|effect| effect.greatest.is_none());
        json!({
            "depends": self.effects.iter().filter_map(depends).collect::<Vec<_>>(),
            "independent": independent.map(|effect| effect.metric.as_str()).collect::<Vec<_>>(),
        })
    }

    /// Writes the effects of the tie seeds `seeds`, in lines of at most `width` characters. If `asked` names
    /// metrics, the others are only counted.
    pub(crate) fn draw(&self, text: &mut String, seeds: &[u64], asked: &[&String], width: usize) {
        let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let is_asked = |metric: &String| asked.is_empty() || asked.contains(&metric);
        let metrics = || self.effects.iter().filter(|effect| effect.metric != DIGEST);
        let depending: Vec<Shown<'_>> =
            metrics().filter_map(|effect| Some((effect.metric.as_str(), effect.greatest.as_ref()?))).collect();
        if depending.is_empty() {
            let _ = writeln!(text, "\n{} (tie seeds {seeds})", nothing_depends(&self.effects));
            return;
        }
        let shown: Vec<Shown<'_>> =
            depending.iter().copied().filter(|(metric, _)| is_asked(&(*metric).into())).collect();
        let _ = match shown.as_slice() {
            [] => {
                writeln!(text, "\nno metric asked for depends on the order of simultaneous events (tie seeds {seeds})")
            }
            _ => writeln!(text, "\nmetrics that depend on the order of simultaneous events (tie seeds {seeds})"),
        };
        let same = metrics().filter(|effect| effect.greatest.is_none() && is_asked(&effect.metric)).count();
        if !shown.is_empty() {
            draw(text, &self.columns(&shown), width, 0, "`--json`");
            let _ = writeln!(text, "{same} other metrics are the same with each tie seed");
        }
        match depending.len() - shown.len() {
            0 => {}
            hidden => _ = writeln!(text, "{hidden} metrics that were not asked for depend on it: see `--json`"),
        }
    }

    /// Returns the columns of the table of effects.
    fn columns(&self, shown: &[Shown<'_>]) -> Vec<Column> {
        let number = |at: fn(f64, f64) -> f64| {
            let cell = |(metric, found): &Shown<'_>| match found.spread {
                // Each row has a unit of its own.
                Spread::Numbers { least, greatest, .. } => figure(in_words(metric).1, at(least, greatest)),
                Spread::Other => "–".to_owned(),
            };
            shown.iter().map(cell).collect()
        };
        let relative = |(_, found): &Shown<'_>| match found.spread {
            Spread::Numbers { relative: Some(relative), .. } => percent(relative),
            _ => "–".to_owned(),
        };
        let names: Vec<Entry> = shown.iter().map(|(metric, _)| Entry::Text(in_words(metric).0)).collect();
        let mut columns = vec![
            Column::of("metric", Unit::Count, &names),
            Column::of_texts("least", number(|least, _| least)),
            Column::of_texts("greatest", number(|_, greatest| greatest)),
            Column::of_texts("relative spread", shown.iter().map(relative).collect()),
        ];
        let places: Vec<Entry> = shown.iter().map(|(_, found)| Entry::Text(self.place_of(found)).cut()).collect();
        // One group of runs has the one place that the user knows.
        if self.places.len() > 1 || shown.iter().any(|(_, found)| found.row.is_some()) {
            columns.push(Column::of("greatest at", Unit::Count, &places));
        }
        columns
    }

    /// Returns the place of a difference in words: `load=0.5, seed 2`; the row of a table.
    fn place_of(&self, Greatest { group, row, .. }: &Greatest) -> String {
        let Some(place) = self.places.get(*group) else { return row.clone().unwrap_or_default() };
        let parameters = place["parameters"].as_object().into_iter().flatten();
        let words = parameters.map(|(key, value)| format!("{key}={}", cell(value)));
        words.chain([format!("seed {}", place["seed"])]).collect::<Vec<_>>().join(", ")
    }
}

/// Returns a sentence without a full stop, if no metric depends on the order of simultaneous events.
pub(crate) fn nothing_depends(effects: &[Effect]) -> &'static str {
    match effects.iter().find(|effect| effect.metric == DIGEST) {
        None => "no metric depends on the order of simultaneous events; without digests, histories are not compared",
        Some(Effect { greatest: Some(_), .. }) => {
            "no metric depends on the order of simultaneous events, but the digests differ"
        }
        Some(_) => "nothing depends on the order of simultaneous events: the digests are equal",
    }
}

/// Returns the name of a metric in words, and its unit. That of a column of a table is at its end:
/// `flows.delay_mean_s`.
fn in_words(metric: &str) -> (String, Unit) {
    match metric.split_once('.') {
        Some((table, column)) if unit_of_values(column) != Unit::Count => {
            (format!("{table} {}", bare_name(column)), unit_of_values(column))
        }
        _ => (bare_name(metric), unit_of_values(metric)),
    }
}

/// Returns a share in percent, with three digits.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 0.001 { format!("{percent:.1e} %") } else { format!("{} %", crate::figure::four_digits(percent)) }
}
