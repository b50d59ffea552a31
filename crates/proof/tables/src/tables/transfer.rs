//! `bench transfer`: timers, feedback and sizeable state.

use super::phold::{pending_bytes_an_event, state_overhead};
use crate::record::Figure;
use crate::sides::{Spread, choice, progress, simulation, timed};
use crate::{Measured, Options};
use parades_core::run::RunOptions;
use parades_core::time::{Delay, Time};
use parades_report::drawing::table;
use parades_session::Failure;

/// The numbers of pairs, and the seconds of virtual time. By then windows have filled, and memory has been
/// touched.
const SIZES: [(u32, u64); 4] = [(64, 15), (256, 8), (1_024, 4), (4_096, 2)];

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let mut drawn = table(&["pairs", "M events/s", "ns an event", "bytes an event", "bytes an LP"]);
    let mut figures = Vec::new();
    for (size, seconds) in SIZES {
        let until = Time::ZERO.checked_add(Delay::from_secs(seconds)).expect("some seconds");
        let (transfer, sequential) =
            (simulation("transfer", &[format!("pairs={size}")])?, choice("sequential", 1, &[])?);
        let (mut rates, mut bytes, mut overhead) = (Vec::new(), 0.0, 0.0);
        let progress = progress(pairs, &format!("transfer, {size} pairs"));
        for _ in 0..pairs {
            progress.inc(1);
            let run = || {
                transfer
                    .run(&sequential, RunOptions::until(until))
                    .map_err(|error| Failure::simulation(error.to_string()))
            };
            let (outcome, seconds) = timed(run)?;
            rates.push(outcome.events as f64 / seconds);
            (bytes, overhead) = (pending_bytes_an_event(&outcome), state_overhead(&outcome));
        }
        progress.finish_and_clear();
        let rate = Spread::of(&rates);
        drawn.add_row([
            size.to_string(),
            format!("{:.2}", rate.median / 1e6),
            format!("{:.1}", 1e9 / rate.median),
            format!("{bytes:.1}"),
            format!("{overhead:.0}"),
        ]);
        figures.push(Figure { name: format!("{size} pairs, events/s"), spread: rate });
    }
    let text = format!("transfer with its default parameters; sequential, digest on\n{drawn}\n");
    Ok(Measured { text, figures })
}
