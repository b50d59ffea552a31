//! The address of a socket.

use parades_core::event::LpId;
use std::fmt;

/// The address of a socket: a node and a port.
///
/// ```
/// use parades_core::event::LpId;
/// use parades_sockets::Address;
/// let address = Address::from((LpId(3), 80));
/// assert_eq!(address.to_string(), "3:80");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The node.
    pub node: LpId,
    /// The port.
    pub port: u16,
}

impl From<(LpId, u16)> for Address {
    fn from((node, port): (LpId, u16)) -> Address {
        Address { node, port }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node.0, self.port)
    }
}
