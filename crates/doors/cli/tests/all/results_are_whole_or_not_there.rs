//! A file of results is whole under its own name, or not there, whatever ends the command; and it has one
//! writer at a time.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]
#![cfg(unix)]

use crate::common::{Folder, check, command, parades};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A run that takes far longer than a test waits.
const LONG: &str = "run phold --set lps=256 --until 100000s --engine sequential --quiet";

/// Starts a command in the background.
fn start(folder: &Folder, arguments: &str) -> Child {
    command(&folder.0, arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until `is_so`, for at most a minute.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..60 * 200 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}");
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Returns the names of the files and folders in a folder, and in those in it.
fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
        if path.is_dir() {
            names.extend(self::names(&path));
        }
    }
    names.sort();
    names
}

#[test]
fn a_place_has_one_writer_and_keeps_the_earlier_file_until_the_new_one_is_whole() {
    let folder = Folder::new("one-writer");
    folder.write("t.txt", "before");
    std::os::unix::fs::symlink("t.txt", folder.0.join("link")).unwrap();
    let mut first = start(&folder, &format!("{LONG} --trace t.txt"));
    wait_until("the trace has begun", || folder.0.join("t.txt.parades-part").exists());
    let refused = "another process is writing link; name another file, or wait until that process is over";
    check(&folder, &[("run phold --until 1s --quiet --trace link", 2, refused)]);
    assert_eq!(folder.read("t.txt"), "before");
    // A killed process leaves no lock, and nothing under the name.
    signal(&first, "KILL");
    first.wait().unwrap();
    assert_eq!(folder.read("t.txt"), "before");
    assert!(parades(&folder.0, "run phold --until 1s --quiet --trace link").status.success());
    assert!(folder.read("t.txt").starts_with("0."), "the trace is in the file that the link names");
    assert!(folder.0.join("link").is_symlink());
    assert_eq!(names(&folder.0), ["link", "t.txt"]);
}

#[test]
fn a_second_signal_leaves_no_temporary_files() {
    let folder = Folder::new("second-signal");
    for files in ["--trace t", "--timeline t.json", "--out o --out-trace"] {
        let mut child = start(&folder, &format!("{LONG} {files}"));
        wait_until("the files have begun", || names(&folder.0).iter().any(|name| name.contains("parades-")));
        signal(&child, "STOP");
        for name in ["TERM", "CONT"] {
            signal(&child, name);
        }
        // The second signal comes before the results are whole, or finds that the command is over.
        std::thread::sleep(Duration::from_millis(1100));
        let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{files}");
        assert!(!names(&folder.0).iter().any(|name| name.contains("parades-")), "{files}: {:?}", names(&folder.0));
    }
}

#[test]
fn a_run_replaces_neither_a_sweep_nor_another_run_unasked() {
    let folder = Folder::new("unasked");
    let run = "run phold --until 1s --quiet --out";
    assert!(parades(&folder.0, &format!("{run} r")).status.success());
    assert!(parades(&folder.0, "sweep phold --until 1s --seeds 1..2 --quiet --out s").status.success());
    let summary = folder.read("r/summary.json");
    let other = "r has the results of another run; name another folder for `--out`, or replace them with `--overwrite`";
    let sweep = format!("{} is the folder of a sweep; name another folder for `--out`", folder.0.join("s").display());
    check(
        &folder,
        &[
            (&format!("{run} r --seed 2"), 2, other),
            (&format!("{run} s"), 2, &sweep),
            (&format!("{run} s --overwrite"), 2, &sweep),
            (&format!("{run} s/runs/seed=3"), 2, &sweep),
        ],
    );
    assert_eq!(folder.read("r/summary.json"), summary);
    assert!(parades(&folder.0, &format!("{run} r --seed 2 --overwrite")).status.success());
    assert_ne!(folder.read("r/summary.json"), summary);
    // While the sweep goes on, too.
    let mut child = start(&folder, "sweep phold --until 100000s --seeds 1..4 --jobs 1 --quiet --out going");
    wait_until("the sweep has begun", || folder.0.join("going/journal.jsonl").exists());
    let going =
        format!("{} is the folder of a sweep; name another folder for `--out`", folder.0.join("going").display());
    check(&folder, &[(&format!("{run} going"), 2, &going)]);
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!names(&folder.0).iter().any(|name| name.contains("parades-")), "{:?}", names(&folder.0));
}

#[test]
fn a_conversion_is_not_written_over_its_own_input() {
    let folder = Folder::new("own-input");
    let input = r#"{"simulation": {}}"#;
    folder.write("in.json", input);
    std::os::unix::fs::symlink("in.json", folder.0.join("soft.json")).unwrap();
    std::fs::hard_link(folder.0.join("in.json"), folder.0.join("hard.json")).unwrap();
    for out in ["in.json", "./in.json", "soft.json", "hard.json"] {
        let message = format!("--out would write over {out}, which the configuration is; name another file");
        check(&folder, &[(&format!("convert speer in.json --out {out}"), 2, &message)]);
        assert_eq!(folder.read("in.json"), input);
    }
}

#[test]
fn a_sweep_that_is_refused_leaves_no_journal() {
    let folder = Folder::new("refused-sweep");
    let network = |to: &str| {
        format!(
            "network = \"n\"\nuntil = \"1s\"\nnodes = [\"a\", \"b\"]\nlink = [{{ from = \"a\", to = \"b\", rate = \"10Mbps\", delay = \"1ms\" }}]\napp = [{{ name = \"t\", kind = \"tcp\", from = \"a\", to = \"{to}\", size = 5 }}]\n"
        )
    };
    for out in ["--out o", "--journal j"] {
        let sweep = format!("sweep n.toml --seeds 1..2 --quiet {out}");
        folder.write("n.toml", network("c"));
        assert_eq!(parades(&folder.0, &sweep).status.code(), Some(2));
        folder.write("n.toml", network("b"));
        let corrected = parades(&folder.0, &sweep);
        assert!(corrected.status.success(), "{}", String::from_utf8_lossy(&corrected.stderr));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn outputs_may_be_devices_pipes_and_standard_output() {
    let folder = Folder::new("special");
    let run = "run phold --set lps=8 --until 1s --quiet --json --trace";
    assert!(parades(&folder.0, &format!("{run} whole.txt")).status.success());
    let trace = folder.read("whole.txt");
    assert!(parades(&folder.0, &format!("{run} /dev/null")).status.success());
    // Standard output that is a file keeps what was printed before.
    let file = std::fs::File::create(folder.0.join("all.txt")).unwrap();
    assert!(command(&folder.0, &format!("{run} /dev/stdout")).stdout(file).status().unwrap().success());
    let all = folder.read("all.txt");
    assert!(all.contains("\"scenario\"") && all.lines().count() == trace.lines().count() + 1, "{all}");
    assert!(trace.lines().all(|line| all.contains(line)));
    assert!(Command::new("mkfifo").arg(folder.0.join("pipe")).status().unwrap().success());
    let reader = Command::new("cat").arg(folder.0.join("pipe")).stdout(Stdio::piped()).spawn().unwrap();
    assert!(parades(&folder.0, &format!("{run} pipe")).status.success());
    assert_eq!(String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap(), trace);
    assert_eq!(names(&folder.0), ["all.txt", "pipe", "whole.txt"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_cannot_be_written_whole_is_not_there() {
    let folder = Folder::new("not-whole");
    folder.write("t.txt", "before");
    // The system ends files at 8 kB, as a full disk would.
    let limited = |arguments: &str| {
        let shell = format!("ulimit -f 8; exec {} {arguments}", env!("CARGO_BIN_EXE_parades"));
        Command::new("sh").args(["-c", &shell]).current_dir(&folder.0).output().unwrap()
    };
    for output in ["--trace t.txt", "--timeline t.json", "--out o --out-trace"] {
        let failed = limited(&format!("run phold --set lps=64 --until 9s --quiet {output}"));
        assert_eq!(failed.status.code(), Some(1), "{output}");
        assert!(String::from_utf8_lossy(&failed.stderr).contains("File too large"), "{output}: {failed:?}");
    }
    assert_eq!(folder.read("t.txt"), "before");
    assert_eq!(names(&folder.0), ["o", "t.txt"]);
}

#[test]
fn samples_of_another_run_are_kept() {
    let folder = Folder::new("kept-samples");
    let run = "run mm1 --set customers=100 --samples s --quiet";
    assert!(parades(&folder.0, run).status.success());
    let message = "--samples: s/sojourn.csv is there, of another run; name another folder, or add `--overwrite`";
    check(&folder, &[(run, 2, message)]);
    assert!(parades(&folder.0, &format!("{run} --overwrite")).status.success());
}
