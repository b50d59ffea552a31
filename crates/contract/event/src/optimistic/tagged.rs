//! Events tagged with the execution that sent them.

use crate::event::{Body, Event, EventKey, LpId, TimerId};
use parades_raw::message::{Empty, Plain, Taggable};

/// The number of the execution that sent an event. It is unique among the uncommitted executions of its
/// worker.
///
/// A rollback also restores the sender's sequence number. So an event that is sent again may have the key of
/// an event that was annihilated, and only the execution tells them apart.
pub type ExecutionId = u32;

/// The body of an event, tagged with the execution that sent the event.
#[derive(Debug)]
pub enum Tagged<P: Taggable> {
    /// A message.
    Message(ExecutionId, P::Bare),
    /// The wake of a timer. A timer's number has at most 20 bits, and fits three bytes, which do not enlarge
    /// the event.
    Wake(ExecutionId, [u8; 3]),
    /// An anti-message. It annihilates the event of the same receiver, key and execution.
    Anti(ExecutionId),
}

const _: () = assert!(TimerId::MAX.0 < 1 << 24);
const _: () = assert!(size_of::<Event<Tagged<Empty<'_>>>>() == size_of::<Event<Empty<'_>>>());
const _: () = assert!(size_of::<Event<Tagged<Plain<'_, 8>>>>() == size_of::<Event<Plain<'_, 8>>>());

impl<P: Taggable> Tagged<P> {
    /// Tags a body.
    #[inline]
    pub fn new(execution: ExecutionId, body: Body<P>) -> Tagged<P> {
        match body {
            Body::Message(message) => Tagged::Message(execution, message.into_bare()),
            Body::Timer(TimerId(id)) => {
                let [a, b, c, _] = id.to_le_bytes();
                Tagged::Wake(execution, [a, b, c])
            }
        }
    }

    /// Returns the execution that sent the event.
    #[inline]
    pub fn execution(&self) -> ExecutionId {
        match *self {
            Tagged::Message(execution, _) | Tagged::Wake(execution, _) | Tagged::Anti(execution) => execution,
        }
    }

    /// Returns the body, or `None` for an anti-message.
    #[inline(always)]
    pub fn body(&self) -> Option<Body<&P::Bare>> {
        // One comparison for a message; the compiler would turn a `match` into a jump table.
        if let Tagged::Message(_, message) = self {
            Some(Body::Message(message))
        } else {
            self.timer().map(Body::Timer)
        }
    }

    /// Returns the timer of a wake.
    #[inline(never)]
    fn timer(&self) -> Option<TimerId> {
        let Tagged::Wake(_, [a, b, c]) = *self else { return None };
        Some(TimerId(u32::from_le_bytes([a, b, c, 0])))
    }

    /// Returns the body by value, or `None` for an anti-message.
    #[inline]
    pub fn into_body(self) -> Option<Body<P>> {
        match self {
            Tagged::Message(_, message) => Some(Body::Message(P::from_bare(message))),
            Tagged::Wake(..) | Tagged::Anti(_) => self.timer().map(Body::Timer),
        }
    }
}

/// An event of an optimistic engine: a message, a wake or an anti-message, with the execution that sent it.
pub type TaggedEvent<P> = Event<Tagged<P>>;

#[inline]
fn tagged_body<P: Taggable>(event: &TaggedEvent<P>) -> &Tagged<P> {
    match &event.body {
        Body::Message(body) => body,
        Body::Timer(_) => unreachable!("a tagged wake is the message of its event"),
    }
}

/// Returns the body of an event, or `None` for an anti-message.
#[inline(always)]
pub fn body_of<P: Taggable>(event: &TaggedEvent<P>) -> Option<Body<&P::Bare>> {
    tagged_body(event).body()
}

/// Returns the execution that sent an event.
#[inline]
pub fn execution_of<P: Taggable>(event: &TaggedEvent<P>) -> ExecutionId {
    tagged_body(event).execution()
}

/// True if the event is an anti-message.
#[inline]
pub fn is_anti_message<P: Taggable>(event: &TaggedEvent<P>) -> bool {
    matches!(tagged_body(event), Tagged::Anti(_))
}

/// Tags an event with the execution that sent it.
#[inline]
pub fn tag<P: Taggable>(execution: ExecutionId, event: Event<P>) -> TaggedEvent<P> {
    let (key, receiver) = (event.key(), event.receiver());
    Event::new(key, receiver, Body::Message(Tagged::new(execution, event.body)))
}

/// Removes the tag of an event. Returns `None` for an anti-message.
#[inline]
pub fn untag<P: Taggable>(event: TaggedEvent<P>) -> Option<Event<P>> {
    let (key, receiver) = (event.key(), event.receiver());
    let Body::Message(tagged) = event.body else { unreachable!("a tagged wake is the message of its event") };
    tagged.into_body().map(|body| Event::new(key, receiver, body))
}

/// Returns the fields that an event shares with its anti-message, and with no other event.
pub fn identity<P: Taggable>(event: &TaggedEvent<P>) -> (EventKey, LpId, ExecutionId) {
    (event.key(), event.receiver(), execution_of(event))
}
