//! Activities: flows, computations and transfers of disks.

use super::{AMOUNT_PRECISION, HostId};
use crate::platform::DiskId;
use crate::solver::VariableId;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The id of an activity, unique in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActivityId {
    pub(super) slot: u32,
    pub(super) serial: u64,
}

impl ActivityId {
    /// Returns the activity's slot. Slots are below the greatest number of activities that existed at one
    /// time. A slot is reused after its activity has ended.
    pub fn slot(self) -> usize {
        self.slot as usize
    }

    /// Returns the number of activities of the network that started before this one.
    pub fn number(self) -> u64 {
        self.serial
    }
}

/// How an activity ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The activity was completed.
    Done,
    /// A link or host that the activity uses failed, or was off when the activity started.
    Failed,
    /// The activity was cancelled.
    Cancelled,
}

/// An activity that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The activity.
    pub id: ActivityId,
    /// The date of its end.
    pub at: Time,
    /// How it ended.
    pub outcome: Outcome,
}

/// A computation on a host.
///
/// The computations on a host share its cores max-min fairly, by their priorities. A thread of a computation
/// uses at most one core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Execution {
    /// The work of each thread, in flops.
    pub flops: f64,
    /// The number of threads.
    pub threads: u32,
    /// The weight of each thread among the computations that share the host. 1 is the usual one.
    pub priority: f64,
    /// The greatest rate of all threads together, in flops per second; infinite for none.
    pub bound: f64,
}

impl Execution {
    /// Makes a computation of `flops` flops on one core, of priority 1 and without a bound.
    pub const fn new(flops: f64) -> Execution {
        Execution { flops, threads: 1, priority: 1.0, bound: f64::INFINITY }
    }

    /// Returns the sentence that refuses the computation, if one of its numbers is impossible.
    pub fn refusal(self) -> Option<String> {
        let Execution { flops, threads, priority, bound } = self;
        if !(flops >= 0.0 && (flops * f64::from(threads)).is_finite()) {
            return Some(format!("a computation cannot take {flops} flops"));
        }
        if threads == 0 {
            return Some("a computation needs a thread".to_owned());
        }
        if !(priority > 0.0 && priority.is_finite()) {
            return Some(format!("a computation cannot have the priority {priority}: it must be above 0"));
        }
        if bound.is_nan() || bound <= 0.0 {
            return Some(format!("a computation cannot have the bound {bound}: it must be above 0 flop/s"));
        }
        None
    }
}

/// The two directions of data at a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Transfer {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

/// The kinds of activities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ActivityKind {
    Flow { source: HostId, destination: HostId },
    Execution { host: HostId, threads: u32 },
    Disk { disk: DiskId, transfer: Transfer },
}

/// The stages of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A flow waits for its latency. Then it will share its links.
    Latency,
    /// The activity shares resources, and none of them can limit it. The number is its index in the network's
    /// list `unconstrained`.
    Unconstrained(u32),
    /// The activity shares resources as a variable of the system.
    Sharing(VariableId),
    /// The activity shares nothing, and ends at a known date.
    Timed,
    /// The activity was suspended: during its latency, of which this is left, or while it shared its
    /// resources.
    Suspended(Option<Delay>),
    /// The activity has ended, and its slot is free.
    Ended,
}

/// A flow, a computation or a transfer of a disk.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Activity {
    pub(super) serial: u64,
    pub(super) kind: ActivityKind,
    pub(super) stage: Stage,
    /// The amount that remained at the date `updated`, in bytes or flops.
    pub(super) remaining: f64,
    pub(super) updated: Time,
    /// The rate since `updated`, in bytes or flops per second.
    pub(super) rate: f64,
    /// The activity's rate per unit of its variable's rate.
    pub(super) rate_factor: f64,
    /// The constraints that the activity uses, with their weights.
    pub(super) elements: Vec<(u32, f64)>,
    /// The latency of the route, in seconds.
    pub(super) latency: f64,
    /// True if the flow started without latency. Then its penalty does not depend on its links.
    pub(super) has_fixed_penalty: bool,
    /// The sum of the route's penalties, which may fall to zero. The system gets [`Activity::penalty`].
    pub(super) penalty: f64,
    /// The least bandwidth on the route when the flow started, or the speed of the cores. It bounds the rate.
    pub(super) resource_rate: f64,
    /// The greatest rate that the owner allows; infinite for none.
    pub(super) limit: f64,
}

impl Default for Activity {
    fn default() -> Activity {
        Activity {
            serial: 0,
            kind: ActivityKind::Execution { host: HostId(0), threads: 1 },
            stage: Stage::Ended,
            remaining: 0.0,
            updated: Time::ZERO,
            rate: 0.0,
            rate_factor: 1.0,
            elements: Vec::new(),
            latency: 0.0,
            has_fixed_penalty: false,
            penalty: 1.0,
            resource_rate: 0.0,
            limit: f64::INFINITY,
        }
    }
}

impl Activity {
    /// Turns an ended activity into a new one that reuses the memory.
    ///
    /// The fields are written one by one. A whole value would be built elsewhere and then copied, and the
    /// copy would wait for the writes.
    pub(super) fn reset(&mut self, serial: u64, kind: ActivityKind, amount: f64, now: Time) {
        let Activity { elements, latency, has_fixed_penalty, penalty, resource_rate, .. } = self;
        elements.clear();
        (*latency, *has_fixed_penalty, *penalty, *resource_rate) = (0.0, false, 1.0, 0.0);
        self.limit = f64::INFINITY;
        (self.serial, self.kind, self.stage) = (serial, kind, Stage::Timed);
        self.remaining = if amount < AMOUNT_PRECISION { 0.0 } else { amount };
        (self.updated, self.rate, self.rate_factor) = (now, 0.0, 1.0);
    }

    /// Returns the penalty of the activity's variable, which must be positive. If all latencies have fallen
    /// to zero, it is the penalty of a flow that starts without latency.
    #[inline]
    pub(super) fn penalty(&self) -> f64 {
        if self.penalty > 0.0 { self.penalty } else { 1.0 }
    }

    /// Subtracts the amount that was completed since the last update.
    #[inline]
    pub(super) fn update_remaining(&mut self, now: Time) {
        if now == self.updated {
            return;
        }
        self.remaining -= self.rate * now.since(self.updated).as_secs_f64();
        if self.remaining < AMOUNT_PRECISION {
            self.remaining = 0.0;
        }
        self.updated = now;
    }

    /// Returns the date at which the activity ends if its rate stays the same. `None` if it does not end.
    #[inline]
    pub(super) fn completion_date(&self, now: Time) -> Option<Time> {
        if self.remaining <= 0.0 {
            return Some(now);
        }
        // At rate zero the quotient is infinite, and the conversion returns `None`.
        now.checked_add(Delay::try_from_secs_f64(self.remaining / self.rate)?)
    }
}
