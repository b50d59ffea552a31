//! Networks from files that other tools write: GraphML, GML, JSON (node-link, adjacency, Cytoscape), lists of
//! edges (SNAP, CAIDA), BRITE's topologies, and those of HPCC's simulator. The contents tell which it is.
//!
//! # From a file to a network
//!
//! - A list of edges has a line for each edge: the whole numbers that are the ids of its ends. Lines that
//!   begin with `#` are remarks. Links have no latency, rate or position.
//! - Nodes: all are kept, also nodes that stand for a link of several ends (`hyperedge`) or for a
//!   neighbouring network (`Internal` 0). A node's name is its `label`, or its `id` if it has none. Nodes
//!   that share a name have their ids in brackets.
//! - Links: every edge is a full-duplex link, parallel edges too. An edge from a node to itself is dropped.
//!   Two directed edges, one each way, are one link; if their qualities differ, a link each way. A directed
//!   edge without an opposite carries both directions.
//! - Rate, delay and loss: by the names that tools write, with their units (`names.rs`). A number whose unit
//!   nothing tells is not used.
//! - Rate, if the file has none: [`Options::rate_bps`].
//! - Delay, if the file has none: light in fibre along the great circle ([`crate::geo`]) between `Latitude`
//!   and
//!   `Longitude` of the ends, at least [`Options::delay_min`].
//! - Positions: a node without coordinates gets the mean (on the sphere) of its neighbours' positions, round
//!   after round until nothing changes. A link with an end that has no position has [`Options::delay`].
//! - The network must be connected.
//!
//! [`Network::notes`] lists guesses, dropped parts, assumed units, and data that have no use here. A mistake
//! is an error with its place.
//!
//! # Bounds
//!
//! A file may be hostile. At most [`FILE_BYTES_MAX`] bytes are read. A tag or text of XML has at most
//! [`TOKEN_BYTES_MAX`] bytes. Elements nest at most [`DEPTH_MAX`] deep. There are at most [`NODES_MAX`]
//! nodes,
//! [`EDGES_MAX`] edges and [`NAMES_MAX`] names of values. A document type with declarations of its own is
//! refused. Only XML's five predefined entities are expanded. Reading takes memory and time proportional to
//! the file's size.

mod brite;
mod build;
mod collector;
mod edge_list;
mod facts;
mod gml;
mod graphml;
mod ids;
mod json;
mod names;
mod notes;
mod pairs;
mod switches;
mod tokens;

use crate::Topology;
use crate::geo::Position;
use crate::xml::{bytes_of, text_of, too_long};
use parades_config::ConfigError;
use parades_config::units::MBPS;
use parades_core::time::Delay;
use std::path::Path;

/// The greatest size of a file: 64 MiB, enough for more than 100,000 nodes as the Topology Zoo writes them.
pub const FILE_BYTES_MAX: usize = 64 << 20;
/// The greatest length of a tag, text or comment, in bytes.
pub const TOKEN_BYTES_MAX: usize = 64 << 10;
/// The greatest depth of elements, the root included. GraphML itself needs four.
pub const DEPTH_MAX: usize = 64;
/// The largest number of nodes.
pub const NODES_MAX: usize = 1 << 20;
/// The largest number of edges.
pub const EDGES_MAX: usize = 1 << 22;
/// The largest number of different names of values.
pub const NAMES_MAX: usize = 4096;

/// Values that a file may leave out. The defaults are 100 Mbit/s; 1 ms, some 200 km of fibre; at least 5 µs,
/// one kilometre of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, parades_config::Parameters)]
pub struct Options {
    /// Bits per second of a link without a speed.
    #[parameter(
        rate, key = "default_rate", default = 100 * MBPS, positive,
        meaning = "rate of links for which the file gives none"
    )]
    pub rate_bps: u64,
    /// Delay of a link with an end that has no position.
    #[parameter(
        duration, key = "default_delay", default = Delay::from_ms(1),
        meaning = "delay of links with an end whose place is unknown"
    )]
    pub delay: Delay,
    /// Least delay of a link whose ends' places are known; it holds where they coincide. At zero, such a link
    /// has no lookahead.
    #[parameter(
        duration, key = "least_delay", default = Delay::from_us(5),
        meaning = "least delay of a link, however close its ends"
    )]
    pub delay_min: Delay,
}

/// The network of a file.
#[derive(Clone, Debug)]
pub struct Network {
    /// The network; it is connected.
    pub topology: Topology,
    /// The position of each node, given or guessed; `None` if neither was possible.
    pub positions: Vec<Option<Position>>,
    /// The probability of loss of each link, where the file gives one.
    pub losses: Vec<Option<f64>>,
    /// Notes on guesses, dropped parts and data without use, a sentence each.
    pub notes: Vec<String>,
}

/// Reads the file at `path`.
///
/// # Errors
///
/// If the file cannot be read, is not such a file, is too large, or describes no connected network.
pub fn read(path: &Path, options: &Options) -> Result<Network, ConfigError> {
    parse(path, &bytes_of(path, FILE_BYTES_MAX, TOO_LONG)?, options)
}

/// The help for a file that is too long.
const TOO_LONG: &str = "split it, or drop the data that a network does not need";

/// True if a text begins as the topologies of HPCC's simulator and of SimAI do, with a line of counts.
pub fn is_switch_topology(text: &str) -> bool {
    switches::is_topology(text)
}

/// Reads a file from memory. Errors name the file `file`.
///
/// # Examples
///
/// Zurich and Geneva, 224 km apart:
///
/// ```
/// use parades_topology::import::{Options, parse};
/// let text = r#"<graphml>
///   <key id="d0" for="node" attr.name="Latitude"/> <key id="d1" for="node" attr.name="Longitude"/>
///   <key id="d2" for="edge" attr.name="LinkSpeedRaw"/>
///   <graph edgedefault="undirected">
///     <node id="zrh"><data key="d0">47.3769</data><data key="d1">8.5417</data></node>
///     <node id="gva"><data key="d0">46.2044</data><data key="d1">6.1432</data></node>
///     <edge source="zrh" target="gva"><data key="d2">10000000000.0</data></edge>
///   </graph>
/// </graphml>"#;
/// let network = parse("swiss.graphml".as_ref(), text.as_bytes(), &Options::default())?;
/// let link = network.topology.links()[0];
/// assert_eq!(link.rate_bps, 10_000_000_000);
/// assert_eq!(link.delay.as_ps() / 1_000_000, 1122); // microseconds
///
/// let error = parse("swiss.graphml".as_ref(), text.replace("47.", "470.").as_bytes(), &Options::default()).unwrap_err();
/// assert_eq!(error.to_string(), "swiss.graphml:5:20: there is no place at latitude 470.3769, longitude 8.5417; \
///     a latitude lies in -90 to 90 degrees, a longitude in -180 to 180");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// As [`read`].
pub fn parse(file: &Path, bytes: &[u8], options: &Options) -> Result<Network, ConfigError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(too_long(FILE_BYTES_MAX, TOO_LONG).within(file, ""));
    }
    let text = text_of(file, bytes)?;
    let document = match text.trim_start().chars().next() {
        Some('{') => json::read(text),
        _ if switches::is_topology(text) => switches::read(text),
        _ if brite::is_brite(text) => brite::read(text),
        _ if edge_list::is_list(text) => edge_list::read(text),
        // A GML file begins with a name or a comment.
        Some(letter) if letter.is_alphabetic() || letter == '#' => gml::read(text),
        _ => graphml::read(text),
    };
    document.and_then(|document| build::build(document, text, options)).map_err(|fault| fault.within(file, text))
}
