//! Resources that change: by profile, or on demand.

use super::{Kind, Network, Outcome, Stage};
use crate::platform::{Host, HostId, Link, LinkId, Platform, Seat};
use crate::profile::Profile;
use crate::terms::Terms;
use parades_core::time::{Delay, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is left of a sum of latencies below this, a picosecond, is the error of its rounding.
const NOTHING_S: f64 = 1e-12;

/// A sum of latencies that have changed.
pub(super) fn changed_sum(sum: f64) -> f64 {
    if sum < NOTHING_S { 0.0 } else { sum }
}

/// What can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Bytes per second of a link. What is on its way keeps the bound that it began with.
    Bandwidth(LinkId),
    /// Seconds that it takes to cross a link.
    Latency(LinkId),
    /// Whether a link works: above zero, it does.
    Link(LinkId),
    /// What a host's speed is multiplied by.
    Speed(HostId),
    /// Whether a host works: above zero, it does.
    Host(HostId),
}

/// A change of a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Of what.
    pub what: What,
    /// To what.
    pub value: f64,
}

/// A link as it is now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkState {
    pub(super) bandwidth: f64,
    pub(super) latency: f64,
    /// What it adds to the penalty of a flow.
    pub(super) price: f64,
    pub(super) on: bool,
}

impl LinkState {
    pub(super) fn new(link: &Link, terms: Terms) -> LinkState {
        LinkState { bandwidth: link.bandwidth, latency: link.latency, price: price(link.bandwidth, terms), on: true }
    }
}

/// What a link of this bandwidth adds to the penalty of a flow.
fn price(bandwidth: f64, terms: Terms) -> f64 {
    match terms {
        Terms::Shared(sharing) if bandwidth > 0.0 => sharing.weight_s / bandwidth,
        _ => 0.0,
    }
}

/// A host as it is now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HostState {
    peak: f64,
    scale: f64,
    cores: u32,
    pub(super) on: bool,
    pub(super) seat: Seat,
}

impl HostState {
    pub(super) fn new(host: &Host, platform: &Platform) -> HostState {
        let seat = platform.seat(host);
        HostState { peak: host.speed(), scale: 1.0, cores: host.cores, on: true, seat }
    }

    /// Flops per second of one core.
    pub(super) fn speed(&self) -> f64 {
        self.scale * self.peak
    }
}

/// A profile on its way.
#[derive(Clone, Debug, PartialEq)]
struct Running {
    what: What,
    profile: Arc<Profile>,
    /// The point that comes next.
    number: usize,
}

/// The profiles of all resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Profiles {
    running: Vec<Running>,
    /// When each changes its resource next.
    next: BTreeSet<(Time, usize)>,
    has_hosts: bool,
}

impl Profiles {
    pub(super) fn new(platform: &Platform) -> Profiles {
        let mut profiles = Profiles::default();
        let mut add = |what, profile: &Option<Arc<Profile>>| {
            if let Some(profile) = profile {
                profiles.running.push(Running { what, profile: Arc::clone(profile), number: 0 });
            }
        };
        for (link, id) in platform.links().iter().zip((0..).map(LinkId)) {
            add(What::Bandwidth(id), &link.bandwidth_profile);
            add(What::Latency(id), &link.latency_profile);
            add(What::Link(id), &link.state_profile);
        }
        for (host, id) in platform.hosts().iter().zip((0..).map(HostId)) {
            add(What::Speed(id), &host.speed_profile);
            add(What::Host(id), &host.state_profile);
        }
        profiles.has_hosts = profiles.running.iter().any(|running| matches!(running.what, What::Host(_)));
        for index in 0..profiles.running.len() {
            profiles.schedule(index, Time::ZERO);
        }
        profiles
    }

    fn schedule(&mut self, index: usize, since: Time) {
        let running = &self.running[index];
        let point = running.profile.point(running.number);
        let date = point.and_then(|(after, _)| since.checked_add(Delay::from_secs_f64(after)?));
        self.next.extend(date.map(|date| (date, index)));
    }

    /// Whether any host's state has a profile.
    pub(super) fn concern_hosts(&self) -> bool {
        self.has_hosts
    }

    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        self.next.first().map(|&(date, _)| date)
    }

    /// The next change that is due.
    fn pop(&mut self, now: Time) -> Option<Change> {
        let (date, index) = *self.next.first().filter(|(date, _)| *date <= now)?;
        self.next.pop_first();
        let running = &mut self.running[index];
        let (what, (_, value)) = (running.what, running.profile.point(running.number)?);
        running.number += 1;
        self.schedule(index, date);
        Some(Change { what, value })
    }
}

impl Network {
    /// All that profiles say of now.
    pub(super) fn follow_profiles(&mut self) {
        while let Some(change) = self.profiles.pop(self.now) {
            // Values below zero mean nothing.
            if change.value >= 0.0 {
                self.apply(change);
            }
        }
    }

    /// Changes a resource now.
    ///
    /// # Panics
    ///
    /// On a value that is negative or not a number.
    pub fn apply(&mut self, Change { what, value }: Change) {
        assert!(value >= 0.0 && value.is_finite(), "nothing can be set to {value}");
        self.hold();
        match what {
            What::Bandwidth(link) => self.set_bandwidth(link, value),
            What::Latency(link) => self.set_latency(link, value),
            What::Link(link) => {
                let was = std::mem::replace(&mut self.links[link.0 as usize].on, value > 0.0);
                self.links_off = self.links_off + u32::from(was) - u32::from(value > 0.0);
                if value <= 0.0 {
                    self.fail(|activity| activity.uses.iter().any(|&(used, _)| used == link.0), true);
                }
            }
            What::Speed(host) => self.set_speed(host, value),
            What::Host(host) => {
                let was = std::mem::replace(&mut self.hosts[host.0 as usize].on, value > 0.0);
                if let Some(changes) = self.host_changes.as_mut().filter(|_| was != (value > 0.0)) {
                    changes.push_back((host, value > 0.0));
                }
                if value <= 0.0 {
                    let on_host = |activity: &super::Activity| match activity.kind {
                        Kind::Flow { source, destination } => source == host || destination == host,
                        Kind::Execution { host: other, .. } => other == host,
                    };
                    self.fail(on_host, false);
                }
            }
        }
    }

    /// Ends the activities that `hit` picks, of flows only those if so; in the order in which they began.
    fn fail(&mut self, hit: impl Fn(&super::Activity) -> bool, flows_only: bool) {
        let struck = |activity: &super::Activity| {
            let counts = !flows_only || matches!(activity.kind, Kind::Flow { .. });
            counts && activity.stage != Stage::Over && hit(activity)
        };
        let slots = self.activities.iter().zip(0u32..).filter(|(activity, _)| struck(activity));
        let mut slots: Vec<(u64, u32)> = slots.map(|(activity, slot)| (activity.serial, slot)).collect();
        slots.sort_unstable();
        for (_, slot) in slots {
            self.end(slot, Outcome::Failed);
        }
    }

    fn set_bandwidth(&mut self, link: LinkId, bandwidth: f64) {
        let state = &mut self.links[link.0 as usize];
        state.bandwidth = bandwidth;
        let before = std::mem::replace(&mut state.price, price(bandwidth, self.terms));
        let more = state.price - before;
        self.system.set_capacity(link.0, bandwidth);
        if matches!(self.terms, Terms::Constant(_)) {
            return;
        }
        self.reprice(link, |activity| activity.penalty += more);
    }

    fn set_latency(&mut self, link: LinkId, latency: f64) {
        self.latencies_change = true;
        let more = latency - std::mem::replace(&mut self.links[link.0 as usize].latency, latency);
        self.reprice(link, |activity| {
            activity.penalty += more;
            activity.latency += more;
        });
    }

    /// Changes the terms of the flows on a link, either way.
    fn reprice(&mut self, link: LinkId, change: impl Fn(&mut super::Activity)) {
        for slot in 0..u32::try_from(self.activities.len()).expect("counted in 32 bits") {
            let activity = &mut self.activities[slot as usize];
            let flow = matches!(activity.kind, Kind::Flow { .. }) && activity.stage != Stage::Over;
            if !flow || activity.timeless || activity.uses.iter().all(|&(used, _)| used != link.0) {
                continue;
            }
            change(activity);
            activity.latency = changed_sum(activity.latency);
            activity.penalty = changed_sum(activity.penalty);
            if let Stage::Sharing(variable) = activity.stage {
                let (penalty, bound) = (activity.penalty(), self.bound(slot));
                self.system.set_terms(variable, penalty, bound);
            }
        }
    }

    fn set_speed(&mut self, host: HostId, scale: f64) {
        let state = &mut self.hosts[host.0 as usize];
        state.scale = scale;
        let (speed, cores) = (state.speed(), state.cores);
        let constraint = self.host_constraint(host);
        self.system.set_capacity(constraint, f64::from(cores) * speed);
        let users: Vec<_> = self.system.users(constraint).collect();
        for variable in users {
            let slot = self.owners[variable.0 as usize];
            let activity = &mut self.activities[slot as usize];
            if let Kind::Execution { cores, .. } = activity.kind {
                activity.width = f64::from(cores) * speed;
                self.system.set_terms(variable, activity.penalty, activity.width);
            }
        }
    }
}
