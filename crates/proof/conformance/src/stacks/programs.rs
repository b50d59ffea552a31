//! The programs: code that waits deep inside calls.

use parades_carriers::Constant;
use parades_core::prelude::*;
use parades_program::{Node, Program, Stack, Start};
use std::collections::VecDeque;

/// The latency between nodes.
const LATENCY: Delay = Delay::from_us(500);
/// The time that a node waits for an answer.
const PATIENCE: Delay = Delay::from_ms(8);
/// The bits of an identifier of Chord.
const BITS: u32 = 16;

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A token goes around. Nodes with the token work for a random time.
    TokenRing,
    /// A master gives tasks to free workers, and gives late tasks to others. A task is a process of its own.
    MasterWorkers,
    /// Nodes join a ring of identifiers, keep it up, and look up random keys. I. Stoica and others, *Chord: a
    /// scalable peer-to-peer lookup service for Internet applications*, SIGCOMM 2001.
    Chord,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::TokenRing, Kind::MasterWorkers, Kind::Chord];
}

/// A message between processes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message {
    Token,
    Task(u32),
    Done(u32),
    /// Asks for the node that is responsible for a key. It is passed on, and `asker` gets the answer.
    Find {
        key: u32,
        asker: LpId,
        question: u32,
    },
    /// Asks for the predecessor of the receiver.
    Predecessor {
        question: u32,
    },
    /// The answer to a question.
    Answer {
        node: Option<LpId>,
        question: u32,
    },
    /// Tells the receiver that the sender may be its predecessor.
    Notify,
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        let words = match *self {
            Message::Token => [1, 0, 0],
            Message::Task(number) => [2, number, 0],
            Message::Done(number) => [3, number, 0],
            Message::Find { key, asker, question } => [4 | asker.0 << 3, key, question],
            Message::Predecessor { question } => [5, question, 0],
            Message::Answer { node, question } => [6, node.map_or(u32::MAX, |node| node.0), question],
            Message::Notify => [7, 0, 0],
        };
        words.into_iter().for_each(|word| digest.word(word.into()));
    }
}

/// A program on nodes with one process each.
#[derive(Debug)]
pub(super) struct Work {
    kind: Kind,
    nodes: u32,
    stack: Stack,
    carrier: Constant,
}

impl Work {
    pub(super) fn new(kind: Kind, nodes: u32, stack: Stack) -> Work {
        Work { kind, nodes, stack, carrier: Constant::new(LATENCY) }
    }
}

impl Program for Work {
    type Message = Message;
    type State = u64;
    type Carrier = Constant;

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn carrier(&self) -> &Constant {
        &self.carrier
    }

    fn start(&self, start: &mut Start<'_, Self>) -> u64 {
        let is_first = start.id() == LpId(0);
        match self.kind {
            Kind::TokenRing => start.spawn_on(self.stack, "ring", pass_on),
            Kind::MasterWorkers if is_first => start.spawn_on(self.stack, "master", give_tasks),
            Kind::MasterWorkers => start.spawn_on(self.stack, "worker", do_tasks),
            Kind::Chord => start.spawn_on(self.stack, "peer", |node| Peer::new(node).live()),
        }
        0
    }

    fn fold(&self, state: &u64, digest: &mut Digest) {
        digest.word(*state);
    }
}

/// Adds a value to the state of a node, which is in the digest.
fn note(node: Node<Work>, value: u64) {
    node.with_state(|state| *state = state.wrapping_mul(31).wrapping_add(value));
}

fn work(node: Node<Work>, most: Delay) {
    let time = node.random(|rng| rng.uniform_delay(Delay::from_us(10), most));
    node.wait(node.sleep(time));
    note(node, time.as_ps());
}

/// Passes a token on. Each eighth node begins with one.
fn pass_on(node: Node<Work>) {
    let next = LpId((node.id().0 + 1) % node.nodes());
    if node.id().0.is_multiple_of(8) {
        node.send(next, Message::Token);
    }
    loop {
        let received = node.wait(node.receive());
        note(node, received.from.0.into());
        if node.random(|rng| rng.chance(0.5)) {
            work(node, Delay::from_ms(2));
        }
        node.send(next, Message::Token);
    }
}

/// Gives tasks to the workers, one to each at a time. A task that is late is given to another worker.
fn give_tasks(node: Node<Work>) {
    let mut free: VecDeque<LpId> = (1..node.nodes()).map(LpId).collect();
    let mut given: Vec<(u32, Time)> = Vec::new();
    let mut waiting: VecDeque<u32> = VecDeque::new();
    for number in 0.. {
        waiting.push_back(number);
        while let (Some(&task), Some(worker)) = (waiting.front(), free.pop_front()) {
            waiting.pop_front();
            node.send(worker, Message::Task(task));
            given.push((task, node.now().checked_add(PATIENCE).unwrap_or(Time::MAX)));
        }
        let Some(received) = node.wait(node.receive_within(PATIENCE)) else { continue };
        if let Message::Done(task) = received.message {
            given.retain(|&(other, _)| other != task);
            free.push_back(received.from);
            note(node, task.into());
        }
        let late = given.extract_if(.., |(_, due)| *due < node.now());
        waiting.extend(late.map(|(task, _)| task));
    }
}

fn do_tasks(node: Node<Work>) {
    loop {
        let received = node.wait(node.receive());
        if let Message::Task(task) = received.message {
            let stack = node.with_program(|program| program.stack);
            let done = node.spawn_on(stack, "task", |node| work(node, Delay::from_ms(12)));
            node.wait(done).expect("nobody kills it");
            node.send(received.from, Message::Done(task));
        }
    }
}

/// A peer of Chord.
struct Peer {
    node: Node<Work>,
    successor: LpId,
    predecessor: Option<LpId>,
    /// By bit: the node that is responsible for the peer's identifier plus that power of two.
    fingers: Vec<LpId>,
    questions: u32,
}

/// Returns the identifier of a node on the ring. No two nodes have the same.
fn identifier(node: LpId) -> u32 {
    // An odd factor makes a permutation of the identifiers.
    node.0.wrapping_mul(40_503) % (1 << BITS)
}

/// Returns true if `key` comes after `from` and not after `to`, on the way around the ring.
fn is_between(key: u32, from: u32, to: u32) -> bool {
    let distance = |to: u32| to.wrapping_sub(from).wrapping_sub(1) % (1 << BITS);
    distance(key) <= distance(to)
}

impl Peer {
    fn new(node: Node<Work>) -> Peer {
        let me = node.id();
        Peer { node, successor: me, predecessor: None, fingers: vec![me; BITS as usize], questions: 0 }
    }

    fn key(&self) -> u32 {
        identifier(self.node.id())
    }

    /// Joins the ring, and keeps it up for ever.
    fn live(mut self) {
        let node = self.node;
        self.serve_for(Delay::from_us(300 * u64::from(node.id().0)));
        while node.id() != LpId(0) && self.successor == node.id() {
            let first = LpId(0);
            if let Some(found) =
                self.ask(first, |asker, question| Message::Find { key: identifier(asker), asker, question })
            {
                self.successor = found;
            }
        }
        for round in 0_u32.. {
            let pause = node.random(|rng| rng.exponential_delay(Delay::from_ms(2)));
            self.serve_for(pause);
            match round % 3 {
                0 => self.stabilise(),
                1 => self.fix_finger(round / 3 % BITS),
                _ => {
                    let key = node.random(|rng| u32::try_from(rng.below(1 << BITS)).expect("keys are small"));
                    let found = self.find(key);
                    note(node, found.map_or(u64::MAX, |found| found.0.into()));
                }
            }
        }
    }

    fn serve_for(&mut self, time: Delay) {
        let due = self.node.now().checked_add(time).unwrap_or(Time::MAX);
        while let Some(received) = self.node.wait(self.node.receive_within(due.since(self.node.now()))) {
            self.answer(received.from, received.message);
        }
    }

    /// Sends a question to a node, and serves others until the answer is there.
    fn ask(&mut self, to: LpId, question_of: impl FnOnce(LpId, u32) -> Message) -> Option<LpId> {
        self.questions += 1;
        let (node, asked) = (self.node, self.questions);
        node.send(to, question_of(node.id(), asked));
        let due = node.now().checked_add(PATIENCE).unwrap_or(Time::MAX);
        loop {
            let received = node.wait(node.receive_within(due.since(node.now())))?;
            match received.message {
                Message::Answer { node: found, question } if question == asked => return found,
                message => self.answer(received.from, message),
            }
        }
    }

    /// Answers a question, or passes it on.
    fn answer(&mut self, from: LpId, message: Message) {
        let node = self.node;
        match message {
            Message::Find { key, asker, question } => {
                if is_between(key, self.key(), identifier(self.successor)) {
                    node.send(asker, Message::Answer { node: Some(self.successor), question });
                } else {
                    node.send(self.closest_before(key), message);
                }
            }
            Message::Predecessor { question } => {
                node.send(from, Message::Answer { node: self.predecessor, question });
            }
            Message::Notify => {
                let is_closer = |before| is_between(identifier(from), identifier(before), self.key());
                if self.predecessor.is_none_or(is_closer) {
                    self.predecessor = Some(from);
                }
            }
            _ => {}
        }
    }

    /// Returns the finger that is closest before a key.
    fn closest_before(&self, key: u32) -> LpId {
        let is_before =
            |finger: &&LpId| **finger != self.node.id() && is_between(identifier(**finger), self.key(), key);
        self.fingers.iter().rev().find(is_before).copied().unwrap_or(self.successor)
    }

    fn find(&mut self, key: u32) -> Option<LpId> {
        if is_between(key, self.key(), identifier(self.successor)) {
            return Some(self.successor);
        }
        self.ask(self.closest_before(key), |asker, question| Message::Find { key, asker, question })
    }

    fn stabilise(&mut self) {
        let successor = self.successor;
        let found = match successor == self.node.id() {
            true => self.predecessor,
            false => self.ask(successor, |_, question| Message::Predecessor { question }),
        };
        let is_closer = |found: &LpId| is_between(identifier(*found), self.key(), identifier(successor));
        self.successor = found.filter(is_closer).unwrap_or(successor);
        self.node.send(self.successor, Message::Notify);
    }

    fn fix_finger(&mut self, bit: u32) {
        let key = self.key().wrapping_add(1 << bit) % (1 << BITS);
        if let Some(found) = self.find(key) {
            self.fingers[bit as usize] = found;
        }
    }
}
