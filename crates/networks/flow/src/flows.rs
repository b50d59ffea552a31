//! The model `flows`: a list of flows on a platform.
//!
//! One LP owns the network, since any flow may share a link with any other flow. The LP starts each flow at
//! its date. It has one timer, set to the next start or the network's next event, whichever is earlier. The
//! run ends with the last flow.

use crate::network::{Ended, FluidNetwork, Outcome};
use crate::network_model::NetworkModel;
use crate::platform::{HostId, Platform};
use parades_config::{quoted, shortened};
use parades_core::any_model::SaveModel;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use std::fmt;
use std::sync::Arc;

/// A flow of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The name in results, mostly a number.
    pub id: Box<str>,
    /// The sender.
    pub source: HostId,
    /// The receiver.
    pub destination: HostId,
    /// The size.
    pub bytes: f64,
    /// The date at which the flow starts. [`Time::MAX`] for a flow that would start after the end of virtual
    /// time: it never starts.
    pub start: Time,
}

/// Flows on a platform.
///
/// # Examples
///
/// ```
/// use parades_core::prelude::*;
/// use parades_engine::sequential;
/// use parades_flow::{flows::Flows, pattern, network_model::{MaxMinModel, NetworkModel}, xml};
/// let text = r#"<platform version="4.1">
///   <cluster id="c" prefix="n" radical="0-9" suffix="" speed="1Gf" bw="100MBps" lat="50us"/></platform>"#;
/// let platform = xml::parse("c.xml".as_ref(), text.as_bytes())?;
/// let network = NetworkModel::MaxMin(MaxMinModel::CM02);
/// let list = pattern::parse("p.txt".as_ref(), b"1 n0 n1 1e8 0\n2 n0 n2 1e8 0.5", &platform, network)?;
///
/// let model = Flows::new(platform, list, network);
/// let outcome = sequential::run(&model, RunOptions::until(Time::MAX)).unwrap();
/// let rows = outcome.metrics.get("flows").and_then(|metric| metric.table()).unwrap().rows();
/// // Each flow is alone for half a second. In between they share the link of n0. The latency is 100 µs.
/// assert_eq!(rows[0][..3], [Cell::Integer(1), Cell::Integer(0), Cell::Integer(1_500_100_000_000)]);
/// assert_eq!(rows[1][..3], [Cell::Integer(2), Cell::Integer(500_000_000_000), Cell::Integer(2_000_100_000_000)]);
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Flows {
    platform: Arc<Platform>,
    network_model: NetworkModel,
    /// In the order of their starts.
    flows: Vec<Flow>,
    /// The ids as they are reported.
    ids: Vec<Cell>,
    unfinished: Unfinished,
}

/// The treatment of flows that are unfinished at the end of a run, in the distribution of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unfinished {
    /// They are left out.
    #[default]
    LeftOut,
    /// Their time so far counts, which is a lower bound.
    SoFar,
}

/// The state of the LP.
#[derive(Clone, Debug)]
pub struct State {
    progress: Progress,
    /// A copy of `progress` from some events ago. `None` on engines that do not roll back.
    checkpoint: Option<Arc<Progress>>,
    /// The times of the events since the checkpoint.
    since_checkpoint: Vec<Time>,
}

/// Compares the progress of the flows. Checkpoints are not part of the model's state.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.progress == other.progress
    }
}

/// The network and the progress of the flows.
#[derive(Clone, Debug, PartialEq)]
struct Progress {
    network: FluidNetwork,
    /// The index of the next flow to start.
    next: usize,
    /// The end of each flow, if it has ended, in the order of the starts.
    ends: Vec<Option<(Time, Outcome)>>,
    /// The number of flows that have ended.
    ended: usize,
}

/// The number of events between two checkpoints.
const EVENTS_PER_CHECKPOINT: usize = 64;

const TIMER: TimerId = TimerId(0);
/// The columns of the table of flows. The last one is there where unfinished flows count with their time so
/// far.
const COLUMNS: &[(&str, Unit)] = &[
    ("id", Unit::Count),
    ("start", Unit::Picoseconds),
    ("end", Unit::Picoseconds),
    ("unfinished_for", Unit::Picoseconds),
];

const fn declared(columns: &'static [(&'static str, Unit)]) -> Declared<7> {
    Declared::new([
        Declaration::table("flows", columns),
        Declaration::counter("flows_finished", Unit::Count),
        Declaration::counter("flows_failed", Unit::Count),
        Declaration::counter("flows_unfinished", Unit::Count),
        Declaration::counter("delivered", Unit::Bytes),
        Declaration::histogram("duration", Unit::Picoseconds),
        Declaration::value("note", Unit::Count),
    ])
}

/// The metrics without the last column, and with it. The ids are the same.
const METRICS: Declared<7> = declared(COLUMNS.split_at(COLUMNS.len() - 1).0);
const METRICS_SO_FAR: Declared<7> = declared(COLUMNS);
const TABLE: TableId = METRICS.table("flows");
const FINISHED: CounterId = METRICS.counter("flows_finished");
const FAILED: CounterId = METRICS.counter("flows_failed");
const UNFINISHED: CounterId = METRICS.counter("flows_unfinished");
const BYTES: CounterId = METRICS.counter("delivered");
const DURATION: IntegerId = METRICS.integer("duration");
/// A sentence for the user.
const NOTE: ValueId = METRICS.value("note");

impl Flows {
    /// Returns the model of these flows.
    pub fn new(platform: Platform, mut flows: Vec<Flow>, network_model: NetworkModel) -> Flows {
        // The sort is stable, so flows of the same date start in the order of the list.
        flows.sort_by_key(|flow| flow.start);
        // Ids are reported as numbers only if all of them are numbers.
        let number = |flow: &Flow| flow.id.parse::<u64>().ok().filter(|number| *number.to_string() == *flow.id);
        let numbers: Option<Vec<Cell>> = flows.iter().map(|flow| number(flow).map(Cell::Integer)).collect();
        let ids = numbers.unwrap_or_else(|| flows.iter().map(|flow| Cell::Text(flow.id.clone())).collect());
        Flows { platform: Arc::new(platform), network_model, flows, ids, unfinished: Unfinished::default() }
    }

    /// Returns the model with another treatment of unfinished flows.
    #[must_use]
    pub fn with_unfinished(self, unfinished: Unfinished) -> Flows {
        Flows { unfinished, ..self }
    }

    /// Returns the flows, in the order of their starts.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Returns the platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Advances the network to the time `now`, starts the flows that are due, and returns the flows that have
    /// ended.
    ///
    /// # Errors
    ///
    /// A sentence if a flow has no route.
    fn advance(&self, progress: &mut Progress, now: Time) -> Result<Vec<Ended>, String> {
        loop {
            progress.network.advance(now);
            while let Some(flow) = self.flows.get(progress.next).filter(|flow| flow.start <= now) {
                progress.next += 1;
                let started = progress.network.start_flow(flow.source, flow.destination, flow.bytes);
                started.map_err(|why| format!("the flow {} cannot start: {why}", quoted(&flow.id)))?;
            }
            if progress.network.next_event().is_none_or(|date| date > now) {
                break;
            }
        }
        let ended: Vec<Ended> = std::iter::from_fn(|| progress.network.take_ended()).collect();
        for ended in &ended {
            progress.ends[number(ended)] = Some((ended.at, ended.outcome));
        }
        progress.ended += ended.len();
        Ok(ended)
    }

    /// Records the flows that have ended.
    fn report(&self, ended: &[Ended], ctx: &mut Context<'_, Self>) {
        for ended in ended {
            let flow = &self.flows[number(ended)];
            match ended.outcome {
                Outcome::Done => {
                    ctx.count(FINISHED, 1);
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
                    ctx.count(BYTES, flow.bytes as u64);
                    let index = || u32::try_from(number(ended)).expect("flows are counted in 32 bits");
                    ctx.observe_of(index, DURATION, ended.at.since(flow.start).as_ps());
                }
                Outcome::Failed | Outcome::Cancelled => ctx.count(FAILED, 1),
            }
            ctx.note(|| format!("flow {} {:?}", shortened(&flow.id), ended.outcome));
        }
    }

    /// Executes an event. All events are the timer's.
    fn execute(&self, state: &mut State, ctx: &mut Context<'_, Self>) {
        let first = state.progress.next;
        let advanced = self.advance(&mut state.progress, ctx.now());
        for flow in &self.flows[first..state.progress.next] {
            ctx.note(|| {
                let name = |host: HostId| &self.platform.hosts()[host.0 as usize].name;
                let [id, from, to] = [&*flow.id, name(flow.source), name(flow.destination)].map(shortened);
                format!("flow {id} starts: {} B, {from} to {to}", flow.bytes)
            });
        }
        match advanced {
            Ok(ended) => self.report(&ended, ctx),
            Err(why) => return ctx.fail(why),
        }
        self.set_timer(&mut state.progress, ctx);
    }

    /// Returns the sentence about flows that virtual time has left without end.
    fn beyond_the_end(&self, progress: &Progress) -> String {
        let mut left = self.flows.iter().zip(&progress.ends).filter(|(_, end)| end.is_none());
        let (first, _) = left.next().expect("a flow is left");
        let name = |host: HostId| quoted(&self.platform.hosts()[host.0 as usize].name);
        let (first, others) =
            (format!("{} from {} to {}", quoted(&first.id), name(first.source), name(first.destination)), left.count());
        let flows = match others {
            0 => format!("the flow {first} has not ended"),
            others => format!("{} flows have not ended, the first of them {first}", others + 1),
        };
        format!(
            "virtual time ends after {:.0} s (213 days), and {flows}; \
             end the run earlier, or let the flows take less time",
            Time::MAX.as_secs_f64()
        )
    }

    /// Sets the timer to the next start or the network's next event. Ends the run if all flows have ended.
    fn set_timer(&self, progress: &mut Progress, ctx: &mut Context<'_, Self>) {
        if progress.ended == self.flows.len() {
            return ctx.request_stop();
        }
        let start = self.flows.get(progress.next).map(|flow| flow.start).filter(|&start| start < Time::MAX);
        if let Some(date) = start.into_iter().chain(progress.network.next_event()).min() {
            ctx.set_timer(TIMER, date.since(ctx.now()));
        }
    }
}

impl Model for Flows {
    type State = State;
    type Message = ();
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        1
    }

    fn lp_name(&self, _: LpId) -> Option<String> {
        Some("network".to_owned())
    }

    fn flow_name(&self, flow: u32) -> Option<String> {
        self.flows.get(flow as usize).map(|flow| flow.id.to_string())
    }

    fn describe(&self, _: &Event<&()>, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("timer: next start or end of flows")
    }

    fn channels(&self) -> Channels {
        Channels::none()
    }

    fn controllers(&self) -> Controllers {
        Controllers { lps: vec![LpId(0)], delay: Delay::from_ps(1) }
    }

    fn metrics(&self) -> Metrics {
        let declared = if self.unfinished == Unfinished::SoFar { METRICS_SO_FAR } else { METRICS };
        declared.metrics()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        let network = FluidNetwork::new(Arc::clone(&self.platform), self.network_model);
        let mut progress = Progress { network, next: 0, ends: vec![None; self.flows.len()], ended: 0 };
        self.set_timer(&mut progress, ctx);
        State { progress, checkpoint: None, since_checkpoint: Vec::new() }
    }

    fn handle(&self, state: &mut State, _: Body<&()>, ctx: &mut Context<'_, Self>) {
        // This event will not be rolled back, nor will the events before it.
        state.checkpoint = None;
        state.since_checkpoint.clear();
        self.execute(state, ctx);
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        for end in &state.progress.ends {
            let (time, outcome) = end.map_or((u64::MAX, 3), |(time, outcome)| (time.as_ps(), outcome as u64));
            digest.word(time);
            digest.word(outcome);
        }
    }

    fn finish(&self, _: LpId, state: &State, end: &End, metrics: &mut Metrics) {
        if end.time == Time::MAX && state.progress.ended < self.flows.len() {
            metrics.set_incomplete(self.beyond_the_end(&state.progress));
        }
        // The time so far of an unfinished flow. A flow that has not started has none.
        let so_far = |flow: &Flow, ended: &Option<_>| {
            (ended.is_none() && flow.start < end.time).then(|| end.time.since(flow.start).as_ps())
        };
        let mut unfinished = 0_u64;
        for ((flow, id), end) in self.flows.iter().zip(&self.ids).zip(&state.progress.ends) {
            // The end of a failed flow cannot be compared with those of completed flows.
            let done = end.filter(|(_, outcome)| *outcome == Outcome::Done);
            let end_cell = done.map_or(Cell::Empty, |(time, _)| Cell::Integer(time.as_ps()));
            let start = if flow.start < Time::MAX { Cell::Integer(flow.start.as_ps()) } else { Cell::Empty };
            let unfinished_for = so_far(flow, end);
            let mut row = vec![id.clone(), start, end_cell];
            if self.unfinished == Unfinished::SoFar {
                row.push(unfinished_for.map_or(Cell::Empty, Cell::Integer));
            }
            metrics.row(TABLE, row);
            if end.is_none() {
                metrics.count(UNFINISHED, 1);
            }
            if let Some(so_far) = unfinished_for {
                unfinished += 1;
                if self.unfinished == Unfinished::SoFar {
                    metrics.observe(DURATION, so_far);
                }
            }
        }
        if unfinished > 0 {
            let be = if unfinished == 1 { "is" } else { "are" };
            let effect = match (self.unfinished, unfinished) {
                (Unfinished::LeftOut, 1) => "and has no duration",
                (Unfinished::LeftOut, _) => "and have no duration",
                (Unfinished::SoFar, 1) => "and its time so far counts as its duration, a lower bound",
                (Unfinished::SoFar, _) => "and their times so far count as durations, lower bounds",
            };
            let all = self.flows.len();
            metrics.set(NOTE, format!("{unfinished} of {all} flows {be} unfinished, {effect}").as_str());
        }
    }
}

/// Returns the index of a flow that has ended. The network numbers flows by their starts, and so does the
/// list.
fn number(ended: &Ended) -> usize {
    usize::try_from(ended.id.number()).expect("fewer flows than memory has bytes")
}

/// The checkpoint that an execution replaced, and the times of the events after it.
#[derive(Debug)]
pub struct ReplacedCheckpoint(Option<Arc<Progress>>, Vec<Time>);

/// A network is too large to be copied for each event, and one event may change all of it. But the effect of
/// an event depends only on the state and the time. So a checkpoint is taken every `EVENTS_PER_CHECKPOINT`
/// events. To undo an event, the events between the checkpoint and this event are executed again, without
/// sending (coast forward).
impl SaveModel for Flows {
    fn write_state(&self, _: LpId, state: &State, to: &mut Vec<u8>) {
        let Progress { network, next, ends, ended: _ } = &state.progress;
        network.write(to);
        let ends: Vec<(u64, Time, Outcome)> =
            (0..).zip(ends).filter_map(|(number, end)| end.map(|(time, outcome)| (number, time, outcome))).collect();
        wire::write(&(*next as u64, ends), to);
    }

    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<State, Malformed> {
        let malformed = || Malformed::new("the flows have a state that none can have");
        let network = FluidNetwork::read(Arc::clone(&self.platform), self.network_model, from)?;
        let (next, ended): (u64, Vec<(u64, Time, Outcome)>) = wire::read(from)?;
        let mut progress = Progress { network, next: 0, ends: vec![None; self.flows.len()], ended: ended.len() };
        progress.next = usize::try_from(next).ok().filter(|&next| next <= self.flows.len()).ok_or_else(malformed)?;
        for (number, time, outcome) in ended {
            let place = usize::try_from(number).ok().filter(|&number| number < progress.next);
            let place = &mut progress.ends[place.ok_or_else(malformed)?];
            if place.replace((time, outcome)).is_some() {
                return Err(malformed());
            }
        }
        // Flows are numbered as they start, and each has ended or runs.
        let runs = |number: u64| usize::try_from(number).is_ok_and(|number| progress.ends.get(number) == Some(&None));
        let is_right = progress.network.started() == next
            && progress.network.active() as usize + progress.ended == progress.next
            && progress.network.serials().all(runs)
            && !progress.network.has_ended();
        match is_right {
            true => Ok(State { progress, checkpoint: None, since_checkpoint: Vec::new() }),
            false => Err(malformed()),
        }
    }
}

impl Restorable for Flows {
    type Undo = Option<ReplacedCheckpoint>;

    fn handle_undoable(
        &self,
        state: &mut State,
        _: Body<&()>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<Option<ReplacedCheckpoint>>,
    ) {
        let due = state.checkpoint.is_none() || state.since_checkpoint.len() == EVENTS_PER_CHECKPOINT;
        log.push(due.then(|| {
            let checkpoint = Some(Arc::new(state.progress.clone()));
            let replaced = std::mem::replace(&mut state.checkpoint, checkpoint);
            ReplacedCheckpoint(replaced, std::mem::take(&mut state.since_checkpoint))
        }));
        state.since_checkpoint.push(ctx.now());
        self.execute(state, ctx);
    }

    fn undo(&self, state: &mut State, _: Body<&()>, log: &mut UndoLog<Option<ReplacedCheckpoint>>) {
        let replaced = log.pop().expect("every execution leaves one record");
        state.since_checkpoint.pop();
        let checkpoint = state.checkpoint.as_ref().expect("an undoable execution leaves a checkpoint");
        state.progress = Progress::clone(checkpoint);
        if let Some(ReplacedCheckpoint(checkpoint, times)) = replaced {
            // This checkpoint was taken just before the undone event.
            (state.checkpoint, state.since_checkpoint) = (checkpoint, times);
            return;
        }
        for &time in &state.since_checkpoint {
            // An execution that has succeeded succeeds again.
            let _ = self.advance(&mut state.progress, time);
        }
    }
}
