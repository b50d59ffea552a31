//! The states of a connection (RFC 9293, section 3.3.2).

use parades_core::restore::Undoable;
use serde::{Deserialize, Serialize};

/// The state of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub enum State {
    /// There is no connection.
    #[default]
    Closed,
    /// The connection waits for a SYN.
    Listen,
    /// A SYN is sent.
    SynSent,
    /// A SYN is sent and received, and ours is not acknowledged.
    SynReceived,
    /// Data flow in both directions.
    Established,
    /// This end has sent a FIN that is not acknowledged, and the other end has not.
    FinWait1,
    /// The FIN of this end is acknowledged. The other end has sent none.
    FinWait2,
    /// The other end has sent a FIN. This end may still send data.
    CloseWait,
    /// Both ends have sent a FIN at the same time. Ours is not acknowledged.
    Closing,
    /// The other end has sent a FIN, then this end, and this FIN is not acknowledged.
    LastAck,
    /// All is acknowledged. Old segments may still arrive.
    TimeWait,
}

impl State {
    /// Returns true if sequence numbers are agreed: in all states after the handshake.
    #[must_use]
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Returns true if this end may still send data or retransmit them.
    #[must_use]
    pub const fn can_transmit(self) -> bool {
        matches!(self, State::Established | State::CloseWait | State::FinWait1 | State::Closing | State::LastAck)
    }

    /// Returns true if data of the other end are accepted.
    #[must_use]
    pub const fn can_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }
}
