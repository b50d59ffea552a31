//! Mutexes, semaphores, barriers and conditions for the processes of a node.
//!
//! All are fair: who began to wait first goes on first. They order processes in virtual time and guard no memory: processes share state by
//! [`crate::Node::with_state`], which no other process can interrupt, and need a mutex only to keep something to themselves across a wait.

use crate::desk::{Worker, now_or_later, with_parts};
use crate::table::Table;
use crate::wait::{Ticket, Wait, Waiter};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What processes of a node meet at.
#[derive(Debug)]
pub(crate) enum Object {
    /// Permits to be had, and who waits for how many.
    Semaphore { permits: u32, waiters: VecDeque<(Waiter, u32)> },
    /// How many must come, and who has.
    Barrier { parties: u32, waiters: Vec<Waiter> },
    /// Who waits to be notified; and who has been, alone, but has not gone on.
    Condition { waiters: VecDeque<Waiter>, told: VecDeque<Ticket> },
}

/// The place of an object among its node's, which it gives back when dropped.
#[derive(Debug)]
struct Place(u32);

impl Place {
    fn of(object: Object) -> Place {
        with_parts(|_, table| {
            let objects = &mut table.rare().objects;
            let free = objects.iter().position(Option::is_none).unwrap_or_else(|| {
                objects.push(None);
                objects.len() - 1
            });
            objects[free] = Some(object);
            Place(u32::try_from(free).expect("fewer objects than 2^32 at a node"))
        })
    }

    fn semaphore(table: &mut Table, place: u32) -> (&mut u32, &mut VecDeque<(Waiter, u32)>) {
        match &mut table.rare().objects[place as usize] {
            Some(Object::Semaphore { permits, waiters }) => (permits, waiters),
            _ => unreachable!("{OTHERS}"),
        }
    }

    fn barrier(table: &mut Table, place: u32) -> (u32, &mut Vec<Waiter>) {
        match &mut table.rare().objects[place as usize] {
            Some(Object::Barrier { parties, waiters }) => (*parties, waiters),
            _ => unreachable!("{OTHERS}"),
        }
    }

    fn condition(table: &mut Table, place: u32) -> (&mut VecDeque<Waiter>, &mut VecDeque<Ticket>) {
        match &mut table.rare().objects[place as usize] {
            Some(Object::Condition { waiters, told }) => (waiters, told),
            _ => unreachable!("{OTHERS}"),
        }
    }
}

const OTHERS: &str = "a place holds what it was made for";

impl Drop for Place {
    fn drop(&mut self) {
        let place = self.0 as usize;
        // A condition may be notified, and a place found, at the end of the run too: nothing is left to be freed then.
        now_or_later(move |_, table| table.rare_mut()?.objects.get_mut(place)?.take());
    }
}

/// A number of permits; who finds too few waits.
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
    place: &'a Place,
    count: u32,
    ticket: Ticket,
    mutex: bool,
}

/// Permits, which go back when this is dropped.
#[derive(Debug)]
#[must_use = "what is dropped goes back at once"]
pub struct Permit<'a> {
    place: &'a Place,
    count: u32,
    mutex: bool,
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
    pub fn release(&self, count: u32) {
        with_parts(|worker, table| release(worker, table, self.0.0, count));
    }

    /// Permits to be had now.
    pub fn permits(&self) -> u32 {
        with_parts(|_, table| *Place::semaphore(table, self.0.0).0)
    }
}

impl Mutex {
    pub(crate) fn new() -> Mutex {
        Mutex(Place::of(Object::Semaphore { permits: 1, waiters: VecDeque::new() }))
    }

    /// Waits until it is free, and takes it.
    pub fn lock(&self) -> Acquire<'_> {
        Acquire { place: &self.0, count: 1, ticket: 0, mutex: true }
    }
}

/// Gives permits back, and to those who wait for them, in their order.
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
                    // Who is not in the queue any more has been given what it waits for.
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
                    // Those behind may need less.
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

/// Where a number of processes wait for each other.
#[derive(Debug)]
pub struct Barrier(Place);

/// A wait at a barrier.
#[derive(Debug)]
#[must_use = "a barrier is passed only where that is awaited"]
pub struct Pass<'a> {
    place: &'a Place,
    ticket: Ticket,
}

impl Barrier {
    pub(crate) fn new(parties: u32) -> Barrier {
        Barrier(Place::of(Object::Barrier { parties, waiters: Vec::new() }))
    }

    /// Waits until as many wait as the barrier is for; true for the one who came last. The barrier can be used again at once.
    pub fn wait(&self) -> Pass<'_> {
        Pass { place: &self.0, ticket: 0 }
    }
}

impl Future for Pass<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        let Pass { place, ticket: mine } = *self;
        let (ticket, poll) = with_parts(|worker, table| {
            let (parties, waiters) = Place::barrier(table, place.0);
            if mine != 0 {
                let Some(waiter) = waiters.iter_mut().find(|waiter| waiter.ticket == mine) else {
                    return (0, Poll::Ready(false));
                };
                waiter.follow(context, worker);
                worker.waits(table, Wait::Barrier(place.0));
                return (mine, Poll::Pending);
            }
            if waiters.len() + 1 >= parties as usize {
                for waiter in std::mem::take(waiters) {
                    worker.wake(table, waiter);
                }
                return (0, Poll::Ready(true));
            }
            let ticket = table.ticket();
            let waker = Waiter::waker(context, worker.own_waker);
            Place::barrier(table, place.0).1.push(Waiter { place: worker.current, ticket, waker });
            worker.waits(table, Wait::Barrier(place.0));
            (ticket, Poll::Pending)
        });
        self.ticket = ticket;
        poll
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let Pass { place: &Place(place), ticket } = *self;
        if ticket != 0 {
            now_or_later(move |_, table| Place::barrier(table, place).1.retain(|waiter| waiter.ticket != ticket));
        }
    }
}

/// Where processes wait until another notifies them.
#[derive(Debug)]
pub struct Condition(Place);

/// A wait for a notification.
#[derive(Debug)]
#[must_use = "a notification is waited for only where that is awaited"]
pub struct Notified<'a> {
    place: &'a Place,
    ticket: Ticket,
}

impl Condition {
    pub(crate) fn new() -> Condition {
        Condition(Place::of(Object::Condition { waiters: VecDeque::new(), told: VecDeque::new() }))
    }

    /// Gives a mutex free, waits until notified, and takes the mutex again. Only a process that waits already is notified.
    pub async fn wait<'a>(&self, held: Permit<'a>) -> Permit<'a> {
        let Permit { place, count, mutex } = held;
        // It waits before the mutex is free, so that no notification is missed between.
        let mut notified = Notified { place: &self.0, ticket: 0 };
        let mut held = Some(held);
        std::future::poll_fn(|context| {
            let poll = notified.poll_on(context);
            held = None;
            poll
        })
        .await;
        // Until it has the mutex the notification is not used: given up before, it goes to another.
        let held = Acquire { place, count, ticket: 0, mutex }.await;
        notified.finish();
        held
    }

    /// Waits until notified, without a mutex.
    pub fn notified(&self) -> Notified<'_> {
        Notified { place: &self.0, ticket: 0 }
    }

    /// Lets the one go on who has waited longest.
    pub fn notify_one(&self) {
        with_parts(|worker, table| notify_one(worker, table, self.0.0));
    }

    /// Lets all go on who wait.
    pub fn notify_all(&self) {
        with_parts(|worker, table| {
            for waiter in std::mem::take(Place::condition(table, self.0.0).0) {
                worker.wake(table, waiter);
            }
        });
    }
}

fn notify_one(worker: &mut Worker, table: &mut Table, place: u32) {
    let (waiters, told) = Place::condition(table, place);
    let Some(waiter) = waiters.pop_front() else { return };
    told.push_back(waiter.ticket);
    worker.wake(table, waiter);
}

/// Whether this one has been notified alone, which is used so.
fn use_up(table: &mut Table, place: u32, ticket: Ticket) -> bool {
    let (_, told) = Place::condition(table, place);
    // As a rule they go on in their order.
    told.iter().position(|&told| told == ticket).and_then(|index| told.remove(index)).is_some()
}

impl Notified<'_> {
    /// Whether it has been notified; else waits on.
    fn poll_on(&mut self, context: &Context<'_>) -> Poll<()> {
        let Notified { place: &Place(place), ticket } = *self;
        with_parts(|worker, table| {
            if ticket == 0 {
                self.ticket = table.ticket();
                let waker = Waiter::waker(context, worker.own_waker);
                let waiter = Waiter { place: worker.current, ticket: self.ticket, waker };
                Place::condition(table, place).0.push_back(waiter);
            } else {
                let mut waiters = Place::condition(table, place).0.iter_mut();
                let Some(waiter) = waiters.find(|waiter| waiter.ticket == ticket) else { return Poll::Ready(()) };
                waiter.follow(context, worker);
            }
            worker.waits(table, Wait::Condition(place));
            Poll::Pending
        })
    }

    /// Uses the notification.
    fn finish(&mut self) {
        let (place, ticket) = (self.place.0, std::mem::take(&mut self.ticket));
        with_parts(|_, table| use_up(table, place, ticket));
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let poll = self.poll_on(context);
        if poll.is_ready() {
            self.finish();
        }
        poll
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Notified { place: &Place(place), ticket } = *self;
        if ticket == 0 {
            return;
        }
        now_or_later(move |worker, table| {
            let (waiters, _) = Place::condition(table, place);
            if let Some(index) = waiters.iter().position(|waiter| waiter.ticket == ticket) {
                waiters.remove(index);
            } else if use_up(table, place, ticket) {
                // It was notified and will not go on: another does.
                notify_one(worker, table, place);
            }
        });
    }
}
