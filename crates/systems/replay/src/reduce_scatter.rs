//! The algorithms of `reducescatter`: SMPI 3.32's default, which is MPICH's where parts differ.

use crate::collectives::{Exchange, gather, receive, scatter, send, send_and_receive};
use crate::rank::{Done, Rank};
use crate::trace::Parts;
use std::ops::Range;
use std::sync::Arc;

/// Parts that differ are exchanged in pairs if they have more elements than this, all together.
const PAIRS_ELEMENTS_MIN: f64 = 524_288.0;

/// Data are combined, and each rank gets its part. `elements` is the number of elements of all parts.
pub(crate) async fn reduce_scatter(rank: Rank, parts: &Arc<[f64]>, elements: f64) -> Done {
    let own = parts[rank.id() as usize];
    if parts.iter().all(|part| part.to_bits() == parts[0].to_bits()) {
        let all = parts.iter().sum();
        gather(rank, all, &Parts::Equal(all), 0).await?;
        scatter(rank, &Parts::Each(Arc::clone(parts)), own, 0).await
    } else if elements > PAIRS_ELEMENTS_MIN {
        pairwise(rank, parts, own).await
    } else {
        recursive_doubling(rank, parts).await
    }
}

/// Each rank sends to one rank after another its part, and receives its own.
async fn pairwise(rank: Rank, parts: &[f64], own: f64) -> Done {
    let (id, count) = (rank.id(), rank.count);
    for step in 1..count {
        let (to, from) = ((id + step) % count, (id + count - step) % count);
        send_and_receive(rank, Exchange { to, bytes: parts[to as usize], from, room: own }).await?;
    }
    Ok(())
}

/// Groups of ranks double. In a step, a rank exchanges data with the rank at its place in the neighbouring
/// group: all parts but those of the sender's own group. Where that rank does not exist, another rank of the
/// group passes on what it has received.
async fn recursive_doubling(rank: Rank, parts: &[f64]) -> Done {
    let (id, count) = (rank.id(), rank.count);
    let without = |group: Range<u32>| -> f64 {
        let outside = (0..count).filter(|other| !group.contains(other));
        outside.map(|other| parts[other as usize]).sum()
    };
    let mut size = 1;
    while size < count {
        let peer = id ^ size;
        let own = id & !(size - 1);
        let other = peer & !(size - 1);
        let received = without(other..other + size);
        if peer < count {
            let bytes = without(own..own + size);
            send_and_receive(rank, Exchange { to: peer, bytes, from: peer, room: received }).await?;
        }
        if other + size > count {
            // The number of ranks of the group that have received data. They are its first ones.
            let have = count.saturating_sub(own + size);
            pass_on(rank, size, have, received).await?;
        }
        size *= 2;
    }
    Ok(())
}

/// The ranks of a group of `size` that have received data pass them on down a binary tree, whose subtrees
/// have one rank with data at their head.
async fn pass_on(rank: Rank, size: u32, have: u32, bytes: f64) -> Done {
    let id = rank.id();
    let mut distance = size / 2;
    while distance > 0 {
        let peer = id ^ distance;
        let end = (id & !(2 * distance - 1)) + have;
        if peer > id && id < end && peer >= end {
            send(rank, peer, bytes).await?;
        } else if peer < id && peer < end && id >= end {
            receive(rank, peer, bytes).await?;
        }
        distance /= 2;
    }
    Ok(())
}
