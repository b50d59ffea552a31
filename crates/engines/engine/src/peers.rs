//! The peers of a rank: the leaders of the other ranks, at cuts.
//!
//! Events, promises and summaries reach other ranks through the [`Transport`]. Everything else that leaders
//! share goes through [`Peers`], at cuts: ledgers, times and counts, the summaries of global events, and the
//! results. All leaders receive the same and decide the same, so no leader gives orders to another.
//!
//! A run in one process has no peers ([`Alone`]), and asks nothing of the model's types. A run of several
//! ranks ([`Ranks`]) needs messages, global events and their summaries that can cross process boundaries
//! ([`AnyWire`]).
//!
//! [`Transport`]: parades_transport::Transport

mod words;

use crate::ledger::{EarliestFailure, Ledger};
use parades_core::any_model::{AnyEvent, AnyLeftover, AnyWire, Codec, parcel};
use parades_core::effects::Request;
use parades_core::error::{Error, ErrorKind, Failure, Place};
use parades_core::event::{Body, EventKey, LpId};
use parades_core::global::{Scheduled, Visits};
use parades_core::metrics::{Metrics, Recorded};
use parades_core::run::Outcome;
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_core::trace::Note;
use parades_core::wire::{self, FrameWriter, Malformed, Room};
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::{
    Fabric, Group, Meeting, Ranked, Threads, Traffic, Transport, gather_all, gather_all_by, gather_to_first,
    gather_to_first_by, swap_by,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The place of a rank in a run: the way to the workers of all ranks, and to the leaders. `T` is the kind of
/// messages that travel.
pub(crate) struct Seat<'k, T: Traffic> {
    pub(crate) transport: Arc<dyn Transport<'k, T> + 'k>,
    pub(crate) peers: Arc<dyn Peers<'k> + 'k>,
}

/// The leaders of all ranks. Every leader makes the same calls in the same order.
pub(crate) trait Peers<'k>: Send + Sync {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;
    /// Returns the number of ranks.
    fn ranks(&self) -> usize;
    /// Returns the ledgers of all ranks, in rank order.
    fn share_ledger(&self, mine: Ledger<'k>) -> Result<Vec<Ledger<'k>>, Broken>;
    /// Returns the bytes of all ranks, in rank order.
    fn share_bytes(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Broken>;
    /// Returns the words of all ranks, in rank order.
    fn share_words(&self, mine: &[u64]) -> Result<Vec<Vec<u64>>, Broken>;
    /// Sends each other rank its own bytes: `mine` has those for each rank. Calls `read` with the number of
    /// each other rank, and with the bytes that came from it.
    fn swap(&self, mine: Vec<Vec<u8>>, read: &mut Reading<'_>) -> Result<(), Broken>;
    /// Returns the visits of all ranks, in rank order.
    fn share_visits(&self, mine: Visits) -> Result<Vec<Visits>, Broken>;
    /// Returns the results of all ranks, in rank order, on rank 0; `None` elsewhere.
    fn collect(&self, mine: Results<'k>) -> Result<Option<Vec<Results<'k>>>, Broken>;
}

/// A function that reads the bytes from a rank.
pub(crate) type Reading<'a> = dyn FnMut(usize, &mut &[u8]) -> Result<(), Malformed> + 'a;

/// The results of one rank.
pub(crate) struct Results<'k> {
    /// The LPs of the rank, in the order of their digests. Empty if this is the only rank: then all LPs are
    /// here, in id order.
    pub(crate) ids: Vec<LpId>,
    /// The final digest of each LP of the rank.
    pub(crate) digests: Vec<u64>,
    pub(crate) metrics: Metrics,
    /// The events that were pending at the end.
    pub(crate) pending: AnyLeftover<'k>,
    /// Counts of the engine, which are added up over the ranks.
    pub(crate) counts: Vec<u64>,
}

/// The only rank of a run.
pub(crate) struct Alone;

impl<'k> Peers<'k> for Alone {
    fn rank(&self) -> usize {
        0
    }
    fn ranks(&self) -> usize {
        1
    }
    fn share_ledger(&self, mine: Ledger<'k>) -> Result<Vec<Ledger<'k>>, Broken> {
        Ok(vec![mine])
    }
    fn share_bytes(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Broken> {
        Ok(vec![mine])
    }
    fn share_words(&self, mine: &[u64]) -> Result<Vec<Vec<u64>>, Broken> {
        Ok(vec![mine.to_vec()])
    }
    fn swap(&self, _: Vec<Vec<u8>>, _: &mut Reading<'_>) -> Result<(), Broken> {
        Ok(())
    }
    fn share_visits(&self, mine: Visits) -> Result<Vec<Visits>, Broken> {
        Ok(vec![mine])
    }
    fn collect(&self, mine: Results<'k>) -> Result<Option<Vec<Results<'k>>>, Broken> {
        Ok(Some(vec![mine]))
    }
}

/// One of several ranks.
pub(crate) struct Ranks<'k> {
    pub(crate) group: Arc<dyn Group + 'k>,
    pub(crate) model: &'k dyn AnyWire<'k>,
}

impl<'k> Ranks<'k> {
    fn write_request(&self, request: &Request, to: &mut Vec<u8>) {
        let Request { key, global } = request;
        let is_stop = matches!(global, Scheduled::Stop);
        wire::write(&(*key, is_stop), to);
        if let Scheduled::Model(global) = global {
            self.model.write_global(global, to);
        }
    }

    /// Appends the number and the bytes of events, within [`FrameWriter::within`].
    fn write_events(&self, events: Vec<AnyEvent<'k>>, to: &mut Vec<u8>) {
        let count = u32::try_from(events.len()).expect("memory holds fewer events than 2^32");
        wire::write(&count, to);
        let mut events = parcel::of_events(self.model.form(), events);
        Room::behind(to, |room| self.model.write(events.hide(), 0..count as usize, usize::MAX, room));
    }

    /// Reads events from the front of `from`, within [`wire::read_frame`].
    fn read_events(&self, from: &mut &[u8]) -> Result<Vec<AnyEvent<'k>>, Malformed> {
        let count = wire::read(from)?;
        self.model.read(count, from).map(|mut events| parcel::take_events(events.hide()))
    }

    fn read_request(&self, from: &mut &[u8]) -> Result<Request, Malformed> {
        let (key, is_stop): (EventKey, bool) = wire::read(from)?;
        let global = if is_stop { Scheduled::Stop } else { Scheduled::Model(self.model.read_global(from)?) };
        Ok(Request { key, global })
    }
}

impl<'k> Peers<'k> for Ranks<'k> {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn ranks(&self) -> usize {
        self.group.ranks()
    }

    fn share_ledger(&self, mine: Ledger<'k>) -> Result<Vec<Ledger<'k>>, Broken> {
        let Ledger { traces, trace, requests, failure } = mine;
        let (executed, notes): (Vec<_>, Vec<Vec<Note>>) = trace.into_iter().unzip();
        let mut bytes = Vec::new();
        FrameWriter::new(wire::Destination::Elsewhere).within(|| {
            self.write_events(executed, &mut bytes);
            wire::write(&(notes, requests.len()), &mut bytes);
            wire::write(&failure, &mut bytes);
            requests.iter().for_each(|request| self.write_request(request, &mut bytes));
        });
        drop((requests, failure));
        gather_all_by(&*self.group, bytes, |from| {
            let executed = self.read_events(from)?;
            let (notes, requests): (Vec<Vec<Note>>, usize) = wire::read(from)?;
            let failure: EarliestFailure = wire::read(from)?;
            let trace = executed.into_iter().zip(notes).collect();
            let requests = (0..requests).map(|_| self.read_request(from)).collect::<Result<_, _>>()?;
            Ok(Ledger { traces, trace, requests, failure })
        })
    }

    fn share_bytes(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, Broken> {
        gather_all(&*self.group, &mine)
    }

    fn share_words(&self, mine: &[u64]) -> Result<Vec<Vec<u64>>, Broken> {
        gather_all(&*self.group, &mine.to_vec())
    }

    fn swap(&self, mine: Vec<Vec<u8>>, read: &mut Reading<'_>) -> Result<(), Broken> {
        swap_by(&*self.group, mine, read)
    }

    fn share_visits(&self, mut mine: Visits) -> Result<Vec<Visits>, Broken> {
        let mut bytes = Vec::new();
        wire::write(&mine.failure, &mut bytes);
        self.model.write_summaries(&mut mine.summaries, &mut bytes);
        gather_all_by(&*self.group, bytes, |from| {
            let failure = wire::read(from)?;
            Ok(Visits { failure, summaries: self.model.read_summaries(from)? })
        })
    }

    fn collect(&self, mine: Results<'k>) -> Result<Option<Vec<Results<'k>>>, Broken> {
        let write = |results: Results<'k>, to: &mut Vec<u8>| {
            let Results { ids, digests, metrics, pending, counts } = results;
            let messages: Vec<AnyEvent<'k>> = pending.filter(|event| matches!(event.body, Body::Message(_))).collect();
            wire::write(&Sent { ids, digests, recorded: metrics.into_recorded(), counts }, to);
            self.write_events(messages, to);
        };
        let declared = mine.metrics.declarations();
        let read = |from: &mut &[u8]| {
            let Sent { ids, digests, recorded, counts } = wire::read(from)?;
            let messages = self.read_events(from)?;
            let mut metrics = declared.declarations();
            metrics.merge_recorded(recorded);
            let pending = Box::new(messages.into_iter()) as AnyLeftover<'k>;
            Ok(Results { ids, digests, metrics, pending, counts })
        };
        gather_to_first_by(&*self.group, mine, write, read)
    }
}

/// The results of a rank, as it sends them to rank 0. The messages that were pending follow.
#[derive(Serialize, Deserialize)]
struct Sent {
    ids: Vec<LpId>,
    #[serde(with = "words")]
    digests: Vec<u64>,
    recorded: Recorded,
    counts: Vec<u64>,
}

/// The result of one rank.
#[derive(Debug)]
pub struct OfRank {
    /// The outcome on rank 0; `None` on the other ranks.
    pub result: Result<Option<Outcome>, Error>,
    /// The number of events that the rank has sent to other ranks.
    pub crossed: u64,
}

/// Calls `run` with the transport and the group of a rank, which `fabric` connects to the others. `threads`
/// connects the workers of this rank, which are `workers` in number. `codec` converts events. Rank 0 collects
/// the timesheets of all ranks.
pub(crate) fn on_ranked<'k, T: Traffic>(
    codec: &'k dyn Codec<'k, T>,
    fabric: Box<dyn Fabric>,
    threads: Threads<'k, T>,
    workers: usize,
    timesheets: Option<Arc<Timesheets>>,
    run: impl FnOnce(Arc<Ranked<'k, T>>) -> Result<Option<Outcome>, Error>,
) -> OfRank {
    let ranked = Arc::new(Ranked::new(fabric, threads.timed(timesheets.clone()), workers, Box::new(codec)));
    let result = run(Arc::clone(&ranked)).and_then(|outcome| {
        timesheets.map_or(Ok(()), |timesheets| collect_timesheets(&timesheets, &*ranked))?;
        Ok(outcome)
    });
    OfRank { result, crossed: ranked.crossed() }
}

/// Adds the timesheets of the other ranks to those of rank 0, and the times of their handlers.
fn collect_timesheets(timesheets: &Timesheets, group: &dyn Group) -> Result<(), Error> {
    let handlers = timesheets.handlers().map(|handlers| handlers.read()).unwrap_or_default();
    match gather_to_first(group, (timesheets.read_all(), handlers)) {
        Ok(Some(mut all)) => {
            let (workers, work): (_, Vec<_>) = all.split_off(1).into_iter().unzip();
            timesheets.add_others(workers);
            timesheets.handlers().into_iter().for_each(|handlers| handlers.add_others(&work));
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(Broken) => Err(Error::new(ErrorKind::Ranks("a rank ended before it sent its timesheets".into()))),
    }
}

/// Returns the error of a run whose transport has broken up without a panic of this process.
pub(crate) fn lost(transport: &(impl Meeting + ?Sized)) -> Error {
    let why = transport.failure().unwrap_or_else(|| "a worker of another rank failed".into());
    Error::new(ErrorKind::Ranks(why))
}

/// Ends the run on this rank if it has failed on another. For example, only rank 0 notices that it cannot
/// write the trace.
pub(crate) fn agree_on_failure(peers: &dyn Peers<'_>, end: &mut Option<Result<Time, Error>>) -> Result<(), Broken> {
    let failed = matches!(end, Some(Err(_)));
    let all = peers.share_words(&[u64::from(failed)])?;
    if !failed && let Some(rank) = all.iter().position(|words| words[0] > 0) {
        *end = Some(Err(Error::new(ErrorKind::Ranks(format!("rank {rank} has ended the run")))));
    }
    Ok(())
}

/// Returns the error of a failure that all leaders know. If it is a loop of zero delays, each rank adds its
/// own LPs.
pub(crate) fn error_at<T: Traffic>(seat: &Seat<'_, T>, world: &World, place: Place, failure: Failure) -> Error {
    let error = world.error_at(failure, place);
    let ErrorKind::Rounds { limit, lps } = error.kind() else { return error };
    let own: Vec<u64> = lps.iter().map(|lp| lp.0.into()).collect();
    let Ok(all) = seat.peers.share_words(&own) else { return lost(&*seat.transport) };
    #[expect(clippy::cast_possible_truncation, reason = "they were made of ids of 32 bits")]
    let lps = all.into_iter().flatten().map(|id| LpId(id as u32)).collect();
    let line = error.line().map(str::to_owned);
    world.error_at(Failure { kind: ErrorKind::Rounds { limit: *limit, lps }, line }, place)
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
