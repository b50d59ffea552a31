//! Churn: nodes that come and go.
//!
//! A node stays for a *session*, is away for an *absence*, and comes back. Each length is drawn from a
//! [`Law`], or is read from a file ([`Schedule`]). A length is a pure function of the node's random stream,
//! so that it is drawn again after a rollback. Nothing here knows a protocol.
//!
//! | event | here |
//! |---|---|
//! | a node takes leave, or crashes | [`Churn::crash`] |
//! | it comes back without its state, or with it | [`Churn::keep`] |
//! | many nodes come at once | [`Churn::with_crowd`] |
//! | a file says when nodes come and go | [`Schedule`]: our form, and that of PeerSim |
//! | the node of a program comes and goes | [`Sessions`] |
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
mod sessions;

pub use law::Law;
pub use schedule::Schedule;
pub use sessions::{Ending, Session, Sessions};

use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The coming and going of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Churn {
    plan: Plan,
    /// The probability that a node crashes at the end of its session instead of taking leave.
    pub crash: f64,
    /// The probability that a node comes back with the state that it had when it went.
    pub keep: f64,
    /// After this time no node goes, and nodes that are away come back at it.
    pub until: Time,
    crowd: Option<Crowd>,
    /// The number of nodes, from node 0 on, that neither come nor go.
    stable: u32,
}

/// The random stream of a node's part in a flash crowd.
const CROWD_STREAM: u32 = 0x6372_7764;

/// A flash crowd: nodes that come for the first time, all within a short time.
#[derive(Clone, Debug, PartialEq)]
struct Crowd {
    share: f64,
    at: Time,
    law: Law,
    seed: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Plan {
    /// Sessions do not end.
    Staying,
    Random {
        session: Law,
        absence: Law,
    },
    Scheduled(Arc<Schedule>),
}

/// A session of a node that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// The time at which the node goes; [`Time::MAX`] if it stays.
    pub end: Time,
    /// True if the node crashes at the end of the session instead of taking leave.
    pub crashes: bool,
    /// True if the node comes back with the state that it had at the end of the session.
    pub keeps_state: bool,
    /// The time for which the node is away afterwards, where that is drawn.
    absence: Delay,
}

impl Stay {
    /// Returns a session that does not end.
    pub const fn for_ever() -> Stay {
        Stay { end: Time::MAX, crashes: false, keeps_state: false, absence: Delay::ZERO }
    }
}

impl Churn {
    fn new(plan: Plan, until: Time) -> Churn {
        Churn { plan, crash: 0.0, keep: 0.0, until, crowd: None, stable: 0 }
    }

    /// Makes a churn in which nobody goes. With [`Churn::with_crowd`] nodes come.
    pub fn staying(until: Time) -> Churn {
        Churn::new(Plan::Staying, until)
    }

    /// Makes a churn whose sessions and absences are drawn. No node crashes, unless [`Churn::crash`] is set.
    pub fn random(session: Law, absence: Law, until: Time) -> Churn {
        Churn::new(Plan::Random { session, absence }, until)
    }

    /// Makes a churn whose sessions are read from a file. No node crashes, unless [`Churn::crash`] is set.
    pub fn scheduled(schedule: Schedule, until: Time) -> Churn {
        Churn::new(Plan::Scheduled(Arc::new(schedule)), until)
    }

    /// Returns the same churn with this probability of a crash.
    #[must_use]
    pub fn with_crash(mut self, crash: f64) -> Churn {
        self.crash = crash;
        self
    }

    /// Returns the same churn with this probability that a node comes back with its state.
    #[must_use]
    pub fn with_keep(mut self, keep: f64) -> Churn {
        self.keep = keep;
        self
    }

    /// Returns the same churn without the first `nodes` nodes, which stay all the time.
    #[must_use]
    pub fn with_stable(mut self, nodes: u32) -> Churn {
        self.stable = nodes;
        self
    }

    /// Returns the same churn with a flash crowd. Each node but node 0 belongs to it with probability
    /// `share`. A node of the crowd comes for the first time at `at`, later by a length that is drawn from
    /// `law`, even if that is after [`Churn::until`]. `seed` decides on the nodes and the lengths.
    #[must_use]
    pub fn with_crowd(mut self, share: f64, at: Time, law: Law, seed: u64) -> Churn {
        self.crowd = Some(Crowd { share, at, law, seed });
        self
    }

    /// Returns the time at which a node comes first, if the schedule or the crowd says so.
    pub fn first(&self, node: LpId) -> Option<Time> {
        self.in_crowd(node).or_else(|| self.first_outside_crowd(node))
    }

    /// Returns the time at which a node comes in the crowd, if it belongs to that.
    fn in_crowd(&self, node: LpId) -> Option<Time> {
        let Crowd { share, at, law, seed } = self.crowd.as_ref().filter(|_| node.0 >= self.stable.max(1))?;
        let rng = Rng::substream(*seed, node.0, CROWD_STREAM);
        rng.chance(*share).then(|| at.checked_add(law.sample(&rng)).unwrap_or(Time::MAX))
    }

    /// Returns the time at which a node that does not belong to the crowd comes first, if the schedule says
    /// so.
    pub fn first_outside_crowd(&self, node: LpId) -> Option<Time> {
        if node.0 < self.stable {
            return None;
        }
        match &self.plan {
            Plan::Random { .. } | Plan::Staying => None,
            Plan::Scheduled(schedule) => schedule.of(node).next().map(|session| session.join.min(self.until)),
        }
    }

    /// Begins a session of a node that comes now.
    pub fn begin(&self, node: LpId, now: Time, rng: &Rng) -> Stay {
        if node.0 < self.stable {
            return Stay::for_ever();
        }
        match &self.plan {
            Plan::Staying => Stay::for_ever(),
            Plan::Random { session, absence } => {
                let (stay, crashes, absence) = (session.sample(rng), rng.chance(self.crash), absence.sample(rng));
                self.stay(now.checked_add(stay), crashes, absence, rng)
            }
            Plan::Scheduled(schedule) => {
                let end = schedule.of(node).map(|session| session.leave).find(|&leave| leave > now);
                self.stay(end, rng.chance(self.crash), Delay::ZERO, rng)
            }
        }
    }

    fn stay(&self, end: Option<Time>, crashes: bool, absence: Delay, rng: &Rng) -> Stay {
        let end = end.filter(|&end| end < self.until).unwrap_or(Time::MAX);
        let keeps_state = self.keep > 0.0 && rng.chance(self.keep);
        Stay { end, crashes: crashes && end < Time::MAX, keeps_state, absence }
    }

    /// Returns the time at which a node comes back that goes now. The node may go later than its session
    /// ends, but comes back no earlier than now.
    pub fn back(&self, node: LpId, stay: &Stay, now: Time) -> Time {
        let back = match &self.plan {
            Plan::Staying => None,
            Plan::Random { .. } => now.checked_add(stay.absence),
            Plan::Scheduled(schedule) => {
                schedule.of(node).find(|session| session.leave > now).map(|session| session.join)
            }
        };
        back.map_or(self.until, |back| back.min(self.until)).max(now)
    }
}
