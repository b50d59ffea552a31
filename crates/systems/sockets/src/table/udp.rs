//! UDP (RFC 768).

use super::{SocketTable, note_waiter};
use crate::address::Address;
use crate::bytes::Bytes;
use crate::error::Error;
use crate::packet::{DATAGRAM_MAX, Datagram, Packet};
use parades_core::event::LpId;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

/// The bytes that a socket keeps until they are received, as in Linux (`rmem_default`).
const RECEIVE_BUFFER: usize = 212_992;

/// The datagrams that have arrived at a socket.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    datagrams: VecDeque<(Address, Bytes)>,
    bytes: usize,
    /// The only address whose datagrams are accepted, if the socket is connected.
    pub(crate) peer: Option<Address>,
    waiters: Vec<Waker>,
}

impl SocketTable {
    /// Binds a socket to a port, or to a free port if `port` is 0. Returns the port.
    pub(crate) fn bind_udp(&mut self, port: u16) -> Result<u16, Error> {
        let port = match port {
            0 => self.free_port(|table, port| !table.mailboxes.contains_key(&port))?,
            port if self.mailboxes.contains_key(&port) => return Err(Error::AddressInUse(port)),
            port => port,
        };
        self.mailboxes.insert(port, Mailbox::default());
        Ok(port)
    }

    pub(crate) fn unbind_udp(&mut self, port: u16) {
        self.mailboxes.remove(&port);
    }

    pub(crate) fn mailbox(&mut self, port: u16) -> &mut Mailbox {
        self.mailboxes.get_mut(&port).expect("a socket has its port until it is dropped")
    }

    /// Sends a datagram.
    pub(crate) fn send_datagram(&mut self, port: u16, to: Address, bytes: &[u8]) -> Result<usize, Error> {
        self.check_node(to)?;
        if bytes.len() > DATAGRAM_MAX {
            return Err(Error::TooLong(bytes.len()));
        }
        self.out.push((to.node, Packet::datagram(port, to.port, bytes.into())));
        Ok(bytes.len())
    }

    pub(super) fn on_datagram(&mut self, node: LpId, datagram: &Datagram) {
        let from = Address { node, port: datagram.source_port };
        let mailbox = self.mailboxes.get_mut(&datagram.destination_port);
        let mailbox = mailbox.filter(|mailbox| mailbox.peer.is_none_or(|peer| peer == from));
        match mailbox.filter(|mailbox| mailbox.bytes + datagram.payload.len() <= RECEIVE_BUFFER) {
            Some(mailbox) => {
                mailbox.bytes += datagram.payload.len();
                mailbox.datagrams.push_back((from, datagram.payload.clone()));
                self.woken.append(&mut mailbox.waiters);
            }
            None => self.counts.datagrams_dropped += 1,
        }
    }
}

impl Mailbox {
    /// Receives a datagram. Bytes beyond the end of `to` are lost.
    pub(crate) fn poll_receive(&mut self, to: &mut [u8], context: &Context<'_>) -> Poll<(usize, Address)> {
        let Some((from, bytes)) = self.datagrams.pop_front() else {
            note_waiter(&mut self.waiters, context);
            return Poll::Pending;
        };
        self.bytes -= bytes.len();
        let count = bytes.len().min(to.len());
        to[..count].copy_from_slice(&bytes[..count]);
        Poll::Ready((count, from))
    }
}
