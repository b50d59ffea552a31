//! The genes of a random model: small integers. A smaller value is simpler.

use parades_core::random::Rng;
use std::fmt;
use std::str::FromStr;

/// Declares the genes: the name of each, its largest value, and its meaning.
macro_rules! genes {
    ($($name:ident: $max:literal, $doc:literal;)*) => {
        /// One gene.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Gene { $(#[doc = $doc] $name,)* }

        /// The largest value of each gene.
        pub const MAX: [u16; COUNT] = [$($max),*];
        const NAMES: [&str; COUNT] = [$(stringify!($name)),*];
        /// The number of genes of a model.
        pub const COUNT: usize = [$($max),*].len();
    };
}

genes! {
    Lps: 39, "The number of LPs, minus one.";
    Channels: 4, "Declared channels: 0 none, 1 whole model, 2 by sender, 3 by pair, 4 by sender and by pair.";
    Degree: 3, "The number of channels by pair of each LP, minus one.";
    Lookahead: 4, "The lookahead: 0 none, 1 one tick, 2 a few, 3 a few or none, 4 from one to very many.";
    Delays: 3, "Delays beyond the lookahead: 0 none, 1 ticks, 2 exponential, 3 several distributions.";
    ZeroPercent: 100, "The percentage of delays that are zero, if they may be.";
    SelfPercent: 100, "The percentage of sends to the LP itself.";
    Budget: 120, "The number of events that each start-up event may cause.";
    Starts: 3, "The largest number of start-up events of an LP.";
    Branch: 3, "The largest number of sends of an event, minus one.";
    Timers: 3, "The number of timers of an LP.";
    TimerPercent: 100, "The percentage of events that set, reset or cancel a timer.";
    Vector: 64, "The number of words of state.";
    Cargo: 4, "The cargo of messages: 0 none, 1 a word, 2 bytes, 3 shared bytes, 4 a mixture.";
    Measured: 1, "1 if metrics are recorded.";
    Notes: 1, "1 if notes are written.";
    Globals: 4, "The number of global events known from the start.";
    GlobalKinds: 15, "A bit set of what they do: 1 set timers, 2 send, 4 change lookahead, 8 schedule more.";
    Controllers: 3, "The number of controllers.";
    ControlDelay: 20, "The control delay in ticks, plus one picosecond.";
    RequestPercent: 30, "The percentage of their events that ask for a global event.";
    StopPerMille: 5, "Per mille of their events that ask for the end.";
    Until: 60, "The end in ticks; 0 for no end before all events are executed.";
    Rounds: 2, "The bound on rounds: 0 the default, 1 sixteen, 2 four.";
    Failure: 11, "The kind of failure, by its number in `Failure`; 0 for none.";
    Rarity: 200, "The failure happens once in this number of chances, plus one.";
    TieSeed: 3, "The tie seed; 0 for none.";
    Seed: 9999, "The seed of everything that is drawn.";
    Groups: 8, "The number of groups of LPs; 0 for none.";
}

/// The genes of a random model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Genes(pub [u16; COUNT]);

impl Genes {
    /// Draws genes from a seed.
    pub fn from_seed(seed: u64) -> Genes {
        let rng = Rng::shared(seed, 10);
        let draw = |rng: &Rng, max: u16| u16::try_from(rng.below(u64::from(max) + 1)).expect("at most `max`");
        let mut genes = Genes([0; COUNT]);
        for (gene, max) in genes.0.iter_mut().zip(MAX).take(Gene::Groups as usize) {
            *gene = draw(&rng, max);
        }
        // From a stream of its own, and often none, so that models of known seeds stay as they were.
        let of_groups = Rng::shared(seed, 16);
        if of_groups.chance(0.4) {
            genes.set(Gene::Groups, draw(&of_groups, MAX[Gene::Groups as usize]));
        }
        // Most models should neither fail nor loop. Otherwise little else would be tested.
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

    /// Returns the value of a gene.
    pub fn get(&self, gene: Gene) -> u16 {
        self.0[gene as usize]
    }

    fn set(&mut self, gene: Gene, value: u16) {
        self.0[gene as usize] = value;
    }

    /// Returns the simplest genes for which `fails` still returns true. It tries smaller values, one gene
    /// after another.
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
