//! Saved runs, in files: broken and continued elsewhere, and with changed bytes.

use parades_catalog::{Choice, Scenario, Simulation, Wish, install};
use parades_conformance::saved::breaks::check_breaks;
use parades_conformance::saved::files::{Fate, Files};
use parades_conformance::saved::scenarios::{Row, rows};
use parades_core::any_model::SaveModel;
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_core::run::RunOptions;
use parades_core::wire::{self, Malformed};
use serde::{Deserialize, Serialize};

/// The command `breaks` breaks any number of runs.
#[test]
fn runs_broken_at_random_times_are_the_unbroken_runs() {
    let rows = rows(0..4);
    let report = check_breaks(&rows, (0..rows.len() as u64).step_by(3));
    assert!(report.differences.is_empty(), "{report}");
    assert!(report.breaks > 80 && report.failing_models > 1, "{report}");
}

/// The command `saves` changes any number of files, in a process with a bound on memory and time.
#[test]
fn changed_files_are_refused_or_do_no_harm() {
    let rows: Vec<Row> = rows(0..2).into_iter().step_by(4).collect();
    let (fates, report) = Files::new(rows).check_all(0..300);
    assert!(report.differences.is_empty(), "{report}");
    assert!(fates.count(Fate::Refused) > 150, "{fates}");
    // Forged seals let files come to the checks behind them.
    assert!(fates.count(Fate::Same) + fates.count(Fate::Another) > 10, "{fates}");
}

/// A token goes around a ring. Each LP counts its events in two fields, of which one is not always written.
#[derive(Debug, Default)]
struct Forgetful {
    forgets: bool,
    /// True if LPs panic when they make their results.
    panics: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counts {
    written: u32,
    forgotten: u32,
}

const HOP: Delay = Delay::from_ms(10);

impl Model for Forgetful {
    type State = Counts;
    type Message = ();
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        4
    }

    fn channels(&self) -> Channels {
        let mut channels = Channels::none();
        (0..4).for_each(|id| channels.connect(LpId(id), LpId((id + 1) % 4), HOP));
        channels
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> Counts {
        if ctx.id() == LpId(0) {
            ctx.send_self(HOP, ());
        }
        Counts::default()
    }

    fn handle(&self, state: &mut Counts, _: Body<&()>, ctx: &mut Context<'_, Self>) {
        state.written += 1;
        state.forgotten += 1;
        // The field acts on the course of the run later.
        let hops = u64::from(1 + state.forgotten % 3);
        ctx.send(Port(0), Delay::from_ms(10 * hops), ());
    }

    fn finish(&self, lp: LpId, _: &Counts, _: &End, _: &mut Metrics) {
        assert!(!self.panics || lp == LpId(0), "no results");
    }
}

impl Forgetful {
    fn simulation(self) -> Simulation {
        Simulation::saved(self, Time::from_secs(2))
    }
}

impl SaveModel for Forgetful {
    fn write_state(&self, _: LpId, state: &Counts, to: &mut Vec<u8>) {
        let forgotten = if self.forgets { 0 } else { state.forgotten };
        wire::write(&Counts { forgotten, ..*state }, to);
    }

    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<Counts, Malformed> {
        wire::read(from)
    }
}

impl ByCopy for Forgetful {}

#[test]
fn a_field_that_is_not_written_is_caught() {
    const SCENARIOS: [Scenario; 2] = [
        Scenario::new("forgetful", "a field of its states is not written", &[], |_, _| {
            Ok(Forgetful { forgets: true, ..Forgetful::default() }.simulation())
        }),
        Scenario::new("mindful", "all fields of its states are written", &[], |_, _| {
            Ok(Forgetful::default().simulation())
        }),
    ];
    install("parades-conformance", SCENARIOS);
    let mindful = check_breaks(&[Row::new("mindful", 2_000)], 0..4);
    assert!(mindful.differences.is_empty() && mindful.breaks > 8, "{mindful}");
    let forgetful = check_breaks(&[Row::new("forgetful", 2_000)], 0..4);
    assert_eq!(forgetful.differences.len(), 4, "{forgetful}");
}

#[test]
fn a_panic_of_an_lp_that_makes_its_results_is_an_error_of_the_run() {
    let simulation = Forgetful { panics: true, ..Forgetful::default() }.simulation();
    for engine in ["sequential", "rounds", "window", "null-message", "time-warp"] {
        let threads = (engine != "sequential").then_some(2);
        let choice = Choice::of(Wish { engine, threads, processes: None, processes_here: None, tune: &[] });
        let result = simulation.run(&choice.expect("it is an engine"), RunOptions::until(simulation.until));
        let error = result.expect_err("there are no results");
        let what = "LP 1 panicked when it made its results at the end of the run: no results";
        assert_eq!(error.kind(), &ErrorKind::Model(what.into()), "{engine}");
    }
}
