//! The LP that knows all transfers of a group of peers.

use super::journal::{Changes, Counts, Journal, Recording, Step};
use super::packet::Packet;
use parades_core::digest::Payload;
use parades_core::event::{LpId, TimerId};
use parades_core::time::{Delay, Time};
use parades_flow::access::Access;
use parades_program::{CarrierContext, Receipt};
use std::collections::{BTreeMap, VecDeque};

/// The timer that is due when the next transfer ends.
const TIMER: TimerId = TimerId(0);

/// The state of the solver's LP.
#[derive(Clone, Debug, PartialEq)]
pub struct Solver<M> {
    pub(super) access: Access,
    /// The message of each transfer, by the index of its id.
    pub(super) messages: Vec<Option<OnItsWay<M>>>,
    /// The messages between two peers that follow the one that is being transferred.
    pub(super) queues: BTreeMap<Pair, VecDeque<OnItsWay<M>>>,
    /// The time that the timer is set to; [`Time::MAX`] if it is not set.
    pub(super) armed: Time,
    pub(super) counts: Counts,
    /// The changes of the present execution.
    pub(super) recording: Recording<M>,
}

/// A sender and a receiver.
pub(super) type Pair = (LpId, LpId);

/// A message on its way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OnItsWay<M> {
    pub(super) from: LpId,
    pub(super) to: LpId,
    /// The indices of the sender and the receiver among the peers of their group.
    pub(super) ends: [u32; 2],
    pub(super) bits: f64,
    /// The time from the end of the transfer to the arrival.
    pub(super) rest: Delay,
    pub(super) receipt: Option<Receipt>,
    pub(super) message: M,
}

impl<M: Payload + Clone> Solver<M> {
    /// Makes the solver of a group, given the capacities of each peer's up link and down link in bits per
    /// second.
    pub(super) fn new(capacities: impl Iterator<Item = [f64; 2]>) -> Solver<M> {
        Solver {
            access: Access::new(capacities),
            messages: Vec::new(),
            queues: BTreeMap::new(),
            armed: Time::MAX,
            counts: Counts::default(),
            recording: Recording(None),
        }
    }

    /// Accepts a message. It follows the messages that its sender has sent to its receiver before.
    pub(super) fn accept(&mut self, now: Time, message: OnItsWay<M>) {
        self.counts.on_their_way += 1;
        let pair = (message.from, message.to);
        match self.queues.get_mut(&pair) {
            Some(queue) => {
                queue.push_back(message);
                self.note(|| Step::Queued(pair));
            }
            None => {
                self.queues.insert(pair, VecDeque::new());
                self.note(|| Step::Opened(pair));
                let index = start(&mut self.access, now, &message);
                self.started(index, message);
            }
        }
    }

    /// Notes a change, if this execution may be undone.
    fn note(&mut self, step: impl FnOnce() -> Step<M>) {
        if let Some(journal) = &mut self.recording.0 {
            journal.steps.push(step());
        }
    }

    /// Keeps the message whose transfer has started with this index.
    fn started(&mut self, index: usize, message: OnItsWay<M>) {
        if self.messages.len() <= index {
            self.messages.resize_with(index + 1, || None);
        }
        self.messages[index] = Some(message);
        self.note(|| Step::Started(index));
    }

    /// Passes on the messages whose transfers have ended. `lead` is the time from the solver to a sender.
    pub(super) fn end_transfers(&mut self, lead: Delay, ctx: &mut impl CarrierContext<Packet<M>>) {
        while let Some(id) = self.access.pop_ended(ctx.now()) {
            let ended = self.messages[id.index()].take().expect("a transfer ends once");
            self.note(|| Step::Ended(id.index(), ended.clone()));
            let OnItsWay { from, to, bits, rest, receipt, message, .. } = ended;
            self.counts.on_their_way -= 1;
            self.counts.transfers += 1;
            self.counts.bits += bits;
            ctx.send_to(to, rest, Packet::Arrived { from, message });
            if let Some(receipt) = receipt {
                ctx.send_to(from, lead, Packet::Report { receipt, outcome: Ok(()) });
            }
            let pair = (from, to);
            let queue = self.queues.get_mut(&pair).expect("it has a transfer");
            // The message leaves its queue after its start, which panics at an impossible length.
            let next = queue.front().map(|next| start(&mut self.access, ctx.now(), next));
            match next.zip(queue.pop_front()) {
                Some((index, next)) => {
                    self.note(|| Step::Dequeued(pair));
                    self.started(index, next);
                }
                None => {
                    self.queues.remove(&pair);
                    self.note(|| Step::Closed(pair));
                }
            }
        }
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

    /// Begins to record the changes of an execution.
    pub(super) fn record(&mut self) {
        self.access.record();
        self.recording = Recording(Some(Journal { armed: self.armed, counts: self.counts, steps: Vec::new() }));
    }

    /// Ends the recording. Returns the changes of the execution.
    pub(super) fn recorded(&mut self) -> Option<Changes<M>> {
        let journal = self.recording.0.take()?;
        Some(Changes { journal, access: self.access.recorded() })
    }

    /// Undoes the changes of the latest execution.
    pub(super) fn undo(&mut self, Changes { journal, access }: Changes<M>) {
        let Journal { armed, counts, steps } = journal;
        (self.armed, self.counts) = (armed, counts);
        // The message whose start has been undone. It came from a queue, or from its sender.
        let mut unstarted = None;
        for step in steps.into_iter().rev() {
            match step {
                Step::Started(index) => unstarted = self.messages[index].take(),
                Step::Ended(index, message) => self.messages[index] = Some(message),
                Step::Opened(pair) => drop(self.queues.remove(&pair)),
                Step::Closed(pair) => drop(self.queues.insert(pair, VecDeque::new())),
                Step::Queued(pair) => drop(self.queue(pair).pop_back()),
                Step::Dequeued(pair) => {
                    let message = unstarted.take().expect("a message that leaves a queue starts");
                    self.queue(pair).push_front(message);
                }
            }
        }
        self.access.undo(access);
        self.messages.truncate(self.access.ids());
    }

    fn queue(&mut self, pair: Pair) -> &mut VecDeque<OnItsWay<M>> {
        self.queues.get_mut(&pair).expect("it was there before the changes that are undone")
    }
}

/// Starts the transfer of a message. Returns its index.
fn start<M>(access: &mut Access, now: Time, message: &OnItsWay<M>) -> usize {
    let [from, to] = message.ends;
    access.start(now, from, to, message.bits).index()
}
