//! The program of a replay, and its results.

use crate::all_to_all::AllToAll;
use crate::rank;
use crate::trace::{Action, Incoming, Outgoing, Step, Trace};
use parades_carriers::FlowLevel;
use parades_core::prelude::*;
use parades_flow::network_model::NetworkModel;
use parades_flow::platform::Platform;
use parades_program::{Processes, Program, Start};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// A trace that is replayed on a platform. Rank *i* is on host *i*; where there are more ranks than hosts,
/// they share hosts in turn.
///
/// # Examples
///
/// ```
/// use parades_core::prelude::*;
/// use parades_flow::network_model::{MaxMinModel, NetworkModel};
/// use parades_replay::{Replay, trace};
///
/// let platform = parades_flow::xml::parse("two.xml".as_ref(), br#"<platform version="4.1"><zone id="w" routing="Full">
///     <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <link id="ab" bandwidth="125MBps" latency="100us"/>
///     <route src="a" dst="b"><link_ctn id="ab"/></route></zone></platform>"#)?;
/// let trace = trace::parse("t".as_ref(), "0 compute 1e9\n0 send 1 0 1e6\n1 recv 0 0 1e6\n1 compute 5e8\n")?;
/// let model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
/// let replay = Replay::model(platform, model, trace, None);
/// let outcome = parades_engine::sequential::run(&replay, RunOptions::until(Time::MAX))?;
/// // 1 s; 8 ms and 100 µs for the message, which has 16 bytes more; 0.5 s.
/// assert_eq!(outcome.metrics.get("replay_time").and_then(|time| time.value()), Some(&Cell::Integer(1_508_100_128_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Replay {
    ranks: Vec<Arc<[Step]>>,
    files: Vec<PathBuf>,
    /// The sender, receiver and tag of the messages of the trace, if a rank receives from any sender or with
    /// any tag.
    messages: BTreeSet<Message>,
    pub(crate) all_to_all: Option<AllToAll>,
    carrier: FlowLevel<Data>,
}

/// The receiver, the sender and the tag of a message.
type Message = (u32, u32, i64);

/// A message between ranks, in bytes, with its envelope.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Data(pub(crate) f64);

impl Payload for Data {
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.0.to_bits());
    }
}

/// The progress of a rank.
#[derive(Debug, Default)]
pub struct RankState {
    pub(crate) end: Option<Time>,
    /// The index of the step that the rank does, or has done last.
    pub(crate) step: usize,
    pub(crate) computing: Delay,
    pub(crate) messages: u64,
    pub(crate) bytes: f64,
}

/// The number of ranks that an error names.
const NAMED: usize = 8;

const METRICS: Declared<4> = Declared::new([
    Declaration::counter("messages_sent", Unit::Count),
    Declaration::value("replay_time", Unit::Picoseconds),
    Declaration::counter("ranks_unfinished", Unit::Count),
    Declaration::table(
        "ranks",
        &[
            ("rank", Unit::Count),
            ("host", Unit::Count),
            ("end", Unit::Picoseconds),
            ("computing", Unit::Picoseconds),
            ("messages_sent", Unit::Count),
            ("bytes_sent", Unit::Bytes),
            ("unfinished", Unit::Count),
        ],
    ),
]);
const MESSAGES: CounterId = METRICS.counter("messages_sent");
const REPLAY_TIME: ValueId = METRICS.value("replay_time");
const UNFINISHED: CounterId = METRICS.counter("ranks_unfinished");
const RANKS: TableId = METRICS.table("ranks");

impl Replay {
    /// Makes the model of the replay of a trace. Without `all_to_all`, the algorithm of `alltoall` is SMPI's
    /// choice, [`AllToAll::of_smpi`].
    ///
    /// # Panics
    ///
    /// If the platform has no host, or the trace no rank.
    pub fn model(
        platform: Platform,
        network_model: NetworkModel,
        trace: Trace,
        all_to_all: Option<AllToAll>,
    ) -> Processes<Replay> {
        let count = u32::try_from(trace.ranks.len()).expect("ranks are bounded");
        assert!(count > 0, "a trace has a rank");
        let messages = messages(&trace);
        let ranks = trace.ranks.into_iter().map(Arc::from).collect();
        let carrier = FlowLevel::new(platform.into(), network_model, count, |data: &Data| data.0);
        Processes::new(Replay { ranks, files: trace.files, messages, all_to_all, carrier })
    }

    /// Returns the senders and tags of the messages of the trace that a rank may receive.
    pub(crate) fn senders_to(&self, to: u32, incoming: Incoming) -> Vec<(u32, i64)> {
        let of_rank = self.messages.range((to, 0, i64::MIN)..=(to, u32::MAX, i64::MAX));
        let fits = |&(_, from, tag): &Message| {
            incoming.from.is_none_or(|other| other == from) && incoming.tag.map_or(tag >= 0, |other| other == tag)
        };
        of_rank.filter(|message| fits(message)).map(|&(_, from, tag)| (from, tag)).collect()
    }

    /// Returns the file and the line of a step.
    pub(crate) fn place(&self, step: &Step) -> String {
        let file = self.files.get(step.file as usize);
        let file = file.map_or("the trace".into(), |file| file.to_string_lossy());
        format!("{file}:{}", step.line)
    }
}

/// Returns the messages of a trace, if a rank receives from any sender or with any tag.
fn messages(trace: &Trace) -> BTreeSet<Message> {
    let is_open = |step: &Step| match &step.action {
        Action::Recv(incoming) | Action::Irecv(incoming) | Action::SendRecv(_, incoming) => {
            incoming.from.is_none() || incoming.tag.is_none()
        }
        _ => false,
    };
    if !trace.ranks.iter().flatten().any(is_open) {
        return BTreeSet::new();
    }
    let steps = (0..).zip(&trace.ranks).flat_map(|(rank, steps)| steps.iter().map(move |step| (rank, step)));
    let message = |(from, step): (u32, &Step)| match step.action {
        Action::Send(Outgoing { to, tag, .. })
        | Action::Isend(Outgoing { to, tag, .. })
        | Action::SendRecv(Outgoing { to, tag, .. }, _) => Some((to, from, tag)),
        _ => None,
    };
    steps.filter_map(message).collect()
}

impl Program for Replay {
    type Message = Data;
    type State = RankState;
    type Carrier = FlowLevel<Data>;

    fn nodes(&self) -> u32 {
        u32::try_from(self.ranks.len()).expect("ranks are bounded")
    }

    fn carrier(&self) -> &FlowLevel<Data> {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> RankState {
        let steps = Arc::clone(&self.ranks[start.id().index()]);
        start.spawn("rank", move |node| rank::replay(node, steps));
        RankState::default()
    }

    /// A rank that waits for ever is a mistake in the trace.
    fn must_end(&self) -> bool {
        true
    }

    fn finish(&self, id: LpId, state: &RankState, _: &End, metrics: &mut Metrics) {
        let RankState { end, step, computing, messages, bytes } = state;
        metrics.count(MESSAGES, *messages);
        metrics.count(UNFINISHED, u64::from(end.is_none()));
        let platform = self.carrier.platform();
        let host = platform.hosts()[self.carrier.host(id).0 as usize].name.clone();
        let unfinished = match self.ranks[id.index()].get(*step) {
            _ if end.is_some() => Cell::Empty,
            Some(step) => Cell::Text(format!("at {}", self.place(step)).into()),
            None => Cell::Text("after its last action".into()),
        };
        metrics.row(
            RANKS,
            [
                Cell::from(u64::from(id.0)),
                Cell::Text(host),
                end.map_or(Cell::Empty, |end| Cell::from(end.as_ps())),
                Cell::from(computing.as_ps()),
                Cell::from(*messages),
                Cell::Float(*bytes),
                unfinished,
            ],
        );
    }

    fn conclude(&self, _: &End, metrics: &mut Metrics) -> Result<(), String> {
        let rows = metrics.by_id(RANKS).and_then(|metric| metric.table()).map(|table| table.rows()).unwrap_or_default();
        if let Some(Cell::Text(_)) = metrics.get("deadlock").and_then(|deadlock| deadlock.value()) {
            return Err(deadlock(&rows));
        }
        let ends = rows.iter().map(|row| if let Cell::Integer(end) = row[2] { Some(end) } else { None });
        // Unless all ranks have ended, the replay has no time.
        let last = ends.collect::<Option<Vec<u64>>>().and_then(|ends| ends.into_iter().max());
        if let Some(last) = last {
            metrics.set(REPLAY_TIME, last);
        }
        Ok(())
    }
}

/// Returns a sentence on ranks that never end. `rows` are those of the table `ranks`.
fn deadlock(rows: &[Vec<Cell>]) -> String {
    let one = |row: &Vec<Cell>| match &row[..] {
        [Cell::Integer(rank), .., Cell::Text(place)] => Some(format!("rank {rank} {place}")),
        _ => None,
    };
    let waiting: Vec<String> = rows.iter().filter_map(one).collect();
    let more = if waiting.len() > NAMED { format!(", and {} more", waiting.len() - NAMED) } else { String::new() };
    let named = waiting[..waiting.len().min(NAMED)].join(", ");
    format!(
        "these ranks never end: {named}{more}; correct the trace: each message is sent and received, and virtual time ends after 213 days"
    )
}
