//! The carrier by capacity: arrivals that can be computed by hand, partitions, and one answer on every
//! engine.

use crate::support::{Exchange, arrivals, counter, run_under_all_engines};
use parades_carriers::underlay::Partition;
use parades_carriers::{Capacity, Matrix, Underlay};
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_program::{Processes, Program, Start};

/// Messages `(sent at, in ms; from; to; bits)`. Each sender awaits all its messages.
struct Sends {
    carrier: Capacity<u64>,
    nodes: u32,
    sends: &'static [(u64, u32, u32, u64)],
}

/// The arrivals at a node, `(from, bits, at)`, and the ends of the messages that it has sent.
#[derive(Debug, Default)]
struct Seen {
    arrivals: Vec<(u32, u64, Time)>,
    ends: Vec<(u64, bool, Time)>,
}

impl Program for Sends {
    type Message = u64;
    type State = Seen;
    type Carrier = Capacity<u64>;

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn carrier(&self) -> &Capacity<u64> {
        &self.carrier
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        let columns = ["node", "from", "bits", "at_us"].map(|name| Column::new(name, Unit::Count));
        metrics.table("arrivals", columns.into_iter().collect());
        let columns = ["node", "bits", "arrived", "at_us"].map(|name| Column::new(name, Unit::Count));
        metrics.table("ends", columns.into_iter().collect());
        metrics
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Seen {
        let id = start.id();
        for &(at, from, to, bits) in self.sends {
            if from == id.0 {
                start.spawn("sender", move |node| async move {
                    node.sleep_until(Time::from_ms(at)).await;
                    let outcome = node.send(LpId(to), bits).await;
                    let now = node.now();
                    node.with_state(|seen| seen.ends.push((bits, outcome.is_ok(), now)));
                });
            }
        }
        start.spawn("receiver", |node| async move {
            loop {
                let received = node.receive().await;
                let now = node.now();
                node.with_state(|seen| seen.arrivals.push((received.from.0, received.message, now)));
            }
        });
        Seen::default()
    }

    fn finish(&self, id: LpId, seen: &Seen, _: &End, metrics: &mut Metrics) {
        let us = |at: Time| at.as_ps() / 1_000_000;
        for &(from, bits, at) in &seen.arrivals {
            metrics.row(MetricId(0), [u64::from(id.0), u64::from(from), bits, us(at)].map(Cell::from));
        }
        for &(bits, arrived, at) in &seen.ends {
            metrics.row(MetricId(1), [u64::from(id.0), bits, u64::from(arrived), us(at)].map(Cell::from));
        }
    }
}

/// The bits of a message are all data.
fn bits(message: &u64) -> f64 {
    *message as f64
}

/// Runs, and returns the rows of a table.
fn run(sends: Sends, table: &str) -> Vec<[u64; 4]> {
    let outcome = sequential::run(&Processes::new(sends), RunOptions::until(Time::from_secs(100))).expect("it runs");
    let number = |cell: &Cell| if let Cell::Integer(number) = cell { *number } else { panic!("{cell:?}") };
    let table = outcome.metrics.get(table).and_then(|metric| metric.table()).expect("it is declared");
    table.rows().iter().map(|row| std::array::from_fn(|column| number(&row[column]))).collect()
}

/// Peers with up links of 1 Mbit/s and down links of 2 Mbit/s, 100 ms apart.
fn megabits(peers: usize) -> Capacity<u64> {
    Capacity::new(Underlay::constant(Delay::from_ms(100)), vec![[1e6, 2e6]; peers], bits)
}

#[test]
fn messages_between_two_peers_follow_each_other() {
    let sends: &[_] = &[(0, 0, 1, 500_000), (0, 0, 1, 1_000_000), (5_000, 0, 1, 100_000)];
    let arrived = run(Sends { carrier: megabits(2), nodes: 2, sends }, "arrivals");
    assert_eq!(arrived, [[1, 0, 500_000, 600_000], [1, 0, 1_000_000, 1_600_000], [1, 0, 100_000, 5_200_000]]);
    // The sender learns of the end of a transfer one least latency after that end.
    let ends = run(Sends { carrier: megabits(2), nodes: 2, sends }, "ends");
    assert_eq!(ends, [[0, 500_000, 1, 600_000], [0, 1_000_000, 1, 1_600_000], [0, 100_000, 1, 5_200_000]]);
}

#[test]
fn messages_of_several_peers_share_their_receivers_link() {
    // Four senders of a megabit at 500 kbit/s each; the fourth ends first, and leaves 667 kbit/s to the
    // others.
    let sends: &[_] = &[(0, 1, 0, 1_000_000), (0, 2, 0, 1_000_000), (0, 3, 0, 1_000_000), (0, 4, 0, 500_000)];
    let arrived = run(Sends { carrier: megabits(5), nodes: 5, sends }, "arrivals");
    assert_eq!(
        arrived.iter().map(|row| (row[1], row[3])).collect::<Vec<_>>(),
        [(4, 1_100_000), (1, 1_850_000), (2, 1_850_000), (3, 1_850_000)]
    );
}

#[test]
fn a_message_without_data_takes_latency_alone() {
    let sends: &[_] = &[(0, 0, 1, 2_000_000), (10, 0, 1, 0), (20, 1, 1, 0)];
    let arrived = run(Sends { carrier: megabits(2), nodes: 2, sends }, "arrivals");
    assert_eq!(arrived, [[1, 1, 0, 20_000], [1, 0, 0, 110_000], [1, 0, 2_000_000, 2_100_000]]);
}

#[test]
fn groups_without_a_common_link_have_the_arrivals_of_one_solver() {
    // Peers 0, 2 and 4 share links, and so do 1, 3 and 5. A message without data passes between the groups.
    let sends: &[_] = &[
        (0, 0, 4, 1_000_000),
        (0, 1, 5, 500_000),
        (10, 2, 4, 300_000),
        (20, 3, 5, 2_000_000),
        (30, 4, 5, 0),
        (40, 5, 1, 700_000),
    ];
    let one = run(Sends { carrier: megabits(6), nodes: 6, sends }, "arrivals");
    let grouped = || megabits(6).with_groups(&[0, 1, 0, 1, 0, 1]);
    assert_eq!(run(Sends { carrier: grouped(), nodes: 6, sends }, "arrivals"), one);
    assert_eq!(one.len(), sends.len());
    let model = Processes::new(Sends { carrier: grouped(), nodes: 6, sends });
    let names = [5, 6, 7].map(|lp| model.lp_name(LpId(lp)));
    assert_eq!(names, [None, Some("solver 0".into()), Some("solver 1".into())]);
}

#[test]
fn data_for_another_group_is_an_error_that_names_both() {
    let carrier = megabits(4).with_groups(&[0, 1, 0, 1]);
    let model = Processes::new(Sends { carrier, nodes: 4, sends: &[(5, 2, 3, 1_000)] });
    let error = sequential::run(&model, RunOptions::until(Time::from_secs(1))).expect_err("it fails").to_string();
    assert!(error.contains("it is in group 0 and sent data to node 3 in group 1"), "{error}");
}

#[test]
fn groups_that_cannot_be_are_refused() {
    for (of_peers, why) in [
        (&[0, 1, 1][..], "each peer is in a group"),
        (&[0, 2, 2, 0], "each group up to the last has a peer"),
        (&[0, 1, u32::MAX, 0], "there are no more groups than peers"),
    ] {
        let panic = std::panic::catch_unwind(|| megabits(4).with_groups(of_peers)).expect_err("refused");
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        assert!(message.expect("a sentence").contains(why), "{of_peers:?}");
    }
}

#[test]
fn a_message_that_a_partition_cuts_is_reported() {
    let partition = Partition::new(Time::from_ms(500), Time::from_ms(900), vec![0, 1]).expect("possible");
    let underlay = Underlay::constant(Delay::from_ms(100)).with_partition(partition);
    let carrier = || Capacity::new(underlay.clone(), vec![[1e6, 1e6]; 2], bits);
    let sends: &[_] = &[(600, 0, 1, 1_000), (900, 0, 1, 2_000)];
    assert_eq!(
        run(Sends { carrier: carrier(), nodes: 2, sends }, "ends"),
        [[0, 1_000, 0, 700_000], [0, 2_000, 1, 1_002_000]]
    );
    assert_eq!(run(Sends { carrier: carrier(), nodes: 2, sends }, "arrivals"), [[1, 0, 2_000, 1_002_000]]);
}

#[test]
fn all_engines_give_one_answer_with_latencies_and_without() {
    let table = Matrix::new(12, |from, to| Delay::from_us(1_000 + u64::from(from * 7 + to * 3)));
    let measured = Underlay::table(table, Delay::from_us(10), Delay::from_ms(1));
    for underlay in [measured, Underlay::constant(Delay::ZERO)] {
        let capacities = (0..12).map(|peer| [1e6 + f64::from(peer), 2e6]).collect();
        // A message is a time; all have the same data.
        let carrier = Capacity::new(underlay, capacities, |_| 1_000.0);
        let outcome = run_under_all_engines(Exchange { nodes: 12, messages: 20, carrier }, 1);
        let arrivals = arrivals(&outcome);
        assert_eq!(arrivals.len(), 240);
        let shortest = arrivals.iter().filter(|arrival| arrival.from != arrival.to).map(|arrival| arrival.took).min();
        assert!(shortest >= Some(Delay::from_us(999)), "{shortest:?}: a thousand bits at a megabit a second");
        let transferred = arrivals.iter().filter(|arrival| arrival.from != arrival.to).count();
        assert_eq!(counter(&outcome, "transfers"), transferred as u128);
    }
}
