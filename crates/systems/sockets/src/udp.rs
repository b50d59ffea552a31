//! UDP sockets.

use crate::address::Address;
use crate::error::Error;
use crate::sockets::Sockets;
use std::future::poll_fn;

/// A UDP socket. Its port is free again when it is dropped.
///
/// Datagrams may be lost on the way, and arrive in another order. A receive buffer of 212,992 bytes holds
/// those that no process has received; further ones are dropped. An IP packet carries a whole datagram, since
/// there is no fragmentation.
#[derive(Debug)]
pub struct UdpSocket {
    sockets: Sockets,
    port: u16,
}

impl UdpSocket {
    /// Opens a socket at a port of the node, or at a free one if `port` is 0.
    ///
    /// # Errors
    ///
    /// If another UDP socket of the node has the port, or none is free.
    pub fn bind(sockets: &Sockets, port: u16) -> Result<UdpSocket, Error> {
        let port = sockets.with(|table| table.bind_udp(port))?;
        Ok(UdpSocket { sockets: sockets.clone(), port })
    }

    /// Returns the address of the socket.
    pub fn local_addr(&self) -> Address {
        Address { node: self.sockets.with(|table| table.node), port: self.port }
    }

    /// Sends a datagram. It leaves at once. Returns the number of its bytes.
    ///
    /// # Errors
    ///
    /// If there is no such node, or the datagram is too long.
    pub async fn send_to(&self, bytes: &[u8], to: impl Into<Address>) -> Result<usize, Error> {
        let to = to.into();
        self.sockets.with(|table| table.send_datagram(self.port, to, bytes))
    }

    /// Waits for a datagram. Returns the number of its bytes, and its sender. Bytes for which `to` has no
    /// room are lost.
    pub async fn recv_from(&self, to: &mut [u8]) -> Result<(usize, Address), Error> {
        poll_fn(|context| {
            let polled = self.sockets.with(|table| table.mailbox(self.port).poll_receive(to, context));
            if polled.is_pending() {
                parades_program::waits_for("a datagram");
            }
            polled.map(Ok)
        })
        .await
    }

    /// Sends datagrams to this address, and receives only those from it.
    ///
    /// # Errors
    ///
    /// If there is no such node.
    pub async fn connect(&self, peer: impl Into<Address>) -> Result<(), Error> {
        let peer = peer.into();
        self.sockets.with(|table| {
            table.check_node(peer)?;
            table.mailbox(self.port).peer = Some(peer);
            Ok(())
        })
    }

    /// Returns the address that the socket is connected to.
    ///
    /// # Errors
    ///
    /// If the socket is not connected.
    pub fn peer_addr(&self) -> Result<Address, Error> {
        self.sockets.with(|table| table.mailbox(self.port).peer).ok_or(Error::NotConnected)
    }

    /// Sends a datagram to the address that the socket is connected to, as [`UdpSocket::send_to`].
    ///
    /// # Errors
    ///
    /// If the socket is not connected, or the datagram is too long.
    pub async fn send(&self, bytes: &[u8]) -> Result<usize, Error> {
        self.send_to(bytes, self.peer_addr()?).await
    }

    /// Waits for a datagram, as [`UdpSocket::recv_from`]. Returns the number of its bytes.
    pub async fn recv(&self, to: &mut [u8]) -> Result<usize, Error> {
        self.recv_from(to).await.map(|(count, _)| count)
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.sockets.with(|table| table.unbind_udp(self.port));
    }
}
