//! The profile of a run: where its wall time went, as a table and as JSON.
//!
//! The times are those of all workers of all processes, and add up to the run time of each. First come the
//! handlers, by kind of LP; then the time outside of handlers.

use crate::drawing::{Column, Entry, draw_whole};
use crate::figure::figure;
use parades_core::metrics::Unit;
use parades_core::profile::HandlerTime;
use parades_core::timesheet::{Slice, Spent, Timesheets};
use serde_json::{Value, json};
use std::fmt::Write;

/// The profile of a run.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The number of workers, in all processes, that have had a thread.
    workers: usize,
    /// The sum of their run times, in nanoseconds.
    wall_ns: f64,
    /// The handlers that executed events, the longest first.
    handlers: Vec<HandlerTime>,
    /// The uses of the time outside of handlers, in nanoseconds.
    outside: Vec<(&'static str, f64)>,
}

impl Profile {
    /// Returns the profile that a run has left in these timesheets; `None` if it has measured no handlers.
    pub fn of(timesheets: &Timesheets) -> Option<Profile> {
        let mut handlers = timesheets.handlers()?.read();
        let ranks = timesheets.ranks();
        let workers: Vec<&Vec<Slice>> = ranks.iter().flatten().filter(|slices| !slices.is_empty()).collect();
        let slices = || workers.iter().flat_map(|slices| slices.iter());
        let spent = |what: Spent| slices().map(|slice| slice.times[what as usize]).sum::<u64>() as f64;
        let sum = |of: fn(&HandlerTime) -> f64| handlers.iter().map(of).sum::<f64>();
        let (in_handlers, undoing) = (sum(|row| row.work.ns), sum(|row| row.work.undo_ns));
        let engine = (spent(Spent::Executing) - in_handlers - undoing).max(0.0);
        let mut outside = vec![("engine", engine), ("undoing", undoing)];
        let others = Spent::ALL.into_iter().filter(|&what| what != Spent::Executing);
        outside.extend(others.map(|what| (what.name(), spent(what))));
        outside.retain(|&(what, ns)| what == "engine" || ns > 0.0);
        handlers.retain(|row| row.work.events + row.work.rolled_back > 0);
        handlers.sort_by(|a, b| b.work.ns.total_cmp(&a.work.ns));
        let wall_ns = slices().map(Slice::length_ns).sum::<u64>() as f64;
        (wall_ns > 0.0).then_some(Profile { workers: workers.len(), wall_ns, handlers, outside })
    }

    fn share(&self, ns: f64) -> f64 {
        if self.wall_ns > 0.0 { ns / self.wall_ns } else { 0.0 }
    }

    /// Returns the profile as the field `profile` of the JSON object of a run.
    pub(crate) fn as_json(&self) -> Value {
        let handler = |HandlerTime { kind, timers, work }: &HandlerTime| {
            json!({
                "kind": kind, "given": given(*timers), "events": work.events, "rolled_back": work.rolled_back,
                "repeated": work.repeated, "s": work.ns / 1e9, "error_s": work.variance.sqrt() / 1e9,
                "share": self.share(work.ns),
            })
        };
        let outside = |&(what, ns): &(&str, f64)| json!({"what": what, "s": ns / 1e9, "share": self.share(ns)});
        json!({
            "workers": self.workers,
            "wall_s": self.wall_ns / 1e9,
            "handlers": self.handlers.iter().map(handler).collect::<Vec<_>>(),
            "outside": self.outside.iter().map(outside).collect::<Vec<_>>(),
        })
    }

    /// Draws the profile as a table.
    pub(crate) fn draw(&self, text: &mut String, width: usize) {
        let wall = figure(Unit::Seconds, self.wall_ns / 1e9);
        let plural = if self.workers == 1 { "" } else { "s" };
        let _ = writeln!(text, "\nprofile: {wall} of {} worker{plural}", self.workers);
        let names = self.handlers.iter().map(|row| format!("{}: {}s", row.kind, given(row.timers)));
        let names = names.chain(self.outside.iter().map(|(what, _)| (*what).to_owned())).collect();
        let times = self.handlers.iter().map(|row| row.work.ns).chain(self.outside.iter().map(|&(_, ns)| ns));
        let times: Vec<f64> = times.collect();
        let counts = |of: fn(&HandlerTime) -> u64| {
            let counted = self.handlers.iter().map(|row| Entry::Whole(of(row).into()));
            counted.chain(self.outside.iter().map(|_| Entry::Empty)).collect::<Vec<_>>()
        };
        let seconds: Vec<Entry> = times.iter().map(|ns| Entry::Number(ns / 1e9)).collect();
        let shares = times.iter().map(|&ns| format!("{:.1} %", 100.0 * self.share(ns))).collect();
        let mut columns =
            vec![Column::of_texts("", names), Column::of("events", Unit::Count, &counts(|row| row.work.events))];
        if self.handlers.iter().any(|row| row.work.rolled_back > 0) {
            columns.push(Column::of("rolled back", Unit::Count, &counts(|row| row.work.rolled_back)));
        }
        columns.push(Column::of("time", Unit::Seconds, &seconds));
        columns.push(Column::of_texts("share", shares));
        draw_whole(text, &columns, width);
    }
}

/// Returns what a handler is given.
fn given(timers: bool) -> &'static str {
    if timers { "timer" } else { "message" }
}
