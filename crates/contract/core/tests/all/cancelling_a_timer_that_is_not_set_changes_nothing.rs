//! The changes of timers that a handler leaves for an engine that rolls back.

#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use parades_core::effects::Effects;
use parades_core::event::{Event, EventKey, Sender};
use parades_core::lp::{Execution, Lp};
use parades_core::outbox::Outbox;
use parades_core::prelude::*;
use parades_core::run::RunOptions;
use parades_core::time::{Instant, Time};
use parades_core::world::World;

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
    let world = World::new(&Timed, &RunOptions::until(Time::from_ps(100))).unwrap();
    let mut effects = Effects::undoable(Outbox::buffered());
    let mut lp = Lp::start(&Timed, &world, LpId(0), &mut effects).unwrap();
    for (sequence, sets, changes) in [(0, false, 0), (1, true, 2)] {
        let instant = Instant::at(Time::from_ps(10 + sequence));
        let key = EventKey { instant, tie: 0, sender: Sender::lp(LpId(0)), sequence };
        let (header, body) = Event::new(key, LpId(0), Body::Message(sets)).into_parts();
        assert_eq!(lp.execute(&Timed, &world, (header, body.as_ref()), &mut effects), Execution::Done);
        assert_eq!(effects.timer_changes.as_mut().unwrap().drain(..).count(), changes);
    }
}
