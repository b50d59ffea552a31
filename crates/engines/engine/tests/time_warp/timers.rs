//! Timers that are set, reset and cancelled by executions that are taken back.

use crate::compare::assert_alike;
use crate::mesh::{at, lp, mesh};
use crate::support::script::{Script, ps};
use parades_core::prelude::*;

const TIMERS: u64 = 3;

/// Each event draws what becomes of the timers, and what is sent to whom.
fn timed(lps: u32) -> Script {
    mesh(lps, move |state, event, ctx| {
        *state = state.wrapping_mul(5).wrapping_add(u64::from(matches!(event, Body::Timer(_))));
        for number in 0..TIMERS {
            let timer = TimerId(u32::try_from(number).expect("few"));
            match ctx.rng().below(8) {
                // Later than what is set, mostly: then the wake that is on its way comes too early.
                0 | 1 => {
                    let delay = ps(50 + ctx.rng().below(100));
                    ctx.set_timer(timer, delay);
                }
                2 => {
                    let delay = ps(ctx.rng().below(20));
                    ctx.set_timer(timer, delay);
                }
                // Then it comes for nothing.
                3 => ctx.cancel_timer(timer),
                // Never set, so nothing is kept of it, be it the last that there may be.
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

/// Tells an LP to cancel its timer.
const CANCEL: u64 = 1 << 40;

#[test]
fn timers_that_are_put_off_and_cancelled_by_messages_fire_when_none_comes() {
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
