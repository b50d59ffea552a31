//! The command on ranks that `mpirun` starts: one answer over MPI, over shared memory and over both, written
//! by rank 0 alone.
//!
//! `mpirun` must be in the path, and belong to the MPI library of the build.

#[path = "all/common.rs"]
#[allow(dead_code, reason = "this program uses a part of it")]
mod common;

use common::{Folder, parades};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// The numbers of ranks, and of ranks that play one machine: over MPI alone, over both, over shared memory.
const PATHS: [(&str, &str); 4] = [("2", "1"), ("3", "2"), ("4", "1"), ("4", "4")];

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    serde_json::from_slice(&output.stdout).expect("only rank 0 prints, and it prints JSON")
}

/// Returns the command of ranks that each execute `words`, separated by blanks. Open MPI 4 takes the word
/// `--tune` for its own, wherever it stands, so the words have `--tune=`.
fn mpirun(folder: &Path, ranks: &str, words: &str) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "-n", ranks, env!("CARGO_BIN_EXE_parades")]).args(words.split_whitespace());
    // Containers run everything as root.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.current_dir(folder);
    command
}

fn on_ranks(folder: &Folder, ranks: &str, words: &str) -> Output {
    mpirun(&folder.0, ranks, words).output().expect("there is `mpirun`")
}

#[test]
fn every_engine_gives_the_answer_of_sequential_on_any_number_of_ranks() {
    let folder = Folder::new("ranks");
    let scenarios = [
        "phold --set lps=100 --until 5s",
        "phold --set lps=100 --set payload=16384 --until 2s",
        "campus --set networks=2 --until 200ms",
        "campus --set networks=2 --set traffic=tcp --until 300ms",
        "multicast --set trees=8 --set levels=4 --until 1s",
        "chord --set nodes=30 --set form=machine --until 30s",
        "chord --set nodes=30 --set form=program --until 30s",
        // Its bottleneck fails after eight seconds.
        "network --until 9s",
    ];
    for scenario in scenarios {
        for (ranks, per_machine) in PATHS {
            let how = format!("--threads 1 --tune=ranks-per-machine={per_machine} --json");
            let compared = json(&on_ranks(&folder, ranks, &format!("compare {scenario} {how}")));
            let runs = compared["runs"].as_array().expect("there are runs");
            assert!(runs.len() >= 4, "{scenario}: {runs:?}");
            for run in runs {
                assert_eq!(run["digest"], runs[0]["digest"], "{scenario}, {ranks} ranks, {per_machine} a machine");
            }
        }
    }
}

#[test]
fn a_run_has_the_results_and_files_of_one_process() {
    let folder = Folder::new("ranks-files");
    let run = "run network --until 2s --json";
    let expected = json(&parades(&folder.0, &format!("{run} --engine sequential --trace one.txt")));
    let how = "--engine window --threads 1 --out results --trace three.txt --pcap captures";
    let found = json(&on_ranks(&folder, "3", &format!("{run} {how}")));
    for field in ["digest", "events", "metrics", "lps", "virtual_time_s"] {
        assert_eq!(found[field], expected[field], "{field}");
    }
    assert_eq!((&found["processes"], &found["threads"]), (&Value::from(3), &Value::from(1)));
    let others = found["peak_rss_bytes_of_others"].as_array().expect("there are others");
    assert!(others.len() == 2 && others.iter().all(|bytes| bytes.as_u64() > Some(1 << 20)), "{others:?}");
    assert_eq!(folder.read("one.txt"), folder.read("three.txt"));
    assert!(folder.read("results/summary.json").contains(found["digest"].as_str().expect("it is text")));
}

#[test]
fn a_saved_run_goes_on_over_ranks() {
    let folder = Folder::new("mpirun-resume");
    let scenario = "run campus --set networks=2 --set traffic=tcp";
    let whole = parades(&folder.0, &format!("{scenario} --until 600ms --json --engine sequential"));
    let saved = parades(&folder.0, &format!("{scenario} --until 300ms --engine window --threads 2 --save a.save"));
    assert!(saved.status.success(), "{}", said(&saved));
    let resumed = on_ranks(&folder, "2", "resume a.save --until 600ms --json --engine window --threads 1");
    let [whole, resumed] = [json(&whole), json(&resumed)];
    for field in ["digest", "events", "metrics"] {
        assert_eq!(resumed[field], whole[field], "{field}");
    }
    assert_eq!(resumed["processes"], 2);
}

#[test]
fn a_run_over_ranks_is_saved_and_goes_on_elsewhere() {
    let folder = Folder::new("mpirun-save");
    let scenario = "run campus --set networks=2 --set traffic=tcp --json";
    let whole = json(&parades(&folder.0, &format!("{scenario} --until 600ms --engine sequential")));
    for engine in ["window", "null-message", "time-warp"] {
        let how = format!("--engine {engine} --threads 1 --save a.save --save-every-virtual 200ms");
        json(&on_ranks(&folder, "2", &format!("{scenario} --until 300ms {how}")));
        for how in ["--engine sequential", "--engine window --processes 3 --threads 1"] {
            let resumed = json(&parades(&folder.0, &format!("resume a.save --until 600ms --json {how}")));
            for field in ["digest", "events", "metrics"] {
                assert_eq!(resumed[field], whole[field], "{field}: {engine}, then {how}");
            }
        }
    }
}

#[test]
fn runs_at_growing_lengths_are_runs_on_the_same_ranks() {
    let folder = Folder::new("ranks-lengths");
    let run = "run mm1 --until-interval 20% --metric sojourn --until 100s --json";
    let expected = json(&parades(&folder.0, &format!("{run} --engine sequential")));
    let found = json(&on_ranks(&folder, "2", &format!("{run} --engine window --threads 1")));
    assert_eq!((&found["digest"], &found["until"]), (&expected["digest"], &expected["until"]));
}

#[test]
fn ranks_of_different_commands_are_refused_with_one_message() {
    let folder = Folder::new("ranks-differ");
    let mut command = mpirun(&folder.0, "1", "run phold --until 1s --threads 1");
    command.args([":", "-n", "1", env!("CARGO_BIN_EXE_parades"), "run", "phold", "--until", "2s", "--threads", "1"]);
    let output = command.output().expect("there is `mpirun`");
    let message = "error: rank 1 was started with other arguments than rank 0 (`run phold --until 2s --threads 1`, \
                   not `run phold --until 1s --threads 1`); start the same command on every rank";
    assert!(said(&output).contains(message) && said(&output).matches("error:").count() == 1, "{}", said(&output));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_mistake_is_said_once_with_its_exit_status() {
    let folder = Folder::new("ranks-wrong");
    for (words, message, status) in [
        ("run phold --engine sequential", "error: the engine `sequential` runs in one process, not 3; use one of", 2),
        ("run phold --processes 2", "error: `--processes 2` differs from the 3 ranks that the launcher", 2),
        ("run phold --tune=ranks-per-machine=x", "error: `--tune ranks-per-machine=x` has no number of ranks", 2),
        ("run faulty --engine window --threads 1", "error: ", 1),
        ("why phold --event 3:1s", "error: this command cannot be shared among 3 ranks; start it without mpirun", 2),
        ("run phold --no-such-option", "error: unexpected argument '--no-such-option'", 2),
    ] {
        let output = on_ranks(&folder, "3", words);
        let said = said(&output);
        assert!(said.contains(message) && said.matches("error:").count() == 1, "{words}: {said}");
        assert_eq!(output.status.code(), Some(status), "{words}: {said}");
    }
    let alone = parades(&folder.0, "run phold --tune ranks-per-machine=2");
    let message = "error: `--tune ranks-per-machine` is for ranks that mpirun or srun has started; leave it out; \
                   `--processes` share the memory of one machine\n";
    assert_eq!((said(&alone).as_str(), alone.status.code()), (message, Some(2)));
}

/// Starts a run of three ranks that takes far longer than the test.
fn long_run(folder: &Folder, per_machine: &str) -> (Child, Vec<u32>) {
    let words =
        format!("run phold --until 1000000s --engine window --threads 1 --tune=ranks-per-machine={per_machine}");
    let mut command = mpirun(&folder.0, "3", &format!("{words} --json"));
    await_ranks(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("there is `mpirun`"))
}

/// Waits until `mpirun` has started three ranks, and a second more, in which they begin to compute.
fn await_ranks(mut run: Child) -> (Child, Vec<u32>) {
    loop {
        let ranks = ranks_of(run.id());
        if ranks.len() == 3 {
            std::thread::sleep(Duration::from_secs(1));
            return (run, ranks);
        }
        assert!(run.try_wait().expect("it is a child").is_none(), "the job has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the program that a process executes; `None` if it has ended.
fn program_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Returns the ranks among the children of `mpirun`.
fn ranks_of(mpirun: u32) -> Vec<u32> {
    let program = Path::new(env!("CARGO_BIN_EXE_parades")).canonicalize().expect("it was built");
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_rank = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|after| after.split_whitespace().nth(1)?.parse().ok());
        parent == Some(mpirun) && program_of(*pid) == Some(program.clone())
    };
    pids.filter(is_rank).collect()
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(sent.expect("there is `kill`").success());
}

#[test]
fn a_rank_that_is_killed_ends_the_job_with_a_message() {
    for (per_machine, victim) in [("1", 1), ("3", 2)] {
        let folder = Folder::new("ranks-killed");
        let (run, ranks) = long_run(&folder, per_machine);
        signal(ranks[victim], "KILL");
        let output = run.wait_with_output().expect("it ends");
        assert!(!output.status.success());
        let said = said(&output);
        assert!(said.contains("signal 9") || said.contains("KILLED BY SIGNAL: 9"), "{said}");
        // A rank that is left over keeps the test from ending.
        while ranks.iter().any(|&rank| program_of(rank).is_some()) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_signal_to_rank_0_ends_the_run_with_the_results_so_far() {
    let folder = Folder::new("ranks-interrupt");
    let (run, ranks) = long_run(&folder, "1");
    let environment = |pid: &u32| std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let is_first = |pid: &&u32| {
        let variables = environment(pid);
        let numbers: [&[u8]; 2] = [b"OMPI_COMM_WORLD_RANK=0", b"PMI_RANK=0"];
        variables.split(|&byte| byte == 0).any(|variable| numbers.contains(&variable))
    };
    signal(*ranks.iter().find(is_first).expect("one of them is rank 0"), "TERM");
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    let results: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert!(results["events"].as_u64() > Some(0) && results["stopped_at_s"].is_number());
}

#[test]
fn the_ranks_of_a_sweep_execute_a_shard_each() {
    let folder = Folder::new("ranks-sweep");
    let sweep = "sweep mm1 --set utilisation=0.5,0.7 --set customers=1000 --seeds 1..3 --quiet";
    let ranks = on_ranks(&folder, "3", &format!("{sweep} --jobs 1 --out results"));
    assert!(ranks.status.success() && ranks.stdout.is_empty(), "{}", said(&ranks));
    let text = |output: Output| String::from_utf8(output.stdout).expect("it is text");
    let whole = text(parades(&folder.0, &format!("{sweep} --csv=means")));
    assert_eq!(text(parades(&folder.0, "merge results --csv=means")), whole);
    let kept_nowhere = on_ranks(&folder, "2", sweep);
    assert_eq!(kept_nowhere.status.code(), Some(2), "{}", said(&kept_nowhere));
}
