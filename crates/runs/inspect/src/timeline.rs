//! A run as a timeline, in the trace event format that Perfetto and Chrome read.
//!
//! *What there is.* In the process `virtual time`, a track for each LP and a slice for each event that it executed; an arrow for each message from the event
//! that sent it to the event that it is, where both are in the trace and came about in the run. What was sent at the start, or by a global event, has no such
//! arrow, nor has a timer. In the process `wall time`, counters for each worker: which share of the time it was at work, waited, took in events, or saw to GVT.
//!
//! *Time.* Virtual nanoseconds, rounded down, as the format has no shorter ones; the exact instant is among a slice's arguments. An event takes no virtual
//! time, but a slice of no length cannot be seen, and nothing can point at it, so each is a nanosecond long: of one LP, two slices are apart, or at the same
//! place.
//!
//! *Memory.* Events are written as they come. What is kept is a number for each message under way, and which LPs have a name already.
//!
//! *References.* N. Duca, D. Sinclair, "Trace Event Format", Google, 2016.

use crate::timeline::phase::{ARROW_BEGINS, ARROW_ENDS, COUNTER, METADATA, SLICE};
use parades_core::event::{Body, LpId};
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_core::trace::{Executed, Note, TraceFilter};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The format's letters.
pub mod phase {
    /// Names a process or a thread.
    pub const METADATA: &str = "M";
    /// A slice with a begin and a length.
    pub const SLICE: &str = "X";
    /// An arrow begins in the slice that is here.
    pub const ARROW_BEGINS: &str = "s";
    /// And ends in the slice that is here.
    pub const ARROW_ENDS: &str = "f";
    /// Numbers at a time.
    pub const COUNTER: &str = "C";
}

/// The process of virtual time, in which the LP `n` is the thread `n + 1`.
pub const VIRTUAL: u32 = 1;
/// The process of wall time, in which the worker `n` is the thread `n + 1`.
pub const WALL: u32 = 2;

/// What a timeline has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Slices.
    pub events: u64,
    /// Whole arrows.
    pub arrows: u64,
    /// Arrows to events that did not come about, as the run ended earlier than it was to.
    pub cut_off: u64,
}

/// A timeline being written.
#[derive(Debug)]
pub struct Timeline<W> {
    to: W,
    /// What the events are filtered by; `before` is at most the end of the run.
    filter: TraceFilter,
    is_empty: bool,
    named: BTreeSet<LpId>,
    /// The numbers of the arrows to what is under way, by sender and sequence.
    under_way: BTreeMap<(LpId, u64), u64>,
    counts: Counts,
}

impl<W: Write> Timeline<W> {
    /// Begins a timeline of a run until `until`, whose tracer has this filter.
    ///
    /// # Errors
    ///
    /// Those of writing, as below.
    pub fn new(mut to: W, filter: TraceFilter, until: Time) -> io::Result<Timeline<W>> {
        write!(to, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let filter = TraceFilter { before: filter.before.min(until), ..filter };
        let (named, under_way) = (BTreeSet::new(), BTreeMap::new());
        let mut timeline = Timeline { to, filter, is_empty: true, named, under_way, counts: Counts::default() };
        timeline.name(VIRTUAL, None, "virtual time")?;
        Ok(timeline)
    }

    /// Takes up an event. The tracer must tell what is sent ([`parades_core::run::RunOptions::sends`]).
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn event(&mut self, executed: &Executed<'_>) -> io::Result<()> {
        let Executed { key, receiver, body, notes } = executed;
        if self.named.insert(*receiver) {
            self.name(VIRTUAL, Some(receiver.0), &receiver.to_string())?;
        }
        let (name, what) = match body {
            Body::Message(message) => {
                let text = format!("{message:?}");
                (name_of(&text).to_owned(), text)
            }
            Body::Timer(id) => (format!("timer {}", id.0), String::new()),
        };
        let lines: Vec<&str> = notes
            .iter()
            .filter_map(|note| if let Note::Line(line) = note { Some(line.as_str()) } else { None })
            .collect();
        let mut arguments =
            json!({"instant": key.instant.to_string(), "from": format!("{} #{}", key.sender, key.sequence)});
        if !what.is_empty() {
            arguments["message"] = what.into();
        }
        if !lines.is_empty() {
            arguments["notes"] = lines.into();
        }
        let time = key.instant.time;
        let timer = matches!(body, Body::Timer(_));
        self.write(&json!({
            "ph": SLICE, "pid": VIRTUAL, "tid": thread(*receiver), "ts": Micros(time).value(), "dur": 0.001,
            "cat": if timer { "timer" } else { "event" }, "name": name, "args": arguments,
        }))?;
        self.counts.events += 1;
        let arrow = key.sender.as_lp().and_then(|sender| self.under_way.remove(&(sender, key.sequence)));
        if let (Some(arrow), false) = (arrow, timer) {
            self.counts.arrows += 1;
            self.arrow((ARROW_ENDS, arrow), *receiver, time)?;
        }
        for note in *notes {
            let Note::Sent { key: sent, receiver: to } = note else { continue };
            if self.filter.wants(sent.instant.time, *to) {
                let arrow = self.counts.arrows + self.under_way.len() as u64;
                self.under_way.insert((*receiver, sent.sequence), arrow);
                self.arrow((ARROW_BEGINS, arrow), *receiver, time)?;
            }
        }
        Ok(())
    }

    /// Adds what workers spent their wall time on.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn workers(&mut self, timesheets: &Timesheets) -> io::Result<()> {
        self.name(WALL, None, "wall time")?;
        for (worker, number) in (0..timesheets.workers()).zip(0_u32..) {
            let slices = timesheets.read(worker);
            if slices.is_empty() {
                continue;
            }
            self.name(WALL, Some(number), &format!("worker {worker}"))?;
            let mut count = |at_ns: u64, shares: Value| {
                self.write(&json!({
                    "ph": COUNTER, "pid": WALL, "tid": number + 1, "ts": at_ns as f64 / 1e3,
                    "name": format!("worker {worker}, % of its time"), "args": shares,
                }))
            };
            for slice in &slices {
                let share = |ns: u64| (ns as f64 / slice.length_ns as f64 * 1e3).round() / 10.0;
                let other = slice.waiting_ns + slice.exchange_ns + slice.gvt_ns;
                let busy = share(slice.length_ns.saturating_sub(other));
                let [waiting, exchange, gvt] = [slice.waiting_ns, slice.exchange_ns, slice.gvt_ns].map(share);
                count(slice.begin_ns, json!({"busy": busy, "waiting": waiting, "exchange": exchange, "gvt": gvt}))?;
            }
            let end = slices.last().map_or(0, |slice| slice.begin_ns + slice.length_ns);
            count(end, json!({"busy": 0, "waiting": 0, "exchange": 0, "gvt": 0}))?;
        }
        Ok(())
    }

    /// Ends it, with `about` among what is told of the trace as a whole.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn finish(mut self, about: &str) -> io::Result<Counts> {
        let Counts { events, arrows, .. } = self.counts;
        let cut_off = self.under_way.len() as u64;
        let other = json!({"command": about, "events": events, "arrows": arrows, "cut_off": cut_off});
        writeln!(self.to, "\n],\"otherData\":{other}}}")?;
        self.to.flush()?;
        Ok(Counts { cut_off, ..self.counts })
    }

    fn arrow(&mut self, (phase, number): (&str, u64), lp: LpId, time: Time) -> io::Result<()> {
        let mut arrow = json!({
            "ph": phase, "pid": VIRTUAL, "tid": thread(lp), "ts": Micros(time).value(), "id": number.to_string(), "cat": "message", "name": "message",
        });
        if phase == ARROW_ENDS {
            // In the slice that is there, not in the next.
            arrow["bp"] = "e".into();
        }
        self.write(&arrow)
    }

    /// Names a process, or one of its threads.
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

/// A thread's number: 0 means something else to those who show traces.
fn thread(lp: LpId) -> u64 {
    u64::from(lp.0) + 1
}

/// A time in the format's microseconds.
struct Micros(Time);

impl Micros {
    /// Whole nanoseconds, as the number of microseconds that is nearest.
    fn value(&self) -> f64 {
        (self.0.as_ps() / 1_000) as f64 / 1e3
    }
}

/// What a message is called: the name of its kind, where it has one.
fn name_of(shown: &str) -> &str {
    let end = shown.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(shown.len());
    let name = &shown[..end];
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
            ("()", "message"),
            ("9", "message"),
            ("[1, 2]", "message"),
            ("", "message"),
        ] {
            assert_eq!(name_of(shown), name);
        }
    }
}
