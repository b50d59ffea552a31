//! A protocol with packets of its own: one end sends at random times, and the other one sends back what it
//! gets.

use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use parades_packet::description::AppKind;
use parades_packet::protocols::own::{Arrival, OtherProtocol, PacketEnd, PacketIo};

/// Sends `count` packets at random times.
#[derive(Clone, Debug)]
struct Pinger {
    mean_gap: Delay,
    count: u32,
    sent: u32,
    answered: u32,
}

/// Sends each packet back.
#[derive(Clone, Debug)]
struct Echo;

/// The payload of each packet in bytes.
const PAYLOAD: u32 = 56;

/// Returns the protocol for apps.
pub(crate) fn kind(mean_gap: Delay, count: u32) -> AppKind {
    let pinger = Pinger { mean_gap, count, sent: 0, answered: 0 };
    AppKind::Other(OtherProtocol::new("ping", pinger, Echo).with_least_payload(PAYLOAD))
}

impl PacketEnd for Pinger {
    fn on_start(&mut self, io: &mut dyn PacketIo) {
        self.on_timer(0, io);
    }

    fn on_packet(&mut self, packet: &Arrival<'_>, io: &mut dyn PacketIo) {
        let sent = packet.data.try_into().map_or(Time::ZERO, |bytes| Time::from_ps(u64::from_le_bytes(bytes)));
        self.answered += 1;
        io.observe(io.now().since(sent));
    }

    fn on_timer(&mut self, _: u32, io: &mut dyn PacketIo) {
        io.send(self.sent, PAYLOAD, &io.now().as_ps().to_le_bytes());
        self.sent += 1;
        if self.sent < self.count {
            let gap = io.rng().exponential_delay(self.mean_gap);
            io.set_timer(0, gap);
        }
    }

    fn is_complete(&self) -> bool {
        self.answered == self.count
    }

    fn copy(&self) -> Box<dyn PacketEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.sent) << 32 | u64::from(self.answered));
    }
}

impl PacketEnd for Echo {
    fn on_packet(&mut self, packet: &Arrival<'_>, io: &mut dyn PacketIo) {
        io.send(packet.number, packet.payload, packet.data);
    }

    fn copy(&self) -> Box<dyn PacketEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, _: &mut Digest) {}
}
