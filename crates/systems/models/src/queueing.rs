//! Open networks of M/M/1 stations, whose results are known in closed form.
//!
//! Customers come to stations as Poisson streams, wait in order of arrival for a server whose services are exponential, and then go on
//! to another station, or leave, at random. In the steady state each station is as if it were alone, with the throughput that the
//! traffic equations give it: busy for `rho = throughput / service rate` of the time, `rho / (1 - rho)` customers, who stay for
//! `1 / (service rate - throughput)`. The mean sojourn time follows by Little's law. So a run shows whether an engine, the random
//! streams and the statistics are right: the theory must lie within the 95 % interval in 19 runs of 20.
//!
//! Stations are the LPs `0..n`. The LP `n` is the *sink*, where customers leave, so that one LP sees all sojourn times in the order of
//! leaving. Every move takes the same *transit* time, the lookahead. `sojourn` drops the first sixteenth of its batches as warm-up (see
//! [`parades_core::metrics::Steady`]); the table of stations counts everything from the empty start.
//!
//! *References*: J. R. Jackson, "Networks of waiting lines", Operations Research 5(4), 1957. L. Kleinrock, "Queueing Systems, volume 1:
//! Theory", 1975, chapters 3 and 4.
//!
//! *Read next*: [`Network`], the parameters and the theory.

mod network;
mod report;
mod traffic;

pub use network::{Generated, Invalid, Layout, Network, Station};

use network::is_exit;
use parades_core::prelude::*;
use report::Ids;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The half-width of the interval, relative to the mean, that the default length of a run aims at.
const DEFAULT_HALF_WIDTH: f64 = 0.01;
/// Customers of a run of default length at most: M/M/1 at utilisation 0.95 gets a half-width of 3 % at most from so many.
const DEFAULT_CUSTOMERS_MAX: u64 = 24_000_000;

/// The model. A queue may be long, so the state records its changes instead of being copied.
#[derive(Clone, Debug, Restorable)]
pub struct Queueing {
    network: Network,
    transit: Delay,
    duration: Time,
    /// What the handlers of each station need.
    constants: Vec<Constants>,
    /// The ways on from all stations.
    ways: Vec<Way>,
}

/// What never changes at a station.
#[derive(Clone, Copy, Debug)]
struct Constants {
    /// The mean time in seconds between arrivals from outside; infinite where there are none.
    between: f64,
    /// The mean time in seconds of a service.
    service: f64,
    /// Where the station's ways on are among those of all.
    ways: (u32, u32),
}

/// A way on from a station.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The probability of this way or one before it.
    cumulative: f64,
    target: Target,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    /// Back to the same station, which needs no channel.
    Same,
    /// To another station.
    Other(Port),
    /// Out.
    Sink(Port),
}

/// What LPs send each other, and themselves. Times are picoseconds since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// To itself: a customer comes from outside.
    Arrival,
    /// To itself: the service under way is over.
    Completion,
    /// To a station: a customer who entered the network at this time.
    Customer {
        /// When.
        entered_ps: u64,
    },
    /// To the sink: a customer has left, after so long in the network.
    Left {
        /// How long.
        sojourn_ps: u64,
    },
}

impl Payload for Message {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        match *self {
            Message::Arrival => digest.word(0),
            Message::Completion => digest.word(1),
            // Unlike the two above for all times but the last two; and only sinks receive what comes below.
            Message::Customer { entered_ps } => digest.word(!entered_ps),
            Message::Left { sojourn_ps } => digest.word(sojourn_ps),
        }
    }
}

/// The state of an LP.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub enum State {
    /// A station.
    Station(Queue),
    /// The sink: how many customers left.
    Sink(u64),
}

/// Who is at a station, first come first, the first being served; and what has happened there so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable)]
pub struct Queue {
    present: VecDeque<Customer>,
    books: Books,
}

/// A customer at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable)]
#[undoable(whole)]
pub struct Customer {
    entered_ps: u64,
    arrived_ps: u64,
}

/// What has happened at a station up to its last event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable)]
#[undoable(whole)]
struct Books {
    /// Customers who came from outside, and who came in all.
    entered: u64,
    arrivals: u64,
    /// When the number present last changed.
    changed_ps: u64,
    busy_ps: u64,
    /// The integral of the number present over time.
    present_ps: u128,
}

impl<R: Recorder<QueueUndo>> QueueMut<'_, R> {
    /// Accounts for the time since the last change, before the number of customers changes. Returns the books, which are
    /// recorded once for all that an event changes in them.
    #[inline(always)]
    fn advance(&mut self, now_ps: u64) -> &mut Books {
        let QueueParts { present, books } = self.split();
        let books = books.into_mut();
        let span = now_ps - books.changed_ps;
        books.changed_ps = now_ps;
        books.present_ps += u128::from(span) * present.len() as u128;
        books.busy_ps += if present.is_empty() { 0 } else { span };
        books
    }
}

impl Queueing {
    /// The model of a network whose customers take `transit` for each move, run for about `customers` of them: by default as many as
    /// make the half-width of the interval 1 % of the mean ([`Network::customers_for`]), but 24 million at most.
    ///
    /// ```
    /// # use parades_core::prelude::*;
    /// # use parades_models::queueing::{Network, Queueing};
    /// let network = Network::mm1(0.5, 1000.0)?;
    /// let model = Queueing::new(network, Delay::ZERO, Some(5_000))?;
    /// assert_eq!(model.duration(), Time::from_secs_f64(10.0).unwrap());
    /// # Ok::<(), (&'static str, String)>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where so many customers take longer than virtual time lasts, or are none, or the stations are too many.
    pub fn new(network: Network, transit: Delay, customers: Option<u64>) -> Result<Queueing, Invalid> {
        if network.stations().len() >= u32::MAX as usize - 1 {
            return Err(("stations", "there are too many stations: a model has fewer than 2^32 - 1 LPs".into()));
        }
        let customers =
            customers.unwrap_or_else(|| network.customers_for(DEFAULT_HALF_WIDTH).min(DEFAULT_CUSTOMERS_MAX));
        let seconds = customers as f64 / network.arrival_rate();
        let Some(duration) = Time::from_secs_f64(seconds).filter(|&time| time > Time::ZERO) else {
            return Err((
                "customers",
                format!("{customers} customers take {seconds} s, which must be above 0 and at most {}", Time::MAX),
            ));
        };
        let mut model = Queueing { transit, duration, constants: Vec::new(), ways: Vec::new(), network };
        model.list_ways();
        Ok(model)
    }

    /// Lists the ways on from each station. The last one is taken where no other is, so the sum of probabilities need not be exact.
    fn list_ways(&mut self) {
        let place = |ways: &Vec<Way>| u32::try_from(ways.len()).expect("a network has fewer than 2^32 routes");
        for (id, (station, routes)) in (0..).zip(self.network.stations().iter().zip(self.network.routes())) {
            let begin = place(&self.ways);
            let (mut cumulative, mut ports) = (0.0, 0);
            for &(to, probability) in routes {
                cumulative += probability;
                let target = if to == id { Target::Same } else { Target::Other(Port(ports)) };
                ports += u32::from(to != id);
                self.ways.push(Way { cumulative, target });
            }
            if is_exit(routes) {
                self.ways.push(Way { cumulative: 1.0, target: Target::Sink(Port(ports)) });
            }
            let ways = (begin, place(&self.ways));
            let (between, service) = (1.0 / station.arrival_rate, 1.0 / station.service_rate);
            self.constants.push(Constants { between, service, ways });
        }
    }

    /// The virtual time that a run of the wanted number of customers takes: their number over the rate of arrivals.
    pub fn duration(&self) -> Time {
        self.duration
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The mean sojourn time in seconds by theory, the moves between stations included.
    pub fn mean_sojourn(&self) -> f64 {
        self.network.mean_sojourn() + (self.network.mean_visits() - 1.0) * self.transit.as_secs_f64()
    }

    /// The LP where customers leave.
    pub fn sink(&self) -> LpId {
        LpId::from_index(self.constants.len())
    }

    #[inline]
    fn constants(&self, id: LpId) -> &Constants {
        &self.constants[id.index()]
    }

    /// Sends the LP a message after an exponential time. What comes after the end of virtual time never happens.
    #[inline]
    fn send_later(mean: f64, message: Message, ctx: &mut Context<'_, Self>) {
        let delay = Delay::from_secs(1).scaled(ctx.rng().exponential() * mean);
        if ctx.now().checked_add(delay).is_some() {
            ctx.send_self(delay, message);
        }
    }

    /// A customer comes to a station; `entered` is 1 if it comes from outside, else 0.
    #[inline]
    fn arrive<R: Recorder<QueueUndo>>(
        &self,
        queue: &mut QueueMut<'_, R>,
        (entered, entered_ps): (u64, u64),
        ctx: &mut Context<'_, Self>,
    ) {
        let arrived_ps = ctx.now().as_ps();
        let books = queue.advance(arrived_ps);
        books.entered += entered;
        books.arrivals += 1;
        queue.present().push_back(Customer { entered_ps, arrived_ps });
        if queue.present.len() == 1 {
            Self::send_later(self.constants(ctx.id()).service, Message::Completion, ctx);
        }
    }

    /// The customer being served is done, and goes on or leaves; the next one's service begins.
    #[inline]
    fn complete<R: Recorder<QueueUndo>>(&self, queue: &mut QueueMut<'_, R>, ctx: &mut Context<'_, Self>) {
        queue.advance(ctx.now().as_ps());
        let Some(customer) = queue.present().pop_front() else {
            return ctx.fail("a service is over at a station without customers");
        };
        if !queue.present.is_empty() {
            Self::send_later(self.constants(ctx.id()).service, Message::Completion, ctx);
        }
        self.move_on(customer, ctx);
    }

    /// Draws where a customer goes on to.
    #[inline]
    fn move_on(&self, Customer { entered_ps, .. }: Customer, ctx: &mut Context<'_, Self>) {
        let (begin, end) = self.constants(ctx.id()).ways;
        let ways = &self.ways[begin as usize..end as usize];
        let way = match ways {
            [_] => 0,
            _ => {
                let draw = ctx.rng().unit();
                ways.partition_point(|way| way.cumulative <= draw).min(ways.len() - 1)
            }
        };
        let onward = Message::Customer { entered_ps };
        match ways[way].target {
            Target::Same => ctx.send_self(self.transit, onward),
            Target::Other(port) => ctx.send(port, self.transit, onward),
            Target::Sink(port) => {
                let sojourn_ps = ctx.now().as_ps() - entered_ps;
                ctx.send(port, self.transit, Message::Left { sojourn_ps });
            }
        }
    }
}

impl Model for Queueing {
    type State = State;
    type Message = Message;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.sink().0 + 1
    }

    fn channels(&self) -> Channels {
        let mut channels = Channels::none();
        for (station, routes) in self.network.routes().iter().enumerate() {
            let id = LpId::from_index(station);
            for &(to, _) in routes.iter().filter(|(to, _)| LpId(*to) != id) {
                channels.connect(id, LpId(to), self.transit);
            }
            if is_exit(routes) {
                channels.connect(id, self.sink(), self.transit);
            }
        }
        channels
    }

    fn metrics(&self) -> Metrics {
        report::declare()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        if ctx.id() == self.sink() {
            return State::Sink(0);
        }
        let between = self.constants(ctx.id()).between;
        if between.is_finite() {
            Self::send_later(between, Message::Arrival, ctx);
        }
        State::Station(Queue::default())
    }

    #[inline]
    fn handle(&self, state: &mut State, event: Body<&Message>, ctx: &mut Context<'_, Self>) {
        self.execute(state.unrecorded(), event, ctx);
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        match state {
            State::Station(queue) => {
                digest.word(queue.present.len() as u64);
                digest.word(queue.books.busy_ps);
            }
            State::Sink(left) => digest.word(*left),
        }
    }

    fn finish(&self, id: LpId, state: &State, end: &End, metrics: &mut Metrics) {
        report::finish(self, (id, state), end.time, metrics);
    }

    fn unfinished(&self, messages: Unfinished<Message>, metrics: &mut Metrics) {
        for event in messages.in_order() {
            if let Body::Message(Message::Customer { .. } | Message::Left { .. }) = event.body {
                metrics.count(Ids::MOVING, 1);
            }
        }
    }

    fn conclude(&self, _: &End, metrics: &mut Metrics) -> Result<(), String> {
        report::conclude(self, metrics)
    }
}

impl ByRecord for Queueing {
    #[inline]
    fn execute<R: Recorder<StateUndo>>(
        &self,
        state: StateMut<'_, R>,
        event: Body<&Message>,
        ctx: &mut Context<'_, Self>,
    ) {
        match (state, event) {
            (StateMut::Station(mut queue), Body::Message(Message::Arrival)) => {
                Self::send_later(self.constants(ctx.id()).between, Message::Arrival, ctx);
                self.arrive(&mut queue, (1, ctx.now().as_ps()), ctx);
            }
            (StateMut::Station(mut queue), Body::Message(&Message::Customer { entered_ps })) => {
                self.arrive(&mut queue, (0, entered_ps), ctx);
            }
            (StateMut::Station(mut queue), Body::Message(Message::Completion)) => self.complete(&mut queue, ctx),
            (StateMut::Sink(mut left), Body::Message(&Message::Left { sojourn_ps })) => {
                *left += 1;
                ctx.observe_float(Ids::SOJOURN, Delay::from_ps(sojourn_ps).as_secs_f64());
                ctx.observe(Ids::DISTRIBUTION, sojourn_ps);
            }
            (_, event) => ctx.fail(format!("{event:?} is no message for this LP")),
        }
    }
}
