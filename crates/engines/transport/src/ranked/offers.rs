//! The reduction without waiting between ranks: rounds of offers, and their outcomes.

use crate::summary::Summary;
use std::collections::VecDeque;

/// The rounds of offers whose outcome some worker of this rank has not received.
pub(super) struct Offers {
    /// The number of the first round in `rounds`.
    first: u64,
    rounds: VecDeque<Round>,
    /// By rank: the number of rounds that it has offered.
    by_rank: Vec<u64>,
    /// By worker of this rank: the number of offers made, and the number of outcomes received.
    by_worker: Vec<(u64, u64)>,
}

/// One round of offers.
struct Round {
    /// By rank: its combined summary, once all its workers have offered.
    ranks: Vec<Option<Summary>>,
    /// The combined summary of this rank's workers so far, and their number.
    mine: (Summary, usize),
    /// The number of this rank's workers that have received the outcome.
    taken: usize,
}

impl Offers {
    pub(super) fn new(ranks: usize, workers: usize) -> Offers {
        Offers { first: 0, rounds: VecDeque::new(), by_rank: vec![0; ranks], by_worker: vec![(0, 0); workers] }
    }

    fn round(&mut self, number: u64) -> &mut Round {
        let at = usize::try_from(number - self.first).expect("rounds are taken soon");
        while self.rounds.len() <= at {
            let ranks = vec![None; self.by_rank.len()];
            self.rounds.push_back(Round { ranks, mine: (Summary::NOTHING, 0), taken: 0 });
        }
        &mut self.rounds[at]
    }

    /// Adds the combined offer of a rank.
    pub(super) fn of_rank(&mut self, rank: usize, summary: Summary) {
        let number = self.by_rank[rank];
        self.by_rank[rank] += 1;
        self.round(number).ranks[rank] = Some(summary);
    }

    /// Adds the offer of a worker of this rank. Returns the combined offer of the rank if all its workers
    /// have offered.
    pub(super) fn of_worker(&mut self, worker: usize, mine: &Summary) -> Option<Summary> {
        let number = self.by_worker[worker].0;
        self.by_worker[worker].0 += 1;
        let workers = self.by_worker.len();
        let (combined, offered) = &mut self.round(number).mine;
        *combined = combined.and(*mine);
        *offered += 1;
        (*offered == workers).then_some(*combined)
    }

    /// Returns the outcome for `worker`, if it waits for an outcome and all ranks have offered.
    pub(super) fn outcome(&mut self, worker: usize) -> Option<Summary> {
        let (offered, taken) = self.by_worker[worker];
        if taken == offered {
            return None;
        }
        let workers = self.by_worker.len();
        let round = self.round(taken);
        let all = round.ranks.iter().copied().try_fold(Summary::NOTHING, |all, rank| Some(all.and(rank?)))?;
        round.taken += 1;
        self.by_worker[worker].1 += 1;
        while self.rounds.front().is_some_and(|round| round.taken == workers) {
            self.rounds.pop_front();
            self.first += 1;
        }
        Some(all)
    }
}
