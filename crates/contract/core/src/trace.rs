//! Traces: the committed events of a run, in their order.
//!
//! An engine shows each event to the [`Tracer`] when the event is committed, with the notes of its handler. A
//! trace is text, a line for each event. Or it is a sequence of [`Executed`] values. These also have the
//! messages sent and the timers set, so that the cause of each event can be found.
//!
//! LPs and bodies are shown in the words of the model ([`Model::lp_name`], [`Model::describe`]). Names and
//! notes may come from files, so characters that a terminal would execute are escaped.

mod words;

use crate::any_model::{AnyModel, MessageRef};
use crate::capture::Captured;
use crate::digest::Payload;
use crate::escape::escaped;
use crate::event::{Body, Event, EventKey, Header, LpId, TimerId};
use crate::metrics::Sample;
use crate::model::Model;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use words::{InModel, Plain, Words};

/// The events that a trace should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFilter {
    /// Ranges of receivers. Empty for all receivers.
    pub lps: Vec<RangeInclusive<u32>>,
    /// The first time of the trace.
    pub from: Time,
    /// The first time after the trace.
    pub before: Time,
}

impl Default for TraceFilter {
    fn default() -> TraceFilter {
        TraceFilter { lps: Vec::new(), from: Time::ZERO, before: Time::MAX }
    }
}

impl TraceFilter {
    /// True if the trace should have an event at `time` at the LP `receiver`.
    pub fn wants(&self, time: Time, receiver: LpId) -> bool {
        time >= self.from
            && time < self.before
            && (self.lps.is_empty() || self.lps.iter().any(|range| range.contains(&receiver.0)))
    }
}

/// A note that a handler leaves for the trace of its event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// A line of text ([`crate::model::Context::note`]), if [`crate::run::RunOptions::notes`] is set.
    Line(String),
    /// A message that the handler sent, if [`crate::run::RunOptions::sends`] is set.
    Sent {
        /// The key of the message's event.
        key: EventKey,
        /// The receiver.
        receiver: LpId,
    },
    /// A timer that the handler set, if [`crate::run::RunOptions::sends`] is set. When the timer is due, its
    /// event has this sequence number.
    Set {
        /// The timer.
        timer: TimerId,
        /// The sequence number that the setting took.
        sequence: u64,
    },
    /// An observation that the handler recorded in a metric, if [`crate::run::RunOptions::samples`] is set.
    Observed {
        /// The observation.
        sample: Sample,
        /// The flow that it is of ([`crate::model::Context::observe_of`]).
        flow: Option<u32>,
    },
    /// A packet that the handler captured, if its LP is one of [`crate::run::RunOptions::captures`].
    Captured(Box<Captured>),
}

/// A committed event, as a trace sees it.
#[derive(Clone, Copy)]
pub struct Executed<'a> {
    /// The key of the event.
    pub key: EventKey,
    /// The LP that executed the event.
    pub receiver: LpId,
    /// The body: a message that can be shown, or a timer.
    pub body: Body<&'a dyn fmt::Debug>,
    /// The notes of the handler, in order.
    pub notes: &'a [Note],
    words: &'a dyn Words,
}

impl Executed<'_> {
    /// Returns the name that the model gives to an LP; otherwise its id, as in `LP 13`.
    pub fn name_of(&self, lp: LpId) -> String {
        shown_name(lp, self.words.name(lp))
    }

    /// Returns the name that the model gives to a flow; otherwise its number.
    pub fn flow_name(&self, flow: u32) -> String {
        self.words.flow(flow).unwrap_or_else(|| flow.to_string())
    }

    /// Returns the name of the event's sender.
    pub fn sender(&self) -> String {
        self.key.sender.as_lp().map_or_else(|| self.key.sender.to_string(), |lp| self.name_of(lp))
    }

    /// Returns the lines of the event in a trace: its own, and those that its handler wrote.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let noted = self.notes.iter().filter_map(|note| match note {
            Note::Line(line) => Some(format!("  | {}", escaped(line))),
            Note::Sent { .. } | Note::Set { .. } | Note::Observed { .. } | Note::Captured(_) => None,
        });
        std::iter::once(self.to_string()).chain(noted)
    }

    /// Returns the body in the words of the model.
    pub fn body_text(&self) -> String {
        words::Body(self.words).to_string()
    }
}

/// Returns the name of an LP as a user sees it: `name`, escaped, or the id if there is no name.
///
/// ```
/// use parades_core::{event::LpId, trace::shown_name};
/// assert_eq!(shown_name(LpId(3), Some("east.0".into())), "east.0");
/// assert_eq!(shown_name(LpId(3), None), "LP 3");
/// ```
pub fn shown_name(lp: LpId, name: Option<String>) -> String {
    name.map_or_else(|| lp.to_string(), |name| escaped(&name))
}

impl fmt::Debug for Executed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executed").field("line", &self.to_string()).field("notes", &self.notes).finish()
    }
}

/// Writes the line of the event: time and round, receiver, sender and sequence, body.
impl fmt::Display for Executed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EventKey { instant, sequence, .. } = self.key;
        let (receiver, sender) = (self.name_of(self.receiver), self.sender());
        write!(f, "{instant} {receiver} <- {sender} #{sequence} {}", words::Body(self.words))
    }
}

/// The receiver of a trace. It is called with one event at a time, in order.
pub type TraceObserver<'a> = dyn FnMut(&Executed<'_>) -> io::Result<()> + 'a;

/// A trace that is being written.
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
    /// Makes a trace as text, of the events that `filter` wants. `sink` gets one line at a time, the line of
    /// an event before the lines that its handler wrote.
    pub fn new(filter: TraceFilter, mut sink: impl FnMut(&str) -> io::Result<()> + 'a) -> Tracer<'a> {
        Tracer::observing(filter, move |executed| write_lines(executed, &mut sink))
    }

    /// Makes a trace of the events that `filter` wants. `observer` sees each event.
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

    /// Returns a trace that goes on with this one, for a part of a run.
    pub fn reborrow(&mut self) -> Tracer<'_> {
        let Tracer { filter, observer } = self;
        Tracer::observing(filter.clone(), observer)
    }

    /// Shows a committed event of a model, and the notes of its handler. Engines call it in the order of
    /// events.
    ///
    /// # Errors
    ///
    /// The error of the observer.
    pub fn record<'k>(
        &mut self,
        model: &'k dyn AnyModel<'k>,
        event: &Event<MessageRef<'_, 'k>>,
        notes: &[Note],
    ) -> io::Result<()> {
        if !self.filter.wants(event.time(), event.receiver()) {
            return Ok(());
        }
        model.trace(event, notes, &mut self.observer)
    }
}

/// Writes the line of an event, and the lines that its handler wrote.
///
/// # Errors
///
/// The error of the sink.
pub fn write_lines(executed: &Executed<'_>, mut sink: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    executed.lines().try_for_each(|line| sink(&line))
}

/// Shows an event of a model to an observer.
///
/// # Errors
///
/// The error of the observer.
pub(crate) fn observe<M: Model>(
    model: &M,
    event: &Event<&M::Message>,
    notes: &[Note],
    observer: &mut TraceObserver<'_>,
) -> io::Result<()> {
    let body = event.body.map(|message| message as &dyn fmt::Debug);
    observer(&executed(event.header(), body, notes, &InModel { model, event }))
}

/// Returns an event as a trace sees it.
fn executed<'a>(
    header: Header,
    body: Body<&'a dyn fmt::Debug>,
    notes: &'a [Note],
    words: &'a dyn Words,
) -> Executed<'a> {
    Executed { key: header.key(), receiver: header.receiver(), body, notes, words }
}

/// Returns the line of an event in a trace without a model: time and round, receiver, sender and sequence,
/// body.
///
/// ```
/// use parades_core::{event::*, time::*, trace};
/// let key = EventKey { instant: Instant::at(Time::from_ps(1_500_000_000)), tie: 0, sender: Sender::lp(LpId(3)), sequence: 7 };
/// assert_eq!(trace::line(&Event::new(key, LpId(4), Body::Message(9_u32))), "0.0015s LP 4 <- LP 3 #7 9");
/// ```
pub fn line<P: Payload>(event: &Event<P>) -> String {
    let body = event.body.as_ref().map(|message| message as &dyn fmt::Debug);
    executed(event.header(), body, &[], &Plain(event)).to_string()
}
