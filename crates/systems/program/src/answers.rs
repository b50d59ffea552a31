//! Answers of carriers that processes await, each under a name of its own.

use crate::desk::Worker;
use crate::wait::{Ticket, Waiter};
use std::task::Context;

/// The answers of one kind that the processes of a node await.
#[derive(Debug)]
pub(crate) struct Answers<T>(Vec<Awaited<T>>);

#[derive(Debug)]
struct Awaited<T> {
    ticket: Ticket,
    answer: Option<T>,
    waiter: Option<Waiter>,
}

impl<T> Default for Answers<T> {
    fn default() -> Answers<T> {
        Answers(Vec::new())
    }
}

impl<T> Answers<T> {
    /// Adds an answer that has not come.
    pub(crate) fn add(&mut self, ticket: Ticket) {
        self.0.push(Awaited { ticket, answer: None, waiter: None });
    }

    /// Returns whether the answer of this name is awaited.
    #[inline]
    pub(crate) fn has(&self, ticket: Ticket) -> bool {
        self.0.iter().any(|awaited| awaited.ticket == ticket)
    }

    /// Returns whether the answer of this name has come.
    pub(crate) fn has_come(&self, ticket: Ticket) -> bool {
        self.0.iter().any(|awaited| awaited.ticket == ticket && awaited.answer.is_some())
    }

    /// Keeps an answer, and returns the waiter to wake. An answer that is no longer awaited is dropped.
    pub(crate) fn come(&mut self, ticket: Ticket, answer: T) -> Option<Waiter> {
        let awaited = self.0.iter_mut().find(|awaited| awaited.ticket == ticket)?;
        awaited.answer = Some(answer);
        awaited.waiter.take()
    }

    /// Takes the answer of this name. If it has not come, the process that is polled waits for it.
    ///
    /// # Panics
    ///
    /// If the answer has been taken.
    pub(crate) fn poll(&mut self, ticket: Ticket, context: &Context<'_>, worker: &Worker) -> Option<T> {
        let index = self.0.iter().position(|awaited| awaited.ticket == ticket);
        let index = index.expect("an answer is awaited once");
        if self.0[index].answer.is_some() {
            return self.0.swap_remove(index).answer;
        }
        let waker = Waiter::waker(context, worker.own_waker);
        self.0[index].waiter = Some(Waiter { place: worker.current, ticket, waker });
        None
    }

    /// Ends the wait for the answer of this name. Returns the answer if it has come, for the caller to drop
    /// where its destructor may use the node, and the waiter.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> (Option<T>, Option<Waiter>) {
        let index = self.0.iter().position(|awaited| awaited.ticket == ticket);
        let awaited = index.map(|index| self.0.swap_remove(index));
        awaited.map_or((None, None), |awaited| (awaited.answer, awaited.waiter))
    }
}
