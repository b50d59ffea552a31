//! The registry of tables.

mod auto;
mod balance;
mod barriers;
mod bounds;
mod chord;
mod contexts;
mod digest;
mod flows;
mod idle;
mod lookahead;
mod multicast;
mod packets;
mod phold;
mod refcounts;
mod restore;
pub(crate) mod rivals;
mod rounds;
mod scaling;
mod steady;
mod transfer;
mod transport;
mod transport_phold;

use crate::{Measured, Options, Validation};
use parades_config::{nearest, quoted};
use parades_session::Failure;
use std::path::Path;

type Validate = fn(&Path) -> Result<Validation, Failure>;
type Measure = fn(&Options) -> Result<Measured, Failure>;

/// A table of measurements.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name on the command line.
    pub name: &'static str,
    /// The sides that it compares, in a line.
    pub about: &'static str,
    pub(crate) measure: Measure,
    /// Compares the results in a folder, computed elsewhere, with ours.
    pub(crate) validate: Option<Validate>,
    /// True if [`Options::simgrid`] and [`Options::large`] are meant for this table.
    pub(crate) takes_simgrid: bool,
    /// True if [`Options::ns3`] is meant for this table.
    pub(crate) takes_ns3: bool,
    /// True if [`Options::rivals`] is meant for this table.
    pub(crate) takes_rivals: bool,
}

impl Table {
    const fn of(name: &'static str, about: &'static str, measure: Measure) -> Table {
        Table { name, about, measure, validate: None, takes_simgrid: false, takes_ns3: false, takes_rivals: false }
    }

    /// Returns the table of this name.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if there is none, with the nearest name.
    pub fn named(name: &str) -> Result<&'static Table, Failure> {
        let names = || TABLES.iter().map(|table| table.name);
        TABLES.iter().find(|table| table.name == name).ok_or_else(|| {
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("choose one of {}", names().collect::<Vec<_>>().join(", ")),
            };
            Failure::usage(format!("there is no table {}", quoted(name)), help)
        })
    }
}

/// Returns true if a table has started this process as one of its ranks, by itself or by `mpirun`.
pub fn is_rank() -> bool {
    transport::is_rank() || transport_phold::is_rank()
}

/// All tables, in the order in which they are listed.
pub const TABLES: &[Table] = &[
    Table {
        validate: Some(packets::validate),
        takes_ns3: true,
        ..Table::of(
            "packets",
            "the campus with TCP: ns-3 beside sequential, if its program is given; two threads beside one",
            packets::measure,
        )
    },
    Table {
        takes_rivals: true,
        ..Table::of(
            "rivals",
            "ROSS, Cimba, PeerSim, SimGrid, htsim and ns-3, each on work that both sides do, if their programs are given",
            rivals::measure,
        )
    },
    Table::of(
        "phold",
        "sequential, window and time-warp against bare loops over BinaryHeap on the same PHOLD, 1,024 to 1,048,576 LPs, and probes of the machine",
        phold::measure,
    ),
    Table::of("phold-zero", "the same without lookahead, to 262,144 LPs", phold::measure_zero),
    Table::of(
        "phold-remote",
        "the same where few events go elsewhere, and where all do, from 262,144 LPs up",
        phold::measure_remote,
    ),
    Table::of(
        "lookahead",
        "how much lookahead the engines need: PHOLD of 16,384 LPs from 1 ms to 1 s",
        lookahead::measure,
    ),
    Table::of(
        "idle",
        "what it costs to pass time in which nothing happens: windows beside null messages, 1,000 LPs",
        idle::measure,
    ),
    Table::of(
        "bounds",
        "partitions with bounds of their own beside one bound for all, where lookaheads and load differ",
        bounds::measure,
    ),
    Table::of(
        "auto",
        "what leaving the choice to auto costs, on every scenario: its time beside that of each engine",
        auto::measure,
    ),
    Table::of(
        "scaling",
        "what 1, 2, 4 … threads give, up to the cores there are: window, null-message, time-warp and rounds beside sequential",
        scaling::measure,
    ),
    Table::of(
        "balance",
        "work dedicated to threads or taken by whoever is free, beside the figures published for ns-3",
        balance::measure,
    ),
    Table::of(
        "rounds",
        "Chord by scheduling rounds: memory and speed-up by size, sizes of rounds, settings, beside the figures published for SimGrid",
        rounds::measure,
    ),
    Table {
        takes_simgrid: true,
        ..Table::of(
            "chord",
            "Chord on both networks beside the same protocol in SimGrid (--simgrid PATH), and to 100,000 nodes (--large: a million): time, messages, memory",
            chord::measure,
        )
    },
    Table::of(
        "transport",
        "messages between processes: shared memory beside MPI, shared windows and First-Fit, and the ratios published for ZeROshm",
        transport::measure,
    ),
    Table::of(
        "transport-phold",
        "PHOLD on several processes: shared memory beside one message of MPI an event, batches, and First-Fit; the hybrid; published figures",
        transport_phold::measure,
    ),
    Table::of("transfer", "sequential on pairs that move data by a sliding window", transfer::measure),
    Table::of(
        "multicast",
        "data shared by events or copied for each: memory, events per second and speed-up, beside the figures published for ROSS",
        multicast::measure,
    ),
    Table::of(
        "contexts",
        "what a switch and a waiting process cost: async, on stacks of a slab, by ucontext, on threads; 1,000 to 1,000,000 of them",
        contexts::measure,
    ),
    Table::of(
        "barriers",
        "what it costs threads to meet: every kind of barrier beside the figures published for ns-3",
        barriers::measure,
    ),
    Table::of(
        "refcounts",
        "schemes of counting references to shared data, in a loop and in the multicast campus, beside the figures published for ns-3",
        refcounts::measure,
    ),
    Table::of(
        "restore",
        "state restored by copies, by undo logs (by hand, generated) and by reverse handler, of 16 B and 4 KiB: time-warp beside sequential",
        restore::measure,
    ),
    Table {
        validate: Some(flows::validate),
        ..Table::of(
            "flows",
            "flows that share links: how many begin and end in a second; with --validation DIR, ends computed elsewhere beside ours",
            flows::measure,
        )
    },
    Table::of(
        "steady",
        "runs that end when their interval is narrow enough: how often it holds what theory says of M/M/1, 20 seeds each",
        steady::measure,
    ),
    Table::of("digest", "what the digest costs: PHOLD with and without", digest::measure),
];
