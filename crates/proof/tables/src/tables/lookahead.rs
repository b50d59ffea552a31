//! `bench lookahead`: the engines at smaller and smaller lookahead.

use crate::record::Figure;
use crate::sides::{Ran, Side, choice, cores, in_turn, long_enough, simulation};
use crate::{Measured, Options};
use parades_catalog::Choice;
use parades_core::run::RunOptions;
use parades_core::time::{Delay, Time};
use parades_report::drawing::table;
use parades_session::Failure;

const LPS: u32 = 16_384;
const LOOKAHEADS_MS: [u64; 7] = [1, 3, 10, 30, 100, 300, 1_000];
/// The mean of a delay beyond the lookahead.
const BEYOND: Delay = Delay::from_secs(1);

/// A column: an engine, its threads, its settings. The first is the yardstick.
struct Entrant {
    engine: &'static str,
    threads: u64,
    tune: &'static [&'static str],
}

const ENTRANTS: &[Entrant] = &[
    Entrant { engine: "sequential", threads: 1, tune: &[] },
    Entrant { engine: "window", threads: 1, tune: &["order=time"] },
    Entrant { engine: "window", threads: 1, tune: &["order=lp"] },
    Entrant { engine: "window", threads: 2, tune: &["order=time", "retreat=false"] },
    Entrant { engine: "window", threads: 2, tune: &["order=lp", "retreat=false"] },
    Entrant { engine: "null-message", threads: 2, tune: &["retreat=false"] },
    Entrant { engine: "time-warp", threads: 2, tune: &[] },
    Entrant { engine: "auto", threads: 2, tune: &[] },
];

impl Entrant {
    fn name(&self) -> String {
        let Entrant { engine, threads, tune } = self;
        let mut parts = vec![(*engine).to_owned()];
        if *threads > 1 || !tune.is_empty() {
            parts.push(format!("{threads} thread{}", if *threads == 1 { "" } else { "s" }));
        }
        parts.extend(tune.iter().map(|&setting| setting.to_owned()));
        parts.join(", ")
    }

    fn choice(&self) -> Result<Choice, Failure> {
        choice(self.engine, self.threads, self.tune)
    }
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let entrants: Vec<&Entrant> = ENTRANTS.iter().filter(|entrant| entrant.threads <= cores()).collect();
    let choices = entrants.iter().map(|entrant| entrant.choice()).collect::<Result<Vec<_>, _>>()?;
    let columns: Vec<String> = entrants.iter().map(|entrant| entrant.name()).collect();
    let headings: Vec<String> =
        std::iter::once("lookahead".to_owned()).chain(columns.iter().map(|name| name.replace(", ", "\n"))).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let (mut drawn, mut ratios) = (table(&headings), table(&headings));
    let mut figures = Vec::new();
    for lookahead in LOOKAHEADS_MS.map(Delay::from_ms) {
        let mean_delay = BEYOND.saturating_add(lookahead);
        let phold = &simulation(
            "phold",
            &[format!("lps={LPS}"), format!("lookahead={lookahead}"), format!("mean_delay={mean_delay}")],
        )?;
        let run = |choice: &Choice, until: Time| Ok(Ran::engine(|| phold.run(choice, RunOptions::until(until)))?.0);
        let until = long_enough(Time::try_from_secs_f64(10.0).expect("some seconds"), |until| run(&choices[0], until))?;
        let side = |choice: &'_ Choice| -> Side<'_> {
            let choice = choice.clone();
            Box::new(move || run(&choice, until))
        };
        let mut sides: Vec<Side<'_>> = choices.iter().map(side).collect();
        let rates = in_turn(&format!("PHOLD, lookahead {lookahead}"), pairs, &mut sides)?;
        let (mut row, mut ratio_row) = (vec![lookahead.to_string()], vec![lookahead.to_string()]);
        for (side, column) in columns.iter().enumerate() {
            let (rate, ratio) = (rates.of(side), rates.ratio(side, 0));
            row.push(format!("{:.2}", rate.median / 1e6));
            ratio_row.push(if side == 0 { "1".to_owned() } else { ratio.show(2) });
            figures.push(Figure { name: format!("lookahead {lookahead}, {column}, events/s"), spread: rate });
            if side > 0 {
                figures
                    .push(Figure { name: format!("lookahead {lookahead}, {column}, over sequential"), spread: ratio });
            }
        }
        drawn.add_row(row);
        ratios.add_row(ratio_row);
    }
    let text = format!(
        "PHOLD of {LPS} LPs, one start event, remote 0.5, delay the lookahead and on average {BEYOND} more; digest on, the same for all;\n\
         runs are so long that they take sequential about a second\n\
         M events/s\n{drawn}\nover sequential\n{ratios}\n"
    );
    Ok(Measured { text, figures })
}
