//! Events that have arrived at a partition, read in place.

use parades_core::event::Event;
use parades_raw::prefetch::prefetch;

/// The distance, in events, at which an event is prefetched from the core that sent it.
const EVENTS_AHEAD: usize = 40;

/// Events that have arrived together. They still lie in the cache of the core that sent them.
/// So each event is prefetched some events before it is taken.
#[derive(Debug)]
pub struct Arrived<'a, P>(std::vec::Drain<'a, Event<P>>);

impl<P> Arrived<'_, P> {
    /// Takes all events of a list, which is empty afterwards.
    pub fn of(list: &mut Vec<Event<P>>) -> Arrived<'_, P> {
        list.iter().take(EVENTS_AHEAD).for_each(prefetch);
        Arrived(list.drain(..))
    }

    /// Returns true if no event is left.
    pub fn is_empty(&self) -> bool {
        self.0.as_slice().is_empty()
    }
}

impl<P> Iterator for Arrived<'_, P> {
    type Item = Event<P>;

    #[inline(always)]
    fn next(&mut self) -> Option<Event<P>> {
        if let Some(ahead) = self.0.as_slice().get(EVENTS_AHEAD) {
            prefetch(ahead);
        }
        self.0.next()
    }
}
