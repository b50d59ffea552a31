//! Routes through zones.

use super::{Gateways, Host, HostId, Leg, LinkId, Platform, Point, PointId, Routing, Zone, ZoneId};
use crate::build::ZONE_DEPTH_MAX;
use parades_config::quoted;
use std::fmt;

/// What a route may cost to be found: gateways that lead in circles would cost without end.
const STEPS_MAX: u32 = 1 << 16;
/// How many routes may be parts of one another. Each leads deeper into the zones of one of its ends, unless
/// gateways lead in circles.
const DEPTH_MAX: usize = 2 * ZONE_DEPTH_MAX;

/// The way from one host to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// The links, in order. One may occur twice.
    pub links: Vec<LinkId>,
    /// Seconds: the latencies of the links, and in zones with coordinates the distance.
    pub latency_s: f64,
}

/// Why there is no route between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRoute {
    /// The sentence.
    pub(crate) why: String,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for NoRoute {}

/// Where a host lies: in which zone, and its place among that zone's members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seat {
    zone: ZoneId,
    index: u32,
}

/// The links of a way within one zone, and where it begins and ends if that is between zones.
struct Local {
    links: Vec<LinkId>,
    gateways: Gateways,
}

impl Platform {
    /// The route from one host to another.
    ///
    /// # Errors
    ///
    /// Where the platform has none.
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

    /// Where a host lies.
    pub(crate) fn seat(&self, host: &Host) -> Seat {
        let Point { zone, index, .. } = self.point(host.point);
        Seat { zone: zone.expect("a host lies in a zone"), index: *index }
    }

    /// Tells the links of the route from one host to another where both are members of one star, as in most
    /// platforms: so the route costs no memory of its own. Its latency is the sum of theirs. None, and false,
    /// where it takes a search.
    #[inline]
    pub(crate) fn star_links(&self, from: Seat, to: Seat, mut add: impl FnMut(LinkId)) -> bool {
        let zone = self.zone(from.zone);
        let Routing::Star { star, vivaldi: false } = &zone.routing else { return false };
        if from.zone != to.zone || !zone.bypasses.is_empty() {
            return false;
        }
        let mut some = false;
        let told = star.links(from.index, to.index, |link| {
            some = true;
            add(link);
        });
        told.is_ok() && some
    }

    /// The zones that a point lies in, from the innermost out.
    fn path(&self, point: &Point) -> Vec<ZoneId> {
        std::iter::successors(point.zone, |&zone| self.zone(zone).parent).collect()
    }
}

/// The search for one route.
struct Search<'a> {
    platform: &'a Platform,
    steps: u32,
    /// How many routes are being found, each a part of the one before.
    depth: usize,
    /// The sum of what was found so far, in the order in which it was found: between two zones first, then on
    /// this side, then on the other. A sum in another order would differ in its last bit, and levels that are
    /// equal would not be any more.
    latency_s: f64,
}

impl Search<'_> {
    fn route(&mut self, from: PointId, to: PointId) -> Result<Vec<LinkId>, NoRoute> {
        self.steps += 1;
        if self.steps > STEPS_MAX || self.depth == DEPTH_MAX {
            return Err(NoRoute { why: "the gateways of its zones lead in circles".to_owned() });
        }
        self.depth += 1;
        let found = self.part(from, to);
        self.depth -= 1;
        found
    }

    /// The route between two points, within the bounds.
    fn part(&mut self, from: PointId, to: PointId) -> Result<Vec<LinkId>, NoRoute> {
        let platform = self.platform;
        let (source, destination) = (platform.point(from), platform.point(to));
        let (mut outwards, mut inwards) = (platform.path(source), platform.path(destination));
        let mut common = None;
        while outwards.len() > 1 && inwards.len() > 1 && outwards.last() == inwards.last() {
            common = outwards.pop();
            inwards.pop();
        }
        let (Some(&near), Some(&far)) = (outwards.last(), inwards.last()) else {
            return Err(NoRoute { why: "one of them is a zone".to_owned() });
        };
        let zone = if near == far { near } else { common.expect("all zones lie in the outermost") };
        if let Some(found) = self.bypass(zone, (from, to), (&outwards, &inwards)) {
            return found;
        }
        if near == far {
            if source.zone != Some(near) || destination.zone != Some(near) {
                let name = quoted(&platform.zone(near).name);
                return Err(NoRoute { why: format!("the one lies in the zone {name}, the other deeper within it") });
            }
            return Ok(self.local(zone, from, to)?.links);
        }
        let Local { links, gateways } = self.local(zone, platform.zone(near).point, platform.zone(far).point)?;
        let Some((leaves, enters)) = gateways else {
            return Err(NoRoute {
                why: format!("a route of the zone {} has no gateways", quoted(&platform.zone(zone).name)),
            });
        };
        let mut whole = if from == leaves { Vec::new() } else { self.route(from, leaves)? };
        whole.extend(links);
        if enters != to {
            whole.extend(self.route(enters, to)?);
        }
        Ok(whole)
    }

    /// Adds the latencies of links.
    fn cross(&mut self, links: &[LinkId]) {
        for link in links {
            self.latency_s += self.platform.links[link.0 as usize].latency;
        }
    }

    /// A route given in the zone that both points lie in, which goes before all others.
    fn bypass(
        &mut self,
        zone: ZoneId,
        (from, to): (PointId, PointId),
        (outwards, inwards): (&[ZoneId], &[ZoneId]),
    ) -> Option<Result<Vec<LinkId>, NoRoute>> {
        let platform = self.platform;
        let bypasses = &platform.zone(zone).bypasses;
        if bypasses.is_empty() {
            return None;
        }
        let within = |point: PointId| platform.point(point).zone == Some(zone);
        if within(from) && within(to) {
            let leg = bypasses.get(&(from, to))?;
            self.cross(&leg.links);
            return Some(Ok(leg.links.to_vec()));
        }
        // The pair of zones around the two that is innermost: by the outer of the two, then by the inner.
        let pair = |source: usize, destination: usize| {
            let source = platform.zone(*outwards.get(source)?).point;
            let destination = platform.zone(*inwards.get(destination)?).point;
            bypasses.get(&(source, destination))
        };
        let reach = outwards.len().max(inwards.len());
        let found = (0..reach).find_map(|outer| {
            let uneven = (0..outer).find_map(|inner| pair(inner, outer).or_else(|| pair(outer, inner)));
            uneven.or_else(|| pair(outer, outer))
        });
        let leg = found?;
        let (leaves, enters) = leg.gateways?;
        Some(self.around(from, leaves, leg, enters, to))
    }

    /// A bypass between zones, with the ways to its gateways. Where an end is its own gateway, the way is
    /// that to itself, if it has one.
    fn around(
        &mut self,
        from: PointId,
        leaves: PointId,
        leg: &Leg,
        enters: PointId,
        to: PointId,
    ) -> Result<Vec<LinkId>, NoRoute> {
        let own =
            |found: Result<Vec<LinkId>, NoRoute>, same: bool| if same { Ok(found.unwrap_or_default()) } else { found };
        let mut whole = own(self.route(from, leaves), from == leaves)?;
        self.cross(&leg.links);
        whole.extend_from_slice(&leg.links);
        whole.extend(own(self.route(enters, to), enters == to)?);
        Ok(whole)
    }

    /// The way between two members of a zone.
    fn local(&mut self, zone_id: ZoneId, from: PointId, to: PointId) -> Result<Local, NoRoute> {
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
                let leg = table.get(first, second).ok_or_else(|| unknown(""))?;
                links.extend_from_slice(&leg.links);
                gateways = leg.gateways;
            }
            Routing::Floyd(floyd) => {
                let legs = floyd.legs(first, second).ok_or_else(|| unknown(""))?;
                let legs: Vec<&Leg> = legs.iter().rev().filter_map(|&(a, b)| floyd.table.get(a, b)).collect();
                return self.along(zone, &legs, false);
            }
            Routing::Dijkstra(dijkstra) => {
                let legs = dijkstra.legs(first, second).ok_or_else(|| unknown(""))?;
                let legs = legs.iter().rev().map(|&(a, b)| dijkstra.table.get(a, b));
                let legs: Vec<&Leg> = legs.collect::<Option<_>>().ok_or_else(|| unknown(""))?;
                return self.along(zone, &legs, true);
            }
            Routing::Star { star, vivaldi } => {
                star.links(first, second, |link| links.push(link)).map_err(|why| unknown(&format!(": {why}")))?;
                if *vivaldi {
                    self.cross(&links);
                    self.latency_s += distance_s(source, destination).map_err(|why| unknown(&why))?;
                    return Ok(Local { links, gateways });
                }
            }
            Routing::Torus(torus) => torus.links(first, second, &mut links)?,
            Routing::FatTree(tree) => tree.links(first, second, &mut links)?,
            Routing::Dragonfly(dragonfly) => dragonfly.links(first, second, &mut links)?,
        }
        self.cross(&links);
        Ok(Local { links, gateways })
    }

    /// One leg after another, with what lies between the gateways of two. Their latencies are added in this
    /// order, or backwards.
    fn along(&mut self, zone: &Zone, legs: &[&Leg], backwards: bool) -> Result<Local, NoRoute> {
        let mut parts: Vec<Vec<LinkId>> = Vec::new();
        let between = |index: usize| {
            let (before, leg) = (legs.get(index.checked_sub(1)?)?, legs[index]);
            let (entered, leaves) = (before.gateways?.1, leg.gateways?.0);
            (zone.holds_zones && entered != leaves).then_some((entered, leaves))
        };
        for step in 0..legs.len() {
            let index = if backwards { legs.len() - 1 - step } else { step };
            let mut part = Vec::new();
            if backwards {
                self.cross(&legs[index].links);
            }
            if let Some((entered, leaves)) = between(index) {
                part = self.route(entered, leaves)?;
            }
            if !backwards {
                self.cross(&legs[index].links);
            }
            part.extend_from_slice(&legs[index].links);
            parts.push(part);
        }
        if backwards {
            parts.reverse();
        }
        let ends = legs.first().zip(legs.last());
        let gateways = ends.and_then(|(first, last)| Some((first.gateways?.0, last.gateways?.1)));
        Ok(Local { links: parts.concat(), gateways })
    }
}

/// Seconds between two points of a zone with coordinates: the distance in the plane, and both heights above
/// it.
fn distance_s(from: &Point, to: &Point) -> Result<f64, String> {
    let of = |point: &Point| point.coordinates.ok_or_else(|| format!(": {} has no coordinates", quoted(&point.name)));
    let ([x, y, height], [other_x, other_y, other_height]) = (of(from)?, of(to)?);
    let plane = (x - other_x) * (x - other_x) + (y - other_y) * (y - other_y);
    Ok((plane.sqrt() + height.abs() + other_height.abs()) / 1000.0)
}
