//! The state machine of a node of Chord, by the rules of [`crate::driver`].
//!
//! A node has one remote call under way at a time, and serves all other messages meanwhile.

mod joining;
mod tasks;

use super::message::Message;
use super::peer::{Peer, Phase};
use super::{Chord, Parameters};
use crate::driver::{Dependencies, Timers, Wait};
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use parades_core::wire::Malformed;
use serde::{Deserialize, Serialize};

/// A task that a node does in periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Stabilise,
    FixFinger,
    CheckPredecessor,
    LookUp,
}

/// All tasks, in the order in which a node does them if several are due.
const TASKS: [Task; 4] = [Task::Stabilise, Task::FixFinger, Task::CheckPredecessor, Task::LookUp];

/// The present activity of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Activity {
    Outside,
    /// It has asked to join.
    Joining {
        began: Time,
        until: Time,
        tries: u32,
    },
    /// It has joined. Messages that came with the answer are served first, in the next round of the same
    /// time.
    Joined(Time),
    Ready,
    /// It has nothing to do, and sleeps.
    Idle(Time),
    /// It has nothing to do, and serves messages.
    Waiting(Time),
    /// It has asked a question.
    Asking {
        ticket: u32,
        until: Time,
        question: Question,
    },
}

/// The purpose of a question to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Question {
    /// It asks for the node before its successor.
    Stabilise { successor: u32 },
    /// It asks for the node to which finger `k` points. With `all`, the nearer fingers follow at once.
    Finger { k: u8, whom: u32, all: bool },
    /// It asks whether its predecessor is there.
    Ping { predecessor: u32 },
    /// It finds out whether the ring has come apart.
    LookAround,
    /// It asks for the successor of `key`.
    LookUp { key: u32, whom: u32, began: Time },
}

/// A node of Chord.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    peer: Peer,
    activity: Activity,
    /// A timer for each of the [`TASKS`].
    timers: Timers<{ TASKS.len() }>,
    /// The time at which the node leaves, or as soon after it as it can.
    end: Time,
}

impl Machine {
    /// Makes the machine of a node outside of the ring.
    pub(super) fn new(peer: Peer) -> Machine {
        Machine { peer, activity: Activity::Outside, timers: Timers::new(), end: Time::MAX }
    }

    /// Returns a machine that has been read, of the node `lp`.
    pub(super) fn checked(mut self, chord: &Chord, lp: LpId) -> Result<Machine, Malformed> {
        let (ring, &Parameters { nodes, bits, .. }) = (chord.ring(), chord.parameters());
        self.peer.id = ring.id(lp);
        let asked = match self.activity {
            Activity::Asking { question, .. } => match question {
                Question::Stabilise { successor: whom }
                | Question::Finger { whom, .. }
                | Question::Ping { predecessor: whom }
                | Question::LookUp { whom, .. } => Some(whom),
                Question::LookAround => None,
            },
            _ => None,
        };
        // An identifier beyond the ring would be that of a node too.
        let is_node = |id: u32| ring.after(id, 0) == id && ring.lp(id).0 < nodes;
        if !self.peer.known().chain(asked).all(is_node) {
            return Err(Malformed::new("a node knows a node that does not exist"));
        }
        if self.peer.fingers.len() != bits as usize {
            return Err(Malformed::new(format!("a node has {} fingers, not {bits}", self.peer.fingers.len())));
        }
        Ok(self)
    }

    /// Returns the knowledge of the node.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Returns the wait of the machine.
    #[inline]
    pub(super) fn wait(&self) -> Wait {
        match self.activity {
            Activity::Outside => Wait::Gone,
            Activity::Ready => Wait::Ready,
            Activity::Joined(until) | Activity::Idle(until) => Wait::Sleep(until),
            Activity::Waiting(until) | Activity::Joining { until, .. } | Activity::Asking { until, .. } => {
                Wait::Messages(until)
            }
        }
    }

    /// Comes into the ring; node 0 makes it. The node leaves at `end`, or as soon after it as it can, unless
    /// nodes have stopped going by then.
    pub(super) fn begin(&mut self, chord: &Chord, end: Time, driver: &mut impl Dependencies<Message>) {
        let now = driver.now();
        self.end = end;
        for task in TASKS {
            self.timers.set(task as usize, after(now, period(chord.parameters(), task)));
        }
        let peer = &mut self.peer;
        peer.session = peer.session.wrapping_add(1);
        // The first node makes the ring; when it comes back it joins like any other.
        let is_first = chord.parameters().nodes == 1 || (peer.session == 1 && chord.ring().lp(peer.id).0 == 0);
        if is_first {
            self.enter(now);
            return self.fix_all_fingers_if_wanted(chord, driver);
        }
        peer.phase = Phase::Joining;
        self.ask_to_join(chord, now, 0, driver);
    }

    /// Ends a session at `at`. The node has left the ring, or has crashed.
    pub(super) fn end(&mut self, chord: &Chord, at: Time) {
        if self.peer.phase == Phase::Member && chord.parameters().churn.is_some() {
            let since = self.peer.since;
            self.peer.past().sessions.push((since, at));
        }
        self.peer.books.dropped += u32::from(self.looks_up_since().is_some());
        self.forget();
    }

    /// Forgets the ring.
    pub(super) fn forget(&mut self) {
        self.peer.forget();
        self.peer.books.departures += 1;
        self.activity = Activity::Outside;
    }

    /// Handles a message.
    #[inline]
    pub(super) fn on_message(&mut self, chord: &Chord, message: Message, driver: &mut impl Dependencies<Message>) {
        let activity = self.activity;
        match activity {
            Activity::Joining { began, .. } if self.take_joined(chord, &message, driver.now()) => {
                let now = driver.now();
                driver.observe(chord.ids.join_time, now.since(began).as_ps());
                self.activity = Activity::Joined(now);
                return;
            }
            Activity::Asking { ticket, question, .. } if message.answers(ticket) => {
                return self.answered(chord, question, Some(message), driver);
            }
            _ => {}
        }
        let is_users = message.is_users();
        if let Some((to, reply)) = self.peer.serve(chord.ring(), message) {
            self.post(chord, to, reply, is_users, driver);
        }
        if let Activity::Asking { until, .. } = &mut self.activity
            && chord.restarts()
        {
            *until = after(driver.now(), chord.parameters().timeout);
        }
    }

    /// Goes on when the time of the wait has come.
    pub(super) fn on_timer(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        match self.activity {
            Activity::Joined(_) => self.fix_all_fingers_if_wanted(chord, driver),
            Activity::Idle(_) | Activity::Waiting(_) => self.activity = Activity::Ready,
            Activity::Joining { began, tries, .. } => self.join_timed_out(chord, began, tries + 1, driver),
            Activity::Asking { question, .. } => {
                self.peer.books.timeouts += 1;
                self.answered(chord, question, None, driver);
            }
            Activity::Outside | Activity::Ready => unreachable!("it waits for no time"),
        }
    }

    /// Does the task that is due next, or leaves, or sleeps.
    #[inline]
    pub(super) fn proceed(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>) {
        let now = driver.now();
        // A node may be late; and those that are there when nodes stop going stay.
        if now >= self.end && chord.parameters().churn.as_ref().is_some_and(|churn| now < churn.until) {
            return self.leave(chord, driver);
        }
        match self.timers.pop_due(now) {
            Some(task) => match TASKS[task] {
                Task::Stabilise => self.stabilise(chord, driver),
                Task::FixFinger => self.fix_a_finger(chord, driver),
                Task::CheckPredecessor => self.check_predecessor(chord, driver),
                Task::LookUp => self.look_up(chord, driver),
            },
            None => self.activity = self.rest(chord, now),
        }
    }

    /// Returns the beginning of the look-up that is under way.
    pub(super) fn looks_up_since(&self) -> Option<Time> {
        match self.activity {
            Activity::Asking { question: Question::LookUp { began, .. }, .. } => Some(began),
            _ => None,
        }
    }

    /// Returns the activity of a node that has nothing to do.
    #[inline]
    fn rest(&self, chord: &Chord, now: Time) -> Activity {
        match chord.parameters().idle {
            // Past its end, the node stays.
            Delay::ZERO if self.end > now => Activity::Waiting(self.timers.next().min(self.end)),
            Delay::ZERO => Activity::Waiting(self.timers.next()),
            idle => Activity::Idle(after(now, idle)),
        }
    }

    /// Ends a task. It is due again after its period.
    #[inline]
    fn finish(&mut self, chord: &Chord, task: Task, driver: &impl Dependencies<Message>) {
        self.timers.set(task as usize, after(driver.now(), period(chord.parameters(), task)));
        self.activity = Activity::Ready;
    }

    /// Sends a message of its own.
    #[inline]
    fn send(&mut self, chord: &Chord, driver: &mut impl Dependencies<Message>, to: u32, message: Message) {
        let is_users = message.is_users();
        self.post(chord, to, message, is_users, driver);
    }

    /// Sends a message, which may be part of a user's look-up.
    #[inline]
    fn post(
        &mut self,
        chord: &Chord,
        to: u32,
        message: Message,
        is_users: bool,
        driver: &mut impl Dependencies<Message>,
    ) {
        let bytes = message.wire_bytes();
        self.peer.books.messages += 1;
        self.peer.books.bytes += bytes;
        self.peer.books.maintenance_bytes += if is_users { 0 } else { bytes };
        driver.send(chord.ring().lp(to), message);
    }

    /// Asks a question, whose message is made with its number.
    #[inline]
    fn ask(
        &mut self,
        chord: &Chord,
        whom: u32,
        question: Question,
        message: impl FnOnce(u32) -> Message,
        driver: &mut impl Dependencies<Message>,
    ) {
        let ticket = self.peer.ticket.wrapping_add(1);
        self.peer.ticket = ticket;
        self.send(chord, driver, whom, message(ticket));
        self.activity = Activity::Asking { ticket, until: after(driver.now(), chord.parameters().timeout), question };
    }

    /// Goes on with the answer to a question; `None` if it has not come in time.
    #[inline]
    fn answered(
        &mut self,
        chord: &Chord,
        question: Question,
        answer: Option<Message>,
        driver: &mut impl Dependencies<Message>,
    ) {
        let ring = chord.ring();
        match (question, answer) {
            (Question::Stabilise { successor }, Some(Message::Predecessor { predecessor, successors, .. })) => {
                // It may have learned of a nearer successor while it waited.
                let has_nearer =
                    self.peer.successor() != successor || self.peer.stabilise(ring, predecessor, &successors);
                if has_nearer {
                    return self.stabilise(chord, driver);
                }
                self.send(chord, driver, successor, Message::Notify { id: self.peer.id });
                self.finish(chord, Task::Stabilise, driver);
            }
            (Question::Stabilise { successor }, _) => {
                self.peer.forget_neighbour(ring, successor);
                self.finish(chord, Task::Stabilise, driver);
            }
            (Question::Finger { k, whom, all }, answer) => {
                match answer {
                    Some(Message::Found { successor, .. }) => self.peer.set_finger(ring, k, successor),
                    // The node that was asked may be gone, or another on the path. A finger forgotten for
                    // nothing is learned again.
                    _ => self.peer.forget_finger(whom),
                }
                self.finger_fixed(chord, all, driver);
            }
            (Question::Ping { predecessor }, answer) => {
                if answer.is_none() {
                    self.peer.forget_neighbour(ring, predecessor);
                }
                self.look_around(chord, driver);
            }
            (Question::LookAround, answer) => {
                if let Some(Message::Found { successor, .. }) = answer {
                    // The nodes after its successor stay known.
                    let [_, others @ ..] = self.peer.successors;
                    self.peer.stabilise(ring, Some(successor), &others);
                }
                self.finish(chord, Task::CheckPredecessor, driver);
            }
            (Question::LookUp { key, whom, began }, answer) => {
                let found = match answer {
                    Some(Message::Found { successor, hops, .. }) => Some((successor, hops)),
                    _ => {
                        self.peer.forget_finger(whom);
                        None
                    }
                };
                self.looked_up(chord, key, began, found, driver);
            }
        }
    }
}

/// Returns the period of a task.
fn period(parameters: &Parameters, task: Task) -> Delay {
    match task {
        Task::Stabilise => parameters.stabilise,
        Task::FixFinger => parameters.fix_fingers,
        Task::CheckPredecessor => parameters.check_predecessor,
        Task::LookUp => parameters.look_up,
    }
}

fn after(now: Time, delay: Delay) -> Time {
    now.checked_add(delay).unwrap_or(Time::MAX)
}
