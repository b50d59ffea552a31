//! Gets of the first message of several mailboxes.

use super::super::FlowLevel;
use super::super::calls::CallId;
use super::super::packet::{Name, Packet};
use super::super::solver::Solver;
use super::forget_if_empty;
use parades_core::digest::Payload;
use parades_program::{CarrierContext, ProcessId};

impl<M: Payload + Clone> FlowLevel<M> {
    /// Gets the message that was put first into one of the mailboxes. If all are empty, the get waits at each
    /// of them.
    pub(in super::super) fn get_first(
        &self,
        solver: &mut Solver<M>,
        names: &[Name],
        call: CallId,
        process: ProcessId,
        ctx: &mut impl CarrierContext<Packet<M>>,
    ) {
        // Messages are numbered in the order in which they are put.
        let first = |name: &Name| {
            let mailbox = solver.calls.mailboxes.get(name)?;
            let message = mailbox.ahead.front().or(mailbox.waiting.front())?;
            solver.calls.mails[message].put.as_ref().map(|_| *message)
        };
        let earliest = names.iter().filter_map(|name| Some((first(name)?, name))).min();
        let name = earliest.map_or(&names[0], |(_, name)| name);
        self.get(solver, name, call, process, ctx);
        if earliest.is_none() && names.len() > 1 {
            let number = solver.calls.last_mail;
            for other in &names[1..] {
                solver.calls.mailboxes.entry(other.clone()).or_default().waiting.push_back(number);
            }
            solver.calls.of_several.insert(number, names.to_vec());
        }
    }
}

/// Ends the wait of a get at all its mailboxes.
pub(super) fn leave_others<M>(solver: &mut Solver<M>, number: u64) {
    for name in solver.calls.of_several.remove(&number).unwrap_or_default() {
        if let Some(mailbox) = solver.calls.mailboxes.get_mut(&name) {
            mailbox.waiting.retain(|other| *other != number);
            forget_if_empty(solver, &name);
        }
    }
}
