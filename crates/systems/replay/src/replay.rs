//! The program of a replay, and its results.

use crate::rank;
use crate::trace::{Step, Trace};
use parades_carriers::FlowLevel;
use parades_core::prelude::*;
use parades_flow::network_model::NetworkModel;
use parades_flow::platform::Platform;
use parades_program::{Processes, Program, Start};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How data goes from all ranks to all ranks in `alltoall`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllToAll {
    /// Each rank sends to all others at a time. SMPI's default for amounts below 512 KiB between 2 to 4
    /// ranks.
    #[default]
    Linear,
    /// Each rank exchanges data with one other at a time.
    Pairwise,
}

/// A trace that is replayed on a platform. Rank *i* is on host *i*; where there are more ranks than hosts,
/// they share hosts in turn.
///
/// # Examples
///
/// ```
/// use parades_core::prelude::*;
/// use parades_flow::network_model::{MaxMinModel, NetworkModel};
/// use parades_replay::{AllToAll, Replay, trace};
///
/// let platform = parades_flow::xml::parse("two.xml".as_ref(), br#"<platform version="4.1"><zone id="w" routing="Full">
///     <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <link id="ab" bandwidth="125MBps" latency="100us"/>
///     <route src="a" dst="b"><link_ctn id="ab"/></route></zone></platform>"#)?;
/// let trace = trace::parse("t".as_ref(), "0 compute 1e9\n0 send 1 0 1e6\n1 recv 0 0 1e6\n1 compute 5e8\n")?;
/// let model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
/// let replay = Replay::model(platform, model, trace, AllToAll::Linear);
/// let outcome = parades_engine::sequential::run(&replay, RunOptions::until(Time::MAX))?;
/// // 1 s; 8 ms and 100 µs for the message, which has 16 bytes more; 0.5 s.
/// assert_eq!(outcome.metrics.get("replay_time").and_then(|time| time.value()), Some(&Cell::Integer(1_508_100_128_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Replay {
    pub(crate) ranks: Vec<Arc<[Step]>>,
    pub(crate) all_to_all: AllToAll,
    carrier: FlowLevel<Data>,
}

/// A message between ranks, in bytes, with its envelope.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Data(pub(crate) f64);

impl Payload for Data {
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.0.to_bits());
    }
}

/// What a rank has done.
#[derive(Debug, Default)]
pub struct RankState {
    pub(crate) end: Option<Time>,
    pub(crate) computing: Delay,
    pub(crate) messages: u64,
    pub(crate) bytes: f64,
}

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
        ],
    ),
]);
const MESSAGES: CounterId = METRICS.counter("messages_sent");
const REPLAY_TIME: ValueId = METRICS.value("replay_time");
const UNFINISHED: CounterId = METRICS.counter("ranks_unfinished");
const RANKS: TableId = METRICS.table("ranks");

impl Replay {
    /// Makes the model of the replay of a trace.
    ///
    /// # Panics
    ///
    /// If the platform has no host, or the trace no rank.
    pub fn model(
        platform: Platform,
        network_model: NetworkModel,
        trace: Trace,
        all_to_all: AllToAll,
    ) -> Processes<Replay> {
        let count = u32::try_from(trace.ranks.len()).expect("ranks are bounded");
        assert!(count > 0, "a trace has a rank");
        let ranks = trace.ranks.into_iter().map(Arc::from).collect();
        let carrier = FlowLevel::new(platform.into(), network_model, count, |data: &Data| data.0);
        Processes::new(Replay { ranks, all_to_all, carrier })
    }
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
        let RankState { end, computing, messages, bytes } = state;
        metrics.count(MESSAGES, *messages);
        metrics.count(UNFINISHED, u64::from(end.is_none()));
        let platform = self.carrier.platform();
        let host = platform.hosts()[self.carrier.host(id).0 as usize].name.clone();
        metrics.row(
            RANKS,
            [
                Cell::from(u64::from(id.0)),
                Cell::Text(host),
                end.map_or(Cell::Empty, |end| Cell::from(end.as_ps())),
                Cell::from(computing.as_ps()),
                Cell::from(*messages),
                Cell::Float(*bytes),
            ],
        );
    }

    fn conclude(&self, _: &End, metrics: &mut Metrics) -> Result<(), String> {
        let rows = metrics.by_id(RANKS).and_then(|metric| metric.table()).map(|table| table.rows()).unwrap_or_default();
        let ends = rows.iter().map(|row| if let Cell::Integer(end) = row[2] { Some(end) } else { None });
        // Unless all ranks have ended, the replay has no time.
        let last = ends.collect::<Option<Vec<u64>>>().and_then(|ends| ends.into_iter().max());
        if let Some(last) = last {
            metrics.set(REPLAY_TIME, last);
        }
        Ok(())
    }
}
