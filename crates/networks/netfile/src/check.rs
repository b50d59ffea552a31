//! What must hold of a description that was made by a program; a file is checked where its errors can point at the place.

use crate::description::{AppKind, Description, What};
use parades_core::event::TimerId;
use parades_core::time::{Delay, Time};
use parades_packet::source::Sending;

/// The greatest window of a transfer, in segments.
pub(crate) const WINDOW_MAX: u32 = 1 << 20;
/// The longest payload of a packet.
pub(crate) const PAYLOAD_MAX: u32 = parades_packet::flow::PAYLOAD_MAX;

/// That there can be such a network.
pub(crate) fn check(description: &Description) -> Result<(), String> {
    let Description { nodes, links, apps, events, .. } = description;
    if nodes.is_empty() {
        return Err("a network needs at least one node".into());
    }
    let count = u32::try_from(nodes.len()).ok().filter(|&count| count < u32::MAX);
    let count = count.ok_or("a network has at most 2^32 - 2 nodes")?;
    if links.len() > (u32::MAX / 4) as usize || apps.len() > 1 << 20 {
        return Err("a network has at most 2^30 links and 2^20 apps".into());
    }
    for link in links {
        let name = &link.name;
        if link.from.max(link.to) >= count || link.from == link.to {
            return Err(format!("the link `{name}` does not join two different nodes"));
        }
        if link.rate_bps == 0 || !(0.0..=1.0).contains(&link.loss) {
            return Err(format!("the link `{name}` needs a rate above zero, and a loss between 0 and 1"));
        }
    }
    let mut ends = vec![0_u32; nodes.len()];
    for app in apps {
        let name = &app.name;
        for flow in &app.flows {
            if flow.from.max(flow.to) >= count || flow.from == flow.to {
                return Err(format!("a flow of the app `{name}` does not lead from one node to another"));
            }
            ends[flow.from as usize] += 1;
            ends[flow.to as usize] += 1;
        }
        kind(&app.kind).map_err(|what| format!("the app `{name}` {what}"))?;
    }
    if let Some(node) = ends.iter().position(|&ends| ends > TimerId::MAX.0) {
        return Err(format!("at most 2^20 flows begin or end at a node, but at `{}` there are more", nodes[node]));
    }
    for event in events {
        let is_there = match event.what {
            What::Node { node, .. } => node < count,
            What::Link { link, .. } | What::Change { link, .. } => (link as usize) < links.len(),
        };
        let makes_sense = !matches!(event.what, What::Change { rate_bps: Some(0), .. })
            && !matches!(event.what, What::Change { loss: Some(loss), .. } if !(0.0..=1.0).contains(&loss));
        if !is_there || !makes_sense || event.at == Time::ZERO {
            return Err(format!(
                "the event at {} is of no node or link, changes it to what cannot be, or is at the start",
                event.at
            ));
        }
    }
    Ok(())
}

/// What makes no sense about an app, as the end of a sentence that begins with its name.
pub(crate) fn kind(kind: &AppKind) -> Result<(), String> {
    match kind {
        AppKind::Datagrams { sizes, pattern, limit } => {
            Sending { start: Time::ZERO, limit: *limit, sizes, pattern }.check()
        }
        AppKind::Transfer(transfer) => {
            if transfer.bytes == 0 || transfer.segment == 0 || transfer.segment > PAYLOAD_MAX {
                return Err(format!("needs bytes to transfer, in segments of 1 to {PAYLOAD_MAX} bytes"));
            }
            if transfer.window == 0 || transfer.window > WINDOW_MAX {
                return Err(format!("has a window of {} segments; give it 1 to {WINDOW_MAX}", transfer.window));
            }
            if transfer.bytes.div_ceil(u64::from(transfer.segment)) >= u64::from(u32::MAX / 2) {
                return Err("has 2^31 segments or more; make them larger".into());
            }
            Ok(())
        }
        AppKind::Requests(requests) => {
            let sizes = [requests.request, requests.packet];
            if sizes.iter().any(|&size| size == 0 || size > PAYLOAD_MAX) || requests.response == 0 {
                return Err(format!("needs requests and packets of 1 to {PAYLOAD_MAX} bytes, and a response"));
            }
            if requests.response.div_ceil(u64::from(requests.packet)) > 1 << 20 {
                return Err("has responses of more than 2^20 packets, which are sent at once; use a transfer".into());
            }
            if requests.timeout == Delay::ZERO {
                return Err("has a timeout of zero".into());
            }
            requests.think.check().and_then(|()| requests.service.check())
        }
    }
}
