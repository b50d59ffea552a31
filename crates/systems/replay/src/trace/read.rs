//! Reading trace files.

use super::words::{ANY_SOURCE, Words, offset_in};
use super::{Action, Incoming, Outgoing, Step, Trace};
use parades_config::{ConfigError, Fault, Place, quoted};
use parades_core::time::Delay;
use std::path::{Path, PathBuf};

/// The greatest size of a file, in bytes.
const FILE_BYTES_MAX: usize = 1 << 30;
/// SMPI's `MPI_UNDEFINED`, by which a `wait` names the sender of a message that any rank may have sent.
const UNDEFINED: &str = "-333";

/// Reads the trace at `path`, or the traces that the list at `path` names, relative to its folder.
///
/// # Errors
///
/// If a file cannot be read, a line is no action, or a rank has no line. The error is one sentence with the
/// place.
pub fn read(path: &Path) -> Result<Trace, ConfigError> {
    let text = text_of(path)?;
    let begins_with_rank = |line: &str| line.split_whitespace().next().is_some_and(|word| word.parse::<u32>().is_ok());
    let first = content(&text).map(|(_, line)| line).next().filter(|line| !begins_with_rank(line));
    if first.is_none() {
        return Reader::read(vec![(path.to_owned(), text)]);
    }
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let one = |(_, name): (u32, &str)| {
        let file = folder.join(name);
        if file.exists() {
            return Ok((file.clone(), text_of(&file)?));
        }
        let message = if Some(name) == first {
            format!("{} is neither an action, as it begins with no rank, nor the name of a file", quoted(name))
        } else {
            format!("there is no file {}", quoted(&file.to_string_lossy()))
        };
        let help = "write actions, `RANK ACTION …`, or names of files relative to the folder of this one";
        Err(Fault::new(offset_in(&text, name), message, help).within(path, &text))
    };
    Reader::read(content(&text).map(one).collect::<Result<_, _>>()?)
}

/// Returns the lines that are neither empty nor comments, without blanks at their ends, and their numbers.
fn content(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let lines = (1..).zip(text.split('\n')).map(|(number, line)| (number, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn text_of(path: &Path) -> Result<String, ConfigError> {
    let bytes = parades_topology::xml::bytes_of(path, FILE_BYTES_MAX, "trace fewer actions")?;
    Ok(parades_topology::xml::text_of(path, &bytes)?.to_owned())
}

/// Reads a trace from memory. Errors name the file `file`.
///
/// # Examples
///
/// ```
/// use parades_replay::trace::{self, Action, Outgoing};
/// let trace = trace::parse("t".as_ref(), "0 init\n0 compute 1e9\n0 send 1 0 1e6\n1 recv 0 0 1e6\n")?;
/// assert_eq!(trace.ranks[0][1].action, Action::Send(Outgoing { to: 1, tag: 0, bytes: 1e6 }));
///
/// let error = trace::parse("t".as_ref(), "0 init\n0 brodcast 7\n").unwrap_err();
/// assert_eq!(error.to_string(), "t:2:3: there is no action `brodcast`; did you mean `bcast`?");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// As [`read`].
pub fn parse(file: &Path, text: &str) -> Result<Trace, ConfigError> {
    Reader::read(vec![(file.to_owned(), text.to_owned())])
}

/// The ranks up to here.
struct Reader {
    ranks: Vec<Vec<Step>>,
    /// By rank, true if amounts without a type are of `double`.
    doubles: Vec<bool>,
}

impl Reader {
    /// Reads the trace that is in these files.
    fn read(files: Vec<(PathBuf, String)>) -> Result<Trace, ConfigError> {
        let count = Reader::count(&files)?;
        let mut reader = Reader { ranks: vec![Vec::new(); count], doubles: vec![false; count] };
        for (index, (file, text)) in (0..).zip(&files) {
            reader.lines(index, text).map_err(|fault| fault.within(file, text))?;
        }
        Ok(Trace { ranks: reader.ranks, files: files.into_iter().map(|(file, _)| file).collect() })
    }

    /// Returns the number of ranks, each of which has a line.
    fn count(files: &[(PathBuf, String)]) -> Result<usize, ConfigError> {
        let mut has_line: Vec<bool> = Vec::new();
        let mut last = None;
        for (file, text) in files {
            for (_, line) in content(text) {
                let rank = Words::of(text, line, 0).rank_from_0().map_err(|fault| fault.within(file, text))?;
                if has_line.len() <= rank {
                    has_line.resize(rank + 1, false);
                    last = Some((file, text, line));
                }
                has_line[rank] = true;
            }
        }
        let Some((file, text, line)) = last else {
            let error = ConfigError::new("the trace has no action").with_help("write lines such as `0 compute 1e9`");
            return Err(match files.first() {
                Some((file, _)) => error.at(Place::File(file.clone())),
                None => error,
            });
        };
        if let Some(rank) = has_line.iter().position(|has_line| !has_line) {
            let message = format!("this line is of rank {}, but no line is of rank {rank}", has_line.len() - 1);
            let help = "give the trace of all ranks: that of a rank that does nothing is `RANK init`";
            return Err(Fault::new(offset_in(text, line), message, help).within(file, text));
        }
        Ok(has_line.len())
    }

    fn lines(&mut self, file: u32, text: &str) -> Result<(), Fault> {
        for (line, content) in content(text) {
            let words = Words::of(text, content, self.ranks.len());
            let rank = words.rank_from_0()?;
            if let Some(action) = self.action(rank, &words)? {
                self.ranks[rank].push(Step { action, file, line });
            }
        }
        Ok(())
    }

    /// Reads the action of a line. `None` if it takes no time.
    fn action(&mut self, rank: usize, words: &Words<'_>) -> Result<Option<Action>, Fault> {
        let double = self.doubles[rank];
        let name = words.name()?;
        Ok(Some(match name.as_str() {
            "init" => {
                words.at_most(1)?;
                self.doubles[rank] = words.words.len() > 2;
                return Ok(None);
            }
            "finalize" | "comm_size" | "comm_split" | "comm_dup" | "location" => return Ok(None),
            "compute" => {
                words.at_most(1)?;
                Action::Compute(words.flops(2)?)
            }
            "sleep" => {
                words.at_most(1)?;
                let seconds = words.number(2, "time in seconds", f64::MAX)?;
                let delay = Delay::try_from_secs_f64(seconds);
                Action::Sleep(delay.ok_or_else(|| words.fault(2, "is past the end of virtual time"))?)
            }
            "send" => Action::Send(words.outgoing(double)?),
            "isend" => Action::Isend(words.outgoing(double)?),
            "recv" => Action::Recv(words.incoming(double)?),
            "irecv" => Action::Irecv(words.incoming(double)?),
            "sendrecv" => {
                words.at_most(6)?;
                let (to, from) = (words.rank(3, "receiver")?, words.sender(5, &[ANY_SOURCE])?);
                let outgoing = Outgoing { to, tag: 0, bytes: words.bytes(2, words.size(6, double)?)? };
                let room = words.bytes(4, words.size(7, double)?)?;
                Action::SendRecv(outgoing, Incoming { from, tag: Some(0), room })
            }
            "wait" if words.words.len() == 2 => Action::WaitLast,
            "wait" => {
                words.at_most(3)?;
                let from = words.sender(2, &[ANY_SOURCE, UNDEFINED])?;
                Action::Wait { from, to: words.rank(3, "receiver")?, tag: words.tag(4)? }
            }
            "waitall" => {
                words.at_most(1)?;
                Action::WaitAll
            }
            name => Action::Collective(words.collective(name, double)?),
        }))
    }
}
