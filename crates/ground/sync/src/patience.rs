//! How long a thread watches for something before it sleeps.
//!
//! It *spins* for less than falling asleep and being woken takes, then offers its core to others by *yields*, as long as each pays.
//!
//! *Spins* in vain become fewer: what the thread watches for may need this very core. With fewer cores than threads there are none.
//!
//! *Yields* are for the project's own threads, whose turns are short. A stranger that wants the core takes it for a time slice, some milliseconds, in
//! which thousands of windows would have been executed; a thread that sleeps keeps its claim to the core, and gets it soon after it is woken. So where
//! yields took long, the thread sleeps at once for a number of waits that doubles each time. By measurement beside two loops of a shell
//! (`while :; do :; done`) on two cores, `parades run phold --set lps=16384 --engine window --threads 2` took 8 to 31 times as long as with `--threads 1`
//! with yields, and twice as long without, as long as both go on (`--tune retreat=false`).
//!
//! *Reference.* A. Karlin, K. Li, M. Manasse, S. Owicki, *Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor*, SOSP, 1991.

use crate::shim::{Stopwatch, spin_loop, yield_now};
// Only the thread that waits uses them, so the model checker need not know.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Looks with a pause of the processor after each, at most.
const SPINS: u32 = 256;
/// At least, where spinning is allowed, so that it is found out when it pays again.
const SPINS_MIN: u32 = 16;
/// Looks with the core offered to others after each. They take some tens of microseconds where nobody wants the core, as falling asleep and being
/// woken does: that is at most twice what the best choice would cost.
const YIELDS: u32 = 256;
/// Waits without yields after the first time that they took long.
const PAUSE: u32 = 8;
/// And at most: so rarely is a time slice risked on a machine that stays busy.
const PAUSE_MAX: u32 = 1 << 14;

/// How patient one thread is.
///
/// ```
/// use parades_sync::patience::Patience;
/// let patience = Patience::of_threads(2);
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
    /// Spins of the next wait.
    spins: AtomicU32,
    /// Waits that are still to go without yields.
    without: AtomicU32,
    /// How many that were, the last time.
    pause: AtomicU32,
}

impl Patience {
    /// For one of so many threads that all have something to do.
    pub fn of_threads(threads: usize) -> Patience {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Patience::new(if cores < threads { 0 } else { SPINS }, YIELDS)
    }

    pub(crate) fn new(spins_max: u32, yields: u32) -> Patience {
        let [without, pause] = [0, 0].map(AtomicU32::new);
        Patience { spins_max, yields, spins: spins_max.into(), without, pause }
    }

    /// Looks until there is something, or patience is at an end: then `None`, and it is time to sleep.
    #[inline]
    pub fn watch<T>(&self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let spins = self.spins.load(Relaxed);
        for looks in 0..spins {
            if let Some(found) = look() {
                self.adapt(spins, Some(looks));
                return Some(found);
            }
            spin_loop();
        }
        self.adapt(spins, None);
        match self.without.load(Relaxed) {
            0 => self.yield_until(look),
            without => {
                self.without.store(without - 1, Relaxed);
                look()
            }
        }
    }

    /// The spins of the next wait, when this one needed so many, or when they were in vain.
    #[inline]
    fn adapt(&self, spins: u32, needed: Option<u32>) {
        let next = needed.map_or(spins / 2, |needed| spins.max(2 * needed));
        let next = next.max(SPINS_MIN).min(self.spins_max);
        if next != spins {
            self.spins.store(next, Relaxed);
        }
    }

    fn yield_until<T>(&self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let stopwatch = Stopwatch::start();
        let found = (0..self.yields).find_map(|_| {
            let found = look();
            if found.is_none() {
                yield_now();
            }
            found
        });
        self.note(stopwatch.shows_long());
        found.or_else(look)
    }

    /// Notes whether the yields took long.
    fn note(&self, long: bool) {
        let pause = self.pause.load(Relaxed);
        let pause = if long { (2 * pause).clamp(PAUSE, PAUSE_MAX) } else { pause / 2 };
        self.pause.store(pause, Relaxed);
        self.without.store(if long { pause } else { 0 }, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_in_vain_become_fewer_and_come_back_when_they_pay() {
        let patience = Patience::new(SPINS, 0);
        let spins = || patience.spins.load(Relaxed);
        patience.adapt(SPINS, None);
        assert_eq!(spins(), SPINS / 2);
        for _ in 0..10 {
            patience.adapt(spins(), None);
        }
        assert_eq!(spins(), SPINS_MIN);
        for _ in 0..10 {
            patience.adapt(spins(), Some(spins() - 1));
        }
        assert_eq!(spins(), SPINS);
        patience.adapt(spins(), Some(1));
        assert_eq!(spins(), SPINS, "more than is needed costs nothing");
        let few_cores = Patience::new(0, 0);
        few_cores.adapt(0, None);
        assert_eq!(few_cores.spins.load(Relaxed), 0, "with fewer cores than threads, none");
    }

    #[test]
    fn yields_that_take_long_are_given_up_for_ever_longer_and_come_back() {
        let patience = Patience::new(0, 4);
        let (without, pause) = (|| patience.without.load(Relaxed), || patience.pause.load(Relaxed));
        patience.note(true);
        assert_eq!((without(), pause()), (PAUSE, PAUSE));
        for left in (0..PAUSE).rev() {
            assert_eq!(patience.watch(|| None::<()>), None);
            assert_eq!(without(), left);
        }
        for _ in 0..20 {
            patience.note(true);
        }
        assert_eq!(without(), PAUSE_MAX);
        for _ in 0..20 {
            patience.note(false);
        }
        assert_eq!((without(), pause()), (0, 0));
    }
}
