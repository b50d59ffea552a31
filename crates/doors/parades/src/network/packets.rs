//! A packet network that is stepped.

mod links;

pub use links::PacketLinkChange;

use super::{TransferId, file, refused};
use links::{Changed, with_changes};
use parades_core::error::{Error, ErrorKind};
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::run::RunOptions;
use parades_core::time::Time;
use parades_engine::any_engine::AnyEngine;
use parades_engine::stepped::{Run, Steppable};
use parades_packet::description::Description;
use parades_packet::network::NetworkError;
use parades_packet::on_demand::{Asked, Ended, OnDemand};
pub use parades_packet::on_demand::{Fate, TcpApp};
use parades_packet::plane::PortTotals;
use parades_topology::{LinkId, NodeId, Topology};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

/// A packet network that is stepped: each transfer is a TCP connection, whose segments wait in queues and are
/// lost there.
///
/// It is made of a [`Description`], which a program builds or reads from a network file
/// ([`parades_netfile::NetworkFile::describe`]). The flows of the description are its first transfers; apps
/// of other kinds are traffic in the background. All engines run it, on any number of threads, and come to
/// one digest.
///
/// A transfer that is sent at a time has the packets of the same flow in a file with this `start`: see
/// [`parades_packet::on_demand`] for the three conditions.
///
/// # Examples
///
/// A megabyte over a link of 80 Mbit/s, whose rate is halved on the way:
///
/// ```
/// use parades::AnyEngine;
/// use parades::network::{Fate, PacketLinkChange, PacketNetwork, TcpApp};
/// use parades::netfile::NetworkFile;
/// use parades::prelude::*;
/// use parades::tcp::settings::Settings;
///
/// let text = r#"
/// network = "a link"
/// until = "60s"
/// nodes = ["west", "east"]
///
/// [[link]]
/// from = "west"
/// to = "east"
/// rate = "80Mbps"
/// delay = "10us"
/// "#;
/// let file = NetworkFile::parse("link.toml".as_ref(), text.into())?.expect("it has the key `network`");
/// let (description, until, _) = file.describe(&file.parameters(), 1)?;
/// let apps = vec![TcpApp::new(Settings::linux())];
/// let mut network = PacketNetwork::new(description, apps, AnyEngine::Sequential, RunOptions::until(until))?;
/// let (west, east) = (network.node("west").unwrap(), network.node("east").unwrap());
///
/// let first = network.send(west, east, 1_000_000)?;
/// network.advance_to(Time::from_ms(50))?;
/// let link = network.link("west-east").unwrap();
/// network.set_link(link, PacketLinkChange::Rate(40_000_000))?;
/// network.advance_to(Time::from_secs(1))?;
///
/// let ends = network.completions()?;
/// assert_eq!((ends[0].id, ends[0].fate, ends[0].bytes), (first, Fate::Done, 1_000_000));
/// // Half of the bytes and headers in 50 ms, and half of them in 100 ms.
/// assert!((0.150..0.160).contains(&ends[0].end.as_secs_f64()), "{ends:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PacketNetwork {
    run: Run<OnDemand>,
    model: Arc<OnDemand>,
    /// The network as it was given.
    description: Arc<Description>,
    tcp_apps: Vec<TcpApp>,
    /// The links that were changed.
    changed: BTreeMap<u32, Changed>,
    /// The number of transfers, those of the description included.
    transfers: u64,
    /// The transfers that have not been returned as completed.
    open: BTreeMap<TransferId, Begun>,
    /// The completions before this time have been returned.
    returned: Time,
}

/// A transfer that was sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Begun {
    source: u32,
    destination: u32,
    at: Time,
}

/// The end of a transfer of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketCompletion {
    /// The transfer.
    pub id: TransferId,
    /// The time at which it was sent.
    pub begin: Time,
    /// The time of its end: the receiver has the last byte, or the end was seen.
    pub end: Time,
    /// The bytes that the receiver has; of a transfer that failed, those acknowledged.
    pub bytes: u64,
    /// The segments that the sender had sent again, when it sent the latest packet that the receiver has at
    /// the end. Of a transfer that failed: all.
    pub retransmissions: u64,
    /// How it ended.
    pub fate: Fate,
}

impl fmt::Debug for PacketNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PacketNetwork");
        shown.field("now", &self.now()).field("transfers", &self.transfers).finish_non_exhaustive()
    }
}

/// The parts of a file beside the run: the number of transfers, the time before which completions were
/// returned, the links that were changed, and the open transfers.
type Head = (u64, Time, BTreeMap<u32, Changed>, BTreeMap<TransferId, Begun>);

fn impossible(why: NetworkError) -> Error {
    refused(why.to_string())
}

impl PacketNetwork {
    /// Returns a network at time 0. Its end, its seeds and its memory limit are those of `options`.
    ///
    /// # Errors
    ///
    /// If the description or a TCP app is impossible ([`OnDemand::new`]), or as [`Run::start`].
    pub fn new(
        description: impl Into<Arc<Description>>,
        tcp_apps: Vec<TcpApp>,
        engine: AnyEngine,
        options: RunOptions<'static>,
    ) -> Result<PacketNetwork, Error> {
        let description = description.into();
        let model = Arc::new(OnDemand::new((*description).clone(), tcp_apps.clone()).map_err(impossible)?);
        let run = Run::start(steppable(&model), engine, options)?;
        let begun = |(number, (ends, bytes)): (u64, (parades_packet::description::Ends, Option<u64>))| {
            let begun = Begun { source: ends.source.0, destination: ends.destination.0, at: ends.start };
            bytes.map(|_| (TransferId(number), begun))
        };
        let (open, transfers) = ((0..).zip(model.flows()).filter_map(begun).collect(), model.flows().count() as u64);
        let (changed, returned) = (BTreeMap::new(), Time::ZERO);
        Ok(PacketNetwork { run, model, description, tcp_apps, changed, transfers, open, returned })
    }

    /// Returns the nodes and links.
    pub fn topology(&self) -> &Topology {
        self.model.topology()
    }

    /// Returns the node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        (0..).map(NodeId).zip(&self.description.nodes).find(|(_, node)| *node == name).map(|(node, _)| node)
    }

    /// Returns the link of this name.
    pub fn link(&self, name: &str) -> Option<LinkId> {
        (0..).map(LinkId).zip(&self.description.links).find(|(_, link)| link.name == name).map(|(link, _)| link)
    }

    /// Returns the virtual time.
    pub fn now(&self) -> Time {
        self.run.now()
    }

    /// Returns the number of events executed so far.
    pub fn events(&self) -> u64 {
        self.run.events()
    }

    /// Sends a transfer now, by the first TCP app.
    ///
    /// # Errors
    ///
    /// As [`PacketNetwork::send_by`].
    pub fn send(&mut self, source: NodeId, destination: NodeId, bytes: u64) -> Result<TransferId, Error> {
        self.send_by(0, source, destination, bytes)
    }

    /// Sends a transfer now, by the TCP app of this place in the list that the network was made with. The
    /// source opens a connection, and closes it after the last byte.
    ///
    /// # Errors
    ///
    /// If there is no such TCP app or node, if both nodes are one, if there is nothing to send, if no path
    /// leads there or back, or if the run has ended. Nothing is sent then.
    pub fn send_by(
        &mut self,
        tcp_app: u32,
        source: NodeId,
        destination: NodeId,
        bytes: u64,
    ) -> Result<TransferId, Error> {
        self.check_send(tcp_app, source, destination, bytes)?;
        let flow = u32::try_from(self.transfers).ok().filter(|&flow| flow < 1 << 30);
        let flow = flow.ok_or_else(|| refused("a network has at most 2^30 transfers".into()))?;
        let asked = Asked { flow, source, destination, tcp_app, bytes };
        for (lp, message) in self.model.begin(asked, self.returned) {
            self.run.inject(lp, self.now(), message)?;
        }
        let id = TransferId(self.transfers);
        self.transfers += 1;
        self.open.insert(id, Begun { source: source.0, destination: destination.0, at: self.now() });
        Ok(id)
    }

    fn check_send(&self, tcp_app: u32, source: NodeId, destination: NodeId, bytes: u64) -> Result<(), Error> {
        let (nodes, tcp_apps, now) = (self.topology().nodes(), self.tcp_apps.len(), self.now());
        if let Some(NodeId(node)) = [source, destination].into_iter().find(|node| node.index() >= nodes) {
            return Err(refused(format!("there is no node {node}, since there are {nodes}")));
        }
        if tcp_app as usize >= tcp_apps {
            return Err(refused(format!("there is no app {tcp_app} of the program, since there are {tcp_apps}")));
        }
        let [from, to] = [source, destination].map(|node| self.topology().name(node));
        if source == destination {
            return Err(refused(format!("a transfer leads from one node to another, and not from `{from}` to itself")));
        }
        if bytes == 0 || bytes == u64::MAX {
            return Err(refused(format!("a transfer has 1 to 2^64 - 2 bytes, and not {bytes}")));
        }
        if now >= self.run.until() {
            return Err(refused(format!("the run has ended at {now}")));
        }
        for (one, other, a, b) in [(source, destination, from, to), (destination, source, to, from)] {
            if !self.model.has_path(one, other, now) {
                return Err(refused(format!("no path leads from `{a}` to `{b}` at {now}")));
            }
        }
        Ok(())
    }

    /// Gives a transfer up now: its sender resets the connection. Its completion says what was delivered.
    /// Does nothing if it has ended.
    ///
    /// # Errors
    ///
    /// If no such transfer was sent, and the error that has ended the run.
    pub fn cancel(&mut self, id: TransferId) -> Result<(), Error> {
        if id.0 >= self.transfers {
            return Err(refused(format!("there is no transfer {}, since {} were sent", id.0, self.transfers)));
        }
        let flow = u32::try_from(id.0).expect("transfers are counted in 32 bits");
        let Some(&Begun { source, destination, at }) = self.open.get(&id) else { return Ok(()) };
        let mut is_open = true;
        // A transfer that begins now is not there yet.
        let is_there = at < self.now();
        for node in [source, destination].into_iter().filter(|_| is_there) {
            is_open &= self.run.state(LpId(node), move |node| node.carries(flow))?;
        }
        if is_open {
            for (lp, message) in self.model.cancel(flow, NodeId(source), NodeId(destination), self.returned) {
                self.run.inject(lp, self.now(), message)?;
            }
        }
        Ok(())
    }

    /// Changes a link now. As in a branch of a saved run, packets that wait for the link are planned again, a
    /// packet that is being transmitted keeps its rate, and those on their way arrive as planned.
    ///
    /// The run is written and read again, so a change takes time in proportion to its state. Later events of
    /// the description still happen.
    ///
    /// # Errors
    ///
    /// As [`PacketNetwork::set_links`].
    pub fn set_link(&mut self, link: LinkId, change: PacketLinkChange) -> Result<(), Error> {
        self.set_links(&[(link, change)])
    }

    /// Changes several links now, each of them also several times, in the time of one change.
    ///
    /// # Errors
    ///
    /// If there is no such link, or a value is impossible; if packets wait for a link that an event of the
    /// description changes later; or as [`Run::branch`]. Nothing is changed then.
    pub fn set_links(&mut self, changes: &[(LinkId, PacketLinkChange)]) -> Result<(), Error> {
        let now = self.now();
        let mut changed = self.changed.clone();
        for &(link, change) in changes {
            let Some(of_link) = self.description.links.get(link.index()) else {
                let links = self.description.links.len();
                return Err(refused(format!("there is no link {}, since there are {links}", link.0)));
            };
            change.check(of_link).map_err(refused)?;
            let before = Changed::at(&self.description, changed.get(&link.0), link.0, now);
            changed.insert(link.0, before.with(change));
        }
        let description = with_changes(&self.description, &changed, now);
        let model = Arc::new(OnDemand::new(description, self.tcp_apps.clone()).map_err(impossible)?);
        self.run = self.run.branch_with(steppable(&model))?;
        (self.model, self.changed) = (model, changed);
        Ok(())
    }

    /// Returns the totals of the two ports of a link: packets and bytes sent, time busy, packets that wait,
    /// losses and marks.
    ///
    /// # Errors
    ///
    /// If there is no such link, and the error that has ended the run.
    pub fn ports(&mut self, link: LinkId) -> Result<Vec<PortTotals>, Error> {
        let links = self.topology().links();
        let Some(ends) = links.get(link.index()) else {
            return Err(refused(format!("there is no link {}, since there are {}", link.0, links.len())));
        };
        let (nodes, now, mut totals) = ([ends.a, ends.b], self.now(), Vec::new());
        for node in nodes {
            let model = Arc::clone(&self.model);
            let of_node = self.run.state(LpId(node.0), move |state| model.ports(node, state, now))?;
            totals.extend(of_node.into_iter().filter(|port| port.link == link));
        }
        Ok(totals)
    }

    /// Advances the time to `until`. Everything before it has happened then, and nothing at it.
    ///
    /// # Errors
    ///
    /// If `until` has passed or is after the end, and the error that has ended the run.
    pub fn advance_to(&mut self, until: Time) -> Result<(), Error> {
        super::advance(&mut self.run, until)
    }

    /// Returns the transfers that have ended since the last call of this function, in the order of their
    /// ends.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn completions(&mut self) -> Result<Vec<PacketCompletion>, Error> {
        let now = self.now();
        let from = std::mem::replace(&mut self.returned, now);
        if self.open.is_empty() {
            return Ok(Vec::new());
        }
        let mut ended = self.run.fold(Vec::new(), move |mut ended: Vec<Ended>, _, node| {
            ended.extend(node.ended_since(from));
            ended
        })?;
        ended.sort_unstable_by_key(|ended| (ended.at, ended.flow, ended.fate));
        let completion = |ended: Ended| {
            let Ended { flow, at: end, bytes, retransmissions, fate } = ended;
            let id = TransferId(flow.into());
            let Begun { at: begin, .. } = self.open.remove(&id)?;
            Some(PacketCompletion { id, begin, end, bytes, retransmissions, fate })
        };
        Ok(ended.into_iter().filter_map(completion).collect())
    }

    /// Goes on under another engine, or with another number of workers.
    ///
    /// # Errors
    ///
    /// As [`Run::continue_under`].
    pub fn continue_under(&mut self, engine: AnyEngine) -> Result<(), Error> {
        self.run.continue_under(engine)
    }

    /// Returns the metrics so far ([`parades_packet::on_demand`]). The packets that
    /// [`PacketLinkChange::Down`] loses are not in `packets_lost`, but in [`PacketNetwork::ports`].
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn metrics(&mut self) -> Result<Metrics, Error> {
        self.run.metrics()
    }

    /// Returns the digest so far. `None` if digests are switched off.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn digest(&mut self) -> Result<Option<u64>, Error> {
        self.run.digest()
    }

    /// Returns a second network in the same state. From here on, neither sees what is done to the other.
    ///
    /// # Errors
    ///
    /// If the description has a part that cannot be written, and the error that has ended the run.
    pub fn branch(&mut self) -> Result<PacketNetwork, Error> {
        Ok(PacketNetwork {
            run: self.run.branch()?,
            model: Arc::clone(&self.model),
            description: Arc::clone(&self.description),
            tcp_apps: self.tcp_apps.clone(),
            changed: self.changed.clone(),
            open: self.open.clone(),
            ..*self
        })
    }

    /// Writes the network as it is, with the links that were changed. [`PacketNetwork::load`] goes on from
    /// there, for the same version of parades.
    ///
    /// # Errors
    ///
    /// As [`Run::save`].
    pub fn save(&mut self, to: impl Write) -> Result<(), Error> {
        let head: Head = (self.transfers, self.returned, self.changed.clone(), self.open.clone());
        file::save(&mut self.run, &head, to)
    }

    /// Reads a network that [`PacketNetwork::save`] has written, and goes on with it. `description` and
    /// `tcp_apps` are those that it was made with.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`] if the bytes are not those of such a network; as [`PacketNetwork::new`]
    /// otherwise.
    pub fn load(
        description: impl Into<Arc<Description>>,
        tcp_apps: Vec<TcpApp>,
        engine: AnyEngine,
        from: impl Read,
    ) -> Result<PacketNetwork, Error> {
        let ((transfers, returned, changed, open), rest): (Head, _) = file::load(from)?;
        let description = description.into();
        if changed.keys().any(|&link| link as usize >= description.links.len()) {
            let what = "the description has not the links that were changed";
            return Err(Error::new(ErrorKind::Malformed(what.into())));
        }
        // All changes lie before what comes.
        let with_all = with_changes(&description, &changed, Time::MAX);
        let model = Arc::new(OnDemand::new(with_all, tcp_apps.clone()).map_err(impossible)?);
        let run = Run::load(steppable(&model), engine, &rest[..])?;
        Ok(PacketNetwork { run, model, description, tcp_apps, changed, transfers, open, returned })
    }
}

fn steppable(model: &Arc<OnDemand>) -> Steppable<OnDemand> {
    Steppable::shared(Arc::clone(model)).undoing().saving()
}
