//! TCP streams.

use crate::address::Address;
use crate::bytes::Bytes;
use crate::error::Error;
use crate::sockets::Sockets;
use crate::table::Name;
use parades_core::time::Delay;
use parades_tcp::settings::Settings;
use parades_tcp::{Counts, State};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A TCP stream: one end of a connection.
///
/// Its methods take `&self`, so several processes of a node may share it by an [`Arc`], and one may read
/// while another writes. A wait that is dropped, for example by a timeout, leaves nothing behind, and has
/// taken no bytes.
///
/// When it is dropped, the connection is closed in order: everything that was written is still sent. If bytes
/// were left unread, or arrive later, the connection is reset instead, as in Linux.
#[derive(Debug)]
pub struct TcpStream {
    sockets: Sockets,
    name: Name,
}

/// The state of a connection, as `TCP_INFO` of Linux shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// The state.
    pub state: State,
    /// The smoothed round trip; zero before the first measurement.
    pub smoothed_rtt: Delay,
    /// The congestion window in bytes.
    pub cwnd: u32,
    /// The threshold of slow start in bytes.
    pub ssthresh: u32,
    /// The bytes that are believed to be in the network.
    pub in_flight: u32,
    /// The counts of segments, retransmissions and timeouts.
    pub counts: Counts,
}

impl TcpStream {
    /// Connects to an address, from a free port, with the settings of the node's sockets.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`] if there is no such node, [`Error::Refused`] if no socket listens there,
    /// [`Error::TimedOut`] if nothing answers.
    pub async fn connect(sockets: &Sockets, to: impl Into<Address>) -> Result<TcpStream, Error> {
        TcpStream::open(sockets, to.into(), sockets.settings()).await
    }

    /// Connects with settings of its own.
    ///
    /// # Errors
    ///
    /// As [`TcpStream::connect`].
    pub async fn connect_with(
        sockets: &Sockets,
        to: impl Into<Address>,
        settings: Settings,
    ) -> Result<TcpStream, Error> {
        TcpStream::open(sockets, to.into(), Arc::new(settings)).await
    }

    async fn open(sockets: &Sockets, to: Address, settings: Arc<Settings>) -> Result<TcpStream, Error> {
        let now = parades_program::now();
        let name = sockets.with(|table| table.connect(to, settings, now))?;
        let stream = TcpStream::new(sockets.clone(), name);
        poll_fn(|context| {
            let polled = stream.sockets.with(|table| table.poll_connected(name, context));
            named("a connection", polled)
        })
        .await?;
        Ok(stream)
    }

    pub(crate) fn new(sockets: Sockets, name: Name) -> TcpStream {
        TcpStream { sockets, name }
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> Address {
        self.sockets.with(|table| Address { node: table.node, port: table.tcb(self.name).local_port() })
    }

    /// Returns the address of the other end.
    pub fn peer_addr(&self) -> Address {
        self.sockets.with(|table| table.tcb(self.name).peer())
    }

    /// Returns the state of the connection.
    pub fn info(&self) -> Info {
        self.sockets.with(|table| {
            let connection = table.tcb(self.name).connection();
            Info {
                state: connection.state(),
                smoothed_rtt: connection.smoothed_rtt(),
                cwnd: connection.cwnd(),
                ssthresh: connection.ssthresh(),
                in_flight: connection.in_flight(),
                counts: *connection.counts(),
            }
        })
    }

    /// Reads bytes: waits for at least one, and takes as many as have arrived and fit. Returns their number;
    /// 0 at the end of the stream.
    ///
    /// # Errors
    ///
    /// If the connection was reset, or has timed out.
    pub async fn read(&self, to: &mut [u8]) -> Result<usize, Error> {
        let _waiting = Reading(self);
        poll_fn(|context| self.poll_read(to, context)).await
    }

    fn poll_read(&self, to: &mut [u8], context: &Context<'_>) -> Poll<Result<usize, Error>> {
        let now = parades_program::now();
        named("bytes of a stream", self.sockets.with(|table| table.poll_read(self.name, now, to, context)))
    }

    /// Reads until the buffer is full.
    ///
    /// # Errors
    ///
    /// As [`TcpStream::read`]; [`Error::UnexpectedEnd`] if the stream ends before.
    pub async fn read_exact(&self, to: &mut [u8]) -> Result<(), Error> {
        let mut count = 0;
        while count < to.len() {
            match self.read(&mut to[count..]).await? {
                0 => return Err(Error::UnexpectedEnd),
                more => count += more,
            }
        }
        Ok(())
    }

    /// Reads to the end of the stream, and adds the bytes to `to`. Returns their number.
    ///
    /// # Errors
    ///
    /// As [`TcpStream::read`]. The bytes that arrived before the error are in `to`.
    pub async fn read_to_end(&self, to: &mut Vec<u8>) -> Result<usize, Error> {
        const STEP: usize = 1 << 16;
        let before = to.len();
        loop {
            let end = to.len();
            to.resize(end + STEP, 0);
            let read = self.read(&mut to[end..]).await;
            to.truncate(end + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                return Ok(to.len() - before);
            }
        }
    }

    /// Writes bytes: waits until the send buffer has room, and takes as many as fit. Returns their number.
    ///
    /// # Errors
    ///
    /// If the connection was reset or has timed out, or this end has shut the stream down.
    pub async fn write(&self, bytes: &[u8]) -> Result<usize, Error> {
        poll_fn(|context| {
            let now = parades_program::now();
            let first = |count: usize| bytes[..count].into();
            let polled = self.sockets.with(|table| table.poll_write(self.name, now, bytes.len(), first, context));
            named(ROOM, polled)
        })
        .await
    }

    /// Writes all bytes. They have not arrived yet when this returns: the send buffer has them. If the wait
    /// is dropped, a part of the bytes may have been written.
    ///
    /// # Errors
    ///
    /// As [`TcpStream::write`].
    pub async fn write_all(&self, bytes: &[u8]) -> Result<(), Error> {
        let mut writing = Writing { stream: self, rest: bytes.into(), is_offered: false };
        while !writing.rest.is_empty() {
            poll_fn(|context| writing.poll(context)).await?;
        }
        Ok(())
    }

    /// Closes the direction in which this end writes. The other end still receives everything that was
    /// written, and then the end of the stream. This end may still read.
    ///
    /// # Errors
    ///
    /// If the connection was reset, or has timed out.
    pub async fn shutdown(&self) -> Result<(), Error> {
        let now = parades_program::now();
        self.sockets.with(|table| table.shut(self.name, now))
    }

    /// Resets the connection. Bytes on their way are lost, and the other end learns [`Error::Reset`].
    pub fn abort(self) {
        let now = parades_program::now();
        self.sockets.with(|table| table.abort(self.name, now));
    }
}

/// The reason of a wait for room.
const ROOM: &str = "room in a send buffer";

/// A write of all its bytes. Bytes that wait for room are offered to the connection, which fills its next
/// segment with them.
struct Writing<'a> {
    stream: &'a TcpStream,
    /// The bytes that are not written yet.
    rest: Bytes,
    is_offered: bool,
}

impl Writing<'_> {
    /// Writes a part of the bytes.
    fn poll(&mut self, context: &Context<'_>) -> Poll<Result<(), Error>> {
        let (now, name) = (parades_program::now(), self.stream.name);
        let taken = self.end_offer();
        let polled = self.stream.sockets.with(|table| {
            if taken > 0 {
                return Poll::Ready(Ok(taken));
            }
            let polled = table.poll_write(name, now, self.rest.len(), |count| self.rest.part(0..count), context);
            self.is_offered = polled.is_pending() && table.tcb(name).begin_offer(&self.rest);
            polled
        });
        named(ROOM, polled).map_ok(|count| self.rest = self.rest.part(count..self.rest.len()))
    }

    /// Withdraws the bytes that are offered. Returns the number of those that the connection has taken.
    fn end_offer(&mut self) -> usize {
        match std::mem::take(&mut self.is_offered) {
            true => self.stream.sockets.with(|table| table.tcb(self.stream.name).end_offer()),
            false => 0,
        }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.end_offer();
    }
}

/// While it exists, the process waits for bytes of a stream.
struct Reading<'a>(&'a TcpStream);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.sockets.with(|table| table.tcb(self.0.name).stop_reading());
    }
}

/// Names the reason of a wait, for reports.
fn named<T>(what: &'static str, polled: Poll<T>) -> Poll<T> {
    if polled.is_pending() {
        parades_program::waits_for(what);
    }
    polled
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        self.sockets.with(|table| table.drop_handle(self.name));
    }
}
