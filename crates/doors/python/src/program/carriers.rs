//! The carriers of the messages of programs in Python: latencies, packets, and flows on a platform.

use super::Code;
use super::value::Mail;
use parades::carriers::packet_level::Format;
use parades::carriers::{FlowLevel, OnPlatform, PacketLevel, Underlay};
use parades::core::prelude::*;
use parades::core::wire::Wire;
use parades::flow::network_model::NetworkModel;
use parades::netfile::NetworkFile;
use parades::packet::packet::IP_HEADER;
use parades::packet::plane::Plane;
use parades::program::{Carrier, Node};
use parades::topology::NodeId;
use parades::{ConfigError, Values};
use std::collections::BTreeMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

/// The greatest size of a message that is one packet, in bytes.
const BYTES_MAX: u32 = 65_535 - IP_HEADER;

/// A node over one of the carriers.
#[derive(Clone, Copy)]
pub(super) enum AnyNode {
    Latency(Node<Code<Underlay>>),
    Packets(Node<Code<PacketLevel<Mail>>>),
    Platform(Node<Code<FlowLevel<Mail>>>),
}

/// Evaluates an expression for a node, whatever its carrier.
macro_rules! each {
    ($any:expr, $node:ident => $value:expr) => {
        match $any {
            $crate::program::carriers::AnyNode::Latency($node) => $value,
            $crate::program::carriers::AnyNode::Packets($node) => $value,
            $crate::program::carriers::AnyNode::Platform($node) => $value,
        }
    };
}
pub(super) use each;

impl AnyNode {
    pub(super) fn id(self) -> u32 {
        each!(self, node => node.id().0)
    }

    pub(super) fn now(self) -> Time {
        each!(self, node => node.now())
    }

    pub(super) fn fail(self, why: String) {
        each!(self, node => node.fail(why));
    }

    /// Checks the size of a message. `is_given` says that the program has given one.
    pub(super) fn check_size(self, message: &Mail, is_given: bool) -> Result<(), String> {
        match self {
            AnyNode::Latency(_) if is_given => Err("the size of a message has no effect here: leave `bytes` out, or \
                give the program a network or a platform by `over=`"
                .to_owned()),
            AnyNode::Packets(_) if message.bytes > BYTES_MAX => Err(format!(
                "a message of {} bytes does not fit into a packet: send at most {BYTES_MAX} bytes in each",
                message.bytes
            )),
            _ => Ok(()),
        }
    }

    /// Checks that the node can compute.
    pub(super) fn check_computes(self) -> Result<(), String> {
        match self {
            AnyNode::Platform(_) => Ok(()),
            _ => Err("only a node on a platform computes: give the program one by `over=\"platform.xml\"`".to_owned()),
        }
    }
}

/// A computation.
type Computing = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// A carrier of programs in Python.
pub(super) trait Over: Carrier<Mail, Packet: Wire> + Sized {
    fn any(node: Node<Code<Self>>) -> AnyNode;

    /// Begins a computation of this many floating-point operations. By default a node computes nothing
    /// ([`AnyNode::check_computes`]).
    fn compute(node: Node<Code<Self>>, flops: f64) -> Computing {
        let _ = (node, flops);
        unreachable!("a node that is on no platform computes")
    }
}

impl Over for Underlay {
    fn any(node: Node<Code<Underlay>>) -> AnyNode {
        AnyNode::Latency(node)
    }
}

impl Over for PacketLevel<Mail> {
    fn any(node: Node<Code<Self>>) -> AnyNode {
        AnyNode::Packets(node)
    }
}

impl Over for FlowLevel<Mail> {
    fn any(node: Node<Code<Self>>) -> AnyNode {
        AnyNode::Platform(node)
    }

    fn compute(node: Node<Code<Self>>, flops: f64) -> Computing {
        let computing = node.compute(flops);
        Box::pin(async move { computing.await.map_err(|failure| failure.to_string()) })
    }
}

/// The names of the nodes of a program.
#[derive(Debug)]
pub(crate) struct Names {
    /// In the order of the nodes.
    list: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Names {
    fn of(names: impl Iterator<Item = String>) -> Arc<Names> {
        let list: Vec<String> = names.collect();
        let numbers = list.iter().cloned().zip(0..).collect();
        Arc::new(Names { list, numbers })
    }

    /// Returns the number of nodes.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.list.len()).expect("nodes are counted in 32 bits")
    }

    /// Returns the name of a node.
    pub(super) fn name(&self, node: u32) -> String {
        self.list[node as usize].clone()
    }

    /// Returns the node of this name.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }
}

/// A carrier with the names of its nodes, and notes for the user.
type Laid<C> = (C, Arc<Names>, Vec<String>);

/// Returns the carrier of messages that are packets of a network, and the names of the nodes. `places` has
/// the names and patterns of these nodes, line by line; all nodes of the network by default.
pub(super) fn packets(
    values: &Values,
    file: &NetworkFile,
    places: &str,
    seed: u64,
) -> Result<Laid<PacketLevel<Mail>>, ConfigError> {
    let wrong = |message: String, help: &str| values.error_at("over", &message, help);
    if file.has("app") {
        let help = "leave its traffic out: the program sends the messages";
        return Err(file.error_at("app", "under a program, a network has no traffic of its own", help));
    }
    if file.has("measure") {
        let help = "leave `measure` out, and measure in the program: `node.observe`, with its `tallies`";
        return Err(file.error_at("measure", "under a program, a network measures nothing of its own", help));
    }
    let (description, _, notes) = file.describe(&file.parameters(), seed)?;
    let numbers = selected(values, &description.nodes, places)?;
    let names = Names::of(numbers.iter().map(|&number| description.nodes[number].clone()));
    let ends = numbers.iter().map(|&number| u32::try_from(number).map(NodeId));
    let ends: Vec<NodeId> = ends.collect::<Result<_, _>>().expect("nodes are counted in 32 bits");
    let made = Plane::described(description, &ends)
        .and_then(|plane| PacketLevel::new(plane, Format::of_bytes(|mail: &Mail| mail.bytes)));
    let carrier =
        made.map_err(|error| wrong(error.to_string(), "change the network, or the `nodes` of the program"))?;
    Ok((carrier, names, notes))
}

/// Returns the carrier of messages that are flows on a platform, and the names of its hosts, which are the nodes.
pub(super) fn platform(values: &Values, path: &Path, places: &str) -> Result<Laid<FlowLevel<Mail>>, ConfigError> {
    let platform = parades::flow::read(path)?;
    if let Some(refusal) = platform.model_refusal() {
        return Err(refusal.clone());
    }
    if !places.is_empty() {
        let help = "leave `places` (in Python, `nodes`) out";
        return Err(values.error_at("places", "each host of a platform is a node", help));
    }
    let names = Names::of(platform.hosts().iter().map(|host| host.name.to_string()));
    let nodes = names.count();
    if nodes == 0 {
        return Err(values.error_at("over", "the platform has no host", "name one with hosts"));
    }
    let model = platform.settings().network_model(Delay::ZERO);
    if !matches!(model, NetworkModel::MaxMin(_)) {
        let help = "name another `network/model` in its <config>";
        return Err(values.error_at("over", "under the model of this platform, messages take no time", help));
    }
    let notes = platform.notes().to_vec();
    let carrier = FlowLevel::new(platform.into(), model, nodes, |mail: &Mail| mail.bytes.into());
    Ok((carrier.with_ends_of_processes(), names, notes))
}

/// Returns the numbers of the nodes with these names and patterns, each once, in the order of the patterns.
fn selected(values: &Values, nodes: &[String], places: &str) -> Result<Vec<usize>, ConfigError> {
    if places.is_empty() {
        return Ok((0..nodes.len()).collect());
    }
    let mut found = Vec::new();
    for pattern in places.lines() {
        let mut those =
            nodes.iter().enumerate().filter(|(_, name)| parades::netfile::matches(pattern, name)).peekable();
        if those.peek().is_none() {
            let message = format!("the network has no node `{pattern}`");
            return Err(values.error_at("places", &message, "`*` stands for any letters"));
        }
        those.for_each(|(number, _)| {
            if !found.contains(&number) {
                found.push(number)
            }
        });
    }
    Ok(found)
}
