//! The pending event set: what waits to be executed, least first.
//!
//! Two implementations pop the same events in the same order. [`HeapPending`] is one binary heap, short enough to be obviously right; [`WindowedPending`] is
//! several times as fast, as its file says, and is what engines use. A third, [`LpOrderedPending`], leaves the order between LPs free within windows of
//! lookahead, where `window` and `null-message` find that faster.
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
//! *Read next*: [`WindowedPending`]'s file, `windowed.rs`, whose head gives its structure, invariants and cost.

mod by_lp;
mod far;
mod grid;
mod heap;
mod lanes;
mod layout;
mod order;
mod ring;
mod run;
mod seen;
mod side;
mod slab;
mod split;
mod unordered;
mod windowed;

pub use by_lp::LpOrderedPending;
pub use grid::Grid;
pub use heap::HeapPending;
pub use slab::Slot;
pub use unordered::Unordered;
pub use windowed::WindowedPending;

use crate::event::{Event, LpId};
use crate::time::{Instant, Time};

/// Events that were left, in no order. They are not copied out of where they waited.
pub type Leftover<P> = Box<dyn Iterator<Item = Event<P>>>;

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

    /// When the least event is due. It may first have to be found, which changes nothing that can be seen.
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

    /// The receiver of the event that will probably be popped `ahead` pops after the next: a hint of which LP to fetch into the cache.
    /// `None` where that is not known yet.
    fn upcoming(&self, ahead: usize) -> Option<LpId>;

    /// Takes all that is left, in order.
    fn drain(&mut self) -> impl Iterator<Item = Event<P>> {
        std::iter::from_fn(|| self.pop())
    }

    /// Takes all that is left, in no order; what it held them in is given back when they have been gone through.
    fn take_all(&mut self) -> Leftover<P>
    where
        P: 'static;

    /// Bytes of memory that it holds, beside what the payloads own.
    fn allocated_bytes(&self) -> usize;
}
