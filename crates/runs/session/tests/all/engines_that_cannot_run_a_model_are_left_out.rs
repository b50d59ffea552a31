//! A comparison leaves out the engines that cannot run a model, and says why.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_catalog::{Scenario, Simulation, install};
use parades_core::time::Time;
use parades_models::phold::{Parameters, Phold};
use parades_session::{Comparison, Failure, Plan, Request, Sides, compare};

/// A model whose author says nothing about rollback in the declaration of its scenario.
const OWN: Scenario = Scenario::new("own", "cannot be restored", &[], |_, _| {
    let model = Phold::<()>::new(Parameters { lps: 16, ..Parameters::default() });
    Ok(Simulation::unrestorable(model, Time::from_secs(2)))
});

fn compared(engines: &[&str], processes: &[u64]) -> Result<Comparison, Failure> {
    install("parades", [OWN]);
    let engines: Vec<String> = engines.iter().map(|name| (*name).to_owned()).collect();
    let sides = Sides { engines: &engines, threads: &[2], processes, tie_seeds: &[] };
    compare(&Plan::of(&Request::of("own")).unwrap(), sides, &mut ())
}

fn engines(compared: &Comparison) -> Vec<&'static str> {
    compared.runs.iter().map(|run| run.choice.engine.name()).collect()
}

#[test]
fn the_rest_is_compared() {
    let rollback = "the engine `time-warp` rolls back, and the state of `own` cannot be restored";
    for named in [&[][..], &["sequential", "rounds", "time-warp", "window", "null-message"]] {
        let found = compared(named, &[]).unwrap();
        assert_eq!(engines(&found).len(), 4);
        assert!(found.runs.iter().all(|run| run.has_result_of(&found.runs[0])));
        let why: Vec<&str> = found.left_out.iter().map(|out| out.why.as_str()).collect();
        assert_eq!(why, [rollback]);
    }
    // A single run would compare nothing.
    for named in [&["time-warp"][..], &["sequential", "time-warp"]] {
        let error = compared(named, &[]).unwrap_err().to_string();
        assert!(error.starts_with(rollback) && error.contains("use one of sequential"), "{error}");
    }
}

#[test]
fn a_model_of_one_process_is_compared_in_one() {
    let found = compared(&["sequential", "window"], &[1, 2]).unwrap();
    assert_eq!(engines(&found), ["sequential", "window"]);
    assert_eq!(found.left_out.len(), 1);
    assert_eq!((found.left_out[0].engine.name(), found.left_out[0].processes), ("window", 2));
    assert_eq!(found.left_out[0].why, "the messages of `own` cannot cross processes");
}

#[test]
fn a_run_on_an_engine_that_cannot_run_the_model_is_refused_before_it_begins() {
    install("parades", [OWN]);
    let request = Request { engine: Some("time-warp".into()), ..Request::of("own") };
    let plan = Plan::of(&request).unwrap();
    let error = parades_session::run(&plan, &plan.choice().unwrap(), Default::default(), &mut ()).unwrap_err();
    assert!(matches!(error, Failure::Input(_)), "{error}");
}
