//! `rounds`: all events of one instant, grouped by receiver, with the receivers in any order.
//!
//! *Idea.* A cause is strictly before its effect, even at zero delay. So the events of one instant at
//! different LPs are independent. This engine executes the LPs of an instant in reverse or random order, as a
//! pool of workers might.
//!
//! *Protocol.*
//!
//! 1. Take the earliest instant before the horizon.
//! 2. Group its events by receiver.
//! 3. For each receiver, in any order, execute its events by key, up to its first failure.
//! 4. Commit in the order of events.
//! 5. At the horizon, execute the global events.
//!
//! *Invariants.* I3: keys increase along an LP's history. A sent event arrives at a later instant. The
//! exception is the wake of a timer that was reset for this very instant: it goes to the same receiver with a
//! larger key.

use super::{Fault, Setting};
use crate::ledger::{Ledger, Uncommitted};
use parades_core::any_model::{AnyEvent, AnyModel, Lps, body_ref, with_model};
use parades_core::effects::AnyEffects;
use parades_core::error::Error;
use parades_core::model::Model;
use parades_core::random::Rng;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Instant;
use std::collections::BTreeMap;

/// Runs `model` instant by instant.
///
/// # Errors
///
/// The first error of the run.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, setting: &Setting<M>) -> Result<Outcome, Error> {
    let (seed, fault) = (setting.seed, setting.fault);
    with_model(model, options, |model, options| run_any(model, options, seed, fault))
}

fn run_any<'k>(
    model: &'k dyn AnyModel<'k>,
    options: RunOptions<'k>,
    seed: u64,
    fault: Fault,
) -> Result<Outcome, Error> {
    let mut lps = model.new_lps();
    let (ledger, sends) = Ledger::start(model, options, &mut *lps)?;
    let rng = Rng::shared(seed, 1);
    let effects = AnyEffects::buffered(model.form());
    let mut run = Rounds { ledger, lps, pending: BTreeMap::new(), effects, rng, fault };
    run.insert(sends);
    loop {
        while let Some(instant) = run.next_before_horizon() {
            run.execute_round(instant)?;
        }
        let globals = run.ledger.execute_globals(&mut *run.lps)?;
        run.insert(globals.sends);
        if let Some(end) = globals.end {
            let pending = run.pending.into_values().flatten().collect();
            return run.ledger.conclude(end, &*run.lps, pending, Vec::new());
        }
    }
}

struct Rounds<'k> {
    ledger: Ledger<'k>,
    lps: Box<dyn Lps<'k> + 'k>,
    pending: BTreeMap<Instant, Vec<AnyEvent<'k>>>,
    effects: AnyEffects<'k>,
    rng: Rng,
    fault: Fault,
}

impl<'k> Rounds<'k> {
    fn insert(&mut self, events: Vec<AnyEvent<'k>>) {
        for event in events {
            self.pending.entry(event.instant()).or_default().push(event);
        }
    }

    fn next_before_horizon(&self) -> Option<Instant> {
        let instant = *self.pending.first_key_value()?.0;
        (instant.time < self.ledger.horizon()).then_some(instant)
    }

    /// Executes all events of an instant.
    fn execute_round(&mut self, instant: Instant) -> Result<(), Error> {
        let events = self.pending.remove(&instant).expect("it was found there");
        let mut receivers: BTreeMap<_, Vec<AnyEvent<'k>>> = BTreeMap::new();
        for event in events {
            receivers.entry(event.receiver()).or_default().push(event);
        }
        let mut receivers: Vec<Vec<AnyEvent<'k>>> = receivers.into_values().rev().collect();
        if self.rng.chance(0.5) {
            shuffle(&mut receivers, &self.rng);
        }
        let mut executed = Vec::new();
        for events in receivers {
            self.execute_receiver(events, &mut executed);
        }
        self.ledger.commit_all(executed)
    }

    /// Executes the events of one receiver at one instant.
    fn execute_receiver(&mut self, mut events: Vec<AnyEvent<'k>>, executed: &mut Vec<(AnyEvent<'k>, Uncommitted)>) {
        while !events.is_empty() {
            if self.fault != Fault::TieByInsertion {
                events.sort_unstable();
            }
            let event = events.remove(0);
            let (index, body) = (event.receiver().index(), body_ref(&event));
            let execution = self.lps.execute(index, &event.header(), body, &self.ledger.world, self.effects.hide());
            let uncommitted = Uncommitted::take(execution, self.effects.hide().others);
            for send in self.effects.take_buffer() {
                if send.instant() == event.instant() {
                    assert!(
                        send.receiver() == event.receiver() && send > event,
                        "I3: only a wake comes at its own instant"
                    );
                    events.push(send);
                } else {
                    self.pending.entry(send.instant()).or_default().push(send);
                }
            }
            let failed = uncommitted.has_failed();
            executed.push((event, uncommitted));
            if failed {
                return;
            }
        }
    }
}

/// Shuffles a list (Fisher and Yates).
pub(super) fn shuffle<T>(things: &mut [T], rng: &Rng) {
    for i in (1..things.len()).rev() {
        things.swap(i, super::index_below(rng, i + 1));
    }
}
