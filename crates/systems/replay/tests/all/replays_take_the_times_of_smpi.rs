//! Replays end at the times of SimGrid 3.32, and a wrong trace is named with its place.
//!
//! `simgrid/times.sh` computes the times of `simgrid/times.txt` from the cases of `simgrid/cases.txt`.

use parades_core::prelude::*;
use parades_engine::{rounds, sequential};
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::xml;
use parades_replay::{AllToAll, Replay, trace};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The greatest difference from SimGrid, relative to the time.
const TOLERANCE: f64 = 1e-9;
/// The greatest difference from SimGrid for short times, in seconds: SimGrid's `surf/precision`.
const TOLERANCE_S: f64 = 1.5e-9;

/// The text of a file of `simgrid/`.
fn simgrid(file: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/simgrid")).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Returns the network model of a case.
fn network_model(name: &str, crosstraffic: &str) -> NetworkModel {
    let model = match name {
        "CM02" => MaxMinModel::CM02,
        "LV08" => MaxMinModel::LV08,
        _ => panic!("there is no case of the model {name}"),
    };
    let cross_traffic = if crosstraffic == "0" { 0.0 } else { model.cross_traffic };
    NetworkModel::MaxMin(MaxMinModel { cross_traffic, ..model })
}

fn replay(platform: &str, model: NetworkModel, text: &str, all_to_all: Option<AllToAll>) -> Result<Outcome, String> {
    let platform = xml::parse(platform.as_ref(), simgrid(platform).as_bytes()).expect("it is right");
    let trace = trace::parse("t".as_ref(), text).map_err(|error| error.to_string())?;
    let replay = Replay::model(platform, model, trace, all_to_all);
    let options = || RunOptions::until(Time::MAX);
    let outcome = sequential::run(&replay, options()).map_err(|error| error.to_string())?;
    let settings = rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(2) };
    let other = rounds::run(&replay, options(), &settings).map_err(|error| error.to_string())?;
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

/// A case of `cases.txt`.
struct Case<'t> {
    name: &'t str,
    platform: &'t str,
    model: NetworkModel,
    trace: String,
}

/// Reads a case: its first line, and the lines of its trace. `*` at the beginning of a line stands for each
/// rank, and `@` for its number.
fn case(paragraph: &str) -> Option<Case<'_>> {
    let mut lines = paragraph.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next()?.split_whitespace().collect();
    let ["case", name, ranks, platform, model, crosstraffic] = head[..] else { panic!("{head:?}") };
    let ranks: u32 = ranks.parse().expect("a number");
    let each = |line: &str| match line.strip_prefix('*') {
        Some(line) => (0..ranks).map(|rank| format!("{rank}{}\n", line.replace('@', &rank.to_string()))).collect(),
        None => format!("{line}\n"),
    };
    Some(Case { name, platform, model: network_model(model, crosstraffic), trace: lines.map(each).collect() })
}

#[test]
fn ranks_end_when_they_end_in_simgrid() {
    let (cases, times) = (simgrid("cases.txt"), simgrid("times.txt"));
    let mut times: BTreeMap<&str, Vec<f64>> = times
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, times)| (name, times.split(' ').map(|time| time.parse().expect("a time")).collect()))
        .collect();
    let mut wrong = Vec::new();
    for Case { name, platform, model, trace } in cases.split("\n\n").filter_map(case) {
        let expected = times.remove(name).unwrap_or_else(|| panic!("times.txt has no times of {name}"));
        let ends = match replay(platform, model, &trace, None) {
            Ok(outcome) => ends(&outcome),
            Err(why) => {
                wrong.push(format!("{name}: {why}"));
                continue;
            }
        };
        assert_eq!(ends.len(), expected.len(), "{name}");
        for (rank, (end, expected)) in ends.iter().zip(&expected).enumerate() {
            if (end - expected).abs() > f64::max(TOLERANCE_S, TOLERANCE * expected) || end.is_nan() {
                wrong.push(format!("{name}: rank {rank} ends at {end}, not at {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(times.is_empty(), "cases.txt lacks {:?}", times.keys());
}

fn four(text: &str, all_to_all: Option<AllToAll>) -> Result<Outcome, String> {
    replay("four.xml", network_model("CM02", "0"), text, all_to_all)
}

#[test]
fn a_wait_without_arguments_is_for_the_last_request_and_amounts_may_be_left_out() {
    for text in [
        "0 Isend 1 1 125000 0\n0 wait\n1 Irecv 0 1 125000 0\n1 compute 1e6\n1 waitAll 1\n",
        "0 init 1\n0 isend 1 1 125000.9\n0 wait 0 1 1\n1 init\n1 recv 0 1\n",
        "0 isend 1 1 1e6\n0 wait 0 1 1\n1 irecv -555 -444 -1\n1 wait -333 1 1\n",
    ] {
        let ends = ends(&four(text, None).expect(text));
        assert!(ends.iter().all(|end| (end - 0.008_100_128).abs() < TOLERANCE_S), "{text}: {ends:?}");
    }
}

/// By hand: in each of three steps, a rank sends one message and receives one, at half the bandwidth of its
/// link. SMPI refuses such an `alltoall` of 3 ranks.
#[test]
fn an_algorithm_of_alltoall_may_be_chosen_and_pairs_need_no_power_of_two() {
    let text = |ranks: u32, amount: &str| -> String {
        (0..ranks).map(|rank| format!("{rank} alltoall {amount} {amount}\n")).collect()
    };
    for (ranks, amount, kind, expected) in [
        (3, "600000", None, 2.0 * (1e-4 + 2.0 * 600_016.0 / 125e6)),
        (3, "600000", Some(AllToAll::Linear), 1e-4 + 4.0 * 600_016.0 / 125e6),
        // By Bruck's algorithm, two steps of one block, and two steps of two.
        (3, "600000", Some(AllToAll::Bruck), 2.0 * (1e-4 + 2.0 * 600_016.0 / 125e6)),
        (4, "600000", Some(AllToAll::Bruck), 2.0 * (1e-4 + 2.0 * 1_200_016.0 / 125e6)),
    ] {
        let ends = ends(&four(&text(ranks, amount), kind).expect("it runs"));
        assert!(ends.iter().all(|end| (end - expected).abs() < TOLERANCE_S), "{kind:?}: {ends:?}, not {expected}");
    }
}

#[test]
fn a_wrong_line_is_named_with_its_place() {
    let wrong = |text: &str| trace::parse("t".as_ref(), text).expect_err(text).to_string();
    for (text, sentence) in [
        ("", "t: the trace has no action; write lines such as `0 compute 1e9`"),
        ("zero init\n", "t:1:1: `zero` is no rank: a number from 0 to 1048575; correct it"),
        ("0\n", "t:1:1: the line has no action; write `RANK ACTION …`"),
        ("0 init\n0 compute\n", "t:2:1: the action lacks its number of flops, from 0 to 1e30; complete the line"),
        ("0 compute -1\n", "t:1:11: `-1` is no number of flops, from 0 to 1e30; correct it"),
        ("0 compute 1e308\n", "t:1:11: `1e308` is no number of flops, from 0 to 1e30; correct it"),
        ("0 sleep inf\n", "t:1:9: `inf` is no time in seconds; correct it"),
        ("0 sleep 1e9\n", "t:1:9: `1e9` is past the end of virtual time; correct it"),
        // Amounts: SMPI's are of C's `int`.
        ("0 send 0 0 1e308 0\n", "t:1:12: `1e308` is no amount of data, from 0 to 2147483647; correct it"),
        ("0 send 0 0 -8\n", "t:1:12: `-8` is no amount of data, from 0 to 2147483647; correct it"),
        ("0 send 0 0 nan\n", "t:1:12: `nan` is no amount of data, from 0 to 2147483647; correct it"),
        ("0 recv 0 0 much\n", "t:1:12: `much` is no amount of data, from 0 to 2147483647; correct it"),
        ("0 alltoallv 8 1 8\n", "t:1:1: the action has no amount for each of the 1 ranks; complete the line"),
        (
            "0 gatherv 8 8 0 0 0 9\n",
            "t:1:21: `9` is one word too many: `gatherv` has at most 5 arguments; leave it out",
        ),
        ("0 send 0 0 8 0 9\n", "t:1:16: `9` is one word too many: `send` has at most 4 arguments; leave it out"),
        ("0 compute 1 2\n", "t:1:13: `2` is one word too many: `compute` has at most 1 argument; leave it out"),
        ("0 barrier 0\n", "t:1:11: `0` is one word too many: `barrier` has no arguments; leave it out"),
        ("0 alltoalw 1\n", "t:1:3: there is no action `alltoalw`; did you mean `alltoall`?"),
        (
            "0 init\n2 init\n",
            "t:2:1: this line is of rank 2, but no line is of rank 1; give the trace of all ranks: that of a rank that does \
             nothing is `RANK init`",
        ),
        ("0 send 1 0 8\n", "t:1:8: `1` is no receiver: the trace has 1 ranks, from 0 to 0; correct it"),
        ("0 wait 0 3 8\n", "t:1:10: `3` is no receiver: the trace has 1 ranks, from 0 to 0; correct it"),
        ("0 bcast 8 7\n", "t:1:11: `7` is no root: the trace has 1 ranks, from 0 to 0; correct it"),
        ("0 send 0 0 8 99\n", "t:1:14: `99` is no type whose size is known: 0 to 59, without 55 and 56; correct it"),
        (
            "0 test 0 1 2\n",
            "t:1:3: `test` is not replayed, as a program tests as often as its machine is fast; leave these lines out; the \
             `wait` after them has the time of the message",
        ),
    ] {
        assert_eq!(wrong(text), sentence);
    }
}

/// Writes files into a new folder, and reads the first one as a trace. Returns the error, or the replay.
fn read(name: &str, files: &[(&str, &str)]) -> Result<Outcome, String> {
    let folder = std::env::temp_dir().join(format!("parades-replay-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room");
    for (file, text) in files {
        std::fs::write(folder.join(file), text).expect("there is room");
    }
    let told = |error: String| error.replace(&folder.display().to_string(), "DIR");
    let result = trace::read(&folder.join(files[0].0)).map_err(|error| error.to_string()).and_then(|trace| {
        let platform = xml::parse(Path::new("four.xml"), simgrid("four.xml").as_bytes()).expect("it is right");
        let model = Replay::model(platform, network_model("CM02", "0"), trace, None);
        sequential::run(&model, RunOptions::until(Time::MAX)).map_err(|error| error.to_string())
    });
    std::fs::remove_dir_all(&folder).expect("it is there");
    result.map_err(told)
}

#[test]
fn errors_in_lists_name_the_file_of_the_line() {
    let list = ("list", "# The ranks.\n\na\nb\n");
    let outcome = read("right", &[list, ("a", "0 compute 1e9\n"), ("b", "1 compute 2e9\n")]).expect("it is right");
    assert_eq!(ends(&outcome), [1.0, 2.0]);
    let wrong = |files: &[(&str, &str)]| read("wrong", files).expect_err("it is wrong");
    let peer = wrong(&[list, ("a", "0 send 2 0 8\n"), ("b", "1 init\n")]);
    assert_eq!(peer, "DIR/a:1:8: `2` is no receiver: the trace has 2 ranks, from 0 to 1; correct it");
    let missing = wrong(&[list, ("a", "0 init\n"), ("b", "# 2\n2 init\n")]);
    assert!(missing.starts_with("DIR/b:2:1: this line is of rank 2, but no line is of rank 1"), "{missing}");
    let no_file = wrong(&[("list", "a\n\nc\n"), ("a", "0 init\n")]);
    assert!(no_file.starts_with("DIR/list:3:1: there is no file `DIR/c`; write actions"), "{no_file}");
    let no_rank = wrong(&[("t.ti", "rank0 init\n0 compute 1\n")]);
    let sentence = "DIR/t.ti:1:1: `rank0 init` is neither an action, as it begins with no rank, nor the name of a file";
    assert!(no_rank.starts_with(sentence), "{no_rank}");
    let during = wrong(&[list, ("a", "0 init\n"), ("b", "1 compute 1\n1 wait 0 1 7\n")]);
    assert!(during.contains("DIR/b:2: rank 1: it waits for a request that it has not made"), "{during}");
}

#[test]
fn a_trace_that_cannot_go_on_ends_the_run_with_a_sentence() {
    for (text, sentence) in [
        (
            "0 recv 1 0\n1 compute 1\n",
            "these ranks never end: rank 0 at t:1; correct the trace: each message is sent and received, and virtual time",
        ),
        ("0 init\n0 wait 0 0 7\n", "t:2: rank 0: it waits for a request that it has not made"),
        ("0 recv -555 7 8\n1 send 0 8 8\n", "t:1: rank 0: it receives a message that no rank sends"),
        // SMPI ends with MPI_ERR_TRUNCATE.
        (
            "0 send 1 0 1000\n1 recv 0 0 10\n",
            "t:2: rank 1: it receives 1000 bytes from rank 0, but has room for 10 bytes",
        ),
        ("0 gather 8 8\n1 gather 9 9\n", "t:1: rank 0: it receives 9 bytes from rank 1, but has room for 8 bytes"),
    ] {
        let error = four(text, None).expect_err(text);
        assert!(error.contains(sentence), "{error}");
    }
}

#[test]
fn a_run_that_is_stopped_says_where_each_rank_is() {
    let platform = xml::parse("four.xml".as_ref(), simgrid("four.xml").as_bytes()).expect("it is right");
    let trace = trace::parse("t".as_ref(), "0 compute 1e9\n0 sleep 1\n0 compute 1e9\n1 init\n").expect("it is right");
    let model = Replay::model(platform, network_model("LV08", "1"), trace, None);
    let outcome = sequential::run(&model, RunOptions::until(Time::from_ms(1500))).expect("it runs");
    let table = outcome.metrics.get("ranks").and_then(|metric| metric.table()).expect("it is declared");
    assert_eq!(
        table.rows().iter().map(|row| [row[2].clone(), row[6].clone()]).collect::<Vec<_>>(),
        [[Cell::Empty, Cell::Text("at t:2".into())], [Cell::Integer(0), Cell::Empty]]
    );
}

#[test]
fn actions_that_end_after_the_end_of_virtual_time_are_named() {
    let text = "0 init\n0 compute 1e30\n1 init\n1 send 2 0 2147483647 27\n1 compute 1e18\n2 recv 1 0 2147483647 27\n";
    let error = four(text, None).expect_err("two ranks have no end");
    assert!(error.contains("these ranks never end: rank 0 at t:2, rank 1 at t:5; correct the trace"), "{error}");
    // 2^31 - 1 elements of 32 bytes at 125 MB/s.
    let text = "0 init\n1 send 2 0 2147483647 27\n2 recv 1 0 2147483647 27\n";
    let expected = 1e-4 + (2_147_483_647.0 * 32.0 + 16.0) / 125e6;
    let ends = ends(&four(text, None).expect("it runs"));
    assert!((ends[2] - expected).abs() < 1e-6, "{ends:?}, not {expected}");
}
