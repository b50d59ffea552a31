//! Timers that are set, reset and cancelled by executions that are rolled back.

use super::compare::assert_alike;
use super::mesh::{at, lp, mesh};
use crate::engines::support::script::{Script, ps};
use parades_core::prelude::*;

const TIMERS: u64 = 3;

/// Makes a model in which each event changes the timers and sends at random.
fn timed(lps: u32) -> Script {
    mesh(lps, move |state, event, ctx| {
        *state = state.wrapping_mul(5).wrapping_add(u64::from(matches!(event, Body::Timer(_))));
        for number in 0..TIMERS {
            let timer = TimerId(u32::try_from(number).expect("few"));
            match ctx.rng().below(8) {
                // The new time is mostly later than the current setting. Then the pending wake comes too
                // early.
                0 | 1 => {
                    let delay = ps(50 + ctx.rng().below(100));
                    ctx.set_timer(timer, delay);
                }
                2 => {
                    let delay = ps(ctx.rng().below(20));
                    ctx.set_timer(timer, delay);
                }
                // Then the pending wake has no effect.
                3 => ctx.cancel_timer(timer),
                // This timer is never set, so nothing is stored for it, although it has the greatest id.
                4 => ctx.cancel_timer(TimerId::MAX),
                _ => {}
            }
        }
        if let Body::Message(hops) = event.copied() {
            let to = lp(ctx.rng().below(u64::from(lps)));
            let delay = ps(ctx.rng().below(60));
            ctx.send_to(to, delay, hops + 1);
        }
    })
}

#[test]
fn timers_are_restored_and_their_wakes_annihilated() {
    let rolled = assert_alike(&timed(32), at(1_500));
    assert!(rolled.rollbacks > 0 && rolled.anti_messages > 0, "{rolled:?}");
}

/// A message to cancel the timer.
const CANCEL: u64 = 1 << 40;

#[test]
fn timers_that_messages_reset_and_cancel_fire_if_no_message_comes() {
    let model = mesh(16, |_, event, ctx| {
        let to = lp(ctx.rng().below(16));
        let delay = ps(ctx.rng().below(80));
        match event.copied() {
            Body::Message(CANCEL) => ctx.cancel_timer(TimerId(0)),
            Body::Message(hops) => {
                ctx.set_timer(TimerId(0), ps(90));
                ctx.send_to(to, delay, hops + 1);
            }
            Body::Timer(_) => ctx.send_to(to, Delay::ZERO, CANCEL),
        }
    });
    let rolled = assert_alike(&model, at(1_500));
    assert!(rolled.rollbacks > 0, "{rolled:?}");
}
