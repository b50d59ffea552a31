//! The solver: partial solutions equal complete ones, and they are max-min fair.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]
#![allow(clippy::float_cmp, reason = "sums of small whole numbers are exact")]

use parades_core::random::Rng;
use parades_flow::solver::{SharingPolicy, System, VariableId};
use parades_sync::help::{self, Helpers, Tasks};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The relative error that the solver's precision may cause: capacity that is not used, or used beyond the
/// limit.
const SLACK: f64 = 1e-4;

/// A call to the system. Numbers of variables are taken modulo the number of variables.
#[derive(Clone, Debug)]
enum Step {
    AddVariable { penalty: f64, bound: f64, elements: Vec<(usize, f64)> },
    RemoveVariable(usize),
    SetCapacity(usize, f64),
    SetPenaltyAndBound(usize, f64, f64),
}

fn penalty() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), 0.1..10.0]
}

fn bound() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::INFINITY), 0.01..50.0, Just(10.0)]
}

fn step() -> impl Strategy<Value = Step> {
    let elements = prop::collection::vec((0usize..8, prop_oneof![Just(1.0), Just(0.05)]), 1..5);
    prop_oneof![
        6 => (penalty(), bound(), elements).prop_map(|(penalty, bound, elements)| Step::AddVariable { penalty, bound, elements }),
        3 => any::<prop::sample::Index>().prop_map(|index| Step::RemoveVariable(index.index(1000))),
        1 => (0usize..8, 0.0..100.0).prop_map(|(constraint, capacity)| Step::SetCapacity(constraint, capacity)),
        1 => (any::<prop::sample::Index>(), penalty(), 0.01..50.0)
            .prop_map(|(index, penalty, bound)| Step::SetPenaltyAndBound(index.index(1000), penalty, bound)),
    ]
}

/// A variable, as the test knows it.
#[derive(Clone, Debug)]
struct Known {
    id: VariableId,
    penalty: f64,
    bound: f64,
    elements: Vec<(usize, f64)>,
}

struct World {
    system: System,
    capacities: Vec<f64>,
    fat_pipes: usize,
    known: Vec<Known>,
}

impl World {
    fn new(capacities: &[f64], fat_pipes: usize) -> World {
        let mut system = System::default();
        for (index, &capacity) in capacities.iter().enumerate() {
            system.add_constraint(
                capacity,
                if index < fat_pipes { SharingPolicy::FatPipe } else { SharingPolicy::Shared },
            );
        }
        World { system, capacities: capacities.to_vec(), fat_pipes, known: Vec::new() }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::AddVariable { penalty, bound, elements } => {
                let list: Vec<(u32, f64)> =
                    elements.iter().map(|&(constraint, weight)| (u32::try_from(constraint).unwrap(), weight)).collect();
                let id = self.system.add_variable(*penalty, *bound, &list);
                let mut merged: Vec<(usize, f64)> = Vec::new();
                for &(constraint, weight) in elements {
                    match merged.iter_mut().find(|(known, _)| *known == constraint) {
                        Some((known, sum)) if *known < self.fat_pipes => *sum = sum.max(weight),
                        Some((_, sum)) => *sum += weight,
                        None => merged.push((constraint, weight)),
                    }
                }
                self.known.push(Known { id, penalty: *penalty, bound: *bound, elements: merged });
            }
            Step::RemoveVariable(index) if !self.known.is_empty() => {
                let gone = self.known.swap_remove(index % self.known.len());
                self.system.remove_variable(gone.id);
            }
            &Step::SetCapacity(constraint, capacity) => {
                self.capacities[constraint] = capacity;
                self.system.set_capacity(u32::try_from(constraint).unwrap(), capacity);
            }
            &Step::SetPenaltyAndBound(index, penalty, bound) if !self.known.is_empty() => {
                let place = index % self.known.len();
                let known = &mut self.known[place];
                (known.penalty, known.bound) = (penalty, bound);
                self.system.set_penalty_and_bound(known.id, penalty, bound);
            }
            Step::RemoveVariable(_) | Step::SetPenaltyAndBound(..) => {}
        }
    }

    fn load(&self, constraint: usize) -> f64 {
        self.system.load(u32::try_from(constraint).unwrap())
    }
}

/// Returns true if two rates differ by no more than the solver's precision.
fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= SLACK * scale.max(a.abs()).max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The second system gets only the variables that remain at the end.
    #[test]
    fn a_system_solved_at_each_change_equals_one_solved_from_scratch(
        capacities in prop::collection::vec(0.5..100.0f64, 8),
        fat_pipes in 0usize..3,
        steps in prop::collection::vec((step(), any::<bool>()), 1..60),
    ) {
        let mut world = World::new(&capacities, fat_pipes);
        for (step, solve) in &steps {
            world.apply(step);
            if *solve {
                world.system.solve();
            }
        }
        world.system.solve();
        let mut fresh = World::new(&world.capacities, fat_pipes);
        for known in &world.known {
            let Known { penalty, bound, elements, .. } = known.clone();
            fresh.apply(&Step::AddVariable { penalty, bound, elements });
        }
        fresh.system.solve();
        for (old, new) in world.known.iter().zip(&fresh.known) {
            let (a, b) = (world.system.rate(old.id), fresh.system.rate(new.id));
            prop_assert!(close(a, b, 1.0), "{a} by parts, {b} as a whole: {old:?}");
        }
    }

    /// This is the definition of max-min fairness: no load is above a capacity, no rate is above its bound,
    /// and each variable below its bound uses a saturated constraint on which no other variable has a higher
    /// level.
    #[test]
    fn each_variable_is_limited_by_its_bound_or_by_a_saturated_constraint(
        capacities in prop::collection::vec(0.5..100.0f64, 8),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::new(&capacities, 0);
        for step in &steps {
            world.apply(step);
            world.system.solve();
        }
        for (constraint, &capacity) in world.capacities.iter().enumerate() {
            prop_assert!(world.load(constraint) <= capacity * (1.0 + SLACK), "{constraint} has a load above its capacity");
        }
        for known in &world.known {
            let rate = world.system.rate(known.id);
            prop_assert!(rate <= known.bound * (1.0 + SLACK));
            if rate >= known.bound * (1.0 - SLACK) {
                continue;
            }
            let level = rate * known.penalty;
            let limited = known.elements.iter().any(|&(constraint, _)| {
                let saturated = world.load(constraint) >= world.capacities[constraint] * (1.0 - SLACK);
                let on_it = |other: &&Known| other.elements.iter().any(|&(used, _)| used == constraint);
                let highest = world.known.iter().filter(on_it).map(|other| world.system.rate(other.id) * other.penalty);
                saturated && highest.fold(0.0, f64::max) <= level * (1.0 + SLACK) + SLACK
            });
            prop_assert!(limited, "nothing limits {known:?} at {rate}");
        }
    }

    /// Rates depend on the calls alone, also in a copy of a system.
    #[test]
    fn the_same_calls_give_the_same_bits(steps in prop::collection::vec(step(), 1..40), at in 0usize..40) {
        let capacities = [7.0, 3.0, 50.0, 20.0, 11.0, 13.0, 1.0, 90.0];
        let (mut one, mut other) = (World::new(&capacities, 2), World::new(&capacities, 2));
        for (index, step) in steps.iter().enumerate() {
            one.apply(step);
            one.system.solve();
            other.apply(step);
            other.system.solve();
            if index == at {
                other.system = other.system.clone();
            }
        }
        for (a, b) in one.known.iter().zip(&other.known) {
            prop_assert_eq!(one.system.rate(a.id).to_bits(), other.system.rate(b.id).to_bits());
        }
    }
}

#[test]
fn a_change_affects_only_its_connected_component() {
    let mut system = System::default();
    // Two narrow links share a wide link, which they cannot saturate.
    let (left, right) =
        (system.add_constraint(1.0, SharingPolicy::Shared), system.add_constraint(1.0, SharingPolicy::Shared));
    let wide = system.add_constraint(100.0, SharingPolicy::Shared);
    let variable = |system: &mut System, own| system.add_variable(1.0, 1.0, &[(own, 1.0), (wide, 1.0)]);
    let on_left = variable(&mut system, left);
    let on_right = variable(&mut system, right);
    system.solve();
    let second_left = variable(&mut system, left);
    let mut changed = system.solve().to_vec();
    changed.sort_unstable();
    assert_eq!(changed, [on_left, second_left]);
    assert_eq!((system.rate(on_left), system.rate(second_left), system.rate(on_right)), (0.5, 0.5, 1.0));
    // An unbounded variable can saturate the wide link, which connects all variables.
    let greedy = system.add_variable(1.0, f64::INFINITY, &[(wide, 1.0)]);
    system.solve();
    assert_eq!((system.rate(greedy), system.rate(on_right)), (98.0, 1.0));
}

#[test]
fn rates_are_inversely_proportional_to_penalties() {
    let mut system = System::default();
    let link = system.add_constraint(12.0, SharingPolicy::Shared);
    let near = system.add_variable(1.0, f64::INFINITY, &[(link, 1.0)]);
    let far = system.add_variable(3.0, f64::INFINITY, &[(link, 1.0)]);
    system.solve();
    assert_eq!((system.rate(near), system.rate(far)), (9.0, 3.0));
    // A constraint that is named twice is used with twice the weight.
    let twice = system.add_variable(1.0, f64::INFINITY, &[(link, 1.0), (link, 1.0)]);
    system.remove_variable(far);
    system.solve();
    assert_eq!((system.rate(near), system.rate(twice)), (4.0, 4.0));
}

#[test]
fn a_fat_pipe_bounds_each_variable_alone() {
    let mut system = System::default();
    let fat_pipe = system.add_constraint(5.0, SharingPolicy::FatPipe);
    let ids: Vec<_> = (0..3).map(|_| system.add_variable(1.0, f64::INFINITY, &[(fat_pipe, 1.0)])).collect();
    system.solve();
    assert!(ids.iter().all(|&id| system.rate(id) == 5.0));
    assert_eq!(system.load(fat_pipe), 5.0);
}

#[test]
fn rates_are_zero_while_a_capacity_is_zero() {
    let mut system = System::default();
    let link = system.add_constraint(5.0, SharingPolicy::Shared);
    let id = system.add_variable(1.0, 9.0, &[(link, 1.0)]);
    system.solve();
    system.set_capacity(link, 0.0);
    system.solve();
    assert_eq!(system.rate(id), 0.0);
    system.set_capacity(link, 2.0);
    system.solve();
    assert_eq!(system.rate(id), 2.0);
}

/// Threads that begin with the last task.
struct Threads {
    count: usize,
    helped: AtomicU32,
}

impl Helpers for Threads {
    fn threads(&self) -> usize {
        self.count
    }
    fn execute(&self, count: u32, tasks: Arc<dyn Tasks>) {
        assert!(count as usize <= self.count, "{count} tasks for {} threads", self.count);
        self.helped.fetch_add(1, Ordering::Relaxed);
        std::thread::scope(|scope| {
            (0..count).rev().for_each(|task| {
                drop(scope.spawn({
                    let tasks = &tasks;
                    move || tasks.execute(task)
                }))
            });
        });
    }
}

/// Adds variables to groups of constraints, changes some of them, and solves the system twice. Returns the
/// rates that change each time, in their order.
fn solve_groups(groups: u32) -> Vec<(VariableId, u64)> {
    let rng = Rng::shared(7, groups);
    let mut system = System::default();
    let constraints: Vec<u32> =
        (0..4 * groups).map(|_| system.add_constraint(1.0 + rng.unit(), SharingPolicy::Shared)).collect();
    let mut ids = Vec::new();
    for variable in 0..60 * groups {
        let of_group = &constraints[4 * (variable % groups) as usize..][..4];
        let elements = [0, 1].map(|_| (of_group[usize::try_from(rng.below(4)).unwrap()], 0.5 + rng.unit()));
        let bound = if rng.chance(0.5) { 0.02 * rng.unit() } else { f64::INFINITY };
        ids.push(system.add_variable(0.5 + rng.unit(), bound, &elements));
    }
    let mut rates = Vec::new();
    let mut solve = |system: &mut System| {
        let changed = system.solve().to_vec();
        rates.extend(changed.into_iter().map(|id| (id, system.rate(id).to_bits())));
    };
    solve(&mut system);
    for id in ids.iter().step_by(7) {
        system.set_penalty_and_bound(*id, 0.5 + rng.unit(), 0.05);
    }
    solve(&mut system);
    rates
}

#[test]
fn components_that_several_threads_solve_have_the_rates_of_one_thread() {
    for groups in [2, 30, 45] {
        let alone = solve_groups(groups);
        for count in [1, 2, 3, 8] {
            let threads = Arc::new(Threads { count, helped: AtomicU32::new(0) });
            let found = help::with(Arc::clone(&threads) as Arc<dyn Helpers>, || solve_groups(groups));
            assert!(found == alone, "{groups} groups, {count} threads");
            let is_large = groups > 2 && count > 1;
            assert_eq!(threads.helped.load(Ordering::Relaxed), if is_large { 2 } else { 0 }, "{groups} groups");
        }
    }
}
