//! `rollback_check` gives the result of `sequential`, and names the event at which a model does not restore
//! its state.

use parades_core::error::{Error, ErrorKind};
use parades_core::prelude::*;
use parades_engine::{rollback_check, sequential};

/// The fault of the model.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    Nothing,
    /// The undo does not restore one of two fields, at every other event.
    State,
    /// The undoable handler sends another message than the plain handler.
    Sends,
    /// The undoable handler records another metric.
    Metrics,
    /// The undo leaves a record in the log.
    Log,
    /// The handler depends on a variable that is not part of the state.
    Hidden,
}

/// Three LPs in a ring. Every event draws a random number, counts, sets a timer, and sends to the next LP.
struct Ring(Wrong, std::sync::atomic::AtomicU64);

#[derive(Clone, Debug, PartialEq)]
struct State {
    events: u64,
    drawn: u64,
}

impl Ring {
    fn act(&self, state: &mut State, event: Body<&u64>, ctx: &mut Context<'_, Self>, undoable: bool) {
        state.events += 1;
        state.drawn = ctx.rng().below(1000);
        ctx.count(MetricId(0), if undoable && self.0 == Wrong::Metrics { 2 } else { 1 });
        let Body::Message(message) = event else { return };
        let extra = match self.0 {
            Wrong::Sends => u64::from(undoable),
            Wrong::Hidden => self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            _ => 0,
        };
        ctx.note(|| format!("drew {}", state.drawn));
        ctx.set_timer(TimerId(0), Delay::from_ps(state.drawn));
        ctx.send_to(LpId((ctx.id().0 + 1) % 3), Delay::from_ps(500), message + extra + state.drawn);
    }
}

impl Model for Ring {
    type State = State;
    type Message = u64;
    type Global = NoGlobal;
    fn lps(&self) -> u32 {
        3
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.counter("events", Unit::Count);
        metrics
    }
    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        ctx.send_self(Delay::ZERO, 0);
        State { events: 0, drawn: 0 }
    }
    fn handle(&self, state: &mut State, event: Body<&u64>, ctx: &mut Context<'_, Self>) {
        self.act(state, event, ctx, false);
    }
    fn fold(&self, state: &State, digest: &mut Digest) {
        digest.word(state.events);
        digest.word(state.drawn);
    }
}

impl Restorable for Ring {
    type Undo = u64;
    fn handle_undoable(
        &self,
        state: &mut State,
        event: Body<&u64>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<u64>,
    ) {
        log.push(state.drawn);
        self.act(state, event, ctx, true);
    }
    fn undo(&self, state: &mut State, _: Body<&u64>, log: &mut UndoLog<u64>) {
        let forgets = self.0 == Wrong::State && state.events.is_multiple_of(2);
        state.events -= 1;
        let drawn = log.pop().expect("the handler left what was drawn");
        if !forgets {
            state.drawn = drawn;
        }
        if self.0 == Wrong::Log {
            log.push(drawn);
        }
    }
}

fn check(wrong: Wrong) -> Result<Outcome, Error> {
    rollback_check::run(&Ring(wrong, 0.into()), RunOptions::until(Time::from_ps(20_000)))
}

#[test]
fn a_model_that_restores_its_state_gives_the_result_of_sequential() {
    let expected =
        sequential::run(&Ring(Wrong::Nothing, 0.into()), RunOptions::until(Time::from_ps(20_000))).expect("no failure");
    let found = check(Wrong::Nothing).expect("nothing is wrong");
    assert!(expected.events > 120, "the timers count too: {}", expected.events);
    assert_eq!(expected.lp_digests, found.lp_digests);
    assert_eq!((expected.digest, expected.events, expected.end), (found.digest, found.events, found.end));
    assert_eq!(expected.metrics, found.metrics);
}

/// Runs the check. Returns the message of the error, and its time in picoseconds.
fn sentence(wrong: Wrong) -> (String, u64) {
    let error = check(wrong).expect_err("the check finds it");
    let place = error.place().expect("it is in an event");
    assert!(place.lp.is_some() && place.event.is_some());
    match error.kind() {
        ErrorKind::NotRestored(what) => (what.clone(), place.instant.time.as_ps()),
        other => panic!("another error: {other:?}"),
    }
}

#[test]
fn a_field_that_the_undo_forgets_is_shown_at_its_event() {
    let (what, time) = sentence(Wrong::State);
    assert!(time > 0, "the first event, at 0, is undone well");
    assert!(what.starts_with("undoing the event left the state State { events: 1, drawn: "), "{what}");
}

#[test]
fn a_handler_that_does_not_repeat_itself_is_found() {
    assert!(sentence(Wrong::Sends).0.starts_with("executing the event once more led to the send Event"));
    assert!(sentence(Wrong::Metrics).0.starts_with("executing the event once more led to the metrics"));
    assert!(sentence(Wrong::Hidden).0.starts_with("executing the event once more led to the send Event"));
}

#[test]
fn an_undo_that_panics_is_an_error_of_the_run() {
    assert!(sentence(Wrong::Log).0.starts_with("undoing the event panicked: the model's undo leaves its log empty"));
}
