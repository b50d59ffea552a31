//! The sessions of a program's node: which of them begin without state, how they end, and what a node can do
//! when it takes leave.

use parades_carriers::Constant;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::churn::{Churn, Ending, Schedule, Sessions};
use parades_program::{Node, Processes, Program, Start};

/// Node 0 comes and goes, and tells node 1 when it takes leave. Node 1 stays.
struct Guests {
    carrier: Constant,
    churn: Option<Churn>,
}

const NAMES: [&str; 6] = ["fresh", "kept", "crash", "leave", "stay", "farewells"];
const METRICS: Declared<6> = Declared::new([
    Declaration::counter("fresh", Unit::Count),
    Declaration::counter("kept", Unit::Count),
    Declaration::counter("crash", Unit::Count),
    Declaration::counter("leave", Unit::Count),
    Declaration::counter("stay", Unit::Count),
    Declaration::counter("farewells", Unit::Count),
]);

impl Program for Guests {
    type Message = ();
    type State = ();
    type Carrier = Constant;

    fn nodes(&self) -> u32 {
        2
    }
    fn carrier(&self) -> &Constant {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }
    fn start(&self, start: &mut Start<'_, Self>) {
        if start.id() == LpId(0) {
            start.spawn("guest", come_and_go);
        } else {
            start.spawn("host", count_farewells);
        }
    }
}

async fn come_and_go(node: Node<Guests>) {
    let mut sessions = Sessions::new(node, |guests| guests.churn.as_ref());
    while let Some(session) = sessions.next().await {
        node.count(METRICS.counter(if session.is_fresh() { "fresh" } else { "kept" }), 1);
        match session.run(node.sleep(Delay::from_ms(500))).await {
            Ending::Crash => node.count(METRICS.counter("crash"), 1),
            Ending::Leave => {
                node.count(METRICS.counter("leave"), 1);
                node.send(LpId(1), ());
            }
            Ending::Stay => {
                node.count(METRICS.counter("stay"), 1);
                return;
            }
        }
    }
}

async fn count_farewells(node: Node<Guests>) {
    loop {
        node.receive().await;
        node.count(METRICS.counter("farewells"), 1);
    }
}

/// Returns the counts by the order of [`NAMES`].
fn counts(churn: Option<Churn>) -> [u128; 6] {
    let model = Processes::new(Guests { carrier: Constant::new(Delay::from_ms(10)), churn });
    let outcome = sequential::run(&model, RunOptions::until(Time::from_secs(20))).expect("it runs");
    NAMES.map(|name| outcome.metrics.get(name).and_then(|metric| metric.counter()).expect("it is declared"))
}

/// Node 0 is there for two seconds, then for four, and then until after the end of the run.
fn schedule() -> Churn {
    let sessions = "0 1 3\n0 5 9\n0 12 30\n".to_owned();
    let schedule = Schedule::parse("sessions".as_ref(), sessions).expect("it is right");
    Churn::scheduled(schedule, Time::from_secs(1000))
}

#[test]
fn sessions_after_a_loss_of_state_are_fresh() {
    let [fresh, kept, ..] = counts(Some(schedule()));
    assert_eq!((fresh, kept), (3, 0));
    let [fresh, kept, ..] = counts(Some(schedule().with_keep(1.0)));
    assert_eq!((fresh, kept), (1, 2), "the first session has no state to keep");
}

#[test]
fn a_node_that_takes_leave_can_still_send_and_a_crash_is_told_apart() {
    // The third session is not over when the run ends.
    assert_eq!(counts(Some(schedule()))[2..], [0, 2, 0, 2]);
    assert_eq!(counts(Some(schedule().with_crash(1.0)))[2..], [2, 0, 0, 0]);
    assert_eq!(counts(None), [1, 0, 0, 0, 1, 0], "without churn there is one session, without an end");
}
