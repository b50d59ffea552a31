//! `bench phold`.

use super::bare::Bare;
use super::record::Figure;
use super::sides::in_turn;
use super::{Measured, probe};
use crate::failure::Failure;
use crate::report::table;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use parades_engine::sequential;
use parades_models::phold::{Parameters, Phold};
use std::fmt::Write;

/// Sizes measured, and the events executed of each, about.
pub(super) const SIZES: [(u32, f64); 4] = [(1_024, 4e6), (16_384, 4e6), (262_144, 4e6), (1_048_576, 6e6)];

/// Virtual time in which `lps` LPs execute about `events`: one each second, on average.
pub(super) fn until(lps: u32, events: f64) -> Time {
    Time::from_secs_f64(events / f64::from(lps)).expect("an hour at most")
}

/// The workload of the published tables.
pub(super) fn parameters(lps: u32) -> Parameters {
    Parameters { lps, ..Parameters::default() }
}

/// Runs PHOLD under `sequential`.
pub(super) fn run(lps: u32, options: RunOptions<'_>) -> Result<Outcome, Failure> {
    let model = Phold::<()>::new(parameters(lps));
    sequential::run(&model, options).map_err(|error| Failure::simulation(error.to_string()))
}

fn stat(outcome: &Outcome, name: &str) -> f64 {
    outcome.engine_stats.iter().find(|(stat, _)| *stat == name).map_or(f64::NAN, |&(_, value)| value)
}

/// Memory of the pending set at its largest, over the events that it then held.
pub(super) fn pending_bytes_an_event(outcome: &Outcome) -> f64 {
    stat(outcome, "pending_bytes") / stat(outcome, "pending_events_max")
}

/// What the kernel keeps for an LP beside the model's state, padding included.
pub(super) fn state_overhead(outcome: &Outcome) -> f64 {
    stat(outcome, "lp_bytes") - stat(outcome, "state_bytes")
}

pub(super) fn measure(pairs: u32) -> Result<Measured, Failure> {
    let headings = [
        "LPs",
        "M events/s",
        "ns an event",
        "bare loop, M events/s",
        "ratio to the bare loop",
        "bytes an event",
        "bytes an LP",
    ];
    let mut drawn = table(&headings);
    let mut figures = Vec::new();
    for (lps, events) in SIZES {
        let until = until(lps, events);
        let Parameters { start_events, remote, lookahead, mean_delay, .. } = parameters(lps);
        let bare = Bare { lps, start_events, remote, lookahead, mean_delay, until_ps: until.as_ps(), seed: 1 };
        let (mut event_bytes, mut lp_bytes) = (0.0, 0.0);
        let ours = || {
            let outcome = run(lps, RunOptions::until(until))?;
            (event_bytes, lp_bytes) = (pending_bytes_an_event(&outcome), state_overhead(&outcome));
            Ok(outcome.events)
        };
        let sides = in_turn(&format!("PHOLD, {lps} LPs"), pairs, ours, || Ok(bare.run()))?;
        drawn.add_row([
            lps.to_string(),
            format!("{:.2}", sides.ours.median / 1e6),
            format!("{:.1}", 1e9 / sides.ours.median),
            format!("{:.2}", sides.theirs.median / 1e6),
            sides.ratio.show(2),
            format!("{event_bytes:.1}"),
            format!("{lp_bytes:.0}"),
        ]);
        figures.push(Figure { name: format!("{lps} LPs, ratio to the bare loop"), spread: sides.ratio });
    }
    let machine = probe::measure(pairs)?;
    let mut text = format!(
        "PHOLD, one start event, remote 0.5, lookahead {}, mean delay {}; sequential, digest on\n{drawn}\n",
        Delay::from_ms(100),
        Delay::from_secs(1)
    );
    let _ = writeln!(
        text,
        "bytes an event: memory of the pending set over the most events it held; bytes an LP: beside the model's state\n\
         the machine: {} ns for a dependent read of a random cache line in 256 MiB, {:.1} GB/s read in order",
        machine.random_ns.show(0),
        machine.stream_bytes_per_s.median / 1e9
    );
    Ok(Measured { text, figures })
}
