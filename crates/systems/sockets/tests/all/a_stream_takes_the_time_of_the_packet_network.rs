//! The last byte of a stream between two processes arrives at the very picosecond at which it arrives in the
//! packet network, whose endpoints are no programs.

use crate::support::link;
use parades_carriers::PacketLevel;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_packet::description::Ends;
use parades_packet::network::{Network, Settings as NetworkSettings};
use parades_packet::plane::Plane;
use parades_packet::protocols::Tcp;
use parades_packet::queue::{Codel, Discipline, QueueLimit};
use parades_program::{Processes, Program, Start};
use parades_sockets::{Packet, Sockets, TcpListener, TcpStream};
use parades_tcp::control::{Algorithm, NewReno};
use parades_tcp::settings::Settings;
use parades_topology::{NodeId, Topology};

const UNTIL: Time = Time::from_secs(1000);

/// Node 0 sends a stream to node 1.
struct Transfer {
    carrier: PacketLevel<Packet>,
    settings: Settings,
    bytes: usize,
}

impl Program for Transfer {
    type Message = Packet;
    type State = Option<Time>; // when the last byte was read
    type Carrier = PacketLevel<Packet>;

    fn nodes(&self) -> u32 {
        2
    }
    fn carrier(&self) -> &PacketLevel<Packet> {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.tally("completion", Unit::Picoseconds);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
        let (sockets, bytes) = (Sockets::start(start, self.settings.clone()), self.bytes);
        if start.id() == LpId(0) {
            start.spawn("sender", move |_| async move {
                let stream = TcpStream::connect(&sockets, (LpId(1), 80)).await.expect("the receiver listens");
                stream.write_all(&vec![1; bytes]).await.expect("it is connected");
                stream.shutdown().await.expect("it is connected");
                assert_eq!(stream.read(&mut [0; 1]).await, Ok(0));
            });
        } else {
            start.spawn("receiver", move |node| async move {
                let listener = TcpListener::bind(&sockets, 80).await.expect("the port is free");
                let (stream, _) = listener.accept().await.expect("the sender comes");
                let (mut count, mut buffer) = (0, vec![0; 1 << 16]);
                while count < bytes {
                    count += stream.read(&mut buffer).await.expect("it is connected");
                }
                node.with(|here| *here.state = Some(here.now()));
                assert_eq!(stream.read(&mut buffer).await, Ok(0));
            });
        }
        None
    }
    fn finish(&self, _: LpId, last: &Option<Time>, _: &End, metrics: &mut Metrics) {
        if let Some(last) = last {
            metrics.observe(MetricId(0), last.as_ps());
        }
    }
}

fn topology() -> Topology {
    let links = vec![link(0, 2, 100_000_000, 1), link(2, 1, 10_000_000, 20)];
    Topology::new(&["sender", "receiver", "router"], links).expect("the links join nodes")
}

/// Returns the time of the only transfer, and the number of packets that were lost.
fn completion(outcome: &Outcome, lost: &str) -> (Option<u64>, u128) {
    let time = outcome.metrics.get("completion").and_then(|metric| metric.tally()).expect("it is measured");
    assert_eq!(time.count(), 1);
    (time.max(), outcome.metrics.get(lost).and_then(|metric| metric.counter()).expect("it is declared"))
}

#[test]
fn with_and_without_losses_and_with_either_profile() {
    let reno = Settings { algorithm: Algorithm::NewReno(NewReno::ns3()), ..Settings::linux() };
    let small = Settings { send_buffer: 30_000, receive_buffer: 20_000, ..Settings::linux() };
    // A socket writes the part that fits.
    let ns3 = Settings { takes_whole_writes: false, ..Settings::ns3() };
    let mut lossy = 0;
    for (profile, settings) in [("linux", Settings::linux()), ("ns3", ns3), ("reno", reno), ("small", small)] {
        let queues =
            [QueueLimit::Packets(1000).into(), QueueLimit::Packets(15).into(), Discipline::Codel(Codel::default())];
        for queue in queues {
            for bytes in [1, 1_000, 14_480, 100_000, 2_000_000] {
                let network = || NetworkSettings { queue: queue.clone(), ..Default::default() };
                let ends = Ends { source: NodeId(0), destination: NodeId(1), start: Time::ZERO };
                let tcp = Tcp { settings: settings.clone(), bytes: bytes as u64, writes: None, read_rate_bps: None };
                let model = Network::streams(topology(), tcp, vec![ends], network()).expect("it is possible");
                let expected = sequential::run(&model, RunOptions::until(UNTIL)).expect("it runs");

                let plane = Plane::new(topology(), &[NodeId(0), NodeId(1)], network()).expect("it is possible");
                let carrier = PacketLevel::new(plane, Packet::FORMAT).expect("each node has a place of its own");
                let program = Processes::new(Transfer { carrier, settings: settings.clone(), bytes });
                let found = sequential::run(&program, RunOptions::until(UNTIL)).expect("it runs");

                let expected = completion(&expected, "packets_lost");
                assert_eq!(completion(&found, "messages_failed"), expected, "{bytes} B as {profile} through {queue:?}");
                lossy += u32::from(expected.1 > 0);
            }
        }
    }
    assert!(lossy >= 6, "{lossy} of 60 cases have losses");
}
