//! Models without lookahead.

use crate::engines::support::script::{Script, ps};
use parades_core::prelude::*;

/// Makes a model of LPs that count their events. Any LP may send to any other without delay. Each begins
/// with an event to itself.
pub(crate) fn mesh(
    lps: u32,
    handle: impl Fn(&mut u64, Body<&u64>, &mut Context<'_, Script>) + Sync + 'static,
) -> Script {
    let start = |ctx: &mut Context<'_, Script>| {
        let delay = ps(ctx.rng().below(100));
        ctx.send_self(delay, 0);
    };
    let counted = move |state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        *state += 1;
        handle(state, event, ctx);
    };
    let mut model = Script::new(lps, start, counted);
    model.visit = Box::new(|state, number, _| {
        let Body::Message(&number) = number else { return };
        *state = state.wrapping_mul(3).wrapping_add(number);
    });
    model
}

/// Makes a model in which every event sends another, to a random LP.
pub(crate) fn all_to_all(lps: u32) -> Script {
    mesh(lps, |_, event, ctx| wander(event, ctx))
}

/// Sends one event to a random LP: one in four without delay, the others with less than 200 ps.
pub(crate) fn wander(event: Body<&u64>, ctx: &mut Context<'_, Script>) {
    let Body::Message(hops) = event.copied() else { return };
    let lps = u64::from(ctx.lps());
    let to = ctx.rng().below(lps);
    let delay = if ctx.rng().below(4) == 0 { 0 } else { ctx.rng().below(200) };
    ctx.send_to(lp(to), ps(delay), hops + 1);
}

pub(crate) fn lp(id: u64) -> LpId {
    LpId(u32::try_from(id).expect("an id of an LP"))
}

/// Returns a time in picoseconds.
pub(crate) fn at(ps: u64) -> Time {
    Time::from_ps(ps)
}
