//! The network between processes: each message is a flow over its route on a platform, and arrives when the flow ends.
//!
//! Nodes lie on the platform's hosts in their order; where there are more nodes than hosts, several share one. What fails on the platform fails the
//! messages that use it, which those who await them are told ([`parades_program::Undelivered`]), and nodes are told of their hosts
//! ([`parades_program::Node::until_host_fails`]).

use parades_core::event::LpId;
use parades_core::time::Time;
use parades_flow::network::{Network, Outcome};
use parades_flow::platform::{HostId, Platform};
use parades_flow::terms::Terms;
use parades_program::{Flight, News, SharedNetwork};
use std::fmt;
use std::sync::Arc;

/// A flow-level network for the messages `M` of a program, which has it as [`parades_program::Shared`].
///
/// # Examples
///
/// Two nodes send a third 125 MB each at once, over links of 125 MB/s: its own link down is shared.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_carriers::FlowLevel;
/// use parades_flow::generators::star;
/// use parades_flow::terms::{Sharing, Terms};
/// use parades_program::{Processes, Program, Shared, Start};
///
/// struct Meet(Shared<FlowLevel<u64>>); // a message is the count of its bytes
///
/// impl Program for Meet {
///     type Message = u64;
///     type State = Option<Time>;
///     type Network = Shared<FlowLevel<u64>>;
///     fn nodes(&self) -> u32 { 3 }
///     fn network(&self) -> &Self::Network { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
///         start.spawn("main", |node| async move {
///             match node.id().0 {
///                 2 => for _ in 0..2 { node.receive().await; },
///                 _ => assert_eq!(node.send(LpId(2), 125_000_000).await, Ok(())),
///             }
///             node.with(|here| *here.state = Some(here.now()));
///         });
///         None
///     }
///     fn finish(&self, _: LpId, arrived: &Option<Time>, _: &End, _: &mut Metrics) {
///         // 600 µs of latency, then 250 MB at 125 MB/s.
///         assert_eq!(arrived.unwrap().as_secs_f64(), 2.0006);
///     }
/// }
///
/// let terms = Terms::Shared(Sharing { cross_traffic: 0.0, ..Sharing::CM02 });
/// let network = FlowLevel::new(star(3).unwrap().into(), terms, 3, |&bytes| bytes as f64);
/// let model = Processes::new(Meet(Shared(network)));
/// parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(9_000_000_000_000)))?;
/// # Ok::<(), parades_core::error::Error>(())
/// ```
pub struct FlowLevel<M> {
    platform: Arc<Platform>,
    terms: Terms,
    nodes: u32,
    bytes: fn(&M) -> f64,
}

impl<M> fmt::Debug for FlowLevel<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FlowLevel { platform, terms, nodes, .. } = self;
        write!(f, "FlowLevel({nodes} nodes on {platform:?}, {terms:?})")
    }
}

impl<M> FlowLevel<M> {
    /// The network of so many nodes, in which a message is as long as `bytes` says.
    ///
    /// # Panics
    ///
    /// On a platform without hosts.
    pub fn new(platform: Arc<Platform>, terms: Terms, nodes: u32, bytes: fn(&M) -> f64) -> FlowLevel<M> {
        assert!(!platform.hosts().is_empty(), "nodes need a host");
        FlowLevel { platform, terms, nodes, bytes }
    }

    /// The platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The host of a node.
    pub fn host(&self, node: LpId) -> HostId {
        let hosts = u32::try_from(self.platform.hosts().len()).expect("hosts are counted in 32 bits");
        HostId(node.0 % hosts)
    }

    /// The nodes of a host.
    fn nodes_of(&self, HostId(host): HostId) -> impl Iterator<Item = LpId> {
        (host..self.nodes).step_by(self.platform.hosts().len()).map(LpId)
    }
}

/// A flow-level network on its way.
#[derive(Debug)]
pub struct Running {
    network: Network,
    /// The message of each activity, by its slot.
    messages: Vec<u32>,
    /// What happened while a message was sent.
    news: Vec<News>,
}

impl Running {
    /// What has happened to activities, before their slots are reused.
    #[inline]
    fn collect(&mut self) {
        while let Some(ended) = self.network.take_ended() {
            let number = self.messages[ended.id.slot()];
            self.news.push(match ended.outcome {
                Outcome::Done => News::Arrived(number),
                Outcome::Failed | Outcome::Cancelled => News::Failed(number),
            });
        }
    }
}

impl<M: 'static> SharedNetwork<M> for FlowLevel<M> {
    type State = Running;

    fn begin(&self) -> Running {
        let mut network = Network::new(Arc::clone(&self.platform), self.terms);
        network.watch_hosts();
        Running { network, messages: Vec::new(), news: Vec::new() }
    }

    #[inline]
    fn send(&self, running: &mut Running, now: Time, flight: Flight, message: &M) -> Result<(), String> {
        running.network.advance(now);
        running.collect();
        let (from, to) = (self.host(flight.from), self.host(flight.to));
        let started = running.network.start_flow(from, to, (self.bytes)(message));
        let slot = started.map_err(|why| why.to_string())?.slot();
        if running.messages.len() <= slot {
            running.messages.resize(slot + 1, 0);
        }
        running.messages[slot] = flight.number;
        // It may have failed at once.
        running.collect();
        Ok(())
    }

    #[inline]
    fn next(&self, running: &mut Running) -> Option<Time> {
        if running.news.is_empty() { running.network.next_event() } else { Some(running.network.now()) }
    }

    #[inline]
    fn advance(&self, running: &mut Running, now: Time, news: &mut Vec<News>) {
        running.network.advance(now);
        running.collect();
        news.append(&mut running.news);
        while let Some((host, works)) = running.network.take_host_change() {
            news.extend(self.nodes_of(host).map(|node| News::Host(node, works)));
        }
    }
}
