//! Parts that another crate would add: with states that can be written, and, under the name `mute`, without.

use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use parades_packet::description::{AppKind, Description};
use parades_packet::protocols::own::{Arrival, OtherProtocol, PacketEnd, PacketIo};
use parades_packet::protocols::stream::{OtherStream, StreamEnd, StreamIo};
use parades_packet::queue::{
    Admission, ArrivalQueue, Departure, DepartureQueue, Discipline, Drops, HeldPacket, Offered, PortView, QueueLimit,
};
use parades_tcp::control::{Ack, Algorithm, Congestion, CongestionControl, OtherControl, Window};
use parades_tcp::settings::Settings;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const LIMIT: QueueLimit = QueueLimit::Packets(10);

/// Writes a state that is all data.
fn bytes_of<T: Serialize>(state: &T) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    wire::write(state, &mut bytes);
    Some(bytes)
}

/// Drops each seventh packet.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sevenths {
    arrived: u64,
}

impl ArrivalQueue for Sevenths {
    fn on_arrival(&mut self, packet: &Offered, port: &PortView<'_>) -> Admission {
        self.arrived = self.arrived.wrapping_add(1);
        match port.has_room(LIMIT, packet.bytes) {
            true if !self.arrived.is_multiple_of(7) => Admission::Pass,
            _ => Admission::Full,
        }
    }

    fn copy(&self) -> Box<dyn ArrivalQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.arrived);
    }

    fn save(&self) -> Option<Vec<u8>> {
        bytes_of(self)
    }

    fn restore(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        *self = wire::read(&mut bytes)?;
        Ok(())
    }
}

pub(super) fn queue_on_arrival() -> Discipline {
    Discipline::on_arrival("sevenths", Sevenths { arrived: 0 })
}

/// The newest packet goes first.
#[derive(Clone, Debug)]
struct Stack {
    packets: VecDeque<HeldPacket>,
    can_save: bool,
}

impl DepartureQueue for Stack {
    fn enqueue(&mut self, packet: HeldPacket, port: &PortView<'_>, drops: &mut Drops<'_>) {
        if port.has_room(LIMIT, packet.offered.bytes) { self.packets.push_front(packet) } else { drops.full(packet) }
    }

    fn dequeue(&mut self, _: &PortView<'_>, _: &mut Drops<'_>) -> Option<Departure> {
        self.packets.pop_front().map(Departure::Pass)
    }

    fn visit(&self, visitor: &mut dyn FnMut(&HeldPacket)) {
        self.packets.iter().for_each(visitor);
    }

    fn copy(&self) -> Box<dyn DepartureQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, _: &mut Digest) {}

    fn save(&self) -> Option<Vec<u8>> {
        bytes_of(&self.packets).filter(|_| self.can_save)
    }

    fn restore(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        self.packets = wire::read(&mut bytes)?;
        Ok(())
    }
}

fn stack(name: &'static str, can_save: bool) -> Discipline {
    Discipline::on_departure(name, Stack { packets: VecDeque::new(), can_save })
}

pub(super) fn queue_on_departure() -> Discipline {
    stack("stack", true)
}

/// Asks every 9 ms, and counts answers; or answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Asker {
    asked: u32,
    answered: u32,
    #[serde(skip)]
    can_save: bool,
}

impl PacketEnd for Asker {
    fn on_start(&mut self, io: &mut dyn PacketIo) {
        io.set_timer(2, Delay::from_ms(9));
    }

    fn on_packet(&mut self, packet: &Arrival<'_>, io: &mut dyn PacketIo) {
        self.answered = self.answered.wrapping_add(1);
        if packet.payload == 300 {
            io.send(packet.number, 100, packet.data);
        }
    }

    fn on_timer(&mut self, _: u32, io: &mut dyn PacketIo) {
        self.asked = self.asked.wrapping_add(1);
        io.send(self.asked, 300, &[1, 2, 3]);
        io.set_timer(2, Delay::from_ms(9));
    }

    fn copy(&self) -> Box<dyn PacketEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        [self.asked, self.answered].into_iter().for_each(|word| digest.word(word.into()));
    }

    fn save(&self) -> Option<Vec<u8>> {
        bytes_of(self).filter(|_| self.can_save)
    }

    fn restore(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        *self = Asker { can_save: true, ..wire::read(&mut bytes)? };
        Ok(())
    }
}

fn asker(name: &'static str, can_save: bool) -> AppKind {
    let end = Asker { asked: 0, answered: 0, can_save };
    AppKind::Other(OtherProtocol::new(name, end.clone(), end).with_least_payload(64))
}

pub(super) fn packets() -> AppKind {
    asker("asker", true)
}

/// Writes whenever something arrives.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Talker {
    heard: u64,
    #[serde(skip)]
    can_save: bool,
}

impl StreamEnd for Talker {
    fn on_connected(&mut self, io: &mut dyn StreamIo) {
        io.write(2000);
        io.set_timer(0, Delay::from_ms(30));
    }

    fn on_data(&mut self, bytes: u64, io: &mut dyn StreamIo) {
        self.heard = self.heard.wrapping_add(bytes);
        io.write(bytes / 2);
    }

    fn on_timer(&mut self, _: u32, io: &mut dyn StreamIo) {
        io.write(1500);
        io.set_timer(0, Delay::from_ms(30));
    }

    fn copy(&self) -> Box<dyn StreamEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.heard);
    }

    fn save(&self) -> Option<Vec<u8>> {
        bytes_of(self).filter(|_| self.can_save)
    }

    fn restore(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        *self = Talker { can_save: true, ..wire::read(&mut bytes)? };
        Ok(())
    }
}

fn talker(name: &'static str, can_save: bool, settings: Settings) -> AppKind {
    let end = Talker { heard: 0, can_save };
    AppKind::Stream(Box::new(OtherStream::new(name, settings, end.clone(), end)))
}

pub(super) fn app_of_streams() -> AppKind {
    talker("talker", true, Settings { mss: 500, ..Settings::linux() })
}

/// A window that grows by a segment with each acknowledgement, and halves.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Halves {
    reductions: u32,
    #[serde(skip)]
    can_save: bool,
}

impl CongestionControl for Halves {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !ack.is_recovering && ack.acked > 0 {
            window.cwnd = window.cwnd.saturating_add(window.mss / 4);
        }
    }

    fn on_congestion(&mut self, _: Congestion, _: Time, _: u32, window: &mut Window) {
        self.reductions = self.reductions.wrapping_add(1);
        window.ssthresh = (window.cwnd / 2).max(2 * window.mss);
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.reductions.into());
    }

    fn save(&self) -> Option<Vec<u8>> {
        bytes_of(self).filter(|_| self.can_save)
    }

    fn restore(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        *self = Halves { can_save: true, ..wire::read(&mut bytes)? };
        Ok(())
    }
}

fn halves(name: &'static str, can_save: bool) -> Algorithm {
    Algorithm::Other(OtherControl::new(name, Halves { reductions: 0, can_save }))
}

pub(super) fn control() -> Algorithm {
    halves("halves", true)
}

pub(super) fn with_mute_queue(mut of: Description) -> Description {
    of.links[0].queue = stack("mute", false);
    of
}

pub(super) fn with_mute_protocol(of: Description) -> Description {
    with_kind(of, asker("mute", false))
}

pub(super) fn with_mute_stream(of: Description) -> Description {
    with_kind(of, talker("mute", false, Settings::linux()))
}

pub(super) fn with_mute_control(of: Description) -> Description {
    let settings = Settings { algorithm: halves("mute", false), ..Settings::linux() };
    with_kind(of, talker("talker", true, settings))
}

fn with_kind(mut of: Description, kind: AppKind) -> Description {
    of.apps[0].kind = kind;
    of
}
