//! A network that another program steps: it sends transfers, advances the time, and learns which have ended.
//!
//! A [`Network`] is for programs that have a loop of their own: a scheduler, a simulator of processors, a
//! tool that replays a log. It is a stepped run ([`crate::Run`]) of a model whose transfers all come from
//! outside. So it can be branched, and its digest tells whether two programs have done the same.
//!
//! The network is one of flows ([`crate::flow`]): a transfer has the max-min fair share of the links of its
//! route, and no packets are simulated. An event is a beginning or an end of a transfer, whatever its size.
//!
//! A [`PacketNetwork`] sends transfers over TCP, packet by packet. A `PeerNetwork` (feature `systems`) has
//! the access links of peers and the latencies of an underlay. `docs/stepped-runs.md` compares the three.
//!
//! # Examples
//!
//! Two transfers meet on the link to `n2`, which has 1 GB/s:
//!
//! ```
//! use parades::flow::platform::HostId;
//! use parades::network::{IDEAL, Network, Outcome};
//! use parades::prelude::*;
//! use parades::topology::{Link, NodeId, Topology};
//!
//! let link = |a| Link { a: NodeId(a), b: NodeId(3), rate_bps: 8_000_000_000, delay: Delay::from_us(5) };
//! let topology = Topology::new(&["n0", "n1", "n2", "switch"], vec![link(0), link(1), link(2)])?;
//! let mut network = Network::new(parades::flow::generators::of_topology(&topology)?, IDEAL)?;
//!
//! let first = network.send(HostId(0), HostId(2), 1_000_000)?;
//! network.advance_to(Time::from_ps(510_000_000))?; // 10 µs of latency; half of it has been sent
//! let second = network.send(HostId(1), HostId(2), 1_000_000)?;
//! network.advance_to(Time::from_ms(10))?;
//!
//! let ends = network.completions()?;
//! assert_eq!((ends[0].id, ends[0].outcome), (first, Outcome::Done));
//! assert_eq!(ends[0].at, Time::from_ps(1_500_000_000)); // alone until 520 µs, and then half of the link
//! assert_eq!((ends[1].id, ends[1].at), (second, Time::from_ps(2_010_000_000)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fabric;
mod file;
mod packets;
#[cfg(feature = "systems")]
mod peers;

pub use fabric::Completion;
pub use packets::{Fate, PacketCompletion, PacketLinkChange, PacketNetwork, TcpApp};
pub use parades_flow::network::Outcome;
#[cfg(feature = "systems")]
pub use peers::PeerNetwork;

use fabric::{Fabric, Message, State, Wish};
use parades_core::error::{Error, ErrorKind};
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::run::RunOptions;
use parades_core::time::{Delay, Time};
use parades_engine::any_engine::AnyEngine;
use parades_engine::stepped::{Run, Steppable};
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::platform::{HostId, LinkId, Platform};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

/// The network model without deviations from fair sharing that stand for TCP: the first byte sets out at once
/// and arrives after the latency of the route, rates are those of the links, and no window and no
/// acknowledgements bound them. Flows that compete have shares in inverse proportion to their latencies, so
/// equal ones over equal routes.
pub const IDEAL: NetworkModel =
    NetworkModel::MaxMin(MaxMinModel { window: f64::INFINITY, cross_traffic: 0.0, ..MaxMinModel::CM02 });

/// A transfer, by the number of transfers that were sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TransferId(pub u64);

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LinkChange {
    /// The link has this bandwidth, in bytes per second.
    Rate(f64),
    /// The link has this latency. It counts for transfers that are sent later, and for the shares of all.
    Latency(Delay),
    /// The link fails. The transfers that use it fail, as do those that are sent over it.
    Down,
    /// The link works again.
    Up,
}

/// A network of flows that is stepped.
pub struct Network {
    run: Run<Fabric>,
    platform: Arc<Platform>,
    model: NetworkModel,
    /// The number of transfers sent.
    sent: u64,
    /// The number of completions that have been returned.
    returned: u64,
    /// True if something was asked for now, and the network does not know it yet.
    has_wishes: bool,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("now", &self.now()).field("sent", &self.sent).finish_non_exhaustive()
    }
}

fn refused(what: String) -> Error {
    Error::new(ErrorKind::Refused(what))
}

/// Advances a run to a time that has not passed, and that is not after its end.
fn advance<M: Model + Send + 'static>(run: &mut Run<M>, until: Time) -> Result<(), Error> {
    let (now, end) = (run.now(), run.until());
    if until < now {
        return Err(refused(format!("the time cannot go back from {now} to {until}")));
    }
    if until > end {
        return Err(refused(format!("the run ends at {end}, before {until}")));
    }
    run.advance(until).map(drop)
}

impl Network {
    /// Returns a network on a platform, at time 0, without transfers.
    ///
    /// # Errors
    ///
    /// If the system refuses its thread.
    pub fn new(platform: impl Into<Arc<Platform>>, model: NetworkModel) -> Result<Network, Error> {
        let platform = platform.into();
        let fabric = Steppable::from(Fabric::new(Arc::clone(&platform), model)).saving();
        // One LP has all links, so no other engine is faster.
        let run = Run::start(fabric, AnyEngine::Sequential, RunOptions::until(Time::MAX))?;
        Ok(Network { run, platform, model, sent: 0, returned: 0, has_wishes: false })
    }

    /// Returns the platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Returns the virtual time.
    pub fn now(&self) -> Time {
        self.run.now()
    }

    /// Sends a transfer now.
    ///
    /// # Errors
    ///
    /// If there is no such host, or no route. Nothing is sent then.
    pub fn send(&mut self, source: HostId, destination: HostId, bytes: u64) -> Result<TransferId, Error> {
        let hosts = self.platform.hosts().len();
        if let Some(HostId(host)) = [source, destination].into_iter().find(|host| host.0 as usize >= hosts) {
            return Err(refused(format!("there is no host {host}, since there are {hosts}")));
        }
        if self.model.uses_routes() {
            self.platform.route(source, destination).map_err(|why| refused(format!("nothing can be sent: {why}")))?;
        }
        let id = TransferId(self.sent);
        self.tell(Message::Send { id, source, destination, bytes })?;
        self.sent += 1;
        Ok(id)
    }

    /// Ends a transfer now, whose outcome is [`Outcome::Cancelled`]. Does nothing if it has ended.
    ///
    /// # Errors
    ///
    /// If no such transfer was sent, and the error that has ended the run.
    pub fn cancel(&mut self, id: TransferId) -> Result<(), Error> {
        if id.0 >= self.sent {
            return Err(refused(format!("there is no transfer {}, since {} were sent", id.0, self.sent)));
        }
        self.tell(Message::Cancel(id))
    }

    /// Changes a link now.
    ///
    /// # Errors
    ///
    /// If there is no such link, if the rate is negative or no finite number, or if the network model has no
    /// links. Nothing is changed then.
    pub fn set_link(&mut self, link: LinkId, change: LinkChange) -> Result<(), Error> {
        let links = self.platform.links().len();
        if link.0 as usize >= links {
            return Err(refused(format!("there is no link {}, since there are {links}", link.0)));
        }
        if !self.model.uses_routes() {
            return Err(refused("no link can be changed, since every transfer takes the same time".into()));
        }
        if let LinkChange::Rate(rate) = change
            && !(rate >= 0.0 && rate.is_finite())
        {
            return Err(refused(format!("a link cannot have the rate {rate}")));
        }
        self.tell(Message::Set(link, change))
    }

    fn tell(&mut self, what: Message) -> Result<(), Error> {
        self.has_wishes = true;
        let wish = Wish { returned: self.returned, what };
        self.run.inject(LpId(0), self.now(), wish).map(drop)
    }

    /// Advances the time to `until`. Everything before it has happened then, and nothing at it.
    ///
    /// # Errors
    ///
    /// If `until` has passed, and the error that has ended the run.
    pub fn advance_to(&mut self, until: Time) -> Result<(), Error> {
        self.has_wishes &= until <= self.now();
        advance(&mut self.run, until)
    }

    /// Advances the time to just after the next moment at which something happens: what is asked for now, the
    /// first byte or the end of a transfer. Returns false, and stays, if nothing will happen.
    ///
    /// # Errors
    ///
    /// As [`Network::advance_to`].
    pub fn advance_to_next(&mut self) -> Result<bool, Error> {
        let now = self.now();
        let next = if self.has_wishes { now } else { self.run.state(LpId(0), State::next)? };
        let Some(after) = next.checked_add(Delay::from_ps(1)) else { return Ok(false) };
        self.advance_to(after)?;
        Ok(true)
    }

    /// Returns the transfers that have ended since the last call of this function, in the order of their
    /// ends. The network forgets them at the next thing that it is asked for: its memory is in proportion to
    /// the transfers on their way, and to those that have ended since.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn completions(&mut self) -> Result<Vec<Completion>, Error> {
        let from = self.returned;
        let ended = self.run.state(LpId(0), move |state| state.ended_from(from))?;
        self.returned += ended.len() as u64;
        Ok(ended)
    }

    /// Returns the metrics so far: counters of transfers and bytes, and the distribution of durations.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn metrics(&mut self) -> Result<Metrics, Error> {
        self.run.metrics()
    }

    /// Returns the digest so far: of everything that was asked of the network, and of the ends of transfers.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn digest(&mut self) -> Result<u64, Error> {
        self.run.digest().map(|digest| digest.expect("digests are on"))
    }

    /// Returns a second network in the same state. From here on, neither sees what is done to the other.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn branch(&mut self) -> Result<Network, Error> {
        Ok(Network { run: self.run.branch()?, platform: Arc::clone(&self.platform), ..*self })
    }

    /// Writes the network as it is. [`Network::load`] goes on from there, for the same version of parades.
    ///
    /// # Errors
    ///
    /// If it cannot be written, and the error that has ended the run.
    pub fn save(&mut self, to: impl Write) -> Result<(), Error> {
        let head = (self.sent, self.returned, self.has_wishes);
        file::save(&mut self.run, &head, to)
    }

    /// Reads a network that [`Network::save`] has written, and goes on with it. `platform` and `model` are
    /// those that it was made with.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`] if the bytes are not those of such a network.
    pub fn load(platform: impl Into<Arc<Platform>>, model: NetworkModel, from: impl Read) -> Result<Network, Error> {
        let platform = platform.into();
        let ((sent, returned, has_wishes), rest) = file::load(from)?;
        let fabric = Steppable::from(Fabric::new(Arc::clone(&platform), model)).saving();
        let run = Run::load(fabric, AnyEngine::Sequential, &rest[..])?;
        Ok(Network { run, platform, model, sent, returned, has_wishes })
    }
}
