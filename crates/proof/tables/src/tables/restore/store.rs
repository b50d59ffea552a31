//! The model that the table measures: the same handler, restored in five ways.

use parades_core::prelude::*;
use std::marker::PhantomData;

/// PHOLD whose LPs have `W` words of state beside two counters. An event changes the counters and one word,
/// drawn at random. `R` says how changes are undone. It is a type, so that a record of the log is as small as
/// each way allows.
pub(super) struct Store<R, const W: usize> {
    lps: u32,
    restored: PhantomData<fn() -> R>,
}

/// The share of events that go to another LP, as in the tables of PHOLD.
pub(super) const REMOTE: f64 = 0.5;
/// The mean of the exponential delays. The lookahead is zero.
pub(super) const MEAN_DELAY: Delay = Delay::from_secs(1);

/// The state of an LP.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub(super) struct State<const W: usize> {
    /// The number of events executed.
    pub(super) events: u64,
    /// The sum of the numbers that these events drew.
    pub(super) sum: u64,
    words: [u64; W],
}

/// Returns the index of the word that a draw picks among `words`; 0 if there are none.
#[inline]
fn picked(draw: u64, words: usize) -> usize {
    (((draw >> 32) * words as u64) >> 32) as usize
}

/// Changes a word.
#[inline]
fn turned(word: u64, draw: u64) -> u64 {
    word.rotate_left(1).wrapping_add(draw)
}

impl<const W: usize> State<W> {
    #[inline]
    fn change(&mut self, draw: u64) {
        self.events += 1;
        self.sum = self.sum.wrapping_add(draw);
        if let Some(word) = self.words.get_mut(picked(draw, W)) {
            *word = turned(*word, draw);
        }
    }

    /// Computes the state before [`State::change`].
    #[inline]
    fn change_back(&mut self, draw: u64) {
        self.events -= 1;
        self.sum = self.sum.wrapping_sub(draw);
        if let Some(word) = self.words.get_mut(picked(draw, W)) {
            *word = word.wrapping_sub(draw).rotate_right(1);
        }
    }
}

impl<const W: usize, R: Recorder<StateUndo<W>>> StateMut<'_, W, R> {
    /// Does the same as [`State::change`], and records each change.
    #[inline]
    fn change(&mut self, draw: u64) {
        *self.events() += 1;
        let sum = self.sum.wrapping_add(draw);
        *self.sum() = sum;
        if let Some(mut word) = self.words().try_at(picked(draw, W)) {
            *word = turned(*word, draw);
        }
    }
}

impl<R, const W: usize> Store<R, W> {
    pub(super) fn of(lps: u32) -> Store<R, W> {
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

/// Restored by a copy of the state.
pub(super) enum Copied {}
/// Restored by old values, in a log written by hand.
pub(super) enum Logged {}
/// Restored by old values, which the state records by itself.
pub(super) enum Generated {}
/// Restored by reverse computation.
pub(super) enum Reversed {}

impl<const W: usize> ByCopy for Store<Copied, W> {}

/// An old value.
#[derive(Debug)]
pub(super) enum Change {
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
        let picked = picked(draw, W);
        if let Some(&word) = state.words.get(picked) {
            #[expect(clippy::cast_possible_truncation, reason = "below the number of words")]
            log.push(Change::Word(picked as u32, word));
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

impl<const W: usize> ByRecord for Store<Generated, W> {
    #[inline]
    fn execute<R: Recorder<StateUndo<W>>>(
        &self,
        mut state: StateMut<'_, W, R>,
        _: Body<&()>,
        ctx: &mut Context<'_, Self>,
    ) {
        state.change(ctx.rng().next_u64());
        self.send_on(ctx);
    }
}

/// Does what `#[derive(Restorable)]` generates. The macro would do so for all ways of the model, not for one.
impl<const W: usize> Restorable for Store<Generated, W> {
    type Undo = StateUndo<W>;

    #[inline]
    fn handle_undoable(
        &self,
        state: &mut State<W>,
        event: Body<&()>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<StateUndo<W>>,
    ) {
        log.recording(|recorder| self.execute(state.view(recorder), event, ctx));
    }

    #[inline]
    fn undo(&self, state: &mut State<W>, _: Body<&()>, log: &mut UndoLog<StateUndo<W>>) {
        state.undo_all(log);
    }
}

impl<const W: usize> Restorable for Store<Reversed, W> {
    /// The number that was drawn, from which the state before is computed.
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
