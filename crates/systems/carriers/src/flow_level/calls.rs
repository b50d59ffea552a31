//! The calls of processes, as the solver serves them: computations, disks, mailboxes, and waits for each
//! other.
//!
//! The solver's LP executes one packet at a time, in the order of events. So requests of one time from
//! different hosts are served in one order on every engine. Only the activities of the network take time.

use super::FlowLevel;
use super::mail::{Mail, Mailbox, Sent, abandon_mail};
use super::meeting::{self, Barrier, Permits, Wants};
use super::packet::{Answer, ChangeOfCall, Failure, Name, Packet, Request, Semaphore};
use super::solver::{Owner, Solver};
use parades_core::digest::Payload;
use parades_core::event::LpId;
use parades_core::time::Delay;
use parades_flow::network::{ActivityId, Change, Outcome, Property};
use parades_program::{CarrierContext, Order, ProcessId, Receipt};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

/// The name of a call in the whole run.
pub(super) type CallId = (LpId, Receipt);

/// A call that is served, or whose permit has not been returned.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) process: ProcessId,
    pub(super) what: What,
    /// True if a process has suspended the call itself ([`super::Activity::suspend`]).
    is_suspended: bool,
}

impl Served {
    pub(super) fn new(process: ProcessId, what: What) -> Served {
        Served { process, what, is_suspended: false }
    }
}

/// The thing that a call waits for, or has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Activity(ActivityId),
    /// The end of a message, by the number of the message.
    Put(u64),
    /// A message, by its number.
    Get(u64),
    /// A permit.
    Waits(Semaphore, Wants),
    Holds(Semaphore),
    Barrier(Name),
    /// A notification of the condition. Then the mutex is locked again.
    Condition(Name, Semaphore),
}

/// The calls of all nodes, and the objects at which processes of different hosts wait for each other.
#[derive(Debug)]
pub(super) struct Calls<M> {
    pub(super) served: BTreeMap<CallId, Served>,
    pub(super) mails: BTreeMap<u64, Mail<M>>,
    pub(super) last_mail: u64,
    pub(super) mailboxes: BTreeMap<Name, Mailbox>,
    /// The mailboxes of each message that a process gets from the first of several, until it is put.
    pub(super) of_several: BTreeMap<u64, Vec<Name>>,
    pub(super) permits: BTreeMap<(bool, Name), Permits>,
    pub(super) barriers: BTreeMap<Name, Barrier>,
    pub(super) conditions: BTreeMap<Name, VecDeque<CallId>>,
    /// The processes that are suspended.
    pub(super) suspended: BTreeSet<ProcessId>,
}

impl<M> Default for Calls<M> {
    fn default() -> Calls<M> {
        Calls {
            served: BTreeMap::new(),
            mails: BTreeMap::new(),
            last_mail: 0,
            mailboxes: BTreeMap::new(),
            of_several: BTreeMap::new(),
            permits: BTreeMap::new(),
            barriers: BTreeMap::new(),
            conditions: BTreeMap::new(),
            suspended: BTreeSet::new(),
        }
    }
}

impl<M> Calls<M> {
    /// Returns true if no process has ever made a call that left a trace.
    pub(super) fn is_empty(&self) -> bool {
        self.served.is_empty() && self.last_mail == 0 && self.permits.is_empty() && self.barriers.is_empty()
    }

    /// Returns the number of messages that lie in mailboxes: nobody gets them, or they have arrived before.
    pub(super) fn unread(&self) -> u64 {
        self.mails.values().filter(|mail| mail.is_unread()).count() as u64
    }

    /// Returns whether a call makes no progress: it or its process is suspended.
    pub(super) fn is_suspended(&self, call: CallId) -> bool {
        let served = self.served.get(&call);
        served.is_some_and(|served| served.is_suspended || self.suspended.contains(&served.process))
    }

    /// Returns the activity of a call, if it has one.
    fn activity_of(&self, call: CallId) -> Option<ActivityId> {
        match self.served.get(&call)?.what {
            What::Activity(id) => Some(id),
            What::Put(number) | What::Get(number) => self.mails.get(&number)?.flow,
            _ => None,
        }
    }
}

/// Answers a call.
pub(super) fn answer<M>((node, receipt): CallId, answer: Answer<M>, ctx: &mut impl CarrierContext<Packet<M>>) {
    ctx.send_to(node, Delay::ZERO, Packet::Answer(receipt, answer));
}

impl<M: Payload + Clone> FlowLevel<M> {
    /// Serves a request of a process.
    pub(super) fn serve(
        &self,
        solver: &mut Solver<M>,
        process: ProcessId,
        receipt: Option<Receipt>,
        request: &Request<M>,
        ctx: &mut impl CarrierContext<Packet<M>>,
    ) {
        solver.network.come_to(ctx.now());
        solver.collect();
        let call = receipt.map(|receipt| (process.node, receipt));
        match request {
            Request::Compute(host, execution) => {
                let id = solver.network.start_execution(*host, *execution);
                self.own(solver, process, call, id);
            }
            &Request::Disk(disk, transfer, bytes) => {
                let id = solver.network.start_disk(disk, transfer, bytes);
                self.own(solver, process, call, id);
            }
            Request::Put(name, message) => {
                let sent = Sent { process, call, message: message.clone() };
                self.put(solver, name, sent, ctx);
            }
            Request::Get(name) => {
                let call = call.expect("a process that gets a message awaits it");
                self.get(solver, name, call, process, ctx);
            }
            Request::GetFirst(names) => {
                let call = call.expect("a process that gets a message awaits it");
                self.get_first(solver, names, call, process, ctx);
            }
            Request::SetReceiver(name) => {
                solver.calls.mailboxes.entry(name.clone()).or_default().receiver = Some(process.node);
            }
            Request::Meet(meeting) => meeting::meet(solver, process, call, meeting, ctx),
            Request::Join(of) => {
                let receipt = receipt.expect("a process that joins another awaits its end");
                ctx.send_to(of.node, Delay::ZERO, Packet::Join { process: *of, from: process.node, receipt });
            }
            Request::Order(of, order) => self.order(solver, *of, *order, ctx),
            Request::Change(receipt, change) => change_call(solver, (process.node, *receipt), *change),
            Request::Remaining(of) => {
                let id = solver.calls.activity_of((process.node, *of));
                let amount = id.and_then(|id| solver.network.remaining(id)).unwrap_or(0.0);
                call.into_iter().for_each(|call| answer(call, Answer::Remaining(amount), ctx));
            }
            &Request::SetHost(host, works) => {
                let value = f64::from(u8::from(works));
                solver.network.apply(Change { property: Property::HostState(host), value });
            }
            &Request::SetPowerState(host, state) => {
                let property = Property::PowerState(host);
                solver.network.apply(Change { property, value: f64::from(state) });
            }
        }
        self.settle(solver, ctx);
    }

    /// Makes an activity that has just begun the call's own.
    fn own(&self, solver: &mut Solver<M>, process: ProcessId, call: Option<CallId>, id: ActivityId) {
        let Some(call) = call else { return };
        solver.set_owner(id, Owner::Call(call));
        solver.calls.served.insert(call, Served::new(process, What::Activity(id)));
        suspend_or_resume(solver, call);
    }

    /// Gives an order to a process. Suspends or resumes the calls of the process with it.
    fn order(
        &self,
        solver: &mut Solver<M>,
        process: ProcessId,
        order: Order,
        ctx: &mut impl CarrierContext<Packet<M>>,
    ) {
        let is_change = match order {
            Order::Suspend => solver.calls.suspended.insert(process),
            Order::Resume | Order::Kill => solver.calls.suspended.remove(&process),
        };
        if is_change && order != Order::Kill {
            let of_node = solver.calls.served.range(calls_of(process.node));
            let of_process = of_node.filter(|(_, served)| served.process == process);
            let calls: Vec<CallId> = of_process.map(|(&call, _)| call).collect();
            calls.into_iter().for_each(|call| suspend_or_resume(solver, call));
        }
        ctx.send_to(process.node, Delay::ZERO, Packet::Order(process, order));
    }

    /// Takes back a call of a node: its activity is cancelled, its wait ends, and its permit is returned.
    pub(super) fn take_back(&self, solver: &mut Solver<M>, call: CallId, ctx: &mut impl CarrierContext<Packet<M>>) {
        solver.network.come_to(ctx.now());
        // A call that ends as it is given up is answered.
        self.settle(solver, ctx);
        let Some(Served { what, .. }) = solver.calls.served.remove(&call) else { return };
        match what {
            What::Activity(id) => {
                solver.owners[id.slot()] = None;
                solver.network.cancel(id);
            }
            What::Put(number) | What::Get(number) => abandon_mail(solver, number, call, ctx),
            what => meeting::leave(solver, &what, call, ctx),
        }
        self.settle(solver, ctx);
    }

    /// Answers the calls that have ended, and tells nodes of changes of their hosts.
    pub(super) fn settle(&self, solver: &mut Solver<M>, ctx: &mut impl CarrierContext<Packet<M>>) {
        solver.collect();
        if self.kills {
            self.tell_hosts(solver, ctx);
        }
        solver.deliver(ctx);
        self.tell_hosts(solver, ctx);
    }

    /// Tells the nodes of the hosts that have failed or work again.
    pub(super) fn tell_hosts(&self, solver: &mut Solver<M>, ctx: &mut impl CarrierContext<Packet<M>>) {
        while let Some((host, works)) = solver.network.take_host_change() {
            for node in self.nodes_of(host) {
                if self.kills && !works {
                    solver.calls.suspended.retain(|process| process.node != node);
                }
                ctx.send_to(node, Delay::ZERO, Packet::Host { works });
            }
        }
    }
}

/// Returns the range of the calls of a node.
fn calls_of(node: LpId) -> RangeInclusive<CallId> {
    (node, Receipt(NonZeroU32::MIN))..=(node, Receipt(NonZeroU32::MAX))
}

/// Suspends the activity of a call if the call is suspended, or the call at the other end of its message.
/// Otherwise resumes the activity.
pub(super) fn suspend_or_resume<M>(solver: &mut Solver<M>, call: CallId) {
    let Some(id) = solver.calls.activity_of(call) else { return };
    let is_suspended = match &solver.owners[id.slot()] {
        Some(Owner::Mail(number)) => {
            solver.calls.mails[number].calls().into_iter().flatten().any(|end| solver.calls.is_suspended(end))
        }
        _ => solver.calls.is_suspended(call),
    };
    match is_suspended {
        true => solver.network.suspend(id),
        false => solver.network.resume(id),
    }
}

/// Changes a call. Does nothing if the call has ended.
fn change_call<M>(solver: &mut Solver<M>, call: CallId, change: ChangeOfCall) {
    let Some(served) = solver.calls.served.get_mut(&call) else { return };
    if let ChangeOfCall::Suspend | ChangeOfCall::Resume = change {
        served.is_suspended = change == ChangeOfCall::Suspend;
        return suspend_or_resume(solver, call);
    }
    let Some(id) = solver.calls.activity_of(call) else { return };
    match change {
        ChangeOfCall::Priority(priority) => solver.network.set_priority(id, priority),
        ChangeOfCall::Bound(bound) => solver.network.set_limit(id, bound),
        ChangeOfCall::Suspend | ChangeOfCall::Resume => {}
    }
}

/// Answers the call of an activity that has ended.
pub(super) fn finish_call<M>(
    solver: &mut Solver<M>,
    call: CallId,
    outcome: Outcome,
    ctx: &mut impl CarrierContext<Packet<M>>,
) {
    if solver.calls.served.remove(&call).is_some() {
        let done = if outcome == Outcome::Done { Ok(()) } else { Err(Failure::Host) };
        answer(call, Answer::Done(done), ctx);
    }
}
