//! The profile of a run: the events and the wall time of the handlers of each kind of LP. No result depends
//! on it.
//!
//! The model names the kind of an LP ([`Model::lp_kind`](crate::model::Model::lp_kind)). Messages and timers
//! are told apart. Engines measure some of the executions, which count for all of them, and count all events.

use crate::any_model::AnyModel;
use crate::event::LpId;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The most kinds of LPs that a profile tells apart. Further ones are counted together.
const KINDS_MAX: usize = u8::MAX as usize;

/// The name of the kinds beyond [`KINDS_MAX`].
const FURTHER: &str = "further kinds";

/// The handlers of a kind of LP, for messages or for timers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HandlerTime {
    /// The kind of the LPs.
    pub kind: String,
    /// True for the timers of these LPs, false for their messages.
    pub timers: bool,
    /// The work of these handlers.
    pub work: Work,
}

/// Executions of handlers, and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The number of events that were executed and kept.
    pub events: u64,
    /// The number of executions that were rolled back.
    pub rolled_back: u64,
    /// The number of executions that were repeated, to restore a state (coasting forward).
    pub repeated: u64,
    /// The time of all executions in nanoseconds: those that were rolled back too, and not the repeated ones.
    /// It includes the sends of the handlers and the digest, and no time in which the thread had no core.
    pub ns: f64,
    /// The variance of `ns`, as an estimate: 0 if all executions were timed.
    pub variance: f64,
    /// The time of undoing and repeating executions, in nanoseconds.
    pub undo_ns: f64,
}

impl Work {
    /// Adds other work.
    pub fn add(&mut self, other: &Work) {
        self.events += other.events;
        self.rolled_back += other.rolled_back;
        self.repeated += other.repeated;
        self.ns += other.ns;
        self.variance += other.variance;
        self.undo_ns += other.undo_ns;
    }
}

/// The kinds of the LPs of a model.
#[derive(Debug)]
pub struct Kinds {
    names: Vec<String>,
    /// By LP: the index of its kind. Empty if all LPs are of one kind.
    of: Vec<u8>,
}

impl Kinds {
    fn of(model: &dyn AnyModel<'_>) -> Kinds {
        let mut names: Vec<String> = Vec::new();
        let mut index_of = |lp: u32| {
            let kind = model.lp_kind(LpId(lp));
            let index = names.iter().position(|name| *name == kind).unwrap_or_else(|| {
                let is_full = names.len() >= KINDS_MAX;
                if names.len() <= KINDS_MAX {
                    names.push(if is_full { FURTHER.to_owned() } else { kind });
                }
                names.len() - 1
            });
            u8::try_from(index).unwrap_or(u8::MAX)
        };
        let of: Vec<u8> = (0..model.lps()).map(&mut index_of).collect();
        let of = if names.len() > 1 { of } else { Vec::new() };
        Kinds { names, of }
    }

    /// Returns the number of rows: two for each kind.
    pub fn rows(&self) -> usize {
        2 * self.names.len()
    }

    /// Returns the row of an event for an LP: of its messages, or of its timers.
    #[inline]
    pub fn row(&self, lp: LpId, is_timer: bool) -> usize {
        2 * self.of.get(lp.index()).map_or(0, |&kind| usize::from(kind)) + usize::from(is_timer)
    }
}

/// The times of the handlers of a process, and at the end of a run those of all its processes.
#[derive(Debug, Default)]
pub struct Handlers {
    kinds: OnceLock<Kinds>,
    /// By row.
    work: Mutex<Vec<Work>>,
}

impl Handlers {
    /// Returns the kinds of LPs. The first call asks the model for them.
    pub fn kinds(&self, model: &dyn AnyModel<'_>) -> &Kinds {
        self.kinds.get_or_init(|| Kinds::of(model))
    }

    /// Returns the row of an event, after [`Handlers::kinds`].
    ///
    /// # Panics
    ///
    /// If the kinds are not known yet.
    #[inline]
    pub fn row(&self, lp: LpId, is_timer: bool) -> usize {
        self.kinds.get().expect("the engine has asked for the kinds").row(lp, is_timer)
    }

    /// Adds work, by row.
    pub fn add(&self, rows: impl Iterator<Item = Work>) {
        let mut all = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        for (row, work) in rows.enumerate() {
            if all.len() <= row {
                all.resize(row + 1, Work::default());
            }
            all[row].add(&work);
        }
    }

    /// Adds the work of other ranks, which have the same model.
    pub fn add_others(&self, others: &[Vec<HandlerTime>]) {
        others.iter().for_each(|rows| self.add(rows.iter().map(|row| row.work)));
    }

    /// Returns the times of all handlers: by kind, messages before timers. The list is empty if no engine has
    /// measured them.
    pub fn read(&self) -> Vec<HandlerTime> {
        let all = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let names = self.kinds.get().into_iter().flat_map(|kinds| &kinds.names);
        let rows = names.flat_map(|kind| [false, true].map(|timers| (kind.clone(), timers)));
        let work = all.iter().copied().chain(std::iter::repeat(Work::default()));
        rows.zip(work).map(|((kind, timers), work)| HandlerTime { kind, timers, work }).collect()
    }
}

/// Returns the name of a type, as [`std::any::type_name`] writes it, without its path and its parameters. It
/// is the name of a model or a program that gives none.
///
/// ```
/// use parades_core::profile::short_name;
/// assert_eq!(short_name("parades_models::phold::Phold<parades_models::phold::Plain>"), "Phold");
/// ```
pub fn short_name(name: &str) -> &str {
    let name = name.split('<').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::any_model::with_model;
    use crate::prelude::*;

    /// A model with this number of LPs, each of a kind of its own if there are `kinds`.
    struct Many {
        lps: u32,
        kinds: u32,
    }

    impl Model for Many {
        type State = ();
        type Message = ();
        type Global = NoGlobal;
        fn lps(&self) -> u32 {
            self.lps
        }
        fn start(&self, _: &mut Context<'_, Self>) {}
        fn handle(&self, (): &mut (), _: Body<&()>, _: &mut Context<'_, Self>) {}
        fn lp_kind(&self, lp: LpId) -> String {
            if self.kinds > 1 { format!("kind {}", lp.0 % self.kinds) } else { "node".to_owned() }
        }
    }

    fn handlers_of(lps: u32, kinds: u32) -> Handlers {
        let handlers = Handlers::default();
        with_model(&Many { lps, kinds }, RunOptions::until(Time::ZERO), |model, _| {
            handlers.kinds(model);
        });
        handlers
    }

    #[test]
    fn each_kind_has_a_row_for_messages_and_one_for_timers() {
        let handlers = handlers_of(10, 3);
        let work = |events| Work { events, ..Work::default() };
        let (of_4, of_5) = (handlers.row(LpId(4), false), handlers.row(LpId(5), true));
        let rows = |row| (0..=row).map(move |at| work(u64::from(at == row)));
        handlers.add(rows(of_4));
        handlers.add(rows(of_5));
        let read = handlers.read();
        assert_eq!(read.len(), 6);
        let worked: Vec<_> =
            read.iter().filter(|row| row.work.events > 0).map(|row| (&*row.kind, row.timers)).collect();
        assert_eq!(worked, [("kind 1", false), ("kind 2", true)]);
        handlers.add_others(&[read.clone(), read]);
        assert_eq!(handlers.read().iter().map(|row| row.work.events).sum::<u64>(), 6);
    }

    #[test]
    fn very_many_kinds_are_counted_together() {
        let handlers = handlers_of(1000, 1000);
        let read = handlers.read();
        assert_eq!(read.len(), 2 * (KINDS_MAX + 1));
        assert_eq!((&*read[0].kind, &*read[2 * KINDS_MAX].kind), ("kind 0", FURTHER));
        assert_eq!(handlers.row(LpId(999), false), 2 * KINDS_MAX);
        assert_eq!(handlers.row(LpId(7), true), 15);
        assert_eq!(handlers_of(1000, 1).row(LpId(999), true), 1);
    }
}
