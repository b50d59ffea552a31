//! Models, and the context through which their handlers act.
//!
//! A logical process (LP) is state plus a handler. The handler sees its own state, the event by reference,
//! its random stream and the constants of the model (`&self`). It acts through its [`Context`]. It has no
//! other input and no other output. So it cannot know which engine runs it, and every engine gives the same
//! answer.
//!
//! *Read next*: [`crate::lp`], how an event is executed.

use crate::capture::CapturePoint;
use crate::channel::Channels;
use crate::digest::{Digest, Payload};
use crate::event::{Body, Event, LpId};
use crate::global::Global;
use crate::metrics::Metrics;
use crate::profile::short_name;
use crate::run::{End, Unfinished};
use crate::time::Time;
use crate::world::Controllers;
use std::fmt;

pub use crate::context::Context;

/// The largest number of steps of [`Model::fetch`].
pub const MOST_FETCHES: usize = 3;

/// A model: its constants, and how its LPs start and react.
///
/// # Examples
///
/// Two LPs that pass a ball to and fro:
///
/// ```
/// use parades_core::prelude::*;
///
/// struct PingPong;
///
/// impl Model for PingPong {
///     type State = u64; // hits so far
///     type Message = ();
///     type Global = NoGlobal;
///
///     fn lps(&self) -> u32 { 2 }
///     fn channels(&self) -> Channels { Channels::whole(Delay::from_ms(10)) }
///     fn start(&self, ctx: &mut Context<'_, Self>) -> u64 {
///         if ctx.id() == LpId(0) { ctx.send_self(Delay::ZERO, ()); }
///         0
///     }
///     fn handle(&self, hits: &mut u64, _event: Body<&()>, ctx: &mut Context<'_, Self>) {
///         *hits += 1;
///         ctx.send_to(LpId(1 - ctx.id().0), Delay::from_ms(10), ());
///     }
/// }
/// # assert_eq!(PingPong.lps(), 2);
/// ```
pub trait Model: Sized + Sync {
    /// The state of an LP: the data that it keeps between events. For several kinds of LP it is an `enum`.
    type State: Send;
    /// The messages that LPs send to each other.
    type Message: Payload;
    /// The global events of the model; [`crate::global::NoGlobal`] if it has none.
    type Global: Global<Self>;

    /// The number of steps of [`Model::fetch`], at most [`MOST_FETCHES`]. The default, zero, suits states
    /// that own no other memory.
    const FETCHES: usize = 0;

    /// Returns the number of LPs, `1..2^32 - 1`. Their ids are `0..lps`.
    fn lps(&self) -> u32;

    /// Declares the channels between LPs, with their least delays. By default nothing is declared, and any LP
    /// may send to any LP.
    fn channels(&self) -> Channels {
        Channels::undeclared()
    }

    /// Declares the LPs that may ask for global events. By default there are none.
    fn controllers(&self) -> Controllers {
        Controllers::default()
    }

    /// Declares the metrics. Handlers name them by the ids that the declarations return.
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// Returns the global events that are known from the start.
    fn globals(&self) -> Vec<(Time, Self::Global)> {
        Vec::new()
    }

    /// Returns the number of rounds that one time may have, the bound on chains of zero-delay sends.
    /// Exceeding it is an error.
    fn round_limit(&self) -> u32 {
        1 << 20
    }

    /// Returns true if states must stay on the thread that executes their first event, which also drops them.
    /// It may become true during a run, by an execution, and is then true to the end.
    ///
    /// `window` and `null-message` leave the LPs of such a model with their workers. `rounds` executes all of
    /// them on one thread. By default, states may move.
    fn stays_on_threads(&self) -> bool {
        false
    }

    /// Makes the initial state of the LP `ctx.id()`, and sends its start-up events.
    ///
    /// Those events go to the LP itself; one with delay zero arrives at `(0, 0)`. The result must depend only
    /// on the model, the seed and the id.
    fn start(&self, ctx: &mut Context<'_, Self>) -> Self::State;

    /// Executes an event.
    fn handle(&self, state: &mut Self::State, event: Body<&Self::Message>, ctx: &mut Context<'_, Self>);

    /// Prefetches memory that the state of an LP points to, because an event for the LP is due soon.
    ///
    /// Each step is called some events after the one before. A step prefetches ([`crate::prefetch`]) the
    /// memory that is one pointer further, and should read only memory that the step before has prefetched.
    /// Fetching changes nothing except the speed. An engine need not do it, and `time-warp` does not.
    #[inline]
    fn fetch(&self, state: &Self::State, step: usize) {
        let _ = (state, step);
    }

    /// True if [`Model::fetch`] is worth its steps: there is more state than the caches hold.
    #[inline]
    fn fetches(&self) -> bool {
        true
    }

    /// Folds the final state of an LP into the digest. By default only events count.
    fn fold(&self, state: &Self::State, digest: &mut Digest) {
        let _ = (state, digest);
    }

    /// Records metrics from the final state of an LP. Called in id order.
    fn finish(&self, id: LpId, state: &Self::State, end: &End, metrics: &mut Metrics) {
        let _ = (id, state, end, metrics);
    }

    /// Returns true if [`Model::unfinished`] may be called once in each process of a run. The call has the
    /// messages to the LPs of that process, which then need not travel to the first process at the end.
    ///
    /// Such a model must not depend on the order of the messages, nor on their distribution over processes.
    /// It records only in counters, tallies and histograms, and with [`Metrics::add_to_sums`].
    fn splits_unfinished(&self) -> bool {
        false
    }

    /// Looks at the messages that were still in transit when the run ended. All messages come in one call,
    /// unless [`Model::splits_unfinished`] allows several.
    fn unfinished(&self, messages: Unfinished<'_, Self::Message>, metrics: &mut Metrics) {
        let _ = (messages, metrics);
    }

    /// Sets the metrics that are known only at the end, and checks conditions on all metrics, such as
    /// conservation of packets.
    ///
    /// # Errors
    ///
    /// One sentence about a condition that does not hold. It becomes the error of the run.
    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        let _ = (end, metrics);
        Ok(())
    }

    /// Returns the places where packets can be captured ([`crate::capture`]), in the order of LPs and ports.
    /// By default there are none.
    fn capture_points(&self) -> Vec<CapturePoint> {
        Vec::new()
    }

    /// Returns the name of an LP. Traces and messages call the LP so. By default an LP has no name, and is
    /// called `LP 13`.
    ///
    /// Names change no result. A name should belong to one LP only, so that users can ask for that LP.
    fn lp_name(&self, lp: LpId) -> Option<String> {
        let _ = lp;
        None
    }

    /// Returns the name of the kind of an LP, such as "host" or "router". A profile ([`crate::profile`]) has
    /// rows for each kind. By default all LPs are of one kind, which has the name of the model's type.
    fn lp_kind(&self, lp: LpId) -> String {
        let _ = lp;
        short_name(std::any::type_name::<Self>()).to_owned()
    }

    /// Returns the name of a flow, for the rows of observations ([`Context::observe_of`]). By default a flow
    /// has no name, and is called by its number.
    fn flow_name(&self, flow: u32) -> Option<String> {
        let _ = flow;
        None
    }

    /// Writes the body of an event for a trace: the message or the timer, in the words of the model. By
    /// default a message is written in its `Debug` form, and a timer by its number.
    ///
    /// It is called only if there is a trace, and changes no result.
    ///
    /// # Errors
    ///
    /// The errors of `to`.
    fn describe(&self, event: &Event<&Self::Message>, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe_body(event.body, to)
    }
}

/// Writes a body as [`Model::describe`] does by default.
pub(crate) fn describe_body<P: Payload>(body: Body<&P>, to: &mut fmt::Formatter<'_>) -> fmt::Result {
    match body {
        Body::Message(message) => message.fmt(to),
        Body::Timer(timer) => write!(to, "timer {}", timer.0),
    }
}
