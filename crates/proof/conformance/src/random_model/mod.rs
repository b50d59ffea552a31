//! Random models: together they do everything that a model may do, at the worst moments.
//!
//! Most delays are multiples of a *tick*, so that there are many ties. Each message has a *budget*, the
//! number of events that it may still cause, so that every model ends.

mod genes;
mod globals;

pub use genes::{COUNT, Gene, Genes, MAX};
pub use globals::Change;

use parades_core::digest::Digest;
use parades_core::metrics::{Cell, Column};
use parades_core::prelude::*;
use parades_core::random::{LogNormal, Weibull};
use serde::{Deserialize, Serialize};

/// The unit of most delays.
const TICK: Delay = Delay::from_ps(1000);

/// Returns the span of `count` ticks.
fn ticks(count: u64) -> Delay {
    Delay::from_ps(count * TICK.as_ps())
}

/// The way in which a model fails, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    None,
    Fail,
    Panic,
    Lookahead,
    Overflow,
    NoPort,
    NoSuchLp,
    NotController,
    Start,
    Visit,
    Act,
    Conclude,
}

const FAILURES: [Failure; 12] = [
    Failure::None,
    Failure::Fail,
    Failure::Panic,
    Failure::Lookahead,
    Failure::Overflow,
    Failure::NoPort,
    Failure::NoSuchLp,
    Failure::NotController,
    Failure::Start,
    Failure::Visit,
    Failure::Act,
    Failure::Conclude,
];

const COUNT_ALL: MetricId = MetricId(0);
const TALLY: MetricId = MetricId(1);
const HISTOGRAM: MetricId = MetricId(2);
const FLOAT: MetricId = MetricId(3);
const STEADY: MetricId = MetricId(4);
const SERIES: MetricId = MetricId(5);
const TABLE: MetricId = MetricId(6);
const LEFT: MetricId = MetricId(7);
const END: MetricId = MetricId(8);

/// The content of a message besides its budget.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Cargo {
    /// Nothing.
    None,
    /// A word.
    Word(u64),
    /// Bytes of its own.
    Bytes(Vec<u8>),
    /// Bytes that several messages share.
    #[serde(with = "shared_bytes")]
    Shared(Shared<Vec<u8>>),
}

/// Converts shared bytes to bytes, and to other shared bytes on the receiving side.
mod shared_bytes {
    use parades_core::shared::Shared;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Shared<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        let bytes: &Vec<u8> = bytes;
        bytes.serialize(to)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Shared<Vec<u8>>, D::Error> {
        Vec::deserialize(from).map(Shared::new)
    }
}

/// The messages of LPs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    /// The number of events that the message may still cause.
    pub budget: u64,
    /// The rest of the content.
    pub cargo: Cargo,
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.budget);
        match &self.cargo {
            Cargo::None => digest.word(0),
            Cargo::Word(word) => digest.word(*word),
            Cargo::Bytes(bytes) => bytes.fold(digest),
            Cargo::Shared(bytes) => bytes.fold(digest),
        }
    }
}

/// The state of an LP.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    events: u64,
    /// The number of events that the LP may still cause by itself.
    reserve: u64,
    /// The number of timers that the LP may still set.
    settings: u64,
    /// A hash of everything that the LP executed, in order.
    trail: u64,
    mean: f64,
    words: Vec<u64>,
    /// The present lookahead of the LP's channels, as a percentage of the declared one.
    lookahead_percent: u64,
}

/// A model made from genes.
#[derive(Clone, Debug)]
pub struct RandomModel {
    genes: Genes,
    failure: Failure,
    /// The channels by pair of each LP.
    ports: Vec<Vec<(LpId, Delay)>>,
    /// The least delay of each LP to any LP.
    anyone: Vec<Option<Delay>>,
    controllers: Controllers,
}

impl RandomModel {
    /// Makes the model of these genes.
    pub fn new(genes: Genes) -> RandomModel {
        let mut rng = Rng::shared(u64::from(genes.get(Gene::Seed)), 11);
        let lps = u64::from(genes.get(Gene::Lps)) + 1;
        let any_lp = |rng: &mut Rng| LpId(u32::try_from(rng.below(lps)).expect("below a u32"));
        let lookahead = |rng: &mut Rng| match genes.get(Gene::Lookahead) {
            0 => Delay::ZERO,
            1 => TICK,
            2 => ticks(1 + rng.below(8)),
            _ => ticks(rng.below(4)),
        };
        let whole = lookahead(&mut rng);
        let channels = genes.get(Gene::Channels);
        let (mut ports, mut anyone) = (Vec::new(), Vec::new());
        for _ in 0..lps {
            let degree = if channels >= 3 { usize::from(genes.get(Gene::Degree)) + 1 } else { 0 };
            ports.push((0..degree).map(|_| (any_lp(&mut rng), lookahead(&mut rng))).collect());
            anyone.push(match channels {
                0 => Some(Delay::ZERO),
                1 => Some(whole),
                3 => None,
                _ => rng.chance(0.7).then(|| lookahead(&mut rng)),
            });
        }
        let mut controllers: Vec<LpId> = (0..genes.get(Gene::Controllers)).map(|_| any_lp(&mut rng)).collect();
        controllers.dedup();
        let delay = Delay::from_ps(1).saturating_add(ticks(u64::from(genes.get(Gene::ControlDelay))));
        let failure = FAILURES[usize::from(genes.get(Gene::Failure)) % FAILURES.len()];
        RandomModel { genes, failure, ports, anyone, controllers: Controllers { lps: controllers, delay } }
    }

    /// Returns the options of a run of this model.
    pub fn options(&self) -> RunOptions<'static> {
        let until = match self.gene(Gene::Until) {
            0 => Time::MAX,
            until => Time::from_ps(until * TICK.as_ps()),
        };
        let tie_seed = Some(self.gene(Gene::TieSeed)).filter(|seed| *seed > 0);
        let notes = self.gene(Gene::Notes) > 0;
        RunOptions { seed: self.gene(Gene::Seed), tie_seed, notes, ..RunOptions::until(until) }
    }

    fn any_lp(&self, rng: &mut Rng) -> LpId {
        LpId(u32::try_from(rng.below(u64::from(self.lps()))).expect("below a u32"))
    }

    fn gene(&self, gene: Gene) -> u64 {
        u64::from(self.genes.get(gene))
    }

    fn percent(&self, gene: Gene, rng: &mut Rng) -> bool {
        rng.below(100) < self.gene(gene)
    }

    /// True if the failure of the model happens now.
    fn fails(&self, kind: Failure, rng: &mut Rng) -> bool {
        self.failure == kind && rng.below(self.gene(Gene::Rarity) + 1) == 0
    }

    /// Draws a delay of at least `lookahead`.
    fn draw_delay(&self, lookahead: Delay, rng: &mut Rng) -> Delay {
        if lookahead == Delay::ZERO && self.percent(Gene::ZeroPercent, rng) {
            return Delay::ZERO;
        }
        let beyond = match (self.gene(Gene::Delays), rng.below(4)) {
            (0, _) => {
                if lookahead == Delay::ZERO {
                    TICK
                } else {
                    Delay::ZERO
                }
            }
            (1, _) => ticks(rng.below(4) + u64::from(lookahead == Delay::ZERO)),
            (2, _) => rng.exponential_delay(ticks(3)),
            (_, 0) => rng.uniform_delay(Delay::from_ps(1), ticks(5)),
            (_, 1) => TICK.scaled(rng.normal().abs()),
            (_, 2) => TICK.scaled(Weibull::new(2.0, 0.7).map_or(1.0, |weibull| weibull.sample(rng))),
            _ => TICK.scaled(LogNormal::new(0.0, 1.0).map_or(1.0, |normal| normal.sample(rng))),
        };
        lookahead.saturating_add(beyond)
    }

    fn draw_cargo(&self, rng: &mut Rng) -> Cargo {
        let bytes = |rng: &mut Rng| rng.next_u64().to_le_bytes().repeat(usize::try_from(rng.below(20)).unwrap_or(0));
        match if self.gene(Gene::Cargo) < 4 { self.gene(Gene::Cargo) } else { rng.below(4) } {
            0 => Cargo::None,
            1 => Cargo::Word(rng.next_u64()),
            2 => Cargo::Bytes(bytes(rng)),
            _ => Cargo::Shared(Shared::new(bytes(rng))),
        }
    }

    /// Changes the state, so that it depends on the whole event and on the order of events.
    fn absorb(&self, state: &mut State, event: Body<&Message>, ctx: &mut Context<'_, Self>) {
        let mut digest = Digest::default();
        match event {
            Body::Message(message) => message.fold(&mut digest),
            Body::Timer(id) => digest.word(u64::from(id.0)),
        }
        digest.word(state.trail);
        digest.word(ctx.now().as_ps());
        state.events += 1;
        state.trail = digest.value();
        state.mean += (ctx.rng().unit() - state.mean) * 0.1;
        if !state.words.is_empty() {
            let index = crate::engines::index_below(ctx.rng(), state.words.len());
            state.words[index] ^= state.trail;
        }
    }

    fn measure(&self, state: &State, ctx: &mut Context<'_, Self>) {
        ctx.note(|| format!("trail {:x}", state.trail));
        if self.gene(Gene::Measured) > 0 {
            ctx.count(COUNT_ALL, 1 + state.trail % 3);
            ctx.observe(TALLY, state.trail % 1000);
            ctx.observe(HISTOGRAM, state.trail >> 40);
            ctx.observe_float(FLOAT, state.mean);
            let drawn = ctx.rng().exponential();
            ctx.observe_float(STEADY, drawn);
        }
    }

    fn change_timers(&self, state: &mut State, ctx: &mut Context<'_, Self>) {
        if self.gene(Gene::Timers) == 0 || !self.percent(Gene::TimerPercent, ctx.rng()) {
            return;
        }
        let timer = TimerId(u32::try_from(ctx.rng().below(self.gene(Gene::Timers))).expect("a gene is small"));
        // Delays in ticks make it likely that a timer is reset or cancelled at the very instant when it is
        // due.
        let delay = self.draw_delay(Delay::ZERO, ctx.rng());
        if ctx.rng().chance(0.3) {
            ctx.cancel_timer(timer);
        } else if state.settings > 0 {
            state.settings -= 1;
            ctx.set_timer(timer, delay);
        }
        state.trail ^= u64::from(ctx.is_timer_set(timer));
    }

    fn send_one(&self, state: &State, budget: u64, ctx: &mut Context<'_, Self>) {
        let message = Message { budget, cargo: self.draw_cargo(ctx.rng()) };
        let ports = &self.ports[ctx.id().index()];
        let anyone = self.anyone[ctx.id().index()];
        let to_self = self.percent(Gene::SelfPercent, ctx.rng()) || (ports.is_empty() && anyone.is_none());
        let early = Delay::from_ps(u64::from(self.fails(Failure::Lookahead, ctx.rng())));
        if to_self {
            let delay = self.draw_delay(Delay::ZERO, ctx.rng());
            ctx.send_self(delay, message);
        } else if let Some(lookahead) = anyone.filter(|_| ports.is_empty() || ctx.rng().chance(0.5)) {
            let receiver = self.any_lp(ctx.rng());
            let delay = self.draw_delay(lookahead, ctx.rng());
            ctx.send_to(receiver, if early > Delay::ZERO { shorter(lookahead) } else { delay }, message);
        } else {
            let port = crate::engines::index_below(ctx.rng(), ports.len());
            let lookahead = Delay::from_ps(ports[port].1.as_ps() * state.lookahead_percent / 100);
            let delay = self.draw_delay(lookahead, ctx.rng());
            let delay = if early > Delay::ZERO { shorter(lookahead) } else { delay };
            ctx.send(Port(u32::try_from(port).expect("few ports")), delay, message);
        }
    }

    /// Sends as many events as the budget allows, and saves the rest of the budget.
    fn spend_budget(&self, state: &mut State, mut budget: u64, ctx: &mut Context<'_, Self>) {
        let sends = 1 + ctx.rng().below(self.gene(Gene::Branch) + 1);
        for _ in 0..sends {
            if budget == 0 {
                return;
            }
            let share = 1 + ctx.rng().below(budget);
            budget -= share;
            self.send_one(state, share - 1, ctx);
        }
        state.reserve += budget;
    }

    fn make_requests(&self, events: u64, ctx: &mut Context<'_, Self>) {
        if !self.controllers.lps.contains(&ctx.id()) {
            return;
        }
        // Global events send events, and those events lead to more global events. So only the first events of
        // a controller may ask.
        if events < REQUESTING_EVENTS && self.percent(Gene::RequestPercent, ctx.rng()) {
            let change = self.draw_change(ctx.rng());
            ctx.request(change);
        }
        if ctx.rng().below(1000) < self.gene(Gene::StopPerMille) {
            ctx.request_stop();
        }
    }

    fn fail(&self, ctx: &mut Context<'_, Self>) {
        if self.fails(Failure::Fail, ctx.rng()) {
            ctx.fail("the model gives up");
        }
        assert!(!self.fails(Failure::Panic, ctx.rng()), "{EXPECTED_PANIC}");
        let message = Message { budget: 0, cargo: Cargo::None };
        if self.fails(Failure::Overflow, ctx.rng()) {
            ctx.send_self(Delay::MAX, message.clone());
        }
        if self.fails(Failure::NoPort, ctx.rng()) {
            ctx.send(Port(99), TICK, message.clone());
        }
        if self.fails(Failure::NoSuchLp, ctx.rng()) {
            ctx.send_to(LpId(ctx.lps()), TICK, message);
        }
        if self.fails(Failure::NotController, ctx.rng()) && !self.controllers.lps.contains(&ctx.id()) {
            ctx.request_stop();
        }
    }
}

/// The number of a controller's first events in which it may ask for global events.
const REQUESTING_EVENTS: u64 = 400;

/// The text of the panics that models raise on purpose.
pub const EXPECTED_PANIC: &str = "a random model panics on purpose";

/// Returns a delay below this lookahead, if there is one.
fn shorter(lookahead: Delay) -> Delay {
    Delay::from_ps(lookahead.as_ps().saturating_sub(1))
}

impl Model for RandomModel {
    type State = State;
    type Message = Message;
    type Global = Change;

    fn lps(&self) -> u32 {
        u32::from(self.genes.get(Gene::Lps)) + 1
    }

    fn channels(&self) -> Channels {
        match self.gene(Gene::Channels) {
            0 => return Channels::undeclared(),
            1 => return Channels::whole(self.anyone[0].unwrap_or(Delay::ZERO)),
            _ => {}
        }
        let mut channels = Channels::none();
        for (index, ports) in self.ports.iter().enumerate() {
            let id = LpId::from_index(index);
            ports.iter().for_each(|(receiver, lookahead)| channels.connect(id, *receiver, *lookahead));
            if let Some(lookahead) = self.anyone[index] {
                channels.to_anyone(id, lookahead);
            }
        }
        channels
    }

    fn controllers(&self) -> Controllers {
        self.controllers.clone()
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        assert_eq!(metrics.counter("count", Unit::Count), COUNT_ALL);
        assert_eq!(metrics.tally("tally", Unit::Count), TALLY);
        assert_eq!(metrics.histogram("histogram", Unit::Count), HISTOGRAM);
        assert_eq!(metrics.float("float", Unit::Count), FLOAT);
        assert_eq!(metrics.steady("steady", Unit::Count), STEADY);
        assert_eq!(metrics.series("series", Unit::Count), SERIES);
        let columns = vec![Column::new("trail", Unit::Count), Column::new("mean", Unit::Count)];
        assert_eq!(metrics.table("table", columns), TABLE);
        assert_eq!(metrics.tally("left", Unit::Count), LEFT);
        assert_eq!(metrics.value("end", Unit::Seconds), END);
        metrics
    }

    fn globals(&self) -> Vec<(Time, Change)> {
        let mut rng = Rng::shared(self.gene(Gene::Seed), 12);
        let count = self.gene(Gene::Globals);
        (0..count).map(|_| (Time::from_ps(rng.below(40) * TICK.as_ps()), self.draw_change(&mut rng))).collect()
    }

    fn round_limit(&self) -> u32 {
        [1 << 20, 16, 4][usize::from(self.genes.get(Gene::Rounds))]
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        for _ in 0..ctx.rng().below(self.gene(Gene::Starts) + 1) {
            let message = Message { budget: self.gene(Gene::Budget), cargo: self.draw_cargo(ctx.rng()) };
            let delay = self.draw_delay(Delay::ZERO, ctx.rng());
            ctx.send_self(delay, message);
        }
        if self.gene(Gene::Timers) > 0 {
            let delay = self.draw_delay(Delay::ZERO, ctx.rng());
            ctx.set_timer(TimerId(0), delay);
        }
        if self.gene(Gene::Measured) > 0 {
            ctx.count(COUNT_ALL, 7);
            ctx.note(|| "a start-up is not traced".into());
        }
        if self.fails(Failure::Start, ctx.rng()) {
            ctx.fail("it cannot start");
        }
        self.make_requests(0, ctx);
        let words = (0..self.gene(Gene::Vector)).map(|_| ctx.rng().next_u64()).collect();
        let budget = self.gene(Gene::Budget);
        State { events: 0, reserve: budget, settings: budget, trail: 0, mean: 0.5, words, lookahead_percent: 100 }
    }

    fn handle(&self, state: &mut State, event: Body<&Message>, ctx: &mut Context<'_, Self>) {
        self.absorb(state, event, ctx);
        let budget = match event {
            Body::Message(message) => message.budget,
            Body::Timer(_) => {
                let half = state.reserve / 2;
                state.reserve -= half;
                half
            }
        };
        self.measure(state, ctx);
        self.change_timers(state, ctx);
        self.fail(ctx);
        self.spend_budget(state, budget, ctx);
        self.change_timers(state, ctx);
        self.make_requests(state.events, ctx);
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        digest.word(state.trail);
        digest.word(state.events);
        digest.word(state.settings);
        digest.float(state.mean);
        state.words.iter().for_each(|word| digest.word(*word));
    }

    fn finish(&self, _: LpId, state: &State, _: &End, metrics: &mut Metrics) {
        metrics.row(TABLE, [Cell::Integer(state.trail), Cell::Float(state.mean)]);
    }

    fn unfinished(&self, messages: Unfinished<Message>, metrics: &mut Metrics) {
        for event in messages.in_order() {
            let Body::Message(message) = &event.body else { continue };
            metrics.observe(LEFT, message.budget + event.time().as_ps() + u64::from(event.sender().rank()));
            // Rows in the order of these messages, so that their order counts too.
            metrics.row(TABLE, [Cell::Integer(message.budget), Cell::Float(f64::from(event.receiver.0))]);
        }
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        metrics.set(END, Cell::Float(end.time.as_secs_f64() + end.events as f64));
        match self.failure {
            Failure::Conclude => Err(format!("it finds {} events wrong", end.events)),
            _ => Ok(()),
        }
    }
}

impl ByCopy for RandomModel {}
