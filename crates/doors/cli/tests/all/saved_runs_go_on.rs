//! `run --save`, `resume`: a run that is broken and goes on elsewhere is the unbroken one.

use crate::common::{Folder, check, parades};
use serde_json::Value;
use std::io::{Read, Write};
use twox_hash::XxHash3_128;

/// Runs the command, which must succeed, and returns its JSON.
fn json(folder: &Folder, arguments: &str) -> Value {
    let output = parades(&folder.0, &format!("{arguments} --json --quiet"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {said}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// The facts of a run that do not depend on how it was executed.
fn answer(run: &Value) -> [Value; 5] {
    ["digest", "events", "global_events", "virtual_time_s", "metrics"].map(|field| run[field].clone())
}

/// Scenarios, the time of the cut and the end.
const SCENARIOS: [(&str, &str, &str); 13] = [
    ("mm1 --set customers=3000", "1s", "2500ms"),
    ("phold --set lps=40", "30s", "60s"),
    ("multicast --set trees=3 --set levels=4", "2s", "5s"),
    ("campus --set traffic=tcp --set networks=1", "300ms", "700ms"),
    ("transfer", "500ms", "2s"),
    ("flows", "1s", "2s"),
    ("averaging --set nodes=60", "3s", "9s"),
    ("gossipsub --set nodes=30", "2s", "5s"),
    ("bittorrent --set peers=8 --set network=capacity", "40s", "200s"),
    ("chord --set nodes=40 --set form=machine", "60s", "150s"),
    // Programs: they are replayed.
    ("kademlia --set nodes=30 --set form=program", "20s", "40s"),
    ("replay --set ranks=6", "500ms", "2s"),
    ("clusters --set clusters=2 --set programs=5 --set deviation=0.3", "50ms", "150ms"),
];

#[test]
fn a_run_that_goes_on_under_another_engine_is_the_unbroken_run() {
    let folder = Folder::new("resumed");
    let engines = ["sequential", "window --threads 2", "rounds --threads 2", "null-message --threads 2"];
    for (number, (scenario, cut, end)) in SCENARIOS.iter().enumerate() {
        let whole = json(&folder, &format!("run {scenario} --until {end} --engine sequential"));
        let [before, after] = [number, number / 2 + 1].map(|number| engines[number % engines.len()]);
        json(&folder, &format!("run {scenario} --until {cut} --engine {before} --save a.save"));
        let resumed = json(&folder, &format!("resume a.save --until {end} --engine {after}"));
        assert_eq!(answer(&resumed), answer(&whole), "{scenario}: {before}, then {after}");
    }
}

#[test]
fn a_run_goes_on_over_several_processes() {
    let folder = Folder::new("resumed-on-processes");
    for (scenario, cut, end) in [SCENARIOS[1], SCENARIOS[3], SCENARIOS[8]] {
        let whole = json(&folder, &format!("run {scenario} --until {end} --engine sequential"));
        json(&folder, &format!("run {scenario} --until {cut} --engine window --threads 2 --save a.save"));
        for engine in
            ["window --processes 3 --threads 1", "null-message --processes 2", "time-warp --processes 2 --threads 1"]
        {
            let resumed = json(&folder, &format!("resume a.save --until {end} --engine {engine}"));
            assert_eq!(answer(&resumed), answer(&whole), "{scenario}: {engine}");
        }
    }
}

#[test]
fn a_run_of_several_processes_is_saved_and_goes_on_anywhere() {
    let folder = Folder::new("saved-on-processes");
    for (number, (scenario, cut, end)) in SCENARIOS.iter().enumerate() {
        let whole = json(&folder, &format!("run {scenario} --until {end} --engine sequential"));
        let engines = ["window --processes 3", "null-message --processes 2", "time-warp --processes 2"];
        let processes = |number: usize| {
            let is_program = ["form=program", "replay", "clusters"].iter().any(|word| scenario.contains(word));
            let engine = engines[number % if is_program { 2 } else { 3 }];
            format!("{engine} --threads 1")
        };
        json(&folder, &format!("run {scenario} --until {cut} --engine {} --save a.save", processes(number)));
        for after in ["sequential".to_owned(), "window --threads 2".to_owned(), processes(number + 1)] {
            let resumed = json(&folder, &format!("resume a.save --until {end} --engine {after}"));
            assert_eq!(answer(&resumed), answer(&whole), "{scenario}: {}, then {after}", processes(number));
        }
    }
}

/// Returns the names of the files in a folder that begin with `start`, in order.
fn names(folder: &Folder, start: &str) -> Vec<String> {
    let all = std::fs::read_dir(&folder.0).expect("it is the test's own");
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<_> = all.flatten().map(name).filter(|name| name.starts_with(start)).collect();
    names.sort();
    names
}

/// Returns the length and the hash of the cut of a file.
fn foot(folder: &Folder, name: &str) -> Vec<u8> {
    let bytes = std::fs::read(folder.0.join(name)).expect("it was saved");
    bytes[bytes.len() - 56..bytes.len() - 32].to_vec()
}

#[test]
fn cuts_are_equal_whoever_made_them() {
    let folder = Folder::new("equal-cuts");
    let ways = [
        "sequential",
        "window --threads 3",
        "rounds --threads 2",
        "null-message --threads 2",
        "time-warp --threads 2",
        "window --processes 2 --threads 2",
        "null-message --processes 3 --threads 1",
        "time-warp --processes 3 --threads 1",
    ];
    for (scenario, time) in [
        ("campus --set traffic=tcp --set networks=1", "300ms"),
        // Its messages share data, which other processes have copies of.
        ("multicast --set trees=3 --set levels=4", "2s"),
        ("bittorrent --set peers=8 --set network=capacity", "40s"),
    ] {
        let mut feet = Vec::new();
        for way in ways {
            json(&folder, &format!("run {scenario} --until {time} --engine {way} --save a.save"));
            // A file of several processes has the cut in parts. Saved again by one, it is whole.
            json(&folder, &format!("resume a.save --until {time} --engine sequential --save a.save"));
            assert_eq!(names(&folder, "a.save"), ["a.save"], "the parts that it replaced are removed");
            feet.push(foot(&folder, "a.save"));
        }
        assert!(feet.iter().all(|foot| *foot == feet[0]), "{scenario}: {feet:?}");
    }
}

#[test]
fn parts_belong_to_their_file() {
    let folder = Folder::new("parts");
    let run = "run phold --set lps=40 --until 30s --engine window --processes 3 --threads 1";
    json(&folder, &format!("{run} --save a.save --save-every-virtual 7s"));
    let first = names(&folder, "a.save");
    assert!(
        first.len() == 3 && first[1].starts_with("a.save.30s.1.") && first[2].starts_with("a.save.30s.2."),
        "{first:?}"
    );
    // Under other names, and elsewhere, the parts are found beside the file.
    let elsewhere = folder.0.join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("it is the test's own");
    for name in &first {
        let to = if name == "a.save" { "b.save" } else { name };
        std::fs::copy(folder.0.join(name), elsewhere.join(to)).expect("it is there");
    }
    let resumed = json(&folder, "resume elsewhere/b.save --until 40s");
    assert_eq!(answer(&resumed), answer(&json(&folder, "run phold --set lps=40 --until 40s --engine sequential")));
    json(&folder, &format!("{run} --seed 2 --save a.save"));
    let second = names(&folder, "a.save");
    assert!(second.len() == 3 && second[1..].iter().all(|name| !first.contains(name)), "{first:?}, then {second:?}");

    let part = folder.0.join(&second[2]);
    let good = std::fs::read(&part).expect("it was saved");
    let refused = |what: &str| check(&folder, &[("resume a.save", 2, what)]);
    std::fs::copy(folder.0.join("elsewhere").join(&first[2]), &part).expect("both are there");
    let help = "use a file that `--save` wrote, or start again";
    let of_part = |what: &str| format!("{} cannot be resumed: {what}; {help}", second[2]);
    refused(&of_part("it is a part of another run"));
    std::fs::write(&part, &good[..good.len() / 2]).expect("it is the test's own");
    refused(&of_part("it is damaged, or not whole"));
    std::fs::remove_file(&part).expect("it is the test's own");
    refused(&format!(
        "a.save: its part {}, which rank 2 wrote, is not beside it; copy it there, from the machine of that rank, or start \
         the run again",
        second[2]
    ));
}

#[test]
#[cfg(unix)]
fn a_rank_that_cannot_write_leaves_the_last_save() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("full-disk-of-a-rank");
    let run = "run phold --set lps=40 --engine window --processes 2 --threads 1 --save a.save";
    json(&folder, &format!("{run} --until 10s"));
    let before = names(&folder, "a.save");
    // The second rank writes beside this name.
    let beside = folder.0.join("a.save.1.parades-part");
    symlink("/dev/full", &beside).expect("links can be made");
    let output = parades(&folder.0, &format!("{run} --until 20s --json"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("the run could not be saved at 20s: rank 1: "), "{said}");
    std::fs::remove_file(&beside).expect("it is the test's own");
    assert_eq!(names(&folder, "a.save"), before);
    let resumed = json(&folder, "resume a.save --until 20s --engine sequential");
    let whole: Value = serde_json::from_slice(&output.stdout).expect("the run went on");
    assert_eq!(answer(&resumed), answer(&whole));
}

#[test]
#[cfg(unix)]
fn signals_to_any_process_save_and_stop_a_run() {
    use crate::common::command;
    use crate::processes_give_one_answer::{await_children, signal};
    use std::process::Stdio;
    let folder = Folder::new("signals-to-ranks");
    for engine in ["window", "null-message", "time-warp"] {
        let how = format!("--engine {engine} --processes 2 --threads 1 --save a.save --json");
        let run = command(&folder.0, &format!("run phold --set lps=64 --set work=20000 --until 100000s {how}"));
        let run = { run }.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (run, children) = await_children(run, 1);
        std::thread::sleep(std::time::Duration::from_millis(700));
        let saved = folder.0.join("a.save");
        for pid in [run.id(), children[0]] {
            let _ = std::fs::remove_file(&saved);
            signal(pid, "USR1");
            while !saved.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        signal(children[0], "TERM");
        let output = run.wait_with_output().expect("it is a child");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{engine}: {said}");
        assert!(said.contains("resume a.save` goes on"), "{engine}: {said}");
        let stopped: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let until = stopped["until"].as_str().expect("it is text");
        let resumed = json(&folder, &format!("resume a.save --until {until} --engine sequential"));
        assert_eq!(answer(&resumed), answer(&stopped), "{engine}");
    }
}

#[test]
#[cfg(unix)]
fn a_run_that_is_killed_while_it_saves_leaves_a_whole_file() {
    use crate::common::command;
    use crate::processes_give_one_answer::{await_children, signal};
    use std::process::Stdio;
    let folder = Folder::new("killed-saves");
    let run = "run phold --set lps=2000 --until 100000s --engine window --processes 2 --threads 1";
    for number in 0..12 {
        let saving = command(&folder.0, &format!("{run} --save a.save --save-every-virtual 50ms"));
        let saving = { saving }.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (mut saving, children) = await_children(saving, 1);
        while !folder.0.join("a.save").exists() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::thread::sleep(std::time::Duration::from_micros(300 * number));
        let victim = if number % 2 == 0 { saving.id() } else { children[0] };
        signal(victim, "KILL");
        let status = saving.wait().expect("it is a child");
        assert!(!status.success(), "a dead worker ends the run");
        let bytes = std::fs::read(folder.0.join("a.save")).expect("it was saved");
        let head = serde_json::Deserializer::from_slice(&bytes[20..]).into_iter::<Value>().next();
        let time_ps = &head.expect("there is a head").expect("it is JSON")["time_ps"];
        json(&folder, &format!("resume a.save --until {time_ps}ps --engine sequential"));
    }
}

#[test]
fn a_run_is_saved_while_it_goes_on() {
    let folder = Folder::new("periodic-saves");
    let scenario = "mm1 --set customers=3000";
    let whole = json(&folder, &format!("run {scenario} --engine sequential"));
    let saved = json(&folder, &format!("run {scenario} --save a.save --save-every-virtual 300ms --save-every 1ms"));
    assert_eq!(answer(&saved), answer(&whole));
    let resumed = json(&folder, "resume a.save --save b.save");
    assert_eq!(answer(&resumed), answer(&whole), "at the end, before the global events of that time");
    assert_eq!(answer(&json(&folder, "resume b.save")), answer(&whole));
}

#[test]
fn a_run_that_its_model_stops_is_saved_there() {
    let folder = Folder::new("saved-at-a-stop");
    let run = "run flows --set hosts=8 --set flows=60 --set size=200kB --until 2s";
    let whole = json(&folder, run);
    assert!(whole["virtual_time_s"].as_f64() < Some(2.0), "it stops before: {whole}");
    json(&folder, &format!("{run} --save a.save"));
    assert_eq!(answer(&json(&folder, "resume a.save")), answer(&whole));
}

#[test]
fn a_run_that_is_saved_into_its_own_file_goes_on_again() {
    let folder = Folder::new("saved-again");
    let whole = json(&folder, "run phold --set lps=10 --until 30s --engine sequential");
    json(&folder, "run phold --set lps=10 --until 10s --save a.save");
    json(&folder, "resume a.save --until 20s --save a.save");
    json(&folder, "resume a.save --until 25s --save a.save");
    assert_eq!(answer(&json(&folder, "resume a.save --until 30s")), answer(&whole));
}

#[test]
#[cfg(unix)]
fn a_stopped_run_goes_on() {
    use crate::common::command;
    use std::process::{Command, Stdio};
    let folder = Folder::new("stopped-and-resumed");
    let arguments = "run phold --set work=100000 --until 2000s --engine sequential --save a.save --json";
    let child = command(&folder.0, arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the test's own files, and its command");
    let id = child.id().to_string();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert!(
        Command::new("kill").args(["-TERM", &id]).status().expect("the test's own files, and its command").success()
    );
    let output = child.wait_with_output().expect("the test's own files, and its command");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("resume a.save` goes on"), "{said}");
    let stopped: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let until = stopped["until"].as_str().expect("the test's own files, and its command");
    let resumed = json(&folder, &format!("resume a.save --until {until} --engine window"));
    assert_eq!(answer(&resumed), answer(&stopped));
}

#[test]
#[cfg(unix)]
fn a_signal_saves_a_run_that_goes_on() {
    use crate::common::command;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let folder = Folder::new("saved-by-a-signal");
    let scenario = "phold --set lps=64 --set work=100000 --until 200s";
    let mut child = command(&folder.0, &format!("run {scenario} --save a.save --json"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built");
    // From this line on, the run listens to the signal.
    let mut lines = BufReader::new(child.stderr.take().expect("it is a pipe")).lines();
    let line = lines.next().expect("`auto` says what it chooses").expect("it is text");
    assert!(line.starts_with("engine: "), "{line}");
    let signalled = Command::new("kill").args(["-USR1", &child.id().to_string()]).status().expect("there is `kill`");
    assert!(signalled.success());
    let saved = folder.0.join("a.save");
    while !saved.exists() {
        assert!(child.try_wait().expect("it is a child").is_none(), "the run ended before it was saved");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::fs::copy(&saved, folder.0.join("b.save")).expect("it is whole");
    let output = child.wait_with_output().expect("it is a child");
    let whole: Value = serde_json::from_slice(&output.stdout).expect("the run went on");
    let resumed = json(&folder, "resume b.save");
    assert_eq!(answer(&resumed), answer(&whole));
}

#[test]
fn files_that_are_no_saved_run_are_refused_in_a_sentence() {
    let folder = Folder::new("bad-saves");
    json(&folder, "run mm1 --set customers=300 --until 100ms --save a.save");
    let good = std::fs::read(folder.0.join("a.save")).expect("the test's own files, and its command");
    folder.write("text.save", "no saved run");
    folder.write("short.save", &good[..good.len() / 2]);
    let mut changed = good.clone();
    changed[good.len() - 60] ^= 1;
    folder.write("changed.save", &changed);
    let help = "use a file that `--save` wrote, or start again";
    check(
        &folder,
        &[
            (
                "resume nowhere.save",
                2,
                "nowhere.save: the file cannot be read: No such file or directory; check its name and permissions",
            ),
            (
                "resume text.save",
                2,
                &format!("text.save cannot be resumed: it is no saved run of this version; {help}"),
            ),
            ("resume short.save", 2, &format!("short.save cannot be resumed: it is damaged, or not whole; {help}")),
            ("resume changed.save", 2, &format!("changed.save cannot be resumed: it is damaged, or not whole; {help}")),
            (
                "resume a.save --until 50ms",
                2,
                "a.save: the run was saved at 0.1s, and `--until` is 0.05s; give a later end",
            ),
            (
                "run mm1 --save b.save --engine rollback-check",
                2,
                "the engine `rollback-check` executes a run in one piece, and neither saves nor resumes it; use another \
                 engine: the answer is the same",
            ),
            (
                "run phold --until 1s --save /dev/null --engine window --processes 2",
                2,
                "/dev/null is no file, and a run of several processes is saved into files; name a file",
            ),
            (
                "resume a.save --no-digest",
                2,
                "`--no-digest` has no effect: the run was saved with its digest; leave that out",
            ),
        ],
    );
}

#[test]
fn a_file_that_has_changed_since_the_save_is_named() {
    let folder = Folder::new("changed-inputs");
    folder.write("lat.txt", "0 10 20\n10 0 30\n20 30 0\n");
    let scenario = "averaging --set nodes=3 --set underlay=matrix --set matrix=lat.txt --set unit=1ms";
    let saved = parades(&folder.0, &format!("run {scenario} --until 1s --save a.save --quiet"));
    assert_eq!(saved.status.code(), Some(0), "{}", String::from_utf8_lossy(&saved.stderr));
    folder.write("lat.txt", "0 10 20\n10 0 31\n20 31 0\n");
    let output = parades(&folder.0, "resume a.save");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("lat.txt has changed since the run was saved; restore the file"), "{said}");
}

/// The parts of a saved run that a forger must keep consistent.
#[derive(Clone)]
struct Forged {
    /// The kind of the file and its head.
    head: Vec<u8>,
    /// The bytes of the cut.
    cut: Vec<u8>,
    /// The seal of the file, which is that of the bytes before they are changed.
    seal: Vec<u8>,
}

impl Forged {
    fn of(file: &[u8]) -> Forged {
        let length = u32::from_le_bytes(file[16..20].try_into().expect("these are four bytes"));
        let (head, rest) = file.split_at(20 + usize::try_from(length).expect("it is short"));
        let mut cut = Vec::new();
        lz4_flex::frame::FrameDecoder::new(&rest[..rest.len() - 56]).read_to_end(&mut cut).expect("it is a frame");
        Forged { head: head.to_vec(), cut, seal: file[file.len() - 32..][..16].to_vec() }
    }

    /// Returns the file, with the right length and the right hashes, but for the seal.
    fn file(&self) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(self.head.clone());
        encoder.write_all(&self.cut).expect("memory takes everything");
        let mut file = encoder.finish().expect("memory takes everything");
        file.extend((self.cut.len() as u64).to_le_bytes());
        file.extend(XxHash3_128::oneshot(&self.cut).to_le_bytes());
        file.extend(&self.seal);
        let whole = XxHash3_128::oneshot(&file);
        file.extend(whole.to_le_bytes());
        file
    }
}

/// The hashes of the file and of the cut fit, but not the seal. The program
/// `parades-conformance saves` forges the seal too.
#[test]
fn bytes_changed_behind_the_checksums_are_refused() {
    let folder = Folder::new("forged-saves");
    json(&folder, "run mm1 --set customers=300 --until 200ms --save a.save");
    let forged = Forged::of(&std::fs::read(folder.0.join("a.save")).expect("it was saved"));
    folder.write("b.save", forged.file());
    json(&folder, "resume b.save --until 210ms");
    let message = "b.save cannot be resumed: it was changed after it was saved: its seal is not that of its head and its \
                   states; use a file that `--save` wrote, or start again";
    for number in 0..12 {
        let mut changed = forged.clone();
        let place = (number * 7919 + 13) % changed.cut.len();
        changed.cut[place] = changed.cut[place].wrapping_add([1, 0x7f, 0x80, 0xff][number % 4]);
        folder.write("b.save", changed.file());
        check(&folder, &[("resume b.save --until 210ms --quiet", 2, message)]);
    }
    let text = String::from_utf8(forged.head[20..].to_vec()).expect("it is JSON");
    let (seed, other) = ("seed = 1", "seed = 2");
    assert!(text.contains(seed), "{text}");
    let head = [&forged.head[..20], text.replace(seed, other).as_bytes()].concat();
    folder.write("b.save", Forged { head, ..forged }.file());
    check(&folder, &[("resume b.save --until 210ms --quiet", 2, message)]);
}

/// Returns the virtual time of a saved run, in picoseconds.
fn time_of(folder: &Folder, file: &str) -> u64 {
    let bytes = std::fs::read(folder.0.join(file)).expect("it was saved");
    let length = u32::from_le_bytes(bytes[16..20].try_into().expect("these are four bytes"));
    let head = &bytes[20..20 + usize::try_from(length).expect("it is short")];
    let head: Value = serde_json::from_slice(head).expect("it is JSON");
    head["time_ps"].as_u64().expect("it is a number")
}

const ENGINES: [&str; 4] = ["sequential", "window --threads 2", "null-message --threads 2", "time-warp --threads 2"];

#[test]
fn the_save_before_a_condition_on_a_metric_is_kept() {
    let folder = Folder::new("saved-when");
    let scenario = "jackson --set customers=3000";
    let whole = json(&folder, &format!("run {scenario} --until 1500ms --engine sequential"));
    let customers = |until: u64| {
        let run = json(&folder, &format!("run {scenario} --until {until}ps --engine sequential"));
        run["metrics"]["sojourn_distribution_s"]["count"].as_u64().expect("it is a count")
    };
    let mut times = Vec::new();
    for engine in ENGINES {
        let save = "--save a.save --save-every-virtual 100ms --save-when sojourn_distribution.count>100";
        let run = json(&folder, &format!("run {scenario} --until 1500ms {save} --engine {engine}"));
        assert_eq!(answer(&run), answer(&whole), "{engine}: the run goes on");
        let notes = run["notes"].to_string();
        assert!(notes.contains("`sojourn_distribution.count>100` is true at"), "{notes}");
        times.push(time_of(&folder, "a.save"));
        let resumed = json(&folder, "resume a.save --until 1500ms");
        assert_eq!(answer(&resumed), answer(&whole), "{engine}");
    }
    let time = times[0];
    assert!(times.iter().all(|other| *other == time), "{times:?}");
    assert!(customers(time) <= 100 && customers(time + 100_000_000_000) > 100, "{time}");

    // A metric that LPs make at the end of a run, from their states.
    let swarm = "bittorrent --set peers=10 --set pieces=50 --set network=capacity";
    let save = "--save d.save --save-every-virtual 100ms --save-when completed>3";
    json(&folder, &format!("run {swarm} --until 60s {save} --engine window --processes 2 --threads 1"));
    let of_processes = time_of(&folder, "d.save");
    json(&folder, &format!("run {swarm} --until 60s {save}"));
    assert_eq!(time_of(&folder, "d.save"), of_processes, "all ranks look at the metrics of all");
    let completed = |until: u64| {
        let run = json(&folder, &format!("run {swarm} --until {until}ps"));
        run["metrics"]["completed"].as_u64().expect("it is a count")
    };
    let time = time_of(&folder, "d.save");
    assert!(completed(time) <= 3 && completed(time + 100_000_000_000) > 3, "{time}");

    // Below a value: the sum is below it from the first cut on, so there is no save before.
    let save = "--save b.save --save-every-virtual 100ms --save-when sojourn_distribution.max<1h";
    let run = json(&folder, &format!("run {scenario} --until 1500ms {save}"));
    let notes = run["notes"].to_string();
    assert!(notes.contains("is true at 0.1s, before the run was saved; save it sooner"), "{notes}");
    assert!(!folder.0.join("b.save").exists());

    // Never: the file has the run at its end.
    let save = "--save c.save --save-every-virtual 100ms --save-when sojourn>1h";
    let run = json(&folder, &format!("run {scenario} --until 1500ms {save}"));
    assert!(run["notes"].to_string().contains("`sojourn>1h` was true at no save"), "{}", run["notes"]);
    assert_eq!(time_of(&folder, "c.save"), 1_500_000_000_000);
}

#[test]
fn the_save_before_a_failure_shows_the_last_moments_alone() {
    let folder = Folder::new("saved-before-failure");
    for (fault, message) in [
        ("panic", "was told to panic at its event 20"),
        ("lookahead", "below the declared lookahead"),
        ("fail", "it was told to fail at its event 20"),
    ] {
        let scenario = format!("faulty --set fault={fault} --set at_event=20");
        for engine in ENGINES {
            let save = "--save f.save --save-every-virtual 70ms --save-before-failure";
            let output = parades(&folder.0, &format!("run {scenario} {save} --engine {engine} --quiet"));
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains(message), "{said}");
            assert!(said.ends_with("; it is saved at 0.14s: `parades resume f.save` goes on from there\n"), "{said}");
            assert_eq!(time_of(&folder, "f.save"), 140_000_000_000, "{fault} {engine}");
        }
        let output = parades(&folder.0, "resume f.save --trace t.txt --quiet");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(message) && said.contains("reproduce it with `parades resume f.save"), "{said}");
        let trace = folder.read("t.txt");
        let is_last = |line: &str| {
            ["0.14s", "0.15s", "0.16s", "0.17s", "0.18s", "0.19s", "0.2s"].iter().any(|time| line.starts_with(time))
        };
        assert!(trace.lines().count() > 40 && trace.lines().all(is_last), "{trace}");
    }
    let early = "run faulty --set at_event=20 --save g.save --save-every-virtual 1s --save-before-failure --quiet";
    let output = parades(&folder.0, early);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.ends_with("; it failed before it was saved\n"), "{said}");
    // A run that does not fail is saved at its end.
    json(
        &folder,
        "run faulty --set fault=none --until 1s --save h.save --save-every-virtual 70ms --save-before-failure",
    );
    assert_eq!(time_of(&folder, "h.save"), 1_000_000_000_000);
}

#[test]
fn a_wrong_condition_is_refused_before_the_run() {
    let folder = Folder::new("wrong-conditions");
    let run = "run mm1 --set customers=300 --save a.save --save-every-virtual 10ms --save-when";
    check(
        &folder,
        &[
            (
                "run mm1 --save a.save --save-when sojourn>1s",
                2,
                "`--save-when` keeps the last of several saves, and the run is saved once; \
                 add `--save-every-virtual T` or `--save-every T`",
            ),
            (
                "run mm1 --save a.save --save-before-failure",
                2,
                "`--save-before-failure` keeps the last of several saves, and the run is saved once; \
                 add `--save-every-virtual T` or `--save-every T`",
            ),
            (
                &format!("{run} sojurn>1s"),
                2,
                "--save-when `sojurn>1s`: there is no metric `sojurn` in this run; did you mean `sojourn`?",
            ),
            (
                &format!("{run} sojourn"),
                2,
                "--save-when `sojourn`: it is no condition; write a metric, `>` or `<`, and a value, as in 'sojourn > 20ms'",
            ),
            (
                &format!("{run} sojourn>1MB"),
                2,
                "--save-when `sojourn>1MB`: `sojourn`: `1MB` is a size, not a duration; a duration's units are ps, ns, us, \
                 ms, s, min, h and d; write a duration, as `20ms`",
            ),
            (
                &format!("{run} sojourn.p99>1s"),
                2,
                "--save-when `sojourn.p99>1s`: the metric `sojourn` has no figure `p99`; choose one of mean, count",
            ),
            (
                &format!("{run} customers_left>5ms"),
                2,
                "--save-when `customers_left>5ms`: `customers_left`: `5ms` is no number; write a number without a unit",
            ),
        ],
    );
    let output = parades(&folder.0, &format!("{run} stations>5"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the metric `stations` is a table, and no single number; choose one of "), "{said}");
}
