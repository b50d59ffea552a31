//! The tests can fail: each fault planted in an engine is found by random models, and soon.

use parades_conformance::engines::Fault;
use parades_conformance::random::catch_fault;
use parades_conformance::random_model::COUNT;
use parades_conformance::report::silence_panics;

#[test]
fn each_planted_fault_is_caught_within_a_few_models() {
    silence_panics(true);
    for (fault, engine) in Fault::PLANTED {
        let caught = catch_fault(fault, engine, 300).unwrap_or_else(|| panic!("{fault:?} is not caught"));
        assert!(caught.what.starts_with(engine), "{fault:?} shows in the engine that has it: {}", caught.what);
        assert!(caught.what.contains("replay: cargo run"), "{fault:?} can be replayed: {}", caught.what);
        let genes = caught.simplest.0.iter().filter(|gene| **gene > 0).count();
        assert!(genes < COUNT / 2, "{fault:?} is shrunk to a few genes: {:?}", caught.simplest);
    }
}
