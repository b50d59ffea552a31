//! Networks that a program in Python steps: [`parades::network`].

use crate::errors::{exception, raise};
use crate::request::time_of;
use parades::network::{Completion, Fate, IDEAL, Network, Outcome, PacketCompletion, PacketLinkChange, PacketNetwork};
use parades::network::{LinkChange, TcpApp, TransferId};
use parades::packet::description::Description;
use parades::topology::{NodeId, Topology};
use parades::{Engine, flow};
use parades_config::ConfigError;
use parades_config::units::parse_time;
use parades_core::error::Error;
use parades_core::run::RunOptions;
use parades_core::time::{Delay, Time};
use parades_session::Failure;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The wall time for which a part of a step may take the process, so that Ctrl-C is answered.
const PATIENCE: Duration = Duration::from_millis(20);
/// The virtual time of the first part of a step.
const FIRST_PART: Delay = Delay::from_ms(1);

/// A network that is stepped.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Stepped(Mutex<Stepping>);

struct Stepping {
    network: AnyNetwork,
    nodes: BTreeMap<String, u32>,
    links: BTreeMap<String, u32>,
    /// The virtual time of a part of a step.
    part: Delay,
}

enum AnyNetwork {
    Packets(PacketNetwork),
    /// With the beginning and the bytes of each transfer that has not been returned.
    Flows(Network, BTreeMap<TransferId, (Time, u64)>),
}

/// An end of a transfer: its number, begin and end in seconds, bytes, segments sent again, and outcome.
type End = (u64, f64, f64, u64, u64, &'static str);

fn failed(error: Error) -> Failure {
    Failure::simulation(error.to_string())
}

fn refused(argument: String, message: String, help: &str) -> Failure {
    ConfigError::new(message).with_help(help).at(parades_config::Place::Argument(argument)).into()
}

impl Stepping {
    /// Makes the network of a network file.
    fn of(text: String, by: &str, engine: &str, threads: usize, seed: u64, until: Time) -> Result<Stepping, Failure> {
        let options = RunOptions { seed, ..RunOptions::until(until) };
        let file = parades::netfile::NetworkFile::parse(Path::new("network.toml"), text)?;
        let Some(file) = file else {
            return Err(Failure::usage("this is no network", "give a `Network`, or a dictionary with its tables"));
        };
        let (description, ..) = file.describe(&file.parameters(), options.seed)?;
        let names = |names: Vec<&String>| names.into_iter().cloned().zip(0..).collect();
        let nodes = names(description.nodes.iter().collect());
        let links = names(description.links.iter().map(|link| &link.name).collect());
        let network = match by {
            "packets" => {
                let engine: Engine = engine.parse().map_err(|error: parades::UnknownEngine| {
                    refused(format!("engine={engine}"), error.to_string(), "choose one of these")
                })?;
                let engine = engine.with_threads(threads).ok_or_else(|| {
                    refused(
                        format!("engine={engine}"),
                        "this engine executes a run in one piece".into(),
                        "choose another",
                    )
                })?;
                let apps = vec![TcpApp::new(parades::tcp::settings::Settings::linux())];
                AnyNetwork::Packets(PacketNetwork::new(description, apps, engine, options).map_err(failed)?)
            }
            "flows" => AnyNetwork::Flows(flows_of(&description)?, BTreeMap::new()),
            other => {
                return Err(refused(
                    format!("by={other}"),
                    "there is no such network".into(),
                    "choose packets or flows",
                ));
            }
        };
        Ok(Stepping { network, nodes, links, part: FIRST_PART })
    }

    fn now(&self) -> Time {
        match &self.network {
            AnyNetwork::Packets(network) => network.now(),
            AnyNetwork::Flows(network, _) => network.now(),
        }
    }

    fn node(&self, argument: &str, name: &str) -> Result<u32, Failure> {
        let found = self.nodes.get(name).copied();
        found.ok_or_else(|| {
            refused(format!("{argument}={name}"), "there is no such node".into(), "name a node of the network")
        })
    }

    fn send(&mut self, source: &str, destination: &str, bytes: u64) -> Result<u64, Failure> {
        let [from, to] = [self.node("source", source)?, self.node("destination", destination)?];
        let now = self.now();
        match &mut self.network {
            AnyNetwork::Packets(network) => network.send(NodeId(from), NodeId(to), bytes).map(|id| id.0),
            AnyNetwork::Flows(network, begun) => {
                let host = flow::platform::HostId;
                network.send(host(from), host(to), bytes).map(|id| {
                    begun.insert(id, (now, bytes));
                    id.0
                })
            }
        }
        .map_err(failed)
    }

    fn cancel(&mut self, transfer: u64) -> Result<(), Failure> {
        match &mut self.network {
            AnyNetwork::Packets(network) => network.cancel(TransferId(transfer)),
            AnyNetwork::Flows(network, _) => network.cancel(TransferId(transfer)),
        }
        .map_err(failed)
    }

    /// Advances by one part towards `until`. Returns true there.
    fn advance(&mut self, until: Time) -> Result<bool, Failure> {
        let part_end = self.now().saturating_add(self.part).min(until);
        let begin = crate::waiting::now();
        match &mut self.network {
            AnyNetwork::Packets(network) => network.advance_to(part_end),
            AnyNetwork::Flows(network, _) => network.advance_to(part_end),
        }
        .map_err(failed)?;
        let took = begin.elapsed();
        if took > PATIENCE {
            self.part = Delay::from_ps((self.part.as_ps() / 2).max(1));
        } else if took < PATIENCE / 8 && part_end < until {
            self.part = Delay::from_ps(self.part.as_ps().saturating_mul(4));
        }
        Ok(part_end == until)
    }

    fn completions(&mut self) -> Result<Vec<End>, Failure> {
        match &mut self.network {
            AnyNetwork::Packets(network) => Ok(network
                .completions()
                .map_err(failed)?
                .into_iter()
                .map(|ended| {
                    let PacketCompletion { id, begin, end, bytes, retransmissions, fate } = ended;
                    let outcome = match fate {
                        Fate::Done => "done",
                        Fate::Failed => "failed",
                        Fate::Cancelled => "cancelled",
                    };
                    (id.0, begin.as_secs_f64(), end.as_secs_f64(), bytes, retransmissions, outcome)
                })
                .collect()),
            AnyNetwork::Flows(network, begun) => Ok(network
                .completions()
                .map_err(failed)?
                .into_iter()
                .map(|Completion { id, at, outcome }| {
                    let (begin, all) = begun.remove(&id).unwrap_or((at, 0));
                    let (bytes, outcome) = match outcome {
                        Outcome::Done => (all, "done"),
                        Outcome::Failed => (0, "failed"),
                        Outcome::Cancelled => (0, "cancelled"),
                    };
                    (id.0, begin.as_secs_f64(), at.as_secs_f64(), bytes, 0, outcome)
                })
                .collect()),
        }
    }

    fn set_link(
        &mut self,
        name: &str,
        rate: Option<u64>,
        delay: Option<Delay>,
        loss: Option<f64>,
        up: Option<bool>,
    ) -> Result<(), Failure> {
        let link = self.links.get(name).copied();
        let link = link.ok_or_else(|| {
            refused(format!("link={name}"), "there is no such link".into(), "name a link of the network")
        })?;
        match &mut self.network {
            AnyNetwork::Packets(network) => {
                let link = parades::topology::LinkId(link);
                let changes: Vec<_> = [
                    rate.map(PacketLinkChange::Rate),
                    delay.map(PacketLinkChange::Delay),
                    loss.map(PacketLinkChange::Loss),
                    up.map(|up| if up { PacketLinkChange::Up } else { PacketLinkChange::Down }),
                ]
                .into_iter()
                .flatten()
                .map(|change| (link, change))
                .collect();
                network.set_links(&changes).map_err(failed)
            }
            AnyNetwork::Flows(network, _) => {
                if loss.is_some() {
                    let message = "a network of flows loses nothing".to_owned();
                    return Err(refused(
                        format!("loss={}", loss.unwrap_or(0.0)),
                        message,
                        "make the network with by=\"packets\"",
                    ));
                }
                let changes = [
                    rate.map(|rate| LinkChange::Rate(rate as f64 / 8.0)),
                    delay.map(LinkChange::Latency),
                    up.map(|up| if up { LinkChange::Up } else { LinkChange::Down }),
                ];
                // The ways there and back of a link of a topology are two links of its platform.
                let ways = ways(network, link);
                for change in changes.into_iter().flatten() {
                    for &way in &ways {
                        network.set_link(way, change).map_err(failed)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn digest(&mut self) -> Result<String, Failure> {
        let digest = match &mut self.network {
            AnyNetwork::Packets(network) => network.digest().map_err(failed)?.unwrap_or(0),
            AnyNetwork::Flows(network, _) => network.digest().map_err(failed)?,
        };
        Ok(format!("{digest:016x}"))
    }

    fn branch(&mut self) -> Result<Stepping, Failure> {
        let network = match &mut self.network {
            AnyNetwork::Packets(network) => AnyNetwork::Packets(network.branch().map_err(failed)?),
            AnyNetwork::Flows(network, begun) => AnyNetwork::Flows(network.branch().map_err(failed)?, begun.clone()),
        };
        Ok(Stepping { network, nodes: self.nodes.clone(), links: self.links.clone(), part: self.part })
    }
}

/// Returns the network of flows over the nodes and links of a description.
fn flows_of(description: &Description) -> Result<Network, Failure> {
    let links = description.links.iter().map(|link| parades::topology::Link {
        a: NodeId(link.from),
        b: NodeId(link.to),
        rate_bps: link.rate_bps,
        delay: link.delay,
    });
    let names: Vec<&str> = description.nodes.iter().map(String::as_str).collect();
    let topology = Topology::new(&names, links.collect()).map_err(|why| Failure::simulation(why.to_string()))?;
    Network::new(flow::generators::of_topology(&topology)?, IDEAL).map_err(failed)
}

/// Returns the links of a platform that a link of its topology has become.
fn ways(network: &Network, link: u32) -> Vec<flow::platform::LinkId> {
    let names = [format!("l{link}"), format!("l{link}_UP"), format!("l{link}_DOWN")];
    let links = (0..).map(flow::platform::LinkId).zip(network.platform().links());
    links.filter(|(_, other)| names.iter().any(|name| **name == *other.name)).map(|(id, _)| id).collect()
}

impl Stepped {
    /// Acts on the network while the interpreter is free.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Stepping) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        raise(py, py.detach(|| act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))))
    }
}

fn delay_of(argument: &str, text: &str) -> Result<Delay, Failure> {
    let wrong = |error: ConfigError| error.at(parades_config::Place::Argument(format!("{argument}={text}")));
    Ok(parse_time(text).map_err(wrong)?.since(Time::ZERO))
}

#[pymethods]
impl Stepped {
    #[new]
    #[pyo3(signature = (text, by, engine, threads, seed=1, until=None))]
    fn new(
        py: Python<'_>,
        text: String,
        by: &str,
        engine: &str,
        threads: usize,
        seed: u64,
        until: Option<&str>,
    ) -> PyResult<Stepped> {
        let until = raise(py, until.map(|text| time_of("until", text)).transpose())?.unwrap_or(Time::MAX);
        let made = py.detach(|| Stepping::of(text, by, engine, threads, seed, until));
        Ok(Stepped(Mutex::new(raise(py, made)?)))
    }

    /// The virtual time in seconds.
    #[getter]
    fn now_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |stepping| Ok(stepping.now().as_secs_f64()))
    }

    /// Sends a transfer now, and returns its number.
    fn send(&self, py: Python<'_>, source: &str, destination: &str, bytes: u64) -> PyResult<u64> {
        self.with(py, |stepping| stepping.send(source, destination, bytes))
    }

    /// Gives a transfer up.
    fn cancel(&self, py: Python<'_>, transfer: u64) -> PyResult<()> {
        self.with(py, |stepping| stepping.cancel(transfer))
    }

    /// Advances the virtual time. Ctrl-C is answered at a consistent cut, from which the network can go on.
    fn advance(&self, py: Python<'_>, by: &str) -> PyResult<()> {
        let by = raise(py, delay_of("by", by))?;
        let mut until = None;
        loop {
            let is_there = self.with(py, |stepping| {
                let now = stepping.now();
                let Some(until) = until.or_else(|| now.checked_add(by)) else {
                    return Err(Failure::simulation(format!("virtual time ends before {now} and {by}")));
                };
                Ok((stepping.advance(until)?, until))
            })?;
            until = Some(is_there.1);
            if is_there.0 {
                return Ok(());
            }
            py.check_signals()?;
        }
    }

    /// The transfers that have ended since the last call.
    fn completions(&self, py: Python<'_>) -> PyResult<Vec<End>> {
        self.with(py, Stepping::completions)
    }

    /// Changes a link now.
    #[pyo3(signature = (name, rate=None, delay=None, loss=None, up=None))]
    fn set_link(
        &self,
        py: Python<'_>,
        name: &str,
        rate: Option<&str>,
        delay: Option<&str>,
        loss: Option<f64>,
        up: Option<bool>,
    ) -> PyResult<()> {
        let parse_rate = |text: &str| {
            parades_config::units::parse_rate(text)
                .map_err(|error| error.at(parades_config::Place::Argument(format!("rate={text}"))).into())
        };
        let rate = raise(py, rate.map(parse_rate).transpose())?;
        let delay = raise(py, delay.map(|text| delay_of("delay", text)).transpose())?;
        self.with(py, |stepping| stepping.set_link(name, rate, delay, loss, up))
    }

    /// The digest so far.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, Stepping::digest)
    }

    /// A second network in the same state.
    fn branch(&self, py: Python<'_>) -> PyResult<Stepped> {
        let branch = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).branch());
        branch.map(|branch| Stepped(Mutex::new(branch))).map_err(|failure| exception(py, &failure))
    }
}
