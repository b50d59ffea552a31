//! Generated platforms.

use crate::build::NUMBERS_MAX;
use crate::platform::Platform;
use crate::xml;
use parades_config::ConfigError;
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
