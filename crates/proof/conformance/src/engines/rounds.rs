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
use parades_core::effects::Effects;
use parades_core::error::Error;
use parades_core::event::Event;
use parades_core::lp::Lp;
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
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, setting: &Setting<M::Message>) -> Result<Outcome, Error> {
    let (ledger, lps, sends) = Ledger::start(model, options)?;
    let rng = Rng::shared(setting.seed, 1);
    let mut run = Rounds { ledger, lps, pending: BTreeMap::new(), effects: Effects::new(), rng, fault: setting.fault };
    run.insert(sends);
    loop {
        while let Some(instant) = run.next_before_horizon() {
            run.execute_round(instant)?;
        }
        let globals = run.ledger.execute_globals(&mut run.lps)?;
        run.insert(globals.sends);
        if let Some(end) = globals.end {
            let pending = run.pending.into_values().flatten().collect();
            return run.ledger.conclude(end, &run.lps, pending, Vec::new());
        }
    }
}

struct Rounds<'a, M: Model> {
    ledger: Ledger<'a, M>,
    lps: Vec<Lp<M::State>>,
    pending: BTreeMap<Instant, Vec<Event<M::Message>>>,
    effects: Effects<M>,
    rng: Rng,
    fault: Fault,
}

impl<M: Model> Rounds<'_, M> {
    fn insert(&mut self, events: Vec<Event<M::Message>>) {
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
        let mut receivers: BTreeMap<_, Vec<Event<M::Message>>> = BTreeMap::new();
        for event in events {
            receivers.entry(event.receiver()).or_default().push(event);
        }
        let mut receivers: Vec<Vec<Event<M::Message>>> = receivers.into_values().rev().collect();
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
    fn execute_receiver(
        &mut self,
        mut events: Vec<Event<M::Message>>,
        executed: &mut Vec<(Event<M::Message>, Uncommitted<M>)>,
    ) {
        while !events.is_empty() {
            if self.fault != Fault::TieByInsertion {
                events.sort_unstable();
            }
            let event = events.remove(0);
            let lp = &mut self.lps[event.receiver().index()];
            let execution = lp.execute(self.ledger.model, &self.ledger.world, event.parts(), &mut self.effects);
            let uncommitted = Uncommitted::take(execution, &mut self.effects);
            for send in std::mem::take(&mut self.effects.outbox.buffer) {
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
