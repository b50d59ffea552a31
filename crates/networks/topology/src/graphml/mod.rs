//! Networks from GraphML files, as the Internet Topology Zoo writes them.
//!
//! # What becomes of a file
//!
//! - Every node is kept, also those that stand for a link of several ends (`hyperedge`) or for a neighbouring
//!   network (`Internal` 0). A node's name is its `label`, or its `id` where it has none; nodes that share a
//!   name are told apart by their ids in brackets.
//! - Every edge is a full-duplex link, parallel edges too. An edge from a node to itself is dropped. A
//!   directed edge is refused.
//! - Rate: `LinkSpeedRaw` in bits per second, else `LinkSpeed` times its `LinkSpeedUnits` (K, M, G or T),
//!   else [`Options::rate_bps`].
//! - Delay: light in fibre along the great circle ([`crate::geo`]) between `Latitude` and `Longitude` of the
//!   ends, at least [`Options::delay_min`]. A node without coordinates takes the mean (on the sphere) of its
//!   located neighbours' ones, round after round until nothing changes; a link with an end that stays
//!   unlocated has [`Options::delay`].
//! - The network must be connected.
//!
//! What was guessed or dropped is said in [`Network::notes`]. What is impossible is a [`ReadError`] with its
//! place.
//!
//! # Bounds
//!
//! A file may be hostile. It is read up to [`FILE_BYTES_MAX`], so one endless tag or text costs no more than
//! that; a tag or text is at most [`TOKEN_BYTES_MAX`], elements nest at most [`DEPTH_MAX`] deep, nodes and
//! edges are at most [`NODES_MAX`] and [`EDGES_MAX`]. A document type with declarations of its own is
//! refused, and no entity but the five predefined ones is ever expanded. Reading takes less than ten times
//! the file's size in memory (470 MB for a million nodes), and time proportional to it.

mod build;
mod document;
mod error;
mod fields;
mod ids;
mod xml;

pub use error::ReadError;

use crate::Topology;
use crate::geo::Position;
use error::Fault;
use parades_core::time::Delay;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest file that is read: 64 MiB, room for more than 100,000 nodes as the Topology Zoo writes them.
pub const FILE_BYTES_MAX: usize = 64 << 20;
/// The longest tag, text or comment, in bytes.
pub const TOKEN_BYTES_MAX: usize = 64 << 10;
/// How deep elements nest, the root included. GraphML itself needs four.
pub const DEPTH_MAX: usize = 64;
/// How many nodes a file may have.
pub const NODES_MAX: usize = 1 << 20;
/// How many edges a file may have.
pub const EDGES_MAX: usize = 1 << 22;

/// What a file leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bits per second of a link without a speed.
    pub rate_bps: u64,
    /// Delay of a link with an end whose place cannot be told.
    pub delay: Delay,
    /// Least delay of a link whose ends' places are known; it holds where they coincide. At zero, such a link
    /// has no lookahead.
    pub delay_min: Delay,
}

impl Default for Options {
    /// 100 Mbit/s; 1 ms, some 200 km of fibre; at least 5 µs, one kilometre of it.
    fn default() -> Options {
        Options { rate_bps: 100_000_000, delay: Delay::from_ms(1), delay_min: Delay::from_us(5) }
    }
}

/// What a file describes.
#[derive(Clone, Debug)]
pub struct Network {
    /// The network; it is connected.
    pub topology: Topology,
    /// Where each node is, given or guessed; `None` where neither was possible.
    pub positions: Vec<Option<Position>>,
    /// What was guessed or dropped, a sentence each.
    pub notes: Vec<String>,
}

/// Reads the GraphML file at `path`.
///
/// # Errors
///
/// Where it cannot be read, is not such a file, is too large, or describes no connected network.
pub fn read(path: &Path, options: &Options) -> Result<Network, ReadError> {
    let file = path.display().to_string();
    let mut bytes = Vec::new();
    // One byte more than is allowed tells a file that is too long from one that just fits, whatever its
    // metadata claim.
    let limit = FILE_BYTES_MAX as u64 + 1;
    match File::open(path).and_then(|opened| opened.take(limit).read_to_end(&mut bytes)) {
        Ok(_) => parse(&file, &bytes, options),
        Err(why) => {
            Err(Fault::general(format!("the file cannot be read: {why}"), "check its name and permissions")
                .at(&file, ""))
        }
    }
}

/// Reads GraphML from memory; `file` is the name that errors give it.
///
/// # Examples
///
/// Zurich and Geneva, 224 km apart:
///
/// ```
/// use parades_topology::graphml::{Options, parse};
/// let text = r#"<graphml>
///   <key id="d0" for="node" attr.name="Latitude"/> <key id="d1" for="node" attr.name="Longitude"/>
///   <key id="d2" for="edge" attr.name="LinkSpeedRaw"/>
///   <graph edgedefault="undirected">
///     <node id="zrh"><data key="d0">47.3769</data><data key="d1">8.5417</data></node>
///     <node id="gva"><data key="d0">46.2044</data><data key="d1">6.1432</data></node>
///     <edge source="zrh" target="gva"><data key="d2">10000000000.0</data></edge>
///   </graph>
/// </graphml>"#;
/// let network = parse("swiss.graphml", text.as_bytes(), &Options::default())?;
/// let link = network.topology.links()[0];
/// assert_eq!(link.rate_bps, 10_000_000_000);
/// assert_eq!(link.delay.as_ps() / 1_000_000, 1122); // microseconds
///
/// let error = parse("swiss.graphml", text.replace("47.", "470.").as_bytes(), &Options::default()).unwrap_err();
/// assert_eq!(error.to_string(), "swiss.graphml:5:20: there is no place at latitude 470.3769, longitude 8.5417; \
///     a latitude lies in -90 to 90 degrees, a longitude in -180 to 180");
/// # Ok::<(), parades_topology::graphml::ReadError>(())
/// ```
///
/// # Errors
///
/// As [`read`].
pub fn parse(file: &str, bytes: &[u8], options: &Options) -> Result<Network, ReadError> {
    if bytes.len() > FILE_BYTES_MAX {
        let message = format!("the file is longer than {} MiB", FILE_BYTES_MAX >> 20);
        return Err(Fault::general(message, "split it, or drop the data that a network does not need").at(file, ""));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(why) => {
            let good = std::str::from_utf8(&bytes[..why.valid_up_to()]).unwrap_or_default();
            return Err(Fault::new(good.len(), "the file is not text in UTF-8", "convert it to UTF-8").at(file, good));
        }
    };
    document::read(text).and_then(|document| build::build(document, options)).map_err(|fault| fault.at(file, text))
}
