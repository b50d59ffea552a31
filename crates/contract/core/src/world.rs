//! What all LPs of a run share and may read: how many there are, the seeds, the channels.

use crate::channel::{Channels, Port};
use crate::error::{Error, ErrorKind, Place};
use crate::event::{LpId, Sender};
use crate::lp::Lp;
use crate::model::Model;
use crate::run::RunOptions;
use crate::time::{Delay, Instant, Time};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// How many of the last rounds before the bound are noted, so that the error can name the LPs of the loop.
const LAST_ROUNDS: u32 = 64;
/// How many LPs of a loop of zero delays are named.
const NAMED_LPS: usize = 8;

/// Which LPs may ask for a global event, and how long after they ask it happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Controllers {
    /// The controllers; usually none.
    pub lps: Vec<LpId>,
    /// From the request to the global event; positive where there are controllers. It bounds windows as a channel from the controllers
    /// to every LP would.
    pub delay: Delay,
}

/// The read-only side of a run. It changes in global events alone, when every LP is at rest.
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
    /// Whether the notes of handlers are wanted, for a trace.
    pub(crate) notes: bool,
    /// Whether a trace wants to know what handlers send.
    pub(crate) sends: bool,
    /// Whether there is more to a key than what every run needs: a tie seed, or a trace that wants to know of it.
    pub(crate) has_ties_or_notes: bool,
    /// Who executed events in the last rounds before the bound, for the error that names them.
    last_rounds: Mutex<BTreeSet<(Time, LpId)>>,
}

impl World {
    /// The world of a run of `model`, its declarations checked.
    ///
    /// # Errors
    ///
    /// Where the model declares what is impossible, or needs more memory than it may have.
    pub fn new<M: Model>(model: &M, options: &RunOptions<'_>) -> Result<World, Error> {
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
            has_ties_or_notes: options.sends || options.tie_seed.is_some(),
            last_rounds: Mutex::default(),
        })
    }

    /// Whether the records of the model's LPs fit into so many bytes: to be asked before anything is made for each LP, its channels included.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`], with what they need.
    pub fn check_memory<M: Model>(model: &M, limit: Option<u64>) -> Result<(), Error> {
        let needed = u64::from(model.lps()) * size_of::<Lp<M::State>>() as u64;
        match limit {
            Some(limit) if needed > limit => Err(Error::new(ErrorKind::Memory { limit, needed })),
            _ => Ok(()),
        }
    }

    /// How many LPs there are.
    pub fn lps(&self) -> u32 {
        self.lps
    }

    /// The declared channels.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Who may ask for global events, and how long they take to happen.
    pub fn controllers(&self) -> &Controllers {
        &self.controllers
    }

    /// Whether `lp` may ask for global events.
    pub(crate) fn is_controller(&self, lp: LpId) -> bool {
        self.controllers.lps.binary_search(&lp).is_ok()
    }

    /// How many times a global event has changed a lookahead: what an engine derived from the channels holds while this stays the same.
    pub fn lookahead_changes(&self) -> u64 {
        self.lookahead_changes
    }

    /// Changes the lookahead of a channel, at a global event.
    pub(crate) fn set_lookahead(&mut self, sender: LpId, port: Port, lookahead: Delay) -> Result<(), String> {
        self.lookahead_changes += 1;
        self.channels.set_lookahead(sender, port, lookahead)
    }

    /// The tie shuffle of an event: 0 without a tie seed.
    #[inline]
    pub(crate) fn tie(&self, instant: Instant, receiver: LpId, sender: Sender) -> u32 {
        match self.tie_seed {
            None => 0,
            Some(seed) => shuffled_tie(seed, instant, receiver, sender),
        }
    }

    /// Notes that `lp` executes an event at `instant` for good, if that is close to the bound on rounds. Engines that roll back call it
    /// at commit; the others need not, as [`crate::lp::Lp::execute`] does.
    #[inline]
    pub fn note_round(&self, instant: Instant, lp: LpId) {
        // Not at the bound itself, where engines differ in how many LPs they have executed when the first fails.
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

    /// Forgets what [`World::note_round`] noted of the times before `time`, where no failure can come to light any more. Engines call it
    /// now and then, lest a model of many zero delays and a low bound fill the memory with notes.
    pub fn forget_rounds_before(&self, time: Time) {
        let mut noted = self.last_rounds.lock().expect("no holder of this lock can panic");
        if !noted.is_empty() {
            *noted = noted.split_off(&(time, LpId(0)));
        }
    }

    /// The failure of an LP that sends beyond the bound on rounds.
    pub(crate) fn too_many_rounds(&self, sender: LpId, receiver: LpId) -> ErrorKind {
        ErrorKind::Rounds { limit: self.round_limit, lps: vec![sender, receiver] }
    }

    /// The error of an execution that failed, made once everything before `place` has been executed for good: only then are the LPs of
    /// a loop of zero delays known, alike on every engine.
    pub fn error_at(&self, kind: ErrorKind, place: Place) -> Error {
        let ErrorKind::Rounds { limit, lps } = kind else { return Error::at(kind, place) };
        let noted = self.last_rounds.lock().expect("no holder of this lock can panic");
        let of_this_time = noted.iter().filter(|(time, _)| *time == place.instant.time).map(|&(_, lp)| lp);
        let lps: BTreeSet<LpId> = of_this_time.chain(lps).collect();
        Error::at(ErrorKind::Rounds { limit, lps: lps.into_iter().take(NAMED_LPS).collect() }, place)
    }
}

/// Out of the way of runs without a tie seed.
#[inline(never)]
fn shuffled_tie(seed: u64, instant: Instant, receiver: LpId, sender: Sender) -> u32 {
    shuffle([seed, instant.time.as_ps(), u64::from(instant.round), pair(receiver, sender)])
}

/// Two ids as one word.
fn pair(receiver: LpId, sender: Sender) -> u64 {
    u64::from(receiver.0) << 32 | u64::from(sender.rank())
}

/// A hash of a few words in which every bit of each counts (the finaliser of SplitMix64, chained).
fn shuffle(words: [u64; 4]) -> u32 {
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
    for word in words {
        hash = (hash ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
    }
    (hash >> 32) as u32 // The upper half, which is the better mixed.
}
