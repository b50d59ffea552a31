//! The program `parades-bench`: lists, messages, exit statuses, and the processes that it starts of itself.

use crate::common::{command, results_of_rank, text};
use parades_cli::BENCH_WORDS;
use parades_tables::TABLES;
use std::process::Output;
use tempfile::TempDir;

fn run(words: &str) -> Output {
    command(words).output().expect("the program was built")
}

/// Checks that wrong usage gets this one message, and nothing else.
fn refuses(words: &str, message: &str) {
    let output = run(words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((said.as_ref(), output.status.code()), (format!("error: {message}\n").as_str(), Some(2)), "{words}");
    assert!(output.stdout.is_empty(), "{words}");
}

#[test]
fn without_a_table_all_are_listed() {
    let listed = text(&mut command(""));
    let names: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, TABLES.iter().map(|table| table.name).collect::<Vec<_>>());
}

#[test]
fn shells_complete_the_tables_and_options_that_there_are() {
    let (options, tables): (Vec<_>, Vec<_>) = BENCH_WORDS.iter().copied().partition(|word| word.starts_with("--"));
    assert_eq!(tables, TABLES.iter().map(|table| table.name).collect::<Vec<_>>());
    let help = text(&mut command("--help"));
    let words = help.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")));
    let known: Vec<_> = words.filter(|word| !["--help", "--version"].contains(word)).collect();
    assert_eq!(known, options, "{help}");
}

#[test]
fn wrong_usage_gets_one_sentence() {
    refuses("fold", "there is no table `fold`; did you mean `phold`?");
    refuses("phold --large", "only the table `chord` knows SimGrid and large sizes; leave --simgrid and --large out");
    refuses("phold --validation .", "only the tables `flows` and `packets` have a validation; leave --validation out");
    refuses("phold --rival ross=phold", "only the table `rivals` takes the programs of rivals; leave --rival out");
    refuses(
        "rivals --rival rose=phold",
        "no rival is called `rose`; choose one of ross, cimba, peersim, simgrid, htsim, ns3",
    );
    refuses("rivals --rival ross=a --rival ross=b", "the program of `ross` is given twice; give it once");
    refuses("rivals --rival ross=/nowhere/phold", "/nowhere/phold cannot be started; give the path of its program");
    let output = run("phold --pairs 0");
    assert!(output.status.code() == Some(2) && output.stdout.is_empty());
    // Before anything is measured.
    let output = run("phold --record /nowhere/figures.jsonl");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with("error: /nowhere/figures.jsonl cannot be written") && said.lines().count() == 1, "{said}");
    assert_eq!(output.status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_no_records() {
    refuses(
        "phold --against /dev/zero",
        "/dev/zero: cannot be read: it is longer than 256 MiB; give a file that `bench --record` wrote",
    );
}

#[test]
fn ranks_of_a_launcher_are_refused() {
    let of_rank = |rank: &str| {
        let output = command("phold").env("OMPI_COMM_WORLD_SIZE", "2").env("OMPI_COMM_WORLD_RANK", rank).output();
        output.expect("the program was built")
    };
    let outputs = ["0", "1"].map(of_rank);
    assert_eq!(outputs.each_ref().map(|output| output.status.code()), [Some(2); 2]);
    assert!(outputs[0].stderr.starts_with(b"error: measurements cannot be shared among 2 ranks; "));
    assert!(outputs[1].stderr.is_empty());
}

/// Returns the results of `parades-bench run`.
fn run_of(words: &str) -> serde_json::Value {
    let said = text(&mut command(&format!("run {words} --json --quiet")));
    serde_json::from_str(&said).expect("one JSON object")
}

#[test]
fn every_variant_of_an_engine_gives_the_same_answer() {
    let phold = "phold --set lps=64 --set delay=quantised --until 20s --threads 3 --engine";
    let digest = |engine: &str| run_of(&format!("{phold} {engine}"))["digest"].clone();
    let expected = digest("window");
    for (engine, variants) in [
        ("window", "barrier=posix barrier=semaphore barrier=spin barrier=tree,fan-in=2 sets=1,dedicated=0"),
        ("window", "taking=locked-index,dedicated=0 taking=locked-queue,dedicated=0"),
        ("null-message", "nulls=demand"),
        ("rounds", "threshold=cumulative threshold=naive threshold=fixed,parallel-from=1"),
        ("rounds", "waiting=futex waiting=posix main=sleeps main=extra"),
        ("time-warp", "bound=false stalls=3 stalls=7,copy-every=5"),
    ] {
        for variant in variants.split(' ') {
            let tune = variant.split(',').map(|setting| format!(" --tune {setting}")).collect::<String>();
            assert_eq!(digest(&format!("{engine}{tune}")), expected, "{engine}{tune}");
        }
    }
    let alone = "phold --set lps=64 --set delay=quantised --until 20s --engine sequential --tune pending=heap";
    assert_eq!(run_of(alone)["digest"], expected);
}

/// Without a bound, and with workers that fall behind, so that many executions are rolled back.
#[test]
fn executions_without_a_bound_keep_to_a_memory_limit() {
    let long = "phold --set work=2000 --until 150s --memory-limit 2MiB --engine";
    let digest = |engine: &str| run_of(&format!("{long} {engine}"))["digest"].clone();
    assert_eq!(digest("time-warp --tune bound=false --tune stalls=3"), digest("sequential"));
}

#[test]
fn the_variants_are_listed_with_the_settings() {
    let listed = text(&mut command("list --engines"));
    assert!(listed.contains("--tune barrier=adaptive: ") && listed.contains("--tune placement=channels: "), "{listed}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_can_start_the_program_for_a_run_on_several_processes() {
    let run = run_of("phold --set lps=64 --until 2s --engine window --threads 1 --processes 2");
    assert_eq!(run["processes"], 2);
    assert!(run["events"].as_u64() > Some(64), "{run}");
}

#[test]
fn a_table_can_start_the_program_as_a_rank() {
    let folder = TempDir::new().expect("there is room");
    results_of_rank(command("transport-phold"), "first-fit 2", &folder.path().join("results"));
}
