//! The ends of runs: by failures, by global events, by controllers, by hand.

use super::{assert_alike, at_ms, busy, in_order, ms, ring, tick, ways};
use crate::engines::support::script::{Numbered, Script};
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_core::run::Control;
use parades_engine::null_message;
use std::sync::Arc;

/// Makes a model in which LPs of several partitions fail, at different times.
fn failing(panics: bool) -> Script {
    ring(64, move |_, event, ctx| {
        let (id, now) = (ctx.id().0, ctx.now());
        if id % 16 == 5 && now == at_ms(200 - u64::from(id)) {
            assert!(!panics, "a handler that panics");
            ctx.fail("it had to");
        }
        tick(event, ctx);
    })
}

#[test]
fn the_earliest_failure_is_the_error_and_no_partition_waits_for_a_failed_one() {
    for panics in [false, true] {
        let model = failing(panics);
        let error = in_order(&model, at_ms(1000)).expect_err("it fails");
        assert_eq!(error.place().and_then(|place| place.lp), Some(LpId(53)));
        assert_alike(&model, at_ms(1000));
    }
}

#[test]
fn a_global_event_sees_a_cut_and_can_end_the_run() {
    let at = [0, 7, 7, 123, 300, 400].map(|ms| (at_ms(ms).as_ps(), ms));
    let mut model = Script { globals: at.to_vec(), ..busy(64) };
    assert_alike(&model, at_ms(350));
    let act = model.act;
    model.act = Box::new(move |number, sum, ctx| {
        act(number, sum, ctx);
        if number == 300 {
            ctx.stop();
        }
    });
    assert_eq!(in_order(&model, at_ms(1000)).expect("no failure").end, at_ms(300));
    assert_alike(&model, at_ms(1000));
}

/// Makes a model in which LPs 3 and 40 request global events now and then, and LP 40 requests the end.
/// `delay` is the control delay.
fn controlled(delay: Delay) -> Script {
    let model = ring(64, |_, event, ctx| {
        let (id, now) = (ctx.id(), ctx.now());
        if id == LpId(40) && now == at_ms(331) {
            ctx.request_stop();
        } else if (id == LpId(3) || id == LpId(40)) && ctx.rng().below(20) == 0 {
            ctx.request(Numbered(0));
        }
        tick(event, ctx);
    });
    Script { controllers: Controllers { lps: vec![LpId(3), LpId(40)], delay }, ..model }
}

#[test]
fn requests_of_controllers_take_effect_after_the_control_delay() {
    for delay in [Delay::from_ps(1), ms(3), ms(10), ms(25)] {
        let model = controlled(delay);
        let end = at_ms(331).checked_add(delay).expect("soon");
        assert_eq!(in_order(&model, at_ms(1000)).expect("no failure").end, end);
        assert_alike(&model, at_ms(1000));
    }
}

#[test]
fn a_run_stopped_by_hand_equals_the_run_until_its_stop() {
    for settings in ways() {
        let control = Arc::new(Control::default());
        let seen = Arc::clone(&control);
        let model = ring(64, move |_, event, ctx| {
            if ctx.id() == LpId(17) && ctx.now() == at_ms(2_000) {
                seen.stop();
            }
            tick(event, ctx);
        });
        let options = RunOptions { control: Some(&control), ..RunOptions::until(at_ms(1_000_000_000)) };
        let found = null_message::run(&model, options, &settings).expect("no failure");
        let end = found.stopped_at.expect("it was stopped");
        assert!(end > at_ms(2_000) && end < at_ms(1_000_000), "{end} with {settings:?}");
        let expected = in_order(&model, end).expect("no failure");
        assert_eq!((found.digest, found.events), (expected.digest, expected.events), "{settings:?}");
    }
}

#[test]
fn a_run_stopped_before_it_begins_is_an_error() {
    let control = Control::default();
    control.stop();
    for settings in ways() {
        let options = RunOptions { control: Some(&control), ..RunOptions::until(at_ms(10)) };
        let error = null_message::run(&busy(64), options, &settings).expect_err("it was stopped");
        assert_eq!(*error.kind(), ErrorKind::Stopped);
    }
}
