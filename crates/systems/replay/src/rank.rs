//! A rank: it does one action of its trace after another.

use crate::collectives;
use crate::replay::{Data, Replay};
use crate::trace::{Action, Step};
use parades_carriers::OnPlatform;
use parades_carriers::flow_level::{Activity, Failure};
use parades_program::{Call, Node, Received};
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

/// A message that is sent or received meanwhile.
pub(crate) enum Request {
    /// It was sent without waiting for its arrival.
    Detached,
    Sent(Activity<Replay>),
    Receives(Call<Result<Received<Data>, Failure>>),
}

impl Request {
    /// Waits for the end of the request.
    pub(crate) async fn finish(self) -> Result<(), Failure> {
        match self {
            Request::Detached => Ok(()),
            Request::Sent(sent) => sent.await,
            Request::Receives(call) => call.await.map(|_| ()),
        }
    }
}

/// The sender, the receiver and the tag of a message.
type Key = (u32, u32, i64);

impl Rank {
    /// Returns the number of the rank.
    pub(crate) fn id(self) -> u32 {
        self.node.id().0
    }

    /// Returns the name of the mailbox of messages between two ranks. Messages of one mailbox arrive in the
    /// order of their sending, as MPI demands of those with one tag.
    fn mailbox(from: u32, to: u32, what: &str) -> String {
        format!("{from}>{to}:{what}")
    }

    /// Begins to send a message. `what` is its tag, or the kind of its collective.
    pub(crate) fn isend(self, to: u32, what: &str, bytes: f64) -> Request {
        self.node.with_state(|state| {
            state.messages += 1;
            state.bytes += bytes;
        });
        let mailbox = self.node.mailbox(Rank::mailbox(self.id(), to, what));
        let data = Data(bytes + ENVELOPE_BYTES);
        if bytes < DETACHED_BYTES {
            mailbox.put_detached(data);
            return Request::Detached;
        }
        Request::Sent(mailbox.put(data))
    }

    /// Begins to receive a message.
    pub(crate) fn irecv(self, from: u32, what: &str) -> Request {
        Request::Receives(self.node.mailbox(Rank::mailbox(from, self.id(), what)).get())
    }

    /// Computes.
    pub(crate) async fn compute(self, flops: f64) -> Result<(), Failure> {
        if flops > 0.0 {
            let begin = self.node.now();
            self.node.compute(flops).await?;
            let took = self.node.now().since(begin);
            self.node.with_state(|state| state.computing = state.computing.saturating_add(took));
        }
        Ok(())
    }
}

/// The life of a rank.
pub(crate) async fn replay(node: Node<Replay>, steps: Arc<[Step]>) {
    let rank = Rank { node, count: node.nodes() };
    let mut requests: Vec<(Key, Request)> = Vec::new();
    for step in &*steps {
        match act(rank, step.action, &mut requests).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => return node.fail(format!("line {} of rank {}: {why}", step.line, rank.id())),
            Err(why) => return node.fail(format!("line {} of rank {}: {why}", step.line, rank.id())),
        }
    }
    let now = node.now();
    node.with_state(|state| state.end = Some(now));
    // Messages for which the trace does not wait travel on.
    for (_, request) in requests {
        if let Err(why) = request.finish().await {
            return node.fail(format!("a message of rank {} for which it does not wait: {why}", rank.id()));
        }
    }
}

/// Does an action. The outer error is a mistake in the trace.
async fn act(
    rank: Rank,
    action: Action,
    requests: &mut Vec<(Key, Request)>,
) -> Result<Result<(), Failure>, &'static str> {
    let me = rank.id();
    let done = match action {
        Action::Compute(flops) => rank.compute(flops).await,
        Action::Sleep(delay) => {
            rank.node.sleep(delay).await;
            Ok(())
        }
        Action::Send(to, tag, bytes) => rank.isend(to, &tag.to_string(), bytes).finish().await,
        Action::Recv(from, tag) => rank.irecv(from, &tag.to_string()).finish().await,
        Action::Isend(to, tag, bytes) => {
            requests.push(((me, to, tag), rank.isend(to, &tag.to_string(), bytes)));
            Ok(())
        }
        Action::Irecv(from, tag) => {
            requests.push(((from, me, tag), rank.irecv(from, &tag.to_string())));
            Ok(())
        }
        Action::WaitLast => match requests.pop() {
            Some((_, request)) => request.finish().await,
            None => return Err("it waits, but has made no request"),
        },
        Action::Wait(from, to, tag) => match requests.iter().position(|(key, _)| *key == (from, to, tag)) {
            Some(place) => requests.remove(place).1.finish().await,
            None => return Err("it waits for a request that it has not made"),
        },
        Action::WaitAll => {
            for (_, request) in requests.drain(..) {
                if let Err(why) = request.finish().await {
                    return Ok(Err(why));
                }
            }
            Ok(())
        }
        Action::Barrier => collectives::barrier(rank).await,
        Action::Bcast { bytes, root } => collectives::bcast(rank, bytes, root).await,
        Action::Reduce { bytes, flops, root } => match collectives::reduce(rank, bytes, root).await {
            Ok(()) => rank.compute(flops).await,
            failed => failed,
        },
        Action::AllReduce { bytes, flops } => collectives::all_reduce(rank, bytes, flops).await,
        Action::AllToAll(bytes) => {
            let kind = rank.node.with_program(|program| program.all_to_all);
            collectives::all_to_all(rank, bytes, kind).await
        }
        Action::Gather { bytes, root } => collectives::gather(rank, bytes, root).await,
        Action::Scatter { bytes, root } => collectives::scatter(rank, bytes, root).await,
        Action::AllGather(bytes) => collectives::exchange(rank, bytes).await,
    };
    Ok(done)
}
