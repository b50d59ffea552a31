//! Writing the states of a protocol's model, and reading them again.

use super::Protocol;
use super::model::{AsModel, LpState};
use super::node::NodeState;
use parades_core::any_model::SaveModel;
use parades_core::event::LpId;
use parades_core::wire::{Malformed, Wire};
use parades_program::SaveCarrier;

/// A protocol whose machines can be written, so that runs of its model can be saved ([`SaveModel`] has the
/// rules for states). Without this trait they are refused where they are to be saved.
///
/// A machine that is all data is written by [`parades_core::wire::write`]. Its fields that the protocol knows
/// need not be written. `read_machine` checks what it has read. Messages are not checked, neither those that
/// wait for a machine nor those in transit: a handler that panics at an impossible one ends the run with an
/// error.
///
/// # Examples
///
/// ```
/// # use parades_core::prelude::*;
/// # use parades_p2p::driver::{Dependencies, Protocol, Wait};
/// use parades_core::wire::{self, Malformed};
/// use parades_p2p::driver::SaveProtocol;
///
/// #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// struct Greeter { friend: u32, next: Time }
///
/// struct Greetings;
/// # impl Protocol for Greetings {
/// #     type Message = ();
/// #     type Machine = Greeter;
/// #     fn nodes(&self) -> u32 { 3 }
/// #     fn bytes((): &()) -> f64 { 1.0 }
/// #     fn machine(&self, LpId(id): LpId, _: &Rng) -> Greeter { Greeter { friend: id, next: Time::MAX } }
/// #     fn wait(&self, greeter: &Greeter) -> Wait { Wait::Messages(greeter.next) }
/// #     fn begin(&self, _: &mut Greeter, _: Time, _: &mut impl Dependencies<()>) {}
/// #     fn on_message(&self, _: &mut Greeter, _: LpId, (): (), _: &mut impl Dependencies<()>) {}
/// #     fn on_timer(&self, _: &mut Greeter, _: &mut impl Dependencies<()>) {}
/// #     fn forget(&self, _: &mut Greeter) {}
/// #     fn fold(&self, _: &Greeter, _: &mut Digest) {}
/// # }
///
/// impl SaveProtocol for Greetings {
///     fn write_machine(&self, greeter: &Greeter, to: &mut Vec<u8>) {
///         wire::write(greeter, to);
///     }
///     fn read_machine(&self, _: LpId, from: &mut &[u8]) -> Result<Greeter, Malformed> {
///         let greeter: Greeter = wire::read(from)?;
///         match greeter.friend < self.nodes() {
///             true => Ok(greeter),
///             false => Err(Malformed::new("a node has a friend that does not exist")),
///         }
///     }
/// }
/// ```
pub trait SaveProtocol: Protocol<Message: Wire> {
    /// Appends the bytes of the machine of a node.
    fn write_machine(&self, machine: &Self::Machine, to: &mut Vec<u8>);

    /// Reads the machine of a node.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a machine of this node, as [`SaveModel::read_state`] says.
    fn read_machine(&self, node: LpId, from: &mut &[u8]) -> Result<Self::Machine, Malformed>;
}

impl<P: SaveProtocol, C: SaveCarrier<P::Message>> SaveModel for AsModel<P, C> {
    fn can_save(&self) -> Result<(), String> {
        self.carrier.can_save()
    }

    fn write_state(&self, _: LpId, state: &Self::State, to: &mut Vec<u8>) {
        match state {
            LpState::Node(node) => node.write(self, to),
            LpState::Carrier(own) => self.carrier.write_lp(own, to),
        }
    }

    fn read_state(&self, lp: LpId, from: &mut &[u8]) -> Result<Self::State, Malformed> {
        match lp.0 < self.layout.nodes() {
            true => NodeState::read(self, lp, from).map(LpState::Node),
            false => self.carrier.read_lp(lp, self.layout, from).map(LpState::Carrier),
        }
    }
}
