//! Programs whose processes have stacks give the answer of `sequential` on any number of threads.

use parades_conformance::stacks::{check_stacks, check_stacks_at_once};

/// The command `stacks` runs any number of them.
#[test]
fn programs_on_stacks_give_one_answer_on_any_number_of_threads() {
    let report = check_stacks(0..3);
    assert!(report.is_good(), "{report}");
    assert_eq!((report.models, report.failing_models), (9, 0), "{report}");
    assert!(report.events > 100_000, "{report}");
}

#[test]
fn a_thousand_stacks_are_alive_at_once() {
    let report = check_stacks_at_once(1_000);
    assert!(report.is_good(), "{report}");
}
