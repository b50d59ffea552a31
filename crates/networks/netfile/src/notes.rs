//! Notes on what a file says without effect.

use crate::given::{Entry, Fields, What};
use crate::shape::{APP, DEFAULTS, GROUP, IMPAIRMENTS, LINK, PART, QUEUE_KEYS, QUEUES};
use parades_config::{ConfigError, Values, look_alikes, quoted};
use parades_core::time::Time;
use parades_packet::description::{App, AppKind, Change, Event, IpVersion, Link};
use parades_packet::flow::Limit;
use parades_packet::network::{Failure, Network};
use parades_packet::protocols::{Datagrams, Requests};
use parades_packet::queue::Discipline;
use parades_packet::record::Record;
use parades_tcp::settings::EcnUse;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a note on parameters that nothing refers to.
pub(crate) fn unused_parameters(declared: &Values, file: &[Entry]) -> Option<String> {
    let mut used = BTreeSet::new();
    file.iter().for_each(|entry| collect(&entry.value.what, &mut used));
    let names = declared.iter().map(|(parameter, _)| parameter.key());
    let unused: Vec<String> = names.filter(|name| !used.contains(name)).map(quoted).collect();
    (!unused.is_empty()).then(|| format!("parameters that nothing in the file refers to: {}", unused.join(", ")))
}

/// Collects the names of parameters that a value refers to.
fn collect<'a>(what: &'a What, used: &mut BTreeSet<&'a str>) {
    match what {
        What::Text(text) => used.extend(text.strip_prefix('$')),
        What::List(list) => list.iter().for_each(|given| collect(&given.what, used)),
        What::Table(entries) => entries.iter().for_each(|entry| collect(&entry.value.what, used)),
        What::Number(_) | What::Boolean(_) | What::Date | What::Set(_) => {}
    }
}

/// Returns notes on failures before `until` that concern no flow, or that leave flows without a path.
pub(crate) fn of_failures<D: Record>(model: &Network<D>, until: Time) -> Vec<String> {
    let failures: Vec<&Failure> = model.failures().iter().filter(|failure| failure.at < until).collect();
    let name = |failure: &Failure| format!("the failure of {} at {}", model.name_of(failure), failure.at);
    let idle: Vec<&&Failure> = failures.iter().filter(|failure| failure.flows_on_path == 0).collect();
    let idle = idle.first().map(|first| match idle.len() {
        1 => format!("{} hits 0 flows: no flow that has started has a path over it", name(first)),
        count => format!(
            "{count} of {} failures hit 0 flows, first {}: no flow that has started has a path over them",
            failures.len(),
            name(first)
        ),
    });
    // The flows that a failure cuts off stay cut off at later failures, until something returns.
    let most =
        failures.iter().filter(|failure| failure.flows_cut_off > 0).rev().max_by_key(|failure| failure.flows_cut_off);
    let cut = most.map(|failure| {
        let [cut, flows] = [failure.flows_cut_off, model.flows().len() as u64];
        format!("after {}, {cut} of {flows} flows have no path", name(failure))
    });
    idle.into_iter().chain(cut).collect()
}

/// Returns notes on traffic and events that a run until `until` does not see.
pub(crate) fn of_network(apps: &[App], events: &[Event], until: Time) -> Vec<String> {
    let mut notes = Vec::new();
    let late = events.iter().filter(|event| event.at >= until).count();
    if late > 0 {
        notes.push(format!(
            "{late} of {} changes of links and nodes come too late: the run ends at {until}",
            events.len()
        ));
    }
    for App { name, flows, kind, .. } in apps {
        let stop = match kind {
            AppKind::Datagrams(Datagrams { limit: Limit::Until(stop), .. })
            | AppKind::Multicast(Datagrams { limit: Limit::Until(stop), .. })
            | AppKind::Requests(Requests { stop, .. }) => *stop,
            _ => Time::MAX,
        };
        let idle = flows.iter().filter(|flow| flow.start >= stop).count();
        if idle > 0 {
            let all = flows.len();
            notes.push(format!("{idle} of {all} flows of {} send nothing: they start after its `stop`", quoted(name)));
        }
        let late = flows.iter().filter(|flow| flow.start >= until).count();
        if late > 0 {
            notes.push(format!(
                "{late} of {} flows of {} start too late: the run ends at {until}",
                flows.len(),
                quoted(name)
            ));
        }
    }
    notes
}

/// Returns a note on failures before `until` of links or nodes that are down already. The first return ends
/// all of them.
pub(crate) fn of_overlaps(events: &[Event], nodes: &[String], links: &[Link], until: Time) -> Option<String> {
    let mut events: Vec<&Event> = events.iter().filter(|event| event.at < until).collect();
    events.sort_by_key(|event| event.at); // Stable: events of one time stay in order.
    let state = |event: &Event| match event.change {
        Change::Link { link, is_up } => Some(((false, link), is_up)),
        Change::Node { node, is_up } => Some(((true, node), is_up)),
        Change::Quality { .. } => None,
    };
    let mut down = BTreeMap::new();
    let mut overlaps = Vec::new();
    for (place, event) in events.iter().enumerate() {
        match state(event) {
            Some((what, true)) => drop(down.remove(&what)),
            Some((what, false)) => match down.get(&what) {
                Some(&since) => overlaps.push((place, what, since)),
                None => drop(down.insert(what, event.at)),
            },
            None => {}
        }
    }
    let &(place, what, since) = overlaps.first()?;
    let back = events[place..].iter().find(|event| state(event) == Some((what, true)));
    let back = match back {
        Some(event) => format!("the first return ends both, at {}", event.at),
        None => "it does not come back".to_owned(),
    };
    let name = match what {
        (true, node) => format!("the node {}", quoted(&nodes[node as usize])),
        (false, link) => format!("the link {}", quoted(&links[link as usize].name)),
    };
    let more = match overlaps.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more failures of what is down)"),
    };
    Some(format!("{name} fails at {}, while it is down since {since}: {back}{more}", events[place].at))
}

/// Returns notes on names that look alike.
pub(crate) fn of_names(nodes: &[String], links: &[Link], apps: &[App]) -> Vec<String> {
    let nodes = look_alikes("nodes", nodes.iter().map(String::as_str));
    // The names of most links are made of the names of nodes.
    let links = if nodes.is_none() { look_alikes("links", links.iter().map(|link| link.name.as_str())) } else { None };
    let apps = look_alikes("apps", apps.iter().map(|app| app.name.as_str()));
    nodes.into_iter().chain(links).chain(apps).collect()
}

/// Returns notes on classes that no queue tells apart, and on senders that understand marks which no queue
/// makes.
pub(crate) fn of_marks(links: &[Link], apps: &[App]) -> Vec<String> {
    let has_classes = links.iter().flat_map(Link::queues).any(|queue| matches!(queue, Discipline::Priority(_)));
    let has_marks = links.iter().flat_map(Link::queues).any(|queue| match queue {
        Discipline::Threshold(_) => true,
        Discipline::Red(red) => red.marks,
        Discipline::Pie(pie) => pie.marks,
        Discipline::Codel(codel) => codel.marks,
        Discipline::FairCodel(fair) => fair.codel.marks,
        Discipline::Cake(cake) => cake.marks,
        Discipline::DropTail(_) | Discipline::TokenBucket(_) | Discipline::Priority(_) => false,
        Discipline::Other(_) => true,
    });
    let mut notes = Vec::new();
    for app in apps {
        let name = quoted(&app.name);
        if app.marking.class > 0 && !has_classes {
            notes.push(format!("`class` of {name} has no effect: no link has a queue of kind `priority`"));
        }
        let (is_dctcp, asks) = match &app.kind {
            AppKind::Tcp(tcp) => (tcp.settings.algorithm.name() == "dctcp", tcp.settings.ecn == EcnUse::Ask),
            _ => (false, app.marking.is_ecn_capable),
        };
        if is_dctcp && !has_marks {
            notes.push(format!(
                "no queue marks packets, so `dctcp` of {name} reduces its window by losses alone; give a link a queue \
                 of kind `dctcp`, or one of kind `red`, `codel`, `fqcodel` or `cake`"
            ));
        } else if asks && !has_marks {
            notes.push(format!("`ecn` of {name} has no effect: no queue marks packets"));
        }
    }
    notes
}

/// Returns notes on defaults that no table needs.
pub(crate) fn of_defaults(tables: &[Fields<'_>]) -> Vec<String> {
    let Some(defaults) = tables.iter().find(|fields| fields.is_of(&DEFAULTS)) else { return Vec::new() };
    let has_links = |fields: &Fields<'_>| !fields.can_have("attach") || fields.has("attach");
    // These parts have rates and delays of their own.
    let has_own = |fields: &Fields<'_>, key: &str| {
        let kind = fields.kind.map_or("", |kind| kind.name);
        matches!(kind, "campus" | "backbone") && matches!(key, "rate" | "delay")
    };
    let is_link = |fields: &Fields<'_>| [&LINK, &GROUP, &PART].into_iter().any(|shape| fields.is_of(shape));
    let lacks = |fields: &Fields<'_>, key: &str| {
        let may_have = if key == "packet" { fields.is_of(&APP) } else { is_link(fields) && has_links(fields) };
        may_have && fields.can_have(key) && !fields.has(key) && !has_own(fields, key)
    };
    let keys = DEFAULTS.keys.iter().map(|key| key.name).filter(|key| defaults.has(key));
    let idle = keys.filter(|key| !tables.iter().any(|fields| lacks(fields, key)));
    idle.map(|key| format!("`{key}` below `[defaults]` has no effect: nothing lacks it")).collect()
}

/// Returns notes on queues and impairments that no link names.
pub(crate) fn of_definitions(tables: &[Fields<'_>]) -> Result<Vec<String>, ConfigError> {
    let mut notes = Vec::new();
    for (keys, shape) in [(&QUEUE_KEYS[..], &QUEUES), (&["impairment"], &IMPAIRMENTS)] {
        let (key, mut named) = (shape.name, BTreeSet::new());
        for (fields, key) in tables.iter().flat_map(|fields| keys.iter().map(move |key| (fields, key))) {
            if fields.can_have(key)
                && let Some(What::Text(name)) = fields.found(key)?.map(|(found, _)| found.what)
            {
                named.insert(name);
            }
        }
        for fields in tables.iter().filter(|fields| fields.is_of(shape)) {
            let name = fields.text("name")?;
            if !named.contains(&name) {
                notes.push(format!("the {key} {} has no effect: nothing names it", quoted(&name)));
            }
        }
    }
    Ok(notes)
}

/// Returns a note on the first token bucket that cannot hold a packet. It drops all such packets.
pub(crate) fn of_buckets(links: &[Link], apps: &[App], headers: u32, ip: IpVersion) -> Option<String> {
    let largest = apps.iter().filter_map(|app| Some((largest_packet(&app.kind, headers, ip)?, &app.name))).max();
    let (packet, app) = largest?;
    links.iter().flat_map(|link| link.queues().map(move |queue| (link, queue))).find_map(|(link, queue)| {
        let Discipline::TokenBucket(bucket) = queue else { return None };
        let (burst, packet) = (bucket.burst_bytes, u64::from(packet) + u64::from(link.framing.bytes()));
        (burst < packet).then(|| {
            format!(
                "the token bucket of the link {} has a burst of {burst}B: it drops packets of {} of {packet}B, if they \
                 come there",
                quoted(&link.name),
                quoted(app)
            )
        })
    })
}

/// Returns the bytes of the largest packet of an app, without options of TCP. `None` if only another crate
/// knows.
fn largest_packet(kind: &AppKind, headers: u32, ip: IpVersion) -> Option<u32> {
    match kind {
        AppKind::Datagrams(of) | AppKind::Multicast(of) => of.sizes.greatest().map(|payload| payload + headers),
        AppKind::Transfer(of) => Some(of.segment + headers),
        AppKind::Requests(of) => Some(of.request.max(of.packet) + headers),
        AppKind::Tcp(of) => Some(of.settings.mss + ip.header_bytes() + TCP_HEADER),
        AppKind::Other(_) | AppKind::Stream(_) => None,
    }
}

/// The header of TCP without options, in bytes.
const TCP_HEADER: u32 = 20;
