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
    AnyChecked, AnyModel, CheckedLps, Difference, Lps, MessageRef, NotRestored, Packed, Taggable, hide_body, in_form,
    with_model,
};
use parades_core::cut::Reached;
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

/// Does the same as [`run`], for a model of any type.
///
/// # Errors
///
/// As [`run`].
pub fn run_any<'k>(model: &'k dyn AnyChecked<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
    fn run_in<'k, P: Packed<'k>>(model: &'k dyn AnyChecked<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
        let first = Effects::undoable(Outbox::buffered());
        let twice = Twice { model, lps: model.new_checked_lps(), first };
        run_by::<P, Through<WindowedPending<P>>, _>(model, options.into(), twice).map(Reached::end)
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
        self.first.outbox.buffer.clear();
        self.first.others.clear();
        let event = hide_message(event);
        let not_restored = |what| {
            let place = Place { instant: event.instant(), lp: Some(event.receiver()), event: Some(event.key()) };
            Error::at(ErrorKind::NotRestored(what), place)
        };
        let execution = self
            .lps
            .execute_twice(
                event.receiver().index(),
                event.header_ref(),
                event.body,
                world,
                self.first.hide(),
                effects.hide(),
            )
            .map_err(|why| not_restored(sentence(why)))?;
        same_sends(self.model, &sends(&self.first), &sends(effects))
            .and_then(|()| same_others(&self.first.others, &effects.others))
            .map_err(|what| not_restored(format!("executing the event once more led to {what}")))?;
        Ok(execution)
    }
}

/// An event with the message by reference.
type Shown<'a, 'k> = Event<MessageRef<'a, 'k>>;

/// Returns an event with the message by reference.
fn hide_message<'a, 'k, P: Packed<'k>>(event: &'a Event<P>) -> Shown<'a, 'k> {
    event.header().with(hide_body(&event.body))
}

/// Returns the events that an execution sent.
fn sends<'a, 'k, P: Packed<'k>>(effects: &'a Effects<P>) -> Vec<Shown<'a, 'k>> {
    effects.outbox.buffer.iter().map(hide_message).collect()
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

/// Checks that two executions of an event sent the same. The error describes the difference.
fn same_sends<'k>(
    model: &'k dyn AnyModel<'k>,
    first: &[Shown<'_, 'k>],
    second: &[Shown<'_, 'k>],
) -> Result<(), String> {
    if first.len() != second.len() {
        return Err(format!("{} sends instead of {}", second.len(), first.len()));
    }
    let of = |event: &Shown<'_, 'k>| (event.key(), event.receiver(), digest(model, event.body));
    match first.iter().zip(second).find(|(expected, found)| of(expected) != of(found)) {
        Some((expected, found)) => {
            Err(format!("the send {}", first_difference(&text(model, expected), &text(model, found))))
        }
        None => Ok(()),
    }
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
fn digest<'k>(model: &'k dyn AnyModel<'k>, body: Body<MessageRef<'_, 'k>>) -> (Option<u32>, u64) {
    match body {
        Body::Message(message) => (None, model.digest(message)),
        Body::Timer(id) => (Some(id.0), 0),
    }
}

/// Returns the text of an event for debugging.
fn text<'k>(model: &'k dyn AnyModel<'k>, event: &Shown<'_, 'k>) -> String {
    let mut text = String::new();
    match event.body {
        Body::Timer(timer) => text = format!("{:?}", event.header().with(Body::<()>::Timer(timer))),
        Body::Message(message) => model.show(message, &mut |message| {
            text = format!("{:?}", event.header().with(Body::Message(message)));
        }),
    }
    text
}
