//! Worker processes: their answers and their ends. No process is left over.

use crate::common::{driven, echoes, shells};
use parades_sweep::{Failed, Outcome, Pool, Schedule};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

/// Sends a request to the first worker, and returns its reply.
fn reply(pool: &Pool, request: &str) -> Result<String, String> {
    pool.ask(0, request.to_owned());
    pool.answer(LONG).expect("it answers within a minute").reply
}

#[test]
fn a_worker_answers_request_after_request() {
    let pool = echoes(1);
    for line in ["one", "two", &"x".repeat(1_000_000)] {
        assert_eq!(reply(&pool, line), Ok(line.to_owned()));
    }
}

#[test]
fn the_end_of_a_worker_is_reported_and_the_worker_is_started_again() {
    let pool = shells(1, "read -r line; case $line in a) echo fine; read -r line;; esac; eval \"$line\"");
    assert_eq!(
        reply(&pool, "echo no progress here >&2; echo error: it was too much >&2; exit 3"),
        Err("its process ended with status 3: it was too much".into())
    );
    assert_eq!(
        reply(&pool, "kill -KILL $$"),
        Err("its process was killed, as the system does where memory runs out".into())
    );
    assert_eq!(reply(&pool, "kill -ABRT $$"), Err("its process was ended by signal 6".into()));
    assert_eq!(
        reply(&pool, "printf half"),
        Err("its process ended with status 0".into()),
        "an incomplete line is no answer"
    );
    assert_eq!(reply(&pool, "a"), Ok("fine".into()));
}

#[test]
fn a_worker_that_writes_much_to_standard_error_is_not_blocked() {
    let pool = shells(1, "read -r line; head -c 3000000 /dev/zero | tr '\\0' x >&2; echo \"$line\"; read -r line");
    assert_eq!(reply(&pool, "done"), Ok("done".into()));
}

#[test]
fn a_program_that_does_not_exist_is_a_failure_of_the_run() {
    let pool = Pool::new(1, || Command::new("/none/such")).expect("there are threads");
    assert!(reply(&pool, "x").unwrap_err().starts_with("its process cannot be started: "));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test checks that the end does not wait for the run")]
fn dropping_a_pool_ends_active_runs() {
    let pool = shells(2, "read -r line; exec sleep 600");
    pool.ask(0, "x".into());
    pool.ask(1, "x".into());
    assert_eq!(pool.answer(Duration::from_millis(300)), None);
    let begin = Instant::now();
    drop(pool);
    assert!(begin.elapsed() < LONG);
}

#[test]
fn a_failed_run_is_a_row_and_the_others_continue() {
    // The runs with seed 2 kill their worker.
    let pool = shells(
        2,
        "while read -r line; do case $line in *'\"events\":2,'*) kill -9 $$;; esac; printf '%s\\n' \"$line\"; done",
    );
    let mut schedule = Schedule::new(3, vec![1, 2, 3], None, BTreeMap::new());
    driven(&mut schedule, &pool, None, &Cell::new(0), usize::MAX);
    assert_eq!((schedule.progress(), schedule.failures()), ((9, 9), 3));
    for point in 0..3 {
        for (seed, outcome) in schedule.runs(point) {
            match outcome {
                Outcome::Figures(figures) => assert!(seed != 2 && figures.events == seed),
                Outcome::Failed(Failed { transient, .. }) => assert!(seed == 2 && *transient),
            }
        }
    }
}
