//! Travel: LPs move to other ranks at a cut, with all that belongs to them.
//!
//! All ranks have the same old plan and the same new one. So each rank knows the LPs that leave it, and the
//! LPs that come. A rank writes the LPs that leave as they are written in a cut, with the messages in transit
//! to them and with their part of the metrics, in one string of bytes for each other rank. Wakes of timers do
//! not travel: the rank that gets an LP makes one wake for each timer that is set.
//!
//! *Correctness.* Everything before the time of the cut has been executed, and nothing at it. So an LP is the
//! same wherever it goes on, as after a cut that was saved and loaded.

use super::Crew;
use super::part::Part;
use super::plan::Plan;
use parades_core::any_model::{AnyEvent, AnySave, Codec, parcel};
use parades_core::effects::AnyEffects;
use parades_core::event::{Body, LpId};
use parades_core::metrics::{Metrics, Recorded};
use parades_core::time::Time;
use parades_core::wire::{self, Destination, FrameWriter};
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::Conservative;
use std::sync::MutexGuard;

/// A change of the homes of LPs, as one rank sees it.
pub(super) struct Travel<'a, 'k> {
    pub(super) crew: &'a Crew<'k>,
    pub(super) save: &'k dyn AnySave<'k>,
    pub(super) world: &'a World,
    pub(super) old: &'a Plan,
    pub(super) new: &'a Plan,
    /// True if the plans differ in their partitions. Otherwise they differ in the homes of partitions alone,
    /// and partitions that keep their home are not touched.
    pub(super) regroups: bool,
    /// Everything before this time has been executed, and nothing at it.
    pub(super) time: Time,
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
    /// Moves the LPs. Returns the number of those that have come to this rank.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a rank is lost.
    pub(super) fn execute(&self, parts: &mut [MutexGuard<'_, Part<'k>>]) -> Result<usize, Broken> {
        let Travel { crew, save, world, new, time, .. } = *self;
        let found = parts.iter().max_by_key(|part| part.events).and_then(|part| part.found_by_lp());
        let (leave, come) = self.passengers();
        let mut luggage = self.unpack(parts);
        let bytes = self.write(&leave, &mut luggage);
        let Luggage { mut metrics, staying: mut events, .. } = luggage;
        crew.seat.peers.swap(bytes, &mut |from, bytes| {
            let (count, recorded): (u32, Recorded) = wire::read(bytes)?;
            metrics.merge_recorded(recorded);
            come[from].iter().try_for_each(|&id| save.read_lp(id, parts.len() + from, time, bytes))?;
            let mut messages = Codec::<Conservative>::read(save, count, bytes)?;
            events.extend(parcel::take_events(messages.hide()));
            Ok(())
        })?;
        self.deal(parts.len());
        for number in self.touched(parts.len()) {
            let part = &mut parts[number];
            part.restart(time);
            if !new.placement.is_empty(part.number) {
                part.set_order(crew.settings.order, new, found);
            }
            part.lps.pick_up(number);
        }
        for event in events {
            parts[new.placement.partition(event.receiver()) as usize].push(event);
        }
        let mut by_part: Vec<Vec<(usize, LpId)>> = vec![Vec::new(); new.placement.partitions() as usize];
        for &id in come.iter().flatten() {
            by_part[new.placement.partition(id) as usize].push((new.placement.index(id), id));
        }
        let mut effects = AnyEffects::partitioned(crew.model.form(), &new.placement);
        for (part, arrived) in parts.iter_mut().zip(&by_part).filter(|(_, arrived)| !arrived.is_empty()) {
            part.renew_wakes(arrived, world, &mut effects);
            part.update_next();
        }
        for part in parts.iter_mut() {
            // Costs of LPs that have come are not known, and those of one rank alone would mislead the next
            // review.
            let lps = part.lps.len();
            part.costs.reset(lps);
        }
        self.touched(parts.len()).for_each(|number| parts[number].guess_order());
        parts[0].metrics.merge(metrics);
        let mut metrics: Vec<&mut Metrics> = parts.iter_mut().map(|part| &mut part.metrics).collect();
        Metrics::redistribute(&mut metrics, &|id| new.placement.partition(id) as usize);
        Ok(come.iter().map(Vec::len).sum())
    }

    fn rank(&self) -> u32 {
        u32::try_from(self.crew.seat.peers.rank()).expect("ranks are few")
    }

    /// Returns the partitions whose LPs may move, of `parts`.
    fn touched(&self, parts: usize) -> impl Iterator<Item = usize> {
        let moves = |number: usize| self.regroups || self.old.homes.get(number) != self.new.homes.get(number);
        (0..parts).filter(move |&number| moves(number))
    }

    /// Returns, by rank, the LPs that leave this rank for it, and those that come from it, both in the order
    /// of ids.
    fn passengers(&self) -> (Vec<Vec<LpId>>, Vec<Vec<LpId>>) {
        let ranks = self.crew.seat.peers.ranks();
        let (mut leave, mut come) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
        for id in super::ids(self.crew.lps) {
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
    fn unpack(&self, parts: &mut [MutexGuard<'_, Part<'k>>]) -> Luggage<'k> {
        let leaving = (0..self.crew.seat.peers.ranks()).map(|_| Vec::new()).collect();
        let mut luggage = Luggage { metrics: self.crew.model.metrics(), staying: Vec::new(), leaving };
        for number in self.touched(parts.len()) {
            let part = &mut parts[number];
            let empty = part.metrics.declarations();
            luggage.metrics.merge(std::mem::replace(&mut part.metrics, empty));
            for event in part.take_all() {
                match self.new.home_of(event.receiver()) {
                    home if home == self.rank() => luggage.staying.push(event),
                    home if matches!(event.body, Body::Message(_)) => luggage.leaving[home as usize].push(event),
                    _ => {}
                }
            }
            part.lps.put_down(number);
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
            let mut messages = parcel::of_events(self.crew.model.form(), std::mem::take(messages));
            let count = parcel::parcel_len(messages.hide());
            FrameWriter::new(Destination::Elsewhere).within(|| {
                let number = u32::try_from(count).expect("memory holds fewer events than 2^32");
                wire::write(&(number, recorded), &mut bytes);
                leave[rank as usize].iter().for_each(|&id| self.save.write_lp(id, &self.old.placement, &mut bytes));
                Codec::<Conservative>::write(self.save, messages.hide(), 0..count, &mut bytes);
            });
            bytes
        };
        (0..).zip(leaving).map(write).collect()
    }

    /// Deals the LPs that are here to the partitions of the new plan. Those that came from a rank are in the
    /// list after `parts` lists that has its number.
    fn deal(&self, parts: usize) {
        let Travel { crew, old, new, .. } = self;
        let rank = self.rank();
        let mut is_touched = vec![false; parts];
        self.touched(parts).for_each(|number| is_touched[number] = true);
        let len = |number: u32| match is_touched[number as usize] && new.homes[number as usize] == rank {
            true => new.placement.len(number) as usize,
            false => 0,
        };
        let lens: Vec<usize> = (0..new.placement.partitions()).map(len).collect();
        let list = |id: LpId| match (old.placement.partition(id), old.home_of(id), new.home_of(id)) {
            (number, from, _) if from == rank => is_touched[number as usize].then_some(number as usize),
            (_, from, to) if to == rank => Some(parts + from as usize),
            _ => None,
        };
        let to = |id: LpId| (new.home_of(id) == rank).then(|| new.placement.partition(id) as usize);
        crew.model.deal(&lens, &mut super::ids(crew.lps).filter_map(|id| Some((list(id)?, to(id)))));
    }
}
