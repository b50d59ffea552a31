//! The tables of a model whose type is known: [`AnyModel`] and [`Lps`].

use super::{AnyLeftover, AnyMessage, AnyModel, Lps, Visit};
use crate::capture::CapturePoint;
use crate::channel::Channels;
use crate::digest::{Digest, Payload};
use crate::effects::{Effects, HiddenEffects, OtherEffects};
use crate::error::{ErrorKind, Failure};
use crate::event::{Body, Event, Header, LpId};
use crate::global::{Acting, AnyGlobal, AnySummaries, Summaries, SummaryOf};
use crate::lp::{Execution, Lp};
use crate::metrics::Metrics;
use crate::model::{MOST_FETCHES, Model};
use crate::placement::Placement;
use crate::run::{End, RunOptions, Unfinished};
use crate::time::Time;
use crate::trace::{Note, TraceObserver, observe};
use crate::world::{Controllers, World};
use parades_raw::message::{Bound, Form, Kind, MessageRef, Packed};
use parades_raw::prefetch::Records;
use parades_raw::{huge_pages, in_form};
use std::any::Any;
use std::fmt::{self, Debug};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A model, and the kind of its messages in one run.
pub type Typed<'k, 'm, M> = Bound<'k, InRun<'m, M>, <M as Model>::Message>;

/// A model in a run.
pub struct InRun<'m, M: Model> {
    pub(super) model: &'m M,
    /// By partition: LPs that are between two lists.
    dock: Mutex<Vec<Vec<Lp<M::State>>>>,
}

impl<M: Model> Debug for InRun<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InRun").finish_non_exhaustive()
    }
}

impl<'m, M: Model> InRun<'m, M> {
    /// Returns the LPs that are between two lists, by partition.
    pub(super) fn dock(&self) -> MutexGuard<'_, Vec<Vec<Lp<M::State>>>> {
        self.dock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the model.
    pub fn model(&self) -> &'m M {
        self.model
    }

    /// Calls `act` with the state of an LP of a list that has been put down ([`Lps::put_down`]). The lists
    /// are those of the partitions of `placement`.
    pub fn look(&self, id: LpId, placement: &Placement, act: impl FnOnce(&M::State)) {
        act(self.dock()[placement.partition(id) as usize][placement.index(id)].state());
    }
}

/// Calls `run` with a model as engines see it, and with the options of the run.
pub fn with_model<'m, M: Model, R>(
    model: &'m M,
    options: RunOptions<'m>,
    run: impl for<'k> FnOnce(&'k Typed<'k, 'm, M>, RunOptions<'m>) -> R,
) -> R {
    Bound::with(InRun { model, dock: Mutex::default() }, |typed| run(typed, options))
}

/// Starts the LP `id` of a model, and lets it execute messages at the times of their events. Each execution
/// begins with `effects`. Returns the effects of each execution without its sends. For tests of models.
///
/// # Panics
///
/// If the model's declarations are wrong, or if the LP cannot start.
pub fn execute_alone<M: Model>(
    model: &M,
    id: LpId,
    events: Vec<Event<M::Message>>,
    effects: fn() -> OtherEffects,
) -> Vec<OtherEffects> {
    fn execute_in<'k, P: Packed<'k>, M: Model>(
        model: &'k Typed<'k, '_, M>,
        options: &RunOptions<'_>,
        id: LpId,
        events: Vec<Event<M::Message>>,
        others: fn() -> OtherEffects,
    ) -> Vec<OtherEffects> {
        let world = World::new(model, options).expect("the declarations are right");
        let (mut lps, mut effects) = (model.new_lps(), Effects::<P>::new());
        assert!(lps.start(id, &world, effects.hide()), "the LP starts");
        let execute = |event: Event<M::Message>| {
            effects.others = others();
            let (header, body) = event.into_parts();
            let Body::Message(message) = body else { unreachable!("messages are executed") };
            let packed: P = model.kind().pack(message);
            let execution = lps.execute(0, &header, Body::Message(packed.as_message()), &world, effects.hide());
            assert_eq!(execution, Execution::Done);
            std::mem::take(&mut effects.others)
        };
        events.into_iter().map(execute).collect()
    }
    with_model(model, RunOptions::until(Time::MAX), |typed, options| {
        in_form!(typed.form(), execute_in::<M>(typed, &options, id, events, effects))
    })
}

impl<'k, M: Model> AnyModel<'k> for Typed<'k, '_, M> {
    fn form(&self) -> Form {
        Kind::<M::Message>::FORM
    }

    fn lps(&self) -> u32 {
        self.value().model.lps()
    }

    fn channels(&self) -> Channels {
        self.value().model.channels()
    }

    fn controllers(&self) -> Controllers {
        self.value().model.controllers()
    }

    fn metrics(&self) -> Metrics {
        self.value().model.metrics()
    }

    fn globals(&self) -> Vec<(Time, AnyGlobal)> {
        self.value().model.globals().into_iter().map(|(time, global)| (time, AnyGlobal::new(global))).collect()
    }

    fn round_limit(&self) -> u32 {
        self.value().model.round_limit()
    }
    fn stays_on_threads(&self) -> bool {
        self.value().model.stays_on_threads()
    }

    fn capture_points(&self) -> Vec<CapturePoint> {
        self.value().model.capture_points()
    }

    fn lp_name(&self, lp: LpId) -> Option<String> {
        self.value().model.lp_name(lp)
    }

    fn lp_kind(&self, lp: LpId) -> String {
        self.value().model.lp_kind(lp)
    }

    fn lp_bytes(&self) -> usize {
        size_of::<Lp<M::State>>()
    }

    fn state_bytes(&self) -> usize {
        size_of::<M::State>()
    }

    fn fetch_steps(&self) -> usize {
        const { assert!(M::FETCHES <= MOST_FETCHES, "a state is fetched in more steps than engines take") };
        if self.value().model.fetches() { M::FETCHES } else { 0 }
    }

    fn new_lps(&'k self) -> Box<dyn Lps<'k> + 'k> {
        Box::new(List::new(self))
    }

    fn deal(&self, lens: &[usize], moves: &mut dyn Iterator<Item = (usize, Option<usize>)>) {
        let mut dock = self.value().dock();
        // The old memory is freed as soon as it is empty, because it is as large as the run.
        let mut from: Vec<_> = std::mem::take(&mut *dock).into_iter().map(Vec::into_iter).collect();
        for &len in lens {
            let list = Vec::with_capacity(len);
            huge_pages::ask_for(&list);
            dock.push(list);
        }
        for (old, new) in moves {
            let from = &mut from[old];
            let lp = from.next().expect("each LP is in its list");
            if let Some(new) = new {
                dock[new].push(lp);
            }
            if from.len() == 0 {
                *from = Vec::new().into_iter();
            }
        }
    }

    fn new_summaries(&self, is_whole: bool) -> AnySummaries {
        AnySummaries::new::<SummaryOf<M>>(match is_whole {
            true => Summaries::Folded(None),
            false => Summaries::Listed(Vec::new()),
        })
    }

    fn join_summaries(&self, global: &AnyGlobal, all: Vec<AnySummaries>) -> Result<AnySummaries, ErrorKind> {
        let lists = all.into_iter().map(|summaries| summaries.take::<SummaryOf<M>>().into_list()).collect();
        Summaries::join::<M>(global.get(), lists).map(AnySummaries::new)
    }

    fn act(&self, global: &AnyGlobal, summaries: AnySummaries, acting: Acting<'_, 'k>) -> Result<(), Failure> {
        let Summaries::Folded(Some(summary)) = summaries.take::<SummaryOf<M>>() else {
            unreachable!("there is at least one LP, and its visit did not fail")
        };
        acting.act(self.value().model, self.kind(), global.get(), summary)
    }

    fn trace(
        &self,
        event: &Event<MessageRef<'_, 'k>>,
        notes: &[Note],
        observer: &mut TraceObserver<'_>,
    ) -> io::Result<()> {
        let body = open(self.kind(), event.body);
        observe(self.value().model, &event.header().with(body), notes, observer)
    }

    fn pack(&self, message: Box<dyn Any + Send>) -> Option<AnyMessage<'k>> {
        Some(self.kind().pack_any(*message.downcast::<M::Message>().ok()?))
    }

    fn digest(&self, message: MessageRef<'_, 'k>) -> u64 {
        let mut digest = Digest::default();
        self.kind().open(message).fold(&mut digest);
        digest.value()
    }

    fn show(&self, message: MessageRef<'_, 'k>, act: &mut dyn FnMut(&dyn Debug)) {
        act(self.kind().open(message));
    }

    fn splits_unfinished(&self) -> bool {
        self.value().model.splits_unfinished()
    }

    fn unfinished(&self, pending: AnyLeftover<'k>, metrics: &mut Metrics) {
        let kind = self.kind();
        let messages = pending.map(move |event| {
            let (header, body) = event.into_parts();
            header.with(body.map(|message| kind.unpack_any(message)))
        });
        noting_panics(metrics, |metrics| self.value().model.unfinished(Unfinished(Box::new(messages)), metrics));
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        let mut concluded = Ok(());
        noting_panics(metrics, |metrics| concluded = self.value().model.conclude(end, metrics));
        concluded
    }
}

/// Lets the model make results. A panic becomes the error of the run ([`Metrics::check`]), as it does in a
/// handler.
pub(super) fn noting_panics(metrics: &mut Metrics, act: impl FnOnce(&mut Metrics)) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| act(metrics))) {
        metrics.note_panic(panic.as_ref());
    }
}

/// Returns a body with the message of the model.
#[inline(always)]
pub(super) fn open<'a, 'k, T: Send + 'static>(kind: Kind<'k, T>, body: Body<MessageRef<'a, 'k>>) -> Body<&'a T> {
    body.map(|message| kind.open(message))
}

/// A list of LPs of a model.
pub(super) struct List<'k, 'm, M: Model> {
    pub(super) of: &'k Typed<'k, 'm, M>,
    pub(super) lps: Vec<Lp<M::State>>,
}

impl<M: Model> Debug for List<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} LPs", self.lps.len())
    }
}

impl<'k, 'm, M: Model> List<'k, 'm, M> {
    pub(super) fn new(of: &'k Typed<'k, 'm, M>) -> List<'k, 'm, M> {
        List { of, lps: Vec::new() }
    }
}

impl<'k, M: Model> Lps<'k> for List<'k, '_, M> {
    fn len(&self) -> usize {
        self.lps.len()
    }

    fn reserve(&mut self, lps: usize) {
        self.lps.reserve_exact(lps);
        huge_pages::ask_for(&self.lps);
    }

    fn start(&mut self, id: LpId, world: &World, effects: HiddenEffects<'_, 'k>) -> bool {
        let HiddenEffects { outbox, others } = effects;
        let lp = Lp::start(self.of.value().model, world, id, self.of.kind().view(outbox), others);
        let has_started = lp.is_some();
        self.lps.extend(lp);
        has_started
    }

    // Not inlined: the lists that add functions to this one call it, and need no second copy of its code.
    #[inline(never)]
    fn execute(
        &mut self,
        index: usize,
        header: &Header,
        body: Body<MessageRef<'_, 'k>>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
    ) -> Execution {
        let HiddenEffects { outbox, others } = effects;
        let kind = self.of.kind();
        self.lps[index].execute(self.of.value().model, world, header, open(kind, body), kind.view(outbox), others)
    }

    fn records(&self) -> Records {
        Records::of(&self.lps)
    }

    fn fetch(&self, index: usize, step: usize) {
        self.of.value().model.fetch(self.lps[index].state(), step);
    }

    fn sequence(&self, index: usize) -> u64 {
        self.lps[index].sequence()
    }

    fn visit(
        &mut self,
        index: usize,
        visit: &Visit<'_>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
        summaries: &mut AnySummaries,
    ) -> Result<(), ErrorKind> {
        let HiddenEffects { outbox, others } = effects;
        let global: &M::Global = visit.global.get();
        let model = self.of.value().model;
        let sends = self.of.kind().view(outbox);
        match self.lps[index].visit(model, world, visit.id, visit.time, global, sends, others) {
            Some(summary) if others.failure.is_none() => {
                summaries.get_mut::<SummaryOf<M>>().add::<M>(global, visit.id, summary)
            }
            _ => Ok(()),
        }
    }

    fn finish(&self, index: usize, id: LpId, end: &End, metrics: &mut Metrics) {
        noting_panics(metrics, |metrics| self.of.value().model.finish(id, self.lps[index].state(), end, metrics));
    }

    fn final_digest(&self, index: usize) -> u64 {
        self.lps[index].final_digest(self.of.value().model)
    }

    fn put_down(&mut self, number: usize) {
        let mut dock = self.of.value().dock();
        if dock.len() <= number {
            dock.resize_with(number + 1, Vec::new);
        }
        dock[number] = std::mem::take(&mut self.lps);
    }

    fn pick_up(&mut self, number: usize) {
        let mut dock = self.of.value().dock();
        self.lps = dock.get_mut(number).map(std::mem::take).unwrap_or_default();
    }

    fn clear(&mut self) {
        self.lps = Vec::new();
    }

    #[cfg(feature = "test-hooks")]
    fn skip_sequence(&mut self, index: usize) {
        self.lps[index].skip_sequence();
    }

    fn renew_wakes(&mut self, index: usize, id: LpId, world: &World, effects: HiddenEffects<'_, 'k>) {
        self.lps[index].renew_wakes(world, id, self.of.kind().view(effects.outbox));
    }
}
