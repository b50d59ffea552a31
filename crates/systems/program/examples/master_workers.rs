//! Master and workers: the master gives tasks to workers that are free.
//!
//! *Covers*: several processes of one node, semaphores, results of processes, receiving with a timeout,
//! killing.
//!
//! *Scenario*: the master on node 0 has 20 tasks for four workers. Each worker has two processors, and each
//! task takes 1 to 3 s on one. The worker on node 3 breaks down after 4 s. The master gives tasks that are
//! not done within 10 s to another worker.

use parades_carriers::Constant;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_program::{Either, Node, Processes, Program, Start, select};
use std::collections::VecDeque;
use std::sync::Arc;

const TASKS: u32 = 20;
const PROCESSORS: u32 = 2;

struct Cluster {
    carrier: Constant,
}

/// A message.
#[derive(Clone, Copy, Debug)]
enum Message {
    Task(u32),
    Done(u32),
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        match self {
            Message::Task(number) => digest.word(u64::from(*number) << 1),
            Message::Done(number) => digest.word(u64::from(*number) << 1 | 1),
        }
    }
}

/// The state of a node: for a worker its finished tasks; for the master the tasks given out again, and the
/// time of the end.
#[derive(Default)]
struct Books {
    done: u64,
    again: u64,
    end: Time,
}

const METRICS: Declared<1> = Declared::new([Declaration::table(
    "books",
    &[("node", Unit::Count), ("done", Unit::Count), ("again", Unit::Count), ("end", Unit::Count)],
)]);
const BOOKS: TableId = METRICS.table("books");

impl Program for Cluster {
    type Message = Message;
    type State = Books;
    type Carrier = Constant;

    fn nodes(&self) -> u32 {
        5
    }

    fn carrier(&self) -> &Constant {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Books {
        if start.id() == LpId(0) {
            start.spawn("master", master);
        } else {
            start.spawn("worker", worker);
        }
        Books::default()
    }

    fn finish(&self, id: LpId, books: &Books, _: &End, metrics: &mut Metrics) {
        let cells = [u64::from(id.0), books.done, books.again, books.end.as_ps() / 1_000_000_000];
        metrics.row(BOOKS, cells.map(Cell::from));
    }
}

async fn master(node: Node<Cluster>) {
    let mut waiting: VecDeque<u32> = (0..TASKS).collect();
    let mut free: VecDeque<LpId> = (1..node.nodes()).flat_map(|id| [LpId(id); PROCESSORS as usize]).collect();
    let mut given: Vec<(u32, LpId, Time)> = Vec::new();
    let mut done = 0;
    while done < TASKS {
        while let (Some(&task), Some(&worker)) = (waiting.front(), free.front()) {
            waiting.pop_front();
            free.pop_front();
            node.send(worker, Message::Task(task));
            given.push((task, worker, node.now().checked_add(Delay::from_secs(10)).unwrap_or(Time::MAX)));
        }
        let patience = given.iter().map(|&(.., due)| due).min().unwrap_or(Time::MAX);
        match select(node.receive(), node.sleep_until(patience)).await {
            Either::Left(received) => {
                let Message::Done(task) = received.message else { continue };
                given.retain(|&(other, ..)| other != task);
                free.push_back(received.from);
                done += 1;
            }
            Either::Right(()) => {
                // The worker of a late task is not asked again.
                let late: Vec<u32> =
                    given.iter().filter(|&&(.., due)| due <= node.now()).map(|&(task, ..)| task).collect();
                given.retain(|&(task, ..)| !late.contains(&task));
                node.with_state(|books| books.again += late.len() as u64);
                waiting.extend(late);
            }
        }
    }
    let now = node.now();
    node.with_state(|books| books.end = now);
}

async fn worker(node: Node<Cluster>) {
    node.spawn("service", |node| async move {
        let processors = Arc::new(node.semaphore(PROCESSORS));
        loop {
            let Message::Task(task) = node.receive().await.message else { continue };
            let processors = Arc::clone(&processors);
            node.spawn("task", move |node| async move {
                let _processor = processors.acquire(1).await;
                let time = node.random(|rng| rng.uniform_delay(Delay::from_secs(1), Delay::from_secs(3)));
                node.sleep(time).await;
                node.send(LpId(0), Message::Done(task));
                node.with_state(|books| books.done += 1);
            });
        }
    });
    if node.id() == LpId(3) {
        node.sleep(Delay::from_secs(4)).await;
        node.kill_others();
        node.disconnect();
    }
}

/// Runs the example. Returns its output.
pub(crate) fn run() -> Result<String, Error> {
    let model = Processes::new(Cluster { carrier: Constant::new(Delay::from_ms(1)) });
    let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(100_000_000_000_000)))?;
    let mut text = String::new();
    for row in
        outcome.metrics.get("books").and_then(|books| books.table()).map(|books| books.rows()).unwrap_or_default()
    {
        text += &match &row[..] {
            [Cell::Integer(0), _, Cell::Integer(again), Cell::Integer(end)] => {
                format!("all tasks were done after {end} ms; {again} had to be given out again\n")
            }
            [Cell::Integer(node), Cell::Integer(done), ..] => format!("the worker on node {node} did {done}\n"),
            _ => String::new(),
        };
    }
    Ok(text)
}

#[allow(dead_code, reason = "the test of the examples has a main function of its own")]
#[allow(clippy::print_stdout, reason = "it is what examples do")]
fn main() -> Result<(), Error> {
    print!("{}", run()?);
    Ok(())
}
