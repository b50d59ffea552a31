//! Changes of resources: bandwidths, latencies, speeds, failures and recoveries; and changes of activities.

use super::FluidNetwork;
use super::activity::{Activity, ActivityId, ActivityKind, Outcome, Stage};
use crate::network_model::NetworkModel;
use crate::platform::{Host, HostId, HostPosition, Link, LinkId, Platform};
use parades_core::time::Delay;
use std::collections::BTreeSet;

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
    /// The speed of a host, as a factor of the speed of its power state.
    Speed(HostId),
    /// The power state of a host: an index into [`Host::speeds`].
    PowerState(HostId),
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
    /// The power state.
    pub(super) pstate: u32,
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
        let (peak_speed, pstate) = (host.speed(), host.pstate);
        HostState { peak_speed, pstate, speed_scale: 1.0, cores: host.cores, on: true, position }
    }

    /// Sets the power state, which the host has.
    pub(super) fn set_power_state(&mut self, host: &Host, pstate: u32) {
        (self.pstate, self.peak_speed) = (pstate, host.speeds[pstate as usize]);
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
    /// If the value is negative or not a finite number, if the host has no such power state, or if the link
    /// or host is in another part of the platform.
    pub fn apply(&mut self, Change { property, value }: Change) {
        assert!(value >= 0.0 && value.is_finite(), "nothing can be set to {value}");
        assert!(self.scope.has(property), "the network of a part has no {property:?}");
        self.constrain_all();
        match property {
            Property::Bandwidth(link) => self.set_bandwidth(link, value),
            Property::Latency(link) => self.set_latency(link, value),
            Property::LinkState(link) => self.set_link_state(link, value > 0.0),
            Property::Speed(host) => {
                self.host_mut(host).speed_scale = value;
                self.speed_changed(host);
            }
            Property::PowerState(host) => {
                let number = self.scope.host(host);
                let (_, of) = self.scope.host_at(number);
                let states = 0..u32::try_from(of.speeds.len()).expect("speeds are bounded");
                let pstate = states.into_iter().find(|&state| f64::from(state).to_bits() == value.to_bits());
                let pstate = pstate.unwrap_or_else(|| panic!("the host `{}` has no power state {value}", of.name));
                self.hosts[number as usize].set_power_state(of, pstate);
                self.speed_changed(host);
            }
            Property::HostState(host) => self.set_host_state(host, value > 0.0),
        }
    }

    fn host_mut(&mut self, host: HostId) -> &mut HostState {
        &mut self.hosts[self.scope.host(host) as usize]
    }

    fn set_link_state(&mut self, link: LinkId, on: bool) {
        let number = self.scope.link(link);
        let was_on = std::mem::replace(&mut self.links[number as usize].on, on);
        self.links_off = self.links_off + u32::from(was_on) - u32::from(on);
        if !on {
            self.fail_activities(|activity| {
                let is_flow = matches!(activity.kind, ActivityKind::Flow { .. });
                is_flow && activity.elements.iter().any(|&(used, _)| used == number)
            });
        }
    }

    fn set_host_state(&mut self, host: HostId, on: bool) {
        let was_on = std::mem::replace(&mut self.host_mut(host).on, on);
        if let Some(changes) = self.host_changes.as_mut().filter(|_| was_on != on) {
            changes.push_back((host, on));
        }
        if !on {
            let scope = self.scope.clone();
            self.fail_activities(|activity| match activity.kind {
                ActivityKind::Flow { source, destination } => source == host || destination == host,
                ActivityKind::Execution { host: other, .. } => other == host,
                ActivityKind::Disk { disk, .. } => scope.platform().disks()[disk.0 as usize].host == host,
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
        let number = self.scope.link(link);
        let state = &mut self.links[number as usize];
        state.bandwidth = bandwidth;
        let before = std::mem::replace(&mut state.penalty_term, penalty_term(bandwidth, self.model));
        let increase = state.penalty_term - before;
        self.system.set_capacity(number, bandwidth);
        if matches!(self.model, NetworkModel::Constant(_)) {
            return;
        }
        self.update_flows(number, |activity| activity.penalty += increase);
    }

    fn set_latency(&mut self, link: LinkId, latency: f64) {
        self.latencies_changed = true;
        let number = self.scope.link(link);
        let increase = latency - std::mem::replace(&mut self.links[number as usize].latency, latency);
        self.update_flows(number, |activity| {
            activity.penalty += increase;
            activity.latency += increase;
        });
    }

    /// Changes latency and penalty of the flows on the link of this number, in either direction, and updates
    /// their variables.
    fn update_flows(&mut self, link: u32, change: impl Fn(&mut Activity)) {
        for slot in 0..u32::try_from(self.activities.len()).expect("counted in 32 bits") {
            let activity = &mut self.activities[slot as usize];
            let is_flow = matches!(activity.kind, ActivityKind::Flow { .. }) && activity.stage != Stage::Ended;
            if !is_flow || activity.has_fixed_penalty || activity.elements.iter().all(|&(used, _)| used != link) {
                continue;
            }
            change(activity);
            activity.latency = rounded_latency(activity.latency);
            activity.penalty = rounded_latency(activity.penalty);
            self.renew_variable(slot);
        }
    }

    /// Lets the computations on a host go on at its present speed. A suspended one gets the speed when it is
    /// resumed. None is unconstrained ([`FluidNetwork::constrain_all`]).
    fn speed_changed(&mut self, host: HostId) {
        let (constraint, capacity) =
            (self.host_constraint(host), self.hosts[self.scope.host(host) as usize].capacity());
        self.system.set_capacity(constraint, capacity);
        let slots = self.system.users(constraint).map(|variable| self.owners[variable.0 as usize]);
        // The order in which variables change is that of their slots, not that of the constraint's users.
        let slots: BTreeSet<u32> = slots.collect();
        for slot in slots {
            self.renew_speed(slot);
            self.renew_variable(slot);
        }
    }

    /// Sets the greatest rate of a computation by the present speed of its host.
    fn renew_speed(&mut self, slot: u32) {
        let activity = &mut self.activities[slot as usize];
        if let ActivityKind::Execution { host, threads } = activity.kind {
            activity.resource_rate = f64::from(threads) * self.hosts[self.scope.host(host) as usize].speed();
        }
    }

    /// Gives the system the present penalty and bound of an activity, if the activity shares.
    fn renew_variable(&mut self, slot: u32) {
        let activity = &self.activities[slot as usize];
        if let Stage::Sharing(variable) = activity.stage {
            self.system.set_penalty_and_bound(variable, activity.penalty(), self.bound(slot));
        }
    }

    /// Changes the priority of a computation now. Does nothing if the computation has ended.
    ///
    /// # Panics
    ///
    /// If the priority is not above zero and finite.
    pub fn set_priority(&mut self, id: ActivityId, priority: f64) {
        assert!(priority > 0.0 && priority.is_finite(), "a computation cannot have the priority {priority}");
        let Some(slot) = self.slot(id) else { return };
        self.constrain_all();
        let activity = &mut self.activities[slot as usize];
        if let ActivityKind::Execution { threads, .. } = activity.kind {
            activity.penalty = 1.0 / (f64::from(threads) * priority);
            self.renew_variable(slot);
        }
    }

    /// Changes the greatest rate of an activity now, in flops or bytes per second. Infinity removes the
    /// limit. Does nothing if the activity has ended.
    ///
    /// # Panics
    ///
    /// If the limit is not above zero.
    pub fn set_limit(&mut self, id: ActivityId, limit: f64) {
        assert!(limit > 0.0, "an activity cannot have the limit {limit}");
        let Some(slot) = self.slot(id) else { return };
        self.constrain_all();
        self.activities[slot as usize].limit = limit;
        self.renew_variable(slot);
    }

    /// Suspends an activity: it makes no progress until [`FluidNetwork::resume`]. Does nothing if the
    /// activity has ended or is suspended.
    pub fn suspend(&mut self, id: ActivityId) {
        let Some(slot) = self.slot(id) else { return };
        self.update_rates();
        let left = match self.activities[slot as usize].stage {
            Stage::Latency | Stage::Timed => {
                let date = self.calendar.date(slot);
                Some(date.map_or(Delay::MAX, |date| date.since(self.now)))
            }
            Stage::Sharing(_) | Stage::Unconstrained(_) => None,
            Stage::Suspended(_) | Stage::Ended => return,
        };
        let now = self.now;
        self.activities[slot as usize].update_remaining(now);
        self.leave_system(slot);
        self.calendar.remove(slot);
        let activity = &mut self.activities[slot as usize];
        (activity.rate, activity.stage) = (0.0, Stage::Suspended(left));
    }

    /// Lets a suspended activity go on. Does nothing if the activity is not suspended.
    pub fn resume(&mut self, id: ActivityId) {
        let Some(slot) = self.slot(id) else { return };
        match self.activities[slot as usize].stage {
            Stage::Suspended(None) => {
                self.renew_speed(slot);
                self.share(slot);
            }
            Stage::Suspended(Some(left)) => {
                let is_timed = self.activities[slot as usize].elements.is_empty();
                let date = if left == Delay::MAX { None } else { self.now.checked_add(left) };
                self.enter_stage(slot, if is_timed { Stage::Timed } else { Stage::Latency }, date);
            }
            _ => {}
        }
    }
}
