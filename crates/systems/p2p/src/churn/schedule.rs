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
/// The form that PeerSim's trace reader takes is read too (`AvailabilityTraceDynamics`; the traces of S.
/// Saroiu, P. Gummadi, S. Gribble, "Measuring and Analyzing the Characteristics of Napster and Gnutella
/// Hosts", Multimedia Systems 9, 2003). Each line is `host n start_1 end_1 … start_n end_n`: a word for the
/// host, the number of its sessions, and their times in seconds, in order. The nodes from 0 on get the lines
/// in their order; lines of 0 sessions are skipped. The first line of the file decides: a line of three words
/// is in the first form.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_p2p::churn::Schedule;
///
/// let text = "# node join_s leave_s\n2 0 10.5\n2 30 60\n5 7 20\n";
/// let schedule = Schedule::parse("trace.txt".as_ref(), text.to_owned())?;
/// assert_eq!(schedule.sessions(), 3);
///
/// let text = "10.0.0.1 2 0 10.5 30 60\n10.0.0.2 0\n10.0.0.3 1 7 20\n";
/// let of_peersim = Schedule::parse("trace.txt".as_ref(), text.to_owned())?;
/// assert_eq!((of_peersim.sessions(), of_peersim.last_node()), (3, Some(LpId(1))));
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
            Err(error) => Err(inputs::unreadable(path, &error)),
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
        let mut form = None;
        let mut begin = 0;
        for line in source.text.split('\n') {
            let start = begin + (line.len() - line.trim_start().len());
            begin += line.len() + 1;
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                let line = Line { words: line.split_whitespace().collect(), text: line, begin: start };
                match *form.get_or_insert(if line.words.len() == 3 { Form::Sessions } else { Form::Hosts(0) }) {
                    Form::Sessions => lines.push(line.session().map_err(at)?),
                    Form::Hosts(hosts) => {
                        let sessions = line.sessions_of(LpId(hosts)).map_err(at)?;
                        form = Some(Form::Hosts(hosts + u32::from(!sessions.is_empty())));
                        lines.extend(sessions);
                    }
                }
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

/// The form of a file.
#[derive(Clone, Copy)]
enum Form {
    /// A line for each session.
    Sessions,
    /// A line for each host, as PeerSim has it; with the number of hosts so far.
    Hosts(u32),
}

/// A line of the file, without blanks at its ends.
struct Line<'a> {
    words: Vec<&'a str>,
    text: &'a str,
    /// The byte of the file at which it begins.
    begin: usize,
}

/// A session of a node, and its place in the file.
type Placed = (LpId, Session, Range<usize>);

impl Line<'_> {
    /// Returns the place of a word, or of the whole line, in the file.
    fn span(&self, word: &str) -> Range<usize> {
        let offset = self.begin + (word.as_ptr().addr() - self.text.as_ptr().addr());
        offset..offset + word.len()
    }

    /// Reads a line `node join_s leave_s`.
    fn session(&self) -> Result<Placed, Refusal> {
        const FORM: &str = "write `node join_s leave_s` as numbers, `3 0 9.5`, and no line of names";
        let [node, join, leave] = self.words[..] else {
            let message = format!("this line has {} words, not 3", self.words.len());
            return Err((self.span(self.text), message, FORM));
        };
        let id = node.parse().ok().filter(|&id| id < u32::MAX).map(LpId);
        let id = id.ok_or_else(|| (self.span(node), format!("{} is no number of a node", quoted(node)), FORM))?;
        Ok((id, self.between(join, leave, FORM)?, self.span(self.text)))
    }

    /// Reads a line `host n start_1 end_1 … start_n end_n`, whose host is the node `node`.
    fn sessions_of(&self, node: LpId) -> Result<Vec<Placed>, Refusal> {
        const FORM: &str = "write `host n start_1 end_1 … start_n end_n`, or `node join_s leave_s` in all lines";
        let [_, count, ref times @ ..] = self.words[..] else {
            return Err((self.span(self.text), "this line has 1 word".into(), FORM));
        };
        let sessions: Option<usize> = count.parse().ok();
        let sessions =
            sessions.ok_or_else(|| (self.span(count), format!("{} is no number of sessions", quoted(count)), FORM))?;
        if sessions.checked_mul(2) != Some(times.len()) {
            let message = format!("{sessions} sessions have 2 times each, but this line has {} times", times.len());
            return Err((self.span(count), message, FORM));
        }
        let mut placed: Vec<Placed> = Vec::with_capacity(sessions);
        for pair in times.chunks_exact(2) {
            let session = self.between(pair[0], pair[1], FORM)?;
            if let Some((_, last, _)) = placed.last().filter(|(_, last, _)| session.join < last.leave) {
                let (join, end) = (session.join.as_secs_f64(), last.leave.as_secs_f64());
                let message = format!("a session begins at {join} s, but the one before it ends at {end} s");
                return Err((self.span(pair[0]), message, "list the sessions of a host in the order of time"));
            }
            placed.push((node, session, self.span(pair[0])));
        }
        Ok(placed)
    }

    fn between(&self, join: &str, leave: &str, form: &'static str) -> Result<Session, Refusal> {
        let time = |word: &str| {
            let time = word.parse().ok().and_then(Time::try_from_secs_f64);
            time.ok_or_else(|| (self.span(word), format!("{} is no time in seconds", quoted(word)), form))
        };
        let session = Session { join: time(join)?, leave: time(leave)? };
        if session.leave <= session.join {
            return Err((self.span(leave), "the session ends before it has begun".into(), "let it end later"));
        }
        Ok(session)
    }
}
