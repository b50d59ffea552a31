//! The ends of runs: by failures, by global events, by hand, by lack of memory.

use super::{assert_alike, at_ms, beat, busy, in_order, tick, ways};
use crate::engines::support::script::Script;
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_core::run::Control;
use parades_engine::rounds;
use std::sync::Arc;

#[test]
fn the_earliest_failure_of_a_round_is_the_error() {
    for panics in [false, true] {
        let model = beat(64, move |_, event, ctx| {
            if ctx.id().0 % 8 == 5 && ctx.now() == at_ms(20) && event == Body::Message(&2) {
                if panics {
                    // Unlike `panic!`, this does not call the panic hook, which writes to the terminal.
                    std::panic::resume_unwind(Box::new("it panics on purpose"));
                }
                ctx.fail("it had to");
            }
            tick(event, ctx);
        });
        assert!(in_order(&model, at_ms(50)).is_err());
        assert_alike(&model, at_ms(50));
    }
}

#[test]
fn the_first_lp_that_fails_to_start_is_the_error() {
    let mut model = busy(64);
    model.start = Box::new(|ctx| {
        if ctx.id().0 % 10 == 7 {
            ctx.fail("it does not start");
        }
    });
    assert!(in_order(&model, at_ms(5)).is_err());
    assert_alike(&model, at_ms(5));
}

#[test]
fn a_global_event_sees_a_cut_and_can_end_the_run() {
    let mut model = Script { globals: [0, 7, 7, 12, 30, 40].map(|ms| (at_ms(ms).as_ps(), ms)).to_vec(), ..busy(64) };
    assert_alike(&model, at_ms(35));
    let act = model.act;
    model.act = Box::new(move |number, sum, ctx| {
        act(number, sum, ctx);
        if number == 30 {
            ctx.stop();
        }
    });
    assert_eq!(in_order(&model, at_ms(100)).expect("no failure").end, at_ms(30));
    assert_alike(&model, at_ms(100));
}

#[test]
fn a_run_stopped_by_hand_equals_the_run_until_its_stop() {
    for settings in ways() {
        let control = Arc::new(Control::default());
        let seen = Arc::clone(&control);
        let model = beat(64, move |_, event, ctx| {
            if ctx.id() == LpId(17) && ctx.now() == at_ms(20) {
                seen.stop();
            }
            tick(event, ctx);
        });
        let options = RunOptions { control: Some(&control), ..RunOptions::until(at_ms(1_000_000)) };
        let found = rounds::run(&model, options, &settings).expect("no failure");
        let end = found.stopped_at.expect("it was stopped");
        assert_eq!(end, at_ms(20).checked_add(Delay::from_ps(1)).expect("soon"));
        let expected = in_order(&model, end).expect("no failure");
        assert_eq!((found.digest, found.events), (expected.digest, expected.events), "{settings:?}");
    }
}

#[test]
fn too_little_memory_is_an_error() {
    for settings in ways() {
        let model = beat(64, |_, _, ctx| (0..2).for_each(|_| ctx.send_self(Delay::from_ms(1), 0)));
        let options = RunOptions { memory_limit: Some(1 << 20), ..RunOptions::until(at_ms(1_000)) };
        let error = rounds::run(&model, options, &settings).expect_err("it grows without end");
        assert!(matches!(error.kind(), ErrorKind::Memory { limit: 0x10_0000, .. }), "{error}");
    }
}
