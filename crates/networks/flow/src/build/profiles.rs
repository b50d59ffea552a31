//! Profiles by name, and their connection with hosts and links.

use super::Builder;
use crate::profile::{self, Profile};
use parades_config::Fault;
use parades_config::inputs;
use parades_config::quoted;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The greatest size of a profile's file, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A `<trace_connect>`: `trace` is the profile of a property of the host or link `element`.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) kind: ConnectionKind,
    pub(crate) element: String,
    pub(crate) trace: String,
}

/// The properties that a profile may describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionKind {
    Speed,
    HostState,
    Bandwidth,
    Latency,
    LinkState,
}

impl ConnectionKind {
    /// Returns the property of this name in files.
    pub(crate) fn named(name: &str) -> Option<ConnectionKind> {
        Some(match name {
            // The word of version 3 comes second.
            "SPEED" | "POWER" => ConnectionKind::Speed,
            "HOST_AVAIL" => ConnectionKind::HostState,
            "BANDWIDTH" => ConnectionKind::Bandwidth,
            "LATENCY" => ConnectionKind::Latency,
            "LINK_AVAIL" => ConnectionKind::LinkState,
            _ => return None,
        })
    }
}

impl Builder {
    /// Reads a profile from a file, whose name is relative to the platform's folder.
    pub(crate) fn profile_from_file(&mut self, name: &str) -> Result<Arc<Profile>, Fault> {
        let path = self.folder.join(name);
        let read = inputs::read(&path, FILE_BYTES_MAX);
        self.platform.profile_files.push(path);
        let bytes = read.map_err(|why| {
            let message = format!("the profile {} cannot be read: {}", quoted(name), inputs::reason(&why));
            self.wrong(message, "its name counts from the platform's folder")
        })?;
        let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= FILE_BYTES_MAX);
        let Some(text) = text else {
            let message =
                format!("the profile {} is not text, or longer than {} MiB", quoted(name), FILE_BYTES_MAX >> 20);
            return Err(self.wrong(message, "write lines of a date and a value"));
        };
        match Profile::read(&text, 0.0) {
            Ok(profile) => Ok(Arc::new(profile)),
            Err((offset, message)) => {
                let line = 1 + text[..offset.min(text.len())].bytes().filter(|&byte| byte == b'\n').count();
                Err(profile::fault(self.offset, format!("line {line} of {}: {message}", quoted(name))))
            }
        }
    }

    /// Adds a named profile. Elements can be connected to it.
    pub(crate) fn trace(&mut self, name: &str, profile: Arc<Profile>) -> Result<(), Fault> {
        match self.traces.insert(name.to_owned(), (profile, self.offset)) {
            None => Ok(()),
            Some(_) => {
                Err(self
                    .wrong(format!("there is a trace {} before this one", quoted(name)), "give each a name of its own"))
            }
        }
    }

    /// Records a connection. It is made at the end of the file, when both sides are known.
    pub(crate) fn connect(&mut self, connection: Connection) {
        self.connections.push((self.offset, connection));
    }

    /// Makes all recorded connections.
    pub(super) fn connect_profiles(&mut self) -> Result<(), Fault> {
        let connections = std::mem::take(&mut self.connections);
        let connected: BTreeSet<String> = connections.iter().map(|(_, connection)| connection.trace.clone()).collect();
        self.ignore_traces_except(&connected);
        for (offset, Connection { kind, element, trace }) in connections {
            self.offset = offset;
            if kind == ConnectionKind::Speed {
                self.ignore_speed_profile();
            }
            let Some((profile, _)) = self.traces.get(&trace).cloned() else {
                return Err(self.wrong(format!("there is no trace {}", quoted(&trace)), "declare it with <trace>"));
            };
            if matches!(kind, ConnectionKind::Speed | ConnectionKind::HostState) {
                let Some(host) = self.platform.host(&element) else {
                    return Err(self.wrong(
                        format!("there is no host {}", quoted(&element)),
                        "connect a trace to a host that is declared",
                    ));
                };
                let host = &mut self.platform.hosts[host.0 as usize];
                match kind {
                    ConnectionKind::Speed => host.speed_profile = Some(profile),
                    _ => host.state_profile = Some(profile),
                }
                continue;
            }
            let links = match (self.platform.link(&element), self.duplex.get(element.as_str())) {
                (Some(link), _) => vec![link],
                (None, Some(&(up, down))) => vec![up, down],
                (None, None) => {
                    return Err(self.wrong(
                        format!("there is no link {}", quoted(&element)),
                        "connect a trace to a link that is declared",
                    ));
                }
            };
            for link in links {
                let link = &mut self.platform.links[link.0 as usize];
                let property = match kind {
                    ConnectionKind::Bandwidth => &mut link.bandwidth_profile,
                    ConnectionKind::Latency => &mut link.latency_profile,
                    _ => &mut link.state_profile,
                };
                *property = Some(Arc::clone(&profile));
            }
        }
        Ok(())
    }
}
