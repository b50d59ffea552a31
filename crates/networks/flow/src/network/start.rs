//! Starting activities: the links and the latency of a flow, the processor of a computation, and the disk of
//! a transfer.

use super::FluidNetwork;
use super::activity::{Activity, ActivityId, ActivityKind, Execution, Outcome, Stage, Transfer};
use super::changes::rounded_latency;
use crate::network_model::{MaxMinModel, NetworkModel};
use crate::platform::{Disk, DiskId, HostId, LinkId, NoRoute};
use parades_core::time::{Delay, Time};

/// Memory for the elements of the next flow: its links in both directions, with their weights.
///
/// It holds no information between calls, so a copy of a network gets an empty one.
#[derive(Debug, Default)]
pub(super) struct ElementBuffer(Vec<(u32, f64)>);

impl Clone for ElementBuffer {
    fn clone(&self) -> ElementBuffer {
        ElementBuffer::default()
    }
}

impl FluidNetwork {
    /// Starts a flow of `bytes` bytes now.
    ///
    /// # Errors
    ///
    /// If the platform has no route.
    ///
    /// # Panics
    ///
    /// If the amount is negative or not a finite number.
    pub fn start_flow(&mut self, source: HostId, destination: HostId, bytes: f64) -> Result<ActivityId, NoRoute> {
        assert!(bytes >= 0.0 && bytes.is_finite(), "a flow cannot carry {bytes} bytes");
        if !(self.has_host(source) && self.has_host(destination)) {
            return Err(self.platform().route(source, destination).expect_err("parts have no route between them"));
        }
        let (slot, id) = match self.model {
            NetworkModel::Constant(latency) => {
                let (slot, id) = self.begin(bytes, ActivityKind::Flow { source, destination });
                let date = self.now.checked_add(latency);
                self.enter_stage(slot, Stage::Timed, date);
                (slot, id)
            }
            NetworkModel::MaxMin(model) => {
                let mut buffer = std::mem::take(&mut self.buffer);
                buffer.0.clear();
                let started = self.start_max_min_flow(source, destination, bytes, &model, &mut buffer.0);
                self.buffer = buffer;
                started?
            }
        };
        let works = |host: HostId| self.hosts[self.scope.host(host) as usize].on;
        // A flow on a link that is off has failed already.
        if !(works(source) && works(destination)) && self.activities[slot as usize].stage != Stage::Ended {
            self.end(slot, Outcome::Failed);
        }
        Ok(id)
    }

    /// Starts a flow that shares links. `elements` is empty memory.
    #[inline]
    fn start_max_min_flow(
        &mut self,
        source: HostId,
        destination: HostId,
        bytes: f64,
        model: &MaxMinModel,
        elements: &mut Vec<(u32, f64)>,
    ) -> Result<(u32, ActivityId), NoRoute> {
        let latency = self.add_links(source, destination, 1.0, elements)?;
        let latency = latency.unwrap_or_else(|| {
            // The sum begins at zero and follows the order of the links, as in the search for a route. So the
            // bits are the same.
            elements.iter().fold(0.0, |sum, &(link, _)| sum + self.links[link as usize].latency)
        });
        let forward_count = elements.len();
        if model.cross_traffic > 0.0 {
            // Without a reverse route there is no cross-traffic, and that is no error.
            let _ = self.add_links(destination, source, model.cross_traffic, elements);
        }
        let (slot, id) = self.begin(bytes, ActivityKind::Flow { source, destination });
        let activity = &mut self.activities[slot as usize];
        std::mem::swap(&mut activity.elements, elements);
        activity.latency = latency;
        let (mut penalty, mut bandwidth) = (latency, f64::INFINITY);
        for &(link, _) in &activity.elements[..forward_count] {
            let state = &self.links[link as usize];
            penalty += state.penalty_term;
            bandwidth = if state.bandwidth < bandwidth { state.bandwidth } else { bandwidth };
        }
        (activity.penalty, activity.resource_rate) = (penalty, bandwidth);
        activity.rate_factor = model.bandwidth_factor;
        self.begin_latency(slot, model);
        Ok((slot, id))
    }

    /// Adds the links of a route, each with this weight. Returns the latency of the route in seconds, or
    /// `None` if it is the sum of the links' latencies.
    #[inline]
    fn add_links(
        &self,
        from: HostId,
        to: HostId,
        weight: f64,
        elements: &mut Vec<(u32, f64)>,
    ) -> Result<Option<f64>, NoRoute> {
        let position = |host: HostId| self.hosts[self.scope.host(host) as usize].position;
        let add = |link: LinkId| elements.push((self.scope.link(link), weight));
        if !self.latencies_changed && self.platform().star_links(position(from), position(to), add) {
            return Ok(None);
        }
        let route = self.platform().route(from, to)?;
        elements.extend(route.links.iter().map(|&link| (self.scope.link(link), weight)));
        if !self.latencies_changed {
            return Ok(Some(route.latency_s));
        }
        // The route has the latencies of the platform as it was read, so the changes since then are added.
        let change = |link: &LinkId| {
            self.links[self.scope.link(*link) as usize].latency - self.platform().links()[link.0 as usize].latency
        };
        Ok(Some(rounded_latency(route.latency_s + route.links.iter().map(change).sum::<f64>())))
    }

    /// Lets a new flow wait for its latency. A flow without latency begins to share at once.
    fn begin_latency(&mut self, slot: u32, model: &MaxMinModel) {
        let activity = &self.activities[slot as usize];
        if self.links_off > 0 && activity.elements.iter().any(|&(link, _)| !self.links[link as usize].on) {
            return self.end(slot, Outcome::Failed);
        }
        if activity.latency > 0.0 {
            let wait = Delay::try_from_secs_f64(activity.latency * model.latency_factor).unwrap_or(Delay::MAX);
            let stage = if activity.elements.is_empty() { Stage::Timed } else { Stage::Latency };
            self.enter_stage(slot, stage, self.now.checked_add(wait));
        } else {
            let activity = &mut self.activities[slot as usize];
            (activity.penalty, activity.has_fixed_penalty) = (1.0, true);
            self.share(slot);
        }
    }

    /// Starts a computation on a host now.
    ///
    /// # Panics
    ///
    /// If one of its numbers is impossible ([`Execution::refusal`]).
    pub fn start_execution(&mut self, host: HostId, execution: Execution) -> ActivityId {
        if let Some(why) = execution.refusal() {
            panic!("{why}");
        }
        let Execution { flops, threads, priority, bound } = execution;
        let (slot, id) = self.begin(flops * f64::from(threads), ActivityKind::Execution { host, threads });
        let constraint = self.host_constraint(host);
        let state = &self.hosts[self.scope.host(host) as usize];
        let activity = &mut self.activities[slot as usize];
        activity.elements.push((constraint, 1.0));
        activity.penalty = 1.0 / (f64::from(threads) * priority);
        activity.resource_rate = f64::from(threads) * state.speed();
        activity.limit = bound;
        match state.on {
            true => self.share(slot),
            false => self.end(slot, Outcome::Failed),
        }
        id
    }

    /// Starts to read bytes from a disk, or to write bytes to it, now. A disk works while its host does.
    ///
    /// All reads share the disk's bandwidth for reading, and all writes that for writing. Reads and writes
    /// together share the greater of the two, as SimGrid's disks.
    ///
    /// # Panics
    ///
    /// If the amount is negative or not a finite number.
    pub fn start_disk(&mut self, disk: DiskId, transfer: Transfer, bytes: f64) -> ActivityId {
        assert!(bytes >= 0.0 && bytes.is_finite(), "a disk cannot transfer {bytes} bytes");
        let (slot, id) = self.begin(bytes, ActivityKind::Disk { disk, transfer });
        let first = self.disk_constraint(disk);
        let &Disk { host, read_bandwidth, write_bandwidth, .. } = &self.platform().disks()[disk.0 as usize];
        let (own, bandwidth) = match transfer {
            Transfer::Read => (first, read_bandwidth),
            Transfer::Write => (first + 1, write_bandwidth),
        };
        let activity = &mut self.activities[slot as usize];
        activity.elements.extend([(own, 1.0), (first + 2, 1.0)]);
        activity.resource_rate = bandwidth;
        match self.hosts[self.scope.host(host) as usize].on {
            true => self.share(slot),
            false => self.end(slot, Outcome::Failed),
        }
        id
    }

    /// Returns the first constraint of a disk: that of its reads. Those of its writes and of both follow.
    fn disk_constraint(&self, disk: DiskId) -> u32 {
        let before = self.links.len() + self.hosts.len();
        u32::try_from(before).expect("links and hosts are bounded") + 3 * self.scope.disk(disk)
    }

    /// Returns the constraint of a host's processor.
    pub(super) fn host_constraint(&self, host: HostId) -> u32 {
        u32::try_from(self.links.len()).expect("links are bounded") + self.scope.host(host)
    }

    /// Adds an activity, in a free slot if there is one.
    fn begin(&mut self, amount: f64, kind: ActivityKind) -> (u32, ActivityId) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.activities.push(Activity::default());
            u32::try_from(self.activities.len() - 1).expect("fewer than 2^32 activities at a time")
        });
        let serial = self.serial;
        self.serial += 1;
        self.active += 1;
        self.activities[slot as usize].reset(serial, kind, amount, self.now);
        (slot, ActivityId { slot, serial })
    }

    /// Moves an activity to a stage that ends at `date`.
    pub(super) fn enter_stage(&mut self, slot: u32, stage: Stage, date: Option<Time>) {
        let activity = &mut self.activities[slot as usize];
        activity.stage = stage;
        self.calendar.append(slot, activity.serial, date);
    }
}
