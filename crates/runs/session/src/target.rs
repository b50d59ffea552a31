//! Which event is meant: `4:1.5ms`, `east.0:1.5ms`, or the line of a trace.

use crate::lp_names::{LpNames, NoLp};
use parades_catalog::program_name;
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

/// The error of a text that names no event: a sentence, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTarget {
    /// The message: a sentence without a full stop.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl fmt::Display for NoTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for NoTarget {}

/// Reads a description without names.
impl std::str::FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Target, NoTarget> {
        Target::find(text, &LpNames::default())
    }
}

/// A possible reading of a description, whose names are not resolved yet.
struct Reading<'a> {
    lp: &'a str,
    time: Time,
    round: Option<u32>,
    sent: Option<(&'a str, u64)>,
}

impl Reading<'_> {
    fn resolve(&self, names: &LpNames) -> Result<Target, NoLp> {
        let sender = |sender: &str| match sender.trim().eq_ignore_ascii_case("global") {
            true => Ok(Sender::GLOBAL),
            false => names.find(sender).map(Sender::lp),
        };
        let lp = names.find(self.lp)?;
        let sent = self.sent.map(|(from, number)| Ok((sender(from)?, number))).transpose()?;
        Ok(Target { lp, time: self.time, round: self.round, sent })
    }
}

/// Returns the readings of `LP:TIME[+ROUND][:SENDER#NUMBER]`. A name may have colons.
fn of_parts(text: &str) -> impl Iterator<Item = Reading<'_>> {
    text.match_indices(':').filter_map(|(colon, _)| {
        let (lp, rest) = (&text[..colon], &text[colon + 1..]);
        let (instant, sent) = rest.split_once(':').map_or((rest, None), |(instant, sent)| (instant, Some(sent)));
        let (time, round) = instant_of(instant)?;
        let sent = match sent {
            None => None,
            Some(sent) => {
                let (sender, number) = sent.rsplit_once('#')?;
                Some((sender, number.trim().parse().ok()?))
            }
        };
        Some(Reading { lp, time, round, sent })
    })
}

/// Returns the readings of a line of a trace, `INSTANT LP <- SENDER #NUMBER …`. A name may have blanks,
/// arrows and number signs.
fn of_line(line: &str) -> impl Iterator<Item = Reading<'_>> {
    let parts = line.trim_start().split_once(' ').and_then(|(instant, rest)| Some((instant_of(instant)?, rest)));
    parts.into_iter().flat_map(|((time, round), rest)| {
        let arrows = rest.match_indices("<-").map(move |(arrow, _)| (&rest[..arrow], &rest[arrow + 2..]));
        arrows.flat_map(move |(lp, from)| {
            from.match_indices('#').filter_map(move |(sign, _)| {
                let number = from[sign + 1..].split_whitespace().next()?.parse().ok()?;
                Some(Reading { lp, time, round: Some(round.unwrap_or(0)), sent: Some((&from[..sign], number)) })
            })
        })
    })
}

fn instant_of(text: &str) -> Option<(Time, Option<u32>)> {
    let (time, round) = match text.trim().split_once('+') {
        Some((time, round)) => (time, Some(round.trim().parse().ok()?)),
        None => (text.trim(), None),
    };
    Some((parades_config::units::parse_time(time.trim()).ok()?, round))
}

impl Target {
    /// Reads a description, as in the examples above. A logical process may be given by its name.
    ///
    /// # Errors
    ///
    /// If the text describes no event, or a name in it is not that of one logical process.
    pub fn find(text: &str, names: &LpNames) -> Result<Target, NoTarget> {
        let mut unknown = None;
        for reading in of_line(text).chain(of_parts(text)) {
            match reading.resolve(names) {
                Ok(target) => return Ok(target),
                Err(why) => _ = unknown.get_or_insert(why),
            }
        }
        let (message, help) = match unknown {
            Some(NoLp { message, help }) => (message, help),
            None => (
                "it names no event: write LP:TIME, as in `4:1.5ms`, LP:TIME:SENDER#NUMBER, as in `4:1.5ms:3#7`, or a line of a trace"
                    .to_owned(),
                format!("`{} run --trace FILE` writes such lines", program_name()),
            ),
        };
        Err(NoTarget { message, help })
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> LpNames {
        let names = ["east.0", "New York", "a <- b #1", "c:d", "2", "red \u{1b}[31m", "twin", "twin"];
        (0..).map(LpId).zip(names.map(str::to_owned)).collect()
    }

    fn find(text: &str) -> Result<Target, NoTarget> {
        Target::find(text, &names())
    }

    #[test]
    fn a_name_stands_for_its_logical_process_in_every_form() {
        for (named, numbered) in [
            ("east.0:1.5ms", "0:1.5ms"),
            ("New York:1.5ms+2", "1:1.5ms+2"),
            ("New York:1.5ms:east.0#7", "1:1.5ms:0#7"),
            ("c:d:1ms:c:d#3", "3:1ms:3#3"),
            ("a <- b #1:1ms", "LP 2:1ms"),
            ("red \\u{1b}[31m:1ms", "5:1ms"),
            ("red \u{1b}[31m:1ms", "5:1ms"),
            ("LP 6:1ms", "6:1ms"),
            ("0.0015s New York <- east.0 #7 app video #188", "0.0015s LP 1 <- LP 0 #7 x"),
            ("1s+2 a <- b #1 <- a <- b #1 #7 timer 3", "1s+2 LP 2 <- LP 2 #7 x"),
            ("1s east.0 <- GLOBAL #4 x", "1s LP 0 <- GLOBAL #4 x"),
        ] {
            assert_eq!(find(named), numbered.parse(), "{named}");
        }
        // The name `2` is that of another one than the number 2.
        assert_eq!(find("2:1ms").map(|target| target.lp), Ok(LpId(4)));
    }

    #[test]
    fn a_name_that_is_not_that_of_one_logical_process_is_refused_with_a_suggestion() {
        for (text, message) in [
            ("esat.0:1ms", "there is no logical process `esat.0`; did you mean `east.0`?"),
            ("1s east.0 <- Nwe York #4 x", "there is no logical process `Nwe York`; did you mean `New York`?"),
            ("twin:1ms", "2 logical processes are called `twin`; write the number of one of them, as in `LP 6`"),
        ] {
            assert_eq!(find(text).map_err(|why| why.to_string()), Err(message.to_owned()), "{text}");
        }
        let nameless = "x:1ms".parse::<Target>().map_err(|why| why.to_string());
        let message = "there is no logical process `x`; here they have no names: write a number";
        assert_eq!(nameless, Err(message.to_owned()));
    }
}
