//! The words of a line of a trace.

use super::{Collective, Incoming, Outgoing, Parts, RANKS_MAX};
use parades_config::{Fault, nearest, quoted};
use std::sync::Arc;

/// The greatest amount, in elements: MPI's counts are of C's `int`.
const AMOUNT_MAX: f64 = 2_147_483_647.0;
/// The greatest number of flops of an action.
const FLOPS_MAX: f64 = 1e30;
/// SMPI's `MPI_ANY_TAG`.
const ANY_TAG: &str = "-444";
/// The sizes of SMPI's data types by their numbers, in bytes, on `x86_64`. Those without a size have 0.
const TYPE_BYTES: [u8; 60] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, //
    8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8,
];
/// The names of the actions.
const NAMES: [&str; 30] = [
    "init",
    "finalize",
    "comm_size",
    "comm_split",
    "comm_dup",
    "location",
    "compute",
    "sleep",
    "send",
    "isend",
    "recv",
    "irecv",
    "sendrecv",
    "wait",
    "waitall",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "reducescatter",
    "scan",
    "exscan",
    "alltoall",
    "alltoallv",
    "gather",
    "gatherv",
    "allgather",
    "allgatherv",
    "scatter",
    "scatterv",
];
/// SMPI's `MPI_ANY_SOURCE`.
pub(super) const ANY_SOURCE: &str = "-555";

/// Returns the place in bytes of a part of a text.
pub(super) fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// The words of a line, which are slices of `text`.
pub(super) struct Words<'t> {
    text: &'t str,
    pub(super) words: Vec<&'t str>,
    /// The number of ranks.
    ranks: usize,
}

impl<'t> Words<'t> {
    pub(super) fn of(text: &'t str, line: &'t str, ranks: usize) -> Words<'t> {
        Words { text, words: line.split_whitespace().collect(), ranks }
    }

    /// Returns the offset of a word, or of the line's last one.
    fn offset(&self, index: usize) -> usize {
        offset_in(self.text, self.words[index.min(self.words.len() - 1)])
    }

    pub(super) fn name(&self) -> Result<String, Fault> {
        match self.words.get(1) {
            Some(name) => Ok(name.to_ascii_lowercase()),
            None => Err(Fault::new(self.offset(0), "the line has no action", "write `RANK ACTION …`")),
        }
    }

    /// Returns the fault of a word.
    pub(super) fn fault(&self, index: usize, what: &str) -> Fault {
        match self.words.get(index) {
            Some(word) => Fault::new(self.offset(index), format!("{} {what}", quoted(word)), "correct it"),
            None => Fault::new(self.offset(0), format!("the line ends before the word that {what}"), "complete it"),
        }
    }

    /// Returns a word, or the fault that it is missing.
    fn word(&self, index: usize, what: &str) -> Result<&'t str, Fault> {
        let lacking = || Fault::new(self.offset(0), format!("the action lacks its {what}"), "complete the line");
        self.words.get(index).copied().ok_or_else(lacking)
    }

    /// Refuses arguments after the first `count`.
    pub(super) fn at_most(&self, count: usize) -> Result<(), Fault> {
        let Some(word) = self.words.get(count + 2) else { return Ok(()) };
        let arguments = match count {
            0 => "no arguments".to_owned(),
            1 => "at most 1 argument".to_owned(),
            _ => format!("at most {count} arguments"),
        };
        let message = format!("{} is one word too many: {} has {arguments}", quoted(word), quoted(self.words[1]));
        Err(Fault::new(self.offset(count + 2), message, "leave it out"))
    }

    pub(super) fn number(&self, index: usize, what: &str, max: f64) -> Result<f64, Fault> {
        let word = self.word(index, what)?;
        let number = word.parse::<f64>().ok().filter(|number| (0.0..=max).contains(number));
        number.ok_or_else(|| self.fault(index, &format!("is no {what}")))
    }

    pub(super) fn flops(&self, index: usize) -> Result<f64, Fault> {
        self.number(index, "number of flops, from 0 to 1e30", FLOPS_MAX)
    }

    /// Reads a number of elements.
    fn amount(&self, index: usize) -> Result<f64, Fault> {
        Ok(self.number(index, "amount of data, from 0 to 2147483647", AMOUNT_MAX)?.trunc())
    }

    /// Returns the size of the type that a word names, in bytes.
    pub(super) fn size(&self, index: usize, double: bool) -> Result<f64, Fault> {
        let Some(word) = self.words.get(index) else { return Ok(if double { 8.0 } else { 1.0 }) };
        let size = word.parse::<usize>().ok().and_then(|kind| TYPE_BYTES.get(kind)).filter(|&&size| size > 0);
        let size =
            size.ok_or_else(|| self.fault(index, "is no type whose size is known: 0 to 59, without 55 and 56"))?;
        Ok(f64::from(*size))
    }

    /// Reads a number of elements. Returns it in bytes.
    pub(super) fn bytes(&self, index: usize, size: f64) -> Result<f64, Fault> {
        Ok(size * self.amount(index)?)
    }

    /// Reads a number of elements for each rank, from a word on. Returns them in bytes.
    fn parts(&self, first: usize, size: f64) -> Result<Arc<[f64]>, Fault> {
        let one = |index| match self.bytes(index, size) {
            Err(_) if index >= self.words.len() => {
                let message = format!("the action has no amount for each of the {} ranks", self.ranks);
                Err(Fault::new(self.offset(0), message, "complete the line"))
            }
            bytes => bytes,
        };
        (first..first + self.ranks).map(one).collect()
    }

    /// Reads the rank at the beginning of the line.
    pub(super) fn rank_from_0(&self) -> Result<usize, Fault> {
        let rank = self.words[0].parse::<usize>().ok().filter(|&rank| rank < RANKS_MAX);
        rank.ok_or_else(|| self.fault(0, &format!("is no rank: a number from 0 to {}", RANKS_MAX - 1)))
    }

    /// Reads one of the ranks.
    pub(super) fn rank(&self, index: usize, what: &str) -> Result<u32, Fault> {
        let rank = self.word(index, what)?.parse::<u32>().ok().filter(|&rank| (rank as usize) < self.ranks);
        rank.ok_or_else(|| {
            let why = format!("is no {what}: the trace has {} ranks, from 0 to {}", self.ranks, self.ranks - 1);
            self.fault(index, &why)
        })
    }

    /// Reads a sender. `None` if the word is one of `any`.
    pub(super) fn sender(&self, index: usize, any: &[&str]) -> Result<Option<u32>, Fault> {
        if any.contains(&self.word(index, "sender")?) { Ok(None) } else { Ok(Some(self.rank(index, "sender")?)) }
    }

    /// Reads a root, which is 0 if it is left out.
    fn root(&self, index: usize) -> Result<u32, Fault> {
        if index < self.words.len() { self.rank(index, "root") } else { Ok(0) }
    }

    pub(super) fn tag(&self, index: usize) -> Result<i64, Fault> {
        self.word(index, "tag")?.parse::<i64>().map_err(|_| self.fault(index, "is no tag"))
    }

    pub(super) fn outgoing(&self, double: bool) -> Result<Outgoing, Fault> {
        self.at_most(4)?;
        let bytes = self.bytes(4, self.size(5, double)?)?;
        Ok(Outgoing { to: self.rank(2, "receiver")?, tag: self.tag(3)?, bytes })
    }

    pub(super) fn incoming(&self, double: bool) -> Result<Incoming, Fault> {
        self.at_most(4)?;
        let size = self.size(5, double)?;
        let room = match self.words.get(4) {
            None | Some(&"-1") => f64::INFINITY,
            Some(_) => self.bytes(4, size)?,
        };
        let tag = if self.word(3, "tag")? == ANY_TAG { None } else { Some(self.tag(3)?) };
        Ok(Incoming { from: self.sender(2, &[ANY_SOURCE])?, tag, room })
    }

    /// Reads an operation of all ranks.
    pub(super) fn collective(&self, name: &str, double: bool) -> Result<Collective, Fault> {
        let ranks = self.ranks;
        let size = |index| self.size(index, double);
        let bytes = |index, kind| self.bytes(index, size(kind)?);
        let fields = match name {
            "barrier" => 0,
            "bcast" | "allreduce" | "scan" | "exscan" => 3,
            "reduce" | "alltoall" | "allgather" => 4,
            "gather" | "scatter" => 5,
            "reducescatter" => ranks + 2,
            "gatherv" | "scatterv" => ranks + 4,
            "allgatherv" => 2 * ranks + 3,
            _ => 2 * ranks + 4,
        };
        if NAMES.contains(&name) {
            self.at_most(fields)?;
        }
        Ok(match name {
            "barrier" => Collective::Barrier,
            "bcast" => Collective::Bcast { bytes: bytes(2, 4)?, root: self.root(3)? },
            "reduce" => Collective::Reduce { bytes: bytes(2, 5)?, flops: self.flops(3)?, root: self.root(4)? },
            "allreduce" => Collective::AllReduce { bytes: bytes(2, 4)?, flops: self.flops(3)? },
            "scan" | "exscan" => Collective::Scan { bytes: bytes(2, 4)?, flops: self.flops(3)? },
            "reducescatter" => {
                let parts = self.parts(2, size(ranks + 3)?)?;
                let elements = self.parts(2, 1.0)?.iter().sum();
                Collective::ReduceScatter { parts, elements, flops: self.flops(ranks + 2)? }
            }
            "alltoall" => Collective::AllToAll { bytes: bytes(2, 4)?, room: bytes(3, 5)? },
            "alltoallv" => {
                self.amount(2)?;
                let (sent, received) =
                    (self.parts(3, size(2 * ranks + 4)?)?, self.parts(ranks + 4, size(2 * ranks + 5)?)?);
                self.amount(ranks + 3)?;
                Collective::AllToAllV { bytes: sent, room: received }
            }
            "gather" => {
                Collective::Gather { bytes: bytes(2, 5)?, room: Parts::Equal(bytes(3, 6)?), root: self.root(4)? }
            }
            "gatherv" => {
                let room = Parts::Each(self.parts(3, size(ranks + 5)?)?);
                Collective::Gather { bytes: bytes(2, ranks + 4)?, room, root: self.root(ranks + 3)? }
            }
            "allgather" => Collective::AllGather { bytes: bytes(2, 4)?, room: Parts::Equal(bytes(3, 5)?) },
            "allgatherv" => self.all_gather_v(double)?,
            "scatter" => {
                Collective::Scatter { bytes: Parts::Equal(bytes(2, 5)?), room: bytes(3, 6)?, root: self.root(4)? }
            }
            "scatterv" => {
                let parts = Parts::Each(self.parts(2, size(ranks + 4)?)?);
                Collective::Scatter { bytes: parts, room: bytes(ranks + 2, ranks + 5)?, root: self.root(ranks + 3)? }
            }
            unknown => return Err(self.unknown(unknown)),
        })
    }

    /// Reads an `allgatherv`. After the amounts there are types, displacements, both or neither.
    fn all_gather_v(&self, double: bool) -> Result<Collective, Fault> {
        let first = self.ranks + 3;
        let rest = self.words.len().saturating_sub(first);
        let (has_types, displacements) = match rest {
            0..=2 => (true, None),
            _ if rest > self.ranks => (true, Some(first + 2)),
            _ => (false, Some(first)),
        };
        let size = |index| self.size(if has_types { index } else { self.words.len() }, double);
        let (sent, received) = (size(first)?, size(first + 1)?);
        for index in displacements.into_iter().flat_map(|begin| begin..begin + self.ranks) {
            self.number(index, "displacement", AMOUNT_MAX)?;
        }
        Ok(Collective::AllGather { bytes: self.bytes(2, sent)?, room: Parts::Each(self.parts(3, received)?) })
    }

    /// Returns the fault of an action that is not known.
    fn unknown(&self, name: &str) -> Fault {
        let (message, help) = if name == "test" {
            let help = "leave these lines out; the `wait` after them has the time of the message".to_owned();
            ("`test` is not replayed, as a program tests as often as its machine is fast".to_owned(), help)
        } else {
            let help = match nearest(name, NAMES) {
                Some(near) => format!("did you mean {}?", quoted(near)),
                None => format!("there are {}", NAMES.join(", ")),
            };
            (format!("there is no action {}", quoted(self.words[1])), help)
        };
        Fault::new(self.offset(1), message, help)
    }
}
