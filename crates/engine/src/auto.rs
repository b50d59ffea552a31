//! `auto`: which engine suits a model on this machine.
//!
//! What cannot be known before a run, how many events a window holds, is measured in it: a run begun on several workers goes on with one while
//! that is faster ([`crate::window::Settings::retreat`]).

use crate::partition::{Partitioning, Wish};
use parades_core::model::Model;
use parades_core::run::RunOptions;
use parades_core::time::{Delay, Time};
use parades_core::world::World;

/// LPs from which their records are out of the cache, so that executing windows LP by LP pays even on one thread.
const MANY_LPS: u32 = 1 << 19;

/// The speedup below which several threads are not even tried. It is estimated from a rate of events that is guessed: packets that follow each
/// other on a long link make the true one many times as high, and the run finds out which it is.
const HOPELESS: f64 = 0.5;

/// What to run a model on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// `window`, on this many threads; `sequential` where there is none.
    pub window: Option<usize>,
    /// Whether partitions had better be taken by whoever is free than be dedicated ([`crate::window::Settings::dedicated`]).
    pub shared: bool,
    /// Why, in a few words.
    pub why: String,
}

/// The engine that suits `model`, which may use so many threads.
///
/// ```
/// use parades_core::prelude::*;
/// # struct Silent;
/// # impl Model for Silent {
/// #     type State = ();
/// #     type Message = ();
/// #     type Global = NoGlobal;
/// #     fn lps(&self) -> u32 { 8 }
/// #     fn start(&self, _: &mut Context<'_, Self>) {}
/// #     fn handle(&self, _: &mut (), _: Body<&()>, _: &mut Context<'_, Self>) {}
/// # }
/// // A model that declares no lookahead.
/// assert_eq!(parades_engine::auto::advise(&Silent, 2).window, None);
/// ```
pub fn advise<M: Model>(model: &M, threads: usize) -> Advice {
    let sequential = |why: &str| Advice { window: None, shared: false, why: why.into() };
    let Ok(world) = World::new(model, &RunOptions::until(Time::ZERO)) else {
        return sequential("its declarations are wrong");
    };
    let least = world.channels().least().unwrap_or(Delay::MAX);
    if threads < 2 {
        return if world.lps() >= MANY_LPS && least >= Delay::from_ps(2) {
            Advice {
                window: Some(1),
                shared: false,
                why: format!("one thread, {} LPs, which windows take one after another", world.lps()),
            }
        } else {
            sequential("one thread")
        };
    }
    let workers = u32::try_from(threads).unwrap_or(u32::MAX);
    let found = Partitioning::find(world.channels(), world.lps(), &Wish::of_workers(workers));
    let Some(lookahead) = found.lookahead().filter(|_| found.partitions() > 1) else {
        return match found.partitions() {
            1 => sequential("no lookahead between LPs to cut at"),
            // Nothing but the end of a window makes one wait for another, so whoever is free goes on.
            _ => Advice { window: Some(threads), shared: true, why: "its LPs fall into parts that never meet".into() },
        };
    };
    if found.speedup() < HOPELESS {
        return sequential("too few LPs for several threads");
    }
    let why = format!("{threads} threads, {} partitions, lookahead {lookahead} between them", found.partitions());
    Advice { window: Some(threads), shared: false, why }
}
