//! A rank: it does one action of its trace after another.

use crate::collectives;
use crate::replay::{Data, Replay};
use crate::trace::{Action, Incoming, Outgoing, Step};
use parades_carriers::OnPlatform;
use parades_carriers::flow_level::{Activity, Failure, Mailbox};
use parades_program::{Call, Node, Received};
use std::fmt;
use std::sync::Arc;

/// Messages below this are sent without waiting for their arrival: SMPI's `smpi/send-is-detached-thresh`, in
/// bytes.
const DETACHED_BYTES: f64 = 65_536.0;
/// The envelope of each message, in bytes.
const ENVELOPE_BYTES: f64 = 16.0;

/// A rank, as an action sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rank {
    pub(crate) node: Node<Replay>,
    /// The number of all ranks.
    pub(crate) count: u32,
}

/// The reason why an action cannot be done.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// Something on the platform has failed.
    Platform(Failure),
    /// A message is longer than its receiver expects.
    TooLong { from: u32, bytes: f64, room: f64 },
    /// The trace waits for a request that the rank has not made.
    NoRequest,
    /// The trace has no message that an action might receive.
    NoMessage,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Platform(why) => write!(f, "{why}"),
            Obstacle::TooLong { from, bytes, room } => {
                write!(f, "it receives {bytes} bytes from rank {from}, but has room for {room} bytes")
            }
            Obstacle::NoRequest => f.write_str("it waits for a request that it has not made"),
            Obstacle::NoMessage => f.write_str("it receives a message that no rank sends"),
        }
    }
}

impl From<Failure> for Obstacle {
    fn from(why: Failure) -> Obstacle {
        Obstacle::Platform(why)
    }
}

/// The end of an action.
pub(crate) type Done = Result<(), Obstacle>;

/// A message that is sent or received while its rank goes on.
pub(crate) enum Request {
    /// Nobody waits for its arrival.
    Detached,
    Sent(Activity<Replay>),
    Receives {
        call: Call<Result<Received<Data>, Failure>>,
        /// The greatest length, in bytes.
        room: f64,
    },
}

impl Request {
    /// Waits for the end of the request.
    pub(crate) async fn finish(self) -> Done {
        match self {
            Request::Detached => Ok(()),
            Request::Sent(sent) => Ok(sent.await?),
            Request::Receives { call, room } => {
                let Received { from, message } = call.await?;
                let bytes = message.0 - ENVELOPE_BYTES;
                if bytes > room { Err(Obstacle::TooLong { from: from.0, bytes, room }) } else { Ok(()) }
            }
        }
    }
}

/// The ends and the tag of the message of a request. `None`: any.
#[derive(Clone, Copy)]
struct Key {
    from: Option<u32>,
    to: u32,
    tag: Option<i64>,
}

/// The requests of a rank that its trace has not waited for, in their order.
#[derive(Default)]
struct Requests(Vec<(Key, Request)>);

impl Requests {
    /// Takes the first request of a message with these ends and this tag. A request that names the sender and
    /// the tag comes before one for any sender or tag.
    fn take(&mut self, from: Option<u32>, to: u32, tag: i64) -> Result<Request, Obstacle> {
        let is_exact = |key: &Key| from.is_some() && key.from == from && key.tag == Some(tag);
        let may_be = |key: &Key| (key.from.is_none() || key.from == from) && key.tag.is_none_or(|other| other == tag);
        let find = |fits: &dyn Fn(&Key) -> bool| self.0.iter().position(|(key, _)| key.to == to && fits(key));
        let place = find(&is_exact).or_else(|| find(&may_be)).ok_or(Obstacle::NoRequest)?;
        Ok(self.0.remove(place).1)
    }

    /// Waits for the end of all requests.
    async fn finish(&mut self) -> Done {
        for (_, request) in self.0.drain(..) {
            request.finish().await?;
        }
        Ok(())
    }
}

impl Rank {
    /// Returns the number of the rank.
    pub(crate) fn id(self) -> u32 {
        self.node.id().0
    }

    /// Returns the mailbox of messages between two ranks. Messages of one mailbox arrive in the order of
    /// their sending, as MPI demands of those with one tag.
    fn mailbox(self, from: u32, to: u32, what: &str) -> Mailbox<Replay> {
        self.node.mailbox(format!("{from}>{to}:{what}"))
    }

    /// Begins to send a message. `what` is its tag, or the kind of its collective.
    pub(crate) fn isend(self, to: u32, what: &str, bytes: f64) -> Request {
        self.node.with_state(|state| {
            state.messages += 1;
            state.bytes += bytes;
        });
        let mailbox = self.mailbox(self.id(), to, what);
        let data = Data(bytes + ENVELOPE_BYTES);
        if bytes < DETACHED_BYTES {
            mailbox.put_detached(data);
            return Request::Detached;
        }
        Request::Sent(mailbox.put(data))
    }

    /// Begins to receive a message of at most `room` bytes.
    pub(crate) fn irecv(self, from: u32, what: &str, room: f64) -> Request {
        Request::Receives { call: self.mailbox(from, self.id(), what).get(), room }
    }

    /// Begins to send a message of the trace.
    fn begin_outgoing(self, Outgoing { to, tag, bytes }: Outgoing) -> Request {
        self.isend(to, &tag.to_string(), bytes)
    }

    /// Begins to receive a message of the trace.
    fn begin_incoming(self, incoming: Incoming) -> Result<Request, Obstacle> {
        if let Incoming { from: Some(from), tag: Some(tag), room } = incoming {
            return Ok(self.irecv(from, &tag.to_string(), room));
        }
        let id = self.id();
        let senders = self.node.with_program(|program| program.senders_to(id, incoming));
        let mut mailboxes = senders.into_iter().map(|(from, tag)| self.mailbox(from, id, &tag.to_string()));
        let first = mailboxes.next().ok_or(Obstacle::NoMessage)?;
        Ok(Request::Receives { call: first.get_or_from(mailboxes), room: incoming.room })
    }

    /// Computes.
    pub(crate) async fn compute(self, flops: f64) -> Done {
        if flops > 0.0 {
            let begin = self.node.now();
            self.node.compute(flops).await?;
            let took = self.node.now().since(begin);
            self.node.with_state(|state| state.computing = state.computing.saturating_add(took));
        }
        Ok(())
    }
}

/// The life of a rank. It ends when its requests have ended, also those that the trace does not wait for.
pub(crate) async fn replay(node: Node<Replay>, steps: Arc<[Step]>) {
    let rank = Rank { node, count: node.nodes() };
    let mut requests = Requests::default();
    for (index, step) in steps.iter().enumerate() {
        node.with_state(|state| state.step = index);
        if let Err(why) = act(rank, &step.action, &mut requests).await {
            let place = node.with_program(|program| program.place(step));
            return node.fail(format!("{place}: rank {}: {why}", rank.id()));
        }
    }
    if let Err(why) = requests.finish().await {
        return node.fail(format!("a message of rank {} for which its trace does not wait: {why}", rank.id()));
    }
    let now = node.now();
    node.with_state(|state| state.end = Some(now));
}

/// Does an action.
async fn act(rank: Rank, action: &Action, requests: &mut Requests) -> Done {
    match *action {
        Action::Compute(flops) => rank.compute(flops).await,
        Action::Sleep(delay) => {
            rank.node.sleep(delay).await;
            Ok(())
        }
        Action::Send(outgoing) => rank.begin_outgoing(outgoing).finish().await,
        Action::Recv(incoming) => rank.begin_incoming(incoming)?.finish().await,
        Action::Isend(outgoing) => {
            let Outgoing { to, tag, .. } = outgoing;
            let key = Key { from: Some(rank.id()), to, tag: Some(tag) };
            requests.0.push((key, rank.begin_outgoing(outgoing)));
            Ok(())
        }
        Action::Irecv(incoming) => {
            let Incoming { from, tag, .. } = incoming;
            requests.0.push((Key { from, to: rank.id(), tag }, rank.begin_incoming(incoming)?));
            Ok(())
        }
        // A copy within one rank takes no time.
        Action::SendRecv(Outgoing { to, .. }, Incoming { from: Some(from), .. })
            if to == rank.id() && from == rank.id() =>
        {
            Ok(())
        }
        Action::SendRecv(outgoing, incoming) => {
            let sent = rank.begin_outgoing(outgoing);
            rank.begin_incoming(incoming)?.finish().await?;
            sent.finish().await
        }
        Action::WaitLast => requests.0.pop().ok_or(Obstacle::NoRequest)?.1.finish().await,
        Action::Wait { from, to, tag } => requests.take(from, to, tag)?.finish().await,
        Action::WaitAll => requests.finish().await,
        Action::Collective(ref collective) => collectives::take_part(rank, collective).await,
    }
}
