//! A machine as bytes.

use super::super::look_up::{LookUp, Saved};
use super::values::Kept;
use super::{Books, Call, Machine, Purpose, Stage, TIMERS};
use crate::driver::{SaveProtocol, Timers};
use crate::kademlia::{Kademlia, Table};
use parades_core::event::LpId;
use parades_core::wire::{self, Malformed};

/// The parts of a machine that are written as they are.
type Plain<T, C, V, B> = (Stage, T, C, V, u64, u32, u32, B);

impl SaveProtocol for Kademlia {
    fn write_machine(&self, machine: &Machine, to: &mut Vec<u8>) {
        let Machine { node: _, stage, timers, table, look_ups, calls, values, to_refresh, number, sessions, books } =
            machine;
        let plain: Plain<_, _, _, _> = (*stage, timers, calls, values, *to_refresh, *number, *sessions, books);
        wire::write(&plain, to);
        table.write(to);
        let look_ups = look_ups.iter().map(|(number, purpose, look_up)| (number, purpose, look_up.saved()));
        wire::write(&look_ups.collect::<Vec<_>>(), to);
    }

    fn read_machine(&self, node: LpId, from: &mut &[u8]) -> Result<Machine, Malformed> {
        let plain: Plain<Timers<{ TIMERS.len() }>, Vec<Call>, Vec<Kept>, Box<Books>> = wire::read(from)?;
        let (stage, timers, calls, values, to_refresh, number, sessions, books) = plain;
        let nodes = self.parameters().nodes;
        if calls.iter().any(|call| call.node.0 >= nodes) {
            return Err(Malformed::new("a node calls a node that does not exist"));
        }
        let table = Table::read(self, node, from)?;
        let saved: Vec<(u32, Purpose, Saved)> = wire::read(from)?;
        let look_ups = saved.into_iter().map(|(number, purpose, saved)| {
            let width = self.width(purpose);
            let look_up = LookUp::of_saved(saved, width, nodes, self.space());
            look_up.map(|look_up| (number, purpose, look_up)).ok_or_else(|| Malformed::new("a look-up is impossible"))
        });
        let look_ups = look_ups.collect::<Result<Vec<_>, _>>()?;
        Ok(Machine { node, stage, timers, table, look_ups, calls, values, to_refresh, number, sessions, books })
    }
}
