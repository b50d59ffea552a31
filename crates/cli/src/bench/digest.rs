//! `bench digest`: what the digest costs.

use super::Measured;
use super::phold::{SIZES, run, until};
use super::record::Figure;
use super::sides::in_turn;
use crate::failure::Failure;
use crate::report::table;
use parades_core::run::RunOptions;

pub(super) fn measure(pairs: u32) -> Result<Measured, Failure> {
    let mut drawn = table(&["LPs", "with, M events/s", "without, M events/s", "with / without"]);
    let mut figures = Vec::new();
    for (lps, events) in SIZES {
        let side = |digest| {
            let options = move || RunOptions { digest, ..RunOptions::until(until(lps, events)) };
            move || run(lps, options()).map(|outcome| outcome.events)
        };
        let sides = in_turn(&format!("PHOLD, {lps} LPs"), pairs, side(true), side(false))?;
        drawn.add_row([
            lps.to_string(),
            format!("{:.2}", sides.ours.median / 1e6),
            format!("{:.2}", sides.theirs.median / 1e6),
            sides.ratio.show(3),
        ]);
        figures.push(Figure { name: format!("{lps} LPs, with over without digest"), spread: sides.ratio });
    }
    Ok(Measured { text: format!("PHOLD under sequential, with the digest and without\n{drawn}\n"), figures })
}
