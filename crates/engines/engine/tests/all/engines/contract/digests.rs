//! Equal digests mean equal histories. A difference in one event, in a state or in the order of LPs changes
//! the digest.

use super::answers::run_until;
use crate::engines::support::script::{Script, ps};
use parades_core::prelude::*;
use parades_engine::sequential;
use std::collections::BTreeSet;

/// Makes a model of two LPs. For each, `of` is the time and the content of its message.
fn described(of: [(u64, u64); 2]) -> Script {
    Script::new(
        2,
        move |ctx| {
            let (at, message) = of[ctx.id().index()];
            ctx.send_self(ps(at), message);
        },
        |_, _, _| {},
    )
}

fn digest(model: &Script) -> u64 {
    run_until(model, 1000).0.digest.expect("it is on by default")
}

#[test]
fn time_payload_and_receiver_change_the_digest() {
    let descriptions =
        [[(5, 7), (6, 8)], [(5, 7), (6, 9)], [(5, 7), (7, 8)], [(6, 8), (5, 7)], [(5, 8), (6, 7)], [(6, 7), (5, 8)]];
    let digests: BTreeSet<u64> = descriptions.iter().map(|of| digest(&described(*of))).collect();
    assert_eq!(digests.len(), descriptions.len());
}

#[test]
fn final_states_and_counts_of_sends_change_the_digest() {
    let plain = digest(&described([(5, 7), (6, 8)]));
    let mut model = described([(5, 7), (6, 8)]);
    model.handle = Box::new(|state, _, _| *state = 1);
    let with_state = digest(&model);
    // A send that arrives after the end still counts.
    model.handle = Box::new(|_, _, ctx| ctx.send_self(ps(10_000), 0));
    let with_send = digest(&model);
    // The sender changes the digest: LP 1 gets the same words at the same time from itself, or from LP 0.
    let sent_by = |sender: u32| {
        let start = move |ctx: &mut Context<'_, Script>| {
            if ctx.id() == LpId(sender) {
                ctx.send_self(ps(1), 1);
            }
        };
        digest(&Script::new(2, start, |_, event, ctx| {
            if let Body::Message(1) = event {
                ctx.send_to(LpId(1), ps(1), 0);
            }
        }))
    };
    let all = BTreeSet::from([plain, with_state, with_send, sent_by(0), sent_by(1)]);
    assert_eq!(all.len(), 5);
}

#[test]
fn the_runs_digest_is_that_of_the_lps_in_the_order_of_ids_and_can_be_switched_off() {
    let model = described([(5, 7), (6, 8)]);
    let (outcome, _) = run_until(&model, 1000);
    let mut combined = Digest::default();
    outcome.lp_digests.iter().for_each(|&digest| combined.word(digest));
    assert_eq!((outcome.lp_digests.len(), outcome.digest), (2, Some(combined.value())));
    let off = sequential::run(&model, RunOptions { digest: false, ..RunOptions::until(Time::from_ps(1000)) });
    let off = off.expect("no failure");
    assert_eq!((off.digest, off.lp_digests.len(), off.events), (None, 0, outcome.events));
}

#[test]
fn global_events_change_the_digest() {
    let at = |globals: Vec<(u64, u64)>| digest(&Script { globals, ..described([(5, 7), (6, 8)]) });
    let digests = BTreeSet::from([at(vec![]), at(vec![(0, 0)]), at(vec![(3, 0)]), at(vec![(3, 0), (3, 0)])]);
    assert_eq!(digests.len(), 4);
}
