//! Traces: the events that a run executed for good, as text, in their one order.

use crate::digest::Payload;
use crate::event::{Body, Event, LpId};
use crate::time::Time;
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

/// Where a trace goes: called with one line at a time, in order.
pub type TraceSink<'a> = dyn FnMut(&str) -> io::Result<()> + 'a;

/// A trace being written.
pub struct Tracer<'a> {
    filter: TraceFilter,
    sink: Box<TraceSink<'a>>,
}

impl fmt::Debug for Tracer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("filter", &self.filter).finish_non_exhaustive()
    }
}

impl<'a> Tracer<'a> {
    /// A trace of the events that `filter` wants, into `sink`.
    pub fn new(filter: TraceFilter, sink: impl FnMut(&str) -> io::Result<()> + 'a) -> Tracer<'a> {
        Tracer { filter, sink: Box::new(sink) }
    }

    /// Writes a committed event and the notes of its handler. Engines call it in the order of events.
    ///
    /// # Errors
    ///
    /// Those of the sink.
    pub fn record<P: Payload>(&mut self, event: &Event<P>, notes: &[String]) -> io::Result<()> {
        if !self.filter.wants(event.time(), event.receiver) {
            return Ok(());
        }
        (self.sink)(&line(event))?;
        notes.iter().try_for_each(|note| (self.sink)(&format!("  | {note}")))
    }
}

/// An event as a line of a trace: time and round, receiver, sender and sequence, body.
///
/// ```
/// use parades_core::{event::*, time::*, trace};
/// let key = EventKey { instant: Instant::at(Time::from_ps(1_500_000_000)), tie: 0, sender: Sender::lp(LpId(3)), sequence: 7 };
/// assert_eq!(trace::line(&Event::new(key, LpId(4), Body::Message(9_u32))), "0.0015s LP 4 <- LP 3 #7 9");
/// ```
pub fn line<P: Payload>(event: &Event<P>) -> String {
    let key = event.key();
    let head = format!("{} {} <- {} #{}", key.instant, event.receiver, key.sender, key.sequence);
    match &event.body {
        Body::Message(message) => format!("{head} {message:?}"),
        Body::Timer(id) => format!("{head} timer {}", id.0),
    }
}
