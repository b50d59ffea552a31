//! Semaphores and mutexes.

use super::{Object, Place};
use crate::desk::{Worker, now_or_later, with_parts};
use crate::table::Table;
use crate::wait::{Ticket, Wait, Waiter};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A number of permits. A process waits if there are too few.
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_program::{Program, Processes, Start};
/// use std::sync::Arc;
///
/// /// Three customers at two tills.
/// struct Shop(Constant);
///
/// impl Program for Shop {
///     type Message = ();
///     type State = Vec<Time>;
///     type Carrier = Constant;
///     fn nodes(&self) -> u32 { 1 }
///     fn carrier(&self) -> &Constant { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Vec<Time> {
///         start.spawn("shop", |node| async move {
///             let tills = Arc::new(node.semaphore(2));
///             for _ in 0..3 {
///                 let tills = Arc::clone(&tills);
///                 node.spawn("customer", |node| async move {
///                     let till = tills.acquire(1).await;
///                     node.sleep(Delay::from_secs(60)).await;
///                     drop(till);
///                     let now = node.now();
///                     node.with_state(|left| left.push(now));
///                 });
///             }
///         });
///         Vec::new()
///     }
///     fn finish(&self, _: LpId, left: &Vec<Time>, _: &End, _: &mut Metrics) {
///         let seconds: Vec<u64> = left.iter().map(|time| time.as_ps() / 1_000_000_000_000).collect();
///         assert_eq!(seconds, [60, 60, 120]);
///     }
/// }
///
/// let model = Processes::new(Shop(Constant::new(Delay::ZERO)));
/// parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(600_000_000_000_000)))?;
/// # Ok::<(), parades_core::error::Error>(())
/// ```
#[derive(Debug)]
pub struct Semaphore(Place);

/// A mutex: a semaphore of one permit.
#[derive(Debug)]
pub struct Mutex(Place);

/// A wait for permits.
#[derive(Debug)]
#[must_use = "permits are acquired only where that is awaited"]
pub struct Acquire<'a> {
    pub(super) place: &'a Place,
    pub(super) count: u32,
    pub(super) ticket: Ticket,
    pub(super) mutex: bool,
}

/// Permits, which are released when this value is dropped.
#[derive(Debug)]
#[must_use = "a permit that is dropped is released at once"]
pub struct Permit<'a> {
    pub(super) place: &'a Place,
    pub(super) count: u32,
    pub(super) mutex: bool,
}

impl Semaphore {
    pub(crate) fn new(permits: u32) -> Semaphore {
        Semaphore(Place::of(Object::Semaphore { permits, waiters: VecDeque::new() }))
    }

    /// Waits for `count` permits.
    pub fn acquire(&self, count: u32) -> Acquire<'_> {
        Acquire { place: &self.0, count, ticket: 0, mutex: false }
    }

    /// Adds permits.
    #[track_caller]
    pub fn release(&self, count: u32) {
        with_parts(|worker, table| release(worker, table, self.0.0, count));
    }

    /// Returns the number of free permits.
    #[track_caller]
    pub fn permits(&self) -> u32 {
        with_parts(|_, table| *Place::semaphore(table, self.0.0).0)
    }
}

impl Mutex {
    pub(crate) fn new() -> Mutex {
        Mutex(Place::of(Object::Semaphore { permits: 1, waiters: VecDeque::new() }))
    }

    /// Waits until the mutex is free, and locks it.
    pub fn lock(&self) -> Acquire<'_> {
        Acquire { place: &self.0, count: 1, ticket: 0, mutex: true }
    }
}

/// Adds permits, and gives them to the waiters in their order.
fn release(worker: &mut Worker, table: &mut Table, place: u32, count: u32) {
    let (permits, _) = Place::semaphore(table, place);
    *permits = permits.saturating_add(count);
    loop {
        let (permits, waiters) = Place::semaphore(table, place);
        match waiters.front() {
            Some((_, needed)) if *needed <= *permits => *permits -= *needed,
            _ => return,
        }
        if let Some((waiter, _)) = waiters.pop_front() {
            worker.wake(table, waiter);
        }
    }
}

impl<'a> Future for Acquire<'a> {
    type Output = Permit<'a>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit<'a>> {
        let Acquire { place, count, ticket, mutex } = *self;
        let waiting = with_parts(|worker, table| {
            let (permits, waiters) = Place::semaphore(table, place.0);
            let ticket = match ticket {
                0 if waiters.is_empty() && count <= *permits => {
                    *permits -= count;
                    return 0;
                }
                0 => {
                    let ticket = table.ticket();
                    let waker = Waiter::waker(context, worker.own_waker);
                    let waiter = Waiter { place: worker.current, ticket, waker };
                    Place::semaphore(table, place.0).1.push_back((waiter, count));
                    ticket
                }
                _ => match waiters.iter_mut().find(|(waiter, _)| waiter.ticket == ticket) {
                    Some((waiter, _)) => {
                        waiter.follow(context, worker);
                        ticket
                    }
                    // A waiter that has left the queue has got its permits.
                    None => return 0,
                },
            };
            worker.waits(table, if mutex { Wait::Mutex(place.0) } else { Wait::Semaphore(place.0) });
            ticket
        });
        self.ticket = waiting;
        if waiting == 0 { Poll::Ready(Permit { place, count, mutex }) } else { Poll::Pending }
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Acquire { place: &Place(place), count, ticket, .. } = *self;
        if ticket == 0 {
            return;
        }
        now_or_later(move |worker, table| {
            let (_, waiters) = Place::semaphore(table, place);
            match waiters.iter().position(|(waiter, _)| waiter.ticket == ticket) {
                Some(index) => {
                    waiters.remove(index);
                    // The waiters after it may need fewer permits.
                    release(worker, table, place, 0);
                }
                None => release(worker, table, place, count),
            }
        });
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let Permit { place: &Place(place), count, .. } = *self;
        now_or_later(move |worker, table| release(worker, table, place, count));
    }
}
