//! `auto`: chooses an engine for a model.
//!
//! Much is not known before a run: the number of events in a window, how long workers wait for each other, the
//! share of executions rolled back. So it is measured in the run. A run that begins with several workers goes
//! on with one while that is faster ([`crate::retreat`]). A run that seems to last for a second or longer
//! also tries the engines that might be faster than the advised one ([`advance`]).
//!
//! *Read next*: `auto/contest.rs`, which engine goes on; `auto/relay.rs`, how it does.

mod contest;
mod relay;

pub use relay::{Changes, advance};

use crate::partition::{NEAR_LPS, Partitioning, Wish};
use parades_core::any_model::{AnyModel, with_model};
use parades_core::model::Model;
use parades_core::run::RunOptions;
use parades_core::time::{Delay, Time};
use parades_core::world::World;

/// The number of LPs from which their records do not fit the cache. Windows executed LP by LP then pay even
/// on one thread.
const MANY_LPS: u32 = 1 << 19;

/// The estimated speedup below which several threads are not tried. The estimate rests on a guessed rate of
/// events. The true rate may be many times as high, because packets may follow each other closely on a long
/// link. So a low estimate above this value is still worth a trial in the run.
const SPEEDUP_MIN: f64 = 0.5;

/// The number of LPs for each worker from which several workers may execute ahead of each other. With fewer
/// LPs, hardly any event is ready that would not be rolled back.
const LPS_AHEAD: u32 = 1 << 9;

/// The engine that suits a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suits {
    /// [`crate::sequential`].
    Sequential,
    /// [`crate::window`].
    Window {
        /// The number of workers.
        threads: usize,
        /// True if shared partitions are better than dedicated ones ([`crate::window::Settings::dedicated`]).
        shared: bool,
    },
    /// [`crate::time_warp`].
    TimeWarp {
        /// The number of workers.
        threads: usize,
    },
    /// [`crate::null_message`].
    NullMessage {
        /// The number of workers.
        threads: usize,
    },
}

/// The engine to run a model on, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The engine.
    pub engine: Suits,
    /// The engines that might turn out to be faster, in the order in which they are tried.
    pub rivals: Vec<Suits>,
    /// The reason, in a few words.
    pub why: String,
}

/// Returns the engine that suits `model` on `threads` threads.
///
/// Chooses an engine that rolls back only if the model `copies` its state
/// ([`parades_core::restore::Restorable::copies`]). Undo code by hand may be wrong, and is used only at the
/// user's wish.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_engine::auto::{Suits, advise};
/// # struct Silent;
/// # impl Model for Silent {
/// #     type State = ();
/// #     type Message = ();
/// #     type Global = NoGlobal;
/// #     fn lps(&self) -> u32 { 4096 }
/// #     fn start(&self, _: &mut Context<'_, Self>) {}
/// #     fn handle(&self, _: &mut (), _: Body<&()>, _: &mut Context<'_, Self>) {}
/// # }
/// // A model that declares no lookahead.
/// assert_eq!(advise(&Silent, 2, false).engine, Suits::Sequential);
/// assert_eq!(advise(&Silent, 2, true).engine, Suits::TimeWarp { threads: 2 });
/// ```
pub fn advise<M: Model>(model: &M, threads: usize, copies: bool) -> Advice {
    with_model(model, RunOptions::until(Time::ZERO), |model, options| advise_any(model, &options, threads, copies))
}

/// Does the same as [`advise`], for a model of any type.
pub fn advise_any(model: &dyn AnyModel<'_>, options: &RunOptions<'_>, threads: usize, copies: bool) -> Advice {
    let alone = |engine, why: &str| Advice { engine, rivals: Vec::new(), why: why.into() };
    let sequential = |why: &str| alone(Suits::Sequential, why);
    let Ok(world) = World::new(model, options) else {
        return sequential("its declarations are wrong");
    };
    let least = world.channels().min_lookahead().unwrap_or(Delay::MAX);
    if threads < 2 {
        // A single worker of `window` may find several partitions, each of which fits the caches near its
        // core.
        let channels = world.channels();
        let has_parts = channels.has_groups() || channels.min_lookahead_to_anyone().is_none();
        let in_parts = world.lps() >= NEAR_LPS && has_parts;
        let window = Suits::Window { threads: 1, shared: false };
        return if least < Delay::from_ps(2) {
            sequential("one thread")
        } else if world.lps() >= MANY_LPS || in_parts {
            let why = format!("one thread, {} LPs, which windows take one after another", world.lps());
            Advice { engine: window, rivals: vec![Suits::Sequential], why }
        } else {
            Advice { rivals: vec![window], ..sequential("one thread") }
        };
    }
    let workers = u32::try_from(threads).unwrap_or(u32::MAX);
    let found = Partitioning::find(world.channels(), world.lps(), &Wish::of_workers(workers));
    let Some(lookahead) = found.lookahead().filter(|_| found.partitions() > 1) else {
        return match found.partitions() {
            1 if copies && world.lps() / workers >= LPS_AHEAD => Advice {
                engine: Suits::TimeWarp { threads },
                rivals: vec![Suits::Sequential],
                why: format!("{threads} threads, no lookahead between LPs to cut at, states restored by copy"),
            },
            1 => sequential("no lookahead between LPs to cut at"),
            // Partitions wait for each other only at the end of a window. So any idle worker can take the
            // next partition.
            _ => alone(Suits::Window { threads, shared: true }, "its LPs fall into parts that never meet"),
        };
    };
    let (window, null_message) = (Suits::Window { threads, shared: false }, Suits::NullMessage { threads });
    if found.speedup() < SPEEDUP_MIN {
        return Advice { rivals: vec![window, null_message], ..sequential("too few LPs for several threads") };
    }
    let time_warp = copies.then_some(Suits::TimeWarp { threads });
    let rivals = std::iter::once(null_message).chain(time_warp).chain([Suits::Sequential]).collect();
    let why = format!("{threads} threads, {} partitions, lookahead {lookahead} between them", found.partitions());
    Advice { engine: window, rivals, why }
}
