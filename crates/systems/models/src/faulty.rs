//! A model with planted faults. It shows how errors are reported, and that every engine reports the same one.
//!
//! LPs stand in a ring and pass tokens. At the event chosen, each LP commits the fault chosen.

use parades_config::Words;
use parades_core::any_model::SaveModel;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use serde::{Deserialize, Serialize};

/// The fault that an LP commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// A send with less delay than its channel declares.
    Lookahead,
    /// Sends without delay that never end.
    ZeroDelayLoop,
    /// A panic in the handler.
    Panic,
    /// A report by the model that it cannot go on.
    Fail,
    /// A send through a channel that is not declared.
    NoChannel,
    /// No fault, but results that depend on the order of simultaneous events. Each LP hashes the senders of
    /// its events in the order of execution.
    TieOrder,
}

impl Words for Fault {
    const WORDS: &'static [(&'static str, Fault)] = &[
        ("none", Fault::None),
        ("lookahead", Fault::Lookahead),
        ("zero-delay-loop", Fault::ZeroDelayLoop),
        ("panic", Fault::Panic),
        ("fail", Fault::Fail),
        ("no-channel", Fault::NoChannel),
        ("tie-order", Fault::TieOrder),
    ];
}

/// The model, with its parameters.
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Faulty {
    /// The number of LPs in the ring, at least 3.
    #[parameter(integer, default = 8, range = 3..=1_000_000, meaning = "logical processes, in a ring")]
    pub lps: u32,
    /// The fault.
    #[parameter(
        choice,
        default = "panic",
        meaning = "the fault; `tie-order` makes `metrics.order` depend on the order of simultaneous events"
    )]
    pub fault: Fault,
    /// The number of the event at which each LP commits the fault, counted from 1.
    #[parameter(
        integer, default = 5, range = 1..=1_000_000_000,
        needs = "fault!=none", meaning = "number of the LP's event with the fault, from 1"
    )]
    pub at_event: u64,
    /// The limit on rounds at one time.
    #[parameter(
        integer, default = 1000, range = 1..=1_048_576,
        needs = "fault=zero-delay-loop", meaning = "bound on rounds of zero-delay events at one time"
    )]
    pub round_limit: u32,
}

/// The delay of each pass of a token.
const HOP: Delay = Delay::from_ms(10);
const METRICS: Declared<1> = Declared::new([Declaration::counter("order", Unit::Count)]);
const ORDER: CounterId = METRICS.counter("order");

/// The state of an LP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    events: u64,
    /// A hash of the senders, in the order of their events.
    order: u64,
}

impl Model for Faulty {
    type State = State;
    type Message = ();
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.lps
    }

    fn channels(&self) -> Channels {
        let mut channels = Channels::none();
        // A loop without delay needs channels that declare no delay.
        let lookahead = if self.fault == Fault::ZeroDelayLoop { Delay::ZERO } else { HOP };
        for id in 0..self.lps {
            channels.connect(LpId(id), LpId((id + 1) % self.lps), lookahead);
            channels.connect(LpId(id), LpId((id + 2) % self.lps), lookahead);
        }
        channels
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn round_limit(&self) -> u32 {
        self.round_limit
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> State {
        ctx.send_self(HOP, ());
        State::default()
    }

    fn handle(&self, state: &mut State, _: Body<&()>, ctx: &mut Context<'_, Self>) {
        state.events += 1;
        let sender = ctx.sender().map_or(0, |sender| u64::from(sender.rank()));
        state.order = state.order.wrapping_mul(31).wrapping_add(sender);
        let port = Port(u32::from(state.events.is_multiple_of(2)));
        if state.events < self.at_event {
            return ctx.send(port, HOP, ());
        }
        match self.fault {
            Fault::None => ctx.send(port, HOP, ()),
            Fault::TieOrder => {
                // The event goes to a random one of the two next LPs, so that events of two senders meet at
                // one time.
                let port = Port(u32::from(ctx.rng().chance(0.5)));
                ctx.send(port, HOP, ());
            }
            Fault::Lookahead => ctx.send(port, Delay::from_ms(9), ()),
            Fault::ZeroDelayLoop => ctx.send(port, Delay::ZERO, ()),
            Fault::Panic => panic!("{} was told to panic at its event {}", ctx.id(), state.events),
            Fault::Fail => ctx.fail(format!("it was told to fail at its event {}", state.events)),
            Fault::NoChannel => ctx.send(Port(7), HOP, ()),
        }
    }

    fn finish(&self, _: LpId, state: &State, _: &End, metrics: &mut Metrics) {
        if self.fault == Fault::TieOrder {
            metrics.count(ORDER, state.order & 0xffff_ffff);
        }
    }
}

impl SaveModel for Faulty {
    fn write_state(&self, _: LpId, state: &Self::State, to: &mut Vec<u8>) {
        wire::write(state, to);
    }

    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<Self::State, Malformed> {
        wire::read(from)
    }
}

impl ByCopy for Faulty {}
