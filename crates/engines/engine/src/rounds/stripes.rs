//! Stripes: LPs behind a lock. The leader holds all locks, except those of a parallel round.
//!
//! A stripe has short ranges of LPs from everywhere. LPs of one kind, such as the solvers of a program's
//! carrier, have ids in a row, and may have all events of a round, so one stripe must not have them all.

use crate::course::Course;
use crate::grace::Grace;
use crate::handlers::new_lps;
use crate::ledger::Ledger;
use crate::workers::lock;
use parades_core::any_model::{AnyModel, Lps, Packed, hide_body, in_form};
use parades_core::effects::AnyEffects;
use parades_core::event::LpId;
use parades_core::global::{AllLps, Visitor};
use parades_core::lp::Execution;
use parades_core::metrics::Metrics;
use parades_core::placement::Placement;
use parades_core::world::World;
use parades_raw::prefetch::Records;
use parades_transport::{Conservative, Parcel};
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

/// The most stripes for each thread: enough to balance a round. They are few enough that a round of some
/// hundred events has several events in each.
const SHARDS_PER_THREAD: u32 = 16;
/// The fewest LPs in a stripe, unless there would be too few stripes. Each stripe has metrics of its own.
const LPS_PER_SHARD: u32 = 64;
/// The fewest stripes for each thread.
const SHARDS_MIN: u32 = 4;
/// The number of consecutive LPs of a range. Ranges go to the stripes in turn.
const RANGE: u32 = 4;

/// The state that the threads of a run share.
pub(super) struct Stripes<'w, 'k> {
    pub(super) placement: Placement,
    world: &'w RwLock<World>,
    stripes: Vec<Mutex<Stripe<'k>>>,
    /// The stripes that have events in the current round.
    tasks: Vec<AtomicU32>,
    /// By thread: the results of the current round.
    results: Vec<Mutex<Results<'k>>>,
    /// The time that is left since the user has stopped the run.
    grace: Arc<Grace<'k>>,
}

fn read(world: &RwLock<World>) -> RwLockReadGuard<'_, World> {
    world.read().unwrap_or_else(PoisonError::into_inner)
}

/// A read lock of the world, which the leader holds all the time, except while it changes the world.
pub(super) struct Reading<'s> {
    world: &'s RwLock<World>,
    guard: Option<RwLockReadGuard<'s, World>>,
}

impl<'s> Reading<'s> {
    pub(super) fn of(world: &'s RwLock<World>) -> Reading<'s> {
        Reading { world, guard: Some(read(world)) }
    }

    /// Calls `change` to change the world. There must be no parallel round.
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
        self.guard.as_deref().expect("`change` locks it again")
    }
}

/// The LPs of a lock.
pub(super) struct Stripe<'k> {
    pub(super) lps: Box<dyn Lps<'k> + 'k>,
    pub(super) metrics: Metrics,
    /// The events of the current round, in order.
    pub(super) inbox: Parcel<'k, Conservative>,
}

impl<'k> Stripe<'k> {
    fn of(model: &'k dyn AnyModel<'k>, lps: Box<dyn Lps<'k> + 'k>) -> Stripe<'k> {
        fn empty<'k, P: Packed<'k>>() -> Parcel<'k, Conservative> {
            Parcel::new::<P>(Vec::new())
        }
        Stripe { lps, metrics: model.metrics(), inbox: in_form!(model.form(), empty()) }
    }
}

/// The results of a thread, for the leader.
pub(super) struct Results<'k> {
    pub(super) effects: AnyEffects<'k>,
    pub(super) ledger: Ledger<'k>,
    pub(super) events: u64,
}

/// Deals ranges of LPs to about `wanted` stripes.
fn placement(lps: u32, wanted: u32) -> Placement {
    let stripes = lps.div_ceil(lps.div_ceil(wanted));
    let range = (lps / stripes).clamp(1, RANGE);
    let dealt: Vec<u32> = (0..lps).map(|lp| lp / range % stripes).collect();
    Placement::table(&dealt).unwrap_or_else(|| Placement::ranges(lps, lps.div_ceil(wanted)))
}

impl<'w, 'k> Stripes<'w, 'k> {
    /// Makes one stripe for all LPs, which are added later, for one thread.
    pub(super) fn one(course: &Course<'k>, world: &'w RwLock<World>) -> Stripes<'w, 'k> {
        let placement = Placement::one(read(world).lps());
        let mut lps = new_lps(course.model, course.options.timesheets.as_ref());
        lps.reserve(placement.len(0) as usize);
        Stripes::of(course, world, placement, vec![Stripe::of(course.model, lps)], 1)
    }

    /// Distributes the LPs of one stripe, and their metrics, over stripes for `threads` threads.
    pub(super) fn cut(
        course: &Course<'k>,
        world: &'w RwLock<World>,
        all: &mut (dyn Lps<'k> + 'k),
        metrics: Metrics,
        threads: usize,
    ) -> Stripes<'w, 'k> {
        let (lps, model) = (read(world).lps(), course.model);
        let wanted = u32::try_from(threads).map_or(u32::MAX, |threads| {
            let each = (lps / threads / LPS_PER_SHARD).clamp(SHARDS_MIN, SHARDS_PER_THREAD);
            threads.saturating_mul(each)
        });
        let placement = placement(lps, wanted);
        all.put_down(0);
        model.distribute(&Placement::one(lps), &placement, lps);
        let stripe = |number| {
            let mut lps = new_lps(model, course.options.timesheets.as_ref());
            lps.pick_up(number as usize);
            Stripe::of(model, lps)
        };
        let mut stripes: Vec<_> = (0..placement.partitions()).map(stripe).collect();
        stripes[0].metrics = metrics;
        let mut metrics: Vec<_> = stripes.iter_mut().map(|stripe| &mut stripe.metrics).collect();
        Metrics::redistribute(&mut metrics, &|id| placement.partition(id) as usize);
        Stripes::of(course, world, placement, stripes, threads)
    }

    fn of(
        course: &Course<'k>,
        world: &'w RwLock<World>,
        placement: Placement,
        stripes: Vec<Stripe<'k>>,
        threads: usize,
    ) -> Stripes<'w, 'k> {
        let (form, traces) = (course.model.form(), course.traces());
        let results = || Results { effects: AnyEffects::buffered(form), ledger: Ledger::new(traces), events: 0 };
        Stripes {
            placement,
            world,
            tasks: stripes.iter().map(|_| AtomicU32::new(0)).collect(),
            stripes: stripes.into_iter().map(Mutex::new).collect(),
            results: (0..threads).map(|_| Mutex::new(results())).collect(),
            grace: Arc::clone(&course.grace),
        }
    }

    /// Returns the results of each thread.
    pub(super) fn results(&self) -> &[Mutex<Results<'k>>] {
        &self.results
    }

    /// Sets the stripe of a task of the next round.
    pub(super) fn set_task(&self, task: u32, stripe: u32) {
        // Ordering: Relaxed, here and below; the pool publishes the store with the round.
        self.tasks[task as usize].store(stripe, Ordering::Relaxed);
    }

    pub(super) fn task(&self, task: u32) -> u32 {
        self.tasks[task as usize].load(Ordering::Relaxed)
    }

    /// True if the run was stopped, and must leave its round.
    pub(super) fn must_leave(&self) -> bool {
        self.grace.is_over()
    }

    /// Executes the events of a task on a thread, unless the run must leave the round.
    pub(super) fn execute(&self, task: u32, thread: usize) {
        let mut stripe = lock(&self.stripes[self.task(task) as usize]);
        let mut results = lock(&self.results[thread]);
        let world = read(self.world);
        in_form!(stripe.inbox.form(), execute_inbox(&mut stripe, self, &world, &mut results));
    }

    /// Locks all stripes.
    pub(super) fn hold_all(&self) -> AllStripes<'_, 'k> {
        AllStripes { stripes: self, held: self.stripes.iter().map(|stripe| Some(lock(stripe))).collect() }
    }
}

/// Executes the events of a stripe's inbox. Events that are not executed stay there.
fn execute_inbox<'k, P: Packed<'k>>(
    stripe: &mut Stripe<'k>,
    stripes: &Stripes<'_, 'k>,
    world: &World,
    results: &mut Results<'k>,
) {
    let Stripe { lps, metrics, inbox } = stripe;
    let Results { effects, ledger, events } = results;
    let (inbox, effects) = (inbox.of_mut::<P>(), effects.of_mut::<P>());
    let placement = &stripes.placement;
    inbox.reverse();
    while !stripes.must_leave()
        && let Some(event) = inbox.pop()
    {
        let sent = effects.outbox.buffer.len();
        let index = placement.index(event.receiver());
        let execution = lps.execute(index, event.header_ref(), hide_body(&event.body), world, effects.hide());
        let (key, lp) = (event.key(), event.receiver());
        if effects.others.any && ledger.collect(key, lp, &mut effects.others, metrics) {
            // The remaining events of the task come after the failure.
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
                ledger.trace(event, &mut effects.others);
            }
        }
    }
}

/// The locks of the stripes that the leader holds.
pub(super) struct AllStripes<'s, 'k> {
    stripes: &'s Stripes<'s, 'k>,
    held: Vec<Option<MutexGuard<'s, Stripe<'k>>>>,
}

const HELD: &str = "the leader holds all stripes except those of a parallel round";

impl<'s, 'k> AllStripes<'s, 'k> {
    #[inline(always)]
    pub(super) fn stripe(&mut self, number: u32) -> &mut Stripe<'k> {
        self.held[number as usize].as_deref_mut().expect(HELD)
    }

    /// Returns the stripe of an LP.
    #[inline(always)]
    pub(super) fn of(&mut self, id: LpId) -> &mut Stripe<'k> {
        self.stripe(self.stripes.placement.partition(id))
    }

    /// Takes a step of [`Lps::fetch`].
    pub(super) fn fetch(&self, id: LpId, step: usize) {
        let stripe = self.held[self.stripes.placement.partition(id) as usize].as_deref().expect(HELD);
        stripe.lps.fetch(self.stripes.placement.index(id), step);
    }

    /// Returns the places of the LPs' records, by stripe.
    pub(super) fn records(&self) -> Vec<Records> {
        self.held.iter().map(|held| held.as_ref().expect(HELD).lps.records()).collect()
    }

    /// Returns the LPs of the only stripe, and removes their metrics.
    pub(super) fn take_one(&mut self) -> (&mut (dyn Lps<'k> + 'k), Metrics) {
        let Stripe { lps, metrics, .. } = self.stripe(0);
        (&mut **lps, std::mem::take(metrics))
    }

    pub(super) fn placement(&self) -> &'s Placement {
        &self.stripes.placement
    }

    pub(super) fn release(&mut self, number: u32) {
        self.held[number as usize] = None;
    }

    pub(super) fn hold(&mut self, number: u32) {
        self.held[number as usize] = Some(lock(&self.stripes.stripes[number as usize]));
    }

    pub(super) fn each_stripe(&mut self, each: impl FnMut(&mut Stripe<'k>)) {
        self.held.iter_mut().map(|held| &mut **held.as_mut().expect(HELD)).for_each(each);
    }

    /// Returns all LPs in id order, each with its list and its index there.
    pub(super) fn lps(&self) -> impl Iterator<Item = (LpId, &(dyn Lps<'k> + 'k), usize)> {
        let lists: Vec<_> = self.held.iter().map(|held| &*held.as_ref().expect(HELD).lps).collect();
        let lps = lists.iter().map(|lps| lps.len()).sum::<usize>();
        let placement = self.placement();
        (0..lps).map(LpId::from_index).map(move |id| {
            let list = lists[placement.partition(id) as usize];
            (id, list, placement.index(id))
        })
    }

    /// Returns all LPs, for global events that record in `metrics`.
    pub(super) fn with<'a>(&'a mut self, metrics: &'a mut Metrics) -> Residents<'a, 's, 'k> {
        Residents { all: self, metrics }
    }
}

/// The LPs of all stripes, as a global event visits them.
pub(super) struct Residents<'a, 's, 'k> {
    all: &'a mut AllStripes<'s, 'k>,
    metrics: &'a mut Metrics,
}

impl<'k> AllLps<'k> for Residents<'_, '_, 'k> {
    fn visit_each(&mut self, visitor: &mut Visitor<'_, 'k>) {
        let mut lps = 0;
        self.all.each_stripe(|stripe| lps += stripe.lps.len());
        let placement = self.all.placement();
        for id in (0..lps).map(LpId::from_index) {
            let Stripe { lps, metrics, .. } = self.all.of(id);
            visitor(id, &mut **lps, placement.index(id), metrics);
        }
    }
    fn metrics(&mut self) -> &mut Metrics {
        self.metrics
    }
}
