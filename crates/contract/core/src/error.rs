//! The error that ends a run early, with its LP, instant and event.

use crate::event::{EventKey, LpId};
use crate::time::{Delay, Instant};
use crate::trace::shown_name;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::fmt;
use std::panic::Location;

/// The reason why a run ended without its result. The run cannot continue. Everything committed
/// before the error stays valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The model declares something impossible, such as no LPs, or a channel to an LP that does not exist.
    Declaration(String),
    /// An event was sent with a delay below the lookahead of its channel.
    Lookahead {
        /// The receiver of the event.
        receiver: LpId,
        /// The delay of the event.
        delay: Delay,
        /// The declared least delay.
        lookahead: Delay,
    },
    /// An event was sent without a channel.
    NoChannel(String),
    /// Zero-delay sends at one time exceeded the bound on rounds.
    Rounds {
        /// The bound.
        limit: u32,
        /// LPs that executed events in the last rounds of that time, at most eight.
        lps: Vec<LpId>,
    },
    /// The model said that it cannot go on ([`crate::model::Context::fail`]), or its results are
    /// inconsistent.
    Model(String),
    /// The model panicked.
    Panic(String),
    /// An event that was undone and executed again did something else, or left another state
    /// (`rollback_check`).
    NotRestored(String),
    /// An event that was executed again, from a copy of the state, did something else than the first time
    /// (`time-warp`).
    NotRepeated,
    /// The observer of events failed: the receiver of a trace, of a timeline or of the log of rounds.
    Trace(String),
    /// The operating system refused to start a thread of the run.
    Thread(String),
    /// The LPs' records and the pending events need more memory than the limit.
    Memory {
        /// The limit, in bytes.
        limit: u64,
        /// The bytes that the records and events took, or would have taken, when the run ended.
        needed: u64,
    },
    /// A rank of the run is lost, or ranks cannot do a thing that was asked for. The text is a sentence.
    Ranks(String),
    /// The bytes of a saved run are not those of a run of this model. The text is a part of a sentence.
    Malformed(String),
    /// A stepped run was asked for something that it cannot do. The run is as it was. The text is a sentence.
    Refused(String),
    /// The run was stopped from outside before its LPs were set up, so there is no result.
    Stopped,
}

impl ErrorKind {
    /// Returns the error of a panic, with its text.
    #[cold]
    pub fn of_panic(panic: &(dyn Any + Send)) -> ErrorKind {
        ErrorKind::Panic(text_of_panic(panic))
    }
}

/// The failure of an execution: the reason, and the line of the model that has caused it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The reason.
    pub kind: ErrorKind,
    /// The line that misused a function of the contract, as `file:line`; `None` for other failures.
    pub line: Option<String>,
}

impl Failure {
    /// Returns a failure whose cause is a call in this line.
    #[cold]
    pub fn in_line(kind: ErrorKind, caller: &Location<'_>) -> Failure {
        Failure { kind, line: Some(line_of(caller)) }
    }
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Failure {
        Failure { kind, line: None }
    }
}

/// Returns a place in the source as `file:line`.
pub(crate) fn line_of(caller: &Location<'_>) -> String {
    format!("{}:{}", caller.file(), caller.line())
}

/// Returns the text of a panic.
pub(crate) fn text_of_panic(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "with something that is no text".into())
}

/// The place of an error in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The instant.
    pub instant: Instant,
    /// The LP, or `None` for a global event.
    pub lp: Option<LpId>,
    /// The event that was being executed, or `None` during start-up.
    pub event: Option<EventKey>,
}

/// An error of a run. Of several errors, every engine reports the one with the first [`Place`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Boxed, so that results are small.
    inner: Box<Inner>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    failure: Failure,
    place: Option<Place>,
    /// The names of the LPs that the error is about, as far as they have any.
    names: Vec<(LpId, String)>,
}

impl Error {
    /// Makes an error at a place.
    pub fn at(failure: impl Into<Failure>, place: Place) -> Error {
        Error { inner: Box::new(Inner { failure: failure.into(), place: Some(place), names: Vec::new() }) }
    }

    /// Makes an error that belongs to no event.
    pub fn new(kind: ErrorKind) -> Error {
        Error { inner: Box::new(Inner { failure: kind.into(), place: None, names: Vec::new() }) }
    }

    /// Returns the error in which LPs are called by their names. `name` returns the name of an LP, if it has
    /// one.
    #[must_use]
    pub fn with_names(mut self, name: impl Fn(LpId) -> Option<String>) -> Error {
        let Inner { failure, place, .. } = &*self.inner;
        let mut lps = match &failure.kind {
            ErrorKind::Lookahead { receiver, .. } => vec![*receiver],
            ErrorKind::Rounds { lps, .. } => lps.clone(),
            _ => Vec::new(),
        };
        if let Some(place) = place {
            lps.extend(place.lp);
            lps.extend(place.event.and_then(|key| key.sender.as_lp()));
        }
        self.inner.names = lps.into_iter().filter_map(|lp| Some((lp, name(lp)?))).collect();
        self
    }

    /// Returns the name of an LP, or its id.
    fn shown(&self, lp: LpId) -> String {
        let named = self.inner.names.iter().find(|(named, _)| *named == lp);
        shown_name(lp, named.map(|(_, name)| name.clone()))
    }

    /// Returns the reason.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.failure.kind
    }

    /// Returns the line of the model that has caused the error, as `file:line`, where a call of the contract
    /// was misused: a delay below the lookahead, a channel that is not declared.
    pub fn line(&self) -> Option<&str> {
        self.inner.failure.line.as_deref()
    }

    /// Returns the place, if the error belongs to an event.
    pub fn place(&self) -> Option<Place> {
        self.inner.place
    }

    /// Returns what the user can do about the error.
    pub fn remedy(&self) -> &'static str {
        match self.kind() {
            ErrorKind::Declaration(_) => "correct what the model declares",
            ErrorKind::Lookahead { .. } => "declare the channel with a shorter least delay, or send later",
            ErrorKind::NoChannel(_) => "declare the channel, or send where one leads",
            ErrorKind::Rounds { .. } => "break the loop of zero delays, or raise the model's bound on rounds",
            ErrorKind::Model(_) | ErrorKind::Panic(_) => "correct the model, or its parameters",
            ErrorKind::NotRestored(_) => "correct how the model restores its state",
            ErrorKind::NotRepeated => "let the handler depend on nothing but its state, its event and its context",
            ErrorKind::Thread(_) => "use fewer threads, or let the process have more of them and of memory",
            ErrorKind::Memory { .. } => "raise the memory limit, or simulate less at a time",
            ErrorKind::Ranks(_) => "look at the messages of the other processes, or use one process",
            ErrorKind::Malformed(_) => "use the file as it was saved, or start the run again",
            ErrorKind::Refused(_) => "the run is as it was",
            ErrorKind::Stopped => "start it again",
            ErrorKind::Trace(_) => "record them elsewhere, or make room for them",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place() {
            match place.lp {
                Some(lp) => write!(f, "{} at {}", self.shown(lp), place.instant)?,
                None => write!(f, "the global event at {}", place.instant)?,
            }
            match place.event {
                Some(key) => {
                    let sender = key.sender.as_lp().map_or_else(|| key.sender.to_string(), |lp| self.shown(lp));
                    write!(f, ", executing the event from {sender} #{}: ", key.sequence)?;
                }
                None if place.lp.is_some() => f.write_str(", starting up: ")?,
                None => f.write_str(": ")?,
            }
        }
        match self.kind() {
            ErrorKind::Declaration(what) | ErrorKind::NoChannel(what) | ErrorKind::Model(what) => f.write_str(what)?,
            ErrorKind::Lookahead { receiver, delay, lookahead } => {
                let receiver = self.shown(*receiver);
                write!(f, "it sent to {receiver} with delay {delay}, below the declared lookahead of {lookahead}")?;
            }
            ErrorKind::Rounds { limit, lps } => {
                write!(f, "zero-delay events went on for {limit} rounds at one time, among ")?;
                for (i, lp) in lps.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ", " }, self.shown(*lp))?;
                }
            }
            ErrorKind::Panic(message) => write!(f, "the model panicked: {message}")?,
            ErrorKind::NotRestored(what) => write!(f, "{what}")?,
            ErrorKind::NotRepeated => {
                f.write_str(
                    "executing the event once more, from a copy of the state, did something else than the first time",
                )?;
            }
            ErrorKind::Memory { limit, needed } => {
                write!(f, "the LPs and their pending events take {needed} bytes, above the limit of {limit} bytes")?;
            }
            ErrorKind::Ranks(what) | ErrorKind::Refused(what) => f.write_str(what)?,
            ErrorKind::Malformed(what) => write!(f, "the saved run cannot be read: {what}")?,
            ErrorKind::Thread(what) => write!(f, "a worker's thread could not be begun: {what}")?,
            ErrorKind::Stopped => f.write_str("the run was stopped while its LPs were being set up")?,
            ErrorKind::Trace(what) => write!(f, "the events could not be recorded: {what}")?,
        }
        if let Some(line) = self.line() {
            write!(f, " ({line})")?;
        }
        write!(f, "; {}", self.remedy())
    }
}

impl std::error::Error for Error {}
