//! The periodic tasks of a node.

use super::{Dependencies, Machine, Question, Task};
use crate::chord::Keys;
use crate::chord::machine::Activity;
use crate::chord::message::Message;
use crate::chord::peer::{LookUp, Way};
use crate::chord::setup::Setup;
use parades_core::time::Time;

impl Machine {
    /// Asks its successor which node comes before the successor, and tells that node of itself. A nearer
    /// successor is asked at once, until there is none.
    #[inline]
    pub(super) fn stabilise(&mut self, setup: &Setup, driver: &mut impl Dependencies) {
        let (own, successor) = (self.peer.id, self.peer.successor());
        if successor == own {
            // It is alone, as far as it knows, unless another node has found it.
            if let Some(found) = self.peer.predecessor.filter(|&id| id != own) {
                self.peer.set_successors(setup.ring(), found, &[]);
                self.send(driver, found, Message::Notify { id: own });
            }
            return self.finish(setup, Task::Stabilise, driver);
        }
        let question = Question::Stabilise { successor };
        self.ask(setup, (successor, question), |ticket| Message::GetPredecessor { asker: own, ticket }, driver);
    }

    /// Looks up where the next finger points.
    pub(super) fn fix_a_finger(&mut self, setup: &Setup, driver: &mut impl Dependencies) {
        if !self.begins_finger(setup, false, driver) {
            self.finish(setup, Task::FixFinger, driver);
        }
    }

    /// Looks up where all fingers point, if the parameters say so: from the furthest to the nearest beyond
    /// the successor.
    pub(super) fn fix_all_fingers_if_wanted(&mut self, setup: &Setup, driver: &mut impl Dependencies) {
        self.activity = Activity::Ready;
        if setup.parameters().fingers_at_once {
            self.fix_all_fingers(setup, driver);
        }
    }

    fn fix_all_fingers(&mut self, setup: &Setup, driver: &mut impl Dependencies) {
        while !self.begins_finger(setup, true, driver) {
            if !self.peer.has_more_to_fix(setup.ring()) {
                self.activity = Activity::Ready;
                return;
            }
        }
    }

    /// Goes on when a finger has been looked up, or could not be.
    pub(super) fn finger_fixed(&mut self, setup: &Setup, all: bool, driver: &mut impl Dependencies) {
        match all {
            false => self.finish(setup, Task::FixFinger, driver),
            true if self.peer.has_more_to_fix(setup.ring()) => self.fix_all_fingers(setup, driver),
            true => self.activity = Activity::Ready,
        }
    }

    /// Begins to look up where the next finger points. Returns false if nobody has to be asked.
    fn begins_finger(&mut self, setup: &Setup, all: bool, driver: &mut impl Dependencies) -> bool {
        let ring = setup.ring();
        let Some(k) = self.peer.finger_to_fix(ring) else { return false };
        let key = ring.after(self.peer.id, 1 << k);
        match self.peer.way(ring, key) {
            Way::Here(found) => {
                self.peer.set_finger(ring, k, found);
                false
            }
            Way::Ask(whom) => {
                self.ask_for(setup, key, (whom, Question::Finger { k, whom, all }), driver);
                true
            }
        }
    }

    /// Asks its predecessor whether it is there.
    pub(super) fn check_predecessor(&mut self, setup: &Setup, driver: &mut impl Dependencies) {
        let own = self.peer.id;
        match self.peer.predecessor.filter(|&id| id != own) {
            Some(predecessor) => {
                let question = (predecessor, Question::Ping { predecessor });
                self.ask(setup, question, |ticket| Message::Ping { asker: own, ticket }, driver);
            }
            None => self.look_around(setup, driver),
        }
    }

    /// Asks any other node for the successor of its own identifier, where nodes come and go. That is itself,
    /// unless the ring has come apart and the other node is in another part. Then it may learn of a nearer
    /// successor, and stabilising makes one ring of the two.
    pub(super) fn look_around(&mut self, setup: &Setup, driver: &mut impl Dependencies) {
        if setup.parameters().churn.is_none() || setup.nodes() == 1 {
            return self.finish(setup, Task::CheckPredecessor, driver);
        }
        let other = self.any_other(setup, driver);
        self.ask_for(setup, self.peer.id, (other, Question::LookAround), driver);
    }

    /// Looks an identifier up.
    #[inline]
    pub(super) fn look_up(&mut self, setup: &Setup, driver: &mut impl Dependencies) {
        let ring = setup.ring();
        #[expect(clippy::cast_possible_truncation, reason = "random bits")]
        let key = match setup.parameters().keys {
            Keys::Uniform => ring.after(driver.rng().next_u64() as u32, 0),
            Keys::OwnFingers => {
                let k = driver.rng().below(u64::from(ring.bits()));
                self.peer.fingers[k as usize]
            }
        };
        let began = driver.now();
        match self.peer.way(ring, key) {
            Way::Here(successor) => self.looked_up(setup, (key, began), Some((successor, 0)), driver),
            Way::Ask(whom) => self.ask_for(setup, key, (whom, Question::LookUp { key, whom, began }), driver),
        }
    }

    /// Asks a node for the successor of a key.
    #[inline]
    fn ask_for(&mut self, setup: &Setup, key: u32, question: (u32, Question), driver: &mut impl Dependencies) {
        let asker = self.peer.id;
        self.ask(setup, question, |ticket| Message::Find { key, asker, ticket, hops: 1 }, driver);
    }

    /// Records a look-up: the successor and the number of nodes that the question reached, or nothing.
    #[inline]
    pub(super) fn looked_up(
        &mut self,
        setup: &Setup,
        (key, began): (u32, Time),
        found: Option<(u32, u16)>,
        driver: &mut impl Dependencies,
    ) {
        let books = &mut self.peer.books;
        let took = driver.now().since(began);
        match found {
            Some((successor, hops)) => {
                books.answered += 1;
                if setup.is_settled(began) {
                    books.wrong += u32::from(!setup.is_owner(successor, key));
                }
                driver.looked_up(hops, took);
            }
            None => books.failed += 1,
        }
        if setup.parameters().keeps_look_ups {
            self.peer.look_ups.push(LookUp { began, took, key, found });
        }
        self.finish(setup, Task::LookUp, driver);
    }
}
