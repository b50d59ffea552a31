//! Random models: together they do everything that a model may do, at the worst moments.
//!
//! Most delays are multiples of a *tick*, so that there are many ties. Each message has a *budget*, the
//! number of events that it may still cause, so that every model ends.

mod actions;
mod genes;
mod globals;
mod model;

pub use genes::{COUNT, Gene, Genes, MAX};
pub use globals::Change;

use parades_core::digest::Digest;
use parades_core::prelude::*;
use parades_core::random::{LogNormal, Weibull};
use serde::{Deserialize, Serialize};

/// The unit of most delays.
const TICK: Delay = Delay::from_ps(1000);

/// Returns the span of `count` ticks.
fn ticks(count: u64) -> Delay {
    Delay::from_ps(count * TICK.as_ps())
}

/// The way in which a model fails, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    None,
    Fail,
    Panic,
    Lookahead,
    Overflow,
    NoPort,
    NoSuchLp,
    NotController,
    Start,
    Visit,
    Act,
    Conclude,
}

const FAILURES: [Failure; 12] = [
    Failure::None,
    Failure::Fail,
    Failure::Panic,
    Failure::Lookahead,
    Failure::Overflow,
    Failure::NoPort,
    Failure::NoSuchLp,
    Failure::NotController,
    Failure::Start,
    Failure::Visit,
    Failure::Act,
    Failure::Conclude,
];

const COUNT_ALL: MetricId = MetricId(0);
const TALLY: MetricId = MetricId(1);
const HISTOGRAM: MetricId = MetricId(2);
const FLOAT: MetricId = MetricId(3);
const STEADY: MetricId = MetricId(4);
const SERIES: MetricId = MetricId(5);
const TABLE: MetricId = MetricId(6);
const LEFT: MetricId = MetricId(7);
const END: MetricId = MetricId(8);

/// The content of a message besides its budget.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Cargo {
    /// Nothing.
    None,
    /// A word.
    Word(u64),
    /// Bytes of its own.
    Bytes(Vec<u8>),
    /// Bytes that several messages share.
    Shared(Shared<Vec<u8>>),
}

/// The messages of LPs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    /// The number of events that the message may still cause.
    pub budget: u64,
    /// The rest of the content.
    pub cargo: Cargo,
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.budget);
        match &self.cargo {
            Cargo::None => digest.word(0),
            Cargo::Word(word) => digest.word(*word),
            Cargo::Bytes(bytes) => bytes.fold(digest),
            Cargo::Shared(bytes) => bytes.fold(digest),
        }
    }
}

/// The state of an LP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    events: u64,
    /// The number of events that the LP may still cause by itself.
    reserve: u64,
    /// The number of timers that the LP may still set.
    settings: u64,
    /// A hash of everything that the LP executed, in order.
    trail: u64,
    mean: f64,
    words: Vec<u64>,
    /// The present lookahead of the LP's channels, as a percentage of the declared one.
    lookahead_percent: u64,
}

/// A model made from genes.
#[derive(Clone, Debug)]
pub struct RandomModel {
    genes: Genes,
    failure: Failure,
    /// The channels by pair of each LP.
    ports: Vec<Vec<(LpId, Delay)>>,
    /// The least delay of each LP to any LP.
    anyone: Vec<Option<Delay>>,
    /// The group of each LP, and its least delay to other groups.
    groups: Vec<Option<(u32, Delay)>>,
    controllers: Controllers,
    /// Part of the digest of each state, unless it is 0: a planted fault.
    fault: u64,
}

impl RandomModel {
    /// Makes the model of these genes.
    pub fn new(genes: Genes) -> RandomModel {
        let mut rng = Rng::shared(u64::from(genes.get(Gene::Seed)), 11);
        let lps = u64::from(genes.get(Gene::Lps)) + 1;
        let any_lp = |rng: &Rng| LpId(u32::try_from(rng.below(lps)).expect("below a u32"));
        let lookahead = |rng: &Rng| match genes.get(Gene::Lookahead) {
            0 => Delay::ZERO,
            1 => TICK,
            2 => ticks(1 + rng.below(8)),
            3 => ticks(rng.below(4)),
            _ => ticks((1 + rng.below(2)) << rng.below(7)),
        };
        let whole = lookahead(&mut rng);
        let channels = genes.get(Gene::Channels);
        let (mut ports, mut anyone) = (Vec::new(), Vec::new());
        for _ in 0..lps {
            let degree = if channels >= 3 { usize::from(genes.get(Gene::Degree)) + 1 } else { 0 };
            ports.push((0..degree).map(|_| (any_lp(&mut rng), lookahead(&mut rng))).collect());
            anyone.push(match channels {
                0 => Some(Delay::ZERO),
                1 => Some(whole),
                3 => None,
                _ => rng.chance(0.7).then(|| lookahead(&mut rng)),
            });
        }
        let mut controllers: Vec<LpId> = (0..genes.get(Gene::Controllers)).map(|_| any_lp(&mut rng)).collect();
        controllers.dedup();
        let delay = Delay::from_ps(1).saturating_add(ticks(u64::from(genes.get(Gene::ControlDelay))));
        let failure = FAILURES[usize::from(genes.get(Gene::Failure)) % FAILURES.len()];
        let controllers = Controllers { lps: controllers, delay };
        let of_groups = Rng::shared(u64::from(genes.get(Gene::Seed)), 15);
        let group = |anyone: &Option<Delay>| {
            let number = u32::try_from(of_groups.below(u64::from(genes.get(Gene::Groups)))).expect("below a u32");
            let lookahead = anyone.unwrap_or_default().saturating_add(ticks(of_groups.below(64)));
            of_groups.chance(0.9).then_some((number, lookahead))
        };
        let has_groups = genes.get(Gene::Groups) > 0;
        let groups = anyone.iter().map(|anyone| has_groups.then(|| group(anyone)).flatten()).collect();
        RandomModel { genes, failure, ports, anyone, groups, controllers, fault: 0 }
    }

    /// Returns the least delay with which `sender` may send to `receiver` without naming a channel.
    fn lookahead_to(&self, sender: LpId, receiver: LpId) -> Option<Delay> {
        let lookahead = self.anyone[sender.index()];
        match (self.groups[sender.index()], self.groups[receiver.index()]) {
            (Some((group, _)), Some((other, _))) if group == other => lookahead,
            (Some((_, further)), _) => lookahead.map(|lookahead| lookahead.max(further)),
            (None, _) => lookahead,
        }
    }

    /// Makes the digest depend on the rank, so that ranks other than 0 have wrong digests.
    pub fn plant_fault(&mut self, rank: usize) {
        self.fault = rank as u64;
    }

    /// Returns the options of a run of this model.
    pub fn options(&self) -> RunOptions<'static> {
        let until = match self.gene(Gene::Until) {
            0 => Time::MAX,
            until => Time::from_ps(until * TICK.as_ps()),
        };
        let tie_seed = Some(self.gene(Gene::TieSeed)).filter(|seed| *seed > 0);
        let notes = self.gene(Gene::Notes) > 0;
        RunOptions { seed: self.gene(Gene::Seed), tie_seed, notes, ..RunOptions::until(until) }
    }

    fn any_lp(&self, rng: &Rng) -> LpId {
        LpId(u32::try_from(rng.below(u64::from(self.lps()))).expect("below a u32"))
    }

    fn gene(&self, gene: Gene) -> u64 {
        u64::from(self.genes.get(gene))
    }

    fn percent(&self, gene: Gene, rng: &Rng) -> bool {
        rng.below(100) < self.gene(gene)
    }

    /// True if the failure of the model happens now.
    fn fails(&self, kind: Failure, rng: &Rng) -> bool {
        self.failure == kind && rng.below(self.gene(Gene::Rarity) + 1) == 0
    }

    /// Draws a delay of at least `lookahead`.
    fn draw_delay(&self, lookahead: Delay, rng: &Rng) -> Delay {
        if lookahead == Delay::ZERO && self.percent(Gene::ZeroPercent, rng) {
            return Delay::ZERO;
        }
        let beyond = match (self.gene(Gene::Delays), rng.below(4)) {
            (0, _) => {
                if lookahead == Delay::ZERO {
                    TICK
                } else {
                    Delay::ZERO
                }
            }
            (1, _) => ticks(rng.below(4) + u64::from(lookahead == Delay::ZERO)),
            (2, _) => rng.exponential_delay(ticks(3)),
            (_, 0) => rng.uniform_delay(Delay::from_ps(1), ticks(5)),
            (_, 1) => TICK.scaled(rng.normal().abs()),
            (_, 2) => TICK.scaled(Weibull::new(2.0, 0.7).map_or(1.0, |weibull| weibull.sample(rng))),
            _ => TICK.scaled(LogNormal::new(0.0, 1.0).map_or(1.0, |normal| normal.sample(rng))),
        };
        lookahead.saturating_add(beyond)
    }

    fn draw_cargo(&self, rng: &Rng) -> Cargo {
        let bytes = |rng: &Rng| rng.next_u64().to_le_bytes().repeat(usize::try_from(rng.below(20)).unwrap_or(0));
        match if self.gene(Gene::Cargo) < 4 { self.gene(Gene::Cargo) } else { rng.below(4) } {
            0 => Cargo::None,
            1 => Cargo::Word(rng.next_u64()),
            2 => Cargo::Bytes(bytes(rng)),
            _ => Cargo::Shared(Shared::new(bytes(rng))),
        }
    }
}

/// The text of the panics that models raise on purpose.
pub const EXPECTED_PANIC: &str = "a random model panics on purpose";

impl ByCopy for RandomModel {}
