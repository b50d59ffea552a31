//! Serving messages until one of them ends the wait.

use crate::desk::with_desk;
use crate::here::Here;
use crate::program::{Program, Received};
use crate::receive::{end, give_up};
use crate::sleep::{Sleep, TIMEOUT};
use crate::wait::{Ticket, Wait};
use parades_core::time::{Delay, Time};
use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Calls a closure with each message until the closure breaks with a value ([`crate::Node::serve`]), or until
/// the bound on its time, if it has one.
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_program::{Program, Processes, Start};
/// use std::ops::ControlFlow;
///
/// /// Node 0 adds numbers until their sum is 10; node 1 sends them.
/// struct Adder(Constant);
///
/// impl Program for Adder {
///     type Message = u64;
///     type State = Option<u64>;
///     type Carrier = Constant;
///     fn nodes(&self) -> u32 { 2 }
///     fn carrier(&self) -> &Constant { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<u64> {
///         start.spawn("main", |node| async move {
///             if node.id() == LpId(1) {
///                 for number in 1..=9 {
///                     node.send(LpId(0), number).await.expect("nothing fails");
///                 }
///                 return;
///             }
///             let mut sum = 0;
///             let found = node.serve(move |_, received| {
///                 sum += received.message;
///                 if sum < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(sum) }
///             });
///             let found = found.within(Delay::from_secs(1)).await;
///             node.with_state(|result| *result = found);
///         });
///         None
///     }
///     fn finish(&self, id: LpId, found: &Option<u64>, _: &End, _: &mut Metrics) {
///         assert_eq!(*found, (id == LpId(0)).then_some(10));
///     }
/// }
///
/// let model = Processes::new(Adder(Constant::new(Delay::from_ms(1))));
/// parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(2_000_000_000_000)))?;
/// # Ok::<(), parades_core::error::Error>(())
/// ```
#[must_use = "messages are served only where that is awaited"]
pub struct Serve<P: Program, F> {
    serve: F,
    ticket: Ticket,
    patience: Patience<P>,
}

/// The bound on the time of the wait.
enum Patience<P: Program> {
    Endless,
    /// This time from the start of the wait.
    Whole(Delay),
    /// The time that the function reads from the node.
    Until(Deadline<P>),
    /// The wait has begun. With a function, the timer is set to its time again after messages.
    Timed(Sleep, Option<Deadline<P>>),
}

/// Reads from a node until when it waits.
type Deadline<P> = fn(&Here<'_, P>) -> Time;

impl<P: Program, F> fmt::Debug for Serve<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").field("waits", &(self.ticket != 0)).finish_non_exhaustive()
    }
}

impl<P: Program, F> Serve<P, F> {
    #[inline]
    pub(crate) fn new(serve: F) -> Serve<P, F> {
        Serve { serve, ticket: 0, patience: Patience::Endless }
    }

    /// Gives up after `patience`, counted from the first poll, and returns `None`.
    #[inline]
    pub fn within(mut self, patience: Delay) -> Serve<P, F> {
        self.patience = Patience::Whole(patience);
        self
    }

    /// Gives up at the time that `deadline` reads from the node, and returns `None`. The time is read at the
    /// first poll, and again after messages, which may have changed it. [`Time::MAX`] stands for no bound.
    #[inline]
    pub fn until(mut self, deadline: fn(&Here<'_, P>) -> Time) -> Serve<P, F> {
        self.patience = Patience::Until(deadline);
        self
    }
}

impl<P, T, F> Future for Serve<P, F>
where
    P: Program,
    F: FnMut(&mut Here<'_, P>, Received<P::Message>) -> ControlFlow<T> + Unpin,
{
    type Output = Option<T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let Serve { serve, ticket, patience, .. } = self.get_mut();
        with_desk::<P, _>(|desk| {
            let (mut here, table) = Here::on(desk);
            let mut served = false;
            while let Some(received) = here.try_receive() {
                served = true;
                if let ControlFlow::Break(value) = serve(&mut here, received) {
                    // The destructor would do this as well, but would have to look up the node.
                    if let Patience::Timed(timer, _) = patience {
                        timer.stop(table);
                    }
                    let is_left = !here.is_inbox_empty();
                    end(std::mem::take(ticket), here.worker(), table, is_left);
                    return Poll::Ready(Some(value));
                }
            }
            let now = here.now();
            match patience {
                Patience::Endless => {}
                Patience::Whole(delay) => {
                    *patience = Patience::Timed(Sleep::until(now.checked_add(*delay), TIMEOUT), None);
                }
                Patience::Until(deadline) => {
                    let deadline = *deadline;
                    *patience = Patience::Timed(Sleep::until(Some(deadline(&here)), TIMEOUT), Some(deadline));
                }
                Patience::Timed(timer, Some(deadline)) if served => {
                    let due = deadline(&here);
                    if due != timer.due() {
                        timer.restart(Some(due), table);
                    }
                }
                Patience::Timed(..) => {}
            }
            let worker = here.worker();
            if let Patience::Timed(timer, deadline) = patience
                && (deadline.is_none() || timer.due() < Time::MAX)
                && timer.poll_on(worker, table, context).is_ready()
            {
                return Poll::Ready(None);
            }
            worker.waits(table, Wait::Message);
            table.wait_for_message(ticket, context, worker, false);
            Poll::Pending
        })
    }
}

impl<P: Program, F> Drop for Serve<P, F> {
    #[inline]
    fn drop(&mut self) {
        give_up(self.ticket);
    }
}
