//! The message cache: recent messages, by the heartbeat in which they came.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A message in the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) id: u32,
    pub(super) topic: u32,
    pub(super) author: u32,
    /// The peers that asked for the message, and how often it was sent to each.
    sent: Vec<(u32, u32)>,
}

/// The message cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cache {
    /// The messages since each heartbeat; the last heartbeat first.
    windows: VecDeque<Vec<Entry>>,
}

impl Cache {
    pub(super) fn new() -> Cache {
        Cache { windows: VecDeque::from([Vec::new()]) }
    }

    /// Returns the topics of all messages.
    pub(super) fn topics(&self) -> impl Iterator<Item = u32> {
        self.windows.iter().flatten().map(|entry| entry.topic)
    }

    /// Adds a message.
    pub(super) fn put(&mut self, id: u32, topic: u32, author: u32) {
        if let Some(window) = self.windows.front_mut() {
            window.push(Entry { id, topic, author, sent: Vec::new() });
        }
    }

    /// Begins a new window, and forgets messages beyond the last `length` windows.
    pub(super) fn shift(&mut self, length: u32) {
        self.windows.push_front(Vec::new());
        self.windows.truncate(length as usize);
    }

    /// Returns the messages of a topic in the last `windows` windows.
    pub(super) fn recent(&self, topic: u32, windows: u32) -> Vec<u32> {
        let entries = self.windows.iter().take(windows as usize).flatten();
        entries.filter(|entry| entry.topic == topic).map(|entry| entry.id).collect()
    }

    /// Returns a message that a peer asks for, unless it has been sent to that peer `limit` times.
    pub(super) fn ask(&mut self, id: u32, peer: u32, limit: u32) -> Option<(u32, u32)> {
        let entry = self.windows.iter_mut().flatten().find(|entry| entry.id == id)?;
        let index = entry.sent.iter().position(|&(other, _)| other == peer).unwrap_or_else(|| {
            entry.sent.push((peer, 0));
            entry.sent.len() - 1
        });
        let (_, count) = &mut entry.sent[index];
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some((entry.topic, entry.author))
    }
}
