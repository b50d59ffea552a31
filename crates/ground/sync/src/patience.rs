//! The time for which a thread watches for an event before it sleeps.
//!
//! A patient thread first *spins*, for less time than falling asleep and being woken takes. Then it *yields*
//! its core to other threads. It omits spins or yields that do not pay.
//!
//! *Spins.* When spins find nothing, later waits spin less, because the other thread may need this very
//! core. With fewer cores than threads there are no spins.
//!
//! *Yields.* A yield is meant for another worker of the run, which needs the core for a short time only. A
//! thread of another program takes the core for a time slice of some milliseconds, in which thousands of
//! windows could have been executed. A thread that sleeps keeps its claim to the core, and gets the core soon
//! after it is woken. So after yields that took long, the thread sleeps without yields in its next waits. The
//! number of these waits doubles each time.
//!
//! *Reference.* A. Karlin, K. Li, M. Manasse, S. Owicki, *Empirical Studies of Competitive Spinning for a
//! Shared-Memory Multiprocessor*, SOSP, 1991.

use crate::shim::{Stopwatch, spin_loop, yield_now};
// These atomics are used by the waiting thread alone, so the model checker need not know of them.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Largest number of spins in a wait. After each unsuccessful check, a spin pauses the processor.
const SPINS_MAX: u32 = 256;
/// Smallest number of spins, where spinning is allowed. It is enough for a thread to notice when spinning
/// pays again.
const SPINS_MIN: u32 = 16;
/// Number of yields in a wait. On an idle core these yields take some tens of microseconds, about as long as
/// falling asleep and being woken. So the wait costs at most twice what the best choice would cost (Karlin et
/// al.).
const YIELDS: u32 = 256;
/// Number of waits without yields after yields have taken long for the first time.
const PAUSE_MIN: u32 = 8;
/// Largest number of waits without yields in a row, so that a busy machine rarely costs a time slice.
const PAUSE_MAX: u32 = 1 << 14;

/// The patience of one thread, which adapts to its waits.
///
/// ```
/// use parades_sync::patience::Patience;
/// let patience = Patience::for_threads(2);
/// let mut looks = 0;
/// let found = patience.watch(|| {
///     looks += 1;
///     (looks == 3).then_some(looks)
/// });
/// assert_eq!(found, Some(3));
/// ```
#[derive(Debug)]
pub struct Patience {
    spins_max: u32,
    yields: u32,
    /// The number of spins in the next wait.
    spins: AtomicU32,
    /// The number of waits that will still do without yields.
    pause_left: AtomicU32,
    /// The number of waits without yields after yields took long last.
    pause: AtomicU32,
}

impl Patience {
    /// Creates the patience of one of `threads` threads that all have work to do.
    pub fn for_threads(threads: usize) -> Patience {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Patience::new(if cores < threads { 0 } else { SPINS_MAX }, YIELDS)
    }

    pub(crate) fn new(spins_max: u32, yields: u32) -> Patience {
        let [pause_left, pause] = [0, 0].map(AtomicU32::new);
        Patience { spins_max, yields, spins: spins_max.into(), pause_left, pause }
    }

    /// Calls `check` until it returns a value or patience ends. Returns `None` in the second case, in which
    /// the caller should sleep.
    #[inline]
    pub fn watch<T>(&self, mut check: impl FnMut() -> Option<T>) -> Option<T> {
        let spins = self.spins.load(Relaxed);
        for spun in 0..spins {
            if let Some(found) = check() {
                self.adapt_spins(spins, Some(spun));
                return Some(found);
            }
            spin_loop();
        }
        self.adapt_spins(spins, None);
        match self.pause_left.load(Relaxed) {
            0 => self.yield_until(check),
            pause_left => {
                self.pause_left.store(pause_left - 1, Relaxed);
                check()
            }
        }
    }

    /// Sets the spins of the next wait, from the spins that this wait needed, or from `None` if it found
    /// nothing.
    #[inline]
    fn adapt_spins(&self, spins: u32, needed: Option<u32>) {
        let next = needed.map_or(spins / 2, |needed| spins.max(2 * needed));
        let next = next.max(SPINS_MIN).min(self.spins_max);
        if next != spins {
            self.spins.store(next, Relaxed);
        }
    }

    fn yield_until<T>(&self, mut check: impl FnMut() -> Option<T>) -> Option<T> {
        let stopwatch = Stopwatch::start();
        let found = (0..self.yields).find_map(|_| {
            let found = check();
            if found.is_none() {
                yield_now();
            }
            found
        });
        self.adapt_yields(stopwatch.took_long());
        found.or_else(check)
    }

    /// Adapts the next waits. `long` is true if the yields of this wait took long.
    fn adapt_yields(&self, long: bool) {
        let pause = self.pause.load(Relaxed);
        let pause = if long { (2 * pause).clamp(PAUSE_MIN, PAUSE_MAX) } else { pause / 2 };
        self.pause.store(pause, Relaxed);
        self.pause_left.store(if long { pause } else { 0 }, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_in_vain_become_fewer_and_come_back_when_they_pay() {
        let patience = Patience::new(SPINS_MAX, 0);
        let spins = || patience.spins.load(Relaxed);
        patience.adapt_spins(SPINS_MAX, None);
        assert_eq!(spins(), SPINS_MAX / 2);
        for _ in 0..10 {
            patience.adapt_spins(spins(), None);
        }
        assert_eq!(spins(), SPINS_MIN);
        for _ in 0..10 {
            patience.adapt_spins(spins(), Some(spins() - 1));
        }
        assert_eq!(spins(), SPINS_MAX);
        patience.adapt_spins(spins(), Some(1));
        assert_eq!(spins(), SPINS_MAX, "more than is needed costs nothing");
        let few_cores = Patience::new(0, 0);
        few_cores.adapt_spins(0, None);
        assert_eq!(few_cores.spins.load(Relaxed), 0, "with fewer cores than threads, none");
    }

    #[test]
    fn yields_that_take_long_are_given_up_for_ever_longer_and_come_back() {
        let patience = Patience::new(0, 4);
        let (pause_left, pause) = (|| patience.pause_left.load(Relaxed), || patience.pause.load(Relaxed));
        patience.adapt_yields(true);
        assert_eq!((pause_left(), pause()), (PAUSE_MIN, PAUSE_MIN));
        for left in (0..PAUSE_MIN).rev() {
            assert_eq!(patience.watch(|| None::<()>), None);
            assert_eq!(pause_left(), left);
        }
        for _ in 0..20 {
            patience.adapt_yields(true);
        }
        assert_eq!(pause_left(), PAUSE_MAX);
        for _ in 0..20 {
            patience.adapt_yields(false);
        }
        assert_eq!((pause_left(), pause()), (0, 0));
    }
}
