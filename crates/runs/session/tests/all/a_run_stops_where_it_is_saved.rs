//! A run that is saved at a virtual time ends there, keeps its end, and goes on to the answer of the unbroken
//! run.

use parades_core::time::Time;
use parades_session::{Failure, FinishedRun, Plan, Recording, Request, Saved, Saving, run};
use std::path::{Path, PathBuf};

fn phold() -> Request {
    Request {
        set: vec!["lps=16".into()],
        until: Some(Time::from_secs(20)),
        engine: Some("sequential".into()),
        ..Request::of("phold")
    }
}

fn saving(file: &Path, stop_at: Time) -> Saving {
    Saving {
        file: file.to_owned(),
        version: "test",
        commit: "test",
        at_end: true,
        stop_at: Some(stop_at),
        every: None,
        every_virtual: None,
        when: None,
        before_failure: false,
    }
}

fn execute(request: &Request, saving: Option<&Saving>, from: Option<&Saved>) -> Result<FinishedRun, Failure> {
    let plan = Plan::of(request)?;
    run(&plan, &plan.choice()?, Recording { saving, from, ..Recording::default() }, &mut ())
}

fn read(file: &Path) -> (Saved, Request) {
    let saved = Saved::read(file, u64::MAX).expect("it was saved");
    let request = saved.request("test", "test").expect("the file has a request");
    (saved, request)
}

#[test]
fn a_run_stops_where_it_is_saved_and_goes_on_to_its_end() {
    let folder = tempdir();
    let file = folder.join("run.save");
    let whole = execute(&phold(), None, None).unwrap();
    let mut events = 0;
    for seconds in [5, 10] {
        let stop_at = Time::from_secs(seconds);
        let saving = saving(&file, stop_at);
        let part = if seconds == 5 {
            execute(&phold(), Some(&saving), None).unwrap()
        } else {
            let (saved, request) = read(&file);
            execute(&request, Some(&saving), Some(&saved)).unwrap()
        };
        assert_eq!(part.outcome.end, stop_at);
        assert!((events + 1..whole.outcome.events).contains(&part.outcome.events));
        events = part.outcome.events;
        let (saved, request) = read(&file);
        assert_eq!((saved.head.time(), saved.head.events), (stop_at, events));
        assert_eq!(Plan::of(&request).unwrap().until, Some(Time::from_secs(20)), "the save keeps the end");
        let rest = execute(&request, None, Some(&saved)).unwrap();
        assert_eq!((rest.outcome.digest, rest.outcome.events), (whole.outcome.digest, whole.outcome.events));
    }
    let (saved, request) = read(&file);
    // At the time of the cut, the run is only written again.
    let again = folder.join("again.save");
    execute(&request, Some(&saving(&again, Time::from_secs(10))), Some(&saved)).unwrap();
    assert_eq!(read(&again).0.cut_hash(), saved.cut_hash());
    // A time beyond the end is the end.
    execute(&request, Some(&saving(&again, Time::from_secs(30))), Some(&saved)).unwrap();
    assert_eq!(read(&again).0.head.time(), Time::from_secs(20));
    let back = execute(&request, Some(&saving(&again, Time::from_secs(9))), Some(&saved)).unwrap_err().to_string();
    assert!(back.ends_with("was saved at 10s, and the run cannot go back to 9s; give a later time"), "{back}");
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempdir() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("parades-stops-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}
