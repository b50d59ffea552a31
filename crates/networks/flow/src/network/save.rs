//! The bytes of a network's state.
//!
//! The platform is not written, nor are parts that follow from others: the variables of the system follow
//! from the activities. Links and hosts are written if profiles have changed them. A slot without an activity
//! is written as a place alone.

use super::activity::{Activity, ActivityKind, Stage};
use super::changes::{HostState, LinkState};
use super::profiles::Profiles;
use super::{Ended, FluidNetwork};
use crate::network_model::NetworkModel;
use crate::platform::{HostId, Platform};
use crate::solver::{ReadVariable, VariableId};
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// An activity that has not ended.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    serial: u64,
    kind: ActivityKind,
    stage: WrittenStage,
    date: Option<Time>,
    remaining: f64,
    updated: Time,
    rate: f64,
    rate_factor: f64,
    elements: Vec<(u32, f64)>,
    latency: f64,
    has_fixed_penalty: bool,
    penalty: f64,
    resource_rate: f64,
    limit: f64,
}

/// The stage of an activity that has not ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum WrittenStage {
    Latency,
    Unconstrained,
    /// With the number of the variable, and its rate.
    Sharing(u32, f64),
    Timed,
    Suspended(Option<Delay>),
}

/// The parts of a network that are written first.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    now: Time,
    serial: u64,
    ended: VecDeque<Ended>,
    host_changes: Option<VecDeque<(HostId, bool)>>,
    latencies_changed: bool,
    /// Links that differ from those of the platform: the number, bandwidth, latency, and true if it is on.
    links: Vec<(u32, f64, f64, bool)>,
    /// Hosts that differ: the number, the scale of the speed, true if it is on, and its power state.
    hosts: Vec<(u32, f64, bool, u32)>,
}

/// The bound of numbers of activities. No run reaches it.
const SERIAL_MAX: u64 = 1 << 62;

/// Returns `Ok` if `is_possible`.
fn check(is_possible: bool) -> Result<(), Malformed> {
    match is_possible {
        true => Ok(()),
        false => Err(Malformed::new("a flow-level network has a state that none can have")),
    }
}

/// Returns true if a state may have this amount.
fn is_amount(amount: f64) -> bool {
    (0.0..f64::INFINITY).contains(&amount)
}

impl FluidNetwork {
    /// Appends the bytes of the state, without the platform.
    pub fn write(&self, to: &mut Vec<u8>) {
        wire::write(&self.head(), to);
        self.profiles.write(to);
        wire::write(&(self.activities.len() as u64), to);
        for (slot, activity) in (0..).zip(&self.activities) {
            wire::write(&self.written(slot, activity), to);
        }
        wire::write(&(&self.free, &self.unconstrained), to);
        self.system.write(to);
    }

    fn head(&self) -> Head {
        let of_platform = self.scope.links().map(|(_, link)| LinkState::new(link, self.model));
        let bits = |link: &LinkState| (link.bandwidth.to_bits(), link.latency.to_bits(), link.on);
        let links = (0..).zip(&self.links).zip(of_platform).filter(|((_, link), of)| bits(link) != bits(of));
        let links = links.map(|((number, link), _)| (number, link.bandwidth, link.latency, link.on));
        let is_changed = |(number, host): &(u32, &HostState)| {
            let is_at_start = host.on && host.pstate == self.scope.host_at(*number).1.pstate;
            !is_at_start || host.speed_scale.to_bits() != 1.0_f64.to_bits()
        };
        let hosts = (0..).zip(&self.hosts).filter(is_changed);
        Head {
            now: self.now,
            serial: self.serial,
            ended: self.ended.clone(),
            host_changes: self.host_changes.clone(),
            latencies_changed: self.latencies_changed,
            links: links.collect(),
            hosts: hosts.map(|(number, host)| (number, host.speed_scale, host.on, host.pstate)).collect(),
        }
    }

    /// Returns the form in which the activity of a slot is written. `None` if it has ended.
    fn written(&self, slot: u32, activity: &Activity) -> Option<Written> {
        let stage = match activity.stage {
            Stage::Latency => WrittenStage::Latency,
            Stage::Unconstrained(_) => WrittenStage::Unconstrained,
            Stage::Sharing(variable) => WrittenStage::Sharing(variable.0, self.system.rate(variable)),
            Stage::Timed => WrittenStage::Timed,
            Stage::Suspended(left) => WrittenStage::Suspended(left),
            Stage::Ended => return None,
        };
        let &Activity { serial, kind, remaining, updated, rate, rate_factor, latency, .. } = activity;
        let &Activity { has_fixed_penalty, penalty, resource_rate, limit, ref elements, .. } = activity;
        let (date, elements) = (self.calendar.date(slot), elements.clone());
        Some(Written {
            serial,
            kind,
            stage,
            date,
            remaining,
            updated,
            rate,
            rate_factor,
            elements,
            latency,
            has_fixed_penalty,
            penalty,
            resource_rate,
            limit,
        })
    }

    /// Reads the state of a network on a platform.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of such a state.
    pub fn read(platform: Arc<Platform>, model: NetworkModel, from: &mut &[u8]) -> Result<FluidNetwork, Malformed> {
        let mut network = FluidNetwork::new(platform, model);
        network.read_state(from)?;
        Ok(network)
    }

    /// Reads the state of this network, which has none yet.
    ///
    /// # Errors
    ///
    /// As [`FluidNetwork::read`].
    pub fn read_state(&mut self, from: &mut &[u8]) -> Result<(), Malformed> {
        let head: Head = wire::read(from)?;
        self.profiles = Profiles::read(&self.scope, head.now, from)?;
        self.resume_head(head)?;
        let slots: u64 = wire::read(from)?;
        check(slots < u64::from(u32::MAX))?;
        let mut sharing = Vec::new();
        for slot in 0..slots {
            let written: Option<Written> = wire::read(from)?;
            let slot = u32::try_from(slot).expect("slots are bounded");
            sharing.extend(self.resume_activity(slot, written)?);
        }
        (self.free, self.unconstrained) = wire::read(from)?;
        self.check_slots()?;
        self.resume_sharing(&sharing)?;
        self.system.read(sharing.len(), from)?;
        Ok(())
    }

    /// Returns true if the network has the host, whose number may be that of no host.
    fn has(&self, host: HostId) -> bool {
        (host.0 as usize) < self.platform().hosts().len() && self.has_host(host)
    }

    fn resume_head(&mut self, head: Head) -> Result<(), Malformed> {
        let Head { now, serial, ended, host_changes, latencies_changed, links, hosts } = head;
        check(serial < SERIAL_MAX && ended.iter().all(|ended| ended.id.serial < serial))?;
        (self.now, self.serial, self.ended, self.latencies_changed) = (now, serial, ended, latencies_changed);
        for (number, bandwidth, latency, on) in links {
            check((number as usize) < self.links.len() && is_amount(bandwidth) && is_amount(latency))?;
            self.links[number as usize] = LinkState::changed(bandwidth, latency, on, self.model);
            self.system.resume_capacity(number, bandwidth);
        }
        self.links_off = u32::try_from(self.links.iter().filter(|link| !link.on).count()).expect("links are bounded");
        for (number, scale, on, pstate) in hosts {
            check((number as usize) < self.hosts.len() && is_amount(scale))?;
            let (host, (id, of)) = (&mut self.hosts[number as usize], self.scope.host_at(number));
            check((pstate as usize) < of.speeds.len())?;
            host.set_power_state(of, pstate);
            (host.speed_scale, host.on) = (scale, on);
            let capacity = host.capacity();
            self.system.resume_capacity(self.host_constraint(id), capacity);
        }
        let mut changes = host_changes.iter().flatten();
        check(changes.all(|&(host, _)| self.has(host)))?;
        self.host_changes = host_changes;
        Ok(())
    }

    /// Puts an activity into the next slot. Returns its slot, its variable, and the rate of that, if it
    /// shares.
    fn resume_activity(
        &mut self,
        slot: u32,
        written: Option<Written>,
    ) -> Result<Option<(u32, VariableId, f64)>, Malformed> {
        let Some(written) = written else {
            self.activities.push(Activity::default());
            return Ok(None);
        };
        let Written { serial, kind, stage, date, remaining, updated, rate, rate_factor, .. } = written;
        let Written { elements, latency, has_fixed_penalty, penalty, resource_rate, limit, .. } = written;
        let is_host = |host: HostId| self.has(host);
        let (links, hosts) = (self.links.len(), self.hosts.len());
        let (is_possible, constraints) = match kind {
            ActivityKind::Flow { source, destination } => (is_host(source) && is_host(destination), links),
            ActivityKind::Execution { host, threads } => (is_host(host) && threads > 0, links + hosts),
            ActivityKind::Disk { disk, .. } => {
                let all = self.platform().disks();
                let is_here = all.get(disk.0 as usize).is_some_and(|disk| self.has(disk.host));
                (is_here, links + hosts + 3 * self.scope.disks().count())
            }
        };
        let uses = |&(constraint, weight): &(u32, f64)| {
            (constraint as usize) < constraints && weight > 0.0 && is_amount(weight)
        };
        check(is_possible && serial < self.serial && elements.iter().all(uses))?;
        check([remaining, rate_factor, latency, penalty].into_iter().all(is_amount))?;
        // A suspended activity has no date at which it ends.
        check(date.is_none() || !matches!(stage, WrittenStage::Suspended(_)))?;
        // A flow on no link has no limit.
        check(rate >= 0.0 && resource_rate >= 0.0 && limit > 0.0)?;
        let (stage, shared) = match stage {
            WrittenStage::Latency => (Stage::Latency, None),
            WrittenStage::Timed => (Stage::Timed, None),
            WrittenStage::Suspended(left) => (Stage::Suspended(left), None),
            // The index is set with the list of such activities.
            WrittenStage::Unconstrained => (Stage::Unconstrained(u32::MAX), None),
            WrittenStage::Sharing(variable, rate) => {
                (Stage::Sharing(VariableId(variable)), Some((slot, VariableId(variable), rate)))
            }
        };
        self.calendar.set(slot, serial, date);
        self.active += 1;
        self.activities.push(Activity {
            serial,
            kind,
            stage,
            remaining,
            updated,
            rate,
            rate_factor,
            elements,
            latency,
            has_fixed_penalty,
            penalty,
            resource_rate,
            limit,
        });
        Ok(shared)
    }

    /// Checks the lists of slots, and reserves the demands of activities that are unconstrained.
    fn check_slots(&mut self) -> Result<(), Malformed> {
        for (index, &slot) in (0..).zip(&self.unconstrained) {
            let activity = self.activities.get_mut(slot as usize);
            let activity = activity.filter(|activity| activity.stage == Stage::Unconstrained(u32::MAX));
            check(activity.is_some())?;
            activity.into_iter().for_each(|activity| activity.stage = Stage::Unconstrained(index));
        }
        check(self.activities.iter().all(|activity| activity.stage != Stage::Unconstrained(u32::MAX)))?;
        for index in 0..self.unconstrained.len() {
            let slot = self.unconstrained[index];
            let bound = self.bound(slot);
            self.system.resume_reserved(bound, &self.activities[slot as usize].elements)?;
        }
        let mut free = self.free.clone();
        free.sort_unstable();
        let ended = (0_u32..).zip(&self.activities).filter(|(_, activity)| activity.stage == Stage::Ended);
        check(free.into_iter().eq(ended.map(|(slot, _)| slot)))?;
        let serials: BTreeSet<u64> = self.serials().collect();
        check(serials.len() == self.active as usize)
    }

    /// Gives the system the variables of the activities that share.
    fn resume_sharing(&mut self, sharing: &[(u32, VariableId, f64)]) -> Result<(), Malformed> {
        for &(slot, variable, rate) in sharing {
            check((variable.0 as usize) < self.activities.len())?;
            let (bound, activity) = (self.bound(slot), &self.activities[slot as usize]);
            let read = ReadVariable { rate, penalty: activity.penalty(), bound, elements: &activity.elements };
            self.system.resume_variable(variable, read)?;
            self.set_owner(variable, slot);
        }
        Ok(())
    }

    /// Returns the slots of the activities that have not ended, in their order.
    pub fn slots(&self) -> impl Iterator<Item = usize> {
        let activities = self.activities.iter().enumerate();
        activities.filter(|(_, activity)| activity.stage != Stage::Ended).map(|(slot, _)| slot)
    }

    /// Returns the number of activities that have started.
    pub(crate) fn started(&self) -> u64 {
        self.serial
    }

    /// Returns true if [`FluidNetwork::take_ended`] would return an activity.
    pub(crate) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Returns the numbers of the activities that have not ended.
    pub(crate) fn serials(&self) -> impl Iterator<Item = u64> {
        self.activities.iter().filter(|activity| activity.stage != Stage::Ended).map(|activity| activity.serial)
    }
}
