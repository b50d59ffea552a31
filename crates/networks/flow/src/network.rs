//! A flow-level ("fluid") network: activities that share links and processors, and the dates at which they
//! end.
//!
//! A [`FluidNetwork`] is plain data. Its owner starts activities, asks for the date of the next event,
//! advances the network to that date, and then takes the activities that have ended. A network knows neither
//! LPs nor engines: a model puts it into the state of an LP, and sets a timer to
//! [`FluidNetwork::next_event`].
//!
//! An activity here is what SimGrid's kernel calls an *action*: a flow, the execution of a computation, or a
//! transfer of a disk.
//!
//! # Time
//!
//! Dates are whole picoseconds. Rates and amounts are doubles. The remaining amount of an activity is updated
//! only when its rate changes, and its completion date is then computed from the remaining amount. An
//! activity due less than a nanosecond after an event is completed together with that event. So symmetrical
//! flows end together, even if the last bits of their rates differ.
//!
//! # Changes
//!
//! The bandwidth, latency and state of links, and the speed and state of hosts, change by the platform's
//! profiles or by [`FluidNetwork::apply`]. When a link or host fails, the activities that use it end as
//! [`Outcome::Failed`]. An activity that starts on a failed link or host fails at once.

mod activity;
mod calendar;
mod changes;
mod profiles;
mod save;
mod scope;
mod start;
mod system;

pub use activity::{ActivityId, Ended, Execution, Outcome, Transfer};
pub use changes::{Change, Property};

use crate::network_model::NetworkModel;
use crate::platform::{HostId, Parts, Platform};
use crate::solver::{SharingPolicy, System};
use activity::{Activity, Stage};
use calendar::Calendar;
use changes::{HostState, LinkState};
use parades_core::time::Time;
use profiles::Profiles;
use scope::Scope;
use start::ElementBuffer;
use std::collections::VecDeque;
use std::sync::Arc;

/// Activities due less than this after an event are completed with it, in picoseconds. It is SimGrid's
/// precision of time, one nanosecond.
const TIME_PRECISION_PS: u64 = 1000;
/// A remaining amount below this, in bytes or flops, counts as zero. It is SimGrid's precision of amounts.
const AMOUNT_PRECISION: f64 = 1e-14;

/// Activities on a platform.
///
/// # Examples
///
/// Two flows share a link. The second is twice as long as the first:
///
/// ```
/// use parades_core::time::Time;
/// use parades_flow::network::{FluidNetwork, Outcome};
/// use parades_flow::network_model::{MaxMinModel, NetworkModel};
/// use parades_flow::xml;
/// let text = r#"<platform version="4.1"><zone id="world" routing="Full">
///   <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
///   <link id="wire" bandwidth="100MBps" latency="1ms" sharing_policy="SHARED"/>
///   <route src="a" dst="b"><link_ctn id="wire"/></route>
/// </zone></platform>"#;
/// let platform = std::sync::Arc::new(xml::parse("two.xml".as_ref(), text.as_bytes())?);
/// let (a, b) = (platform.host("a").unwrap(), platform.host("b").unwrap());
///
/// let model = MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 };
/// let mut network = FluidNetwork::new(platform, NetworkModel::MaxMin(model));
/// let short = network.start_flow(a, b, 100e6).unwrap();
/// let long = network.start_flow(a, b, 200e6).unwrap();
/// network.advance(Time::try_from_secs_f64(10.0).unwrap());
///
/// let ended: Vec<_> = std::iter::from_fn(|| network.take_ended()).collect();
/// assert_eq!((ended[0].id, ended[0].at.as_secs_f64()), (short, 2.001)); // 1 ms, then half of 100 MB/s
/// assert_eq!((ended[1].id, ended[1].at.as_secs_f64()), (long, 3.001)); // the second half alone
/// assert_eq!(ended[1].outcome, Outcome::Done);
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FluidNetwork {
    scope: Scope,
    model: NetworkModel,
    now: Time,
    /// The constraints of the links, by their numbers, then those of the hosts, then three of each disk.
    system: System,
    /// Activities by slot. A slot is reused after its activity has ended.
    activities: Vec<Activity>,
    free: Vec<u32>,
    /// By variable of the system, the slot of its activity.
    owners: Vec<u32>,
    /// The next date of each activity: the end of its latency, or its completion.
    calendar: Calendar,
    /// The serial number of the next activity.
    serial: u64,
    /// The number of activities that have not ended.
    active: u32,
    ended: VecDeque<Ended>,
    links: Vec<LinkState>,
    hosts: Vec<HostState>,
    profiles: Profiles,
    /// The hosts that have failed or work again, if the owner watches hosts.
    host_changes: Option<VecDeque<(HostId, bool)>>,
    /// True if the latency of any link has changed since the platform was read.
    latencies_changed: bool,
    /// The slots of the unconstrained activities: the system has reserved their demands only.
    unconstrained: Vec<u32>,
    /// The number of links that are off.
    links_off: u32,
    buffer: ElementBuffer,
}

/// Networks are equal if they go on alike. The buffer for the next flow is not compared.
impl PartialEq for FluidNetwork {
    fn eq(&self, other: &FluidNetwork) -> bool {
        let FluidNetwork {
            scope,
            model,
            now,
            system,
            activities,
            free,
            owners,
            calendar,
            serial,
            active,
            ended,
            links,
            hosts,
            profiles,
            host_changes,
            latencies_changed,
            unconstrained,
            links_off,
            buffer: _,
        } = self;
        *scope == other.scope
            && *model == other.model
            && *now == other.now
            && *system == other.system
            && *activities == other.activities
            && *free == other.free
            && *owners == other.owners
            && *calendar == other.calendar
            && *serial == other.serial
            && *active == other.active
            && *ended == other.ended
            && *links == other.links
            && *hosts == other.hosts
            && *profiles == other.profiles
            && *host_changes == other.host_changes
            && *latencies_changed == other.latencies_changed
            && *unconstrained == other.unconstrained
            && *links_off == other.links_off
    }
}

impl FluidNetwork {
    /// Returns a network without activities, at time zero.
    pub fn new(platform: Arc<Platform>, model: NetworkModel) -> FluidNetwork {
        FluidNetwork::with_scope(Scope::whole(platform), model)
    }

    /// Returns a network of a part of a platform, of which `parts` are the parts. Flows between its hosts,
    /// computations and transfers there end as in a network of the whole platform. Only an activity that ends
    /// less than a nanosecond after an event of another part ends with that event there, and at its own date
    /// here.
    pub fn of_part(platform: Arc<Platform>, parts: Arc<Parts>, part: u32, model: NetworkModel) -> FluidNetwork {
        FluidNetwork::with_scope(Scope::part(platform, parts, part), model)
    }

    fn with_scope(scope: Scope, model: NetworkModel) -> FluidNetwork {
        let mut system = System::default();
        if let NetworkModel::MaxMin(model) = model {
            system.set_precision(model.precision);
        }
        for (_, link) in scope.links() {
            system.add_constraint(link.bandwidth, link.policy);
        }
        for (_, host) in scope.hosts() {
            system.add_constraint(f64::from(host.cores) * host.speed(), SharingPolicy::Shared);
        }
        for (_, disk) in scope.disks() {
            let (read, write) = (disk.read_bandwidth, disk.write_bandwidth);
            for capacity in [read, write, read.max(write)] {
                system.add_constraint(capacity, SharingPolicy::Shared);
            }
        }
        let links = scope.links().map(|(_, link)| LinkState::new(link, model)).collect();
        let hosts = scope.hosts().map(|(_, host)| HostState::new(host, scope.platform())).collect();
        let profiles = Profiles::new(&scope);
        let (owners, free, ended) = (Vec::new(), Vec::new(), VecDeque::new());
        let (activities, calendar) = (Vec::new(), Calendar::default());
        let (now, serial, active) = (Time::ZERO, 0, 0);
        FluidNetwork {
            scope,
            model,
            now,
            system,
            activities,
            free,
            owners,
            calendar,
            serial,
            active,
            ended,
            links,
            hosts,
            profiles,
            host_changes: None,
            latencies_changed: false,
            unconstrained: Vec::new(),
            links_off: 0,
            buffer: ElementBuffer::default(),
        }
    }

    /// Records the failures and recoveries of hosts from now on, for [`FluidNetwork::take_host_change`].
    ///
    /// Then [`FluidNetwork::next_event`] returns the dates of such changes even if there is no activity.
    pub fn watch_hosts(&mut self) {
        self.host_changes.get_or_insert_default();
    }

    /// Takes the earliest recorded change of a host. The flag is true if the host works again.
    pub fn take_host_change(&mut self) -> Option<(HostId, bool)> {
        self.host_changes.as_mut()?.pop_front()
    }

    /// Returns the platform.
    pub fn platform(&self) -> &Platform {
        self.scope.platform()
    }

    /// Returns true if the host is one of the network's: of its part of the platform, or of all of it.
    #[inline]
    pub fn has_host(&self, host: HostId) -> bool {
        self.scope.has_host(host)
    }

    /// Returns the time up to which the network has been advanced.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of activities that have started and not ended.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Cancels an activity. Does nothing if the activity has ended.
    pub fn cancel(&mut self, id: ActivityId) {
        if let Some(slot) = self.slot(id) {
            self.end(slot, Outcome::Cancelled);
        }
    }

    /// Returns the remaining amount of an activity, in bytes or flops. `None` if the activity has ended.
    pub fn remaining(&mut self, id: ActivityId) -> Option<f64> {
        let slot = self.slot(id)?;
        self.update_rates();
        let activity = &mut self.activities[slot as usize];
        activity.update_remaining(self.now);
        Some(activity.remaining)
    }

    /// Returns the rate of an activity, in bytes or flops per second. `None` if the activity has ended.
    pub fn rate(&mut self, id: ActivityId) -> Option<f64> {
        let slot = self.slot(id)?;
        self.update_rates();
        Some(self.activities[slot as usize].rate)
    }

    /// Returns the date of the next event if no activity starts before it: an activity ends or finishes its
    /// latency, or a resource changes.
    ///
    /// `None` if there is no activity (unless hosts are watched and have profiles), or if no event will ever
    /// occur.
    #[inline]
    pub fn next_event(&mut self) -> Option<Time> {
        self.update_rates();
        if self.active == 0 && !(self.host_changes.is_some() && self.profiles.has_host_states()) {
            return None;
        }
        self.next_date()
    }

    /// Returns the earlier of the calendar's first date and the next change by a profile.
    #[inline]
    fn next_date(&self) -> Option<Time> {
        let activity = self.calendar.first_date();
        match self.profiles.next_date() {
            None => activity,
            Some(change) => Some(activity.map_or(change, |activity| activity.min(change))),
        }
    }

    /// Handles all events up to and including the time `to`. Does nothing if `to` is in the past.
    #[inline]
    pub fn advance(&mut self, to: Time) {
        self.update_rates();
        while let Some(date) = self.next_date().filter(|&date| date <= to) {
            self.now = self.now.max(date);
            self.apply_profiles();
            self.handle_due_activities();
            self.update_rates();
        }
        self.now = self.now.max(to);
    }

    /// Handles all events up to and including the time `to`, unless the network is there already. Then it
    /// does nothing, and several changes at that time are solved once, at the next question about rates or
    /// dates.
    #[inline]
    pub fn come_to(&mut self, to: Time) {
        if to > self.now {
            self.advance(to);
        }
    }

    /// Returns true if no change of the present time waits to be solved.
    #[inline]
    pub fn is_solved(&self) -> bool {
        self.system.is_solved()
    }

    /// Takes the next ended activity. Activities come in the order of their ends; those that ended together
    /// come in the order in which they started.
    #[inline]
    pub fn take_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    /// Lets each activity that is due end, or begin to share after its latency.
    fn handle_due_activities(&mut self) {
        let bound = self.now.as_ps().saturating_add(TIME_PRECISION_PS);
        while let Some((date, slot)) = self.calendar.first() {
            if date > self.now && date.as_ps() >= bound {
                break;
            }
            self.calendar.remove_first(slot);
            match self.activities[slot as usize].stage {
                Stage::Latency => self.share(slot),
                Stage::Timed | Stage::Unconstrained(_) | Stage::Sharing(_) => self.end(slot, Outcome::Done),
                Stage::Suspended(_) | Stage::Ended => unreachable!("such an activity has no date"),
            }
        }
    }

    /// Returns the slot of an activity. `None` if the activity has ended.
    fn slot(&self, id: ActivityId) -> Option<u32> {
        let activity = self.activities.get(id.slot as usize)?;
        (activity.serial == id.serial && activity.stage != Stage::Ended).then_some(id.slot)
    }

    /// Ends an activity now.
    #[inline]
    fn end(&mut self, slot: u32, outcome: Outcome) {
        self.leave_system(slot);
        let activity = &mut self.activities[slot as usize];
        activity.stage = Stage::Ended;
        self.calendar.remove(slot);
        self.free.push(slot);
        self.active -= 1;
        let id = ActivityId { slot, serial: activity.serial };
        self.ended.push_back(Ended { id, at: self.now, outcome });
    }

    /// Solves the system if it has been modified.
    #[inline]
    fn update_rates(&mut self) {
        if !self.system.is_solved() {
            self.solve();
        }
    }

    /// Solves the system, and updates the activities whose rates have changed: amounts, rates and completion
    /// dates.
    fn solve(&mut self) {
        self.system.solve();
        for &variable in self.system.changed() {
            let slot = self.owners[variable.0 as usize];
            let activity = &mut self.activities[slot as usize];
            activity.update_remaining(self.now);
            activity.rate = self.system.rate(variable) * activity.rate_factor;
            let date = activity.completion_date(self.now);
            self.calendar.set(slot, activity.serial, date);
        }
        self.system.clear_changed();
    }
}
