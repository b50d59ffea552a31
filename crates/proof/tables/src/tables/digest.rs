//! `bench digest`: the cost of the digest.

use super::phold::until;
use crate::record::Figure;
use crate::sides::{Ran, Side, choice, in_turn, simulation};
use crate::{Measured, Options};
use parades_core::run::RunOptions;
use parades_report::drawing::table;
use parades_session::Failure;

/// The numbers of logical processes, and the seconds of virtual time.
const SIZES: [(u32, u64); 4] = [(1_024, 4_000), (16_384, 240), (262_144, 15), (1_048_576, 6)];

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let mut drawn = table(&["LPs", "with, M events/s", "without, M events/s", "with / without"]);
    let mut figures = Vec::new();
    for (lps, seconds) in SIZES {
        let (phold, sequential) = (&simulation("phold", &[format!("lps={lps}")])?, &choice("sequential", 1, &[])?);
        let side = |digest| -> Side<'_> {
            Box::new(move || {
                let options = RunOptions { digest, ..RunOptions::until(until(seconds)) };
                let (ran, _) = Ran::engine(|| phold.run(sequential, options))?;
                Ok(Ran { answer: Some(ran.events), ..ran })
            })
        };
        let rates = in_turn(&format!("PHOLD, {lps} LPs"), pairs, &mut [side(true), side(false)])?;
        let ratio = rates.ratio(0, 1);
        drawn.add_row([
            lps.to_string(),
            format!("{:.2}", rates.of(0).median / 1e6),
            format!("{:.2}", rates.of(1).median / 1e6),
            ratio.show(3),
        ]);
        figures.push(Figure { name: format!("{lps} LPs, with over without digest"), spread: ratio });
    }
    Ok(Measured { text: format!("PHOLD under sequential, with the digest and without\n{drawn}\n"), figures })
}
