//! `bench idle`: the cost of virtual time in which nothing happens.

use super::phold::stat;
use crate::record::Figure;
use crate::sides::{Ran, Side, Spread, cores, in_turn};
use crate::{Measured, Options};
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_core::run::Outcome;
use parades_engine::null_message::{self, Nulls};
use parades_engine::retreat::Retreats;
use parades_engine::window;
use parades_report::drawing::table;
use parades_session::Failure;
use std::cell::Cell;

const LPS: u32 = 1_000;
const LOOKAHEAD: Delay = Delay::from_ms(10);
const THREADS: usize = 2;
/// The times of the first events: after one lookahead, which shows the other costs of a run, and then after
/// more and more lookaheads.
const FIRST: [Delay; 4] = [LOOKAHEAD, Delay::from_secs(1), Delay::from_secs(10), Delay::from_secs(100)];

/// A ring whose logical processes have one event each, all at the same time. They send nothing, though they
/// could.
#[derive(Clone, Copy, Debug)]
struct Idle {
    first: Delay,
}

impl Model for Idle {
    type State = ();
    type Message = ();
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        LPS
    }

    fn channels(&self) -> Channels {
        let mut ring = Channels::none();
        for id in 0..LPS {
            let next = (id + 1) % LPS;
            ring.connect(LpId(id), LpId(next), LOOKAHEAD);
            ring.connect(LpId(next), LpId(id), LOOKAHEAD);
        }
        ring
    }

    fn start(&self, ctx: &mut Context<'_, Self>) {
        ctx.send_self(self.first, ());
    }

    fn handle(&self, (): &mut (), _: Body<&()>, _: &mut Context<'_, Self>) {}
}

/// A row: an engine, and the statistic that it counts.
#[derive(Clone, Copy, Debug)]
struct Entrant {
    name: &'static str,
    counts: &'static str,
    run: fn(&Idle) -> Result<Outcome, Error>,
}

const ENTRANTS: [Entrant; 3] = [
    Entrant {
        name: "window",
        counts: "windows",
        run: |model| {
            let usual = window::Settings::of_threads(THREADS);
            window::run(model, to_the_end(), &window::Settings { retreats: Retreats::Never, ..usual })
        },
    },
    Entrant { name: "null-message", counts: "null_messages", run: |model| null_message(model, Nulls::Lazy) },
    Entrant {
        name: "null-message, nulls=demand",
        counts: "null_messages",
        run: |model| null_message(model, Nulls::Demand),
    },
];

fn null_message(model: &Idle, nulls: Nulls) -> Result<Outcome, Error> {
    let usual = null_message::Settings::of_threads(THREADS);
    null_message::run(model, to_the_end(), &null_message::Settings { retreats: Retreats::Never, nulls, ..usual })
}

fn to_the_end() -> RunOptions<'static> {
    RunOptions::until(Time::MAX)
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    if cores() < 2 {
        return Ok(Measured {
            text: "one core is available: nobody waits for anybody\n".to_owned(),
            ..Measured::default()
        });
    }
    let mut drawn = table(&["first event", "engine", "windows or null messages", "microseconds", "over window's time"]);
    let mut figures = Vec::new();
    for first in FIRST {
        let model = &Idle { first };
        let counted = &ENTRANTS.map(|_| Cell::new(0.0));
        let mut sides: Vec<Side<'_>> = Vec::new();
        for (entrant, counted) in ENTRANTS.into_iter().zip(counted) {
            sides.push(Box::new(move || {
                let (ran, outcome) = Ran::engine(|| (entrant.run)(model))?;
                counted.set(stat(&outcome, entrant.counts));
                Ok(ran)
            }));
        }
        let rates = in_turn(&format!("first event after {first}"), pairs, &mut sides)?;
        drop(sides);
        for (side, (entrant, counted)) in ENTRANTS.iter().zip(counted).enumerate() {
            let us: Vec<f64> = rates.of(side).values.iter().map(|rate| f64::from(LPS) / rate * 1e6).collect();
            // All sides execute the same events, so the ratio of times is the inverse ratio of rates.
            let (us, ratio) = (Spread::of(&us), rates.ratio(0, side));
            let over = if side == 0 { String::new() } else { ratio.show(2) };
            drawn.add_row([
                first.to_string(),
                entrant.name.to_owned(),
                format!("{:.0}", counted.get()),
                us.show(0),
                over,
            ]);
            figures.push(Figure {
                name: format!("first event after {first}, {}, microseconds", entrant.name),
                spread: us,
            });
        }
    }
    let text = format!(
        "a ring of {LPS} LPs, lookahead {LOOKAHEAD} both ways, one event each, all at the same time; whole runs on {THREADS} threads, set-up included\n{drawn}\n\
         a window begins at the next event, however far that is; a promise goes no further than the lookahead beyond another\n"
    );
    Ok(Measured { text, figures })
}
