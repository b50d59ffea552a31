//! `parades sweep --shard` and `parades merge`: shards add up to the sweep of one process, and what does not
//! belong together is refused.

use crate::common::{Folder, command, parades};
use parades_core::digest::Digest;
use std::process::{Output, Stdio};
use std::time::Duration;

/// 60 runs of some ten milliseconds each.
const SWEEP: &str = "sweep mm1 --set utilisation=0.5,0.6,0.7 --set customers=20000 --seeds 1..20";

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    String::from_utf8(output.stdout.clone()).expect("it is text")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Executes a small sweep of six runs in two shards.
fn two_shards(folder: &Folder) {
    for shard in 1..=2 {
        text(&parades(&folder.0, &format!("{SMALL} --quiet --shard {shard}/2 --out s{shard}")));
    }
}

/// Six runs.
const SMALL: &str = "sweep mm1 --set utilisation=0.5,0.7 --set customers=1000 --seeds 1..3";

/// Replaces `from` by `to` in the first run of a journal, with the hash of the line as a sweep writes it.
fn plant(folder: &Folder, journal: &str, change: impl Fn(&str) -> String) {
    let text = folder.read(journal);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (record, _) = lines[1].split_once(",\"check\"").expect("a line has its hash");
    let record = change(record);
    let mut hash = Digest::default();
    hash.bytes(format!("{record}}}").as_bytes());
    lines[1] = format!("{record},\"check\":\"{:016x}\"}}", hash.value());
    folder.write(journal, lines.join("\n") + "\n");
}

/// Replaces the digest in a record.
fn with_wrong_digest(record: &str) -> String {
    let (before, after) = record.split_once("\"digest\":\"").expect("a run has a digest");
    format!("{before}\"digest\":\"0000000000000000{}", &after[16..])
}

#[cfg(unix)]
#[test]
fn four_shards_of_sixty_runs_one_of_them_killed_and_repeated_are_one_sweep() {
    let folder = Folder::new("shards");
    let whole = text(&parades(&folder.0, &format!("{SWEEP} --quiet --csv --out whole")));
    for shard in [1, 3, 4] {
        let rows = text(&parades(&folder.0, &format!("{SWEEP} --quiet --csv --shard {shard}/4 --out s/{shard}")));
        assert_eq!(rows.lines().count(), 16, "a header, and 15 of 60 runs");
    }
    let second = format!("{SWEEP} --quiet --csv --jobs 1 --shard 2/4 --out s/2");
    let mut child = command(&folder.0, &second).stdout(Stdio::null()).spawn().unwrap();
    let lines = || std::fs::read_to_string(folder.0.join("s/2/journal.jsonl")).map_or(0, |text| text.lines().count());
    while lines() < 4 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().expect("it is ours");
    assert_eq!(child.wait().unwrap().code(), None, "it was killed before its end");
    let early = parades(&folder.0, "merge s --csv");
    let message = said(&early);
    assert_eq!(early.status.code(), Some(1), "{message}");
    let again = "sweep mm1 --set utilisation=0.5,0.6,0.7 --set customers=20000 --seeds 1..20 --shard 2/4 --out s/2";
    assert!(message.contains(" of 60 runs are missing; ") && message.ends_with(&format!(" {again}\n")), "{message}");
    text(&parades(&folder.0, again));
    assert_eq!(text(&parades(&folder.0, "merge s --csv --out merged")), whole);
    assert_eq!(text(&parades(&folder.0, "merge s/4 s/2 s/1/journal.jsonl s/3 --csv")), whole);
    for file in ["runs.csv", "means.csv"] {
        assert_eq!(folder.read(&format!("merged/{file}")), folder.read(&format!("whole/{file}")));
    }
    // The merged folder is that of a sweep: nothing is left to execute.
    let before = folder.read("merged/journal.jsonl");
    assert_eq!(text(&parades(&folder.0, &format!("{SWEEP} --quiet --csv --out merged"))), whole);
    assert_eq!(folder.read("merged/journal.jsonl"), before);
}

#[test]
fn missing_runs_are_executed_and_no_others() {
    let folder = Folder::new("missing");
    let whole = text(&parades(&folder.0, &format!("{SMALL} --quiet --csv")));
    text(&parades(&folder.0, &format!("{SMALL} --quiet --shard 1/3 --out s/1")));
    assert_eq!(text(&parades(&folder.0, &format!("{SMALL} --quiet --csv --missing --out s"))), whole);
    assert_eq!(folder.read("s/journal.jsonl").lines().count(), 1 + 4, "a header, and the runs of two shards");
    assert_eq!(text(&parades(&folder.0, "merge s --csv")), whole);
}

#[test]
fn shards_may_overlap_if_their_results_agree() {
    let folder = Folder::new("overlap");
    let whole = text(&parades(&folder.0, &format!("{SMALL} --quiet --csv --out whole")));
    two_shards(&folder);
    text(&parades(&folder.0, &format!("{SMALL} --quiet --shard 2/3 --out third")));
    assert_eq!(text(&parades(&folder.0, "merge s1 s2 third whole --csv")), whole);
    plant(&folder, "third/journal.jsonl", with_wrong_digest);
    let output = parades(&folder.0, "merge s1 s2 third --csv");
    let message = said(&output);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{message}");
    assert!(message.starts_with("error: the run with utilisation=0.") && message.contains(" third: the digest is `"));
}

#[test]
fn altered_journals_are_refused() {
    let folder = Folder::new("altered");
    two_shards(&folder);
    // The last line, too.
    let journal = folder.read("s1/journal.jsonl");
    let (before, last) = journal.trim_end().rsplit_once('\n').unwrap();
    folder.write("s1/journal.jsonl", format!("{before}\n{}\n", with_wrong_digest(last)));
    let output = parades(&folder.0, "merge s1 s2");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("s1/journal.jsonl: line 4 is no run: the file was altered"), "{}", said(&output));
}

#[test]
fn versions_and_sweeps_are_not_mixed() {
    let folder = Folder::new("mixed");
    two_shards(&folder);
    let refused = |places: &str, reason: &str| {
        let output = parades(&folder.0, &format!("merge {places}"));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{}", said(&output));
        assert!(said(&output).contains(reason), "{}", said(&output));
    };
    let journal = folder.read("s2/journal.jsonl");
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    folder.write("old/journal.jsonl", journal.replacen(&version, "\"version\":\"0.0.1\"", 1));
    refused("s1 old", "old/journal.jsonl: was written by another program: `version` is `\"0.0.1\"` there and ");
    for (name, other) in [("seeds", "--seeds 4..6"), ("tie", "--tie-seed 3 --seeds 1..3")] {
        let sweep = SMALL.replace("--seeds 1..3", other);
        text(&parades(&folder.0, &format!("{sweep} --quiet --shard 2/2 --out {name}")));
        refused(&format!("s1 {name}"), &format!("{name}/journal.jsonl: is of another sweep: "));
    }
    refused("s1 nowhere", "nowhere: cannot be read: ");
    text(&parades(&folder.0, &format!("{SMALL} --quiet --out whole")));
    refused("whole", "there is no journal of a shard, so the grid is unknown");
    let output = parades(&folder.0, &format!("{SMALL} --shard 1/2 --out s2"));
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("`shard` is `\"2/2\"` there and `\"1/2\"` here"), "{}", said(&output));
}

#[test]
fn a_shard_that_does_not_exist_is_refused() {
    let folder = Folder::new("no-shard");
    for shard in ["5/4", "0/4", "x/4", "slurm"] {
        let output = command(&folder.0, &format!("{SMALL} --shard {shard}")).env_remove("SLURM_ARRAY_TASK_ID").output();
        assert_eq!(output.unwrap().status.code(), Some(2), "{shard}");
    }
}

#[test]
fn a_task_of_a_slurm_array_executes_its_shard() {
    let folder = Folder::new("slurm");
    let task = |shard: &str| {
        let mut command = command(&folder.0, &format!("{SMALL} --quiet --csv --shard {shard}"));
        command.envs([("SLURM_ARRAY_TASK_ID", "4"), ("SLURM_ARRAY_TASK_MIN", "0"), ("SLURM_ARRAY_TASK_MAX", "4")]);
        text(&command.env("SLURM_ARRAY_TASK_STEP", "2").output().unwrap())
    };
    assert_eq!(task("slurm"), task("3/3"));
    assert_ne!(task("slurm"), task("2/3"));
}
