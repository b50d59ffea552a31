//! Lengths of sessions and of absences, as nodes of a run have them, against the law asked for: a
//! Kolmogorov–Smirnov test for each law.

use parades_carriers::Constant;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::churn::{Churn, Law};
use parades_p2p::driver::{AsModel, AsProgram, Dependencies, Protocol, Wait};

const NODES: u32 = 4000;
const END: Time = Time::from_secs(20_000);
const SESSION: f64 = 600.0;
const ABSENCE: f64 = 200.0;

/// Nodes that do nothing but come and go.
#[derive(Clone, Debug)]
struct Guests(Churn);

/// The times of a node's first session, and of its return. A time of `Time::MAX` is after the end of the run.
#[derive(Clone, Debug, PartialEq)]
struct Guest {
    came: Time,
    went: Time,
    back: Time,
    is_here: bool,
    end: Time,
}

const TIMES: MetricId = MetricId(0);

impl Protocol for Guests {
    type Message = ();
    type Machine = Guest;

    fn nodes(&self) -> u32 {
        NODES
    }
    fn bytes(_: &()) -> f64 {
        1.0
    }
    fn churn(&self) -> Option<&Churn> {
        Some(&self.0)
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        let columns = ["came", "went", "back"].map(|name| Column::new(name, Unit::Picoseconds));
        assert_eq!(metrics.table("times", columns.to_vec()), TIMES);
        metrics
    }
    fn machine(&self, _: LpId, _: &Rng) -> Guest {
        Guest { came: Time::MAX, went: Time::MAX, back: Time::MAX, is_here: false, end: Time::MAX }
    }
    fn wait(&self, guest: &Guest) -> Wait {
        if guest.is_here { Wait::Messages(guest.end) } else { Wait::Gone }
    }
    fn begin(&self, guest: &mut Guest, end: Time, driver: &mut impl Dependencies<()>) {
        (guest.is_here, guest.end) = (true, end);
        if guest.came == Time::MAX {
            guest.came = driver.now();
        } else if guest.back == Time::MAX {
            guest.back = driver.now();
        }
    }
    fn on_message(&self, _: &mut Guest, _: LpId, (): (), _: &mut impl Dependencies<()>) {}
    fn on_timer(&self, guest: &mut Guest, _: &mut impl Dependencies<()>) {
        guest.is_here = false;
    }
    fn leave(&self, guest: &mut Guest, at: Time, _: bool) {
        guest.is_here = false;
        guest.went = guest.went.min(at);
    }
    fn forget(&self, _: &mut Guest) {}
    fn fold(&self, guest: &Guest, digest: &mut Digest) {
        [guest.came, guest.went, guest.back].into_iter().for_each(|time| digest.word(time.as_ps()));
    }
    fn finish(&self, _: LpId, guest: &Guest, _: &End, metrics: &mut Metrics) {
        metrics.row(TIMES, [guest.came, guest.went, guest.back].map(|time| Cell::Integer(time.as_ps())));
    }
}

/// Returns the lengths in seconds of first sessions and of the absences after them, sorted. A length that the
/// end of the run cuts off is infinite.
fn lengths(churn: Churn, as_program: bool) -> [Vec<f64>; 2] {
    let options = RunOptions::until(END);
    let carrier = Constant::new(Delay::from_secs(1));
    let outcome = if as_program {
        sequential::run(&AsProgram::model(Guests(churn), carrier), options)
    } else {
        sequential::run(&AsModel::new(Guests(churn), carrier), options)
    };
    let outcome = outcome.expect("it runs");
    let rows = outcome.metrics.get("times").and_then(|metric| metric.table()).expect("it is declared").rows();
    let lengths = |from: usize| {
        let length = |row: &Vec<Cell>| {
            let [from, to] = [from, from + 1].map(|column| {
                let Cell::Integer(time) = row[column] else { panic!("a time") };
                time
            });
            if to == u64::MAX { f64::INFINITY } else { (to - from) as f64 / 1e12 }
        };
        let begun = |row: &&Vec<Cell>| row[from] != Cell::Integer(u64::MAX);
        let mut lengths: Vec<f64> = rows.iter().filter(begun).map(length).collect();
        lengths.sort_by(f64::total_cmp);
        lengths
    };
    [lengths(0), lengths(1)]
}

/// Returns the greatest distance between the distribution of sorted lengths and `cdf`, below `limit`.
fn distance(lengths: &[f64], limit: f64, cdf: impl Fn(f64) -> f64) -> f64 {
    let n = lengths.len() as f64;
    let below = lengths.iter().take_while(|&&length| length < limit).enumerate();
    below
        .map(|(index, &length)| {
            (index as f64 / n - cdf(length)).abs().max(((index + 1) as f64 / n - cdf(length)).abs())
        })
        .fold(0.0, f64::max)
}

/// The distance that one in a thousand samples of the law exceeds, times the root of their number (N.
/// Smirnov, "Table for Estimating the Goodness of Fit of Empirical Distributions", 1948).
const CRITICAL: f64 = 1.95;

type Cdf = fn(f64) -> f64;
type MakeLaw = fn(Delay) -> Result<Law, String>;

/// The laws, each with its distribution function for a mean of 1.
fn laws() -> [(&'static str, MakeLaw, Cdf); 5] {
    [
        ("exponential", Law::exponential, |x| 1.0 - libm::exp(-x)),
        // The scale is 1 / gamma(1 + 1/k): gamma(3) = 2, and gamma(1.5) = sqrt(pi) / 2.
        ("Weibull, shape 0.5", |mean| Law::weibull(mean, 0.5), |x| 1.0 - libm::exp(-libm::sqrt(2.0 * x))),
        ("Weibull, shape 2", |mean| Law::weibull(mean, 2.0), |x| 1.0 - libm::exp(-std::f64::consts::PI / 4.0 * x * x)),
        ("Pareto, shape 2", |mean| Law::pareto(mean, 2.0), |x| if x < 0.5 { 0.0 } else { 1.0 - 0.25 / (x * x) }),
        (
            "log-normal, sigma 1",
            |mean| Law::log_normal(mean, 1.0),
            |x| libm::erfc(-(libm::log(x) + 0.5) / std::f64::consts::SQRT_2) / 2.0,
        ),
    ]
}

#[test]
fn sessions_and_absences_fit_the_law_asked_for() {
    for (name, law, cdf) in laws() {
        let law = |mean: f64| law(Delay::from_secs_f64(mean)).expect("it is possible");
        // Half of the nodes crash, and half leave by themselves.
        let churn = Churn::random(law(SESSION), law(ABSENCE), Time::MAX).with_crash(0.5);
        for as_program in [false, true] {
            let [sessions, absences] = lengths(churn.clone(), as_program);
            assert_eq!(sessions.len(), NODES as usize);
            let critical = CRITICAL / f64::from(NODES).sqrt();
            let found = distance(&sessions, END.as_secs_f64(), |x| cdf(x / SESSION));
            assert!(found < critical, "{name}: the sessions are {found} off, more than {critical}");
            // An absence that begins late is cut off early. Of those that began in the first half of the run,
            // only those longer than the second half are.
            let found = distance(&absences, END.as_secs_f64() / 2.0, |x| cdf(x / ABSENCE));
            assert!(absences.len() > 3500 && found < critical + 0.01, "{name}: the absences are {found} off");
        }
    }
}

#[test]
fn the_test_tells_one_law_from_another() {
    let law = |mean: f64| Law::weibull(Delay::from_secs_f64(mean), 0.9).expect("it is possible");
    let [sessions, _] = lengths(Churn::random(law(SESSION), law(ABSENCE), Time::MAX), false);
    let found = distance(&sessions, END.as_secs_f64(), |x| 1.0 - libm::exp(-x / SESSION));
    assert!(found > CRITICAL / f64::from(NODES).sqrt(), "a Weibull law of shape 0.9 is not exponential: {found}");
}

#[test]
fn a_flash_crowd_comes_by_its_law() {
    let law = |mean: f64| Law::exponential(Delay::from_secs_f64(mean)).expect("it is possible");
    let at = Time::from_secs(1000);
    let churn = Churn::staying(Time::MAX).with_crowd(0.5, at, law(60.0), 7);
    let comings: Vec<Time> = (0..NODES).filter_map(|node| churn.first(LpId(node))).collect();
    // 2000 of 4000, with a standard deviation of 32.
    assert!(comings.len().abs_diff(2000) < 130, "{}", comings.len());
    assert_eq!(churn.first(LpId(0)), None, "node 0 is there from the start");
    let mut delays: Vec<f64> = comings.iter().map(|coming| coming.since(at).as_secs_f64()).collect();
    delays.sort_by(f64::total_cmp);
    let found = distance(&delays, f64::MAX, |x| 1.0 - libm::exp(-x / 60.0));
    assert!(found < CRITICAL / (delays.len() as f64).sqrt(), "{found}");
    // Nobody goes.
    assert!(lengths(churn, false)[0].iter().all(|length| length.is_infinite()));
}
