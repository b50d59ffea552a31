//! Looking into runs from the command line: timelines, logs of rounds, chains of causes, folders of results
//! compared, runs as long as their interval needs.

use crate::common::{Folder, command, parades};
use serde_json::{Value, json as value};
use std::collections::BTreeMap;
use std::process::Output;

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8(output.stdout.clone()).expect("it is text")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&text(&parades(&folder.0, arguments))).expect("standard output is one JSON object")
}

#[test]
fn a_timeline_is_json_with_a_slice_for_each_event_alike_on_every_engine() {
    let folder = Folder::new("timeline");
    let mut first: Option<Vec<Value>> = None;
    for engine in ["sequential", "window --threads 2", "time-warp --threads 2"] {
        let run = json(
            &folder,
            &format!("run phold --set lps=64 --until 5s --quiet --json --timeline t.json --engine {engine}"),
        );
        let timeline: Value = serde_json::from_str(&folder.read("t.json")).unwrap();
        let of_phase = |phase: &str| {
            let entries = timeline["traceEvents"].as_array().unwrap().iter();
            entries.filter(|entry| entry["ph"] == phase && entry["pid"] == 1).cloned().collect::<Vec<Value>>()
        };
        assert_eq!(of_phase("X").len() as u64, run["events"].as_u64().unwrap(), "{engine}");
        // Each of the 64 LPs begins with one event, and no event sent that one.
        assert_eq!(of_phase("f").len(), of_phase("X").len() - 64, "{engine}");
        assert_eq!(of_phase("s").len(), of_phase("f").len(), "{engine}");
        assert_eq!(timeline["otherData"]["arrows"], of_phase("f").len());
        let slices = of_phase("X");
        assert!(first.get_or_insert_with(|| slices.clone()) == &slices, "{engine}");
    }
    // A timeline of the workers alone.
    text(&parades(
        &folder.0,
        "run phold --until 200s --quiet --timeline t.json --trace-before 0s --engine window --threads 2",
    ));
    let timeline: Value = serde_json::from_str(&folder.read("t.json")).unwrap();
    let phases: Vec<&str> =
        timeline["traceEvents"].as_array().unwrap().iter().filter_map(|entry| entry["ph"].as_str()).collect();
    assert!(phases.contains(&"C") && phases.iter().all(|phase| ["M", "C", "X"].contains(phase)), "{phases:?}");
    let wrong = parades(&folder.0, "run phold --timeline t.txt");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).starts_with("error: t.txt does not end in `.json`"), "{}", said(&wrong));
    // A run that fails leaves the timeline of the run before.
    let before = folder.read("t.json");
    assert_eq!(parades(&folder.0, "run faulty --quiet --timeline t.json").status.code(), Some(1));
    assert_eq!(folder.read("t.json"), before);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "and nothing else");
}

#[test]
fn a_log_of_rounds_has_a_row_for_each_round() {
    let folder = Folder::new("rounds");
    for threads in [1, 2] {
        let run = format!("run chord --set nodes=300 --until 60s --quiet --json --engine rounds --threads {threads}");
        let run = json(&folder, &format!("{run} --rounds r.csv"));
        let log = folder.read("r.csv");
        let mut lines = log.lines();
        assert_eq!(lines.next(), Some("id,time_ps,step,programs,events,mode,wall_ns"));
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        let numbers = |column: usize| rows.iter().map(move |row| row[column].parse::<u64>().unwrap());
        let modes = |mode: &str| rows.iter().filter(|row| row[5] == mode).count();
        assert!(numbers(0).eq(0..rows.len() as u64), "ids are numbers in order");
        assert!(numbers(1).zip(numbers(2)).is_sorted(), "time, then step");
        // A timer that was set again for later is no event, but its program is looked at.
        assert!(numbers(3).all(|programs| (1..=300).contains(&programs)));
        assert_eq!(numbers(4).sum::<u64>(), run["events"].as_u64().unwrap());
        assert_eq!(Some(rows.len() as f64), run["engine_stats"]["rounds"].as_f64());
        assert_eq!(Some(modes("parallel") as f64), run["engine_stats"]["parallel_rounds"].as_f64());
        assert_eq!(modes("parallel") + modes("serial"), rows.len());
        assert!(numbers(6).sum::<u64>() > 0, "wall times");
    }
    // A run that fails leaves the log of the run before.
    let before = folder.read("r.csv");
    assert_eq!(parades(&folder.0, "run faulty --quiet --engine rounds --rounds r.csv").status.code(), Some(1));
    assert_eq!(folder.read("r.csv"), before);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "and nothing else");
}

/// The engines of a run in one process, with their numbers of workers. `rounds` starts its workers when it
/// needs them.
const ENGINES: [(&str, usize); 6] = [
    ("sequential", 1),
    ("rounds --threads 2", 2),
    ("window --threads 1", 1),
    ("window --threads 2 --tune retreat=false", 2),
    ("null-message --threads 2 --tune retreat=false", 2),
    ("time-warp --threads 2 --tune retreat=false", 2),
];

#[test]
fn the_slices_of_each_worker_add_up_to_the_run_on_every_engine() {
    let folder = Folder::new("timeline-sums");
    for (engine, workers) in ENGINES {
        let run = format!("run chord --set nodes=300 --set form=machine --until 60s --json --engine {engine}");
        let run = json(&folder, &format!("{run} --timeline t.json --trace-before 0s"));
        let timeline: Value = serde_json::from_str(&folder.read("t.json")).unwrap();
        let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
        for slice in timeline["traceEvents"].as_array().unwrap().iter().filter(|entry| entry["ph"] == "X") {
            *sums.entry(slice["tid"].as_u64().unwrap()).or_default() += slice["dur"].as_f64().unwrap() / 1e6;
        }
        let is_whole = sums.len() == workers || engine.starts_with("rounds");
        assert!(is_whole && sums.keys().copied().eq((1..=workers as u64).take(sums.len())), "{engine}: {sums:?}");
        let wall = run["wall_s"]["run"].as_f64().unwrap();
        assert!(sums.values().all(|&sum| sum > 0.0 && sum <= wall + 1e-6), "{engine}: {sums:?} of {wall} s");
        assert!(timeline["otherData"]["worker_step_us"].as_f64().unwrap() > 0.0, "{engine}");
    }
}

#[test]
fn a_profile_counts_the_events_of_each_kind_and_changes_nothing() {
    let folder = Folder::new("profile");
    let scenarios = [
        ("chord --set nodes=300 --set form=machine --until 60s", vec!["Chord"]),
        ("network --until 3s", vec!["host", "router"]),
        ("mm1 --set customers=2000", vec!["sink", "station"]),
        ("phold --set lps=64 --until 50s", vec!["Phold"]),
    ];
    for (scenario, kinds) in scenarios {
        let without = json(&folder, &format!("run {scenario} --quiet --json --engine sequential"));
        assert!(without.get("profile").is_none());
        let engines = ENGINES
            .into_iter()
            .chain([("window --threads 1 --processes 2", 2), ("time-warp --threads 1 --processes 2", 2)]);
        for (engine, workers) in engines {
            let run = json(&folder, &format!("run {scenario} --quiet --json --engine {engine} --profile"));
            assert_eq!(run["digest"], without["digest"], "{scenario}, {engine}");
            let profile = &run["profile"];
            let rows = |part: &str| profile[part].as_array().unwrap().iter();
            let sum = |part: &str, field: &str| rows(part).map(|row| row[field].as_f64().unwrap_or(0.0)).sum::<f64>();
            let count = |field: &str| rows("handlers").map(|row| row[field].as_u64().unwrap()).sum::<u64>();
            assert_eq!(count("events"), run["events"].as_u64().unwrap(), "{scenario}, {engine}: {profile}");
            let mut found: Vec<&str> = rows("handlers").map(|row| row["kind"].as_str().unwrap()).collect();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, kinds, "{engine}");
            let undone = run["engine_stats"]["undone"].as_f64().unwrap_or(0.0);
            assert_eq!(value!(count("rolled_back") as f64), value!(undone), "{scenario}, {engine}");
            let workers_found = usize::try_from(profile["workers"].as_u64().unwrap()).unwrap();
            // A model may not have work for several workers.
            assert!((1..=workers).contains(&workers_found), "{scenario}, {engine}: {profile}");
            let wall = profile["wall_s"].as_f64().unwrap();
            // Times of handlers are estimates, and all others are not.
            assert!(sum("handlers", "s") + sum("outside", "s") >= wall * 0.999_999, "{scenario}, {engine}: {profile}");
            assert!(sum("outside", "s") <= wall * 1.000_001, "{scenario}, {engine}: {profile}");
        }
    }
    let shown = text(&parades(&folder.0, "run network --until 3s --quiet --engine sequential --profile --brief"));
    for part in ["profile: ", "host: message", "router: message", "host: timer", "engine"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let refused = parades(&folder.0, "run phold --until 1s --engine rollback-check --profile");
    let message = "error: the engine `rollback-check` executes each event twice, so `--profile` has no times; \
                   use another engine, or leave `--profile` out\n";
    assert_eq!((refused.status.code(), said(&refused).as_str()), (Some(2), message));
}

#[test]
fn a_timeline_has_the_workers_of_every_process() {
    let folder = Folder::new("timeline-processes");
    for engine in ["window", "null-message", "time-warp"] {
        let run = format!("run phold --until 200s --json --timeline t.json --engine {engine}");
        json(&folder, &format!("{run} --processes 2 --threads 2 --trace-before 0s"));
        let timeline: Value = serde_json::from_str(&folder.read("t.json")).unwrap();
        let entries = timeline["traceEvents"].as_array().unwrap();
        let tracks = entries.iter().filter(|entry| entry["name"] == "thread_name" && entry["pid"] == 2);
        let names: Vec<&str> = tracks.filter_map(|track| track["args"]["name"].as_str()).collect();
        assert_eq!(names, ["worker 0/0", "worker 0/1", "worker 1/0", "worker 1/1"], "{engine}");
        let of_last = entries.iter().filter(|entry| entry["ph"] == "C" && entry["tid"] == 4);
        let waited = of_last.filter_map(|entry| entry["args"]["waiting"].as_f64()).sum::<f64>();
        assert!(waited > 0.0, "{engine}: workers wait for other processes");
    }
}

#[test]
fn why_tells_the_chain_back_to_the_start() {
    let folder = Folder::new("why");
    text(&parades(&folder.0, "run phold --set lps=32 --until 20s --quiet --trace t"));
    let trace = folder.read("t");
    let line = trace.lines().last().unwrap();
    let ask = |event: &str, more: &str| {
        let mut command = command(&folder.0, &format!("why phold --set lps=32 --until 20s --quiet {more}"));
        command.arg("--event").arg(event).output().unwrap()
    };
    let chain = text(&ask(line, ""));
    let lines: Vec<&str> = chain.lines().collect();
    assert!(lines[0].ends_with("sent it to itself at its start, or when a global event visited it)"), "{chain}");
    assert_eq!(*lines.last().unwrap(), line);
    for pair in lines[1..].windows(2) {
        // The LP that executed the first event sent the second.
        let lp = pair[0].split(" <- ").next().unwrap().split_once(' ').unwrap().1;
        assert!(pair[1].contains(&format!("<- {lp} #")), "{chain}");
        assert!(trace.contains(pair[0]));
    }
    assert!(lines.len() > 5, "{chain}");
    assert_eq!(text(&ask(line, "--engine time-warp --threads 2")), chain);
    let last = text(&ask(line, "--links 2"));
    assert_eq!(last, format!("…\n{}\n{line}\n", lines[lines.len() - 2]));
    let (time, rest) = line.split_once(' ').unwrap();
    let lp = rest.split_whitespace().nth(1).unwrap();
    assert_eq!(text(&ask(&format!("{lp}:{time}"), "")), chain);
    // If there is no event at that very time, the last one before it is meant.
    assert_eq!(text(&ask(&format!("{lp}:20s"), "")), chain);
    let as_json: Value = serde_json::from_str(&text(&ask(line, "--json"))).unwrap();
    assert_eq!((as_json["chain"].as_array().unwrap().len(), &as_json["whole"]), (lines.len() - 1, &true.into()));
    for (event, message) in [
        ("x", "error: --event x: it names no event: write LP:TIME"),
        (
            "3:0.123456s",
            "error: LP 3 executes no such event at 0.123456s in this run; it executes none before it either",
        ),
        ("99:1s", "error: LP 99 executes no such event at 1s in this run"),
    ] {
        let output = ask(event, "");
        assert_eq!(output.status.code(), Some(2), "{event}");
        assert!(said(&output).starts_with(message) && said(&output).lines().count() == 1, "{}", said(&output));
    }
}

#[test]
fn a_network_is_looked_into_by_the_names_in_its_file() {
    let folder = Folder::new("names");
    let run = "network --until 6s --quiet";
    text(&parades(&folder.0, &format!("run {run} --trace t --timeline t.json")));
    let trace = folder.read("t");
    let ask = |event: &str| command(&folder.0, &format!("why {run} --event")).arg(event).output().unwrap();
    let chain = text(&ask("west.0:2.6s"));
    assert!(chain.starts_with("(west.0 sent it to itself at its start, or "), "{chain}");
    // In the example, clients in the west ask a server, `east.0`, over a gateway at each site.
    for part in ["gw-west <- west.0 #", "east.0 <- gw-east #", "app web request #", ", 100 B, west.0 to east.0\n"] {
        assert!(chain.contains(part), "{part}: {chain}");
    }
    assert!(chain.lines().all(|line| trace.contains(line) || line.starts_with('(')), "{chain}");
    // The last event at `west.0` up to 2.6 s, as the trace tells.
    let time = |line: &str| line.split_once("s ").and_then(|(time, _)| time.parse::<f64>().ok());
    let at_west = |line: &&str| line.contains("s west.0 <- ") && time(line).is_some_and(|time| time <= 2.6);
    let last = trace.lines().rfind(at_west).unwrap();
    assert_eq!(chain.lines().rfind(|line| !line.starts_with(' ')), Some(last));
    assert_eq!(text(&ask(last)), chain);
    let (time, sent) = last.split_once(" west.0 <- ").unwrap();
    let (sender, number) = sent.split_once(" #").unwrap();
    let number = number.split_whitespace().next().unwrap();
    assert_eq!(text(&ask(&format!("west.0:{time}:{sender}#{number}"))), chain);
    let lost = "  | lost: app web response #11, 1460 B, east.0 to west.5: the queue of link gw-west-gw-east to gw-west is full";
    assert!(trace.lines().any(|line| line == lost), "a lost packet is in the trace");
    let timeline: Value = serde_json::from_str(&folder.read("t.json")).unwrap();
    let mut tracks = timeline["traceEvents"].as_array().unwrap().iter().filter(|entry| entry["name"] == "thread_name");
    assert!(tracks.any(|track| track["args"]["name"] == "gw-east"), "tracks have names");
    let wrong = ask("wset.0:5s");
    let message = "error: --event wset.0:5s: there is no logical process `wset.0`; did you mean `west.0`?\n";
    assert_eq!((wrong.status.code(), said(&wrong).as_str()), (Some(2), message));
    text(&parades(&folder.0, &format!("run {run} --trace some --trace-lps west.0,gw-east")));
    let receivers = ["s west.0 <- ", "s gw-east <- "];
    let wanted = trace.lines().filter(|line| receivers.iter().any(|receiver| line.contains(receiver)));
    let some = folder.read("some");
    assert!(some.lines().filter(|line| !line.starts_with(' ')).eq(wanted));
    text(&parades(&folder.0, &format!("run {run} --trace of-west --trace-lps *west*")));
    let named = |line: &&str| line.split_once(" <- ").is_some_and(|(receiver, _)| receiver.contains("west"));
    let (wanted, found) = (trace.lines().filter(named).count(), folder.read("of-west"));
    assert!(wanted > 0 && found.lines().filter(named).count() == wanted, "patterns name several");
    assert!(!found.contains("s gw-east <- "));
    for lps in ["wset.0", "west*.99", "999"] {
        let output = parades(&folder.0, &format!("run {run} --trace some --trace-lps {lps}"));
        assert!(said(&output).starts_with("error: --trace-lps: there is no "), "{}", said(&output));
    }
    let slower = command(&folder.0, "diff").args([run, &format!("{run} --set rate=9Mbps")]).output().unwrap();
    let parted = String::from_utf8(slower.stdout).unwrap();
    assert!(
        parted.contains("s gw-east <- gw-west #") && parted.contains(" app video #0, 1000 B, west.0 to "),
        "{parted}"
    );
}

#[test]
fn why_tells_what_led_to_a_failure() {
    let folder = Folder::new("why-failed");
    let chain = text(&parades(&folder.0, "why faulty --set fault=fail --quiet"));
    let last = chain.lines().last().unwrap();
    assert!(last.starts_with("failed: LP 0 at 0.05s, executing the event from LP "), "{chain}");
    assert!(chain.lines().count() >= 3, "{chain}");
    let fine = parades(&folder.0, "why phold --until 1s --quiet");
    assert_eq!(fine.status.code(), Some(2));
    assert_eq!(
        said(&fine),
        "error: the run does not fail, so there is no failure to explain; name an event: `--event LP:TIME`\n"
    );
}

#[test]
fn folders_of_network_files_are_compared_by_the_networks_that_they_were_of() {
    let folder = Folder::new("diff-networks");
    let show = text(&parades(&folder.0, "show network"));
    for (out, rate) in [("a", "10Mbps"), ("b", "10Mbps"), ("c", "9Mbps")] {
        folder.write("n.toml", show.replace("10Mbps", rate));
        text(&parades(&folder.0, &format!("run n.toml --until 2s --quiet --out {out}")));
    }
    std::fs::remove_file(folder.0.join("n.toml")).unwrap();
    let same = text(&parades(&folder.0, "diff a b"));
    assert!(same.starts_with("the runs are the same: "), "{same}");
    let parted = parades(&folder.0, "diff a c");
    assert_eq!(parted.status.code(), Some(1), "{}", said(&parted));
    std::fs::remove_file(folder.0.join("a/network.toml")).unwrap();
    let without = parades(&folder.0, "diff a c");
    assert_eq!((without.status.code(), said(&without).contains("network.toml is missing")), (Some(2), true));
}

#[test]
fn folders_of_scenario_files_elsewhere_are_compared_by_the_files_that_those_name() {
    let folder = Folder::new("diff-elsewhere");
    let edge = "<edge source=\"a\" target=\"b\"/>";
    let graph =
        format!("<graphml><graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/>{edge}</graph></graphml>");
    folder.write("nets/a.graphml", graph);
    folder.write("nets/mine.toml", "scenario = \"wan\"\nuntil = \"100ms\"\n[parameters]\ntopology = \"a.graphml\"\n");
    for out in ["r", "s"] {
        text(&parades(&folder.0, &format!("run nets/mine.toml --quiet --out {out}")));
    }
    let same = text(&parades(&folder.0, "diff r s"));
    assert!(same.starts_with("the runs are the same: "), "{same}");
}

#[test]
fn folders_with_traces_are_compared_without_running_them_again() {
    let folder = Folder::new("diff-traces");
    let run = |out: &str, more: &str| {
        text(&parades(&folder.0, &format!("run phold --set lps=32 --until 9s --quiet --out {out} --out-trace {more}")));
    };
    run("a", "--trace t");
    run("again", "--engine time-warp --threads 2");
    run("other", "--seed 2");
    text(&parades(&folder.0, "run phold --set lps=32 --until 9s --quiet --out own --trace own/trace.txt"));
    assert_eq!(folder.read("own/trace.txt"), folder.read("t"));
    run("part", "--trace-lps 0..=9");
    assert_eq!(folder.read("a/trace.txt"), folder.read("t"));
    let events = folder.read("t").lines().count();
    assert_eq!(
        text(&parades(&folder.0, "diff a again")),
        format!("the runs are the same: {events} events in their traces\n")
    );
    let parted = parades(&folder.0, "diff a other");
    assert_eq!(parted.status.code(), Some(1));
    let parted = String::from_utf8(parted.stdout).unwrap();
    let [a, other] = ["a", "other"].map(|run| folder.read(&format!("{run}/trace.txt")));
    let first = a.lines().zip(other.lines()).position(|(a, b)| a != b).unwrap();
    let [a_line, other_line] = [a, other].map(|trace| trace.lines().nth(first).unwrap().to_owned());
    let expected = format!(
        "the runs are the same for {first} events, then diverge:\n  a: {a_line}\n  other: {other_line}\n\
         the first difference in their results is `seed`:\n  a: 1\n  other: 2\n"
    );
    assert_eq!(parted, expected);
    // Traces of different choices of events cannot be compared, but the runs can be executed again.
    assert!(text(&parades(&folder.0, "diff a part")).starts_with("the runs are the same: "));
    // The trace belongs to the latest run in the folder.
    text(&parades(&folder.0, "run phold --set lps=32 --until 1s --quiet --out a --overwrite"));
    assert!(!folder.0.join("a/trace.txt").exists());
    std::fs::remove_file(folder.0.join("again/trace.txt")).unwrap();
    run("whole", "");
    for (folders, message) in [
        (
            "again whole",
            "error: again/trace.txt: cannot be read: No such file or directory; give a folder that `run --out` wrote\n",
        ),
        ("nowhere whole", "error: `nowhere`: there is no such folder, and no such scenario; give a folder"),
    ] {
        let output = parades(&folder.0, &format!("diff {folders}"));
        assert!(output.status.code() == Some(2) && said(&output).starts_with(message), "{folders}: {}", said(&output));
    }
    folder.write("whole/summary.json", "{\"scenario\": ");
    let broken = parades(&folder.0, "diff whole part");
    assert_eq!(broken.status.code(), Some(2));
    assert!(said(&broken).starts_with("error: whole/summary.json: EOF while parsing"), "{}", said(&broken));
}

#[test]
fn folders_of_another_version_are_compared_by_what_is_in_them() {
    let folder = Folder::new("diff-files");
    for out in ["a", "b"] {
        text(&parades(&folder.0, &format!("run transfer --set pairs=4 --until 2s --quiet --out {out}")));
    }
    assert!(folder.read("a/tables/flows.csv").lines().count() == 5, "a heading, and a row for each pair");
    // A summary that this version cannot have written.
    folder.write(
        "b/summary.json",
        folder
            .read("b/summary.json")
            .replace("\"digest\": \"", "\"digest\": \"0")
            .replace("\"events\": ", "\"events\": 1"),
    );
    let output = parades(&folder.0, "diff a b");
    assert_eq!(output.status.code(), Some(1));
    let found = String::from_utf8(output.stdout).unwrap();
    assert!(found.starts_with("the first difference in their results is `events`:\n  a: "), "{found}");
}

#[test]
fn the_event_at_which_runs_part_is_printed_even_if_a_table_cannot_be_read() {
    let folder = Folder::new("diff-unreadable");
    for out in ["a", "b"] {
        text(&parades(&folder.0, &format!("run transfer --set pairs=4 --until 2s --quiet --out {out} --out-trace")));
    }
    let trace = folder.read("a/trace.txt");
    folder.write("b/trace.txt", format!("{}altered\n", trace.trim_end()));
    std::fs::write(folder.0.join("b/tables/flows.csv"), [0xff, b'\n']).unwrap();
    let parted = parades(&folder.0, "diff a b");
    assert_eq!(parted.status.code(), Some(1), "{}", said(&parted));
    let found = String::from_utf8(parted.stdout).unwrap();
    let last = trace.lines().last().unwrap();
    let (parting, results) = found.rsplit_once("the results").unwrap();
    assert!(parting.ends_with(&format!("events, then diverge:\n  a: {last}\n  b: {last}altered\n")), "{found}");
    assert!(results.starts_with(" in the folders cannot be compared: b/tables/flows.csv: "), "{found}");
    // Without a difference in the traces, the tables decide, so the error is the answer.
    folder.write("b/trace.txt", trace);
    let undecided = parades(&folder.0, "diff a b");
    assert_eq!(undecided.status.code(), Some(2));
    assert!(said(&undecided).starts_with("error: b/tables/flows.csv: "), "{}", said(&undecided));
}

#[test]
fn a_run_gets_as_long_as_its_interval_needs_and_holds_the_truth() {
    let folder = Folder::new("steady");
    let mm1 = "run mm1 --set utilisation=0.5 --set customers=5000 --quiet --json --metric sojourn --until-interval 3%";
    let mut inside = 0;
    for seed in 1..=20 {
        let run = json(&folder, &format!("{mm1} --seed {seed} --engine sequential"));
        let estimate = &run["metrics"]["sojourn_s"];
        let [mean, half_width] = ["mean", "half_width_95"].map(|field| estimate[field].as_f64().unwrap());
        assert!(half_width <= 0.03 * mean, "{estimate}");
        // Theory: 1 / (1000 - 500) s.
        inside += u32::from((mean - 0.002).abs() <= half_width);
        if seed == 1 {
            let other = json(&folder, &format!("{mm1} --seed 1 --engine time-warp --threads 2"));
            for field in ["digest", "events", "metrics", "virtual_time_s"] {
                assert_eq!(other[field], run[field], "{field}");
            }
            assert!(run["virtual_time_s"].as_f64().unwrap() > 10.0, "it was made longer than the 5000 customers take");
            assert!(run["notes"][0].as_str().unwrap().starts_with("until-interval: "), "{}", run["notes"]);
        }
    }
    assert!(inside >= 17, "theory is inside in {inside} of 20");
    for (arguments, message) in [
        (
            "--until-interval 1% --metric sojurn",
            "error: --metric sojurn: there is no steady-state metric `sojurn` in this run; did you mean `sojourn`?\n",
        ),
        (
            "--until-interval 1% --metric customers_left",
            "error: --metric customers_left: there is no steady-state metric `customers_left` in this run; ",
        ),
    ] {
        let output = parades(&folder.0, &format!("run mm1 --set customers=2000 --quiet {arguments}"));
        assert!(output.status.code() == Some(2) && said(&output).starts_with(message), "{}", said(&output));
    }
    assert_eq!(parades(&folder.0, "run mm1 --until-interval 1%").status.code(), Some(2));
}

#[test]
fn the_trace_of_a_run_made_longer_is_that_of_the_whole() {
    let folder = Folder::new("steady-trace");
    let run = "run mm1 --set utilisation=0.3 --set customers=300 --quiet --json --metric sojourn --until-interval 20% --trace t --out o --out-trace";
    let run = json(&folder, run);
    assert_eq!(folder.read("t").lines().count() as u64, run["events"].as_u64().unwrap());
    assert_eq!(folder.read("o/trace.txt"), folder.read("t"));
}

#[test]
fn what_show_prints_works_anywhere_and_names_the_end() {
    let folder = Folder::new("show-paths");
    let shown = text(&parades(&folder.0, "show wan --set topology=nets/a.graphml"));
    let absolute = folder.0.join("nets/a.graphml");
    assert!(shown.contains(&format!("topology = \"{}\"", absolute.display())), "{shown}");
    let shown = text(&parades(&folder.0, "show phold"));
    assert!(shown.contains("\n# until = \"100s\"  # end of virtual time\n"), "{shown}");
    let shown = text(&parades(&folder.0, "show flows"));
    let end = "\n# until = \"10s\"  # end of virtual time; by default when there is nothing left to do\n";
    assert!(shown.contains(end), "{shown}");
    let shown = text(&parades(&folder.0, "show phold --until 7s"));
    assert!(shown.contains("\nuntil = \"7s\""), "{shown}");
    folder.write("mine.toml", "scenario = \"wan\"\n[parameters]\ntopology = \"none.graphml\"\n");
    let output = parades(&folder.0, "run mine.toml");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).starts_with("error: mine.toml:3:12: none.graphml cannot be read: No such file or directory"),
        "{}",
        said(&output)
    );
    let output = parades(&folder.0, "run phold --seed -1");
    assert!(said(&output).contains("a seed is a whole number from 0 to 18446744073709551615"), "{}", said(&output));
}

#[test]
fn captures_are_files_of_nodes_and_links_alike_on_every_engine() {
    let folder = Folder::new("captures");
    let bytes = |name: &str| std::fs::read(folder.0.join(name)).expect("the file is there");
    let names = |of: &str| {
        let entries = std::fs::read_dir(folder.0.join(of)).expect("the folder is there").flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let places = "--pcap-at west.0 --pcap-at gw-west-gw-east";
    let run = |options: &str| text(&parades(&folder.0, &format!("run network --until 2s --quiet --brief {options}")));
    for engine in ["sequential", "window --threads 2", "time-warp --threads 2"] {
        run(&format!("--engine {engine} --pcap {} {places}", &engine[..6]));
    }
    assert_eq!(names("sequen"), ["gw-west-gw-east.pcapng", "west.0.pcapng"]);
    for file in names("sequen") {
        let expected = bytes(&format!("sequen/{file}"));
        assert_eq!(bytes(&format!("window/{file}")), expected, "{file}");
        assert_eq!(bytes(&format!("time-w/{file}")), expected, "{file}");
    }
    let interface = b"west.0-gw-west at west.0";
    assert!(bytes("sequen/west.0.pcapng").windows(interface.len()).any(|found| found == interface));
    // With a trace, both are written, and the choice of events is that of the trace alone.
    run(&format!("--engine sequential --pcap both {places} --trace t --trace-lps east.0 --trace-before 1s"));
    assert_eq!(bytes("both/west.0.pcapng"), bytes("sequen/west.0.pcapng"));
    assert!(folder.read("t").lines().all(|line| line.starts_with("  | ") || line.contains(" east.0 <- ")));
    // By default, all nodes where flows begin or end; and beginnings of packets alone.
    run("--engine sequential --pcap all --pcap-snap 64B --pcap-ip 6");
    assert_eq!(names("all").len(), 20);
    assert!(bytes("all/west.0.pcapng").len() < bytes("sequen/west.0.pcapng").len() / 2);
}

/// Returns the samples that a run writes, by file.
fn samples(folder: &Folder, of: &str) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder.0.join(of)).expect("the folder is there").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.map(|name| (name.clone(), folder.read(&format!("{of}/{name}")))).collect()
}

#[test]
fn samples_are_the_values_of_the_metrics_alike_on_every_engine() {
    let folder = Folder::new("samples");
    for (scenario, counts) in [
        ("network --until 20s", &["delay_video", "response_web", "completion_files", "completion_backup"][..]),
        ("bittorrent --set peers=12 --set pieces=8", &["download_time"]),
        ("chord --set nodes=16 --set form=machine --until 100s", &["look_up_time", "hops"]),
        ("kademlia --set nodes=16 --until 500s", &["look_up_time", "join_time"]),
        ("flows", &["duration"]),
        ("mm1 --until 100s", &["sojourn_distribution"]),
    ] {
        let run = |engine: &str| {
            let folder_name = engine.replace(' ', "");
            let run = format!("run {scenario} --quiet --json --engine {engine} --samples {folder_name} --overwrite");
            (json(&folder, &run), samples(&folder, &folder_name))
        };
        let (result, expected) = run("sequential");
        for metric in counts {
            let rows = expected[&format!("{metric}.csv")].lines().count() as u64 - 1;
            let metrics = result["metrics"].as_object().expect("an object");
            let of = metrics.get(&format!("{metric}_s")).or(metrics.get(*metric)).expect("the metric is there");
            assert_eq!(of["count"].as_u64(), Some(rows), "{scenario}: {metric}");
            assert!(rows > 0, "{scenario}: {metric}");
        }
        for engine in ["rounds --threads 2", "window --threads 2", "null-message --threads 2", "time-warp --threads 3"]
        {
            let (found, rows) = run(engine);
            assert_eq!(found["digest"], result["digest"], "{scenario} {engine}");
            assert!(rows == expected, "{scenario}: {engine} writes other samples");
        }
        if scenario.starts_with("network") {
            let (_, rows) = run("window --threads 1 --processes 2");
            assert!(rows == expected, "{scenario}: two processes write other samples");
        }
    }
}

#[test]
fn samples_have_headings_flows_and_a_limit() {
    let folder = Folder::new("samples-limit");
    let run = "run network --until 20s --brief --samples s --samples-limit 5 --out o --engine sequential";
    let output = parades(&folder.0, run);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let all = samples(&folder, "s");
    let video: Vec<&str> = all["delay_video.csv"].lines().collect();
    assert_eq!((video[0], video.len()), ("time_s,lp,flow,delay_video_s", 6));
    assert!(video[1].contains(",east."), "{}", video[1]);
    assert_eq!(video[1].split(',').count(), 4);
    let completion: Vec<&str> = all["completion_files.csv"].lines().collect();
    let flow = completion[1].split(',').nth(2).expect("a flow");
    let table = folder.read("o/tables/flows.csv");
    assert!(table.lines().any(|line| line.starts_with(&format!("{flow},files,"))), "{flow}: {table}");
    let note = "`--samples-limit` leaves out samples: ";
    assert!(said(&output).contains(note), "{}", said(&output));
    assert!(folder.read("o/summary.json").contains(note), "the record has the note");
    // A measurement at the end alone has no samples. A scenario without observations is refused.
    let output = parades(&folder.0, "run multicast --until 1ms --brief --samples m");
    assert!(said(&output).contains("note: there are no samples of "), "{}", said(&output));
    let refused = parades(&folder.0, "run network --until 1s --quiet --out o --overwrite --samples o/tables");
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let none = "network = \"x\"\nuntil = \"1s\"\nnodes = [\"a\", \"b\"]\n\
                link = [{ from = \"a\", to = \"b\", rate = \"1Mbps\", delay = \"1ms\" }]\n";
    folder.write("none.toml", none);
    let refused = parades(&folder.0, "run none.toml --samples n");
    assert!(said(&refused).contains("--samples: this scenario has no samples to write"), "{}", said(&refused));
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn captures_of_what_is_not_there_are_refused() {
    let folder = Folder::new("captures-refused");
    for (options, message) in [
        ("network --pcap p --pcap-at west.00", "error: --pcap-at: there is no node or link `west.00`"),
        (
            "network --pcap p --pcap-at gw-west-gw-eas",
            "error: --pcap-at: there is no node or link `gw-west-gw-eas`; did you mean the link `gw-west-gw-east`?",
        ),
        ("network --pcap p --pcap-at 1000", "error: --pcap-at: there is no node 1000; the run has nodes 0 to "),
        ("phold --pcap p", "error: this scenario has no packets to capture; "),
        (
            "network --pcap p --pcap-ip 5",
            "error: invalid value '5' for '--pcap-ip <VERSION>': the versions are `4` and `6`",
        ),
        (
            "network --pcap p --pcap-snap 0B",
            "error: invalid value '0B' for '--pcap-snap <SIZE>': write a size from `1B`",
        ),
        ("network --pcap-at west.0", "error: the following required arguments were not provided:"),
    ] {
        let refused = parades(&folder.0, &format!("run {options} --until 1s --quiet"));
        assert_eq!(refused.status.code(), Some(2), "{options}: {}", said(&refused));
        assert!(said(&refused).starts_with(message), "{options}: {}", said(&refused));
    }
    folder.write("file", "");
    let refused = parades(&folder.0, "run network --pcap file --until 1s --quiet");
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).starts_with("error: file cannot be written: "), "{}", said(&refused));
}

#[test]
fn a_recorded_run_is_executed_again_and_says_what_differs() {
    let folder = Folder::new("rerun");
    folder.write("lat.txt", "0 10 20\n10 0 30\n20 30 0\n");
    let run = |out: &str| {
        let run = "run kademlia --set nodes=3 --set underlay=matrix --set matrix=lat.txt --until 20s --quiet --json";
        json(&folder, &format!("{run} --out {out}"))
    };
    let first = run("a --copy-inputs");
    run("b");
    let same = format!("digest {}\n", first["digest"].as_str().unwrap());
    for again in ["rerun a", "rerun b --engine sequential", "rerun b --engine window --threads 2"] {
        let said = text(&parades(&folder.0, &format!("{again} --quiet")));
        assert!(said.starts_with("the run is the same as that in ") && said.ends_with(&same), "{said}");
    }
    // The scenario file of the folder runs again, from another folder too.
    std::fs::create_dir(folder.0.join("elsewhere")).unwrap();
    let again =
        command(&folder.0, "run ../a/scenario.toml --quiet --json").current_dir(folder.0.join("elsewhere")).output();
    let again: Value = serde_json::from_slice(&again.unwrap().stdout).unwrap();
    assert_eq!(again["digest"], first["digest"]);
    let record: Value = serde_json::from_str(&folder.read("a/record.json")).unwrap();
    assert!(record["build"].as_str().unwrap().starts_with("rustc "), "{record}");
    assert!(record["circumstances"]["date"].as_str().unwrap().ends_with('Z'), "{record}");
    // The file changes: the copy is still there, and without it the difference has a name.
    folder.write("lat.txt", "0 11 20\n11 0 30\n20 30 0\n");
    assert!(text(&parades(&folder.0, "rerun a --quiet")).ends_with(&same));
    let other = parades(&folder.0, "rerun b --quiet");
    assert_eq!(other.status.code(), Some(1));
    assert!(said(&other).contains("/lat.txt differs"), "{}", said(&other));
    run("c");
    let parted = parades(&folder.0, "diff b c");
    assert_eq!(parted.status.code(), Some(1), "{}", said(&parted));
    let printed = String::from_utf8_lossy(&parted.stdout).into_owned();
    assert!(printed.starts_with("the file lat.txt differs:\n  b: "), "{printed}");
    // Beside a folder with a copy, the runs themselves are compared, each with its own file.
    let parted = parades(&folder.0, "diff a c");
    assert_eq!(parted.status.code(), Some(1), "{}", said(&parted));
    let printed = String::from_utf8_lossy(&parted.stdout).into_owned();
    assert!(
        printed.contains("events, then diverge:\n  a: ") && printed.contains("the file lat.txt differs"),
        "{printed}"
    );
    let nowhere = parades(&folder.0, "diff a nofolder");
    assert_eq!(
        said(&nowhere),
        "error: `nofolder`: there is no such folder, and no such scenario; give a folder that `run --out` wrote, or \
         the options of a run in quotes\n"
    );
}

#[test]
fn diff_and_rerun_name_the_file_that_differs_before_the_digest() {
    let folder = Folder::new("other-file");
    folder.write("one/lat.txt", "0 10\n10 0\n");
    folder.write("two/lat.txt", "0 12\n12 0\n");
    folder.write("same/other.txt", "0 10\n10 0\n");
    for (out, matrix) in [("a", "one/lat.txt"), ("b", "two/lat.txt"), ("c", "same/other.txt")] {
        let run = "run gossip --set nodes=2 --set underlay=matrix --quiet";
        assert!(parades(&folder.0, &format!("{run} --set matrix={matrix} --out {out}")).status.success());
    }
    let said = |arguments: &str, status| {
        let output = parades(&folder.0, arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments}: {output:?}");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let found = said("diff a b", 1);
    assert!(
        found.contains("the file lat.txt differs:\n  a: ") && found.contains("one/lat.txt, 10 bytes, hash "),
        "{found}"
    );
    assert!(!found.contains("digest"), "{found}");
    // It does not matter by what name a file is read.
    assert!(said("diff a c", 0).starts_with("the runs are the same"));
    // A folder whose file has changed since cannot be repeated, and that is the reason.
    folder.write("one/lat.txt", "0 15\n15 0\n");
    let found = said("diff a c", 1);
    assert!(found.contains("one/lat.txt differs") && !found.contains("digest"), "{found}");
    let found = said("rerun a", 1);
    assert!(found.contains("one/lat.txt differs"), "{found}");
}

#[test]
fn rerun_names_another_machine_and_another_compiler() {
    let folder = Folder::new("elsewhere");
    assert!(parades(&folder.0, "run phold --until 1s --quiet --out a").status.success());
    let mut record: Value = serde_json::from_str(&folder.read("a/record.json")).unwrap();
    let same = parades(&folder.0, "rerun a");
    assert!(same.status.success() && same.stderr.is_empty(), "{same:?}");
    record["build"] = "rustc 1.60.0".into();
    record["machine"]["cpu"] = "another".into();
    record["circumstances"]["kernel"] = "2.6.32".into();
    folder.write("a/record.json", record.to_string());
    let output = parades(&folder.0, "rerun a");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    for words in [
        "the compiler and the settings of the build is `rustc 1.60.0` there",
        "the processor is `another` there",
        "the kernel is `2.6.32` there",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn the_record_counts_the_context_switches_of_all_threads_and_processes() {
    let folder = Folder::new("switches");
    let cost = |out: &str, more: &str| {
        // Waiting at barriers on few cores makes threads sleep.
        let run = format!(
            "run phold --set lps=256 --until 400s --engine window --tune retreat=false --quiet --out {out} {more}"
        );
        assert!(parades(&folder.0, &run).status.success());
        let record: Value = serde_json::from_str(&folder.read(&format!("{out}/record.json"))).unwrap();
        // Involuntary switches depend on what else the machine does.
        let switches = |of: &Value| of["voluntary_switches"].as_i64().unwrap();
        let own = &record["circumstances"];
        // The system may count times in ticks, and a short run takes none.
        assert!(own["user_s"].as_f64().is_some() && own["system_s"].as_f64().is_some(), "{own}");
        (switches(own), switches(&own["other_processes"]))
    };
    let ((alone, none), (several, _)) = (cost("one", "--threads 1"), cost("eight", "--threads 8"));
    assert!(several > alone + 8 && none == 0, "{several} {alone} {none}");
    let (_, others) = cost("ranks", "--threads 1 --processes 3");
    assert!(others > 0, "the other processes wait for each other");
}

/// Messages of peers are shown in the words of their protocol, in both forms of Chord and hop by hop too.
#[test]
fn traces_of_peers_are_in_words() {
    let folder = Folder::new("words");
    for (run, words) in [
        ("bittorrent --set peers=5 --until 3s", "  | peer 2 sends a request for block "),
        ("bittorrent --set peers=5 --until 3s", "  | the tracker sends the list of peers "),
        ("kademlia --set nodes=20 --until 5s", " sends find node "),
        ("kademlia --set nodes=20 --until 5s --set routing=hop-by-hop", " sends the contacts ["),
        ("gossip --set nodes=20 --until 5s", " sends the rumours ["),
        ("gossipsub --set nodes=30 --until 5s", " sends graft of topic "),
        ("averaging --set nodes=20 --until 5s", " for an exchange (cycle "),
        ("chord --set nodes=20 --set form=machine --until 100s", " sends find "),
        ("chord --set nodes=20 --set form=program --until 100s", " find "),
    ] {
        let command = format!("run {run} --quiet --trace trace.txt");
        let output = parades(&folder.0, &command);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let trace = folder.read("trace.txt");
        assert!(trace.contains(words), "{command}: no `{words}`");
        assert!(!trace.contains(" { "), "{command}: a message in the form of the code");
        assert!(!trace.contains("Direct("), "{command}: a packet in the form of the code");
    }
}
