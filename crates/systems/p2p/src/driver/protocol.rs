//! Protocols, as their authors write them.

use crate::churn::Churn;
use parades_core::prelude::*;
use std::fmt;

/// A peer-to-peer protocol: the constants of a simulation, and the state machine of a node.
///
/// The [module](super#rules) has the rules by which a driver calls the functions. All of them must be pure
/// functions of what they are given, so that an event can be executed again after a rollback.
///
/// # Examples
///
/// Each node greets the next one every second, and counts the greetings that it gets:
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_engine::{sequential, time_warp};
/// use parades_p2p::driver::{AsModel, AsProgram, Dependencies, Protocol, Wait};
///
/// struct Greetings;
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct Greeter { id: u32, next: Time, greeted: u64 }
///
/// impl Protocol for Greetings {
///     type Message = ();
///     type Machine = Greeter;
///
///     fn nodes(&self) -> u32 { 3 }
///     fn bytes(_: &()) -> f64 { 20.0 }
///     fn machine(&self, node: LpId, _: &Rng) -> Greeter {
///         Greeter { id: node.0, next: Time::MAX, greeted: 0 }
///     }
///     fn wait(&self, greeter: &Greeter) -> Wait { Wait::Messages(greeter.next) }
///     fn begin(&self, greeter: &mut Greeter, _: Time, driver: &mut impl Dependencies<()>) {
///         self.on_timer(greeter, driver);
///     }
///     fn on_message(&self, greeter: &mut Greeter, _: LpId, (): (), _: &mut impl Dependencies<()>) {
///         greeter.greeted += 1;
///     }
///     fn on_timer(&self, greeter: &mut Greeter, driver: &mut impl Dependencies<()>) {
///         driver.send(LpId((greeter.id + 1) % 3), ());
///         greeter.next = driver.now().checked_add(Delay::from_secs(1)).unwrap_or(Time::MAX);
///     }
///     fn forget(&self, _: &mut Greeter) {}
///     fn fold(&self, greeter: &Greeter, digest: &mut Digest) { digest.word(greeter.greeted); }
/// }
///
/// let carrier = Constant::new(Delay::from_ms(10));
/// let options = || RunOptions::until(Time::from_ps(10_000_000_000_000));
/// let program = sequential::run(&AsProgram::model(Greetings, carrier), options())?;
/// let model = AsModel::new(Greetings, carrier);
/// let model = time_warp::run(&model, options(), &time_warp::Settings::of_threads(2))?;
/// assert_eq!((program.digest, program.events), (model.digest, model.events));
/// # Ok::<(), parades_core::error::Error>(())
/// ```
pub trait Protocol: Sized + Send + Sync + 'static {
    /// The messages between nodes.
    type Message: Payload + Clone;
    /// The state of a node. Where it is `Clone`, it can be rolled back.
    type Machine: Send + 'static;

    /// Returns the number of nodes. Node `i` is the LP of that id.
    fn nodes(&self) -> u32;

    /// Returns the length of a message in bytes. Carriers for which that matters are made with this function.
    fn bytes(message: &Self::Message) -> f64;

    /// Writes a message for a trace, as the object of "a node sends". By default it is written in its `Debug`
    /// form.
    ///
    /// # Errors
    ///
    /// The errors of `to`.
    fn describe(&self, message: &Self::Message, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{message:?}")
    }

    /// Returns what traces call a node in the lines on its messages.
    fn node_name(&self, node: LpId) -> String {
        format!("node {}", node.0)
    }

    /// Returns the coming and going of nodes; `None` if all stay.
    fn churn(&self) -> Option<&Churn> {
        None
    }

    /// Returns the time that passes before a node comes for the first time; `None` if it comes at the start.
    fn first_coming(&self, node: LpId) -> Option<Delay> {
        self.churn()?.first(node).map(|first| first.since(Time::ZERO))
    }

    /// Declares the metrics, as [`Model::metrics`].
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// Makes the machine of a node before its first session. A pure function of the protocol, the seed and
    /// the node.
    fn machine(&self, node: LpId, rng: &Rng) -> Self::Machine;

    /// Returns what the machine waits for.
    fn wait(&self, machine: &Self::Machine) -> Wait;

    /// Begins a session of the node. The machine should be gone at `end`, or soon after it. With
    /// [`Time::MAX`] the session has no planned end.
    fn begin(&self, machine: &mut Self::Machine, end: Time, driver: &mut impl Dependencies<Self::Message>);

    /// Handles a message.
    fn on_message(
        &self,
        machine: &mut Self::Machine,
        from: LpId,
        message: Self::Message,
        driver: &mut impl Dependencies<Self::Message>,
    );

    /// Handles the end of the time of a wait. A machine with several timers keeps them in
    /// [`super::Timers`].
    fn on_timer(&self, machine: &mut Self::Machine, driver: &mut impl Dependencies<Self::Message>);

    /// Continues a machine that is ready, after the kept messages. A machine that is never ready need not
    /// write this function.
    fn proceed(&self, machine: &mut Self::Machine, driver: &mut impl Dependencies<Self::Message>) {
        let _ = (machine, driver);
        unreachable!("the machine is never ready");
    }

    /// Ends a session of the node, which has left or crashed at `at`. A node that keeps its state
    /// ([`Churn::keep`]) loses only what a process loses: timers, and requests under way. Unless a protocol
    /// writes this function, its nodes forget all in either case.
    fn leave(&self, machine: &mut Self::Machine, at: Time, keeps_state: bool) {
        let _ = (at, keeps_state);
        self.forget(machine);
    }

    /// Clears the state that a node loses when it leaves or crashes.
    fn forget(&self, machine: &mut Self::Machine);

    /// Prefetches, as [`Model::fetch`]: in step 0 the memory to which the machine points, in step 1 the
    /// memory to which that points.
    #[inline]
    fn fetch(&self, machine: &Self::Machine, step: usize) {
        let _ = (machine, step);
    }

    /// Folds the final state of a node into the digest.
    fn fold(&self, machine: &Self::Machine, digest: &mut Digest);

    /// Adds the final state of a node to the metrics, as [`Model::finish`].
    fn finish(&self, node: LpId, machine: &Self::Machine, end: &End, metrics: &mut Metrics) {
        let _ = (node, machine, end, metrics);
    }

    /// Checks what must hold at the end, as [`Model::conclude`].
    ///
    /// # Errors
    ///
    /// One sentence on what does not hold; it becomes the error of the run.
    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        let _ = (end, metrics);
        Ok(())
    }
}

/// The services that a machine needs from its driver.
pub trait Dependencies<M> {
    /// Returns the virtual time.
    fn now(&self) -> Time;

    /// Returns the node's random stream.
    fn rng(&mut self) -> &Rng;

    /// Sends a message to a node, which may be the node itself.
    fn send(&mut self, to: LpId, message: M);

    /// Adds to a counter.
    fn count(&mut self, counter: CounterId, amount: u64);

    /// Records one observation of an integer metric.
    fn observe(&mut self, metric: IntegerId, value: u64);

    /// Adds a line to the trace of the event, if there is a trace. The driver adds one for each message that
    /// is sent. [`super::AsProgram`] has none of these lines.
    #[inline]
    fn note(&mut self, text: impl FnOnce() -> String) {
        let _ = text;
    }
}

/// The wait of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The node has gone, and waits for nothing.
    Gone,
    /// The machine is ready, and waits only for the messages that are there already.
    Ready,
    /// It sleeps until this time.
    Sleep(Time),
    /// It waits for messages until this time.
    Messages(Time),
}
