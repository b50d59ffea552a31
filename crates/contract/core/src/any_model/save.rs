//! The table of a model whose runs can be saved.

use super::typed::open;
use super::{AnyEvent, AnyWire, Typed, WireModel, body_ref};
use crate::event::{Body, LpId};
use crate::lp::{Kernel, Lp};
use crate::placement::Placement;
use crate::time::Time;
use crate::wire::Malformed;
use std::fmt;

/// A model whose runs can be saved: the states of its LPs can be written, beside everything that crosses
/// process boundaries.
///
/// A state is written without what the model knows: `read_state` takes that from `self`. A state that is all
/// data is written and read by [`wire::write`](crate::wire::write) and [`wire::read`](crate::wire::read).
/// Bytes of equal states are equal: a table without an order is sorted before it is written.
pub trait SaveModel: WireModel {
    /// Returns `Ok` if the runs of this model can be saved.
    ///
    /// # Errors
    ///
    /// The reason why they cannot, as a part of a sentence: "the protocol \"ping\" cannot be written".
    fn can_save(&self) -> Result<(), String> {
        Ok(())
    }

    /// Appends the bytes of the state of `lp`.
    fn write_state(&self, lp: LpId, state: &Self::State, to: &mut Vec<u8>);

    /// Reads a state of `lp`.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a state of this LP: also if an index, a count or a time in them is one
    /// that no state of this model has. No bytes may make the run panic later, or take memory without bound.
    fn read_state(&self, lp: LpId, from: &mut &[u8]) -> Result<Self::State, Malformed>;

    /// Checks a message that was read, and that is on its way to `lp`.
    ///
    /// # Errors
    ///
    /// If no message of this model is like this: as for states.
    fn check_message(&self, lp: LpId, message: &Self::Message) -> Result<(), Malformed> {
        let _ = (lp, message);
        Ok(())
    }
}

/// A model of any type whose runs can be saved.
pub trait AnySave<'k>: AnyWire<'k> {
    /// Returns `Ok`, or the reason why runs cannot be saved ([`SaveModel::can_save`]).
    ///
    /// # Errors
    ///
    /// The reason.
    fn can_save(&self) -> Result<(), String>;

    /// Appends the bytes of an LP of a list that has been put down
    /// ([`Lps::put_down`](super::Lps::put_down)). The lists are those of the partitions of `placement`.
    fn write_lp(&self, id: LpId, placement: &Placement, to: &mut Vec<u8>);

    /// Reads the LP `id` of a run at rest at `time`, and adds it to the list `number` of those that have been put
    /// down.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of an LP.
    fn read_lp(&self, id: LpId, number: usize, time: Time, from: &mut &[u8]) -> Result<(), Malformed>;

    /// Checks a message in transit that was read ([`SaveModel::check_message`]).
    ///
    /// # Errors
    ///
    /// If the event is no message, or no message of the model is like this.
    fn check_event(&self, event: &AnyEvent<'k>) -> Result<(), Malformed>;

    /// Drops the lists that have been put down.
    fn drop_lps(&self);
}

impl fmt::Debug for dyn AnySave<'_> + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySave").finish_non_exhaustive()
    }
}

impl<'k, M: SaveModel> AnySave<'k> for Typed<'k, '_, M> {
    fn can_save(&self) -> Result<(), String> {
        self.value().model().can_save()
    }

    fn write_lp(&self, id: LpId, placement: &Placement, to: &mut Vec<u8>) {
        let dock = self.value().dock();
        let lp = &dock[placement.partition(id) as usize][placement.index(id)];
        lp.kernel().write(to);
        self.value().model().write_state(id, lp.state(), to);
    }

    fn read_lp(&self, id: LpId, number: usize, time: Time, from: &mut &[u8]) -> Result<(), Malformed> {
        let kernel = Kernel::read(time, from)?;
        let lp = Lp::of_parts(kernel, self.value().model().read_state(id, from)?);
        let mut dock = self.value().dock();
        if dock.len() <= number {
            dock.resize_with(number + 1, Vec::new);
        }
        dock[number].push(lp);
        Ok(())
    }

    fn check_event(&self, event: &AnyEvent<'k>) -> Result<(), Malformed> {
        match open(self.kind(), body_ref(event)) {
            Body::Message(message) => self.value().model().check_message(event.receiver(), message),
            Body::Timer(_) => Err(Malformed::new("a wake of a timer is among the messages")),
        }
    }

    fn drop_lps(&self) {
        self.value().dock().clear();
    }
}
