//! `bench restore`: state restored by copy, by undo log and by reverse handler, for small and for large
//! state.
//!
//! All sides run the same model, and so does `sequential`; all must have the same digest.

use super::phold::{stat, until};
use crate::record::Figure;
use crate::sides::{Ran, Rates, SetUp, Side, Spread, cores, in_turn};
use crate::{Measured, Options};
use comfy_table::{CellAlignment, Table};
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::retreat::Retreats;
use parades_engine::sequential;
use parades_engine::time_warp::{self, Ahead, Settings};
use parades_report::drawing::table;
use parades_session::Failure;
use std::cell::RefCell;
use std::marker::PhantomData;

/// PHOLD whose logical processes have `W` words beside two counters. An event changes the counters and one
/// word, drawn at random. `R` is the way in which that is undone. It is a type, so that a record of the log
/// is as small as the way allows.
struct Store<R, const W: usize> {
    lps: u32,
    restored: PhantomData<fn() -> R>,
}

/// The share of events that go elsewhere, as in PHOLD's tables.
const REMOTE: f64 = 0.5;
/// The mean of the delays, which have no lower bound.
const MEAN_DELAY: Delay = Delay::from_secs(1);

/// The state of a logical process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State<const W: usize> {
    /// The number of executed events.
    events: u64,
    /// The sum of the numbers that they drew.
    sum: u64,
    words: [u64; W],
}

impl<const W: usize> State<W> {
    /// Returns the place of the word that a draw picks, and the word; `None` where there are no words.
    #[inline]
    fn word(&mut self, draw: u64) -> Option<(u32, &mut u64)> {
        let place = (((draw >> 32) * W as u64) >> 32) as u32;
        self.words.get_mut(place as usize).map(|word| (place, word))
    }

    #[inline]
    fn change(&mut self, draw: u64) {
        self.events += 1;
        self.sum = self.sum.wrapping_add(draw);
        if let Some((_, word)) = self.word(draw) {
            *word = word.rotate_left(1).wrapping_add(draw);
        }
    }

    #[inline]
    fn change_back(&mut self, draw: u64) {
        self.events -= 1;
        self.sum = self.sum.wrapping_sub(draw);
        if let Some((_, word)) = self.word(draw) {
            *word = word.wrapping_sub(draw).rotate_right(1);
        }
    }
}

impl<R, const W: usize> Store<R, W> {
    fn of(lps: u32) -> Store<R, W> {
        Store { lps, restored: PhantomData }
    }

    /// Sends one event on.
    #[inline]
    fn send_on(&self, ctx: &mut Context<'_, Self>) {
        let delay = ctx.rng().exponential_delay(MEAN_DELAY);
        if ctx.rng().chance(REMOTE) {
            #[expect(clippy::cast_possible_truncation, reason = "below `lps`, which is a u32")]
            let receiver = LpId(ctx.rng().below(u64::from(self.lps)) as u32);
            ctx.send_to(receiver, delay, ());
        } else {
            ctx.send_self(delay, ());
        }
    }
}

impl<R, const W: usize> Model for Store<R, W> {
    type State = State<W>;
    type Message = ();
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        self.lps
    }

    fn channels(&self) -> Channels {
        Channels::whole(Delay::ZERO)
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> State<W> {
        let delay = ctx.rng().exponential_delay(MEAN_DELAY);
        ctx.send_self(delay, ());
        State { events: 0, sum: 0, words: [0; W] }
    }

    #[inline]
    fn handle(&self, state: &mut State<W>, _: Body<&()>, ctx: &mut Context<'_, Self>) {
        state.change(ctx.rng().next_u64());
        self.send_on(ctx);
    }

    fn fold(&self, state: &State<W>, digest: &mut Digest) {
        digest.word(state.events);
        digest.word(state.sum);
        state.words.iter().for_each(|&word| digest.word(word));
    }
}

/// The state is restored from a copy.
enum Copied {}
/// The state is restored from the old values of what changed.
enum Logged {}
/// The old state is computed from the new one.
enum Reversed {}

impl<const W: usize> ByCopy for Store<Copied, W> {}

/// The old value of a part of the state.
#[derive(Debug)]
enum Change {
    Events(u64),
    Sum(u64),
    Word(u32, u64),
}

impl<const W: usize> Restorable for Store<Logged, W> {
    type Undo = Change;

    #[inline]
    fn handle_undoable(
        &self,
        state: &mut State<W>,
        _: Body<&()>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<Change>,
    ) {
        let draw = ctx.rng().next_u64();
        log.push(Change::Events(state.events));
        log.push(Change::Sum(state.sum));
        if let Some((place, word)) = state.word(draw) {
            log.push(Change::Word(place, *word));
        }
        state.change(draw);
        self.send_on(ctx);
    }

    #[inline]
    fn undo(&self, state: &mut State<W>, _: Body<&()>, log: &mut UndoLog<Change>) {
        while let Some(change) = log.pop() {
            match change {
                Change::Events(before) => state.events = before,
                Change::Sum(before) => state.sum = before,
                Change::Word(place, before) => state.words[place as usize] = before,
            }
        }
    }
}

impl<const W: usize> Restorable for Store<Reversed, W> {
    /// The number that was drawn: the rest is computed.
    type Undo = u64;

    #[inline]
    fn handle_undoable(&self, state: &mut State<W>, _: Body<&()>, ctx: &mut Context<'_, Self>, log: &mut UndoLog<u64>) {
        let draw = ctx.rng().next_u64();
        log.push(draw);
        state.change(draw);
        self.send_on(ctx);
    }

    #[inline]
    fn undo(&self, state: &mut State<W>, _: Body<&()>, log: &mut UndoLog<u64>) {
        state.change_back(log.pop().expect("the handler left what it drew"));
    }
}

/// A way to restore state of some size.
struct Way {
    name: &'static str,
    /// The bytes of an execution's records in the log.
    record_bytes: usize,
    /// The number of executions of a logical process for each one that leaves records.
    copy_every: u16,
    run: fn(lps: u32, until: Time, settings: &Settings) -> Result<Outcome, Error>,
}

const fn way<R, const W: usize>(name: &'static str, records: usize) -> Way
where
    Store<R, W>: Restorable,
{
    Way {
        name,
        record_bytes: records * size_of::<Option<<Store<R, W> as Restorable>::Undo>>(),
        copy_every: 1,
        run: |lps, until, settings| time_warp::run(&Store::<R, W>::of(lps), RunOptions::until(until), settings),
    }
}

/// The number of executions of a logical process for one copy, where not every execution leaves one.
const COPY_EVERY: u16 = 8;

/// A group of rows of the table.
struct Size {
    state_bytes: usize,
    lps: u32,
    /// Runs `sequential`, which never restores.
    sequential: fn(lps: u32, until: Time) -> Result<Outcome, Error>,
    ways: [Way; 4],
}

/// The place of copies among the ways.
const COPY: usize = 0;

const fn size<const W: usize>(lps: u32) -> Size {
    let changes = if W == 0 { 2 } else { 3 };
    Size {
        state_bytes: size_of::<State<W>>(),
        lps,
        sequential: |lps, until| sequential::run(&Store::<Copied, W>::of(lps), RunOptions::until(until)),
        ways: [
            way::<Copied, W>("copy", 1),
            Way { copy_every: COPY_EVERY, ..way::<Copied, W>("copy, each 8th", 1) },
            way::<Logged, W>("undo log", changes),
            way::<Reversed, W>("reverse handler", 1),
        ],
    }
}

const SIZES: [Size; 3] = [size::<0>(MANY), size::<512>(MANY), size::<512>(FEW)];

/// A number of logical processes at which the records of large states do not fit the caches of a core, and at
/// which few processes execute twice before they commit.
const MANY: u32 = 4_096;
/// A number of logical processes at which most execute several times before they commit.
const FEW: u32 = 64;
/// The number of events of a run, about.
const EVENTS: u64 = 4_000_000;

impl Size {
    /// Returns the virtual seconds of a run: a logical process executes about one event in each second.
    fn seconds(&self) -> u64 {
        EVENTS / u64::from(self.lps)
    }
}

/// A way to run `time-warp`.
struct Mode {
    name: &'static str,
    threads: usize,
    /// True if workers fall behind now and then, so that more is rolled back.
    stalls: bool,
}

const MODES: [Mode; 3] = [
    Mode { name: "time-warp, 1 thread", threads: 1, stalls: false },
    Mode { name: "time-warp, 2 threads", threads: 2, stalls: false },
    Mode { name: "time-warp, 2 threads, stalls", threads: 2, stalls: true },
];

/// The optimism of workers that stall, in events. It is fixed, so that it is the same in all ways although it
/// does not pay.
const AHEAD: u32 = 1_024;

impl Mode {
    fn settings(&self) -> Settings {
        // A single worker rolls nothing back, so no worker goes on alone.
        let settings = Settings { retreats: Retreats::Never, ..Settings::of_threads(self.threads) };
        if self.stalls {
            return Settings { ahead: Ahead::Events(AHEAD), stalls: Some(1), ..settings };
        }
        settings
    }
}

/// Returns the modes for which the machine has enough cores.
fn modes() -> impl Iterator<Item = &'static Mode> {
    MODES.iter().filter(|mode| mode.threads as u64 <= cores())
}

/// Engine statistics, run by run.
#[derive(Default)]
struct Statistics {
    /// Rollbacks per committed event.
    rollbacks: Vec<f64>,
    /// Events executed again from a copy, per committed event.
    coasted: Vec<f64>,
    /// The share of executions that were committed.
    efficiency: Vec<f64>,
    /// The greatest number of executions in a worker's history.
    history: Vec<f64>,
    /// The greatest memory of pending events and, where there is one, of the history: none is given back in
    /// these runs.
    bytes: Vec<f64>,
}

impl Statistics {
    fn add(&mut self, outcome: &Outcome) {
        self.rollbacks.push(stat(outcome, "rollbacks") / outcome.events as f64);
        self.coasted.push(stat(outcome, "coasted") / outcome.events as f64);
        self.efficiency.push(stat(outcome, "efficiency"));
        self.history.push(stat(outcome, "history_max"));
        self.bytes.push(stat(outcome, "pending_bytes"));
    }
}

/// Returns a side that runs for a number of virtual seconds. Set-up does not count: its time is that of a run
/// of no virtual time.
fn side<'a>(
    statistics: &'a RefCell<Statistics>,
    seconds: u64,
    run: impl Fn(Time) -> Result<Outcome, Error> + 'a,
) -> Side<'a> {
    let mut set_up = SetUp::default();
    Box::new(move || {
        let set_up = set_up.seconds(|| Ok(Ran::engine(|| run(Time::from_ps(1)))?.0))?;
        let (ran, outcome) = Ran::engine(|| run(until(seconds)))?;
        statistics.borrow_mut().add(&outcome);
        Ok(Ran { seconds: ran.seconds - set_up, ..ran })
    })
}

/// The measurements at one size: `sequential` first, then each mode in each way.
struct Found {
    rates: Rates,
    statistics: Vec<Statistics>,
}

fn find(size: &Size, pairs: u32) -> Result<Found, Failure> {
    let (run, lps, seconds) = (size.sequential, size.lps, size.seconds());
    let statistics: Vec<RefCell<Statistics>> =
        (0..=modes().count() * size.ways.len()).map(|_| RefCell::default()).collect();
    let mut sides = vec![side(&statistics[0], seconds, move |until| run(lps, until))];
    let each = modes().flat_map(|mode| {
        let settings = move |way: &Way| Settings { copy_every: Some(way.copy_every), ..mode.settings() };
        size.ways.iter().map(move |way| (settings(way), way.run))
    });
    sides.extend(
        each.zip(&statistics[1..])
            .map(|((settings, run), statistics)| side(statistics, seconds, move |until| run(lps, until, &settings))),
    );
    let rates = in_turn(&format!("ways to restore state of {} B, {lps} LPs", size.state_bytes), pairs, &mut sides)?;
    drop(sides);
    Ok(Found { rates, statistics: statistics.into_iter().map(RefCell::into_inner).collect() })
}

const HEADINGS: [&str; 13] = [
    "state",
    "LPs",
    "engine",
    "restored by",
    "bytes of records of\none that leaves any",
    "ns an\nevent",
    "ratio to\nsequential",
    "ratio to\ncopy",
    "rollbacks per\n1,000 events",
    "executed anew per\n1,000 events",
    "efficiency",
    "history\nat most",
    "MB waiting\nand history",
];

/// The columns that hold words.
const WORDS: [usize; 2] = [2, 3];

fn draw(drawn: &mut Table, figures: &mut Vec<Figure>, size: &Size, Found { rates, statistics }: &Found) {
    let (state, lps) = (format!("{} B", size.state_bytes), size.lps.to_string());
    let median = |values: &[f64]| Spread::of(values).median;
    let ns = |side: usize| format!("{:.1}", 1e9 / rates.of(side).median);
    let mb = |side: usize| format!("{:.2}", median(&statistics[side].bytes) / 1e6);
    let none = String::new;
    drawn.add_row([
        state.clone(),
        lps.clone(),
        "sequential".into(),
        none(),
        none(),
        ns(0),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        mb(0),
    ]);
    for (index, mode) in modes().enumerate() {
        let first = 1 + index * size.ways.len();
        for (way, side) in size.ways.iter().zip(first..) {
            let mut figure = |what: &str, spread: Spread| {
                figures.push(Figure {
                    name: format!("{state}, {lps} LPs, {}, {}, {what}", mode.name, way.name),
                    spread: spread.clone(),
                });
                spread
            };
            let Statistics { rollbacks, coasted, efficiency, history, .. } = &statistics[side];
            let to_sequential = figure("ratio to sequential", rates.ratio(side, 0)).show(2);
            let to_copy = if side == first + COPY {
                none()
            } else {
                figure("ratio to copy", rates.ratio(side, first + COPY)).show(2)
            };
            drawn.add_row([
                none(),
                none(),
                if side == first { mode.name.to_owned() } else { none() },
                way.name.to_owned(),
                way.record_bytes.to_string(),
                ns(side),
                to_sequential,
                to_copy,
                format!("{:.1}", 1e3 * median(rollbacks)),
                format!("{:.1}", 1e3 * median(coasted)),
                format!("{:.3}", figure("efficiency", Spread::of(efficiency)).median),
                format!("{:.0}", median(history)),
                mb(side),
            ]);
        }
    }
}

pub(super) fn measure(&Options { pairs, .. }: &Options) -> Result<Measured, Failure> {
    let (mut drawn, mut figures) = (table(&HEADINGS), Vec::new());
    for column in WORDS {
        if let Some(words) = drawn.column_mut(column) {
            words.set_cell_alignment(CellAlignment::Left);
        }
    }
    for size in &SIZES {
        let found = find(size, pairs)?;
        draw(&mut drawn, &mut figures, size, &found);
    }
    let mut text = format!(
        "LPs of two counters and 0 or 512 words, of which each event changes the counters and one word; remote {REMOTE}, lookahead 0,\n\
         mean delay {MEAN_DELAY}; digest on, every digest the same. No side's set-up counts\n{drawn}\n\
         ratio: of events per second. stalls: workers fall behind now and then, and go about {AHEAD} events ahead whatever that costs. With two\n\
         threads none goes on alone. efficiency: of what was executed, the share that was kept; history: executions in that of a worker, at most\n"
    );
    if modes().count() < MODES.len() {
        text.push_str("one core is available: nothing was measured with two threads\n");
    }
    Ok(Measured { text, figures })
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::error::ErrorKind;
    use parades_engine::rollback_check;

    fn options() -> RunOptions<'static> {
        RunOptions::until(until(100))
    }

    /// Returns settings with few workers, far ahead of each other.
    fn settings() -> impl Iterator<Item = Settings> {
        [(2, Ahead::Unbounded), (3, Ahead::Events(50))].into_iter().zip(7..).map(|((threads, ahead), seed)| Settings {
            ahead,
            stalls: Some(seed),
            retreats: Retreats::Never,
            ..Settings::of_threads(threads)
        })
    }

    /// Runs a way of a size and checks it against `sequential`. Returns the digest, the number of executions
    /// rolled back, and the number of executions repeated from a copy.
    fn checked<R, const W: usize>() -> (u64, [f64; 2])
    where
        Store<R, W>: Restorable<State = State<W>>,
    {
        let model = Store::<R, W>::of(FEW);
        let expected = sequential::run(&model, options()).expect("nothing can fail");
        assert!(expected.events > 5_000, "a run of {} events checks little", expected.events);
        let same = |found: Outcome| {
            assert_eq!((expected.events, expected.digest), (found.events, found.digest), "{W} words");
            found
        };
        same(rollback_check::run(&model, options()).expect("all is restored"));
        let counts = settings().map(|settings| {
            let found = same(time_warp::run(&model, options(), &settings).expect("nothing can fail"));
            ["undone", "coasted"].map(|name| stat(&found, name))
        });
        let counts = counts.fold([0.0, 0.0], |[undone, coasted], [more, anew]| [undone + more, coasted + anew]);
        (expected.digest.expect("it is on"), counts)
    }

    #[test]
    fn each_way_restores_each_size() {
        let mut undone = [0.0; 3];
        let mut coasts = |ways: [(u64, [f64; 2]); 3]| {
            assert!(ways.iter().all(|(digest, _)| *digest == ways[0].0));
            undone.iter_mut().zip(ways).for_each(|(all, (_, [more, _]))| *all += more);
            ways.map(|(_, [_, coasted])| coasted > 0.0)
        };
        let small = coasts([checked::<Copied, 0>(), checked::<Logged, 0>(), checked::<Reversed, 0>()]);
        let large = coasts([checked::<Copied, 512>(), checked::<Logged, 512>(), checked::<Reversed, 512>()]);
        assert_eq!((small, large), ([false; 3], [true, false, false]), "copies of large states alone are left out");
        assert!(undone.iter().all(|&undone| undone > 0.0), "a way that took nothing back was not checked: {undone:?}");
    }

    /// A way that restores the counters and forgets the word.
    enum Forgetful {}

    impl<const W: usize> Restorable for Store<Forgetful, W> {
        type Undo = [u64; 2];

        fn handle_undoable(
            &self,
            state: &mut State<W>,
            event: Body<&()>,
            ctx: &mut Context<'_, Self>,
            log: &mut UndoLog<[u64; 2]>,
        ) {
            log.push([state.events, state.sum]);
            self.handle(state, event, ctx);
        }

        fn undo(&self, state: &mut State<W>, _: Body<&()>, log: &mut UndoLog<[u64; 2]>) {
            [state.events, state.sum] = log.pop().expect("the handler left it");
        }
    }

    #[test]
    fn a_word_that_is_not_put_back_is_noticed() {
        let model = Store::<Forgetful, 512>::of(FEW);
        let error = rollback_check::run(&model, options()).expect_err("a word is left");
        assert!(matches!(error.kind(), ErrorKind::NotRestored(_)), "{error}");
        let expected = sequential::run(&model, options()).expect("nothing can fail").digest;
        for settings in settings() {
            let found = time_warp::run(&model, options(), &settings).expect("nothing can fail");
            assert_eq!(found.digest == expected, stat(&found, "undone") < 1.0, "{settings:?}");
        }
    }

    #[test]
    fn records_are_as_small_as_each_way_allows() {
        let bytes = SIZES.map(|size| (size.state_bytes, size.ways.map(|way| way.record_bytes)));
        let (small, large) = ((16, [24, 24, 32, 16]), (4_112, [4_120, 4_120, 48, 16]));
        assert_eq!(bytes, [small, large, large]);
    }
}
