//! A flow-level network: activities that share links and processors, and when they end.
//!
//! A [`Network`] is plain data. It is told what starts, asked when something will happen next, and advanced to that time; then it tells what has
//! ended. It knows no LP and no engine: a model puts one into the state of an LP and keeps a timer at [`Network::next_event`].
//!
//! # Time
//!
//! Dates are whole picoseconds; rates and amounts are doubles. An activity's remaining amount is brought up to date only when its rate
//! changes, and its end is computed from it then. What ends less than a nanosecond after an event ends with it: the symmetrical flows of a
//! symmetrical platform end together, whatever the last bits of their rates.
//!
//! # Changes
//!
//! The bandwidth, latency and state of links and the speed and state of hosts follow the platform's profiles, or [`Network::apply`]. What uses a
//! link or host that fails ends, as [`Outcome::Failed`]; what starts over one fails at once.

mod activity;
mod calendar;
mod changes;
mod sharing;

pub use activity::{ActivityId, Ended, Outcome};
pub use changes::{Change, What};

use crate::platform::{HostId, LinkId, LinkSharing, NoRoute, Platform};
use crate::solver::{Sharing as ConstraintSharing, System};
use crate::terms::{Sharing, Terms};
use activity::{Activity, Kind, Stage};
use calendar::Calendar;
use changes::{HostState, LinkState, Profiles, changed_sum};
use parades_core::time::{Delay, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// What happens less than this after an event happens with it: SimGrid's precision of time, a nanosecond.
const TOGETHER_PS: u64 = 1000;
/// What is left of an amount below this is nothing: SimGrid's precision of amounts.
const AMOUNT_PRECISION: f64 = 1e-14;

/// Activities on a platform.
///
/// # Examples
///
/// Two flows on one link, one of them twice as long:
///
/// ```
/// use parades_core::time::Time;
/// use parades_flow::{network::{Network, Outcome}, terms::{Sharing, Terms}, xml};
/// let text = r#"<platform version="4.1"><zone id="world" routing="Full">
///   <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
///   <link id="wire" bandwidth="100MBps" latency="1ms" sharing_policy="SHARED"/>
///   <route src="a" dst="b"><link_ctn id="wire"/></route>
/// </zone></platform>"#;
/// let platform = std::sync::Arc::new(xml::parse("two.xml".as_ref(), text.as_bytes())?);
/// let (a, b) = (platform.host("a").unwrap(), platform.host("b").unwrap());
///
/// let terms = Sharing { cross_traffic: 0.0, ..Sharing::CM02 };
/// let mut network = Network::new(platform, Terms::Shared(terms));
/// let short = network.start_flow(a, b, 100e6).unwrap();
/// let long = network.start_flow(a, b, 200e6).unwrap();
/// network.advance(Time::from_secs_f64(10.0).unwrap());
///
/// let ended: Vec<_> = std::iter::from_fn(|| network.take_ended()).collect();
/// assert_eq!((ended[0].id, ended[0].at.as_secs_f64()), (short, 2.001)); // 1 ms, then half of 100 MB/s
/// assert_eq!((ended[1].id, ended[1].at.as_secs_f64()), (long, 3.001)); // the second half alone
/// assert_eq!(ended[1].outcome, Outcome::Done);
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    platform: Arc<Platform>,
    terms: Terms,
    now: Time,
    system: System,
    activities: Vec<Activity>,
    free: Vec<u32>,
    /// Whose a variable is.
    owners: Vec<u32>,
    calendar: Calendar,
    /// Counts activities.
    serial: u64,
    active: u32,
    ended: VecDeque<Ended>,
    links: Vec<LinkState>,
    hosts: Vec<HostState>,
    profiles: Profiles,
    /// Hosts that have failed or work again, where somebody wants to know.
    host_changes: Option<VecDeque<(HostId, bool)>>,
    /// Whether the latency of any link has changed since the platform was read.
    latencies_change: bool,
    /// The activities that nothing holds back, which the system only counts on.
    unheld: Vec<u32>,
    /// Links that do not work.
    links_off: u32,
    way: Way,
}

/// Room for the links of a route there and back, with their weights.
#[derive(Debug, Default)]
struct Way(Vec<(u32, f64)>);

/// It holds nothing between calls.
impl PartialEq for Way {
    fn eq(&self, _: &Way) -> bool {
        true
    }
}
impl Clone for Way {
    fn clone(&self) -> Way {
        Way::default()
    }
}

impl Network {
    /// A network without activities, at time zero.
    pub fn new(platform: Arc<Platform>, terms: Terms) -> Network {
        let mut system = System::default();
        for link in platform.links() {
            let sharing = match link.sharing {
                LinkSharing::Shared => ConstraintSharing::Shared,
                LinkSharing::Pipe => ConstraintSharing::Pipe,
            };
            system.add_constraint(link.bandwidth, sharing);
        }
        for host in platform.hosts() {
            system.add_constraint(f64::from(host.cores) * host.speed(), ConstraintSharing::Shared);
        }
        let links = platform.links().iter().map(|link| LinkState::new(link, terms)).collect();
        let hosts = platform.hosts().iter().map(|host| HostState::new(host, &platform)).collect();
        let profiles = Profiles::new(&platform);
        let (owners, free, ended) = (Vec::new(), Vec::new(), VecDeque::new());
        let (activities, calendar) = (Vec::new(), Calendar::default());
        let (now, serial, active) = (Time::ZERO, 0, 0);
        Network {
            platform,
            terms,
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
            latencies_change: false,
            unheld: Vec::new(),
            links_off: 0,
            way: Way::default(),
        }
    }

    /// Keeps from now on which hosts fail or work again, for [`Network::take_host_change`]. Then changes of hosts are told by [`Network::next_event`] even
    /// where there is no activity.
    pub fn watch_hosts(&mut self) {
        self.host_changes.get_or_insert_default();
    }

    /// The next of the hosts that have failed or work again, and whether it works, in the order in which they did.
    pub fn take_host_change(&mut self) -> Option<(HostId, bool)> {
        self.host_changes.as_mut()?.pop_front()
    }

    /// The platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The time up to which everything has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many activities have started and not ended.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Starts a flow of so many bytes now.
    ///
    /// # Errors
    ///
    /// Where the platform has no route.
    ///
    /// # Panics
    ///
    /// On an amount that is negative or not a number.
    pub fn start_flow(&mut self, source: HostId, destination: HostId, bytes: f64) -> Result<ActivityId, NoRoute> {
        assert!(bytes >= 0.0 && bytes.is_finite(), "a flow cannot carry {bytes} bytes");
        let (slot, id) = match self.terms {
            Terms::Constant(latency) => {
                let (slot, id) = self.begin(bytes, Kind::Flow { source, destination });
                let date = self.now.checked_add(latency);
                self.enter_stage(slot, Stage::Ending, date);
                (slot, id)
            }
            Terms::Shared(sharing) => {
                let mut way = std::mem::take(&mut self.way);
                way.0.clear();
                let started = self.start_sharing((source, destination), bytes, &sharing, &mut way.0);
                self.way = way;
                started?
            }
        };
        let works = |host: HostId| self.hosts[host.0 as usize].on;
        // Over a link that is off it has failed already.
        if !(works(source) && works(destination)) && self.activities[slot as usize].stage != Stage::Over {
            self.end(slot, Outcome::Failed);
        }
        Ok(id)
    }

    /// Starts a flow that shares links.
    #[inline]
    fn start_sharing(
        &mut self,
        (source, destination): (HostId, HostId),
        bytes: f64,
        sharing: &Sharing,
        way: &mut Vec<(u32, f64)>,
    ) -> Result<(u32, ActivityId), NoRoute> {
        let latency = self.add_links((source, destination), 1.0, way)?;
        let latency = latency.unwrap_or_else(|| {
            // From zero on, in their order, as a search adds them.
            way.iter().fold(0.0, |sum, &(link, _)| sum + self.links[link as usize].latency)
        });
        let there = way.len();
        if sharing.cross_traffic > 0.0 {
            // Where there is no way back, there are no acknowledgements to be counted.
            let _ = self.add_links((destination, source), sharing.cross_traffic, way);
        }
        let (slot, id) = self.begin(bytes, Kind::Flow { source, destination });
        let activity = &mut self.activities[slot as usize];
        std::mem::swap(&mut activity.uses, way);
        activity.latency = latency;
        let (mut penalty, mut width) = (latency, f64::INFINITY);
        for &(link, _) in &activity.uses[..there] {
            let state = &self.links[link as usize];
            penalty += state.price;
            width = if state.bandwidth < width { state.bandwidth } else { width };
        }
        (activity.penalty, activity.width) = (penalty, width);
        activity.factor = sharing.bandwidth_factor;
        self.send_off(slot, sharing);
        Ok((slot, id))
    }

    /// Adds the links of a route with this weight, and tells its latency, unless that is the sum of theirs.
    #[inline]
    fn add_links(
        &self,
        (from, to): (HostId, HostId),
        weight: f64,
        uses: &mut Vec<(u32, f64)>,
    ) -> Result<Option<f64>, NoRoute> {
        let seat = |HostId(host): HostId| self.hosts[host as usize].seat;
        let add = |link: LinkId| uses.push((link.0, weight));
        if !self.latencies_change && self.platform.star_links(seat(from), seat(to), add) {
            return Ok(None);
        }
        let route = self.platform.route(from, to)?;
        uses.extend(route.links.iter().map(|link| (link.0, weight)));
        if !self.latencies_change {
            return Ok(Some(route.latency_s));
        }
        // What has changed since the platform was read.
        let later =
            |link: &LinkId| self.links[link.0 as usize].latency - self.platform.links()[link.0 as usize].latency;
        Ok(Some(changed_sum(route.latency_s + route.links.iter().map(later).sum::<f64>())))
    }

    /// Lets a new flow wait for its latency, or begin to move bytes.
    fn send_off(&mut self, slot: u32, sharing: &Sharing) {
        let activity = &self.activities[slot as usize];
        if self.links_off > 0 && activity.uses.iter().any(|&(link, _)| !self.links[link as usize].on) {
            return self.end(slot, Outcome::Failed);
        }
        if activity.latency > 0.0 {
            let wait = Delay::from_secs_f64(activity.latency * sharing.latency_factor).unwrap_or(Delay::MAX);
            let stage = if activity.uses.is_empty() { Stage::Ending } else { Stage::Waiting };
            self.enter_stage(slot, stage, self.now.checked_add(wait));
        } else {
            let activity = &mut self.activities[slot as usize];
            (activity.penalty, activity.timeless) = (1.0, true);
            self.share(slot);
        }
    }

    /// Starts a computation of so many flops on some cores of a host, now.
    ///
    /// # Panics
    ///
    /// On an amount that is negative or not a number, and on no core.
    pub fn start_execution(&mut self, host: HostId, flops: f64, cores: u32) -> ActivityId {
        assert!(flops >= 0.0 && flops.is_finite(), "a computation cannot take {flops} flops");
        assert!(cores > 0, "a computation needs a core");
        let (slot, id) = self.begin(flops, Kind::Execution { host, cores });
        let constraint = self.host_constraint(host);
        let state = &self.hosts[host.0 as usize];
        let activity = &mut self.activities[slot as usize];
        activity.uses.push((constraint, 1.0));
        activity.penalty = 1.0 / f64::from(cores);
        activity.width = f64::from(cores) * state.speed();
        activity.factor = 1.0;
        match state.on {
            true => self.share(slot),
            false => self.end(slot, Outcome::Failed),
        }
        id
    }

    /// The constraint of a host's processor.
    fn host_constraint(&self, host: HostId) -> u32 {
        u32::try_from(self.links.len()).expect("links are bounded") + host.0
    }

    /// Ends an activity before its time. Nothing if it has ended.
    pub fn cancel(&mut self, id: ActivityId) {
        if let Some(slot) = self.slot(id) {
            self.end(slot, Outcome::Cancelled);
        }
    }

    /// What an activity still has to do, in bytes or flops; `None` once it has ended.
    pub fn remaining(&mut self, id: ActivityId) -> Option<f64> {
        let slot = self.slot(id)?;
        self.settle();
        let activity = &mut self.activities[slot as usize];
        activity.bring_up_to(self.now);
        Some(activity.remaining)
    }

    /// An activity's rate, in bytes or flops per second; `None` once it has ended.
    pub fn rate(&mut self, id: ActivityId) -> Option<f64> {
        let slot = self.slot(id)?;
        self.settle();
        Some(self.activities[slot as usize].rate)
    }

    /// When something will happen next, if nothing starts before: an activity ends, begins to move its bytes, or a resource changes. `None` where
    /// there is no activity (unless hosts are watched that change), or nothing will ever happen to those there are.
    #[inline]
    pub fn next_event(&mut self) -> Option<Time> {
        self.settle();
        if self.active == 0 && !(self.host_changes.is_some() && self.profiles.concern_hosts()) {
            return None;
        }
        self.next_date()
    }

    /// The date of the next end, or of the next change of a resource if that comes first.
    #[inline]
    fn next_date(&self) -> Option<Time> {
        let end = self.calendar.first_date();
        match self.profiles.next() {
            None => end,
            Some(change) => Some(end.map_or(change, |end| end.min(change))),
        }
    }

    /// Lets everything happen up to and including a time. Nothing if that is in the past.
    #[inline]
    pub fn advance(&mut self, to: Time) {
        self.settle();
        while let Some(date) = self.next_date().filter(|&date| date <= to) {
            self.now = self.now.max(date);
            self.follow_profiles();
            self.ripen();
            self.settle();
        }
        self.now = self.now.max(to);
    }

    /// The next of those that have ended, in the order in which they did; of those that ended together, in the order in which they began.
    #[inline]
    pub fn take_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    /// Whatever is due now ends, or goes on.
    fn ripen(&mut self) {
        let bound = self.now.as_ps().saturating_add(TOGETHER_PS);
        while let Some((date, slot)) = self.calendar.first() {
            if date > self.now && date.as_ps() >= bound {
                break;
            }
            self.calendar.take_first(slot);
            match self.activities[slot as usize].stage {
                Stage::Waiting => self.share(slot),
                Stage::Ending | Stage::Free(_) | Stage::Sharing(_) => self.end(slot, Outcome::Done),
                Stage::Over => unreachable!("what is over has no date"),
            }
        }
    }

    /// Makes an activity.
    fn begin(&mut self, amount: f64, kind: Kind) -> (u32, ActivityId) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.activities.push(Activity::default());
            u32::try_from(self.activities.len() - 1).expect("fewer than 2^32 activities at a time")
        });
        let serial = self.serial;
        self.serial += 1;
        self.active += 1;
        self.activities[slot as usize].begin(serial, kind, amount, self.now);
        (slot, ActivityId { slot, serial })
    }

    fn slot(&self, id: ActivityId) -> Option<u32> {
        let activity = self.activities.get(id.slot as usize)?;
        (activity.serial == id.serial && activity.stage != Stage::Over).then_some(id.slot)
    }

    fn enter_stage(&mut self, slot: u32, stage: Stage, date: Option<Time>) {
        let activity = &mut self.activities[slot as usize];
        activity.stage = stage;
        self.calendar.append(slot, activity.serial, date);
    }

    /// Ends an activity now.
    #[inline]
    fn end(&mut self, slot: u32, outcome: Outcome) {
        self.leave(slot);
        let activity = &mut self.activities[slot as usize];
        activity.stage = Stage::Over;
        self.calendar.clear(slot);
        self.free.push(slot);
        self.active -= 1;
        let id = ActivityId { slot, serial: activity.serial };
        self.ended.push_back(Ended { id, at: self.now, outcome });
    }

    /// Solves what has changed, and dates the ends of those whose rates are others now.
    #[inline]
    fn settle(&mut self) {
        if !self.system.is_solved() {
            self.solve();
        }
    }

    fn solve(&mut self) {
        self.system.solve();
        for &variable in self.system.changed() {
            let slot = self.owners[variable.0 as usize];
            let activity = &mut self.activities[slot as usize];
            activity.bring_up_to(self.now);
            activity.rate = self.system.rate(variable) * activity.factor;
            let date = activity.end_from(self.now);
            self.calendar.set(slot, activity.serial, date);
        }
        self.system.forget_changed();
    }
}
