//! The state of a connection's congestion control.

use super::{
    Ack, Algorithm, BbrState, Congestion, CongestionControl, CubicState, DctcpState, NewRenoState, VegasState, Window,
};
use parades_core::digest::Digest;
use parades_core::restore::Undoable;
use parades_core::time::Time;
use parades_core::wire::{self, Malformed};

/// The state of a congestion control. It is recorded whole, so a field of this type should be marked
/// `#[undoable(boxed)]`.
#[derive(Clone, Debug, PartialEq, Undoable)]
#[undoable(whole)]
pub enum Control {
    /// The state of `NewReno`.
    NewReno(NewRenoState),
    /// The state of `CUBIC`.
    Cubic(Box<CubicState>),
    /// The state of DCTCP.
    Dctcp(DctcpState),
    /// The state of Vegas.
    Vegas(VegasState),
    /// The state of BBR.
    Bbr(Box<BbrState>),
    /// The state of another crate's control.
    Other(Box<dyn CongestionControl>),
}

impl Clone for Box<dyn CongestionControl> {
    fn clone(&self) -> Box<dyn CongestionControl> {
        self.copy()
    }
}

/// Compares the texts for debugging, which show the whole state if `Debug` is derived.
impl PartialEq for dyn CongestionControl {
    fn eq(&self, other: &dyn CongestionControl) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl Control {
    /// Appends the bytes of the state, without its parameters.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match self {
            Control::NewReno(state) => wire::write(state, to),
            Control::Cubic(state) => wire::write(state, to),
            Control::Dctcp(state) => wire::write(state, to),
            Control::Vegas(state) => wire::write(state, to),
            Control::Bbr(state) => wire::write(state, to),
            Control::Other(state) => {
                wire::write(&state.save().expect("the model refuses controls that cannot be written"), to);
            }
        }
    }

    /// Reads a state of an algorithm.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of such a state.
    pub(crate) fn read(of: &Algorithm, from: &mut &[u8]) -> Result<Control, Malformed> {
        let control = match of {
            Algorithm::NewReno(of) => Some(Control::NewReno(of.resume(wire::read(from)?))),
            Algorithm::Cubic(of) => of.resume(wire::read(from)?).map(|state| Control::Cubic(Box::new(state))),
            Algorithm::Dctcp(of) => of.resume(wire::read(from)?).map(Control::Dctcp),
            Algorithm::Vegas(of) => of.resume(wire::read(from)?).map(Control::Vegas),
            Algorithm::Bbr(of) => of.resume(wire::read(from)?).map(|state| Control::Bbr(Box::new(state))),
            Algorithm::Other(of) => {
                let mut state = of.start.copy();
                state.restore(&wire::read::<Vec<u8>>(from)?)?;
                Some(Control::Other(state))
            }
        };
        control.ok_or_else(|| Malformed::new(format!("`{}` has no such state", of.name())))
    }

    #[inline]
    fn inner(&self) -> &dyn CongestionControl {
        match self {
            Control::NewReno(state) => state,
            Control::Cubic(state) => &**state,
            Control::Dctcp(state) => state,
            Control::Vegas(state) => state,
            Control::Bbr(state) => &**state,
            Control::Other(state) => &**state,
        }
    }

    #[inline]
    fn inner_mut(&mut self) -> &mut dyn CongestionControl {
        match self {
            Control::NewReno(state) => state,
            Control::Cubic(state) => &mut **state,
            Control::Dctcp(state) => state,
            Control::Vegas(state) => state,
            Control::Bbr(state) => &mut **state,
            Control::Other(state) => &mut **state,
        }
    }
}

impl CongestionControl for Control {
    fn on_start(&mut self, now: Time, window: &mut Window) {
        self.inner_mut().on_start(now, window);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.inner_mut().on_ack(ack, window);
    }

    fn on_congestion(&mut self, congestion: Congestion, now: Time, in_flight: u32, window: &mut Window) {
        self.inner_mut().on_congestion(congestion, now, in_flight, window);
    }

    fn on_undo(&mut self, now: Time, window: &mut Window) {
        self.inner_mut().on_undo(now, window);
    }

    fn on_recovered(&mut self, now: Time, window: &mut Window) {
        self.inner_mut().on_recovered(now, window);
    }

    fn on_idle_end(&mut self, now: Time, window: &mut Window) {
        self.inner_mut().on_idle_end(now, window);
    }

    fn owns_recovery(&self) -> bool {
        self.inner().owns_recovery()
    }

    fn needs_exact_marks(&self) -> bool {
        self.inner().needs_exact_marks()
    }

    fn needs_rates(&self) -> bool {
        self.inner().needs_rates()
    }

    fn needs_pacing(&self) -> bool {
        self.inner().needs_pacing()
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        self.inner().copy()
    }

    fn fold(&self, digest: &mut Digest) {
        self.inner().fold(digest);
    }
}
