//! The place of a pending event.

use crate::event::{Body, Event, EventKey, Header, LpId, Sender};
use crate::time::Instant;

/// A place for one event, occupied or empty.
#[derive(Debug)]
pub struct Slot<P> {
    /// The header of the event. In an empty slot it belongs to the last event that was here.
    header: Header,
    body: Option<Body<P>>,
}

impl<P> Slot<P> {
    /// Makes an empty slot.
    pub(super) fn empty() -> Slot<P> {
        let key = EventKey { instant: Instant::START, tie: 0, sender: Sender::GLOBAL, sequence: 0 };
        Slot { header: Header::new(key, LpId(0)), body: None }
    }

    /// Makes a slot with an event.
    #[inline(always)]
    pub(super) fn of(event: Event<P>) -> Slot<P> {
        Slot { header: event.header(), body: Some(event.body) }
    }

    /// True if the slot has no event.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.body.is_none()
    }

    /// Removes and returns the event, if there is one.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Event<P>> {
        let header = self.header;
        self.body.take().map(|body| header.with(body))
    }

    /// Returns the header of the event. The slot must not be empty.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        debug_assert!(self.body.is_some(), "an event that waits is in its slot");
        &self.header
    }
}
