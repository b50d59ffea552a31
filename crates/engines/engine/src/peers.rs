//! The peers of a rank: the leaders of the other ranks, at cuts.
//!
//! Events, promises and summaries reach other ranks through the [`Transport`]. Everything else that leaders
//! share goes through [`Peers`], at cuts: ledgers, times and counts, the summaries of global events, and the
//! results. All leaders receive the same and decide the same, so no leader gives orders to another.
//!
//! A run in one process has no peers ([`Alone`]), and asks nothing of the model's types. A run of several
//! ranks ([`Ranks`]) needs messages, global events and their summaries that can cross process boundaries
//! ([`WireModel`]).
//!
//! [`Transport`]: parades_transport::Transport

mod words;

use crate::ledger::Ledger;
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Body, Event, LpId};
pub(crate) use parades_core::global::SummaryOf;
use parades_core::global::{Global, Visits};
use parades_core::metrics::{Metrics, Recorded};
use parades_core::model::Model;
use parades_core::pending::Leftover;
use parades_core::time::Time;
use parades_core::wire::Wire;
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::{Group, Transport, gather_all, gather_to_first};
use serde::{Deserialize, Serialize};

/// A model that several processes can run together. Its messages, its global events and their summaries can
/// cross process boundaries.
pub trait WireModel: Model<Message: Wire, Global: Wire + Global<Self, Summary: Wire>> {}
impl<M: Model<Message: Wire, Global: Wire + Global<M, Summary: Wire>>> WireModel for M {}

/// The place of a rank in a run: the way to the workers of all ranks, and to the leaders.
pub(crate) struct Seat<'a, M: Model, P> {
    pub(crate) transport: &'a dyn Transport<P>,
    pub(crate) peers: &'a dyn Peers<M>,
}

/// The leaders of all ranks. Every leader makes the same calls in the same order.
pub(crate) trait Peers<M: Model>: Sync {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;
    /// Returns the number of ranks.
    fn ranks(&self) -> usize;
    /// Returns the ledgers of all ranks, in rank order.
    fn share_ledger(&self, mine: Ledger<M>) -> Result<Vec<Ledger<M>>, Broken>;
    /// Returns the words of all ranks, in rank order.
    fn share_words(&self, mine: &[u64]) -> Result<Vec<Vec<u64>>, Broken>;
    /// Returns the visits of all ranks, in rank order.
    fn share_visits(&self, mine: Visits<SummaryOf<M>>) -> Result<Vec<Visits<SummaryOf<M>>>, Broken>;
    /// Returns the results of all ranks, in rank order, on rank 0; `None` elsewhere.
    fn collect(&self, mine: Results<M::Message>) -> Result<Option<Vec<Results<M::Message>>>, Broken>;
}

/// The results of one rank.
pub(crate) struct Results<P> {
    /// The LPs of the rank, in the order of their digests. Empty if this is the only rank: then all LPs are
    /// here, in id order.
    pub(crate) ids: Vec<LpId>,
    /// The final digest of each LP of the rank.
    pub(crate) digests: Vec<u64>,
    pub(crate) metrics: Metrics,
    /// The events that were pending at the end.
    pub(crate) pending: Leftover<P>,
    /// Counts of the engine, which are added up over the ranks.
    pub(crate) counts: Vec<u64>,
}

/// The only rank of a run.
pub(crate) struct Alone;

impl<M: Model> Peers<M> for Alone {
    fn rank(&self) -> usize {
        0
    }
    fn ranks(&self) -> usize {
        1
    }
    fn share_ledger(&self, mine: Ledger<M>) -> Result<Vec<Ledger<M>>, Broken> {
        Ok(vec![mine])
    }
    fn share_words(&self, mine: &[u64]) -> Result<Vec<Vec<u64>>, Broken> {
        Ok(vec![mine.to_vec()])
    }
    fn share_visits(&self, mine: Visits<SummaryOf<M>>) -> Result<Vec<Visits<SummaryOf<M>>>, Broken> {
        Ok(vec![mine])
    }
    fn collect(&self, mine: Results<M::Message>) -> Result<Option<Vec<Results<M::Message>>>, Broken> {
        Ok(Some(vec![mine]))
    }
}

/// One of several ranks.
pub(crate) struct Ranks<'a>(pub(crate) &'a dyn Group);

impl<M: WireModel> Peers<M> for Ranks<'_> {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn ranks(&self) -> usize {
        self.0.ranks()
    }

    fn share_ledger(&self, mine: Ledger<M>) -> Result<Vec<Ledger<M>>, Broken> {
        let Ledger { traces, trace, requests, failure } = mine;
        let all = gather_all(self.0, &(trace, requests, failure))?;
        let ledger = |(trace, requests, failure)| Ledger { traces, trace, requests, failure };
        Ok(all.into_iter().map(ledger).collect())
    }

    fn share_words(&self, mine: &[u64]) -> Result<Vec<Vec<u64>>, Broken> {
        gather_all(self.0, &mine.to_vec())
    }

    fn share_visits(&self, mine: Visits<SummaryOf<M>>) -> Result<Vec<Visits<SummaryOf<M>>>, Broken> {
        gather_all(self.0, &mine)
    }

    fn collect(&self, mine: Results<M::Message>) -> Result<Option<Vec<Results<M::Message>>>, Broken> {
        let Results { ids, digests, metrics, pending, counts } = mine;
        let declared = metrics.declarations();
        let messages = pending.filter(|event| matches!(event.body, Body::Message(_))).collect();
        let sent = Sent { ids, digests, recorded: metrics.into_recorded(), messages, counts };
        let received = gather_to_first(self.0, sent)?;
        let results = |Sent { ids, digests, recorded, messages, counts }| {
            let mut metrics = declared.declarations();
            metrics.merge_recorded(recorded);
            Results { ids, digests, metrics, pending: Box::new(Vec::into_iter(messages)) as Leftover<_>, counts }
        };
        Ok(received.map(|all| all.into_iter().map(results).collect()))
    }
}

/// The results of a rank, as it sends them to rank 0.
#[derive(Serialize, Deserialize)]
struct Sent<P> {
    ids: Vec<LpId>,
    #[serde(with = "words")]
    digests: Vec<u64>,
    recorded: Recorded,
    messages: Vec<Event<P>>,
    counts: Vec<u64>,
}

/// Returns the error of a run whose transport has broken up without a panic of this process.
pub(crate) fn lost<P>(transport: &dyn Transport<P>) -> Error {
    let why = transport.failure().unwrap_or_else(|| "a worker of another rank failed".into());
    Error::new(ErrorKind::Ranks(why))
}

/// Ends the run on this rank if it has failed on another. For example, only rank 0 notices that it cannot
/// write the trace.
pub(crate) fn agree_on_failure<M: Model>(
    peers: &dyn Peers<M>,
    end: &mut Option<Result<Time, Error>>,
) -> Result<(), Broken> {
    let failed = matches!(end, Some(Err(_)));
    let all = peers.share_words(&[u64::from(failed)])?;
    if !failed && let Some(rank) = all.iter().position(|words| words[0] > 0) {
        *end = Some(Err(Error::new(ErrorKind::Ranks(format!("rank {rank} has ended the run")))));
    }
    Ok(())
}

/// Returns the error of a failure that all leaders know. If it is a loop of zero delays, each rank adds its
/// own LPs.
pub(crate) fn error_at<M: Model, P>(seat: &Seat<'_, M, P>, world: &World, (place, kind): (Place, ErrorKind)) -> Error {
    let error = world.error_at(kind, place);
    let ErrorKind::Rounds { limit, lps } = error.kind() else { return error };
    let own: Vec<u64> = lps.iter().map(|lp| lp.0.into()).collect();
    let Ok(all) = seat.peers.share_words(&own) else { return lost(seat.transport) };
    #[expect(clippy::cast_possible_truncation, reason = "they were made of ids of 32 bits")]
    let lps = all.into_iter().flatten().map(|id| LpId(id as u32)).collect();
    world.error_at(ErrorKind::Rounds { limit: *limit, lps }, place)
}

/// Returns the sum of `words[index]` over the ranks.
pub(crate) fn sum(all: &[Vec<u64>], index: usize) -> u64 {
    all.iter().map(|words| words[index]).sum()
}

/// Returns the least of `words[index]` over the ranks.
pub(crate) fn least(all: &[Vec<u64>], index: usize) -> u64 {
    all.iter().map(|words| words[index]).min().unwrap_or(u64::MAX)
}

/// Returns the greatest of `words[index]` over the ranks.
pub(crate) fn greatest(all: &[Vec<u64>], index: usize) -> u64 {
    all.iter().map(|words| words[index]).max().unwrap_or(0)
}
