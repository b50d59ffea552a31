//! The global events of random models.

use super::{Cargo, Failure, Gene, Message, RandomModel, SERIES, State, TALLY, ticks};
use parades_core::global::{Global, GlobalContext};
use parades_core::model::{Context, Model};
use parades_core::prelude::{Delay, LpId, Port, Rng, Sender, TimerId};

/// The actions of one global event.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Change {
    /// True if it sets timers, some due at this very instant.
    timers: bool,
    /// True if it sends events, some for this very instant.
    sends: bool,
    /// The new lookahead of channels by pair, as a percentage of the declared one.
    lookahead_percent: Option<u64>,
    /// The number of global events that follow it.
    more: u64,
    /// The seed of its own choices.
    seed: u64,
}

/// The kind of global events that change the lookahead of channels.
const LOOKAHEAD: u64 = 4;

impl RandomModel {
    /// True if global events may change the lookahead of channels.
    pub fn changes_lookahead(&self) -> bool {
        self.gene(Gene::GlobalKinds) & LOOKAHEAD > 0
    }

    /// Draws a global event of the kinds that the model has.
    pub(super) fn draw_change(&self, rng: &Rng) -> Change {
        let kinds = self.gene(Gene::GlobalKinds);
        let has = |kind| kinds & kind > 0 && rng.chance(0.6);
        let (timers, sends, lookahead, more) = (has(1), has(2), has(LOOKAHEAD), has(8));
        Change {
            timers,
            sends,
            lookahead_percent: lookahead.then(|| [0, 50, 100, 200][crate::engines::index_below(rng, 4)]),
            more: if more { rng.below(4) } else { 0 },
            seed: rng.next_u64(),
        }
    }
}

impl Global<RandomModel> for Change {
    /// A sum that depends on the order of LPs, and the largest trail.
    type Summary = (f64, u64);

    fn visit(&self, model: &RandomModel, state: &mut State, ctx: &mut Context<'_, RandomModel>) -> (f64, u64) {
        state.trail = state.trail.rotate_left(5) ^ self.seed;
        if let Some(percent) = self.lookahead_percent {
            state.lookahead_percent = percent;
        }
        if self.timers && model.gene(Gene::Timers) > 0 && state.settings > 0 && ctx.rng().chance(0.5) {
            state.settings -= 1;
            let delay = ticks(ctx.rng().below(3));
            ctx.set_timer(TimerId(0), delay);
            if ctx.rng().chance(0.2) {
                ctx.cancel_timer(TimerId(0));
            }
        }
        if model.gene(Gene::Measured) > 0 {
            ctx.observe(TALLY, state.events);
        }
        if model.fails(Failure::Visit, ctx.rng()) {
            ctx.fail("the visit fails");
        }
        (state.mean, state.trail)
    }

    fn fold(&self, left: (f64, u64), right: (f64, u64)) -> (f64, u64) {
        (left.0 + right.0, left.1.max(right.1))
    }

    fn act(&self, model: &RandomModel, (mean, trail): (f64, u64), ctx: &mut GlobalContext<'_, RandomModel>) {
        let rng = Rng::shared(self.seed, 13);
        ctx.point(SERIES, mean);
        if self.sends {
            for _ in 0..rng.below(4) {
                let receiver = model.any_lp(&rng);
                let message = Message { budget: rng.below(10), cargo: Cargo::Word(trail) };
                ctx.send(receiver, ticks(rng.below(3)), message);
            }
        }
        if let Some(percent) = self.lookahead_percent {
            for (sender, ports) in model.ports.iter().enumerate() {
                for (port, (_, declared)) in (0..).zip(ports) {
                    let lookahead = Delay::from_ps(declared.as_ps() * percent / 100);
                    ctx.set_lookahead(LpId::from_index(sender), Port(port), lookahead);
                }
            }
        }
        if self.more > 0 {
            ctx.schedule(ticks(1 + rng.below(10)), Change { more: self.more - 1, ..self.clone() });
        }
        if model.fails(Failure::Act, &rng) {
            assert!(rng.chance(0.5), "{}", super::EXPECTED_PANIC);
            ctx.fail(format!("the act fails after {} LPs, as {}", model.lps(), Sender::GLOBAL));
        }
    }
}
