//! Frames that a rank has received, until a worker asks for their content.

use super::offers::Offers;
use crate::summary::Summary;
use std::collections::VecDeque;

/// Received frames that are kept until a worker asks for their content.
pub(super) struct Received {
    /// The number of this rank.
    rank: usize,
    /// By rank.
    pub(super) exchanges: Vec<VecDeque<Summary>>,
    /// By rank.
    pub(super) collectives: Vec<VecDeque<Vec<u8>>>,
    pub(super) offers: Offers,
}

impl Received {
    pub(super) fn new(rank: usize, ranks: usize, workers: usize) -> Received {
        let exchanges = vec![VecDeque::new(); ranks];
        Received { rank, exchanges, collectives: vec![VecDeque::new(); ranks], offers: Offers::new(ranks, workers) }
    }

    /// Takes one summary of each other rank, and combines them. Fails with the ranks whose summaries are
    /// missing.
    pub(super) fn take_exchange(&mut self) -> Result<Summary, Vec<usize>> {
        take_of_others(&mut self.exchanges, self.rank).map(|all| all.into_iter().fold(Summary::NOTHING, Summary::and))
    }

    /// Takes the bytes of each other rank, in rank order. Fails with the ranks whose bytes are missing.
    pub(super) fn take_collective(&mut self) -> Result<Vec<Vec<u8>>, Vec<usize>> {
        take_of_others(&mut self.collectives, self.rank)
    }

    /// Takes the bytes of rank 0. Fails with that rank if they are missing.
    pub(super) fn take_of_first(&mut self) -> Result<Vec<u8>, Vec<usize>> {
        self.collectives[0].pop_front().ok_or_else(|| vec![0])
    }
}

/// Takes the first value of each rank other than `here`, once all of them have one.
fn take_of_others<T>(by_rank: &mut [VecDeque<T>], here: usize) -> Result<Vec<T>, Vec<usize>> {
    let missing: Vec<_> = (0..by_rank.len()).filter(|&rank| rank != here && by_rank[rank].is_empty()).collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    let others = by_rank.iter_mut().enumerate().filter(|(rank, _)| *rank != here);
    Ok(others.filter_map(|(_, values)| values.pop_front()).collect())
}
