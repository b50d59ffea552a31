//! The LP that knows all transfers.

use super::packet::Packet;
use parades_core::digest::Payload;
use parades_core::event::{LpId, TimerId};
use parades_core::time::{Delay, Time};
use parades_flow::access::{Access, TransferId};
use parades_program::{CarrierContext, Receipt};
use std::collections::{BTreeMap, VecDeque};

/// The timer that is due when the next transfer ends.
const TIMER: TimerId = TimerId(0);

/// The state of the solver's LP.
#[derive(Clone, Debug, PartialEq)]
pub struct Solver<M> {
    access: Access,
    /// The message of each transfer, by the index of its id.
    messages: Vec<Option<OnItsWay<M>>>,
    /// The messages between two peers that follow the one that is being transferred.
    queues: BTreeMap<(LpId, LpId), VecDeque<OnItsWay<M>>>,
    /// The time that the timer is set to; [`Time::MAX`] if it is not set.
    armed: Time,
    /// Messages in `messages` and `queues`.
    pub(super) on_their_way: u64,
    pub(super) transfers: u64,
    /// The bits of these transfers.
    pub(super) bits: f64,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OnItsWay<M> {
    pub(super) from: LpId,
    pub(super) to: LpId,
    pub(super) bits: f64,
    /// The time from the end of the transfer to the arrival.
    pub(super) rest: Delay,
    pub(super) receipt: Option<Receipt>,
    pub(super) message: M,
}

impl<M: Payload> Solver<M> {
    pub(super) fn new(capacities: &[[f64; 2]]) -> Solver<M> {
        Solver {
            access: Access::new(capacities.iter().copied()),
            messages: Vec::new(),
            queues: BTreeMap::new(),
            armed: Time::MAX,
            on_their_way: 0,
            transfers: 0,
            bits: 0.0,
        }
    }

    /// Accepts a message. It follows the messages that its sender has sent to its receiver before.
    pub(super) fn accept(&mut self, now: Time, message: OnItsWay<M>) {
        self.on_their_way += 1;
        match self.queues.get_mut(&(message.from, message.to)) {
            Some(queue) => queue.push_back(message),
            None => {
                self.queues.insert((message.from, message.to), VecDeque::new());
                self.start(now, message);
            }
        }
    }

    fn start(&mut self, now: Time, message: OnItsWay<M>) {
        let index = self.access.start(now, message.from.0, message.to.0, message.bits).index();
        if self.messages.len() <= index {
            self.messages.resize_with(index + 1, || None);
        }
        self.messages[index] = Some(message);
    }

    /// Passes on the messages whose transfers have ended. `lead` is the time from the solver to a sender.
    pub(super) fn end_transfers(&mut self, lead: Delay, ctx: &mut impl CarrierContext<Packet<M>>) {
        while let Some(id) = self.access.pop_ended(ctx.now()) {
            let OnItsWay { from, to, bits, rest, receipt, message } = self.take(id);
            self.on_their_way -= 1;
            self.transfers += 1;
            self.bits += bits;
            ctx.send_to(to, rest, Packet::Arrived { from, message });
            if let Some(receipt) = receipt {
                ctx.send_to(from, lead, Packet::Report { receipt, outcome: Ok(()) });
            }
            match self.queues.get_mut(&(from, to)).expect("it has a transfer").pop_front() {
                Some(next) => self.start(ctx.now(), next),
                None => drop(self.queues.remove(&(from, to))),
            }
        }
    }

    fn take(&mut self, id: TransferId) -> OnItsWay<M> {
        self.messages[id.index()].take().expect("a transfer ends once")
    }

    /// Computes the rates, and sets the timer to the next end of a transfer.
    pub(super) fn settle(&mut self, ctx: &mut impl CarrierContext<Packet<M>>) {
        self.access.settle(ctx.now());
        let next = self.access.next_end().unwrap_or(Time::MAX);
        if next == self.armed {
            return;
        }
        self.armed = next;
        match next {
            Time::MAX => ctx.cancel_timer(TIMER),
            next => ctx.set_timer(TIMER, next.since(ctx.now())),
        }
    }

    /// Notes that the timer is due.
    pub(super) fn on_timer(&mut self) {
        self.armed = Time::MAX;
    }
}
