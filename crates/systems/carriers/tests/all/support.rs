//! A program over any carrier, run by every engine.

use parades_core::prelude::*;
use parades_engine::{null_message, rounds, sequential, window};
use parades_program::{Carrier, Processes, Program, Start};

/// Each node sends messages to random others at random times. A message is the time at which it was sent, in
/// picoseconds.
pub(crate) struct Exchange<C> {
    pub(crate) nodes: u32,
    pub(crate) messages: u32,
    pub(crate) carrier: C,
}

/// The arrival of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) from: LpId,
    pub(crate) to: LpId,
    pub(crate) sent: u64,
    pub(crate) took: Delay,
}

impl<C: Carrier<u64>> Program for Exchange<C> {
    type Message = u64;
    type State = Vec<Arrival>;
    type Carrier = C;

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn carrier(&self) -> &C {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        table_of_arrivals()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Vec<Arrival> {
        let messages = self.messages;
        start.spawn("sender", move |node| async move {
            for _ in 0..messages {
                node.sleep(node.random(|rng| rng.exponential_delay(Delay::from_ms(3)))).await;
                let nodes = u64::from(node.nodes());
                let to = node.random(|rng| rng.below(nodes));
                node.send(LpId(u32::try_from(to).expect("a node")), node.now().as_ps());
            }
        });
        start.spawn("receiver", |node| async move {
            loop {
                let received = node.receive().await;
                let (from, to, sent) = (received.from, node.id(), received.message);
                let took = Delay::from_ps(node.now().as_ps() - sent);
                node.with_state(|arrivals| arrivals.push(Arrival { from, to, sent, took }));
            }
        });
        Vec::new()
    }

    fn finish(&self, _: LpId, arrivals: &Vec<Arrival>, _: &End, metrics: &mut Metrics) {
        add_rows(arrivals, metrics);
    }
}

/// Declares the table of arrivals, as the first metric.
pub(crate) fn table_of_arrivals() -> Metrics {
    let mut metrics = Metrics::new();
    let columns = ["from", "to", "sent", "took"].map(|name| Column::new(name, Unit::Count));
    metrics.table("arrivals", columns.into_iter().collect());
    metrics
}

/// Adds rows to the table of arrivals.
pub(crate) fn add_rows(arrivals: &[Arrival], metrics: &mut Metrics) {
    for &Arrival { from, to, sent, took } in arrivals {
        metrics.row(MetricId(0), [u64::from(from.0), u64::from(to.0), sent, took.as_ps()].map(Cell::from));
    }
}

/// Returns the arrivals of a run.
pub(crate) fn arrivals(outcome: &Outcome) -> Vec<Arrival> {
    let table = outcome.metrics.get("arrivals").and_then(|metric| metric.table()).expect("it is declared");
    let integer = |cell: &Cell| if let Cell::Integer(value) = cell { *value } else { unreachable!("all are integers") };
    let node = |cell: &Cell| LpId(u32::try_from(integer(cell)).expect("a node"));
    let arrival = |row: &[Cell]| Arrival {
        from: node(&row[0]),
        to: node(&row[1]),
        sent: integer(&row[2]),
        took: Delay::from_ps(integer(&row[3])),
    };
    table.rows().iter().map(|row| arrival(row)).collect()
}

/// Runs a program for `seconds`, under every engine that needs no rollback, on one to three workers. All must
/// agree.
pub(crate) fn run_under_all_engines<P: Program>(program: P, seconds: u64) -> Outcome {
    let model = Processes::new(program);
    let end = Time::ZERO.checked_add(Delay::from_secs(seconds)).expect("a short run");
    let options = || RunOptions::until(end);
    let expected = sequential::run(&model, options()).expect("it runs");
    for workers in 1..=3 {
        let threshold = rounds::Threshold::Fixed(2);
        let settings = rounds::Settings { threshold, ..rounds::Settings::of_threads(workers) };
        let found = [
            ("rounds", rounds::run(&model, options(), &settings)),
            ("window", window::run(&model, options(), &window::Settings::of_threads(workers))),
            ("null-message", null_message::run(&model, options(), &null_message::Settings::of_threads(workers))),
        ];
        for (engine, outcome) in found {
            let outcome = outcome.expect("it runs");
            assert_eq!(outcome.digest, expected.digest, "{engine} on {workers}");
            assert_eq!(outcome.metrics, expected.metrics, "{engine} on {workers}");
        }
    }
    expected
}

/// Returns the value of a counter.
pub(crate) fn counter(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).expect("it is declared")
}
