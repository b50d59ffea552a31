//! The collective operations, by the algorithms that SMPI takes by default: the linear ones, and a binomial
//! tree for broadcasts.

use crate::rank::{Rank, Request};
use crate::replay::AllToAll;
use parades_carriers::flow_level::Failure;

type Done = Result<(), Failure>;

/// The mailboxes of collectives. Those between two ranks follow each other, so one name for all is enough.
const COLLECTIVE: &str = "collective";

async fn send(rank: Rank, to: u32, bytes: f64) -> Done {
    rank.isend(to, COLLECTIVE, bytes).finish().await
}

async fn receive(rank: Rank, from: u32) -> Done {
    rank.irecv(from, COLLECTIVE).finish().await
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
pub(crate) async fn barrier(rank: Rank) -> Done {
    if rank.id() > 0 {
        send(rank, 0, 0.0).await?;
        return receive(rank, 0).await;
    }
    all(others(rank).map(|other| rank.irecv(other, COLLECTIVE)).collect()).await?;
    all(others(rank).map(|other| rank.isend(other, COLLECTIVE, 0.0)).collect()).await
}

/// Data goes down a binomial tree from the root.
pub(crate) async fn bcast(rank: Rank, bytes: f64, root: u32) -> Done {
    let count = rank.count;
    let relative = (rank.id() + count - root) % count;
    let absolute = |relative: u32| (relative + root) % count;
    let mut mask = 1;
    while mask < count {
        if relative & mask != 0 {
            receive(rank, absolute(relative - mask)).await?;
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
pub(crate) async fn reduce(rank: Rank, bytes: f64, root: u32) -> Done {
    gather(rank, bytes, root).await
}

/// A reduction to rank 0, and a broadcast from it.
pub(crate) async fn all_reduce(rank: Rank, bytes: f64, flops: f64) -> Done {
    reduce(rank, bytes, 0).await?;
    bcast(rank, bytes, 0).await?;
    rank.compute(flops).await
}

/// All ranks send to the root, which receives from all at a time.
pub(crate) async fn gather(rank: Rank, bytes: f64, root: u32) -> Done {
    if rank.id() != root {
        return send(rank, root, bytes).await;
    }
    all(others(rank).map(|other| rank.irecv(other, COLLECTIVE)).collect()).await
}

/// The root sends to all ranks at a time.
pub(crate) async fn scatter(rank: Rank, bytes: f64, root: u32) -> Done {
    if rank.id() != root {
        return receive(rank, root).await;
    }
    all(others(rank).map(|other| rank.isend(other, COLLECTIVE, bytes)).collect()).await
}

/// All ranks send to all others at a time.
pub(crate) async fn exchange(rank: Rank, bytes: f64) -> Done {
    let mut requests: Vec<Request> = others(rank).map(|other| rank.irecv(other, COLLECTIVE)).collect();
    requests.extend(others(rank).map(|other| rank.isend(other, COLLECTIVE, bytes)));
    all(requests).await
}

/// Each rank sends its part to each other rank.
pub(crate) async fn all_to_all(rank: Rank, bytes: f64, kind: AllToAll) -> Done {
    if kind == AllToAll::Linear {
        return exchange(rank, bytes).await;
    }
    for step in 1..rank.count {
        let (to, from) = ((rank.id() + step) % rank.count, (rank.id() + rank.count - step) % rank.count);
        let receives = rank.irecv(from, COLLECTIVE);
        all(vec![rank.isend(to, COLLECTIVE, bytes), receives]).await?;
    }
    Ok(())
}
