//! `parades sweep`: the table is the same whatever the number of jobs and of kills; failed runs are rows; bad
//! sweeps are refused.

use crate::common::{Folder, SLOW_PLATFORM, command, parades};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Output, Stdio};
use std::time::Duration;

/// 24 runs of some ten milliseconds each.
const SHORT: &str = "sweep mm1 --set utilisation=0.5,0.7 --set customers=20000 --seeds 1..12 --quiet";
/// 24 runs, each ten times as long.
const LONGER: &str = "sweep mm1 --set utilisation=0.5,0.7 --set customers=200000 --seeds 1..12 --quiet";

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("it is text")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_sweep_has_a_row_a_run_and_an_interval_across_seeds() {
    let folder = Folder::new("sweep");
    let sweep: Value = serde_json::from_str(&text(&parades(&folder.0, &format!("{SHORT} --json")))).unwrap();
    assert_eq!(
        (&sweep["scenario"], &sweep["finished"], &sweep["parameters"]["customers"]),
        (&"mm1".into(), &24.into(), &20000.into())
    );
    let runs = sweep["runs"].as_array().unwrap();
    // A row has the results of `run` with the same parameters and seed.
    let alone = "run mm1 --set utilisation=0.7 --set customers=20000 --seed 3 --quiet --json";
    let alone: Value = serde_json::from_str(&text(&parades(&folder.0, alone))).unwrap();
    let row = runs.iter().find(|run| run["parameters"]["utilisation"] == 0.7 && run["seed"] == 3).unwrap();
    assert_eq!((&row["digest"], &row["events"]), (&alone["digest"], &alone["events"]));
    assert_eq!(row["metrics"]["sojourn_s.mean"], alone["metrics"]["sojourn_s"]["mean"]);
    // The interval by hand: Student's t of 11 degrees of freedom is 2.200985160.
    let of_seeds: Vec<f64> = runs[12..].iter().map(|run| run["metrics"]["sojourn_s.mean"].as_f64().unwrap()).collect();
    let mean = of_seeds.iter().sum::<f64>() / 12.0;
    let variance = of_seeds.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 11.0;
    let found = &sweep["points"][1]["metrics"]["sojourn_s.mean"];
    assert!((found["mean"].as_f64().unwrap() / mean - 1.0).abs() < 1e-12);
    let half_width = 2.200_985_160_083 * (variance / 12.0).sqrt();
    assert!((found["half_width_95"].as_f64().unwrap() / half_width - 1.0).abs() < 1e-9, "{found}, {half_width}");
    // The theory: 1 / (service rate - arrival rate), 1 / 0.3 milliseconds.
    assert!((mean - 0.003_333).abs() < 3.0 * half_width, "{mean} ± {half_width}");
}

/// Downloads take 26 s, and look-ups of nodes that come and go are dropped.
#[test]
fn what_is_unfinished_or_dropped_is_noted() {
    let folder = Folder::new("unfinished");
    let churn = "--set session=30s --set absence=5s --set look_up=1s";
    for (sweep, name) in [
        ("bittorrent --until 10s", "unfinished"),
        ("bittorrent --until 100s", ""),
        (&format!("kademlia --set nodes=60 --until 200s {churn}"), "dropped_look_ups"),
    ] {
        let sweep = text(&parades(&folder.0, &format!("sweep {sweep} --seeds 1..2 --quiet --json")));
        let sweep: Value = serde_json::from_str(&sweep).unwrap();
        let notes = sweep["notes"].as_array().unwrap();
        let expected = format!("`{name}` is above 0 in 2 of 2 runs: see it beside times");
        assert_eq!(notes.iter().any(|note| *note == *expected), !name.is_empty(), "{notes:?}");
    }
}

#[test]
fn tables_do_not_depend_on_the_number_of_jobs() {
    let folder = Folder::new("jobs");
    for table in ["--csv", "--csv=means", "--csv --metric sojourn --until-interval 3%"] {
        let of = |jobs: u32| text(&parades(&folder.0, &format!("{SHORT} {table} --jobs {jobs}")));
        let one = of(1);
        assert!(one.lines().count() > 10, "{one}");
        assert_eq!(one, of(3), "{table}");
    }
}

#[cfg(unix)]
#[test]
fn a_sweep_killed_ten_times_ends_in_the_same_table() {
    let folder = Folder::new("killed");
    let sweep = |out: &str| format!("{LONGER} --csv --jobs 2 --out {out}");
    let whole = text(&parades(&folder.0, &sweep("whole")));
    let lines = || std::fs::read_to_string(folder.0.join("again/journal.jsonl")).map_or(0, |text| text.lines().count());
    for round in 0..10 {
        let before = lines();
        let mut child = command(&folder.0, &sweep("again")).stdout(Stdio::null()).spawn().unwrap();
        // The sweep is killed soon after its start, or after one or two further runs of the 24.
        std::thread::sleep(Duration::from_millis(1 + 3 * round));
        while round % 2 == 0 && lines() <= before && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().expect("it is ours");
        assert_eq!(child.wait().unwrap().code(), None, "it was killed in round {round}, before its end");
    }
    assert_eq!(text(&parades(&folder.0, &sweep("again"))), whole);
    for file in ["runs.csv", "means.csv"] {
        assert_eq!(folder.read(&format!("again/{file}")), folder.read(&format!("whole/{file}")));
    }
    let journal = folder.read("again/journal.jsonl");
    let runs: BTreeSet<String> = journal
        .lines()
        .skip(1)
        .map(|line| {
            let run: Value = serde_json::from_str(line).unwrap();
            format!("{} {}", run["parameters"], run["seed"])
        })
        .collect();
    assert_eq!((runs.len(), journal.lines().count()), (24, 25), "no run is there twice");
    let folder_of_run = folder.0.join("again/runs/utilisation=0.7,seed=3");
    assert!(
        text(
            &command(&folder.0, "diff")
                .arg(&folder_of_run)
                .arg("mm1 --set utilisation=0.7 --set customers=200000 --seed 3")
                .output()
                .unwrap()
        )
        .starts_with("the runs are the same: ")
    );
}

#[cfg(unix)]
#[test]
fn a_sweep_stopped_by_hand_has_what_is_over_and_says_how_to_go_on() {
    let folder = Folder::new("stopped");
    let stop = |options: &str| {
        let sweep = "sweep phold --seeds 1..3 --set lps=16,32 --until 1000000s --jobs 1 --quiet --csv";
        let child = command(&folder.0, &format!("{sweep} {options}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let kill = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        said(&output)
    };
    let end =
        " of 6 runs are finished; with `--out DIR` or `--journal FILE`, the same command given again would continue\n";
    let without = stop("");
    assert!(without.starts_with("stopped: ") && without.ends_with(end), "{without}");
    let with = stop("--journal j");
    assert!(with.ends_with(" of 6 runs are finished; j has them; give the same command again to continue\n"), "{with}");
}

#[test]
fn a_run_that_fails_is_a_row_with_its_error_and_the_others_go_on() {
    let folder = Folder::new("failed");
    let output = parades(&folder.0, "sweep faulty --set fault=tie-order,fail --seeds 4,5 --quiet --json --journal j");
    assert_eq!(output.status.code(), Some(1));
    let sweep: Value = serde_json::from_slice(&output.stdout).unwrap();
    let runs = sweep["runs"].as_array().unwrap();
    assert!(runs.len() == 4 && runs[1]["events"].as_u64().unwrap() > 0, "{runs:?}");
    let message = "LP 0 at 0.05s, executing the event from LP 6 #4: it was told to fail at its event 5; correct the model, or its parameters; reproduce it with `parades run faulty --set fault=fail --seed 4 --engine auto`";
    assert_eq!(runs[2]["error"], message);
    assert_eq!(said(&output), format!("error: 2 of 4 runs failed; the first, with fault=fail, seed 4: {message}\n"));
    // A run whose failure would come again is not executed again.
    let again = parades(&folder.0, "sweep faulty --set fault=tie-order,fail --seeds 4,5 --json --journal j");
    assert!(said(&again).starts_with("note: 4 runs are in j already\n"), "{}", said(&again));
    // A run whose failure came from the state of the machine is executed again.
    let small =
        "sweep phold --set lps=1000 --set payload=16000000 --memory-limit 100MiB --jobs 1 --journal m --quiet --csv";
    let output = parades(&folder.0, small);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("raise the memory limit"), "{}", said(&output));
    assert_eq!(folder.read("m").lines().count(), 1, "it is not in the journal");
}

#[test]
fn a_run_that_virtual_time_cuts_short_is_not_executed_again() {
    let folder = Folder::new("cut-short");
    folder.write("p.xml", SLOW_PLATFORM);
    folder.write("p.txt", "0 a b 20000000 0\n");
    let message = "error: 2 of 2 runs failed; the first, with platform=p.xml pattern=p.txt, seed 1: virtual time ends after 18446744 s (213 days), and the flow `0` from `a` to `b` has not ended";
    for before in ["", "note: 2 runs are in j already\n"] {
        let sweep = "sweep flows --set platform=p.xml --set pattern=p.txt --seeds 1..2 --journal j";
        let output = parades(&folder.0, sweep);
        assert_eq!(output.status.code(), Some(1));
        assert!(said(&output).starts_with(before) && said(&output).contains(message), "{}", said(&output));
    }
}

#[test]
fn wrong_sweeps_are_refused_before_any_run() {
    let folder = Folder::new("wrong-sweeps");
    folder.write("full/thesis.txt", "");
    let cases = [
        ("--set utilisaton=0.5,0.6", "--set utilisaton=0.5: mm1 has no key `utilisaton`; did you mean `utilisation`?"),
        ("--set utilisation=0.5,1.5", "--set utilisation=1.5: `utilisation` must be between 0 and 1, not 1.5"),
        (
            "--set utilisation=0.5,0.5",
            "--set utilisation=0.5,0.5: `utilisation` has the value `0.5` twice; a run counts once; leave one out",
        ),
        ("--seeds 3..1", "--seeds 3..1: there are no seeds in `3..1`; write the lower end first"),
        ("--seeds x", "--seeds x: `x` lists no seeds; write `1..30`, `1,2,5`, or several of them with commas"),
        ("--seeds -1", "--seeds -1: `-1` lists no seeds; write `1..30`, `1,2,5`, or several of them with commas"),
        (
            "--seeds 1..600000 --set utilisation=0.5,0.6",
            "2 points with 600000 seeds are more than 1000000 runs; sweep over fewer values, or fewer seeds",
        ),
        (
            "--engine sequential --threads 2",
            "the engine `sequential` runs on one thread, not 2; leave that out, or choose a parallel engine",
        ),
        ("--metric sojurn", "--metric sojurn: there is no metric `sojurn` in these runs; did you mean `sojourn`?"),
        ("--out full", "full is not empty, and no sweep wrote it; name another folder for `--out`"),
        ("--journal full/thesis.txt --out none", ""),
        ("--jobs 0", ""),
        ("--until-interval 1%", ""),
        ("--csv --json", ""),
        ("--csv=mean", ""),
        ("--seed 1 --seeds 1..3", ""),
        ("--until-interval 0 --metric sojourn", ""),
    ];
    let mut wrong = String::new();
    for (options, message) in cases {
        let output = parades(&folder.0, &format!("sweep mm1 --set customers=1000 --quiet {options}"));
        let expected = format!("error: {message}\n");
        let said = said(&output);
        if output.status.code() != Some(2) || !output.stdout.is_empty() || (!message.is_empty() && said != expected) {
            wrong += &format!("{options}\n  exit {:?}\n  said {said}  not  {expected}", output.status.code());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // Values that make no sense together are also found before any run.
    let output = parades(&folder.0, "sweep phold --set lookahead=100ms,2s --quiet --journal j");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        said(&output),
        "error: --set lookahead=2s: the lookahead of 2s is above the mean delay of 1s; lower `lookahead` or raise `mean_delay`\n"
    );
    assert!(!folder.0.join("j").exists(), "a sweep that does not begin has no journal");
}

#[test]
fn a_sweep_of_a_network_file_that_has_changed_is_another() {
    let folder = Folder::new("sweep-changed");
    let show = text(&parades(&folder.0, "show network"));
    let sweep =
        || parades(&folder.0, "sweep n.toml --until 1s --set rate=5Mbps,8Mbps --seeds 1 --quiet --csv=runs --out s");
    folder.write("n.toml", &show);
    let first = text(&sweep());
    assert_eq!(text(&sweep()), first);
    folder.write("n.toml", show.replace("\"300kbps\"", "\"200kbps\""));
    let refused = sweep();
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("is the journal of another sweep: `n.toml` is "), "{}", said(&refused));
}

/// The files of a sweep include the file of a part, which a parameter names, and the profiles of a platform.
#[test]
fn a_sweep_whose_files_have_changed_is_another() {
    let folder = Folder::new("sweep-changed-files");
    folder.write("n.toml", NETWORK_OF_EDGES);
    folder.write("a.txt", "a b\n");
    folder.write("b.txt", "a b\nb c\n");
    folder.write("p.xml", PLATFORM_WITH_PROFILE);
    folder.write("speeds.txt", "0.0 1e6\n");
    let network =
        "sweep n.toml --until 1s --set edges=b.txt --set rate=1Mbps,2Mbps --seeds 1 --quiet --csv=runs --out s";
    let flows = "sweep flows --set platform=p.xml --set flows=1,2 --seeds 1 --quiet --csv=runs --out f";
    for (sweep, file, contents) in [(network, "b.txt", "a b\nb c\nc d\n"), (flows, "speeds.txt", "0.0 5e5\n")] {
        let first = text(&parades(&folder.0, sweep));
        assert_eq!(text(&parades(&folder.0, sweep)), first);
        folder.write(file, contents);
        let refused = parades(&folder.0, sweep);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(
            said(&refused).contains(&format!("is the journal of another sweep: `{file}` is ")),
            "{}",
            said(&refused)
        );
    }
}

const NETWORK_OF_EDGES: &str = r#"
network = "edges"
parameters = { edges = "a.txt", rate = "1Mbps" }
defaults = { rate = "10Mbps", delay = "1ms" }
part = [{ kind = "edges", name = "p", file = "$edges" }]
app = [{ kind = "constant", name = "c", from = "p.a", to = "p.b", rate = "$rate" }]
"#;

const PLATFORM_WITH_PROFILE: &str = r#"<platform version="4.1"><zone id="z" routing="Full">
  <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
  <link id="l" bandwidth="1MBps" latency="1ms" bandwidth_file="speeds.txt"/>
  <route src="a" dst="b"><link_ctn id="l"/></route>
</zone></platform>"#;

#[test]
fn a_preset_is_one_in_a_sweep_too() {
    let folder = Folder::new("sweep-preset");
    let sweep = "sweep chord --set preset=none,paper --set nodes=20 --set network=constant --until 20s --seeds 1 --quiet --json";
    let sweep: Value = serde_json::from_str(&text(&parades(&folder.0, sweep))).unwrap();
    let runs = sweep["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for run in runs {
        let preset = run["parameters"]["preset"].as_str().unwrap();
        let alone =
            format!("run chord --set preset={preset} --set nodes=20 --set network=constant --until 20s --quiet --json");
        let alone: Value = serde_json::from_str(&text(&parades(&folder.0, &alone))).unwrap();
        assert_eq!(run["digest"], alone["digest"], "{preset}");
    }
    assert_ne!(runs[0]["digest"], runs[1]["digest"]);
    // The swept preset changes other parameters, which are then not the same in all runs.
    assert_eq!((&sweep["parameters"]["nodes"], &sweep["parameters"]["bits"]), (&20.into(), &Value::Null));
}

#[test]
fn series_of_odd_names_are_files_in_their_folder() {
    let folder = Folder::new("odd-names");
    let network = |name: &str| {
        format!(
            "network = \"odd\"\nuntil = \"1s\"\nnodes = [\"a\", \"b\"]\nlink = [{{ name = \"{name}\", from = \"a\", to = \"b\", rate = \"1Mbps\", delay = \"1ms\" }}]\nmeasure = {{ every = \"100ms\", links = \"*\" }}\n"
        )
    };
    for name in ["/../../../evil".to_owned(), "Dallas/Ft Worth".into(), "x".repeat(300)] {
        folder.write("n.toml", network(&name));
        text(&parades(&folder.0, "run n.toml --quiet --out o --overwrite"));
        let entries = std::fs::read_dir(folder.0.join("o/tables")).unwrap().map(|entry| entry.unwrap());
        let series: Vec<_> = entries.filter(|entry| entry.file_name() != "links.csv").collect();
        assert!(!series.is_empty() && series.iter().all(|entry| entry.file_type().unwrap().is_file()), "{name}");
        let beside = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(beside.into_iter().all(|entry| entry == "o" || entry == "n.toml"), "{name}");
    }
}

#[test]
fn a_folder_of_results_is_whole_and_takes_no_others_place() {
    let folder = Folder::new("whole");
    let run = |out: &str, options: &str| parades(&folder.0, &format!("run {options} --quiet --out {out} --overwrite"));
    assert!(run("a", "mm1 --set customers=1000").status.success());
    assert!(folder.0.join("a/tables/stations.csv").exists());
    let rows = folder.read("a/metrics.csv");
    assert!(rows.starts_with("metric,value\n") && rows.contains("\nsojourn_distribution_s.p99,"), "{rows}");
    // The results of another run replace all results; other files stay.
    folder.write("a/notes.txt", "mine");
    assert!(run("a", "phold --until 2s").status.success());
    assert!(!folder.0.join("a/tables/stations.csv").exists());
    assert_eq!(folder.read("a/notes.txt"), "mine");
    let left: Vec<_> = std::fs::read_dir(folder.0.join("a")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
    // Remains of two runs: one was killed while it moved its results to their place, the other failed.
    std::fs::create_dir(folder.0.join("a/.parades-1")).unwrap();
    std::fs::rename(folder.0.join("a/summary.json"), folder.0.join("a/.parades-1/summary.json")).unwrap();
    assert_eq!(run("a", "faulty").status.code(), Some(1));
    assert!(!folder.0.join("a/metrics.json").exists() && !folder.0.join("a/.parades-1").exists());
    assert_eq!(folder.read("a/notes.txt"), "mine");
    assert!(run("a", "phold --until 2s").status.success());
    folder.write("b/metrics.csv", "mine");
    let output = run("b", "phold --until 2s");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(said(&output), "error: b/metrics.csv is there, and no run wrote it; name another folder for `--out`\n");
    assert_eq!(folder.read("b/metrics.csv"), "mine");
}

#[test]
fn all_runs_of_a_sweep_are_of_the_files_as_they_were_at_its_start() {
    let folder = Folder::new("edited");
    let file = |load: f64| format!("scenario = \"wan\"\nuntil = \"300ms\"\n[parameters]\nflows = 300\nload = {load}\n");
    folder.write("mine.toml", file(0.4));
    let sweep = "sweep mine.toml --seeds 1..40 --jobs 2 --csv";
    let before = text(&parades(&folder.0, sweep));
    let child = command(&folder.0, sweep).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(40));
    folder.write("mine.toml", file(0.9));
    let edited = child.wait_with_output().unwrap();
    let after = text(&parades(&folder.0, sweep));
    assert_ne!(before, after, "the edit changes the results");
    let found = text(&edited);
    // The sweep may have read the file only after the edit, but never both.
    assert!(found == before || found == after, "{found}");
    let note =
        "note: DIR/mine.toml was changed while the sweep went on; all runs are of the file as it was at the start";
    let path = folder.0.canonicalize().unwrap();
    assert_eq!(
        found == before,
        said(&edited).replace(path.to_str().unwrap(), "DIR").contains(note),
        "{}",
        said(&edited)
    );
}
