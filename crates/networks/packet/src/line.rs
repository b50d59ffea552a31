//! The constants of links and nodes over time. All changes are known before the run, so a handler derives the
//! state of a link from the time. No message is needed, and a change costs nothing when it happens.

use crate::description::{Change, Event, Framing};
use crate::impairment::Impairments;
use crate::queue::{Discipline, QueueLimit};
use parades_core::time::{Delay, Time};
use parades_topology::{Interface, LinkId, Topology};
use std::collections::BTreeMap;

/// The quality of a link for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quality {
    pub(crate) rate_bps: u64,
    pub(crate) delay: Delay,
    pub(crate) loss: f64,
    pub(crate) is_up: bool,
    pub(crate) framing: Framing,
}

impl Quality {
    /// Returns the time for which a frame of `bytes` bytes occupies the link.
    #[inline]
    pub(crate) fn serialisation(&self, bytes: u32) -> Delay {
        Delay::serialisation(self.framing.bytes_on_wire(bytes.into()), self.rate_bps)
    }
}

/// The rules by which the ports of a link treat packets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Policy {
    /// A drop-tail queue, and nothing else: the usual case, which is short.
    Plain(QueueLimit),
    /// Everything else.
    Managed(Box<PortRules>),
}

/// The rules of a port that is more than a drop-tail queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PortRules {
    pub(crate) discipline: Discipline,
    /// The number of packets that wait in the device, where the discipline does not see them.
    pub(crate) device: u32,
    pub(crate) impairments: Impairments,
}

impl From<PortRules> for Policy {
    fn from(rules: PortRules) -> Policy {
        match rules.discipline {
            Discipline::DropTail(limit) if rules.device == 0 && rules.impairments.is_none() => Policy::Plain(limit),
            _ => Policy::Managed(Box::new(rules)),
        }
    }
}

/// The constants of a link, which are the same in both directions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    /// The quality at the start.
    pub(crate) first: Quality,
    pub(crate) policy: Policy,
    /// The changes of quality with their times, ascending.
    pub(crate) changes: Box<[(Time, Quality)]>,
}

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    /// Returns true if the quality never changes.
    #[inline]
    pub(crate) fn is_constant(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the quality at a time.
    #[inline]
    pub(crate) fn at(&self, time: Time) -> &Quality {
        if self.changes.is_empty() {
            return &self.first;
        }
        match self.changes.partition_point(|(from, _)| *from <= time) {
            0 => &self.first,
            after => &self.changes[after - 1].1,
        }
    }

    /// Returns the time after `time` at which the link next goes down; [`Time::MAX`] if it never does.
    #[inline]
    pub(crate) fn next_down(&self, time: Time) -> Time {
        if self.changes.is_empty() {
            return Time::MAX;
        }
        let later = self.changes.partition_point(|(from, _)| *from <= time);
        self.changes[later..].iter().find(|(_, quality)| !quality.is_up).map_or(Time::MAX, |(from, _)| *from)
    }

    /// Returns the time since which the link is down at `time`; if it is up, the time at which it next goes
    /// down. `None` if it never does.
    pub(crate) fn down_since(&self, time: Time) -> Option<Time> {
        let after = self.changes.partition_point(|(from, _)| *from <= time);
        let since = self.changes[..after].iter().rev().take_while(|(_, quality)| !quality.is_up).last();
        let next = || self.changes[after..].iter().find(|(_, quality)| !quality.is_up);
        since.or_else(next).map(|(from, _)| *from)
    }

    /// Returns the least delay of any packet of `bytes` bytes or more, the frame not included.
    pub(crate) fn lookahead(&self, bytes: u32) -> Delay {
        let all = || std::iter::once(&self.first).chain(self.changes.iter().map(|(_, quality)| quality));
        let delay = all().map(|quality| quality.delay).min().expect("there is a first");
        let rate_bps = all().map(|quality| quality.rate_bps).max().expect("there is a first");
        let bytes = bytes.saturating_add(self.first.framing.bytes().into());
        delay.saturating_add(Quality { rate_bps, ..self.first }.serialisation(bytes))
    }
}

/// The line of a link whose ports are more than drop-tail queues, with the rules that its policy holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ManagedLink<'a> {
    pub(crate) line: &'a Line,
    pub(crate) rules: &'a PortRules,
}

/// The times at which a node goes away and comes back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presence(Box<[(Time, bool)]>);

impl Presence {
    /// Returns the time at which the node comes back, if it is away at `time`; [`Time::MAX`] if it never
    /// comes back.
    #[inline]
    pub(crate) fn away_until(&self, time: Time) -> Option<Time> {
        if self.0.is_empty() {
            return None;
        }
        let later = self.0.partition_point(|(from, _)| *from <= time);
        if later == 0 || self.0[later - 1].1 {
            return None;
        }
        Some(self.0[later..].iter().find(|(_, is_there)| *is_there).map_or(Time::MAX, |(from, _)| *from))
    }
}

/// The lines of all links. Equal lines are kept once, since most links of a network are alike.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) kinds: Box<[Line]>,
    kind_of_link: Box<[u32]>,
    /// The kinds of the ways back that differ.
    kind_of_back: BTreeMap<LinkId, u32>,
}

impl Lines {
    /// Returns `Ok`, or the reason why the state of a queue cannot be written, as a part of a sentence.
    pub(crate) fn can_save(&self) -> Result<(), String> {
        self.kinds.iter().try_for_each(|line| match &line.policy {
            Policy::Managed(rules) => match &rules.discipline {
                Discipline::Other(other) => other.can_save(),
                _ => Ok(()),
            },
            Policy::Plain(_) => Ok(()),
        })
    }

    /// `backs` are the ways back that differ.
    pub(crate) fn new(lines: impl Iterator<Item = Line>, backs: impl Iterator<Item = (LinkId, Line)>) -> Lines {
        let mut kinds: Vec<Line> = Vec::new();
        let mut known = BTreeMap::new();
        let mut kind_of = |line: Line| {
            let next = u32::try_from(kinds.len()).expect("a topology has fewer than 2^31 links");
            let Quality { rate_bps, delay, loss, .. } = line.first;
            let key = (rate_bps, delay, loss.to_bits(), line.policy.clone(), line.first.framing);
            // A line that changes has a kind of its own.
            let kind = if line.changes.is_empty() { *known.entry(key).or_insert(next) } else { next };
            if kind == next {
                kinds.push(line);
            }
            kind
        };
        let kind_of_link = lines.map(&mut kind_of).collect();
        let kind_of_back = backs.map(|(link, line)| (link, kind_of(line))).collect();
        Lines { kinds: kinds.into(), kind_of_link, kind_of_back }
    }

    /// Returns the line of a link: of two that differ, the one there. Both are up at the same times, and have
    /// the same delay and frames.
    pub(crate) fn of(&self, link: LinkId) -> &Line {
        &self.kinds[self.kind_of_link[link.index()] as usize]
    }

    /// Returns the number of the kind of the line by which an interface sends.
    pub(crate) fn kind_by(&self, topology: &Topology, interface: Interface) -> u32 {
        let link = interface.link;
        let is_back = |_: &&u32| topology.link(link).a == interface.neighbour;
        self.kind_of_back.get(&link).filter(is_back).copied().unwrap_or(self.kind_of_link[link.index()])
    }

    /// Returns the line by which an interface sends.
    pub(crate) fn by(&self, topology: &Topology, interface: Interface) -> &Line {
        &self.kinds[self.kind_by(topology, interface) as usize]
    }

    /// Returns the line of the way back of a link, if it differs.
    pub(crate) fn back_of(&self, link: LinkId) -> Option<&Line> {
        self.kind_of_back.get(&link).map(|&kind| &self.kinds[kind as usize])
    }

    /// Returns the number of the kind of each link.
    pub(crate) fn kinds_of_links(&self) -> &[u32] {
        &self.kind_of_link
    }
}

/// The changes of all links and nodes.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// For each link, its changes of quality with their times. Empty if nothing ever changes.
    pub(crate) changes: Vec<Box<[(Time, Quality)]>>,
    /// For each node, the times at which it goes away and comes back. Empty if no node ever goes away.
    pub(crate) presence: Box<[Presence]>,
    /// The times at which routes may change, ascending: a link goes down or comes up, or its delay changes.
    pub(crate) turns: Vec<Time>,
}

impl Course {
    /// Derives all changes from the events of a network whose links have the qualities `first` at the start.
    pub(crate) fn new(topology: &Topology, first: &[Quality], events: &[Event]) -> Course {
        if events.is_empty() {
            return Course::default();
        }
        let mut events: Vec<&Event> = events.iter().collect();
        events.sort_by_key(|event| event.at); // Stable: events of one time stay in order.
        let mut own = first.to_vec(); // The qualities as if no node ever went away.
        let mut is_there = vec![true; topology.nodes()];
        let mut changes: Vec<Vec<(Time, Quality)>> = vec![Vec::new(); first.len()];
        let mut presence: Vec<Vec<(Time, bool)>> = vec![Vec::new(); is_there.len()];
        let mut turns = Vec::new();
        let links_of = links_of_nodes(topology, &events);
        for event in events {
            let mut touched = Vec::new();
            let mut is_turn = true;
            match event.change {
                Change::Link { link, is_up } => {
                    own[link as usize].is_up = is_up;
                    touched.push(link);
                }
                Change::Quality { link, rate_bps, delay, loss, .. } => {
                    let now = &mut own[link as usize];
                    now.rate_bps = rate_bps.unwrap_or(now.rate_bps);
                    now.delay = delay.unwrap_or(now.delay);
                    now.loss = loss.unwrap_or(now.loss);
                    touched.push(link);
                    is_turn = delay.is_some();
                }
                Change::Node { node, is_up } => {
                    is_there[node as usize] = is_up;
                    push_last(&mut presence[node as usize], (event.at, is_up));
                    touched.extend(&links_of[node as usize]);
                }
            }
            turns.extend(is_turn.then_some(event.at));
            for link in touched {
                let ends = topology.links()[link as usize];
                let is_up = own[link as usize].is_up && is_there[ends.a.index()] && is_there[ends.b.index()];
                push_last(&mut changes[link as usize], (event.at, Quality { is_up, ..own[link as usize] }));
            }
        }
        turns.dedup();
        let presence = if presence.iter().all(Vec::is_empty) { Vec::new() } else { presence };
        Course {
            changes: changes.into_iter().map(Vec::into_boxed_slice).collect(),
            presence: presence.into_iter().map(|list| Presence(list.into())).collect(),
            turns,
        }
    }
}

/// Adds an entry. Of several entries of one time, the last one counts.
fn push_last<T>(list: &mut Vec<(Time, T)>, entry: (Time, T)) {
    list.pop_if(|(time, _)| *time == entry.0);
    list.push(entry);
}

/// Returns the links of each node that an event takes away or brings back. Other nodes have an empty list.
fn links_of_nodes(topology: &Topology, events: &[&Event]) -> Vec<Vec<u32>> {
    let mut is_concerned = vec![false; topology.nodes()];
    for event in events {
        if let Change::Node { node, .. } = event.change {
            is_concerned[node as usize] = true;
        }
    }
    let mut links = vec![Vec::new(); is_concerned.len()];
    for (number, link) in (0_u32..).zip(topology.links()) {
        for end in [link.a, link.b] {
            if is_concerned[end.index()] {
                links[end.index()].push(number);
            }
        }
    }
    links
}
