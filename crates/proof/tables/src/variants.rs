//! The variants of engines that exist to be compared, as settings for `--tune`. `parades-bench` has them, and
//! the command has not.

use parades_catalog::words::{Table, value_of, words};
use parades_catalog::{Engine, Variants};
use parades_config::{Parameter, Values};
use parades_engine::null_message::{self, Nulls};
use parades_engine::rounds::{self, Main, Threshold};
use parades_engine::time_warp::{self, Ahead};
use parades_engine::window::{self, Reach, Taking};
use parades_sync::barrier::BarrierKind;
use parades_sync::pool::Waiting;

/// All variants.
pub const VARIANTS: Variants = Variants {
    settings,
    uses_heap: |values| values.choice("pending") == "heap",
    rounds: set_rounds,
    window: set_window,
    null_message: set_null_message,
    time_warp: set_time_warp,
};

fn settings(engine: Engine) -> &'static [Parameter] {
    match engine {
        Engine::Sequential => &[PENDING],
        Engine::Rounds => &[THRESHOLD, PARALLEL_FROM, WAITING, MAIN],
        Engine::Window => &[BARRIER, FAN_IN, BOUNDS, SETS, TAKING],
        Engine::NullMessage => &[NULLS],
        Engine::TimeWarp => &[BOUND, COPY_EVERY, STALLS],
        _ => &[],
    }
}

fn set_rounds(values: &Values, settings: &mut rounds::Settings) {
    settings.threshold = value_of(values, "threshold", &THRESHOLDS)(values.integer("parallel-from"));
    settings.waiting = value_of(values, "waiting", &WAITINGS);
    settings.main = value_of(values, "main", &MAINS);
}

fn set_window(values: &Values, settings: &mut window::Settings) {
    let number = |key| usize::try_from(values.integer(key)).unwrap_or(usize::MAX);
    settings.barrier = value_of(values, "barrier", &BARRIERS)(number("fan-in"));
    settings.reach = value_of(values, "bounds", &REACHES);
    settings.sets = number("sets");
    settings.taking = value_of(values, "taking", &TAKINGS);
}

fn set_null_message(values: &Values, settings: &mut null_message::Settings) {
    settings.nulls = value_of(values, "nulls", &NULL_MESSAGES);
}

fn set_time_warp(values: &Values, settings: &mut time_warp::Settings) {
    if !values.boolean("bound") {
        settings.ahead = Ahead::Unbounded;
    }
    settings.copy_every = u16::try_from(values.integer("copy-every")).ok().filter(|&every| every > 0);
    settings.stalls = Some(values.integer("stalls")).filter(|&seed| seed > 0);
}

const PENDING: Parameter = Parameter::choice(
    "pending",
    "windows",
    &["windows", "heap"],
    "the pending event set: lazy windows, or a binary heap",
);

/// The kinds of barriers. Each function is given the value of `fan-in`.
const BARRIERS: Table<fn(usize) -> BarrierKind, 5> = [
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

const REACHES: Table<Reach, 2> = [("own", Reach::Own), ("common", Reach::Common)];
const BOUNDS: Parameter = Parameter::choice(
    "bounds",
    "own",
    &words(&REACHES),
    "how far a partition executes in a window: by its own distance from all others, or as far as all others",
);

const SETS: Parameter = Parameter::integer(
    "sets",
    1024,
    1..=1024,
    "number of sets of shared partitions, at most one for each worker; a worker takes from its own set first",
);
const TAKINGS: Table<Taking, 3> = [
    ("atomic-index", Taking::AtomicIndex),
    ("locked-index", Taking::LockedIndex),
    ("locked-queue", Taking::LockedQueue),
];
const TAKING: Parameter =
    Parameter::choice("taking", "atomic-index", &words(&TAKINGS), "how a worker takes the next partition of a set");

const NULL_MESSAGES: Table<Nulls, 2> = [("lazy", Nulls::Lazy), ("demand", Nulls::Demand)];
const NULLS: Parameter = Parameter::choice(
    "nulls",
    "lazy",
    &words(&NULL_MESSAGES),
    "null messages are sent when a partition has nothing left to execute, or when the receiver asks",
);

/// The rules that select rounds. Each function is given the value of `parallel-from`.
const THRESHOLDS: Table<fn(u64) -> Threshold, 4> = [
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
const WAITINGS: Table<Waiting, 4> =
    [("adaptive", Waiting::Adaptive), ("futex", Waiting::Futex), ("posix", Waiting::Posix), ("busy", Waiting::Busy)];
const WAITING: Parameter = Parameter::choice(
    "waiting",
    "adaptive",
    &words(&WAITINGS),
    "how workers wait for a round: adaptive spins briefly, then sleeps; futex and posix sleep at once; busy never sleeps",
);
const MAINS: Table<Main, 3> = [("works", Main::Works), ("sleeps", Main::Sleeps), ("extra", Main::Extra)];
const MAIN: Parameter = Parameter::choice(
    "main",
    "works",
    &words(&MAINS),
    "the leading thread during a round: it works too, it sleeps, or it sleeps and there is one more worker",
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
