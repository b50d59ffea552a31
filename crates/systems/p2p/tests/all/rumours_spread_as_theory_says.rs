//! A second protocol, written here in full: a rumour that each node which knows it pushes to random others.
//! It spreads as theory says, and both drivers give one answer.

use parades_carriers::{Constant, Matrix};
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_p2p::churn::{Churn, Law, Schedule};
use parades_p2p::driver::{AsModel, AsProgram, Dependencies, Protocol, Timers, Wait};
use parades_program::RestorableCarrier;
use std::fmt::Debug;

/// The times at which a node pushes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pushes {
    /// At every full second, all nodes at once.
    InRounds,
    /// After intervals that are exponentially distributed, with a mean of a second.
    AtRandom,
}

#[derive(Clone, Debug)]
struct Rumours {
    nodes: u32,
    pushes: Pushes,
    fan_out: u32,
    churn: Option<Churn>,
}

/// The rumour, with the number of nodes that it has come through.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rumour(u32);

impl Payload for Rumour {
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.0));
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Gossiper {
    id: u32,
    sessions: u32,
    is_here: bool,
    rumour: Option<Rumour>,
    timers: Timers<2>,
}

const PUSH: usize = 0;
const LEAVE: usize = 1;
/// The histogram of the times at which nodes hear the rumour.
const HEARD: IntegerId = METRICS.integer("heard");
const METRICS: Declared<1> = Declared::new([Declaration::histogram("heard", Unit::Picoseconds)]);

impl Rumours {
    fn hear(&self, gossiper: &mut Gossiper, rumour: Rumour, driver: &mut impl Dependencies<Rumour>) {
        if gossiper.rumour.is_none() {
            gossiper.rumour = Some(rumour);
            driver.observe(HEARD, driver.now().as_ps());
            self.set_push(gossiper, driver);
        }
    }

    fn set_push(&self, gossiper: &mut Gossiper, driver: &mut impl Dependencies<Rumour>) {
        let second = Delay::from_secs(1);
        let wait = match self.pushes {
            Pushes::InRounds => Delay::from_ps(second.as_ps() - driver.now().as_ps() % second.as_ps()),
            Pushes::AtRandom => driver.rng().exponential_delay(second),
        };
        gossiper.timers.set(PUSH, driver.now().checked_add(wait).expect("a short run"));
    }
}

impl Protocol for Rumours {
    type Message = Rumour;
    type Machine = Gossiper;

    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn bytes(_: &Rumour) -> f64 {
        100.0
    }
    fn churn(&self) -> Option<&Churn> {
        self.churn.as_ref()
    }
    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }
    fn machine(&self, node: LpId, _: &Rng) -> Gossiper {
        Gossiper { id: node.0, sessions: 0, is_here: false, rumour: None, timers: Timers::new() }
    }
    fn wait(&self, gossiper: &Gossiper) -> Wait {
        if gossiper.is_here { Wait::Messages(gossiper.timers.next()) } else { Wait::Gone }
    }
    fn begin(&self, gossiper: &mut Gossiper, end: Time, driver: &mut impl Dependencies<Rumour>) {
        (gossiper.is_here, gossiper.sessions) = (true, gossiper.sessions + 1);
        gossiper.timers.set(LEAVE, end);
        if (gossiper.id, gossiper.sessions) == (0, 1) {
            self.hear(gossiper, Rumour(0), driver);
        }
    }
    fn on_message(&self, gossiper: &mut Gossiper, _: LpId, heard: Rumour, driver: &mut impl Dependencies<Rumour>) {
        self.hear(gossiper, Rumour(heard.0 + 1), driver);
    }
    fn on_timer(&self, gossiper: &mut Gossiper, driver: &mut impl Dependencies<Rumour>) {
        while let Some(timer) = gossiper.timers.pop_due(driver.now()) {
            if timer == LEAVE {
                gossiper.is_here = false;
                return;
            }
            for _ in 0..self.fan_out {
                let other = u32::try_from(driver.rng().below(u64::from(self.nodes - 1))).expect("a node");
                driver.send(LpId(other + u32::from(other >= gossiper.id)), gossiper.rumour.expect("it pushes"));
            }
            self.set_push(gossiper, driver);
        }
    }
    fn forget(&self, gossiper: &mut Gossiper) {
        (gossiper.is_here, gossiper.rumour, gossiper.timers) = (false, None, Timers::new());
    }
    fn fold(&self, gossiper: &Gossiper, digest: &mut Digest) {
        digest.word(u64::from(gossiper.rumour.map_or(u32::MAX, |Rumour(hops)| hops)));
    }
}

fn options(seed: u64, seconds: u64) -> RunOptions<'static> {
    RunOptions { seed, ..RunOptions::until(Time::ZERO.checked_add(Delay::from_secs(seconds)).expect("a short run")) }
}

/// Returns the mean time in seconds after which all nodes know the rumour.
fn mean_time(nodes: u32, pushes: Pushes, seeds: u32) -> f64 {
    let model = AsModel::new(Rumours { nodes, pushes, fan_out: 1, churn: None }, Constant::new(Delay::from_us(1)));
    let time = |seed| {
        let outcome = sequential::run(&model, options(u64::from(seed), 60)).expect("it runs");
        let heard = outcome.metrics.get("heard").and_then(|metric| metric.tally()).expect("it is declared");
        assert_eq!(heard.count(), u64::from(nodes), "all know it");
        Time::from_ps(heard.max().expect("all know it")).as_secs_f64()
    };
    (1..=seeds).map(time).sum::<f64>() / f64::from(seeds)
}

#[test]
fn in_rounds_all_know_it_after_log2_n_plus_ln_n_rounds() {
    // B. Pittel, "On Spreading a Rumor", 1987: log2 n + ln n + O(1). B. Doerr, M. Künnemann, "Tight Analysis
    // of Randomized Rumor Spreading in Complete Graphs", ANALCO 2014: the constant is in -1.116..2.765.
    for nodes in [64_u32, 1024] {
        let beyond = mean_time(nodes, Pushes::InRounds, 50) - f64::from(nodes).log2() - libm::log(f64::from(nodes));
        assert!((-1.116..2.765).contains(&beyond), "{nodes} nodes: {beyond} rounds beyond log2 n + ln n");
    }
}

#[test]
fn at_random_intervals_the_number_of_informed_nodes_is_a_pure_birth_process() {
    // With k informed nodes, the next one hears of it after (n - 1) / (k (n - k)) s on average.
    let nodes = 200_u32;
    let expected: f64 = (1..nodes).map(|k| f64::from(nodes - 1) / f64::from(k * (nodes - k))).sum();
    let found = mean_time(nodes, Pushes::AtRandom, 200);
    // The standard deviation of one time is about 1.8 s, so that of the mean is about 0.13 s.
    assert!((found - expected).abs() < 0.4, "{found} s, not {expected} s");
}

fn assert_one_answer<C>(rumours: &Rumours, carrier: &C, seed: u64)
where
    C: RestorableCarrier<Rumour, Access: PartialEq + Debug, Lp: Clone + PartialEq + Debug> + Clone,
{
    let options = || options(seed, 60);
    let expected = sequential::run(&AsProgram::model(rumours.clone(), carrier.clone()), options()).expect("it runs");
    let model = AsModel::new(rumours.clone(), carrier.clone());
    let check = |engine: &str, outcome: Result<Outcome, Error>| {
        let outcome = outcome.expect("it runs");
        assert_eq!((outcome.events, outcome.digest), (expected.events, expected.digest), "{engine}, seed {seed}");
        assert_eq!(outcome.metrics.get("heard"), expected.metrics.get("heard"), "{engine}, seed {seed}");
    };
    check("sequential", sequential::run(&model, options()));
    check("rollback-check", rollback_check::run(&model, options()));
    check("window", window::run(&model, options(), &window::Settings::of_threads(2)));
    check("null-message", null_message::run(&model, options(), &null_message::Settings::of_threads(2)));
    check("time-warp", time_warp::run(&model, options(), &time_warp::Settings::of_threads(3)));
}

#[test]
fn both_drivers_give_one_answer_where_nodes_come_and_go() {
    let law = |mean| Law::exponential(Delay::from_secs(mean)).expect("a mean above zero");
    let drawn = Churn::random(law(20), law(5), Time::MAX).with_crash(0.5);
    // Node 2 does not come back.
    let text = "2 0 10\n3 5 20\n3 22.5 30\n9 1 50\n".to_owned();
    let scheduled = Churn::scheduled(Schedule::parse("sessions".as_ref(), text).expect("it is right"), Time::MAX);
    let matrix = Matrix::new(5, |from, to| Delay::from_ms(u64::from(10 + 7 * from + to)));
    for churn in [None, Some(drawn), Some(scheduled)] {
        for (seed, pushes) in [(1, Pushes::InRounds), (2, Pushes::AtRandom), (3, Pushes::AtRandom)] {
            let rumours = Rumours { nodes: 30, pushes, fan_out: 2, churn: churn.clone() };
            // Messages that take a second arrive when nodes push.
            assert_one_answer(&rumours, &Constant::new(Delay::from_secs(1)), seed);
            assert_one_answer(&rumours, &matrix, seed);
        }
    }
}
