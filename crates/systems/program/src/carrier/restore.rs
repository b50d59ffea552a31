//! Restoring the LPs of a carrier's own when an execution is rolled back.

use super::Carrier;

/// A carrier whose own LPs can be rolled back. Engines that roll back require it of the carrier of a model.
///
/// A carrier without own LPs, or with small ones, is restorable by one line:
///
/// ```
/// # use parades_core::prelude::*;
/// # use parades_core::random::Rng;
/// # use parades_program::{Carrier, CarrierContext, Departure, Layout, Letter, NodeContext, Wiring};
/// use parades_program::carrier::{Copies, RestorableCarrier};
/// # struct Wire;
/// # impl Carrier<u64> for Wire {
/// #     type Packet = u64;
/// #     type Access = ();
/// #     type Lp = std::convert::Infallible;
/// #     type Plan = ();
/// #     fn wire(&self, _: Layout, wiring: &mut Wiring) { wiring.nodes_to_anyone(Delay::from_us(1)); }
/// #     fn access(&self, _: LpId, _: Layout) {}
/// #     fn start(&self, _: &mut impl CarrierContext<u64>) -> Self::Lp { unreachable!() }
/// #     fn plan(&self, _: Departure<'_, u64>, (): &mut (), _: &Rng) {}
/// #     fn arrival(&self, (): (), _: Time) -> Option<Time> { None }
/// #     fn post(&self, _: Letter<u64, ()>, (): &mut (), _: &mut impl CarrierContext<u64>) {}
/// #     fn receive(&self, _: &u64, (): &mut (), _: &mut impl NodeContext<u64, u64>) {}
/// #     fn execute(&self, _: &mut Self::Lp, _: Body<&u64>, _: &mut impl CarrierContext<u64>) {}
/// # }
///
/// impl RestorableCarrier<u64> for Wire { type Restore = Copies; }
/// ```
pub trait RestorableCarrier<M>: Carrier<M, Access: Clone> {
    /// How an LP of the carrier's own is restored.
    type Restore: Restore<Self::Lp>;
}

/// A way to restore an LP of a carrier's own, whose state is `L`.
pub trait Restore<L> {
    /// The record that undoes an execution.
    type Undo: Send;

    /// True if it is a copy of the state from before the execution. Then an engine may let only some
    /// executions make a copy ([`parades_core::restore::Restorable::copies`]).
    const COPIES: bool;

    /// Called before the LP executes an event.
    fn before(lp: &mut L) -> Option<Self::Undo>;

    /// Called after the execution, unless it has panicked.
    fn after(lp: &mut L) -> Option<Self::Undo>;

    /// Restores the state from before the execution. `undo` is the value of [`Restore::after`], or else of
    /// [`Restore::before`]. An execution that panicked has only the latter.
    fn undo(lp: &mut L, undo: Option<Self::Undo>);
}

/// Restores from a copy. Right for small states. A large one, such as that of a solver that knows all
/// transfers of a network, should record the changes of each execution instead.
#[derive(Clone, Copy, Debug)]
pub struct Copies;

impl<L: Clone + Send> Restore<L> for Copies {
    type Undo = L;

    const COPIES: bool = true;

    #[inline]
    fn before(lp: &mut L) -> Option<L> {
        Some(lp.clone())
    }

    #[inline]
    fn after(_: &mut L) -> Option<L> {
        None
    }

    #[inline]
    fn undo(lp: &mut L, undo: Option<L>) {
        *lp = undo.expect("`before` left a copy");
    }
}
