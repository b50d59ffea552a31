//! Writing the states of a carrier, and reading them again.

use super::{Carrier, Layout};
use parades_core::event::LpId;
use parades_core::wire::{Malformed, Wire};

/// A carrier whose states can be written, so that runs over it can be saved
/// ([`parades_core::any_model::SaveModel`] has the rules for states).
///
/// Over a carrier without this trait, a model has no [`parades_core::any_model::SaveModel`], and an engine
/// refuses to save its runs.
///
/// A carrier whose states are all data writes and reads them by [`parades_core::wire`]:
///
/// ```
/// # use parades_core::prelude::*;
/// # use parades_core::random::Rng;
/// # use parades_program::{Carrier, CarrierContext, Departure, Layout, Letter, NodeContext, Wiring};
/// use parades_core::wire::{self, Malformed};
/// use parades_program::SaveCarrier;
/// # struct Wire;
/// # impl Carrier<u64> for Wire {
/// #     type Packet = u64;
/// #     type Access = u32;
/// #     type Lp = std::convert::Infallible;
/// #     type Plan = ();
/// #     fn wire(&self, _: Layout, wiring: &mut Wiring) { wiring.nodes_to_anyone(Delay::from_us(1)); }
/// #     fn access(&self, _: LpId, _: Layout) -> u32 { 0 }
/// #     fn start(&self, _: &mut impl CarrierContext<u64>) -> Self::Lp { unreachable!() }
/// #     fn plan(&self, _: Departure<'_, u64>, _: &mut u32, _: &Rng) {}
/// #     fn arrival(&self, (): (), _: Time) -> Option<Time> { None }
/// #     fn post(&self, _: Letter<u64, ()>, _: &mut u32, _: &mut impl CarrierContext<u64>) {}
/// #     fn receive(&self, _: &u64, _: &mut u32, _: &mut impl NodeContext<u64, u64>) {}
/// #     fn execute(&self, _: &mut Self::Lp, _: Body<&u64>, _: &mut impl CarrierContext<u64>) {}
/// # }
///
/// /// A node has a number, and there are no other LPs.
/// impl SaveCarrier<u64> for Wire {
///     fn write_access(&self, number: &u32, to: &mut Vec<u8>) { wire::write(number, to) }
///     fn read_access(&self, _: LpId, _: Layout, from: &mut &[u8]) -> Result<u32, Malformed> { wire::read(from) }
///     fn write_lp(&self, lp: &Self::Lp, _: &mut Vec<u8>) { match *lp {} }
///     fn read_lp(&self, _: LpId, _: Layout, _: &mut &[u8]) -> Result<Self::Lp, Malformed> {
///         Err(Malformed::new("the carrier has no LP of its own"))
///     }
/// }
/// ```
pub trait SaveCarrier<M>: Carrier<M, Packet: Wire> {
    /// Returns `Ok` if the states of this carrier can be written.
    ///
    /// # Errors
    ///
    /// The reason why they cannot, as [`parades_core::any_model::SaveModel::can_save`] has it.
    fn can_save(&self) -> Result<(), String> {
        Ok(())
    }

    /// Appends the bytes of the state at a node.
    fn write_access(&self, access: &Self::Access, to: &mut Vec<u8>);

    /// Reads the state at a node.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a state at this node, as
    /// [`parades_core::any_model::SaveModel::read_state`] says.
    fn read_access(&self, node: LpId, layout: Layout, from: &mut &[u8]) -> Result<Self::Access, Malformed>;

    /// Appends the bytes of the state of an LP of the carrier's own.
    fn write_lp(&self, lp: &Self::Lp, to: &mut Vec<u8>);

    /// Reads the state of an LP of the carrier's own.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a state of this LP.
    fn read_lp(&self, lp: LpId, layout: Layout, from: &mut &[u8]) -> Result<Self::Lp, Malformed>;
}
