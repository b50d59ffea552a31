//! A program written out in its test.

use parades_carriers::Constant;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_program::{Node, Processes, Program, Start};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

type Main = Box<dyn Fn(Node<Script>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Nodes that all begin with the same process and keep a log. Messages are numbers, and take a millisecond.
pub(crate) struct Script {
    nodes: u32,
    main: Main,
    must_end: bool,
    carrier: Constant,
}

pub(crate) fn ms(ms: u64) -> Delay {
    Delay::from_ms(ms)
}

/// Adds a line to the node's log, with the time in milliseconds.
pub(crate) fn log(node: Node<Script>, line: &str) {
    let line = format!("{} {line}", node.now().as_ps() / 1_000_000_000);
    node.with_state(|log| log.push(line));
}

/// A flag that one process waits for and another sets, as channels of other crates do.
#[derive(Clone, Default)]
pub(crate) struct Flag(Arc<Mutex<(bool, Option<Waker>)>>);

impl Flag {
    pub(crate) fn set(&self) {
        let mut flag = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        flag.0 = true;
        if let Some(waker) = flag.1.take() {
            waker.wake();
        }
    }

    pub(crate) async fn wait(&self) {
        let poll = |context: &mut std::task::Context<'_>| {
            let mut flag = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            flag.1 = Some(context.waker().clone());
            if flag.0 { Poll::Ready(()) } else { Poll::Pending }
        };
        std::future::poll_fn(poll).await;
    }
}

/// A value that writes to the log when it is dropped.
pub(crate) struct TellsWhenDropped(pub(crate) Node<Script>);

impl Drop for TellsWhenDropped {
    fn drop(&mut self) {
        log(self.0, "dropped");
    }
}

impl Script {
    pub(crate) fn new<F>(
        nodes: u32,
        must_end: bool,
        main: impl Fn(Node<Script>) -> F + Send + Sync + 'static,
    ) -> Processes<Script>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let main: Main = Box::new(move |node| Box::pin(main(node)));
        Processes::new(Script { nodes, main, must_end, carrier: Constant::new(ms(1)) })
    }
}

impl Program for Script {
    type Message = u64;
    type State = Vec<String>;
    type Carrier = Constant;
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn carrier(&self) -> &Constant {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.table("log", vec![Column::new("line", Unit::Count)]);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Vec<String> {
        start.spawn("main", |node| (self.main)(node));
        Vec::new()
    }
    fn must_end(&self) -> bool {
        self.must_end
    }
    fn finish(&self, _: LpId, log: &Vec<String>, _: &End, metrics: &mut Metrics) {
        for line in log {
            metrics.row(MetricId(0), [Cell::Text(line.as_str().into())]);
        }
    }
}

pub(crate) fn run_with<F>(
    nodes: u32,
    must_end: bool,
    main: impl Fn(Node<Script>) -> F + Send + Sync + 'static,
) -> Result<Outcome, Error>
where
    F: Future<Output = ()> + Send + 'static,
{
    let until = Time::from_ps(1_000_000_000_000);
    parades_engine::sequential::run(&Script::new(nodes, must_end, main), RunOptions::until(until))
}

/// Runs a program for a second. Returns the outcome, and the log of all nodes.
pub(crate) fn run<F>(nodes: u32, main: impl Fn(Node<Script>) -> F + Send + Sync + 'static) -> (Outcome, Vec<String>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let outcome = run_with(nodes, false, main).expect("it can run");
    let text = |row: &Vec<Cell>| match &row[0] {
        Cell::Text(line) => line.to_string(),
        other => format!("{other:?}"),
    };
    let log = outcome.metrics.get("log").and_then(|log| log.table()).expect("it is declared");
    let lines = log.rows().iter().map(text).collect();
    (outcome, lines)
}

pub(crate) fn log_of<F>(nodes: u32, main: impl Fn(Node<Script>) -> F + Send + Sync + 'static) -> Vec<String>
where
    F: Future<Output = ()> + Send + 'static,
{
    run(nodes, main).1
}

pub(crate) fn counter(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).expect("it is declared")
}
