//! The world: the data that all LPs of a run share and only read, such as the number of LPs, the seeds and
//! the channels.

use crate::any_model::AnyModel;
use crate::channel::{Channels, Port};
use crate::cut::Span;
use crate::error::{Error, ErrorKind, Failure, Place};
use crate::event::{LpId, Sender};
use crate::metrics::MetricId;
use crate::run::RunOptions;
use crate::time::{Delay, Instant, Time};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// The number of rounds before the bound whose LPs are noted, so that the error can name the LPs of the loop.
const LAST_ROUNDS: u32 = 64;
/// The number of LPs of a zero-delay loop that the error names.
const NAMED_LPS: usize = 8;

/// The LPs that may ask for global events, and the delay from a request to its global event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controllers {
    /// The controllers. Most models have none.
    pub lps: Vec<LpId>,
    /// The delay from a request to the global event. Positive if there are controllers. It bounds windows as
    /// a channel from the controllers to every LP would.
    pub delay: Delay,
}

/// The read-only part of a run. Only global events change it, while no LP executes.
#[derive(Debug)]
pub struct World {
    pub(crate) lps: u32,
    pub(crate) seed: u64,
    tie_seed: Option<u64>,
    pub(crate) channels: Channels,
    lookahead_changes: u64,
    controllers: Controllers,
    pub(crate) round_limit: u32,
    pub(crate) digest: bool,
    /// True if a trace wants the notes of handlers.
    pub(crate) notes: bool,
    /// True if a trace wants the messages that handlers send.
    pub(crate) sends: bool,
    /// True if a trace wants the observations that handlers record. Every observation checks this one flag.
    pub(crate) has_samples: bool,
    /// By metric: true if handlers record observations in it. Empty if no trace wants them.
    observed: Box<[bool]>,
    /// The LPs at which packets are captured, in order.
    captures: Box<[LpId]>,
    /// True if there are any such LPs. Every packet checks this one flag.
    pub(crate) has_captures: bool,
    /// True if there is a tie seed, or a trace that wants sent messages. Every send checks this one flag.
    pub(crate) has_ties_or_send_notes: bool,
    /// The LPs that executed events in the last rounds before the bound, for the error that names them.
    last_rounds: Mutex<BTreeSet<(Time, LpId)>>,
}

/// Returns, by metric of a model, whether handlers record observations in it.
fn observed(model: &dyn AnyModel<'_>) -> Box<[bool]> {
    model.metrics().iter().map(|(_, _, value)| value.takes_observations()).collect()
}

impl World {
    /// Makes the world of a run of `model`, and checks what the model declares.
    ///
    /// # Errors
    ///
    /// If the model declares something impossible, or needs more memory than the options allow.
    pub fn new(model: &dyn AnyModel<'_>, options: &RunOptions<'_>) -> Result<World, Error> {
        let declaration = |what: String| Error::new(ErrorKind::Declaration(what));
        let lps = model.lps();
        if lps == 0 || lps == u32::MAX {
            return Err(declaration(format!(
                "a model has between 1 and {} logical processes, not {lps}",
                u32::MAX - 1
            )));
        }
        World::check_memory(model, options.memory_limit)?;
        let mut channels = model.channels();
        channels.seal(lps).map_err(declaration)?;
        let mut controllers = model.controllers();
        controllers.lps.sort_unstable();
        if let Some(last) = controllers.lps.last() {
            if last.0 >= lps {
                return Err(declaration(format!("{last} is declared a controller, but there are only {lps} LPs")));
            }
            if controllers.delay == Delay::ZERO {
                return Err(declaration("a model with controllers declares a control delay above zero".into()));
            }
        }
        Ok(World {
            lps,
            seed: options.seed,
            tie_seed: options.tie_seed,
            channels,
            lookahead_changes: 0,
            controllers,
            round_limit: model.round_limit(),
            digest: options.digest,
            notes: options.notes,
            sends: options.sends,
            has_samples: options.samples,
            observed: if options.samples { observed(model) } else { Box::default() },
            captures: options.captures.into(),
            has_captures: !options.captures.is_empty(),
            has_ties_or_send_notes: options.sends || options.tie_seed.is_some(),
            last_rounds: Mutex::default(),
        })
    }

    /// Makes the world of a span of a run. If the span begins at a cut, channels have the lookahead of the
    /// cut.
    ///
    /// # Errors
    ///
    /// As [`World::new`].
    pub fn of_span(model: &dyn AnyModel<'_>, span: &Span<'_>) -> Result<World, Error> {
        let mut world = World::new(model, &span.options)?;
        if let Some(cut) = &span.from {
            world.channels = cut.channels.clone();
        }
        Ok(world)
    }

    /// Checks that the records of the model's LPs fit into `limit` bytes. Call it before anything is made for
    /// each LP, such as channels.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`], with the bytes needed.
    pub fn check_memory(model: &dyn AnyModel<'_>, limit: Option<u64>) -> Result<(), Error> {
        let needed = u64::from(model.lps()) * model.lp_bytes() as u64;
        match limit {
            Some(limit) if needed > limit => Err(Error::new(ErrorKind::Memory { limit, needed })),
            _ => Ok(()),
        }
    }

    /// Returns the number of LPs.
    pub fn lps(&self) -> u32 {
        self.lps
    }

    /// Returns the declared channels.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Returns the LPs that may ask for global events, and the control delay.
    pub fn controllers(&self) -> &Controllers {
        &self.controllers
    }

    /// True if `lp` may ask for global events.
    pub(crate) fn is_controller(&self, lp: LpId) -> bool {
        self.controllers.lps.binary_search(&lp).is_ok()
    }

    /// True if a trace wants what handlers record in `metric`.
    pub(crate) fn observes(&self, metric: MetricId) -> bool {
        self.observed.get(metric.0 as usize).is_some_and(|is_observed| *is_observed)
    }

    /// True if packets at `lp` are captured.
    pub(crate) fn captures(&self, lp: LpId) -> bool {
        self.captures.binary_search(&lp).is_ok()
    }

    /// Returns the number of times that a global event has changed a lookahead. Anything that an engine
    /// derived from the channels is valid until this number changes.
    pub fn lookahead_changes(&self) -> u64 {
        self.lookahead_changes
    }

    /// Changes the lookahead of a channel, during a global event.
    pub(crate) fn set_lookahead(&mut self, sender: LpId, port: Port, lookahead: Delay) -> Result<(), String> {
        self.lookahead_changes += 1;
        self.channels.set_lookahead(sender, port, lookahead)
    }

    /// Returns whether there is a tie seed.
    #[inline]
    pub(crate) fn shuffles_ties(&self) -> bool {
        self.tie_seed.is_some()
    }

    /// Returns the tie of an event: 0 without a tie seed.
    #[inline]
    pub(crate) fn tie(&self, instant: Instant, receiver: LpId, sender: Sender) -> u32 {
        match self.tie_seed {
            None => 0,
            Some(seed) => shuffled_tie(seed, instant, receiver, sender),
        }
    }

    /// Returns the order of an event and something that its LP does at the same time without an event:
    /// [`crate::context::Context::precedes`].
    #[inline]
    pub(crate) fn precedes(&self, instant: Instant, lp: LpId, sender: Sender, what: u32) -> Option<bool> {
        self.tie_seed.map(|seed| {
            let tie = || shuffle([!seed, instant.time.as_ps(), u64::from(what), lp.0.into()]);
            // An event of a later round follows from one of this time, and something without an event does
            // not.
            instant.round == 0 && shuffled_tie(seed, instant, lp, sender) < tie()
        })
    }

    /// Notes that `lp` commits an event at `instant`, if that is close to the bound on rounds.
    ///
    /// Engines that roll back call it at commit. For the other engines [`crate::any_model::Lps::execute`]
    /// calls it.
    #[inline]
    pub fn note_round(&self, instant: Instant, lp: LpId) {
        // The round at the bound itself is left out. When the first LP fails in that round, engines differ in
        // the LPs that they have already executed.
        if instant.round > 0
            && instant.round < self.round_limit
            && instant.round.saturating_add(LAST_ROUNDS) > self.round_limit
        {
            self.insert_round(instant.time, lp);
        }
    }

    #[cold]
    fn insert_round(&self, time: Time, lp: LpId) {
        self.last_rounds.lock().expect("no holder of this lock can panic").insert((time, lp));
    }

    /// Forgets the notes of [`World::note_round`] before `time`, which no error can need any more.
    ///
    /// Engines call it at intervals. Otherwise a model with many zero delays and a low bound would fill the
    /// memory with notes.
    pub fn forget_rounds_before(&self, time: Time) {
        let mut noted = self.last_rounds.lock().expect("no holder of this lock can panic");
        if !noted.is_empty() {
            *noted = noted.split_off(&(time, LpId(0)));
        }
    }

    /// Returns the failure of an LP that sends beyond the bound on rounds.
    pub(crate) fn too_many_rounds(&self, sender: LpId, receiver: LpId) -> ErrorKind {
        ErrorKind::Rounds { limit: self.round_limit, lps: vec![sender, receiver] }
    }

    /// Returns the error of an execution that failed. Everything before `place` must have been committed:
    /// only then are the LPs of a zero-delay loop known, and equal on every engine.
    pub fn error_at(&self, failure: Failure, place: Place) -> Error {
        let Failure { kind: ErrorKind::Rounds { limit, lps }, line } = failure else {
            return Error::at(failure, place);
        };
        let noted = self.last_rounds.lock().expect("no holder of this lock can panic");
        let of_this_time = noted.iter().filter(|(time, _)| *time == place.instant.time).map(|&(_, lp)| lp);
        let lps: BTreeSet<LpId> = of_this_time.chain(lps).collect();
        let kind = ErrorKind::Rounds { limit, lps: lps.into_iter().take(NAMED_LPS).collect() };
        Error::at(Failure { kind, line }, place)
    }
}

/// Never inlined, because most runs have no tie seed.
#[inline(never)]
pub(crate) fn shuffled_tie(seed: u64, instant: Instant, receiver: LpId, sender: Sender) -> u32 {
    shuffle([seed, instant.time.as_ps(), u64::from(instant.round), pair(receiver, sender)])
}

/// Combines two ids into one word.
fn pair(receiver: LpId, sender: Sender) -> u64 {
    u64::from(receiver.0) << 32 | u64::from(sender.rank())
}

/// Hashes a few words, so that every bit of each one counts (the finaliser of SplitMix64, chained).
fn shuffle(words: [u64; 4]) -> u32 {
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
    for word in words {
        hash = (hash ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
    }
    (hash >> 32) as u32 // The upper half is mixed better.
}
