//! Which event is meant: `4:1.5ms`, or the line of a trace.

use parades_core::event::{EventKey, LpId, Sender};
use parades_core::time::Time;
use std::fmt;

/// A description of one event.
///
/// ```
/// use parades_core::event::{LpId, Sender};
/// use parades_session::cause::Target;
/// let of = |text: &str| text.parse::<Target>();
/// assert_eq!(of("4:1.5ms").unwrap().lp, LpId(4));
/// assert_eq!(of("4:1.5ms+2").unwrap().round, Some(2)); // in round 2 of that time
/// assert_eq!(of("4:1.5ms:3#7").unwrap().sent, Some((Sender::lp(LpId(3)), 7))); // sent by LP 3, as its number 7
/// assert_eq!(of("0.0015s LP 4 <- LP 3 #7 Packet").unwrap(), of("4:1.5ms+0:3#7").unwrap()); // a line of a trace
/// assert!(of("4").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The logical process that executes the event.
    pub lp: LpId,
    /// The time of the event.
    pub time: Time,
    /// The round of that time; `None` for any.
    pub round: Option<u32>,
    /// The sender, and its own count of sends; `None` for the first event there.
    pub sent: Option<(Sender, u64)>,
}

/// The error of a text that names no event.
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

/// Reads `LP:TIME[+ROUND][:SENDER#NUMBER]`.
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

/// Reads a line of a trace, `INSTANT LP n <- SENDER #NUMBER …`.
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
    /// Describes the event of this key at a logical process.
    pub fn of_key(lp: LpId, key: &EventKey) -> Target {
        let EventKey { instant, sender, sequence, .. } = *key;
        Target { lp, time: instant.time, round: Some(instant.round), sent: Some((sender, sequence)) }
    }

    /// True if an event fits this description.
    pub fn is(&self, lp: LpId, key: &EventKey) -> bool {
        self.lp == lp
            && self.time == key.instant.time
            && self.round.is_none_or(|round| round == key.instant.round)
            && self.sent.is_none_or(|sent| sent == (key.sender, key.sequence))
    }
}
