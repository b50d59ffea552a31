//! A run as a timeline, in the trace event format that Perfetto and Chrome read.
//!
//! *Virtual time.* In the process `virtual time`, each logical process has a track, with a slice for each
//! event that it executed. An arrow leads from the event that sent a message to the event that executed the
//! message. There is an arrow only where both events are in the trace. Messages sent at the start or by a
//! global event have no arrow, and timers have none.
//!
//! *Wall time.* In the process `wall time`, each worker has a track with slices: executing events, waiting,
//! receiving events, GVT, the work of a cut, helping. They add up to the run time. Counters have the shares
//! of each. If the run has several processes, the worker `r/w` is worker *w* of rank *r*. The time of each rank
//! counts from its own start. A worker's time is known by at most 1024 steps ([`parades_core::timesheet`]).
//! Within a step each thing that it did is one slice, and these are in a fixed order. The file says how long
//! a step is, as `worker_step_us`.
//!
//! *Units.* The format's shortest time is a nanosecond, so virtual times are rounded down to nanoseconds. The
//! exact instant is among the arguments of a slice. An event takes no virtual time, but a slice without
//! length cannot be seen, and no arrow can point at it. So each slice is a nanosecond long.
//!
//! *Memory.* Events are written as they come. Only two things are kept: a number for each message on its way,
//! and the set of logical processes that have a name already.
//!
//! *References.* N. Duca, D. Sinclair, "Trace Event Format", Google, 2016.

use crate::timeline::phase::{ARROW_BEGINS, ARROW_ENDS, COUNTER, METADATA, SLICE};
use parades_core::event::{Body, LpId};
use parades_core::time::Time;
use parades_core::timesheet::{Slice, Spent, Timesheets};
use parades_core::trace::{Executed, Note, TraceFilter};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The letters by which the format tells the kinds of entries.
pub mod phase {
    /// The name of a process or of a thread.
    pub const METADATA: &str = "M";
    /// A slice with a begin and a length.
    pub const SLICE: &str = "X";
    /// The begin of an arrow, in the slice at this place.
    pub const ARROW_BEGINS: &str = "s";
    /// The end of an arrow, in the slice at this place.
    pub const ARROW_ENDS: &str = "f";
    /// Numbers at a point of time.
    pub const COUNTER: &str = "C";
}

/// The number of the process `virtual time`. Its thread `n + 1` is the logical process `n`.
pub const VIRTUAL: u32 = 1;
/// The number of the process `wall time`. Its threads are the workers, rank by rank.
pub const WALL: u32 = 2;

/// The contents of a timeline, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of slices.
    pub events: u64,
    /// The number of arrows with both ends.
    pub arrows: u64,
    /// The number of arrows to events that were not executed, because the run ended early.
    pub cut_off: u64,
}

/// A timeline being written.
#[derive(Debug)]
pub struct Timeline<W> {
    to: W,
    /// The filter of the events; `before` is at most the end of the run.
    filter: TraceFilter,
    is_empty: bool,
    named: BTreeSet<LpId>,
    /// The numbers of the arrows to messages on their way, by sender and sequence.
    on_the_way: BTreeMap<(LpId, u64), u64>,
    counts: Counts,
    /// The longest step by which the time of a worker is known, in nanoseconds.
    step_ns: u64,
}

impl<W: Write> Timeline<W> {
    /// Begins the timeline of a run that ends at `until`, and whose tracer has this filter.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn new(mut to: W, filter: TraceFilter, until: Time) -> io::Result<Timeline<W>> {
        write!(to, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let filter = TraceFilter { before: filter.before.min(until), ..filter };
        let (named, on_the_way) = (BTreeSet::new(), BTreeMap::new());
        let counts = Counts::default();
        let mut timeline = Timeline { to, filter, is_empty: true, named, on_the_way, counts, step_ns: 0 };
        timeline.name(VIRTUAL, None, "virtual time")?;
        Ok(timeline)
    }

    /// Adds an event. The run must report sends to the tracer ([`parades_core::run::RunOptions::sends`]).
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn event(&mut self, executed: &Executed<'_>) -> io::Result<()> {
        let Executed { key, receiver, body, notes, .. } = executed;
        if self.named.insert(*receiver) {
            self.name(VIRTUAL, Some(receiver.0), &executed.name_of(*receiver))?;
        }
        self.write(&slice(executed))?;
        self.counts.events += 1;
        let time = key.instant.time;
        let arrow = key.sender.as_lp().and_then(|sender| self.on_the_way.remove(&(sender, key.sequence)));
        if let (Some(arrow), Body::Message(_)) = (arrow, body) {
            self.counts.arrows += 1;
            self.arrow(ARROW_ENDS, arrow, *receiver, time)?;
        }
        for note in *notes {
            let Note::Sent { key: sent, receiver: to } = note else { continue };
            if self.filter.wants(sent.instant.time, *to) {
                let arrow = self.counts.arrows + self.on_the_way.len() as u64;
                self.on_the_way.insert((*receiver, sent.sequence), arrow);
                self.arrow(ARROW_BEGINS, arrow, *receiver, time)?;
            }
        }
        Ok(())
    }

    /// Adds the workers' use of their wall time.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn workers(&mut self, timesheets: &Timesheets) -> io::Result<()> {
        self.name(WALL, None, "wall time")?;
        let ranks = timesheets.ranks();
        let has_several = ranks.len() > 1;
        let workers = ranks.iter().enumerate().flat_map(|(rank, workers)| {
            workers.iter().enumerate().map(move |(worker, slices)| {
                let name = if has_several { format!("worker {rank}/{worker}") } else { format!("worker {worker}") };
                (name, slices)
            })
        });
        for ((name, slices), number) in workers.zip(0_u32..) {
            if !slices.is_empty() {
                self.worker(number, &name, slices)?;
            }
        }
        Ok(())
    }

    /// Adds the worker with this number among all workers.
    fn worker(&mut self, number: u32, worker: &str, slices: &[Slice]) -> io::Result<()> {
        self.name(WALL, Some(number), worker)?;
        if let [first, second, ..] = slices {
            self.step_ns = self.step_ns.max(second.begin_ns - first.begin_ns);
        }
        let tid = number + 1;
        for (what, begin, length) in spells(slices) {
            self.write(&json!({
                "ph": SLICE, "pid": WALL, "tid": tid, "ts": begin as f64 / 1e3, "dur": length as f64 / 1e3,
                "cat": "worker", "name": what.name(),
            }))?;
        }
        let mut count = |at_ns: u64, shares: Value| {
            self.write(&json!({
                "ph": COUNTER, "pid": WALL, "tid": tid, "ts": at_ns as f64 / 1e3,
                "name": format!("{worker}, % of its time"), "args": shares,
            }))
        };
        let shown: Vec<Spent> = Spent::ALL
            .into_iter()
            .filter(|&what| what == Spent::Executing || slices.iter().any(|slice| slice.times[what as usize] > 0))
            .collect();
        let shares = |of: &dyn Fn(Spent) -> f64| {
            Value::Object(shown.iter().map(|&what| (what.name().to_owned(), of(what).into())).collect())
        };
        for slice in slices {
            let share =
                |what: Spent| (slice.times[what as usize] as f64 / slice.length_ns() as f64 * 1e3).round() / 10.0;
            count(slice.begin_ns, shares(&share))?;
        }
        let end = slices.last().map_or(0, |slice| slice.begin_ns + slice.length_ns());
        count(end, shares(&|_| 0.0))
    }

    /// Ends the timeline. `about` describes its origin.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn finish(mut self, about: &str) -> io::Result<(W, Counts)> {
        let Counts { events, arrows, .. } = self.counts;
        let cut_off = self.on_the_way.len() as u64;
        let step_us = self.step_ns as f64 / 1e3;
        let other = json!({
            "command": about, "events": events, "arrows": arrows, "cut_off": cut_off, "worker_step_us": step_us,
        });
        writeln!(self.to, "\n],\"otherData\":{other}}}")?;
        self.to.flush()?;
        Ok((self.to, Counts { cut_off, ..self.counts }))
    }

    fn arrow(&mut self, phase: &str, number: u64, lp: LpId, time: Time) -> io::Result<()> {
        let mut arrow = json!({
            "ph": phase, "pid": VIRTUAL, "tid": thread(lp), "ts": Micros(time).value(), "id": number.to_string(), "cat": "message", "name": "message",
        });
        if phase == ARROW_ENDS {
            // "enclosing": in the slice at this place, not in the next one.
            arrow["bp"] = "e".into();
        }
        self.write(&arrow)
    }

    /// Writes the name of a process, or of one of its threads.
    fn name(&mut self, process: u32, thread: Option<u32>, name: &str) -> io::Result<()> {
        let Some(thread) = thread else {
            return self
                .write(&json!({"ph": METADATA, "pid": process, "name": "process_name", "args": {"name": name}}));
        };
        let tid = u64::from(thread) + 1;
        self.write(
            &json!({"ph": METADATA, "pid": process, "tid": tid, "name": "thread_name", "args": {"name": name}}),
        )?;
        let order = json!({"sort_index": thread});
        self.write(&json!({"ph": METADATA, "pid": process, "tid": tid, "name": "thread_sort_index", "args": order}))
    }

    fn write(&mut self, event: &Value) -> io::Result<()> {
        self.to.write_all(if self.is_empty { b"\n" } else { b",\n" })?;
        self.is_empty = false;
        serde_json::to_writer(&mut self.to, event)?;
        Ok(())
    }
}

/// Returns what a worker did, with its begin and its length in nanoseconds: the times of each slice one after
/// another, and neighbours that are the same as one.
fn spells(slices: &[Slice]) -> Vec<(Spent, u64, u64)> {
    let mut spells: Vec<(Spent, u64, u64)> = Vec::new();
    for slice in slices {
        let mut begin = slice.begin_ns;
        for (what, &length) in Spent::ALL.into_iter().zip(&slice.times).filter(|(_, length)| **length > 0) {
            match spells.last_mut() {
                Some((last, _, so_far)) if *last == what => *so_far += length,
                _ => spells.push((what, begin, length)),
            }
            begin += length;
        }
    }
    spells
}

/// Returns the slice of an event.
fn slice(executed: &Executed<'_>) -> Value {
    let Executed { key, receiver, body, notes, .. } = executed;
    let mut arguments =
        json!({"instant": key.instant.to_string(), "from": format!("{} #{}", executed.sender(), key.sequence)});
    let text = executed.body_text();
    let (category, name) = match body {
        Body::Message(_) => {
            let name = name_of(&text).to_owned();
            if !text.is_empty() {
                arguments["message"] = text.into();
            }
            ("event", name)
        }
        Body::Timer(_) => ("timer", text),
    };
    let lines = notes.iter().filter_map(|note| if let Note::Line(line) = note { Some(line.as_str()) } else { None });
    let lines: Vec<&str> = lines.collect();
    if !lines.is_empty() {
        arguments["notes"] = lines.into();
    }
    json!({
        "ph": SLICE, "pid": VIRTUAL, "tid": thread(*receiver), "ts": Micros(key.instant.time).value(), "dur": 0.001,
        "cat": category, "name": name, "args": arguments,
    })
}

/// Returns the number of a logical process's thread. Viewers give the thread 0 another meaning.
fn thread(lp: LpId) -> u64 {
    u64::from(lp.0) + 1
}

/// A time in the unit of the format, microseconds.
struct Micros(Time);

impl Micros {
    /// Returns whole nanoseconds as the nearest number of microseconds.
    fn value(&self) -> f64 {
        (self.0.as_ps() / 1_000) as f64 / 1e3
    }
}

/// Returns the name of a message: the words before its number or its first value, or its variant or type, if
/// it has one.
fn name_of(shown: &str) -> &str {
    if let Some((words, _)) = shown.split_once(" #")
        && !words.contains(['(', '{', '[', '"'])
    {
        return words;
    }
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || "-_".contains(c));
    let words: usize = shown.split(' ').take_while(is_word).map(|word| word.len() + 1).sum();
    let variant = || shown.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(shown.len());
    let name = &shown[..words.checked_sub(1).unwrap_or_else(variant)];
    if name.chars().next().is_some_and(char::is_alphabetic) { name } else { "message" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_called_by_their_kind() {
        for (shown, name) in [
            ("Packet { flow: 1 }", "Packet"),
            ("Left(3)", "Left"),
            ("Arrival", "Arrival"),
            ("app video #188, 1200 B, east.0 to west.0", "app video"),
            ("find node 00c1 (look-up 3)", "find node"),
            ("a request for block 3.1", "a request for block"),
            ("()", "message"),
            ("9", "message"),
            ("[1, 2]", "message"),
            ("", "message"),
        ] {
            assert_eq!(name_of(shown), name);
        }
    }
}
