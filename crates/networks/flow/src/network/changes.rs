//! Changes of resources: bandwidths, latencies, speeds, failures and recoveries.

use super::FluidNetwork;
use super::activity::{Activity, ActivityKind, Outcome, Stage};
use crate::network_model::NetworkModel;
use crate::platform::{Host, HostId, HostPosition, Link, LinkId, Platform};

/// A sum of latencies below this, a picosecond, is a rounding error. In seconds.
const LATENCY_PRECISION_S: f64 = 1e-12;

/// Returns a sum of changed latencies, without the rounding error that may remain of a zero.
pub(super) fn rounded_latency(sum: f64) -> f64 {
    if sum < LATENCY_PRECISION_S { 0.0 } else { sum }
}

/// A property of a resource that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// The bandwidth of a link, in bytes per second. Flows that have started keep their bound.
    Bandwidth(LinkId),
    /// The latency of a link, in seconds.
    Latency(LinkId),
    /// The state of a link: it works if the value is above zero.
    LinkState(LinkId),
    /// The speed of a host, as a factor of the platform's speed.
    Speed(HostId),
    /// The state of a host: it works if the value is above zero.
    HostState(HostId),
}

/// A change of a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The property that changes.
    pub property: Property,
    /// Its new value.
    pub value: f64,
}

/// The present state of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkState {
    /// In bytes per second.
    pub(super) bandwidth: f64,
    /// In seconds.
    pub(super) latency: f64,
    /// The part of a flow's penalty that depends on the link's bandwidth, in seconds.
    pub(super) penalty_term: f64,
    /// True if the link works.
    pub(super) on: bool,
}

impl LinkState {
    /// Returns the state with other values.
    pub(super) fn changed(bandwidth: f64, latency: f64, on: bool, model: NetworkModel) -> LinkState {
        LinkState { bandwidth, latency, penalty_term: penalty_term(bandwidth, model), on }
    }

    pub(super) fn new(link: &Link, model: NetworkModel) -> LinkState {
        let penalty_term = penalty_term(link.bandwidth, model);
        LinkState { bandwidth: link.bandwidth, latency: link.latency, penalty_term, on: true }
    }
}

/// Returns the part of a flow's penalty that depends on a link's bandwidth.
fn penalty_term(bandwidth: f64, model: NetworkModel) -> f64 {
    match model {
        NetworkModel::MaxMin(model) if bandwidth > 0.0 => model.weight_s / bandwidth,
        _ => 0.0,
    }
}

/// The present state of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HostState {
    /// The speed of one core without profile, in flops per second.
    peak_speed: f64,
    /// The factor that profiles set.
    pub(super) speed_scale: f64,
    cores: u32,
    /// True if the host works.
    pub(super) on: bool,
    pub(super) position: HostPosition,
}

impl HostState {
    /// Returns the capacity of the constraint: the speed of all cores.
    pub(super) fn capacity(&self) -> f64 {
        f64::from(self.cores) * self.speed()
    }

    pub(super) fn new(host: &Host, platform: &Platform) -> HostState {
        let position = platform.position(host);
        HostState { peak_speed: host.speed(), speed_scale: 1.0, cores: host.cores, on: true, position }
    }

    /// Returns the speed of one core, in flops per second.
    pub(super) fn speed(&self) -> f64 {
        self.speed_scale * self.peak_speed
    }
}

impl FluidNetwork {
    /// Changes a resource now.
    ///
    /// # Panics
    ///
    /// If the value is negative or not a finite number.
    pub fn apply(&mut self, Change { property, value }: Change) {
        assert!(value >= 0.0 && value.is_finite(), "nothing can be set to {value}");
        self.constrain_all();
        match property {
            Property::Bandwidth(link) => self.set_bandwidth(link, value),
            Property::Latency(link) => self.set_latency(link, value),
            Property::LinkState(link) => self.set_link_state(link, value > 0.0),
            Property::Speed(host) => self.set_speed(host, value),
            Property::HostState(host) => self.set_host_state(host, value > 0.0),
        }
    }

    fn set_link_state(&mut self, link: LinkId, on: bool) {
        let was_on = std::mem::replace(&mut self.links[link.0 as usize].on, on);
        self.links_off = self.links_off + u32::from(was_on) - u32::from(on);
        if !on {
            self.fail_activities(|activity| {
                let is_flow = matches!(activity.kind, ActivityKind::Flow { .. });
                is_flow && activity.elements.iter().any(|&(used, _)| used == link.0)
            });
        }
    }

    fn set_host_state(&mut self, host: HostId, on: bool) {
        let was_on = std::mem::replace(&mut self.hosts[host.0 as usize].on, on);
        if let Some(changes) = self.host_changes.as_mut().filter(|_| was_on != on) {
            changes.push_back((host, on));
        }
        if !on {
            self.fail_activities(|activity| match activity.kind {
                ActivityKind::Flow { source, destination } => source == host || destination == host,
                ActivityKind::Execution { host: other, .. } => other == host,
            });
        }
    }

    /// Fails the activities that `uses_failed` accepts, in the order in which they started.
    fn fail_activities(&mut self, uses_failed: impl Fn(&Activity) -> bool) {
        let fails = |activity: &Activity| activity.stage != Stage::Ended && uses_failed(activity);
        let slots = self.activities.iter().zip(0u32..).filter(|(activity, _)| fails(activity));
        let mut slots: Vec<(u64, u32)> = slots.map(|(activity, slot)| (activity.serial, slot)).collect();
        slots.sort_unstable();
        for (_, slot) in slots {
            self.end(slot, Outcome::Failed);
        }
    }

    fn set_bandwidth(&mut self, link: LinkId, bandwidth: f64) {
        let state = &mut self.links[link.0 as usize];
        state.bandwidth = bandwidth;
        let before = std::mem::replace(&mut state.penalty_term, penalty_term(bandwidth, self.model));
        let increase = state.penalty_term - before;
        self.system.set_capacity(link.0, bandwidth);
        if matches!(self.model, NetworkModel::Constant(_)) {
            return;
        }
        self.update_flows(link, |activity| activity.penalty += increase);
    }

    fn set_latency(&mut self, link: LinkId, latency: f64) {
        self.latencies_changed = true;
        let increase = latency - std::mem::replace(&mut self.links[link.0 as usize].latency, latency);
        self.update_flows(link, |activity| {
            activity.penalty += increase;
            activity.latency += increase;
        });
    }

    /// Changes latency and penalty of the flows on a link, in either direction, and updates their variables.
    fn update_flows(&mut self, link: LinkId, change: impl Fn(&mut Activity)) {
        for slot in 0..u32::try_from(self.activities.len()).expect("counted in 32 bits") {
            let activity = &mut self.activities[slot as usize];
            let is_flow = matches!(activity.kind, ActivityKind::Flow { .. }) && activity.stage != Stage::Ended;
            if !is_flow || activity.has_fixed_penalty || activity.elements.iter().all(|&(used, _)| used != link.0) {
                continue;
            }
            change(activity);
            activity.latency = rounded_latency(activity.latency);
            activity.penalty = rounded_latency(activity.penalty);
            if let Stage::Sharing(variable) = activity.stage {
                let (penalty, bound) = (activity.penalty(), self.bound(slot));
                self.system.set_penalty_and_bound(variable, penalty, bound);
            }
        }
    }

    fn set_speed(&mut self, host: HostId, scale: f64) {
        let state = &mut self.hosts[host.0 as usize];
        state.speed_scale = scale;
        let (speed, capacity) = (state.speed(), state.capacity());
        let constraint = self.host_constraint(host);
        self.system.set_capacity(constraint, capacity);
        let users: Vec<_> = self.system.users(constraint).collect();
        for variable in users {
            let slot = self.owners[variable.0 as usize];
            let activity = &mut self.activities[slot as usize];
            if let ActivityKind::Execution { cores, .. } = activity.kind {
                activity.resource_rate = f64::from(cores) * speed;
                self.system.set_penalty_and_bound(variable, activity.penalty, activity.resource_rate);
            }
        }
    }
}
