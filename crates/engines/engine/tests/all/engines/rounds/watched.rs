//! An observer sees every round.

use super::{at_ms, busy};
use parades_core::prelude::*;
use parades_engine::rounds::{Settings, Threshold, run_watched};

#[test]
fn each_round_is_shown_with_its_events() {
    for threads in [1, 2] {
        for from in [2, 60, 1000] {
            let settings = Settings { threshold: Threshold::Fixed(from), ..Settings::of_threads(threads) };
            let (mut rounds, mut events, mut parallel) = (0, 0, 0);
            let mut watch = |round: parades_engine::rounds::Round| {
                rounds += 1;
                events += round.events;
                parallel += u64::from(round.parallel);
                assert!(threads == 2 && round.parallel == (round.events >= from) || threads == 1 && !round.parallel);
            };
            let options = RunOptions::until(at_ms(30));
            let outcome = run_watched(&busy(100), options, &settings, Some(&mut watch)).expect("no failure");
            assert_eq!((rounds, events), (29 * 4, outcome.events));
            assert_eq!(parallel, if threads == 2 && from <= 100 { 29 * 4 } else { 0 });
        }
    }
}
