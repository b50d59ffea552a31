//! A model with uneven work. At some logical processes, events are far more work than at others. These
//! logical processes change each second. So no distribution of work that follows earlier measurements stays
//! right for long.

use parades_core::prelude::*;

/// The work of an event in the hot spot, in usual events.
pub(super) const HOT: u64 = 16;
/// The steps of arithmetic of a usual event.
const STEPS: u64 = 100;
const LOOKAHEAD: Delay = Delay::from_ms(500);
const BEYOND: Delay = Delay::from_ms(500);
const REMOTE: f64 = 0.1;

/// A ring, in which a logical process sends to itself, and now and then to the next one. The ids are cut into
/// `spots` ranges of equal length; in each second one range is hot, each in its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct HotSpot {
    pub(super) lps: u32,
    pub(super) spots: u32,
}

impl HotSpot {
    fn is_hot(self, id: LpId, now: Time) -> bool {
        let spot = u64::from(id.0) * u64::from(self.spots) / u64::from(self.lps);
        spot == now.as_ps() / Delay::from_secs(1).as_ps() % u64::from(self.spots)
    }
}

impl Model for HotSpot {
    /// The result of all steps so far.
    type State = u64;
    type Message = ();
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.lps
    }

    fn channels(&self) -> Channels {
        let mut ring = Channels::none();
        for id in 0..self.lps {
            ring.connect(LpId(id), LpId((id + 1) % self.lps), LOOKAHEAD);
        }
        ring
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
        let delay = LOOKAHEAD.saturating_add(ctx.rng().exponential_delay(BEYOND));
        ctx.send_self(delay, ());
        u64::from(ctx.id().0)
    }

    fn handle(&self, state: &mut u64, _: Body<&()>, ctx: &mut Context<'_, Self>) {
        let steps = if self.is_hot(ctx.id(), ctx.now()) { HOT * STEPS } else { STEPS };
        for step in 0..steps {
            *state = (*state ^ step).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        }
        let delay = LOOKAHEAD.saturating_add(ctx.rng().exponential_delay(BEYOND));
        if ctx.rng().chance(REMOTE) {
            ctx.send(Port(0), delay, ());
        } else {
            ctx.send_self(delay, ());
        }
    }

    fn fold(&self, state: &u64, digest: &mut Digest) {
        digest.word(*state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_engine::sequential;
    use parades_engine::window::{self, Settings};

    #[test]
    fn one_range_is_hot_at_a_time_and_each_in_turn() {
        let model = HotSpot { lps: 64, spots: 4 };
        for second in 0..8 {
            let now = Time::ZERO.checked_add(Delay::from_secs(second)).expect("some seconds");
            let hot: Vec<u32> = (0..64).filter(|&id| model.is_hot(LpId(id), now)).collect();
            let first = u32::try_from(second % 4).expect("below 4") * 16;
            assert_eq!(hot, (first..first + 16).collect::<Vec<_>>());
        }
    }

    #[test]
    fn whoever_takes_the_work_the_answer_is_the_same() {
        let model = HotSpot { lps: 256, spots: 16 };
        let options = || RunOptions::until(Time::ZERO.checked_add(Delay::from_secs(20)).expect("some seconds"));
        let expected = sequential::run(&model, options()).expect("it has no fault");
        for dedicated in [0.0, 0.5, 1.0] {
            let settings = Settings { dedicated, partitions: Some(16), ..Settings::of_threads(2) };
            let outcome = window::run(&model, options(), &settings).expect("it has no fault");
            assert_eq!((outcome.digest, outcome.events), (expected.digest, expected.events), "{dedicated} dedicated");
        }
    }
}
