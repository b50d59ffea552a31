//! The packets between the nodes of a platform and its solver.

use parades_core::digest::{Digest, Payload};
use parades_core::event::LpId;
use parades_core::time::Delay;
use parades_flow::network::{Execution, Transfer};
use parades_flow::platform::{DiskId, HostId};
use parades_program::{Order, ProcessId, Receipt, Undelivered};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A packet between the solver and the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Packet<M> {
    /// From a node to the solver: a message sets out.
    Send {
        /// The receiver.
        to: LpId,
        /// The name by which the sender waits for the message to arrive.
        receipt: Option<Receipt>,
        /// The message.
        message: M,
    },
    /// From the solver to the receiver: a message has arrived.
    Arrived {
        /// The sender.
        from: LpId,
        /// The message.
        message: M,
    },
    /// From the solver to a sender that waits: its message has arrived, or has failed.
    Report {
        /// The name by which the sender waits.
        receipt: Receipt,
        /// The message has arrived, or not.
        outcome: Result<(), Undelivered>,
    },
    /// From the solver to a node: its host fails, or works again.
    Host {
        /// True if the host works.
        works: bool,
    },
    /// From a node to the solver: a request of a process.
    Call {
        /// The process.
        process: ProcessId,
        /// The name of the call at its node, if the process wants an answer.
        receipt: Option<Receipt>,
        /// The request.
        request: Request<M>,
    },
    /// From a node to the solver of its part, if each part has a solver: a packet for another node of the
    /// part.
    Pass {
        /// The receiver.
        to: LpId,
        /// The delay with which the solver sends it on.
        delay: Delay,
        /// The packet.
        packet: Box<Packet<M>>,
    },
    /// From a node to the solver: a process no longer waits for a call, or returns the permit of the call.
    GiveUp(Receipt),
    /// From the solver to a node: the answer to a call.
    Answer(Receipt, Answer<M>),
    /// From the solver to a node: an order for one of its processes.
    Order(ProcessId, Order),
    /// From the solver to a node: the process of another node waits for the end of a process here.
    Join {
        /// The process that is waited for.
        process: ProcessId,
        /// The node of the process that waits.
        from: LpId,
        /// The name of the call there.
        receipt: Receipt,
    },
}

/// A packet whose message has up to 16 bytes takes no more, so it is stored in its event, without memory of its
/// own. That memory would often be freed by another thread than allocated it, and the allocator has locks.
const _: () = assert!(size_of::<Packet<[u64; 2]>>() <= 56);

/// The name of a mailbox, mutex, semaphore, barrier or condition. Each of these kinds has names of its own.
pub type Name = Box<str>;

/// A request of a process to the solver of a platform. The methods of [`super::OnPlatform`], and of the
/// objects that it gives, make these requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request<M> {
    /// A computation on a host.
    Compute(HostId, Execution),
    /// A transfer from or to a disk, with its number of bytes.
    Disk(DiskId, Transfer, f64),
    /// A message for the process that gets it from the mailbox.
    Put(Name, M),
    /// A message from the mailbox.
    Get(Name),
    /// The first message of any of these mailboxes.
    GetFirst(Vec<Name>),
    /// The node of the process gets all messages of the mailbox from now on, so they travel at once.
    SetReceiver(Name),
    /// A permit, a place at a barrier, or a notification. In a box, since it is larger than other requests.
    Meet(Box<Meeting>),
    /// The end of a process.
    Join(ProcessId),
    /// An order for a process.
    Order(ProcessId, Order),
    /// A change of a call of the same node.
    Change(Receipt, ChangeOfCall),
    /// The remaining amount of a call of the same node, in flops or bytes.
    Remaining(Receipt),
    /// The host is switched on or off.
    SetHost(HostId, bool),
    /// The host gets another power state.
    SetPowerState(HostId, u32),
}

/// A request at a mutex, semaphore, barrier or condition of the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Meeting {
    /// A permit of the semaphore. A mutex is a semaphore of one permit. If the flag is set, the permit is
    /// returned when the process drops it.
    Acquire(Semaphore, bool),
    /// A permit of the semaphore is returned, or added.
    Release(Semaphore),
    /// A place at the barrier, with the number of processes that pass it together.
    Barrier(Name, u32),
    /// A notification of the condition. The permit of the call named is returned while the process waits.
    Wait {
        /// The condition.
        condition: Name,
        /// The mutex.
        mutex: Semaphore,
        /// The call that has locked it.
        held: Receipt,
    },
    /// A notification of the process that has waited longest at the condition, or of all if the flag is set.
    Notify(Name, bool),
    /// The time of a wait at a condition is over, by the call of that wait.
    TimeIsOver(Receipt),
}

/// Permits for which processes wait, with the number at the start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Semaphore {
    /// The one permit of a mutex.
    Mutex(Name),
    /// The permits of a semaphore.
    Permits(Name, u32),
}

/// A change of a computation, of a transfer of a disk, or of a message that travels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ChangeOfCall {
    /// The call makes no progress.
    Suspend,
    /// The call goes on.
    Resume,
    /// The weight of a computation among those of its host.
    Priority(f64),
    /// The greatest rate, in flops or bytes per second.
    Bound(f64),
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer<M> {
    /// The end of a computation, a transfer or a message: done or failed.
    Done(Result<(), Failure>),
    /// A permit. False after a wait at a condition that ended without a notification.
    Permit(bool),
    /// A message, with the node that has put it.
    Message(Result<(LpId, M), Failure>),
    /// The barrier is passed. True for the process that came last.
    Passed(bool),
    /// The process is over.
    Ended,
    /// The remaining amount, in flops or bytes.
    Remaining(f64),
}

/// The reason why something on a platform has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Failure {
    /// The host that computes, or that has the disk, has failed.
    Host,
    /// A link or host on the way of a message has failed.
    Network,
    /// The process at the other end of a message was killed, or no longer waits.
    Peer,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Host => "the host has failed",
            Failure::Network => "a link or host on the way has failed",
            Failure::Peer => "the process at the other end was killed, or no longer waits",
        })
    }
}
impl std::error::Error for Failure {}

impl<M: Payload> Payload for Packet<M> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        match self {
            Packet::Send { to, receipt, message } => {
                digest.word(head(1, to.0));
                digest.word(receipt.map_or(0, |Receipt(number)| u64::from(number.get())));
                message.fold(digest);
            }
            Packet::Arrived { from, message } => {
                digest.word(head(2, from.0));
                message.fold(digest);
            }
            Packet::Report { receipt: Receipt(number), outcome } => {
                digest.word(head(if outcome.is_ok() { 3 } else { 4 }, number.get()));
            }
            Packet::Host { works } => digest.word(head(5, u32::from(*works))),
            Packet::Call { process, receipt, request } => {
                digest.word(head(6, receipt.map_or(0, |Receipt(number)| number.get())));
                fold_process(*process, digest);
                request.fold(digest);
            }
            Packet::GiveUp(Receipt(number)) => digest.word(head(7, number.get())),
            Packet::Pass { to, delay, packet } => {
                digest.word(head(11, to.0));
                digest.word(delay.as_ps());
                packet.fold(digest);
            }
            Packet::Answer(Receipt(number), answer) => {
                digest.word(head(8, number.get()));
                answer.fold(digest);
            }
            Packet::Order(process, order) => {
                digest.word(head(9, *order as u32));
                fold_process(*process, digest);
            }
            Packet::Join { process, from, receipt: Receipt(number) } => {
                digest.word(head(10, number.get()));
                digest.word(u64::from(from.0));
                fold_process(*process, digest);
            }
        }
    }
}

/// Returns the word of a kind and a number.
fn head(kind: u64, number: u32) -> u64 {
    kind << 32 | u64::from(number)
}

fn fold_process(process: ProcessId, digest: &mut Digest) {
    digest.word(head(u64::from(process.node.0), process.place()));
    digest.word(u64::from(process.serial()));
}

fn fold_name(name: &str, digest: &mut Digest) {
    digest.word(name.len() as u64);
    for chunk in name.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        digest.word(u64::from_le_bytes(word));
    }
}

impl Semaphore {
    fn fold(&self, digest: &mut Digest) {
        match self {
            Semaphore::Mutex(name) => fold_named(0, 0, name, digest),
            Semaphore::Permits(name, permits) => fold_named(1, *permits, name, digest),
        }
    }
}

/// Folds a kind, a number and a name.
fn fold_named(kind: u64, number: u32, name: &str, digest: &mut Digest) {
    digest.word(head(kind, number));
    fold_name(name, digest);
}

impl<M: Payload> Request<M> {
    /// Folds the request into the digest: its kind, then its parts.
    fn fold(&self, digest: &mut Digest) {
        match self {
            Request::Compute(host, Execution { flops, threads, priority, bound }) => {
                digest.word(head(1, host.0));
                [flops, priority, bound].into_iter().for_each(|number| digest.word(number.to_bits()));
                digest.word(u64::from(*threads));
            }
            Request::Disk(disk, transfer, bytes) => {
                digest.word(head(if *transfer == Transfer::Read { 2 } else { 3 }, disk.0));
                digest.word(bytes.to_bits());
            }
            Request::Put(name, message) => {
                fold_named(4, 0, name, digest);
                message.fold(digest);
            }
            Request::Get(name) => fold_named(5, 0, name, digest),
            Request::GetFirst(names) => names.iter().for_each(|name| fold_named(20, 0, name, digest)),
            Request::SetReceiver(name) => fold_named(6, 0, name, digest),
            Request::Meet(meeting) => meeting.fold(digest),
            Request::Join(process) => {
                digest.word(head(12, 0));
                fold_process(*process, digest);
            }
            Request::Order(process, order) => {
                digest.word(head(13, *order as u32));
                fold_process(*process, digest);
            }
            Request::Change(Receipt(number), change) => {
                digest.word(head(14, number.get()));
                change.fold(digest);
            }
            Request::Remaining(Receipt(number)) => digest.word(head(15, number.get())),
            Request::SetHost(host, works) => {
                digest.word(head(16, host.0));
                digest.word(u64::from(*works));
            }
            Request::SetPowerState(host, state) => {
                digest.word(head(17, host.0));
                digest.word(u64::from(*state));
            }
        }
    }
}

impl Meeting {
    fn fold(&self, digest: &mut Digest) {
        match self {
            Meeting::Acquire(semaphore, returns) => {
                digest.word(head(7, u32::from(*returns)));
                semaphore.fold(digest);
            }
            Meeting::Release(semaphore) => {
                digest.word(head(8, 0));
                semaphore.fold(digest);
            }
            Meeting::Barrier(name, parties) => fold_named(9, *parties, name, digest),
            Meeting::Wait { condition, mutex, held: Receipt(held) } => {
                fold_named(10, held.get(), condition, digest);
                mutex.fold(digest);
            }
            Meeting::Notify(name, all) => fold_named(11, u32::from(*all), name, digest),
            Meeting::TimeIsOver(Receipt(held)) => digest.word(head(18, held.get())),
        }
    }
}

impl ChangeOfCall {
    fn fold(self, digest: &mut Digest) {
        let (kind, value) = match self {
            ChangeOfCall::Suspend => (0, 0.0),
            ChangeOfCall::Resume => (1, 0.0),
            ChangeOfCall::Priority(priority) => (2, priority),
            ChangeOfCall::Bound(bound) => (3, bound),
        };
        digest.word(kind);
        digest.word(f64::to_bits(value));
    }
}

impl<M: Payload> Answer<M> {
    fn fold(&self, digest: &mut Digest) {
        let failure = |failure: &Failure| 1 + *failure as u64;
        match self {
            Answer::Done(outcome) => digest.word(outcome.as_ref().map_or_else(failure, |()| 0)),
            Answer::Message(Ok((from, message))) => {
                digest.word(1 << 32 | u64::from(from.0));
                message.fold(digest);
            }
            Answer::Message(Err(why)) => digest.word(2 << 32 | failure(why)),
            Answer::Passed(last) => digest.word(3 << 32 | u64::from(*last)),
            Answer::Permit(notified) => digest.word(6 << 32 | u64::from(*notified)),
            Answer::Ended => digest.word(5 << 32),
            Answer::Remaining(amount) => {
                digest.word(4 << 32);
                digest.word(amount.to_bits());
            }
        }
    }
}
