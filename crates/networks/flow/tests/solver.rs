//! The solver: what is solved in parts equals what is solved as a whole, and is max-min fair.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]
#![allow(clippy::float_cmp, reason = "sums of small whole numbers are exact")]

use parades_flow::solver::{Sharing, System, VariableId};
use proptest::prelude::*;

/// What the precision of the solver may leave of a capacity, and what it lets through beyond it.
const SLACK: f64 = 1e-4;

#[derive(Clone, Debug)]
enum Step {
    Add { penalty: f64, bound: f64, uses: Vec<(usize, f64)> },
    Remove(usize),
    Capacity(usize, f64),
    Terms(usize, f64, f64),
}

fn penalty() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), 0.1..10.0]
}

fn bound() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::INFINITY), 0.01..50.0, Just(10.0)]
}

fn step() -> impl Strategy<Value = Step> {
    let uses = prop::collection::vec((0usize..8, prop_oneof![Just(1.0), Just(0.05)]), 1..5);
    prop_oneof![
        6 => (penalty(), bound(), uses).prop_map(|(penalty, bound, uses)| Step::Add { penalty, bound, uses }),
        3 => any::<prop::sample::Index>().prop_map(|index| Step::Remove(index.index(1000))),
        1 => (0usize..8, 0.0..100.0).prop_map(|(constraint, capacity)| Step::Capacity(constraint, capacity)),
        1 => (any::<prop::sample::Index>(), penalty(), 0.01..50.0)
            .prop_map(|(index, penalty, bound)| Step::Terms(index.index(1000), penalty, bound)),
    ]
}

/// A variable as the test knows it.
#[derive(Clone, Debug)]
struct Known {
    id: VariableId,
    penalty: f64,
    bound: f64,
    uses: Vec<(usize, f64)>,
}

struct World {
    system: System,
    capacities: Vec<f64>,
    pipes: usize,
    known: Vec<Known>,
}

impl World {
    fn new(capacities: &[f64], pipes: usize) -> World {
        let mut system = System::default();
        for (index, &capacity) in capacities.iter().enumerate() {
            system.add_constraint(capacity, if index < pipes { Sharing::Pipe } else { Sharing::Shared });
        }
        World { system, capacities: capacities.to_vec(), pipes, known: Vec::new() }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Add { penalty, bound, uses } => {
                let list: Vec<(u32, f64)> =
                    uses.iter().map(|&(constraint, weight)| (u32::try_from(constraint).unwrap(), weight)).collect();
                let id = self.system.add_variable(*penalty, *bound, &list);
                let mut merged: Vec<(usize, f64)> = Vec::new();
                for &(constraint, weight) in uses {
                    match merged.iter_mut().find(|(known, _)| *known == constraint) {
                        Some((known, sum)) if *known < self.pipes => *sum = sum.max(weight),
                        Some((_, sum)) => *sum += weight,
                        None => merged.push((constraint, weight)),
                    }
                }
                self.known.push(Known { id, penalty: *penalty, bound: *bound, uses: merged });
            }
            Step::Remove(index) if !self.known.is_empty() => {
                let gone = self.known.swap_remove(index % self.known.len());
                self.system.remove_variable(gone.id);
            }
            &Step::Capacity(constraint, capacity) => {
                self.capacities[constraint] = capacity;
                self.system.set_capacity(u32::try_from(constraint).unwrap(), capacity);
            }
            &Step::Terms(index, penalty, bound) if !self.known.is_empty() => {
                let place = index % self.known.len();
                let known = &mut self.known[place];
                (known.penalty, known.bound) = (penalty, bound);
                self.system.set_terms(known.id, penalty, bound);
            }
            Step::Remove(_) | Step::Terms(..) => {}
        }
    }

    fn load(&self, constraint: usize) -> f64 {
        self.system.load(u32::try_from(constraint).unwrap())
    }
}

/// Whether two rates are the same but for what the precision of the solver may do.
fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= SLACK * scale.max(a.abs()).max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Solved change by change, and solved from scratch by a system that has seen only what is left.
    #[test]
    fn a_system_solved_at_each_change_equals_one_solved_from_scratch(
        capacities in prop::collection::vec(0.5..100.0f64, 8),
        pipes in 0usize..3,
        steps in prop::collection::vec((step(), any::<bool>()), 1..60),
    ) {
        let mut world = World::new(&capacities, pipes);
        for (step, solve) in &steps {
            world.take(step);
            if *solve {
                world.system.solve();
            }
        }
        world.system.solve();
        let mut fresh = World::new(&world.capacities, pipes);
        for known in &world.known {
            let Known { penalty, bound, uses, .. } = known.clone();
            fresh.take(&Step::Add { penalty, bound, uses });
        }
        fresh.system.solve();
        for (old, new) in world.known.iter().zip(&fresh.known) {
            let (a, b) = (world.system.rate(old.id), fresh.system.rate(new.id));
            prop_assert!(close(a, b, 1.0), "{a} by parts, {b} as a whole: {old:?}");
        }
    }

    /// No constraint is overfull, no bound passed; and whoever is not at its bound uses a full constraint, on which nobody has a higher level.
    #[test]
    fn everybody_is_held_by_a_bound_or_by_a_full_constraint(
        capacities in prop::collection::vec(0.5..100.0f64, 8),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::new(&capacities, 0);
        for step in &steps {
            world.take(step);
            world.system.solve();
        }
        for (constraint, &capacity) in world.capacities.iter().enumerate() {
            prop_assert!(world.load(constraint) <= capacity * (1.0 + SLACK), "{constraint} is overfull");
        }
        for known in &world.known {
            let rate = world.system.rate(known.id);
            prop_assert!(rate <= known.bound * (1.0 + SLACK));
            if rate >= known.bound * (1.0 - SLACK) {
                continue;
            }
            let level = rate * known.penalty;
            let held = known.uses.iter().any(|&(constraint, _)| {
                let full = world.load(constraint) >= world.capacities[constraint] * (1.0 - SLACK);
                let on_it = |other: &&Known| other.uses.iter().any(|&(used, _)| used == constraint);
                let highest = world.known.iter().filter(on_it).map(|other| world.system.rate(other.id) * other.penalty);
                full && highest.fold(0.0, f64::max) <= level * (1.0 + SLACK) + SLACK
            });
            prop_assert!(held, "nothing holds {known:?} at {rate}");
        }
    }

    /// Rates depend on the calls alone: the same calls give the same bits, in a copy as well.
    #[test]
    fn the_same_calls_give_the_same_bits(steps in prop::collection::vec(step(), 1..40), at in 0usize..40) {
        let capacities = [7.0, 3.0, 50.0, 20.0, 11.0, 13.0, 1.0, 90.0];
        let (mut one, mut other) = (World::new(&capacities, 2), World::new(&capacities, 2));
        for (index, step) in steps.iter().enumerate() {
            one.take(step);
            one.system.solve();
            other.take(step);
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
fn a_change_touches_only_those_it_can_reach() {
    let mut system = System::default();
    // Two narrow links on one wide one, which they cannot fill.
    let (left, right) = (system.add_constraint(1.0, Sharing::Shared), system.add_constraint(1.0, Sharing::Shared));
    let wide = system.add_constraint(100.0, Sharing::Shared);
    let variable = |system: &mut System, own| system.add_variable(1.0, 1.0, &[(own, 1.0), (wide, 1.0)]);
    let on_left = variable(&mut system, left);
    let on_right = variable(&mut system, right);
    system.solve();
    let second_left = variable(&mut system, left);
    let mut changed = system.solve().to_vec();
    changed.sort_unstable();
    assert_eq!(changed, [on_left, second_left]);
    assert_eq!((system.rate(on_left), system.rate(second_left), system.rate(on_right)), (0.5, 0.5, 1.0));
    // What could fill the wide one ties all together.
    let greedy = system.add_variable(1.0, f64::INFINITY, &[(wide, 1.0)]);
    system.solve();
    assert_eq!((system.rate(greedy), system.rate(on_right)), (98.0, 1.0));
}

#[test]
fn penalties_share_out_in_inverse_proportion() {
    let mut system = System::default();
    let link = system.add_constraint(12.0, Sharing::Shared);
    let near = system.add_variable(1.0, f64::INFINITY, &[(link, 1.0)]);
    let far = system.add_variable(3.0, f64::INFINITY, &[(link, 1.0)]);
    system.solve();
    assert_eq!((system.rate(near), system.rate(far)), (9.0, 3.0));
    // A constraint used twice counts twice.
    let twice = system.add_variable(1.0, f64::INFINITY, &[(link, 1.0), (link, 1.0)]);
    system.remove_variable(far);
    system.solve();
    assert_eq!((system.rate(near), system.rate(twice)), (4.0, 4.0));
}

#[test]
fn a_pipe_bounds_each_alone() {
    let mut system = System::default();
    let pipe = system.add_constraint(5.0, Sharing::Pipe);
    let ids: Vec<_> = (0..3).map(|_| system.add_variable(1.0, f64::INFINITY, &[(pipe, 1.0)])).collect();
    system.solve();
    assert!(ids.iter().all(|&id| system.rate(id) == 5.0));
    assert_eq!(system.load(pipe), 5.0);
}

#[test]
fn nothing_flows_where_there_is_no_capacity() {
    let mut system = System::default();
    let link = system.add_constraint(5.0, Sharing::Shared);
    let id = system.add_variable(1.0, 9.0, &[(link, 1.0)]);
    system.solve();
    system.set_capacity(link, 0.0);
    system.solve();
    assert_eq!(system.rate(id), 0.0);
    system.set_capacity(link, 2.0);
    system.solve();
    assert_eq!(system.rate(id), 2.0);
}
