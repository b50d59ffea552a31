//! The model: one LP with all links, to which everything comes from outside.

use super::{LinkChange, TransferId};
use parades_core::any_model::SaveModel;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use parades_flow::network::{ActivityId, Change, FluidNetwork, Outcome, Property};
use parades_flow::network_model::NetworkModel;
use parades_flow::platform::{HostId, LinkId, Platform};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The transfer.
    pub id: TransferId,
    /// The time of its end.
    pub at: Time,
    /// How it ended.
    pub outcome: Outcome,
}

/// The constants of the network.
#[derive(Debug)]
pub(super) struct Fabric {
    platform: Arc<Platform>,
    model: NetworkModel,
}

/// An event from outside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Wish {
    /// The number of completions that the program has got.
    pub(super) returned: u64,
    pub(super) what: Message,
}

/// The number of completions changes nothing but memory, so it is left out.
impl Payload for Wish {
    fn fold(&self, digest: &mut Digest) {
        self.what.fold(digest);
    }
}

/// A wish from outside.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message {
    Send { id: TransferId, source: HostId, destination: HostId, bytes: u64 },
    Cancel(TransferId),
    Set(LinkId, LinkChange),
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        match *self {
            Message::Send { id, source, destination, bytes } => {
                digest.word(1);
                digest.word(id.0);
                digest.word(u64::from(source.0) << 32 | u64::from(destination.0));
                digest.word(bytes);
            }
            Message::Cancel(id) => {
                digest.word(2);
                digest.word(id.0);
            }
            Message::Set(link, change) => {
                let (kind, value) = match change {
                    LinkChange::Rate(rate) => (3, rate.to_bits()),
                    LinkChange::Latency(latency) => (4, latency.as_ps()),
                    LinkChange::Down => (5, 0),
                    LinkChange::Up => (5, 1),
                };
                digest.word(kind << 32 | u64::from(link.0));
                digest.word(value);
            }
        }
    }
}

/// A transfer that has begun and not ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Active {
    activity: ActivityId,
    begun: Time,
    bytes: u64,
}

/// The state of the LP.
#[derive(Debug)]
pub(super) struct State {
    network: FluidNetwork,
    active: BTreeMap<TransferId, Active>,
    /// By slot of an activity: its transfer.
    of_slot: Vec<TransferId>,
    /// The ends that the program has not got, and those that it has got since the last wish, in order.
    ended: VecDeque<Completion>,
    /// The number of ends that are no longer in that list.
    forgotten: u64,
    /// The digest of all ends.
    digest: u64,
    /// The time to which the timer is set.
    armed: Time,
}

impl State {
    /// Returns the ends of transfers from the one at `from` on.
    pub(super) fn ended_from(&self, from: u64) -> Vec<Completion> {
        let known = usize::try_from(from - self.forgotten).expect("the list is in memory");
        self.ended.range(known..).copied().collect()
    }

    /// Forgets the ends before the one of this number.
    fn forget(&mut self, before: u64) {
        while self.forgotten < before && self.ended.pop_front().is_some() {
            self.forgotten += 1;
        }
    }

    /// Notes the end of a transfer.
    fn note(&mut self, end: Completion) {
        let mut digest = Digest::default();
        let words = [self.digest, end.id.0, end.at.as_ps() << 2 | end.outcome as u64];
        words.into_iter().for_each(|word| digest.word(word));
        self.digest = digest.value();
        self.ended.push_back(end);
    }

    /// Returns the time at which something happens next; [`Time::MAX`] if nothing does.
    pub(super) fn next(&self) -> Time {
        self.armed
    }
}

const METRICS: Declared<5> = Declared::new([
    Declaration::counter("transfers_done", Unit::Count),
    Declaration::counter("transfers_failed", Unit::Count),
    Declaration::counter("transfers_cancelled", Unit::Count),
    Declaration::counter("delivered", Unit::Bytes),
    Declaration::histogram("duration", Unit::Picoseconds),
]);
const DONE: CounterId = METRICS.counter("transfers_done");
const FAILED: CounterId = METRICS.counter("transfers_failed");
const CANCELLED: CounterId = METRICS.counter("transfers_cancelled");
const DELIVERED: CounterId = METRICS.counter("delivered");
const DURATION: IntegerId = METRICS.integer("duration");

/// Due when a transfer ends or begins to share, or after all wishes of one time.
const TIMER: TimerId = TimerId(0);

impl Fabric {
    pub(super) fn new(platform: Arc<Platform>, model: NetworkModel) -> Fabric {
        Fabric { platform, model }
    }

    /// Collects the transfers that have ended, before their slots are used again.
    fn collect(state: &mut State, ctx: &mut Context<'_, Fabric>) {
        while let Some(ended) = state.network.take_ended() {
            let id = state.of_slot[ended.id.slot()];
            let Active { begun, bytes, .. } = state.active.remove(&id).expect("a transfer ends once");
            match ended.outcome {
                Outcome::Done => {
                    ctx.count(DONE, 1);
                    ctx.count(DELIVERED, bytes);
                    ctx.observe(DURATION, ended.at.since(begun).as_ps());
                }
                Outcome::Failed => ctx.count(FAILED, 1),
                Outcome::Cancelled => ctx.count(CANCELLED, 1),
            }
            state.note(Completion { id, at: ended.at, outcome: ended.outcome });
        }
    }

    /// Does what is wished.
    fn obey(state: &mut State, message: &Message, ctx: &mut Context<'_, Fabric>) {
        let network = &mut state.network;
        match *message {
            Message::Send { id, source, destination, bytes } => {
                let activity = match network.start_flow(source, destination, bytes as f64) {
                    Ok(activity) => activity,
                    Err(why) => return ctx.fail(format!("transfer {} cannot begin: {why}", id.0)),
                };
                let slot = activity.slot();
                if state.of_slot.len() <= slot {
                    state.of_slot.resize(slot + 1, id);
                }
                state.of_slot[slot] = id;
                state.active.insert(id, Active { activity, begun: ctx.now(), bytes });
            }
            Message::Cancel(id) => {
                if let Some(active) = state.active.get(&id) {
                    network.cancel(active.activity);
                }
            }
            Message::Set(link, change) => {
                let (property, value) = match change {
                    LinkChange::Rate(rate) => (Property::Bandwidth(link), rate),
                    LinkChange::Latency(latency) => (Property::Latency(link), latency.as_secs_f64()),
                    LinkChange::Down => (Property::LinkState(link), 0.0),
                    LinkChange::Up => (Property::LinkState(link), 1.0),
                };
                network.apply(Change { property, value });
            }
        }
    }
}

impl Model for Fabric {
    type State = State;
    type Message = Wish;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        1
    }

    fn channels(&self) -> Channels {
        Channels::none()
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, _: &mut Context<'_, Self>) -> State {
        State {
            network: FluidNetwork::new(Arc::clone(&self.platform), self.model),
            active: BTreeMap::new(),
            of_slot: Vec::new(),
            ended: VecDeque::new(),
            forgotten: 0,
            digest: 0,
            armed: Time::MAX,
        }
    }

    fn handle(&self, state: &mut State, event: Body<&Wish>, ctx: &mut Context<'_, Self>) {
        let now = ctx.now();
        if state.network.now() < now {
            state.network.advance(now);
            Self::collect(state, ctx);
        }
        if let Body::Message(Wish { returned, what }) = event {
            state.forget(*returned);
            Self::obey(state, what, ctx);
            Self::collect(state, ctx);
            // Rates are solved once, after all wishes of this time.
            if state.armed != now {
                state.armed = now;
                ctx.set_timer(TIMER, Delay::ZERO);
            }
            return;
        }
        state.network.advance(now);
        Self::collect(state, ctx);
        state.armed = state.network.next_event().unwrap_or(Time::MAX);
        if state.armed < Time::MAX {
            ctx.set_timer(TIMER, state.armed.since(now));
        }
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        digest.word(state.forgotten + state.ended.len() as u64);
        digest.word(state.digest);
    }
}

impl SaveModel for Fabric {
    fn write_state(&self, _: LpId, state: &State, to: &mut Vec<u8>) {
        state.network.write(to);
        let State { network: _, active, of_slot, ended, forgotten, digest, armed } = state;
        wire::write(&(active, of_slot, ended, forgotten, digest, armed), to);
    }

    fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<State, Malformed> {
        let network = FluidNetwork::read(Arc::clone(&self.platform), self.model, from)?;
        let (active, of_slot): (BTreeMap<TransferId, Active>, Vec<TransferId>) = wire::read(from)?;
        let (ended, forgotten, digest, armed): (VecDeque<Completion>, u64, u64, Time) = wire::read(from)?;
        let is_right = network.active() as usize == active.len()
            && network.slots().all(|slot| of_slot.get(slot).is_some_and(|id| active.contains_key(id)));
        match is_right {
            true => Ok(State { network, active, of_slot, ended, forgotten, digest, armed }),
            false => Err(Malformed::new("the network has a state that none can have")),
        }
    }
}
