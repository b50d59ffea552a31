//! Churn: nodes that come and go.
//!
//! A node stays for a *session*, is away for an *absence*, and comes back. Each length is drawn from a
//! [`Law`], or is read from a file ([`Schedule`]). A length is a pure function of the node's random stream,
//! so that it is drawn again after a rollback. Nothing here knows a protocol.
//!
//! # Examples
//!
//! ```
//! use parades_core::prelude::*;
//! use parades_p2p::churn::{Churn, Law};
//!
//! let sessions = Law::weibull(Delay::from_secs(3600), 0.5)?; // many short sessions, few very long ones
//! let absences = Law::exponential(Delay::from_secs(600))?;
//! let until = Time::try_from_secs_f64(86_400.0).unwrap();
//! let churn = Churn::random(sessions, absences, until);
//!
//! let mut rng = Rng::stream(1, 7); // of node 7
//! let stay = churn.begin(LpId(7), Time::ZERO, &mut rng);
//! assert!(stay.end < until && !stay.crashes);
//! let back = churn.back(LpId(7), &stay, stay.end);
//! assert!(back > stay.end);
//! # Ok::<(), String>(())
//! ```

mod law;
mod schedule;

pub use law::Law;
pub use schedule::Schedule;

use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use std::sync::Arc;

/// The coming and going of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Churn {
    plan: Plan,
    /// The probability that a node crashes at the end of its session instead of taking leave.
    pub crash: f64,
    /// After this time no node goes, and nodes that are away come back at it.
    pub until: Time,
}

#[derive(Clone, Debug, PartialEq)]
enum Plan {
    Random { session: Law, absence: Law },
    Scheduled(Arc<Schedule>),
}

/// A session of a node that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The time at which the node goes; [`Time::MAX`] if it stays.
    pub end: Time,
    /// True if the node crashes at the end of the session instead of taking leave.
    pub crashes: bool,
    /// The time for which the node is away afterwards, where that is drawn.
    absence: Delay,
}

impl Stay {
    /// Returns a session that does not end.
    pub const fn for_ever() -> Stay {
        Stay { end: Time::MAX, crashes: false, absence: Delay::ZERO }
    }
}

impl Churn {
    /// Makes a churn whose sessions and absences are drawn. No node crashes, unless [`Churn::crash`] is set.
    pub fn random(session: Law, absence: Law, until: Time) -> Churn {
        Churn { plan: Plan::Random { session, absence }, crash: 0.0, until }
    }

    /// Makes a churn whose sessions are read from a file. No node crashes, unless [`Churn::crash`] is set.
    pub fn scheduled(schedule: Schedule, until: Time) -> Churn {
        Churn { plan: Plan::Scheduled(Arc::new(schedule)), crash: 0.0, until }
    }

    /// Returns the same churn with this probability of a crash.
    #[must_use]
    pub fn with_crash(mut self, crash: f64) -> Churn {
        self.crash = crash;
        self
    }

    /// Returns the time at which a node comes first, if the schedule says so.
    pub fn first(&self, node: LpId) -> Option<Time> {
        match &self.plan {
            Plan::Random { .. } => None,
            Plan::Scheduled(schedule) => schedule.of(node).next().map(|session| session.join.min(self.until)),
        }
    }

    /// Begins a session of a node that comes now.
    pub fn begin(&self, node: LpId, now: Time, rng: &Rng) -> Stay {
        match &self.plan {
            Plan::Random { session, absence } => {
                let (stay, crashes, absence) = (session.sample(rng), rng.chance(self.crash), absence.sample(rng));
                self.stay(now.checked_add(stay), crashes, absence)
            }
            Plan::Scheduled(schedule) => {
                let end = schedule.of(node).map(|session| session.leave).find(|&leave| leave > now);
                self.stay(end, rng.chance(self.crash), Delay::ZERO)
            }
        }
    }

    fn stay(&self, end: Option<Time>, crashes: bool, absence: Delay) -> Stay {
        let end = end.filter(|&end| end < self.until).unwrap_or(Time::MAX);
        Stay { end, crashes: crashes && end < Time::MAX, absence }
    }

    /// Returns the time at which a node comes back that goes now. The node may go later than its session
    /// ends, but comes back no earlier than now.
    pub fn back(&self, node: LpId, stay: &Stay, now: Time) -> Time {
        let back = match &self.plan {
            Plan::Random { .. } => now.checked_add(stay.absence),
            Plan::Scheduled(schedule) => {
                schedule.of(node).find(|session| session.leave > now).map(|session| session.join)
            }
        };
        back.map_or(self.until, |back| back.min(self.until)).max(now)
    }
}
