//! The course of a run: its progress, everything that happens beside the events, and its end.
//!
//! One thread directs it: the only thread, or the leader of several.

use crate::grace::Grace;
use crate::ledger::{self, EarliestFailure, Ledger, Trace};
use crate::peers::{Peers, Results};
use crate::stopwatch::now;
use parades_core::any_model::{AnyEvent, AnyLeftover, AnyModel, AnySave, Lps, MessageRef, Packed, body_ref, hide_body};
use parades_core::bytes;
use parades_core::cut::{AtRest, Cut, Reached, Resting, Span, Then, Umpire, messages};
use parades_core::effects::{AnyEffects, OtherEffects};
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Event, EventKey, LpId};
use parades_core::global::{AllLps, GlobalQueue};
use parades_core::metrics::Metrics;
use parades_core::run::{Control, End, Finished, Outcome, Phase, RunOptions, conclude, count_unfinished, finish};
use parades_core::time::{Delay, Time};
use parades_core::trace::Note;
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::Timekeeper;
use std::sync::Arc;

/// Events between two polls. A poll reports progress, checks for a request to stop, and checks the memory.
const EVENTS_PER_POLL: u64 = 1 << 12;

/// The share of the memory limit that a run may need if it changes the engine: at the cut, LPs and events may
/// be there twice.
const CHANGES_BELOW: u64 = 4;

/// Figures of an engine about its own work, each with its name.
type Statistics = Vec<(&'static str, f64)>;

/// The progress of a run, and its results so far.
pub(crate) struct Course<'k> {
    pub(crate) model: &'k dyn AnyModel<'k>,
    pub(crate) save: Option<&'k dyn AnySave<'k>>,
    pub(crate) options: RunOptions<'k>,
    pub(crate) globals: GlobalQueue,
    /// Metrics of all LPs; or of global events alone, if the engine keeps those of the LPs elsewhere.
    pub(crate) metrics: Metrics,
    /// The number of events committed.
    pub(crate) events: u64,
    /// The number of events that have entered from outside.
    injected: u64,
    /// The number of events that were committed before this span of the run.
    events_before: u64,
    /// Events before this time may be executed. With several workers, they have been executed once the
    /// workers are at a cut.
    pub(crate) bound: Time,
    /// The end of the run. A run that is stopped by hand ends earlier than its options say.
    pub(crate) until: Time,
    /// The time of the next cut that the options ask for.
    next_cut: Time,
    /// The earliest time of a further cut: global events before it may have been executed.
    earliest_cut: Time,
    /// True once the run has ended at a cut, from which another one goes on.
    pub(crate) has_left: bool,
    umpire: Option<Box<dyn Umpire>>,
    /// The time of the next cut for a change of engine.
    change_at: Time,
    /// True if the umpire wants a change.
    wants_change: bool,
    /// The cut from which the run has gone on, if it has.
    pub(crate) begun_at: Option<Time>,
    /// The bytes that LPs and pending events took when they were last counted. [`u64::MAX`] before that, so that
    /// no engine is changed by a guess.
    bytes_needed: u64,
    /// The time that is left since the user has stopped the run.
    pub(crate) grace: Arc<Grace<'k>>,
    /// The earliest failure that workers have reported.
    pub(crate) failure: EarliestFailure,
    /// The bytes of payloads that this process had copied to or from other processes before the run.
    copied_before: u64,
    pub(crate) timekeeper: Timekeeper,
}

/// All LPs of a run at a cut, with their pending events. No LP is being executed.
pub(crate) trait Quiescent<'k>: Resting<'k> {
    /// Returns the time of the next pending event, on any rank. Sets `stopped` if it is set on any rank.
    fn next_time(&mut self, stopped: &mut bool) -> Time;
    /// Returns the LPs, for global events that record in `metrics`.
    fn lps<'b>(&'b mut self, metrics: &'b mut Metrics) -> impl AllLps<'k> + 'b;
}

/// Returns the smallest time above `time`.
pub(crate) fn just_after(time: Time) -> Time {
    time.checked_add(Delay::from_ps(1)).unwrap_or(Time::MAX)
}

impl<'k> Course<'k> {
    /// Begins a run, or goes on from a cut, whose global events and metrics move to the course. Returns the
    /// rest of the cut.
    pub(crate) fn new(model: &'k dyn AnyModel<'k>, span: Span<'k>) -> (Course<'k>, Option<Box<Cut<'k>>>) {
        let Span { options, mut from, save, mut umpire } = span;
        let begun_at = from.as_ref().map(|cut| cut.time);
        let injected = from.as_ref().map_or(0, |cut| cut.injected);
        let (globals, metrics, events, bound) = match from.as_deref_mut() {
            None => (GlobalQueue::new(model), model.metrics(), 0, Time::ZERO),
            Some(cut) => {
                let Cut { globals, metrics, events, time, .. } = cut;
                (std::mem::take(globals), std::mem::take(metrics), *events, *time)
            }
        };
        let course = Course {
            model,
            save,
            change_at: umpire.as_mut().map_or(Time::MAX, |umpire| umpire.next_change(bound)),
            umpire,
            wants_change: false,
            begun_at,
            bytes_needed: u64::MAX,
            globals,
            metrics,
            events,
            injected,
            events_before: events,
            bound,
            until: options.until,
            next_cut: options.cuts.as_ref().map_or(Time::MAX, |cuts| cuts.next),
            earliest_cut: Time::ZERO,
            has_left: false,
            grace: Arc::new(Grace::of(options.control)),
            failure: EarliestFailure::default(),
            copied_before: bytes::copied(),
            timekeeper: Timekeeper::of(options.timesheets.clone()),
            options,
        };
        (course, from)
    }

    /// Returns the horizon: the time of the next global event or cut, or the end of the run.
    pub(crate) fn horizon(&self) -> Time {
        self.globals.next_time().unwrap_or(Time::MAX).min(self.until).min(self.cut_at())
    }

    /// Returns the time of the next cut that is known.
    fn cut_at(&self) -> Time {
        self.next_cut.min(self.change_at)
    }

    /// Comes to a cut at the bound, if one is due there. The global events of that time are executed next,
    /// unless the span ends.
    pub(crate) fn reach_cut(&mut self, world: &World, resting: &mut dyn Resting<'k>) {
        self.earliest_cut = just_after(self.bound);
        self.call_at_cut(world, resting);
        if self.bound >= self.change_at {
            self.change_engine();
        }
    }

    /// Ends the span at the bound, so that another engine goes on, if that is possible.
    #[cold]
    fn change_engine(&mut self) {
        let begins_here = self.begun_at.is_some_and(|begun| begun >= self.bound);
        let ends_here = self.has_left || self.is_over() || self.globals.stops_at(self.bound);
        let may_change = self.may_change() && !begins_here && !ends_here;
        let Some(umpire) = &mut self.umpire else { return };
        self.wants_change = false;
        if may_change {
            self.change_at = Time::MAX;
            umpire.leaves(self.bound, self.events);
            self.has_left = true;
        } else {
            self.change_at = umpire.next_change(self.bound);
        }
    }

    /// Returns true if another engine may go on.
    pub(crate) fn has_umpire(&self) -> bool {
        self.umpire.is_some()
    }

    /// Returns true if the engine can be changed: the run goes on, its states may move to other threads, and
    /// there is memory enough. An engine on trial can be changed even then: it may be what needs the memory.
    fn may_change(&self) -> bool {
        let is_on_trial = || self.umpire.as_ref().is_some_and(|umpire| umpire.is_on_trial());
        let has_room = self.options.memory_limit.is_none_or(|limit| self.bytes_needed <= limit / CHANGES_BELOW);
        let fits = has_room || is_on_trial();
        fits && !self.model.stays_on_threads() && !self.is_stopped() && self.failure.place().is_none()
    }

    /// Calls the function of the options, if a cut is due at the bound.
    fn call_at_cut(&mut self, world: &World, resting: &mut dyn Resting<'k>) {
        let Some(cuts) = &mut self.options.cuts else { return };
        let ends = cuts.at_end && (self.bound >= self.until || self.globals.stops_at(self.bound));
        if self.bound < self.next_cut && !ends {
            return;
        }
        cuts.at_end &= !ends;
        if let Some(control) = self.options.control {
            control.is_at_cut();
        }
        if let Some(umpire) = &mut self.umpire {
            umpire.rests(self.events);
        }
        let mut at_rest = AtRest {
            time: self.bound,
            events: self.events,
            injected: &mut self.injected,
            model: self.model,
            globals: &self.globals,
            world,
            save: self.save,
            metrics: &self.metrics,
            resting,
        };
        match cuts.act.act(&mut at_rest) {
            Then::Continue(next) => {
                assert!(next > self.bound, "the next cut is at {next}, and the run is at {}", self.bound);
                (self.next_cut, cuts.next) = (next, next);
            }
            Then::Leave => {
                assert!(at_rest.ranks() == 1, "a run of several ranks is not left at a cut");
                self.has_left = true;
            }
            Then::End => (self.until, self.options.until) = (self.bound, self.bound),
        }
        self.go_on();
    }

    /// Tells the umpire that events are executed from now on.
    fn go_on(&mut self) {
        if let Some(umpire) = &mut self.umpire {
            umpire.goes_on(self.events);
        }
    }

    /// True if the user has asked for a cut.
    fn user_wants_cut(&self) -> bool {
        self.options.cuts.is_some() && self.options.control.is_some_and(Control::wants_cut)
    }

    /// True if the user or the umpire has asked for a cut. A run that fails comes to no further cuts.
    pub(crate) fn wants_cut(&self) -> bool {
        (self.wants_change || self.user_wants_cut()) && self.failure.place().is_none()
    }

    /// True if a cut is asked for, and workers who come to rest at the bound make it possible.
    pub(crate) fn wants_rest(&self) -> bool {
        self.cut_at() > self.bound.max(self.earliest_cut) && self.wants_cut()
    }

    /// Brings the run to the cut that is asked for, on this rank or on another, at `time` if no other comes
    /// earlier. No event at `time` or after it has been executed.
    pub(crate) fn come_to_cut(&mut self, time: Time) {
        let time = time.max(self.earliest_cut);
        if self.wants_change {
            self.change_at = self.change_at.min(time);
        }
        if !self.wants_change || self.user_wants_cut() {
            self.next_cut = self.next_cut.min(time);
        }
    }

    /// Asks the umpire about a run at `time`, of `events` events so far. `is_busy` is called if there is an
    /// umpire; [`Umpire::wants_change`] says what it returns.
    #[inline]
    fn ask_umpire(&mut self, events: u64, time: Time, is_busy: impl FnOnce() -> bool) {
        let may_change = self.umpire.is_some() && self.may_change();
        if let (Some(umpire), true) = (&mut self.umpire, may_change) {
            self.wants_change = umpire.wants_change(events, time, is_busy());
        }
    }

    /// Publishes the progress of several workers, and asks the umpire. They are at `time`, and have executed
    /// `here` events in this span. Returns true if the user has stopped the run.
    pub(crate) fn note_progress(&mut self, time: Time, here: u64, is_busy: impl FnOnce() -> bool) -> bool {
        self.ask_umpire(self.events_before + here, time, is_busy);
        self.publish_progress(time, here)
    }

    /// Publishes the progress of several workers. Otherwise as [`Course::note_progress`].
    pub(crate) fn publish_progress(&self, time: Time, here: u64) -> bool {
        self.options.control.is_some_and(|control| control.poll(time, self.events_before + here))
    }

    /// Ends this span at a cut. All LPs are in one list, and all metrics have come to the course.
    pub(crate) fn leave(self, world: &World, lps: Box<dyn Lps<'k> + 'k>, pending: AnyLeftover<'k>) -> Reached<'k> {
        let Course { options, save, umpire, globals, metrics, events, injected, bound: time, .. } = self;
        let (channels, messages) = (world.channels().clone(), messages(pending));
        let cut = Cut { time, events, injected, globals, channels, metrics, lps, messages };
        Reached::Cut(Span { options, from: Some(Box::new(cut)), save, umpire })
    }

    /// Raises the bound to the horizon: from now on, events before it may be executed.
    pub(crate) fn advance_to_horizon(&mut self) {
        self.enter(Phase::Executing);
        self.go_on();
        self.bound = self.horizon();
    }

    /// Sets the number of events committed, of which this span of the run has committed `here`.
    pub(crate) fn set_events(&mut self, here: u64) {
        self.events = self.events_before + here;
    }

    /// Says that a phase begins.
    fn enter(&self, phase: Phase) {
        // The timesheets are within the phase as others see it: they begin after it, and end before the next.
        let sheets = || self.options.timesheets.iter().for_each(|sheets| sheets.enter(phase, now()));
        if phase == Phase::Concluding {
            sheets();
        }
        if let Some(control) = self.options.control {
            control.enter(phase);
        }
        if phase == Phase::Executing {
            sheets();
        }
    }

    /// Returns true if the run is over after everything before the bound and the global events at the bound.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over_at(self.bound)
    }

    fn is_over_at(&self, time: Time) -> bool {
        time >= self.until || self.globals.is_stopped()
    }

    /// Returns true if executions must be traced.
    pub(crate) fn traces(&self) -> bool {
        self.options.tracer.is_some()
    }

    /// Returns true if the user has stopped the run.
    #[inline(always)]
    pub(crate) fn is_stopped(&self) -> bool {
        self.options.control.is_some_and(Control::is_stopped)
    }

    /// Traces and counts an executed event. Returns true if a poll is due.
    ///
    /// One event may take long. So a request to stop makes a poll due after any event.
    #[inline(always)]
    pub(crate) fn record_event<P: Packed<'k>>(
        &mut self,
        event: &Event<P>,
        notes: &mut Vec<Note>,
    ) -> Result<bool, Error> {
        if self.traces() {
            self.trace(&event.header().with(hide_body(&event.body)), notes)?;
            notes.clear();
        }
        self.events += 1;
        Ok(self.is_stopped() || self.events.is_multiple_of(EVENTS_PER_POLL))
    }

    /// Counts `events` events at once. Returns true if a poll is due.
    pub(crate) fn count_events(&mut self, events: u64) -> bool {
        let before = self.events / EVENTS_PER_POLL;
        self.events += events;
        self.is_stopped() || self.events / EVENTS_PER_POLL != before
    }

    /// Applies the effects of an execution other than its sends. Metrics go to `metrics`, or to the
    /// course's own.
    ///
    /// # Errors
    ///
    /// The failure of the execution, if it failed.
    #[cold]
    #[inline(never)]
    pub(crate) fn apply_other_effects(
        &mut self,
        world: &World,
        lp: LpId,
        event: Option<EventKey>,
        effects: &mut OtherEffects,
        metrics: Option<&mut Metrics>,
    ) -> Result<(), Error> {
        if let Some(failure) = effects.failure.take() {
            let (instant, key) = event.map_or_else(Default::default, |key| (key.instant, Some(key)));
            return Err(world.error_at(failure, Place { instant, lp: Some(lp), event: key }));
        }
        let metrics = metrics.unwrap_or(&mut self.metrics);
        effects.samples.drain(..).for_each(|sample| metrics.apply(lp, &sample));
        for request in effects.requests.drain(..) {
            self.bound = self.bound.min(request.key.instant.time);
            self.globals.add(request);
        }
        effects.any = false;
        // The notes of a traced event are written with it, later.
        if event.is_none() || !self.traces() {
            effects.notes.clear();
        }
        Ok(())
    }

    /// Writes an event to the trace, if there is one.
    pub(crate) fn trace(&mut self, event: &Event<MessageRef<'_, 'k>>, notes: &[Note]) -> Result<(), Error> {
        let Some(tracer) = &mut self.options.tracer else { return Ok(()) };
        tracer.record(self.model, event, notes).map_err(|error| Error::new(ErrorKind::Trace(error.to_string())))
    }

    /// Writes an event of any form to the trace, if there is one.
    pub(crate) fn trace_any(&mut self, event: &AnyEvent<'k>, notes: &[Note]) -> Result<(), Error> {
        self.trace(&event.header().with(body_ref(event)), notes)
    }

    /// Collects the ledgers of the workers: requests, the earliest failure, and the trace before that
    /// failure.
    pub(crate) fn collect_ledgers(&mut self, ledgers: Vec<Ledger<'k>>) -> Result<(), Error> {
        let mut trace = Vec::new();
        for ledger in ledgers {
            ledger.requests.into_iter().for_each(|request| self.globals.add(request));
            trace.extend(ledger.trace);
            self.failure.merge(ledger.failure);
        }
        self.trace_all(trace)
    }

    /// Writes events to the trace, in order, up to the earliest failure.
    fn trace_all(&mut self, mut trace: Trace<'k>) -> Result<(), Error> {
        let place = |event: &AnyEvent<'k>| Place {
            instant: event.instant(),
            lp: Some(event.receiver()),
            event: Some(event.key()),
        };
        trace.retain(|(event, _)| self.failure.place().is_none_or(|failed| place(event) < *failed));
        ledger::sort(&mut trace);
        trace.iter().try_for_each(|(event, notes)| self.trace_any(event, notes))
    }

    /// Executes the global events that come before any pending event. Returns the end of the run if it is
    /// reached.
    pub(crate) fn execute_globals_first(
        &mut self,
        world: &mut World,
        all: &mut impl Quiescent<'k>,
        effects: &mut AnyEffects<'k>,
    ) -> Result<Option<Time>, Error> {
        self.enter(Phase::Executing);
        self.go_on();
        let (mut stopped, mut last) = (false, self.bound);
        loop {
            let next = all.next_time(&mut stopped);
            if stopped {
                self.until = self.until.min(just_after(last));
            }
            if next < self.horizon() {
                return Ok(None);
            }
            let time = self.horizon();
            self.bound = self.bound.max(time);
            self.reach_cut(world, all);
            if self.has_left {
                return Ok(Some(time));
            }
            self.globals.execute_at(time, self.model, world, &mut all.lps(&mut self.metrics), effects.hide())?;
            effects.take_buffer().into_iter().for_each(|event| all.push(event));
            if self.is_over_at(time) {
                return Ok(Some(time));
            }
            // Without this poll, a model that has only global events could not be stopped.
            stopped = self.options.control.is_some_and(|control| control.poll(time, self.events));
            last = time;
        }
    }

    /// Polls before the run begins.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stopped`] if the user has stopped the run.
    pub(crate) fn check_not_stopped(&self) -> Result<(), Error> {
        match self.options.control {
            Some(control) if control.poll(Time::ZERO, 0) => Err(Error::new(ErrorKind::Stopped)),
            _ => Ok(()),
        }
    }

    /// Polls at `time`, with `pending` bytes of pending events. A run stopped by hand ends just after `time`,
    /// or among its events once the grace is over.
    #[cold]
    pub(crate) fn poll(&mut self, world: &World, time: Time, pending: usize) -> Result<(), Error> {
        world.forget_rounds_before(time);
        if self.options.control.is_some_and(|control| control.poll(time, self.events)) {
            self.until = self.until.min(just_after(time));
            self.bound = self.bound.min(self.until);
            if self.grace.is_over() {
                self.give_up(time);
            }
        }
        self.ask_umpire(self.events, time, || false);
        if self.wants_cut() {
            self.come_to_cut(just_after(time));
        }
        self.bound = self.bound.min(self.cut_at());
        self.check_memory(world, pending)
    }

    /// Ends a stopped run among the events of `time`. Its digest would be that of no run until a time.
    pub(crate) fn give_up(&mut self, time: Time) {
        (self.until, self.bound, self.options.digest) = (time, time, false);
        // Nor is there a cut at a time of which some events are executed.
        (self.next_cut, self.options.cuts) = (Time::MAX, None);
        (self.change_at, self.umpire) = (Time::MAX, None);
    }

    /// Notes the bytes that LPs and pending events take.
    pub(crate) fn note_bytes(&mut self, bytes: u64) {
        self.bytes_needed = bytes;
    }

    /// Checks that the LPs' records and `pending` bytes of pending events are within the memory limit.
    #[inline]
    pub(crate) fn check_memory(&mut self, world: &World, pending: usize) -> Result<(), Error> {
        let lps = world.lps() as usize * self.model.lp_bytes();
        let needed = (lps + pending) as u64;
        self.note_bytes(needed);
        match self.options.memory_limit {
            Some(limit) if needed > limit => Err(Error::new(ErrorKind::Memory { limit, needed })),
            _ => Ok(()),
        }
    }

    /// Ends the run at `end`, in a process that has all LPs. The LPs come in id order, each with its list and
    /// its index there.
    pub(crate) fn conclude<'l>(
        mut self,
        end: Time,
        lps: &mut dyn Iterator<Item = (LpId, &'l (dyn Lps<'k> + 'k), usize)>,
        pending: AnyLeftover<'k>,
        engine_stats: Statistics,
    ) -> Result<Outcome, Error>
    where
        'k: 'l,
    {
        self.enter(Phase::Concluding);
        let end = self.end(end);
        let mut metrics = std::mem::take(&mut self.metrics);
        let digests = finish(&self.options, &end, lps, &mut metrics);
        self.conclude_with(end, digests, metrics, pending, engine_stats)
    }

    /// Ends the run, given the final digests of all LPs, in id order, and their metrics.
    fn conclude_with(
        self,
        end: End,
        digests: Vec<u64>,
        metrics: Metrics,
        pending: AnyLeftover<'k>,
        mut engine_stats: Statistics,
    ) -> Result<Outcome, Error> {
        let Course { model, options, globals, .. } = self;
        if let Some(control) = options.control {
            control.poll(end.time, end.events);
        }
        engine_stats.push(("lp_bytes", model.lp_bytes() as f64));
        engine_stats.push(("state_bytes", model.state_bytes() as f64));
        conclude(model, &options, digests, Finished { end, metrics, pending, globals, engine_stats })
    }

    /// The end of the run, at `time`.
    fn end(&self, time: Time) -> End {
        End { time, events: self.events, early: time < self.options.until }
    }

    /// Ends the part of the run that is in this rank at `end`, given its LPs, pending events and counts.
    /// Metrics of global events are the same on all ranks, so those of rank 0 count.
    ///
    /// The results hold no LPs. So the caller can free the LPs before the results of all ranks come together.
    pub(crate) fn finish_rank<'l>(
        &mut self,
        end: Time,
        peers: &dyn Peers<'k>,
        lps: &mut dyn Iterator<Item = (LpId, &'l (dyn Lps<'k> + 'k), usize)>,
        mut metrics: Metrics,
        pending: AnyLeftover<'k>,
        mut counts: Vec<u64>,
    ) -> Results<'k>
    where
        'k: 'l,
    {
        self.enter(Phase::Concluding);
        if peers.rank() == 0 {
            let mut own = std::mem::take(&mut self.metrics);
            own.merge(metrics);
            metrics = own;
        }
        let mut ids = Vec::new();
        let mut lps = lps.inspect(|(id, ..)| {
            if peers.ranks() > 1 {
                ids.push(*id);
            }
        });
        let digests = finish(&self.options, &self.end(end), &mut lps, &mut metrics);
        let pending = count_unfinished(self.model, pending, &mut metrics);
        counts.push(bytes::copied() - self.copied_before);
        Results { ids, digests, metrics, pending, counts }
    }

    /// Ends the run at `end`, given the results of this rank. `engine_stats` makes the statistics from the
    /// counts, which are added up over the ranks.
    ///
    /// Returns `None` on ranks other than 0.
    ///
    /// # Errors
    ///
    /// An error that the model finds at its end; a lost rank.
    pub(crate) fn conclude_ranks(
        self,
        end: Time,
        peers: &dyn Peers<'k>,
        lost: &dyn Fn() -> Error,
        mine: Results<'k>,
        engine_stats: &mut dyn FnMut(&[u64]) -> Statistics,
    ) -> Result<Option<Outcome>, Error> {
        let end = self.end(end);
        let Some(all) = peers.collect(mine).map_err(|Broken| lost())? else { return Ok(None) };
        let mut all = all.into_iter();
        let Results { mut ids, mut digests, mut metrics, mut pending, mut counts } =
            all.next().expect("rank 0 is among them");
        for of_rank in all {
            ids.extend(of_rank.ids);
            digests.extend(of_rank.digests);
            metrics.merge(of_rank.metrics);
            pending = Box::new(pending.chain(of_rank.pending));
            counts.iter_mut().zip(of_rank.counts).for_each(|(sum, count)| *sum += count);
        }
        if !ids.is_empty() && !digests.is_empty() {
            digests = in_id_order(&ids, &digests);
        }
        let copied = counts.pop().expect("every rank has sent it");
        let mut engine_stats = engine_stats(&counts);
        if peers.ranks() > 1 {
            engine_stats.push(("payload_bytes_copied", copied as f64));
        }
        self.conclude_with(end, digests, metrics, pending, engine_stats).map(Some)
    }
}

/// Returns the digests of all LPs in id order, given the ids to which `digests` belong.
fn in_id_order(ids: &[LpId], digests: &[u64]) -> Vec<u64> {
    let mut ordered = vec![0; digests.len()];
    for (id, digest) in ids.iter().zip(digests) {
        ordered[id.index()] = *digest;
    }
    ordered
}
