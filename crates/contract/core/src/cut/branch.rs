//! Branches: runs that go on from a cut in another way than the run that was saved.
//!
//! The model of a branch has other values of some parameters than the model that made the cut. A state is
//! written without what its model knows, so the handlers read the new values from the cut on. Three things
//! remain:
//!
//! - What a state has planned by the old values for times after the cut: [`SaveModel::branch`].
//! - Messages in transit, whose times may be part of such a plan.
//! - The random streams. A branch with a seed of its own draws new ones ([`Rng::afresh`]); without one it
//!   goes on with those of the cut.

use super::{AtRest, Cut, Span, Whole};
use crate::any_model::{AnyEvent, AnySave};
use crate::error::Error;
use crate::event::{EventKey, Header, LpId};
use crate::run::RunOptions;
use crate::time::{Instant, Time};
use crate::world::{World, shuffled_tie};

#[cfg(doc)]
use crate::{any_model::SaveModel, random::Rng};

/// The differences of a branch from its saved run, beside the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// The seed of new random streams. `None` if the streams of the cut go on.
    pub seed: Option<u64>,
    /// The seed of the run that shuffles simultaneous events, if it does so.
    pub tie_seed: Option<u64>,
    /// True if the metrics of handlers begin again at the cut.
    pub fresh_metrics: bool,
}

/// A message that is on its way at a cut.
#[derive(Clone, Copy, Debug)]
pub struct InTransit<'a, T> {
    /// The LP to which it goes.
    pub receiver: LpId,
    /// The message.
    pub message: &'a T,
    /// The time at which it arrives.
    pub arrival: Time,
}

impl Branch {
    /// Returns the event with another arrival, which is at the cut or later.
    pub(crate) fn move_to<'k>(&self, event: AnyEvent<'k>, arrival: Time) -> AnyEvent<'k> {
        if event.time() == arrival {
            return event;
        }
        let (header, body) = event.into_parts();
        let (key, receiver) = (header.key(), header.receiver());
        // A message that was sent before the cut is no answer to anything at its new time.
        let instant = Instant::at(arrival);
        let tie = self.tie_seed.map_or(0, |seed| shuffled_tie(seed, instant, receiver, key.sender));
        Header::new(EventKey { instant, tie, ..key }, receiver).with(body)
    }
}

impl<'k> Cut<'k> {
    /// Makes the cut that of a branch, whose model is `model`.
    ///
    /// # Errors
    ///
    /// The reason why a state cannot go on under this model, as a sentence.
    pub fn branch(&mut self, model: &'k dyn AnySave<'k>, branch: &Branch) -> Result<(), String> {
        if branch.fresh_metrics {
            model.can_measure_afresh()?;
            self.metrics = model.metrics();
        }
        let mut messages = std::mem::take(&mut self.messages);
        messages.sort_unstable_by_key(|event| (event.sender(), event.key().sequence));
        let mut messages = messages.into_iter().peekable();
        self.lps.put_down(0);
        // Those of global events come first.
        while let Some(event) = messages.next_if(|event| event.sender().as_lp().is_none()) {
            self.messages.push(event);
        }
        let mut changed = Ok(());
        for id in (0..model.lps()).map(LpId) {
            let mut sent = Vec::new();
            while let Some(event) = messages.next_if(|event| event.sender().as_lp() == Some(id)) {
                sent.push(event);
            }
            changed = changed.and_then(|()| model.branch_lp(id, self.time, branch, &mut sent));
            self.messages.append(&mut sent);
        }
        self.messages.extend(messages);
        self.messages.sort_unstable();
        self.lps.pick_up(0);
        changed
    }

    /// Calls `act` with the run at rest at this cut.
    ///
    /// # Errors
    ///
    /// As [`World::of_span`].
    pub fn at_rest<T>(self, save: &'k dyn AnySave<'k>, act: impl FnOnce(&mut AtRest<'_, 'k>) -> T) -> Result<T, Error> {
        let options = RunOptions::until(self.time);
        let mut span = Span { from: Some(Box::new(self)), save: Some(save), ..Span::from(options) };
        let world = World::of_span(save, &span)?;
        let Cut { time, events, injected, globals, metrics, lps, messages, .. } =
            &mut **span.from.as_mut().expect("the span begins at this cut");
        let mut resting = Whole { lps: &mut **lps, events: messages };
        Ok(act(&mut AtRest {
            time: *time,
            events: *events,
            injected,
            model: save,
            globals,
            world: &world,
            save: Some(save),
            metrics,
            resting: &mut resting,
        }))
    }
}
