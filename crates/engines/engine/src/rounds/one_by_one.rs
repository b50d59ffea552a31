//! The execution of rounds event by event: the part of the leader that is compiled for each form of messages.

use super::leader::{SerialRound, State};
use crate::fetch::Fetcher;
use crate::sequential::{AnyEvents, Direct, Events};
use crate::stopwatch::now;
use parades_core::any_model::{AnyEvent, Form, Packed, any_event, event_of, hide_body, in_form};
use parades_core::effects::AnyEffects;
use parades_core::error::Error;
use parades_core::event::Event;
use parades_core::lp::Execution;
use parades_core::pending::PendingSet;
use parades_raw::prefetch::Records;
use parades_transport::{Conservative, Parcel};

/// The pending events of a run, behind a table of functions.
pub(super) trait RoundEvents<'k>: AnyEvents<'k> {
    /// Executes every event before the bound, or up to the first round that must be executed in parallel.
    /// Returns the first event of that round.
    fn execute_before_bound(&mut self, leader: &mut State<'_, 'k>) -> Result<Option<AnyEvent<'k>>, Error>;

    /// Puts the events of the round that begins with `first` into the inboxes of their stripes. Returns the
    /// number of stripes that have events, the tasks of the round.
    fn distribute(&mut self, first: AnyEvent<'k>, leader: &mut State<'_, 'k>) -> u32;

    /// Moves the events of an inbox that were not executed back into the pending set. Returns true if there
    /// were any.
    fn take_back(&mut self, inbox: &mut Parcel<'k, Conservative>) -> bool;

    /// Moves the events that executions sent into the pending set.
    fn take_sent(&mut self, from: &mut AnyEffects<'k>);
}

/// Makes an empty set for messages of this form.
pub(super) fn of_form<'k>(form: Form) -> Box<dyn RoundEvents<'k> + 'k> {
    fn empty<'k, P: Packed<'k>>() -> Box<dyn RoundEvents<'k> + 'k> {
        Box::new(Events::<P, Direct>::new())
    }
    in_form!(form, empty())
}

impl<'k, P: Packed<'k>> RoundEvents<'k> for Events<P, Direct> {
    fn execute_before_bound(&mut self, leader: &mut State<'_, 'k>) -> Result<Option<AnyEvent<'k>>, Error> {
        let records = std::mem::take(&mut leader.records);
        let reached = self.execute_serial_rounds(leader, &records);
        leader.records = records;
        Ok(reached?.map(any_event))
    }

    fn distribute(&mut self, first: AnyEvent<'k>, leader: &mut State<'_, 'k>) -> u32 {
        let instant = first.instant();
        let State { stripes, held, tally, .. } = leader;
        let mut tasks = 0;
        let mut next = Some(event_of(first));
        while let Some(event) = next {
            let stripe = stripes.placement.partition(event.receiver());
            let inbox = held.stripe(stripe).inbox.of_mut::<P>();
            if inbox.is_empty() {
                stripes.set_task(tasks, stripe);
                tasks += 1;
            }
            tally.iter_mut().for_each(|tally| tally.count(event.receiver()));
            inbox.push(event);
            let pending = self.set_mut();
            // A run that must leave the round executes none of these events.
            let goes_on = !stripes.must_leave() && pending.next_instant() == Some(instant);
            next = if goes_on { pending.pop() } else { None };
        }
        tasks
    }

    fn take_back(&mut self, inbox: &mut Parcel<'k, Conservative>) -> bool {
        let inbox = inbox.of_mut::<P>();
        let had_any = !inbox.is_empty();
        inbox.drain(..).for_each(|event| self.set_mut().push(event));
        had_any
    }

    fn take_sent(&mut self, from: &mut AnyEffects<'k>) {
        from.of_mut::<P>().outbox.buffer.drain(..).for_each(|event| self.set_mut().push(event));
    }
}

impl<'k, P: Packed<'k>> Events<P, Direct> {
    /// Does the same as [`RoundEvents::execute_before_bound`]. `records` are the places of the LPs' records,
    /// by stripe.
    fn execute_serial_rounds(
        &mut self,
        leader: &mut State<'_, 'k>,
        records: &[Records],
    ) -> Result<Option<Event<P>>, Error> {
        let mut fetcher = Fetcher::of(leader.course.model, leader.course.model.lps() as usize);
        while let Some(event) = self.set_mut().pop_before(leader.course.bound) {
            if leader.round.instant != Some(event.instant()) && self.opens_parallel_round(leader, &event)? {
                return Ok(Some(event));
            }
            self.execute(event, leader, &mut fetcher, records)?;
        }
        Ok(None)
    }

    /// Executes one event as `sequential` does.
    #[inline(always)]
    fn execute(
        &mut self,
        event: Event<P>,
        leader: &mut State<'_, 'k>,
        fetcher: &mut Fetcher,
        records: &[Records],
    ) -> Result<(), Error> {
        let id = event.receiver();
        let (pending, placement) = (self.set(), &leader.stripes.placement);
        let fetch = |id| records[placement.partition(id) as usize].prefetch(placement.index(id));
        fetcher.each(|ahead| pending.upcoming(ahead), fetch);
        fetcher.steps(|ahead| pending.upcoming(ahead), |id, step| leader.held.fetch(id, step));
        leader.tally.iter_mut().for_each(|tally| tally.count(id));
        leader.round.has_several |= id != leader.round.first;
        let stripe = leader.held.of(id);
        let (index, body) = (placement.index(id), hide_body(&event.body));
        let execution = stripe.lps.execute(index, event.header_ref(), body, &leader.world, self.effects.hide());
        let others = &mut self.effects.others;
        if others.any {
            // If possible, one set of metrics is used for all stripes, so that one thread's cache need not
            // hold them all.
            let metrics = (!leader.are_sums).then_some(&mut stripe.metrics);
            leader.course.apply_other_effects(&leader.world, id, Some(event.key()), others, metrics)?;
        }
        let done = execution == Execution::Done;
        if done && leader.course.record_event(&event, &mut self.effects.others.notes)? {
            leader.poll(event.time(), self)?;
        }
        Ok(())
    }

    /// Ends the last round, and opens the one that begins with `event`. Returns true if it must be executed
    /// in parallel.
    #[inline(always)]
    fn opens_parallel_round(&mut self, leader: &mut State<'_, 'k>, event: &Event<P>) -> Result<bool, Error> {
        if leader.round.since.is_some() {
            leader.end_round()?;
        }
        leader.counts.rounds += 1;
        leader.counts.events_max = leader.counts.events_max.max(leader.course.events - leader.round.before);
        leader.round = SerialRound {
            instant: Some(event.instant()),
            first: event.receiver(),
            has_several: false,
            before: leader.course.events,
            since: None,
            chosen: false,
        };
        if let Some(tally) = &mut leader.tally {
            tally.begin();
            leader.round.since = Some(now());
        }
        let starts_workers = leader.crowd.must_start() && !leader.course.model.stays_on_threads();
        let judges = leader.judge.may_choose() && self.set().has_more_now();
        Ok(starts_workers || judges && self.judge_round(leader, event))
    }

    /// Judges the round that is being opened, if it has enough events. Returns true if it must be executed
    /// in parallel.
    #[inline(never)]
    fn judge_round(&mut self, leader: &mut State<'_, 'k>, first: &Event<P>) -> bool {
        let others_min = leader.judge.events_min() - 1;
        let Some(others) = self.set().count_now(others_min) else { return false };
        // Only one thread can execute the events of one LP, such as a program's solver.
        let is_of_first = |ahead| self.set().upcoming(ahead).is_none_or(|lp| lp == first.receiver());
        let was_alone = leader.last_alone == Some(first.receiver());
        if was_alone && leader.judge.compares_sizes() && (0..others_min).all(is_of_first) {
            return false;
        }
        leader.round.chosen = true;
        leader.round.since = Some(now());
        // The leader's thread has executed the first events of all LPs, so it must go on with them.
        leader.judge.chooses_parallel(1 + others as u64) && !leader.course.model.stays_on_threads()
    }
}
