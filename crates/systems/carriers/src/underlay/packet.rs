//! The packets of the carrier, and its decisions about messages.

use parades_core::digest::{Digest, Payload};
use parades_core::event::LpId;
use parades_core::time::Delay;
use parades_program::Receipt;

/// A packet between peers and routers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Packet<M> {
    /// A message that comes from its sender in one event.
    Direct(M),
    /// A message on its way from router to router.
    Passing {
        /// The sender.
        from: LpId,
        /// The receiver.
        to: LpId,
        /// The message.
        message: M,
    },
    /// From a sender to itself: a message that it awaits has not arrived.
    Lost(Receipt),
}

impl<M: Payload> Payload for Packet<M> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        match self {
            Packet::Direct(message) => message.fold(digest),
            Packet::Passing { from, to, message } => {
                digest.word(u64::from(from.0) << 32 | u64::from(to.0));
                message.fold(digest);
            }
            Packet::Lost(Receipt(number)) => digest.word(u64::from(number.get())),
        }
    }
}

/// The decision about a message when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It arrives.
    Arrives {
        /// The time that it takes.
        delay: Delay,
        /// The part of it beyond the links of the graph: access and jitter.
        extra: Delay,
    },
    /// It is lost. It would have taken this time.
    Lost(Delay),
}
