//! Underlays from measured latencies: tables with gaps, pings between cities, and coordinates.

use crate::support::{Exchange, arrivals, run_under_all_engines};
use parades_carriers::underlay::{Cities, Coordinates, Jitter, Statistic, Underlay};
use parades_carriers::{Matrix, Missing};
use parades_core::prelude::*;
use parades_program::Processes;
use std::sync::Arc;

const MS: Delay = Delay::from_ms(1);

#[test]
fn gaps_in_a_table_are_refused_or_filled_by_the_way_back_or_a_detour() {
    let parse = |text: &str, missing| Matrix::parse_with("t.txt".as_ref(), text.to_owned(), MS, missing);
    for gap in ["-1", "nan", "NA", "-"] {
        let text = format!("0 5 {gap}\n6 0 2\n9 {gap} 0");
        assert!(
            parse(&text, Missing::Refuse)
                .expect_err("a gap")
                .to_string()
                .starts_with("t.txt:1:5: a latency cannot be ")
        );
        let filled = parse(&text, Missing::Detour).expect("all gaps can be filled");
        let expected = [[0, 5, 9], [6, 0, 2], [9, 2, 0]];
        assert_eq!(filled, Matrix::new(3, |from, to| Delay::from_ms(expected[from as usize][to as usize])));
    }
    // Over the third place or the fourth: 1 + 3 is less than 4 + 4. A filled gap fills no other one.
    let filled = parse("0\n- 0\n1 3 0\n4 4 2 0", Missing::Detour).expect("there is a detour");
    assert_eq!(filled.latency(LpId(0), LpId(1)), Delay::from_ms(4));
    let refused = parse("0 - 1\n- 0 -\n1 - 0", Missing::Detour).expect_err("place 2 has no latency").to_string();
    assert_eq!(
        refused,
        "t.txt:1:3: no other place joins the places 1 and 2, counted from 1; write a latency, or leave one of the two places out"
    );
    assert!(parse("0 x\n1 0", Missing::Detour).is_err(), "a word is no gap");
}

/// Checks that each message took its latency, and that all engines agree.
fn check_arrivals(underlay: &Underlay, peers: u32) {
    let carrier = underlay.clone();
    for arrival in arrivals(&run_under_all_engines(Exchange { nodes: peers, messages: 30, carrier }, 5)) {
        assert_eq!(underlay.latency(arrival.from, arrival.to), Some(arrival.took), "{arrival:?}");
    }
}

#[test]
fn a_table_has_a_least_latency_and_a_local_one() {
    let matrix = Matrix::parse("t".as_ref(), "0 0 20\n0.001 0 30\n20 30 0".to_owned(), MS).expect("a table");
    let underlay = Underlay::table(matrix, Delay::from_us(10), Delay::from_us(700));
    let latency = |from, to| underlay.latency(LpId(from), LpId(to)).map(Delay::as_ps);
    assert_eq!([latency(0, 1), latency(1, 0)], [Some(10_000_000); 2], "raised to the least latency");
    assert_eq!([latency(0, 3), latency(3, 0), latency(1, 4)], [Some(700_000_000); 3], "at one place");
    assert_eq!([latency(3, 2), latency(0, 5)], [Some(20_000_000_000); 2], "peers 3 and 5 are at places 0 and 2");
    assert_eq!(latency(4, 4), Some(0), "to itself");
    check_arrivals(&underlay, 8);
    let lookahead = |nodes, of| {
        let model = Processes::new(Exchange { nodes, messages: 1, carrier: underlay.clone() });
        Model::channels(&model).lookahead_to_anyone(LpId(of))
    };
    assert_eq!([lookahead(3, 2), lookahead(6, 2)], [Some(Delay::from_ms(20)), Some(Delay::from_us(700))]);
    assert_eq!([lookahead(1, 0), lookahead(2, 1)], [None, Some(Delay::from_us(10))]);
}

/// Returns the pings of four cities: least, mean and greatest round trip, and deviation, in microseconds.
fn cities() -> Cities {
    let entry = |a: u32, b: u32| {
        let least = 1000 + 30_000 * a.abs_diff(b);
        [least, least + 4000, least + 12_000, 2000]
    };
    let pairs = (0..4).flat_map(|a| (0..4).map(move |b| entry(a, b)));
    let bytes: Vec<u8> = pairs.flatten().flat_map(u32::to_le_bytes).collect();
    Cities::parse("ping.bin".as_ref(), &bytes).expect("pings")
}

#[test]
fn pings_of_cities_give_latencies_and_their_measured_jitter() {
    let cities = Arc::new(cities());
    let table = |statistic| Underlay::table(cities.latencies(statistic), Delay::from_us(1), MS);
    check_arrivals(&table(Statistic::Mean), 4);
    let underlay = table(Statistic::Least);
    let carrier = underlay.clone().with_jitter(Jitter::measured(Arc::clone(&cities)));
    let outcome = run_under_all_engines(Exchange { nodes: 4, messages: 1000, carrier }, 9);
    let added: Vec<f64> = arrivals(&outcome)
        .iter()
        .filter(|arrival| arrival.from != arrival.to)
        .map(|arrival| {
            let least = underlay.latency(arrival.from, arrival.to).expect("a peer");
            arrival.took.as_secs_f64() - least.as_secs_f64()
        })
        .collect();
    // Of the round trip 4 ± 2 ms, so of one way 2 ± 1 ms, cut off at zero and at 6 ms, two deviations below
    // the mean: 2.055 ms and 0.94 ms.
    let mean = added.iter().sum::<f64>() / added.len() as f64;
    let deviation = (added.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / added.len() as f64).sqrt();
    assert!(added.len() > 2500 && added.iter().all(|&s| (0.0..=0.006).contains(&s)));
    assert!((mean - 2.055e-3).abs() < 0.1e-3 && (deviation - 0.94e-3).abs() < 0.06e-3, "{mean}, {deviation}");
}

#[test]
fn pings_that_are_none_are_refused() {
    let refused = |bytes: &[u8]| Cities::parse("p.bin".as_ref(), bytes).expect_err("no pings").to_string();
    assert!(refused(&[]).starts_with("p.bin: the file has 0 bytes, which is no square of entries of 16 bytes"));
    assert!(refused(&[0; 17]).starts_with("p.bin: the file has 17 bytes"));
    let mut bytes = vec![0; 64];
    bytes[32] = 1; // The least round trip from city 1 to city 0 is above the mean.
    assert!(
        refused(&bytes).starts_with("p.bin: the round trips from city 1 to city 0, counted from 0, are not the least")
    );
}

#[test]
fn coordinates_give_distances_and_a_lookahead() {
    let text = "# x y h\n0 0 1\n\n3, 4, 0.5\r\n\t6 8 0\n";
    let coordinates = Coordinates::parse("c".as_ref(), text.to_owned(), MS).expect("coordinates");
    assert_eq!(coordinates.places(), 3);
    let underlay = Underlay::coordinates(coordinates, Delay::from_us(1), MS);
    let latency = |from, to| underlay.latency(LpId(from), LpId(to)).map(Delay::as_ps);
    assert_eq!(
        [latency(0, 1), latency(1, 2), latency(2, 0)].map(|ps| ps.map(|ps| ps / 1_000_000)),
        [Some(6_500), Some(5_500), Some(11_000)]
    );
    check_arrivals(&underlay, 5);
    let refused = |text: &str| Coordinates::parse("c".as_ref(), text.to_owned(), MS).expect_err("none").to_string();
    assert_eq!(
        refused("1 2\n1 2 3"),
        "c:2:1: this line has 3 numbers; write 1 to 16 coordinates and a height, as many numbers in each line"
    );
    assert_eq!(refused(" 1 inf"), "c:1:2: `inf` is no coordinate; write a number");
    assert_eq!(refused("# nothing"), "c:1:1: there are no coordinates; write a line of numbers for each place");
}

#[test]
fn coordinates_fitted_to_a_table_of_distances_predict_it() {
    // Points on a plane, with heights: a table that coordinates can fit exactly.
    let rng = Rng::shared(5, 0);
    let points: Vec<[f64; 3]> = (0..80).map(|_| [100.0 * rng.unit(), 60.0 * rng.unit(), 5.0 * rng.unit()]).collect();
    let exact = Matrix::symmetric(80, |a, b| {
        let ([x, y, h], [other_x, other_y, other_h]) = (points[a as usize], points[b as usize]);
        let apart = ((x - other_x).powi(2) + (y - other_y).powi(2)).sqrt();
        Delay::from_secs_f64(if a == b { 0.0 } else { 1e-3 * (apart + h + other_h) })
    });
    let (fitted, error) = Coordinates::fit(&exact, 2, &Rng::shared(5, 1)).expect("80 places");
    assert_eq!(fitted.places(), 80);
    assert!(error < 0.03, "{error}");
    let (_, in_one) = Coordinates::fit(&exact, 1, &Rng::shared(5, 1)).expect("80 places");
    assert!(in_one > 2.0 * error, "a line does not hold a plane: {in_one}");
    assert_eq!(Coordinates::fit(&exact, 2, &Rng::shared(5, 1)).expect("80 places"), (fitted, error));
    assert!(Coordinates::fit(&exact, 0, &rng).is_err() && Coordinates::fit(&exact, 17, &rng).is_err());
}

#[test]
fn tables_may_have_names() {
    let parse = |text: &str| Matrix::parse("t.csv".as_ref(), text.to_owned(), MS).map_err(|error| error.to_string());
    let plain = parse("0 5 9\n6 0 2\n9 3 0").expect("a table");
    for named in [
        ",Oslo,Lima,Sao Paulo\nOslo,0,5,9\nLima,6,0,2\nSao Paulo,9,3,0\n",
        "city,\"Oslo\",\"Lima\",\"Sao Paulo\"\n\"Oslo\",0,5,9\n\"Lima\",6,0,2\n\"Sao Paulo\",\"9\",3,0\n",
        "Oslo Lima Paris\n0 5 9\n6 0 2\n9 3 0\n",
        "Oslo Lima Paris\nOslo 0 5 9\nLima 6 0 2\nParis 9 3 0\n",
        ",7,8,9\n7,0,5,9\n8,6,0,2\n9,9,3,0\n",
    ] {
        assert_eq!(parse(named).as_ref(), Ok(&plain), "{named}");
    }
    let triangle = parse("A B C\nA 0\nB 5 0\nC 9 2 0\n").expect("a triangle");
    assert_eq!(triangle, parse("0\n5 0\n9 2 0").expect("a triangle"));
    let refused = parse("A B\nB 0 5\nA 6 0\n").expect_err("another order");
    assert_eq!(
        refused,
        "t.csv:2:1: `B` stands where the line of `A` is expected; give lines and columns the same names in the same order"
    );
    let gap = "a,b,c\n0,,3\n1,0,2\n3,2,0";
    assert!(
        parse(gap).expect_err("an empty cell").starts_with("t.csv:2:3: there is no latency from place 1 to place 2")
    );
    let filled =
        Matrix::parse_with("t.csv".as_ref(), gap.to_owned(), MS, Missing::Detour).expect("there is a way back");
    assert_eq!(filled.latency(LpId(0), LpId(1)), MS);
}

#[test]
fn lists_of_pairs_are_tables() {
    let us = Delay::from_us(1);
    let parse = |text: &str, unit, missing| {
        Matrix::parse_with("king".as_ref(), text.to_owned(), unit, missing).map_err(|error| error.to_string())
    };
    let ms = [[0, 20, 40], [20, 0, 60], [40, 60, 0]];
    let expected = Matrix::new(3, |from, to| Delay::from_ms(ms[from as usize][to as usize]));
    let p2psim = "topology p2psim 3\nfailure_model NullFailureModel\n\nnode 1 \nnode 2 \nnode 3 \n\n";
    assert_eq!(
        parse(&format!("{p2psim}1,2 20000\n1,3 40000\n2,3 60000\n"), us, Missing::Refuse).as_ref(),
        Ok(&expected)
    );
    // Numbers as names have their order, and a pair may have two directions.
    let triples = "10 2 60000\n2 10 60000\n1 10 40000\n1 2 20000\n";
    assert_eq!(parse(triples, us, Missing::Refuse).as_ref(), Ok(&expected));
    let pings = "\"source\",\"destination\",\"timestamp\",\"min\",\"avg\",\"max\",\"mdev\"\n\
        \"0\",\"7\",\"2020-07-20 00:00:17.000\",\"9\",\"10.5\",\"12\",\"0.8\"\n\
        \"0\",\"7\",\"2020-07-20 01:00:17.000\",\"9\",\"29.5\",\"12\",\"0.8\"\n\
        \"7\",\"9\",\"2020-07-20 00:00:17.000\",\"9\",\"60\",\"12\",\"0.8\"\n\
        \"0\",\"9\",\"2020-07-20 00:00:17.000\",\"9\",\"40\",\"12\",\"0.8\"\n";
    assert_eq!(parse(pings, MS, Missing::Refuse).as_ref(), Ok(&expected));
    let gap = format!("{p2psim}1,2 20000\n1,3 40000\n");
    let refused = parse(&gap, us, Missing::Refuse).expect_err("a pair is missing");
    assert!(refused.contains("there is no latency from place 2 to place 3, counted from 1"), "{refused}");
    assert_eq!(parse(&gap, us, Missing::Detour).as_ref(), Ok(&expected), "20 + 40 over place 1");
    let refused = parse("topology p2psim 3\n1,2 5\n", us, Missing::Detour).expect_err("a place is missing");
    assert!(refused.starts_with("king:1:1: this line promises 3 places, and the list has 2; "), "{refused}");
    let refused = parse(&format!("{p2psim}1,2 x\n"), us, Missing::Refuse).expect_err("no number");
    assert!(refused.starts_with("king:8:1: `1,2 x` is no pair of places with a latency; "), "{refused}");
}
