//! Protocols: the behaviour of the ends of flows.
//!
//! An endpoint is a state machine without input and output of its own. It reacts to a start, a segment, a
//! timer, and its application, and acts through an [`Environment`]: clock, random stream, timers, sending,
//! measuring. It does not know whether a campus, a wide-area network, a network file or a test drives it.
//! Parameters that many flows share are given to it each time, so that a flow's memory holds its state alone.
//!
//! A new protocol of this crate is a file beside the others, a variant of `AppKind`, and two variants of
//! [`Endpoint`]. Another crate adds a protocol or an application without a change of this crate: [`own`],
//! [`stream`].
//!
//! *Read next*: [`datagram`], the smallest protocol; [`transfer`].

pub mod datagram;
pub mod multicast;
pub mod own;
pub mod request;
mod save;
pub mod stream;
pub mod tcp;
pub mod transfer;

#[cfg(test)]
mod mock;

pub use datagram::Datagrams;
pub use own::OtherProtocol;
pub use request::Requests;
pub use stream::OtherStream;
pub use tcp::Tcp;
pub use transfer::{Control, Transfer};

use crate::description::AppKind;
use crate::record::Record;
use crate::segment::TcpSegment;
use crate::sink::{Sink, SinkMut, SinkUndo};
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use parades_tcp::environment::Ecn;

/// The environment of an endpoint that is made: random numbers and timers.
pub trait Setup {
    /// Returns the random stream of the endpoint's node.
    fn rng(&mut self) -> &Rng;

    /// Sets one of the endpoint's timers, by its number below [`TIMERS_MAX`]. A timer that is set already is
    /// reset.
    fn set_timer(&mut self, timer: u32, delay: Delay);
}

/// The number of timers that an endpoint may have.
pub const TIMERS_MAX: u32 = 8;

/// The environment of an endpoint that reacts.
pub trait Environment: Setup {
    /// The records that packets may carry.
    type Record: Record;

    /// Returns the time.
    fn now(&self) -> Time;

    /// Returns the number of the flow or group, for stamps.
    fn flow(&self) -> u32;

    /// Cancels one of the endpoint's timers, if it is set.
    fn cancel_timer(&mut self, timer: u32);

    /// Sends a segment to the other end, or to all receivers of a group.
    fn send(&mut self, number: u32, payload: u32, record: Option<Self::Record>);

    /// Sends a packet of a protocol of another crate to the other end. `data` is read there.
    fn send_data(&mut self, number: u32, payload: u32, data: &[u8]);

    /// Sends a TCP segment to the other end. `number` counts the segments of this end.
    fn send_segment(&mut self, number: u32, segment: TcpSegment, ecn: Ecn);

    /// Calls the endpoint's application after a delay: [`Protocol::on_app`].
    fn call_app(&mut self, delay: Delay, number: u32);

    /// Measures a duration.
    fn observe(&mut self, duration: Duration, value: Delay);

    /// Fails the run. `what` is the end of a sentence that begins with the flow.
    fn fail(&mut self, what: &str);
}

/// The durations that endpoints measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duration {
    /// From the sending of a packet to its arrival, in the direction in which the flow begins.
    Delay,
    /// From the start of a transfer to its end, or from a request to the last packet of its response.
    Completion,
}

/// A segment that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a, D> {
    /// The number that its sender gave it.
    pub number: u32,
    /// Its payload in bytes.
    pub payload: u32,
    /// The time when it was sent.
    pub sent: Time,
    /// Its record, if it has one.
    pub record: Option<&'a D>,
    /// Its congestion mark.
    pub ecn: Ecn,
    /// True if the same segment has arrived before, and a link has made this one from it. Measurements leave
    /// copies out, and so do applications over datagrams.
    pub is_copy: bool,
}

/// An endpoint that reacts. Implemented by the views of states, so that each change is recorded.
pub trait Protocol {
    /// The parameters, which many flows share.
    type Parameters;

    /// A segment arrives. An endpoint that does not listen ignores it.
    fn on_segment<E: Environment>(
        &mut self,
        parameters: &Self::Parameters,
        segment: &Segment<'_, E::Record>,
        env: &mut E,
    ) {
        let _ = (parameters, segment, env);
    }

    /// A timer is due.
    fn on_timer<E: Environment>(&mut self, parameters: &Self::Parameters, timer: u32, env: &mut E) {
        let _ = (parameters, timer, env);
    }

    /// The application has finished its work on the request of this number ([`Environment::call_app`]).
    fn on_app<E: Environment>(&mut self, parameters: &Self::Parameters, number: u32, env: &mut E) {
        let _ = (parameters, number, env);
    }

    /// Postpones the endpoint's plans by `span`: the node was away when a timer was due.
    fn on_rest(&mut self, span: Delay) {
        let _ = span;
    }
}

/// Something that an endpoint reacts to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal<'a, D> {
    Segment(&'a Segment<'a, D>),
    Timer(u32),
    App(u32),
    Rest(Delay),
}

/// The state of one end of a flow. States that are large and rare are boxed, so that the many small ones stay
/// small.
#[derive(Clone, Debug, PartialEq, Undoable)]
pub enum Endpoint {
    /// Sends datagrams.
    DatagramSource(datagram::Source),
    /// Receives datagrams.
    DatagramSink(Sink),
    /// Sends datagrams to a group.
    GroupSource(multicast::Source),
    /// Receives the datagrams of a group.
    GroupSink(multicast::Receiver),
    /// Sends a transfer.
    TransferSender(Box<transfer::Sender>),
    /// Receives a transfer.
    TransferReceiver(Box<transfer::Receiver>),
    /// Sends requests.
    RequestClient(Box<request::Client>),
    /// Answers requests.
    RequestServer(Box<request::Server>),
    /// Opens a TCP connection, and sends a stream.
    TcpSender(#[undoable(boxed)] Box<tcp::Sender>),
    /// Accepts a TCP connection, and receives a stream.
    TcpReceiver(#[undoable(boxed)] Box<tcp::Receiver>),
    /// One end of a protocol of another crate.
    Other(Box<own::End>),
    /// One end of an application of another crate over TCP.
    Stream(#[undoable(boxed)] Box<stream::End>),
}

impl Endpoint {
    /// Makes one end of a flow that starts at `start`: the end that begins, or the other one.
    pub(crate) fn on_start(
        kind: &AppKind,
        flow: u32,
        begins: bool,
        start: Time,
        has_percentiles: bool,
        setup: &mut impl Setup,
    ) -> Endpoint {
        let sink = || Sink::new(has_percentiles);
        match (kind, begins) {
            (AppKind::Datagrams(datagrams), true) => Endpoint::DatagramSource(datagrams.on_start(start, setup)),
            (AppKind::Datagrams(_), false) => Endpoint::DatagramSink(sink()),
            (AppKind::Multicast(datagrams), true) => {
                Endpoint::GroupSource(multicast::Source::on_start(datagrams, start, setup))
            }
            (AppKind::Multicast(_), false) => Endpoint::GroupSink(multicast::Receiver::new(sink())),
            (AppKind::Transfer(_), true) => {
                Endpoint::TransferSender(Box::new(transfer::Sender::on_start(start, setup)))
            }
            (AppKind::Transfer(transfer), false) => {
                Endpoint::TransferReceiver(Box::new(transfer::Receiver::new(transfer, sink())))
            }
            (AppKind::Requests(_), true) => Endpoint::RequestClient(Box::new(request::Client::on_start(start, setup))),
            (AppKind::Requests(_), false) => Endpoint::RequestServer(Box::new(request::Server::new(sink()))),
            (AppKind::Tcp(tcp), true) => Endpoint::TcpSender(Box::new(tcp::Sender::on_start(tcp, flow, start, setup))),
            (AppKind::Tcp(tcp), false) => {
                Endpoint::TcpReceiver(Box::new(tcp::Receiver::on_start(tcp, flow, start, sink(), setup)))
            }
            (AppKind::Other(other), _) => {
                Endpoint::Other(Box::new(own::End::on_start(other, begins, start, sink(), setup)))
            }
            (AppKind::Stream(stream), _) => {
                Endpoint::Stream(Box::new(stream::End::on_start(stream, flow, begins, start, sink(), setup)))
            }
        }
    }

    /// Returns the measurements of packets in the direction in which the flow begins, if they arrive at this
    /// end.
    pub(crate) fn sink(&self) -> Option<&Sink> {
        match self {
            Endpoint::DatagramSink(sink) => Some(sink),
            Endpoint::GroupSink(receiver) => Some(&receiver.sink),
            Endpoint::TransferReceiver(receiver) => Some(&receiver.sink),
            Endpoint::RequestServer(server) => Some(&server.sink),
            Endpoint::TcpReceiver(receiver) => Some(&receiver.sink),
            Endpoint::Other(end) => (!end.begins).then_some(&end.sink),
            Endpoint::Stream(end) => (!end.begins).then_some(&end.sink),
            _ => None,
        }
    }

    /// Returns the payload that this end has received: of a transfer, in order; of requests, in responses; of
    /// an application of another crate over TCP, in order and in both directions.
    pub(crate) fn received_bytes(&self, kind: &AppKind) -> u64 {
        match (self, kind) {
            (Endpoint::TransferReceiver(receiver), AppKind::Transfer(transfer)) => transfer.bytes_below(receiver.next),
            (Endpoint::RequestClient(client), _) => client.bytes,
            (Endpoint::RequestServer(_), _) => 0,
            (Endpoint::TcpReceiver(receiver), _) => receiver.progress.bytes,
            (Endpoint::Stream(end), _) => end.progress.bytes,
            _ => self.sink().map_or(0, |sink| sink.arrivals.bytes),
        }
    }

    /// Returns the payload of all packets that [`Endpoint::received_bytes`] counts, in any order and with
    /// retransmissions.
    pub(crate) fn arrived_bytes(&self) -> u64 {
        match self {
            Endpoint::RequestClient(client) => client.bytes,
            Endpoint::RequestServer(_) => 0,
            Endpoint::Stream(end) => end.sink.arrivals.bytes,
            _ => self.sink().map_or(0, |sink| sink.arrivals.bytes),
        }
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        match self {
            Endpoint::DatagramSource(source) => source.fold(digest),
            Endpoint::GroupSource(source) => source.datagrams.fold(digest),
            Endpoint::TransferSender(sender) => sender.fold(digest),
            Endpoint::TransferReceiver(receiver) => receiver.fold(digest),
            Endpoint::RequestClient(client) => client.fold(digest),
            Endpoint::RequestServer(server) => server.fold(digest),
            Endpoint::TcpSender(sender) => sender.fold(digest),
            Endpoint::TcpReceiver(receiver) => receiver.fold(digest),
            Endpoint::Other(end) => end.fold(digest),
            Endpoint::Stream(end) => end.fold(digest),
            Endpoint::DatagramSink(_) | Endpoint::GroupSink(_) => {
                self.sink().expect("it is a sink").fold(digest);
            }
        }
    }
}

impl<R: Recorder<EndpointUndo>> EndpointMut<'_, R> {
    /// Lets the endpoint react to a signal. `kind` returns the protocol of the flow, for endpoints that need
    /// its parameters.
    #[inline(always)]
    pub(crate) fn on_signal<'k, E: Environment>(
        &mut self,
        kind: impl FnOnce() -> &'k AppKind,
        signal: Signal<'_, E::Record>,
        env: &mut E,
    ) {
        match self {
            EndpointMut::DatagramSink(sink) => react(sink, &(), signal, env),
            EndpointMut::GroupSink(receiver) => react(receiver, &(), signal, env),
            EndpointMut::DatagramSource(source) => match kind() {
                AppKind::Datagrams(datagrams) => react(source, datagrams, signal, env),
                other => unreachable!("a source of datagrams in a flow of {other:?}"),
            },
            EndpointMut::GroupSource(source) => match kind() {
                AppKind::Multicast(datagrams) => react(source, datagrams, signal, env),
                other => unreachable!("a source of a group in a flow of {other:?}"),
            },
            EndpointMut::TransferSender(sender) => react(sender, of_transfer(kind()), signal, env),
            EndpointMut::TransferReceiver(receiver) => react(receiver, of_transfer(kind()), signal, env),
            EndpointMut::RequestClient(client) => react(client, of_requests(kind()), signal, env),
            EndpointMut::RequestServer(server) => react(server, of_requests(kind()), signal, env),
            EndpointMut::TcpSender(sender) => react(sender, of_tcp(kind()), signal, env),
            EndpointMut::TcpReceiver(receiver) => react(receiver, of_tcp(kind()), signal, env),
            EndpointMut::Other(end) => match kind() {
                AppKind::Other(other) => react(end, other, signal, env),
                other => unreachable!("an end of another crate in a flow of {other:?}"),
            },
            EndpointMut::Stream(end) => match kind() {
                AppKind::Stream(stream) => react(end, &**stream, signal, env),
                other => unreachable!("an application of another crate in a flow of {other:?}"),
            },
        }
    }
}

#[inline(always)]
fn react<P: Protocol, E: Environment>(
    endpoint: &mut P,
    parameters: &P::Parameters,
    signal: Signal<'_, E::Record>,
    env: &mut E,
) {
    match signal {
        Signal::Segment(segment) => endpoint.on_segment(parameters, segment, env),
        Signal::Timer(timer) => endpoint.on_timer(parameters, timer, env),
        Signal::App(number) => endpoint.on_app(parameters, number, env),
        Signal::Rest(span) => endpoint.on_rest(span),
    }
}

fn of_transfer(kind: &AppKind) -> &Transfer {
    match kind {
        AppKind::Transfer(transfer) => transfer,
        other => unreachable!("an end of a transfer in a flow of {other:?}"),
    }
}

fn of_requests(kind: &AppKind) -> &Requests {
    match kind {
        AppKind::Requests(requests) => requests,
        other => unreachable!("an end of requests in a flow of {other:?}"),
    }
}

fn of_tcp(kind: &AppKind) -> &Tcp {
    match kind {
        AppKind::Tcp(tcp) => tcp,
        other => unreachable!("an end of a TCP connection in a flow of {other:?}"),
    }
}

/// A sink of datagrams: it measures, and answers nothing.
impl<R: Recorder<SinkUndo>> Protocol for SinkMut<'_, R> {
    type Parameters = ();

    #[inline]
    fn on_segment<E: Environment>(&mut self, (): &(), segment: &Segment<'_, E::Record>, env: &mut E) {
        if segment.is_copy {
            return;
        }
        let now = env.now();
        self.receive(now, segment.sent, segment.number, segment.payload);
        env.observe(Duration::Delay, now.since(segment.sent));
    }
}
