//! Strict priorities: a drop-tail queue for each class of packets, and the highest class goes first.

use super::QueueLimit;
use super::holding::{Dropped, Held, bytes_of};
use crate::packet::CLASSES;
use crate::port::Loss;
use parades_core::restore::{Recorder, Undoable};
use parades_core::wire::{self, Malformed};
use std::collections::VecDeque;

/// The parameters of strict priorities. A packet of a class is transmitted only while no packet of a higher
/// class waits. A transmission that has begun is not interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority {
    /// The limit of the queue of each class.
    pub limit: QueueLimit,
}

/// The queue of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable)]
pub(crate) struct Class {
    packets: VecDeque<Held>,
    bytes: u64,
}

/// The queues of all classes, by class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable)]
pub(crate) struct Classes {
    queues: [Class; CLASSES as usize],
}

impl Classes {
    /// Appends the bytes of the state.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        self.queues.iter().for_each(|class| wire::write(&class.packets, to));
    }

    /// Reads a state.
    pub(super) fn read(from: &mut &[u8]) -> Result<Classes, Malformed> {
        let mut classes = Classes::default();
        for class in &mut classes.queues {
            class.packets = wire::read(from)?;
            class.bytes = bytes_of(&class.packets);
        }
        Ok(classes)
    }

    pub(super) fn packets(&self) -> impl Iterator<Item = Held> {
        self.queues.iter().rev().flat_map(|class| class.packets.iter().copied())
    }
}

impl<R: Recorder<ClassesUndo>> ClassesMut<'_, R> {
    pub(super) fn enqueue(&mut self, packet: Held, priority: &Priority, class: u8, dropped: &mut Dropped) {
        let mut queue = self.queues().into_at(class as usize);
        let bytes = queue.bytes + u64::from(packet.bytes);
        if !priority.limit.allows(queue.packets.len() + 1, bytes) {
            dropped.push((packet, Loss::Queue));
            return;
        }
        queue.packets().push_back(packet);
        *queue.bytes() = bytes;
    }

    pub(super) fn dequeue(&mut self) -> Option<Held> {
        let class = self.queues.iter().rposition(|class| !class.packets.is_empty())?;
        let mut queue = self.queues().into_at(class);
        let packet = queue.packets().pop_front()?;
        *queue.bytes() -= u64::from(packet.bytes);
        Some(packet)
    }
}
