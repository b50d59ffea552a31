//! Programs, as users write them.

use crate::carrier::Carrier;
use crate::context::Start;
use parades_core::prelude::*;
use parades_core::profile::short_name;
use std::fmt;

/// The processes of the nodes of a simulation.
///
/// # Examples
///
/// Two nodes that pass a ball to and fro:
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_program::{Program, Processes, Start};
///
/// struct PingPong { carrier: Constant }
///
/// impl Program for PingPong {
///     type Message = u64;
///     type State = u64; // hits so far
///     type Carrier = Constant;
///
///     fn nodes(&self) -> u32 { 2 }
///     fn carrier(&self) -> &Constant { &self.carrier }
///     fn start(&self, start: &mut Start<'_, Self>) -> u64 {
///         start.spawn("player", |node| async move {
///             let other = LpId(1 - node.id().0);
///             if node.id() == LpId(0) {
///                 node.send(other, 1);
///             }
///             loop {
///                 let ball = node.receive().await;
///                 node.with_state(|hits| *hits += 1);
///                 node.send(ball.from, ball.message + 1);
///             }
///         });
///         0
///     }
/// }
///
/// let model = Processes::new(PingPong { carrier: Constant::new(Delay::from_ms(10)) });
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(1_000_000_000_000)))?;
/// assert_eq!(outcome.events, 2 + 99); // two starts, then a hit each 10 ms
/// # Ok::<(), parades_core::error::Error>(())
/// ```
pub trait Program: Sized + Send + Sync + 'static {
    /// The messages between nodes. A message is copied from the event to the process that receives it, so
    /// large data should be shared ([`parades_core::shared::Shared`]).
    type Message: Payload + Clone;
    /// The state that the processes of a node share. It remains at the end of the run.
    type State: Send + 'static;
    /// The carrier of messages from node to node.
    type Carrier: Carrier<Self::Message>;

    /// Returns the number of nodes. Node `i` is the LP of that id.
    fn nodes(&self) -> u32;

    /// Returns the carrier of messages.
    fn carrier(&self) -> &Self::Carrier;

    /// Returns the name of the program, as profiles call its nodes. By default it is that of its type.
    fn name(&self) -> String {
        short_name(std::any::type_name::<Self>()).to_owned()
    }

    /// Returns the metrics of the program, as [`Model::metrics`].
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// Makes the state of a node and spawns its first processes, which begin at time 0. A pure function of
    /// the program, the seed and the node.
    fn start(&self, start: &mut Start<'_, Self>) -> Self::State;

    /// Begins the processes of a node whose host works again, after its failure has ended them. By default no
    /// process begins. It is called only if the carrier ends processes with their hosts
    /// ([`Carrier::kills_with_host`]).
    fn restart(&self, start: &mut Start<'_, Self>, state: &mut Self::State) {
        let _ = (start, state);
    }

    /// Writes a message for a trace, in the words of the program. By default it is written in its `Debug`
    /// form.
    ///
    /// # Errors
    ///
    /// The errors of `to`.
    fn describe(&self, message: &Self::Message, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{message:?}")
    }

    /// Returns whether a process that waits forever is an error. Processes wait forever if nothing can happen
    /// any more while they have not ended. Servers wait forever; workers should not.
    fn must_end(&self) -> bool {
        false
    }

    /// Prefetches the memory to which the state of a node points, as [`Model::fetch`]. An event for the node
    /// is due soon.
    #[inline]
    fn fetch(&self, state: &Self::State) {
        let _ = state;
    }

    /// Folds the final state of a node into the digest.
    fn fold(&self, state: &Self::State, digest: &mut Digest) {
        let _ = (state, digest);
    }

    /// Adds the final state of a node to the metrics, as [`Model::finish`].
    fn finish(&self, id: LpId, state: &Self::State, end: &End, metrics: &mut Metrics) {
        let _ = (id, state, end, metrics);
    }

    /// Checks the results at the end, as [`Model::conclude`].
    ///
    /// # Errors
    ///
    /// One sentence on the condition that does not hold; it becomes the error of the run.
    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        let _ = (end, metrics);
        Ok(())
    }
}

/// A message that a node received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<M> {
    /// The sender.
    pub from: LpId,
    /// The message.
    pub message: M,
}
