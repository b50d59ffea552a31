//! The bytes of a port's state.

use super::sojourns::Sojourns;
use super::{LOSSES, Port, Queue, Sent, managed};
use crate::line::Policy;
use crate::queue::Backlog;
use crate::save::{check, is_number};
use parades_core::wire::{self, Malformed};

impl Port {
    /// Appends the bytes of the state.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        wire::write(&(&self.sent, self.queue.as_ref().map(|queue| queue.lost)), to);
        if let Some(queue) = &self.queue {
            queue.backlog.write(to);
            wire::write(&queue.sojourns, to);
            queue.managed.iter().for_each(|managed| managed.write(to));
        }
    }

    /// Reads the state of a port with these rules.
    pub(crate) fn read(policy: &Policy, from: &mut &[u8]) -> Result<Port, Malformed> {
        let (sent, lost): (Sent, Option<[u64; LOSSES]>) = wire::read(from)?;
        let numbers = lost.unwrap_or_default();
        check(numbers.into_iter().chain([sent.packets, sent.bytes]).all(is_number), "a port")?;
        let Some(lost) = lost else { return Ok(Port { sent, queue: None }) };
        let backlog = Backlog::read(from)?;
        let sojourns: Option<Box<Sojourns>> = wire::read(from)?;
        check(sojourns.as_ref().is_none_or(|sojourns| sojourns.is_in_order()), "a port")?;
        let managed = match policy {
            Policy::Plain(_) => None,
            Policy::Managed(rules) => Some(Box::new(managed::Managed::read(&rules.discipline, from)?)),
        };
        Ok(Port { sent, queue: Some(Box::new(Queue { lost, backlog, managed, sojourns })) })
    }

    /// Returns the places of the packets that the port holds in the store of its node.
    pub(crate) fn held_places(&self) -> Vec<u32> {
        self.managed().map_or_else(Vec::new, managed::Managed::held_places)
    }
}
