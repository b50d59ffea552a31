//! The pending event set.

mod heap;
mod layout;
mod run;
mod slab;
mod windowed;

pub use heap::HeapPending;
pub use windowed::WindowedPending;

use parades_core::event::{Event, LpId};
use parades_core::time::{Instant, Time};

/// Events that wait to be executed, and the least of them first.
///
/// A push must never be earlier than the instant of the event popped last: cause comes before effect.
pub trait PendingSet<P>: Default {
    /// Adds an event.
    fn push(&mut self, event: Event<P>);

    /// Takes the least event if its time is before `bound`.
    fn pop_before(&mut self, bound: Time) -> Option<Event<P>>;

    /// Takes the least event.
    fn pop(&mut self) -> Option<Event<P>>;

    /// When the least event is due.
    fn next_instant(&mut self) -> Option<Instant>;

    /// The time of the least event.
    fn next_time(&mut self) -> Option<Time> {
        self.next_instant().map(|instant| instant.time)
    }

    /// How many events wait.
    fn len(&self) -> usize;

    /// Whether no event waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The receiver of the event that will probably be popped `ahead` pops after the next: a hint of which LP to fetch.
    fn upcoming(&self, ahead: usize) -> Option<LpId>;

    /// Takes all that is left, in order.
    fn drain(&mut self) -> impl Iterator<Item = Event<P>> {
        std::iter::from_fn(|| self.pop())
    }

    /// Bytes of memory that it holds, beside what the payloads own.
    fn allocated_bytes(&self) -> usize;
}
