//! TCP: connections and listeners of a node.

use super::connection::{Io, Notices, Phase, Tcb};
use super::timers::TIMERS;
use super::{Ends, Name, SocketTable, note_waiter};
use crate::address::Address;
use crate::bytes::Bytes;
use crate::error::Error;
use crate::packet::{Packet, Segment};
use parades_core::event::LpId;
use parades_core::restore::{Undoable, Unrecorded};
use parades_core::time::Time;
use parades_tcp::environment::{Ecn, Timer};
use parades_tcp::header::Flags;
use parades_tcp::segment::reset_for;
use parades_tcp::seq::Seq;
use parades_tcp::settings::Settings;
use parades_tcp::{Connection, ConnectionMut, Ports, State};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A socket that waits for connections.
#[derive(Debug)]
pub(crate) struct Listener {
    settings: Arc<Settings>,
    /// The greatest number of connections that are not accepted yet.
    backlog: usize,
    /// Established connections that no process has accepted.
    ready: VecDeque<Name>,
    /// All connections that no process has accepted, those during the handshake included.
    unaccepted: Vec<Name>,
    waiters: Vec<Waker>,
}

/// A connection in action.
type Acting<'a> = ConnectionMut<'a, Unrecorded>;

impl SocketTable {
    /// Lets a port listen, or a free port if `port` is 0. Returns the port.
    pub(crate) fn listen(&mut self, port: u16, settings: Arc<Settings>, backlog: usize) -> Result<u16, Error> {
        let port = match port {
            0 => self.free_port(|table, port| !table.has_port(port))?,
            port if self.listeners.contains_key(&port) => return Err(Error::AddressInUse(port)),
            port => port,
        };
        let listener =
            Listener { settings, backlog, ready: VecDeque::new(), unaccepted: Vec::new(), waiters: Vec::new() };
        self.listeners.insert(port, listener);
        Ok(port)
    }

    /// Closes a listener. The connections that no process has accepted are reset.
    pub(crate) fn stop_listening(&mut self, port: u16) {
        if let Some(listener) = self.listeners.remove(&port) {
            for name in listener.unaccepted {
                self.drop_handle(name);
            }
        }
    }

    /// Takes the next connection of a listener.
    pub(crate) fn poll_accept(&mut self, port: u16, context: &Context<'_>) -> Poll<(Name, Address)> {
        let listener = self.listeners.get_mut(&port).expect("a listener has its port until it is dropped");
        let Some(name) = listener.ready.pop_front() else {
            note_waiter(&mut listener.waiters, context);
            return Poll::Pending;
        };
        listener.unaccepted.retain(|other| *other != name);
        let tcb = self.tcb(name);
        tcb.phase = Phase::Held;
        Poll::Ready((name, tcb.ends.1))
    }

    /// Begins to connect to an address.
    pub(crate) fn connect(&mut self, to: Address, settings: Arc<Settings>, now: Time) -> Result<Name, Error> {
        self.check_node(to)?;
        let port = self.free_port(|table, port| {
            !table.listeners.contains_key(&port) && !table.by_ends.contains_key(&(port, to))
        })?;
        let connection = Connection::connect(&settings, Ports { local: port, remote: to.port }, self.initial());
        let name = self.add(Tcb::new(connection, settings, (port, to), Phase::Held));
        self.call(name, now, None, |mut connection, settings, io| connection.open(settings, io));
        Ok(name)
    }

    /// Returns the connection of this name.
    pub(crate) fn tcb(&mut self, name: Name) -> &mut Tcb {
        self.tcbs[name as usize].as_mut().expect("a connection is kept while it has a handle")
    }

    /// Waits until the handshake is over.
    pub(crate) fn poll_connected(&mut self, name: Name, context: &Context<'_>) -> Poll<Result<(), Error>> {
        let tcb = self.tcb(name);
        match tcb.fault {
            Some(error) => Poll::Ready(Err(error)),
            None if tcb.is_connected => Poll::Ready(Ok(())),
            None => {
                note_waiter(&mut tcb.writers, context);
                Poll::Pending
            }
        }
    }

    /// Reads bytes. Returns 0 at the end of the stream.
    pub(crate) fn poll_read(
        &mut self,
        name: Name,
        now: Time,
        to: &mut [u8],
        context: &Context<'_>,
    ) -> Poll<Result<usize, Error>> {
        let tcb = self.tcb(name);
        if to.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if tcb.receive.len() == 0 {
            return match tcb.fault {
                Some(error) => Poll::Ready(Err(error)),
                None if tcb.is_finished => Poll::Ready(Ok(0)),
                None => {
                    tcb.appetite = to.len();
                    note_waiter(&mut tcb.readers, context);
                    Poll::Pending
                }
            };
        }
        tcb.appetite = 0;
        let count = tcb.receive.read(to);
        let prepaid = count.min(tcb.prepaid);
        tcb.prepaid -= prepaid;
        if count > prepaid {
            let newly_read = (count - prepaid) as u64;
            self.call(name, now, None, |mut connection, settings, io| connection.read(settings, newly_read, io));
        }
        Poll::Ready(Ok(count))
    }

    /// Writes as many of `len` bytes as the send buffer has room for, at least one. `first` returns the first
    /// of the bytes.
    pub(crate) fn poll_write(
        &mut self,
        name: Name,
        now: Time,
        len: usize,
        first: impl FnOnce(usize) -> Bytes,
        context: &Context<'_>,
    ) -> Poll<Result<usize, Error>> {
        let tcb = self.tcb(name);
        if let Some(error) = tcb.fault.or(tcb.is_shut.then_some(Error::Closed)) {
            return Poll::Ready(Err(error));
        }
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        let room = tcb.connection.room(&tcb.settings);
        let count = usize::try_from(room).map_or(len, |room| room.min(len));
        if count == 0 {
            note_waiter(&mut tcb.writers, context);
            return Poll::Pending;
        }
        tcb.send.push(first(count));
        let accepted =
            self.call(name, now, None, |mut connection, settings, io| connection.write(settings, count as u64, io));
        debug_assert_eq!(accepted, count as u64, "the send buffer had room");
        Poll::Ready(Ok(count))
    }

    /// Closes the direction in which this end writes.
    pub(crate) fn shut(&mut self, name: Name, now: Time) -> Result<(), Error> {
        let tcb = self.tcb(name);
        if let Some(error) = tcb.fault {
            return Err(error);
        }
        if !std::mem::replace(&mut tcb.is_shut, true) {
            self.call(name, now, None, |mut connection, settings, io| connection.close(settings, io));
        }
        Ok(())
    }

    /// Resets a connection.
    pub(crate) fn abort(&mut self, name: Name, now: Time) {
        self.call(name, now, None, |mut connection, settings, io| connection.abort(settings, io));
    }

    /// Notes that the handle of a connection was dropped. The daemon closes the connection.
    pub(crate) fn drop_handle(&mut self, name: Name) {
        self.dropped.push(name);
    }

    /// Closes a connection without a handle. If bytes were left unread, or nobody has accepted the
    /// connection, it is reset (RFC 2525, section 2.17).
    pub(super) fn close_orphan(&mut self, name: Name, now: Time) {
        let tcb = self.tcb(name);
        let resets = tcb.receive.len() > 0 || tcb.phase == Phase::Unaccepted;
        tcb.phase = Phase::Orphan;
        match resets {
            true => self.abort(name, now),
            false => self.call(name, now, None, |mut connection, settings, io| connection.release(settings, io)),
        }
    }

    /// Handles a segment.
    pub(super) fn on_segment(&mut self, now: Time, from: LpId, segment: &Segment, ecn: Ecn) {
        let Segment { header, payload } = segment;
        let bytes = u32::try_from(payload.len()).expect("a packet has fewer than 2^16 bytes");
        let ends = (header.destination_port, Address { node: from, port: header.source_port });
        let name = match self.by_ends.get(&ends) {
            Some(&name) => Some(name),
            None if header.flags.has(Flags::SYN) && !header.flags.has(Flags::ACK | Flags::RST) => self.accept(ends),
            None => None,
        };
        match name {
            Some(name) => self.call(name, now, Some(payload), |mut connection, settings, io| {
                connection.on_segment(settings, header, bytes, ecn, io);
            }),
            None if self.is_full(ends.0) => self.counts.connections_dropped += 1,
            None => {
                self.counts.segments_refused += 1;
                if let Some(reset) = reset_for(header, bytes) {
                    self.out.push((from, Packet::segment(reset, Bytes::none(), Ecn::NotCapable)));
                }
            }
        }
    }

    pub(super) fn on_timer(&mut self, name: Name, timer: Timer, now: Time) {
        let Some(tcb) = self.tcbs[name as usize].as_mut() else { return };
        // A timer that was due may have been set again, or cancelled, by one that was due before.
        if tcb.armed[timer as usize] > now {
            return;
        }
        self.timers.set(name, &mut tcb.armed, timer, Time::MAX);
        self.call(name, now, None, |mut connection, settings, io| connection.on_timer(settings, timer, io));
    }

    /// Makes the connection for a SYN, if a listener has the port and room.
    fn accept(&mut self, ends: Ends) -> Option<Name> {
        let initial = self.initial();
        let (port, remote) = ends;
        let listener = self.listeners.get(&port)?;
        if listener.unaccepted.len() >= listener.backlog {
            return None;
        }
        let settings = Arc::clone(&listener.settings);
        let connection = Connection::listen(&settings, Ports { local: port, remote: remote.port }, initial);
        let name = self.add(Tcb::new(connection, settings, ends, Phase::Unaccepted));
        self.listeners.get_mut(&port)?.unaccepted.push(name);
        Some(name)
    }

    /// Returns true if a listener has the port, but no room for another connection.
    fn is_full(&self, port: u16) -> bool {
        self.listeners.get(&port).is_some_and(|listener| listener.unaccepted.len() >= listener.backlog)
    }

    fn has_port(&self, port: u16) -> bool {
        let all = Address { node: LpId(0), port: 0 };
        self.listeners.contains_key(&port)
            || self.by_ends.range((port, all)..).next().is_some_and(|((used, _), _)| *used == port)
    }

    /// Draws an initial sequence number (RFC 6528 asks for numbers that others cannot predict).
    fn initial(&mut self) -> Seq {
        Seq(u32::try_from(self.rng.below(1 << 32)).expect("below 2^32"))
    }

    fn add(&mut self, tcb: Box<Tcb>) -> Name {
        let ends = tcb.ends;
        let name = self.free.pop().unwrap_or_else(|| {
            self.tcbs.push(None);
            Name::try_from(self.tcbs.len() - 1).expect("connections are counted in 32 bits")
        });
        self.tcbs[name as usize] = Some(tcb);
        self.by_ends.insert(ends, name);
        name
    }

    /// Lets a connection act, and handles its notices.
    fn call<T>(
        &mut self,
        name: Name,
        now: Time,
        payload: Option<&Bytes>,
        act: impl FnOnce(Acting<'_>, &Settings, &mut Io<'_>) -> T,
    ) -> T {
        let SocketTable { tcbs, timers, out, .. } = self;
        let tcb = tcbs[name as usize].as_deref_mut().expect("a connection that acts exists");
        let Tcb { connection, settings, ends, send, offer, receive, armed, appetite, prepaid, .. } = tcb;
        let notices = Notices::default();
        let mut io =
            Io { now, name, to: ends.1, timers, out, send, offer, receive, armed, appetite, prepaid, payload, notices };
        let result = act(connection.unrecorded(), settings, &mut io);
        let notices = io.notices;
        self.settle(name, notices);
        result
    }

    /// Handles the notices of a connection, and frees it if it is over.
    fn settle(&mut self, name: Name, notices: Notices) {
        let tcb = self.tcbs[name as usize].as_deref_mut().expect("a connection that acts exists");
        let Notices { is_connected, has_arrived, has_room, is_finished, fault } = notices;
        tcb.is_connected |= is_connected;
        tcb.is_finished |= is_finished;
        tcb.fault = tcb.fault.or(fault);
        if has_room {
            tcb.send.release(tcb.connection.acknowledged());
        }
        if is_finished || has_arrived || fault.is_some() {
            self.woken.append(&mut tcb.readers);
        }
        if is_connected || has_room || fault.is_some() {
            self.woken.append(&mut tcb.writers);
        }
        let (phase, ends, state) = (tcb.phase, tcb.ends, tcb.connection.state());
        let is_over = state == State::Closed || state == State::Listen;
        // A listener that is gone has left its connections to the daemon, which resets them.
        if is_connected
            && phase == Phase::Unaccepted
            && !is_over
            && let Some(listener) = self.listeners.get_mut(&ends.0)
        {
            listener.ready.push_back(name);
            self.woken.append(&mut listener.waiters);
        }
        if is_over {
            // Another connection may have the same ends by now.
            if self.by_ends.get(&ends) == Some(&name) {
                self.by_ends.remove(&ends);
            }
            self.free_if_unused(name);
        }
    }

    /// Frees a connection that is over and that no process can use.
    fn free_if_unused(&mut self, name: Name) {
        let tcb = self.tcb(name);
        let is_unused = match tcb.phase {
            Phase::Held => false,
            Phase::Orphan => true,
            // Once it is established, a process may accept it, and read the bytes that have arrived.
            Phase::Unaccepted => !tcb.is_connected,
        };
        let (port, is_unaccepted) = (tcb.ends.0, tcb.phase == Phase::Unaccepted);
        if !is_unused {
            return;
        }
        if is_unaccepted && let Some(listener) = self.listeners.get_mut(&port) {
            listener.unaccepted.retain(|other| *other != name);
        }
        if let Some(mut tcb) = self.tcbs[name as usize].take() {
            TIMERS.into_iter().for_each(|timer| self.timers.set(name, &mut tcb.armed, timer, Time::MAX));
        }
        self.free.push(name);
    }
}
