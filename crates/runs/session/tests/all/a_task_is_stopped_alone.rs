//! Stopping a task ends its runs, and no other.

use parades_core::time::Time;
use parades_session::diff::{Side, diff};
use parades_session::interrupt::Stop;
use parades_session::{Ending, Failure, FinishedRun, Observer, Plan, Progress, Recording, Request, run};

fn phold(seconds: u64) -> Request {
    Request { until: Some(Time::from_secs(seconds)), engine: Some("sequential".into()), ..Request::of("phold") }
}

/// Stops a task as soon as its run goes on.
struct Stops(Stop);

impl Observer for Stops {
    fn progress(&mut self, _: &Progress) {
        self.0.stop();
    }
}

fn execute(seconds: u64, observer: &mut dyn Observer) -> Result<FinishedRun, Failure> {
    let plan = Plan::of(&phold(seconds))?;
    run(&plan, &plan.choice()?, Recording::default(), observer)
}

#[test]
fn the_runs_of_a_task_are_stopped_and_no_other() {
    let stop = Stop::default();
    let stopped = stop.within(|| execute(10_000_000, &mut Stops(stop.clone()))).unwrap();
    assert_eq!(stopped.ending, Ending::Interrupted);
    let later = stop.within(|| execute(1, &mut ()));
    assert!(matches!(later, Err(Failure::Stopped(_))), "runs that begin later end at once");
    assert_eq!(execute(1, &mut ()).unwrap().ending, Ending::Complete);
    assert_eq!(Stop::default().within(|| execute(1, &mut ())).unwrap().ending, Ending::Complete);
}

#[test]
fn the_threads_of_a_diff_belong_to_its_task() {
    let stop = Stop::default();
    let sides = [Side::Request(phold(10_000_000)), Side::Request(phold(10_000_000))];
    let compare = || diff(["a", "b"], &sides, [&mut Stops(stop.clone()), &mut ()], &mut |_| {});
    assert!(matches!(stop.within(compare), Err(Failure::Stopped(_))));
}
