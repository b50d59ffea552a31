//! Things in a file that have no effect: each kind is named once to the user, with its first place and count.

use super::{Builder, NewHost};
use crate::platform::Platform;
use parades_config::{Fault, Place, Spot};
use std::collections::BTreeSet;
use std::path::Path;

/// The greatest number of kinds that are named one by one.
const KINDS_MAX: usize = 30;

/// The reason of most kinds.
pub(crate) const NO_EFFECT: &str = "has no effect on flows";

/// The reason of kinds in the plural.
pub(crate) const HAVE_NO_EFFECT: &str = "have no effect on flows";

/// Things of one kind that have no effect.
#[derive(Clone, Debug)]
pub(crate) struct Ignored {
    what: String,
    why: &'static str,
    /// True if it has an effect on computations.
    computes: bool,
    /// The offset of the first one in the file.
    offset: usize,
    count: u64,
}

impl Builder {
    /// Records that the current element, or a part of it, has no effect. `what` is its kind.
    pub(crate) fn ignore(&mut self, what: &str, why: &'static str) {
        let kinds = &mut self.platform.ignored;
        if let Some(known) = kinds.iter_mut().find(|known| known.what == what && known.why == why) {
            known.count += 1;
            return;
        }
        if kinds.len() < KINDS_MAX {
            return kinds.push(Ignored { what: what.to_owned(), why, computes: false, offset: self.offset, count: 1 });
        }
        let last = kinds.last_mut().expect("there are as many as the constant says");
        "what is of more kinds".clone_into(&mut last.what);
        (last.why, last.computes, last.count) = (NO_EFFECT, false, last.count + 1);
    }

    /// Records something that has an effect on computations alone.
    fn ignore_of_computing(&mut self, what: &str, why: &'static str) {
        self.ignore(what, why);
        let recorded = self.platform.ignored.iter_mut().filter(|known| known.what == what);
        recorded.for_each(|known| known.computes = true);
    }

    /// Records a profile of a host's speed.
    pub(crate) fn ignore_speed_profile(&mut self) {
        self.ignore_of_computing("a profile of a host's speed", NO_EFFECT);
    }

    /// Records what a host has for computations alone.
    pub(crate) fn ignore_computing(&mut self, host: &NewHost) {
        if host.cores > 1 {
            self.ignore_of_computing("several cores of a host", HAVE_NO_EFFECT);
        }
        if host.speeds.len() > 1 || host.pstate > 0 {
            self.ignore_of_computing("several speeds of a host", HAVE_NO_EFFECT);
        }
        if host.speed_profile.is_some() {
            self.ignore_speed_profile();
        }
    }

    /// Records the traces that are connected to nothing. `connected` are the names of the others.
    pub(super) fn ignore_traces_except(&mut self, connected: &BTreeSet<String>) {
        let free = self.traces.iter().filter(|(name, _)| !connected.contains(name.as_str()));
        let mut offsets: Vec<usize> = free.map(|(_, &(_, offset))| offset).collect();
        offsets.sort_unstable();
        let last = self.offset;
        for offset in offsets {
            self.offset = offset;
            self.ignore("a <trace>", "is connected to nothing");
        }
        self.offset = last;
    }
}

impl Platform {
    /// Writes the notes on what has no effect, and the error of an unknown model, with places in the file of
    /// this text.
    pub(crate) fn write_notes(mut self, file: &Path, text: &str) -> Platform {
        for Ignored { what, why, computes, offset, count } in &self.ignored {
            let place = Place::Spot(Spot::of(file, text, *offset..*offset));
            let all = if *count > 1 { format!(" ({count} times in the file)") } else { String::new() };
            self.notes.push(format!("{place}: {what} {why}{all}"));
            if !computes {
                let why = why.strip_suffix(" on flows").unwrap_or(why);
                self.notes_of_programs.push(format!("{place}: {what} {why}{all}"));
            }
        }
        if let Some((offset, message)) = self.unknown_model.take() {
            let fault = Fault::new(offset, message, "choose a model by a parameter of the scenario");
            self.model_refusal = Some(fault.within(file, text));
        }
        self
    }
}
