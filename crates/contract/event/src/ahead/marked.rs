//! What waits at the LPs of a run that may take things back: messages and wakes with the mark of the execution that sent them, and anti-messages.

use crate::event::{Body, Event, EventKey, LpId, TimerId};

/// Which of its sender's executions sent an event: as the count of sends is taken back too, an event sent again may have the key of one that was
/// annihilated. Unique among a worker's executions that are not committed.
pub type Mark = u32;

/// The body of an event, and its mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marked<P> {
    /// A message.
    Message(Mark, P),
    /// A timer's wake.
    Wake(Mark, [u8; 3]), // A timer's number has 20 bits; so an event is as long as one without a mark.
    /// Annihilates the event of the same receiver, key and mark.
    Anti(Mark),
}

const _: () = assert!(TimerId::MAX.0 < 1 << 24);
const _: () = assert!(size_of::<Event<Marked<()>>>() == size_of::<Event<()>>());
const _: () = assert!(size_of::<Event<Marked<u64>>>() == size_of::<Event<u64>>());

impl<P> Marked<P> {
    /// This body, with this mark.
    #[inline]
    pub fn new(mark: Mark, body: Body<P>) -> Marked<P> {
        match body {
            Body::Message(message) => Marked::Message(mark, message),
            Body::Timer(TimerId(id)) => {
                let [a, b, c, _] = id.to_le_bytes();
                Marked::Wake(mark, [a, b, c])
            }
        }
    }

    /// The mark.
    #[inline]
    pub fn mark(&self) -> Mark {
        match *self {
            Marked::Message(mark, _) | Marked::Wake(mark, _) | Marked::Anti(mark) => mark,
        }
    }

    /// The body; none of an anti-message.
    #[inline(always)]
    pub fn body(&self) -> Option<Body<&P>> {
        // One comparison for a message; a `match` would become a jump by a table.
        if let Marked::Message(_, message) = self {
            Some(Body::Message(message))
        } else {
            self.timer().map(Body::Timer)
        }
    }

    /// The timer of a wake.
    #[inline(never)]
    fn timer(&self) -> Option<TimerId> {
        let Marked::Wake(_, [a, b, c]) = *self else { return None };
        Some(TimerId(u32::from_le_bytes([a, b, c, 0])))
    }

    /// As [`Marked::body`], by value.
    #[inline]
    pub fn into_body(self) -> Option<Body<P>> {
        match self {
            Marked::Message(_, message) => Some(Body::Message(message)),
            Marked::Wake(..) | Marked::Anti(_) => self.timer().map(Body::Timer),
        }
    }
}

/// An event as it waits and travels.
pub type MarkedEvent<P> = Event<Marked<P>>;

/// The body of an event; none of an anti-message.
#[inline(always)]
pub fn body_of<P>(event: &MarkedEvent<P>) -> Option<Body<&P>> {
    marked(event).body()
}

/// What an event is marked with.
#[inline]
fn marked<P>(event: &MarkedEvent<P>) -> &Marked<P> {
    match &event.body {
        Body::Message(marked) => marked,
        Body::Timer(_) => unreachable!("wakes travel as messages here"),
    }
}

/// Its mark.
#[inline]
pub fn mark_of<P>(event: &MarkedEvent<P>) -> Mark {
    marked(event).mark()
}

/// Whether it is an anti-message.
#[inline]
pub fn is_anti<P>(event: &MarkedEvent<P>) -> bool {
    matches!(marked(event), Marked::Anti(_))
}

/// The event with its mark.
#[inline]
pub fn with_mark<P>(mark: Mark, event: Event<P>) -> MarkedEvent<P> {
    let (key, receiver) = (event.key(), event.receiver);
    Event::new(key, receiver, Body::Message(Marked::new(mark, event.body)))
}

/// The event without its mark; `None` of an anti-message.
#[inline]
pub fn without_mark<P>(event: MarkedEvent<P>) -> Option<Event<P>> {
    let (key, receiver) = (event.key(), event.receiver);
    let Body::Message(marked) = event.body else { unreachable!("wakes travel as messages here") };
    marked.into_body().map(|body| Event::new(key, receiver, body))
}

/// What an event and its anti-message have in common, and no other.
pub fn identity<P>(event: &MarkedEvent<P>) -> (EventKey, LpId, Mark) {
    (event.key(), event.receiver, mark_of(event))
}
