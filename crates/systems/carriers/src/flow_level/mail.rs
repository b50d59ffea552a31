//! Mailboxes: where a process that puts a message and one that gets it meet.

mod first;

use super::FlowLevel;
use super::calls::{CallId, Served, What, answer, suspend_or_resume};
use super::packet::{Answer, Failure, Name, Packet};
use super::solver::{Owner, Solver};
use parades_core::digest::Payload;
use parades_core::event::LpId;
use parades_flow::network::{ActivityId, Outcome};
use parades_program::{CarrierContext, ProcessId};
use std::collections::VecDeque;

/// A message of a mailbox, from its put or its get on until it has arrived.
#[derive(Debug)]
pub(super) struct Mail<M> {
    mailbox: Name,
    put: Option<Sent<M>>,
    /// The call that gets it.
    get: Option<CallId>,
    pub(super) flow: Option<ActivityId>,
    /// Set for a message that has arrived, or failed, before anyone gets it.
    outcome: Option<Outcome>,
}

impl<M> Mail<M> {
    /// Returns the calls that put and get the message, as far as they wait for its end.
    pub(super) fn calls(&self) -> [Option<CallId>; 2] {
        [self.put.as_ref().and_then(|sent| sent.call), self.get]
    }

    /// Returns whether the message has been put and does not travel.
    pub(super) fn is_unread(&self) -> bool {
        self.put.is_some() && self.flow.is_none()
    }
}

/// The side of a message that puts it.
#[derive(Debug)]
pub(super) struct Sent<M> {
    pub(super) process: ProcessId,
    /// The call of the process. `None` if the message is detached. Then it is independent of its process.
    pub(super) call: Option<CallId>,
    pub(super) message: M,
}

/// A mailbox: messages that wait for a get, or gets that wait for a message.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    waiting: VecDeque<u64>,
    /// The node to which messages travel as soon as they are put.
    pub(super) receiver: Option<LpId>,
    /// Messages that have set out to that node, and that no call gets yet.
    ahead: VecDeque<u64>,
}

impl<M: Payload + Clone> FlowLevel<M> {
    /// Puts a message into a mailbox.
    pub(super) fn put(
        &self,
        solver: &mut Solver<M>,
        name: &Name,
        sent: Sent<M>,
        ctx: &mut impl CarrierContext<Packet<M>>,
    ) {
        let mailbox = solver.calls.mailboxes.entry(name.clone()).or_default();
        let waiting = mailbox.waiting.front().copied();
        let waiting = waiting.filter(|number| solver.calls.mails[number].put.is_none());
        let number = waiting.unwrap_or(solver.calls.last_mail + 1);
        if let Some(call) = sent.call {
            solver.calls.served.insert(call, Served::new(sent.process, What::Put(number)));
        }
        if waiting.is_some() {
            mailbox.waiting.pop_front();
            forget_if_empty(solver, name);
            first::leave_others(solver, number);
            solver.calls.mails.get_mut(&number).expect("it waits").put = Some(sent);
            return self.travel(solver, number, ctx);
        }
        solver.calls.last_mail = number;
        let is_received = mailbox.receiver.is_some();
        match is_received {
            true => mailbox.ahead.push_back(number),
            false => mailbox.waiting.push_back(number),
        }
        let mail = Mail { mailbox: name.clone(), put: Some(sent), get: None, flow: None, outcome: None };
        solver.calls.mails.insert(number, mail);
        if is_received {
            self.travel(solver, number, ctx);
        }
    }

    /// Gets a message from a mailbox.
    pub(super) fn get(
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
        solver.calls.served.insert(call, Served::new(process, What::Get(number)));
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
        let (from, bytes) = (self.host(sent.process.node), (self.bytes)(&sent.message));
        match solver.network.start_flow(from, self.host(to), bytes) {
            Ok(id) => {
                solver.set_owner(id, Owner::Mail(number));
                solver.in_flight += 1;
                let mail = solver.calls.mails.get_mut(&number).expect("it is there");
                mail.flow = Some(id);
                if let Some(call) = mail.calls().into_iter().flatten().next() {
                    suspend_or_resume(solver, call);
                }
            }
            Err(why) => ctx.fail(why.to_string()),
        }
    }
}

/// Forgets a mailbox without messages, gets and a receiver, so that a run may use any number of names.
fn forget_if_empty<M>(solver: &mut Solver<M>, name: &Name) {
    let is_empty =
        |mailbox: &Mailbox| mailbox.waiting.is_empty() && mailbox.ahead.is_empty() && mailbox.receiver.is_none();
    if solver.calls.mailboxes.get(name).is_some_and(is_empty) {
        solver.calls.mailboxes.remove(name);
    }
}

/// Answers both ends of a message whose flow has ended. A message that no call gets yet waits for one.
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
    let Sent { process, message, .. } = mail.put.expect("it was found above");
    answer(get, Answer::Message(failure.map_or(Ok((process.node, message)), Err)), ctx);
}

/// Ends a message because one end no longer waits. The other end learns of it, if there is one.
pub(super) fn abandon_mail<M>(
    solver: &mut Solver<M>,
    number: u64,
    by: CallId,
    ctx: &mut impl CarrierContext<Packet<M>>,
) {
    let Some(mail) = solver.calls.mails.remove(&number) else { return };
    if let Some(mailbox) = solver.calls.mailboxes.get_mut(&mail.mailbox) {
        mailbox.waiting.retain(|other| *other != number);
        mailbox.ahead.retain(|other| *other != number);
    }
    forget_if_empty(solver, &mail.mailbox);
    first::leave_others(solver, number);
    if let Some(flow) = mail.flow {
        solver.owners[flow.slot()] = None;
        solver.in_flight -= 1;
        solver.failed += 1;
        solver.network.cancel(flow);
    }
    for other in mail.calls().into_iter().flatten().filter(|other| *other != by) {
        let is_get = Some(other) == mail.get;
        solver.calls.served.remove(&other);
        let failed = Err(Failure::Peer);
        answer(other, if is_get { Answer::Message(Err(Failure::Peer)) } else { Answer::Done(failed) }, ctx);
    }
}
