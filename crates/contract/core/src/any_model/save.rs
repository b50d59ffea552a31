//! The table of a model whose runs can be saved.

use super::{AnyWire, Typed, WireModel};
use crate::event::LpId;
use crate::lp::Lp;
use crate::placement::Placement;
use crate::time::Time;
use crate::wire::{Malformed, Wire};
use std::fmt;

/// A model whose runs can be saved: the states of its LPs can be written, beside everything that crosses
/// process boundaries.
pub trait SaveModel: WireModel + crate::model::Model<State: Wire> {}
impl<M: WireModel + crate::model::Model<State: Wire>> SaveModel for M {}

/// A model of any type whose runs can be saved.
pub trait AnySave<'k>: AnyWire<'k> {
    /// Appends the bytes of an LP of a list that has been put down
    /// ([`Lps::put_down`](super::Lps::put_down)). The lists are those of the partitions of `placement`.
    fn write_lp(&self, id: LpId, placement: &Placement, to: &mut Vec<u8>);

    /// Reads an LP of a run at rest at `time`, and adds it to the list of partition 0 that has been put down.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of an LP.
    fn read_lp(&self, time: Time, from: &mut &[u8]) -> Result<(), Malformed>;

    /// Drops the lists that have been put down.
    fn drop_lps(&self);
}

impl fmt::Debug for dyn AnySave<'_> + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySave").finish_non_exhaustive()
    }
}

impl<'k, M: SaveModel> AnySave<'k> for Typed<'k, '_, M> {
    fn write_lp(&self, id: LpId, placement: &Placement, to: &mut Vec<u8>) {
        let dock = self.value().dock();
        dock[placement.partition(id) as usize][placement.index(id)].write(to);
    }

    fn read_lp(&self, time: Time, from: &mut &[u8]) -> Result<(), Malformed> {
        let lp: Lp<M::State> = Lp::read(time, from)?;
        let mut dock = self.value().dock();
        if dock.is_empty() {
            dock.push(Vec::new());
        }
        dock[0].push(lp);
        Ok(())
    }

    fn drop_lps(&self) {
        self.value().dock().clear();
    }
}
