//! Echo: a server that sends back whatever it is sent, over TCP and over UDP.
//!
//! *Covers*: sockets, several processes of a node, timeouts, a network of packets with losses.
//!
//! *Scenario*: three clients and a server share a switch. Every link loses 2 % of the packets. Each client
//! sends 40,000 bytes over TCP, and gets back every one. Then it sends ten datagrams, and counts the echoes
//! that come within 100 ms.

use parades::carriers::PacketLevel;
use parades::packet::{network::Settings as Network, plane::Plane};
use parades::prelude::*;
use parades::program::{Node, Processes, Program, Start};
use parades::sockets::{Error, Packet, Sockets, TcpListener, TcpStream, UdpSocket};
use parades::tcp::settings::Settings;
use parades::topology::{Link, NodeId, Topology};

const SERVER: LpId = LpId(0);
const CLIENTS: u32 = 3;
const PORT: u16 = 7;

struct Echo {
    carrier: PacketLevel<Packet>,
}

const METRICS: Declared<1> = Declared::new([Declaration::table("log", &[("line", Unit::Count)])]);
const LOG: TableId = METRICS.table("log");

impl Program for Echo {
    type Message = Packet;
    type State = Vec<String>;
    type Carrier = PacketLevel<Packet>;

    fn nodes(&self) -> u32 {
        1 + CLIENTS
    }

    fn carrier(&self) -> &Self::Carrier {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Vec<String> {
        let sockets = Sockets::start(start, Settings::linux());
        if start.id() == SERVER {
            let (tcp, udp) = (sockets.clone(), sockets);
            start.spawn("tcp", |node| async move { serve_streams(node, tcp).await.expect("the port is free") });
            start.spawn("udp", |_| async move { serve_datagrams(udp).await.expect("the port is free") });
        } else {
            start.spawn("client", |node| async move { ask(node, sockets).await.expect("the server answers") });
        }
        Vec::new()
    }

    fn finish(&self, _: LpId, log: &Vec<String>, _: &End, metrics: &mut Metrics) {
        for line in log {
            metrics.row(LOG, [Cell::Text(line.as_str().into())]);
        }
    }
}

async fn serve_streams(node: Node<Echo>, sockets: Sockets) -> Result<(), Error> {
    let listener = TcpListener::bind(&sockets, PORT).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        node.spawn("echo", |_| async move {
            let mut buffer = [0; 4096];
            loop {
                match stream.read(&mut buffer).await? {
                    0 => return Ok::<(), Error>(()),
                    count => stream.write_all(&buffer[..count]).await?,
                }
            }
        });
    }
}

async fn serve_datagrams(sockets: Sockets) -> Result<(), Error> {
    let socket = UdpSocket::bind(&sockets, PORT)?;
    let mut buffer = [0; 1500];
    loop {
        let (count, from) = socket.recv_from(&mut buffer).await?;
        socket.send_to(&buffer[..count], from).await?;
    }
}

async fn ask(node: Node<Echo>, sockets: Sockets) -> Result<(), Error> {
    let stream = TcpStream::connect(&sockets, (SERVER, PORT)).await?;
    let sent: Vec<u8> = (0..=255).cycle().take(40_000).collect();
    stream.write_all(&sent).await?;
    stream.shutdown().await?;
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await?;
    assert!(received == sent, "TCP loses nothing");
    let (me, now) = (node.id().0, node.now());
    node.with_state(|log| log.push(format!("client {me} has {} bytes back at {now}", received.len())));

    let socket = UdpSocket::bind(&sockets, 0)?;
    let mut echoes = 0;
    for number in 0..10 {
        socket.send_to(&[number; 1000], (SERVER, PORT)).await?;
        let mut buffer = [0; 1500];
        echoes += u32::from(node.within(Delay::from_ms(100), socket.recv_from(&mut buffer)).await.is_some());
    }
    node.with_state(|log| log.push(format!("client {me} has {echoes} of 10 datagrams back")));
    Ok(())
}

/// Runs the example under two engines, which agree. Returns its output.
pub(crate) fn run() -> Result<String, Box<dyn std::error::Error>> {
    let link = |a, b| Link { a: NodeId(a), b: NodeId(b), rate_bps: 10_000_000, delay: Delay::from_ms(5) };
    let topology =
        Topology::new(&["server", "one", "two", "three", "switch"], (0..4).map(|node| link(node, 4)).collect())?;
    let hosts: Vec<NodeId> = (0..=CLIENTS).map(NodeId).collect();
    let plane = Plane::new(topology, &hosts, Network { losses: vec![0.02; 4], ..Network::default() })?;
    let model = Processes::new(Echo { carrier: PacketLevel::new(plane, Packet::FORMAT)? });
    let options = || RunOptions::until(Time::from_secs(100));
    let outcome = parades::sequential::run(&model, options())?;
    let other = parades::window::run(&model, options(), &parades::window::Settings::of_threads(2))?;
    assert_eq!(outcome.digest, other.digest);
    let log = outcome.metrics.get("log").and_then(|log| log.table()).map(|log| log.rows()).unwrap_or_default();
    let lines = log.iter().filter_map(|row| match &row[0] {
        Cell::Text(line) => Some(format!("{line}\n")),
        _ => None,
    });
    let lost = outcome.metrics.get("messages_failed").and_then(|lost| lost.counter()).unwrap_or_default();
    Ok(lines.collect::<String>() + &format!("{lost} packets were lost\n"))
}

#[allow(dead_code, reason = "the test of the examples has a main function of its own")]
#[allow(clippy::print_stdout, reason = "it is what examples do")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", run()?);
    Ok(())
}
