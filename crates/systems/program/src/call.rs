//! Calls: requests of processes that their carrier answers.
//!
//! A carrier that serves calls ([`Serves`]) has resources beside messages, such as the processors of a
//! platform. A process makes a call ([`Node::call`]), which sets out at once as a packet of the carrier, and
//! awaits the answer. A call that is dropped before its answer is given up, and the carrier learns of it
//! ([`Carrier::give_up`]). A call may be given something that it must return, such as a lock: a [`Claim`].

use crate::carrier::{Carrier, Receipt};
use crate::context::{Node, inner};
use crate::desk::{Asked, Desk, Worker, now_or_later, with_desk, with_parts};
use crate::program::Program;
use crate::table::Table;
use crate::wait::{Place, Ticket, Wait};
use parades_core::event::LpId;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A carrier that serves calls. `M` are the program's messages.
pub trait Serves<M>: Carrier<M> {
    /// The requests of processes.
    type Request;

    /// Returns the packet of a request. The receipt names the call at its node; it is `None` if the process
    /// wants no answer.
    fn packet(&self, request: Self::Request, process: ProcessId, receipt: Option<Receipt>) -> Self::Packet;
}

/// The name of a process in the whole run. It can be sent in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// The node of the process.
    pub node: LpId,
    pub(crate) place: Place,
    pub(crate) serial: u32,
}

impl ProcessId {
    /// Returns the place of the process at its node. It may be used again once the process is over.
    pub fn place(self) -> u32 {
        self.place
    }

    /// Returns the number of processes that had this place before.
    pub fn serial(self) -> u32 {
        self.serial
    }
}

/// The news of a carrier that serves calls, for the processes of a node.
#[derive(Debug)]
pub enum ToProcesses {
    /// The answer to a call. Its type is that of the call's output.
    Answer(Receipt, Box<dyn Any + Send>),
    /// An order for a process.
    Order(ProcessId, Order),
    /// A process of the node `from` waits for the end of a process here, under this receipt.
    Join {
        /// The process that is waited for.
        process: ProcessId,
        /// The node of the process that waits.
        from: LpId,
        /// The name of the call there.
        receipt: Receipt,
    },
}

/// An order for a process, which another process has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// It ends where it waits.
    Kill,
    /// It does not go on until it is resumed.
    Suspend,
    /// It goes on.
    Resume,
}

/// A call that is being served. Await it to wait for the answer. If it is dropped before, the call is given
/// up.
#[must_use = "a call that is dropped is given up"]
pub struct Call<T> {
    /// 0 once the answer has been taken.
    ticket: Ticket,
    what: &'static str,
    answer: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("for", &self.what).finish_non_exhaustive()
    }
}

impl<T> Call<T> {
    /// Returns the name of the call at its node, for other requests about it. `None` once the answer has been
    /// taken.
    pub fn receipt(&self) -> Option<Receipt> {
        NonZeroU32::new(self.ticket).map(Receipt)
    }

    /// Returns whether the answer has come, so that awaiting it takes no time.
    #[track_caller]
    pub fn is_answered(&self) -> bool {
        let ticket = self.ticket;
        ticket == 0 || with_parts(|_, table| table.rare().calls.has_come(ticket))
    }
}

impl<T: 'static> Future for Call<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Call { ticket, what, .. } = *self;
        let answer = with_parts(|worker, table| {
            let number = table.rare().number_of(what);
            worker.waits(table, Wait::Named(number));
            table.rare().calls.poll(ticket, context, worker)
        });
        let Some(answer) = answer else { return Poll::Pending };
        self.ticket = 0;
        let answer: Box<T> = answer.downcast().expect("a carrier answers as its call says");
        Poll::Ready(*answer)
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt() {
            now_or_later(move |worker, table| {
                worker.ask(Asked::GiveUp(receipt));
                // The answer is dropped outside the closure, where its destructor may use the node.
                table.rare().calls.remove(receipt.0.get())
            });
        }
    }
}

/// Something that a call has been given, such as a lock. It is returned when this value is dropped.
#[derive(Debug)]
#[must_use = "a claim that is dropped is returned"]
pub struct Claim(NonZeroU32);

impl Claim {
    /// Makes the claim of the call with this receipt, whose answer has come.
    pub fn of(Receipt(ticket): Receipt) -> Claim {
        Claim(ticket)
    }

    /// Returns the receipt of the call.
    pub fn receipt(&self) -> Receipt {
        Receipt(self.0)
    }

    /// Returns the receipt of the call. The claim is not returned: it is the carrier's again by other means.
    pub fn into_receipt(self) -> Receipt {
        let receipt = self.receipt();
        std::mem::forget(self);
        receipt
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let receipt = self.receipt();
        now_or_later(move |worker, _| worker.ask(Asked::GiveUp(receipt)));
    }
}

impl<P: Program> Node<P>
where
    P::Carrier: Serves<P::Message>,
{
    /// Makes a call, which sets out at once. Messages, calls, and calls that are given up set out in the
    /// order in which the processes of the node ask for them. `what` completes the words "waits for" in
    /// reports. The answer of the carrier must be a `T`.
    #[track_caller]
    pub fn call<T: 'static>(self, request: RequestOf<P>, what: &'static str) -> Call<T> {
        let ticket = with_desk::<P, _>(|desk| {
            let table = &mut inner(desk.node.as_deref_mut()).table;
            let ticket = table.ticket();
            table.rare().calls.add(ticket);
            post(desk, request, NonZeroU32::new(ticket).map(Receipt));
            ticket
        });
        Call { ticket, what, answer: PhantomData }
    }

    /// Makes a request that has no answer, as [`Node::call`].
    #[track_caller]
    pub fn ask(self, request: RequestOf<P>) {
        with_desk::<P, _>(|desk| post(desk, request, None));
    }
}

impl<P: Program> Node<P> {
    /// Returns the name of the process that is being polled.
    #[track_caller]
    pub fn process_id(self) -> ProcessId {
        with_parts(|worker, table| current(worker, table))
    }
}

/// Adds a request to those that go out when the event is over.
fn post<P: Program>(desk: &mut Desk<P>, request: RequestOf<P>, receipt: Option<Receipt>)
where
    P::Carrier: Serves<P::Message>,
{
    let process = current(&desk.worker, &inner(desk.node.as_deref_mut()).table);
    desk.calls.push(desk.program.carrier().packet(request, process, receipt));
    desk.worker.ask(Asked::Call);
}

/// Returns the name of the process that is being polled.
fn current(worker: &Worker, table: &Table) -> ProcessId {
    let place = worker.current;
    let serial = table.processes.get(place as usize).map_or(0, |process| process.serial);
    ProcessId { node: worker.id, place, serial }
}

/// The requests that a program's carrier serves.
pub type RequestOf<P> = <<P as Program>::Carrier as Serves<<P as Program>::Message>>::Request;
