//! The changes of engine of a run, for people.

use crate::figure::figure;
use parades_core::metrics::Unit;
use parades_core::run::EngineChange;

/// Returns a line on the changes of engine that `auto` made, if it made any.
pub fn line_on_changes(changes: &[EngineChange]) -> Option<String> {
    let then = |change: &EngineChange| {
        let time = figure(Unit::Seconds, change.time.as_secs_f64());
        format!(", then {} at {time}: {:.1} times as fast", change.to, change.times_as_fast)
    };
    let engines: String = changes.iter().map(then).collect();
    changes.first().map(|first| format!("engine: auto: {}{engines}", first.from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::time::Time;

    #[test]
    fn a_line_has_each_engine_with_its_time_and_its_gain() {
        let change = |ms, from, to, times_as_fast| EngineChange { time: Time::from_ms(ms), from, to, times_as_fast };
        let first = change(12_300, "window", "null-message", 1.4321);
        let line = "engine: auto: window, then null-message at 12.3 s: 1.4 times as fast";
        assert_eq!(line_on_changes(&[first]).as_deref(), Some(line));
        let both = [first, change(60_000, "null-message", "sequential", 2.0)];
        assert_eq!(line_on_changes(&both), Some(format!("{line}, then sequential at 60 s: 2.0 times as fast")));
        assert_eq!(line_on_changes(&[]), None);
    }
}
