//! The log of rounds has every round.

use super::{at_ms, busy};
use parades_core::prelude::*;
use parades_core::round_log::{Round, RoundLog};
use parades_engine::rounds::{Settings, Threshold, run};
use std::io;

#[test]
fn each_round_is_logged_with_its_events_and_programs() {
    for threads in [1, 2] {
        for from in [2, 60, 1000] {
            let settings = Settings { threshold: Threshold::Fixed(from), ..Settings::of_threads(threads) };
            let mut rounds: Vec<Round> = Vec::new();
            let log = RoundLog::new(|round| {
                rounds.push(*round);
                Ok(())
            });
            let options = RunOptions { rounds: Some(log), ..RunOptions::until(at_ms(30)) };
            let outcome = run(&busy(100), options, &settings).expect("no failure");
            assert_eq!(rounds.len(), 29 * 4);
            assert_eq!(rounds.iter().map(|round| round.events).sum::<u64>(), outcome.events);
            for (id, round) in (0..).zip(&rounds) {
                assert_eq!(round.id, id);
                assert_eq!(round.parallel, threads == 2 && round.events >= from, "{round:?}");
                assert!((1..=round.events).contains(&round.programs), "{round:?}");
                // At the beginning of each millisecond, each LP has one event.
                assert!(round.instant.round > 0 || round.programs == 100 && round.events == 100, "{round:?}");
            }
            assert!(rounds.is_sorted_by_key(|round| round.instant));
            assert!(rounds.iter().any(|round| round.programs < round.events), "some LP has two events at once");
        }
    }
}

#[test]
fn a_log_that_cannot_be_written_ends_the_run() {
    for threads in [1, 2] {
        let settings = Settings { threshold: Threshold::Fixed(2), ..Settings::of_threads(threads) };
        let log = RoundLog::new(|round| if round.id < 5 { Ok(()) } else { Err(io::Error::other("the disk is full")) });
        let options = RunOptions { rounds: Some(log), ..RunOptions::until(at_ms(30)) };
        let failed = run(&busy(100), options, &settings).expect_err("nothing can be written");
        assert!(failed.to_string().contains("the disk is full"), "{failed}");
    }
}
