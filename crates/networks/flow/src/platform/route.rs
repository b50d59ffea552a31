//! Routes between hosts, through zones.

use super::{Gateways, Host, HostId, Leg, LinkId, Platform, Point, PointId, PointKind, Routing, Zone, ZoneId};
use crate::build::ZONE_DEPTH_MAX;
use parades_config::quoted;
use std::fmt;

/// The greatest number of partial routes in one search. Gateways that lead in circles would cause a search
/// without end.
const STEPS_MAX: u32 = 1 << 16;
/// The greatest depth of partial routes in one another. Each leads deeper into the zones of one end, unless
/// gateways lead in circles.
const DEPTH_MAX: usize = 2 * ZONE_DEPTH_MAX;

/// The route from one host to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// The links, in order. A link may occur twice.
    pub links: Vec<LinkId>,
    /// The latency in seconds: the sum over the links and, in zones with coordinates, the distance.
    pub latency_s: f64,
}

/// The reason why there is no route between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRoute {
    /// The sentence for users.
    pub(crate) why: String,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for NoRoute {}

/// The zone of a host, and the host's index among the zone's members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HostPosition {
    zone: ZoneId,
    index: u32,
}

/// A route between two members of one zone. Its gateways are present if the members are zones.
struct ZoneRoute {
    links: Vec<LinkId>,
    gateways: Gateways,
}

impl Platform {
    /// Returns the route from one host to another.
    ///
    /// # Errors
    ///
    /// If the platform has none.
    pub fn route(&self, from: HostId, to: HostId) -> Result<Route, NoRoute> {
        let (source, destination) = (&self.hosts[from.0 as usize], &self.hosts[to.0 as usize]);
        let mut search = Search { platform: self, steps: 0, depth: 0, latency_s: 0.0 };
        let why = match search.route(source.point, destination.point) {
            Ok(links) if !links.is_empty() || search.latency_s > 0.0 => {
                return Ok(Route { links, latency_s: search.latency_s });
            }
            Ok(_) => "no link lies between them, and no distance".to_owned(),
            Err(NoRoute { why }) => why,
        };
        Err(NoRoute {
            why: format!(
                "the platform has no route from {} to {}: {why}",
                quoted(&source.name),
                quoted(&destination.name)
            ),
        })
    }

    /// Returns the position of a host.
    pub(crate) fn position(&self, host: &Host) -> HostPosition {
        let Point { zone, index, .. } = self.point(host.point);
        HostPosition { zone: zone.expect("a host lies in a zone"), index: *index }
    }

    /// Calls `add` with each link of the route between two hosts, if both are members of the same star. The
    /// route's latency is then the sum of its links' latencies.
    ///
    /// Most platforms are stars, and there the route needs no memory of its own. Returns false, and adds
    /// nothing, if the route needs a search.
    #[inline]
    pub(crate) fn star_links(&self, from: HostPosition, to: HostPosition, mut add: impl FnMut(LinkId)) -> bool {
        let zone = self.zone(from.zone);
        let Routing::Star { star, vivaldi: false } = &zone.routing else { return false };
        if from.zone != to.zone || !zone.bypasses.is_empty() {
            return false;
        }
        let mut has_links = false;
        let found = star.links(from.index, to.index, |link| {
            has_links = true;
            add(link);
        });
        found.is_ok() && has_links
    }

    /// Returns the zones around a point, from the innermost to the outermost.
    fn zones_around(&self, point: &Point) -> Vec<ZoneId> {
        std::iter::successors(point.zone, |&zone| self.zone(zone).parent).collect()
    }
}

/// The search for one route.
struct Search<'a> {
    platform: &'a Platform,
    /// The number of partial routes up to now.
    steps: u32,
    /// The number of partial routes that are not complete, each a part of the one before.
    depth: usize,
    /// The sum of the latencies up to now, in the order in which parts are found: the part between two zones
    /// first, then the source's side, then the destination's. In another order the sum could differ in its
    /// last bit, and equal levels of the solver would no longer be equal.
    latency_s: f64,
}

impl Search<'_> {
    /// Returns the links between two points. Checks the bounds of the search.
    fn route(&mut self, from: PointId, to: PointId) -> Result<Vec<LinkId>, NoRoute> {
        self.steps += 1;
        if self.steps > STEPS_MAX || self.depth == DEPTH_MAX {
            return Err(NoRoute { why: "the gateways of its zones lead in circles".to_owned() });
        }
        self.depth += 1;
        let found = self.route_unbounded(from, to);
        self.depth -= 1;
        found
    }

    /// Returns the links between two points.
    fn route_unbounded(&mut self, from: PointId, to: PointId) -> Result<Vec<LinkId>, NoRoute> {
        let platform = self.platform;
        let (source, destination) = (platform.point(from), platform.point(to));
        let (mut source_zones, mut destination_zones) =
            (platform.zones_around(source), platform.zones_around(destination));
        let mut common = None;
        while source_zones.len() > 1 && destination_zones.len() > 1 && source_zones.last() == destination_zones.last() {
            common = source_zones.pop();
            destination_zones.pop();
        }
        let (Some(&near), Some(&far)) = (source_zones.last(), destination_zones.last()) else {
            return Err(NoRoute { why: "one of them is a zone".to_owned() });
        };
        let zone = if near == far { near } else { common.expect("all zones lie in the outermost") };
        if let Some(found) = self.bypass(zone, from, to, &source_zones, &destination_zones) {
            return found;
        }
        if near == far {
            if source.zone != Some(near) || destination.zone != Some(near) {
                let name = quoted(&platform.zone(near).name);
                return Err(NoRoute { why: format!("the one lies in the zone {name}, the other deeper within it") });
            }
            return Ok(self.zone_route(zone, from, to)?.links);
        }
        let ZoneRoute { links, gateways } =
            self.zone_route(zone, platform.zone(near).point, platform.zone(far).point)?;
        let Some((exit, entry)) = gateways else {
            return Err(NoRoute {
                why: format!("a route of the zone {} has no gateways", quoted(&platform.zone(zone).name)),
            });
        };
        let mut whole = if from == exit { Vec::new() } else { self.route(from, exit)? };
        whole.extend(links);
        if entry != to {
            whole.extend(self.route(entry, to)?);
        }
        Ok(whole)
    }

    /// Adds the latencies of links to the sum.
    fn add_latencies(&mut self, links: &[LinkId]) {
        for link in links {
            self.latency_s += self.platform.links[link.0 as usize].latency;
        }
    }

    /// Returns the route by a bypass, if the first common zone declares one for these points or for zones
    /// around them.
    fn bypass(
        &mut self,
        zone: ZoneId,
        from: PointId,
        to: PointId,
        source_zones: &[ZoneId],
        destination_zones: &[ZoneId],
    ) -> Option<Result<Vec<LinkId>, NoRoute>> {
        let platform = self.platform;
        let bypasses = &platform.zone(zone).bypasses;
        if bypasses.is_empty() {
            return None;
        }
        let is_member = |point: PointId| platform.point(point).zone == Some(zone);
        if is_member(from) && is_member(to) {
            let leg = bypasses.get(&(from, to))?;
            self.add_latencies(&leg.links);
            return Some(Ok(leg.links.to_vec()));
        }
        // The innermost pair of zones wins: pairs are tried by the outer of the two zones, then by the inner.
        let pair = |source: usize, destination: usize| {
            let source = platform.zone(*source_zones.get(source)?).point;
            let destination = platform.zone(*destination_zones.get(destination)?).point;
            bypasses.get(&(source, destination))
        };
        let depth = source_zones.len().max(destination_zones.len());
        let found = (0..depth).find_map(|outer| {
            let uneven = (0..outer).find_map(|inner| pair(inner, outer).or_else(|| pair(outer, inner)));
            uneven.or_else(|| pair(outer, outer))
        });
        let leg = found?;
        let (exit, entry) = leg.gateways?;
        Some(self.route_by_bypass(from, leg, exit, entry, to))
    }

    /// Returns a bypass between zones, with the routes to its gateways.
    ///
    /// If an end is its own gateway, its part is the route to itself, or empty if there is none.
    fn route_by_bypass(
        &mut self,
        from: PointId,
        leg: &Leg,
        exit: PointId,
        entry: PointId,
        to: PointId,
    ) -> Result<Vec<LinkId>, NoRoute> {
        let or_empty =
            |found: Result<Vec<LinkId>, NoRoute>, same: bool| if same { Ok(found.unwrap_or_default()) } else { found };
        let mut whole = or_empty(self.route(from, exit), from == exit)?;
        self.add_latencies(&leg.links);
        whole.extend_from_slice(&leg.links);
        whole.extend(or_empty(self.route(entry, to), entry == to)?);
        Ok(whole)
    }

    /// Returns the route between two members of a zone.
    fn zone_route(&mut self, zone_id: ZoneId, from: PointId, to: PointId) -> Result<ZoneRoute, NoRoute> {
        let platform = self.platform;
        let zone = platform.zone(zone_id);
        let (source, destination) = (platform.point(from), platform.point(to));
        let (first, second) = (source.index, destination.index);
        let unknown = |why: &str| NoRoute {
            why: format!(
                "the zone {} knows none from {} to {}{why}",
                quoted(&zone.name),
                quoted(&source.name),
                quoted(&destination.name)
            ),
        };
        let mut links = Vec::new();
        let mut gateways = None;
        match &zone.routing {
            Routing::None => return Err(unknown(": it has no routing")),
            Routing::Full(table) => {
                let is_zone = |point: &Point| matches!(point.kind, PointKind::Zone(_));
                let Some(leg) = table.get(first, second) else {
                    // As in SimGrid, the way to a gateway without a declared route takes no links. Only the
                    // route as a whole must have some.
                    let is_part = self.depth > 1 && !is_zone(source) && !is_zone(destination);
                    return if is_part { Ok(ZoneRoute { links, gateways }) } else { Err(unknown("")) };
                };
                links.extend_from_slice(&leg.links);
                gateways = leg.gateways;
            }
            Routing::Floyd(floyd) => {
                let legs = floyd.legs(first, second).ok_or_else(|| unknown(""))?;
                let legs: Vec<&Leg> = legs.iter().rev().filter_map(|&(a, b)| floyd.table.get(a, b)).collect();
                return self.join_legs(zone, &legs, false);
            }
            Routing::Dijkstra(dijkstra) => {
                let legs = dijkstra.legs(first, second).ok_or_else(|| unknown(""))?;
                let legs = legs.iter().rev().map(|&(a, b)| dijkstra.table.get(a, b));
                let legs: Vec<&Leg> = legs.collect::<Option<_>>().ok_or_else(|| unknown(""))?;
                return self.join_legs(zone, &legs, true);
            }
            Routing::Star { star, vivaldi } => {
                star.links(first, second, |link| links.push(link)).map_err(|why| unknown(&format!(": {why}")))?;
                if *vivaldi {
                    self.add_latencies(&links);
                    self.latency_s += distance_s(source, destination).map_err(|why| unknown(&why))?;
                    return Ok(ZoneRoute { links, gateways });
                }
            }
            Routing::Torus(torus) => torus.links(first, second, &mut links)?,
            Routing::FatTree(tree) => tree.links(first, second, &mut links)?,
            Routing::Dragonfly(dragonfly) => dragonfly.links(first, second, &mut links)?,
        }
        self.add_latencies(&links);
        Ok(ZoneRoute { links, gateways })
    }

    /// Joins legs into a route. Between the gateways of two successive legs, it adds the route from one to
    /// the other.
    ///
    /// Latencies are added in the order of the legs or, if `backwards`, from the last leg to the first.
    fn join_legs(&mut self, zone: &Zone, legs: &[&Leg], backwards: bool) -> Result<ZoneRoute, NoRoute> {
        let mut parts: Vec<Vec<LinkId>> = Vec::new();
        let between = |index: usize| {
            let (before, leg) = (legs.get(index.checked_sub(1)?)?, legs[index]);
            let (entry, exit) = (before.gateways?.1, leg.gateways?.0);
            (zone.holds_zones && entry != exit).then_some((entry, exit))
        };
        for step in 0..legs.len() {
            let index = if backwards { legs.len() - 1 - step } else { step };
            let mut part = Vec::new();
            if backwards {
                self.add_latencies(&legs[index].links);
            }
            if let Some((entry, exit)) = between(index) {
                part = self.route(entry, exit)?;
            }
            if !backwards {
                self.add_latencies(&legs[index].links);
            }
            part.extend_from_slice(&legs[index].links);
            parts.push(part);
        }
        if backwards {
            parts.reverse();
        }
        let ends = legs.first().zip(legs.last());
        let gateways = ends.and_then(|(first, last)| Some((first.gateways?.0, last.gateways?.1)));
        Ok(ZoneRoute { links: parts.concat(), gateways })
    }
}

/// Returns the latency between two points with Vivaldi coordinates, in seconds: their distance in the plane
/// plus both heights.
fn distance_s(from: &Point, to: &Point) -> Result<f64, String> {
    let of = |point: &Point| point.coordinates.ok_or_else(|| format!(": {} has no coordinates", quoted(&point.name)));
    let ([x, y, height], [other_x, other_y, other_height]) = (of(from)?, of(to)?);
    let plane = (x - other_x) * (x - other_x) + (y - other_y) * (y - other_y);
    Ok((plane.sqrt() + height.abs() + other_height.abs()) / 1000.0)
}
