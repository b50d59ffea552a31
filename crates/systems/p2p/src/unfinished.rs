//! Look-ups that are under way at the end of a run, or when their node leaves.

use parades_config::Words;
use parades_core::metrics::{CounterId, IntegerId, MetricValue, Metrics, Unit, ValueId};
use parades_core::time::Delay;

/// The treatment of look-ups that are unfinished at the end of a run, in the distribution of their times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unfinished {
    /// They are left out.
    #[default]
    LeftOut,
    /// Their time so far counts, which is a lower bound.
    SoFar,
}

impl Words for Unfinished {
    const WORDS: &'static [(&'static str, Unfinished)] =
        &[("left-out", Unfinished::LeftOut), ("so-far", Unfinished::SoFar)];
}

/// The metrics of unfinished look-ups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    count: CounterId,
    /// Look-ups whose node left before their end.
    dropped: CounterId,
    /// A sentence for the user.
    note: ValueId,
}

impl Ids {
    pub(crate) fn declare(metrics: &mut Metrics) -> Ids {
        Ids {
            count: metrics.counter("unfinished_look_ups", Unit::Count),
            dropped: metrics.counter("dropped_look_ups", Unit::Count),
            note: metrics.value("note", Unit::Count),
        }
    }

    /// Counts a look-up that is under way. `times` is the metric of the times of look-ups.
    pub(crate) fn add(self, so_far: Delay, times: IntegerId, unfinished: Unfinished, metrics: &mut Metrics) {
        metrics.count(self.count, 1);
        if unfinished == Unfinished::SoFar {
            metrics.observe(times, so_far.as_ps());
        }
    }

    /// Counts look-ups whose node left before their end. They have no time.
    pub(crate) fn add_dropped(self, count: u32, metrics: &mut Metrics) {
        metrics.count(self.dropped, u64::from(count));
    }

    /// Sets the note, if there are look-ups without an end. `ended` counts the others.
    pub(crate) fn conclude(self, ended: CounterId, unfinished: Unfinished, metrics: &mut Metrics) {
        let counter = |id| metrics.by_id(id).and_then(MetricValue::counter).unwrap_or_default();
        let (count, dropped) = (counter(self.count), counter(self.dropped));
        let all = count + dropped + counter(ended);
        let (verb, effect) = match (count, unfinished) {
            (1, Unfinished::LeftOut) => ("is", "it is left out of their times"),
            (_, Unfinished::LeftOut) => ("are", "they are left out of the times"),
            (1, Unfinished::SoFar) => ("is", "its time so far counts, a lower bound"),
            (_, Unfinished::SoFar) => ("are", "their times so far count, lower bounds"),
        };
        let mut sentences = Vec::new();
        if count > 0 {
            sentences.push(format!("{count} of {all} look-ups {verb} unfinished: {effect}"));
        }
        if dropped > 0 {
            sentences
                .push(format!("{dropped} of {all} look-ups were dropped when their nodes left, and have no times"));
        }
        if !sentences.is_empty() {
            metrics.set(self.note, sentences.join("; ").as_str());
        }
    }
}
