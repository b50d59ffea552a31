//! The actions of the handlers of a random model.

use super::{
    COUNT_ALL, Cargo, EXPECTED_PANIC, FLOAT, Failure, Gene, HISTOGRAM, Message, RandomModel, STEADY, State, TALLY, TICK,
};
use parades_core::prelude::*;

/// The number of a controller's first events in which it may ask for global events.
const REQUESTING_EVENTS: u64 = 400;

/// Returns a delay below this lookahead, if there is one.
fn shorter(lookahead: Delay) -> Delay {
    Delay::from_ps(lookahead.as_ps().saturating_sub(1))
}

impl RandomModel {
    /// Changes the state, so that it depends on the whole event and on the order of events.
    pub(super) fn absorb(&self, state: &mut State, event: Body<&Message>, ctx: &mut Context<'_, Self>) {
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

    pub(super) fn measure(&self, state: &State, ctx: &mut Context<'_, Self>) {
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

    pub(super) fn change_timers(&self, state: &mut State, ctx: &mut Context<'_, Self>) {
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
        } else if anyone.is_some() && (ports.is_empty() || ctx.rng().chance(0.5)) {
            let receiver = self.any_lp(ctx.rng());
            let lookahead = self.lookahead_to(ctx.id(), receiver).unwrap_or_default();
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
    pub(super) fn spend_budget(&self, state: &mut State, mut budget: u64, ctx: &mut Context<'_, Self>) {
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

    pub(super) fn make_requests(&self, events: u64, ctx: &mut Context<'_, Self>) {
        if !self.controllers.lps.contains(&ctx.id()) {
            return;
        }
        // Global events send events, and those events lead to more global events. So only the first events of
        // a controller may ask for one.
        if events < REQUESTING_EVENTS && self.percent(Gene::RequestPercent, ctx.rng()) {
            let change = self.draw_change(ctx.rng());
            ctx.request(change);
        }
        if ctx.rng().below(1000) < self.gene(Gene::StopPerMille) {
            ctx.request_stop();
        }
    }

    pub(super) fn fail(&self, ctx: &mut Context<'_, Self>) {
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
