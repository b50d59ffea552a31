//! A network that all messages share: an LP of its own, beside the nodes.
//!
//! A message goes to it as an event, and when the network says that it has arrived, on to its receiver as another, both without delay: how long
//! it takes is the network's to say. So there is no lookahead between nodes, and engines that need some go on with one worker.

use super::delivery::Delivery;
use super::{Carries, Opened};
use crate::table::Table;
use parades_core::channel::Channels;
use parades_core::digest::{Digest, Payload};
use parades_core::event::{LpId, Sender, TimerId};
use parades_core::model::{Context, Model};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use std::fmt;

/// A network in which messages share what there is, so that how long each takes depends on the others. A program has it as [`Shared`].
///
/// It is told what is sent, asked when something will happen next, and advanced to that time. Its state is that of one LP, so it needs no locks; what it
/// says must depend on what it was told alone.
///
/// # Examples
///
/// A wire that carries one message at a time:
///
/// ```
/// use parades_core::prelude::*;
/// use parades_program::{Flight, News, Processes, Program, Shared, SharedNetwork, Start};
/// use std::collections::VecDeque;
///
/// struct Wire(Delay);
///
/// impl<M> SharedNetwork<M> for Wire {
///     type State = VecDeque<(Time, u32)>;
///     fn begin(&self) -> Self::State { VecDeque::new() }
///     fn send(&self, queue: &mut Self::State, now: Time, flight: Flight, _: &M) -> Result<(), String> {
///         let free = queue.back().map_or(now, |last| last.0.max(now));
///         let arrives = free.checked_add(self.0).ok_or("the wire is busy for ever")?;
///         queue.push_back((arrives, flight.number));
///         Ok(())
///     }
///     fn next(&self, queue: &mut Self::State) -> Option<Time> { queue.front().map(|first| first.0) }
///     fn advance(&self, queue: &mut Self::State, now: Time, news: &mut Vec<News>) {
///         while let Some((_, number)) = queue.pop_front_if(|first| first.0 <= now) {
///             news.push(News::Arrived(number));
///         }
///     }
/// }
///
/// /// All nodes but the first send it a message at once.
/// struct Crowd(Shared<Wire>);
///
/// impl Program for Crowd {
///     type Message = ();
///     type State = Option<Time>; // when the last message came
///     type Network = Shared<Wire>;
///     fn nodes(&self) -> u32 { 4 }
///     fn network(&self) -> &Shared<Wire> { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
///         start.spawn("main", |node| async move {
///             if node.id() != LpId(0) {
///                 return assert_eq!(node.send(LpId(0), ()).await, Ok(()));
///             }
///             for _ in 1..4 { node.receive().await; }
///             node.with(|here| *here.state = Some(here.now()));
///         });
///         None
///     }
///     fn finish(&self, id: LpId, last: &Option<Time>, _: &End, _: &mut Metrics) {
///         assert!(id != LpId(0) || *last == Some(Time::from_ps(3_000_000_000)));
///     }
/// }
///
/// let model = Processes::new(Crowd(Shared(Wire(Delay::from_ms(1)))));
/// parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(1_000_000_000_000)))?;
/// # Ok::<(), parades_core::error::Error>(())
/// ```
pub trait SharedNetwork<M>: Send + Sync + 'static {
    /// What it remembers.
    type State: Send + 'static;

    /// The network at time zero.
    fn begin(&self) -> Self::State;

    /// A message is sent now. What becomes of it is told under its number, which may then be given to another.
    ///
    /// # Errors
    ///
    /// Where the message can never arrive by the network's making: one sentence, which becomes the error of the run.
    fn send(&self, state: &mut Self::State, now: Time, flight: Flight, message: &M) -> Result<(), String>;

    /// When something will happen next, if nothing is sent before; never earlier than the time last told.
    fn next(&self, state: &mut Self::State) -> Option<Time>;

    /// Lets everything happen up to and including `now`, and adds what nodes are to know of it.
    fn advance(&self, state: &mut Self::State, now: Time, news: &mut Vec<News>);
}

/// A message that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The name under which the network tells of it.
    pub number: u32,
    /// Who sends.
    pub from: LpId,
    /// To whom.
    pub to: LpId,
}

/// What happens in a shared network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The message of this number has arrived.
    Arrived(u32),
    /// The message of this number will never arrive.
    Failed(u32),
    /// The host of a node fails, or works again.
    Host(LpId, bool),
}

/// A message did not arrive: what should have carried it failed, or the host of its sender or receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undelivered;

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message did not arrive: a link or host on its way failed")
    }
}
impl std::error::Error for Undelivered {}

/// A [`SharedNetwork`] as a program has it: one more LP, behind the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared<N>(pub N);

/// A message of a program with a shared network, as events see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parcel<M> {
    /// From a node to the network.
    Send {
        /// To whom.
        to: LpId,
        /// By what name the sender waits for its arrival; 0 if it does not.
        ticket: u32,
        /// What it says.
        message: M,
    },
    /// From the network to the receiver.
    Arrived {
        /// Who sent it.
        from: LpId,
        /// What it says.
        message: M,
    },
    /// From the network to the sender, if it waits.
    Told {
        /// By what name it waits.
        ticket: u32,
        /// What became of the message.
        outcome: Result<(), Undelivered>,
    },
    /// From the network to a node: its host fails, or works again.
    Host {
        /// Whether it works.
        works: bool,
    },
}

impl<M: Payload> Payload for Parcel<M> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        let head = |kind: u64, id: u32| kind << 32 | u64::from(id);
        match self {
            Parcel::Send { to, ticket, message } => {
                digest.word(head(1, to.0));
                digest.word(u64::from(*ticket));
                message.fold(digest);
            }
            Parcel::Arrived { from, message } => {
                digest.word(head(2, from.0));
                message.fold(digest);
            }
            Parcel::Told { ticket, outcome } => digest.word(head(if outcome.is_ok() { 3 } else { 4 }, *ticket)),
            Parcel::Host { works } => digest.word(head(5, u32::from(*works))),
        }
    }
}

/// The state of the network's LP.
#[derive(Debug)]
pub struct Hub<M, S> {
    network: S,
    /// Messages on their way, by number.
    flights: Vec<Option<Carried<M>>>,
    free: Vec<u32>,
    /// What the kernel's timer is set to.
    armed: Time,
    failed: u64,
    news: Vec<News>,
}

/// A message on its way.
#[derive(Debug)]
struct Carried<M> {
    from: LpId,
    to: LpId,
    ticket: u32,
    message: M,
}

/// What a network held at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Messages that would have arrived if the run had gone on.
    pub(crate) on_their_way: u64,
    /// Messages that never would have.
    pub(crate) stuck: u64,
    /// Messages that did not arrive.
    pub(crate) failed: u64,
    /// Whether something would have happened in it, of which nodes may be told.
    pub(crate) moves: bool,
}

impl<M, S> Hub<M, S> {
    fn put(&mut self, carried: Carried<M>) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.flights[number as usize] = Some(carried);
                number
            }
            None => {
                self.flights.push(Some(carried));
                u32::try_from(self.flights.len() - 1).expect("fewer than 2^32 messages on their way")
            }
        }
    }

    fn take(&mut self, number: u32) -> Carried<M> {
        self.free.push(number);
        self.flights[number as usize].take().expect("the network tells once of each message")
    }
}

const TIMER: TimerId = TimerId(0);

impl<M: Payload + Clone, N: SharedNetwork<M>> Carries<M> for Shared<N> {
    type Parcel = Parcel<M>;
    type Way = ShareWay;
    type Hub = Box<Hub<M, N::State>>;
    type Sending = Delivery;
    const HUBS: u32 = 1;

    fn channels(&self, _: u32) -> Channels {
        Channels::undeclared()
    }
    #[inline]
    fn way(&self, _: LpId, _: LpId, _: &M, _: &mut Rng) -> ShareWay {
        ShareWay::Through(0)
    }
    fn after(delay: Delay) -> ShareWay {
        ShareWay::Past(delay)
    }
    #[inline]
    fn arrival(now: Time, way: ShareWay) -> Option<Time> {
        match way {
            ShareWay::Through(_) => None,
            ShareWay::Past(delay) => now.checked_add(delay),
        }
    }
    fn sending(_: Time, way: &mut ShareWay, table: &mut Table) -> Delivery {
        let ticket = table.ticket();
        *way = ShareWay::Through(ticket);
        Delivery::of(ticket, table)
    }
    #[inline]
    fn post<L: Model<Message = Parcel<M>>>(
        ctx: &mut Context<'_, L>,
        (to, way, message): (LpId, ShareWay, M),
        table: &Table,
    ) {
        let hub = LpId(ctx.lps() - 1);
        match way {
            _ if to >= hub => {
                ctx.fail(format!("it sent to node {}, but there are only {} nodes", to.0, hub.0));
            }
            ShareWay::Through(ticket) => {
                // Nobody waits any more if the future was dropped.
                let ticket = if ticket != 0 && table.awaits_delivery(ticket) { ticket } else { 0 };
                ctx.send_to(hub, Delay::ZERO, Parcel::Send { to, ticket, message });
            }
            ShareWay::Past(delay) => {
                let from = ctx.id();
                ctx.send_to(to, delay, Parcel::Arrived { from, message });
            }
        }
    }
    #[inline]
    fn open(parcel: &Parcel<M>, _: Option<Sender>) -> Opened<'_, M> {
        match parcel {
            Parcel::Arrived { from, message } => Opened::Message(Some(*from), message),
            Parcel::Told { ticket, outcome } => Opened::Told(*ticket, *outcome),
            Parcel::Host { works } => Opened::Host(*works),
            Parcel::Send { .. } => unreachable!("only the network is sent what is to be carried"),
        }
    }

    fn open_hub<L: Model<Message = Parcel<M>>>(&self, ctx: &mut Context<'_, L>) -> Self::Hub {
        let network = self.0.begin();
        let (flights, free, news) = (Vec::new(), Vec::new(), Vec::new());
        let mut hub = Hub { network, flights, free, armed: Time::MAX, failed: 0, news };
        self.arm(&mut hub, ctx);
        Box::new(hub)
    }

    #[inline]
    fn serve<L: Model<Message = Parcel<M>>>(
        &self,
        hub: &mut Self::Hub,
        parcel: Option<&Parcel<M>>,
        ctx: &mut Context<'_, L>,
    ) {
        let hub = &mut **hub;
        match parcel {
            Some(Parcel::Send { to, ticket, message }) => {
                let from = ctx.sender().and_then(Sender::as_lp).expect("nodes send");
                let (to, ticket) = (*to, *ticket);
                let number = hub.put(Carried { from, to, ticket, message: message.clone() });
                let sent = self.0.send(&mut hub.network, ctx.now(), Flight { number, from, to }, message);
                if let Err(why) = sent {
                    return ctx.fail(why);
                }
            }
            Some(_) => unreachable!("the network is sent what is to be carried, and nothing else"),
            None => hub.armed = Time::MAX,
        }
        // What is due now happens before it is asked what will.
        if parcel.is_none() {
            self.0.advance(&mut hub.network, ctx.now(), &mut hub.news);
            hub.tell(ctx);
        }
        self.arm(hub, ctx);
    }

    fn held(&self, hub: &Self::Hub) -> Held {
        let carried = (hub.flights.len() - hub.free.len()) as u64;
        let moves = hub.armed < Time::MAX;
        let (on_their_way, stuck) = if moves { (carried, 0) } else { (0, carried) };
        Held { on_their_way, stuck, failed: hub.failed, moves }
    }
}

impl<N> Shared<N> {
    /// Sets the kernel's timer to when something happens next.
    #[inline]
    fn arm<M, L: Model>(&self, hub: &mut Hub<M, N::State>, ctx: &mut Context<'_, L>)
    where
        N: SharedNetwork<M>,
    {
        let next = self.0.next(&mut hub.network).unwrap_or(Time::MAX);
        if next == hub.armed {
            return;
        }
        hub.armed = next;
        match next {
            Time::MAX => ctx.cancel_timer(TIMER),
            next => ctx.set_timer(TIMER, next.since(ctx.now())),
        }
    }
}

impl<M, S> Hub<M, S> {
    /// Tells nodes what has happened.
    #[inline]
    fn tell<L: Model<Message = Parcel<M>>>(&mut self, ctx: &mut Context<'_, L>) {
        let mut news = std::mem::take(&mut self.news);
        for news in news.drain(..) {
            let (number, outcome) = match news {
                News::Arrived(number) => (number, Ok(())),
                News::Failed(number) => (number, Err(Undelivered)),
                News::Host(node, works) => {
                    ctx.send_to(node, Delay::ZERO, Parcel::Host { works });
                    continue;
                }
            };
            let Carried { from, to, ticket, message } = self.take(number);
            match outcome {
                Ok(()) => ctx.send_to(to, Delay::ZERO, Parcel::Arrived { from, message }),
                Err(_) => self.failed += 1,
            }
            if ticket != 0 {
                ctx.send_to(from, Delay::ZERO, Parcel::Told { ticket, outcome });
            }
        }
        self.news = news;
    }
}

/// How a message goes out.
#[derive(Clone, Copy, Debug)]
pub enum ShareWay {
    /// Through the network, with the name by which its sender waits for its arrival; 0 if it does not.
    Through(u32),
    /// Past the network, in so long.
    Past(Delay),
}
