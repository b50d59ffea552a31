//! Open networks of M/M/1 stations, whose results are known in closed form.
//!
//! Customers arrive at stations in Poisson streams. They wait in order of arrival for a server with
//! exponential service times. Then they move to another station or leave, at random.
//!
//! In the steady state each station behaves as if it were alone, with the throughput given by the traffic
//! equations:
//!
//! - It is busy for the share `rho = throughput / service rate` of the time.
//! - It has `rho / (1 - rho)` customers on average.
//! - They stay for `1 / (service rate - throughput)` on average.
//!
//! The mean sojourn time in the network follows by Little's law. So a run shows whether an engine, the random
//! streams and the statistics are right: the theoretical value must lie within the 95 % interval in 19 of 20
//! runs.
//!
//! Stations are the LPs `0..n`. The LP `n` is the *sink*, where customers leave. So one LP sees all sojourn
//! times, in the order of leaving. Every move takes the same *transit* time, which is the lookahead. The
//! metric `sojourn` drops the first sixteenth of its batches as warm-up (see
//! [`parades_core::metrics::Steady`]). The table of stations covers the whole run, from the empty start on.
//!
//! *References*: J. R. Jackson, "Networks of waiting lines", Operations Research 5(4), 1957. L. Kleinrock,
//! "Queueing Systems, volume 1: Theory", 1975, chapters 3 and 4.
//!
//! *Read next*: [`Network`], with the parameters and the theory.

mod network;
mod report;
mod traffic;

pub use network::{Generated, Invalid, Layout, Network, Station};

use network::is_exit;
use parades_core::any_model::SaveModel;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use report::Ids;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The half-width of the interval, relative to the mean, for which the default length of a run is chosen.
const DEFAULT_HALF_WIDTH: f64 = 0.01;
/// Largest number of customers of a run of default length. With this number, M/M/1 at utilisation 0.95 gets a
/// half-width of at most 3 %.
const DEFAULT_CUSTOMERS_MAX: u64 = 24_000_000;

/// The model. A queue may be long, so the state records its changes and is not copied.
#[derive(Clone, Debug, Restorable)]
pub struct Queueing {
    network: Network,
    transit: Delay,
    duration: Time,
    /// The constants of each station, for the handlers.
    constants: Vec<Constants>,
    /// The branches of all stations, station by station.
    branches: Vec<Branch>,
}

/// The constants of a station.
#[derive(Clone, Copy, Debug)]
struct Constants {
    /// The mean time between arrivals from outside, in seconds. Infinite if there are none.
    between: f64,
    /// The mean time of a service, in seconds.
    service: f64,
    /// The range of the station's branches among the branches of all stations.
    branches: (u32, u32),
}

/// A station or the exit that a customer may move to after a service.
#[derive(Clone, Copy, Debug)]
struct Branch {
    /// The probability of this branch and those before it.
    cumulative: f64,
    target: Target,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    /// The same station, which needs no channel.
    Same,
    /// Another station.
    Other(Port),
    /// The exit.
    Sink(Port),
}

/// The messages of LPs to each other and to themselves. Times are picoseconds since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// To the LP itself: a customer arrives from outside.
    Arrival,
    /// To the LP itself: the present service is over.
    Completion,
    /// To a station: a customer arrives from another station.
    Customer {
        /// The time at which the customer entered the network.
        entered_ps: u64,
    },
    /// To the sink: a customer leaves the network.
    Left {
        /// The time that the customer spent in the network.
        sojourn_ps: u64,
    },
}

impl Payload for Message {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        match *self {
            Message::Arrival => digest.word(0),
            Message::Completion => digest.word(1),
            // The word differs from the two above, except at the last two picoseconds of virtual time. Only
            // sinks receive the next message.
            Message::Customer { entered_ps } => digest.word(!entered_ps),
            Message::Left { sojourn_ps } => digest.word(sojourn_ps),
        }
    }
}

/// The state of an LP.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub enum State {
    /// The state of a station.
    Station(Queue),
    /// The state of the sink: the number of customers that have left.
    Sink(u64),
}

/// The customers at a station, in the order of arrival, with the statistics of the station. The first
/// customer is being served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub struct Queue {
    present: VecDeque<Customer>,
    statistics: Statistics,
}

/// A customer at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Customer {
    entered_ps: u64,
    arrived_ps: u64,
}

/// The statistics of a station, up to its last event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
struct Statistics {
    /// The number of customers that have arrived from outside.
    entered: u64,
    /// The number of all customers that have arrived.
    arrivals: u64,
    /// The time at which the number of customers here last changed.
    changed_ps: u64,
    busy_ps: u64,
    /// The integral of the number of customers here over time.
    present_ps: u128,
}

impl<R: Recorder<QueueUndo>> QueueMut<'_, R> {
    /// Accounts for the time since the last change, before the number of customers changes. Returns the
    /// statistics. They are recorded once for all changes of an event.
    #[inline(always)]
    fn advance(&mut self, now_ps: u64) -> &mut Statistics {
        let QueueParts { present, statistics } = self.split();
        let statistics = statistics.into_mut();
        let span = now_ps - statistics.changed_ps;
        statistics.changed_ps = now_ps;
        statistics.present_ps += u128::from(span) * present.len() as u128;
        statistics.busy_ps += if present.is_empty() { 0 } else { span };
        statistics
    }
}

impl Queueing {
    /// Creates the model of a network, for a run of about `customers` customers. Each move takes `transit`.
    ///
    /// By default, the number of customers makes the half-width of the interval 1 % of the mean
    /// ([`Network::customers_for`]), but is at most 24 million.
    ///
    /// ```
    /// # use parades_core::prelude::*;
    /// # use parades_models::queueing::{Network, Queueing};
    /// let network = Network::mm1(0.5, 1000.0)?;
    /// let model = Queueing::new(network, Delay::ZERO, Some(5_000))?;
    /// assert_eq!(model.duration(), Time::try_from_secs_f64(10.0).unwrap());
    /// # Ok::<(), (&'static str, String)>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if there are too many stations, if `customers` is 0, or if the customers take longer than
    /// virtual time lasts.
    pub fn new(network: Network, transit: Delay, customers: Option<u64>) -> Result<Queueing, Invalid> {
        if network.stations().len() >= u32::MAX as usize - 1 {
            return Err(("stations", "there are too many stations: a model has fewer than 2^32 - 1 LPs".into()));
        }
        let customers =
            customers.unwrap_or_else(|| network.customers_for(DEFAULT_HALF_WIDTH).min(DEFAULT_CUSTOMERS_MAX));
        let seconds = customers as f64 / network.arrival_rate();
        let Some(duration) = Time::try_from_secs_f64(seconds).filter(|&time| time > Time::ZERO) else {
            return Err((
                "customers",
                format!("{customers} customers take {seconds} s, which must be above 0 and at most {}", Time::MAX),
            ));
        };
        let mut model = Queueing { transit, duration, constants: Vec::new(), branches: Vec::new(), network };
        model.list_branches();
        Ok(model)
    }

    /// Lists the branches of each station. The last branch is taken where no other is, so the sum of
    /// probabilities need not be exact.
    fn list_branches(&mut self) {
        let place =
            |branches: &Vec<Branch>| u32::try_from(branches.len()).expect("a network has fewer than 2^32 routes");
        for (id, (station, routes)) in (0..).zip(self.network.stations().iter().zip(self.network.routes())) {
            let begin = place(&self.branches);
            let (mut cumulative, mut ports) = (0.0, 0);
            for &(to, probability) in routes {
                cumulative += probability;
                let target = if to == id { Target::Same } else { Target::Other(Port(ports)) };
                ports += u32::from(to != id);
                self.branches.push(Branch { cumulative, target });
            }
            if is_exit(routes) {
                self.branches.push(Branch { cumulative: 1.0, target: Target::Sink(Port(ports)) });
            }
            let branches = (begin, place(&self.branches));
            let (between, service) = (1.0 / station.arrival_rate, 1.0 / station.service_rate);
            self.constants.push(Constants { between, service, branches });
        }
    }

    /// Returns the duration of a run in virtual time: the number of customers divided by the rate of
    /// arrivals.
    pub fn duration(&self) -> Time {
        self.duration
    }

    /// Returns the network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the mean sojourn time by theory, in seconds, including the moves between stations.
    pub fn mean_sojourn(&self) -> f64 {
        self.network.mean_sojourn() + (self.network.mean_visits() - 1.0) * self.transit.as_secs_f64()
    }

    /// Returns the LP where customers leave.
    pub fn sink(&self) -> LpId {
        LpId::from_index(self.constants.len())
    }

    #[inline]
    fn constants(&self, id: LpId) -> &Constants {
        &self.constants[id.index()]
    }

    /// Sends the LP itself a message after an exponential time, unless that time is after the end of virtual
    /// time.
    #[inline]
    fn send_later(mean: f64, message: Message, ctx: &mut Context<'_, Self>) {
        let delay = Delay::from_secs(1).scaled(ctx.rng().exponential() * mean);
        if ctx.now().checked_add(delay).is_some() {
            ctx.send_self(delay, message);
        }
    }

    /// Adds a customer to a station. `entered` is 1 if the customer comes from outside, else 0.
    #[inline]
    fn arrive<R: Recorder<QueueUndo>>(
        &self,
        queue: &mut QueueMut<'_, R>,
        entered: u64,
        entered_ps: u64,
        ctx: &mut Context<'_, Self>,
    ) {
        let arrived_ps = ctx.now().as_ps();
        let statistics = queue.advance(arrived_ps);
        statistics.entered += entered;
        statistics.arrivals += 1;
        queue.present().push_back(Customer { entered_ps, arrived_ps });
        if queue.present.len() == 1 {
            Self::send_later(self.constants(ctx.id()).service, Message::Completion, ctx);
        }
    }

    /// Ends the service of the first customer, who moves or leaves, and begins the next service.
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

    /// Draws the branch that a customer takes, and sends the customer.
    #[inline]
    fn move_on(&self, Customer { entered_ps, .. }: Customer, ctx: &mut Context<'_, Self>) {
        let (begin, end) = self.constants(ctx.id()).branches;
        let branches = &self.branches[begin as usize..end as usize];
        let branch = match branches {
            [_] => 0,
            _ => {
                let draw = ctx.rng().unit();
                branches.partition_point(|branch| branch.cumulative <= draw).min(branches.len() - 1)
            }
        };
        let onward = Message::Customer { entered_ps };
        match branches[branch].target {
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

    fn lp_kind(&self, lp: LpId) -> String {
        if lp == self.sink() { "sink" } else { "station" }.to_owned()
    }

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
        report::METRICS.metrics()
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
                digest.word(queue.statistics.busy_ps);
            }
            State::Sink(left) => digest.word(*left),
        }
    }

    fn finish(&self, id: LpId, state: &State, end: &End, metrics: &mut Metrics) {
        report::finish(self, id, state, end.time, metrics);
    }

    fn splits_unfinished(&self) -> bool {
        true
    }

    fn unfinished(&self, messages: Unfinished<Message>, metrics: &mut Metrics) {
        for event in messages.in_any_order() {
            if let Body::Message(Message::Customer { .. } | Message::Left { .. }) = event.body {
                metrics.count(Ids::MOVING, 1);
            }
        }
    }

    fn conclude(&self, _: &End, metrics: &mut Metrics) -> Result<(), String> {
        report::conclude(self, metrics)
    }
}

impl SaveModel for Queueing {
    /// The sojourn times begin again. The counts of customers and the table of stations are of the whole run.
    fn can_measure_afresh(&self) -> Result<(), String> {
        Ok(())
    }

    fn write_state(&self, _: LpId, state: &Self::State, to: &mut Vec<u8>) {
        wire::write(state, to);
    }

    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<Self::State, Malformed> {
        wire::read(from)
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
                self.arrive(&mut queue, 1, ctx.now().as_ps(), ctx);
            }
            (StateMut::Station(mut queue), Body::Message(&Message::Customer { entered_ps })) => {
                self.arrive(&mut queue, 0, entered_ps, ctx);
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
