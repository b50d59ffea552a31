//! Why an event happened: the chain of events that led to it.
//!
//! *Idea.* An event's key names who sent it, and which of its sends it was; a trace that is told what each handler sends ([`Note`]) thus knows
//! during which event that was. That is its *cause*. From cause to cause one comes to the start, where an LP sent to itself, or to a global event.
//!
//! *Protocol.* The run is executed twice, which gives the same events in the same order. The first time, [`Causes`] numbers the events and keeps the number
//! of the cause of each, until the event in question comes. The second time, [`Chain`] keeps the lines of those in its chain.
//!
//! *Memory.* Four bytes an event, and some dozens for each message under way; and the lines of the chain.

use parades_core::event::{Body, EventKey, LpId, Sender, TimerId};
use parades_core::time::{Instant, Time};
use parades_core::trace::{Executed, Note};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Which event is meant.
///
/// ```
/// use parades_core::event::{LpId, Sender};
/// use parades_inspect::cause::Target;
/// let of = |text: &str| text.parse::<Target>();
/// assert_eq!(of("4:1.5ms").unwrap().lp, LpId(4));
/// assert_eq!(of("4:1.5ms+2").unwrap().round, Some(2)); // of the second round at that time
/// assert_eq!(of("4:1.5ms:3#7").unwrap().sent, Some((Sender::lp(LpId(3)), 7))); // the one that LP 3 sent as its number 7
/// assert_eq!(of("0.0015s LP 4 <- LP 3 #7 Packet").unwrap(), of("4:1.5ms+0:3#7").unwrap()); // the line of a trace
/// assert!(of("4").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Who executes it.
    pub lp: LpId,
    /// When.
    pub time: Time,
    /// In which round of that time; `None` for any.
    pub round: Option<u32>,
    /// Who sent it, and as which of its sends; `None` for the first event there.
    pub sent: Option<(Sender, u64)>,
}

/// That a text names no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTarget(String);

impl fmt::Display for NoTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoTarget {}

impl std::str::FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Target, NoTarget> {
        let wrong = || {
            NoTarget(
                "it names no event: write LP:TIME, as in `4:1.5ms`, LP:TIME:SENDER#NUMBER, as in `4:1.5ms:3#7`, or a line of a trace"
                    .to_owned(),
            )
        };
        let found = if text.contains("<-") { of_line(text) } else { of_parts(text) };
        found.ok_or_else(wrong)
    }
}

/// `LP:TIME[+ROUND][:SENDER#NUMBER]`.
fn of_parts(text: &str) -> Option<Target> {
    let mut parts = text.splitn(3, ':');
    let lp = lp_of(parts.next()?)?;
    let (time, round) = instant_of(parts.next()?)?;
    let sent = match parts.next() {
        None => None,
        Some(sent) => {
            let (sender, number) = sent.split_once('#')?;
            Some((sender_of(sender)?, number.trim().parse().ok()?))
        }
    };
    Some(Target { lp, time, round, sent })
}

/// `INSTANT LP n <- SENDER #NUMBER …`.
fn of_line(line: &str) -> Option<Target> {
    let (at, from) = line.split_once("<-")?;
    let (instant, lp) = at.trim().split_once(' ')?;
    let (time, round) = instant_of(instant)?;
    let (sender, rest) = from.split_once('#')?;
    let number = rest.split_whitespace().next()?.parse().ok()?;
    Some(Target { lp: lp_of(lp)?, time, round: Some(round.unwrap_or(0)), sent: Some((sender_of(sender)?, number)) })
}

fn lp_of(text: &str) -> Option<LpId> {
    let text = text.trim();
    let number = text.strip_prefix("LP").unwrap_or(text).trim();
    number.parse().ok().filter(|&id| id < u32::MAX).map(LpId)
}

fn sender_of(text: &str) -> Option<Sender> {
    if text.trim().eq_ignore_ascii_case("global") { Some(Sender::GLOBAL) } else { lp_of(text).map(Sender::lp) }
}

fn instant_of(text: &str) -> Option<(Time, Option<u32>)> {
    let (time, round) = match text.trim().split_once('+') {
        Some((time, round)) => (time, Some(round.trim().parse().ok()?)),
        None => (text.trim(), None),
    };
    Some((parades_config::units::parse_time(time.trim()).ok()?, round))
}

impl Target {
    /// The event of this key at an LP.
    pub fn of_key(lp: LpId, key: &EventKey) -> Target {
        let EventKey { instant, sender, sequence, .. } = *key;
        Target { lp, time: instant.time, round: Some(instant.round), sent: Some((sender, sequence)) }
    }

    /// Whether an event is meant.
    pub fn is(&self, lp: LpId, key: &EventKey) -> bool {
        self.lp == lp
            && self.time == key.instant.time
            && self.round.is_none_or(|round| round == key.instant.round)
            && self.sent.is_none_or(|sent| sent == (key.sender, key.sequence))
    }
}

/// No event: it was sent at the start, or by a global event.
const NONE: u32 = u32::MAX;

/// The causes of the events of a run, up to one of them.
#[derive(Debug)]
pub struct Causes {
    target: Option<Target>,
    /// By number of an event: that of its cause.
    causes: Vec<u32>,
    /// During which event a message under way was sent, by sender and sequence.
    sent: BTreeMap<(LpId, u64), u32>,
    /// The sequence of a timer's latest setting, and during which event that was.
    set: BTreeMap<(LpId, TimerId), (u64, u32)>,
    /// The event in question, and how many others the same description fits.
    found: Option<u32>,
    others: u32,
    /// The last event before it at its LP, and its line.
    last: Option<(u32, String)>,
    too_many: bool,
}

impl Causes {
    /// Of the events up to `target`, or, without one, of all events up to the failure of the run.
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

    /// Takes up the next event.
    pub fn event(&mut self, executed: &Executed<'_>) {
        let Executed { key, receiver, body, notes } = executed;
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
                Note::Line(_) => {}
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

    /// The cause of an event that comes now, or has failed.
    fn take_cause(&mut self, receiver: LpId, key: &EventKey, timer: Option<TimerId>) -> u32 {
        let of_timer = timer.and_then(|id| self.set.get(&(receiver, id)));
        match (of_timer, key.sender.as_lp()) {
            (Some((sequence, cause)), _) if *sequence == key.sequence => *cause,
            (_, Some(sender)) => self.sent.remove(&(sender, key.sequence)).unwrap_or(NONE),
            (_, None) => NONE,
        }
    }

    /// Whether the event in question has come.
    pub fn is_found(&self) -> bool {
        self.found.is_some()
    }

    /// How many other events the same description fits.
    pub fn others(&self) -> u32 {
        self.others
    }

    /// Whether the run has more events than can be numbered.
    pub fn are_too_many(&self) -> bool {
        self.too_many
    }

    /// The line of the last event before the one in question, at its LP.
    pub fn last_before(&self) -> Option<&str> {
        self.last.as_ref().map(|(_, line)| line.as_str())
    }

    /// The chain that led to the last event before the time in question, where no more than that and the LP is known of it.
    pub fn chain_before(&self, links: usize) -> Option<Chain> {
        self.target.filter(|target| target.round.is_none() && target.sent.is_none())?;
        self.last.as_ref().map(|(number, _)| self.chain_from(*number, links))
    }

    /// The chain that led to the event in question, `links` events of it at most; nothing if it has not come.
    pub fn chain(&self, links: usize) -> Option<Chain> {
        Some(self.chain_from(self.found?, links))
    }

    /// The chain that led to an event that failed, and so was not executed for good; nothing if it has no cause.
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
    /// When it was executed.
    pub instant: Instant,
    /// By whom.
    pub lp: LpId,
    /// Who sent it, and as which of its sends.
    pub sent: (Sender, u64),
}

/// The events of a chain, to be found in a second run.
#[derive(Clone, Debug)]
pub struct Chain {
    wanted: BTreeSet<u32>,
    number: u32,
    links: Vec<Link>,
    is_whole: bool,
}

impl Chain {
    /// Takes up the next event of the same run.
    pub fn event(&mut self, executed: &Executed<'_>) {
        if self.wanted.contains(&self.number) {
            let EventKey { instant, sender, sequence, .. } = executed.key;
            let (line, lp) = (executed.to_string(), executed.receiver);
            self.links.push(Link { line, instant, lp, sent: (sender, sequence) });
        }
        self.number = self.number.saturating_add(1);
    }

    /// The events found, the first cause first.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// How many there are to be found.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// Whether there are none, which is never so.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Whether the first of them has no event as its cause.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// What an event without a cause came from, as far as its sender tells.
pub fn origin(link: &Link) -> String {
    match link.sent.0.as_lp() {
        Some(lp) if lp == link.lp => format!("{lp} sent it to itself at its start, or when a global event visited it"),
        _ => "a global event sent it".to_owned(),
    }
}
