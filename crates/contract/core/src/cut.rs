//! Cuts: everything that a run is at one virtual time.
//!
//! A cut at time *t* lies after everything before `(t, 0)` and before everything at *t*, global events
//! included. All LPs are at rest there. A run calls its [`AtCut`] at the times that it asks for. It then goes
//! on, or it ends there and leaves a [`Cut`], from which any engine goes on with any number of workers. The
//! results are those of the unbroken run.
//!
//! A cut does not depend on the engine that made it. It holds the timers that are set, and no wakes, of which
//! an engine may have any number. An engine that goes on from a cut makes one wake for each timer.
//!
//! *Ranks.* All ranks of a run come to a cut together. Each rank calls its own [`AtCut`], which all must be
//! given the same times and must decide alike, and writes its part: its LPs and the messages on their way to
//! them. The parts one after another, in the order of ranks, are the bytes of a cut. Read and written again
//! by one process, they are the bytes that one process would have written.

mod branch;

pub use branch::{Branch, InTransit};

use crate::any_model::parcel::{self, Conservative};
use crate::any_model::{AnyEvent, AnyLeftover, AnyModel, AnySave, Codec, Lps};
use crate::channel::Channels;
use crate::event::{Body, Event, EventKey, LpId, Sender};
use crate::global::GlobalQueue;
use crate::metrics::{Metrics, Recorded};
use crate::placement::Placement;
use crate::run::{End, Outcome, RunOptions, combined_digest};
use crate::time::{Instant, Time};
use crate::wire::{self, FrameWriter, Malformed, Room};
use crate::world::World;
use std::any::Any;
use std::fmt;

/// The bound of counts and sequence numbers. No run reaches it, and what is added later is no overflow.
pub(crate) const COUNT_MAX: u64 = 1 << 62;

/// The length of the pieces in which a cut is written, or a little more.
const PIECE_BYTES: usize = 1 << 20;

/// A run at rest at a virtual time.
pub struct Cut<'k> {
    /// The time of the cut.
    pub time: Time,
    /// The number of events executed so far.
    pub events: u64,
    /// The number of events that have entered from outside ([`AtRest::inject`]).
    pub injected: u64,
    /// The global events, executed and still to come.
    pub globals: GlobalQueue,
    /// The channels, with the lookahead that they have at this time.
    pub channels: Channels,
    /// The metrics so far.
    pub metrics: Metrics,
    /// All LPs, in the order of ids.
    pub lps: Box<dyn Lps<'k> + 'k>,
    /// The messages in transit, in the order of events.
    pub messages: Vec<AnyEvent<'k>>,
}

impl fmt::Debug for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cut").field("time", &self.time).field("events", &self.events).finish_non_exhaustive()
    }
}

impl<'k> Cut<'k> {
    /// Distributes the LPs over the partitions of a placement, each of which can then pick up its own
    /// ([`Lps::pick_up`]).
    pub fn distribute(&mut self, model: &'k dyn AnyModel<'k>, placement: &Placement) {
        let lps = model.lps();
        self.lps.put_down(0);
        model.distribute(&Placement::one(lps), placement, lps);
    }

    /// Removes and returns the messages, by partition of a placement.
    pub fn take_messages(&mut self, placement: &Placement) -> Vec<Vec<AnyEvent<'k>>> {
        let mut by_partition: Vec<Vec<_>> = (0..placement.partitions()).map(|_| Vec::new()).collect();
        for event in std::mem::take(&mut self.messages) {
            by_partition[placement.partition(event.receiver()) as usize].push(event);
        }
        by_partition
    }
}

/// A part of a run: from its start or from a cut, to the next cut at which it ends, or to its end.
#[derive(Debug)]
pub struct Span<'k> {
    /// The options. The seeds are those of the whole run.
    pub options: RunOptions<'k>,
    /// The cut from which the run goes on. `None` at its start.
    pub from: Option<Box<Cut<'k>>>,
    /// The table by which cuts are written, if the model's runs can be saved.
    pub save: Option<&'k dyn AnySave<'k>>,
    /// The umpire that lets another engine go on. A run of several ranks has none.
    pub umpire: Option<Box<dyn Umpire>>,
}

impl<'k> From<RunOptions<'k>> for Span<'k> {
    fn from(options: RunOptions<'k>) -> Span<'k> {
        Span { options, from: None, save: None, umpire: None }
    }
}

/// Watches a run while an engine executes it, and lets another engine go on where that pays.
///
/// The engine ends its span at a cut soon after [`Umpire::wants_change`] returned true. Cuts of
/// [`RunOptions::cuts`] stay what they are. No result depends on an umpire.
pub trait Umpire: Send + fmt::Debug {
    /// The engine executes events from now on. `events` were executed before. It may say so repeatedly.
    fn goes_on(&mut self, events: u64);
    /// The run is at a cut, whose work is none of the engine's, until [`Umpire::goes_on`] is called.
    fn rests(&mut self, events: u64);
    /// Returns true if the span should end at the next possible cut. The engine asks at intervals. It is at
    /// `time`, and `events` were executed so far. With `is_busy`, its workers hardly wait for each other, and
    /// need few exchanges.
    fn wants_change(&mut self, events: u64, time: Time, is_busy: bool) -> bool;
    /// Returns true if the engine of this span is on trial. It may then be changed for the one before even if
    /// memory is short.
    fn is_on_trial(&self) -> bool {
        false
    }
    /// Returns the virtual time after `time` at which the span should end in any case.
    fn next_change(&mut self, time: Time) -> Time {
        let _ = time;
        Time::MAX
    }
    /// The span ends at a cut at `time` because the umpire has asked for it.
    fn leaves(&mut self, time: Time, events: u64);
}

/// The place where a span ends.
#[derive(Debug)]
pub enum Reached<'k> {
    /// The end of the run.
    End(Outcome),
    /// A cut: the next span begins there.
    Cut(Span<'k>),
}

impl Reached<'_> {
    /// Returns the outcome of a run that does not end at a cut.
    ///
    /// # Panics
    ///
    /// If it did: its [`AtCut`] returned [`Then::Leave`], and the caller does not go on.
    pub fn end(self) -> Outcome {
        match self {
            Reached::End(outcome) => outcome,
            Reached::Cut(span) => panic!("the run ended at {:?}, and nobody goes on from there", span.from),
        }
    }
}

/// The times at which a run comes to cuts, and what happens there.
pub struct Cuts<'a> {
    /// The time of the first cut. [`Time::MAX`] if there is none before the end.
    pub next: Time,
    /// True if there is a cut where the run ends, before the global events of that time.
    pub at_end: bool,
    /// Called at each cut.
    pub act: Box<dyn AtCut + 'a>,
}

impl fmt::Debug for Cuts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuts").field("next", &self.next).field("at_end", &self.at_end).finish_non_exhaustive()
    }
}

/// The next step of a run at a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The run goes on. The next cut is at this time, or at the end if that is earlier.
    Continue(Time),
    /// This span ends here. Another engine, or another number of workers, may go on. A run of several ranks
    /// cannot be left: its parts are in several processes.
    Leave,
    /// The run ends here: the global events of this time are executed, and then the results are made.
    End,
}

/// A function that is called at cuts.
pub trait AtCut: Send {
    /// Looks at a run at rest, and says how it goes on.
    fn act(&mut self, run: &mut AtRest<'_, '_>) -> Then;
}

impl<F: FnMut(&mut AtRest<'_, '_>) -> Then + Send> AtCut for F {
    fn act(&mut self, run: &mut AtRest<'_, '_>) -> Then {
        self(run)
    }
}

/// A view of a run at rest.
pub struct AtRest<'a, 'k> {
    /// The time of the cut.
    pub time: Time,
    /// The number of events executed so far.
    pub events: u64,
    /// The number of events that have entered from outside.
    pub injected: &'a mut u64,
    /// The model.
    pub model: &'k dyn AnyModel<'k>,
    /// The global events, executed and still to come.
    pub globals: &'a GlobalQueue,
    /// The world. Its channels have the lookahead of this time.
    pub world: &'a World,
    /// The table by which the cut is written, if the model's runs can be saved.
    pub save: Option<&'k dyn AnySave<'k>>,
    /// The metrics of global events, and perhaps of LPs.
    pub metrics: &'a Metrics,
    /// The LPs and everything that is pending.
    pub resting: &'a mut dyn Resting<'k>,
}

impl fmt::Debug for AtRest<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtRest").field("time", &self.time).field("events", &self.events).finish_non_exhaustive()
    }
}

impl<'k> AtRest<'_, 'k> {
    /// Returns the digest of the run so far: of everything that the LPs have executed, of their states, and
    /// of the global events. It is the same on every engine. It means nothing if digests are switched off.
    /// All ranks call this together.
    pub fn digest(&mut self) -> u64 {
        combined_digest(&self.resting.digests(), self.globals)
    }

    /// Returns the number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.resting.rank()
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.resting.ranks()
    }

    /// Returns the bytes of all ranks, in rank order, the same on every rank. All ranks call this together.
    /// `None` once a rank is lost: the run then ends with an error that names it.
    pub fn share(&mut self, mine: Vec<u8>) -> Option<Vec<Vec<u8>>> {
        self.resting.share(mine)
    }

    /// Adds an event from outside the run: a message to `lp` at `time`. Returns its key.
    ///
    /// Its sender is [`Sender::OUTSIDE`], and its sequence number is the number of events that have entered
    /// before. No channel and no lookahead bounds `time`, since all LPs are at rest.
    ///
    /// # Errors
    ///
    /// A sentence, and nothing is added: if `time` is before the cut, if there is no such LP, or if `message`
    /// is no message of the model.
    pub fn inject(&mut self, lp: LpId, time: Time, message: Box<dyn Any + Send>) -> Result<EventKey, String> {
        if time < self.time {
            return Err(format!("no event can enter at {time}, since the run is at {}", self.time));
        }
        let lps = self.world.lps();
        if lp.0 >= lps {
            return Err(format!("no event can enter at {lp}, since there are {lps} LPs"));
        }
        let message = self.model.pack(message).ok_or("a message of another model cannot enter")?;
        let instant = Instant::at(time);
        let (sender, sequence) = (Sender::OUTSIDE, *self.injected);
        let key = EventKey { instant, tie: self.world.tie(instant, lp, sender), sender, sequence };
        *self.injected += 1;
        self.resting.push(Event::new(key, lp, Body::Message(message)));
        Ok(key)
    }

    /// Returns the metrics so far, those of global events and of all LPs on all ranks. They are the same on
    /// every engine, and on every rank. All ranks call this together.
    pub fn all_metrics(&mut self) -> Metrics {
        let mine = self.metrics_of_rank();
        self.of_all_ranks(mine)
    }

    /// Returns the metrics of all ranks, given those of this rank.
    fn of_all_ranks(&mut self, mut metrics: Metrics) -> Metrics {
        if self.ranks() > 1 {
            let mut mine = Vec::new();
            wire::write(&metrics.clone().into_recorded(), &mut mine);
            let (rank, all) = (self.rank(), self.share(mine).unwrap_or_default());
            for (_, bytes) in all.iter().enumerate().filter(|(other, _)| *other != rank) {
                metrics.merge_recorded(wire::read(&mut bytes.as_slice()).expect("the ranks are one program"));
            }
        }
        metrics
    }

    /// Returns the metrics so far of the LPs on this rank; on the first rank, those of global events too,
    /// which are the same on all ranks.
    fn metrics_of_rank(&mut self) -> Metrics {
        let mut metrics = if self.rank() == 0 { self.metrics.clone() } else { self.metrics.declarations() };
        self.resting.add_metrics(&mut metrics);
        metrics
    }

    /// Returns the metrics that the run would have if it ended here, but for those of messages in transit.
    /// They are the same on every engine, and on every rank. All ranks call this together. A model whose runs
    /// cannot be saved has only the metrics recorded so far.
    pub fn metrics_if_ended(&mut self) -> Metrics {
        let Some(model) = self.save else { return self.all_metrics() };
        let mut metrics = self.metrics_of_rank();
        let end = End { time: self.time, events: self.events, early: true };
        let ids = self.resting.ids();
        let placement = self.resting.put_down();
        for id in ids {
            metrics.record_as(Sender::lp(id));
            model.finish_lp(id, &placement, &end, &mut metrics);
        }
        self.resting.pick_up();
        let mut metrics = self.of_all_ranks(metrics);
        metrics.record_as(Sender::GLOBAL);
        // A model may check here that all is done, which it need not be yet.
        let _ = model.conclude(&end, &mut metrics);
        metrics
    }

    /// Appends the bytes of this rank's part of the cut. If it is the only rank, they are the same on every
    /// engine.
    ///
    /// # Panics
    ///
    /// If the model's runs cannot be saved.
    pub fn write(&mut self, to: &mut Vec<u8>) {
        self.write_in_pieces(&mut |piece| to.extend_from_slice(piece));
    }

    /// Passes the bytes of this rank's part of the cut to `sink`, a piece at a time.
    ///
    /// # Panics
    ///
    /// If the model's runs cannot be saved.
    pub fn write_in_pieces(&mut self, sink: &mut dyn FnMut(&[u8])) {
        let model = self.save.expect("whoever writes cuts has asked whether they can be written");
        let (wakes, messages): (Vec<_>, Vec<_>) =
            self.resting.take_pending().into_iter().partition(|event| matches!(event.body, Body::Timer(_)));
        wakes.into_iter().for_each(|event| self.resting.push(event));
        let mut messages = parcel::of_events(model.form(), in_order(messages));
        let (is_first, is_whole) = (self.rank() == 0, self.ranks() == 1);
        let metrics = self.metrics_of_rank();
        let ranges = if is_whole { vec![(0, model.lps())] } else { ranges_of(&self.resting.ids()) };
        let placement = self.resting.put_down();
        let channels = Some(self.world.channels()).filter(|channels| is_changed(channels, model));
        let count = u32::try_from(parcel::parcel_len(messages.hide())).expect("memory holds fewer events than 2^32");
        FrameWriter::of_file().within(|| {
            let mut piece = Vec::new();
            if is_first {
                let parts = u32::try_from(self.ranks()).expect("ranks are few");
                let numbers = (self.time, self.events, *self.injected);
                wire::write(&(parts, numbers, channels, model.lps()), &mut piece);
                self.globals.write(model, &mut piece);
            }
            wire::write(&(count, metrics.into_recorded()), &mut piece);
            if !is_whole {
                wire::write(&ranges, &mut piece);
            }
            let mut pass_on = |piece: &mut Vec<u8>| {
                if piece.len() >= PIECE_BYTES {
                    sink(piece);
                    piece.clear();
                }
            };
            for id in ranges.into_iter().flat_map(|(first, count)| first..first + count).map(LpId) {
                model.write_lp(id, &placement, &mut piece);
                pass_on(&mut piece);
            }
            for index in 0..count as usize {
                let range = index..index + 1;
                Room::behind(&mut piece, |room| {
                    Codec::<Conservative>::write(model, messages.hide(), range, usize::MAX, room)
                });
                pass_on(&mut piece);
            }
            sink(&piece);
        });
        self.resting.pick_up();
        parcel::take_events(messages.hide()).into_iter().for_each(|event| self.resting.push(event));
    }
}

/// Returns the ranges of consecutive ids in ids that ascend: the first of each, and their number.
fn ranges_of(ids: &[LpId]) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for id in ids {
        match ranges.last_mut() {
            Some((first, count)) if *first + *count == id.0 => *count += 1,
            _ => ranges.push((id.0, 1)),
        }
    }
    ranges
}

/// Returns true if the channels are no longer those that the model declares.
fn is_changed(channels: &Channels, model: &dyn AnySave<'_>) -> bool {
    let mut declared = model.channels();
    declared.seal(model.lps()).is_ok() && declared != *channels
}

impl<'k> Cut<'k> {
    /// Reads a cut, whose bytes are all of `from`: the parts of all ranks that made it.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a cut of this model.
    pub fn read(model: &'k dyn AnySave<'k>, from: &mut &[u8]) -> Result<Cut<'k>, Malformed> {
        model.drop_lps();
        let (parts, numbers): (u32, (Time, u64, u64)) = wire::read(from)?;
        let (time, events, injected) = numbers;
        let (channels, lps): (Option<Channels>, u32) = wire::read(from)?;
        if lps != model.lps() {
            return Err(Malformed::new(format!("there are {lps} LPs, and the model has {}", model.lps())));
        }
        if parts == 0 || events >= COUNT_MAX || injected >= COUNT_MAX {
            return Err(Malformed::new("there is no part, or there are more events than a run has"));
        }
        let mut reading = Reading {
            model,
            time,
            parts,
            homes: if parts > 1 { vec![parts; lps as usize] } else { Vec::new() },
            metrics: model.metrics(),
            messages: Vec::new(),
        };
        let globals = wire::read_frame(|| {
            let globals = GlobalQueue::read(model, time, from)?;
            reading.read_part(0, from)?;
            Ok(globals)
        })?;
        (1..parts).try_for_each(|part| wire::read_frame(|| reading.read_part(part, from)))?;
        let Reading { homes, metrics, mut messages, .. } = reading;
        if parts > 1 {
            if homes.contains(&parts) {
                return Err(Malformed::new("an LP is in no part"));
            }
            let placement = Placement::table(&homes).ok_or_else(|| Malformed::new("the parts are too uneven"))?;
            model.distribute(&placement, &Placement::one(lps), lps);
            messages = in_order(messages);
        }
        if messages.iter().any(|event| event.sender() == Sender::OUTSIDE && event.key().sequence >= injected) {
            return Err(Malformed::new("a message from outside has a number that none has had"));
        }
        let mut declared = model.channels();
        declared.seal(lps).map_err(Malformed::new)?;
        let mut all = model.new_lps();
        all.pick_up(0);
        let channels = channels.unwrap_or(declared);
        Ok(Cut { time, events, injected, globals, channels, metrics, lps: all, messages })
    }
}

/// A cut whose parts are being read.
struct Reading<'k> {
    model: &'k dyn AnySave<'k>,
    time: Time,
    parts: u32,
    /// By LP: the part that has it, or the number of parts. Empty if there is one part, which has all.
    homes: Vec<u32>,
    metrics: Metrics,
    messages: Vec<AnyEvent<'k>>,
}

impl Reading<'_> {
    /// Reads the metrics, the LPs and the messages of a part.
    fn read_part(&mut self, part: u32, from: &mut &[u8]) -> Result<(), Malformed> {
        let Reading { model, time, parts, homes, metrics, messages } = self;
        let lps = model.lps();
        let (count, recorded): (u32, Recorded) = wire::read(from)?;
        let ranges = if *parts == 1 { vec![(0, lps)] } else { wire::read::<Vec<(u32, u32)>>(from)? };
        let mut next = 0;
        for &(first, count) in &ranges {
            let end = first.checked_add(count).filter(|end| *end <= lps && first >= next);
            next = end.ok_or_else(|| Malformed::new("the LPs of a part are in no order"))?;
            for home in homes.iter_mut().skip(first as usize).take(count as usize) {
                if std::mem::replace(home, part) != *parts {
                    return Err(Malformed::new("an LP is in two parts"));
                }
            }
        }
        // Each recorded in one part. The global events recorded in the first one.
        let is_sender = |from: Sender| match from.as_lp() {
            Some(lp) => lp.0 < lps && homes.get(lp.index()).is_none_or(|home| *home == part),
            None => part == 0,
        };
        metrics.check_recorded(&recorded, &is_sender)?;
        metrics.merge_recorded(recorded);
        for id in ranges.into_iter().flat_map(|(first, count)| first..first + count).map(LpId) {
            model.read_lp(id, part as usize, *time, from)?;
        }
        let mut read = Codec::<Conservative>::read(*model, count, from)?;
        let read = parcel::take_events(read.hide());
        let is_possible = |event: &AnyEvent<'_>| {
            let EventKey { instant, sender, sequence, .. } = event.key();
            let is_sender = sender.as_lp().is_none_or(|lp| lp.0 < lps);
            event.receiver().0 < lps && is_sender && sequence < COUNT_MAX && is_pending(instant, *time)
        };
        if !read.iter().all(is_possible) || !read.is_sorted_by(|one, next| one < next) {
            return Err(Malformed::new("a message is before the cut, out of order, or between no LPs"));
        }
        read.iter().try_for_each(|event| model.check_event(event))?;
        messages.extend(read);
        Ok(())
    }
}

/// Returns true if something may be pending at this instant in a cut at `time`. Only what was sent without
/// delay has a round, and that comes before the next cut: from the start of the run, it comes after the cut
/// there.
pub(crate) fn is_pending(instant: Instant, time: Time) -> bool {
    instant.time >= time && (instant.round == 0 || instant.time == time)
}

/// The LPs of a run at rest, and its pending events, wherever the engine keeps them. If there are several
/// ranks, those of this rank.
pub trait Resting<'k> {
    /// Puts down the LPs of all lists ([`Lps::put_down`]), and returns the placement of LPs on lists.
    fn put_down(&mut self) -> Placement;
    /// Picks up all LPs again.
    fn pick_up(&mut self);
    /// Removes and returns all pending events, wakes of timers included, in no order.
    fn take_pending(&mut self) -> Vec<AnyEvent<'k>>;
    /// Adds a pending event.
    fn push(&mut self, event: AnyEvent<'k>);
    /// Returns the digest of each LP of all ranks, in the order of ids.
    fn digests(&mut self) -> Vec<u64>;
    /// Adds the metrics that the engine keeps with the LPs.
    fn add_metrics(&mut self, to: &mut Metrics);
    /// Returns the ids of the LPs that are on this rank, in order.
    fn ids(&mut self) -> Vec<LpId>;
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize {
        0
    }
    /// Returns the number of ranks.
    fn ranks(&self) -> usize {
        1
    }
    /// Returns the bytes of all ranks, in rank order, or `None` once a rank is lost ([`AtRest::share`]).
    fn share(&mut self, mine: Vec<u8>) -> Option<Vec<Vec<u8>>> {
        Some(vec![mine])
    }
}

/// Pending events in one place.
pub trait Pending<'k> {
    /// Adds an event.
    fn push(&mut self, event: AnyEvent<'k>);
    /// Removes and returns all events, in no order.
    fn take_all(&mut self) -> AnyLeftover<'k>;
}

impl<'k> Pending<'k> for Vec<AnyEvent<'k>> {
    fn push(&mut self, event: AnyEvent<'k>) {
        Vec::push(self, event);
    }
    fn take_all(&mut self) -> AnyLeftover<'k> {
        Box::new(std::mem::take(self).into_iter())
    }
}

/// A run at rest, with its LPs in one list and its pending events in one place.
pub struct Whole<'a, 'k> {
    /// The LPs, in the order of ids.
    pub lps: &'a mut (dyn Lps<'k> + 'k),
    /// The pending events.
    pub events: &'a mut (dyn Pending<'k> + 'a),
}

impl fmt::Debug for Whole<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whole").field("lps", &self.lps.len()).finish_non_exhaustive()
    }
}

impl<'k> Resting<'k> for Whole<'_, 'k> {
    fn put_down(&mut self) -> Placement {
        let placement = Placement::one(u32::try_from(self.lps.len()).expect("ids have 32 bits"));
        self.lps.put_down(0);
        placement
    }
    fn pick_up(&mut self) {
        self.lps.pick_up(0);
    }
    fn take_pending(&mut self) -> Vec<AnyEvent<'k>> {
        self.events.take_all().collect()
    }
    fn push(&mut self, event: AnyEvent<'k>) {
        self.events.push(event);
    }
    fn digests(&mut self) -> Vec<u64> {
        (0..self.lps.len()).map(|index| self.lps.final_digest(index)).collect()
    }
    fn add_metrics(&mut self, _: &mut Metrics) {}
    fn ids(&mut self) -> Vec<LpId> {
        (0..self.lps.len()).map(LpId::from_index).collect()
    }
}

/// Returns the messages among pending events, in the order of events.
pub fn messages<'k>(pending: impl IntoIterator<Item = AnyEvent<'k>>) -> Vec<AnyEvent<'k>> {
    in_order(pending.into_iter().filter(|event| matches!(event.body, Body::Message(_))).collect())
}

fn in_order(mut events: Vec<AnyEvent<'_>>) -> Vec<AnyEvent<'_>> {
    events.sort_unstable();
    events
}
