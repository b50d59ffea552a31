//! Stalls, by which tests provoke rollbacks.

use parades_core::random::Rng;

/// Makes a worker fall behind at random.
#[derive(Debug)]
pub(super) struct Stalls {
    rng: Rng,
    left: u64,
}

impl Stalls {
    pub(super) fn new(seed: u64, worker: usize) -> Stalls {
        Stalls { rng: Rng::shared(seed, u32::try_from(worker).unwrap_or(u32::MAX)), left: 0 }
    }

    /// Advances by one step. Returns true if the worker executes nothing in this step.
    pub(super) fn advance(&mut self) -> bool {
        if self.left == 0 && self.rng.chance(0.1) {
            self.left = self.rng.below(30);
        }
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}
