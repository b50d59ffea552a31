//! Networks described in files: nodes, links, traffic, and what befalls them, in TOML.
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
//! // Five hosts send 37.5 packets of 1000 bytes a second each. What is sent in the second without the link is lost.
//! assert_eq!(count("packets_sent"), 5 * 375);
//! assert!((185..200).contains(&count("packets_lost_down")));
//! # Ok::<(), parades_config::ConfigError>(())
//! ```
//!
//! # What a file says
//!
//! - Above all tables `network` (a title), `nodes`, `routing`, `convergence`, `headers`, and the settings of any run: `until`, `seed`, `engine`, …
//! - `[parameters]`: values to which any other refers as `"$name"`, and which the command line sets.
//! - `[defaults]` for links and packets; `[[group]]` for like nodes; `[[part]]` for what is generated or read from a file: line, ring, star,
//!   dumbbell, torus, fat-tree, campus, random-geometric, backbone, graphml, edges; `[[link]]`.
//! - `[[app]]`: who sends to whom, and how. `[[event]]`: what befalls links and nodes. `[measure]`: what is sampled.
//!
//! Names of nodes, links and apps may have `*` in them where several are meant. Each key, with what it takes and means, is in [`schema`], by which
//! editors complete it: `parades show --schema > network.json`, and `#:schema network.json` as the first line of the file.
//!
//! Nodes are LPs: first those of `nodes`, then groups, then parts, each in the order of the file. [`explicit`] writes a network out in full.
//!
//! # What is measured
//!
//! Tables `flows` (sent, received, lost and why, delays with percentiles, throughput), `links` (utilisation, losses, longest queue),
//! `transfers`, `requests`; for each app the histogram `delay_APP`, `throughput_APP`, `loss_ratio_APP` and, where it has them, `completion_APP` or
//! `response_APP`; totals; and with `[measure]` series over time.
//!
//! Where packets go back (acknowledgements, responses), losses of an app count those of both ways, as `flows` tells them apart; throughput is of what has
//! come in order at the end of a transfer, and of responses at the client; `delay_APP` is of the way there. A packet for which there is no way is lost at the
//! node where it is, and counts in `flows` but at no link.
//!
//! *Read next*: [`description`], what a file comes to; [`model`], how it is simulated.

#![forbid(unsafe_code)]

mod apps;
mod draft;
mod events;
mod file;
mod given;
mod parameters;
mod parts;
mod schema;
mod shape;
mod write;

pub use file::{Built, NetworkFile};
pub use schema::schema;
pub use write::explicit;

/// The network that `parades run network` runs: two sites, a bottleneck, three kinds of traffic and a failure.
pub const EXAMPLE: &str = include_str!("../examples/two-sites.toml");
