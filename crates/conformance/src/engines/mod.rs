//! The table of engines under test, and three small ones that exist for testing: they document the algorithms, and force the
//! interleavings that a real engine meets once in a while.

pub mod rounds;
pub mod time_warp;
pub mod window;

use crate::transport::{Carrier, Codec};
use parades_core::error::Error;
use parades_core::random::Rng;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_engine::pending::HeapPending;
use parades_engine::{rollback_check, sequential};
use std::fmt::Debug;

/// What a model must be to run on every engine.
pub trait Subject: Restorable<State: Clone + PartialEq + Debug> {}
impl<M: Restorable<State: Clone + PartialEq + Debug>> Subject for M {}

/// An engine under test.
#[derive(Debug)]
pub struct Engine<M: Subject> {
    /// The word for it on the command line.
    pub name: &'static str,
    /// Whether workers and transports make a difference to it.
    pub is_partitioned: bool,
    /// Runs a model on it.
    pub run: Run<M>,
}

/// How an engine is called.
pub type Run<M> =
    fn(&M, RunOptions<'_>, &Setting<<M as parades_core::model::Model>::Message>) -> Result<Outcome, Error>;

/// The engines that are compared with `sequential`. A new engine is one line here.
pub fn engines<M: Subject>() -> Vec<Engine<M>> {
    let engine = |name, is_partitioned, run| Engine { name, is_partitioned, run };
    vec![
        engine("heap", false, |model, options, _| sequential::run_on::<M, HeapPending<M::Message>>(model, options)),
        engine("rollback-check", false, |model, options, _| rollback_check::run(model, options)),
        engine("rounds-test", false, rounds::run),
        engine("window-test", true, window::run),
        engine("time-warp-test", true, time_warp::run),
    ]
}

/// How a test engine runs: nothing of it may change the answer.
#[derive(Debug)]
pub struct Setting<P> {
    /// Partitions.
    pub workers: usize,
    /// What the engine's own choices (placement, order, delays) derive from.
    pub seed: u64,
    /// How events get from partition to partition.
    pub carrier: Carrier,
    /// How messages become bytes, if they can.
    pub codec: Option<Codec<P>>,
    /// What is planted.
    pub fault: Fault,
}

/// A fault planted in a test engine, to show that the tests can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None.
    None,
    /// `rounds`: simultaneous events are executed in the order in which they were sent.
    TieByInsertion,
    /// `window`: the bound is one picosecond too high.
    WindowTooHigh,
    /// `time_warp`: a rollback does not restore the count of sends.
    SequenceNotRestored,
    /// `time_warp`: a rollback does not see to the wakes of timers.
    WakeForgotten,
    /// `time_warp`: a failure is an error before it is committed.
    EarlyFailure,
    /// `time_warp`: GVT overlooks what is in flight.
    GvtIgnoresTransit,
    /// `time_warp`: global events happen without a rollback to their time.
    NoCut,
}

impl Fault {
    /// All that can be planted, each with the engine that it is planted in.
    pub const PLANTED: [(Fault, &'static str); 7] = [
        (Fault::TieByInsertion, "rounds-test"),
        (Fault::WindowTooHigh, "window-test"),
        (Fault::SequenceNotRestored, "time-warp-test"),
        (Fault::WakeForgotten, "time-warp-test"),
        (Fault::EarlyFailure, "time-warp-test"),
        (Fault::GvtIgnoresTransit, "time-warp-test"),
        (Fault::NoCut, "time-warp-test"),
    ];
}

/// An index below `n`.
pub(crate) fn index_below(rng: &mut Rng, n: usize) -> usize {
    usize::try_from(rng.below(n as u64)).expect("below an index")
}
