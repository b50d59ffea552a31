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
use difference::difference;
use parades_core::digest::{Digest, Payload};
use parades_core::effects::Effects;
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Body, Event, Header};
use parades_core::lp::{Execution, Lp};
use parades_core::outbox::Outbox;
use parades_core::pending::WindowedPending;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::world::World;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `model` event by event, and checks that each execution can be undone.
///
/// # Errors
///
/// The errors of `sequential`. Also [`ErrorKind::NotRestored`] with the difference, at the LP and the event.
pub fn run<M: Restorable<State: Clone + PartialEq + Debug>>(
    model: &M,
    options: RunOptions<'_>,
) -> Result<Outcome, Error> {
    run_by::<M, Through<WindowedPending<M::Message>>, _>(
        model,
        options,
        Twice { first: Effects::undoable(Outbox::buffered()) },
    )
}

/// Executes each event, undoes the execution, and executes the event again.
struct Twice<M: Restorable> {
    /// The effects of the first execution.
    first: Effects<M>,
}

impl<M: Restorable<State: Clone + PartialEq + Debug>> Step<M> for Twice<M> {
    fn execute(
        &mut self,
        lp: &mut Lp<M::State>,
        (model, world): (&M, &World),
        (header, body): (Header, Body<&M::Message>),
        effects: &mut Effects<M>,
    ) -> Result<Execution, Error> {
        let place = Place { instant: header.instant(), lp: Some(header.receiver()), event: Some(header.key()) };
        let not_restored = |what| Error::at(ErrorKind::NotRestored(what), place);
        let before = lp.clone();
        self.first.outbox.buffer.clear();
        self.first.clear_beyond_sends();
        let (execution, undo) = lp.execute_undoable(model, world, (header, body), &mut self.first);
        let after = lp.clone();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| lp.undo(model, body, undo))) {
            let why = ErrorKind::of_panic(panic.as_ref());
            let ErrorKind::Panic(why) = why else { unreachable!("a panic is a panic") };
            return Err(not_restored(format!("undoing the event panicked: {why}")));
        }
        same_lp(&before, lp).map_err(|what| not_restored(format!("undoing the event left {what}")))?;
        let again = lp.execute(model, world, (header, body), effects);
        same_lp(&after, lp)
            .and_then(|()| same_effects(&self.first, effects))
            .map_err(|what| not_restored(format!("executing the event once more led to {what}")))?;
        assert!(again == execution, "whether a timer is due depends on the kernel's state, which is the same");
        Ok(again)
    }
}

/// Checks that two LPs are equal. The error describes the difference.
fn same_lp<S: PartialEq + Debug>(expected: &Lp<S>, found: &Lp<S>) -> Result<(), String> {
    if expected.state() != found.state() {
        let [expected, found] = [expected, found].map(|lp| format!("{:?}", lp.state()));
        return Err(format!("the state {}", difference(&expected, &found)));
    }
    if !expected.has_same_kernel(found) {
        return Err("another random stream, count of sends, digest or set of timers".into());
    }
    Ok(())
}

/// Checks that two executions of an event had equal effects. The error describes the difference.
fn same_effects<M: Restorable>(first: &Effects<M>, second: &Effects<M>) -> Result<(), String> {
    let count = |effects: &Effects<M>| effects.outbox.buffer.len();
    if count(first) != count(second) {
        return Err(format!("{} sends instead of {}", count(second), count(first)));
    }
    for (expected, found) in first.outbox.buffer.iter().zip(&second.outbox.buffer) {
        let of = |event: &Event<M::Message>| (event.key(), event.receiver(), digest(event.body.as_ref()));
        if of(expected) != of(found) {
            let [expected, found] = [expected, found].map(|event| format!("{event:?}"));
            return Err(format!("the send {}", difference(&expected, &found)));
        }
    }
    let same = |what: &str, expected: String, found: String| match expected == found {
        true => Ok(()),
        false => Err(format!("the {what} {}", difference(&expected, &found))),
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
fn digest<P: Payload>(body: Body<&P>) -> (Option<u32>, u64) {
    let mut digest = Digest::default();
    match body {
        Body::Message(message) => message.fold(&mut digest),
        Body::Timer(id) => return (Some(id.0), 0),
    }
    (None, digest.value())
}
