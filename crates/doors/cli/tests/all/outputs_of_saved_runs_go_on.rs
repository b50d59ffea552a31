//! `resume`: the files of a run that was broken are those of the unbroken run, byte for byte.

use crate::common::{Folder, check, command, parades};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A network with samples each 100 ms, a failure at 600 ms and its end at 1100 ms.
const NETWORK: &str = r#"
network = "a bottleneck that fails"
convergence = "20ms"
nodes = ["a", "b", "detour"]
defaults = { rate = "10Mbps", delay = "2ms", queue = 20 }
group = [{ name = "west", size = 3, attach = "a" }, { name = "east", size = 3, attach = "b" }]
link = [{ from = "a", to = "b", rate = "4Mbps" }, { from = "detour", to = ["a", "b"], rate = "2Mbps", loss = 0.01 }]
app = [
    { name = "video", kind = "constant", from = "west.0", to = "east.*", rate = "300kbps" },
    { name = "web", kind = "request-response", from = "west.*", to = "east.0", response = "30kB", think = "50ms" },
    { name = "files", kind = "tcp", from = "west.1", to = "east.1", size = "2MB" },
]
event = [{ at = "600ms", link = "a-b", state = "down", for = "500ms" }]
measure = { every = "100ms", links = "*", apps = "*" }
"#;

/// The options for all files, below the folder `NAME`.
fn files(name: &str) -> String {
    format!("--trace {name}/t.txt --pcap {name}/pcap --samples {name}/samples --out {name}/out --out-trace")
}

/// Runs the command, which must end with this status. Returns its words on standard error.
fn runs(folder: &Folder, arguments: &str, status: i32) -> String {
    let output = parades(&folder.0, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{arguments}: {said}");
    said
}

/// Returns the contents of all files below a folder, by path, without those in which runs may differ.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in std::fs::read_dir(below).expect("it is a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("summary.json") && !path.ends_with("record.json") {
                let relative = path.strip_prefix(folder).expect("it is below").to_owned();
                found.insert(relative, std::fs::read(path).expect("it is a file"));
            }
        }
    }
    found
}

/// Checks that two folders have the same files, byte for byte.
#[track_caller]
fn check_equal(folder: &Folder, whole: &str, resumed: &str, context: &str) {
    let [whole, resumed] = [whole, resumed].map(|name| contents(&folder.0.join(name)));
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&whole), names(&resumed), "{context}");
    for (path, bytes) in &whole {
        assert!(*bytes == resumed[path], "{context}: {} differs", path.display());
    }
}

/// Makes the folder for the files of a run. Options for files make only the last folder of a path.
fn begin(folder: &Folder, name: &str) {
    std::fs::create_dir_all(folder.0.join(name)).expect("the test's own folder can be used");
}

#[test]
fn a_run_that_ended_with_its_save_goes_on_with_its_files() {
    let folder = Folder::new("ended-outputs");
    folder.write("net.toml", NETWORK);
    begin(&folder, "whole");
    runs(&folder, &format!("run net.toml --until 1300ms --engine sequential --quiet {}", files("whole")), 0);
    let engines = ["sequential", "window --threads 2", "rounds --threads 2", "null-message --threads 2"];
    // At a sample, at the failure, at the end of the convergence, at none of these, and before the first
    // event.
    let cuts = ["500ms", "600ms", "620ms", "777777us", "1ps"];
    for (number, cut) in cuts.iter().enumerate() {
        let name = format!("broken-{number}");
        begin(&folder, &name);
        let [before, after] = [number, number / 2 + 1].map(|number| engines[number % engines.len()]);
        let saved = format!("run net.toml --until {cut} --save a.save --engine {before} --quiet {}", files(&name));
        runs(&folder, &saved, 0);
        // Three pieces: the second one is saved again, into the file from which it went on.
        runs(&folder, &format!("resume a.save --until 1100ms --save a.save --engine {after} --quiet"), 0);
        // Rank 0 of several has the files.
        let last = if number == 1 { "window --threads 1 --processes 2" } else { before };
        runs(&folder, &format!("resume a.save --until 1300ms --engine {last} --quiet"), 0);
        check_equal(&folder, "whole", &name, &format!("{cut}: {before}, {after}"));
        assert!(runs(&folder, &format!("diff whole/out {name}/out"), 0).is_empty());
        runs(&folder, &format!("rerun {name}/out --quiet"), 0);
    }
}

#[test]
fn a_replayed_run_writes_its_files_again() {
    let folder = Folder::new("replayed-outputs");
    let scenario = "kademlia --set nodes=20 --set form=program --engine sequential --quiet";
    let files = |name: &str| format!("--trace {name}/t.txt --samples {name}/samples --out {name}/out");
    ["whole", "broken"].into_iter().for_each(|name| begin(&folder, name));
    runs(&folder, &format!("run {scenario} --until 30s {}", files("whole")), 0);
    runs(&folder, &format!("run {scenario} --until 12s --save a.save {}", files("broken")), 0);
    runs(&folder, "resume a.save --until 30s --engine window --threads 2 --quiet", 0);
    check_equal(&folder, "whole", "broken", "replayed");
}

/// Starts a run that takes a second or more, and waits for its first save.
#[cfg(unix)]
fn started(folder: &Folder, arguments: &str) -> Child {
    let mut child = command(&folder.0, arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command was built");
    while !folder.0.join("a.save").exists() {
        assert!(child.try_wait().expect("it is a child").is_none(), "the run ended before it was saved");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child
}

#[test]
#[cfg(unix)]
fn a_killed_run_goes_on_with_its_files() {
    let folder = Folder::new("killed-outputs");
    folder.write("net.toml", NETWORK);
    begin(&folder, "whole");
    let scenario = "run net.toml --until 20s --quiet";
    runs(&folder, &format!("{scenario} --engine sequential {}", files("whole")), 0);
    for (number, engines) in [("window --threads 2", "sequential"), ("sequential", "time-warp --threads 2")]
        .into_iter()
        .chain([("rounds --threads 2", "window --threads 3"), ("null-message --threads 2", "sequential")])
        .enumerate()
    {
        let name = format!("killed-{number}");
        begin(&folder, &name);
        let (before, after) = engines;
        let saved = format!("{scenario} --save a.save --save-every-virtual 300ms --engine {before} {}", files(&name));
        let mut child = started(&folder, &saved);
        child.kill().expect("it is a child");
        assert!(!child.wait().expect("it is a child").success(), "the run was over before it was killed");
        assert!(folder.0.join(&name).join("t.txt.unfinished").exists());
        runs(&folder, &format!("resume a.save --engine {after} --quiet"), 0);
        check_equal(&folder, "whole", &name, &format!("{engines:?}"));
        std::fs::remove_file(folder.0.join("a.save")).expect("it is there");
    }
}

#[test]
#[cfg(unix)]
fn a_terminated_run_goes_on_with_its_files() {
    let folder = Folder::new("terminated-outputs");
    folder.write("net.toml", NETWORK);
    ["whole", "stopped"].into_iter().for_each(|name| begin(&folder, name));
    let scenario = "run net.toml --until 20s --quiet";
    runs(&folder, &format!("{scenario} --engine sequential {}", files("whole")), 0);
    let saved = format!("{scenario} --save a.save --save-every-virtual 300ms --engine window {}", files("stopped"));
    let mut child = started(&folder, &saved);
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(killed.expect("there is `kill`").success());
    assert_eq!(child.wait().expect("it is a child").code(), Some(130));
    // The files were finished, so that the results so far can be read.
    let so_far = folder.read("stopped/t.txt");
    assert!(folder.read("whole/t.txt").starts_with(&so_far) && folder.0.join("stopped/out/summary.json").exists());
    runs(&folder, "resume a.save --until 20s --engine rounds --threads 2 --quiet", 0);
    check_equal(&folder, "whole", "stopped", "terminated");
}

#[test]
fn files_that_are_not_those_of_the_saved_run_are_refused_and_left_alone() {
    let folder = Folder::new("refused-outputs");
    let run = "mm1 --set customers=500 --until 200ms --save a.save --trace t.txt --samples s --quiet";
    runs(&folder, &format!("run {run}"), 0);
    let here = folder.0.canonicalize().expect("it is there");
    let at = |name: &str| here.join(name).display().to_string();
    let (trace, unfinished, samples) = (at("t.txt"), at("t.txt.unfinished"), at("s/sojourn.csv"));
    let good = folder.read("t.txt");
    let bytes = good.len();
    let help = "restore the file, or write the rest elsewhere with `--trace`";
    std::fs::remove_file(&trace).expect("it is there");
    check(
        &folder,
        &[("resume a.save --until 400ms", 2, &format!("neither {unfinished} nor {trace} is there; {help}"))],
    );
    folder.write("t.txt", &good[..bytes - 1]);
    let short = format!("{trace} has {} bytes, and had {bytes} when the run was saved; {help}", bytes - 1);
    check(&folder, &[("resume a.save --until 400ms", 2, &short)]);
    assert_eq!(folder.read("t.txt"), good[..bytes - 1]);
    let altered = good.replacen('0', "1", 1);
    folder.write("t.txt", &altered);
    let other = format!("{trace} is not the file of the saved run: its first {bytes} bytes differ; {help}");
    check(&folder, &[("resume a.save --until 400ms", 2, &other)]);
    assert_eq!(folder.read("t.txt"), altered);
    folder.write("t.txt", &good);
    folder.write("t.txt.unfinished", "of another run");
    let foreign = format!("{unfinished} has 14 bytes, and had {bytes} when the run was saved; {help}");
    check(&folder, &[("resume a.save --until 400ms", 2, &foreign)]);
    assert_eq!((folder.read("t.txt.unfinished").as_str(), folder.read("t.txt")), ("of another run", good.clone()));
    std::fs::remove_file(&unfinished).expect("it is there");
    let named = |option| {
        format!(
            "`{option}` names an output of the saved run, which goes on by itself; leave the option out, or name \
             another place"
        )
    };
    let over_save = "--trace would write over a.save, which the saved run is; name another file";
    check(
        &folder,
        &[
            ("resume a.save --trace t.txt", 2, &named("--trace")),
            ("resume a.save --samples s", 2, &named("--samples")),
            ("resume a.save --trace a.save", 2, over_save),
            (
                "run mm1 --save b.save --trace b.save",
                2,
                "--trace would write over b.save, which the file of `--save` is; name another file",
            ),
        ],
    );
    // A run that is refused later leaves all files as they were.
    let sojourns = folder.read("s/sojourn.csv");
    runs(&folder, "resume a.save --until 100ms", 2);
    runs(&folder, "resume a.save --until 400ms --trace-lps 5000 --trace other.txt", 2);
    assert_eq!((folder.read("t.txt"), std::fs::read_to_string(samples).expect("it is there")), (good, sojourns));
    assert!(!Path::new(&unfinished).exists() && !folder.0.join("s/sojourn.csv.unfinished").exists());
}

#[test]
fn a_file_that_was_empty_at_the_cut_replaces_none_of_the_users() {
    let folder = Folder::new("empty-outputs");
    let scenario = "mm1 --set customers=500 --engine sequential --quiet";
    runs(&folder, &format!("run {scenario} --until 400ms --trace whole.txt --trace-from 300ms"), 0);
    runs(&folder, &format!("run {scenario} --until 200ms --save a.save --trace t.txt --trace-from 300ms"), 0);
    folder.write("t.txt", "the user's");
    let trace = folder.0.canonicalize().expect("it is there").join("t.txt");
    let message = format!(
        "{} was empty when the run was saved; restore the file, or write the rest elsewhere with `--trace`",
        trace.display()
    );
    check(&folder, &[("resume a.save --until 400ms", 2, &message)]);
    assert_eq!(folder.read("t.txt"), "the user's");
    std::fs::remove_file(&trace).expect("it is there");
    runs(&folder, "resume a.save --until 400ms --quiet", 0);
    assert_eq!(folder.read("t.txt"), folder.read("whole.txt"));
}

#[test]
fn an_output_with_another_place_begins_at_the_cut_and_the_others_go_on() {
    let folder = Folder::new("other-outputs");
    let scenario = "mm1 --set customers=500 --engine sequential --quiet";
    runs(&folder, &format!("run {scenario} --until 400ms --trace whole.txt --samples whole"), 0);
    runs(&folder, &format!("run {scenario} --until 200ms --save a.save --trace t.txt --samples s"), 0);
    let before = folder.read("t.txt");
    let said = runs(&folder, "resume a.save --until 400ms --trace rest.txt --engine window", 0);
    assert!(said.contains("a trace, captures and samples begin at 0.2s, where the run goes on"), "{said}");
    assert_eq!(folder.read("t.txt"), before);
    assert_eq!(format!("{before}{}", folder.read("rest.txt")), folder.read("whole.txt"));
    assert_eq!(folder.read("s/sojourn.csv"), folder.read("whole/sojourn.csv"));
    // The save is as good as before: the trace is still that of the saved run, and the samples have grown.
    runs(&folder, "resume a.save --until 400ms --quiet", 0);
    assert_eq!(folder.read("t.txt"), folder.read("whole.txt"));
    assert_eq!(folder.read("s/sojourn.csv"), folder.read("whole/sojourn.csv"));
}

#[test]
fn outputs_that_do_not_go_on_are_named_before_the_run() {
    let folder = Folder::new("fleeting-outputs");
    let run = "run mm1 --set customers=500 --until 200ms --save a.save --engine sequential";
    let said = runs(&folder, &format!("{run} --trace /dev/null --timeline t.json"), 0);
    let expected = "note: /dev/null is no file, so the trace does not go on when the saved run does\n\
                    note: the timeline does not go on when the saved run does, since it has wall times of this process: \
                    `resume --timeline` begins another\n";
    assert_eq!(said, expected);
    assert_eq!(runs(&folder, "resume a.save --until 300ms --engine sequential", 0), "");
    let said = runs(&folder, "resume a.save --until 400ms --engine rounds --rounds r.csv --save b.save", 0);
    assert!(said.contains("note: the log of rounds does not go on when the saved run does"), "{said}");
    assert!(folder.read("r.csv").lines().count() > 1, "the rounds of this part of the run");
}

#[test]
fn limits_count_what_was_written_before_the_cut() {
    let folder = Folder::new("limited-samples");
    let scenario = "mm1 --set customers=500 --engine sequential --samples-limit 150";
    let whole = runs(&folder, &format!("run {scenario} --until 400ms --samples whole"), 0);
    assert!(whole.contains("`--samples-limit` leaves out samples: "), "{whole}");
    for cut in ["50ms", "300ms"] {
        runs(&folder, &format!("run {scenario} --until {cut} --save a.save --samples s --overwrite"), 0);
        assert_eq!(runs(&folder, "resume a.save --until 400ms --engine sequential", 0), whole, "{cut}");
        assert_eq!(folder.read("s/sojourn.csv"), folder.read("whole/sojourn.csv"), "{cut}");
    }
}

/// Runs the command where no file is longer than 32 kB (64 kB in some shells), as on a full disk.
#[cfg(target_os = "linux")]
fn limited(folder: &Folder, arguments: &str, status: i32) -> String {
    let shell = format!("ulimit -f 64; exec {} {arguments}", env!("CARGO_BIN_EXE_parades"));
    let output = Command::new("sh").args(["-c", &shell]).current_dir(&folder.0).output().expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{arguments}: {said}");
    said
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_the_last_good_save_with_its_files() {
    let folder = Folder::new("full-disks");
    // Its series make the saves grow faster than anything else.
    folder.write("net.toml", NETWORK.replace("every = \"100ms\"", "every = \"1ms\""));
    for name in ["whole", "broken"] {
        begin(&folder, name);
    }
    let scenario = "run net.toml --until 1s --engine window --threads 2";
    let saved = format!("{scenario} --save a.save --save-every-virtual 50ms");
    let files = |name: &str, before: &str| format!("--trace {name}/t.txt --trace-before {before}");
    // The disk of the save is full: the run goes on to its end.
    runs(&folder, &format!("{scenario} --quiet {}", files("whole", "100ms")), 0);
    let said = limited(&folder, &format!("{saved} {}", files("broken", "100ms")), 0);
    assert!(said.contains("the run could not be saved at 1s: a.save cannot be written: File too large"), "{said}");
    assert!(!said.contains("the run could not be saved at 0.05s"), "{said}");
    runs(&folder, "resume a.save --quiet", 0);
    check_equal(&folder, "whole", "broken", "the disk of the save");
    // The disk of the trace is full: the run ends, and goes on from its last save.
    runs(&folder, &format!("{scenario} --quiet {}", files("whole", "1s")), 0);
    let said = limited(&folder, &format!("{saved} {}", files("broken", "1s")), 1);
    assert!(said.contains("broken/t.txt cannot be written: File too large"), "{said}");
    assert!(folder.0.join("broken/t.txt.unfinished").exists());
    runs(&folder, "resume a.save --quiet", 0);
    check_equal(&folder, "whole", "broken", "the disk of the trace");
}
