//! Travel: LPs move to other ranks at a cut, with all that belongs to them.
//!
//! All ranks know the old places of all LPs and the new ones. So each rank knows the LPs that leave it, and
//! the LPs that come. For each other rank, a rank writes one string of bytes: the LPs that leave, as in a cut,
//! the messages in transit to them, and their part of the metrics. Wakes of timers do not travel: the rank
//! that gets an LP makes one wake for each timer that is set.
//!
//! *Correctness.* Everything before the time of the cut has been executed, and nothing at it. So an LP is the
//! same wherever it goes on, as after a cut that was saved and loaded.

use crate::balance::Balance;
use crate::course::Course;
use crate::peers::{Peers, Seat, least, lost, sum};
use crate::quiescence::Home;
use parades_core::any_model::{AnyEvent, AnySave, Codec, parcel};
use parades_core::error::Error;
use parades_core::event::{Body, LpId};
use parades_core::metrics::{Metrics, Recorded};
use parades_core::placement::Placement;
use parades_core::time::Time;
use parades_core::wire::{self, Destination, FrameWriter, Room};
use parades_sync::barrier::Broken;
use parades_transport::{Conservative, Traffic};
use std::sync::MutexGuard;

/// Agrees with the other ranks before a run. Returns true if a rank writes a trace, so that every rank keeps the
/// trace of its LPs. Returns the table by which LPs are written that move between ranks, if they may move.
///
/// # Errors
///
/// A lost rank.
pub(crate) fn agree<'k, T: Traffic>(
    course: &Course<'k>,
    balance: Balance,
    seat: &Seat<'k, T>,
) -> Result<(bool, Option<&'k dyn AnySave<'k>>), Error> {
    let is_balanced = seat.peers.ranks() > 1 && balance != Balance::ByEvents;
    let may_travel = is_balanced && course.save.is_some() && !course.model.stays_on_threads();
    let words = [course.traces(), may_travel].map(u64::from);
    let all = seat.peers.share_words(&words).map_err(|Broken| lost(&*seat.transport))?;
    Ok((sum(&all, 0) > 0, course.save.filter(|_| least(&all, 1) > 0)))
}

/// The places of all LPs of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    pub(crate) placement: &'a Placement,
    /// By partition: the rank that owns it.
    pub(crate) homes: &'a [u32],
}

impl Places<'_> {
    /// Returns the rank that has an LP.
    pub(crate) fn home_of(self, id: LpId) -> u32 {
        self.homes[self.placement.partition(id) as usize]
    }
}

/// A change of the places of LPs, as one rank sees it.
pub(crate) struct Travel<'a, 'k> {
    pub(crate) save: &'k dyn AnySave<'k>,
    pub(crate) peers: &'a dyn Peers<'k>,
    /// The number of LPs of the run.
    pub(crate) lps: u32,
    pub(crate) old: Places<'a>,
    pub(crate) new: Places<'a>,
    /// By partition: true if LPs may leave it or come to it. The LPs and events of others stay there.
    pub(crate) touched: Vec<bool>,
    /// Everything before this time has been executed, and nothing at it.
    pub(crate) time: Time,
}

/// The LPs and events that the partitions of a rank have to take in after a [`Travel`].
pub(crate) struct Arrivals<'k> {
    /// By partition: the index and the id of each LP that has come from another rank. Its timers need wakes.
    pub(crate) lps: Vec<Vec<(usize, LpId)>>,
    /// The pending events of all LPs in partitions that were touched, except for those wakes.
    pub(crate) events: Vec<AnyEvent<'k>>,
}

impl Arrivals<'_> {
    /// Returns the number of LPs that have come from other ranks.
    pub(crate) fn count(&self) -> usize {
        self.lps.iter().map(Vec::len).sum()
    }
}

/// Everything that a rank has taken from its partitions for a [`Travel`].
struct Luggage<'k> {
    metrics: Metrics,
    /// The pending events of LPs that stay.
    staying: Vec<AnyEvent<'k>>,
    /// By rank: the messages in transit to LPs that leave for it.
    leaving: Vec<Vec<AnyEvent<'k>>>,
}

impl<'k> Travel<'_, 'k> {
    /// Moves the LPs and the metrics. The partitions that are touched can then pick up their LPs
    /// ([`Lps::pick_up`](parades_core::any_model::Lps::pick_up)), and take the arrivals in.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a rank is lost.
    pub(crate) fn execute<H: Home<'k>>(&self, homes: &mut [MutexGuard<'_, H>]) -> Result<Arrivals<'k>, Broken> {
        let Travel { save, new, time, .. } = *self;
        let (leave, come) = self.passengers();
        let mut luggage = self.unpack(homes);
        let bytes = self.write(&leave, &mut luggage);
        let Luggage { mut metrics, staying: mut events, .. } = luggage;
        self.peers.swap(bytes, &mut |from, bytes| {
            let (count, recorded): (u32, Recorded) = wire::read(bytes)?;
            metrics.merge_recorded(recorded);
            come[from].iter().try_for_each(|&id| save.read_lp(id, homes.len() + from, time, bytes))?;
            let mut messages = Codec::<Conservative>::read(save, count, bytes)?;
            events.extend(parcel::take_events(messages.hide()));
            Ok(())
        })?;
        self.deal(homes.len());
        homes[0].residents().1.merge(metrics);
        let mut metrics: Vec<&mut Metrics> = homes.iter_mut().map(|home| home.residents().1).collect();
        Metrics::redistribute(&mut metrics, &|id| new.placement.partition(id) as usize);
        let mut lps: Vec<Vec<(usize, LpId)>> = vec![Vec::new(); new.placement.partitions() as usize];
        for &id in come.iter().flatten() {
            lps[new.placement.partition(id) as usize].push((new.placement.index(id), id));
        }
        Ok(Arrivals { lps, events })
    }

    fn rank(&self) -> u32 {
        u32::try_from(self.peers.rank()).expect("ranks are few")
    }

    fn ids(&self) -> impl Iterator<Item = LpId> {
        (0..self.lps).map(LpId)
    }

    /// Returns, by rank, the LPs that leave this rank for it, and those that come from it, both in the order
    /// of ids.
    fn passengers(&self) -> (Vec<Vec<LpId>>, Vec<Vec<LpId>>) {
        let ranks = self.peers.ranks();
        let (mut leave, mut come) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
        for id in self.ids() {
            match (self.old.home_of(id), self.new.home_of(id)) {
                (from, to) if from == to => {}
                (from, to) if from == self.rank() => leave[to as usize].push(id),
                (from, to) if to == self.rank() => come[from as usize].push(id),
                _ => {}
            }
        }
        (leave, come)
    }

    /// Takes the pending events and the metrics of the partitions, whose LPs are then put down.
    fn unpack<H: Home<'k>>(&self, homes: &mut [MutexGuard<'_, H>]) -> Luggage<'k> {
        let leaving = (0..self.peers.ranks()).map(|_| Vec::new()).collect();
        let mut luggage = Luggage { metrics: self.save.metrics(), staying: Vec::new(), leaving };
        for (number, home) in homes.iter_mut().enumerate().filter(|(number, _)| self.touched[*number]) {
            let (_, metrics) = home.residents();
            let empty = metrics.declarations();
            luggage.metrics.merge(std::mem::replace(metrics, empty));
            for event in home.take_all() {
                match self.new.home_of(event.receiver()) {
                    home if home == self.rank() => luggage.staying.push(event),
                    home if matches!(event.body, Body::Message(_)) => luggage.leaving[home as usize].push(event),
                    _ => {}
                }
            }
            home.residents().0.put_down(number);
        }
        luggage
    }

    /// Returns, by rank, the bytes of the LPs that leave for it.
    fn write(&self, leave: &[Vec<LpId>], luggage: &mut Luggage<'k>) -> Vec<Vec<u8>> {
        let Luggage { metrics, leaving, .. } = luggage;
        let write = |(rank, messages): (u32, &mut Vec<AnyEvent<'k>>)| {
            let mut bytes = Vec::new();
            if rank == self.rank() {
                return bytes;
            }
            let recorded = metrics.split_off(&|id| self.new.home_of(id) == rank).into_recorded();
            let mut messages = parcel::of_events(self.save.form(), std::mem::take(messages));
            let count = parcel::parcel_len(messages.hide());
            FrameWriter::new(Destination::Elsewhere).within(|| {
                let number = u32::try_from(count).expect("memory holds fewer events than 2^32");
                wire::write(&(number, recorded), &mut bytes);
                let old = self.old.placement;
                leave[rank as usize].iter().for_each(|&id| self.save.write_lp(id, old, &mut bytes));
                Room::behind(&mut bytes, |room| {
                    Codec::<Conservative>::write(self.save, messages.hide(), 0..count, usize::MAX, room)
                });
            });
            bytes
        };
        (0..).zip(leaving).map(write).collect()
    }

    /// Deals the LPs that are here to the partitions of the new places. LPs that came from a rank are in the
    /// list after `partitions` lists that has the number of the rank.
    fn deal(&self, partitions: usize) {
        let Travel { save, old, new, touched, .. } = self;
        let rank = self.rank();
        let len = |number: u32| match touched[number as usize] && new.homes[number as usize] == rank {
            true => new.placement.len(number) as usize,
            false => 0,
        };
        let lens: Vec<usize> = (0..new.placement.partitions()).map(len).collect();
        let list = |id: LpId| match (old.placement.partition(id), old.home_of(id), new.home_of(id)) {
            (number, from, _) if from == rank => touched[number as usize].then_some(number as usize),
            (_, from, to) if to == rank => Some(partitions + from as usize),
            _ => None,
        };
        let to = |id: LpId| (new.home_of(id) == rank).then(|| new.placement.partition(id) as usize);
        save.deal(&lens, &mut self.ids().filter_map(|id| Some((list(id)?, to(id)))));
    }
}
