//! MapReduce: words are counted by mappers, and the counts added up by reducers.
//!
//! *Covers*: messages that share their data, barriers between processes of a node, results of processes,
//! waiting for all of several.
//!
//! *Scenario*: node 0 sends each of three mappers a part of a text. A mapper counts the words of its part,
//! with a process for each line, and sends each word's count to the reducer of that word. Reducers send their
//! sums to node 0 when they have heard from all mappers.

use parades_carriers::Constant;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_program::{Node, Processes, Program, Start, all};
use std::collections::BTreeMap;
use std::sync::Arc;

const TEXT: &[&str] = &[
    "the ring goes round\nthe ring is round",
    "a ball goes to and fro\nand the ball is round",
    "round and round it goes\nand where it stops\nnobody knows",
];
const MAPPERS: u32 = 3;
const REDUCERS: u32 = 2;

struct MapReduce {
    carrier: Constant,
}

/// A message.
#[derive(Clone, Debug)]
enum Message {
    /// To a mapper: its part of the text.
    Part(Shared<Box<[u8]>>),
    /// To a reducer and to node 0: words with their numbers of occurrences.
    Counts(Shared<Vec<u8>>),
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        match self {
            Message::Part(bytes) => bytes.fold(digest),
            Message::Counts(bytes) => bytes.fold(digest),
        }
    }
}

type Counts = BTreeMap<String, u64>;

fn write(counts: &Counts) -> Message {
    let lines: String = counts.iter().map(|(word, count)| format!("{word} {count}\n")).collect();
    Message::Counts(Shared::new(lines.into_bytes()))
}

/// Adds the counts of a message.
fn add(counts: &mut Counts, message: &Message) {
    let Message::Counts(bytes) = message else { return };
    for line in String::from_utf8_lossy(bytes).lines() {
        if let Some((word, count)) = line.split_once(' ') {
            *counts.entry(word.to_owned()).or_default() += count.parse::<u64>().unwrap_or_default();
        }
    }
}

const METRICS: Declared<1> =
    Declared::new([Declaration::table("words", &[("word", Unit::Count), ("count", Unit::Count)])]);
const WORDS: TableId = METRICS.table("words");

impl Program for MapReduce {
    type Message = Message;
    type State = Counts;
    type Carrier = Constant;

    fn nodes(&self) -> u32 {
        1 + MAPPERS + REDUCERS
    }

    fn carrier(&self) -> &Constant {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        METRICS.metrics()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Counts {
        match start.id().0 {
            0 => start.spawn("client", client),
            id if id <= MAPPERS => start.spawn("mapper", mapper),
            _ => start.spawn("reducer", |node| gather(node, MAPPERS)),
        }
        Counts::new()
    }

    fn must_end(&self) -> bool {
        true
    }

    fn finish(&self, id: LpId, counts: &Counts, _: &End, metrics: &mut Metrics) {
        for (word, &count) in counts.iter().filter(|_| id == LpId(0)) {
            metrics.row(WORDS, [Cell::Text(word.as_str().into()), count.into()]);
        }
    }
}

async fn client(node: Node<MapReduce>) {
    for (part, mapper) in TEXT.iter().zip(1..) {
        node.send(LpId(mapper), Message::Part(Shared::new(part.as_bytes().into())));
    }
    gather(node, REDUCERS).await;
}

/// Adds up the counts of `senders` other nodes. A reducer passes the sums on.
async fn gather(node: Node<MapReduce>, senders: u32) {
    let mut counts = Counts::new();
    for _ in 0..senders {
        add(&mut counts, &node.receive().await.message);
    }
    if node.id() == LpId(0) {
        node.with_state(|state| *state = counts);
    } else {
        node.send(LpId(0), write(&counts));
    }
}

async fn mapper(node: Node<MapReduce>) {
    let Message::Part(part) = node.receive().await.message else { return };
    let text = String::from_utf8_lossy(&part).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let barrier = Arc::new(node.barrier(u32::try_from(lines.len()).unwrap_or(u32::MAX)));
    let counting = lines.into_iter().map(|line| {
        let barrier = Arc::clone(&barrier);
        node.spawn("line", move |node| async move {
            let mut counts = Counts::new();
            for word in line.split_whitespace() {
                node.sleep(Delay::from_ms(1)).await;
                *counts.entry(word.to_owned()).or_default() += 1;
            }
            // The last process at the barrier knows the longest line.
            barrier.wait().await;
            counts
        })
    });
    let mut by_reducer = vec![Counts::new(); REDUCERS as usize];
    for counts in all(counting).await.into_iter().flatten() {
        for (word, count) in counts {
            let reducer = usize::from(word.as_bytes()[0] > b'm');
            *by_reducer[reducer].entry(word).or_default() += count;
        }
    }
    for (counts, reducer) in by_reducer.iter().zip(1 + MAPPERS..) {
        node.send(LpId(reducer), write(counts));
    }
}

/// Runs the example. Returns its output.
pub(crate) fn run() -> Result<String, Error> {
    let model = Processes::new(MapReduce { carrier: Constant::new(Delay::from_ms(2)) });
    let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(1_000_000_000_000)))?;
    let mut text = String::new();
    for row in
        outcome.metrics.get("words").and_then(|words| words.table()).map(|words| words.rows()).unwrap_or_default()
    {
        if let [Cell::Text(word), Cell::Integer(count)] = &row[..] {
            text += &format!("{count} {word}\n");
        }
    }
    Ok(text)
}

#[allow(dead_code, reason = "the test of the examples has a main function of its own")]
#[allow(clippy::print_stdout, reason = "it is what examples do")]
fn main() -> Result<(), Error> {
    print!("{}", run()?);
    Ok(())
}
