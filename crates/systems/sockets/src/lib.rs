//! Sockets for programs: [`TcpListener`], [`TcpStream`] and [`UdpSocket`], in virtual time.
//!
//! A [program](parades_program) whose messages are [`Packet`]s gives its nodes [`Sockets`]. Then its
//! processes open sockets and await on them, as code for tokio or async-std does. Addresses are pairs of a
//! node and a port. Real bytes travel: what one end writes, the other end reads.
//!
//! - TCP is [`parades_tcp::Connection`], with everything that its [settings](parades_tcp::settings::Settings)
//!   choose: the profiles of Linux and ns-3, congestion controls, buffers, timers. They are given for a node,
//!   or for a single socket.
//! - The packets travel over any [carrier](parades_program::Carrier). Over
//!   [`PacketLevel`](parades_carriers::PacketLevel) they meet links, queues, losses and failures, and a
//!   stream takes the same time as in the packet network. Over [`Constant`](parades_carriers::Constant) they
//!   only take a latency.
//! - Sockets wait for the virtual time alone, so [`parades_program::select`] gives any of their waits a
//!   timeout.
//! - As all programs, they run under every engine that needs no rollback, with one answer.
//!
//! # Examples
//!
//! A server that sends back whatever it is sent, behind a link of 10 Mbit/s and 5 ms:
//!
//! ```
//! use parades_carriers::PacketLevel;
//! use parades_core::prelude::*;
//! use parades_packet::network::Settings as Network;
//! use parades_packet::plane::Plane;
//! use parades_program::{Node, Processes, Program, Start};
//! use parades_sockets::{Error, Packet, Sockets, TcpListener, TcpStream};
//! use parades_tcp::settings::Settings;
//! use parades_topology::{Link, NodeId, Topology};
//!
//! struct Echo(PacketLevel<Packet>);
//!
//! impl Program for Echo {
//!     type Message = Packet;
//!     type State = Vec<u8>; // what the client has read
//!     type Carrier = PacketLevel<Packet>;
//!     fn nodes(&self) -> u32 { 2 }
//!     fn carrier(&self) -> &PacketLevel<Packet> { &self.0 }
//!     fn start(&self, start: &mut Start<'_, Self>) -> Vec<u8> {
//!         let sockets = Sockets::start(start, Settings::linux());
//!         match start.id().0 {
//!             0 => start.spawn("server", |_| async move { serve(sockets).await.expect("nothing fails") }),
//!             _ => start.spawn("client", |node| async move { ask(node, sockets).await.expect("nothing fails") }),
//!         }
//!         Vec::new()
//!     }
//!     fn finish(&self, id: LpId, read: &Vec<u8>, _: &End, _: &mut Metrics) {
//!         assert_eq!(read, if id == LpId(1) { &b"hello"[..] } else { b"" });
//!     }
//! }
//!
//! async fn serve(sockets: Sockets) -> Result<(), Error> {
//!     let listener = TcpListener::bind(&sockets, 7).await?;
//!     let (stream, _) = listener.accept().await?;
//!     let mut bytes = [0; 1024];
//!     loop {
//!         match stream.read(&mut bytes).await? {
//!             0 => return Ok(()),
//!             count => stream.write_all(&bytes[..count]).await?,
//!         }
//!     }
//! }
//!
//! async fn ask(node: Node<Echo>, sockets: Sockets) -> Result<(), Error> {
//!     let stream = TcpStream::connect(&sockets, (LpId(0), 7)).await?;
//!     stream.write_all(b"hello").await?;
//!     stream.shutdown().await?;
//!     let mut answer = Vec::new();
//!     stream.read_to_end(&mut answer).await?;
//!     node.with_state(|read| *read = answer);
//!     Ok(())
//! }
//!
//! let link = Link { a: NodeId(0), b: NodeId(1), rate_bps: 10_000_000, delay: Delay::from_ms(5) };
//! let topology = Topology::new(&["server", "client"], vec![link])?;
//! let plane = Plane::new(topology, &[NodeId(0), NodeId(1)], Network::default())?;
//! let model = Processes::new(Echo(PacketLevel::new(plane, Packet::FORMAT)?));
//! parades_engine::sequential::run(&model, RunOptions::until(Time::from_secs(1)))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! *Read next*: [`Sockets`]; [`TcpStream`]; then `table`, the state of all sockets of a node.

#![forbid(unsafe_code)]

mod address;
mod buffers;
mod bytes;
mod error;
mod listener;
mod packet;
mod sockets;
mod stream;
mod table;
mod udp;

pub use address::Address;
pub use error::Error;
pub use listener::{BACKLOG, TcpListener};
pub use packet::{DATAGRAM_MAX, Packet};
pub use sockets::Sockets;
pub use stream::{Info, TcpStream};
pub use table::Counts;
pub use udp::UdpSocket;
