//! The rules that a network must keep, whoever describes it.

use super::{App, AppKind, Change, Description, Ends, Link, Measure, StaticRoute, Via};
use crate::packet::{CLASSES, PAYLOAD_MAX};
use parades_core::time::{Delay, Time};
use std::collections::BTreeSet;

/// The greatest window of a transfer, in segments.
pub const WINDOW_MAX: u32 = 1 << 20;

/// Checks a description, except for the rules that the topology checks.
pub(crate) fn check(description: &Description) -> Result<(), String> {
    let Description { nodes, links, apps, events, routes, .. } = description;
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
        if link.back.as_ref().is_some_and(|back| back.rate_bps == 0 || !link.is_duplex) {
            return Err(format!("the link `{name}` has a way back, which needs a rate above zero and a duplex link"));
        }
        if link.rate_bps == 0 || !(0.0..=1.0).contains(&link.loss) {
            return Err(format!("the link `{name}` needs a rate above zero, and a loss between 0 and 1"));
        }
    }
    check_links(links)?;
    for StaticRoute { at, to, via } in routes {
        let is_known = match *via {
            Via::Link(link) => (link as usize) < links.len(),
            Via::Node(node) => node < count,
        };
        if !is_known || at.iter().chain(to).any(|&node| node >= count) {
            return Err("a static route names a node or a link that does not exist".into());
        }
    }
    for app in apps {
        let name = &app.name;
        if app.marking.class >= CLASSES {
            let class = app.marking.class;
            return Err(format!("the app `{name}` has the class {class}; classes are 0 to {}", CLASSES - 1));
        }
        for flow in &app.flows {
            if flow.source.max(flow.destination).0 >= count || flow.source == flow.destination {
                return Err(format!("a flow of the app `{name}` does not lead from one node to another"));
            }
        }
        check_kind(&app.kind).and_then(|()| check_group(app)).map_err(|what| format!("the app `{name}` {what}"))?;
    }
    for event in events {
        let is_known = match event.change {
            Change::Node { node, .. } => node < count,
            Change::Link { link, .. } | Change::Quality { link, .. } => (link as usize) < links.len(),
        };
        let has_back = |link: u32| links.get(link as usize).is_some_and(|link| link.back.is_some());
        let is_possible = !matches!(event.change, Change::Quality { rate_bps: Some(0), .. })
            && !matches!(event.change, Change::Quality { link, rate_back_bps: Some(rate), .. } if rate == 0 || !has_back(link))
            && !matches!(event.change, Change::Quality { loss: Some(loss), .. } if !(0.0..=1.0).contains(&loss));
        if !is_known || !is_possible || event.at == Time::ZERO {
            return Err(format!(
                "the event at {} is of no node or link, changes it to what cannot be, or is at the start",
                event.at
            ));
        }
    }
    check_measure(description)
}

/// Checks that everything that is sampled one by one exists.
fn check_measure(Description { links, apps, measure, .. }: &Description) -> Result<(), String> {
    let Measure { links: of_links, apps: of_apps, flows: of_flows, .. } = measure;
    let flows = apps.iter().map(|app| app.flows.len()).sum();
    for (noun, sampled, count) in
        [("links", of_links, links.len()), ("apps", of_apps, apps.len()), ("flows", of_flows, flows)]
    {
        let mut seen = BTreeSet::new();
        if !sampled.iter().all(|&number| (number as usize) < count && seen.insert(number)) {
            return Err(format!("{noun} that exist are sampled one by one, each once; there are {count}"));
        }
    }
    Ok(())
}

/// Checks the queues and the impairments of links.
fn check_links(links: &[Link]) -> Result<(), String> {
    for link in links {
        let Link { name, impairments, .. } = link;
        for queue in link.queues() {
            queue.check().map_err(|what| format!("the queue of the link `{name}` {what}"))?;
        }
        impairments.check().map_err(|what| format!("the link `{name}` {what}"))?;
    }
    Ok(())
}

/// Checks the receivers of a multicast app. The error is the end of a sentence that begins with the app's
/// name.
pub(crate) fn check_group(app: &App) -> Result<(), String> {
    if !matches!(app.kind, AppKind::Multicast(_)) {
        return Ok(());
    }
    let Some(first) = app.flows.first() else { return Err("has no receivers; give it some".into()) };
    if app.flows.iter().any(|flow| (flow.source, flow.start) != (first.source, first.start)) {
        return Err("has flows of several sources or starts; a multicast app has one of each".into());
    }
    let mut seen = BTreeSet::from([first.source]);
    match app.flows.iter().find(|flow| !seen.insert(flow.destination)) {
        Some(Ends { destination, .. }) => {
            Err(format!("leads to node {} twice, or from it to itself; name each node once", destination.0))
        }
        None => Ok(()),
    }
}

/// Checks the parameters of a protocol.
///
/// # Errors
///
/// The end of a sentence that begins with the app's name.
pub fn check_kind(kind: &AppKind) -> Result<(), String> {
    match kind {
        AppKind::Datagrams(datagrams) | AppKind::Multicast(datagrams) => datagrams.check(),
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
        AppKind::Tcp(tcp) => tcp.check(),
        AppKind::Other(other) => other.check(),
        AppKind::Stream(stream) => stream.check(),
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
