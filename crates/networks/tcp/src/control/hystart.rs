//! The end of slow start, before a queue overflows: HyStart++ (RFC 9406), or HyStart as in ns-3.
//!
//! *Read next*: `plus_plus`, `train`.

mod plus_plus;
mod train;

use super::{Ack, Window};
use parades_core::digest::Digest;
use parades_core::time::Time;
use plus_plus::PlusPlus;
use serde::{Deserialize, Serialize};
pub use train::Train;
use train::TrainState;

/// The end of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HyStart {
    /// Slow start ends by congestion only.
    Off,
    /// HyStart++ (RFC 9406).
    PlusPlus,
    /// HyStart by trains of acknowledgements and by delay (Ha and Rhee, 2011), as in ns-3.
    Train(Train),
}

impl HyStart {
    /// Returns HyStart with the parameters of ns-3.37.
    #[must_use]
    pub const fn ns3() -> HyStart {
        HyStart::Train(Train::ns3())
    }

    /// Returns the state at the start of a connection.
    pub(super) const fn start(self) -> HyStartState {
        match self {
            HyStart::Off => HyStartState::Off,
            HyStart::PlusPlus => HyStartState::PlusPlus(PlusPlus::new()),
            HyStart::Train(parameters) => HyStartState::Train(TrainState::new(parameters)),
        }
    }

    /// Returns a state that was read, with its parameters. `None` if it is no state of this variant.
    pub(super) fn resume(self, state: HyStartState) -> Option<HyStartState> {
        match (self, state) {
            (HyStart::Off, HyStartState::Off) => Some(state),
            (HyStart::PlusPlus, HyStartState::PlusPlus(of)) => of.is_possible().then_some(state),
            (HyStart::Train(parameters), HyStartState::Train(of)) => Some(HyStartState::Train(of.resume(parameters))),
            _ => None,
        }
    }
}

/// The state of the search for the end of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum HyStartState {
    Off,
    PlusPlus(PlusPlus),
    Train(TrainState),
}

impl HyStartState {
    /// Reads an acknowledgement. Sets `ssthresh` to the window if slow start ends.
    pub(super) fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        match self {
            HyStartState::Off => {}
            HyStartState::PlusPlus(state) => state.on_ack(ack, window),
            HyStartState::Train(state) => state.on_ack(ack, window),
        }
    }

    /// Returns the number by which the growth of slow start is divided.
    pub(super) fn growth_divisor(&self) -> u32 {
        match self {
            HyStartState::PlusPlus(state) => state.growth_divisor(),
            HyStartState::Off | HyStartState::Train(_) => 1,
        }
    }

    /// Searches again, in the slow start after a timeout. HyStart++ is for the first slow start only
    /// (RFC 9406, section 4.3).
    pub(super) fn restart(&mut self, now: Time) {
        if let HyStartState::Train(state) = self {
            state.restart(now);
        }
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        match self {
            HyStartState::Off => {}
            HyStartState::PlusPlus(state) => state.fold(digest),
            HyStartState::Train(state) => state.fold(digest),
        }
    }
}
