//! Lengths of sessions and absences against theory, and sessions from a file.

use parades_core::prelude::*;
use parades_p2p::churn::{Churn, Law, Schedule, Stay};

const DRAWS: usize = 200_000;
const MEAN: Delay = Delay::from_secs(600);

/// Returns draws in seconds, in increasing order.
fn draws(law: &Law) -> Vec<f64> {
    let rng = Rng::stream(1, 7);
    let mut draws: Vec<f64> = (0..DRAWS).map(|_| law.sample(&rng).as_secs_f64()).collect();
    draws.sort_by(f64::total_cmp);
    draws
}

fn mean(draws: &[f64]) -> f64 {
    draws.iter().sum::<f64>() / draws.len() as f64
}

fn median(draws: &[f64]) -> f64 {
    draws[draws.len() / 2]
}

fn assert_near(found: f64, expected: f64, share: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < share, "{what}: {found}, not {expected}");
}

#[test]
fn stable_nodes_neither_come_nor_go() {
    let law = || Law::exponential(Delay::from_secs(1)).expect("possible");
    let churn = Churn::random(law(), law(), Time::from_secs(100));
    let churn = churn.with_crowd(1.0, Time::from_secs(5), law(), 1).with_stable(3);
    for node in 0..6 {
        let (node, is_stable) = (LpId(node), node < 3);
        let stay = churn.begin(node, Time::ZERO, &Rng::stream(1, node.0));
        assert_eq!((churn.first(node).is_none(), stay == Stay::for_ever()), (is_stable, is_stable), "{node:?}");
    }
}

#[test]
fn means_and_medians_are_those_of_theory() {
    let ln2 = std::f64::consts::LN_2;
    // The medians, for a mean of 600 s. Weibull: scale (ln 2)^(1/k), with scale = mean / gamma(1 + 1/k);
    // gamma(3) = 2, gamma(1.5) = sqrt(pi) / 2. Pareto: least 2^(1/a), with least = mean (a - 1) / a.
    // Log-normal: mean exp(-sigma^2 / 2); exp(-0.5) = 0.606531.
    let cases = [
        ("exponential", Law::exponential(MEAN), 600.0 * ln2),
        ("Weibull, shape 0.5", Law::weibull(MEAN, 0.5), 300.0 * ln2 * ln2),
        ("Weibull, shape 2", Law::weibull(MEAN, 2.0), 1200.0 / std::f64::consts::PI.sqrt() * ln2.sqrt()),
        ("Pareto, shape 3", Law::pareto(MEAN, 3.0), 400.0 * 2_f64.cbrt()),
        ("log-normal, sigma 1", Law::log_normal(MEAN, 1.0), 600.0 * 0.606_531),
    ];
    for (name, law, expected) in cases {
        let draws = draws(&law.expect("it is possible"));
        assert_near(mean(&draws), 600.0, 0.02, name);
        assert_near(median(&draws), expected, 0.02, name);
    }
}

#[test]
fn a_pareto_session_is_never_shorter_than_its_least() {
    let draws = draws(&Law::pareto(MEAN, 3.0).expect("it is possible"));
    assert!(draws[0] >= 400.0 && draws[0] < 400.1, "{}", draws[0]);
}

#[test]
fn a_weibull_law_of_shape_one_is_exponential() {
    let (one, other) = (Law::weibull(MEAN, 1.0).expect("possible"), Law::exponential(MEAN).expect("possible"));
    for (one, other) in draws(&one).into_iter().zip(draws(&other)) {
        assert!((one - other).abs() < 1e-9, "{one} and {other}");
    }
}

#[test]
fn what_is_no_law_is_refused_with_a_sentence() {
    assert_eq!(Law::exponential(Delay::ZERO), Err("a mean length of zero leaves no time".into()));
    let refused = |law: Result<Law, String>| law.expect_err("it is impossible");
    assert_eq!(
        refused(Law::pareto(MEAN, 1.0)),
        "the shape of a Pareto distribution must be above 1 for it to have a mean, not 1"
    );
    assert!(refused(Law::weibull(MEAN, 0.0)).contains("the shape of a Weibull distribution must be positive"));
    assert!(refused(Law::log_normal(MEAN, -1.0)).contains("sigma"));
    assert!(refused(Law::weibull(MEAN, f64::NAN)).contains("shape"));
}

#[test]
fn a_session_is_drawn_again_from_a_restored_stream() {
    let law = |mean| Law::exponential(Delay::from_secs(mean)).expect("possible");
    let churn = Churn::random(law(60), law(10), Time::MAX).with_crash(0.5);
    let rng = Rng::stream(3, 4);
    let mut now = Time::ZERO;
    for _ in 0..100 {
        let restored = rng.clone();
        let stay = churn.begin(LpId(4), now, &rng);
        assert_eq!(stay, churn.begin(LpId(4), now, &restored));
        assert_eq!(rng.state(), restored.state());
        assert!(stay.end > now);
        now = churn.back(LpId(4), &stay, stay.end);
        assert!(now > stay.end);
    }
}

#[test]
fn half_of_the_sessions_crash_where_half_are_to() {
    let law = |mean| Law::exponential(Delay::from_secs(mean)).expect("possible");
    let churn = Churn::random(law(60), law(10), Time::MAX).with_crash(0.5);
    let rng = Rng::stream(3, 4);
    let crashes = (0..10_000).filter(|_| churn.begin(LpId(0), Time::ZERO, &rng).crashes).count();
    assert!(crashes.abs_diff(5000) < 200, "{crashes}"); // Four standard deviations.
}

fn at(seconds: f64) -> Time {
    Time::try_from_secs_f64(seconds).expect("a time")
}

#[test]
fn a_file_says_when_nodes_come_and_go() {
    let text = "# two nodes\n4 10 20\n\n4 50 60.5\n9 0 5\n4 30 40\n";
    let schedule = Schedule::parse("trace".as_ref(), text.to_owned()).expect("it is right");
    assert_eq!((schedule.sessions(), schedule.last_node()), (4, Some(LpId(9))));
    let churn = Churn::scheduled(schedule, at(55.0));
    let rng = Rng::stream(1, 1);
    let begin = |node, now| churn.begin(LpId(node), at(now), &rng);
    assert_eq!([4, 9, 5].map(|node| churn.first(LpId(node))), [Some(at(10.0)), Some(at(0.0)), None]);
    let first = begin(4, 10.0);
    assert_eq!((first.end, first.crashes), (at(20.0), false));
    assert_eq!(churn.back(LpId(4), &first, at(20.0)), at(30.0));
    // A node that goes late, when its next session has begun, comes back at once.
    assert_eq!(churn.back(LpId(4), &first, at(33.0)), at(33.0));
    assert_eq!(begin(4, 33.0).end, at(40.0));
    // After 55 s no node goes, and all come back.
    assert_eq!(begin(4, 50.0).end, Time::MAX);
    let last = begin(9, 0.0);
    assert_eq!(churn.back(LpId(9), &last, last.end), at(55.0));
    // A node without a line stays.
    assert_eq!(begin(5, 0.0).end, Stay::for_ever().end);
}

#[test]
fn a_line_that_is_no_session_is_refused_with_its_place() {
    let refused = |text: &str| Schedule::parse("t".as_ref(), text.to_owned()).expect_err("no schedule").to_string();
    let form = "write `node join_s leave_s` as numbers, `3 0 9.5`, and no line of names";
    assert_eq!(refused("0 1 2\n3 4\n"), format!("t:2:1: this line has 2 words, not 3; {form}"));
    assert_eq!(refused("-1 1 2"), format!("t:1:1: `-1` is no number of a node; {form}"));
    assert_eq!(refused("0 now 2"), format!("t:1:3: `now` is no time in seconds; {form}"));
    assert_eq!(refused("  0 1 1e99"), format!("t:1:7: `1e99` is no time in seconds; {form}"));
    assert_eq!(refused("0 2 2"), "t:1:5: the session ends before it has begun; let it end later");
    assert_eq!(
        refused("0 5 9\n1 0 3\n0 0 5.5\n"),
        "t:1:1: node 0 joins at 5 s, before its session from 0 s has ended; let the sessions of a node not overlap"
    );
    let form = "write `host n start_1 end_1 … start_n end_n`, or `node join_s leave_s` in all lines";
    assert_eq!(refused("a\n"), format!("t:1:1: this line has 1 word; {form}"));
    assert_eq!(refused("a 1 2 3\nb x 1 2\n"), format!("t:2:3: `x` is no number of sessions; {form}"));
    assert_eq!(
        refused("a 2 0 5 6\n"),
        format!("t:1:3: 2 sessions have 2 times each, but this line has 3 times; {form}")
    );
    assert_eq!(
        refused("a 0\nb 2 20 25 0 22\n"),
        "t:2:11: a session begins at 0 s, but the one before it ends at 25 s; list the sessions of a host in the order of time"
    );
    assert_eq!(
        refused("a 2 20 25 0 10\n"),
        "t:1:11: a session begins at 0 s, but the one before it ends at 25 s; list the sessions of a host in the order of time"
    );
    let missing = Schedule::read("/nowhere/at-all".as_ref()).expect_err("there is no such file").to_string();
    assert!(missing.starts_with("/nowhere/at-all: the file cannot be read: "), "{missing}");
}
