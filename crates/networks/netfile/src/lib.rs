//! Networks described in files: nodes, links, traffic and failures, in TOML.
//!
//! This crate is a form only: a file comes to a [`Description`](parades_packet::description::Description),
//! and that to the one packet network.
//!
//! ```
//! use parades_core::prelude::*;
//! use parades_netfile::NetworkFile;
//!
//! let text = r#"
//! network = "a bottleneck that fails"     # marks the file as a network
//! until = "10s"
//! nodes = ["west", "east"]
//!
//! [parameters]
//! rate = "2Mbps"                          # parades run FILE --set rate=5Mbps
//!
//! [[group]]                               # host.0 to host.4, each with a link to west
//! name = "host"
//! size = 5
//! attach = "west"
//! rate = "100Mbps"
//! delay = "1ms"
//!
//! [[link]]
//! from = "west"
//! to = "east"
//! rate = "$rate"
//! delay = "20ms"
//! queue = "64KiB"                         # or packets: queue = 100
//!
//! [[app]]
//! name = "video"
//! kind = "constant"                       # poisson, on-off, request-response, transfer
//! from = "host.*"
//! to = "east"
//! rate = "300kbps"
//!
//! [[event]]
//! at = "4s"
//! link = "west-east"
//! state = "down"
//! for = "1s"
//! "#;
//! let file = NetworkFile::parse("net.toml".as_ref(), text.into())?.expect("it has the key `network`");
//! let built = file.build(&file.parameters(), 1)?;
//! let outcome = parades_engine::sequential::run(&built.model, RunOptions::until(built.until)).unwrap();
//! let count = |name| outcome.metrics.get(name).and_then(|metric| metric.counter()).unwrap();
//! // Five hosts send 37.5 packets of 1000 bytes a second each. Packets sent in the second without the link are lost.
//! assert_eq!(count("packets_sent"), 5 * 375);
//! assert!((185..200).contains(&count("packets_lost_down")));
//! # Ok::<(), parades_config::ConfigError>(())
//! ```
//!
//! # The contents of a file
//!
//! - Top-level keys: `network` (a title), `nodes`, `routing`, `paths`, `convergence`, `headers`, and the
//!   settings of any run, such as `until`, `seed` and `engine`.
//! - `[parameters]`: values that the command line can set. Other values refer to them as `"$name"`.
//! - `[defaults]`: for links and packets.
//! - `[[group]]`: similar nodes.
//! - `[[part]]`: nodes and links that are generated or read from a file: line, ring, star, dumbbell, torus,
//!   fat-tree, campus, random-geometric, backbone, graph, edges.
//! - `[[link]]`: links.
//! - `[[route]]`: static routes.
//! - `[[app]]`: flows, and their protocol.
//! - `[[event]]`: changes of links and nodes.
//! - `[measure]`: samples.
//!
//! The command line sets any key by its path: `--set app.video.rate=5Mbps`, `--set link.west-east.delay=5ms`,
//! `--set defaults.queue=50`. An event or a route has its place instead of a name: `--set event.1.at=3s`.
//!
//! Names of nodes, links and apps may have `*` in them if several are meant. [`schema`] describes each key
//! and its values. Editors complete files by the schema: `parades show --schema > network.json`, and
//! `#:schema network.json` as the first line of the file.
//!
//! Nodes are LPs: first those of `nodes`, then groups, then parts, then groups at several nodes, each in the
//! order of the file.
//! [`explicit`] writes a network out in full.
//!
//! # Results
//!
//! - Tables: `failures` (packets lost at each failure, flows whose path led over it, flows without a path
//!   after it), `flows` (sent, received, lost for each reason, delays with percentiles, throughput, state at
//!   the end, slowdown), `links` (utilisation, losses, longest queue), `transfers`, `requests`,
//!   `connections`. `docs/network-results.md` defines states and slowdowns.
//! - For each app: the histogram `delay_APP`, `throughput_APP`, `loss_ratio_APP`, and for transfers and
//!   requests `completion_APP` or `response_APP`.
//! - Totals, and with `[measure]` series over time.
//!
//! If packets go back (acknowledgements, responses), the losses of an app count both directions; `flows`
//! tells them apart. Throughput is of the bytes in order at the end of a transfer, or of responses at the
//! client. `delay_APP` is of the direction in which a flow begins. A packet without a path is lost at the
//! node where it is. It counts in `flows`, but at no link.
//!
//! *Read next*: [`NetworkFile`]; then `parades_packet::description`.

#![forbid(unsafe_code)]

mod apps;
mod branch;
mod draft;
mod events;
mod file;
mod flows;
mod given;
mod links;
mod mtu;
mod notes;
mod parameters;
mod parts;
mod paths;
mod queues;
mod reference;
mod routes;
mod schema;
mod shape;
mod tcp;
mod whole;
mod write;

pub use branch::{CHANGEABLE, looks_up_routes, value_at};
pub use draft::matches;
pub use file::{Built, NetworkFile};
pub use reference::reference;
pub use schema::schema;
pub use write::explicit;

/// The network of `parades run network`: two sites, a bottleneck, three kinds of traffic and a failure.
pub const EXAMPLE: &str = include_str!("../examples/two-sites.toml");
