//! The hosts, links and disks of a network: those of its platform, or of a part of it.

use super::Property;
use crate::platform::{Disk, DiskId, Host, HostId, Link, LinkId, Members, Parts, Platform};
use std::sync::Arc;

/// The hosts, links and disks of a network. Each has a number there, by which the network has its state. In a
/// network of the whole platform, the numbers are the ids.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    platform: Arc<Platform>,
    /// The parts of the platform, and the number of the network's part; `None` for the whole platform.
    part: Option<(Arc<Parts>, u32)>,
}

impl Scope {
    pub(super) fn whole(platform: Arc<Platform>) -> Scope {
        Scope { platform, part: None }
    }

    pub(super) fn part(platform: Arc<Platform>, parts: Arc<Parts>, number: u32) -> Scope {
        // With one part, the numbers are the ids too.
        Scope { platform, part: (parts.number() > 1).then_some((parts, number)) }
    }

    pub(super) fn platform(&self) -> &Platform {
        &self.platform
    }

    fn members(&self) -> Option<&Members> {
        self.part.as_ref().map(|(parts, number)| &parts.members[*number as usize])
    }

    /// Returns true if the host is in the network.
    #[inline]
    pub(super) fn has_host(&self, HostId(host): HostId) -> bool {
        self.part.as_ref().is_none_or(|(parts, number)| parts.of_hosts[host as usize].part == *number)
    }

    fn has_link(&self, LinkId(link): LinkId) -> bool {
        self.part.as_ref().is_none_or(|(parts, number)| parts.of_links[link as usize].is_in(*number))
    }

    /// Returns true if the link or host of a property is in the network.
    pub(super) fn has(&self, property: Property) -> bool {
        match property {
            Property::Bandwidth(link) | Property::Latency(link) | Property::LinkState(link) => self.has_link(link),
            Property::Speed(host) | Property::PowerState(host) | Property::HostState(host) => self.has_host(host),
        }
    }

    /// Returns the number of a host of the network.
    #[inline]
    pub(super) fn host(&self, HostId(host): HostId) -> u32 {
        self.part.as_ref().map_or(host, |(parts, _)| parts.of_hosts[host as usize].index)
    }

    /// Returns the number of a link of the network.
    #[inline]
    pub(super) fn link(&self, LinkId(link): LinkId) -> u32 {
        self.part.as_ref().map_or(link, |(parts, _)| parts.of_links[link as usize].index)
    }

    /// Returns the number of a disk of the network.
    pub(super) fn disk(&self, DiskId(disk): DiskId) -> u32 {
        self.part.as_ref().map_or(disk, |(parts, _)| parts.of_disks[disk as usize].index)
    }

    /// Returns the hosts, by number.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (HostId, &Host)> {
        let hosts = self.platform.hosts();
        self.ids(hosts.len(), |members| &members.hosts, HostId).map(|id| (id, &hosts[id.0 as usize]))
    }

    /// Returns the links, by number.
    pub(super) fn links(&self) -> impl Iterator<Item = (LinkId, &Link)> {
        let links = self.platform.links();
        self.ids(links.len(), |members| &members.links, LinkId).map(|id| (id, &links[id.0 as usize]))
    }

    /// Returns the disks, by number.
    pub(super) fn disks(&self) -> impl Iterator<Item = (DiskId, &Disk)> {
        let disks = self.platform.disks();
        self.ids(disks.len(), |members| &members.disks, DiskId).map(|id| (id, &disks[id.0 as usize]))
    }

    /// Returns the host of this number.
    pub(super) fn host_at(&self, number: u32) -> (HostId, &Host) {
        let id = self.members().map_or(HostId(number), |members| members.hosts[number as usize]);
        (id, &self.platform.hosts()[id.0 as usize])
    }

    /// Returns the ids of `count` things of the platform, or of those that the part has.
    fn ids<T: Copy + 'static>(
        &self,
        count: usize,
        of_part: impl FnOnce(&Members) -> &Vec<T>,
        id: impl Fn(u32) -> T,
    ) -> impl Iterator<Item = T> {
        let members = self.members().map(of_part);
        let count = members.map_or(count, Vec::len);
        let numbers = 0..u32::try_from(count).expect("counted in 32 bits");
        numbers.map(move |number| members.map_or_else(|| id(number), |members| members[number as usize]))
    }
}

/// Compares by address, as platforms.
impl PartialEq for Scope {
    fn eq(&self, other: &Scope) -> bool {
        let same_part = match (&self.part, &other.part) {
            (None, None) => true,
            (Some((parts, number)), Some((others, other))) => Arc::ptr_eq(parts, others) && number == other,
            _ => false,
        };
        same_part && *self.platform == *other.platform
    }
}
