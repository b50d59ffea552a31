//! Tables of latencies, from memory and from files, with few nodes and with many.

use crate::support::{Exchange, arrivals, run_under_all_engines};
use parades_carriers::Matrix;
use parades_core::prelude::*;
use parades_program::Processes;

const MS: Delay = Delay::from_ms(1);

/// A table of 40 places that is not symmetric.
fn table() -> Matrix {
    Matrix::new(40, |from, to| Delay::from_us(100 + u64::from(from * 7 + to * 3) % 50 * 20))
}

#[test]
fn every_message_takes_its_pairs_latency_under_every_engine() {
    // Few nodes have a channel for each pair; many have a lookahead for each sender, and share places.
    for nodes in [1, 2, 20, 150] {
        let outcome = run_under_all_engines(Exchange { nodes, messages: 20, carrier: table() }, 1);
        let arrivals = arrivals(&outcome);
        assert_eq!(arrivals.len(), 20 * nodes as usize);
        for arrival in arrivals {
            let (from, to) = (arrival.from.0 % 40, arrival.to.0 % 40);
            assert_eq!(arrival.took, Delay::from_us(100 + u64::from(from * 7 + to * 3) % 50 * 20), "{arrival:?}");
        }
    }
}

#[test]
fn the_lookahead_is_the_least_entry_of_the_pair_or_of_the_sender() {
    let channels = |nodes| Model::channels(&Processes::new(Exchange { nodes, messages: 1, carrier: table() }));
    assert_eq!(channels(3).min_lookahead(), Some(Delay::from_us(160)), "from 0 to 1");
    assert!(channels(3).has_pairs() && channels(3).min_lookahead_to_anyone().is_none());
    let many = channels(130);
    // From place 0: 100 us to the places whose triple is a multiple of 50, so to place 0 itself, which node
    // 40 shares, too.
    assert_eq!(many.lookahead_to_anyone(LpId(0)), Some(Delay::from_us(100)));
    // From place 1: the least remainder of 7 + 3 to is 0, for place 31.
    assert_eq!(many.lookahead_to_anyone(LpId(41)), Some(Delay::from_us(100)));
    assert!(!many.has_pairs());
}

#[test]
fn nodes_at_one_place_are_near_each_other() {
    let between = |from: u32, to: u32| if from == to { Delay::ZERO } else { MS };
    let model = Processes::new(Exchange { nodes: 150, messages: 1, carrier: Matrix::new(40, between) });
    let channels = Model::channels(&model);
    assert_eq!(channels.lookahead_to(LpId(3), LpId(43)), Some(Delay::ZERO));
    assert_eq!(channels.lookahead_to(LpId(3), LpId(4)), Some(MS));
    let carrier = Matrix::new(40, between);
    let outcome = run_under_all_engines(Exchange { nodes: 150, messages: 20, carrier }, 1);
    assert!(
        arrivals(&outcome).iter().all(|arrival| (arrival.took == MS) == (arrival.from.0 % 40 != arrival.to.0 % 40))
    );
}

#[test]
fn a_symmetric_table_takes_half_the_room_and_says_the_same() {
    let latency = |a: u32, b: u32| Delay::from_us(10 + u64::from(a.abs_diff(b)));
    let (whole, half) = (Matrix::new(9, latency), Matrix::symmetric(9, latency));
    for from in 0..9 {
        for to in 0..9 {
            assert_eq!(whole.latency(LpId(from), LpId(to)), half.latency(LpId(from), LpId(to)));
        }
    }
}

#[test]
fn files_may_have_remarks_empty_lines_commas_and_fractions() {
    let text = "# ms\n\n0,1.5 ,2\r\n  3\t0 4\n5 6 0\n\n";
    let matrix = Matrix::parse("t".as_ref(), text.to_owned(), MS).expect("it is right");
    let expected = [[0, 1500, 2000], [3000, 0, 4000], [5000, 6000, 0]];
    assert_eq!(matrix, Matrix::new(3, |from, to| Delay::from_us(expected[from as usize][to as usize])));
}

#[test]
fn what_is_no_table_is_refused_with_its_place() {
    let refused = |text: &str| Matrix::parse("t.txt".as_ref(), text.to_owned(), MS).expect_err("no table").to_string();
    assert_eq!(
        refused("0 1\n2"),
        "t.txt:2:1: this line has 1 latencies, not 2; a table has as many latencies in each line as it has lines"
    );
    assert_eq!(
        refused("0\n1 0\n2 3\n"),
        "t.txt:3:1: this line has 2 latencies, not 3; a triangle has one in its first line, and one more in each further line"
    );
    assert_eq!(refused("0 1\n2 NaN"), "t.txt:2:3: a latency cannot be NaN; write a number of 0 or more");
    assert_eq!(refused("0 1e99\n2 0"), "t.txt:1:3: a latency cannot be 1e99; write a number of 0 or more");
    assert_eq!(refused("0 x\n2 0"), "t.txt:1:3: a latency cannot be `x`; write a number of 0 or more");
    assert_eq!(
        refused("# nothing\n"),
        "t.txt:1:1: there is no table of latencies; write a line of numbers for each place"
    );
    let missing = Matrix::read("/nowhere/at-all.txt".as_ref(), MS).expect_err("there is no such file").to_string();
    assert!(missing.starts_with("/nowhere/at-all.txt: the file cannot be read: "), "{missing}");
}
