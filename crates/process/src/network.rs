//! How messages get from node to node.

use parades_core::channel::Channels;
use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::Delay;

/// A network between nodes: how long a message takes, and the least that any takes, which is the lookahead.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_process::Network;
///
/// /// Nodes on a line: the further, the longer.
/// struct Line;
/// impl<M> Network<M> for Line {
///     fn channels(&self, nodes: u32) -> Channels { Channels::whole(Delay::from_us(10)) }
///     fn delay(&self, from: LpId, to: LpId, _: &M, _: &mut Rng) -> Delay {
///         Delay::from_us(10 * u64::from(from.0.abs_diff(to.0)).max(1))
///     }
/// }
/// # let mut rng = Rng::stream(1, 1);
/// assert_eq!(Line.delay(LpId(3), LpId(5), &(), &mut rng), Delay::from_us(20));
/// ```
pub trait Network<M>: Send + Sync + 'static {
    /// Who may send to whom with what least delay. Nodes name their receivers, so it must be declared for senders or for the whole model
    /// ([`Channels::to_anyone`], [`Channels::whole`]).
    fn channels(&self, nodes: u32) -> Channels;

    /// How long a message takes; never less than the channel's lookahead. What is random in it is drawn from the sender's stream.
    fn delay(&self, from: LpId, to: LpId, message: &M, rng: &mut Rng) -> Delay;
}

/// A network in which every message takes the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    latency: Delay,
}

impl Constant {
    /// Every message takes `latency`.
    pub const fn new(latency: Delay) -> Constant {
        Constant { latency }
    }
}

impl<M> Network<M> for Constant {
    fn channels(&self, _: u32) -> Channels {
        Channels::whole(self.latency)
    }
    #[inline]
    fn delay(&self, _: LpId, _: LpId, _: &M, _: &mut Rng) -> Delay {
        self.latency
    }
}
