//! Packet networks: nodes, ports, links, protocols, and traffic.
//!
//! # A tour
//!
//! A [`Topology`](parades_topology::Topology) is nodes and links. A [`flow::Flow`] has two ends, an amount,
//! and times of sending ([`traffic`]). A [`network::Network`] is made from them: a model with one LP for each
//! node and one event for each hop of a packet. Any engine runs it. There is one model for all packet
//! networks:
//!
//! - [`campus`], a ring of campus networks, with flows or multicast groups ([`flow::Group`]);
//! - [`wan`], any topology under gravity traffic;
//! - [`description`], a network in full, with every protocol, failures, and measurements app by app. Network
//!   files are read into it.
//!
//! [`plane`] is the part of it without traffic, for models that make their own packets. In [`on_demand`],
//! flows begin while the network runs, when a program outside asks for them.
//!
//! Every direction of a link has a transmitter and a queue before it ([`queue`]). The results of a run are in
//! its metrics: totals; the histogram `delay`, or one for each app; a row of the table `flows` for each flow
//! and one of `links` for each direction of a link; and series over time ([`sampling`]), if
//! [`network::Settings::sample`] is set.
//!
//! This crate may use the contract and `topology`. It uses engines only in its tests.
//!
//! # Example
//!
//! A dumbbell: two hosts send to two others through one slow link. Both send a packet each 8 ms, the second 2
//! ms after the first. A packet of 970 bytes, 1000 with its headers, takes 1 ms on the links to hosts and 5
//! ms on the slow one; every link is 10 ms long. So the first flow's packets take 1 + 5 + 1 + 30 ms. The two
//! flows need 10 ms of the slow link in every 8 ms. Its queue of two packets drops the excess.
//!
//! ```
//! use parades_core::prelude::*;
//! use parades_packet::flow::{Flow, Limit};
//! use parades_packet::queue::QueueLimit;
//! use parades_packet::network::{Network, Settings};
//! use parades_topology::{Link, NodeId, Topology};
//! use parades_packet::traffic::{Pattern, Sizes};
//!
//! let link = |a, b, rate_bps| Link { a: NodeId(a), b: NodeId(b), rate_bps, delay: Delay::from_ms(10) };
//! let access = |host, router| link(host, router, 8_000_000);
//! let links = vec![access(0, 4), access(1, 4), link(4, 5, 1_600_000), access(5, 2), access(5, 3)];
//! let topology = Topology::new(&["alice", "bob", "carol", "dave", "west", "east"], links)?;
//! let flow = |source, destination, start_ms| Flow {
//!     source: NodeId(source),
//!     destination: NodeId(destination),
//!     start: Time::ZERO.checked_add(Delay::from_ms(start_ms)).unwrap(),
//!     limit: Limit::Bytes(100 * 970),
//!     sizes: Sizes::Constant(970),
//!     pattern: Pattern::Constant { rate_bps: 970_000 },
//! };
//! let settings = Settings { queue: QueueLimit::Packets(2).into(), ..Settings::default() };
//! let network = Network::new(topology, vec![flow(0, 2, 0), flow(1, 3, 2)], settings)?;
//! let outcome = parades_engine::sequential::run(&network, RunOptions::until(Time::try_from_secs_f64(2.0).unwrap()))?;
//!
//! let count = |name| outcome.metrics.get(name).and_then(|metric| metric.counter()).unwrap();
//! assert_eq!(count("packets_sent"), 200);
//! assert_eq!(count("packets_delivered") + count("packets_lost"), 200);
//! assert!(count("packets_lost") > 30);
//! let delays = outcome.metrics.get("delay").and_then(|metric| metric.tally()).unwrap();
//! assert_eq!(delays.min(), Some(Delay::from_ms(37).as_ps()));
//! assert!(delays.max() <= Some(Delay::from_ms(37 + 3 * 5).as_ps()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! *Read next*: [`network`], the model; `port.rs`, why a hop is one event; [`protocols`], the ends of flows;
//! [`campus`] and [`wan`].

#![forbid(unsafe_code)]

pub mod campus;
pub mod description;
pub mod flow;
mod forwarding;
pub mod histogram;
pub mod impairment;
mod line;
pub mod network;
pub mod node;
pub mod on_demand;
pub mod packet;
pub mod plane;
mod port;
mod ports;
pub mod probability;
pub mod protocols;
pub mod queue;
pub mod record;
mod report;
pub mod sampling;
mod save;
pub mod segment;
pub mod sink;
mod store;
pub mod traffic;
pub mod wan;
