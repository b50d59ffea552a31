//! An environment for tests: it notes what an endpoint does.

use super::{Duration, Environment, Setup};
use crate::segment::TcpSegment;
use parades_core::random::Rng;
use parades_core::shared::Shared;
use parades_core::time::{Delay, Time};
use parades_tcp::environment::Ecn;

/// Something that an endpoint did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Did {
    Set(u32, Delay),
    Cancelled(u32),
    Sent(u32, u32),
    Called(Delay, u32),
    Observed(Duration, Delay),
    Failed(String),
}

#[derive(Debug)]
pub(super) struct Mock {
    pub(super) now: Time,
    pub(super) rng: Rng,
    /// The record of the last segment that had one.
    pub(super) record: Option<Shared<Box<[u8]>>>,
    did: Vec<Did>,
}

impl Default for Mock {
    fn default() -> Mock {
        Mock { now: Time::ZERO, rng: Rng::stream(1, 1), record: None, did: Vec::new() }
    }
}

impl Mock {
    /// Returns what was done since the last call.
    pub(super) fn take(&mut self) -> Vec<Did> {
        std::mem::take(&mut self.did)
    }
}

impl Setup for Mock {
    fn rng(&mut self) -> &Rng {
        &mut self.rng
    }

    fn set_timer(&mut self, timer: u32, delay: Delay) {
        self.did.push(Did::Set(timer, delay));
    }
}

impl Environment for Mock {
    type Record = Shared<Box<[u8]>>;

    fn now(&self) -> Time {
        self.now
    }

    fn flow(&self) -> u32 {
        7
    }

    fn cancel_timer(&mut self, timer: u32) {
        self.did.push(Did::Cancelled(timer));
    }

    fn send(&mut self, number: u32, payload: u32, record: Option<Shared<Box<[u8]>>>) {
        self.record = record.or(self.record.take());
        self.did.push(Did::Sent(number, payload));
    }

    fn send_data(&mut self, number: u32, payload: u32, _: &[u8]) {
        self.did.push(Did::Sent(number, payload));
    }

    fn send_segment(&mut self, number: u32, segment: TcpSegment, _: Ecn) {
        self.did.push(Did::Sent(number, segment.bytes));
    }

    fn call_app(&mut self, delay: Delay, number: u32) {
        self.did.push(Did::Called(delay, number));
    }

    fn observe(&mut self, duration: Duration, value: Delay) {
        self.did.push(Did::Observed(duration, value));
    }

    fn fail(&mut self, what: &str) {
        self.did.push(Did::Failed(what.to_owned()));
    }
}
