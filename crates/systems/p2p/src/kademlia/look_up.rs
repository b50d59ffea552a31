//! A look-up under way: the closest nodes known, and their answers.

use super::Space;
use parades_core::event::LpId;
use parades_core::prefetch::prefetch_all;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// The state of a node in a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Known,
    /// It was asked, and the answer is due at this time.
    Asked(Time),
    Answered,
    Failed,
}

/// A node that a look-up knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    distance: u64,
    node: LpId,
    /// The number of nodes on the path by which the look-up learned of the node, the node itself included.
    depth: u8,
    state: State,
}

/// The width of a look-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Width {
    /// The number of closest nodes that must answer.
    pub(super) wanted: u8,
    /// The number of closest nodes that are remembered.
    pub(super) k: u8,
    /// The requests in flight.
    pub(super) alpha: u8,
}

/// A look-up as it is written, without what follows from its target and its purpose.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    target: u64,
    began: Time,
    fruitless: u8,
    candidates: Vec<(LpId, u8, State)>,
}

/// The nodes of a look-up, by distance. The look-up ends when the closest `wanted` nodes that have not failed
/// have answered (section 2.3 of the paper).
///
/// At most α requests are in flight, until α answers in a row have brought no closer node. Then all `wanted`
/// nodes are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LookUp {
    pub(super) target: u64,
    pub(super) began: Time,
    wanted: u8,
    /// The number of nodes that are remembered, in case some of the closest fail.
    kept: u8,
    alpha: u8,
    in_flight: u8,
    /// Answers in a row that brought no closer node.
    fruitless: u8,
    candidates: Vec<Candidate>,
}

impl LookUp {
    /// Makes the look-up of `target`, which knows these nodes and asks for `wanted` of the `k` closest.
    pub(super) fn new(
        target: u64,
        began: Time,
        Width { wanted, k, alpha }: Width,
        nodes: &[LpId],
        space: &Space,
    ) -> LookUp {
        let candidates = Vec::with_capacity(usize::from(k) + usize::from(k) / 2);
        let mut look_up = LookUp { target, began, wanted, kept: k, alpha, in_flight: 0, fruitless: 0, candidates };
        nodes.iter().for_each(|&node| look_up.add(node, space.id(node) ^ target, 1));
        look_up.shorten();
        look_up
    }

    pub(super) fn saved(&self) -> Saved {
        let &LookUp { target, began, fruitless, .. } = self;
        let candidates = self.candidates.iter().map(|candidate| (candidate.node, candidate.depth, candidate.state));
        Saved { target, began, fruitless, candidates: candidates.collect() }
    }

    /// Returns a look-up that has been read; `None` if it is impossible: a node does not exist, the nodes are
    /// not in the order of their distances, or no answer is due.
    pub(super) fn of_saved(saved: Saved, width: Width, nodes: u32, space: &Space) -> Option<LookUp> {
        let Saved { target, began, fruitless, candidates: read } = saved;
        let mut look_up = LookUp::new(target, began, width, &[], space);
        for (node, depth, state) in read {
            let distance = space.id(node) ^ target;
            if node.0 >= nodes || look_up.candidates.last().is_some_and(|last| last.distance >= distance) {
                return None;
            }
            look_up.in_flight = look_up.in_flight.checked_add(u8::from(matches!(state, State::Asked(_))))?;
            look_up.candidates.push(Candidate { distance, node, depth, state });
        }
        look_up.fruitless = fruitless;
        Some(look_up).filter(|look_up| look_up.in_flight > 0)
    }

    /// Prefetches the nodes.
    #[inline]
    pub(super) fn fetch(&self) {
        prefetch_all(&self.candidates[..]);
    }

    /// Returns the distance beyond which nodes are of no use: that of the last of the closest nodes that are
    /// kept.
    fn limit(&self) -> u64 {
        let alive = self.candidates.iter().filter(|candidate| candidate.state != State::Failed);
        alive.skip(usize::from(self.kept) - 1).map(|candidate| candidate.distance).next().unwrap_or(u64::MAX)
    }

    /// Adds a node, unless it is there.
    #[inline]
    fn add(&mut self, node: LpId, distance: u64, depth: u8) {
        let index = self.candidates.partition_point(|candidate| candidate.distance < distance);
        if self.candidates.get(index).is_none_or(|candidate| candidate.distance != distance) {
            self.candidates.insert(index, Candidate { distance, node, depth, state: State::Known });
        }
    }

    /// Forgets nodes that are of no use, and that were not asked.
    fn shorten(&mut self) {
        let limit = self.limit();
        while self.candidates.last().is_some_and(|last| last.distance > limit && last.state == State::Known) {
            self.candidates.pop();
        }
    }

    /// Notes an answer with these nodes. Returns false if no answer was due from the node.
    pub(super) fn answer(&mut self, from: LpId, nodes: &[LpId], own: u64, space: &Space) -> bool {
        let distance = space.id(from) ^ self.target;
        let Ok(index) = self.candidates.binary_search_by_key(&distance, |candidate| candidate.distance) else {
            return false;
        };
        let candidate = &mut self.candidates[index];
        let State::Asked(_) = candidate.state else { return false };
        candidate.state = State::Answered;
        let depth = candidate.depth.saturating_add(1);
        self.in_flight -= 1;
        let closest = self.candidates[0].distance;
        let limit = self.limit();
        for &node in nodes {
            let id = space.id(node);
            if id ^ self.target < limit && id != own {
                self.add(node, id ^ self.target, depth);
            }
        }
        self.shorten();
        self.fruitless = if self.candidates[0].distance < closest { 0 } else { self.fruitless.saturating_add(1) };
        true
    }

    /// Returns the length of the path to a node whose answer is due; `None` if none is due from the node.
    pub(super) fn depth_of(&self, node: LpId, space: &Space) -> Option<u8> {
        let distance = space.id(node) ^ self.target;
        let asked =
            |candidate: &&Candidate| candidate.distance == distance && matches!(candidate.state, State::Asked(_));
        self.candidates.iter().find(asked).map(|candidate| candidate.depth)
    }

    /// Notes the next node whose answer was due at `now` or before, and returns it.
    pub(super) fn fail_next(&mut self, now: Time) -> Option<LpId> {
        let late = |candidate: &&mut Candidate| matches!(candidate.state, State::Asked(due) if due <= now);
        let candidate = self.candidates.iter_mut().find(late)?;
        candidate.state = State::Failed;
        self.in_flight -= 1;
        Some(candidate.node)
    }

    /// Returns the time at which the next answer is due; [`Time::MAX`] if none is.
    pub(super) fn due(&self) -> Time {
        let due = |candidate: &Candidate| if let State::Asked(due) = candidate.state { due } else { Time::MAX };
        self.candidates.iter().map(due).min().unwrap_or(Time::MAX)
    }

    /// Returns the next node to ask, and notes that its answer is due at `due`. `None` if answers must come
    /// first, or if the look-up is over.
    pub(super) fn ask_next(&mut self, due: Time) -> Option<LpId> {
        let parallel = if self.fruitless < self.alpha { self.alpha } else { self.wanted.max(self.alpha) };
        if self.in_flight >= parallel {
            return None;
        }
        let alive = self.candidates.iter_mut().filter(|candidate| candidate.state != State::Failed);
        let next = alive.take(usize::from(self.wanted)).find(|candidate| candidate.state == State::Known)?;
        next.state = State::Asked(due);
        self.in_flight += 1;
        Some(next.node)
    }

    /// Returns whether the look-up is over: all closest nodes have answered.
    pub(super) fn is_over(&self) -> bool {
        let alive = self.candidates.iter().filter(|candidate| candidate.state != State::Failed);
        alive.take(usize::from(self.wanted)).all(|candidate| candidate.state == State::Answered)
    }

    /// Returns the closest node that may answer; `None` once a node has answered.
    pub(super) fn first_unanswered(&self) -> Option<LpId> {
        let is_new = self.candidates.iter().all(|candidate| candidate.state != State::Answered);
        let mut alive = self.candidates.iter().filter(|candidate| candidate.state != State::Failed);
        alive.next().filter(|_| is_new).map(|candidate| candidate.node)
    }

    /// Returns the nodes that have answered, the closest first, each with its distance and the length of the
    /// path to it.
    pub(super) fn answered(&self) -> impl Iterator<Item = (LpId, u64, u8)> {
        let answered = self.candidates.iter().filter(|candidate| candidate.state == State::Answered);
        answered.map(|candidate| (candidate.node, candidate.distance, candidate.depth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: fn() -> Space = || Space::new(5);
    const DUE: Time = Time::from_secs(2);

    fn ask_all(look_up: &mut LookUp) -> Vec<LpId> {
        std::iter::from_fn(|| look_up.ask_next(DUE)).collect()
    }

    /// Returns nodes by their distance to the target 0.
    fn by_distance(count: u32) -> Vec<LpId> {
        let mut nodes: Vec<LpId> = (1..=count).map(LpId).collect();
        nodes.sort_by_key(|&node| SPACE().id(node));
        nodes
    }

    #[test]
    fn it_ends_when_the_closest_nodes_have_answered() {
        let nodes = by_distance(10);
        let own = SPACE().id(LpId(0));
        let mut look_up = LookUp::new(0, Time::ZERO, Width { wanted: 2, k: 4, alpha: 2 }, &nodes[5..], &SPACE());
        assert_eq!(ask_all(&mut look_up), nodes[5..7]);
        assert!(look_up.answer(nodes[5], &nodes[1..4], own, &SPACE()));
        assert!(!look_up.answer(nodes[5], &nodes[0..1], own, &SPACE()), "only one answer counts");
        assert_eq!(ask_all(&mut look_up), [nodes[1]], "another request is in flight");
        assert!(!look_up.is_over());
        assert!(look_up.answer(nodes[6], &[], own, &SPACE()));
        assert_eq!(ask_all(&mut look_up), [nodes[2]]);
        assert!(look_up.answer(nodes[2], &[], own, &SPACE()) && look_up.answer(nodes[1], &[LpId(0)], own, &SPACE()));
        assert!(look_up.is_over() && ask_all(&mut look_up).is_empty());
        let answered: Vec<_> = look_up.answered().map(|(node, _, depth)| (node, depth)).collect();
        assert_eq!(answered[..2], [(nodes[1], 2), (nodes[2], 2)]);
    }

    #[test]
    fn failed_nodes_are_passed_over() {
        let nodes = by_distance(5);
        let mut look_up = LookUp::new(0, Time::ZERO, Width { wanted: 3, k: 3, alpha: 1 }, &nodes, &SPACE());
        assert_eq!(ask_all(&mut look_up), nodes[..1]);
        assert_eq!((look_up.due(), look_up.fail_next(Time::from_secs(1))), (DUE, None));
        assert_eq!((look_up.fail_next(DUE), look_up.fail_next(DUE)), (Some(nodes[0]), None));
        assert_eq!(look_up.due(), Time::MAX);
        // Nodes beyond the third were forgotten before the first failed.
        assert_eq!(ask_all(&mut look_up), nodes[1..2]);
        let own = SPACE().id(LpId(0));
        assert!(look_up.answer(nodes[1], &nodes[..], own, &SPACE()));
        assert_eq!(ask_all(&mut look_up), nodes[2..4], "after one fruitless answer all are asked");
    }
}
