//! The model `flows`: a list of flows on a platform.
//!
//! One LP owns the network, since any flow may share a link with any other. It starts each flow at its date, and has one timer: the next start, or
//! the next thing that happens in the network, whichever comes first. The run ends with the last flow.

use crate::network::{Ended, Network, Outcome};
use crate::platform::{HostId, Platform};
use crate::terms::Terms;
use parades_core::prelude::*;
use std::sync::Arc;

/// A flow of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// What it is called in results: a number, as a rule.
    pub id: Box<str>,
    /// Who sends.
    pub source: HostId,
    /// Who receives.
    pub destination: HostId,
    /// How much.
    pub bytes: f64,
    /// From when on.
    pub start: Time,
}

/// Flows on a platform.
///
/// # Examples
///
/// ```
/// use parades_core::prelude::*;
/// use parades_engine::sequential;
/// use parades_flow::{flows::Flows, pattern, terms::{Sharing, Terms}, xml};
/// let text = r#"<platform version="4.1">
///   <cluster id="c" prefix="n" radical="0-9" suffix="" speed="1Gf" bw="100MBps" lat="50us"/></platform>"#;
/// let platform = xml::parse("c.xml".as_ref(), text.as_bytes())?;
/// let list = pattern::parse("p.txt".as_ref(), b"1 n0 n1 1e8 0\n2 n0 n2 1e8 0.5", &platform)?;
///
/// let model = Flows::new(platform, list, Terms::Shared(Sharing::CM02));
/// let outcome = sequential::run(&model, RunOptions::until(Time::MAX)).unwrap();
/// let rows = outcome.metrics.get("flows").and_then(|metric| metric.table()).unwrap().rows();
/// // Each alone for half a second, and sharing the link of n0 in between; 100 µs of latency.
/// assert_eq!(rows[0], [Cell::Integer(1), Cell::Integer(0), Cell::Integer(1_500_100_000_000)]);
/// assert_eq!(rows[1], [Cell::Integer(2), Cell::Integer(500_000_000_000), Cell::Integer(2_000_100_000_000)]);
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Flows {
    platform: Arc<Platform>,
    terms: Terms,
    /// In the order of their starts.
    flows: Vec<Flow>,
    /// The ids as they are reported.
    ids: Vec<Cell>,
}

/// Where the flows stand.
#[derive(Clone, Debug)]
pub struct State {
    standing: Standing,
    /// Where they stood some events ago, if events may be taken back.
    earlier: Option<Arc<Standing>>,
    /// The times of the events since then.
    since: Vec<Time>,
}

/// States are equal where the flows stand alike; what is kept so that events can be taken back is no part of it.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        self.standing == other.standing
    }
}

/// The network, and what has become of the flows.
#[derive(Clone, Debug, PartialEq)]
struct Standing {
    network: Network,
    /// The first flow that has not started.
    next: usize,
    /// When and how each ended, by the order of their starts.
    ends: Vec<Option<(Time, Outcome)>>,
    /// How many have.
    ended: usize,
}

/// After so many events a copy of the state is kept, where they may be taken back.
const EVENTS_A_COPY: usize = 64;

const TIMER: TimerId = TimerId(0);
const TABLE: MetricId = MetricId(0);
const FINISHED: MetricId = MetricId(1);
const FAILED: MetricId = MetricId(2);
const UNFINISHED: MetricId = MetricId(3);
const BYTES: MetricId = MetricId(4);
const DURATION: MetricId = MetricId(5);

impl Flows {
    /// These flows, under a model.
    pub fn new(platform: Platform, mut flows: Vec<Flow>, terms: Terms) -> Flows {
        // A stable sort: flows of one date start in the order of the list.
        flows.sort_by_key(|flow| flow.start);
        // Ids are numbers if all of them are written as such, so that all are reported alike.
        let number = |flow: &Flow| flow.id.parse::<u64>().ok().filter(|number| *number.to_string() == *flow.id);
        let numbers: Option<Vec<Cell>> = flows.iter().map(|flow| number(flow).map(Cell::Integer)).collect();
        let ids = numbers.unwrap_or_else(|| flows.iter().map(|flow| Cell::Text(flow.id.clone())).collect());
        Flows { platform: Arc::new(platform), terms, flows, ids }
    }

    /// The flows, in the order of their starts.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Does all that is due at a time, and tells what has ended.
    fn proceed(&self, standing: &mut Standing, now: Time) -> Result<Vec<Ended>, String> {
        loop {
            standing.network.advance(now);
            while let Some(flow) = self.flows.get(standing.next).filter(|flow| flow.start <= now) {
                standing.next += 1;
                let started = standing.network.start_flow(flow.source, flow.destination, flow.bytes);
                started.map_err(|why| format!("the flow {} cannot start: {why}", flow.id))?;
            }
            if standing.network.next_event().is_none_or(|date| date > now) {
                break;
            }
        }
        let ended: Vec<Ended> = std::iter::from_fn(|| standing.network.take_ended()).collect();
        for ended in &ended {
            standing.ends[number(ended)] = Some((ended.at, ended.outcome));
        }
        standing.ended += ended.len();
        Ok(ended)
    }

    /// Records what has ended.
    fn report(&self, ended: &[Ended], ctx: &mut Context<'_, Self>) {
        for ended in ended {
            let flow = &self.flows[number(ended)];
            match ended.outcome {
                Outcome::Done => {
                    ctx.count(FINISHED, 1);
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
                    ctx.count(BYTES, flow.bytes as u64);
                    ctx.observe(DURATION, ended.at.since(flow.start).as_ps());
                }
                Outcome::Failed | Outcome::Cancelled => ctx.count(FAILED, 1),
            }
            ctx.note(|| format!("flow {} {:?}", flow.id, ended.outcome));
        }
    }

    /// Executes an event: all events are the timer.
    fn execute(&self, state: &mut State, ctx: &mut Context<'_, Self>) {
        match self.proceed(&mut state.standing, ctx.now()) {
            Ok(ended) => self.report(&ended, ctx),
            Err(why) => return ctx.fail(why),
        }
        self.set_timer(&mut state.standing, ctx);
    }

    /// Sets the timer to what comes next. When all flows have ended, so does the run, whatever else would happen on the platform.
    fn set_timer(&self, standing: &mut Standing, ctx: &mut Context<'_, Self>) {
        if standing.ended == self.flows.len() {
            return ctx.request_stop();
        }
        let start = self.flows.get(standing.next).map(|flow| flow.start);
        if let Some(date) = start.into_iter().chain(standing.network.next_event()).min() {
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

    fn channels(&self) -> Channels {
        Channels::none()
    }

    fn controllers(&self) -> Controllers {
        Controllers { lps: vec![LpId(0)], delay: Delay::from_ps(1) }
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        let column = |name, unit| Column::new(name, unit);
        let columns =
            vec![column("id", Unit::Count), column("start", Unit::Picoseconds), column("end", Unit::Picoseconds)];
        metrics.table("flows", columns);
        metrics.counter("flows_finished", Unit::Count);
        metrics.counter("flows_failed", Unit::Count);
        metrics.counter("flows_unfinished", Unit::Count);
        metrics.counter("delivered", Unit::Bytes);
        metrics.histogram("duration", Unit::Picoseconds);
        metrics
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        let network = Network::new(Arc::clone(&self.platform), self.terms);
        let mut standing = Standing { network, next: 0, ends: vec![None; self.flows.len()], ended: 0 };
        self.set_timer(&mut standing, ctx);
        State { standing, earlier: None, since: Vec::new() }
    }

    fn handle(&self, state: &mut State, _: Body<&()>, ctx: &mut Context<'_, Self>) {
        // Nobody takes this event back, nor those before it.
        state.earlier = None;
        state.since.clear();
        self.execute(state, ctx);
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        for end in &state.standing.ends {
            let (time, outcome) = end.map_or((u64::MAX, 3), |(time, outcome)| (time.as_ps(), outcome as u64));
            digest.word(time);
            digest.word(outcome);
        }
    }

    fn finish(&self, _: LpId, state: &State, _: &End, metrics: &mut Metrics) {
        for ((flow, id), end) in self.flows.iter().zip(&self.ids).zip(&state.standing.ends) {
            // What failed has no end that one could compare with others'.
            let done = end.filter(|(_, outcome)| *outcome == Outcome::Done);
            let end_cell = done.map_or(Cell::Empty, |(time, _)| Cell::Integer(time.as_ps()));
            metrics.row(TABLE, [id.clone(), Cell::Integer(flow.start.as_ps()), end_cell]);
            if end.is_none() {
                metrics.count(UNFINISHED, 1);
            }
        }
    }
}

/// The flow that has ended: flows are counted by the network in the order in which they start, which is that of the list.
fn number(ended: &Ended) -> usize {
    usize::try_from(ended.id.number()).expect("fewer flows than memory has bytes")
}

/// What an execution replaced: where the flows stood earlier, and the times of the events from there.
#[derive(Debug)]
pub struct Replaced(Option<Arc<Standing>>, Vec<Time>);

/// A network is too large to be copied for each event, and an event may change all of it. But what an event does depends on the state and the
/// time alone. So a copy is kept now and then, and to take an event back, those between the copy and it are executed again, in silence.
impl Restorable for Flows {
    type Undo = Option<Replaced>;

    fn handle_undoable(
        &self,
        state: &mut State,
        _: Body<&()>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<Option<Replaced>>,
    ) {
        let due = state.earlier.is_none() || state.since.len() == EVENTS_A_COPY;
        log.push(due.then(|| {
            let copy = Some(Arc::new(state.standing.clone()));
            Replaced(std::mem::replace(&mut state.earlier, copy), std::mem::take(&mut state.since))
        }));
        state.since.push(ctx.now());
        self.execute(state, ctx);
    }

    fn undo(&self, state: &mut State, _: Body<&()>, log: &mut UndoLog<Option<Replaced>>) {
        let replaced = log.pop().expect("every execution leaves one record");
        state.since.pop();
        let copy = state.earlier.as_ref().expect("executions that can be taken back keep a copy");
        state.standing = Standing::clone(copy);
        if let Some(Replaced(earlier, since)) = replaced {
            // The copy was made just before the event.
            (state.earlier, state.since) = (earlier, since);
            return;
        }
        for &time in &state.since {
            // What went well once goes well again.
            let _ = self.proceed(&mut state.standing, time);
        }
    }
}
