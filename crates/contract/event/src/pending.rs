//! Pending event sets: they hold the events that are still to be executed, and give out the earliest.
//!
//! - [`WindowedPending`] is the set of most engines. Its file, `by_time.rs`, explains how it works.
//! - [`LpOrderedPending`] gives out the events of a window LP by LP. It serves `window` and `null-message`,
//!   whose lookahead allows any order between LPs.
//! - [`HeapPending`] is one binary heap, short enough to be obviously right. It pops the same events in the
//!   same order as [`WindowedPending`], and is the reference in tests.
//!
//! ```
//! use parades_core::{event::{Body, Event, EventKey, LpId, Sender}, time::{Instant, Time}};
//! use parades_core::pending::{PendingSet, WindowedPending};
//! let at = |ps| {
//!     let instant = Instant::at(Time::from_ps(ps));
//!     Event::new(EventKey { instant, tie: 0, sender: Sender::GLOBAL, sequence: ps }, LpId(0), Body::Message(()))
//! };
//! let mut pending = WindowedPending::default();
//! pending.push(at(30));
//! pending.push(at(10));
//! assert_eq!(pending.pop_before(Time::from_ps(30)), Some(at(10)));
//! assert_eq!(pending.pop_before(Time::from_ps(30)), None); // The bound is exclusive.
//! assert_eq!(pending.next_time(), Some(Time::from_ps(30)));
//! ```
//!
//! *Read next*: [`WindowedPending`], in the file `by_time.rs`.

mod by_lp;
mod by_time;
mod far;
mod grid;
mod heap;
mod lanes;
mod order;
mod receivers;
mod ring;
mod run;
mod side;
mod slab;
mod slot;
mod split;
mod unordered;

pub use by_lp::LpOrderedPending;
pub use by_time::WindowedPending;
pub use grid::Grid;
pub use heap::HeapPending;
pub use slot::Slot;
pub use unordered::Unordered;

use crate::event::{Event, LpId};
use crate::time::{Instant, Time};

/// The events that are removed together from a pending set, in no order. The iterator owns their memory.
pub type Leftover<'l, P> = Box<dyn Iterator<Item = Event<P>> + 'l>;

/// Pending events, earliest first.
///
/// A push must not be earlier than the event popped last: a cause comes before its effect.
pub trait PendingSet<P>: Default {
    /// Adds an event.
    fn push(&mut self, event: Event<P>);

    /// Removes and returns the earliest event if its time is before `bound`.
    fn pop_before(&mut self, bound: Time) -> Option<Event<P>>;

    /// Removes and returns the earliest event.
    fn pop(&mut self) -> Option<Event<P>>;

    /// Returns the instant of the earliest event. Finding that event may rearrange the set, with no visible
    /// effect.
    fn next_instant(&mut self) -> Option<Instant>;

    /// Returns the time of the earliest event.
    fn next_time(&mut self) -> Option<Time> {
        self.next_instant().map(|instant| instant.time)
    }

    /// Returns the number of pending events.
    fn len(&self) -> usize;

    /// True if no event is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the receiver of the event that will probably be popped after the next `ahead` events. Engines
    /// use this hint to fetch LPs into the cache.
    ///
    /// Returns `None` if the event is not known yet.
    fn upcoming(&self, ahead: usize) -> Option<LpId>;

    /// Removes all events, in no order. Their memory is freed when the iterator is dropped.
    fn take_all<'l>(&mut self) -> Leftover<'l, P>
    where
        P: 'l;

    /// Returns the bytes of memory that the set holds, not counting memory that payloads own.
    fn allocated_bytes(&self) -> usize;
}
