//! A comparison as a table.

use super::ComparisonReport;
use crate::drawing::{Column, Entry, draw};
use parades_config::shortened_to;
use parades_core::metrics::Unit;
use parades_session::FinishedRun;
use std::fmt::Write;

impl ComparisonReport<'_> {
    /// Returns the runs as a table, with lines of at most `width` characters.
    pub fn for_people(&self, width: usize) -> String {
        let runs = &self.compared.runs;
        let has_ties = self.tie_seeds().len() > 1;
        let speed = |run: &FinishedRun| run.outcome.events as f64 / run.run_wall.as_secs_f64();
        let speedup = |run: &FinishedRun| {
            let factor = self.compared.reference(run).run_wall.as_secs_f64() / run.run_wall.as_secs_f64();
            Entry::Text(if factor < 0.01 { format!("{factor:.1e}") } else { format!("{factor:.2}") })
        };
        let result =
            |run: &FinishedRun| if run.has_result_of(self.compared.reference(run)) { "same" } else { "DIFFERENT" };
        let column = |name: &str, unit, entry: &dyn Fn(&FinishedRun) -> Entry| {
            Column::of(name, unit, &runs.iter().map(entry).collect::<Vec<_>>())
        };
        let mut columns = vec![
            column("engine", Unit::Count, &|run| Entry::Text(run.choice.engine.to_string())),
            column("threads", Unit::Count, &|run| Entry::Whole(run.choice.threads.into())),
            column("events", Unit::Count, &|run| Entry::Whole(run.outcome.events.into())),
            column("run time", Unit::Seconds, &|run| Entry::Number(run.run_wall.as_secs_f64())),
            column("speed", Unit::PerSecond, &|run| Entry::Number(speed(run))),
            column("against the first", Unit::Count, &speedup),
            column("result", Unit::Count, &|run| Entry::Text(result(run).into())),
        ];
        if runs.iter().any(|run| run.choice.processes > 1) {
            columns.insert(1, column("processes", Unit::Count, &|run| Entry::Whole(run.choice.processes.into())));
        }
        if has_ties {
            let seed = |run: &FinishedRun| run.plan.tie_seed.map_or_else(String::new, |seed| seed.to_string());
            columns.insert(0, Column::of_texts("tie seed", runs.iter().map(seed).collect()));
        }
        let are_same = self.are_same();
        if has_ties || !are_same {
            columns.push(column("digest", Unit::Count, &|run| Entry::Text(digest(run))));
        }
        let mut text = format!("{}\n", shortened_to(width - 1, &self.first().plan.title()));
        draw(&mut text, &columns, width, 0, "`--json`");
        if are_same && !has_ties {
            let _ = writeln!(text, "digest {}", digest(self.first()));
        }
        if has_ties {
            self.ties().draw(&mut text, &self.tie_seeds(), &[], width);
        }
        text
    }
}

/// Returns the digest of a run as text.
pub(super) fn digest(run: &FinishedRun) -> String {
    run.outcome.digest.map_or_else(String::new, |digest| format!("{digest:016x}"))
}
