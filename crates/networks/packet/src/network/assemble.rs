//! The construction of a network: from flows, from groups, or from a description.

mod traffic;

use super::slots::Slots;
use super::{Layout, NetworkError, Settings, Vocabulary};
use crate::description::{
    App, AppKind, Back, Change, Description, Ends, Event, Framing, Marking, Measure, check, check_group, check_kind,
};
use crate::flow::{Flow, Group};
use crate::forwarding::Forwarding;
use crate::forwarding::fixed::statics;
use crate::forwarding::routes::SourceRoutes;
use crate::forwarding::tables::{Refusal, Tables, Turns};
use crate::forwarding::trees::Trees;
use crate::line::{Course, Line, Lines, PortRules, Presence, Quality};
use crate::on_demand::{self, OnDemand, TcpApp};
use crate::packet::{CLASSES, direction, payload_of_segment};
use crate::plane::Plane;
use crate::protocols::Tcp;
use crate::queue::Discipline;
use crate::report;
use parades_capture::address::IpVersion;
use parades_core::time::{Delay, Time};
use parades_tcp::header::BASE_BYTES;
use parades_topology::routing::{Metric, Paths, Routes, RoutingError, Rules, StaticRoutes};
use parades_topology::{Link, LinkId, NodeId, Topology};
use std::collections::BTreeSet;
use traffic::Traffic;

/// Everything that a network is made of.
struct Parts {
    topology: Topology,
    /// The loss, the rules and the framing of each link.
    links: Vec<(f64, PortRules, Framing)>,
    /// The ways back that differ.
    backs: Vec<(LinkId, Back)>,
    link_names: Vec<String>,
    apps: Vec<App>,
    events: Vec<Event>,
    metric: Metric,
    paths: Paths,
    statics: StaticRoutes,
    convergence: Delay,
    ip: IpVersion,
    headers: u32,
    measure: Measure,
    vocabulary: Vocabulary,
}

/// Makes a network of flows. `routes` are the routes of all flows, if the caller has found them already.
pub(crate) fn of_flows(
    topology: Topology,
    flows: Vec<Flow>,
    settings: Settings,
    routes: Option<&Routes>,
) -> Result<Layout, NetworkError> {
    let mut apps: Vec<App> = Vec::new();
    for (number, flow) in flows.into_iter().enumerate() {
        let (ends, datagrams) = flow.split();
        let wrong = |what| NetworkError::Flow { flow: number, what };
        if ends.source == ends.destination {
            return Err(wrong("leads from a node to itself; give it two ends".into()));
        }
        let kind = AppKind::Datagrams(datagrams);
        // Flows that send alike share their parameters.
        match apps.last_mut() {
            Some(app) if app.kind == kind => app.flows.push(ends),
            _ => {
                check_kind(&kind).map_err(wrong)?;
                apps.push(App { name: String::new(), kind, marking: Marking::default(), flows: vec![ends] });
            }
        }
    }
    of_settings(topology, apps, settings)?.assemble(routes)
}

/// Makes a network of TCP streams.
pub(super) fn of_streams(
    topology: Topology,
    tcp: Tcp,
    flows: Vec<Ends>,
    settings: Settings,
) -> Result<Layout, NetworkError> {
    let app = App { name: String::new(), kind: AppKind::Tcp(Box::new(tcp)), flows, marking: Marking::default() };
    check_kind(&app.kind).map_err(NetworkError::Parameter)?;
    if let Some(flow) = app.flows.iter().position(|ends| ends.source == ends.destination) {
        return Err(NetworkError::Flow { flow, what: "leads from a node to itself; give it two ends".into() });
    }
    of_settings(topology, vec![app], settings)?.assemble(None)
}

/// Makes a network of groups.
pub(super) fn of_groups(topology: Topology, groups: Vec<Group>, settings: Settings) -> Result<Layout, NetworkError> {
    let apps: Vec<App> = groups.into_iter().map(Group::into_app).collect();
    for (group, app) in apps.iter().enumerate() {
        check_group(app).and_then(|()| check_kind(&app.kind)).map_err(|what| NetworkError::Group { group, what })?;
    }
    of_settings(topology, apps, settings)?.assemble(None)
}

fn of_settings(topology: Topology, apps: Vec<App>, settings: Settings) -> Result<Parts, NetworkError> {
    let Settings { headers, framing, metric, paths, queue, queues, losses, sample } = settings;
    let count = topology.links().len();
    check_queue(&queue)?;
    let rules = |discipline| PortRules { discipline, ..PortRules::default() };
    let mut links = vec![(0.0, rules(queue), framing); count];
    if let Some(loss) = losses.iter().find(|loss| !(0.0..=1.0).contains(*loss)) {
        return Err(NetworkError::Parameter(format!("`losses` must lie between 0 and 1, and one is {loss}")));
    }
    links.iter_mut().zip(losses).for_each(|((of_link, ..), loss)| *of_link = loss);
    for (link, queue) in queues {
        match links.get_mut(link.index()) {
            Some((_, of_link, _)) => {
                check_queue(&queue)?;
                *of_link = rules(queue);
            }
            None => return Err(NetworkError::UnknownLink { link: link.0, links: count }),
        }
    }
    let measure = Measure { every: sample, ..Measure::default() };
    Ok(Parts {
        topology,
        links,
        backs: Vec::new(),
        link_names: Vec::new(),
        apps,
        events: Vec::new(),
        metric,
        paths,
        statics: StaticRoutes::default(),
        convergence: Delay::ZERO,
        ip: IpVersion::V4,
        headers,
        measure,
        vocabulary: Vocabulary::Flows,
    })
}

fn check_queue(queue: &Discipline) -> Result<(), NetworkError> {
    queue.check().map_err(|what| NetworkError::Parameter(format!("`queue` {what}")))
}

/// Makes the network of a description.
pub(super) fn described(description: Description) -> Result<Layout, NetworkError> {
    of_description(description)?.assemble(None)
}

/// Makes the plane of a topology, with routes to these destinations.
pub(crate) fn plane(topology: Topology, destinations: &[NodeId], settings: Settings) -> Result<Plane, NetworkError> {
    of_settings(topology, Vec::new(), settings)?.plane(destinations)
}

/// Makes the plane of a description without apps.
pub(crate) fn described_plane(description: Description, destinations: &[NodeId]) -> Result<Plane, NetworkError> {
    if let Some(app) = description.apps.first() {
        let name = &app.name;
        return Err(NetworkError::Parameter(format!("a plane has no traffic of its own; leave out the app `{name}`")));
    }
    of_description(description)?.plane(destinations)
}

/// Makes the network of a description, over which flows are sent on demand by these TCP apps.
pub(crate) fn on_demand(description: Description, tcp_apps: Vec<TcpApp>) -> Result<OnDemand, NetworkError> {
    let mut names = BTreeSet::new();
    let apps = description.apps.iter().map(|app| (&app.name, &app.kind, 0));
    if let Some((name, ..)) = apps.clone().find(|(_, kind, _)| matches!(kind, AppKind::Multicast(_))) {
        return Err(NetworkError::Parameter(format!(
            "the app `{name}` is multicast, and flows on demand lead to one node; leave it out"
        )));
    }
    let asked_apps: Vec<App> = tcp_apps.iter().map(TcpApp::app).collect();
    for (name, kind, class) in apps.chain(asked_apps.iter().map(|app| (&app.name, &app.kind, app.marking.class))) {
        let what = match check_kind(kind) {
            _ if !names.insert(name) => Err("has the name of another app; give it its own".to_owned()),
            _ if class >= CLASSES => Err(format!("has the class {class}; classes are 0 to {}", CLASSES - 1)),
            checked => checked,
        };
        what.map_err(|what| NetworkError::Parameter(format!("`{name}` {what}")))?;
    }
    of_description(description)?.on_demand(asked_apps, tcp_apps)
}

fn of_description(description: Description) -> Result<Parts, NetworkError> {
    check(&description).map_err(NetworkError::Parameter)?;
    let Description { nodes, links, apps, events, routing, paths, routes, convergence, ip, headers, measure } =
        description;
    let one_way = (0..).map(LinkId).zip(&links).filter(|(_, link)| !link.is_duplex).map(|(id, _)| id).collect();
    let ends = links.iter().map(|link| Link {
        a: NodeId(link.from),
        b: NodeId(link.to),
        rate_bps: link.rate_bps,
        delay: link.delay,
    });
    let topology = Topology::with_one_way(&nodes, ends.collect(), one_way)?;
    let statics = statics(&topology, &routes, |link| &links[link as usize].name).map_err(NetworkError::Parameter)?;
    Ok(Parts {
        topology,
        links: links.iter().map(|link| (link.loss, link.rules(), link.framing)).collect(),
        backs: (0..)
            .map(LinkId)
            .zip(&links)
            .filter_map(|(id, link)| Some((id, link.back.as_deref()?.clone())))
            .collect(),
        link_names: links.into_iter().map(|link| link.name).collect(),
        apps,
        events,
        metric: routing,
        paths,
        statics,
        convergence,
        ip,
        headers,
        measure,
        vocabulary: Vocabulary::Apps,
    })
}

impl Parts {
    fn assemble(mut self, routes: Option<&Routes>) -> Result<Layout, NetworkError> {
        let traffic = Traffic::new(std::mem::take(&mut self.apps))?;
        let (lines, presence, turns) = self.lines();
        let turns = Turns { times: &turns, convergence: self.convergence };
        let (slots, mut forwarding) = self.paths(&traffic, &lines, turns, routes)?;
        let turns = turns.all();
        let mut changes: Vec<Time> = self.events.iter().map(|event| event.at).chain(turns.iter().copied()).collect();
        changes.sort_unstable();
        changes.dedup();
        forwarding.find_failures(&self.topology, &lines, &self.events, self.convergence, || traffic.senders());
        let packet_min = traffic.least_payload(self.ip, self.headers).saturating_add(self.headers);
        let Parts { topology, link_names, ip, headers, measure, vocabulary, .. } = self;
        let Traffic { flows, app_of_flow, apps, .. } = traffic;
        let has_marks = apps.iter().any(|app| app.marking != Marking::default());
        let mut layout = Layout {
            has_marks,
            topology,
            lines,
            link_names,
            presence,
            apps,
            flows,
            app_of_flow: app_of_flow.into(),
            slots,
            forwarding,
            turns,
            changes: changes.into(),
            ip,
            headers,
            packet_min,
            measure,
            vocabulary,
            ids: report::Ids::default(),
        };
        layout.ids = report::declare(&layout).1;
        Ok(layout)
    }

    /// Returns the constants of all links over time, the absences of nodes, and the times at which routes may
    /// change.
    fn lines(&mut self) -> (Lines, Box<[Presence]>, Vec<Time>) {
        let quality = |(link, &(loss, _, framing)): (&Link, &(f64, PortRules, Framing))| Quality {
            rate_bps: link.rate_bps,
            delay: link.delay,
            loss,
            is_up: true,
            framing,
        };
        // The rules of links are large, and not needed any more.
        let links = std::mem::take(&mut self.links);
        let first: Vec<Quality> = self.topology.links().iter().zip(&links).map(quality).collect();
        let Course { changes, presence, turns } = Course::new(&self.topology, &first, &self.events);
        let changes = changes.into_iter().chain(std::iter::repeat_with(Box::default));
        let backs = self.backs(&first, &links);
        let lines = first.into_iter().zip(links).zip(changes);
        let line = |((first, (_, rules, _)), changes): ((Quality, (f64, PortRules, Framing)), _)| Line {
            first,
            policy: rules.into(),
            changes,
        };
        (Lines::new(lines.map(line), backs.into_iter()), presence, turns)
    }

    /// Returns the lines of the ways back that differ. `first` and `links` are those of the ways there.
    fn backs(&mut self, first: &[Quality], links: &[(f64, PortRules, Framing)]) -> Vec<(LinkId, Line)> {
        let backs = std::mem::take(&mut self.backs);
        if backs.is_empty() {
            return Vec::new();
        }
        let mut first = first.to_vec();
        backs.iter().for_each(|(link, back)| first[link.index()].rate_bps = back.rate_bps);
        let of_back = |event: &Event| match event.change {
            Change::Quality { link, rate_back_bps, delay, loss, .. } => {
                let change = Change::Quality { link, rate_bps: rate_back_bps, rate_back_bps: None, delay, loss };
                Event { change, ..*event }
            }
            _ => *event,
        };
        let events: Vec<Event> = self.events.iter().map(of_back).collect();
        let mut changes = Course::new(&self.topology, &first, &events).changes;
        let line = |(link, Back { queue, device, .. }): (LinkId, Back)| {
            let impairments = links[link.index()].1.impairments;
            let rules = PortRules { discipline: queue, device, impairments };
            let changes = changes.get_mut(link.index()).map(std::mem::take).unwrap_or_default();
            (link, Line { first: first[link.index()], policy: rules.into(), changes })
        };
        backs.into_iter().map(line).collect()
    }

    /// Makes a plane with tables for these destinations.
    fn plane(mut self, destinations: &[NodeId]) -> Result<Plane, NetworkError> {
        let nodes = self.topology.nodes();
        if let Some(node) = destinations.iter().find(|node| node.index() >= nodes) {
            let last = nodes - 1;
            return Err(NetworkError::Parameter(format!("there is no node {}; the last one is {last}", node.0)));
        }
        let (lines, _, turns) = self.lines();
        let turns = Turns { times: &turns, convergence: self.convergence };
        let ends: Vec<(NodeId, u32)> = destinations.iter().map(|&node| (node, 0)).collect();
        let tables = Tables::new(&self.topology, &lines, self.rules(), turns, &ends);
        let tables = tables.map_err(refusal)?;
        Ok(Plane { topology: self.topology, lines, tables, destinations: destinations.into() })
    }

    /// Makes a network on demand, with tables for all nodes.
    fn on_demand(mut self, asked_apps: Vec<App>, tcp_apps: Vec<TcpApp>) -> Result<OnDemand, NetworkError> {
        let traffic = Traffic::new(std::mem::take(&mut self.apps))?;
        let (lines, presence, turns) = self.lines();
        let turns = Turns { times: &turns, convergence: self.convergence };
        let ends: Vec<(NodeId, u32)> = self.topology.node_ids().map(|node| (node, 0)).collect();
        let tables = Tables::new(&self.topology, &lines, self.rules(), turns, &ends).map_err(refusal)?;
        self.check_paths(&traffic, |from, to, _| tables.is_reachable(&self.topology, from, to.0, Time::ZERO))?;
        let slots = traffic.slots(&self.topology)?;
        let segment = payload_of_segment(BASE_BYTES + self.ip.header_bytes(), self.headers);
        let least = match tcp_apps.is_empty() {
            true => traffic.least_payload(self.ip, self.headers),
            false => traffic.least_payload(self.ip, self.headers).min(segment),
        };
        let Parts { topology, link_names, ip, headers, measure, .. } = self;
        let Traffic { flows, app_of_flow, apps, .. } = traffic;
        let apps: Vec<App> = apps.into_iter().chain(asked_apps).collect();
        let ids = on_demand::declare(&apps).1;
        let (has_percentiles, packet_min) = (measure.percentiles, least.saturating_add(headers));
        Ok(OnDemand {
            topology,
            lines,
            link_names,
            presence,
            tables,
            apps,
            tcp_apps,
            flows,
            app_of_flow,
            slots,
            ip,
            headers,
            packet_min,
            has_percentiles,
            ids,
        })
    }

    /// Checks that each direction of each flow has a path at the start. `has_path` gets its ends and its
    /// number.
    fn check_paths(
        &self,
        traffic: &Traffic,
        has_path: impl Fn(NodeId, NodeId, u32) -> bool,
    ) -> Result<(), NetworkError> {
        for (flow, ends) in (0..).zip(&traffic.flows) {
            let ways = [(ends.source, ends.destination), (ends.destination, ends.source)];
            for (is_back, (from, to)) in [false, true].into_iter().zip(ways) {
                if traffic.sends(flow, is_back) && !has_path(from, to, direction(flow, is_back)) {
                    let [source_name, destination] = [from, to].map(|node| self.topology.name(node).to_owned());
                    let app = traffic.name_of_app(flow as usize);
                    return Err(NetworkError::NoPath { source_name, destination, app });
                }
            }
        }
        Ok(())
    }

    fn rules(&self) -> Rules<'_> {
        Rules { metric: self.metric, paths: self.paths, statics: &self.statics }
    }

    /// Finds the paths of all flows and groups, and lays out the endpoints.
    fn paths(
        &self,
        traffic: &Traffic,
        lines: &Lines,
        turns: Turns<'_>,
        known: Option<&Routes>,
    ) -> Result<(Slots, Forwarding), NetworkError> {
        let topology = &self.topology;
        let is_static = turns.times.is_empty();
        let found = match known {
            None if is_static => Some(self.routes_of(traffic)?),
            _ => None,
        };
        let of_groups = traffic.pairs_of_groups();
        let of_groups = Routes::for_flows(topology, &of_groups, self.metric)?;
        let slots = traffic.slots(topology)?;
        let slot_of = slots.by_address(traffic.flows.len());
        let routes = match known.or(found.as_ref()) {
            Some(routes) => {
                let ends = traffic
                    .directions(routes.flows())
                    .map(|(direction, source, _)| (source, slot_of[(direction ^ 1) as usize]));
                SourceRoutes::new(topology, lines, traffic.flows.len(), routes, ends)?
            }
            None => SourceRoutes::none(),
        };
        let tables = match is_static {
            true => None,
            false => Some(self.tables(traffic, lines, turns, &slot_of)?),
        };
        let members = traffic.members(&slot_of);
        let trees = Trees::new(topology, lines, &members, &of_groups, traffic.first_group())?;
        Ok((slots, Forwarding::new(routes, tables, trees)?))
    }

    /// Finds the routes of all directions.
    fn routes_of(&self, traffic: &Traffic) -> Result<Routes, NetworkError> {
        let pairs: Vec<(NodeId, NodeId)> =
            traffic.directions(usize::MAX).map(|(_, source, destination)| (source, destination)).collect();
        let names: Vec<u32> = traffic.directions(usize::MAX).map(|(direction, ..)| direction).collect();
        Routes::by_rules(&self.topology, &pairs, &names, self.rules()).map_err(|why| match (why, self.vocabulary) {
            (RoutingError::Unreachable { flow, source_name, destination }, Vocabulary::Apps) => {
                let app = traffic.name_of_app(flow % traffic.flows.len());
                NetworkError::NoPath { source_name, destination, app }
            }
            (why, _) => why.into(),
        })
    }

    /// Finds the tables for all states of the links.
    fn tables(
        &self,
        traffic: &Traffic,
        lines: &Lines,
        turns: Turns<'_>,
        slot_of: &[u32],
    ) -> Result<Tables, NetworkError> {
        let topology = &self.topology;
        // A flow without answers has the same end in both directions.
        let ends = (0..).zip(&traffic.flows).flat_map(|(flow, ends)| {
            let [there, back] = [false, true].map(|is_back| direction(flow, is_back) as usize);
            let to = (ends.destination, slot_of[back]);
            [to, if traffic.answers(flow) { (ends.source, slot_of[there]) } else { to }]
        });
        let tables = Tables::new(topology, lines, self.rules(), turns, &ends.collect::<Vec<_>>());
        let tables = tables.map_err(refusal)?;
        self.check_paths(traffic, |from, _, direction| tables.is_reachable(topology, from, direction, Time::ZERO))?;
        Ok(tables)
    }
}

/// Returns the error of tables that cannot be made.
fn refusal(refusal: Refusal) -> NetworkError {
    match refusal {
        Refusal::Routing(Time::ZERO, why) => NetworkError::Routing(why),
        Refusal::Routing(at, why) => NetworkError::Parameter(format!("after the change at {at}, {why}")),
        Refusal::TooLarge => NetworkError::Parameter(
            "the routes of all nodes, for each state of the links, take more than 4 GiB; \
             have fewer nodes, ends of flows, or different failures"
                .into(),
        ),
    }
}
