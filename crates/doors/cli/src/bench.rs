//! `parades bench`: tables of measurements. Benchmarks report; nothing here judges.
//!
//! A figure is a ratio from one run: both sides are run in turn, several times; the median ratio is printed with its spread.

mod auto;
mod balance;
mod bare;
mod barriers;
mod child;
mod chord;
mod contexts;
mod counters;
mod digest;
mod flows;
mod idle;
mod lookahead;
mod multicast;
mod phold;
mod probe;
mod record;
mod refcounts;
mod restore;
mod rounds;
mod scaling;
mod sides;
mod steady;
mod transfer;

use crate::arguments::BenchArguments;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::print;
use parades_config::{nearest, quoted};
use record::Figure;
use std::fmt::Write;
use std::process::ExitCode;

/// A table and its figures.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// The table, drawn.
    pub(crate) text: String,
    /// What `--record` writes down.
    pub(crate) figures: Vec<Figure>,
}

struct Bench {
    name: &'static str,
    about: &'static str,
    measure: fn(pairs: u32) -> Result<Measured, Failure>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "phold",
        about: "sequential, window and time-warp against bare loops over BinaryHeap on the same PHOLD, 1,024 to 1,048,576 LPs, and probes of the machine",
        measure: phold::measure,
    },
    Bench { name: "phold-zero", about: "the same without lookahead, to 262,144 LPs", measure: phold::measure_zero },
    Bench {
        name: "phold-remote",
        about: "the same where few events go elsewhere, and where all do, from 262,144 LPs up",
        measure: phold::measure_remote,
    },
    Bench {
        name: "lookahead",
        about: "how much lookahead the engines need: PHOLD of 16,384 LPs from 1 ms to 1 s",
        measure: lookahead::measure,
    },
    Bench {
        name: "idle",
        about: "what it costs to pass time in which nothing happens: windows beside null messages, 1,000 LPs",
        measure: idle::measure,
    },
    Bench {
        name: "auto",
        about: "what leaving the choice to auto costs, on every scenario: its time beside that of each engine",
        measure: auto::measure,
    },
    Bench {
        name: "scaling",
        about: "what 1, 2, 4 … threads give, up to the cores there are: window, null-message, time-warp and rounds beside sequential",
        measure: scaling::measure,
    },
    Bench {
        name: "balance",
        about: "work dedicated to threads or taken by whoever is free, beside the figures published for ns-3",
        measure: balance::measure,
    },
    Bench {
        name: "rounds",
        about: "Chord by scheduling rounds: memory and speed-up by size, sizes of rounds, settings, beside the figures published for SimGrid",
        measure: rounds::measure,
    },
    Bench {
        name: "chord",
        about: "Chord on both networks beside the same protocol in SimGrid (--simgrid PATH), and to 100,000 nodes (--large: a million): time, messages, memory",
        measure: |pairs| chord::measure(pairs, &chord::Wish::default()),
    },
    Bench {
        name: "transfer",
        about: "sequential on pairs that move data by a sliding window",
        measure: transfer::measure,
    },
    Bench {
        name: "multicast",
        about: "data shared by events or copied for each: memory, events per second and speed-up, beside the figures published for ROSS",
        measure: multicast::measure,
    },
    Bench {
        name: "contexts",
        about: "what a switch and a waiting process cost: async, on stacks of a slab, by ucontext, on threads; 1,000 to 1,000,000 of them",
        measure: contexts::measure,
    },
    Bench {
        name: "barriers",
        about: "what it costs threads to meet: every kind of barrier beside the figures published for ns-3",
        measure: barriers::measure,
    },
    Bench {
        name: "refcounts",
        about: "schemes of counting references to shared data, in a loop and in the multicast campus, beside the figures published for ns-3",
        measure: refcounts::measure,
    },
    Bench {
        name: "restore",
        about: "state restored by copies, by undo log and by reverse handler, of 16 B and 4 KiB: time-warp beside sequential",
        measure: restore::measure,
    },
    Bench {
        name: "flows",
        about: "flows that share links: how many begin and end in a second; with --validation DIR, ends computed elsewhere beside ours",
        measure: flows::measure,
    },
    Bench {
        name: "steady",
        about: "runs that end when their interval is narrow enough: how often it holds what theory says of M/M/1, 20 seeds each",
        measure: steady::measure,
    },
    Bench { name: "digest", about: "what the digest costs: PHOLD with and without", measure: digest::measure },
];

pub(crate) fn bench(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    let Some(name) = &arguments.table else { return list() };
    let names = || BENCHES.iter().map(|bench| bench.name);
    let bench = BENCHES.iter().find(|bench| bench.name == name).ok_or_else(|| {
        let help = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        Failure::usage(format!("there is no table {}", quoted(name)), help)
    })?;
    if let Some(folder) = &arguments.validation {
        if bench.name != "flows" {
            return Err(Failure::usage("only the table `flows` has a validation", "leave --validation out"));
        }
        return print(&flows::validate(folder)?);
    }
    let wish = chord::Wish { simgrid: arguments.simgrid.clone(), large: arguments.large };
    let is_chord = bench.name == "chord";
    if (wish.simgrid.is_some() || wish.large) && !is_chord {
        let message = "only the table `chord` knows SimGrid and large sizes";
        return Err(Failure::usage(message, "leave --simgrid and --large out"));
    }
    let before = arguments.against.as_deref().map(record::read).transpose()?;
    let mut file = arguments.record.as_deref().map(record::open).transpose()?;
    let machine = Machine::this();
    let Measured { mut text, figures } = match is_chord {
        true => chord::measure(arguments.pairs, &wish)?,
        false => (bench.measure)(arguments.pairs)?,
    };
    let _ = writeln!(
        text,
        "{}, {} cores; figures with brackets are medians of up to {} runs of each side in turn, the least and greatest in brackets",
        machine.cpu, machine.cores, arguments.pairs
    );
    if let Some(before) = before {
        text.push_str(&record::compare(bench.name, &figures, &before, &machine));
    }
    if let Some(file) = &mut file {
        record::write(file, bench.name, &figures, &machine)?;
    }
    print(&text)
}

fn list() -> Result<ExitCode, Failure> {
    let mut text = String::new();
    for bench in BENCHES {
        let _ = writeln!(text, "{:<12} {}", bench.name, bench.about);
    }
    print(&text)
}
