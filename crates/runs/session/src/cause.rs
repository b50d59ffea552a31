//! Why an event happened: the chain of events that led to it.
//!
//! *Idea.* The key of an event names its sender and the sender's count of sends. A trace that is told what
//! each handler sends ([`Note`]) therefore knows during which event that was: the *cause*. The causes lead
//! back to the start, where a logical process sent to itself, or to a global event.
//!
//! *Protocol.* The run is executed twice, which gives the same events in the same order.
//!
//! 1. In the first run, [`Causes`] numbers the events and keeps the number of the cause of each, until the
//!    wanted event comes.
//! 2. In the second run, [`Chain`] keeps the lines of the events in the chain.
//!
//! *Memory.* Four bytes for each event, some dozens for each message on its way, and the lines of the chain.

pub use crate::target::{NoTarget, Target};

use parades_core::event::{Body, EventKey, LpId, Sender, TimerId};
use parades_core::time::Instant;
use parades_core::trace::{Executed, Note};
use std::collections::{BTreeMap, BTreeSet};

/// In place of a cause: the event was sent at the start, or by a global event.
const NONE: u32 = u32::MAX;

/// The causes of the events of a run, up to the wanted event.
#[derive(Debug)]
pub struct Causes {
    target: Option<Target>,
    /// The number of the cause, by the number of the event.
    causes: Vec<u32>,
    /// The number of the event during which a message on its way was sent, by sender and sequence.
    sent: BTreeMap<(LpId, u64), u32>,
    /// The sequence of a timer's latest setting, and the number of the event during which it was set.
    set: BTreeMap<(LpId, TimerId), (u64, u32)>,
    /// The number of the wanted event, once it has come.
    found: Option<u32>,
    /// The number of other events that fit the same description.
    others: u32,
    /// The last event before the wanted one at its logical process: its number and its line.
    last: Option<(u32, String)>,
    /// True if the run has more events than 32 bits can number.
    too_many: bool,
}

impl Causes {
    /// Looks for `target`; without one, numbers all events up to the failure of the run.
    pub fn new(target: Option<Target>) -> Causes {
        Causes {
            target,
            causes: Vec::new(),
            sent: BTreeMap::new(),
            set: BTreeMap::new(),
            found: None,
            others: 0,
            last: None,
            too_many: false,
        }
    }

    /// Adds the next event of the run.
    pub fn event(&mut self, executed: &Executed<'_>) {
        let Executed { key, receiver, body, notes, .. } = executed;
        let Some(number) = u32::try_from(self.causes.len()).ok().filter(|&number| number < NONE) else {
            self.too_many = true;
            return;
        };
        let timer = if let Body::Timer(id) = body { Some(*id) } else { None };
        let cause = self.take_cause(*receiver, key, timer);
        self.causes.push(cause);
        for note in *notes {
            match note {
                Note::Sent { key, .. } => {
                    self.sent.insert((*receiver, key.sequence), number);
                }
                Note::Set { timer, sequence } => {
                    self.set.insert((*receiver, *timer), (*sequence, number));
                }
                Note::Line(_) | Note::Observed { .. } | Note::Captured(_) => {}
            }
        }
        if let Some(target) = &self.target {
            if target.is(*receiver, key) {
                self.others += u32::from(self.found.is_some());
                self.found.get_or_insert(number);
            } else if target.lp == *receiver && self.found.is_none() && key.instant.time <= target.time {
                self.last = Some((number, executed.to_string()));
            }
        }
    }

    /// Removes and returns the cause of an event that comes now, or that has failed.
    fn take_cause(&mut self, receiver: LpId, key: &EventKey, timer: Option<TimerId>) -> u32 {
        let of_timer = timer.and_then(|id| self.set.get(&(receiver, id)));
        match (of_timer, key.sender.as_lp()) {
            (Some((sequence, cause)), _) if *sequence == key.sequence => *cause,
            (_, Some(sender)) => self.sent.remove(&(sender, key.sequence)).unwrap_or(NONE),
            (_, None) => NONE,
        }
    }

    /// True if the wanted event has come.
    pub fn is_found(&self) -> bool {
        self.found.is_some()
    }

    /// Returns the number of other events that fit the same description.
    pub fn others(&self) -> u32 {
        self.others
    }

    /// True if the run has more events than can be numbered.
    pub fn are_too_many(&self) -> bool {
        self.too_many
    }

    /// Returns the line of the last event before the wanted one, at its logical process.
    pub fn last_before(&self) -> Option<&str> {
        self.last.as_ref().map(|(_, line)| line.as_str())
    }

    /// Returns the chain that led to the last event before the wanted time. There is none where the
    /// description says more than a logical process and a time.
    pub fn chain_before(&self, links: usize) -> Option<Chain> {
        self.target.filter(|target| target.round.is_none() && target.sent.is_none())?;
        self.last.as_ref().map(|(number, _)| self.chain_from(*number, links))
    }

    /// Returns the latest `links` events of the chain that led to the wanted event; `None` if it has not
    /// come.
    pub fn chain(&self, links: usize) -> Option<Chain> {
        Some(self.chain_from(self.found?, links))
    }

    /// Returns the chain that led to an event that failed, and so was never committed; `None` if it has no
    /// cause.
    pub fn chain_to_failure(&mut self, lp: LpId, key: &EventKey, links: usize) -> Option<Chain> {
        let by_timer = self.set.iter().find(|((of, _), (sequence, _))| *of == lp && *sequence == key.sequence);
        let timer = by_timer.filter(|_| key.sender == Sender::lp(lp)).map(|((_, id), _)| *id);
        let cause = self.take_cause(lp, key, timer);
        (cause != NONE).then(|| self.chain_from(cause, links))
    }

    fn chain_from(&self, last: u32, links: usize) -> Chain {
        let cause = |&number: &u32| Some(self.causes[number as usize]).filter(|&cause| cause != NONE);
        let mut chain = std::iter::successors(Some(last), cause);
        let wanted: BTreeSet<u32> = chain.by_ref().take(links).collect();
        let is_whole = chain.next().is_none();
        Chain { wanted, number: 0, links: Vec::new(), is_whole }
    }
}

/// An event of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its line in a trace.
    pub line: String,
    /// The lines that its handler wrote into the trace.
    pub notes: Vec<String>,
    /// The instant of its execution.
    pub instant: Instant,
    /// The logical process that executed it.
    pub lp: LpId,
    /// The name of that logical process.
    pub name: String,
    /// Its sender, and the sender's own count of sends.
    pub sent: (Sender, u64),
}

/// The events of a chain, which a second run finds.
#[derive(Clone, Debug)]
pub struct Chain {
    wanted: BTreeSet<u32>,
    number: u32,
    links: Vec<Link>,
    is_whole: bool,
}

impl Chain {
    /// Adds the next event of the second run.
    pub fn event(&mut self, executed: &Executed<'_>) {
        if self.wanted.contains(&self.number) {
            let EventKey { instant, sender, sequence, .. } = executed.key;
            let mut lines = executed.lines();
            let (line, lp) = (lines.next().unwrap_or_default(), executed.receiver);
            let (name, notes) = (executed.name_of(lp), lines.collect());
            self.links.push(Link { line, notes, instant, lp, name, sent: (sender, sequence) });
        }
        self.number = self.number.saturating_add(1);
    }

    /// Returns the events found, the first cause first.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the number of events in the chain, found or not.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// True if the chain has no event, which does not happen.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// True if the first event of the chain has no event as its cause.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// Returns a sentence on where an event without a cause came from.
pub fn origin(link: &Link) -> String {
    match link.sent.0.as_lp() {
        Some(lp) if lp == link.lp => {
            format!("{} sent it to itself at its start, or when a global event visited it", link.name)
        }
        None if link.sent.0 == Sender::OUTSIDE => "it came from outside the model".to_owned(),
        _ => "a global event sent it".to_owned(),
    }
}
