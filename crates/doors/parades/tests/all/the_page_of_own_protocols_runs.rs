//! The code of docs/own-protocols.md compiles, and its network has one digest. The blocks of the page stand
//! below, in order.

#![allow(dead_code, clippy::print_stdout, clippy::items_after_test_module, reason = "the page shows it so")]

use parades::packet::queue::{Admission, ArrivalQueue, Discipline, Offered, PortView, QueueLimit};
use parades::prelude::*;

#[derive(Clone, Debug)]
struct Slope {
    limit: QueueLimit,
    dropped: u64,
}

impl ArrivalQueue for Slope {
    fn on_arrival(&mut self, packet: &Offered, port: &PortView<'_>) -> Admission {
        if !port.has_room(self.limit, packet.bytes) {
            return Admission::Full;
        }
        if !port.rng.chance(port.waiting as f64 / 100.0) {
            return Admission::Pass;
        }
        if packet.is_capable {
            return Admission::Mark;
        }
        self.dropped += 1;
        Admission::Early
    }

    fn copy(&self) -> Box<dyn ArrivalQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.dropped);
    }
}

fn slope() -> Discipline {
    Discipline::on_arrival("slope", Slope { limit: QueueLimit::Packets(100), dropped: 0 })
}

use parades::packet::queue::{Departure, DepartureQueue, Drops, HeldPacket};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Debug, Default)]
struct Fewest {
    flows: BTreeMap<u32, VecDeque<HeldPacket>>,
}

impl DepartureQueue for Fewest {
    fn enqueue(&mut self, packet: HeldPacket, port: &PortView<'_>, drops: &mut Drops<'_>) {
        if port.waiting == 100 {
            return drops.full(packet);
        }
        self.flows.entry(packet.offered.flow).or_default().push_back(packet);
    }

    fn dequeue(&mut self, port: &PortView<'_>, drops: &mut Drops<'_>) -> Option<Departure> {
        loop {
            let flow = *self.flows.iter().min_by_key(|(_, packets)| packets.len())?.0;
            let packets = self.flows.get_mut(&flow)?;
            let packet = packets.pop_front()?;
            if packets.is_empty() {
                self.flows.remove(&flow);
            }
            if port.now.since(packet.since) <= Delay::from_ms(50) {
                return Some(Departure::Pass(packet));
            }
            drops.early(packet);
        }
    }

    fn visit(&self, visitor: &mut dyn FnMut(&HeldPacket)) {
        self.flows.values().flatten().for_each(visitor);
    }

    fn copy(&self) -> Box<dyn DepartureQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, _: &mut Digest) {} // the packets are folded already
}

use parades::tcp::control::{Ack, Algorithm, Congestion, CongestionControl, OtherControl, Window};

#[derive(Clone, Debug)]
struct Scalable {
    share: u32, // the window grows by one byte for so many acknowledged ones
    acked: u32, // bytes for which the window has not grown yet
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if ack.is_recovering || !ack.is_window_limited {
            return;
        }
        if window.is_slow_start() {
            window.cwnd += ack.acked;
            return;
        }
        self.acked += ack.acked;
        window.cwnd += self.acked / self.share;
        self.acked %= self.share;
    }

    fn on_congestion(&mut self, _: Congestion, _: Time, _in_flight: u32, window: &mut Window) {
        window.ssthresh = (window.cwnd / 8 * 7).max(2 * window.mss);
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.acked));
    }
}

fn scalable() -> Algorithm {
    Algorithm::Other(OtherControl::new("scalable", Scalable { share: 100, acked: 0 }))
}

use parades::packet::description::AppKind;
use parades::packet::protocols::own::{Arrival, OtherProtocol, PacketEnd, PacketIo};

#[derive(Clone, Debug)]
struct Sensor {
    sent: u32,
}

impl PacketEnd for Sensor {
    fn on_start(&mut self, io: &mut dyn PacketIo) {
        self.on_timer(0, io);
    }

    fn on_timer(&mut self, _: u32, io: &mut dyn PacketIo) {
        let value = io.rng().below(100);
        io.send(self.sent, 64, &value.to_le_bytes()); // number, payload in bytes, data
        self.sent += 1;
        io.set_timer(0, Delay::from_ms(100));
    }

    fn on_packet(&mut self, _: &Arrival<'_>, _: &mut dyn PacketIo) {}

    fn copy(&self) -> Box<dyn PacketEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.sent));
    }
}

#[derive(Clone, Debug, Default)]
struct Collector {
    sum: u64,
}

impl PacketEnd for Collector {
    fn on_packet(&mut self, packet: &Arrival<'_>, _: &mut dyn PacketIo) {
        self.sum += packet.data.try_into().map_or(0, u64::from_le_bytes);
    }

    fn copy(&self) -> Box<dyn PacketEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.sum);
    }
}

fn sensor() -> AppKind {
    AppKind::Other(OtherProtocol::new("sensor", Sensor { sent: 0 }, Collector::default()).with_least_payload(64))
}

use parades::packet::protocols::stream::{StreamEnd, StreamIo};

#[derive(Clone, Debug, Default)]
struct Server {
    read: u64,
}

impl StreamEnd for Server {
    fn on_data(&mut self, bytes: u64, io: &mut dyn StreamIo) {
        self.read += bytes;
        while self.read >= 100 {
            self.read -= 100;
            io.write(20_000);
        }
    }

    fn copy(&self) -> Box<dyn StreamEnd> {
        Box::new(self.clone())
    }

    fn fold(&self, digest: &mut Digest) {
        digest.word(self.read);
    }
}

use parades::netfile::NetworkFile;
use parades::packet::description::{App, Ends, Marking};
use parades::packet::{network::Network, segment::SegmentRef};
use parades::topology::NodeId;

fn network(text: &str) -> Result<(Network<SegmentRef>, Time), Box<dyn std::error::Error>> {
    let file = NetworkFile::parse("net.toml".as_ref(), text.into())?.ok_or("it needs the key `network`")?;
    let (mut description, until, _notes) = file.describe(&file.parameters(), 1)?;
    for link in description.links.iter_mut().filter(|link| link.name == "west-east") {
        link.queue = slope();
    }
    let ends = Ends { source: NodeId(0), destination: NodeId(1), start: Time::ZERO };
    let app = App { name: "room".into(), kind: sensor(), marking: Marking::default(), flows: vec![ends] };
    description.apps.push(app);
    Ok((Network::described(description)?, until))
}

use parades::Engine;

fn compare(text: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (network, until) = network(text)?;
    let run = |engine: Engine| engine.run(&network, 2, RunOptions::until(until));
    let expected = run(Engine::Sequential)?;
    for engine in [Engine::RollbackCheck, Engine::Window, Engine::NullMessage, Engine::TimeWarp] {
        assert_eq!(run(engine)?.digest, expected.digest, "{engine}");
    }
    let times = expected.metrics.get("delay_room").and_then(|metric| metric.tally()).ok_or("it is measured")?;
    println!("{} values, the latest after {:?} ps", times.count(), times.max());
    let flows = expected.metrics.get("flows").and_then(|metric| metric.table()).ok_or("it is a table")?;
    for row in flows.rows() {
        for (column, cell) in flows.columns().iter().zip(row) {
            println!("{} {cell:?}", column.name); // times in picoseconds; `column.unit` says so
        }
    }
    Ok(())
}

use parades::{ConfigError, Parameter, Scenario, Simulation, Values};

const SCENARIO: Scenario = Scenario::new(
    "room",
    "a sensor behind a queue of mine",
    &[Parameter::size("value", 64, "payload of a value").positive()],
    |values: &Values, _seed| {
        let _bytes = values.size("value"); // give it to your parts
        let wrong = |error: &dyn std::fmt::Display| ConfigError::new(error.to_string());
        let (network, until) = network(FILE).map_err(|error| wrong(&error))?;
        Ok(Simulation::restorable(network, until))
    },
);

fn main() -> std::process::ExitCode {
    parades::cli([SCENARIO])
}

const FILE: &str = r#"
network = "a sensor"
until = "10s"
nodes = ["west", "east"]
link = [{ name = "west-east", from = "west", to = "east", rate = "1Mbps", delay = "5ms" }]
"#;

#[test]
fn the_network_of_the_page_has_one_digest() {
    compare(FILE).expect("it runs");
}

#[test]
fn every_block_of_the_page_stands_here_in_order() {
    let page = include_str!("../../../../../docs/own-protocols.md");
    let mut rest = include_str!("the_page_of_own_protocols_runs.rs");
    let blocks: Vec<&str> = page.split("```rust\n").skip(1).filter_map(|block| block.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let place = rest.find(block).unwrap_or_else(|| panic!("this block of the page does not stand here:\n{block}"));
        rest = &rest[place + block.len()..];
    }
}
