//! `rollback_check`: the sequential engine, except that every event is executed, undone, and executed again.
//!
//! *Idea.* An engine that rolls back trusts the model to restore its state. This engine checks that trust,
//! one event at a time and in one thread. The result is that of `sequential`, or the error
//! [`ErrorKind::NotRestored`] at the first event after which the state is not restored exactly.
//!
//! *Protocol.* For each event:
//!
//! 1. Clone the LP.
//! 2. Execute the event so that it can be undone.
//! 3. Undo the execution, and compare the LP with the clone.
//! 4. Execute the event by the plain handler. Compare the LP and its effects with those of step 2.
//! 5. Commit the execution of step 4.
//!
//! *Cost.* For each event, two handlers, one undo and two clones of the LP.
//!
//! *References.* The sequential rollback check of ROSS: C. Carothers, D. Bauer and S. Pearce, *ROSS: A
//! high-performance, low-memory, modular Time Warp system*, Journal of Parallel and Distributed Computing
//! 62, 2002.

mod difference;

use crate::sequential::{Step, Through, run_by};
use difference::difference as first_difference;
use parades_core::any_model::{
    AnyChecked, AnyModel, CheckedLps, Difference, Lps, NotRestored, Packed, Taggable, hide_body, in_form, with_model,
};
use parades_core::effects::{Effects, OtherEffects};
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Body, Event};
use parades_core::lp::Execution;
use parades_core::outbox::Outbox;
use parades_core::pending::WindowedPending;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::world::World;
use std::fmt::Debug;

/// Runs `model` event by event, and checks that each execution can be undone.
///
/// # Errors
///
/// The errors of `sequential`. Also [`ErrorKind::NotRestored`] with the difference, at the LP and the event.
pub fn run<M: Restorable<State: Clone + PartialEq + Debug>>(
    model: &M,
    options: RunOptions<'_>,
) -> Result<Outcome, Error> {
    with_model(model, options, |model, options| run_any(model, options))
}

fn run_any<'k>(model: &'k dyn AnyChecked<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
    fn run_in<'k, P: Packed<'k>>(model: &'k dyn AnyChecked<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
        let first = Effects::undoable(Outbox::buffered());
        let twice = Twice { model, lps: model.new_checked_lps(), first };
        run_by::<P, Through<WindowedPending<P>>, _>(model, options, twice)
    }
    in_form!(model.form(), run_in(model, options))
}

/// Executes each event, undoes the execution, and executes the event again.
struct Twice<'k, P: Taggable> {
    model: &'k dyn AnyModel<'k>,
    lps: Box<dyn CheckedLps<'k> + 'k>,
    /// The effects of the first execution.
    first: Effects<P>,
}

impl<'k, P: Packed<'k>> Step<'k, P> for Twice<'k, P> {
    fn lps(&self) -> &(dyn Lps<'k> + 'k) {
        &*self.lps
    }

    fn lps_mut(&mut self) -> &mut (dyn Lps<'k> + 'k) {
        &mut *self.lps
    }

    fn execute(&mut self, event: &Event<P>, world: &World, effects: &mut Effects<P>) -> Result<Execution, Error> {
        let place = Place { instant: event.instant(), lp: Some(event.receiver()), event: Some(event.key()) };
        let not_restored = |what| Error::at(ErrorKind::NotRestored(what), place);
        self.first.outbox.buffer.clear();
        self.first.others.clear();
        let (index, body) = (event.receiver().index(), hide_body(&event.body));
        let execution = self
            .lps
            .execute_twice(index, event.header_ref(), body, world, self.first.hide(), effects.hide())
            .map_err(|why| not_restored(sentence(why)))?;
        same_effects(self.model, &self.first, effects)
            .map_err(|what| not_restored(format!("executing the event once more led to {what}")))?;
        Ok(execution)
    }
}

/// Says why an execution is not undone.
fn sentence(why: NotRestored) -> String {
    let of = |part| match part {
        Difference::State { expected, found } => format!("the state {}", first_difference(&expected, &found)),
        Difference::Kernel => "another random stream, count of sends, digest or set of timers".into(),
    };
    match why {
        NotRestored::Panicked(why) => format!("undoing the event panicked: {why}"),
        NotRestored::Undone(part) => format!("undoing the event left {}", of(part)),
        NotRestored::Repeated(part) => format!("executing the event once more led to {}", of(part)),
    }
}

/// Checks that two executions of an event had equal effects. The error describes the difference.
fn same_effects<'k, P: Packed<'k>>(
    model: &'k dyn AnyModel<'k>,
    first: &Effects<P>,
    second: &Effects<P>,
) -> Result<(), String> {
    let count = |effects: &Effects<P>| effects.outbox.buffer.len();
    if count(first) != count(second) {
        return Err(format!("{} sends instead of {}", count(second), count(first)));
    }
    for (expected, found) in first.outbox.buffer.iter().zip(&second.outbox.buffer) {
        let of = |event: &Event<P>| (event.key(), event.receiver(), digest(model, &event.body));
        if of(expected) != of(found) {
            let [expected, found] = [expected, found].map(|event| text(model, event));
            return Err(format!("the send {}", first_difference(&expected, &found)));
        }
    }
    same_others(&first.others, &second.others)
}

/// Checks that two executions of an event had equal effects other than sends.
fn same_others(first: &OtherEffects, second: &OtherEffects) -> Result<(), String> {
    let same = |what: &str, expected: String, found: String| match expected == found {
        true => Ok(()),
        false => Err(format!("the {what} {}", first_difference(&expected, &found))),
    };
    if first.samples != second.samples {
        return same("metrics", format!("{:?}", first.samples), format!("{:?}", second.samples));
    }
    if first.notes != second.notes {
        return same("notes", format!("{:?}", first.notes), format!("{:?}", second.notes));
    }
    if first.failure != second.failure {
        return same("failure", format!("{:?}", first.failure), format!("{:?}", second.failure));
    }
    // The model's global events may not be comparable. But all can be formatted.
    if first.requests.is_empty() && second.requests.is_empty() {
        return Ok(());
    }
    same("requests", format!("{:?}", first.requests), format!("{:?}", second.requests))
}

/// Returns a number that identifies a body: the timer's id, or a digest of the message.
fn digest<'k, P: Packed<'k>>(model: &'k dyn AnyModel<'k>, body: &Body<P>) -> (Option<u32>, u64) {
    match body {
        Body::Message(message) => (None, model.digest(message.as_message())),
        Body::Timer(id) => (Some(id.0), 0),
    }
}

/// Returns the text of an event for debugging.
fn text<'k, P: Packed<'k>>(model: &'k dyn AnyModel<'k>, event: &Event<P>) -> String {
    let mut text = String::new();
    match &event.body {
        Body::Timer(timer) => text = format!("{:?}", event.header().with(Body::<()>::Timer(*timer))),
        Body::Message(message) => model.show(message.as_message(), &mut |message| {
            text = format!("{:?}", event.header().with(Body::Message(message)));
        }),
    }
    text
}
