//! The calls of processes, as the solver serves them: computations, disks, mailboxes, and waits for each
//! other.
//!
//! The solver's LP executes one packet at a time, in the order of events. So what processes of different
//! hosts ask for at one time is served in one order on every engine. Nothing here takes time but the
//! activities of the network.

use super::FlowLevel;
use super::mail::{Mail, Mailbox, Sent, abandon_mail, ends_are_suspended};
use super::meeting::{self, Barrier, Permits};
use super::packet::{Answer, ChangeOfCall, Failure, Name, Packet, Request, Semaphore};
use super::solver::{Owner, Solver};
use parades_core::digest::Payload;
use parades_core::event::LpId;
use parades_core::time::Delay;
use parades_flow::network::{ActivityId, Change, Outcome, Property};
use parades_program::{CarrierContext, Order, ProcessId, Receipt};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The name of a call in the whole run.
pub(super) type CallId = (LpId, Receipt);

/// A call that is served, or whose permit has not been returned.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) process: ProcessId,
    pub(super) what: What,
}

/// The thing that a call waits for, or has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Activity(ActivityId),
    /// The end of a message, by the number of the message.
    Put(u64),
    /// A message, by its number.
    Get(u64),
    /// A permit. The flag says that the permit is returned with the call.
    Waits(Semaphore, bool),
    Holds(Semaphore),
    Barrier(Name),
    Condition(Name, Semaphore),
}

/// The calls of all nodes, and the objects at which processes of different hosts wait for each other.
#[derive(Debug)]
pub(super) struct Calls<M> {
    pub(super) served: BTreeMap<CallId, Served>,
    pub(super) mails: BTreeMap<u64, Mail<M>>,
    pub(super) last_mail: u64,
    pub(super) mailboxes: BTreeMap<Name, Mailbox>,
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
                let sent = Sent { from: process.node, process, call, message: message.clone() };
                let number = self.put(solver, name, sent, ctx);
                if let Some(call) = call {
                    solver.calls.served.insert(call, Served { process, what: What::Put(number) });
                }
            }
            Request::Get(name) => {
                let call = call.expect("whoever gets a message awaits it");
                self.get(solver, name, call, process, ctx);
            }
            Request::SetReceiver(name) => {
                solver.calls.mailboxes.entry(name.clone()).or_default().receiver = Some(process.node);
            }
            Request::Meet(meeting) => meeting::meet(solver, process, call, meeting, ctx),
            Request::Join(of) => {
                let receipt = receipt.expect("whoever joins a process awaits its end");
                ctx.send_to(of.node, Delay::ZERO, Packet::Join { process: *of, from: process.node, receipt });
            }
            Request::Order(of, order) => self.order(solver, *of, *order, ctx),
            Request::Change(receipt, change) => change_call(solver, (process.node, *receipt), *change),
            Request::Remaining(of) => {
                let id = activity_of(solver, (process.node, *of));
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
        if solver.calls.suspended.contains(&process) {
            solver.network.suspend(id);
        }
        solver.calls.served.insert(call, Served { process, what: What::Activity(id) });
    }

    /// Gives an order to a process, and suspends or resumes what it waits for.
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
            let of_node = solver.calls.served.iter().filter(|(_, served)| served.process == process);
            let ids: Vec<ActivityId> = of_node.filter_map(|(&call, _)| activity_of(solver, call)).collect();
            for id in ids {
                match order {
                    Order::Suspend => solver.network.suspend(id),
                    // The process at the other end of a message may still be suspended.
                    _ if !ends_are_suspended(solver, id) => solver.network.resume(id),
                    _ => {}
                }
            }
        }
        ctx.send_to(process.node, Delay::ZERO, Packet::Order(process, order));
    }

    /// Takes back a call of a node: what is being served ends, and a permit is returned.
    pub(super) fn take_back(&self, solver: &mut Solver<M>, call: CallId, ctx: &mut impl CarrierContext<Packet<M>>) {
        solver.network.come_to(ctx.now());
        solver.collect();
        // A call that was answered as it was given up is over.
        let Some(Served { what, .. }) = solver.calls.served.remove(&call) else { return self.settle(solver, ctx) };
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

    /// Answers what has ended, and tells nodes of changes of their hosts.
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

/// Returns the activity of a call, if it has one.
fn activity_of<M>(solver: &Solver<M>, call: CallId) -> Option<ActivityId> {
    match solver.calls.served.get(&call)?.what {
        What::Activity(id) => Some(id),
        What::Put(number) | What::Get(number) => solver.calls.mails.get(&number)?.flow,
        _ => None,
    }
}

/// Changes what a call has under way. Does nothing if it has ended, or waits for somebody.
fn change_call<M: Payload + Clone>(solver: &mut Solver<M>, call: CallId, change: ChangeOfCall) {
    let Some(id) = activity_of(solver, call) else { return };
    match change {
        ChangeOfCall::Suspend => solver.network.suspend(id),
        ChangeOfCall::Resume => solver.network.resume(id),
        ChangeOfCall::Priority(priority) => solver.network.set_priority(id, priority),
        ChangeOfCall::Bound(bound) => solver.network.set_limit(id, bound),
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
