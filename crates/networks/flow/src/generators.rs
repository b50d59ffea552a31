//! Generated platforms.

use crate::build::NUMBERS_MAX;
use crate::platform::Platform;
use crate::{toml_form, xml};
use parades_config::ConfigError;
use parades_topology::{LinkId, Topology};
use std::fmt::Write;
use std::path::Path;

/// The greatest number of hosts of [`star`].
pub const STAR_HOSTS_MAX: u32 = NUMBERS_MAX;

/// Returns a star of hosts, as in the published measurements of Chord in SimGrid.
///
/// Each host has a link up and a link down, of 125 MB/s and 50 µs. All routes cross a backbone of 2.25 GB/s
/// and 500 µs.
///
/// ```
/// use parades_flow::generators::star;
/// use parades_flow::platform::HostId;
/// let platform = star(1000)?;
/// let route = platform.route(HostId(3), HostId(999)).unwrap();
/// assert_eq!((platform.hosts().len(), route.links.len()), (1000, 3));
/// assert!((route.latency_s - 600e-6).abs() < 1e-12);
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// If `hosts` is zero or greater than [`STAR_HOSTS_MAX`].
pub fn star(hosts: u32) -> Result<Platform, ConfigError> {
    let last = hosts.checked_sub(1).ok_or_else(|| ConfigError::new("a star needs a host"))?;
    let text = format!(
        r#"<platform version="4.1"><cluster id="star" prefix="host-" suffix="" radical="0-{last}" speed="1Gf" bw="125MBps" lat="50us"
           bb_bw="2.25GBps" bb_lat="500us"/></platform>"#
    );
    xml::parse(Path::new("the built-in star"), text.as_bytes())
}

/// Returns clusters without a route between them. The hosts of a cluster follow those of the one before. Each
/// has a link up and a link down, of 125 MB/s and 50 µs; the routes of a cluster cross its backbone, of 1.25
/// GB/s and 100 µs.
///
/// ```
/// use parades_flow::generators::clusters;
/// use parades_flow::platform::HostId;
/// let platform = clusters(3, 10)?;
/// assert_eq!((platform.hosts().len(), platform.parts().number()), (30, 3));
/// assert!(platform.route(HostId(0), HostId(9)).is_ok() && platform.route(HostId(9), HostId(10)).is_err());
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// If there are no hosts, or more than [`STAR_HOSTS_MAX`].
pub fn clusters(clusters: u32, hosts: u32) -> Result<Platform, ConfigError> {
    let last = hosts.checked_sub(1).ok_or_else(|| ConfigError::new("a cluster needs a host"))?;
    if u64::from(clusters) * u64::from(hosts) > u64::from(STAR_HOSTS_MAX) {
        let message = format!("{clusters} clusters of {hosts} hosts have more hosts than {STAR_HOSTS_MAX}");
        return Err(ConfigError::new(message));
    }
    let mut text = String::from("<platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">");
    for cluster in 0..clusters {
        let _ = write!(
            text,
            r#"<cluster id="c{cluster}" prefix="c{cluster}-" suffix="" radical="0-{last}" speed="1Gf" bw="125MBps" lat="50us"
               bb_bw="1.25GBps" bb_lat="100us"/>"#
        );
    }
    text.push_str("</zone></platform>");
    xml::parse(Path::new("the built-in clusters"), text.as_bytes())
}

/// Returns a platform with the nodes and the links of a topology. Host `i` is node `i`, and is called `n0`,
/// `n1` and so on. Link `i` is `l0_UP` from `a` to `b` and `l0_DOWN` from `b` to `a`, which do not share; a
/// link of one way is `l0`. A flow takes a route of the fewest links.
///
/// ```
/// use parades_core::time::Delay;
/// use parades_flow::generators::of_topology;
/// use parades_flow::platform::HostId;
/// use parades_topology::{Link, NodeId, Topology};
/// let link = |a, b| Link { a: NodeId(a), b: NodeId(b), rate_bps: 8_000_000_000, delay: Delay::from_us(5) };
/// let platform = of_topology(&Topology::new(&["left", "switch", "right"], vec![link(0, 1), link(1, 2)])?)?;
/// let route = platform.route(HostId(0), HostId(2)).unwrap();
/// let links: Vec<_> = route.links.iter().map(|link| &platform.links()[link.0 as usize]).collect();
/// assert_eq!(links.iter().map(|link| &*link.name).collect::<Vec<_>>(), ["l0_UP", "l1_UP"]);
/// assert_eq!(links[0].bandwidth, 1e9); // bytes per second
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If several links join two nodes, since a route names one of them.
pub fn of_topology(topology: &Topology) -> Result<Platform, ConfigError> {
    let mut text = String::from("[zone]\nname = \"world\"\nrouting = \"Dijkstra\"\n");
    for node in topology.node_ids() {
        let _ = write!(text, "[[zone.host]]\nname = \"n{}\"\nspeed = \"1f\"\n", node.0);
    }
    let sides =
        |id: u32| if topology.is_one_way(LinkId(id)) { ("SHARED", "", false) } else { ("SPLITDUPLEX", ":UP", true) };
    for (id, link) in (0..).zip(topology.links()) {
        let (sharing, ..) = sides(id);
        let (rate, latency) = (link.rate_bps, link.delay.as_secs_f64());
        let _ = write!(
            text,
            "[[zone.link]]\nname = \"l{id}\"\nbandwidth = \"{rate}bps\"\nlatency = \"{latency}s\"\n\
             sharing = \"{sharing}\"\n"
        );
    }
    for (id, link) in (0..).zip(topology.links()) {
        let (_, side, symmetrical) = sides(id);
        let _ = write!(
            text,
            "[[zone.route]]\nfrom = \"n{}\"\nto = \"n{}\"\nlinks = [\"l{id}{side}\"]\nsymmetrical = {symmetrical}\n",
            link.a.0, link.b.0
        );
    }
    toml_form::parse(Path::new("a topology"), text.as_bytes())
}
