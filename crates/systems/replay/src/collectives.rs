//! The collective operations, by the algorithms of SMPI 3.32's default, `smpi/coll-selector:default`: mostly
//! all messages at a time, a binomial tree for broadcasts, and Open MPI's choice for `alltoall`.

use crate::all_to_all::{self, AllToAll};
use crate::rank::{Done, Rank, Request};
use crate::reduce_scatter::reduce_scatter;
use crate::trace::{Collective, Parts};

/// The mailboxes of collectives. Those between two ranks follow each other, so one name for all is enough.
const COLLECTIVE: &str = "collective";

/// Does the part of a rank in an operation of all ranks.
pub(crate) async fn take_part(rank: Rank, collective: &Collective) -> Done {
    match *collective {
        Collective::Barrier => barrier(rank).await,
        Collective::Bcast { bytes, root } => broadcast(rank, bytes, root).await,
        Collective::Reduce { bytes, flops, root } => {
            gather(rank, bytes, &Parts::Equal(bytes), root).await?;
            rank.compute(flops).await
        }
        Collective::AllReduce { bytes, flops } => {
            gather(rank, bytes, &Parts::Equal(bytes), 0).await?;
            broadcast(rank, bytes, 0).await?;
            rank.compute(flops).await
        }
        Collective::ReduceScatter { ref parts, elements, flops } => {
            reduce_scatter(rank, parts, elements).await?;
            rank.compute(flops).await
        }
        Collective::Scan { bytes, flops } => {
            scan(rank, bytes).await?;
            rank.compute(flops).await
        }
        Collective::AllToAll { bytes, room } => {
            let set = rank.node.with_program(|program| program.all_to_all);
            match set.unwrap_or_else(|| AllToAll::of_smpi(rank.count, bytes)) {
                AllToAll::Linear => exchange(rank, &Parts::Equal(bytes), &Parts::Equal(room)).await,
                AllToAll::Pairwise => all_to_all::pairwise(rank, bytes, room).await,
                AllToAll::Bruck => all_to_all::bruck(rank, bytes).await,
            }
        }
        Collective::AllToAllV { ref bytes, ref room } => {
            exchange(rank, &Parts::Each(bytes.clone()), &Parts::Each(room.clone())).await
        }
        Collective::Gather { bytes, ref room, root } => gather(rank, bytes, room, root).await,
        Collective::AllGather { bytes, ref room } => exchange(rank, &Parts::Equal(bytes), room).await,
        Collective::Scatter { ref bytes, room, root } => scatter(rank, bytes, room, root).await,
    }
}

/// Sends a message, and waits until it has arrived if it is long.
pub(crate) async fn send(rank: Rank, to: u32, bytes: f64) -> Done {
    rank.isend(to, COLLECTIVE, bytes).finish().await
}

/// Receives a message of at most `room` bytes.
pub(crate) async fn receive(rank: Rank, from: u32, room: f64) -> Done {
    rank.irecv(from, COLLECTIVE, room).finish().await
}

/// The two ranks with which a rank exchanges messages, and the lengths of the messages.
pub(crate) struct Exchange {
    pub(crate) to: u32,
    pub(crate) bytes: f64,
    pub(crate) from: u32,
    pub(crate) room: f64,
}

/// Sends and receives at the same time.
pub(crate) async fn send_and_receive(rank: Rank, Exchange { to, bytes, from, room }: Exchange) -> Done {
    let sent = rank.isend(to, COLLECTIVE, bytes);
    receive(rank, from, room).await?;
    sent.finish().await
}

/// Waits for all requests, which go on at the same time.
async fn all(requests: Vec<Request>) -> Done {
    for request in requests {
        request.finish().await?;
    }
    Ok(())
}

/// Returns the other ranks, in their order.
fn others(rank: Rank) -> impl Iterator<Item = u32> {
    (0..rank.count).filter(move |&other| other != rank.id())
}

/// All ranks tell rank 0 that they are there, and it tells them to go on.
async fn barrier(rank: Rank) -> Done {
    if rank.id() > 0 {
        send(rank, 0, 0.0).await?;
        return receive(rank, 0, 0.0).await;
    }
    all(others(rank).map(|other| rank.irecv(other, COLLECTIVE, 0.0)).collect()).await?;
    all(others(rank).map(|other| rank.isend(other, COLLECTIVE, 0.0)).collect()).await
}

/// Data go down a binomial tree from the root.
async fn broadcast(rank: Rank, bytes: f64, root: u32) -> Done {
    let count = rank.count;
    let relative = (rank.id() + count - root) % count;
    let absolute = |relative: u32| (relative + root) % count;
    let mut mask = 1;
    while mask < count {
        if relative & mask != 0 {
            receive(rank, absolute(relative - mask), bytes).await?;
            break;
        }
        mask <<= 1;
    }
    mask >>= 1;
    while mask > 0 {
        if relative + mask < count {
            send(rank, absolute(relative + mask), bytes).await?;
        }
        mask >>= 1;
    }
    Ok(())
}

/// All ranks send to the root, which receives from all at a time.
pub(crate) async fn gather(rank: Rank, bytes: f64, room: &Parts, root: u32) -> Done {
    if rank.id() != root {
        return send(rank, root, bytes).await;
    }
    all(others(rank).map(|other| rank.irecv(other, COLLECTIVE, room.of(other))).collect()).await
}

/// The root sends to all ranks at a time.
pub(crate) async fn scatter(rank: Rank, bytes: &Parts, room: f64, root: u32) -> Done {
    if rank.id() != root {
        return receive(rank, root, room).await;
    }
    all(others(rank).map(|other| rank.isend(other, COLLECTIVE, bytes.of(other))).collect()).await
}

/// All ranks send to all others at a time.
async fn exchange(rank: Rank, bytes: &Parts, room: &Parts) -> Done {
    let receive = |other| rank.irecv(other, COLLECTIVE, room.of(other));
    let mut requests: Vec<Request> = others(rank).map(receive).collect();
    requests.extend(others(rank).map(|other| rank.isend(other, COLLECTIVE, bytes.of(other))));
    all(requests).await
}

/// A rank sends to all ranks after it, and receives from all before it, at a time.
async fn scan(rank: Rank, bytes: f64) -> Done {
    let id = rank.id();
    let mut requests: Vec<Request> = (0..id).map(|other| rank.irecv(other, COLLECTIVE, bytes)).collect();
    requests.extend((id + 1..rank.count).map(|other| rank.isend(other, COLLECTIVE, bytes)));
    all(requests).await
}
