//! The table of engines under test. Three small engines exist only for testing: they document the algorithms,
//! and force interleavings that a real engine seldom meets.

pub mod ranks;
pub mod rounds;
pub mod time_warp;
pub mod window;

use crate::transport::{Carrier, HeldBack, Speculative};
use parades_core::any_model::{AnyModel, AnyRestorable, AnySave, AnyWire, SaveModel, Typed, with_model};
use parades_core::cut::{AtRest, Cut, Cuts, Reached, Span, Then};
use parades_core::error::Error;
use parades_core::model::Model;
use parades_core::random::Rng;
use parades_core::restore::Restorable;
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use parades_engine::any_engine::AnyEngine;
use parades_engine::auto::{self, Changes};
use parades_engine::balance::Balance;
use parades_engine::partition::Placing;
use parades_engine::retreat::Retreats;
use parades_engine::rounds::{Main, Threshold};
use parades_engine::time_warp::{self as time_warp_engine, Ahead};
use parades_engine::window::{Order, Reach, Taking};
use parades_engine::{
    WireModel, null_message, rollback_check, rounds as rounds_engine, sequential, window as window_engine,
};
use parades_sync::barrier::BarrierKind;
use parades_sync::pool::Waiting;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

/// A model that runs on every engine.
pub trait Subject: Restorable<State: Clone + PartialEq + Debug> {}
impl<M: Restorable<State: Clone + PartialEq + Debug>> Subject for M {}

/// An engine under test.
#[derive(Debug)]
pub struct Engine<M: Model> {
    /// The name of the engine on the command line.
    pub name: &'static str,
    /// The variants of a run on this engine.
    pub varies: Varies,
    /// Runs a model on this engine.
    pub run: Run<M>,
}

/// The dimensions that change how an engine runs, though not its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varies {
    /// None: the engine runs on one thread.
    Nothing,
    /// The number of workers.
    Workers,
    /// The number of workers, and the transport between them.
    Transports,
    /// The number of ranks, and the number of workers of each.
    Ranks,
}

impl Varies {
    /// Returns the pairs of a transport and a number of workers that should be tried.
    pub fn variants<'a>(
        self,
        carriers: impl IntoIterator<Item = Carrier> + 'a,
        workers: impl IntoIterator<Item = usize> + Clone + 'a,
    ) -> impl Iterator<Item = (Carrier, usize)> + 'a {
        let fits = move |carrier: &Carrier| matches!(carrier, Carrier::Ranks(_)) == (self == Varies::Ranks);
        let most = |wanted: bool| if wanted { usize::MAX } else { 1 };
        let carriers_most = most(matches!(self, Varies::Transports | Varies::Ranks));
        let workers_most = most(self != Varies::Nothing);
        carriers.into_iter().filter(fits).take(carriers_most).flat_map(move |carrier| {
            workers.clone().into_iter().take(workers_most).map(move |workers| (carrier, workers))
        })
    }
}

/// A function that runs a model on an engine.
pub type Run<M> = fn(&M, RunOptions<'_>, &Setting<M>) -> Result<Outcome, Error>;

fn engine<M: Model>(name: &'static str, varies: Varies, run: Run<M>) -> Engine<M> {
    Engine { name, varies, run }
}

/// Returns the engines that are compared with `sequential`. A new engine is one line here, or below if it
/// never rolls back.
pub fn engines<M: Subject>() -> Vec<Engine<M>> {
    let mut engines = engines_without_rollback();
    engines.extend([
        engine("rollback-check", Varies::Nothing, |model, options, _| rollback_check::run(model, options)),
        engine("time-warp-test", Varies::Transports, time_warp::run),
        engine("time-warp", Varies::Transports, run_time_warp),
        engine("broken", Varies::Workers, run_broken),
        engine(CHANGING, Varies::Workers, run_changing),
    ]);
    engines
}

/// The name of the engine that changes to another one at short intervals.
pub const CHANGING: &str = "changing";

/// Returns the engines that also run models whose state cannot be restored.
pub fn engines_without_rollback<M: Model>() -> Vec<Engine<M>> {
    vec![
        engine("heap", Varies::Nothing, |model, options, _| sequential::run_on_heap(model, options)),
        engine("rounds-test", Varies::Nothing, rounds::run),
        engine("window-test", Varies::Transports, window::run),
        engine("rounds", Varies::Workers, run_rounds),
        engine("window", Varies::Transports, run_window),
        engine("null-message", Varies::Transports, run_null_message),
    ]
}

/// Runs `rounds`, with settings drawn from the seed.
fn run_rounds<M: Model>(model: &M, options: RunOptions<'_>, setting: &Setting<M>) -> Result<Outcome, Error> {
    rounds_engine::run(model, options, &rounds_settings(setting.seed, setting.workers))
}

/// Draws the settings of `rounds` from a seed.
fn rounds_settings(seed: u64, workers: usize) -> rounds_engine::Settings {
    let rng = Rng::shared(seed, 7);
    let thresholds = [
        Threshold::Adaptive,
        Threshold::Cumulative(2),
        Threshold::Naive(2),
        Threshold::Fixed(1),
        Threshold::Fixed(2),
        Threshold::Fixed(20),
    ];
    let waitings = [Waiting::Adaptive, Waiting::Futex, Waiting::Posix];
    rounds_engine::Settings {
        threshold: thresholds[index_below(&rng, thresholds.len())],
        waiting: waitings[index_below(&rng, waitings.len())],
        main: [Main::Works, Main::Sleeps, Main::Extra][index_below(&rng, 3)],
        ..rounds_engine::Settings::of_threads(workers)
    }
}

/// The rules for mode switches with which engines are tested: never, at fixed intervals, and as measured.
const RETREATS: [Retreats; 5] =
    [Retreats::Never, Retreats::WhereFaster, Retreats::Every(1), Retreats::Every(3), Retreats::Every(40)];

/// Draws the rule by which LPs move to other workers: by measured time, by events, or at random at each `n`-th
/// opportunity.
fn balance(rng: &Rng, every: [u32; 3]) -> Balance {
    match rng.below(4) {
        0 => Balance::Measured,
        1 => Balance::ByEvents,
        _ => Balance::Forced { every: every[index_below(rng, every.len())], seed: rng.next_u64() },
    }
}

/// The placements of LPs with which all engines are tested.
const PLACINGS: [Placing; 2] = [Placing::Channels, Placing::Ranges];

/// The orders of events with which the conservative engines are tested: forced changes, one fixed order, and
/// the measured one.
const ORDERS: [Order; 5] = [Order::Every(1), Order::Every(5), Order::Time, Order::Lp, Order::Measured];

/// Runs `window`, with settings drawn from the seed, over threads, or over bytes that are delayed.
fn run_window<M: Model>(model: &M, options: RunOptions<'_>, setting: &Setting<M>) -> Result<Outcome, Error> {
    let settings = window_settings(setting.seed, setting.workers);
    with_model(model, options, |model, options| match setting.codec_of(model) {
        Some(codec) => window_held_back(model, options, &settings, codec, setting.seed),
        None => window_engine::run(model.value().model(), options, &settings),
    })
}

/// Draws the settings of `window` from a seed.
fn window_settings(seed: u64, workers: usize) -> window_engine::Settings {
    let rng = Rng::shared(seed, 4);
    let barriers = [BarrierKind::Adaptive, BarrierKind::Posix, BarrierKind::Semaphore];
    let takings = [Taking::AtomicIndex, Taking::LockedIndex, Taking::LockedQueue];
    window_engine::Settings {
        order: ORDERS[index_below(&rng, ORDERS.len())],
        dedicated: [0.0, 0.5, 1.0][index_below(&rng, 3)],
        sets: 1 + index_below(&rng, 3),
        taking: takings[index_below(&rng, takings.len())],
        partitions: rng.chance(0.7).then(|| 1 + u32::try_from(rng.below(12)).expect("below 12")),
        barrier: barriers[index_below(&rng, barriers.len())],
        retreats: RETREATS[index_below(&rng, RETREATS.len())],
        placing: PLACINGS[index_below(&rng, PLACINGS.len())],
        balance: balance(&rng, [1, 7, 50]),
        reach: if rng.chance(0.7) { Reach::Own } else { Reach::Common },
        ..window_engine::Settings::of_threads(workers)
    }
}

fn window_held_back<'k>(
    model: &'k dyn AnyModel<'k>,
    options: RunOptions<'k>,
    settings: &window_engine::Settings,
    codec: &'k dyn AnyWire<'k>,
    seed: u64,
) -> Result<Outcome, Error> {
    let partitions = window_engine::partitions_max(settings);
    window_engine::run_over(model, options, settings, &|workers| {
        Arc::new(HeldBack::new(codec, workers, partitions, seed))
    })
}

/// Runs `null-message`, with settings drawn from the seed, over threads, or over bytes and promises that are
/// delayed.
fn run_null_message<M: Model>(model: &M, options: RunOptions<'_>, setting: &Setting<M>) -> Result<Outcome, Error> {
    let settings = null_message_settings(setting.seed, setting.workers);
    with_model(model, options, |model, options| match setting.codec_of(model) {
        Some(codec) => null_message_held_back(model, options, &settings, codec, setting.seed),
        None => null_message::run(model.value().model(), options, &settings),
    })
}

/// Draws the settings of `null-message` from a seed.
fn null_message_settings(seed: u64, workers: usize) -> null_message::Settings {
    let rng = Rng::shared(seed, 5);
    null_message::Settings {
        order: ORDERS[index_below(&rng, ORDERS.len())],
        partitions: rng.chance(0.7).then(|| 1 + u32::try_from(rng.below(12)).expect("below 12")),
        nulls: [null_message::Nulls::Lazy, null_message::Nulls::Demand][index_below(&rng, 2)],
        retreats: RETREATS[index_below(&rng, RETREATS.len())],
        placing: PLACINGS[index_below(&rng, PLACINGS.len())],
        balance: balance(&rng, [1, 7, 50]),
        ..null_message::Settings::of_threads(workers)
    }
}

fn null_message_held_back<'k>(
    model: &'k dyn AnyModel<'k>,
    options: RunOptions<'k>,
    settings: &null_message::Settings,
    codec: &'k dyn AnyWire<'k>,
    seed: u64,
) -> Result<Outcome, Error> {
    let partitions = null_message::partitions_max(settings);
    null_message::run_over(model, options, settings, &|workers| {
        Arc::new(HeldBack::new(codec, workers, partitions, seed))
    })
}

/// Runs `time-warp`, with settings drawn from the seed and workers that fall behind, over threads, or over
/// bytes that are delayed.
fn run_time_warp<M: Subject>(model: &M, options: RunOptions<'_>, setting: &Setting<M>) -> Result<Outcome, Error> {
    let settings = time_warp_settings(setting.seed, setting.workers);
    with_model(model, options, |model, options| match setting.codec_of(model) {
        Some(codec) => time_warp_held_back(model, options, &settings, codec, setting.seed),
        None => time_warp_engine::run(model.value().model(), options, &settings),
    })
}

/// Draws the settings of `time-warp` from a seed.
fn time_warp_settings(seed: u64, workers: usize) -> time_warp_engine::Settings {
    let rng = Rng::shared(seed, 6);
    let aheads = [Ahead::Adaptive, Ahead::Events(1), Ahead::Events(20), Ahead::Events(500), Ahead::Unbounded];
    time_warp_engine::Settings {
        ahead: aheads[index_below(&rng, aheads.len())],
        copy_every: [None, None, Some(2), Some(3), Some(8)][index_below(&rng, 5)],
        stalls: Some(seed),
        retreats: RETREATS[index_below(&rng, RETREATS.len())],
        placing: PLACINGS[index_below(&rng, PLACINGS.len())],
        balance: balance(&rng, [1, 7, 50]),
        ..time_warp_engine::Settings::of_threads(workers)
    }
}

/// Runs a model on one engine after another. The run is broken at cuts at random times; between two breaks it
/// also comes to cuts at which it goes on.
fn run_broken<M: Subject>(model: &M, options: RunOptions<'_>, setting: &Setting<M>) -> Result<Outcome, Error> {
    let rng = Rng::shared(setting.seed, 8);
    let (breaks, until) = (1 + rng.below(5), options.until);
    // Now and then a cut asks for the next one as soon as possible.
    let control = Arc::new(Control::default());
    let options = RunOptions { control: options.control.or(Some(&control)), ..options };
    let mut alone = Some(RunOptions { seed: options.seed, tie_seed: options.tie_seed, ..RunOptions::until(until) });
    with_model(model, options, |model, options| {
        let mut span = Span { save: setting.save.map(|save| save(model)), ..Span::from(options) };
        for number in 0..=breaks {
            let begin = span.from.as_ref().map_or(Time::ZERO, |cut| cut.time);
            let bytes = Arc::new(Mutex::new(Vec::new()));
            span.options.cuts = (number < breaks).then(|| cuts(&rng, begin, until, &control, Arc::clone(&bytes)));
            let (seed, workers) = (setting.seed.wrapping_add(number), 1 + index_below(&rng, setting.workers));
            let reached = match rng.below(5) {
                0 => sequential::advance(model, span),
                1 => rounds_engine::advance(model, span, &rounds_settings(seed, workers)),
                2 => window_engine::advance(model, span, &window_settings(seed, workers)),
                3 => null_message::advance(model, span, &null_message_settings(seed, workers)),
                _ => time_warp_engine::advance(model, span, &time_warp_settings(seed, workers)),
            };
            match reached? {
                Reached::End(outcome) => return Ok(outcome),
                Reached::Cut(next) => span = next,
            }
            if let (Some(save), Some(cut)) = (span.save, &mut span.from) {
                let bytes = bytes.lock().expect("no holder of this lock panics");
                if let Some(options) = alone.take() {
                    let same = *bytes == bytes_on_sequential(model, save, options, None, cut.time);
                    assert!(same, "the cut at {} is not that of `sequential`", cut.time);
                }
                let mut rest = bytes.as_slice();
                **cut = Cut::read(save, &mut rest).expect("a cut can be read again");
                assert!(rest.is_empty(), "a cut is read to its end");
            }
            if let (Fault::MessageForgotten, Some(cut)) = (setting.fault, &mut span.from) {
                cut.messages.pop();
            }
        }
        unreachable!("the last span has no cut")
    })
}

/// Runs a model on one engine after another. They change as `auto` does, but at fixed intervals. The run also
/// comes to a cut at which it goes on.
fn run_changing<M: Subject>(model: &M, options: RunOptions<'_>, setting: &Setting<M>) -> Result<Outcome, Error> {
    let (rng, until) = (Rng::shared(setting.seed, 9), options.until);
    let (seed, workers) = (setting.seed, setting.workers);
    let mut engines = [
        AnyEngine::Sequential,
        AnyEngine::Rounds(rounds_settings(seed, workers)),
        AnyEngine::Window(window_settings(seed, workers)),
        AnyEngine::NullMessage(null_message_settings(seed, workers)),
        AnyEngine::TimeWarp(time_warp_settings(seed, workers)),
    ];
    (1..engines.len()).for_each(|last| engines.swap(last, index_below(&rng, last + 1)));
    // A run is long and idle in most of it, or short.
    let ticks = Delay::from_ps(1000 * (1 + rng.below(30)));
    let apart = if rng.chance(0.8) { ticks.max(Delay::from_ps(until.as_ps() / 64)) } else { Delay::MAX };
    let asked = [1, 2, 3, 7, u32::MAX][index_below(&rng, 5)];
    let changes = Changes::Every { asked, apart };
    let alone = RunOptions { seed: options.seed, tie_seed: options.tie_seed, ..RunOptions::until(until) };
    let written = Arc::new(Mutex::new(None));
    let to = Arc::clone(&written);
    let act = move |run: &mut AtRest<'_, '_>| {
        if run.time >= until {
            return Then::End;
        }
        if run.save.is_some() {
            let mut bytes = Vec::new();
            run.write(&mut bytes);
            *to.lock().expect("no holder of this lock panics") = Some((run.time, bytes));
        }
        Then::Continue(until)
    };
    let next = time_of_cut(&rng, Time::ZERO, until);
    let cuts = rng.chance(0.5).then(|| Cuts { next, at_end: false, act: Box::new(act) });
    with_model(model, RunOptions { cuts, ..options }, |model, options| {
        let span = Span { save: setting.save.map(|save| save(model)), ..Span::from(options) };
        let outcome = auto::advance(model, Some(model), span, &engines, changes)?.end();
        if let (Some(save), Some((time, bytes))) = (setting.save, written.lock().expect("the run is over").take()) {
            let same = bytes == bytes_on_sequential(model, save(model), alone, None, time);
            assert!(same, "the cut at {time} is not that of `sequential`");
        }
        Ok(outcome)
    })
}

/// Returns the bytes of the cut at `time` of a run on `sequential`, from its start or from a cut.
fn bytes_on_sequential<'k>(
    model: &'k dyn AnyModel<'k>,
    save: &'k dyn AnySave<'k>,
    options: RunOptions<'k>,
    from: Option<Box<Cut<'k>>>,
    time: Time,
) -> Vec<u8> {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&bytes);
    let act = move |run: &mut AtRest<'_, '_>| {
        run.write(&mut written.lock().expect("no holder of this lock panics"));
        Then::Leave
    };
    let cuts = Some(Cuts { next: time, at_end: false, act: Box::new(act) });
    let span = Span { save: Some(save), from, ..Span::from(RunOptions { cuts, ..options }) };
    let reached = sequential::advance(model, span);
    assert!(matches!(reached, Ok(Reached::Cut(_))), "a cut that one engine reaches is reached by `sequential`");
    std::mem::take(&mut *bytes.lock().expect("no holder of this lock panics"))
}

/// Draws some cuts of a run from `begin` to `until`, of which it goes on at all but the last.
///
/// The last cut goes to `bytes`, if the model's runs can be saved.
fn cuts(rng: &Rng, begin: Time, until: Time, control: &Arc<Control>, bytes: Arc<Mutex<Vec<u8>>>) -> Cuts<'static> {
    let mut times: Vec<Time> = (0..1 + rng.below(3)).map(|_| time_of_cut(rng, begin, until)).collect();
    times.sort_unstable();
    times.dedup();
    let mut later = times.clone().into_iter().skip(1);
    let (control, asks) = (Arc::clone(control), rng.chance(0.5));
    let act = move |run: &mut AtRest<'_, '_>| {
        if run.save.is_some() {
            let mut bytes = bytes.lock().expect("no holder of this lock panics");
            bytes.clear();
            run.write(&mut bytes);
        }
        let Some(next) = later.find(|&time| time > run.time) else { return Then::Leave };
        if asks {
            control.ask_for_cut();
        }
        Then::Continue(next)
    };
    Cuts { next: times[0], at_end: false, act: Box::new(act) }
}

/// Draws the time of a cut: any time, or one at which much happens.
fn time_of_cut(rng: &Rng, begin: Time, until: Time) -> Time {
    const TICK_PS: u64 = 1000;
    let span = until.since(begin).as_ps().max(1);
    // Many models are over long before the end.
    let span = if rng.chance(0.5) { span.min(100 * TICK_PS) } else { span };
    let time = begin.as_ps() + 1 + rng.below(span);
    Time::from_ps(if rng.chance(0.7) { time.next_multiple_of(TICK_PS) } else { time })
}

fn time_warp_held_back<'k>(
    model: &'k dyn AnyRestorable<'k>,
    options: RunOptions<'k>,
    settings: &time_warp_engine::Settings,
    codec: &'k dyn AnyWire<'k>,
    seed: u64,
) -> Result<Outcome, Error> {
    time_warp_engine::run_over(model, options, settings, &|workers| {
        let partitions = u32::try_from(workers).expect("few workers");
        Arc::new(Speculative(HeldBack::new(codec, workers, partitions, seed)))
    })
}

/// Returns the view of a model whose messages can be written. A function, so that models without one have
/// tests too.
pub type WireView<M> = for<'k, 'm> fn(&'k Typed<'k, 'm, M>) -> &'k dyn AnyWire<'k>;

/// Returns the view of a model whose messages can be written.
pub fn wire_view<'k, M: WireModel>(model: &'k Typed<'k, '_, M>) -> &'k dyn AnyWire<'k> {
    model
}

/// The view of a model whose runs can be saved.
pub type SaveView<M> = for<'k, 'm> fn(&'k Typed<'k, 'm, M>) -> &'k dyn AnySave<'k>;

/// Returns the view of a model whose runs can be saved.
pub fn save_view<'k, M: SaveModel>(model: &'k Typed<'k, '_, M>) -> &'k dyn AnySave<'k> {
    model
}

/// The setting of an engine's run. It must not change the answer.
#[derive(Debug)]
pub struct Setting<M: Model> {
    /// The number of partitions.
    pub workers: usize,
    /// The seed of the engine's own choices: placement, order, delays.
    pub seed: u64,
    /// The transport between partitions.
    pub carrier: Carrier,
    /// The view of the model whose messages can be written, if they can.
    pub wire: Option<WireView<M>>,
    /// The view of the model whose runs can be saved, if they can.
    pub save: Option<SaveView<M>>,
    /// The planted fault.
    pub fault: Fault,
}

/// The part of a [`Setting`] that needs no type of model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choices {
    pub(crate) workers: usize,
    pub(crate) seed: u64,
    pub(crate) carrier: Carrier,
    pub(crate) fault: Fault,
}

impl<M: Model> Setting<M> {
    pub(crate) fn choices(&self) -> Choices {
        let Setting { workers, seed, carrier, fault, .. } = *self;
        Choices { workers, seed, carrier, fault }
    }

    /// Returns the codec of a model, if its events travel as bytes.
    pub(crate) fn codec_of<'k>(&self, model: &'k Typed<'k, '_, M>) -> Option<&'k dyn AnyWire<'k>> {
        self.wire.filter(|_| self.carrier == Carrier::Bytes).map(|wire| wire(model))
    }
}

/// A fault planted in a test engine, to show that the tests can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// `rounds`: simultaneous events are executed in the order in which they were sent.
    TieByInsertion,
    /// `window`: the bound is one picosecond too high.
    WindowTooHigh,
    /// `time_warp`: a rollback does not restore the sequence number.
    SequenceNotRestored,
    /// `time_warp`: a rollback does not renew the wakes of timers.
    WakeForgotten,
    /// `time_warp`: a failure is an error before it is committed.
    EarlyFailure,
    /// `time_warp`: GVT ignores events in transit.
    GvtIgnoresTransit,
    /// `time_warp`: global events happen without a rollback to their time.
    NoCut,
    /// `broken`: the last message in transit is lost at a cut.
    MessageForgotten,
}

impl Fault {
    /// All faults, each with the engine in which it is planted.
    pub const PLANTED: [(Fault, &'static str); 8] = [
        (Fault::TieByInsertion, "rounds-test"),
        (Fault::WindowTooHigh, "window-test"),
        (Fault::SequenceNotRestored, "time-warp-test"),
        (Fault::WakeForgotten, "time-warp-test"),
        (Fault::EarlyFailure, "time-warp-test"),
        (Fault::GvtIgnoresTransit, "time-warp-test"),
        (Fault::NoCut, "time-warp-test"),
        (Fault::MessageForgotten, "broken"),
    ];
}

/// Draws an index below `n`.
pub(crate) fn index_below(rng: &Rng, n: usize) -> usize {
    usize::try_from(rng.below(n as u64)).expect("below an index")
}
