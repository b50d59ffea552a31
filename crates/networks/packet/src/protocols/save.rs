//! The bytes of the state of one end of a flow. The kind of the state follows from the flow.

use super::{Endpoint, own, request, stream, tcp, transfer};
use crate::description::AppKind;
use crate::protocols::multicast;
use crate::save::check;
use crate::sink::Sink;
use parades_core::time::Time;
use parades_core::wire::{self, Malformed};

impl AppKind {
    /// Returns `Ok` if the states of both ends can be written.
    ///
    /// # Errors
    ///
    /// The reason why they cannot, as a part of a sentence.
    pub(crate) fn can_save(&self) -> Result<(), String> {
        match self {
            AppKind::Tcp(tcp) => tcp.settings.can_save(),
            AppKind::Other(other) => other.can_save(),
            AppKind::Stream(stream) => stream.can_save(),
            AppKind::Datagrams(_) | AppKind::Multicast(_) | AppKind::Transfer(_) | AppKind::Requests(_) => Ok(()),
        }
    }
}

impl Endpoint {
    /// Appends the bytes of the state.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match self {
            Endpoint::DatagramSource(source) => wire::write(source, to),
            Endpoint::DatagramSink(sink) => wire::write(sink, to),
            Endpoint::GroupSource(source) => wire::write(&source.datagrams, to),
            Endpoint::GroupSink(receiver) => wire::write(&receiver.sink, to),
            Endpoint::TransferSender(sender) => wire::write(sender, to),
            Endpoint::TransferReceiver(receiver) => wire::write(receiver, to),
            Endpoint::RequestClient(client) => wire::write(client, to),
            Endpoint::RequestServer(server) => wire::write(server, to),
            Endpoint::TcpSender(sender) => sender.write(to),
            Endpoint::TcpReceiver(receiver) => receiver.write(to),
            Endpoint::Other(end) => end.write(to),
            Endpoint::Stream(end) => end.write(to),
        }
    }

    /// Reads the state of one end of a flow that starts at `start`: the end that begins, or the other one.
    pub(crate) fn read(
        kind: &AppKind,
        begins: bool,
        start: Time,
        has_percentiles: bool,
        from: &mut &[u8],
    ) -> Result<Endpoint, Malformed> {
        let (endpoint, is_possible) = match (kind, begins) {
            (AppKind::Datagrams(of) | AppKind::Multicast(of), true) => {
                let source: super::datagram::Source = wire::read(from)?;
                let endpoint = match kind {
                    AppKind::Multicast(_) => Endpoint::GroupSource(multicast::Source { datagrams: source }),
                    _ => Endpoint::DatagramSource(source),
                };
                (endpoint, source.is_possible(of))
            }
            (AppKind::Datagrams(_) | AppKind::Multicast(_), false) => {
                let sink: Sink = wire::read(from)?;
                let is_possible = sink.is_possible(has_percentiles);
                let endpoint = match kind {
                    AppKind::Multicast(_) => Endpoint::GroupSink(multicast::Receiver { sink }),
                    _ => Endpoint::DatagramSink(sink),
                };
                (endpoint, is_possible)
            }
            (AppKind::Transfer(of), true) => {
                let sender = wire::read::<transfer::Sender>(from)?.resume(of, start);
                let sender = sender.ok_or_else(|| Malformed::new("a transfer has a state that none can have"))?;
                (Endpoint::TransferSender(Box::new(sender)), true)
            }
            (AppKind::Transfer(of), false) => {
                let receiver: transfer::Receiver = wire::read(from)?;
                let is_possible = receiver.is_possible(of, has_percentiles);
                (Endpoint::TransferReceiver(Box::new(receiver)), is_possible)
            }
            (AppKind::Requests(of), true) => {
                let client: request::Client = wire::read(from)?;
                let is_possible = client.is_possible(of);
                (Endpoint::RequestClient(Box::new(client)), is_possible)
            }
            (AppKind::Requests(_), false) => {
                let server: request::Server = wire::read(from)?;
                let is_possible = server.is_possible(has_percentiles);
                (Endpoint::RequestServer(Box::new(server)), is_possible)
            }
            (AppKind::Tcp(of), true) => (Endpoint::TcpSender(Box::new(tcp::Sender::read(of, from)?)), true),
            (AppKind::Tcp(of), false) => {
                (Endpoint::TcpReceiver(Box::new(tcp::Receiver::read(of, start, has_percentiles, from)?)), true)
            }
            (AppKind::Other(of), _) => {
                (Endpoint::Other(Box::new(own::End::read(of, begins, has_percentiles, from)?)), true)
            }
            (AppKind::Stream(of), _) => {
                (Endpoint::Stream(Box::new(stream::End::read(of, begins, start, has_percentiles, from)?)), true)
            }
        };
        check(is_possible, "an end of a flow")?;
        Ok(endpoint)
    }
}
