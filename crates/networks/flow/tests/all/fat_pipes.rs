//! Fat pipes against a slow reference: flows on random platforms end when progressive filling says so.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::random::Rng;
use parades_core::time::Time;
use parades_flow::network::FluidNetwork;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::xml;
use std::fmt::Write as _;
use std::sync::Arc;

/// The number of random platforms.
const PLATFORMS: u32 = 400;
/// The greatest relative difference between two dates that count as equal.
const TOLERANCE: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Policy {
    Shared,
    FatPipe,
    SplitDuplex,
}

#[derive(Clone, Debug)]
struct RandomLink {
    bandwidth: f64,
    latency: f64,
    policy: Policy,
}

/// A route from one host to another: each link with its direction, which counts for split links only.
type Route = Vec<(usize, bool)>;

#[derive(Clone, Debug)]
struct RandomPlatform {
    hosts: usize,
    links: Vec<RandomLink>,
    /// By source and destination.
    routes: Vec<Vec<Option<Route>>>,
}

#[derive(Clone, Debug)]
struct RandomFlow {
    source: usize,
    destination: usize,
    bytes: f64,
    start: f64,
}

fn below(rng: &Rng, count: usize) -> usize {
    usize::try_from(rng.below(count as u64)).unwrap()
}

fn one_of<T: Copy>(rng: &Rng, choices: &[T]) -> T {
    choices[below(rng, choices.len())]
}

impl RandomPlatform {
    /// Draws a platform. Bandwidths and latencies come from short lists, so that equal ones are frequent.
    fn draw(rng: &Rng) -> RandomPlatform {
        use Policy::{FatPipe, Shared, SplitDuplex};
        let hosts = 3 + below(rng, 4);
        let links: Vec<RandomLink> = (0..4 + below(rng, 6))
            .map(|_| RandomLink {
                bandwidth: one_of(rng, &[1e4, 1e6, 2e6, 2.5e6, 10e6, 125e6, 1.25e9]),
                latency: one_of(rng, &[0.0, 5e-5, 1e-3, 1e-3, 15e-3, 0.1]),
                policy: one_of(rng, &[Shared, Shared, FatPipe, FatPipe, SplitDuplex]),
            })
            .collect();
        let mut routes = vec![vec![None; hosts]; hosts];
        let pairs = (0..hosts).flat_map(|source| (source + 1..hosts).map(move |destination| (source, destination)));
        for (source, destination) in pairs {
            let draw =
                || -> Route { (0..1 + below(rng, 4)).map(|_| (below(rng, links.len()), rng.chance(0.5))).collect() };
            let forward = draw();
            // The reverse route is the same, another one, or absent.
            routes[destination][source] = match below(rng, 5) {
                0 => None,
                1 | 2 => Some((0..1 + below(rng, 3)).map(|_| (below(rng, links.len()), rng.chance(0.5))).collect()),
                _ => Some(forward.iter().rev().map(|&(link, up)| (link, !up)).collect()),
            };
            routes[source][destination] = Some(forward);
        }
        RandomPlatform { hosts, links, routes }
    }

    fn xml(&self) -> String {
        let mut text = r#"<platform version="4.1"><zone id="world" routing="Full">"#.to_owned();
        for host in 0..self.hosts {
            write!(text, r#"<host id="h{host}" speed="1Gf"/>"#).unwrap();
        }
        for (number, RandomLink { bandwidth, latency, policy }) in self.links.iter().enumerate() {
            let policy = match policy {
                Policy::Shared => "SHARED",
                Policy::FatPipe => "FATPIPE",
                Policy::SplitDuplex => "SPLITDUPLEX",
            };
            write!(
                text,
                r#"<link id="l{number}" bandwidth="{bandwidth}Bps" latency="{latency}s" sharing_policy="{policy}"/>"#
            )
            .unwrap();
        }
        for (source, row) in self.routes.iter().enumerate() {
            for (destination, route) in row.iter().enumerate() {
                let Some(route) = route else { continue };
                write!(text, r#"<route src="h{source}" dst="h{destination}" symmetrical="NO">"#).unwrap();
                for &(link, up) in route {
                    let direction = match (self.links[link].policy, up) {
                        (Policy::SplitDuplex, true) => r#" direction="UP""#,
                        (Policy::SplitDuplex, false) => r#" direction="DOWN""#,
                        _ => "",
                    };
                    write!(text, r#"<link_ctn id="l{link}"{direction}/>"#).unwrap();
                }
                text.push_str("</route>");
            }
        }
        text.push_str("</zone></platform>");
        text
    }

    fn draw_flows(&self, rng: &Rng) -> Vec<RandomFlow> {
        let count = 2 + below(rng, 8);
        let mut flows: Vec<RandomFlow> = (0..count)
            .map(|_| {
                loop {
                    let (source, destination) = (below(rng, self.hosts), below(rng, self.hosts));
                    if self.routes[source][destination].is_some() {
                        let bytes = one_of(rng, &[1e4, 1e6, 1e6, 2e6, 1e7]);
                        return RandomFlow { source, destination, bytes, start: one_of(rng, &[0.0, 0.0, 0.1, 0.5]) };
                    }
                }
            })
            .collect();
        flows.sort_by(|one, other| one.start.total_cmp(&other.start));
        flows
    }
}

/// The use of one resource by a flow. A split link is two resources.
#[derive(Clone, Copy, Debug)]
struct Use {
    resource: usize,
    weight: f64,
}

/// A flow as the reference knows it.
#[derive(Clone, Debug)]
struct Sharer {
    penalty: f64,
    bound: f64,
    uses: Vec<Use>,
}

/// The reference: rates by progressive filling, and the dates at which flows end.
struct Reference<'a> {
    platform: &'a RandomPlatform,
    model: MaxMinModel,
}

impl Reference<'_> {
    /// Returns the resource of a link in a direction. Each link has two numbers; only split links use both.
    fn resource(&self, (link, up): (usize, bool)) -> usize {
        2 * link + usize::from(self.platform.links[link].policy == Policy::SplitDuplex && up)
    }

    fn sharer(&self, flow: &RandomFlow) -> (Sharer, f64) {
        let route = |from: usize, to: usize| self.platform.routes[from][to].clone().unwrap_or_default();
        let forward = route(flow.source, flow.destination);
        let links = || forward.iter().map(|&(link, _)| &self.platform.links[link]);
        let latency: f64 = links().map(|link| link.latency).sum();
        let narrowest = links().map(|link| link.bandwidth).fold(f64::INFINITY, f64::min);
        let weighed = latency + links().map(|link| self.model.weight_s / link.bandwidth).sum::<f64>();
        let penalty = if latency > 0.0 { weighed } else { 1.0 };
        let mut uses: Vec<Use> = Vec::new();
        let backward = route(flow.destination, flow.source);
        let weighted = forward.iter().map(|&at| (at, 1.0));
        for (at, weight) in weighted.chain(backward.iter().map(|&at| (at, self.model.cross_traffic))) {
            let resource = self.resource(at);
            let is_pipe = self.platform.links[at.0].policy == Policy::FatPipe;
            match uses.iter_mut().find(|known| known.resource == resource) {
                _ if weight <= 0.0 => {}
                Some(known) if is_pipe => known.weight = known.weight.max(weight),
                Some(known) => known.weight += weight,
                None => uses.push(Use { resource, weight }),
            }
        }
        (Sharer { penalty, bound: narrowest.min(self.model.window / (2.0 * latency)), uses }, latency)
    }

    /// Returns the max-min fair rates. All levels rise together; whatever stops a flow first fixes its rate.
    fn rates(&self, sharers: &[&Sharer]) -> Vec<f64> {
        let mut rates: Vec<Option<f64>> = vec![None; sharers.len()];
        while rates.iter().any(Option::is_none) {
            // For each flow that still rises: the level at which something stops it.
            let stop = |index: usize| {
                let sharer = sharers[index];
                let mut stop = sharer.bound * sharer.penalty;
                for used in &sharer.uses {
                    let link = &self.platform.links[used.resource / 2];
                    if link.policy == Policy::FatPipe {
                        stop = stop.min(link.bandwidth / used.weight * sharer.penalty);
                        continue;
                    }
                    let (mut left, mut rise) = (link.bandwidth, 0.0);
                    for (other, rate) in sharers.iter().zip(&rates) {
                        for theirs in other.uses.iter().filter(|theirs| theirs.resource == used.resource) {
                            match rate {
                                Some(rate) => left -= theirs.weight * rate,
                                None => rise += theirs.weight / other.penalty,
                            }
                        }
                    }
                    stop = stop.min(left / rise);
                }
                stop
            };
            let rising: Vec<(usize, f64)> =
                (0..sharers.len()).filter(|&index| rates[index].is_none()).map(|index| (index, stop(index))).collect();
            let lowest = rising.iter().map(|&(_, stop)| stop).fold(f64::INFINITY, f64::min);
            for (index, stop) in rising {
                if stop <= lowest * (1.0 + 1e-12) {
                    rates[index] = Some(stop / sharers[index].penalty);
                }
            }
        }
        rates.into_iter().flatten().collect()
    }

    /// Returns the end of each flow.
    fn ends(&self, flows: &[RandomFlow]) -> Vec<f64> {
        let sharers: Vec<(Sharer, f64)> = flows.iter().map(|flow| self.sharer(flow)).collect();
        let begins: Vec<f64> =
            flows.iter().zip(&sharers).map(|(flow, (_, l))| flow.start + l * self.model.latency_factor).collect();
        let mut left: Vec<f64> = flows.iter().map(|flow| flow.bytes).collect();
        let mut ends: Vec<Option<f64>> = vec![None; flows.len()];
        let mut now = 0.0;
        while ends.iter().any(Option::is_none) {
            let sharing: Vec<usize> = (0..flows.len()).filter(|&i| begins[i] <= now && ends[i].is_none()).collect();
            let rates = self.rates(&sharing.iter().map(|&i| &sharers[i].0).collect::<Vec<_>>());
            let speeds: Vec<f64> = rates.iter().map(|rate| rate * self.model.bandwidth_factor).collect();
            let ending = sharing.iter().zip(&speeds).map(|(&i, speed)| now + left[i] / speed);
            let beginning = begins.iter().copied().filter(|&begin| begin > now);
            let next = ending.chain(beginning).fold(f64::INFINITY, f64::min);
            for (&i, speed) in sharing.iter().zip(&speeds) {
                left[i] -= speed * (next - now);
                // A nanosecond more would end it: the precision of dates.
                if left[i] <= speed * 1e-9 {
                    ends[i] = Some(next);
                }
            }
            now = next;
        }
        ends.into_iter().flatten().collect()
    }
}

/// Returns the end of each flow, as the library computes it.
fn ends_of_network(platform: &RandomPlatform, flows: &[RandomFlow], model: MaxMinModel) -> Vec<f64> {
    let platform = Arc::new(xml::parse("random.xml".as_ref(), platform.xml().as_bytes()).unwrap());
    let mut network = FluidNetwork::new(Arc::clone(&platform), NetworkModel::MaxMin(model));
    for flow in flows {
        network.advance(Time::try_from_secs_f64(flow.start).unwrap());
        let host = |number: usize| platform.host(&format!("h{number}")).unwrap();
        network.start_flow(host(flow.source), host(flow.destination), flow.bytes).unwrap();
    }
    network.advance(Time::try_from_secs_f64(1e6).unwrap());
    let mut ended: Vec<_> = std::iter::from_fn(|| network.take_ended()).collect();
    ended.sort_by_key(|ended| ended.id.number());
    ended.iter().map(|ended| ended.at.as_secs_f64()).collect()
}

#[test]
fn flows_on_random_platforms_end_when_progressive_filling_says_so() {
    let rng = Rng::stream(36, 0);
    let mut flows_on_pipes = 0;
    for number in 0..PLATFORMS {
        let platform = RandomPlatform::draw(&rng);
        let flows = platform.draw_flows(&rng);
        for model in [MaxMinModel::CM02, MaxMinModel::LV08, MaxMinModel::LV08_NOCT] {
            let reference = Reference { platform: &platform, model };
            let expected = reference.ends(&flows);
            let ends = ends_of_network(&platform, &flows, model);
            assert_eq!(ends.len(), expected.len());
            for ((flow, end), expected) in flows.iter().zip(&ends).zip(&expected) {
                let on_pipe = |at: &Use| platform.links[at.resource / 2].policy == Policy::FatPipe;
                flows_on_pipes += usize::from(reference.sharer(flow).0.uses.iter().any(on_pipe));
                let difference = (end / expected - 1.0).abs();
                let text = platform.xml();
                assert!(difference < TOLERANCE, "platform {number}: {flow:?} ends at {end}, not {expected}: {text}");
            }
        }
    }
    assert!(flows_on_pipes > 1000, "only {flows_on_pipes} flows use a fat pipe");
}

/// Returns the ends of two flows over a pipe of `bandwidth` MBps: the first also crosses a long wide link.
fn near_and_far(bandwidth: f64, model: MaxMinModel, flows: &[(&str, &str)]) -> Vec<f64> {
    let text = format!(
        r#"<platform version="4.1"><zone id="w" routing="Full">
        <host id="near" speed="1Gf"/><host id="far" speed="1Gf"/><host id="centre" speed="1Gf"/>
        <link id="pipe" bandwidth="{bandwidth}MBps" latency="1ms" sharing_policy="FATPIPE"/>
        <link id="ocean" bandwidth="1GBps" latency="10ms"/>
        <route src="near" dst="centre"><link_ctn id="pipe"/></route>
        <route src="far" dst="centre"><link_ctn id="ocean"/><link_ctn id="pipe"/></route></zone></platform>"#
    );
    let platform = Arc::new(xml::parse("pipe.xml".as_ref(), text.as_bytes()).unwrap());
    let mut network = FluidNetwork::new(Arc::clone(&platform), NetworkModel::MaxMin(model));
    for (source, destination) in flows {
        network.start_flow(platform.host(source).unwrap(), platform.host(destination).unwrap(), 1e6).unwrap();
    }
    network.advance(Time::try_from_secs_f64(1e3).unwrap());
    let mut ended: Vec<_> = std::iter::from_fn(|| network.take_ended()).collect();
    ended.sort_by_key(|ended| ended.id.number());
    ended.iter().map(|ended| ended.at.as_secs_f64()).collect()
}

#[test]
fn a_flow_over_a_fat_pipe_takes_as_long_as_alone() {
    for bandwidth in [0.5, 1.0, 2.0, 2.5, 3.0, 7.0] {
        for (model, latencies) in [(MaxMinModel::CM02, 1.0), (MaxMinModel::LV08, 13.01)] {
            // By hand: the latency of 11 ms or 1 ms, then a megabyte at the pipe's bandwidth.
            let takes = |latency: f64| latency * latencies + 1e6 / (bandwidth * 1e6 * model.bandwidth_factor);
            let expected = [takes(0.011), takes(0.001)];
            let ends = near_and_far(bandwidth, model, &[("far", "centre"), ("near", "centre")]);
            for (end, expected) in ends.iter().zip(expected) {
                assert!((end / expected - 1.0).abs() < 1e-9, "{bandwidth} MBps: {ends:?} instead of {expected}");
            }
            assert_eq!(ends[..1], near_and_far(bandwidth, model, &[("far", "centre")])[..]);
        }
    }
}
