//! The errors of sockets.

use std::io;

/// The reason why a socket cannot do what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No socket listens at the address, or its queue of connections was closed.
    #[error("the connection was refused: no socket listens at the address")]
    Refused,
    /// The other end has reset the connection.
    #[error("the other end has reset the connection")]
    Reset,
    /// The other end has not answered, although everything was sent several times.
    #[error("the other end does not answer")]
    TimedOut,
    /// There is no node of this number.
    #[error("there is no node {0}")]
    Unreachable(u32),
    /// Another socket of the node has the port.
    #[error("another socket of the node has port {0}")]
    AddressInUse(u16),
    /// All ports for sockets that ask for none are in use.
    #[error("all ports from 49152 on are in use")]
    NoPort,
    /// The socket has no peer, since `connect` was not called.
    #[error("the socket is not connected")]
    NotConnected,
    /// This end has closed the direction in which it writes.
    #[error("this end has shut the stream down")]
    Closed,
    /// The stream ended before the buffer was full.
    #[error("the stream has ended too early")]
    UnexpectedEnd,
    /// The datagram is longer than a packet can be.
    #[error("a datagram of {0} bytes is too long; 65507 are the most")]
    TooLong(usize),
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match error {
            Error::Refused => io::ErrorKind::ConnectionRefused,
            Error::Reset => io::ErrorKind::ConnectionReset,
            Error::TimedOut => io::ErrorKind::TimedOut,
            Error::Unreachable(_) => io::ErrorKind::HostUnreachable,
            Error::AddressInUse(_) | Error::NoPort => io::ErrorKind::AddrInUse,
            Error::NotConnected => io::ErrorKind::NotConnected,
            Error::Closed => io::ErrorKind::BrokenPipe,
            Error::UnexpectedEnd => io::ErrorKind::UnexpectedEof,
            Error::TooLong(_) => io::ErrorKind::InvalidInput,
        };
        io::Error::new(kind, error)
    }
}
