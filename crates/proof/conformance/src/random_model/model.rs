//! The random model as a [`Model`].

use super::{
    COUNT_ALL, Change, END, FLOAT, Failure, Gene, HISTOGRAM, LEFT, Message, RandomModel, SERIES, STEADY, State, TABLE,
    TALLY, TICK,
};
use parades_core::any_model::SaveModel;
use parades_core::metrics::{Cell, Column};
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};

impl Model for RandomModel {
    type State = State;
    type Message = Message;
    type Global = Change;

    fn lps(&self) -> u32 {
        u32::from(self.genes.get(Gene::Lps)) + 1
    }

    fn channels(&self) -> Channels {
        let mut channels = match self.gene(Gene::Channels) {
            0 => Channels::undeclared(),
            1 => Channels::whole(self.anyone[0].unwrap_or(Delay::ZERO)),
            _ => self.channels_of_lps(),
        };
        for (index, group) in self.groups.iter().enumerate() {
            if let Some((group, lookahead)) = *group {
                channels.to_other_groups(LpId::from_index(index), group, lookahead);
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
        let rng = Rng::shared(self.gene(Gene::Seed), 12);
        let count = self.gene(Gene::Globals);
        (0..count).map(|_| (Time::from_ps(rng.below(40) * TICK.as_ps()), self.draw_change(&rng))).collect()
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
        if self.fault > 0 {
            digest.word(self.fault);
        }
    }

    fn finish(&self, _: LpId, state: &State, _: &End, metrics: &mut Metrics) {
        metrics.row(TABLE, [Cell::Integer(state.trail), Cell::Float(state.mean)]);
    }

    fn unfinished(&self, messages: Unfinished<Message>, metrics: &mut Metrics) {
        for event in messages.in_order() {
            let Body::Message(message) = &event.body else { continue };
            // A message that would arrive after the end of virtual time has the last time.
            let sum = message.budget.wrapping_add(event.time().as_ps());
            metrics.observe(LEFT, sum.wrapping_add(u64::from(event.sender().rank())));
            // The table has rows in the order of these messages, so their order counts too.
            metrics.row(TABLE, [Cell::Integer(message.budget), Cell::Float(f64::from(event.receiver().0))]);
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

impl SaveModel for RandomModel {
    fn write_state(&self, _: LpId, state: &Self::State, to: &mut Vec<u8>) {
        wire::write(state, to);
    }

    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<Self::State, Malformed> {
        wire::read(from)
    }
}

impl RandomModel {
    /// Returns the channels that each LP declares for itself.
    fn channels_of_lps(&self) -> Channels {
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
}
