//! The events at the present instant, which `rounds` counts to decide whether to execute them in parallel.

use super::WindowedPending;
use crate::event::Header;
use crate::pending::slab::Chain;
use crate::time::Instant;

impl<P> WindowedPending<P> {
    /// True if another event at the instant of the event popped last is probably pending.
    #[inline(always)]
    pub fn has_more_now(&self) -> bool {
        let is_now = |instant: Option<Instant>| instant == Some(self.last);
        is_now(self.run.peek(&self.slab, 0).map(Header::instant)) || is_now(self.side.peek().map(Header::instant))
    }

    /// Returns the number of pending events at the instant of the event popped last, if it is at least
    /// `wanted`. Events that take long to find are not counted.
    #[inline(never)]
    pub fn count_now(&self, wanted: usize) -> Option<usize> {
        let aside = self.side.count_now(self.last);
        let is_now = |ahead| self.run.peek(&self.slab, ahead).is_some_and(|event| event.instant() == self.last);
        // Usually there are fewer events, which a look at one event shows.
        let last_wanted = wanted.saturating_sub(aside + 1);
        if aside < wanted && last_wanted < self.run.len() && !is_now(last_wanted) {
            return None;
        }
        let all = aside + self.count_now_in_run(is_now);
        (all >= wanted).then_some(all)
    }

    /// Returns the number of events at the present instant, in the run and the parts after it.
    fn count_now_in_run(&self, is_now: impl Fn(usize) -> bool) -> usize {
        if !is_now(0) {
            return 0;
        }
        // The first `low` events are at the present instant. The event after the first `high` events is not.
        let mut low = 1;
        while is_now(2 * low - 1) {
            low *= 2;
        }
        let mut high = 2 * low - 1;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if is_now(middle - 1) { low = middle } else { high = middle - 1 }
        }
        if self.run.last_instant(&self.slab) != Some(self.last) {
            return low;
        }
        let is_all_now =
            |part: &&Chain| self.slab.events(**part).next().is_some_and(|event| event.instant() == self.last);
        low + self.parts.iter().rev().take_while(is_all_now).map(|part| part.len()).sum::<usize>()
    }
}
