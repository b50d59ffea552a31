//! The sessions of a program's node, one after another, in straight-line code.

use super::{Churn, Stay};
use parades_core::time::Time;
use parades_program::{Node, Program};
use std::fmt;
use std::pin::pin;

/// The sessions of a node of a program ([`Program`]), one after another.
///
/// # Examples
///
/// Each node greets the next one every second while it is there. It counts greetings, and forgets the number
/// when it crashes:
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_p2p::churn::{Churn, Law, Sessions};
/// use parades_program::{Node, Processes, Program, Start};
///
/// struct Greetings { carrier: Constant, churn: Option<Churn> }
///
/// const METRICS: Declared<1> = Declared::new([Declaration::counter("sessions", Unit::Count)]);
/// const SESSIONS: CounterId = METRICS.counter("sessions");
///
/// impl Program for Greetings {
///     type Message = ();
///     type State = u64; // greetings
///     type Carrier = Constant;
///     fn nodes(&self) -> u32 { 10 }
///     fn carrier(&self) -> &Constant { &self.carrier }
///     fn metrics(&self) -> Metrics { METRICS.metrics() }
///     fn start(&self, start: &mut Start<'_, Self>) -> u64 {
///         start.spawn("node", life);
///         0
///     }
/// }
///
/// async fn life(node: Node<Greetings>) {
///     let mut sessions = Sessions::new(node, |program| program.churn.as_ref());
///     while let Some(session) = sessions.next().await {
///         node.count(SESSIONS, 1);
///         if session.is_fresh() {
///             node.with_state(|greetings| *greetings = 0);
///         }
///         session.run(greet(node)).await;
///     }
/// }
///
/// async fn greet(node: Node<Greetings>) {
///     loop {
///         node.send(LpId((node.id().0 + 1) % node.nodes()), ());
///         if node.receive_within(Delay::from_secs(1)).await.is_some() {
///             node.with_state(|greetings| *greetings += 1);
///         }
///     }
/// }
///
/// let law = |seconds| Law::exponential(Delay::from_secs(seconds));
/// let churn = Churn::random(law(60)?, law(30)?, Time::MAX).with_crash(1.0);
/// let program = Greetings { carrier: Constant::new(Delay::from_ms(10)), churn: Some(churn) };
/// let model = Processes::new(program);
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_secs(900))).unwrap();
/// let sessions = outcome.metrics.get("sessions").and_then(|metric| metric.counter()).unwrap();
/// assert!((70..130).contains(&sessions), "{sessions}, when 10 nodes have one in 90 s each, and begin with one");
/// # Ok::<(), String>(())
/// ```
pub struct Sessions<P> {
    node: Node<P>,
    churn: fn(&P) -> Option<&Churn>,
    /// The last session.
    last: Option<Stay>,
}

impl<P> fmt::Debug for Sessions<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("node", &self.node).field("last", &self.last).finish_non_exhaustive()
    }
}

impl<P: Program> Sessions<P> {
    /// Returns the sessions of a node. `churn` returns the churn of the program; with `None`, the node has
    /// one session without an end.
    pub fn new(node: Node<P>, churn: fn(&P) -> Option<&Churn>) -> Sessions<P> {
        Sessions { node, churn, last: None }
    }

    /// Ends the last session, waits until the node comes, and begins its next session. Returns `None` if the
    /// node does not come again.
    ///
    /// At the end of a session, the other processes of the node are killed, and the node is disconnected: no
    /// message reaches it until it comes back, and those in its inbox are lost.
    pub async fn next(&mut self) -> Option<Session<P>> {
        let (node, churn, last) = (self.node, self.churn, self.last.take());
        let comes = match last {
            None => node.with(|here| churn(here.program).and_then(|churn| churn.first(here.id()))),
            Some(Stay { end: Time::MAX, .. }) => return None,
            Some(stay) => {
                node.kill_others();
                node.with(|here| churn(here.program).map(|churn| churn.back(here.id(), &stay, here.now())))
            }
        };
        if let Some(time) = comes {
            // Messages that come before the first session are kept for it, as those of peers are.
            if last.is_some() || time == Time::MAX {
                node.disconnect();
            }
            if time == Time::MAX {
                return None;
            }
            node.sleep_until(time).await;
            node.connect();
        }
        let stay = node.with(|here| {
            let (id, now) = (here.id(), here.now());
            let churn = churn(here.program);
            churn.map_or(Stay::for_ever(), |churn| churn.begin(id, now, here.rng()))
        });
        self.last = Some(stay);
        let is_fresh = last.is_none_or(|last| !last.keeps_state);
        Some(Session { node, stay, is_fresh })
    }
}

/// A session of a node that has begun.
#[must_use = "a session ends when its `run` returns"]
pub struct Session<P> {
    node: Node<P>,
    stay: Stay,
    is_fresh: bool,
}

impl<P> fmt::Debug for Session<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Session { node, stay, is_fresh } = self;
        f.debug_struct("Session").field("node", node).field("stay", stay).field("is_fresh", is_fresh).finish()
    }
}

/// How a session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The node has crashed.
    Crash,
    /// The node takes leave. It can still send and receive, until [`Sessions::next`].
    Leave,
    /// The node stays: the session has no end, and its code has come to its own.
    Stay,
}

impl<P: Program> Session<P> {
    /// Returns true if the node has no state of an earlier session: this is its first session, or it has
    /// lost its state. The program's state of the node ([`Program::State`]) is still what it was: set it to
    /// what a new node has.
    pub fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Returns the time at which the session ends; [`Time::MAX`] if it has no end.
    pub fn end(&self) -> Time {
        self.stay.end
    }

    /// Runs the code of the node until the session ends. Code that still waits then is dropped where it
    /// waits. Code that is over before then leaves the node connected until the end.
    pub async fn run(self, code: impl Future) -> Ending {
        let Session { node, stay: Stay { end, crashes, .. }, .. } = self;
        if end == Time::MAX {
            code.await;
            return Ending::Stay;
        }
        let mut code = pin!(code);
        if node.within(end.since(node.now()), code.as_mut()).await.is_some() {
            node.sleep_until(end).await;
        }
        if crashes { Ending::Crash } else { Ending::Leave }
    }
}
