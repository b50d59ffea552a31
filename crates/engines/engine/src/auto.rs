//! `auto`: which engine suits a model on this machine.
//!
//! What cannot be known before a run, how many events a window holds, or how much will be rolled back, is measured in it: a run begun on several workers goes
//! on with one while that is faster ([`crate::retreat`]).

use crate::partition::{NEAR_LPS, Partitioning, Wish};
use parades_core::model::Model;
use parades_core::run::RunOptions;
use parades_core::time::{Delay, Time};
use parades_core::world::World;

/// LPs from which their records are out of the cache, so that executing windows LP by LP pays even on one thread.
const MANY_LPS: u32 = 1 << 19;

/// The speedup below which several threads are not even tried. It is estimated from a rate of events that is guessed: packets that follow each
/// other on a long link make the true one many times as high, and the run finds out which it is.
const HOPELESS: f64 = 0.5;

/// LPs to each worker from which several may execute ahead of each other: with fewer, hardly anything is ever ready that will not be taken back. By measurement
/// (`parades run phold --set lookahead=0`, and `--set remote=1`): with 1,024 LPs two workers take 0.9 of the time of `sequential`, and in phases in which cores
/// are slow to reach each other 1.02 to 1.06.
const LPS_AHEAD: u32 = 1 << 9;

/// An engine, for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suits {
    /// [`crate::sequential`].
    Sequential,
    /// [`crate::window`].
    Window {
        /// Its workers.
        threads: usize,
        /// Whether partitions had better be taken by whoever is free than be dedicated ([`crate::window::Settings::dedicated`]).
        shared: bool,
    },
    /// [`crate::time_warp`].
    TimeWarp {
        /// Its workers.
        threads: usize,
    },
}

/// What to run a model on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The engine.
    pub engine: Suits,
    /// Why, in a few words.
    pub why: String,
}

/// The engine that suits `model`, which may use so many threads; one that rolls back only if the model `copies` its state
/// for that ([`parades_core::restore::Restorable::copies`]): undo code that somebody wrote may be wrong, and nobody has asked for it to be relied upon.
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
    let sequential = |why: &str| Advice { engine: Suits::Sequential, why: why.into() };
    let window = |threads, shared, why| Advice { engine: Suits::Window { threads, shared }, why };
    let Ok(world) = World::new(model, &RunOptions::until(Time::ZERO)) else {
        return sequential("its declarations are wrong");
    };
    let least = world.channels().min_lookahead().unwrap_or(Delay::MAX);
    if threads < 2 {
        // A worker of `window` finds out whether it may execute part after part, each from the caches near its core.
        let in_parts = world.lps() >= NEAR_LPS && world.channels().min_lookahead_to_anyone().is_none();
        return if (world.lps() >= MANY_LPS || in_parts) && least >= Delay::from_ps(2) {
            window(1, false, format!("one thread, {} LPs, which windows take one after another", world.lps()))
        } else {
            sequential("one thread")
        };
    }
    let workers = u32::try_from(threads).unwrap_or(u32::MAX);
    let found = Partitioning::find(world.channels(), world.lps(), &Wish::of_workers(workers));
    let Some(lookahead) = found.lookahead().filter(|_| found.partitions() > 1) else {
        return match found.partitions() {
            1 if copies && world.lps() / workers >= LPS_AHEAD => Advice {
                engine: Suits::TimeWarp { threads },
                why: format!("{threads} threads, no lookahead between LPs to cut at, states restored by copy"),
            },
            1 => sequential("no lookahead between LPs to cut at"),
            // Nothing but the end of a window makes one wait for another, so whoever is free goes on.
            _ => window(threads, true, "its LPs fall into parts that never meet".into()),
        };
    };
    if found.speedup() < HOPELESS {
        return sequential("too few LPs for several threads");
    }
    let why = format!("{threads} threads, {} partitions, lookahead {lookahead} between them", found.partitions());
    window(threads, false, why)
}
