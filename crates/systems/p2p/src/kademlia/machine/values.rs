//! Values: publishing, storing, republishing, expiry.

use super::super::look_up::LookUp;
use super::{Machine, Purpose, Timer, after};
use crate::driver::Dependencies;
use crate::kademlia::{Kademlia, Message, Value};
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A value that a node stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) value: Value,
    /// The time at which the node stores it at the closest nodes again.
    store: Time,
    /// True if the node is the value's publisher.
    is_own: bool,
}

impl Machine {
    /// Returns the value of a key, if the node has it.
    pub(super) fn value(&self, key: u64, now: Time) -> Option<Value> {
        self.values.iter().map(|kept| kept.value).find(|value| value.key == key && value.expires > now)
    }

    /// Publishes the node's own values, each at a random time within the period of look-ups.
    pub(super) fn publish_own(&mut self, kademlia: &Kademlia, driver: &mut impl Dependencies<Message>) {
        let parameters = kademlia.parameters();
        let now = driver.now();
        let mut own = Vec::new();
        for number in (self.node.0..parameters.values).step_by(parameters.nodes as usize) {
            let store = after(now, driver.rng().uniform_delay(Delay::ZERO, parameters.look_up));
            let key = kademlia.space().key(number);
            let value = Value { key, number, bytes: parameters.value_bytes, expires: after(now, parameters.expire) };
            own.push(Kept { value, store, is_own: true });
        }
        // Of values with one key, the last is kept.
        let mut keys = BTreeSet::new();
        own.reverse();
        own.retain(|kept| keys.insert(kept.value.key));
        self.values.retain(|kept| !kept.is_own && !keys.contains(&kept.value.key));
        self.values.extend(own.into_iter().rev());
        self.set_values_timer(driver.now());
    }

    /// Keeps a value that another node stores here. That node has stored it at the other closest nodes too.
    /// So this one need not do so for a while (section 2.5 of the paper).
    pub(super) fn keep(&mut self, kademlia: &Kademlia, value: Value, driver: &mut impl Dependencies<Message>) {
        if value.expires <= driver.now() {
            return;
        }
        let store = within(driver, kademlia.parameters().republish);
        match self.values.iter_mut().find(|kept| kept.value.key == value.key) {
            Some(kept) if kept.is_own => {}
            Some(kept) => {
                kept.value.expires = kept.value.expires.max(value.expires);
                kept.store = store;
            }
            None => self.values.push(Kept { value, store, is_own: false }),
        }
        self.set_values_timer(driver.now());
    }

    /// Stores values again whose time has come, and forgets those that have expired.
    pub(super) fn values_due(&mut self, kademlia: &Kademlia, driver: &mut impl Dependencies<Message>) {
        let (now, parameters) = (driver.now(), kademlia.parameters());
        self.values.retain(|kept| kept.is_own || kept.value.expires > now);
        let mut due = Vec::new();
        for kept in &mut self.values {
            if kept.store > now {
                continue;
            }
            if kept.is_own {
                kept.value.expires = after(now, parameters.expire);
                kept.store = within(driver, parameters.expire);
            } else {
                kept.store = within(driver, parameters.republish);
            }
            due.push(kept.value);
        }
        for value in due {
            self.start(Purpose::Store(value), value.key, &[], kademlia, driver);
        }
        self.set_values_timer(driver.now());
    }

    /// Stores a value at the closest nodes that a look-up has found. The node may be one of them itself.
    pub(super) fn store(
        &mut self,
        kademlia: &Kademlia,
        value: Value,
        look_up: &LookUp,
        driver: &mut impl Dependencies<Message>,
    ) {
        let own = kademlia.space().id(self.node) ^ value.key;
        let k = usize::from(kademlia.parameters().k);
        let mut closest: Vec<(LpId, u64)> = look_up.answered().map(|(node, distance, _)| (node, distance)).collect();
        let place = closest.partition_point(|&(_, distance)| distance < own);
        closest.insert(place, (self.node, own));
        for &(node, _) in closest.iter().take(k) {
            if node == self.node {
                continue;
            }
            self.call(kademlia, node, false, |call| Message::Store { call, value: Box::new(value) }, driver);
        }
    }

    /// Sets the timer to the next time at which a value is stored or expires. That time may have passed while
    /// the node was away.
    fn set_values_timer(&mut self, now: Time) {
        let due = |kept: &Kept| if kept.is_own { kept.store } else { kept.store.min(kept.value.expires) };
        let next = self.values.iter().map(due).min().unwrap_or(Time::MAX);
        self.timers.set(Timer::Values as usize, next.max(now));
    }
}

/// Returns a random time in the second half of an interval from now on. So of several nodes that store the
/// same value, one is the first, and the others need not store it again.
fn within(driver: &mut impl Dependencies<Message>, interval: Delay) -> Time {
    let half = Delay::from_ps(interval.as_ps() / 2);
    after(driver.now(), driver.rng().uniform_delay(half, interval))
}
