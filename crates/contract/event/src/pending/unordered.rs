//! Events between one kind of pending set and another.

use super::grid::Grid;
use super::slab::{Chain, Slab};

/// Events that tell how full windows are.
const LOOKED_AT: usize = 1 << 15;

/// All that waited in a pending set, in no order, where it lay: another set takes it over without copying it to new memory.
#[derive(Debug)]
pub struct Unordered<P> {
    pub(super) slab: Slab<P>,
    pub(super) chain: Chain,
    /// The width of windows that had proved good, as [`super::WindowedPending`] has it.
    pub(super) shift: Option<u8>,
}

impl<P> Default for Unordered<P> {
    fn default() -> Unordered<P> {
        Unordered { slab: Slab::new(), chain: Chain::default(), shift: None }
    }
}

impl<P> Unordered<P> {
    /// How many events there are.
    pub fn len(&self) -> usize {
        self.chain.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }

    /// How many events a window of `grid` holds on average, of those that hold any; of the first some ten thousand events.
    pub fn events_per_window(&self, grid: Grid) -> f64 {
        let mut windows: Vec<u64> = self.slab.events(self.chain).map(|event| grid.window(event.time())).collect();
        if windows.len() > LOOKED_AT {
            windows.select_nth_unstable(LOOKED_AT);
            windows.truncate(LOOKED_AT);
        }
        let events = windows.len();
        windows.sort_unstable();
        windows.dedup();
        events as f64 / windows.len().max(1) as f64
    }
}
