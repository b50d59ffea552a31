//! Declared routes and bypasses.

use super::{Builder, Direction};
use crate::platform::{Gateways, Leg, LinkId, PointId, PointKind, Routing, ZoneId};
use parades_config::Fault;
use parades_config::quoted;

/// The links of a declared route, in both directions.
#[derive(Clone, Debug, Default)]
struct RouteLinks {
    forward: Box<[LinkId]>,
    /// In reverse order, with the opposite direction of each split-duplex link.
    backward: Box<[LinkId]>,
}

impl Builder {
    /// Looks up the links of a route.
    fn resolve_links(&self, links: &[(String, Direction)]) -> Result<RouteLinks, Fault> {
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        for (name, direction) in links {
            let (link, reverse) = match direction {
                Direction::None => {
                    let id = self.single_link(name)?;
                    (id, id)
                }
                direction => {
                    let &(up, down) = self.duplex.get(name.as_str()).ok_or_else(|| {
                        let message = format!("there is no link {} of two directions before this", quoted(name));
                        self.wrong(message, "leave the direction out, or declare the link as SPLITDUPLEX")
                    })?;
                    if *direction == Direction::Up { (up, down) } else { (down, up) }
                }
            };
            forward.push(link);
            backward.push(reverse);
        }
        backward.reverse();
        Ok(RouteLinks { forward: forward.into(), backward: backward.into() })
    }

    /// Looks up the ends, gateways and links of a declared route. Returns the ends, and the leg in each
    /// direction.
    fn resolve(
        &self,
        (source, destination): (&str, &str),
        gateways: Option<(&str, &str)>,
        links: &[(String, Direction)],
    ) -> Result<((PointId, PointId), Leg, Leg), Fault> {
        let ends = (self.named(source)?, self.named(destination)?);
        let gateways = self.gateways(ends, gateways)?;
        let reverse_gateways = gateways.map(|(exit, entry)| (entry, exit));
        let RouteLinks { forward, backward } = self.resolve_links(links)?;
        Ok((ends, Leg { links: forward, gateways }, Leg { links: backward, gateways: reverse_gateways }))
    }

    fn check_links(&self, leg: &Leg) -> Result<(), Fault> {
        if leg.links.is_empty() {
            return Err(self.wrong("the route has no link", "give it at least one"));
        }
        Ok(())
    }

    /// Adds a route to the innermost open zone: between hosts and routers, or with gateways between zones.
    pub(crate) fn route(
        &mut self,
        ends: (&str, &str),
        gateways: Option<(&str, &str)>,
        links: &[(String, Direction)],
        symmetrical: bool,
    ) -> Result<(), Fault> {
        let zone = self.zone()?;
        let ((source, destination), forward, backward) = self.resolve(ends, gateways, links)?;
        for member in [source, destination] {
            if self.platform.point(member).zone != Some(zone) {
                let name = quoted(&self.platform.point(member).name);
                let message = format!("{name} lies in another zone than this route");
                return Err(self.wrong(message, "a zone's routes are between its own members"));
            }
        }
        self.check_links(&forward)?;
        let (from, to) = (self.platform.point(source).index, self.platform.point(destination).index);
        self.add_leg(zone, (from, to), forward)?;
        if symmetrical && from != to {
            self.add_leg(zone, (to, from), backward)?;
        }
        Ok(())
    }

    /// Looks up the gateways of a route between zones, and checks that they lie in these zones.
    ///
    /// Returns `None` for a route between hosts and routers.
    fn gateways(&self, ends: (PointId, PointId), names: Option<(&str, &str)>) -> Result<Gateways, Fault> {
        let is_zone = |point: PointId| matches!(self.platform.point(point).kind, PointKind::Zone(_));
        let Some((exit, entry)) = names else {
            if let Some(zone) = [ends.0, ends.1].into_iter().find(|&end| is_zone(end)) {
                let message =
                    format!("{} is a zone, which a route cannot end in", quoted(&self.platform.point(zone).name));
                return Err(self.wrong(message, "use <zoneRoute>, with gateways"));
            }
            return Ok(None);
        };
        let gateways = (self.named(exit)?, self.named(entry)?);
        for (end, gateway) in [(ends.0, gateways.0), (ends.1, gateways.1)] {
            let PointKind::Zone(zone) = self.platform.point(end).kind else {
                let message = format!("{} is no zone", quoted(&self.platform.point(end).name));
                return Err(self.wrong(message, "use <route>, without gateways"));
            };
            let gateway_point = self.platform.point(gateway);
            let within = std::iter::successors(gateway_point.zone, |&zone| self.platform.zone(zone).parent)
                .any(|outer| outer == zone);
            if is_zone(gateway) || !within {
                let (gateway, zone) = (quoted(&gateway_point.name), quoted(&self.platform.point(end).name));
                let message = format!("the gateway {gateway} is not a host or router within the zone {zone}");
                return Err(self.wrong(message, "name one that lies in it"));
            }
        }
        Ok(Some(gateways))
    }

    /// Adds a leg to the table of a zone.
    fn add_leg(&mut self, zone: ZoneId, (from, to): (u32, u32), leg: Leg) -> Result<(), Fault> {
        let links = leg.links.len();
        let zone = &mut self.platform.zones[zone.0 as usize];
        let added = match &mut zone.routing {
            Routing::Full(table) => table.add(from, to, leg),
            Routing::Floyd(floyd) => floyd.table.add(from, to, leg),
            Routing::Dijkstra(dijkstra) => {
                let added = dijkstra.table.add(from, to, leg);
                if added {
                    dijkstra.connect(from, to, links);
                }
                added
            }
            _ => {
                let message = format!("the zone {} takes no routes", quoted(&zone.name));
                return Err(self.wrong(message, "only those with routing Full, Floyd or Dijkstra do"));
            }
        };
        match added {
            true => Ok(()),
            false => Err(self.wrong(
                "there is a route between these two before this one",
                "delete one; routes are symmetrical unless they say otherwise",
            )),
        }
    }

    /// Adds a bypass to the innermost open zone: a route that replaces the route of the zone's routing.
    pub(crate) fn bypass(
        &mut self,
        ends: (&str, &str),
        gateways: Option<(&str, &str)>,
        links: &[(String, Direction)],
        symmetrical: bool,
    ) -> Result<(), Fault> {
        let zone = self.zone()?;
        let ((source, destination), forward, backward) = self.resolve(ends, gateways, links)?;
        self.check_links(&forward)?;
        let legs = [((source, destination), forward), ((destination, source), backward)];
        let count = if symmetrical && source != destination { 2 } else { 1 };
        let bypasses = &mut self.platform.zones[zone.0 as usize].bypasses;
        for (ends, leg) in legs.into_iter().take(count) {
            if bypasses.insert(ends, leg).is_some() {
                return Err(self.wrong("there is a bypass between these two before this one", "delete one"));
            }
        }
        Ok(())
    }
}
