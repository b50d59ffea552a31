//! The time to wait for a block before it counts as lost.

use parades_core::time::Delay;
use serde::{Deserialize, Serialize};

/// The time to wait for a block, as a multiple of the time that blocks took.
const MARGIN: u64 = 4;

/// After each block, the time to wait may shrink by one part in this many.
const DECAY: u64 = 8;

/// The time to wait for a block of a connection. It follows the rate, as the timeout of requests in
/// libtorrent does, and it doubles when it has run out, as the timeout of TCP does (RFC 6298, rule 5.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Patience(Delay);

impl Patience {
    /// Returns the longer of two times to wait.
    #[must_use]
    pub(super) fn max(self, other: Patience) -> Patience {
        Patience(self.0.max(other.0))
    }

    /// Returns the time to wait, which is `least` or more.
    pub(super) fn time(self, least: Delay) -> Delay {
        self.0.max(least)
    }

    /// A block took a time.
    pub(super) fn took(&mut self, time: Delay) {
        let shrunk = self.0.as_ps() - self.0.as_ps() / DECAY;
        self.0 = Delay::from_ps(time.as_ps().saturating_mul(MARGIN).max(shrunk));
    }

    /// No block has come within the time to wait, which was `least` or more.
    pub(super) fn run_out(&mut self, least: Delay) {
        let time = self.time(least);
        self.0 = time.saturating_add(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_time_of_blocks_and_doubles_when_it_runs_out() {
        let seconds = Delay::from_secs;
        let mut patience = Patience::default();
        assert_eq!(patience.time(seconds(60)), seconds(60));
        patience.took(seconds(30));
        assert_eq!(patience.time(seconds(60)), seconds(120));
        patience.run_out(seconds(60));
        assert_eq!(patience.time(seconds(60)), seconds(240));
        patience.took(seconds(1));
        assert_eq!(patience.time(seconds(60)), seconds(210));
        (0..20).for_each(|_| patience.took(seconds(1)));
        assert_eq!(patience.time(seconds(60)), seconds(60));
    }
}
