//! An LP executes its events in the order of their keys, whatever the order in which they were sent.

use super::answers::{run, run_until};
use crate::engines::support::script::{Script, ps};
use parades_core::prelude::*;
use std::collections::BTreeSet;

/// Makes a model in which LPs 1 to 4 each send two messages to LP 0, for 10 ps. LP 4 sends first.
fn crowd() -> Script {
    let start = |ctx: &mut Context<'_, Script>| ctx.send_self(ps(5 - u64::from(ctx.id().0)), 0);
    Script::new(5, start, |state, _, ctx| {
        *state = *state * 31 + ctx.sender().map_or(0, |sender| u64::from(sender.rank()));
        if ctx.id() == LpId(0) || ctx.now() >= Time::from_ps(10) {
            return;
        }
        let delay = ps(10 - ctx.now().as_ps());
        ctx.send_to(LpId(0), delay, 1);
        ctx.send_to(LpId(0), delay, 2);
    })
}

#[test]
fn events_of_one_instant_come_by_sender_and_then_by_sequence() {
    let (_, trace) = run_until(&crowd(), 11);
    let at_10: Vec<&str> = trace.iter().filter_map(|line| line.strip_prefix("0.00000000001s LP 0 <- ")).collect();
    let expected =
        ["LP 1 #1 1", "LP 1 #2 2", "LP 2 #1 1", "LP 2 #2 2", "LP 3 #1 1", "LP 3 #2 2", "LP 4 #1 1", "LP 4 #2 2"];
    assert_eq!(at_10, expected);
}

#[test]
fn a_tie_seed_shuffles_senders_and_keeps_the_order_of_each_sender() {
    let mut orders = BTreeSet::new();
    let mut digests = BTreeSet::new();
    for seed in 0..40 {
        let (result, trace) =
            run(&crowd(), || RunOptions { tie_seed: Some(seed), ..RunOptions::until(Time::from_ps(11)) });
        let at_10 = trace.iter().filter_map(|line| line.strip_prefix("0.00000000001s LP 0 <- LP "));
        let at_10: Vec<String> = at_10.map(String::from).collect();
        assert_eq!(at_10.len(), 8);
        for pair in at_10.chunks(2) {
            assert_eq!(pair[0][..1], pair[1][..1], "one sender's events stay together: {at_10:?}");
            assert!(pair[0].ends_with("#1 1") && pair[1].ends_with("#2 2"), "and in order: {at_10:?}");
        }
        orders.insert(at_10);
        digests.insert(result.expect("no failure").digest);
    }
    // There are 24 orders. 40 draws miss a few of them.
    assert!(orders.len() >= 15, "only {} orders", orders.len());
    assert_eq!(digests.len(), orders.len(), "an order is a history");
}

#[test]
fn a_tie_seed_shuffles_differently_at_each_time_round_and_receiver() {
    // At each of eight times, in two rounds, LPs 1 and 2 send to LPs 0 and 3. The sender of the first event
    // must not be the same at all times. Nor may it always be the same in both rounds, or at both receivers.
    let start = |ctx: &mut Context<'_, Script>| {
        if ctx.id() == LpId(1) || ctx.id() == LpId(2) {
            (0..8).for_each(|i| ctx.send_self(ps(10 * i), 1));
        }
    };
    let model = Script::new(4, start, |_, event, ctx| {
        if let Body::Message(1) = event {
            [LpId(0), LpId(3)].into_iter().for_each(|receiver| ctx.send_to(receiver, Delay::ZERO, 0));
            ctx.send_self(Delay::ZERO, 2);
        } else if let Body::Message(2) = event {
            [LpId(0), LpId(3)].into_iter().for_each(|receiver| ctx.send_to(receiver, Delay::ZERO, 0));
        }
    });
    let (_, trace) = run(&model, || RunOptions { tie_seed: Some(5), ..RunOptions::until(Time::MAX) });
    let first = |time: u64, round: u32, receiver: u32| {
        let instant = Instant { time: Time::from_ps(time), round };
        let head = format!("{instant} LP {receiver} <- ");
        let line = trace.iter().find(|line| line.starts_with(&head)).expect("it received");
        line.contains("<- LP 1 ")
    };
    let times: BTreeSet<bool> = (0..8).map(|i| first(10 * i, 1, 0)).collect();
    assert_eq!(times.len(), 2, "time counts");
    assert!((0..8).any(|i| first(10 * i, 1, 0) != first(10 * i, 2, 0)), "the round counts");
    assert!((0..8).any(|i| first(10 * i, 1, 0) != first(10 * i, 1, 3)), "the receiver counts");
}

#[test]
fn a_delay_of_zero_is_the_next_round_and_a_later_time_is_round_zero_again() {
    let start = |ctx: &mut Context<'_, Script>| ctx.send_self(ps(3), 3);
    let model = Script::new(1, start, |_, event, ctx| {
        let Body::Message(left @ 1..) = event.copied() else { return };
        ctx.send_self(Delay::ZERO, left - 1);
        ctx.send_self(ps(1), 0);
    });
    let (_, trace) = run_until(&model, 100);
    let at = |text: &str| format!("0.00000000000{text}");
    let expected = [
        "3s LP 0 <- LP 0 #0 3",
        "3s round 1 LP 0 <- LP 0 #1 2",
        "3s round 2 LP 0 <- LP 0 #3 1",
        "3s round 3 LP 0 <- LP 0 #5 0",
        "4s LP 0 <- LP 0 #2 0",
        "4s LP 0 <- LP 0 #4 0",
        "4s LP 0 <- LP 0 #6 0",
    ];
    assert_eq!(trace, expected.map(at));
}

#[test]
fn a_start_up_event_comes_from_its_receiver_and_may_arrive_at_time_zero() {
    let model = Script::new(
        2,
        |ctx| ctx.send_self(Delay::ZERO, 7),
        |_, _, ctx| {
            assert_eq!(ctx.sender(), Some(Sender::lp(ctx.id())));
            assert_eq!(ctx.instant(), Instant::START);
        },
    );
    assert_eq!(run_until(&model, 1).1, ["0s LP 0 <- LP 0 #0 7", "0s LP 1 <- LP 1 #0 7"]);
}

#[test]
fn events_sent_by_a_global_event_come_first_at_its_instant() {
    let mut model = Script::new(2, |ctx| ctx.send_self(ps(4), 1), |_, _, _| {});
    model.globals = vec![(4, 0), (4, 1)];
    model.act = Box::new(|number, _, ctx| ctx.send(LpId(1), Delay::ZERO, 10 + number));
    let (_, trace) = run_until(&model, 5);
    let at = |text: &str| format!("0.000000000004s {text}");
    // The global events themselves have the numbers 0 and 1.
    let expected = ["LP 0 <- LP 0 #0 1", "LP 1 <- GLOBAL #2 10", "LP 1 <- GLOBAL #3 11", "LP 1 <- LP 1 #0 1"];
    assert_eq!(trace, expected.map(at));
}

#[test]
fn a_tie_seed_shuffles_events_of_global_events_among_the_others() {
    let mut model = Script::new(1, |ctx| ctx.send_self(ps(4), 1), |_, _, _| {});
    model.globals = vec![(4, 0)];
    model.act = Box::new(|_, _, ctx| ctx.send(LpId(0), Delay::ZERO, 2));
    let first = |seed| {
        let options = || RunOptions { tie_seed: Some(seed), ..RunOptions::until(Time::from_ps(5)) };
        run(&model, options).1[0].contains("GLOBAL")
    };
    let orders: BTreeSet<bool> = (0..20).map(first).collect();
    assert_eq!(orders.len(), 2);
}

#[test]
fn each_lp_draws_from_the_stream_of_the_seed_and_its_id() {
    let start = |ctx: &mut Context<'_, Script>| {
        let drawn = ctx.rng().below(1000);
        ctx.send_self(ps(1), drawn);
    };
    let model = Script::new(3, start, |_, event, ctx| {
        if ctx.now() == Time::from_ps(1) {
            let Body::Message(drawn) = event else { return };
            let next = ctx.rng().below(1000);
            ctx.send_self(ps(1), 1000 * drawn + next);
        }
    });
    let (_, trace) = run(&model, || RunOptions { seed: 5, ..RunOptions::until(Time::MAX) });
    for id in 0..3 {
        let rng = Rng::stream(5, id);
        let drawn = 1000 * rng.below(1000) + rng.below(1000);
        let line = format!("0.000000000002s LP {id} <- LP {id} #1 {drawn}");
        assert!(trace.contains(&line), "{line} is not among {trace:?}");
    }
}

#[test]
fn notes_come_below_their_event_in_the_order_written() {
    let start = |ctx: &mut Context<'_, Script>| {
        ctx.note(|| "of the start-up, which is no event".into());
        ctx.send_self(ps(1), 0);
    };
    let model = Script::new(2, start, |_, _, ctx| {
        (1..=3).for_each(|i| ctx.note(|| format!("note {i}")));
    });
    let (_, trace) = run_until(&model, 2);
    let at = |lp: u32| format!("0.000000000001s LP {lp} <- LP {lp} #0 0");
    let notes = [1, 2, 3].map(|i| format!("  | note {i}"));
    let expected: Vec<String> = [vec![at(0)], notes.to_vec(), vec![at(1)], notes.to_vec()].concat();
    assert_eq!(trace, expected);
}

#[test]
fn notes_are_not_made_unless_they_are_wanted() {
    let start = |ctx: &mut Context<'_, Script>| ctx.send_self(ps(1), 0);
    let model = Script::new(1, start, |_, _, ctx| ctx.note(|| panic!("nobody asked")));
    assert!(parades_engine::sequential::run(&model, RunOptions::until(Time::MAX)).is_ok());
}
