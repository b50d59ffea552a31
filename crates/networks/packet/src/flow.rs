//! Traffic that sends and does not listen: UDP flows, and groups of receivers.

use crate::description::{App, AppKind, Ends, Marking};
use crate::protocols::Datagrams;
use crate::traffic::{Pattern, Sizes};
use parades_core::time::Time;
use parades_topology::NodeId;

/// Returns the name of a flow in series: that of its app, and its number in the table of flows.
///
/// ```
/// assert_eq!(parades_packet::flow::name("video", 3), "video#3");
/// ```
#[must_use]
pub fn name(app: &str, number: u32) -> String {
    format!("{app}#{number}")
}

/// The end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The flow ends when it has sent this payload, in bytes. The last packet carries the remainder.
    Bytes(u64),
    /// The flow ends at this time. Packets that are due before are sent.
    Until(Time),
    /// The flow never ends.
    Never,
}

/// A UDP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The node where it starts.
    pub source: NodeId,
    /// The node where it ends.
    pub destination: NodeId,
    /// Its start.
    pub start: Time,
    /// Its end.
    pub limit: Limit,
    /// The payloads of packets.
    pub sizes: Sizes,
    /// The times at which packets are sent.
    pub pattern: Pattern,
}

impl Flow {
    /// Returns the ends of the flow, and its parameters.
    pub(crate) fn split(self) -> (Ends, Datagrams) {
        let Flow { source, destination, start, limit, sizes, pattern } = self;
        (Ends { source, destination, start }, Datagrams { sizes, pattern, limit })
    }
}

/// A multicast group: one source sends the same packets to many receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The node where it starts.
    pub source: NodeId,
    /// The nodes where it ends, each once.
    pub receivers: Vec<NodeId>,
    /// Its start.
    pub start: Time,
    /// Its end.
    pub limit: Limit,
    /// The payloads of packets.
    pub sizes: Sizes,
    /// The times at which packets are sent.
    pub pattern: Pattern,
}

impl Group {
    /// Returns an app with a flow to each receiver.
    pub(crate) fn into_app(self) -> App {
        let Group { source, receivers, start, limit, sizes, pattern } = self;
        let flows = receivers.into_iter().map(|destination| Ends { source, destination, start }).collect();
        App {
            name: String::new(),
            kind: AppKind::Multicast(Datagrams { sizes, pattern, limit }),
            marking: Marking::default(),
            flows,
        }
    }

    /// Returns the group of a multicast app with these flows.
    pub(crate) fn of(datagrams: &Datagrams, flows: &[Ends]) -> Option<Group> {
        let Ends { source, start, .. } = *flows.first()?;
        let receivers = flows.iter().map(|flow| flow.destination).collect();
        let Datagrams { sizes, pattern, limit } = datagrams.clone();
        Some(Group { source, receivers, start, limit, sizes, pattern })
    }
}
