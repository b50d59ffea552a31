//! Captures: packets, as they pass ports of LPs, in committed events.
//!
//! A model of a network says where packets can be captured: [`crate::model::Model::capture_points`]. A run
//! captures at the LPs of [`crate::run::RunOptions::captures`]. There, handlers add each packet to the trace
//! of their event, by [`crate::model::Context::capture`]. So a capture has committed packets only, in one
//! order on every engine.
//!
//! A packet that arrives is captured by the handler that sends it. Only that handler knows the port.

use crate::event::LpId;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// The layer below the network layer, on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkLayer {
    /// None: packets have no header below that of the network layer.
    #[default]
    None,
    /// The Point-to-Point Protocol.
    Ppp,
    /// Ethernet II.
    Ethernet,
}

/// A port of an LP, where packets can be captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePoint {
    /// The LP.
    pub lp: LpId,
    /// The number of the port, among those of the LP.
    pub port: u32,
    /// The LP and the port at the other end of the link.
    pub peer: (LpId, u32),
    /// The name of the link. Both ends have the same.
    pub link: String,
    /// The layer below the network layer, on this link.
    pub layer: LinkLayer,
    /// True if packets begin or end at the LP. Unless the user names other places, such LPs are captured.
    pub is_end: bool,
}

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The LP at whose port the packet is captured.
    pub lp: LpId,
    /// The port.
    pub port: u32,
    /// True if the packet arrives at the port, false if it is sent there.
    pub is_arrival: bool,
    /// The time when the packet arrives, or when it is given to the port: before the queue.
    pub time: Time,
    /// The fields of the packet, in the encoding of the crate that writes captures.
    pub packet: Vec<u8>,
    /// A remark, such as the reason why the packet is lost; or empty.
    pub remark: String,
}
