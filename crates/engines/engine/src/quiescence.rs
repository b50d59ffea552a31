//! All LPs of a run at a cut, each in the place where it is executed. The leader shows them to global events.

use crate::course::{Course, Quiescent};
use crate::peers::{Peers, greatest, least};
use parades_core::any_model::{AnyEvent, AnyLeftover, Lps};
use parades_core::cut::{Reached, Resting};
use parades_core::error::ErrorKind;
use parades_core::event::LpId;
use parades_core::global::{AllLps, Visitor, Visits};
use parades_core::metrics::Metrics;
use parades_core::placement::Placement;
use parades_core::time::Time;
use parades_core::world::World;
use parades_sync::barrier::Broken;
use std::sync::MutexGuard;

/// A place where some of the LPs are executed, with their pending events.
pub(crate) trait Home<'k> {
    /// Returns the time of the next pending event here.
    fn earliest_time(&mut self) -> Time;
    /// Adds an event that is never annihilated.
    fn add(&mut self, event: AnyEvent<'k>);
    /// Removes and returns all pending events, in no order.
    fn take_all(&mut self) -> AnyLeftover<'k>;
    /// Returns the LPs, by their index in the placement, and their metrics.
    fn residents(&mut self) -> (&mut (dyn Lps<'k> + 'k), &mut Metrics);
}

/// All homes of a run, of which some may be on other ranks.
pub(crate) struct Homes<'a, 'l, 'k, H> {
    /// By partition. The homes of other ranks are empty.
    pub(crate) homes: &'a mut [MutexGuard<'l, H>],
    pub(crate) placement: &'a Placement,
    /// The number of LPs.
    pub(crate) lps: u32,
    pub(crate) peers: &'a dyn Peers<'k>,
}

impl<'k, H: Home<'k>> Quiescent<'k> for Homes<'_, '_, 'k, H> {
    fn next_time(&mut self, stopped: &mut bool) -> Time {
        let here = self.homes.iter_mut().map(|home| home.earliest_time()).min().unwrap_or(Time::MAX);
        match self.peers.share_words(&[here.as_ps(), u64::from(*stopped)]) {
            Ok(all) => {
                *stopped = greatest(&all, 1) > 0;
                Time::from_ps(least(&all, 0))
            }
            // Nothing more happens at this cut; the next exchange reports that a rank is lost.
            Err(Broken) => Time::ZERO,
        }
    }
    fn lps<'b>(&'b mut self, metrics: &'b mut Metrics) -> impl AllLps<'k> + 'b {
        Residents { homes: self, metrics }
    }
}

impl<'k, H: Home<'k>> Resting<'k> for Homes<'_, '_, 'k, H> {
    fn put_down(&mut self) -> Placement {
        self.homes.iter_mut().enumerate().for_each(|(number, home)| home.residents().0.put_down(number));
        self.placement.clone()
    }
    fn pick_up(&mut self) {
        self.homes.iter_mut().enumerate().for_each(|(number, home)| home.residents().0.pick_up(number));
    }
    fn take_pending(&mut self) -> Vec<AnyEvent<'k>> {
        self.homes.iter_mut().flat_map(|home| home.take_all()).collect()
    }
    fn digests(&mut self) -> Vec<u64> {
        let ids = self.ids();
        let digest = |id: &LpId| {
            let (lps, _) = self.homes[self.placement.partition(*id) as usize].residents();
            lps.final_digest(self.placement.index(*id))
        };
        let mine: Vec<u64> = ids.iter().map(digest).collect();
        if self.peers.ranks() == 1 {
            return mine;
        }
        let words: Vec<u64> = ids.iter().map(|id| u64::from(id.0)).chain(mine).collect();
        // If a rank is lost, so is the run.
        let all = self.peers.share_words(&words).unwrap_or_default();
        let mut digests = vec![0; self.lps as usize];
        for of_rank in &all {
            let (ids, of_ids) = of_rank.split_at(of_rank.len() / 2);
            for (&id, &digest) in ids.iter().zip(of_ids) {
                digests[usize::try_from(id).expect("ids have 32 bits")] = digest;
            }
        }
        digests
    }
    fn add_metrics(&mut self, to: &mut Metrics) {
        self.homes.iter_mut().for_each(|home| to.merge(home.residents().1.clone()));
    }
    fn ids(&mut self) -> Vec<LpId> {
        let Homes { homes, placement, lps, .. } = self;
        let lens: Vec<usize> = homes.iter_mut().map(|home| home.residents().0.len()).collect();
        let is_here = |id: &LpId| placement.index(*id) < lens[placement.partition(*id) as usize];
        (0..*lps).map(LpId).filter(is_here).collect()
    }
    fn rank(&self) -> usize {
        self.peers.rank()
    }
    fn ranks(&self) -> usize {
        self.peers.ranks()
    }
    fn share(&mut self, mine: Vec<u8>) -> Option<Vec<Vec<u8>>> {
        self.peers.share_bytes(mine).ok()
    }
    fn push(&mut self, event: AnyEvent<'k>) {
        let home = &mut self.homes[self.placement.partition(event.receiver()) as usize];
        let (lps, _) = home.residents();
        // Every rank executes the global event. The rank of the receiver keeps what it sends.
        if self.placement.index(event.receiver()) < lps.len() {
            home.add(event);
        }
    }
}

/// The LPs of all homes, as a global event visits them.
struct Residents<'b, 'a, 'l, 'k, H> {
    homes: &'b mut Homes<'a, 'l, 'k, H>,
    metrics: &'b mut Metrics,
}

impl<'k, H: Home<'k>> AllLps<'k> for Residents<'_, '_, '_, 'k, H> {
    fn is_whole(&self) -> bool {
        self.homes.peers.ranks() == 1
    }
    fn share(&mut self, mine: Visits) -> Result<Vec<Visits>, ErrorKind> {
        let lost = |Broken| ErrorKind::Ranks("a rank was lost during a global event".into());
        self.homes.peers.share_visits(mine).map_err(lost)
    }
    fn visit_each(&mut self, visitor: &mut Visitor<'_, 'k>) {
        let Homes { homes, placement, lps, .. } = self.homes;
        for id in (0..*lps).map(LpId) {
            let (lps, metrics) = homes[placement.partition(id) as usize].residents();
            let index = placement.index(id);
            if index < lps.len() {
                visitor(id, lps, index, metrics);
            }
        }
    }
    fn metrics(&mut self) -> &mut Metrics {
        self.metrics
    }
}

/// Ends a span of the run at a cut. All homes are on this rank.
pub(crate) fn leave<'k, H: Home<'k>>(
    mut course: Course<'k>,
    world: &World,
    placement: &Placement,
    homes: &mut [MutexGuard<'_, H>],
) -> Reached<'k> {
    let (model, lps) = (course.model, world.lps());
    let mut pending = Vec::new();
    for (number, home) in homes.iter_mut().enumerate() {
        pending.extend(home.take_all());
        let (lps, metrics) = home.residents();
        course.metrics.merge(std::mem::take(metrics));
        lps.put_down(number);
    }
    model.distribute(placement, &Placement::one(lps), lps);
    let mut all = model.new_lps();
    all.pick_up(0);
    course.leave(world, all, Box::new(pending.into_iter()))
}
