//! The bytes of the state of a managed port.

use super::{Managed, Memory};
use crate::queue::Discipline;
use crate::queue::holding::{Held, Holding};
use crate::save::{check, is_number};
use parades_core::wire::{self, Malformed};

impl Managed {
    /// Appends the bytes of the state.
    pub(in crate::port) fn write(&self, to: &mut Vec<u8>) {
        let Managed { marked, duplicated, impaired, is_waking, last_started, memory } = self;
        wire::write(&(marked, duplicated, impaired, is_waking, last_started), to);
        match memory {
            Memory::None => {}
            Memory::Red(state) => wire::write(state, to),
            Memory::Pie(state) => wire::write(state, to),
            Memory::Bucket(state) => wire::write(state, to),
            Memory::Held(holding) => holding.write(to),
            Memory::Other(queue) => queue.write(to),
        }
    }

    /// Reads the state of a port with this discipline.
    pub(in crate::port) fn read(discipline: &Discipline, from: &mut &[u8]) -> Result<Managed, Malformed> {
        let (marked, duplicated, impaired, is_waking, last_started) = wire::read(from)?;
        let memory = match discipline {
            Discipline::Red(_) => Memory::Red(wire::read(from)?),
            Discipline::Pie(_) => Memory::Pie(wire::read(from)?),
            Discipline::TokenBucket(_) => Memory::Bucket(wire::read(from)?),
            discipline => match (Holding::read(discipline, from)?, discipline) {
                (Some(holding), _) => Memory::Held(Box::new(holding)),
                (None, Discipline::Other(other)) => {
                    Memory::Other(other.arriving().expect("it holds no packets").read(from)?)
                }
                (None, _) => Memory::None,
            },
        };
        let managed = Managed { marked, duplicated, impaired, is_waking, last_started, memory };
        let is_possible = match &managed.memory {
            Memory::Red(state) => (0.0..f64::from(u32::MAX)).contains(&state.average),
            Memory::Pie(state) => (0.0..=1.0).contains(&state.probability),
            // A port that holds packets has an event at which it releases them.
            Memory::Held(holding) => is_waking || holding.len() == 0,
            Memory::None | Memory::Bucket(_) | Memory::Other(_) => true,
        };
        check(is_possible && is_number(marked) && is_number(duplicated), "a port")?;
        Ok(managed)
    }

    /// Returns the places of the packets that the port holds in the store of its node.
    pub(in crate::port) fn held_places(&self) -> Vec<u32> {
        self.holding().map_or_else(Vec::new, |holding| holding.packets().iter().map(Held::slot).collect())
    }
}
