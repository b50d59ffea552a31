//! The LPs in ranges, each behind a lock: held by the leader, but for those that a parallel round is about.

use crate::ledger::Ledger;
use crate::workers::lock;
use parades_core::effects::Effects;
use parades_core::event::{Event, LpId};
use parades_core::global::{AllLps, Visitor};
use parades_core::lp::{Execution, Lp};
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::placement::Placement;
use parades_core::world::World;
use parades_raw::huge_pages;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// Shards for each thread: enough to balance a round, few enough that a round of some hundred events has several in each.
const SHARDS_PER_THREAD: u32 = 16;
/// Fewer where that would leave a shard less than so many LPs, as each has metrics of its own;
const LPS_PER_SHARD: u32 = 64;
/// but no fewer than these.
const SHARDS_MIN: u32 = 4;

/// What the threads of a run share.
pub(super) struct Shards<'w, M: Model> {
    pub(super) placement: Placement,
    world: &'w RwLock<World>,
    shards: Vec<Mutex<Shard<M>>>,
    /// The shards that the present round is about.
    tasks: Vec<AtomicU32>,
    /// What each thread has done in the present round.
    left: Vec<Mutex<Left<M>>>,
}

fn read(world: &RwLock<World>) -> RwLockReadGuard<'_, World> {
    world.read().unwrap_or_else(PoisonError::into_inner)
}

/// The world as the leader reads it all the time, but for when it changes it.
pub(super) struct Reading<'s> {
    world: &'s RwLock<World>,
    guard: Option<RwLockReadGuard<'s, World>>,
}

impl<'s> Reading<'s> {
    pub(super) fn of(world: &'s RwLock<World>) -> Reading<'s> {
        Reading { world, guard: Some(read(world)) }
    }

    /// Lets `change` change the world, while no round is under way.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut World) -> T) -> T {
        self.guard = None;
        let result = change(&mut self.world.write().unwrap_or_else(PoisonError::into_inner));
        self.guard = Some(read(self.world));
        result
    }
}

impl Deref for Reading<'_> {
    type Target = World;

    #[inline(always)]
    fn deref(&self) -> &World {
        self.guard.as_deref().expect("it is read again once it has changed")
    }
}

/// A range of LPs.
pub(super) struct Shard<M: Model> {
    pub(super) lps: Vec<Lp<M::State>>,
    pub(super) metrics: Metrics,
    /// The events of the present round, in order.
    pub(super) inbox: Vec<Event<M::Message>>,
}

impl<M: Model> Shard<M> {
    fn of(lps: Vec<Lp<M::State>>, metrics: Metrics) -> Shard<M> {
        Shard { lps, metrics, inbox: Vec::new() }
    }
}

/// What a thread leaves to the leader.
pub(super) struct Left<M: Model> {
    pub(super) effects: Effects<M>,
    pub(super) ledger: Ledger<M>,
    pub(super) events: u64,
}

impl<'w, M: Model> Shards<'w, M> {
    /// All LPs, which are to come, in one shard, for one thread.
    pub(super) fn one(model: &M, world: &'w RwLock<World>, traces: bool) -> Shards<'w, M> {
        let placement = Placement::one(read(world).lps());
        let lps = Vec::with_capacity(placement.len(0) as usize);
        huge_pages::ask_for(&lps);
        Shards::of(world, placement, vec![Shard::of(lps, model.metrics())], (1, traces))
    }

    /// The LPs that were in one shard, and their metrics, in shards for so many threads.
    pub(super) fn cut(
        model: &M,
        world: &'w RwLock<World>,
        (all, metrics): (Vec<Lp<M::State>>, Metrics),
        (threads, traces): (usize, bool),
    ) -> Shards<'w, M> {
        let lps = read(world).lps();
        let wanted = u32::try_from(threads).map_or(u32::MAX, |threads| {
            let each = (lps / threads / LPS_PER_SHARD).clamp(SHARDS_MIN, SHARDS_PER_THREAD);
            threads.saturating_mul(each)
        });
        let placement = Placement::ranges(lps, lps.div_ceil(wanted));
        let mut all = all.into_iter();
        let shard = |number| {
            let mut lps = Vec::with_capacity(placement.len(number) as usize);
            huge_pages::ask_for(&lps);
            lps.extend(all.by_ref().take(lps.capacity()));
            Shard::of(lps, model.metrics())
        };
        let mut shards: Vec<_> = (0..placement.partitions()).map(shard).collect();
        shards[0].metrics = metrics;
        let mut metrics: Vec<_> = shards.iter_mut().map(|shard| &mut shard.metrics).collect();
        Metrics::redistribute(&mut metrics, &|id| placement.partition(id) as usize);
        Shards::of(world, placement, shards, (threads, traces))
    }

    fn of(
        world: &'w RwLock<World>,
        placement: Placement,
        shards: Vec<Shard<M>>,
        (threads, traces): (usize, bool),
    ) -> Shards<'w, M> {
        let left = || Left { effects: Effects::new(), ledger: Ledger::new(traces), events: 0 };
        Shards {
            placement,
            world,
            tasks: shards.iter().map(|_| AtomicU32::new(0)).collect(),
            shards: shards.into_iter().map(Mutex::new).collect(),
            left: (0..threads).map(|_| Mutex::new(left())).collect(),
        }
    }

    pub(super) fn left(&self) -> &[Mutex<Left<M>>] {
        &self.left
    }

    /// Names a shard that the round to come is about.
    pub(super) fn set_task(&self, task: u32, shard: u32) {
        // Ordering: Relaxed, here and below; the pool publishes it with the round.
        self.tasks[task as usize].store(shard, Ordering::Relaxed);
    }

    pub(super) fn task(&self, task: u32) -> u32 {
        self.tasks[task as usize].load(Ordering::Relaxed)
    }

    /// Executes the events of a task, by one of the threads.
    pub(super) fn execute(&self, task: u32, thread: usize, model: &M) {
        let mut shard = lock(&self.shards[self.task(task) as usize]);
        let Shard { lps, metrics, inbox } = &mut *shard;
        let Left { effects, ledger, events } = &mut *lock(&self.left[thread]);
        let world = read(self.world);
        inbox.reverse();
        while let Some(event) = inbox.pop() {
            let sent = effects.outbox.buffer.len();
            let execution = lps[self.placement.index(event.receiver)].execute(model, &world, event.parts(), effects);
            if effects.beyond_sends && ledger.collect((event.key(), event.receiver), effects, metrics) {
                // What is left of the task comes after the failure.
                inbox.clear();
                return;
            }
            let instant = event.instant();
            while let Some(found) = effects.outbox.buffer[sent..].iter().position(|sent| sent.instant() == instant) {
                let wake = effects.outbox.buffer.swap_remove(sent + found);
                let place = inbox.partition_point(|event| *event > wake);
                inbox.insert(place, wake);
            }
            if execution == Execution::Done {
                *events += 1;
                if ledger.traces {
                    ledger.trace(event, effects);
                }
            }
        }
    }

    /// All shards, held.
    pub(super) fn hold_all(&self) -> AllShards<'_, M> {
        AllShards { shards: self, held: self.shards.iter().map(|shard| Some(lock(shard))).collect() }
    }
}

/// The shards that the leader holds.
pub(super) struct AllShards<'s, M: Model> {
    shards: &'s Shards<'s, M>,
    held: Vec<Option<MutexGuard<'s, Shard<M>>>>,
}

const HELD: &str = "the leader holds all shards but those of the round under way";

impl<'s, M: Model> AllShards<'s, M> {
    #[inline(always)]
    pub(super) fn shard(&mut self, number: u32) -> &mut Shard<M> {
        self.held[number as usize].as_deref_mut().expect(HELD)
    }

    /// The shard of an LP.
    #[inline(always)]
    pub(super) fn of(&mut self, id: LpId) -> &mut Shard<M> {
        self.shard(self.shards.placement.partition(id))
    }

    #[inline(always)]
    pub(super) fn lp(&self, id: LpId) -> &Lp<M::State> {
        let shard = self.held[self.shards.placement.partition(id) as usize].as_deref().expect(HELD);
        &shard.lps[self.shards.placement.index(id)]
    }

    /// The LPs of the only shard, and their metrics.
    pub(super) fn take_one(&mut self) -> (Vec<Lp<M::State>>, Metrics) {
        let Shard { lps, metrics, .. } = self.shard(0);
        (std::mem::take(lps), std::mem::take(metrics))
    }

    pub(super) fn release(&mut self, number: u32) {
        self.held[number as usize] = None;
    }

    pub(super) fn hold(&mut self, number: u32) {
        self.held[number as usize] = Some(lock(&self.shards.shards[number as usize]));
    }

    pub(super) fn each_shard(&mut self, each: impl FnMut(&mut Shard<M>)) {
        self.held.iter_mut().map(|held| &mut **held.as_mut().expect(HELD)).for_each(each);
    }

    /// All LPs in id order.
    pub(super) fn lps(&self) -> impl Iterator<Item = &Lp<M::State>> {
        self.held.iter().flat_map(|held| &held.as_ref().expect(HELD).lps)
    }

    /// For global events, which record in `metrics`.
    pub(super) fn with<'a>(&'a mut self, metrics: &'a mut Metrics) -> Resting<'a, 's, M> {
        Resting { all: self, metrics }
    }
}

/// All LPs of a run, at rest.
pub(super) struct Resting<'a, 's, M: Model> {
    all: &'a mut AllShards<'s, M>,
    metrics: &'a mut Metrics,
}

impl<M: Model> AllLps<M> for Resting<'_, '_, M> {
    fn visit_each(&mut self, visitor: &mut Visitor<'_, M>) {
        let mut ids = (0..).map(LpId);
        self.all.each_shard(|Shard { lps, metrics, .. }| {
            lps.iter_mut().zip(&mut ids).for_each(|(lp, id)| visitor(id, lp, metrics));
        });
    }
    fn metrics(&mut self) -> &mut Metrics {
        self.metrics
    }
}
