//! The thread of the engine of a stepped run, and the two letter boxes between it and the thread of the user.
//!
//! *Protocol.* The engine comes to a cut, says so, and takes orders until one of them makes it go on. The
//! user gives an order only when the engine is at a cut, and waits for its answer. So each box has at most
//! one entry. The last answer of the thread is the end of the run.

use super::Steppable;
use crate::any_engine::AnyEngine;
use crate::workers::lock;
use parades_core::any_model::{AnyModel, AnyRestorable, AnySave, Typed, with_model};
use parades_core::cut::{AtCut, AtRest, Cut, Cuts, Reached, Span, Then};
use parades_core::error::{Error, ErrorKind};
use parades_core::event::LpId;
use parades_core::model::Model;
use parades_core::placement::Placement;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Time;
use parades_sync::event_count::EventCount;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// An order of the user.
enum Order {
    /// The run goes on to a cut at this time.
    Advance(Time),
    /// Something is done with the run at rest.
    Act(Box<Act>),
    /// The run goes on from here under another engine.
    Switch(AnyEngine),
    /// The run goes on to its end without further cuts. With `now`, it ends here.
    Conclude { now: bool },
    /// The thread ends.
    Quit,
}

type Act = dyn FnOnce(&mut AtRest<'_, '_>, &dyn States) + Send;

/// An answer of the engine's thread.
enum Answer {
    /// The run is at a cut.
    AtRest { time: Time, events: u64 },
    /// The order [`Order::Act`] has been executed.
    Acted,
    /// The run is over. `None` if the user has left it.
    Over(Result<Option<Box<Outcome>>, Error>),
}

/// The states of LPs that have been put down, without their type.
pub(super) trait States: Sync {
    /// Calls `act` with the state of an LP ([`parades_core::any_model::InRun::look`]).
    fn look(&self, lp: LpId, placement: &Placement, act: &mut dyn FnMut(&dyn Any));
}

impl<M: Model + 'static> States for Typed<'_, '_, M> {
    fn look(&self, lp: LpId, placement: &Placement, act: &mut dyn FnMut(&dyn Any)) {
        self.value().look(lp, placement, |state| act(state));
    }
}

/// A box with at most one entry, from one thread to another.
struct LetterBox<T> {
    entry: Mutex<Option<T>>,
    entries: EventCount,
}

impl<T> LetterBox<T> {
    fn new() -> LetterBox<T> {
        LetterBox { entry: Mutex::default(), entries: EventCount::new(2) }
    }

    fn put(&self, entry: T) {
        *lock(&self.entry) = Some(entry);
        self.entries.notify();
    }

    /// Waits for an entry, and takes it.
    fn take(&self) -> T {
        loop {
            let seen = self.entries.count();
            if let Some(entry) = lock(&self.entry).take() {
                return entry;
            }
            self.entries.wait(seen).expect("nobody breaks a letter box");
        }
    }
}

/// The boxes of a run.
struct Line {
    orders: LetterBox<Order>,
    answers: LetterBox<Answer>,
}

/// The place where a run begins.
pub(super) enum Begin {
    /// Its start.
    Start,
    /// A cut, by its bytes.
    Cut(Vec<u8>),
}

/// The engine's side.
pub(super) struct Engine {
    line: Arc<Line>,
    engine: AnyEngine,
}

/// The tables of a model in a run.
struct Tables<'k> {
    model: &'k dyn AnyModel<'k>,
    restorable: Option<&'k dyn AnyRestorable<'k>>,
    save: Option<&'k dyn AnySave<'k>>,
    states: &'k dyn States,
}

impl Engine {
    /// Runs a model until its end, or until the user leaves it.
    pub(super) fn run<M: Model + 'static>(
        self,
        steppable: &Steppable<M>,
        options: RunOptions<'static>,
        begin: Begin,
    ) -> Result<Option<Outcome>, Error> {
        let Steppable { model, restorable, save } = steppable;
        with_model(&**model, options, |typed, options| {
            let (restorable, save) = (restorable.map(|view| view(typed)), save.map(|view| view(typed)));
            self.run_any(&Tables { model: typed, restorable, save, states: typed }, options, begin)
        })
    }

    fn run_any<'k>(self, tables: &Tables<'k>, options: RunOptions<'k>, begin: Begin) -> Result<Option<Outcome>, Error> {
        let Engine { line, mut engine } = self;
        let &Tables { model, restorable, save, states } = tables;
        let from = match begin {
            Begin::Start => None,
            Begin::Cut(bytes) => Some(Box::new(read(save, &bytes)?)),
        };
        let time = from.as_ref().map_or(Time::ZERO, |cut| cut.time);
        let next = Arc::new(Mutex::new(None));
        let act = Stepper { line, states, until: options.until, concludes: false, next: Arc::clone(&next) };
        let cuts = Some(Cuts { next: time, at_end: true, act: Box::new(act) });
        let mut span = Span { from, save, ..Span::from(RunOptions { cuts, ..options }) };
        loop {
            span = match engine.advance(model, restorable, span)? {
                Reached::End(outcome) => return Ok(Some(outcome)),
                Reached::Cut(span) => span,
            };
            let Some(other) = lock(&next).take() else { return Ok(None) };
            engine = other;
            // The next engine comes to rest at once.
            let time = span.from.as_ref().map_or(Time::ZERO, |cut| cut.time);
            if let Some(cuts) = &mut span.options.cuts {
                cuts.next = time;
            }
        }
    }
}

/// Reads a cut.
pub(super) fn read<'k>(save: Option<&'k dyn AnySave<'k>>, mut bytes: &[u8]) -> Result<Cut<'k>, Error> {
    let malformed = |what: String| Error::new(ErrorKind::Malformed(what));
    let save = save.ok_or_else(|| malformed("it is not said how the states of this model are read".into()))?;
    let cut = Cut::read(save, &mut bytes).map_err(|error| malformed(error.to_string()))?;
    if !bytes.is_empty() {
        return Err(malformed("there are bytes after its end".into()));
    }
    Ok(cut)
}

/// Takes orders at cuts.
struct Stepper<'k> {
    line: Arc<Line>,
    states: &'k dyn States,
    /// The end of the run.
    until: Time,
    /// True once no further orders come.
    concludes: bool,
    /// The engine that goes on after this one.
    next: Arc<Mutex<Option<AnyEngine>>>,
}

impl Stepper<'_> {
    /// Goes on to the end of the run.
    fn to_the_end(&self, now: Time) -> Then {
        if now < self.until { Then::Continue(self.until) } else { Then::End }
    }
}

impl AtCut for Stepper<'_> {
    fn act(&mut self, run: &mut AtRest<'_, '_>) -> Then {
        if self.concludes {
            return self.to_the_end(run.time);
        }
        self.line.answers.put(Answer::AtRest { time: run.time, events: run.events });
        loop {
            match self.line.orders.take() {
                Order::Advance(until) => return Then::Continue(until),
                Order::Act(act) => {
                    act(run, self.states);
                    self.line.answers.put(Answer::Acted);
                }
                Order::Switch(engine) => {
                    *lock(&self.next) = Some(engine);
                    return Then::Leave;
                }
                Order::Conclude { now } => {
                    self.concludes = true;
                    return if now { Then::End } else { self.to_the_end(run.time) };
                }
                Order::Quit => return Then::Leave,
            }
        }
    }
}

/// The user's side: the thread of the engine, which is at a cut whenever no function of this is called.
pub(super) struct Thread {
    line: Arc<Line>,
    /// The virtual time of the run.
    pub(super) now: Time,
    /// The number of events executed so far.
    pub(super) events: u64,
    handle: Option<JoinHandle<()>>,
    /// The end of the run, once it is over.
    over: Option<Result<Outcome, Error>>,
}

impl Thread {
    /// Begins a thread that calls `run`, and waits for its first cut.
    pub(super) fn begin(
        engine: AnyEngine,
        run: impl FnOnce(Engine) -> Result<Option<Outcome>, Error> + Send + 'static,
    ) -> Result<Thread, Error> {
        Thread::begin_any(engine, Box::new(run))
    }

    fn begin_any(
        engine: AnyEngine,
        run: Box<dyn FnOnce(Engine) -> Result<Option<Outcome>, Error> + Send>,
    ) -> Result<Thread, Error> {
        let line = Arc::new(Line { orders: LetterBox::new(), answers: LetterBox::new() });
        let of_thread = Arc::clone(&line);
        let work = move || {
            let engine = Engine { line: Arc::clone(&of_thread), engine };
            let end = catch_unwind(AssertUnwindSafe(|| run(engine)));
            let end = end.unwrap_or_else(|panic| Err(Error::new(ErrorKind::of_panic(panic.as_ref()))));
            of_thread.answers.put(Answer::Over(end.map(|outcome| outcome.map(Box::new))));
        };
        let handle = thread::Builder::new().name("parades run".into()).spawn(work);
        let handle = handle.map_err(|error| Error::new(ErrorKind::Thread(error.to_string())))?;
        let mut thread = Thread { line, now: Time::ZERO, events: 0, handle: Some(handle), over: None };
        thread.await_answer()?;
        Ok(thread)
    }

    /// Waits for the answer to an order.
    fn await_answer(&mut self) -> Result<(), Error> {
        match self.line.answers.take() {
            Answer::Acted => return Ok(()),
            Answer::AtRest { time, events } => {
                (self.now, self.events) = (time, events);
                return Ok(());
            }
            Answer::Over(Ok(Some(outcome))) => {
                (self.now, self.events) = (outcome.end, outcome.events);
                self.over = Some(Ok(*outcome));
            }
            Answer::Over(Ok(None)) => unreachable!("a run is left when its last owner drops it"),
            Answer::Over(Err(error)) => self.over = Some(Err(error)),
        }
        self.join();
        self.outcome().map(drop)
    }

    /// Waits until the thread has ended.
    fn join(&mut self) {
        if let Some(handle) = self.handle.take() {
            handle.join().expect("the thread catches the panics of the run");
        }
    }

    /// Returns the outcome, if the model has ended the run.
    pub(super) fn outcome(&self) -> Result<Option<&Outcome>, Error> {
        match &self.over {
            None => Ok(None),
            Some(Ok(outcome)) => Ok(Some(outcome)),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    fn order(&mut self, order: Order) -> Result<(), Error> {
        self.line.orders.put(order);
        self.await_answer()
    }

    /// Goes on to `until`, and returns the time that the run has reached.
    pub(super) fn advance(&mut self, until: Time) -> Result<Time, Error> {
        if self.outcome()?.is_none() && until > self.now {
            self.order(Order::Advance(until))?;
        }
        Ok(self.now)
    }

    /// Calls `act` with the run at rest.
    pub(super) fn at_rest<R: Send + 'static>(
        &mut self,
        act: impl FnOnce(&mut AtRest<'_, '_>, &dyn States) -> R + Send + 'static,
    ) -> Result<R, Error> {
        self.check_not_over()?;
        let result = Arc::new(Mutex::new(None));
        let to = Arc::clone(&result);
        self.order(Order::Act(Box::new(move |run, states| {
            let done = catch_unwind(AssertUnwindSafe(|| act(run, states)));
            *lock(&to) = Some(done);
        })))?;
        let done = lock(&result).take().expect("the order has been executed");
        Ok(done.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Checks that the run is at a cut.
    fn check_not_over(&self) -> Result<(), Error> {
        match self.outcome()? {
            None => Ok(()),
            Some(_) => Err(super::refused(format!("the run has ended at {}", self.now))),
        }
    }

    /// Goes on under another engine.
    pub(super) fn switch(&mut self, engine: AnyEngine) -> Result<(), Error> {
        self.check_not_over()?;
        self.order(Order::Switch(engine))
    }

    /// Ends the run: at its end, or now.
    pub(super) fn conclude(mut self, now: bool) -> Result<Outcome, Error> {
        if self.over.is_none() {
            self.order(Order::Conclude { now })?;
        }
        self.over.take().expect("the run is over")
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if self.handle.is_some() {
            self.line.orders.put(Order::Quit);
            self.join();
        }
    }
}
