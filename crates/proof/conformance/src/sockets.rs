//! A program with sockets: clients send streams and datagrams to a server, over links that lose packets.

use parades_carriers::PacketLevel;
use parades_core::prelude::*;
use parades_packet::network::Settings as Network;
use parades_packet::plane::Plane;
use parades_packet::queue::{Discipline, FairCodel};
use parades_program::{Node, Processes, Program, Start};
use parades_sockets::{Error, Packet, Sockets, TcpListener, TcpStream, UdpSocket};
use parades_tcp::settings::Settings;
use parades_topology::{Link, NodeId, Topology};

const CLIENTS: u32 = 5;
const SERVER: LpId = LpId(0);

/// The program. A node's state is the sum of the bytes that it has read.
#[derive(Debug)]
pub(crate) struct Talk(PacketLevel<Packet>);

impl Program for Talk {
    type Message = Packet;
    type State = u64;
    type Carrier = PacketLevel<Packet>;

    fn nodes(&self) -> u32 {
        1 + CLIENTS
    }

    fn carrier(&self) -> &PacketLevel<Packet> {
        &self.0
    }

    fn start(&self, start: &mut Start<'_, Self>) -> u64 {
        let sockets = Sockets::start(start, Settings::linux());
        match start.id() {
            SERVER => start.spawn("server", |node| async move { serve(node, sockets).await.expect("ports are free") }),
            _ => start.spawn("client", |node| async move { talk(node, sockets).await.expect("the server answers") }),
        }
        0
    }

    fn fold(&self, sum: &u64, digest: &mut Digest) {
        digest.word(*sum);
    }
}

fn add(node: Node<Talk>, bytes: &[u8]) {
    node.with_state(|sum| *sum += bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>());
}

async fn serve(node: Node<Talk>, sockets: Sockets) -> Result<(), Error> {
    let datagrams = UdpSocket::bind(&sockets, 7)?;
    node.spawn("datagrams", |node| async move {
        let mut buffer = [0; 100];
        loop {
            let (count, from) = datagrams.recv_from(&mut buffer).await?;
            add(node, &buffer[..count]);
            datagrams.send_to(&buffer[..count / 2], from).await?;
        }
        #[expect(unreachable_code, reason = "it names the type of the error")]
        Ok::<(), Error>(())
    });
    let listener = TcpListener::bind(&sockets, 7).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        node.spawn("stream", |node| async move {
            let mut buffer = [0; 1000];
            loop {
                let count = stream.read(&mut buffer).await?;
                if count == 0 {
                    return Ok::<(), Error>(());
                }
                add(node, &buffer[..count]);
                stream.write_all(&buffer[..count]).await?;
            }
        });
    }
}

async fn talk(node: Node<Talk>, sockets: Sockets) -> Result<(), Error> {
    let socket = UdpSocket::bind(&sockets, 0)?;
    let mut buffer = vec![0; 30_000];
    loop {
        let length = node.random(|rng| rng.range(1, 30_000));
        let bytes = vec![7; usize::try_from(length).expect("it is small")];
        let stream = TcpStream::connect(&sockets, (SERVER, 7)).await?;
        stream.write_all(&bytes).await?;
        stream.shutdown().await?;
        // Now and then a client gives up, and resets its connection.
        let patience = node.random(|rng| rng.exponential_delay(Delay::from_ms(400)));
        if node.within(patience, stream.read_exact(&mut buffer[..bytes.len()])).await.is_none() {
            stream.abort();
        }
        socket.send_to(&bytes[..bytes.len().min(100)], (SERVER, 7)).await?;
        if let Some(answer) = node.within(Delay::from_ms(50), socket.recv(&mut buffer)).await {
            add(node, &buffer[..answer?]);
        }
    }
}

/// Makes the model: a server and clients at a switch.
pub(crate) fn talk_model() -> Processes<Talk> {
    let link = |node: u32| Link {
        a: NodeId(node),
        b: NodeId(1 + CLIENTS),
        rate_bps: 10_000_000,
        delay: Delay::from_ms(1 + u64::from(node)),
    };
    let names: Vec<String> = (0..CLIENTS + 2).map(|node| format!("n{node}")).collect();
    let topology = Topology::new(&names, (0..=CLIENTS).map(link).collect()).expect("the links join nodes");
    let queue = Discipline::FairCodel(FairCodel::default());
    let settings = Network { queue, losses: vec![0.02; names.len()], ..Network::default() };
    let hosts: Vec<NodeId> = (0..=CLIENTS).map(NodeId).collect();
    let plane = Plane::new(topology, &hosts, settings).expect("it is possible");
    Processes::new(Talk(PacketLevel::new(plane, Packet::FORMAT).expect("each node has a place of its own")))
}
