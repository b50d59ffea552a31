//! Every send is checked against the declarations of the model. An error names sender, receiver, time and
//! cause.

use super::answers::{error_of, run_until};
use crate::engines::support::script::{Script, ps};
use parades_core::error::ErrorKind;
use parades_core::prelude::*;

/// Makes a model of two LPs. The first gets a message at 10 ps, and then calls `send`.
fn sending(channels: Channels, send: impl Fn(&mut Context<'_, Script>) + Sync + 'static) -> Script {
    let start = |ctx: &mut Context<'_, Script>| {
        if ctx.id() == LpId(0) {
            ctx.send_self(ps(10), 1);
        }
    };
    let on_message = move |_: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        if let Body::Message(1) = event {
            send(ctx);
        }
    };
    Script { channels, ..Script::new(2, start, on_message) }
}

/// Returns one channel from LP 0 to LP 1, with a lookahead of 7 ps.
fn pair() -> Channels {
    let mut channels = Channels::none();
    channels.connect(LpId(0), LpId(1), ps(7));
    channels
}

fn by_sender() -> Channels {
    let mut channels = Channels::none();
    channels.to_anyone(LpId(0), ps(7));
    channels
}

/// Returns channels to anyone, with a longer lookahead to LP 1, which is in another group.
fn by_group() -> Channels {
    let mut channels = Channels::whole(ps(3));
    [0, 1].into_iter().for_each(|lp| channels.to_other_groups(LpId(lp), lp, ps(7)));
    channels
}

/// A function that sends to LP 1, by port or by name.
type Send = fn(&mut Context<'_, Script>, Delay);

#[test]
fn a_delay_below_the_lookahead_names_sender_receiver_time_and_both_delays() {
    let named: (u32, Send) = (line!(), |ctx, delay| ctx.send_to(LpId(1), delay, 0));
    let by_port: (u32, Send) = (line!(), |ctx, delay| ctx.send(Port(0), delay, 0));
    for (channels, (line, send)) in
        [(pair(), by_port), (by_sender(), named), (Channels::whole(ps(7)), named), (by_group(), named)]
    {
        let error = error_of(&sending(channels.clone(), move |ctx| send(ctx, ps(6))));
        assert_eq!(
            error.to_string(),
            format!(
                "LP 0 at 0.00000000001s, executing the event from LP 0 #0: it sent to LP 1 with delay 0.000000000006s, below the \
                 declared lookahead of 0.000000000007s ({}:{line}); declare the channel with a shorter least delay, or send later",
                file!()
            )
        );
        let (_, trace) = run_until(&sending(channels, move |ctx| send(ctx, ps(7))), 100);
        assert_eq!(trace[1..], ["0.000000000017s LP 1 <- LP 0 #1 0"], "the lookahead itself is allowed");
    }
}

#[test]
fn within_a_group_the_lookahead_to_anyone_is_enough() {
    let mut channels = Channels::whole(ps(3));
    [0, 1].into_iter().for_each(|lp| channels.to_other_groups(LpId(lp), 5, ps(7)));
    let (_, trace) = run_until(&sending(channels.clone(), |ctx| ctx.send_to(LpId(1), ps(3), 0)), 100);
    assert_eq!(trace[1..], ["0.000000000013s LP 1 <- LP 0 #1 0"]);
    let error = error_of(&sending(channels, |ctx| ctx.send_to(LpId(1), ps(2), 0)));
    assert!(error.to_string().contains("below the declared lookahead of 0.000000000003s"), "{error}");
}

#[test]
fn a_misuse_names_its_line_and_a_failure_that_the_model_declares_does_not() {
    type Misuse = fn(&mut Context<'_, Script>);
    let misuses: [(u32, Misuse); 5] = [
        (line!(), |ctx| ctx.send_to(LpId(2), ps(7), 0)),
        (line!(), |ctx| ctx.send(Port(9), ps(7), 0)),
        (line!(), |ctx| ctx.set_timer(TimerId(u32::MAX), ps(7))),
        (line!(), |ctx| ctx.request_stop()),
        (line!(), |ctx| ctx.request(crate::engines::support::script::Numbered(0))),
    ];
    for (line, misuse) in misuses {
        let error = error_of(&sending(pair(), misuse));
        assert_eq!(error.line(), Some(format!("{}:{line}", file!()).as_str()), "{error}");
    }
    let error = error_of(&sending(pair(), |ctx| ctx.fail("nobody is left")));
    assert_eq!(error.line(), None, "{error}");
}

#[test]
fn sends_to_the_lp_itself_and_timers_need_no_channel() {
    let model = sending(pair(), |ctx| {
        ctx.send_self(Delay::ZERO, 0);
        ctx.send_to(LpId(0), Delay::ZERO, 0);
        ctx.set_timer(TimerId(0), Delay::ZERO);
    });
    assert_eq!(run_until(&model, 100).0.events, 4);
}

fn no_channel(model: &Script) -> String {
    let error = error_of(model);
    let ErrorKind::NoChannel(what) = error.kind() else { panic!("another error: {error}") };
    what.clone()
}

#[test]
fn a_send_without_a_channel_is_refused() {
    let what = no_channel(&sending(pair(), |ctx| ctx.send_to(LpId(1), ps(9), 0)));
    assert_eq!(what, "it sent to LP 1 without naming a channel, and declares none to anyone");
    let what = no_channel(&sending(pair(), |ctx| ctx.send(Port(1), ps(9), 0)));
    assert_eq!(what, "it sent through its port 1, which it does not declare");
    let what = no_channel(&sending(Channels::undeclared(), |ctx| ctx.send_to(LpId(2), ps(9), 0)));
    assert_eq!(what, "it sent to LP 2, but there are only 2 LPs");
}

#[test]
fn a_start_up_event_goes_only_to_its_sender() {
    let mut model = sending(Channels::undeclared(), |_| {});
    model.start = Box::new(|ctx| ctx.send_to(LpId(1 - ctx.id().0), ps(1), 0));
    let (line, error) = (line!() - 1, error_of(&model));
    assert_eq!(
        error.to_string(),
        format!(
            "LP 0 at 0s, starting up: it sent to LP 1 while starting up, when an LP may send only to itself ({}:{line}); \
             correct the model, or its parameters",
            file!()
        )
    );
}

#[test]
fn a_visit_sends_to_no_other_lp() {
    let mut model = sending(Channels::undeclared(), |_| {});
    model.globals = vec![(3, 0)];
    model.visit = Box::new(|_, _, ctx| ctx.send_to(LpId(1), ps(1), 0));
    assert_eq!(no_channel(&model), "it sent to LP 1 while visited by a global event, which alone may send then");
}

#[test]
fn an_event_past_the_end_of_virtual_time_never_happens() {
    let too_long = Delay::from_ps(u64::MAX - 9);
    for until in [u64::MAX - 1, u64::MAX] {
        let events = |model: &Script| run_until(model, until).0.events;
        assert_eq!(events(&sending(Channels::undeclared(), move |ctx| ctx.send_self(too_long, 0))), 1);
        assert_eq!(events(&sending(pair(), |ctx| ctx.send(Port(0), Delay::MAX, 0))), 1);
        // The timer is set: it can be asked for and set again.
        let timer = |ctx: &mut Context<'_, Script>| {
            ctx.set_timer(TimerId(0), Delay::MAX);
            assert!(ctx.is_timer_set(TimerId(0)));
            ctx.set_timer(TimerId(0), ps(5));
        };
        assert_eq!(events(&sending(Channels::undeclared(), timer)), 2);
        let mut model = sending(Channels::undeclared(), |_| {});
        model.globals = vec![(0, 0)];
        model.act = Box::new(|_, _, ctx| {
            ctx.send(LpId(0), Delay::MAX, 0);
            ctx.schedule(Delay::MAX, crate::engines::support::script::Numbered(0));
        });
        let outcome = run_until(&model, until).0;
        assert_eq!((outcome.events, outcome.global_events), (1, 1));
    }
    // A picosecond less is within virtual time.
    let model = sending(Channels::undeclared(), |ctx| ctx.send_self(ps(u64::MAX - 11), 0));
    assert_eq!(run_until(&model, u64::MAX).0.events, 2);
}
