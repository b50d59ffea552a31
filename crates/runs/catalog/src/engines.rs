//! The engines, by name, and their settings.

use crate::scenarios::Scenario;
use parades_config::{ConfigError, Parameter, Values, nearest, quoted};
use parades_core::error::Error;
use parades_core::model::Model;
use parades_core::pending::HeapPending;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Delay;
use parades_engine::auto::{self, Suits};
use parades_engine::retreat::Retreats;
use parades_engine::rounds::{Main, Threshold};
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_sync::barrier::BarrierKind;
use parades_sync::pool::Waiting;
use std::fmt::Debug;

/// An engine, as users name it.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What `--tune` sets.
    pub settings: &'static [Parameter],
}

const PENDING: Parameter = Parameter::choice(
    "pending",
    "windows",
    &["windows", "heap"],
    "the pending event set: lazy windows, or a binary heap",
);

const BARRIER: Parameter = Parameter::choice(
    "barrier",
    "adaptive",
    &["adaptive", "posix", "semaphore", "spin", "tree"],
    "how workers wait for each other: adaptive spins briefly, then parks",
);
const FAN_IN: Parameter = Parameter::integer("fan-in", 4, 1..=64, "children of a party in the tree barrier");
const PARTITIONS: Parameter =
    Parameter::integer("partitions", 0, 0..=65_536, "partitions at most; 0: as the channels and the threads suggest");
const LEAST_LOOKAHEAD: Parameter =
    Parameter::duration("least-lookahead", Delay::ZERO, "channels of a shorter lookahead are never cut");
const ORDER: Parameter = Parameter::choice(
    "order",
    "measured",
    &["measured", "time", "lp"],
    "how a partition executes a window: in the order of time, LP by LP, or whichever suits the events there are",
);
const DEDICATED: Parameter = Parameter::fraction(
    "dedicated",
    1.0,
    "share of the work in partitions dedicated to a worker; the rest is taken by whoever is free",
);
const SETS: Parameter = Parameter::integer(
    "sets",
    1024,
    1..=1024,
    "sets that what is not dedicated is in, at most one for each worker, who takes from its own first",
);
const TAKING: Parameter = Parameter::choice(
    "taking",
    "atomic-index",
    &["atomic-index", "locked-index", "locked-queue"],
    "how a worker takes the next partition of a set",
);
const NULLS: Parameter = Parameter::choice(
    "nulls",
    "lazy",
    &["lazy", "demand"],
    "null messages are sent when a partition has nothing left to execute, or when the receiver asks",
);

const RETREAT: Parameter =
    Parameter::boolean("retreat", true, "go on with one worker while that is faster than with several");

const THRESHOLD: Parameter = Parameter::choice(
    "threshold",
    "adaptive",
    &["adaptive", "cumulative", "naive", "fixed"],
    "which rounds are executed in parallel: those of a size at which that has been faster; those with so many events as \
     two published algorithms find, by all rounds so far or by the latest; those with so many events as parallel-from says",
);
const PARALLEL_FROM: Parameter = Parameter::integer(
    "parallel-from",
    250,
    1..=u32::MAX as u64,
    "events from which a round is executed in parallel: to begin with, or throughout where the threshold is fixed",
);
const WAITING: Parameter = Parameter::choice(
    "waiting",
    "adaptive",
    &["adaptive", "futex", "posix", "busy"],
    "how workers wait for a round: adaptive spins briefly, then sleeps; futex and posix sleep at once; busy never does",
);
const MAIN: Parameter = Parameter::choice(
    "main",
    "works",
    &["works", "sleeps", "extra"],
    "the thread that leads: works along, sleeps meanwhile, or sleeps with one worker more",
);

const AHEAD: Parameter =
    Parameter::integer("ahead", 0, 0..=1 << 24, "events that each worker executes ahead of GVT; 0: as many as pay");
const BOUND: Parameter = Parameter::boolean("bound", true, "whether anything bounds how far ahead workers execute");
const COPY_EVERY: Parameter = Parameter::integer(
    "copy-every",
    0,
    0..=1024,
    "executions of an LP for one copy of its state, from which those since are executed anew, where the model restores by copy and nothing is traced; \
     0: as many as pay",
);
const STALLS: Parameter = Parameter::integer(
    "stalls",
    0,
    0..=i64::MAX as u64,
    "makes workers fall behind at random, by this seed, so that there is more to roll back; 0: none",
);

const PINNED: Parameter =
    Parameter::boolean("pinned", false, "bind each worker to a core of its own, where there are enough");

/// Chooses one of the others for each model.
static AUTO: Engine = Engine { name: "auto", about: "the engine that suits the model and the machine", settings: &[] };

/// All of them but `auto`, in the order in which they are listed.
pub const ENGINES: &[Engine] = &[
    Engine { name: "sequential", about: "one pending event set; defines the right answer", settings: &[PENDING] },
    Engine {
        name: "rollback-check",
        about: "sequential, but takes back and repeats every event, comparing states: for those who write models",
        settings: &[],
    },
    Engine {
        name: "rounds",
        about: "all events of one instant at once, on a worker pool; needs no lookahead",
        settings: &[THRESHOLD, PARALLEL_FROM, WAITING, MAIN, PINNED],
    },
    Engine {
        name: "window",
        about: "conservative: barrier, LBTS, all events below the bound",
        settings: &[BARRIER, FAN_IN, PARTITIONS, LEAST_LOOKAHEAD, ORDER, DEDICATED, SETS, TAKING, RETREAT, PINNED],
    },
    Engine {
        name: "null-message",
        about: "conservative: a clock for each channel, null messages",
        settings: &[PARTITIONS, LEAST_LOOKAHEAD, ORDER, NULLS, RETREAT, PINNED],
    },
    Engine {
        name: "time-warp",
        about: "optimistic: executes ahead, rolls back on a straggler",
        settings: &[AHEAD, BOUND, COPY_EVERY, STALLS, RETREAT, PINNED],
    },
];

/// An engine chosen, with its settings and the threads it runs on.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The engine.
    pub engine: &'static Engine,
    /// Its worker threads.
    pub threads: u64,
    /// What `--tune` set.
    pub settings: Values,
    /// Why `auto` chose it.
    pub why: Option<String>,
}

/// What the user asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// The engine's name, or `auto`.
    pub engine: &'a str,
    /// Worker threads; as many as there are cores if not said.
    pub threads: Option<u64>,
    /// Processes.
    pub processes: Option<u64>,
    /// Settings of the engine, as `key=value`.
    pub tune: &'a [String],
}

/// Why a wish cannot be met, and which of its parts that is about.
#[derive(Debug)]
pub struct Refusal {
    /// `engine`, `threads`, `processes` or `tune`.
    pub about: &'static str,
    /// What is wrong, and what to do.
    pub error: ConfigError,
}

impl Refusal {
    fn new(about: &'static str, message: String, help: impl Into<String>) -> Refusal {
        Refusal { about, error: ConfigError::new(message).with_help(help) }
    }
}

impl Choice {
    /// The engine that the user asked for, or that `auto` chooses.
    ///
    /// # Errors
    ///
    /// Where there is no such engine or setting, or where the engine cannot do what was asked.
    pub fn of(wish: Wish<'_>) -> Result<Choice, Refusal> {
        if let Some(processes @ 2..) = wish.processes {
            let message = format!("{processes} processes need the shared-memory transport, which does not exist yet");
            return Err(Refusal::new("processes", message, "leave it out"));
        }
        let name = wish.engine;
        let engine = if name == AUTO.name { &AUTO } else { named(name)? };
        let is_parallel = PARALLEL.contains(&name) || name == AUTO.name;
        if let (Some(threads @ 2..), false) = (wish.threads, is_parallel) {
            let message = format!("the engine `{name}` runs on one thread, not {threads}");
            return Err(Refusal::new("threads", message, "leave that out, or choose a parallel engine"));
        }
        let mut settings = Values::new(name, engine.settings);
        wish.tune
            .iter()
            .try_for_each(|assignment| settings.set_argument("--tune", assignment))
            .map_err(|error| Refusal { about: "tune", error })?;
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        let threads = if is_parallel { wish.threads.unwrap_or_else(cores).max(1) } else { 1 };
        Ok(Choice { engine, threads, settings, why: None })
    }

    /// The choice for this model: for `auto`, the engine that suits it, one that rolls back only if it `copies` its state for that.
    pub fn for_model<M: Model>(&self, model: &M, copies: bool) -> Choice {
        if self.engine.name != AUTO.name {
            return self.clone();
        }
        let advice = auto::advise(model, usize::try_from(self.threads).unwrap_or(usize::MAX), copies);
        let (name, threads, tune) = match advice.engine {
            Suits::Sequential => ("sequential", 1, None),
            Suits::Window { threads, shared } => ("window", threads, shared.then_some("dedicated=0")),
            Suits::TimeWarp { threads } => ("time-warp", threads, None),
        };
        let engine = named(name).expect("it is in the list above");
        let mut settings = Values::new(name, engine.settings);
        if let Some(setting) = tune {
            settings.set_argument("--tune", setting).expect("a setting of the engine's");
        }
        Choice { engine, threads: threads as u64, settings, why: Some(advice.why) }
    }

    /// Runs a model on it.
    ///
    /// # Errors
    ///
    /// The engine's.
    ///
    /// # Panics
    ///
    /// If it is `auto`, which [`for_model`](Choice::for_model) resolves.
    pub fn run<M>(&self, model: &M, options: RunOptions<'_>) -> Result<Outcome, Error>
    where
        M: Restorable<State: Clone + PartialEq + Debug>,
    {
        match self.engine.name {
            "rollback-check" => rollback_check::run(model, options),
            "time-warp" => time_warp::run(model, options, &self.time_warp_settings()),
            _ => self.run_unrestorable(model, options),
        }
    }

    /// Runs a model whose state cannot be restored, on an engine that does not roll back.
    ///
    /// # Errors
    ///
    /// The engine's.
    ///
    /// # Panics
    ///
    /// If it is an engine that rolls back, or `auto`.
    pub fn run_unrestorable<M: Model>(&self, model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
        match self.engine.name {
            "sequential" if self.settings.choice("pending") == "heap" => {
                sequential::run_on::<M, HeapPending<M::Message>>(model, options)
            }
            "sequential" => sequential::run(model, options),
            "rounds" => rounds::run(model, options, &self.rounds_settings()),
            "window" => window::run(model, options, &self.window_settings()),
            "null-message" => null_message::run(model, options, &self.null_message_settings()),
            name => unreachable!("`{name}` rolls back, or is an engine and not in these matches"),
        }
    }

    /// That the engine can run a scenario.
    ///
    /// # Errors
    ///
    /// Where it rolls back, and the scenario's state cannot be restored.
    pub fn check(&self, scenario: &Scenario, values: &Values) -> Result<(), Refusal> {
        if scenario.is_restorable(values) || !rolls_back(self.engine.name) {
            return Ok(());
        }
        let (engine, name) = (self.engine.name, scenario.name);
        let message = format!("the engine `{engine}` rolls back, and the processes of `{name}` cannot be restored");
        let usable: Vec<_> = names().into_iter().filter(|engine| !rolls_back(engine)).collect();
        Err(Refusal::new("engine", message, format!("use one of {}", usable.join(", "))))
    }
}

impl Choice {
    /// The settings that the conservative engines share.
    fn shared_settings(&self) -> window::Settings {
        let Choice { settings, threads, .. } = self;
        let threads = usize::try_from(*threads).unwrap_or(usize::MAX);
        let some = |n: u64| (n > 0).then_some(n);
        window::Settings {
            partitions: some(settings.integer("partitions")).and_then(|n| u32::try_from(n).ok()),
            least_lookahead: some(settings.duration("least-lookahead").as_ps()).map(Delay::from_ps),
            order: match settings.choice("order") {
                "time" => window::Order::Time,
                "lp" => window::Order::Lp,
                _ => window::Order::Measured,
            },
            retreats: self.retreats(),
            pinned: settings.boolean("pinned"),
            ..window::Settings::of_threads(threads)
        }
    }

    fn window_settings(&self) -> window::Settings {
        let settings = &self.settings;
        window::Settings {
            barrier: match settings.choice("barrier") {
                "posix" => BarrierKind::Posix,
                "semaphore" => BarrierKind::Semaphore,
                "spin" => BarrierKind::Spin,
                "tree" => BarrierKind::Tree { fan_in: usize::try_from(settings.integer("fan-in")).unwrap_or(1) },
                _ => BarrierKind::Adaptive,
            },
            dedicated: settings.float("dedicated"),
            sets: usize::try_from(settings.integer("sets")).unwrap_or(usize::MAX),
            taking: match settings.choice("taking") {
                "locked-index" => window::Taking::LockedIndex,
                "locked-queue" => window::Taking::LockedQueue,
                _ => window::Taking::AtomicIndex,
            },
            ..self.shared_settings()
        }
    }

    fn null_message_settings(&self) -> null_message::Settings {
        let window::Settings { threads, partitions, least_lookahead, order, retreats, pinned, .. } =
            self.shared_settings();
        let nulls = match self.settings.choice("nulls") {
            "demand" => null_message::Nulls::Demand,
            _ => null_message::Nulls::Lazy,
        };
        null_message::Settings { threads, partitions, least_lookahead, order, nulls, retreats, pinned }
    }

    fn retreats(&self) -> Retreats {
        if self.settings.boolean("retreat") { Retreats::WhereFaster } else { Retreats::Never }
    }

    fn rounds_settings(&self) -> rounds::Settings {
        let Choice { settings, threads, .. } = self;
        let from = settings.integer("parallel-from");
        rounds::Settings {
            threshold: match settings.choice("threshold") {
                "cumulative" => Threshold::Cumulative(from),
                "naive" => Threshold::Naive(from),
                "fixed" => Threshold::Fixed(from),
                _ => Threshold::Adaptive,
            },
            waiting: match settings.choice("waiting") {
                "futex" => Waiting::Futex,
                "posix" => Waiting::Posix,
                "busy" => Waiting::Busy,
                _ => Waiting::Adaptive,
            },
            main: match settings.choice("main") {
                "sleeps" => Main::Sleeps,
                "extra" => Main::Extra,
                _ => Main::Works,
            },
            pinned: settings.boolean("pinned"),
            ..rounds::Settings::of_threads(usize::try_from(*threads).unwrap_or(usize::MAX))
        }
    }

    fn time_warp_settings(&self) -> time_warp::Settings {
        let Choice { settings, threads, .. } = self;
        let ahead = match settings.integer("ahead") {
            _ if !settings.boolean("bound") => time_warp::Ahead::Unbounded,
            0 => time_warp::Ahead::Adaptive,
            events => time_warp::Ahead::Events(u32::try_from(events).unwrap_or(u32::MAX)),
        };
        let stalls = Some(settings.integer("stalls")).filter(|&seed| seed > 0);
        time_warp::Settings {
            ahead,
            stalls,
            copy_every: u16::try_from(settings.integer("copy-every")).ok().filter(|&every| every > 0),
            retreats: self.retreats(),
            pinned: settings.boolean("pinned"),
            ..time_warp::Settings::of_threads(usize::try_from(*threads).unwrap_or(usize::MAX))
        }
    }
}

/// The engines that run on several threads.
const PARALLEL: &[&str] = &["rounds", "window", "null-message", "time-warp"];

/// Whether an engine takes executions back, for which state must be restorable.
pub fn rolls_back(engine: &str) -> bool {
    ["rollback-check", "time-warp"].contains(&engine)
}

/// Whether an engine has a setting of this name.
pub fn has_setting(engine: &str, key: &str) -> bool {
    ENGINES.iter().filter(|other| other.name == engine).any(|of| of.settings.iter().any(|setting| setting.key() == key))
}

/// The names of all engines.
pub fn names() -> Vec<&'static str> {
    ENGINES.iter().map(|engine| engine.name).collect()
}

fn named(name: &str) -> Result<&'static Engine, Refusal> {
    ENGINES.iter().find(|engine| engine.name == name).ok_or_else(|| {
        let help = match nearest(name, ENGINES.iter().map(|engine| engine.name).chain(["auto"])) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use one of auto, {}", names().join(", ")),
        };
        Refusal::new("engine", format!("there is no engine {}", quoted(name)), help)
    })
}
