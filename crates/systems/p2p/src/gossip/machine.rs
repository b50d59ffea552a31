//! The state machine of a node.

use super::{Calls, Direction, Gossip, Message};
use crate::driver::{Dependencies, Timers};
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use parades_core::wire::Malformed;
use serde::{Deserialize, Serialize};

/// The timer of calls.
const CALL: usize = 0;
/// The timer of the node's own rumours.
const BEGIN: usize = 1;

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    #[serde(skip)]
    id: u32,
    /// A bit for each rumour that the node knows, up to the last that it knows.
    pub(super) known: Vec<u64>,
    /// The rumours that the node still spreads.
    spread: Vec<u32>,
    /// The next rumour that begins here.
    own: u32,
    pub(super) timers: Timers<2>,
    pub(super) books: Books,
}

/// A node's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Books {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// Received rumours that the node knew already.
    pub(super) duplicates: u64,
}

impl Machine {
    pub(super) fn new(LpId(id): LpId) -> Machine {
        let books = Books::default();
        Machine { id, known: Vec::new(), spread: Vec::new(), own: id, timers: Timers::new(), books }
    }

    /// Returns a machine that has been read, of the node `id`.
    pub(super) fn checked(mut self, gossip: &Gossip, LpId(id): LpId) -> Result<Machine, Malformed> {
        self.id = id;
        let rumours = gossip.parameters().rumours;
        let last = self.known.last().map_or(0, |word| u64::BITS - word.leading_zeros());
        let known = 64 * self.known.len().saturating_sub(1) + last as usize;
        if known > rumours as usize || self.spread.iter().any(|&rumour| rumour >= rumours) {
            return Err(Malformed::new("a node knows a rumour that does not exist"));
        }
        Ok(self)
    }

    /// Returns the number of rumours that the node knows.
    pub fn rumours(&self) -> u32 {
        self.known.iter().map(|word| word.count_ones()).sum()
    }

    /// Sets the first timers.
    pub(super) fn begin(&mut self, gossip: &Gossip, driver: &mut impl Dependencies<Message>) {
        let parameters = gossip.parameters();
        let phase = match parameters.calls {
            Calls::InRounds => parameters.period,
            Calls::AtRandomPhases => Delay::from_ps(driver.rng().below(parameters.period.as_ps())),
        };
        self.timers.set(CALL, driver.now().saturating_add(phase));
        self.set_own(gossip);
    }

    fn set_own(&mut self, gossip: &Gossip) {
        let has_one = self.own < gossip.parameters().rumours;
        self.timers.set(BEGIN, if has_one { gossip.beginning(self.own) } else { Time::MAX });
    }

    pub(super) fn on_timer(&mut self, gossip: &Gossip, driver: &mut impl Dependencies<Message>) {
        while let Some(timer) = self.timers.pop_due(driver.now()) {
            if timer == BEGIN {
                self.learn(self.own);
                self.own = self.own.saturating_add(gossip.parameters().nodes);
                self.set_own(gossip);
                continue;
            }
            self.timers.set(CALL, driver.now().saturating_add(gossip.parameters().period));
            self.call(gossip, driver);
        }
    }

    /// Calls random other nodes.
    fn call(&mut self, gossip: &Gossip, driver: &mut impl Dependencies<Message>) {
        let parameters = gossip.parameters();
        if parameters.direction == Direction::Push && self.spread.is_empty() {
            return;
        }
        let bytes = parameters.rumour_bytes;
        for _ in 0..parameters.fanout {
            #[expect(clippy::cast_possible_truncation, reason = "below the number of nodes")]
            let other = driver.rng().below(u64::from(parameters.nodes - 1)) as u32;
            let rumours = self.spread.clone().into_boxed_slice();
            let known = || self.known.clone().into_boxed_slice();
            let message = match parameters.direction {
                Direction::Push => Message::Rumours { rumours, bytes, asks: parameters.interest.is_some() },
                Direction::Pull => Message::Call { rumours: Box::default(), bytes, known: known() },
                Direction::PushPull => Message::Call { rumours, bytes, known: known() },
            };
            self.send(LpId(other + u32::from(other >= self.id)), message, driver);
        }
    }

    /// Handles a message.
    pub(super) fn on_message(
        &mut self,
        gossip: &Gossip,
        from: LpId,
        message: Message,
        driver: &mut impl Dependencies<Message>,
    ) {
        match message {
            Message::Rumours { rumours, asks, .. } => {
                let knew = self.hear(gossip, &rumours, driver);
                if asks && !knew.is_empty() {
                    self.send(from, Message::Knew(knew.into()), driver);
                }
            }
            Message::Call { rumours, bytes, known } => {
                // The answer has what the node knew before the call: rumours of the call itself are no news.
                let missing = self.missing_from(&known);
                self.hear(gossip, &rumours, driver);
                let news: Box<[u32]> = missing.into_iter().filter(|rumour| !rumours.contains(rumour)).collect();
                if !news.is_empty() {
                    self.send(from, Message::Rumours { rumours: news, bytes, asks: false }, driver);
                }
            }
            Message::Knew(rumours) => {
                let interest = gossip.parameters().interest.unwrap_or(1);
                for rumour in rumours {
                    if driver.rng().below(u64::from(interest)) == 0 {
                        self.spread.retain(|&other| other != rumour);
                    }
                }
            }
        }
    }

    /// Learns rumours, and returns those that the node knew already.
    fn hear(&mut self, gossip: &Gossip, rumours: &[u32], driver: &mut impl Dependencies<Message>) -> Vec<u32> {
        let mut knew = Vec::new();
        for &rumour in rumours {
            if self.learn(rumour) {
                driver.observe(gossip.ids.latency, driver.now().since(gossip.beginning(rumour)).as_ps());
            } else {
                knew.push(rumour);
            }
        }
        self.books.duplicates += knew.len() as u64;
        knew
    }

    /// Learns a rumour. Returns false if the node knew it.
    fn learn(&mut self, rumour: u32) -> bool {
        let (word, bit) = ((rumour / 64) as usize, 1 << (rumour % 64));
        if self.known.len() <= word {
            self.known.resize(word + 1, 0);
        }
        let is_new = self.known[word] & bit == 0;
        if is_new {
            self.known[word] |= bit;
            self.spread.push(rumour);
        }
        is_new
    }

    /// Returns the rumours that the node knows and that `known` has not.
    fn missing_from(&self, known: &[u64]) -> Vec<u32> {
        let mut missing = Vec::new();
        for (index, &word) in (0_u32..).zip(&self.known) {
            let mut bits = word & !known.get(index as usize).copied().unwrap_or_default();
            while bits != 0 {
                missing.push(index * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        missing
    }

    fn send(&mut self, to: LpId, message: Message, driver: &mut impl Dependencies<Message>) {
        self.books.messages += 1;
        self.books.bytes += message.bytes();
        driver.send(to, message);
    }
}
