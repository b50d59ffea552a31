//! The state machine of a node, and its messages.

use super::{Averaging, UNIT, Values};
use crate::driver::Dependencies;
use parades_core::digest::{Digest, Payload};
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_core::wire::Malformed;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The length of every message in bytes: 28 of IP and UDP, and 12 of kind, cycle and value.
pub const MESSAGE_BYTES: u64 = 40;

/// A message. Each has the cycle in which the exchange began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Asks for an exchange, with the value of the sender.
    Ask(u32, u64),
    /// Answers with the new value of the node that asked.
    Mean(u32, u64),
    /// Refuses: the sender is in an exchange itself.
    Busy(u32),
}

/// The message as the object of "a node sends".
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Ask(cycle, value) => write!(f, "its value {value} for an exchange (cycle {cycle})"),
            Message::Mean(cycle, value) => write!(f, "the mean {value} (cycle {cycle})"),
            Message::Busy(cycle) => write!(f, "busy (cycle {cycle})"),
        }
    }
}

impl Payload for Message {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        let (kind, cycle, value) = match *self {
            Message::Ask(cycle, value) => (0, cycle, value),
            Message::Mean(cycle, value) => (1, cycle, value),
            Message::Busy(cycle) => (2, cycle, 0),
        };
        digest.word(kind << 32 | u64::from(cycle));
        digest.word(value);
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    #[serde(skip)]
    id: u32,
    pub(super) value: u64,
    /// The time of the next start; [`Time::MAX`] after the last.
    pub(super) next: Time,
    /// The time at which the present exchange began.
    asked: Option<Time>,
    /// The cycle of the last start.
    cycle: u32,
    /// The first boundary of cycles at which the value has not been measured.
    unmeasured: u32,
    pub(super) books: Books,
}

/// A node's counts of its own requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Books {
    pub(super) asked: u32,
    pub(super) completed: u32,
    pub(super) refused: u32,
    pub(super) timeouts: u32,
    /// Starts that passed during an exchange.
    pub(super) skipped: u32,
    /// Messages sent, of all kinds.
    pub(super) messages: u32,
}

impl Machine {
    pub(super) fn new(averaging: &Averaging, LpId(id): LpId, rng: &Rng) -> Machine {
        let value = match averaging.parameters().values {
            Values::Uniform => rng.below(UNIT + 1),
            Values::Peak if id == 0 => UNIT,
            Values::Peak => 0,
        };
        let books = Books::default();
        Machine { id, value, next: Time::MAX, asked: None, cycle: 0, unmeasured: 0, books }
    }

    /// Returns a machine that has been read, of the node `id`.
    pub(super) fn checked(mut self, averaging: &Averaging, LpId(id): LpId) -> Result<Machine, Malformed> {
        self.id = id;
        let cycles = averaging.parameters().cycles;
        let starts = self.books.asked.checked_add(self.books.skipped);
        let has_next = self.next < Time::MAX;
        if self.value > UNIT || starts.is_none_or(|starts| starts > cycles || (has_next && starts == cycles)) {
            return Err(Malformed::new("a node has an impossible value, or has begun too many exchanges"));
        }
        Ok(self)
    }

    /// Returns the value, in units of 1 / [`UNIT`].
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Begins the first cycle.
    pub(super) fn begin(&mut self, averaging: &Averaging, driver: &mut impl Dependencies<Message>) {
        self.next = start(averaging, 0, driver.rng());
    }

    /// Handles a message.
    #[inline]
    pub(super) fn on_message(
        &mut self,
        averaging: &Averaging,
        from: LpId,
        message: Message,
        driver: &mut impl Dependencies<Message>,
    ) {
        self.measure(averaging, driver);
        match message {
            Message::Ask(cycle, _) if self.asked.is_some() => self.send(from, Message::Busy(cycle), driver),
            Message::Ask(cycle, other) => {
                let sum = self.value + other;
                self.value = sum / 2;
                self.send(from, Message::Mean(cycle, sum - self.value), driver);
            }
            Message::Mean(cycle, value) if self.is_open(cycle) => {
                self.value = value;
                self.asked = None;
                self.books.completed += 1;
            }
            Message::Busy(cycle) if self.is_open(cycle) => {
                self.asked = None;
                self.books.refused += 1;
            }
            // The exchange has been given up.
            Message::Mean(..) | Message::Busy(_) => {}
        }
    }

    /// Starts the exchange of a cycle, unless one is under way.
    pub(super) fn on_timer(&mut self, averaging: &Averaging, driver: &mut impl Dependencies<Message>) {
        self.measure(averaging, driver);
        let now = driver.now();
        // Every start lies in its own cycle, and cycles have no gaps.
        let cycle = self.books.asked + self.books.skipped;
        let &super::Parameters { nodes, cycles, timeout, .. } = averaging.parameters();
        self.next = if cycle + 1 < cycles { start(averaging, cycle + 1, driver.rng()) } else { Time::MAX };
        if let Some(asked) = self.asked {
            if now.since(asked) < timeout {
                self.books.skipped += 1;
                return;
            }
            self.books.timeouts += 1;
        }
        #[expect(clippy::cast_possible_truncation, reason = "below the number of nodes")]
        let other = driver.rng().below(u64::from(nodes - 1)) as u32;
        (self.asked, self.cycle) = (Some(now), cycle);
        self.books.asked += 1;
        self.send(LpId(other + u32::from(other >= self.id)), Message::Ask(cycle, self.value), driver);
    }

    /// Returns true if the exchange of that cycle is under way.
    #[inline]
    fn is_open(&self, cycle: u32) -> bool {
        self.asked.is_some() && self.cycle == cycle
    }

    #[inline]
    fn send(&mut self, to: LpId, message: Message, driver: &mut impl Dependencies<Message>) {
        self.books.messages += 1;
        driver.send(to, message);
    }

    /// Records the value at each end of a cycle that has passed since the last event. The value has not
    /// changed since then.
    #[inline]
    fn measure(&mut self, averaging: &Averaging, driver: &mut impl Dependencies<Message>) {
        while self.unmeasured <= averaging.parameters().cycles && averaging.boundary(self.unmeasured) <= driver.now() {
            driver.observe(averaging.ids.after(self.unmeasured), self.value);
            self.unmeasured += 1;
        }
    }

    /// Records the value at the ends of cycles after the node's last event.
    pub(super) fn measure_rest(&self, averaging: &Averaging, end: Time, metrics: &mut Metrics) {
        (self.unmeasured..=averaging.parameters().cycles)
            .take_while(|&cycle| averaging.boundary(cycle) <= end)
            .for_each(|cycle| metrics.observe(averaging.ids.after(cycle), self.value));
    }
}

/// Draws the start in a cycle, from its first nine tenths.
fn start(averaging: &Averaging, cycle: u32, rng: &Rng) -> Time {
    let length = averaging.parameters().cycle.as_ps();
    let phase = Delay::from_ps(rng.below(length - length / 10));
    averaging.boundary(cycle).saturating_add(phase)
}
