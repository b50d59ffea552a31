//! The state machine of a node of Chord.
//!
//! The machine has no input or output of its own. A driver tells it what happens: [`Machine::begin`],
//! [`Machine::on_message`], [`Machine::on_timer`], [`Machine::proceed`]. Time, random numbers and sends come
//! from the driver's [`Dependencies`]. After each call [`Machine::wait`] says what the machine waits for. The
//! whole state is plain data, so that it can be copied and restored.
//!
//! # Rules for a driver
//!
//! 1. While the machine waits for messages ([`Wait::Messages`]), the driver gives it each message as it
//!    comes.
//! 2. While the machine sleeps ([`Wait::Sleep`]), the driver keeps messages in their order. It gives them to
//!    the machine as soon as the machine takes messages again.
//! 3. When the machine is ready ([`Wait::Ready`]), the driver gives it the kept messages, and then calls
//!    [`Machine::proceed`].
//! 4. When the time of a wait has come, the driver calls [`Machine::on_timer`]. It does so in a later event
//!    than the one in which the wait began, and before it needs the machine for anything else. A message that
//!    comes at that very time is handled first.
//!
//! So a node has one remote call under way at a time, and serves all other messages meanwhile.

mod joining;
mod tasks;

use super::Parameters;
use super::message::Message;
use super::peer::{Peer, Phase};
use super::setup::Setup;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};

/// The services that a machine needs from its driver.
pub trait Dependencies {
    /// Returns the virtual time.
    fn now(&self) -> Time;

    /// Returns the node's random stream.
    fn rng(&mut self) -> &mut Rng;

    /// Sends a message to the node of an identifier.
    fn send(&mut self, to: u32, message: Message);

    /// Records that the node has joined, and how long that took.
    fn joined(&mut self, took: Delay);

    /// Records a look-up that was answered: the number of nodes that the question reached, and how long it
    /// took.
    fn looked_up(&mut self, hops: u16, took: Delay);
}

/// The wait of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It is outside of the ring, and waits for nothing.
    Nothing,
    /// It is ready: see rule 3.
    Ready,
    /// It sleeps until this time.
    Sleep(Time),
    /// It waits for a message until this time.
    Messages {
        /// The time at which it gives up.
        until: Time,
        /// The whole time for which it waits.
        timeout: Delay,
        /// True if it waits for the whole timeout again after each other message that it serves.
        restarts: bool,
    },
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Outside,
    /// It has asked to join.
    Joining {
        began: Time,
        until: Time,
        tries: u32,
    },
    /// It has joined. Messages that came with the answer are served first, in the next round of the same time.
    Joined(Time),
    Ready,
    Idle(Time),
    /// It has asked a question.
    Asking {
        ticket: u32,
        until: Time,
        question: Question,
    },
}

/// The purpose of a question to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    peer: Peer,
    activity: Activity,
    /// The times at which the [`TASKS`] are due.
    due: [Time; TASKS.len()],
    /// The time at which the node leaves, or as soon after it as it can.
    end: Time,
}

impl Machine {
    /// Makes the machine of a node outside of the ring.
    pub(super) fn new(peer: Peer) -> Machine {
        Machine { peer, activity: Activity::Outside, due: [Time::MAX; TASKS.len()], end: Time::MAX }
    }

    /// Returns the knowledge of the node.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Returns the wait of the machine.
    #[inline]
    pub fn wait(&self, setup: &Setup) -> Wait {
        let timeout = setup.parameters().timeout;
        match self.activity {
            Activity::Outside => Wait::Nothing,
            Activity::Ready => Wait::Ready,
            Activity::Joined(until) | Activity::Idle(until) => Wait::Sleep(until),
            Activity::Joining { until, .. } => Wait::Messages { until, timeout, restarts: false },
            Activity::Asking { until, .. } => Wait::Messages { until, timeout, restarts: setup.restarts() },
        }
    }

    /// Comes into the ring; node 0 makes it. The node leaves at `end`, or as soon after it as it can, unless
    /// nodes have stopped going by then.
    pub fn begin(&mut self, setup: &Setup, end: Time, driver: &mut impl Dependencies) {
        let now = driver.now();
        self.end = end;
        self.due = TASKS.map(|task| after(now, period(setup.parameters(), task)));
        let peer = &mut self.peer;
        peer.session = peer.session.wrapping_add(1);
        // The first node makes the ring; when it comes back it joins like any other.
        let is_first = setup.nodes() == 1 || (peer.session == 1 && setup.ring().lp(peer.id).0 == 0);
        if is_first {
            self.enter();
            return self.fix_all_fingers_if_wanted(setup, driver);
        }
        peer.phase = Phase::Joining;
        self.ask_to_join(setup, (now, 0), driver);
    }

    /// Forgets the ring. The node has left it, or has crashed.
    pub fn forget(&mut self) {
        self.peer.forget();
        self.peer.books.departures += 1;
        self.activity = Activity::Outside;
    }

    /// Handles a message. Returns true if the wait goes on as before.
    #[inline]
    pub fn on_message(&mut self, setup: &Setup, message: Message, driver: &mut impl Dependencies) -> bool {
        let activity = self.activity;
        match activity {
            Activity::Joining { began, .. } if self.take_joined(setup, &message) => {
                let now = driver.now();
                driver.joined(now.since(began));
                self.activity = Activity::Joined(now);
                return false;
            }
            Activity::Asking { ticket, question, .. } if message.answers(ticket) => {
                self.answered(setup, question, Some(message), driver);
                return false;
            }
            _ => {}
        }
        if let Some((to, reply)) = self.peer.serve(setup.ring(), message) {
            self.send(driver, to, reply);
        }
        if let Activity::Asking { until, .. } = &mut self.activity
            && setup.restarts()
        {
            *until = after(driver.now(), setup.parameters().timeout);
        }
        true
    }

    /// Goes on when the time of the wait has come.
    pub fn on_timer(&mut self, setup: &Setup, driver: &mut impl Dependencies) {
        match self.activity {
            Activity::Joined(_) => self.fix_all_fingers_if_wanted(setup, driver),
            Activity::Idle(_) => self.activity = Activity::Ready,
            Activity::Joining { began, tries, .. } => self.join_timed_out(setup, (began, tries + 1), driver),
            Activity::Asking { question, .. } => {
                self.peer.books.timeouts += 1;
                self.answered(setup, question, None, driver);
            }
            Activity::Outside | Activity::Ready => unreachable!("it waits for no time"),
        }
    }

    /// Does the task that is due next, or leaves, or sleeps. The driver calls it when the machine is ready and
    /// has got all messages that came.
    #[inline]
    pub fn proceed(&mut self, setup: &Setup, driver: &mut impl Dependencies) {
        let now = driver.now();
        // A node may be late; and those that are there when nodes stop going stay.
        if now >= self.end && setup.parameters().churn.as_ref().is_some_and(|churn| now < churn.until) {
            return self.leave(driver);
        }
        match self.due.iter().position(|&due| due <= now) {
            Some(index) => match TASKS[index] {
                Task::Stabilise => self.stabilise(setup, driver),
                Task::FixFinger => self.fix_a_finger(setup, driver),
                Task::CheckPredecessor => self.check_predecessor(setup, driver),
                Task::LookUp => self.look_up(setup, driver),
            },
            None => self.activity = Activity::Idle(after(now, setup.parameters().idle)),
        }
    }

    /// Ends a task. It is due again after its period.
    #[inline]
    fn finish(&mut self, setup: &Setup, task: Task, driver: &impl Dependencies) {
        self.due[task as usize] = after(driver.now(), period(setup.parameters(), task));
        self.activity = Activity::Ready;
    }

    #[inline]
    fn send(&mut self, driver: &mut impl Dependencies, to: u32, message: Message) {
        self.peer.books.messages += 1;
        driver.send(to, message);
    }

    /// Asks a question, whose message is made with its number.
    #[inline]
    fn ask(
        &mut self,
        setup: &Setup,
        (whom, question): (u32, Question),
        message: impl FnOnce(u32) -> Message,
        driver: &mut impl Dependencies,
    ) {
        let ticket = self.peer.ticket.wrapping_add(1);
        self.peer.ticket = ticket;
        self.send(driver, whom, message(ticket));
        self.activity = Activity::Asking { ticket, until: after(driver.now(), setup.parameters().timeout), question };
    }

    /// Goes on with the answer to a question; `None` if it has not come in time.
    #[inline]
    fn answered(&mut self, setup: &Setup, question: Question, answer: Option<Message>, driver: &mut impl Dependencies) {
        let ring = setup.ring();
        match (question, answer) {
            (Question::Stabilise { successor }, Some(Message::Predecessor { predecessor, successors, .. })) => {
                // It may have learned of a nearer successor while it waited.
                let has_nearer =
                    self.peer.successor() != successor || self.peer.stabilise(ring, predecessor, &successors);
                if has_nearer {
                    return self.stabilise(setup, driver);
                }
                self.send(driver, successor, Message::Notify { id: self.peer.id });
                self.finish(setup, Task::Stabilise, driver);
            }
            (Question::Stabilise { successor }, _) => {
                self.peer.forget_neighbour(ring, successor);
                self.finish(setup, Task::Stabilise, driver);
            }
            (Question::Finger { k, whom, all }, answer) => {
                match answer {
                    Some(Message::Found { successor, .. }) => self.peer.set_finger(ring, k, successor),
                    // The node that was asked may be gone, or another on the path. A finger forgotten for
                    // nothing is learned again.
                    _ => self.peer.forget_finger(whom),
                }
                self.finger_fixed(setup, all, driver);
            }
            (Question::Ping { predecessor }, answer) => {
                if answer.is_none() {
                    self.peer.forget_neighbour(ring, predecessor);
                }
                self.look_around(setup, driver);
            }
            (Question::LookAround, answer) => {
                if let Some(Message::Found { successor, .. }) = answer {
                    self.peer.stabilise(ring, Some(successor), &[]);
                }
                self.finish(setup, Task::CheckPredecessor, driver);
            }
            (Question::LookUp { key, whom, began }, answer) => {
                let found = match answer {
                    Some(Message::Found { successor, hops, .. }) => Some((successor, hops)),
                    _ => {
                        self.peer.forget_finger(whom);
                        None
                    }
                };
                self.looked_up(setup, (key, began), found, driver);
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
