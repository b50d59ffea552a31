//! The profiles of a platform's resources, and the changes that they make to a network.

use super::scope::Scope;
use super::{Change, FluidNetwork, Property};
use crate::profile::Profile;
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The bound of points that a profile has had. No run reaches it.
const POINT_MAX: usize = usize::MAX / 2;

/// A profile, and how far the network has followed it.
#[derive(Clone, Debug, PartialEq)]
struct Running {
    property: Property,
    profile: Arc<Profile>,
    /// The number of the next point.
    next_point: usize,
}

/// The profiles of all resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Profiles {
    running: Vec<Running>,
    /// The next change by each profile: its date, and the profile's index in `running`.
    next: BTreeSet<(Time, usize)>,
    has_host_states: bool,
}

impl Profiles {
    /// Returns the profiles of a network's resources, each before its first point.
    pub(super) fn new(scope: &Scope) -> Profiles {
        let mut profiles = Profiles::default();
        let mut add = |property, profile: &Option<Arc<Profile>>| {
            if let Some(profile) = profile {
                profiles.running.push(Running { property, profile: Arc::clone(profile), next_point: 0 });
            }
        };
        for (id, link) in scope.links() {
            add(Property::Bandwidth(id), &link.bandwidth_profile);
            add(Property::Latency(id), &link.latency_profile);
            add(Property::LinkState(id), &link.state_profile);
        }
        for (id, host) in scope.hosts() {
            add(Property::Speed(id), &host.speed_profile);
            add(Property::HostState(id), &host.state_profile);
        }
        profiles.has_host_states =
            profiles.running.iter().any(|running| matches!(running.property, Property::HostState(_)));
        for index in 0..profiles.running.len() {
            profiles.schedule(index, Time::ZERO);
        }
        profiles
    }

    /// Schedules the next point of a profile, whose last point was at `since`.
    fn schedule(&mut self, index: usize, since: Time) {
        let running = &self.running[index];
        let point = running.profile.point(running.next_point);
        let date = point.and_then(|(after, _)| since.checked_add(Delay::try_from_secs_f64(after)?));
        self.next.extend(date.map(|date| (date, index)));
    }

    /// Appends the bytes of the state: the next point of each profile, and its date.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let mut dates = vec![None; self.running.len()];
        self.next.iter().for_each(|&(date, index)| dates[index] = Some(date));
        for (running, date) in self.running.iter().zip(dates) {
            wire::write(&(running.next_point, date), to);
        }
    }

    /// Reads the state of the profiles of a network.
    pub(super) fn read(scope: &Scope, now: Time, from: &mut &[u8]) -> Result<Profiles, Malformed> {
        let mut profiles = Profiles::new(scope);
        profiles.next.clear();
        for index in 0..profiles.running.len() {
            let (next_point, date): (usize, Option<Time>) = wire::read(from)?;
            if next_point > POINT_MAX || date.is_some_and(|date| date < now) {
                return Err(Malformed::new("a profile has no such point"));
            }
            profiles.running[index].next_point = next_point;
            profiles.next.extend(date.map(|date| (date, index)));
        }
        Ok(profiles)
    }

    /// Returns true if the state of any host has a profile.
    pub(super) fn has_host_states(&self) -> bool {
        self.has_host_states
    }

    /// Returns the date of the next change.
    #[inline]
    pub(super) fn next_date(&self) -> Option<Time> {
        self.next.first().map(|&(date, _)| date)
    }

    /// Takes the next change that is due.
    fn take_due(&mut self, now: Time) -> Option<Change> {
        let (date, index) = *self.next.first().filter(|(date, _)| *date <= now)?;
        self.next.pop_first();
        let running = &mut self.running[index];
        let (property, (_, value)) = (running.property, running.profile.point(running.next_point)?);
        running.next_point += 1;
        self.schedule(index, date);
        Some(Change { property, value })
    }
}

impl FluidNetwork {
    /// Applies all changes of the profiles that are due. Negative values in profiles are ignored.
    pub(super) fn apply_profiles(&mut self) {
        while let Some(change) = self.profiles.take_due(self.now) {
            if change.value >= 0.0 {
                self.apply(change);
            }
        }
    }
}
