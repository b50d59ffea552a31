//! Trace files: the actions of each rank.
//!
//! A line has a rank, an action and its arguments. Amounts are numbers such as `1e6`. Lines that begin with
//! `#` are comments. A list of files, one file a line, stands for the lines of all of them.
//!
//! | action | arguments |
//! |---|---|
//! | `init`, `finalize`, `comm_size`, `comm_split`, `comm_dup` | take no time; with an argument of `init`, amounts are of `double` (8 bytes) if they name no type, else of bytes |
//! | `compute` | flops |
//! | `sleep` | seconds |
//! | `send`, `isend` | receiver, tag, amount, type |
//! | `recv`, `irecv` | sender, tag, amount, type |
//! | `wait` | sender, receiver and tag of the message; without them, the request that the rank made last |
//! | `waitall` | waits for all requests of the rank |
//! | `barrier` | |
//! | `bcast` | amount, root, type |
//! | `reduce` | amount, flops, root, type |
//! | `allreduce` | amount, flops, type |
//! | `alltoall` | amount sent to each rank, amount received from each, types of both |
//! | `gather`, `scatter` | amount sent, amount received, root, types of both |
//! | `allgather` | amount sent, amount received, types of both |
//!
//! Types are the numbers that SimGrid writes. A type, a root (0) and the amount of a `recv` may be left out.
//! Names of actions may be in upper or lower case.

use parades_config::{ConfigError, Fault, nearest, quoted};
use parades_core::time::Delay;
use std::path::Path;

/// The greatest number of ranks.
pub const RANKS_MAX: usize = 1 << 20;
/// The greatest size of a file, in bytes.
const FILE_BYTES_MAX: usize = 1 << 30;
/// The names of the actions.
const NAMES: [&str; 21] = [
    "init",
    "finalize",
    "comm_size",
    "comm_split",
    "comm_dup",
    "compute",
    "sleep",
    "send",
    "isend",
    "recv",
    "irecv",
    "wait",
    "waitall",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "alltoall",
    "gather",
    "scatter",
    "allgather",
];

/// What a rank does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// It computes this number of flops.
    Compute(f64),
    /// It sleeps.
    Sleep(Delay),
    /// It sends to a rank, with a tag and a number of bytes.
    Send(u32, i64, f64),
    /// The same, as a request.
    Isend(u32, i64, f64),
    /// It receives from a rank, with a tag.
    Recv(u32, i64),
    /// The same, as a request.
    Irecv(u32, i64),
    /// It waits for the request that it made last.
    WaitLast,
    /// It waits for the request of the message with this sender, receiver and tag.
    Wait(u32, u32, i64),
    /// It waits for all its requests.
    WaitAll,
    /// It waits for all ranks.
    Barrier,
    /// The root sends data to all ranks.
    Bcast {
        /// In bytes.
        bytes: f64,
        /// The rank that has the data.
        root: u32,
    },
    /// All ranks send data to the root.
    Reduce {
        /// In bytes.
        bytes: f64,
        /// What each rank computes.
        flops: f64,
        /// The rank that gets the result.
        root: u32,
    },
    /// The same, and the root sends the result to all ranks.
    AllReduce {
        /// In bytes.
        bytes: f64,
        /// What each rank computes.
        flops: f64,
    },
    /// Each rank sends this number of bytes to each other rank.
    AllToAll(f64),
    /// Each rank sends data to the root.
    Gather {
        /// In bytes.
        bytes: f64,
        /// The rank that gets the data.
        root: u32,
    },
    /// The root sends data to each rank.
    Scatter {
        /// In bytes.
        bytes: f64,
        /// The rank that has the data.
        root: u32,
    },
    /// Each rank sends this number of bytes to each other rank.
    AllGather(f64),
}

/// An action, with its line in its file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// The line, counted from 1.
    pub line: u32,
}

/// The actions of all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// By rank, in their order.
    pub ranks: Vec<Vec<Step>>,
}

/// A program that a trace may come from: ranks in a ring that, step by step, exchange borders with both
/// neighbours, compute, and agree on 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stencil {
    /// The number of ranks.
    pub ranks: u32,
    /// The number of steps.
    pub steps: u32,
    /// What a rank computes in a step.
    pub flops: f64,
    /// A border, in bytes.
    pub bytes: f64,
}

impl Stencil {
    /// Returns the trace of the program.
    pub fn trace(self) -> Trace {
        let Stencil { ranks, steps, flops, bytes } = self;
        let of_rank = |rank: u32| {
            let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
            let borders = [Action::Irecv(left, 0), Action::Irecv(right, 1)];
            let sends = [Action::Isend(right, 0, bytes), Action::Isend(left, 1, bytes), Action::WaitAll];
            let exchange: Vec<Action> = borders.into_iter().chain(sends).collect();
            let step = if ranks > 1 { exchange } else { Vec::new() };
            let rest = [Action::Compute(flops), Action::AllReduce { bytes: 8.0, flops: 0.0 }];
            let step: Vec<Action> = step.into_iter().chain(rest).collect();
            let all = (0..steps).flat_map(|_| step.clone());
            (1..).zip(all).map(|(line, action)| Step { action, line }).collect()
        };
        Trace { ranks: (0..ranks).map(of_rank).collect() }
    }
}

/// Reads the trace at `path`, or the traces that the list at `path` names, relative to its folder.
///
/// # Errors
///
/// If a file cannot be read, or a line is no action. The error is one sentence with the place.
pub fn read(path: &Path) -> Result<Trace, ConfigError> {
    let text = text_of(path)?;
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let is_list =
        first.and_then(|line| line.split_whitespace().next()).is_some_and(|word| word.parse::<u32>().is_err());
    let mut reader = Reader::default();
    if is_list {
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        for name in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let path = folder.join(name);
            reader.read(&path, &text_of(&path)?)?;
        }
    } else {
        reader.read(path, &text)?;
    }
    reader.finish(path)
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
/// use parades_replay::trace::{self, Action};
/// let trace = trace::parse("t".as_ref(), "0 init\n0 compute 1e9\n0 send 1 0 1e6\n1 recv 0 0 1e6\n")?;
/// assert_eq!(trace.ranks[0][1].action, Action::Send(1, 0, 1e6));
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
    let mut reader = Reader::default();
    reader.read(file, text)?;
    reader.finish(file)
}

/// The ranks up to here.
#[derive(Default)]
struct Reader {
    trace: Trace,
    /// By rank, true if amounts without a type are of `double`.
    doubles: Vec<bool>,
}

impl Reader {
    fn read(&mut self, file: &Path, text: &str) -> Result<(), ConfigError> {
        self.lines(text).map_err(|fault| fault.within(file, text))
    }

    fn lines(&mut self, text: &str) -> Result<(), Fault> {
        for (number, line) in (1..).zip(text.split('\n')) {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let words = Words { text, words: line.split_whitespace().collect() };
            let rank = words.rank(0, "rank")?;
            if self.trace.ranks.len() <= rank as usize {
                self.trace.ranks.resize_with(rank as usize + 1, Vec::new);
                self.doubles.resize(rank as usize + 1, false);
            }
            if let Some(action) = self.action(rank, &words)? {
                self.trace.ranks[rank as usize].push(Step { action, line: number });
            }
        }
        Ok(())
    }

    /// Reads the action of a line. `None` if it does nothing.
    fn action(&mut self, rank: u32, words: &Words<'_>) -> Result<Option<Action>, Fault> {
        let double = self.doubles[rank as usize];
        let bytes = |amount: usize, kind: usize| words.bytes(amount, kind, double);
        Ok(Some(match words.name()?.as_str() {
            "init" => {
                self.doubles[rank as usize] = words.words.len() > 2;
                return Ok(None);
            }
            "finalize" | "comm_size" | "comm_split" | "comm_dup" => return Ok(None),
            "compute" => Action::Compute(words.amount(2, "number of flops")?),
            "sleep" => {
                let seconds = words.amount(2, "time in seconds")?;
                let delay = Delay::try_from_secs_f64(seconds);
                Action::Sleep(delay.ok_or_else(|| words.fault(2, "is past the end of virtual time"))?)
            }
            "send" => Action::Send(words.rank(2, "receiver")?, words.tag(3)?, bytes(4, 5)?),
            "isend" => Action::Isend(words.rank(2, "receiver")?, words.tag(3)?, bytes(4, 5)?),
            "recv" => Action::Recv(words.rank(2, "sender")?, words.tag(3)?),
            "irecv" => Action::Irecv(words.rank(2, "sender")?, words.tag(3)?),
            "wait" if words.words.len() == 2 => Action::WaitLast,
            "wait" => Action::Wait(words.rank(2, "sender")?, words.rank(3, "receiver")?, words.tag(4)?),
            "waitall" => Action::WaitAll,
            "barrier" => Action::Barrier,
            "bcast" => Action::Bcast { bytes: bytes(2, 4)?, root: words.root(3)? },
            "reduce" => {
                Action::Reduce { bytes: bytes(2, 5)?, flops: words.amount(3, "number of flops")?, root: words.root(4)? }
            }
            "allreduce" => Action::AllReduce { bytes: bytes(2, 4)?, flops: words.amount(3, "number of flops")? },
            "alltoall" => Action::AllToAll(bytes(2, 4)?),
            "gather" => Action::Gather { bytes: bytes(2, 5)?, root: words.root(4)? },
            "scatter" => Action::Scatter { bytes: bytes(2, 5)?, root: words.root(4)? },
            "allgather" => Action::AllGather(bytes(2, 4)?),
            unknown => {
                let help = match nearest(unknown, NAMES) {
                    Some(near) => format!("did you mean {}?", quoted(near)),
                    None => format!("there are {}", NAMES.join(", ")),
                };
                let message = format!("there is no action {}", quoted(words.words[1]));
                return Err(Fault::new(words.offset(1), message, help));
            }
        }))
    }

    /// Checks what only the whole trace tells: each rank does something, and each rank that is named exists.
    fn finish(self, file: &Path) -> Result<Trace, ConfigError> {
        let ranks = self.trace.ranks.len();
        if ranks == 0 {
            return Err(ConfigError::new("the trace has no action")
                .with_help("write lines such as `0 compute 1e9`")
                .at(parades_config::Place::File(file.to_owned())));
        }
        for (rank, step) in
            self.trace.ranks.iter().enumerate().flat_map(|(rank, steps)| steps.iter().map(move |step| (rank, step)))
        {
            let named = match step.action {
                Action::Send(other, ..)
                | Action::Isend(other, ..)
                | Action::Recv(other, _)
                | Action::Irecv(other, _) => other,
                Action::Bcast { root, .. } | Action::Reduce { root, .. } | Action::Gather { root, .. } => root,
                Action::Scatter { root, .. } => root,
                _ => 0,
            };
            if named as usize >= ranks {
                let message =
                    format!("line {} of rank {rank} names rank {named}, but the trace has {ranks} ranks", step.line);
                return Err(ConfigError::new(message)
                    .with_help("give the trace of all ranks")
                    .at(parades_config::Place::File(file.to_owned())));
            }
        }
        Ok(self.trace)
    }
}

/// The words of a line, which are slices of `text`.
struct Words<'t> {
    text: &'t str,
    words: Vec<&'t str>,
}

impl Words<'_> {
    /// Returns the offset of a word, or of the line's last one.
    fn offset(&self, index: usize) -> usize {
        let word = self.words[index.min(self.words.len() - 1)];
        word.as_ptr() as usize - self.text.as_ptr() as usize
    }

    fn name(&self) -> Result<String, Fault> {
        match self.words.get(1) {
            Some(name) => Ok(name.to_ascii_lowercase()),
            None => Err(Fault::new(self.offset(0), "the line has no action", "write `RANK ACTION …`")),
        }
    }

    /// Returns the fault of a word.
    fn fault(&self, index: usize, what: &str) -> Fault {
        match self.words.get(index) {
            Some(word) => Fault::new(self.offset(index), format!("{} {what}", quoted(word)), "correct it"),
            None => Fault::new(self.offset(0), format!("the line ends before the word that {what}"), "complete it"),
        }
    }

    fn amount(&self, index: usize, what: &str) -> Result<f64, Fault> {
        let Some(word) = self.words.get(index) else {
            return Err(Fault::new(self.offset(0), format!("the action lacks its {what}"), "complete the line"));
        };
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| self.fault(index, &format!("is no {what}")))
    }

    /// Reads an amount of data in bytes: a number, and perhaps its type.
    fn bytes(&self, amount: usize, kind: usize, double: bool) -> Result<f64, Fault> {
        let size = match self.words.get(kind) {
            None => {
                if double {
                    8.0
                } else {
                    1.0
                }
            }
            Some(&"0" | &"4") => 8.0,
            Some(&"1" | &"5") => 4.0,
            Some(&"2" | &"6") => 1.0,
            Some(&"3") => 2.0,
            Some(_) => {
                return Err(self.fault(
                    kind,
                    "is no type whose size is known: 0 and 4 (8 bytes), 1 and 5 (4), 3 (2), 2 and 6 (1)",
                ));
            }
        };
        Ok(size * self.amount(amount, "amount of data")?)
    }

    fn rank(&self, index: usize, what: &str) -> Result<u32, Fault> {
        let Some(word) = self.words.get(index) else {
            return Err(Fault::new(self.offset(0), format!("the action lacks its {what}"), "complete the line"));
        };
        let rank = word.parse::<u32>().ok().filter(|&rank| (rank as usize) < RANKS_MAX);
        rank.ok_or_else(|| self.fault(index, &format!("is no {what}: a rank from 0 to {}", RANKS_MAX - 1)))
    }

    /// Reads a root, which is 0 if it is left out.
    fn root(&self, index: usize) -> Result<u32, Fault> {
        if index < self.words.len() { self.rank(index, "root") } else { Ok(0) }
    }

    fn tag(&self, index: usize) -> Result<i64, Fault> {
        let Some(word) = self.words.get(index) else {
            return Err(Fault::new(self.offset(0), "the action lacks its tag", "complete the line"));
        };
        word.parse::<i64>().map_err(|_| self.fault(index, "is no tag"))
    }
}
