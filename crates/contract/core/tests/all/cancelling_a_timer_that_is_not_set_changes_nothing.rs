//! The changes of timers that a handler leaves for an engine that rolls back.

#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use parades_core::any_model::execute_alone;
use parades_core::effects::OtherEffects;
use parades_core::event::EventKey;
use parades_core::prelude::*;

/// A model of one LP, which sets its timer if the message says so, and then cancels it.
struct Timed;

impl Model for Timed {
    type State = ();
    type Message = bool;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        1
    }

    fn channels(&self) -> Channels {
        Channels::none()
    }

    fn start(&self, _: &mut Context<'_, Self>) {}

    fn handle(&self, (): &mut (), event: Body<&bool>, ctx: &mut Context<'_, Self>) {
        if event.copied() == Body::Message(true) {
            ctx.set_timer(TimerId(3), Delay::from_ps(5));
        }
        ctx.cancel_timer(TimerId(3));
        ctx.cancel_timer(TimerId::MAX);
    }
}

#[test]
fn only_timers_that_are_set_leave_changes() {
    let event = |(sequence, sets)| {
        let instant = Instant::at(Time::from_ps(10 + sequence));
        let key = EventKey { instant, tie: 0, sender: Sender::lp(LpId(0)), sequence };
        Event::new(key, LpId(0), Body::Message(sets))
    };
    let undoable = || OtherEffects { timer_changes: Some(Vec::new()), ..OtherEffects::default() };
    let effects = execute_alone(&Timed, LpId(0), [(0, false), (1, true)].map(event).into(), undoable);
    let changes: Vec<_> = effects.iter().map(|effects| effects.timer_changes.as_ref().unwrap().len()).collect();
    assert_eq!(changes, [0, 2]);
}
