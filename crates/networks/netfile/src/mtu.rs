//! The MTU of links: packets above that of a link on their path are refused, and TCP's segments follow it.
//!
//! Packets are never fragmented: applications should not depend on it (RFC 8900), and TCP finds the MTU of
//! its path (RFC 1191, RFC 8899) within a round trip of its first loss.

use crate::given::Fields;
use parades_config::{ConfigError, quoted};
use parades_packet::description::{AppKind, Description};
use parades_packet::network::Network;
use parades_packet::segment::SegmentRef;
use parades_topology::LinkId;
use std::collections::BTreeMap;

/// The header of TCP without options, in bytes.
const TCP_HEADER: u32 = 20;
/// A timestamp with its padding (RFC 7323, appendix A), in bytes.
const TIMESTAMP: u32 = 12;

/// Checks the packets of all apps, and lowers the largest segments of TCP apps that give none. `mtus` are
/// those of links, and `headers` the bytes of an IP packet beside the payload of a datagram.
///
/// # Errors
///
/// If an app has packets above the MTU of a link on a path of its flows, at the key of their size.
pub(crate) fn apply(
    mtus: &BTreeMap<u32, u32>,
    headers: u32,
    apps: &[Fields<'_>],
    description: &mut Description,
) -> Result<(), ConfigError> {
    if mtus.is_empty() {
        return Ok(());
    }
    // A network that cannot be made is refused later, with the reason.
    let Ok(network) = Network::<SegmentRef>::described(description.clone()) else { return Ok(()) };
    let of_link = |LinkId(link)| mtus.get(&link).map(|&mtu| (mtu, link));
    let mut least_of_flows = network.least_on_paths(of_link).into_iter();
    let ip = description.ip.header_bytes();
    for (app, fields) in description.apps.iter_mut().zip(apps) {
        let least = least_of_flows.by_ref().take(app.flows.len()).flatten().min();
        let Some((mtu, link)) = least else { continue };
        let (key, payload, headers) = match &mut app.kind {
            AppKind::Datagrams(of) | AppKind::Multicast(of) => ("packet", of.sizes.greatest().unwrap_or(0), headers),
            AppKind::Transfer(of) => ("segment", of.segment, headers),
            AppKind::Requests(of) => {
                let segment = u32::try_from(of.response).map_or(of.packet, |response| response.min(of.packet));
                let key = if of.request > segment { "request" } else { "segment" };
                (key, of.request.max(segment), headers)
            }
            AppKind::Tcp(of) => {
                let has_options = of.settings.timestamps && !of.settings.options_reduce_payload;
                let headers = ip + TCP_HEADER + if has_options { TIMESTAMP } else { 0 };
                if !fields.has("mss") {
                    of.settings.mss = of.settings.mss.min(mtu.saturating_sub(headers).max(1));
                }
                ("mss", of.settings.mss, headers)
            }
            AppKind::Other(_) | AppKind::Stream(_) => continue,
        };
        let packet = payload.saturating_add(headers);
        if packet > mtu {
            let name = quoted(&description.links[link as usize].name);
            let message = format!(
                "the app {} has IP packets of {packet}B, and the MTU of the link {name}, on a path of its flows, is {mtu}B",
                quoted(&app.name)
            );
            let most = mtu.saturating_sub(headers);
            let help = format!("set `{key} = \"{most}B\"` or less, or raise the link's `mtu`");
            return Err(fields.wrong(if fields.has(key) { key } else { "kind" }, message, help));
        }
    }
    Ok(())
}
