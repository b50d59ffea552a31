//! `auto`: which engine suits a model on this machine.
//!
//! What cannot be known before a run, how many events a window holds, or how much will be rolled back, is measured in it: a run begun on several workers goes
//! on with one while that is faster ([`crate::retreat`]). Where windows turn out to hold too little for several, and the model can be restored, the run changes to
//! `time-warp`, at a cut: everything before it has been executed, and what waits, waits there too.

use crate::cut::Ending;
use crate::partition::{Partitioning, Wish};
use crate::transport::{Threads, Transport};
use crate::{time_warp, window};
use parades_core::ahead::Marked;
use parades_core::error::Error;
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use parades_sync::barrier::BarrierKind;

/// LPs from which their records are out of the cache, so that executing windows LP by LP pays even on one thread.
const MANY_LPS: u32 = 1 << 19;

/// The speedup below which several threads are not even tried. It is estimated from a rate of events that is guessed: packets that follow each
/// other on a long link make the true one many times as high, and the run finds out which it is.
const HOPELESS: f64 = 0.5;

/// LPs to each worker from which several may execute ahead of each other: with fewer, hardly anything is ever ready that will not be taken back. By measurement
/// (`parades run phold --set lookahead=0`): with 1,024 LPs two workers are as fast as `sequential`, with 4,096 faster.
const LPS_AHEAD: u32 = 1 << 10;

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
        /// Whether the run may change to [`crate::time_warp`] where windows hold too little ([`run_changing`]).
        changes: bool,
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
    let window = |threads, shared, why| Advice { engine: Suits::Window { threads, shared, changes: false }, why };
    let Ok(world) = World::new(model, &RunOptions::until(Time::ZERO)) else {
        return sequential("its declarations are wrong");
    };
    let least = world.channels().least().unwrap_or(Delay::MAX);
    if threads < 2 {
        return if world.lps() >= MANY_LPS && least >= Delay::from_ps(2) {
            window(1, false, format!("one thread, {} LPs, which windows take one after another", world.lps()))
        } else {
            sequential("one thread")
        };
    }
    let workers = u32::try_from(threads).unwrap_or(u32::MAX);
    let goes_ahead = copies && world.lps() / workers >= LPS_AHEAD;
    let found = Partitioning::find(world.channels(), world.lps(), &Wish::of_workers(workers));
    let Some(lookahead) = found.lookahead().filter(|_| found.partitions() > 1) else {
        return match found.partitions() {
            1 if goes_ahead => Advice {
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
    Advice { engine: Suits::Window { threads, shared: false, changes: goes_ahead }, why }
}

/// How a run is executed that begins in windows and may change to `time-warp`. Nothing of it changes the answer.
#[derive(Clone, Copy, Debug)]
pub struct Changing {
    /// As it begins; without retreats it never changes.
    pub windows: window::Settings,
    /// As it goes on.
    pub ahead: time_warp::Settings,
}

impl Changing {
    /// The defaults, on so many threads.
    pub fn of_threads(threads: usize) -> Changing {
        Changing { windows: window::Settings::of_threads(threads), ahead: time_warp::Settings::of_threads(threads) }
    }
}

/// Runs `model` in windows, and from when one worker has been found faster than several there, for the second time, with `time-warp`. The outcome's statistics are then
/// those of `time-warp`, the number of `changes`, and `left_windows_at_s`, the virtual time of the change.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_engine::auto::{Changing, run_changing};
/// use parades_engine::sequential;
/// # struct Ring;
/// # impl Model for Ring {
/// #     type State = u64;
/// #     type Message = ();
/// #     type Global = NoGlobal;
/// #     fn lps(&self) -> u32 { 4 }
/// #     fn channels(&self) -> Channels { Channels::whole(Delay::from_us(1)) }
/// #     fn start(&self, ctx: &mut Context<'_, Self>) -> u64 { ctx.send_self(Delay::from_ms(3), ()); 0 }
/// #     fn handle(&self, state: &mut u64, _: Body<&()>, ctx: &mut Context<'_, Self>) {
/// #         *state += 1;
/// #         ctx.send_to(LpId((ctx.id().0 + 1) % 4), Delay::from_ms(2), ());
/// #     }
/// # }
/// # impl ByCopy for Ring {}
/// let until = Time::ZERO.checked_add(Delay::from_ms(100)).unwrap();
/// let one = sequential::run(&Ring, RunOptions::until(until)).unwrap();
/// let two = run_changing(&Ring, RunOptions::until(until), &Changing::of_threads(2)).unwrap();
/// assert_eq!(one.digest, two.digest);
/// ```
///
/// # Errors
///
/// The least error of the run, and what the model finds wrong at its end.
pub fn run_changing<M: Restorable>(model: &M, options: RunOptions<'_>, settings: &Changing) -> Result<Outcome, Error> {
    let (timesheets, partitions) = (options.timesheets.clone(), window::partitions_max(&settings.windows));
    let windows = |workers| Threads::new(workers, partitions, settings.windows.barrier).timed(timesheets.clone());
    let ahead =
        |workers, partitions| Threads::new(workers, partitions, BarrierKind::default()).timed(timesheets.clone());
    run_changing_over(model, options, settings, &windows, &ahead)
}

/// As [`run_changing`], over transports, which are made as for [`window::run_over`] and [`time_warp::run_over`].
///
/// # Errors
///
/// As [`run_changing`].
pub fn run_changing_over<M: Restorable, W: Transport<M::Message>, T: Transport<Marked<M::Message>>>(
    model: &M,
    options: RunOptions<'_>,
    settings: &Changing,
    windows: &dyn Fn(usize) -> W,
    ahead: &dyn Fn(usize, u32) -> T,
) -> Result<Outcome, Error> {
    match window::run_to_cut(model, options, &settings.windows, windows)? {
        Ending::Over(mut outcome) => {
            outcome.engine_stats.push(("changes", 0.0));
            Ok(*outcome)
        }
        Ending::Left(cut) => time_warp::go_on(*cut, &settings.ahead, ahead),
    }
}
