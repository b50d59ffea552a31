//! The state machine of a node of Kademlia, by the rules of [`crate::driver`].
//!
//! A node serves requests and has several look-ups under way at a time. All waits for answers share one
//! timer. It is set to the earliest due time, and is not put off when answers come: when it ends without a
//! late answer, it is set again.

mod look_ups;
mod save;
mod values;

use super::look_up::LookUp;
use super::message::{Message, Value};
use super::{Kademlia, Table, Tables};
use crate::driver::{Dependencies, Timers, Wait};
use parades_core::event::LpId;
use parades_core::prefetch::{prefetch, prefetch_all};
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};
use values::Kept;

/// The timers of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    /// The end of the session.
    Leave,
    /// An answer is due.
    Answer,
    /// The next look-up of the user.
    LookUp,
    /// A bucket may have been without a look-up for long.
    Refresh,
    /// A value expires, or it is time to store it again.
    Values,
}

const TIMERS: [Timer; 5] = [Timer::Leave, Timer::Answer, Timer::LookUp, Timer::Refresh, Timer::Values];

/// The stage of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Outside,
    /// It looks itself up.
    Joining {
        began: Time,
    },
    Member {
        since: Time,
    },
    /// Its session has ended in time.
    Leaving {
        since: Time,
    },
}

/// The purpose of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Purpose {
    Join,
    Refresh,
    /// The value will be stored at the closest nodes.
    Store(Value),
    /// The user looks for the closest node.
    FindNode,
    /// The user looks for a value.
    FindValue,
}

impl Purpose {
    fn is_users(self) -> bool {
        matches!(self, Purpose::FindNode | Purpose::FindValue)
    }
}

/// A request other than that of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Call {
    number: u32,
    node: LpId,
    due: Time,
    pings: bool,
}

/// A look-up that was not judged at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) began: Time,
    pub(super) ended: Time,
    pub(super) target: u64,
    pub(super) found: LpId,
}

/// The books of a node, over all its sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Books {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) maintenance_bytes: u64,
    pub(super) timeouts: u32,
    pub(super) joins: u32,
    pub(super) departures: u32,
    pub(super) look_ups: u32,
    pub(super) failed: u32,
    /// Look-ups of users that were under way when the node left.
    pub(super) dropped: u32,
    pub(super) right: u32,
    pub(super) wrong: u32,
    pub(super) values_found: u32,
    pub(super) values_missing: u32,
    /// Sessions that have ended, from the end of the join on.
    pub(super) sessions: Vec<(Time, Time)>,
    /// Look-ups that will be judged at the end of the run.
    pub(super) ended: Vec<Ended>,
}

/// A node of Kademlia.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    node: LpId,
    stage: Stage,
    timers: Timers<{ TIMERS.len() }>,
    table: Table,
    look_ups: Vec<(u32, Purpose, LookUp)>,
    calls: Vec<Call>,
    values: Vec<Kept>,
    /// A bit for each bucket that waits for its refresh.
    to_refresh: u64,
    /// The number of the last request or look-up.
    number: u32,
    sessions: u32,
    books: Box<Books>,
}

impl Machine {
    /// Makes the machine of a node that has not come yet.
    pub(super) fn new(node: LpId, table: Table) -> Machine {
        Machine {
            node,
            stage: Stage::Outside,
            timers: Timers::new(),
            table,
            look_ups: Vec::new(),
            calls: Vec::new(),
            values: Vec::new(),
            to_refresh: 0,
            number: 0,
            sessions: 0,
            books: Box::default(),
        }
    }

    /// Returns the routing table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the values that the node stores.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.values.iter().map(|kept| &kept.value)
    }

    pub(super) fn books(&self) -> &Books {
        &self.books
    }

    /// Returns the time since which the node is a member, if it is one.
    pub fn member_since(&self) -> Option<Time> {
        if let Stage::Member { since } = self.stage { Some(since) } else { None }
    }

    /// Returns the wait of the machine.
    #[inline]
    pub(super) fn wait(&self) -> Wait {
        match self.stage {
            Stage::Outside | Stage::Leaving { .. } => Wait::Gone,
            Stage::Joining { .. } | Stage::Member { .. } => Wait::Messages(self.timers.next()),
        }
    }

    /// Prefetches what most messages need: the table and the books, and then the first look-up.
    #[inline]
    pub(super) fn fetch(&self, step: usize) {
        if step == 0 {
            self.table.fetch();
            prefetch_all(&self.look_ups[..]);
            prefetch(&*self.books);
        } else if let Some((_, _, look_up)) = self.look_ups.first() {
            look_up.fetch();
        }
    }

    /// Begins a session, which ends at `end`.
    pub(super) fn begin(&mut self, kademlia: &Kademlia, end: Time, driver: &mut impl Dependencies<Message>) {
        self.sessions += 1;
        self.timers.set(Timer::Leave as usize, end);
        let is_member = self.sessions == 1 && (self.node.0 == 0 || kademlia.parameters().tables == Tables::Ideal);
        if is_member || kademlia.parameters().nodes == 1 {
            return self.enter(kademlia, driver);
        }
        self.stage = Stage::Joining { began: driver.now() };
        self.join(kademlia, self.sessions == 1, driver);
    }

    /// Becomes a member.
    fn enter(&mut self, kademlia: &Kademlia, driver: &mut impl Dependencies<Message>) {
        let (now, parameters) = (driver.now(), kademlia.parameters());
        self.stage = Stage::Member { since: now };
        self.books.joins += 1;
        let first = Time::ZERO.checked_add(parameters.warm_up).unwrap_or(Time::MAX).max(now);
        let phase = driver.rng().uniform_delay(Delay::ZERO, parameters.look_up);
        self.timers.set(Timer::LookUp as usize, after(first, phase));
        self.timers.set(Timer::Refresh as usize, after(now, parameters.refresh));
        self.publish_own(kademlia, driver);
    }

    /// Returns the beginnings of the user's look-ups that are under way.
    pub(super) fn looks_up_since(&self) -> impl Iterator<Item = Time> {
        self.look_ups.iter().filter(|(_, purpose, _)| purpose.is_users()).map(|(_, _, look_up)| look_up.began)
    }

    /// Ends a session at `at`. A node that keeps its state keeps its contacts and values.
    pub(super) fn leave(&mut self, kademlia: &Kademlia, at: Time, keeps_state: bool) {
        if let Stage::Member { since } | Stage::Leaving { since } = self.stage
            && kademlia.parameters().churn.is_some()
        {
            self.books.sessions.push((since, at));
        }
        self.books.departures += 1;
        self.books.dropped += u32::try_from(self.looks_up_since().count()).expect("a node has few look-ups");
        self.stage = Stage::Outside;
        self.timers = Timers::new();
        self.look_ups.clear();
        self.calls.clear();
        self.to_refresh = 0;
        self.table.end_pings();
        if !keeps_state {
            self.forget(kademlia);
        }
    }

    /// Forgets contacts and values.
    pub(super) fn forget(&mut self, kademlia: &Kademlia) {
        self.table = Table::new(kademlia.space().id(self.node), kademlia.parameters().k);
        self.values.clear();
    }

    /// Handles a message.
    #[inline]
    pub(super) fn on_message(
        &mut self,
        kademlia: &Kademlia,
        from: LpId,
        message: Message,
        driver: &mut impl Dependencies<Message>,
    ) {
        self.hear(kademlia, from, driver);
        match message {
            Message::FindNode { look_up, target } => self.answer_nodes(kademlia, from, look_up, target, driver),
            Message::Nodes { look_up, ref nodes } => {
                if let Some(index) = self.look_up_of(look_up) {
                    self.note_answer(index, &message);
                    let own = kademlia.space().id(self.node);
                    if self.look_ups[index].2.answer(from, nodes, own, kademlia.space()) {
                        self.go_on(kademlia, index, driver);
                    }
                }
            }
            Message::Ping { call } => self.send(driver, from, Message::Done { call }),
            Message::Done { call } => self.end_call(kademlia, call, from, &message),
            Message::FindValue { look_up, key } => match self.value(key, driver.now()) {
                Some(value) => self.send(driver, from, Message::Found { look_up, value: Box::new(value) }),
                None => self.answer_nodes(kademlia, from, look_up, key, driver),
            },
            Message::Found { look_up, .. } => {
                if let Some(index) = self.look_up_of(look_up) {
                    self.found(kademlia, index, from, driver);
                }
            }
            Message::Store { call, value } => {
                self.keep(kademlia, *value, driver);
                self.send(driver, from, Message::Done { call });
            }
        }
    }

    /// Handles timers that are due.
    pub(super) fn on_timer(&mut self, kademlia: &Kademlia, driver: &mut impl Dependencies<Message>) {
        while let Some(timer) = self.timers.pop_due(driver.now()) {
            match TIMERS[timer] {
                Timer::Leave => {
                    // The driver ends the session.
                    self.timers = Timers::new();
                    self.stage = match self.stage {
                        Stage::Member { since } => Stage::Leaving { since },
                        _ => Stage::Outside,
                    };
                }
                Timer::Answer => self.answers_due(kademlia, driver),
                Timer::LookUp => self.look_up(kademlia, driver),
                Timer::Refresh => self.refresh_idle(kademlia, driver),
                Timer::Values => self.values_due(kademlia, driver),
            }
        }
    }

    /// Notes that a node is there. The oldest contact of a full bucket may be pinged.
    #[inline]
    fn hear(&mut self, kademlia: &Kademlia, from: LpId, driver: &mut impl Dependencies<Message>) {
        let questionable = seconds(Time::ZERO.checked_add(kademlia.parameters().questionable).unwrap_or(Time::MAX));
        let id = kademlia.space().id(from);
        if let Some(oldest) = self.table.hear(from, id, seconds(driver.now()), questionable) {
            self.call(kademlia, oldest, true, |call| Message::Ping { call }, driver);
        }
    }

    /// Makes a request other than that of a look-up.
    fn call(
        &mut self,
        kademlia: &Kademlia,
        node: LpId,
        pings: bool,
        message: impl FnOnce(u32) -> Message,
        driver: &mut impl Dependencies<Message>,
    ) {
        self.number = self.number.wrapping_add(1);
        let due = after(driver.now(), kademlia.parameters().timeout);
        self.calls.push(Call { number: self.number, node, due, pings });
        let message = message(self.number);
        self.books.maintenance_bytes += message.bytes();
        self.send(driver, node, message);
        self.timers.set_earlier(Timer::Answer as usize, due);
    }

    /// Notes the answer of such a request.
    fn end_call(&mut self, kademlia: &Kademlia, number: u32, from: LpId, message: &Message) {
        let found = self.calls.iter().position(|call| call.number == number && call.node == from);
        let Some(index) = found else { return };
        self.books.maintenance_bytes += message.bytes();
        if self.calls.remove(index).pings {
            self.table.end_ping(kademlia.space().id(from));
        }
    }

    /// Gives up answers that are late.
    fn answers_due(&mut self, kademlia: &Kademlia, driver: &mut impl Dependencies<Message>) {
        let now = driver.now();
        while let Some(index) = self.calls.iter().position(|call| call.due <= now) {
            let Call { node, pings, .. } = self.calls.remove(index);
            if pings {
                self.table.end_ping(kademlia.space().id(node));
            }
            self.fail(kademlia, node);
        }
        let late = self.look_ups.iter().filter(|(_, _, look_up)| look_up.due() <= now).map(|&(number, ..)| number);
        for number in late.collect::<Vec<u32>>() {
            let Some(index) = self.look_up_of(number) else { continue };
            while let Some(node) = self.look_ups[index].2.fail_next(now) {
                self.fail(kademlia, node);
            }
            self.go_on(kademlia, index, driver);
        }
        let look_ups = self.look_ups.iter().map(|(_, _, look_up)| look_up.due());
        let due = self.calls.iter().map(|call| call.due).chain(look_ups).min();
        self.timers.set(Timer::Answer as usize, due.unwrap_or(Time::MAX));
    }

    /// Notes that a node has not answered in time.
    fn fail(&mut self, kademlia: &Kademlia, node: LpId) {
        self.books.timeouts += 1;
        self.table.fail(node, kademlia.space().id(node));
    }

    #[inline]
    fn send(&mut self, driver: &mut impl Dependencies<Message>, to: LpId, message: Message) {
        self.books.messages += 1;
        self.books.bytes += message.bytes();
        driver.send(to, message);
    }

    /// Returns the words of the state for a digest.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> {
        let Books { messages, bytes, timeouts, look_ups, right, wrong, values_found, .. } = *self.books;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let words = [messages, bytes, pair(timeouts, look_ups), pair(right, wrong), pair(values_found, self.number)];
        let values = self.values.iter().flat_map(|kept| [kept.value.key, kept.value.expires.as_ps()]);
        words.into_iter().chain(self.table.words()).chain(values)
    }
}

/// Returns the time `delay` after `now`; [`Time::MAX`] beyond the end of virtual time.
fn after(now: Time, delay: Delay) -> Time {
    now.checked_add(delay).unwrap_or(Time::MAX)
}

/// Returns a time in whole seconds, rounded down.
fn seconds(time: Time) -> u32 {
    const PS: u64 = Delay::from_secs(1).as_ps();
    u32::try_from(time.as_ps() / PS).unwrap_or(u32::MAX)
}
