//! The state of the solver's LP: the network, and whose its activities are.

use super::calls::{CallId, Calls, finish_call};
use super::mail::finish_mail;
use super::packet::Packet;
use parades_core::digest::Payload;
use parades_core::event::{LpId, TimerId};
use parades_core::time::{Delay, Time};
use parades_flow::network::{ActivityId, FluidNetwork, Outcome};
use parades_program::{CarrierContext, Receipt, Undelivered};
use serde::{Deserialize, Serialize};

/// The state of the solver's LP.
#[derive(Debug)]
pub struct Solver<M> {
    pub(super) network: FluidNetwork,
    /// The owner of each activity, by its slot. `None` for one that was given up.
    pub(super) owners: Vec<Option<Owner<M>>>,
    /// Activities that have ended, with their outcomes. Their slots may be used again before the nodes learn
    /// of them.
    pub(super) ended: Vec<(Owner<M>, Outcome)>,
    /// The time that the LP's timer is set to.
    pub(super) armed: Time,
    /// Messages that travel, and those that have ended and are in `ended`.
    pub(super) in_flight: u64,
    pub(super) failed: u64,
    pub(super) calls: Calls<M>,
}

/// The owner of an activity.
#[derive(Debug)]
pub(super) enum Owner<M> {
    /// A message from node to node.
    Message(InFlight<M>),
    /// A call: a computation, or a transfer of a disk.
    Call(CallId),
    /// A message of a mailbox, by its number.
    Mail(u64),
}

/// A message on its way.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InFlight<M> {
    pub(super) from: LpId,
    pub(super) to: LpId,
    pub(super) receipt: Option<Receipt>,
    pub(super) message: M,
}

/// The timer of the solver's LP, which is due when the next activity ends.
const TIMER: TimerId = TimerId(0);

impl<M: Payload + Clone> Solver<M> {
    /// Makes the state at the start.
    pub(super) fn new(network: FluidNetwork) -> Solver<M> {
        let (owners, ended, calls) = (Vec::new(), Vec::new(), Calls::default());
        Solver { network, owners, ended, armed: Time::MAX, in_flight: 0, failed: 0, calls }
    }

    /// Sets the owner of an activity that has just begun.
    #[inline]
    pub(super) fn set_owner(&mut self, id: ActivityId, owner: Owner<M>) {
        if self.owners.len() <= id.slot() {
            self.owners.resize_with(id.slot() + 1, || None);
        }
        self.owners[id.slot()] = Some(owner);
    }

    /// Collects the activities that have ended, before their slots are used again.
    #[inline]
    pub(super) fn collect(&mut self) {
        while let Some(ended) = self.network.take_ended() {
            let owner = self.owners[ended.id.slot()].take();
            self.ended.extend(owner.map(|owner| (owner, ended.outcome)));
        }
    }

    /// Delivers the messages whose flows have ended, reports the outcomes to their senders, and answers the
    /// calls that have ended.
    #[inline]
    pub(super) fn deliver(&mut self, ctx: &mut impl CarrierContext<Packet<M>>) {
        let mut all = std::mem::take(&mut self.ended);
        for (owner, outcome) in all.drain(..) {
            if !matches!(owner, Owner::Call(_)) {
                self.in_flight -= 1;
                self.failed += u64::from(outcome != Outcome::Done);
            }
            match owner {
                Owner::Message(message) => arrive(message, outcome, ctx),
                Owner::Call(call) => finish_call(self, call, outcome, ctx),
                Owner::Mail(number) => finish_mail(self, number, outcome, ctx),
            }
        }
        self.ended = all;
    }

    /// Sets the LP's timer to the time at which something happens next: to the present time, if a change of
    /// that time is not solved yet.
    #[inline]
    pub(super) fn arm(&mut self, ctx: &mut impl CarrierContext<Packet<M>>) {
        let is_settled = self.ended.is_empty() && self.network.is_solved();
        let next = if is_settled { self.network.next_event() } else { Some(self.network.now()) };
        let next = next.unwrap_or(Time::MAX);
        if next == self.armed {
            return;
        }
        self.armed = next;
        match next {
            Time::MAX => ctx.cancel_timer(TIMER),
            next => ctx.set_timer(TIMER, next.since(ctx.now())),
        }
    }
}

/// Delivers a message whose flow has ended, or lets its sender know that it failed.
#[inline]
fn arrive<M>(
    InFlight { from, to, receipt, message }: InFlight<M>,
    outcome: Outcome,
    ctx: &mut impl CarrierContext<Packet<M>>,
) {
    let outcome = match outcome {
        Outcome::Done => {
            ctx.send_to(to, Delay::ZERO, Packet::Arrived { from, message });
            Ok(())
        }
        Outcome::Failed | Outcome::Cancelled => Err(Undelivered),
    };
    if let Some(receipt) = receipt {
        ctx.send_to(from, Delay::ZERO, Packet::Report { receipt, outcome });
    }
}
