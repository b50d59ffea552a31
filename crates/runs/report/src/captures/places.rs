//! The nodes and links that a user means.

use crate::result_file::FILES_MAX;
use parades_capture::recorder::Place;
use parades_catalog::Simulation;
use parades_config::{nearest, quoted};
use parades_core::capture::CapturePoint;
use parades_core::event::LpId;
use parades_session::lp_names::NoLp;
use parades_session::{Failure, LpNames};
use std::collections::BTreeSet;

/// Finds nodes and links by their names; without names, all nodes where flows end.
pub(super) fn find(wanted: &[String], points: &[CapturePoint], simulation: &Simulation) -> Result<Vec<Place>, Failure> {
    if points.is_empty() {
        let help = "run a scenario with a network of packets: `campus`, `wan`, or a network file";
        return Err(Failure::usage("this scenario has no packets to capture", help));
    }
    if wanted.is_empty() {
        return ends(points);
    }
    let names = Names { of: simulation, lps: LpNames::of(simulation) };
    let links: BTreeSet<&str> = points.iter().map(|point| point.link.as_str()).collect();
    let mut places = Vec::new();
    for name in wanted {
        let place = names.find(name, &links)?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

/// Returns the nodes where flows end.
fn ends(points: &[CapturePoint]) -> Result<Vec<Place>, Failure> {
    let mut ends: Vec<LpId> = points.iter().filter(|point| point.is_end).map(|point| point.lp).collect();
    ends.dedup();
    if ends.len() > FILES_MAX {
        let message = format!("{} nodes are ends of flows, and a run writes {FILES_MAX} captures at most", ends.len());
        return Err(Failure::usage(message, "name some of them with `--pcap-at`"));
    }
    Ok(ends.into_iter().map(Place::Node).collect())
}

/// The names of nodes.
struct Names<'a> {
    of: &'a Simulation,
    lps: LpNames,
}

impl Names<'_> {
    /// Finds the node or link of a name. A number is that of a node, unless a link is called so.
    fn find(&self, name: &str, links: &BTreeSet<&str>) -> Result<Place, Failure> {
        let link = links.get(name.trim()).map(|link| Place::Link((*link).to_owned()));
        let is_there = |lp: &LpId| lp.0 < self.of.lps();
        match (self.lps.find(name).map(|lp| Some(lp).filter(is_there)), link) {
            (Ok(Some(lp)), Some(_)) if self.of.lp_name(lp).is_some_and(|its| its == name.trim()) => {
                let message = format!("--pcap-at: {} is both a node and a link", quoted(name));
                Err(Failure::usage(message, "give one of them another name"))
            }
            (_, Some(link)) => Ok(link),
            (Ok(Some(lp)), None) => Ok(Place::Node(lp)),
            (Ok(None), None) => {
                let message = format!("--pcap-at: there is no node {}", name.trim());
                Err(Failure::usage(message, format!("the run has nodes 0 to {}", self.of.lps() - 1)))
            }
            (Err(NoLp { help, .. }), None) => {
                let near = nearest(name, links.iter().copied());
                let near = near.map(|near| format!("did you mean the link {}?", quoted(near)));
                let message = format!("--pcap-at: there is no node or link {}", quoted(name));
                Err(Failure::usage(message, near.unwrap_or(help)))
            }
        }
    }
}
