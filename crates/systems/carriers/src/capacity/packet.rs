//! The packets of the carrier, and its decisions about messages.

use parades_core::digest::{Digest, Payload};
use parades_core::event::LpId;
use parades_core::time::Delay;
use parades_program::{Receipt, Undelivered};

/// A packet between the solver and the peers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Packet<M> {
    /// From a peer to the solver: a message sets out.
    Send {
        /// The receiver.
        to: LpId,
        /// The time from the end of the transfer to the arrival.
        rest: Delay,
        /// The name by which the sender awaits the end of the transfer.
        receipt: Option<Receipt>,
        /// The message.
        message: M,
    },
    /// To the receiver: a message has arrived.
    Arrived {
        /// The sender.
        from: LpId,
        /// The message.
        message: M,
    },
    /// To a sender that waits: its message has been transferred, or cannot be.
    Report {
        /// The name by which the sender waits.
        receipt: Receipt,
        /// The message has been transferred, or not.
        outcome: Result<(), Undelivered>,
    },
}

impl<M: Payload> Payload for Packet<M> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        let head = |kind: u64, id: u32| kind << 32 | u64::from(id);
        match self {
            Packet::Send { to, rest, receipt, message } => {
                digest.word(head(1, to.0));
                digest.word(rest.as_ps());
                digest.word(receipt.map_or(0, |Receipt(number)| u64::from(number.get())));
                message.fold(digest);
            }
            Packet::Arrived { from, message } => {
                digest.word(head(2, from.0));
                message.fold(digest);
            }
            Packet::Report { receipt: Receipt(number), outcome } => {
                digest.word(head(if outcome.is_ok() { 3 } else { 4 }, number.get()));
            }
        }
    }
}

/// The decision about a message when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It is a transfer; from its end to the arrival there is this time.
    Transfer(Delay),
    /// It has no data, and takes this time.
    Latency(Delay),
    /// A partition cuts it. It would have taken this latency.
    Cut(Delay),
    /// Its receiver does not exist.
    Nowhere,
    /// It has data, and its receiver is in another group of peers.
    OtherGroup,
}
