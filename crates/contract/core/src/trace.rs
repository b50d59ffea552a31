//! Traces: the events that a run executed for good, in their one order.
//!
//! An engine tells its [`Tracer`] of each event when that is committed, and of what its handler noted. As text, a line an event; or, for those who
//! look at it in another way, as what was [`Executed`], with what it sent and which timers it set: from this follows what caused what.

use crate::digest::Payload;
use crate::event::{Body, Event, EventKey, LpId, TimerId};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::ops::RangeInclusive;

/// Which events a trace is to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFilter {
    /// Ranges of receivers; all of them where there is none.
    pub lps: Vec<RangeInclusive<u32>>,
    /// The first time wanted.
    pub from: Time,
    /// The first time no longer wanted.
    pub before: Time,
}

impl Default for TraceFilter {
    fn default() -> TraceFilter {
        TraceFilter { lps: Vec::new(), from: Time::ZERO, before: Time::MAX }
    }
}

impl TraceFilter {
    /// Whether an event at `time` at the LP `receiver` is wanted.
    pub fn wants(&self, time: Time, receiver: LpId) -> bool {
        time >= self.from
            && time < self.before
            && (self.lps.is_empty() || self.lps.iter().any(|range| range.contains(&receiver.0)))
    }
}

/// What a handler left for the trace of its event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// A line of text ([`crate::model::Context::note`]); only where [`crate::run::RunOptions::notes`] asks for them.
    Line(String),
    /// A message that it sent; like what follows, only where [`crate::run::RunOptions::sends`] asks for it.
    Sent {
        /// The key that the message's event will have.
        key: EventKey,
        /// To whom.
        receiver: LpId,
    },
    /// A timer of its own that it set. Where the timer comes due, its event has this sequence number.
    Set {
        /// Which.
        timer: TimerId,
        /// The number that the setting took.
        sequence: u64,
    },
}

/// An event that was executed for good, as a trace is told of it.
#[derive(Clone, Copy)]
pub struct Executed<'a> {
    /// Its key.
    pub key: EventKey,
    /// Who executed it.
    pub receiver: LpId,
    /// What it was about: a message to be shown, or a timer.
    pub body: Body<&'a dyn fmt::Debug>,
    /// What its handler left for the trace, in order.
    pub notes: &'a [Note],
}

impl fmt::Debug for Executed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executed").field("line", &self.to_string()).field("notes", &self.notes).finish()
    }
}

/// The line of a trace: time and round, receiver, sender and sequence, body.
impl fmt::Display for Executed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EventKey { instant, sender, sequence, .. } = self.key;
        write!(f, "{instant} {} <- {sender} #{sequence} ", self.receiver)?;
        match &self.body {
            Body::Message(message) => write!(f, "{message:?}"),
            Body::Timer(id) => write!(f, "timer {}", id.0),
        }
    }
}

/// Where a trace goes: called with one event at a time, in order.
pub type TraceObserver<'a> = dyn FnMut(&Executed<'_>) -> io::Result<()> + 'a;

/// A trace being written.
pub struct Tracer<'a> {
    filter: TraceFilter,
    observer: Box<TraceObserver<'a>>,
}

impl fmt::Debug for Tracer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("filter", &self.filter).finish_non_exhaustive()
    }
}

impl<'a> Tracer<'a> {
    /// A trace as text of the events that `filter` wants: one line at a time into `sink`, that of an event before those that its handler wrote.
    pub fn new(filter: TraceFilter, mut sink: impl FnMut(&str) -> io::Result<()> + 'a) -> Tracer<'a> {
        Tracer::observing(filter, move |executed| write_lines(executed, &mut sink))
    }

    /// A trace of the events that `filter` wants, shown to `observer`.
    ///
    /// ```
    /// use parades_core::trace::{Note, Tracer, TraceFilter};
    /// let mut messages = 0;
    /// let tracer = Tracer::observing(TraceFilter::default(), |executed| {
    ///     messages += executed.notes.iter().filter(|note| matches!(note, Note::Sent { .. })).count();
    ///     Ok(())
    /// });
    /// // As `RunOptions { sends: true, tracer: Some(tracer), .. }` of a run.
    /// # drop(tracer);
    /// # assert_eq!(messages, 0);
    /// ```
    pub fn observing(filter: TraceFilter, observer: impl FnMut(&Executed<'_>) -> io::Result<()> + 'a) -> Tracer<'a> {
        Tracer { filter, observer: Box::new(observer) }
    }

    /// Shows a committed event and the notes of its handler. Engines call it in the order of events.
    ///
    /// # Errors
    ///
    /// Those of the sink.
    pub fn record<P: Payload>(&mut self, event: &Event<P>, notes: &[Note]) -> io::Result<()> {
        if self.filter.wants(event.time(), event.receiver) { (self.observer)(&executed(event, notes)) } else { Ok(()) }
    }
}

/// The lines of an event: its own, and those that its handler wrote.
///
/// # Errors
///
/// Those of the sink.
pub fn write_lines(executed: &Executed<'_>, mut sink: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    sink(&executed.to_string())?;
    executed.notes.iter().try_for_each(|note| match note {
        Note::Line(line) => sink(&format!("  | {line}")),
        Note::Sent { .. } | Note::Set { .. } => Ok(()),
    })
}

/// An event as a trace is told of it.
fn executed<'a, P: Payload>(event: &'a Event<P>, notes: &'a [Note]) -> Executed<'a> {
    let body = match &event.body {
        Body::Message(message) => Body::Message(message as &dyn fmt::Debug),
        Body::Timer(id) => Body::Timer(*id),
    };
    Executed { key: event.key(), receiver: event.receiver, body, notes }
}

/// An event as a line of a trace: time and round, receiver, sender and sequence, body.
///
/// ```
/// use parades_core::{event::*, time::*, trace};
/// let key = EventKey { instant: Instant::at(Time::from_ps(1_500_000_000)), tie: 0, sender: Sender::lp(LpId(3)), sequence: 7 };
/// assert_eq!(trace::line(&Event::new(key, LpId(4), Body::Message(9_u32))), "0.0015s LP 4 <- LP 3 #7 9");
/// ```
pub fn line<P: Payload>(event: &Event<P>) -> String {
    executed(event, &[]).to_string()
}
