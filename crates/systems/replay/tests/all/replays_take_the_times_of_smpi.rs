//! Replays on a platform of four hosts. The times are those of SimGrid 3.32 (`smpirun -replay`, with
//! `network/model:CM02` and `network/crosstraffic:0`) for the same traces.

use parades_core::prelude::*;
use parades_engine::{rounds, sequential};
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::xml;
use parades_replay::{AllToAll, Replay, trace};

const PLATFORM: &str = r#"<platform version="4.1"><zone id="world" routing="Full">
<host id="n0" speed="1Gf"/><host id="n1" speed="1Gf"/><host id="n2" speed="1Gf"/><host id="n3" speed="1Gf"/>
<link id="l0" bandwidth="125MBps" latency="50us"/><link id="l1" bandwidth="125MBps" latency="50us"/>
<link id="l2" bandwidth="125MBps" latency="50us"/><link id="l3" bandwidth="125MBps" latency="50us"/>
<route src="n0" dst="n1"><link_ctn id="l0"/><link_ctn id="l1"/></route>
<route src="n0" dst="n2"><link_ctn id="l0"/><link_ctn id="l2"/></route>
<route src="n0" dst="n3"><link_ctn id="l0"/><link_ctn id="l3"/></route>
<route src="n1" dst="n2"><link_ctn id="l1"/><link_ctn id="l2"/></route>
<route src="n1" dst="n3"><link_ctn id="l1"/><link_ctn id="l3"/></route>
<route src="n2" dst="n3"><link_ctn id="l2"/><link_ctn id="l3"/></route>
</zone></platform>"#;

fn run(text: &str, all_to_all: AllToAll) -> Result<Outcome, parades_core::error::Error> {
    run_until(Time::MAX, text, all_to_all)
}

fn run_until(end: Time, text: &str, all_to_all: AllToAll) -> Result<Outcome, parades_core::error::Error> {
    let platform = || xml::parse("four.xml".as_ref(), PLATFORM.as_bytes()).expect("it is right");
    let model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
    let trace = trace::parse("t".as_ref(), text).expect("it is right");
    let replay = Replay::model(platform(), model, trace, all_to_all);
    let outcome = sequential::run(&replay, RunOptions::until(end))?;
    let settings = rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(2) };
    let other = rounds::run(&replay, RunOptions::until(end), &settings)?;
    assert_eq!((other.digest, &other.metrics), (outcome.digest, &outcome.metrics));
    Ok(outcome)
}

/// Returns the time at which each rank ends.
fn ends(outcome: &Outcome) -> Vec<f64> {
    let table = outcome.metrics.get("ranks").and_then(|metric| metric.table()).expect("it is declared");
    let end =
        |row: &Vec<Cell>| if let Cell::Integer(end) = row[2] { Time::from_ps(end).as_secs_f64() } else { f64::NAN };
    table.rows().iter().map(end).collect()
}

#[track_caller]
fn assert_ends(text: &str, all_to_all: AllToAll, expected: &[f64]) {
    let ends = ends(&run(text, all_to_all).expect("it runs"));
    assert_eq!(ends.len(), expected.len());
    for (rank, (end, expected)) in ends.iter().zip(expected).enumerate() {
        assert!((end - expected).abs() < 1.5e-9, "rank {rank} ends at {end}, not at {expected}");
    }
}

/// Each of four ranks computes for 0, 0.1, 0.2 or 0.3 s, and takes part in a collective.
fn collective(action: &str) -> String {
    (0..4).map(|rank| format!("{rank} init\n{rank} compute {rank}e8\n{rank} {action}\n{rank} finalize\n")).collect()
}

#[test]
fn messages_between_two_ranks() {
    // The second message is short, so its sender does not wait.
    let text = "0 init\n1 init\n0 compute 1e9\n0 send 1 0 1e6\n1 recv 0 0 1e6\n1 compute 5e8\n1 send 0 1 1000\n0 recv 1 1 1000\n";
    assert_ends(text, AllToAll::Linear, &[1.508_208_256, 1.508_100_128]);
    let text = "0 init\n1 init\n0 send 1 0 1000\n0 compute 1e9\n1 compute 5e8\n1 recv 0 0 1000\n0 Isend 1 1 1e6\n0 compute 1e9\n\
                0 wait 0 1 1\n1 Irecv 0 1 1e6\n1 wait 0 1 1\n";
    assert_ends(text, AllToAll::Linear, &[2.0, 1.008_100_128]);
    // The same, by the older form of `wait`, and by `waitall`. A type multiplies the amount.
    let text = "0 Isend 1 1 125000 0\n0 wait\n1 Irecv 0 1 125000 0\n1 compute 1e6\n1 waitAll\n";
    assert_ends(text, AllToAll::Linear, &[0.008_100_128, 0.008_100_128]);
    let text = "0 init 1\n0 send 1 1 125000\n1 init 1\n1 recv 0 1 125000\n";
    assert_ends(text, AllToAll::Linear, &[0.008_100_128, 0.008_100_128]);
}

#[test]
fn messages_of_other_tags_pass_each_other() {
    // By hand: the message of tag 2 is received first, and both travel when they are received.
    let text = "0 isend 1 1 1e6\n0 isend 1 2 1e6\n0 waitall\n1 recv 0 2\n1 sleep 1\n1 recv 0 1\n";
    assert_ends(text, AllToAll::Linear, &[1.016_200_256, 1.016_200_256]);
}

#[test]
fn collectives() {
    for (action, expected) in [
        ("barrier", [0.300_100_128, 0.300_200_512, 0.300_200_512, 0.300_200_512]),
        ("bcast 1e6", [0.216_200_256, 0.216_200_256, 0.308_100_128, 0.308_100_128]),
        ("bcast 1e6 2", [0.216_200_256, 0.216_200_256, 0.308_100_128, 0.308_100_128]),
        ("bcast 100", [0.0, 0.100_100_928, 0.200_100_928, 0.300_100_928]),
        ("reduce 1e6 1e8", [0.408_100_128, 0.208_100_128, 0.308_100_128, 0.408_100_128]),
        ("reduce 1e5 0", [0.300_900_128, 0.100_900_128, 0.200_900_128, 0.300_900_128]),
        ("reduce 1000 1e5", [0.300_208_128, 0.1001, 0.2001, 0.3001]),
        ("allReduce 1e6 1e8", [0.424_300_384, 0.424_300_384, 0.424_300_384, 0.424_300_384]),
        ("gather 1e6 1e6 0", [0.308_100_128, 0.108_100_128, 0.208_100_128, 0.308_100_128]),
        ("scatter 1e6 1e6 0", [0.308_100_128, 0.108_100_128, 0.208_100_128, 0.308_100_128]),
        ("allGather 100 100", [0.300_105_568; 4]),
        ("allToAll 100 100", [0.300_105_568; 4]),
        ("allToAll 2999 2999", [0.300_244_720; 4]),
    ] {
        assert_ends(&collective(action), AllToAll::Linear, &expected);
    }
    assert_ends(&collective("allToAll 1e6 1e6"), AllToAll::Pairwise, &[0.348_300_768; 4]);
    assert_ends(&collective("allGather 1e6 1e6"), AllToAll::Linear, &[0.348_100_768; 4]);
}

#[test]
fn what_is_wrong_in_a_trace_is_named_with_its_place() {
    let wrong = |text: &str| trace::parse("t".as_ref(), text).expect_err(text).to_string();
    for (text, sentence) in [
        ("", "t: the trace has no action; write lines such as `0 compute 1e9`"),
        ("zero init\n", "t:1:1: `zero` is no rank: a rank from 0 to 1048575; correct it"),
        ("0\n", "t:1:1: the line has no action; write `RANK ACTION …`"),
        ("0 init\n0 compute\n", "t:2:1: the action lacks its number of flops; complete the line"),
        ("0 compute -1\n", "t:1:11: `-1` is no number of flops; correct it"),
        ("0 recv -555 0\n", "t:1:8: `-555` is no sender: a rank from 0 to 1048575; correct it"),
        ("0 alltoallv 1\n", "t:1:3: there is no action `alltoallv`; did you mean `alltoall`?"),
        ("0 send 1 0 8\n", "t: line 1 of rank 0 names rank 1, but the trace has 1 ranks; give the trace of all ranks"),
    ] {
        assert_eq!(wrong(text), sentence);
    }
    let type_of = wrong("0 send 0 0 8 99\n");
    assert!(type_of.starts_with("t:1:14: `99` is no type whose size is known"), "{type_of}");
}

#[test]
fn a_trace_that_cannot_go_on_ends_the_run_with_a_sentence() {
    let error = |text: &str| run(text, AllToAll::Linear).expect_err(text).to_string();
    let waits = error("0 recv 1 0\n1 compute 1\n");
    assert!(waits.contains("`rank` of node 0 waits for a message of a mailbox"), "{waits}");
    let mistake = error("0 init\n0 wait 0 0 7\n");
    assert!(mistake.contains("line 2 of rank 0: it waits for a request that it has not made"), "{mistake}");
}

#[test]
fn a_rank_that_has_not_ended_has_no_time() {
    let outcome = run_until(Time::from_secs(1), "0 compute 5e8\n1 compute 5e9\n", AllToAll::Linear).expect("it runs");
    let table = outcome.metrics.get("ranks").and_then(|metric| metric.table()).expect("it is declared");
    let ends: Vec<Cell> = table.rows().iter().map(|row| row[2].clone()).collect();
    assert_eq!(ends, [Cell::Integer(500_000_000_000), Cell::Empty]);
}
