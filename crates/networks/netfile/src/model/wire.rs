//! What is constant about links, and when it changes: all of it known beforehand, so a handler reads the state of a link off the clock.

use crate::description::{Description, What};
use parades_core::time::{Delay, Time};
use parades_packet::queue::QueueLimit;

/// How a link is for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quality {
    pub(crate) rate_bps: u64,
    pub(crate) delay: Delay,
    pub(crate) loss: f64,
    pub(crate) up: bool,
}

/// A link: alike in both directions.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// To begin with.
    pub(crate) first: Quality,
    pub(crate) queue: QueueLimit,
    /// From when on it is otherwise; ascending.
    pub(crate) changes: Box<[(Time, Quality)]>,
}

impl Wire {
    /// How it is at a time.
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

    /// When it next goes down after `time`; the end of time if it never does.
    #[inline]
    pub(crate) fn next_down(&self, time: Time) -> Time {
        if self.changes.is_empty() {
            return Time::MAX;
        }
        let later = self.changes.partition_point(|(from, _)| *from <= time);
        self.changes[later..].iter().find(|(_, quality)| !quality.up).map_or(Time::MAX, |(from, _)| *from)
    }

    /// No packet of `bytes` bytes or more is faster.
    pub(crate) fn lookahead(&self, bytes: u32) -> Delay {
        let all = || std::iter::once(&self.first).chain(self.changes.iter().map(|(_, quality)| quality));
        let delay = all().map(|quality| quality.delay).min().expect("there is a first");
        let rate = all().map(|quality| quality.rate_bps).max().expect("there is a first");
        delay.saturating_add(Delay::serialisation(u64::from(bytes), rate))
    }
}

/// When a node is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presence(Box<[(Time, bool)]>);

impl Presence {
    /// When it is back, if it is away at `time`: the end of time if it never comes back.
    #[inline]
    pub(crate) fn away_until(&self, time: Time) -> Option<Time> {
        if self.0.is_empty() {
            return None;
        }
        let later = self.0.partition_point(|(from, _)| *from <= time);
        if later == 0 || self.0[later - 1].1 {
            return None;
        }
        Some(self.0[later..].iter().find(|(_, there)| *there).map_or(Time::MAX, |(from, _)| *from))
    }
}

/// All links and nodes over time.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) wires: Vec<Wire>,
    pub(crate) presence: Vec<Presence>,
    /// When links went down or came up, or changed their delay, so that routes are to be found anew; ascending.
    pub(crate) turns: Vec<Time>,
}

impl Course {
    pub(crate) fn of(description: &Description) -> Course {
        let quality = |link: &crate::description::Link| Quality {
            rate_bps: link.rate_bps,
            delay: link.delay,
            loss: link.loss,
            up: true,
        };
        let first: Vec<Quality> = description.links.iter().map(quality).collect();
        let mut events: Vec<_> = description.events.iter().collect();
        events.sort_by_key(|event| event.at); // Stable: those of one time stay in order.
        let mut own = first.clone(); // As if no node were ever lost.
        let mut there = vec![true; description.nodes.len()];
        let mut changes: Vec<Vec<(Time, Quality)>> = vec![Vec::new(); first.len()];
        let mut presence: Vec<Vec<(Time, bool)>> = vec![Vec::new(); there.len()];
        let mut turns = Vec::new();
        let links_of = links_of_nodes(description);
        for event in events {
            let mut touched = Vec::new();
            match event.what {
                What::Link { link, up } => {
                    own[link as usize].up = up;
                    touched.push(link);
                    turns.push(event.at);
                }
                What::Change { link, rate_bps, delay, loss } => {
                    let now = &mut own[link as usize];
                    now.rate_bps = rate_bps.unwrap_or(now.rate_bps);
                    now.delay = delay.unwrap_or(now.delay);
                    now.loss = loss.unwrap_or(now.loss);
                    touched.push(link);
                    if delay.is_some() {
                        turns.push(event.at);
                    }
                }
                What::Node { node, up } => {
                    there[node as usize] = up;
                    presence[node as usize].push((event.at, up));
                    touched.extend(&links_of[node as usize]);
                    turns.push(event.at);
                }
            }
            for link in touched {
                let ends = &description.links[link as usize];
                let up = own[link as usize].up && there[ends.from as usize] && there[ends.to as usize];
                let list = &mut changes[link as usize];
                // What happens at one time is one change.
                list.pop_if(|(time, _)| *time == event.at);
                list.push((event.at, Quality { up, ..own[link as usize] }));
            }
        }
        turns.dedup();
        let wire = |((first, changes), link): ((Quality, Vec<_>), &crate::description::Link)| Wire {
            first,
            queue: link.queue,
            changes: changes.into(),
        };
        Course {
            wires: first.into_iter().zip(changes).zip(&description.links).map(wire).collect(),
            presence: presence.into_iter().map(|list| Presence(last_of_each_time(list))).collect(),
            turns,
        }
    }
}

fn last_of_each_time(list: Vec<(Time, bool)>) -> Box<[(Time, bool)]> {
    let mut kept: Vec<(Time, bool)> = Vec::with_capacity(list.len());
    for entry in list {
        kept.pop_if(|(time, _)| *time == entry.0);
        kept.push(entry);
    }
    kept.into()
}

/// The links at each node that events are about; empty for the others.
fn links_of_nodes(description: &Description) -> Vec<Vec<u32>> {
    let mut lost = vec![false; description.nodes.len()];
    for event in &description.events {
        if let What::Node { node, .. } = event.what {
            lost[node as usize] = true;
        }
    }
    let mut links = vec![Vec::new(); lost.len()];
    for (number, link) in (0_u32..).zip(&description.links) {
        for end in [link.from, link.to] {
            if lost[end as usize] {
                links[end as usize].push(number);
            }
        }
    }
    links
}
