//! Joining, refreshing buckets, and look-ups.

use super::super::look_up::{LookUp, Width};
use super::{Ended, Machine, Purpose, Stage, Timer, after, seconds};
use crate::driver::Dependencies;
use crate::kademlia::{Kademlia, Message, Parameters};
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};

impl Kademlia {
    /// Returns the width of a look-up.
    pub(super) fn width(&self, purpose: Purpose) -> Width {
        let Parameters { k, alpha, resiliency, .. } = *self.parameters();
        Width { wanted: if purpose.is_users() { resiliency } else { k }, k, alpha }
    }
}

impl Machine {
    /// Looks the node itself up, with the help of a node that it is told of.
    pub(super) fn join(&mut self, kademlia: &Kademlia, is_first: bool, driver: &mut impl Dependencies<Message>) {
        // The first time it is an earlier node. Later it is any other, because that one may have gone.
        let others = if is_first { self.node.0 } else { kademlia.parameters().nodes - 1 };
        let helper = self.another(others, driver);
        self.start(Purpose::Join, kademlia.space().id(self.node), &[helper], kademlia, driver);
    }

    /// Draws one of the first `others` other nodes.
    fn another(&self, others: u32, driver: &mut impl Dependencies<Message>) -> LpId {
        let drawn = u32::try_from(driver.rng().below(u64::from(others))).expect("below a number of nodes");
        LpId(if drawn < self.node.0 { drawn } else { drawn + 1 })
    }

    /// Starts a look-up of the user.
    pub(super) fn look_up(&mut self, kademlia: &Kademlia, driver: &mut impl Dependencies<Message>) {
        let parameters = kademlia.parameters();
        self.timers.set(Timer::LookUp as usize, after(driver.now(), parameters.look_up));
        let finds_value = parameters.find_values > 0.0 && driver.rng().chance(parameters.find_values);
        if !finds_value {
            let target = driver.rng().next_u64();
            return self.start(Purpose::FindNode, target, &[], kademlia, driver);
        }
        let value = u32::try_from(driver.rng().below(u64::from(parameters.values))).expect("below a number of values");
        let key = kademlia.space().key(value);
        if self.value(key, driver.now()).is_some() {
            self.books.look_ups += 1;
            self.books.values_found += 1;
            driver.observe(kademlia.ids.hops, 0);
            driver.observe(kademlia.ids.look_up_time, 0);
            return;
        }
        self.start(Purpose::FindValue, key, &[], kademlia, driver);
    }

    /// Finds the buckets that have been without a look-up for long, and refreshes them.
    pub(super) fn refresh_idle(&mut self, kademlia: &Kademlia, driver: &mut impl Dependencies<Message>) {
        let (now, period) = (driver.now(), kademlia.parameters().refresh);
        let mut next = after(now, period);
        for bucket in 0..self.table.buckets() {
            let looked_up = Time::from_secs(u64::from(self.table.looked_up(bucket)));
            let due = after(looked_up, period);
            if due <= now {
                self.to_refresh |= 1 << bucket;
            } else {
                // Times of look-ups are in whole seconds.
                next = next.min(due);
            }
        }
        self.timers.set(Timer::Refresh as usize, next.max(after(now, Delay::from_secs(1))));
        self.refresh_next(kademlia, driver);
    }

    /// Refreshes the next bucket, unless another refresh is under way.
    fn refresh_next(&mut self, kademlia: &Kademlia, driver: &mut impl Dependencies<Message>) {
        let is_busy = self.look_ups.iter().any(|&(_, purpose, _)| purpose == Purpose::Refresh);
        if self.to_refresh == 0 || is_busy {
            return;
        }
        let bucket = self.to_refresh.trailing_zeros();
        self.to_refresh &= self.to_refresh - 1;
        // It shares `bucket` bits with the node, differs in the next one, and is random below.
        let bit = 1_u64 << 63 >> bucket;
        let target = (kademlia.space().id(self.node) ^ bit) & !(bit - 1) | (driver.rng().next_u64() & (bit - 1));
        self.start(Purpose::Refresh, target, &[], kademlia, driver);
    }

    /// Starts a look-up. It knows `helpers` and the closest contacts. A node that has no contact is told of
    /// another node.
    pub(super) fn start(
        &mut self,
        purpose: Purpose,
        target: u64,
        helpers: &[LpId],
        kademlia: &Kademlia,
        driver: &mut impl Dependencies<Message>,
    ) {
        let Parameters { nodes: count, k, .. } = *kademlia.parameters();
        let now = driver.now();
        let mut nodes = helpers.to_vec();
        self.table.closest(target, self.node, usize::from(k), kademlia.space(), &mut nodes);
        if nodes.is_empty() && count > 1 {
            nodes.push(self.another(count - 1, driver));
        }
        self.table.look_up(target, seconds(now));
        let look_up = LookUp::new(target, now, kademlia.width(purpose), &nodes, kademlia.space());
        self.number = self.number.wrapping_add(1);
        self.look_ups.push((self.number, purpose, look_up));
        self.go_on(kademlia, self.look_ups.len() - 1, driver);
    }

    /// Returns the index of a look-up that is under way.
    #[inline]
    pub(super) fn look_up_of(&self, number: u32) -> Option<usize> {
        self.look_ups.iter().position(|&(other, ..)| other == number)
    }

    /// Counts the bytes of an answer.
    #[inline]
    pub(super) fn note_answer(&mut self, index: usize, message: &Message) {
        if !self.look_ups[index].1.is_users() {
            self.books.maintenance_bytes += message.bytes();
        }
    }

    /// Answers with the closest contacts. A node that joins and has had no answer yet adds the node that it
    /// was told of. Otherwise a newcomer that asks it would learn of nobody, and join without being known.
    #[inline]
    pub(super) fn answer_nodes(
        &mut self,
        kademlia: &Kademlia,
        from: LpId,
        look_up: u32,
        target: u64,
        driver: &mut impl Dependencies<Message>,
    ) {
        let k = usize::from(kademlia.parameters().k);
        // Room for one bucket more, of which some are too far away.
        let mut nodes = Vec::with_capacity(2 * k);
        self.table.closest(target, from, k, kademlia.space(), &mut nodes);
        if let Stage::Joining { .. } = self.stage {
            let joins = self.look_ups.iter().find(|&&(_, purpose, _)| purpose == Purpose::Join);
            let told = joins.and_then(|(_, _, look_up)| look_up.first_unanswered());
            nodes.extend(told.filter(|&told| told != from && nodes.len() < k && !nodes.contains(&told)));
        }
        self.send(driver, from, Message::Nodes { look_up, nodes: nodes.into() });
    }

    /// Asks the next nodes of a look-up, or ends it.
    #[inline]
    pub(super) fn go_on(&mut self, kademlia: &Kademlia, index: usize, driver: &mut impl Dependencies<Message>) {
        let due = after(driver.now(), kademlia.parameters().timeout);
        let (number, purpose, target) = {
            let (number, purpose, look_up) = &self.look_ups[index];
            (*number, *purpose, look_up.target)
        };
        let mut asks = false;
        while let Some(node) = self.look_ups[index].2.ask_next(due) {
            let message = match purpose {
                Purpose::FindValue => Message::FindValue { look_up: number, key: target },
                _ => Message::FindNode { look_up: number, target },
            };
            if !purpose.is_users() {
                self.books.maintenance_bytes += message.bytes();
            }
            self.send(driver, node, message);
            asks = true;
        }
        if asks {
            self.timers.set_earlier(Timer::Answer as usize, due);
        } else if self.look_ups[index].2.is_over() {
            let (_, purpose, look_up) = self.look_ups.remove(index);
            self.finish(kademlia, purpose, look_up, driver);
        }
    }

    /// Ends a look-up.
    fn finish(
        &mut self,
        kademlia: &Kademlia,
        purpose: Purpose,
        look_up: LookUp,
        driver: &mut impl Dependencies<Message>,
    ) {
        match purpose {
            Purpose::Join => self.joined(kademlia, &look_up, driver),
            Purpose::Refresh => self.refresh_next(kademlia, driver),
            Purpose::Store(value) => self.store(kademlia, value, &look_up, driver),
            Purpose::FindNode => self.found_node(kademlia, &look_up, driver),
            Purpose::FindValue => {
                self.books.look_ups += 1;
                self.books.values_missing += 1;
            }
        }
    }

    /// Becomes a member if a node has answered. Then it refreshes all buckets further away than that of its
    /// closest neighbour.
    fn joined(&mut self, kademlia: &Kademlia, look_up: &LookUp, driver: &mut impl Dependencies<Message>) {
        let Some((_, distance, _)) = look_up.answered().next() else {
            return self.join(kademlia, false, driver);
        };
        if let Stage::Joining { began } = self.stage {
            driver.observe(kademlia.ids.join_time, driver.now().since(began).as_ps());
        }
        self.enter(kademlia, driver);
        self.to_refresh = (1 << distance.leading_zeros()) - 1;
        self.refresh_next(kademlia, driver);
    }

    /// Ends a user's look-up of the closest node, and judges it.
    fn found_node(&mut self, kademlia: &Kademlia, look_up: &LookUp, driver: &mut impl Dependencies<Message>) {
        let (target, began, now) = (look_up.target, look_up.began, driver.now());
        let own = kademlia.space().id(self.node);
        self.books.look_ups += 1;
        let (found, distance, depth) = match look_up.answered().next() {
            Some(closest) if closest.1 < own ^ target => closest,
            None if kademlia.parameters().nodes > 1 => {
                self.books.failed += 1;
                return;
            }
            _ => (self.node, own ^ target, 0),
        };
        driver.observe(kademlia.ids.hops, u64::from(depth));
        driver.observe(kademlia.ids.look_up_time, now.since(began).as_ps());
        match kademlia.judge(target, distance ^ target, began) {
            Some(true) => self.books.right += 1,
            Some(false) => self.books.wrong += 1,
            None if kademlia.parameters().churn.is_some() => {
                self.books.ended.push(Ended { began, ended: now, target, found });
            }
            None => {}
        }
    }

    /// Ends a user's look-up of a value that has been found.
    pub(super) fn found(
        &mut self,
        kademlia: &Kademlia,
        index: usize,
        from: LpId,
        driver: &mut impl Dependencies<Message>,
    ) {
        let Some(depth) = self.look_ups[index].2.depth_of(from, kademlia.space()) else { return };
        let (_, _, look_up) = self.look_ups.remove(index);
        self.books.look_ups += 1;
        self.books.values_found += 1;
        driver.observe(kademlia.ids.hops, u64::from(depth));
        driver.observe(kademlia.ids.look_up_time, driver.now().since(look_up.began).as_ps());
    }
}
