//! Recording a run while it goes on.

use crate::saved::outputs::KeepOutputs;
use crate::{Failure, Saved, Saving};
use parades_catalog::Simulation;
use parades_core::event::LpId;
use parades_core::round_log::RoundLog;
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_core::trace::Tracer;
use std::fmt;
use std::sync::Arc;

/// The records that a run makes while it goes on. By default there are none.
#[derive(Default)]
pub struct Recording<'a> {
    /// Makes the tracer that is given the executed events.
    pub tracer: Option<MakeTracer<'a>>,
    /// True if the tracer is also told of the messages that handlers send.
    pub sends: bool,
    /// True if the tracer is also told of the observations that handlers record.
    pub samples: bool,
    /// The timesheets in which workers note what they spend their wall time on.
    pub timesheets: Option<Arc<Timesheets>>,
    /// The log of the rounds of the engine `rounds`.
    pub rounds: Option<RoundLog<'a>>,
    /// The files in which the run is saved, so that it can go on later.
    pub saving: Option<&'a Saving>,
    /// The files of events that the run writes, for its saves.
    pub outputs: Option<&'a dyn KeepOutputs>,
    /// The saved run from which the run goes on.
    pub from: Option<&'a Saved>,
}

/// Makes a tracer of a run, whose model and end are known by then.
pub type MakeTracer<'a> = Box<dyn FnOnce(&Simulation, Time) -> Result<Tracing<'a>, Failure> + 'a>;

/// A tracer, and the data that the trace needs besides the events.
#[derive(Debug)]
pub struct Tracing<'a> {
    /// The tracer.
    pub tracer: Tracer<'a>,
    /// The LPs at which packets are captured, in order.
    pub captures: Vec<LpId>,
}

impl<'a> From<Tracer<'a>> for Tracing<'a> {
    fn from(tracer: Tracer<'a>) -> Tracing<'a> {
        Tracing { tracer, captures: Vec::new() }
    }
}

impl fmt::Debug for Recording<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recording { tracer, sends, samples, timesheets, rounds, saving, outputs, from } = self;
        f.debug_struct("Recording")
            .field("tracer", &tracer.is_some())
            .field("sends", sends)
            .field("samples", samples)
            .field("timesheets", timesheets)
            .field("rounds", rounds)
            .field("saving", saving)
            .field("outputs", &outputs.is_some())
            .field("from", &from.map(|saved| &saved.head))
            .finish()
    }
}
