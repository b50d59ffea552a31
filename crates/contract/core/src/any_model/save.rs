//! The table of a model whose runs can be saved.

use super::typed::{noting_panics, open};
use super::{AnyEvent, AnyWire, Typed, WireModel, body_ref};
use crate::cut::{Branch, InTransit};
use crate::event::{Body, LpId};
use crate::lp::{Kernel, Lp};
use crate::metrics::Metrics;
use crate::placement::Placement;
use crate::run::End;
use crate::time::Time;
use crate::wire::Malformed;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

    /// Returns `Ok` if metrics may begin again at a cut: then those of a run hold nothing before the cut, but
    /// for counts of what the states hold.
    ///
    /// # Errors
    ///
    /// The reason why they cannot, as a sentence. By default, that states may hold measurements.
    fn can_measure_afresh(&self) -> Result<(), String> {
        Err("the states of its LPs hold measurements of the time before, which cannot begin again".to_owned())
    }

    /// Changes the state of `lp`, of a run at rest at `time` that another model of this type has made, and
    /// that goes on under this one ([`Cut::branch`](crate::cut::Cut::branch)): makes new plans where the
    /// state has planned by values that hold no more. `sent` are the messages of the LP on their way, in the
    /// order in which it has sent them. Their arrivals may be moved, to the cut or later.
    ///
    /// The default changes nothing: what was drawn or planned before the cut stays.
    ///
    /// # Errors
    ///
    /// The reason why the state cannot go on under this model, as a sentence.
    fn branch(
        &self,
        lp: LpId,
        time: Time,
        state: &mut Self::State,
        sent: &mut [InTransit<'_, Self::Message>],
    ) -> Result<(), String> {
        let _ = (lp, time, state, sent);
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

    /// Lets an LP of a list that has been put down make its results, as
    /// [`Lps::finish`](super::Lps::finish) does.
    fn finish_lp(&self, id: LpId, placement: &Placement, end: &End, metrics: &mut Metrics);

    /// Reads the LP `id` of a run at rest at `time`, and adds it to the list `number` of those that have been
    /// put down.
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

    /// Returns `Ok`, or the reason why metrics cannot begin again ([`SaveModel::can_measure_afresh`]).
    ///
    /// # Errors
    ///
    /// The reason.
    fn can_measure_afresh(&self) -> Result<(), String>;

    /// Makes the LP `id` of a list that has been put down as partition 0 that of a branch, and gives it new
    /// random streams if the branch has them ([`SaveModel::branch`]). `sent` are the LP's messages in
    /// transit.
    ///
    /// # Errors
    ///
    /// The reason why the state cannot go on.
    fn branch_lp(&self, id: LpId, time: Time, branch: &Branch, sent: &mut Vec<AnyEvent<'k>>) -> Result<(), String>;

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

    fn finish_lp(&self, id: LpId, placement: &Placement, end: &End, metrics: &mut Metrics) {
        let dock = self.value().dock();
        let lp = &dock[placement.partition(id) as usize][placement.index(id)];
        noting_panics(metrics, |metrics| self.value().model().finish(id, lp.state(), end, metrics));
    }

    fn read_lp(&self, id: LpId, number: usize, time: Time, from: &mut &[u8]) -> Result<(), Malformed> {
        let kernel = Kernel::read(time, from)?;
        let lp = Lp::of_parts(kernel, self.value().model().read_state(id, from)?);
        // A state is folded outside of handlers, at each cut.
        catch_unwind(AssertUnwindSafe(|| lp.final_digest(self.value().model())))
            .map_err(|_| Malformed::new("a state cannot be folded into the digest"))?;
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

    fn can_measure_afresh(&self) -> Result<(), String> {
        self.value().model().can_measure_afresh()
    }

    fn branch_lp(&self, id: LpId, time: Time, branch: &Branch, sent: &mut Vec<AnyEvent<'k>>) -> Result<(), String> {
        let mut dock = self.value().dock();
        let lp = &mut dock[0][id.index()];
        if let Some(seed) = branch.seed {
            lp.draw_afresh(seed, id, time);
        }
        let in_transit = |event| match open(self.kind(), body_ref(event)) {
            Body::Message(message) => Some(InTransit { receiver: event.receiver(), message, arrival: event.time() }),
            Body::Timer(_) => None,
        };
        let mut messages: Vec<_> = sent.iter().filter_map(in_transit).collect();
        self.value().model().branch(id, time, lp.state_mut(), &mut messages)?;
        let arrivals: Vec<Time> = messages.iter().map(|message| message.arrival).collect();
        assert!(arrivals.len() == sent.len() && arrivals.iter().all(|&arrival| arrival >= time), "a cut has no past");
        *sent = std::mem::take(sent).into_iter().zip(arrivals).map(|(event, at)| branch.move_to(event, at)).collect();
        Ok(())
    }

    fn drop_lps(&self) {
        self.value().dock().clear();
    }
}
