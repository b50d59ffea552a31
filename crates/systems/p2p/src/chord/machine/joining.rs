//! Joining the ring, and leaving it.

use super::{Activity, Machine, after};
use crate::chord::message::Message;
use crate::chord::peer::{Peer, Phase};
use crate::chord::{Chord, Parameters};
use crate::driver::Dependencies;
use parades_core::event::LpId;
use parades_core::time::Time;

/// The number of requests to join that go unanswered before a node makes a ring of its own, where nodes come
/// and go.
const TRIES: u32 = 3;

impl Machine {
    /// Becomes a member of the ring.
    pub(super) fn enter(&mut self, now: Time) {
        self.peer.phase = Phase::Member;
        self.peer.since = now;
        self.peer.books.joins += 1;
    }

    /// Asks a node that it knows to pass on its request to join.
    pub(super) fn ask_to_join(
        &mut self,
        chord: &Chord,
        began: Time,
        tries: u32,
        driver: &mut impl Dependencies<Message>,
    ) {
        let Parameters { timeout, churn, .. } = chord.parameters();
        if self.peer.session > 1 || (tries > 0 && churn.is_some()) {
            self.peer.known = self.any_other(chord, driver);
        }
        let Peer { id: newcomer, session, known, .. } = self.peer;
        self.send(chord, driver, known, Message::Join { newcomer, session, hops: 1, in_ring: false });
        self.activity = Activity::Joining { began, until: after(driver.now(), *timeout), tries };
    }

    /// Accepts the answer to the request to join, if the message is that.
    pub(super) fn take_joined(&mut self, chord: &Chord, message: &Message, now: Time) -> bool {
        let Message::Joined { session, predecessor, successors } = *message else { return false };
        if session != self.peer.session {
            return false;
        }
        self.enter(now);
        let peer = &mut self.peer;
        peer.predecessor = Some(predecessor);
        let successor = if successors[0] == peer.id { predecessor } else { successors[0] };
        peer.set_successors(chord.ring(), successor, &successors[1..]);
        true
    }

    pub(super) fn join_timed_out(
        &mut self,
        chord: &Chord,
        began: Time,
        tries: u32,
        driver: &mut impl Dependencies<Message>,
    ) {
        self.peer.books.timeouts += 1;
        // Perhaps the ring is gone, and all wait to join. Then the node makes a ring of its own. That ring
        // grows together with others, if there are any.
        if tries == TRIES && chord.parameters().churn.is_some() {
            self.enter(driver.now());
            return self.fix_all_fingers_if_wanted(chord, driver);
        }
        self.ask_to_join(chord, began, tries, driver);
    }

    /// Draws any node but this one.
    pub(super) fn any_other(&self, chord: &Chord, driver: &mut impl Dependencies<Message>) -> u32 {
        let own = chord.ring().lp(self.peer.id).0;
        #[expect(clippy::cast_possible_truncation, reason = "below the number of nodes")]
        let other = driver.rng().below(u64::from(chord.parameters().nodes) - 1) as u32;
        chord.ring().id(LpId(if other < own { other } else { other + 1 }))
    }

    /// Tells its successor, then its predecessor, that it leaves.
    pub(super) fn leave(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        let Peer { id: leaver, predecessor, .. } = self.peer;
        let successor = self.peer.successor();
        if successor != leaver {
            self.send(chord, driver, successor, Message::PredecessorLeaves { leaver, predecessor });
        }
        if let Some(to) = predecessor.filter(|&id| id != leaver) {
            self.send(chord, driver, to, Message::SuccessorLeaves { leaver, successor });
        }
        self.activity = Activity::Outside;
    }
}
