//! Events in transit between two kinds of pending set.

use super::grid::Grid;
use super::slab::{Chain, Slab};

/// The number of events that [`Unordered::events_per_window`] samples.
const SAMPLED: usize = 1 << 15;

/// All events of a pending set, in no order. Another set adopts their memory without copying them.
#[derive(Debug)]
pub struct Unordered<P> {
    pub(super) slab: Slab<P>,
    pub(super) chain: Chain,
    /// The width of windows that suited these events, as in [`super::WindowedPending`].
    pub(super) shift: Option<u8>,
}

impl<P> Default for Unordered<P> {
    fn default() -> Unordered<P> {
        Unordered { slab: Slab::new(), chain: Chain::default(), shift: None }
    }
}

impl<P> Unordered<P> {
    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.chain.len()
    }

    /// True if there are no events.
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }

    /// Returns the average number of events in the windows of `grid` that are not empty. It looks at about
    /// the first 30,000 events in time order.
    pub fn events_per_window(&self, grid: Grid) -> f64 {
        let mut windows: Vec<u64> = self.slab.events(self.chain).map(|event| grid.window(event.time())).collect();
        if windows.len() > SAMPLED {
            windows.select_nth_unstable(SAMPLED);
            windows.truncate(SAMPLED);
        }
        let events = windows.len();
        windows.sort_unstable();
        windows.dedup();
        events as f64 / windows.len().max(1) as f64
    }
}
