//! The results that depend on the order of simultaneous events, as JSON and for people.
//!
//! The digest is among them. It tells of any difference in history, also of one that no metric shows.

use crate::drawing::{Column, Entry, draw};
use crate::metrics::{bare_name, unit_of_values};
use parades_core::metrics::Unit;
use parades_sweep::ties::{Effect, Spread};
use serde_json::{Value, json};
use std::fmt::Write;

/// The name of the digest among the results.
pub(crate) const DIGEST: &str = "digest";

/// Returns the effects of the tie seed as an object: the metrics that depend on it, with their spread, and
/// the names of the others.
pub(crate) fn as_json(effects: &[Effect]) -> Value {
    let spread = |Effect { metric, spread }: &Effect| {
        spread.map(|spread| match spread {
            Spread::Numbers { least, greatest, relative } => {
                json!({"metric": metric, "least": least, "greatest": greatest, "relative_spread": relative})
            }
            Spread::Other => json!({"metric": metric, "least": null, "greatest": null, "relative_spread": null}),
        })
    };
    let independent = effects.iter().filter(|effect| effect.spread.is_none()).map(|effect| effect.metric.as_str());
    json!({
        "depends": effects.iter().filter_map(spread).collect::<Vec<_>>(),
        "independent": independent.collect::<Vec<_>>(),
    })
}

/// Writes the effects of the tie seeds `seeds`, in lines of at most `width` characters.
pub(crate) fn draw_effects(text: &mut String, effects: &[Effect], seeds: &[u64], width: usize) {
    let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let metrics = effects.iter().filter(|effect| effect.metric != DIGEST);
    let depending: Vec<(&str, Spread)> =
        metrics.clone().filter_map(|effect| Some((effect.metric.as_str(), effect.spread?))).collect();
    if depending.is_empty() {
        let _ = writeln!(text, "\n{} (tie seeds {seeds})", nothing_depends(effects));
        return;
    }
    let _ = writeln!(text, "\nmetrics that depend on the order of simultaneous events (tie seeds {seeds})");
    let number = |at: fn(f64, f64) -> f64| {
        depending
            .iter()
            .map(|(metric, spread)| match spread {
                // Each row has a unit of its own.
                Spread::Numbers { least, greatest, .. } => {
                    crate::figure::figure(shown(metric).1, at(*least, *greatest))
                }
                Spread::Other => "–".to_owned(),
            })
            .collect()
    };
    let relative = |(_, spread): &(&str, Spread)| match spread {
        Spread::Numbers { relative: Some(relative), .. } => percent(*relative),
        _ => "–".to_owned(),
    };
    let columns = [
        Column::of("metric", Unit::Count, &names(&depending)),
        Column::of_texts("least", number(|least, _| least)),
        Column::of_texts("greatest", number(|_, greatest| greatest)),
        Column::of_texts("relative spread", depending.iter().map(relative).collect()),
    ];
    draw(text, &columns, width, 0, "`--json`");
    let same = metrics.count() - depending.len();
    let _ = writeln!(text, "{same} other metrics are the same with each tie seed");
}

/// Returns a sentence without a full stop, if no metric depends on the order of simultaneous events.
pub(crate) fn nothing_depends(effects: &[Effect]) -> &'static str {
    match effects.iter().find(|effect| effect.metric == DIGEST) {
        None => "no metric depends on the order of simultaneous events; without digests, histories are not compared",
        Some(Effect { spread: Some(_), .. }) => {
            "no metric depends on the order of simultaneous events, but the digests differ"
        }
        Some(_) => "nothing depends on the order of simultaneous events: the digests are equal",
    }
}

fn names(depending: &[(&str, Spread)]) -> Vec<Entry> {
    depending.iter().map(|(metric, _)| Entry::Text(shown(metric).0)).collect()
}

/// Returns the name of a metric in words, and its unit. That of a column of a table is at its end:
/// `flows.delay_mean_s`.
fn shown(metric: &str) -> (String, Unit) {
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
