//! Look-ups that are under way at the end of a run.

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
    /// A sentence for the user.
    note: ValueId,
}

impl Ids {
    pub(crate) fn declare(metrics: &mut Metrics) -> Ids {
        Ids { count: metrics.counter("unfinished_look_ups", Unit::Count), note: metrics.value("note", Unit::Count) }
    }

    /// Counts a look-up that is under way. `times` is the metric of the times of look-ups.
    pub(crate) fn add(self, so_far: Delay, times: IntegerId, unfinished: Unfinished, metrics: &mut Metrics) {
        metrics.count(self.count, 1);
        if unfinished == Unfinished::SoFar {
            metrics.observe(times, so_far.as_ps());
        }
    }

    /// Sets the note, if there are unfinished look-ups. `ended` counts the others.
    pub(crate) fn conclude(self, ended: CounterId, unfinished: Unfinished, metrics: &mut Metrics) {
        let counter = |id| metrics.by_id(id).and_then(MetricValue::counter).unwrap_or_default();
        let (count, all) = (counter(self.count), counter(self.count) + counter(ended));
        if count == 0 {
            return;
        }
        let (verb, effect) = match (count, unfinished) {
            (1, Unfinished::LeftOut) => ("is", "it is left out of their times"),
            (_, Unfinished::LeftOut) => ("are", "they are left out of the times"),
            (1, Unfinished::SoFar) => ("is", "its time so far counts, a lower bound"),
            (_, Unfinished::SoFar) => ("are", "their times so far count, lower bounds"),
        };
        metrics.set(self.note, format!("{count} of {all} look-ups {verb} unfinished: {effect}").as_str());
    }
}
