//! The settings of the engines, for `--tune`.

use crate::words::{Table, words};
use parades_config::Parameter;
use parades_core::time::Delay;
use parades_engine::null_message::Nulls;
use parades_engine::partition::Placing;
use parades_engine::rounds::{Main, Threshold};
use parades_engine::window::{Order, Taking};
use parades_sync::barrier::BarrierKind;
use parades_sync::pool::Waiting;

/// The settings of `sequential`.
pub(super) const SEQUENTIAL: &[Parameter] = &[PENDING];
/// The settings of `rounds`.
pub(super) const ROUNDS: &[Parameter] = &[THRESHOLD, PARALLEL_FROM, WAITING, MAIN, PINNED];
/// The settings of `window`.
pub(super) const WINDOW: &[Parameter] =
    &[BARRIER, FAN_IN, PARTITIONS, LEAST_LOOKAHEAD, PLACEMENT, ORDER, DEDICATED, SETS, TAKING, RETREAT, PINNED];
/// The settings of `null-message`.
pub(super) const NULL_MESSAGE: &[Parameter] = &[PARTITIONS, LEAST_LOOKAHEAD, PLACEMENT, ORDER, NULLS, RETREAT, PINNED];
/// The settings of `time-warp`.
pub(super) const TIME_WARP: &[Parameter] = &[AHEAD, BOUND, COPY_EVERY, STALLS, PLACEMENT, RETREAT, PINNED];

/// The kind of a pending event set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    Windows,
    Heap,
}

pub(crate) const PENDING_SETS: Table<Pending, 2> = [("windows", Pending::Windows), ("heap", Pending::Heap)];
const PENDING: Parameter = Parameter::choice(
    "pending",
    "windows",
    &words(&PENDING_SETS),
    "the pending event set: lazy windows, or a binary heap",
);

/// The kinds of barriers. Each function is given the value of `fan-in`.
pub(crate) const BARRIERS: Table<fn(usize) -> BarrierKind, 5> = [
    ("adaptive", |_| BarrierKind::Adaptive),
    ("posix", |_| BarrierKind::Posix),
    ("semaphore", |_| BarrierKind::Semaphore),
    ("spin", |_| BarrierKind::Spin),
    ("tree", |fan_in| BarrierKind::Tree { fan_in }),
];
const BARRIER: Parameter = Parameter::choice(
    "barrier",
    "adaptive",
    &words(&BARRIERS),
    "how workers wait for each other: adaptive spins briefly, then parks",
);
const FAN_IN: Parameter = Parameter::integer("fan-in", 4, 1..=64, "children of a party in the tree barrier");

const PARTITIONS: Parameter = Parameter::integer(
    "partitions",
    0,
    0..=65_536,
    "greatest number of partitions; 0: the channels and the threads decide",
);
const LEAST_LOOKAHEAD: Parameter = Parameter::duration(
    "least-lookahead",
    Delay::ZERO,
    "least lookahead between partitions: both ends of a channel with less stay in one partition",
);

pub(crate) const PLACEMENTS: Table<Placing, 2> = [("channels", Placing::Channels), ("ranges", Placing::Ranges)];
const PLACEMENT: Parameter = Parameter::choice(
    "placement",
    "channels",
    &words(&PLACEMENTS),
    "LPs that are placed together, on workers and on processes: neighbours by channels, or ranges of ids",
);

pub(crate) const ORDERS: Table<Order, 3> = [("measured", Order::Measured), ("time", Order::Time), ("lp", Order::Lp)];
const ORDER: Parameter = Parameter::choice(
    "order",
    "measured",
    &words(&ORDERS),
    "order of the events of a window in a partition: by time, LP by LP, or the faster one as measured",
);

const DEDICATED: Parameter = Parameter::fraction(
    "dedicated",
    1.0,
    "share of the work in partitions that belong to one worker; any idle worker takes the other partitions",
);
const SETS: Parameter = Parameter::integer(
    "sets",
    1024,
    1..=1024,
    "number of sets of shared partitions, at most one for each worker; a worker takes from its own set first",
);
pub(crate) const TAKINGS: Table<Taking, 3> = [
    ("atomic-index", Taking::AtomicIndex),
    ("locked-index", Taking::LockedIndex),
    ("locked-queue", Taking::LockedQueue),
];
const TAKING: Parameter =
    Parameter::choice("taking", "atomic-index", &words(&TAKINGS), "how a worker takes the next partition of a set");

pub(crate) const NULL_MESSAGES: Table<Nulls, 2> = [("lazy", Nulls::Lazy), ("demand", Nulls::Demand)];
const NULLS: Parameter = Parameter::choice(
    "nulls",
    "lazy",
    &words(&NULL_MESSAGES),
    "null messages are sent when a partition has nothing left to execute, or when the receiver asks",
);

const RETREAT: Parameter =
    Parameter::boolean("retreat", true, "continue with one worker while that is faster than with several");

/// The rules that select rounds. Each function is given the value of `parallel-from`.
pub(crate) const THRESHOLDS: Table<fn(u64) -> Threshold, 4> = [
    ("adaptive", |_| Threshold::Adaptive),
    ("cumulative", Threshold::Cumulative),
    ("naive", Threshold::Naive),
    ("fixed", Threshold::Fixed),
];
const THRESHOLD: Parameter = Parameter::choice(
    "threshold",
    "adaptive",
    &words(&THRESHOLDS),
    "rounds that are executed in parallel: adaptive, those of a size that was faster in parallel; cumulative and naive, \
     those above a size that a published algorithm finds, from all rounds or from the latest; fixed, those of at least \
     parallel-from events",
);
const PARALLEL_FROM: Parameter = Parameter::integer(
    "parallel-from",
    250,
    1..=u32::MAX as u64,
    "number of events from which a round is executed in parallel; where the threshold is not fixed, its first value",
);
pub(crate) const WAITINGS: Table<Waiting, 4> =
    [("adaptive", Waiting::Adaptive), ("futex", Waiting::Futex), ("posix", Waiting::Posix), ("busy", Waiting::Busy)];
const WAITING: Parameter = Parameter::choice(
    "waiting",
    "adaptive",
    &words(&WAITINGS),
    "how workers wait for a round: adaptive spins briefly, then sleeps; futex and posix sleep at once; busy never sleeps",
);
pub(crate) const MAINS: Table<Main, 3> = [("works", Main::Works), ("sleeps", Main::Sleeps), ("extra", Main::Extra)];
const MAIN: Parameter = Parameter::choice(
    "main",
    "works",
    &words(&MAINS),
    "the leading thread during a round: it works too, it sleeps, or it sleeps and there is one more worker",
);

const AHEAD: Parameter = Parameter::integer(
    "ahead",
    0,
    0..=1 << 24,
    "number of events that each worker executes ahead of GVT; 0: chosen by measurement",
);
const BOUND: Parameter = Parameter::boolean("bound", true, "limit how far ahead workers execute");
const COPY_EVERY: Parameter = Parameter::integer(
    "copy-every",
    0,
    0..=1024,
    "executions of an LP between two copies of its state; a rollback executes the events after the latest copy again. \
     For models that restore by copy, in runs without a trace. 0: chosen by measurement",
);
const STALLS: Parameter = Parameter::integer(
    "stalls",
    0,
    0..=i64::MAX as u64,
    "seed of random delays of workers, which cause more rollbacks, for tests; 0: no delays",
);

const PINNED: Parameter = Parameter::boolean("pinned", false, "bind each worker to a core, if there are enough cores");
