//! `--processes N`: one answer on any number of processes, and a process that dies is named.

use crate::common::{Folder, command, parades};
use serde_json::Value;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the processes whose parent is `parent`.
fn children_of(parent: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        after_name.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

/// Starts a run of three processes that takes far longer than the test, and waits for its children.
fn long_run(folder: &Folder, engine: &str) -> (Child, Vec<u32>) {
    let arguments = format!("run phold --until 1000000s --engine {engine} --processes 3 --threads 1 --json");
    let run = command(&folder.0, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    await_children(run, 2)
}

/// Waits until a process has this number of children.
pub(crate) fn await_children(mut run: Child, number: usize) -> (Child, Vec<u32>) {
    loop {
        let children = children_of(run.id());
        if children.len() == number {
            return (run, children);
        }
        assert!(run.try_wait().expect("it is a child").is_none(), "the run has ended");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    let sent = std::process::Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(sent.expect("there is `kill`").success());
}

/// Waits until these processes have ended.
fn await_ends(pids: &[u32]) {
    let lives = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|after| !after.is_empty() && !after.trim_start().starts_with('Z'))
    };
    while pids.iter().any(lives) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn every_engine_gives_the_answer_of_sequential_on_any_number_of_processes() {
    let folder = Folder::new("processes");
    for scenario in ["phold --set lps=64 --until 20s", "phold --set lps=64 --set payload=1000 --until 20s", "network"] {
        let sequential = json(&parades(&folder.0, &format!("run {scenario} --engine sequential --json")));
        for engine in ["window", "null-message", "time-warp"] {
            for processes in [2, 3] {
                let options = format!("--engine {engine} --processes {processes} --threads 1 --json");
                let found = json(&parades(&folder.0, &format!("run {scenario} {options}")));
                assert_eq!(found["processes"], processes);
                for field in ["digest", "events", "metrics", "lps", "virtual_time_s"] {
                    assert_eq!(found[field], sequential[field], "{field} of {scenario} {options}");
                }
                assert_eq!(found["peak_rss_bytes_of_others"].as_array().map(Vec::len), Some(processes - 1));
            }
        }
    }
}

/// By default the pairs of LPs that send to each other are on one process.
#[test]
fn events_cross_between_processes_if_lps_are_placed_by_ranges_of_ids() {
    let folder = Folder::new("processes-ranges");
    let run = "run phold --set lps=64 --set radius=32 --set remote=1 --until 20s --json --engine";
    let sequential = json(&parades(&folder.0, &format!("{run} sequential")));
    for engine in ["window", "null-message", "time-warp"] {
        let of_ranks = format!("{run} {engine} --processes 2 --threads 1");
        let [channels, ranges] = ["channels", "ranges"]
            .map(|placement| json(&parades(&folder.0, &format!("{of_ranks} --tune placement={placement}"))));
        let crossed = |found: &Value| found["engine_stats"]["sent_to_other_processes"].as_f64().expect("it is counted");
        assert_eq!(
            (&channels["digest"], &ranges["digest"]),
            (&sequential["digest"], &sequential["digest"]),
            "{engine}"
        );
        assert!(crossed(&channels) < 1.0, "{engine}: {}", crossed(&channels));
        // Rank 0 sends one half of the events.
        assert!(crossed(&ranges) > 0.4 * sequential["events"].as_f64().expect("a number"), "{engine}");
        assert_eq!(ranges["settings"]["placement"], "ranges", "{engine}");
    }
}

#[test]
fn a_comparison_has_a_row_for_each_number_of_processes_and_threads() {
    let folder = Folder::new("processes-compared");
    let lists = "--engines sequential,rounds,null-message --processes 1,2 --threads 1,3 --json";
    let compared = json(&parades(&folder.0, &format!("compare phold --set lps=64 --until 5s {lists}")));
    let runs = compared["runs"].as_array().expect("there are runs");
    let sides =
        |run: &Value| (run["engine"].as_str().map(str::to_owned), run["processes"].as_u64(), run["threads"].as_u64());
    let side = |engine: &str, processes, threads| (Some(engine.to_owned()), Some(processes), Some(threads));
    let one_process = [side("sequential", 1, 1), side("rounds", 1, 1), side("rounds", 1, 3)];
    let others = [(1, 1), (1, 3), (2, 1), (2, 3)].map(|(processes, threads)| side("null-message", processes, threads));
    assert_eq!(runs.iter().map(sides).collect::<Vec<_>>(), [&one_process[..], &others].concat());
    assert!(runs.iter().all(|run| run["same"] == true), "{runs:?}");
}

#[test]
fn the_processes_of_a_program_name_the_same_waiting_nodes() {
    let folder = Folder::new("processes-waiting");
    let compared = "compare chord --set nodes=30 --until 30s --engines sequential,window --processes 3 --threads 1";
    let output = parades(&folder.0, compared);
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn a_trace_of_several_processes_is_that_of_one() {
    let folder = Folder::new("processes-trace");
    for (name, how) in [("one", "--engine sequential"), ("two", "--engine window --processes 2 --threads 1")] {
        json(&parades(&folder.0, &format!("run phold --set lps=16 --until 5s {how} --trace {name}.txt --json")));
    }
    assert_eq!(folder.read("one.txt"), folder.read("two.txt"));
}

#[test]
fn a_process_that_is_killed_ends_the_run_with_its_name_and_the_signal() {
    let folder = Folder::new("processes-killed");
    for engine in ["window", "null-message", "time-warp"] {
        for victim in 0..2 {
            let (run, children) = long_run(&folder, engine);
            signal(children[victim], "KILL");
            let output = run.wait_with_output().expect("it ends");
            assert_eq!(output.status.code(), Some(1), "{}", said(&output));
            let message = said(&output);
            let name = format!("(process {}) was killed by SIGKILL", children[victim]);
            assert!(message.contains(&name) && message.lines().count() == 1, "{message}");
            await_ends(&children);
        }
    }
}

#[test]
fn no_process_outlives_the_first_one() {
    let folder = Folder::new("processes-first");
    let (mut run, children) = long_run(&folder, "window");
    run.kill().expect("it runs");
    run.wait().expect("it was killed");
    await_ends(&children);
}

#[test]
fn an_interrupt_ends_all_processes_with_the_results_so_far() {
    let folder = Folder::new("processes-interrupt");
    // A run that is still being set up has no results. On a busy machine that takes a while.
    for milliseconds in [500, 2_000, 8_000] {
        let (run, children) = long_run(&folder, "window");
        std::thread::sleep(Duration::from_millis(milliseconds));
        signal(run.id(), "TERM");
        let output = run.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{}", said(&output));
        await_ends(&children);
        if !output.stdout.is_empty() {
            let results: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
            assert!(results["events"].as_u64() > Some(0) && results["stopped_at_s"].is_number());
            return;
        }
    }
    panic!("the run was still being set up after 8 s");
}

#[test]
fn a_stopped_process_that_continues_changes_nothing() {
    let folder = Folder::new("processes-stopped");
    let arguments = "run phold --set lps=64 --until 20000s --json --engine";
    let expected = json(&parades(&folder.0, &format!("{arguments} sequential")));
    let run = command(&folder.0, &format!("{arguments} window --processes 2 --threads 1"));
    let run = { run }.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (run, children) = await_children(run, 1);
    signal(children[0], "STOP");
    std::thread::sleep(Duration::from_millis(200));
    signal(children[0], "CONT");
    let found = json(&run.wait_with_output().expect("it ends"));
    assert_eq!(found["digest"], expected["digest"]);
}

#[test]
fn an_error_of_a_model_is_the_same_on_several_processes_and_said_once() {
    let folder = Folder::new("processes-error");
    let one = parades(&folder.0, "run faulty --engine window --threads 1");
    let two = parades(&folder.0, "run faulty --engine window --threads 1 --processes 2");
    assert_eq!((two.status.code(), said(&two)), (Some(1), said(&one)));
}

#[test]
fn a_worker_that_takes_too_much_memory_is_named() {
    let folder = Folder::new("processes-memory");
    let network = r#"
        network = "a link so long that packets fill the memory"
        until = "1000s"
        nodes = ["first", "second", "sender", "receiver"]
        defaults = { rate = "1Gbps", delay = "10ms" }
        link = [
            { from = "first", to = "second" },
            { from = "second", to = "sender" },
            { from = "sender", to = "receiver", delay = "900s" },
        ]
        app = [{ name = "flood", kind = "constant", from = "sender", to = "receiver", rate = "1Gbps", packet = "100B" }]
    "#;
    folder.write("flood.toml", network);
    for engine in ["window", "null-message", "time-warp"] {
        // By ranges of ids, the packets are with worker 1.
        let options = format!("--engine {engine} --processes 2 --threads 1 --tune placement=ranges --quiet");
        let output = parades(&folder.0, &format!("run flood.toml {options} --memory-limit 40MiB"));
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{engine}: {said}");
        assert!(said.contains("worker 1 ") && said.contains(" bytes"), "{engine}: {said}");
        assert!(said.contains("above the limit") && said.contains("raise the memory limit"), "{engine}: {said}");
        assert_eq!(said.lines().count(), 1, "{engine}: {said}");
    }
}
