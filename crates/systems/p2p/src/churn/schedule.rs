//! Sessions from a file.

use parades_config::{ConfigError, Place, Source, inputs, quoted, read_text};
use parades_core::event::LpId;
use parades_core::time::Time;
use std::ops::Range;
use std::path::Path;

/// The longest file in bytes. Sessions in memory take as much.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The sessions of nodes, as a file lists them.
///
/// Each line is `node join_s leave_s`: the number of a node, and the start and the end of the session in
/// seconds. Lines may be in any order; the sessions of one node must not overlap. Empty lines and lines that
/// begin with `#` are skipped. A node that the file does not name is there all the time.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_p2p::churn::Schedule;
///
/// let text = "# node join_s leave_s\n2 0 10.5\n2 30 60\n5 7 20\n";
/// let schedule = Schedule::parse("trace.txt".as_ref(), text.to_owned())?;
/// assert_eq!(schedule.sessions(), 3);
///
/// let error = Schedule::parse("trace.txt".as_ref(), "2 0 10\n2 9 20\n".to_owned()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "trace.txt:2:1: node 2 joins at 9 s, before its session from 0 s has ended; let the sessions of a node not overlap",
/// );
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The sessions by node, then by time.
    sessions: Vec<(LpId, Session)>,
}

/// A session of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Session {
    pub(super) join: Time,
    pub(super) leave: Time,
}

impl Schedule {
    /// Reads a schedule from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line of it is no session: one sentence, with the place.
    pub fn read(path: &Path) -> Result<Schedule, ConfigError> {
        match read_text(path, FILE_BYTES_MAX) {
            Ok(text) => Schedule::parse(path, text),
            Err(error) => Err(ConfigError::new(format!("the file cannot be read: {}", inputs::reason(&error)))
                .with_help("check its name and permissions")
                .at(Place::File(path.to_owned()))),
        }
    }

    /// Reads a schedule from memory; `file` is the name that errors give it.
    ///
    /// # Errors
    ///
    /// As [`Schedule::read`].
    pub fn parse(file: &Path, text: String) -> Result<Schedule, ConfigError> {
        let source = Source::new(file, text);
        let at = |(span, message, help): Refusal| {
            ConfigError::new(message).with_help(help).at(Place::Spot(source.spot(span)))
        };
        let mut lines = Vec::new();
        let mut begin = 0;
        for line in source.text.split('\n') {
            let start = begin + (line.len() - line.trim_start().len());
            begin += line.len() + 1;
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                lines.push(parse_line(line, start).map_err(at)?);
            }
        }
        // Stable: of sessions that begin at the same time, the later line is the one that is refused.
        lines.sort_by_key(|&(node, session, _)| (node, session.join));
        for pair in lines.windows(2) {
            let [(node, earlier, _), (next, later, span)] = pair else { unreachable!("windows of two") };
            if node == next && later.join < earlier.leave {
                let (join, from) = (later.join.as_secs_f64(), earlier.join.as_secs_f64());
                let message = format!("node {} joins at {join} s, before its session from {from} s has ended", node.0);
                return Err(at((span.clone(), message, "let the sessions of a node not overlap")));
            }
        }
        Ok(Schedule { sessions: lines.into_iter().map(|(node, session, _)| (node, session)).collect() })
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the greatest number of a node that the file names.
    pub fn last_node(&self) -> Option<LpId> {
        self.sessions.last().map(|&(node, _)| node)
    }

    /// Returns the sessions of a node.
    pub(super) fn of(&self, node: LpId) -> impl Iterator<Item = &Session> {
        let begin = self.sessions.partition_point(|&(other, _)| other < node);
        self.sessions[begin..].iter().take_while(move |(other, _)| *other == node).map(|(_, session)| session)
    }
}

/// A refusal: the place, a sentence on what is wrong, and what to do about it.
type Refusal = (Range<usize>, String, &'static str);

/// Reads the line that begins at the byte `begin` of the file.
fn parse_line(line: &str, begin: usize) -> Result<(LpId, Session, Range<usize>), Refusal> {
    const FORM: &str = "write `node join_s leave_s`";
    let span = |word: &str| {
        let offset = begin + (word.as_ptr().addr() - line.as_ptr().addr());
        offset..offset + word.len()
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let [node, join, leave] = words[..] else {
        let message = format!("this line has {} words, not 3", words.len());
        return Err((span(line), message, FORM));
    };
    let id = node.parse().ok().filter(|&id| id < u32::MAX).map(LpId);
    let id = id.ok_or_else(|| (span(node), format!("{} is no number of a node", quoted(node)), FORM))?;
    let time = |word: &str| {
        let time = word.parse().ok().and_then(Time::try_from_secs_f64);
        time.ok_or_else(|| (span(word), format!("{} is no time in seconds", quoted(word)), FORM))
    };
    let session = Session { join: time(join)?, leave: time(leave)? };
    if session.leave <= session.join {
        return Err((span(leave), "the session ends before it has begun".into(), "let it end later"));
    }
    Ok((id, session, span(line)))
}
