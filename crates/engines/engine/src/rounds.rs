//! `rounds`: all events of one instant at once, on a pool of workers. Instants with few events are executed
//! one by one.
//!
//! *Idea.* A cause is strictly before its effect, even with zero delay. So the events of one instant at
//! different LPs are independent, and can be executed in parallel without any lookahead. One thread, the
//! leader, puts the events that they send into one pending set. This pays if many LPs have events at the
//! very same time, or if their handlers take long. Otherwise the leader is as fast as `sequential`.
//!
//! *Protocol.* The leader takes the earliest event. Suppose that this event opens a round, an instant, that
//! seems to be worth executing in parallel ([`Threshold`]). Then:
//!
//! 1. The leader takes all other events of the instant. It puts each into the *stripe* of its receiver: LPs
//!    with a lock.
//! 2. The workers take stripe after stripe, and execute its events in order. The leader does so too if it
//!    [works along](Main).
//! 3. The leader collects their effects: sends into the pending set, requests, the trace in the order of
//!    events, and the earliest failure.
//!
//! Otherwise the leader executes the round as `sequential` does. Meanwhile the workers help with events that
//! have independent tasks ([`parades_sync::help`]), such as the solution of a large flow-level network. Until
//! the first parallel round there are no workers, and all LPs are in one stripe. A short run may never need
//! another thread, and many stripes use up some of one thread's cache.
//!
//! *Invariants.* I3: keys increase along an LP's history. The events that a round sends arrive at a later
//! instant. The one exception is the wake of a timer that was set again for this very instant. It goes to
//! the LP itself with a greater key, and is executed after the others. The leader holds the locks of all
//! stripes, except for the stripes of a parallel round.
//!
//! *References.* M. Quinson, C. Rosa, C. Thiéry, *Parallel Simulation of Peer-to-Peer Systems*, CCGrid
//! 2012: user processes in parallel, the rest in sequence. C. Hernández, *Parallel optimizations for
//! SimGrid's large scale P2P simulations*: the ways of waiting, and the adaptive threshold.
//!
//! *Read next*: `rounds/threshold.rs`, the choice of rounds; [`parades_sync::pool`], how workers take part.

mod adaptive;
mod crowd;
mod leader;
mod one_by_one;
mod stripes;
mod threshold;

pub use threshold::Threshold;

use crate::course::Course;
use crate::seats;
use crate::workers::on_all_workers;
use crowd::Crowd;
use leader::Leader;
use parades_core::any_model::{AnyModel, with_model};
use parades_core::cut::{Reached, Span};
use parades_core::error::Error;
use parades_core::model::Model;
use parades_core::run::{Outcome, RunOptions};
use parades_core::timesheet::Spent;
use parades_core::world::World;
use parades_sync::pool::Waiting;
use std::cell::OnceCell;
use std::sync::{Arc, RwLock, mpsc};
use std::time::Duration;
use stripes::Stripes;
use threshold::Judge;

/// The work of the leader's thread in a parallel round. *n* is the number of threads in the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Main {
    /// The leader works along with *n* - 1 workers.
    #[default]
    Works,
    /// The leader sleeps, while *n* - 1 workers execute the round.
    Sleeps,
    /// The leader sleeps, while *n* workers execute the round.
    Extra,
}

/// The settings of a run. None of them changes the results.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of threads, including the leader's.
    pub threads: usize,
    /// The rule that decides which rounds are executed in parallel.
    pub threshold: Threshold,
    /// The way in which idle workers wait.
    pub waiting: Waiting,
    /// The work of the leader in a parallel round.
    pub main: Main,
    /// True if each thread is bound to a core of its own, as long as there are enough cores.
    pub pinned: bool,
}

impl Settings {
    /// Returns the defaults for `threads` threads.
    ///
    /// # Panics
    ///
    /// Panics if `threads` is zero.
    pub fn of_threads(threads: usize) -> Settings {
        assert!(threads > 0, "a run on no thread");
        Settings {
            threads,
            threshold: Threshold::default(),
            waiting: Waiting::default(),
            main: Main::default(),
            pinned: false,
        }
    }

    /// Returns the number of workers besides the leader.
    fn workers(&self) -> usize {
        match self.main {
            Main::Works | Main::Sleeps => self.threads - 1,
            Main::Extra if self.threads > 1 => self.threads,
            Main::Extra => 0,
        }
    }
}

/// An executed round, as the judge of rounds sees it.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The number of its events.
    events: u64,
    /// True if it was executed in parallel.
    parallel: bool,
    /// The wall-clock time that it took.
    took: Duration,
}

/// Runs `model` round by round.
///
/// # Examples
///
/// No lookahead is needed:
///
/// ```
/// use parades_core::{run::RunOptions, time::Time};
/// use parades_engine::{rounds, sequential};
/// # use parades_core::prelude::*;
/// struct Echo;
///
/// impl Model for Echo {
///     type State = u64;
///     type Message = u32;
///     type Global = NoGlobal;
///     fn lps(&self) -> u32 { 64 }
///     fn channels(&self) -> Channels { Channels::whole(Delay::ZERO) }
///     fn start(&self, ctx: &mut Context<'_, Self>) -> u64 { ctx.send_self(Delay::from_ms(1), 9); 0 }
///     fn handle(&self, state: &mut u64, event: Body<&u32>, ctx: &mut Context<'_, Self>) {
///         let Body::Message(&left) = event else { return };
///         *state += u64::from(left);
///         if left > 0 { ctx.send_to(LpId(ctx.id().0 * 7 % 64), Delay::ZERO, left - 1); }
///     }
/// }
/// let until = Time::ZERO.checked_add(Delay::from_ms(100)).unwrap();
/// let one = sequential::run(&Echo, RunOptions::until(until)).unwrap();
/// let settings = rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(2) };
/// let two = rounds::run(&Echo, RunOptions::until(until), &settings).unwrap();
/// assert_eq!(one.digest, two.digest);
/// assert!(two.engine_stats.contains(&("parallel_rounds", 10.0)));
/// ```
///
/// # Errors
///
/// The earliest error of the run, or an error that the model finds at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, settings: &Settings) -> Result<Outcome, Error> {
    with_model(model, options, |model, options| run_any(model, options, settings))
}

/// Does the same as [`run`], for a model of any type.
///
/// # Errors
///
/// As [`run`].
pub fn run_any<'k>(
    model: &'k dyn AnyModel<'k>,
    options: RunOptions<'k>,
    settings: &Settings,
) -> Result<Outcome, Error> {
    advance(model, options.into(), settings).map(Reached::end)
}

/// Runs a span of a run, as [`sequential::advance`](crate::sequential::advance).
///
/// # Errors
///
/// As [`run`].
pub fn advance<'k>(model: &'k dyn AnyModel<'k>, span: Span<'k>, settings: &Settings) -> Result<Reached<'k>, Error> {
    let world = World::of_span(model, &span)?;
    let workers = settings.workers().min(world.lps() as usize - 1);
    let world = RwLock::new(world);
    let (course, from) = Course::new(model, span);
    let timekeeper = &course.timekeeper.clone();
    let alone = Stripes::one(&course, &world);
    let (cut, crowd) = (OnceCell::new(), Arc::new(Crowd::new(workers, settings, timekeeper.clone())));
    let judge = Judge::new(settings.threshold, workers);
    let mut leader = Leader::new(course, &alone, &world, judge, Arc::clone(&crowd));
    match from {
        Some(cut) => leader.go_on_from(*cut),
        None => leader.start()?,
    }
    leader.run()?;
    if !leader.needs_workers() {
        return leader.conclude();
    }

    let (lps, metrics) = leader.state.held.take_one();
    let course = &leader.state.course;
    let stripes: &Stripes<'_, 'k> = cut.get_or_init(|| Stripes::cut(course, &world, lps, metrics, workers + 1));
    leader.join(stripes);
    let mut end = None;
    let (report_start, starts) = mpsc::channel();
    let mut lead = || {
        seats::unbind();
        let _closing = Closing(&crowd);
        // Rounds are timed once all workers take part.
        starts.iter().take(workers).for_each(drop);
        end = Some(leader.run());
        Ok(())
    };
    let follow = |worker: usize| {
        seats::unbind();
        let _begun = timekeeper.begin(worker);
        // The leader waits for this message.
        let _ = report_start.send(());
        timekeeper.spend(worker, Spent::Waiting, || {
            crowd.pool.work(worker - 1, |task| crowd.work_on(worker, task, |task| stripes.execute(task, worker)));
        });
        Ok(())
    };
    let led = on_all_workers(workers + 1, settings.pinned, &|| crowd.pool.close(), &mut lead, &follow)?;
    led.expect("no part of a pool breaks up");
    end.expect("the leader has come to the end")?;
    leader.conclude()
}

/// Closes the pool when dropped, so that the workers return, even if the leader panics.
struct Closing<'a>(&'a Crowd);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.pool.close();
    }
}
