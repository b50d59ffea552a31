//! Random models on real processes give the answer of `sequential`. The children are the program of this
//! crate.

use parades_conformance::processes::check_seeds;
use parades_conformance::report::silence_panics;
use std::path::Path;

const PROGRAM: &str = env!("CARGO_BIN_EXE_parades-conformance");

/// The command `processes` runs any number of them.
#[test]
fn random_models_give_one_answer_on_processes() {
    silence_panics(false);
    let report = check_seeds(Path::new(PROGRAM), 0..10, false);
    assert!(report.differences.is_empty(), "{report}");
    // Three engines, two numbers of processes, two numbers of workers of each.
    assert_eq!((report.models, report.runs), (10, 10 * 3 * 2 * 2), "{report}");
    assert!(report.failing_models > 0 && report.failing_models < 10, "some models fail, and alike: {report}");
    // Where a channel loses its lookahead, conservative engines end the run.
    assert!(report.refused < report.runs / 10, "most runs come to their end: {report}");
    assert!(report.crossed > 1_000, "events cross processes: {report}");
    assert!(report.moved > 100, "LPs move between processes: {report}");
}

/// In these models the lookahead changes while several workers of a rank share partitions, or execute them LP
/// by LP.
#[test]
fn partitions_of_a_rank_survive_changes_of_lookahead() {
    silence_panics(false);
    for seed in [23, 448, 585, 790] {
        let report = check_seeds(Path::new(PROGRAM), seed..seed + 1, false);
        assert!(report.differences.is_empty(), "{report}");
    }
}

#[test]
fn a_digest_that_depends_on_the_process_is_found() {
    silence_panics(false);
    let report = check_seeds(Path::new(PROGRAM), 0..3, true);
    let found = report.differences.first().expect("a planted fault is found");
    // All LPs of a run may have come to rank 0, whose digests are right.
    assert!(found.contains(" processes of 1 workers: the digests of"), "{found}");
    assert!(found.contains("parades-conformance -- processes 1 --from "), "{found}");
}
