//! What a random model is made of: small integers, each the simpler the smaller.

use parades_core::random::Rng;
use std::fmt;
use std::str::FromStr;

/// Each gene: what it decides, and its greatest value.
macro_rules! genes {
    ($($name:ident: $max:literal, $doc:literal;)*) => {
        /// One gene.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Gene { $(#[doc = $doc] $name,)* }

        /// The greatest value of each gene.
        pub const MAX: [u16; COUNT] = [$($max),*];
        const NAMES: [&str; COUNT] = [$(stringify!($name)),*];
        /// How many genes a model has.
        pub const COUNT: usize = [$($max),*].len();
    };
}

genes! {
    Lps: 39, "LPs beyond the first.";
    Channels: 4, "0 undeclared, 1 whole model, 2 by sender, 3 by pair, 4 by sender and by pair.";
    Degree: 3, "Channels by pair of each LP, beyond the first.";
    Lookahead: 3, "0 none, 1 one tick, 2 some ticks, 3 some ticks or none.";
    Delays: 3, "Beyond the lookahead: 0 nothing, 1 ticks, 2 exponential, 3 several distributions.";
    ZeroPercent: 100, "How often a delay is zero where it may be.";
    SelfPercent: 100, "How often an LP sends to itself.";
    Budget: 120, "Events that each start-up event may lead to.";
    Starts: 3, "Start-up events of an LP, at most.";
    Branch: 3, "Sends of an event, beyond the first.";
    Timers: 3, "Timers of an LP.";
    TimerPercent: 100, "How often an event sets, resets or cancels a timer.";
    Vector: 64, "Words of state.";
    Cargo: 4, "0 nothing, 1 a word, 2 bytes, 3 shared bytes, 4 all of them.";
    Measured: 1, "Whether metrics are recorded.";
    Notes: 1, "Whether notes are written.";
    Globals: 4, "Global events known from the start.";
    GlobalKinds: 15, "What they do: 1 set timers, 2 send, 4 change lookahead, 8 schedule more.";
    Controllers: 3, "How many LPs are controllers.";
    ControlDelay: 20, "Their control delay in ticks, beyond the first picosecond.";
    RequestPercent: 30, "How often they ask for a global event.";
    StopPerMille: 5, "How often they ask for the end.";
    Until: 60, "The end in ticks; 0 for when all is over.";
    Rounds: 2, "The bound on rounds: 0 none to speak of, 1 sixteen, 2 four.";
    Failure: 11, "0 none; the others as in `Failure`.";
    Rarity: 200, "How rare it is.";
    TieSeed: 3, "0 for no tie seed.";
    Seed: 9999, "The seed of all that is drawn.";
}

/// A random model's genes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Genes(pub [u16; COUNT]);

impl Genes {
    /// The genes drawn from a seed.
    pub fn from_seed(seed: u64) -> Genes {
        let mut rng = Rng::shared(seed, 10);
        let mut genes = Genes(MAX.map(|max| u16::try_from(rng.below(u64::from(max) + 1)).expect("at most `max`")));
        // Most models neither fail nor loop, or little else would be tested.
        if rng.chance(0.6) {
            genes.set(Gene::Failure, 0);
        }
        if rng.chance(0.6) {
            genes.set(Gene::Rounds, 0);
        }
        if rng.chance(0.3) {
            genes.set(Gene::Until, 0);
        }
        if rng.chance(0.5) {
            genes.set(Gene::ZeroPercent, genes.get(Gene::ZeroPercent) / 10);
        }
        if rng.chance(0.4) {
            genes.set(Gene::Lookahead, 1 + genes.get(Gene::Lookahead) % 2);
        }
        genes
    }

    /// One gene.
    pub fn get(&self, gene: Gene) -> u16 {
        self.0[gene as usize]
    }

    fn set(&mut self, gene: Gene, value: u16) {
        self.0[gene as usize] = value;
    }

    /// The simplest genes that still `fail`, found by trying smaller values one gene after another.
    pub fn shrunk(mut self, fails: impl Fn(Genes) -> bool) -> Genes {
        loop {
            let before = self;
            for index in 0..COUNT {
                let value = self.0[index];
                for smaller in [0, value / 2, value.saturating_sub(1)] {
                    let mut candidate = self;
                    candidate.0[index] = smaller;
                    if smaller < self.0[index] && fails(candidate) {
                        self = candidate;
                    }
                }
            }
            if self == before {
                return self;
            }
        }
    }
}

impl fmt::Display for Genes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&numbers.join(","))
    }
}

impl fmt::Debug for Genes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = NAMES.iter().zip(&self.0).filter(|(_, value)| **value > 0);
        f.debug_map().entries(named).finish()
    }
}

impl FromStr for Genes {
    type Err = String;

    fn from_str(text: &str) -> Result<Genes, String> {
        let numbers: Result<Vec<u16>, _> = text.split(',').map(str::parse).collect();
        let numbers = numbers.map_err(|error| format!("`{text}` is no list of genes: {error}"))?;
        let genes: [u16; COUNT] =
            numbers.try_into().map_err(|list: Vec<u16>| format!("there are {COUNT} genes, not {}", list.len()))?;
        match genes.iter().zip(MAX).position(|(gene, max)| *gene > max) {
            Some(index) => Err(format!("the gene {} is at most {}, not {}", NAMES[index], MAX[index], genes[index])),
            None => Ok(Genes(genes)),
        }
    }
}
