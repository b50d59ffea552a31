//! Packet captures: frames in bytes, and files in the pcapng format.
//!
//! Packets of a simulation are fields, not bytes. A capture needs bytes. [`frame::Frame`] makes them, with
//! correct lengths and checksums: Ethernet II or PPP or neither, IPv4 or IPv6, UDP or TCP. [`pcapng::Writer`]
//! writes frames with their times to a file that Wireshark and tshark read. [`recorder::Recorder`] writes the
//! captures of a run.
//!
//! *Addresses* follow from the numbers of nodes, ports and groups ([`address`]). *Payloads* are a pattern
//! ([`payload`]), since the simulation carries only their lengths. *Times* are virtual, in picoseconds; the
//! file has nanoseconds, rounded down.
//!
//! Headers and checksums come from the crate `etherparse`. The crates for pcapng files build each block from
//! owned vectors; the four kinds of blocks written here need less code than that conversion.
//!
//! This crate may use the contract and `tcp`.
//!
//! # Example
//!
//! ```
//! use parades_capture::address::{IpVersion, node_address};
//! use parades_capture::frame::{Frame, Framing, Ip, Transport};
//! use parades_capture::pcapng::{Interface, Origin, Stamped, Writer};
//! use parades_core::time::Time;
//!
//! let [source, destination] = [0, 1].map(|node| node_address(IpVersion::V4, node));
//! let frame = Frame {
//!     framing: Framing::Ppp,
//!     ip: Ip::between(source, destination),
//!     transport: Transport::Udp { source_port: 50_000, destination_port: 50_001 },
//!     payload: 970,
//! };
//! let mut bytes = Vec::new();
//! frame.write(&mut bytes)?;
//! assert_eq!(bytes.len(), 2 + 20 + 8 + 970);
//!
//! let mut file = Writer::new(Vec::new(), "example")?;
//! let interface = file.add_interface(&Interface { name: "alice", link_type: Framing::Ppp.link_type(), snap_length: 0 })?;
//! let time = Time::from_ps(1_234_567);
//! file.add_packet(&Stamped { interface, time, origin: Origin::Outbound, frame: &bytes, comment: None })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! *Read next*: [`fields`], the form in which models give packets; [`frame`]; [`pcapng`].

#![forbid(unsafe_code)]

pub mod address;
pub mod fields;
pub mod frame;
pub mod payload;
pub mod pcapng;
pub mod recorder;
mod tcp;
