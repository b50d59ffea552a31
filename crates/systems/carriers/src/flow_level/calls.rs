//! The calls of processes, as the solver serves them: computations, disks, mailboxes, and waits for each
//! other.
//!
//! The solver's LP executes one packet at a time, in the order of events. So what processes of different
//! hosts ask for at one time is served in one order on every engine. Nothing here takes time but the
//! activities of the network.

use super::packet::{Answer, ChangeOfCall, Failure, Name, Packet, Request, Semaphore};
use super::solver::{Owner, Solver};
use super::FlowLevel;
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
    process: ProcessId,
    what: What,
}

/// What a call waits for, or has.
#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
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

/// A message of a mailbox, from its put or its get on until it has arrived.
#[derive(Debug)]
pub(super) struct Mail<M> {
    mailbox: Name,
    put: Option<Sent<M>>,
    /// The call that gets it.
    get: Option<CallId>,
    flow: Option<ActivityId>,
    /// Set for a message that has arrived, or failed, before anyone gets it.
    outcome: Option<Outcome>,
}

/// The side of a message that puts it.
#[derive(Debug)]
struct Sent<M> {
    from: LpId,
    /// The process, and its call unless it does not wait.
    process: ProcessId,
    call: Option<CallId>,
    message: M,
}

/// A mailbox: the messages that wait for a get, or the gets that wait for a message.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    waiting: VecDeque<u64>,
    /// The node to which messages travel as soon as they are put.
    receiver: Option<LpId>,
    /// The messages that have set out to that node, and that nobody gets yet.
    ahead: VecDeque<u64>,
}

/// The free permits, and the calls that wait for one.
#[derive(Debug)]
struct Permits {
    free: u32,
    at_start: u32,
    waiting: VecDeque<CallId>,
}

/// A barrier: the calls that wait for the others.
#[derive(Debug)]
struct Barrier {
    parties: u32,
    waiting: Vec<CallId>,
}

/// The calls of all nodes, and the objects at which processes of different hosts wait for each other.
#[derive(Debug)]
pub(super) struct Calls<M> {
    served: BTreeMap<CallId, Served>,
    mails: BTreeMap<u64, Mail<M>>,
    last_mail: u64,
    mailboxes: BTreeMap<Name, Mailbox>,
    permits: BTreeMap<(bool, Name), Permits>,
    barriers: BTreeMap<Name, Barrier>,
    conditions: BTreeMap<Name, VecDeque<CallId>>,
    /// The processes that are suspended.
    suspended: BTreeSet<ProcessId>,
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

/// The key of the permits, and their number at the start.
fn key_of(semaphore: &Semaphore) -> ((bool, Name), u32) {
    match semaphore {
        Semaphore::Mutex(name) => ((false, name.clone()), 1),
        Semaphore::Permits(name, permits) => ((true, name.clone()), *permits),
    }
}

/// Answers a call.
fn answer<M>((node, receipt): CallId, answer: Answer<M>, ctx: &mut impl CarrierContext<Packet<M>>) {
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
        solver.network.advance(ctx.now());
        solver.collect();
        let call = receipt.map(|receipt| (process.node, receipt));
        let served = |call: Option<CallId>, what: What, solver: &mut Solver<M>| {
            call.map(|call| solver.calls.served.insert(call, Served { process, what }));
        };
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
                served(call, What::Put(number), solver);
            }
            Request::Get(name) => {
                let call = call.expect("whoever gets a message awaits it");
                self.get(solver, name, call, process, ctx);
            }
            Request::SetReceiver(name) => {
                solver.calls.mailboxes.entry(name.clone()).or_default().receiver = Some(process.node);
            }
            Request::Acquire(semaphore, returns) => {
                let call = call.expect("whoever acquires a permit awaits it");
                solver.calls.served.insert(call, Served { process, what: What::Waits(semaphore.clone(), *returns) });
                acquire(solver, semaphore, call, ctx);
            }
            Request::Release(semaphore) => release(solver, semaphore, ctx),
            Request::Barrier(name, parties) => {
                let call = call.expect("whoever comes to a barrier awaits the others");
                served(Some(call), What::Barrier(name.clone()), solver);
                pass(solver, name, *parties, call, ctx);
            }
            Request::Wait { condition, mutex, held } => {
                let call = call.expect("whoever waits at a condition awaits it");
                let holds = solver.calls.served.remove(&(process.node, *held));
                if holds.is_none_or(|holds| holds.what != What::Holds(mutex.clone())) {
                    return ctx.fail(format!("the condition `{condition}` is awaited with a mutex that is not locked"));
                }
                served(Some(call), What::Condition(condition.clone(), mutex.clone()), solver);
                solver.calls.conditions.entry(condition.clone()).or_default().push_back(call);
                release(solver, mutex, ctx);
            }
            Request::Notify(name, all) => notify(solver, name, *all, ctx),
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

    /// Puts a message into a mailbox. Returns its number.
    fn put(&self, solver: &mut Solver<M>, name: &Name, sent: Sent<M>, ctx: &mut impl CarrierContext<Packet<M>>) -> u64 {
        let mailbox = solver.calls.mailboxes.entry(name.clone()).or_default();
        let waiting = mailbox.waiting.front().copied();
        let waiting = waiting.filter(|number| solver.calls.mails[number].put.is_none());
        if let Some(number) = waiting {
            mailbox.waiting.pop_front();
            forget_if_empty(solver, name);
            solver.calls.mails.get_mut(&number).expect("it waits").put = Some(sent);
            self.travel(solver, number, ctx);
            return number;
        }
        solver.calls.last_mail += 1;
        let number = solver.calls.last_mail;
        let receiver = mailbox.receiver;
        match receiver {
            Some(_) => mailbox.ahead.push_back(number),
            None => mailbox.waiting.push_back(number),
        }
        let mail = Mail { mailbox: name.clone(), put: Some(sent), get: None, flow: None, outcome: None };
        solver.calls.mails.insert(number, mail);
        if receiver.is_some() {
            self.travel(solver, number, ctx);
        }
        number
    }

    /// Gets a message from a mailbox.
    fn get(
        &self,
        solver: &mut Solver<M>,
        name: &Name,
        call: CallId,
        process: ProcessId,
        ctx: &mut impl CarrierContext<Packet<M>>,
    ) {
        let mailbox = solver.calls.mailboxes.entry(name.clone()).or_default();
        let ahead = mailbox.ahead.pop_front();
        let waiting = mailbox.waiting.front().copied();
        let waiting = waiting.filter(|number| solver.calls.mails[number].put.is_some());
        let number = match (ahead, waiting) {
            (Some(number), _) => number,
            (None, Some(number)) => {
                mailbox.waiting.pop_front();
                number
            }
            (None, None) => {
                solver.calls.last_mail += 1;
                let number = solver.calls.last_mail;
                mailbox.waiting.push_back(number);
                let mail = Mail { mailbox: name.clone(), put: None, get: None, flow: None, outcome: None };
                solver.calls.mails.insert(number, mail);
                number
            }
        };
        forget_if_empty(solver, name);
        solver.calls.served.insert(call, Served { process, what: What::Get(number) });
        let mail = solver.calls.mails.get_mut(&number).expect("it is there");
        mail.get = Some(call);
        match mail.outcome {
            Some(outcome) => finish_mail(solver, number, outcome, ctx),
            None if ahead.is_none() && waiting.is_some() => self.travel(solver, number, ctx),
            None => {}
        }
    }

    /// Lets a message travel to the node that gets it, or that gets all of its mailbox.
    fn travel(&self, solver: &mut Solver<M>, number: u64, ctx: &mut impl CarrierContext<Packet<M>>) {
        let mail = &solver.calls.mails[&number];
        let sent = mail.put.as_ref().expect("it has been put");
        let to = mail.get.map_or_else(|| solver.calls.mailboxes[&mail.mailbox].receiver, |(node, _)| Some(node));
        let to = to.expect("somebody gets it");
        let bytes = (self.bytes)(&sent.message);
        let sender = sent.process;
        match solver.network.start_flow(self.host(sent.from), self.host(to), bytes) {
            Ok(id) => {
                solver.set_owner(id, Owner::Mail(number));
                solver.in_flight += 1;
                let receiver = solver.calls.mails[&number].get.and_then(|call| solver.calls.served.get(&call));
                let processes = [Some(sender), receiver.map(|served| served.process)];
                if processes.into_iter().flatten().any(|process| solver.calls.suspended.contains(&process)) {
                    solver.network.suspend(id);
                }
                solver.calls.mails.get_mut(&number).expect("it is there").flow = Some(id);
            }
            Err(why) => ctx.fail(why.to_string()),
        }
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
        solver.network.advance(ctx.now());
        solver.collect();
        // A call that was answered as it was given up is over.
        let Some(Served { what, .. }) = solver.calls.served.remove(&call) else { return self.settle(solver, ctx) };
        match what {
            What::Activity(id) => {
                solver.owners[id.slot()] = None;
                solver.network.cancel(id);
            }
            What::Put(number) | What::Get(number) => abandon_mail(solver, number, call, ctx),
            What::Waits(semaphore, _) => {
                let permits = solver.calls.permits.get_mut(&key_of(&semaphore).0);
                permits.into_iter().for_each(|permits| permits.waiting.retain(|other| *other != call));
            }
            What::Holds(semaphore) => release(solver, &semaphore, ctx),
            What::Barrier(name) => {
                let barrier = solver.calls.barriers.get_mut(&name);
                barrier.into_iter().for_each(|barrier| barrier.waiting.retain(|other| *other != call));
            }
            What::Condition(name, _) => {
                let waiting = solver.calls.conditions.get_mut(&name);
                waiting.into_iter().for_each(|waiting| waiting.retain(|other| *other != call));
            }
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

/// Forgets a mailbox at which nobody waits, so that a run may use any number of names.
fn forget_if_empty<M>(solver: &mut Solver<M>, name: &Name) {
    let is_empty =
        |mailbox: &Mailbox| mailbox.waiting.is_empty() && mailbox.ahead.is_empty() && mailbox.receiver.is_none();
    if solver.calls.mailboxes.get(name).is_some_and(is_empty) {
        solver.calls.mailboxes.remove(name);
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

/// Returns whether a process at either end of a message is suspended.
fn ends_are_suspended<M>(solver: &Solver<M>, id: ActivityId) -> bool {
    let Some(Owner::Mail(number)) = &solver.owners[id.slot()] else { return false };
    let Some(mail) = solver.calls.mails.get(number) else { return false };
    let getter = mail.get.and_then(|call| solver.calls.served.get(&call)).map(|served| served.process);
    let sender = mail.put.as_ref().map(|sent| sent.process);
    [getter, sender].into_iter().flatten().any(|process| solver.calls.suspended.contains(&process))
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

/// Answers both ends of a message whose flow has ended. If nobody gets it yet, it waits.
pub(super) fn finish_mail<M: Payload + Clone>(
    solver: &mut Solver<M>,
    number: u64,
    outcome: Outcome,
    ctx: &mut impl CarrierContext<Packet<M>>,
) {
    let mail = solver.calls.mails.get_mut(&number).expect("a message is there until its end");
    mail.flow = None;
    let failure = if outcome == Outcome::Done { None } else { Some(Failure::Network) };
    let sent = mail.put.as_mut().expect("it has been put");
    if let Some(put) = sent.call.take() {
        solver.calls.served.remove(&put);
        answer(put, Answer::Done(failure.map_or(Ok(()), Err)), ctx);
    }
    let Some(get) = mail.get else {
        mail.outcome = Some(outcome);
        return;
    };
    let mail = solver.calls.mails.remove(&number).expect("it was found above");
    solver.calls.served.remove(&get);
    let Sent { from, message, .. } = mail.put.expect("it was found above");
    answer(get, Answer::Message(failure.map_or(Ok((from, message)), Err)), ctx);
}

/// Ends a message because one end no longer waits. The other end learns of it, if there is one.
fn abandon_mail<M>(solver: &mut Solver<M>, number: u64, by: CallId, ctx: &mut impl CarrierContext<Packet<M>>) {
    let Some(mail) = solver.calls.mails.remove(&number) else { return };
    if let Some(mailbox) = solver.calls.mailboxes.get_mut(&mail.mailbox) {
        mailbox.waiting.retain(|other| *other != number);
        mailbox.ahead.retain(|other| *other != number);
    }
    forget_if_empty(solver, &mail.mailbox);
    if let Some(flow) = mail.flow {
        solver.owners[flow.slot()] = None;
        solver.in_flight -= 1;
        solver.failed += 1;
        solver.network.cancel(flow);
    }
    let put = mail.put.and_then(|sent| sent.call);
    for other in [put, mail.get].into_iter().flatten().filter(|other| *other != by) {
        let is_get = Some(other) == mail.get;
        solver.calls.served.remove(&other);
        let failed = Err(Failure::Peer);
        answer(other, if is_get { Answer::Message(Err(Failure::Peer)) } else { Answer::Done(failed) }, ctx);
    }
}

/// Returns the permits, which are made at their first use.
fn permits<'a, M>(
    solver: &'a mut Solver<M>,
    semaphore: &Semaphore,
    ctx: &mut impl CarrierContext<Packet<M>>,
) -> &'a mut Permits {
    let (key, at_start) = key_of(semaphore);
    let name = key.1.clone();
    let permits = solver.calls.permits.entry(key);
    let permits = permits.or_insert_with(|| Permits { free: at_start, at_start, waiting: VecDeque::new() });
    if permits.at_start != at_start {
        let before = permits.at_start;
        ctx.fail(format!("the semaphore `{name}` has {before} permits for one process and {at_start} for another"));
    }
    permits
}

/// Lets a call wait for a permit.
fn acquire<M>(
    solver: &mut Solver<M>,
    semaphore: &Semaphore,
    call: CallId,
    ctx: &mut impl CarrierContext<Packet<M>>,
) {
    permits(solver, semaphore, ctx).waiting.push_back(call);
    grant(solver, semaphore, ctx);
}

/// Returns a permit.
fn release<M>(solver: &mut Solver<M>, semaphore: &Semaphore, ctx: &mut impl CarrierContext<Packet<M>>) {
    permits(solver, semaphore, ctx).free += 1;
    grant(solver, semaphore, ctx);
}

/// Gives free permits to the calls that have waited longest.
fn grant<M>(solver: &mut Solver<M>, semaphore: &Semaphore, ctx: &mut impl CarrierContext<Packet<M>>) {
    loop {
        let permits = permits(solver, semaphore, ctx);
        if permits.free == 0 {
            return;
        }
        let Some(call) = permits.waiting.pop_front() else { return };
        permits.free -= 1;
        let served = solver.calls.served.get_mut(&call).expect("a call that waits is served");
        match served.what {
            What::Waits(_, false) => {
                solver.calls.served.remove(&call);
            }
            _ => served.what = What::Holds(semaphore.clone()),
        }
        answer(call, Answer::Done(Ok(())), ctx);
    }
}

/// Lets a call wait for the others at a barrier, or all of them pass.
fn pass<M>(
    solver: &mut Solver<M>,
    name: &Name,
    parties: u32,
    call: CallId,
    ctx: &mut impl CarrierContext<Packet<M>>,
) {
    let barrier = solver.calls.barriers.entry(name.clone());
    let barrier = barrier.or_insert_with(|| Barrier { parties, waiting: Vec::new() });
    if barrier.parties != parties {
        let before = barrier.parties;
        return ctx.fail(format!("the barrier `{name}` is for {before} processes and for {parties}"));
    }
    barrier.waiting.push(call);
    if barrier.waiting.len() < parties as usize {
        return;
    }
    for other in std::mem::take(&mut barrier.waiting) {
        solver.calls.served.remove(&other);
        answer(other, Answer::Passed(other == call), ctx);
    }
}

/// Lets those who wait at a condition lock their mutex again: the first, or all.
fn notify<M>(solver: &mut Solver<M>, name: &Name, all: bool, ctx: &mut impl CarrierContext<Packet<M>>) {
    let Some(waiting) = solver.calls.conditions.get_mut(name) else { return };
    let count = if all { waiting.len() } else { waiting.len().min(1) };
    let notified: Vec<CallId> = waiting.drain(..count).collect();
    for call in notified {
        let served = solver.calls.served.get_mut(&call).expect("a call that waits is served");
        let What::Condition(_, mutex) = &served.what else { unreachable!("it waits at a condition") };
        let mutex = mutex.clone();
        served.what = What::Waits(mutex.clone(), true);
        acquire(solver, &mutex, call, ctx);
    }
}
