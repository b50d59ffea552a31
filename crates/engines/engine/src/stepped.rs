//! Stepped runs: a program that is not a model advances a run step by step, looks at it, and feeds it.
//!
//! *Idea.* The engine runs on a thread of its own. At each cut ([`parades_core::cut`]) it comes to rest
//! inside the function that is called there, and takes orders: to go on to a time, to show or write
//! something, to add an event from outside, to end. So all engines step alike, and their workers stay where
//! they are.
//!
//! *Determinism.* A stepped run is the unbroken run: its digest, events and metrics do not depend on the
//! steps, nor on the engines that executed it. They depend on the events from outside, with their times and
//! their order.
//!
//! *Cost.* An order and its answer pass between two threads, which spin a little before they sleep: less than
//! a microsecond while both have a core, some ten if they sleep. The example `steps` of `parades` measures
//! it.
//!
//! *Read next*: `stepped/thread.rs`, the thread of the engine.

mod branch;
mod file;
mod thread;

use crate::any_engine::AnyEngine;
use parades_core::any_model::{AnyRestorable, AnySave, SaveModel, Typed};
use parades_core::cut::AtRest;
use parades_core::error::{Error, ErrorKind};
use parades_core::event::{EventKey, LpId};
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::Time;
use std::any::{Any, type_name};
use std::fmt;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use thread::{Begin, States, Thread};

/// A model whose runs are stepped, with the abilities that its type has. A model without further abilities
/// becomes one by `into()`.
pub struct Steppable<M: Model> {
    model: Arc<M>,
    restorable: Option<RestorableView<M>>,
    save: Option<SaveView<M>>,
}

/// The view of a model whose states can be restored.
type RestorableView<M> = for<'k, 'm> fn(&'k Typed<'k, 'm, M>) -> &'k dyn AnyRestorable<'k>;

/// The view of a model whose runs can be saved.
type SaveView<M> = for<'k, 'm> fn(&'k Typed<'k, 'm, M>) -> &'k dyn AnySave<'k>;

fn restorable_view<'k, M: Restorable>(model: &'k Typed<'k, '_, M>) -> &'k dyn AnyRestorable<'k> {
    model
}

fn save_view<'k, M: SaveModel>(model: &'k Typed<'k, '_, M>) -> &'k dyn AnySave<'k> {
    model
}

impl<M: Model> Steppable<M> {
    /// Returns a model without further abilities.
    pub fn new(model: M) -> Steppable<M> {
        Steppable::shared(Arc::new(model))
    }

    /// Returns a model without further abilities, which the caller and all its runs share.
    pub fn shared(model: Arc<M>) -> Steppable<M> {
        Steppable { model, restorable: None, save: None }
    }

    /// Returns the model as one whose states can be restored: for `time-warp`.
    #[must_use]
    pub fn undoing(self) -> Steppable<M>
    where
        M: Restorable,
    {
        Steppable { restorable: Some(restorable_view), ..self }
    }

    /// Returns the model as one whose runs can be saved: for [`Run::save`], [`Run::load`] and
    /// [`Run::branch`].
    #[must_use]
    pub fn saving(self) -> Steppable<M>
    where
        M: SaveModel,
    {
        Steppable { save: Some(save_view), ..self }
    }
}

impl<M: Model> Clone for Steppable<M> {
    fn clone(&self) -> Steppable<M> {
        let Steppable { model, restorable, save } = self;
        Steppable { model: Arc::clone(model), restorable: *restorable, save: *save }
    }
}

impl<M: Model> From<M> for Steppable<M> {
    fn from(model: M) -> Steppable<M> {
        Steppable::new(model)
    }
}

impl<M: Model> fmt::Debug for Steppable<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (restorable, save) = (self.restorable.is_some(), self.save.is_some());
        f.debug_struct("Steppable").field("undoing", &restorable).field("saving", &save).finish_non_exhaustive()
    }
}

/// A run that is stepped. Between steps it is a value: all LPs are at rest at [`Run::now`], after everything
/// before that time, and before everything at it, global events included.
///
/// A run that is dropped ends, with the threads of its engine.
///
/// # Examples
///
/// A counter that is fed from outside:
///
/// ```
/// use parades_core::prelude::*;
/// use parades_core::{error::Error, wire::{self, Malformed}};
/// use parades_engine::any_engine::AnyEngine;
/// use parades_engine::stepped::{Run, Steppable};
/// use parades_engine::window;
///
/// struct Counters; // 4 LPs. A message is added to the sum, and passed on 1 ms later until it is zero.
///
/// impl Model for Counters {
///     type State = u64;
///     type Message = u64;
///     type Global = NoGlobal;
///     fn lps(&self) -> u32 { 4 }
///     fn channels(&self) -> Channels { Channels::whole(Delay::from_ms(1)) }
///     fn start(&self, _: &mut Context<'_, Self>) -> u64 { 0 }
///     fn handle(&self, sum: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Self>) {
///         let Body::Message(&number) = event else { return };
///         *sum += number;
///         if number > 0 { ctx.send_to(LpId((ctx.id().0 + 1) % 4), Delay::from_ms(1), number - 1); }
///     }
/// }
/// impl parades_core::any_model::SaveModel for Counters {
///     fn write_state(&self, _: LpId, sum: &u64, to: &mut Vec<u8>) { wire::write(sum, to); }
///     fn read_state(&self, _: LpId, from: &mut &[u8]) -> Result<u64, Malformed> { wire::read(from) }
/// }
///
/// let model = Steppable::from(Counters).saving();
/// let mut run = Run::start(model, AnyEngine::Sequential, RunOptions::until(Time::from_secs(1)))?;
/// run.inject(LpId(0), Time::from_ms(10), 3)?;
/// assert_eq!(run.advance(Time::from_ms(12))?, Time::from_ms(12));
/// assert_eq!(run.state(LpId(1), |sum| *sum)?, 2); // it got the 2 at 11 ms
/// assert_eq!(run.state(LpId(2), |sum| *sum)?, 0); // a cut lies before the events of its time
///
/// let mut other = run.branch()?; // from here on, two runs
/// other.inject(LpId(3), Time::from_ms(12), 100)?;
/// other.continue_under(AnyEngine::Window(window::Settings::of_threads(2)))?;
/// assert_eq!(other.conclude()?.events, 4 + 101);
/// assert_eq!(run.conclude()?.events, 4);
/// # Ok::<(), Error>(())
/// ```
pub struct Run<M: Model> {
    model: Steppable<M>,
    thread: Thread,
    options: Kept,
    engine: AnyEngine,
}

/// The options that a run keeps over branches and files.
#[derive(Clone, Copy, Debug)]
struct Kept {
    until: Time,
    seed: u64,
    tie_seed: Option<u64>,
    digest: bool,
    memory_limit: Option<u64>,
}

impl Kept {
    fn of(options: &RunOptions<'_>) -> Kept {
        let RunOptions { until, seed, tie_seed, digest, memory_limit, .. } = *options;
        Kept { until, seed, tie_seed, digest, memory_limit }
    }

    fn options(&self) -> RunOptions<'static> {
        let Kept { until, seed, tie_seed, digest, memory_limit } = *self;
        RunOptions { seed, tie_seed, digest, memory_limit, ..RunOptions::until(until) }
    }
}

impl<M: Model> fmt::Debug for Run<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("now", &self.thread.now).field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// Returns the error of a wish that a run cannot fulfil.
fn refused(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Refused(what.into()))
}

impl<M: Model + Send + 'static> Run<M> {
    /// Starts a run of a model. It is at time 0: its LPs have started, and no event has been executed.
    ///
    /// `until` of the options is the end, to which [`Run::conclude`] goes; nothing before the end depends on
    /// it. [`Time::MAX`] means that there is none. Of the options, a control can stop the run while it
    /// advances.
    ///
    /// # Errors
    ///
    /// If the model declares something impossible, an LP cannot start, or the engine cannot run the model.
    /// Also if the options ask for a trace, timesheets, a log of rounds or cuts, which a stepped run does not
    /// have.
    pub fn start(
        model: impl Into<Steppable<M>>,
        engine: AnyEngine,
        options: RunOptions<'static>,
    ) -> Result<Run<M>, Error> {
        let records = options.tracer.is_some() || options.timesheets.is_some() || options.rounds.is_some();
        if options.cuts.is_some() || records {
            return Err(refused(
                "a stepped run has no trace, no timesheets, no log of rounds, and no cuts of its options",
            ));
        }
        Run::begin(model.into(), engine, Kept::of(&options), options.control, Begin::Start)
    }

    fn begin(
        model: Steppable<M>,
        engine: AnyEngine,
        options: Kept,
        control: Option<&'static Control>,
        begin: Begin,
    ) -> Result<Run<M>, Error> {
        if engine.rolls_back() && model.restorable.is_none() {
            return Err(no_rollback());
        }
        let of_thread = model.clone();
        let thread = Thread::begin(engine, move |engine| {
            engine.run(&of_thread, RunOptions { control, ..options.options() }, begin)
        })?;
        Ok(Run { model, thread, options, engine })
    }

    /// Returns the virtual time of the run.
    pub fn now(&self) -> Time {
        self.thread.now
    }

    /// Returns the number of events executed so far.
    pub fn events(&self) -> u64 {
        self.thread.events
    }

    /// Returns the end of the run.
    pub fn until(&self) -> Time {
        self.options.until
    }

    /// Executes everything before `until`, and returns the time of the run.
    ///
    /// That is `until`, or the end of the run if it comes before: the end of the options, or the time at
    /// which the model or a control has ended the run. It stays where it is if `until` is no later than
    /// [`Run::now`].
    ///
    /// # Errors
    ///
    /// The earliest error of the run. It is then over, and all its functions return this error.
    pub fn advance(&mut self, until: Time) -> Result<Time, Error> {
        self.thread.advance(until.min(self.options.until))
    }

    /// Calls `look` with the state of an LP, and returns what it returns. `look` is called by another thread.
    ///
    /// # Errors
    ///
    /// If there is no such LP, or if the run is over.
    ///
    /// # Panics
    ///
    /// If `look` panics. The run is as it was.
    pub fn state<R: Send + 'static>(
        &mut self,
        lp: LpId,
        look: impl FnOnce(&M::State) -> R + Send + 'static,
    ) -> Result<R, Error> {
        let mut look = Some(look);
        self.thread.at_rest(move |run, states| {
            if lp.0 >= run.model.lps() {
                return Err(refused(format!("there is no {lp}, since there are {} LPs", run.model.lps())));
            }
            let mut seen = None;
            look_at(run, states, &mut std::iter::once(lp), &mut |_, state| {
                let state = state.downcast_ref().expect("the states are those of the model");
                seen = look.take().map(|look| look(state));
            });
            Ok(seen.expect("the state has been shown"))
        })?
    }

    /// Folds the states of all LPs, in the order of ids. `fold` is called by another thread.
    ///
    /// # Errors
    ///
    /// If the run is over.
    ///
    /// # Panics
    ///
    /// If `fold` panics. The run is as it was.
    pub fn fold<R: Send + 'static>(
        &mut self,
        init: R,
        mut fold: impl FnMut(R, LpId, &M::State) -> R + Send + 'static,
    ) -> Result<R, Error> {
        let mut folded = Some(init);
        self.thread.at_rest(move |run, states| {
            let mut lps = (0..run.model.lps()).map(LpId);
            look_at(run, states, &mut lps, &mut |lp, state| {
                let state = state.downcast_ref().expect("the states are those of the model");
                folded = folded.take().map(|before| fold(before, lp, state));
            });
            folded.expect("each state has been folded")
        })
    }

    /// Returns the metrics that handlers and global events have recorded so far. Those that the model records
    /// at its end ([`Model::finish`], [`Model::conclude`]) are in the outcome alone.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn metrics(&mut self) -> Result<Metrics, Error> {
        if let Some(outcome) = self.thread.outcome()? {
            return Ok(outcome.metrics.clone());
        }
        self.thread.at_rest(|run, _| {
            let mut metrics = run.metrics.clone();
            run.resting.add_metrics(&mut metrics);
            metrics
        })
    }

    /// Returns the digest so far: of everything that the LPs have executed, of their states, and of the
    /// global events. `None` if digests are switched off.
    ///
    /// # Errors
    ///
    /// The error that has ended the run.
    pub fn digest(&mut self) -> Result<Option<u64>, Error> {
        if let Some(outcome) = self.thread.outcome()? {
            return Ok(outcome.digest);
        }
        if !self.options.digest {
            return Ok(None);
        }
        self.thread.at_rest(|run, _| Some(run.digest()))
    }

    /// Adds an event from outside: a message to `lp` at `time`, which is [`Run::now`] or later. Returns its
    /// key.
    ///
    /// Its sender is [`Sender::OUTSIDE`](parades_core::event::Sender::OUTSIDE), which sorts after all LPs
    /// unless a tie seed shuffles the events of one time. Events from outside are numbered in the order in
    /// which they are added. They are executed and counted as all others.
    ///
    /// # Errors
    ///
    /// If `time` is before [`Run::now`], if there is no such LP, or if the run is over. Nothing is added
    /// then.
    pub fn inject(&mut self, lp: LpId, time: Time, message: M::Message) -> Result<EventKey, Error> {
        self.thread.at_rest(move |run, _| run.inject(lp, time, Box::new(message)).map_err(refused))?
    }

    /// Goes on under another engine, or with another number of workers.
    ///
    /// # Errors
    ///
    /// If the engine rolls back, and the model is not [`Steppable::undoing`]; the run is then as it was. If
    /// the engine cannot begin, which ends the run.
    pub fn continue_under(&mut self, engine: AnyEngine) -> Result<(), Error> {
        if engine.rolls_back() && self.model.restorable.is_none() {
            return Err(no_rollback());
        }
        self.thread.switch(engine)?;
        self.engine = engine;
        Ok(())
    }

    /// Returns a second run that is at the same place, under the same engine. From here on, nothing that is
    /// done to one of them is seen by the other.
    ///
    /// # Errors
    ///
    /// If the model's runs cannot be saved ([`Steppable::saving`]), or if the run is over.
    pub fn branch(&mut self) -> Result<Run<M>, Error> {
        let cut = self.cut()?;
        Run::begin(self.model.clone(), self.engine, self.options, None, Begin::Cut(cut))
    }

    /// Writes the run, with its seeds and its end. [`Run::load`] goes on from there.
    ///
    /// The bytes are not compressed. They name the version of this library and the type of the model; the
    /// model's own data are the caller's affair.
    ///
    /// # Errors
    ///
    /// As [`Run::branch`], and if it cannot be written. The run is as it was.
    pub fn save(&mut self, mut to: impl Write) -> Result<(), Error> {
        let cut = self.cut()?;
        let (model, digest) = (type_name::<M>(), self.digest()?);
        let bytes = file::write(&self.options, self.now(), digest, model, &cut);
        to.write_all(&bytes)
            .and_then(|()| to.flush())
            .map_err(|error| refused(format!("the run cannot be saved: {error}")))
    }

    /// Reads a run that [`Run::save`] has written, and goes on with it under `engine`. `model` is the same as
    /// that of the saved run.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`] if the bytes are not those of a saved run of this model and this version of
    /// the library, or if the run that was read has another digest. As [`Run::start`] otherwise.
    pub fn load(model: impl Into<Steppable<M>>, engine: AnyEngine, mut from: impl Read) -> Result<Run<M>, Error> {
        let malformed = |what: String| Error::new(ErrorKind::Malformed(what));
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(|error| malformed(error.to_string()))?;
        let (options, digest, cut) = file::read(&bytes, type_name::<M>()).map_err(malformed)?;
        let mut run = Run::begin(model.into(), engine, options, None, Begin::Cut(cut))?;
        if run.digest()? != digest {
            return Err(malformed("the model, or the data that it was made of, is another one".into()));
        }
        Ok(run)
    }

    /// Returns the bytes of the cut.
    fn cut(&mut self) -> Result<Vec<u8>, Error> {
        self.thread.at_rest(|run: &mut AtRest<'_, '_>, _| {
            let why = match run.save {
                None => Err("the states of its logical processes cannot be written".to_owned()),
                Some(save) => save.can_save(),
            };
            why.map_err(|why| refused(format!("the run can be neither saved nor branched, since {why}")))?;
            let mut bytes = Vec::new();
            run.write(&mut bytes);
            Ok(bytes)
        })?
    }

    /// Goes on to the end of the run, and returns its outcome: that of the run in one piece. The global
    /// events of the end are executed.
    ///
    /// # Errors
    ///
    /// The earliest error of the run, or an error that the model finds at its end.
    pub fn conclude(self) -> Result<Outcome, Error> {
        self.thread.conclude(false)
    }

    /// Ends the run at [`Run::now`], and returns its outcome: that of the run in one piece until then. The
    /// global events of this time are executed.
    ///
    /// # Errors
    ///
    /// As [`Run::conclude`].
    pub fn conclude_now(self) -> Result<Outcome, Error> {
        self.thread.conclude(true)
    }
}

/// Calls `look` with the states of LPs of a run at rest, which stays whole if `look` panics.
fn look_at(
    run: &mut AtRest<'_, '_>,
    states: &dyn States,
    lps: &mut dyn Iterator<Item = LpId>,
    look: &mut dyn FnMut(LpId, &dyn Any),
) {
    let placement = run.resting.put_down();
    let result = catch_unwind(AssertUnwindSafe(|| {
        lps.for_each(|lp| states.look(lp, &placement, &mut |state| look(lp, state)));
    }));
    run.resting.pick_up();
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

fn no_rollback() -> Error {
    refused("the engine rolls back, and it is not said how the states of this model are restored")
}
