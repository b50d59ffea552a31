//! The periodic tasks of a node.

use super::{Machine, Question, Task};
use crate::chord::machine::Activity;
use crate::chord::message::Message;
use crate::chord::peer::{LookUp, Way};
use crate::chord::{Chord, Keys};
use crate::driver::Dependencies;
use parades_core::time::Time;

impl Machine {
    /// Asks its successor which node comes before the successor, and tells that node of itself. A nearer
    /// successor is asked at once, until there is none.
    #[inline]
    pub(super) fn stabilise(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        let (own, successor) = (self.peer.id, self.peer.successor());
        if successor == own {
            // It is alone, as far as it knows, unless another node has found it.
            if let Some(found) = self.peer.predecessor.filter(|&id| id != own) {
                self.peer.set_successors(chord.ring(), found, &[]);
                self.send(chord, driver, found, Message::Notify { id: own });
            }
            return self.finish(chord, Task::Stabilise, driver);
        }
        let question = Question::Stabilise { successor };
        self.ask(chord, successor, question, |ticket| Message::GetPredecessor { asker: own, ticket }, driver);
    }

    /// Looks up where the next finger points.
    pub(super) fn fix_a_finger(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        if !self.begins_finger(chord, false, driver) {
            self.finish(chord, Task::FixFinger, driver);
        }
    }

    /// Looks up where all fingers point, if the parameters say so: from the furthest to the nearest beyond
    /// the successor.
    pub(super) fn fix_all_fingers_if_wanted(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        self.activity = Activity::Ready;
        if chord.parameters().fingers_at_once {
            self.fix_all_fingers(chord, driver);
        }
    }

    fn fix_all_fingers(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        while !self.begins_finger(chord, true, driver) {
            if !self.peer.has_more_to_fix(chord.ring()) {
                self.activity = Activity::Ready;
                return;
            }
        }
    }

    /// Goes on when a finger has been looked up, or could not be.
    pub(super) fn finger_fixed(&mut self, chord: &Chord, all: bool, driver: &mut impl Dependencies<Message>) {
        match all {
            false => self.finish(chord, Task::FixFinger, driver),
            true if self.peer.has_more_to_fix(chord.ring()) => self.fix_all_fingers(chord, driver),
            true => self.activity = Activity::Ready,
        }
    }

    /// Begins to look up where the next finger points. Returns false if nobody has to be asked.
    fn begins_finger(&mut self, chord: &Chord, all: bool, driver: &mut impl Dependencies<Message>) -> bool {
        let ring = chord.ring();
        let Some(k) = self.peer.finger_to_fix(ring) else { return false };
        let key = ring.after(self.peer.id, 1 << k);
        match self.peer.way(ring, key) {
            Way::Here(found) => {
                self.peer.set_finger(ring, k, found);
                false
            }
            Way::Ask(whom) => {
                self.ask_for(chord, key, whom, Question::Finger { k, whom, all }, driver);
                true
            }
        }
    }

    /// Asks its predecessor whether it is there.
    pub(super) fn check_predecessor(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        let own = self.peer.id;
        match self.peer.predecessor.filter(|&id| id != own) {
            Some(predecessor) => {
                let question = Question::Ping { predecessor };
                self.ask(chord, predecessor, question, |ticket| Message::Ping { asker: own, ticket }, driver);
            }
            None => self.look_around(chord, driver),
        }
    }

    /// Asks any other node for the successor of its own identifier, where nodes come and go. That is itself,
    /// unless the ring has come apart and the other node is in another part. Then it may learn of a nearer
    /// successor, and stabilising makes one ring of the two.
    pub(super) fn look_around(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        if chord.parameters().churn.is_none() || chord.parameters().nodes == 1 {
            return self.finish(chord, Task::CheckPredecessor, driver);
        }
        let other = self.any_other(chord, driver);
        self.ask_for(chord, self.peer.id, other, Question::LookAround, driver);
    }

    /// Looks an identifier up.
    #[inline]
    pub(super) fn look_up(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        let ring = chord.ring();
        #[expect(clippy::cast_possible_truncation, reason = "random bits")]
        let key = match chord.parameters().keys {
            Keys::Uniform => ring.after(driver.rng().next_u64() as u32, 0),
            Keys::OwnFingers => {
                let k = driver.rng().below(u64::from(ring.bits()));
                self.peer.fingers[k as usize]
            }
        };
        let began = driver.now();
        match self.peer.way(ring, key) {
            Way::Here(successor) => self.looked_up(chord, key, began, Some((successor, 0)), driver),
            Way::Ask(whom) => self.ask_for(chord, key, whom, Question::LookUp { key, whom, began }, driver),
        }
    }

    /// Asks a node for the successor of a key.
    #[inline]
    fn ask_for(
        &mut self,
        chord: &Chord,
        key: u32,
        whom: u32,
        question: Question,
        driver: &mut impl Dependencies<Message>,
    ) {
        let asker = self.peer.id;
        let for_user = matches!(question, Question::LookUp { .. });
        self.ask(chord, whom, question, |ticket| Message::Find { key, asker, ticket, hops: 1, for_user }, driver);
    }

    /// Records a look-up: the successor and the number of nodes that the question reached, or nothing.
    #[inline]
    pub(super) fn looked_up(
        &mut self,
        chord: &Chord,
        key: u32,
        began: Time,
        found: Option<(u32, u16)>,
        driver: &mut impl Dependencies<Message>,
    ) {
        let books = &mut self.peer.books;
        let took = driver.now().since(began);
        match found {
            Some((successor, hops)) => {
                books.answered += 1;
                if chord.is_settled(began) {
                    let is_right = chord.is_owner(successor, key);
                    books.right += u32::from(is_right);
                    books.wrong += u32::from(!is_right);
                } else if chord.parameters().churn.is_some() {
                    self.peer.past().answered.push(LookUp { began, took, key, found });
                }
                driver.observe(chord.ids.hops, u64::from(hops));
                driver.observe(chord.ids.look_up_time, took.as_ps());
            }
            None => books.failed += 1,
        }
        if chord.parameters().keeps_look_ups {
            self.peer.look_ups.push(LookUp { began, took, key, found });
        }
        self.finish(chord, Task::LookUp, driver);
    }
}
