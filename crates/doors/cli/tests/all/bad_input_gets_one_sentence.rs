//! Every kind of bad input: the command, its message on standard error, and its exit status.
//!
//! Standard error must have nothing else, and standard output nothing at all. No case may say "panicked at"
//! or show a backtrace.

use crate::common::{Folder, check, command, parades};

#[test]
fn unknown_names_suggest_the_nearest() {
    let folder = Folder::new("names");
    check(
        &folder,
        &[
            ("run fold", 2, "there is no scenario `fold`; did you mean `phold`?"),
            (
                "run phold --quiet --set remot=0.1",
                2,
                "--set remot=0.1: phold has no key `remot`; did you mean `remote`?",
            ),
            ("run phold --engine windo", 2, "there is no engine `windo`; did you mean `window`?"),
            (
                "run phold --engine fast",
                2,
                "there is no engine `fast`; use one of auto, sequential, rollback-check, rounds, window, null-message, time-warp",
            ),
            (
                "run phold --quiet --set lookahead=10mss",
                2,
                "--set lookahead=10mss: `lookahead`: `10mss` has the unknown unit `mss`; did you mean `ms`? a duration's units are ps, ns, us, ms, s, min, h and d",
            ),
            (
                "run phold --engine rounds --tune pined=true",
                2,
                "--tune pined=true: rounds has no key `pined`; did you mean `pinned`?",
            ),
        ],
    );
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let folder = Folder::new("values");
    check(
        &folder,
        &[
            (
                "run multicast --quiet --set trees=5 --set levels=31",
                2,
                "--set trees=5: 5 trees of 31 levels have 10737418235 nodes: a model has fewer than 2^32 - 1 LPs; choose another value",
            ),
            ("run multicast --quiet --set levels=32", 2, "--set levels=32: `levels` must be between 2 and 31, not 32"),
            ("run phold --quiet --set lps=0", 2, "--set lps=0: `lps` must be between 1 and 4000000000, not 0"),
            ("run phold --quiet --set remote=1.5", 2, "--set remote=1.5: `remote` must be between 0 and 1, not 1.5"),
            (
                "run phold --quiet --set lookahead=2s",
                2,
                "--set lookahead=2s: the lookahead of 2s is above the mean delay of 1s; lower `lookahead` or raise `mean_delay`",
            ),
            (
                "run phold --until 1s --rounds r.csv",
                2,
                "`--rounds` is the log of the engine `rounds`, and this run has the engine `auto`; \
                 add `--engine rounds`, or leave `--rounds` out",
            ),
            (
                "run phold --until 1s --engine window --processes 2 --rounds r.csv",
                2,
                "`--rounds` is the log of the engine `rounds`, and this run has the engine `window`; \
                 add `--engine rounds`, or leave `--rounds` out",
            ),
            (
                "run phold --engine sequential --threads 4",
                2,
                "the engine `sequential` runs on one thread, not 4; leave that out, or choose a parallel engine",
            ),
            (
                "run phold --engine rounds --processes 2",
                2,
                "the engine `rounds` runs in one process, not 2; use one of window, null-message, time-warp",
            ),
            (
                "run phold --trace t.txt --trace-lps 9..=3",
                2,
                "`9..=3` names no LPs for `--trace-lps`; write `3`, `10..=20`, or several of them with commas",
            ),
            (
                "compare phold --engines rounds,time-warp --tune stall=3",
                2,
                "--tune stall=3: rounds has no key `stall`; its keys are pinned",
            ),
            ("compare phold --no-digest", 2, "engines cannot be compared without a digest; leave out `--no-digest`"),
        ],
    );
}

#[test]
fn wrong_files_are_named_with_line_and_column() {
    let folder = Folder::new("files");
    folder.write("broken.toml", "scenario = \"phold\"\nseed = = 3\n");
    folder.write("key.toml", "scenario = \"phold\"\n[parameters]\nlps = 10\nremot = 0.5\n");
    folder.write("value.toml", "scenario = \"phold\"\n[parameters]\nremote = 1.5\n");
    folder.write("unit.toml", "scenario = \"phold\"\nuntil = \"10x\"\n");
    folder.write("name.toml", "scenario = \"fold\"\n");
    folder.write("bytes.toml", b"scenario = \"\xff\"\n");
    check(
        &folder,
        &[
            (
                "run none.toml",
                2,
                "none.toml: cannot be read: No such file or directory; check its name and permissions",
            ),
            ("run ./", 2, "./: cannot be read: it is a folder; check its name and permissions"),
            ("run name.toml", 2, "name.toml:1:12: there is no scenario `fold`; did you mean `phold`?"),
            (
                "run wan --quiet --set least_delay=1s",
                2,
                "--set least_delay=1s: `least_delay` acts only with `topology`; set `topology`, or leave `least_delay` out",
            ),
            ("run key.toml", 2, "key.toml:4:1: phold has no key `remot`; did you mean `remote`?"),
            ("run value.toml", 2, "value.toml:3:10: `remote` must be between 0 and 1, not 1.5"),
            ("run bytes.toml", 2, "bytes.toml:1:13: the file is not UTF-8 text; save it as UTF-8"),
            (
                "run phold --quiet --out /proc/none",
                2,
                "/proc/none cannot be written: No such file or directory; name a place where files can be written",
            ),
            (
                "run phold --quiet --trace none/trace.txt",
                2,
                "none/trace.txt cannot be written: No such file or directory; name a place where files can be written",
            ),
        ],
    );
    for (file, place) in [("broken.toml", "broken.toml:2:8: "), ("unit.toml", "unit.toml:2:9: ")] {
        let output = parades(&folder.0, &format!("run {file}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with(&format!("error: {place}")) && said.lines().count() == 1, "{said}");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn wrong_network_files_are_named_with_line_and_column() {
    let folder = Folder::new("networks");
    let small = "network = \"\"\nnodes = [\"a\", \"b\"]\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"$rate\"\ndelay = \"5ms\"\n[parameters]\nrate = \"1Mbps\"\n";
    folder.write("node.toml", small.replace("to = \"b\"", "to = \"c\""));
    folder.write("key.toml", small.replace("delay", "dealy"));
    folder.write("small.toml", small);
    folder.write("engine.toml", format!("engine = \"windo\"\n{small}"));
    folder.write("deep.toml", format!("network = {}", "[".repeat(1_000_000)));
    check(
        &folder,
        &[
            (
                "run node.toml",
                2,
                "node.toml:5:6: there is no node `c`; there are 2 nodes, of which the first is `a`; `*` stands for any letters",
            ),
            ("show key.toml", 2, "key.toml:7:1: a link has no key `dealy`; did you mean `delay`?"),
            (
                "run small.toml --set rte=1Mbps",
                2,
                "--set rte=1Mbps: the network has no key `rte`; did you mean `rate`?",
            ),
            (
                "run small.toml --set rate=1ms",
                2,
                "--set rate=1ms: `rate`: `1ms` is a duration, not a rate; a rate's units are bps, kbps, Mbps, Gbps and Tbps",
            ),
            (
                "sweep node.toml --seeds 1..3 --quiet",
                2,
                "node.toml:5:6: there is no node `c`; there are 2 nodes, of which the first is `a`; `*` stands for any letters",
            ),
            ("run engine.toml", 2, "engine.toml:1:10: there is no engine `windo`; did you mean `window`?"),
            ("run deep.toml", 2, "deep.toml:1:91: malformed TOML: nested too deeply"),
        ],
    );
}

#[test]
fn simulations_that_fail_say_where_and_how_to_see_it_again() {
    let folder = Folder::new("faults");
    let model = include_str!("../../../../systems/models/src/faulty.rs");
    // The line of the model that does it, for what misuses the contract.
    let line = |code: &str| {
        let before = model.lines().take_while(|line| !line.contains(code)).count();
        format!(" (crates/systems/models/src/faulty.rs:{})", before + 1)
    };
    let case = |fault: &str, code: Option<&str>, what: &str| {
        let what = what.replacen(';', &format!("{};", code.map_or_else(String::new, line)), 1);
        let place = if fault == "zero-delay-loop" {
            "LP 0 at 0.05s round 1000, executing the event from LP 6 #1004"
        } else {
            "LP 0 at 0.05s, executing the event from LP 6 #4"
        };
        let message = format!(
            "{place}: {what}; reproduce it with `parades run faulty --set fault={fault} --seed 1 --engine auto`"
        );
        (format!("run faulty --quiet --set fault={fault}"), message)
    };
    let cases = [
        case(
            "lookahead",
            Some("Fault::Lookahead =>"),
            "it sent to LP 1 with delay 0.009s, below the declared lookahead of 0.01s; declare the channel with a shorter least delay, or send later",
        ),
        case(
            "zero-delay-loop",
            Some("Fault::ZeroDelayLoop =>"),
            "zero-delay events went on for 1000 rounds at one time, among LP 0, LP 1, LP 2, LP 3, LP 4, LP 5, LP 6, LP 7; break the loop of zero delays, or raise the model's bound on rounds",
        ),
        case("fail", None, "it was told to fail at its event 5; correct the model, or its parameters"),
        case(
            "no-channel",
            Some("Fault::NoChannel =>"),
            "it sent through its port 7, which it does not declare; declare the channel, or send where one leads",
        ),
    ];
    let cases: Vec<(&str, i32, &str)> = cases.iter().map(|(command, message)| (&**command, 1, &**message)).collect();
    check(&folder, &cases);
}

#[test]
fn a_panic_of_the_model_is_an_error_with_its_place() {
    let folder = Folder::new("panic");
    let output = parades(&folder.0, "run faulty --quiet --seed 3");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("error: LP 0 at 0.05s, executing the event from LP 6 #4: the model panicked: LP 0 was told to panic at its event 5; "), "{said}");
    assert!(said.contains("faulty.rs:"), "{said}");
    assert!(said.ends_with("reproduce it with `parades run faulty --seed 3 --engine auto`\n"), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn wrong_topologies_are_refused_at_their_place() {
    let folder = Folder::new("topologies");
    let graph = |body: &str| format!("<graphml><graph edgedefault=\"undirected\">\n{body}\n</graph></graphml>");
    folder.write(
        "parts.graphml",
        graph("<node id=\"a\"/><node id=\"b\"/>\n<node id=\"c\"/><edge source=\"a\" target=\"b\"/>"),
    );
    folder.write("cut.graphml", "<graphml><graph>\n<node id=\"a\"");
    folder.write("unknown.graphml", graph("<node id=\"a\"/>\n<edge source=\"a\" target=\"z\"/>"));
    folder.write("root.graphml", "<html></html>");
    folder.write(
        "bomb.graphml",
        "<!DOCTYPE g [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><graphml>&b;</graphml>",
    );
    folder.write("deep.graphml", "<graphml>".repeat(100_000));
    folder.write("long.graphml", format!("<graphml attribute=\"{}\"/>", "x".repeat(10_000_000)));
    folder.write("place.toml", "scenario = \"wan\"\n[parameters]\nload = -1.0\n");
    let cases = [
        ("none.graphml", "none.graphml"),
        ("parts.graphml", "parts.graphml:3:"),
        ("cut.graphml", "cut.graphml:2:"),
        ("unknown.graphml", "unknown.graphml:3:"),
        ("root.graphml", "root.graphml:1:"),
        ("bomb.graphml", "bomb.graphml:1:"),
        ("deep.graphml", "deep.graphml:1:"),
        ("long.graphml", "long.graphml:1:"),
    ];
    for (file, place) in cases {
        let output = parades(&folder.0, &format!("run wan --quiet --set topology={file}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{file}: {said}");
        assert!(
            said.starts_with(&format!("error: {place}")) && said.lines().count() == 1 && said.len() < 500,
            "{file}: {said}"
        );
        assert!(output.stdout.is_empty());
    }
    let output = parades(&folder.0, "run wan --quiet --set topology=parts.graphml");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains('a') && said.contains('c'), "names two nodes that cannot meet: {said}");
    let output = parades(&folder.0, "run place.toml");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: place.toml:3:8: `load` must be"), "{output:?}");
}

#[test]
fn too_little_memory_is_said_with_what_was_needed() {
    let folder = Folder::new("memory");
    let commands = [
        // Refused at once: no machine has the memory for the records of four billion LPs.
        "run phold --quiet --set lps=4000000000 --memory-limit 100MiB",
        // Refused before they are built: the parameters tell what nodes, flows and packets take.
        "run wan --quiet --set flows=10000000 --memory-limit 100MiB",
        "run flows --quiet --set flows=10000000 --memory-limit 100MiB",
        "run flows --quiet --set hosts=1000000 --memory-limit 100MiB",
        "run campus --quiet --set networks=10000 --memory-limit 100MiB",
        "run chord --quiet --set nodes=4000000000 --set bits=32 --memory-limit 100MiB",
        "run jackson --quiet --set layout=random --set stations=100000000 --memory-limit 100MiB",
        "run multicast --quiet --set data=1000000 --set share=false --set levels=8 --memory-limit 100MiB",
        "run multicast --quiet --set trees=1 --set levels=31 --engine time-warp --memory-limit 100MiB",
        // Found out during the run: pending events and their data fill the memory.
        "run phold --quiet --set lps=100 --set start_events=100000 --memory-limit 100MiB",
        "run phold --quiet --set lps=1000 --set payload=16000000 --memory-limit 100MiB",
    ];
    for command in commands {
        let output = parades(&folder.0, command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{command}: {said}");
        assert!(
            said.contains(
                " bytes, above the limit of 104857600 bytes; raise the memory limit, or simulate less at a time"
            ),
            "{said}"
        );
    }
}

#[test]
fn unknown_options_and_impossible_ones_exit_with_2() {
    let folder = Folder::new("options");
    let cases = [
        "",
        "walk",
        "run",
        "run phold --threads 0",
        "run phold --until 10x",
        "run phold --until 0s",
        "run phold --sed 3",
        "run phold --memory-limit 2",
        "diff phold",
        "run phold --seed -1",
        "completions fishy",
    ];
    for arguments in cases {
        let output = parades(&folder.0, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "parades {arguments}: {said}");
        assert!(!said.contains("panicked") && !said.is_empty(), "parades {arguments}: {said}");
    }
    let nothing = command(&folder.0, "diff").args(["", "phold"]).output().expect("the command was built");
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("neither a folder nor a scenario is named"));
}

/// Runs the command in a shell that has set limits, and returns its exit status and its message.
#[cfg(target_os = "linux")]
fn limited(folder: &Folder, limits: &str, arguments: &str) -> (Option<i32>, String) {
    let line = format!("{limits}; exec {} {arguments}", env!("CARGO_BIN_EXE_parades"));
    let mut shell = std::process::Command::new("sh");
    let output = shell.current_dir(&folder.0).args(["-c", &line]).output().expect("there is a shell");
    assert!(output.stdout.is_empty(), "parades {arguments}");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn full_memory_is_one_sentence() {
    let folder = Folder::new("memory");
    let run =
        "run multicast --set trees=1 --set levels=2 --set data=16777216 --set start_events=100 --threads 1 --quiet";
    let (status, said) = limited(&folder, "ulimit -v 1000000", run);
    let begins = "error: memory is full; make the run smaller, or give it a `--memory-limit` below what the system lets it have: ";
    assert_eq!(status, Some(1), "{said}");
    assert!(said.starts_with(begins) && said.ends_with(" bytes more could not be had\n"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_begun_are_one_sentence_and_no_hang() {
    let folder = Folder::new("threads");
    let phold =
        |engine| (engine, format!("run phold --set lps=4096 --until 1s --quiet --threads 60 --engine {engine}"));
    // The threads of `rounds` begin with the first round that they share.
    let together = "run phold --set lps=65536 --set delay=constant --until 9s --quiet --threads 60 --engine rounds";
    let runs = ["window", "null-message", "time-warp"].map(phold);
    for (engine, run) in runs.into_iter().chain([("rounds", together.to_owned())]) {
        let (status, said) = limited(&folder, "ulimit -v 1500000; export RUST_MIN_STACK=67108864", &run);
        assert_eq!(status, Some(1), "{engine}: {said}");
        assert!(said.starts_with("error: a worker's thread could not be begun: "), "{engine}: {said}");
        assert!(said.ends_with("; use fewer threads, or let the process have more of them and of memory\n"), "{said}");
    }
}

#[test]
#[cfg(not(feature = "mpi"))]
fn one_of_several_ranks_is_refused_without_mpi() {
    let folder = Folder::new("ranks");
    for (variable, ranks, status) in [("OMPI_COMM_WORLD_SIZE", "2", 2), ("PMI_SIZE", "4", 2), ("PMI_SIZE", "1", 0)] {
        let output = command(&folder.0, "run phold --until 1s --quiet").env(variable, ranks).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{variable}={ranks}");
        let said = String::from_utf8_lossy(&output.stderr);
        let sentence = format!(
            "error: this is one of {ranks} ranks (`{variable}`), and this program was built without MPI; build it with `cargo build --release -p parades-cli --features mpi` (docs/cluster.md), or start it without mpirun and use `--processes`\n"
        );
        assert_eq!(said, if status == 0 { "" } else { &sentence });
    }
    let sweep = command(&folder.0, "sweep phold --until 1s --seeds 1..2").env("PMI_SIZE", "2").output().unwrap();
    assert_eq!(sweep.status.code(), Some(2));
}

#[test]
fn nothing_is_written_over_what_the_run_needs_or_writes_elsewhere() {
    let folder = Folder::new("apart");
    folder.write("s.toml", "scenario = \"phold\"\n");
    check(
        &folder,
        &[
            (
                "run s.toml --until 1s --trace ./s.toml",
                2,
                "--trace would write over ./s.toml, which the scenario's file is; name another file",
            ),
            (
                "run phold --until 1s --trace t --timeline t",
                2,
                "--timeline would write over t, which --trace is; name another file",
            ),
            (
                "run phold --until 1s --engine rounds --trace t --rounds t",
                2,
                "--rounds would write over t, which --trace is; name another file",
            ),
        ],
    );
    assert_eq!(folder.read("s.toml"), "scenario = \"phold\"\n");
    let graph = "<graphml><graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/><edge source=\"a\" target=\"b\"/></graph></graphml>";
    folder.write("net.graphml", graph);
    check(
        &folder,
        &[(
            "run wan --set topology=net.graphml --until 1s --trace ./net.graphml",
            2,
            "--trace would write over ./net.graphml, which topology is; name another file",
        )],
    );
    assert_eq!(folder.read("net.graphml"), graph);
    std::fs::create_dir(folder.0.join("o")).unwrap();
    let own = parades(&folder.0, "run phold --until 1s --quiet --out p --out-trace --trace p/trace.txt");
    assert!(own.status.success(), "{}", String::from_utf8_lossy(&own.stderr));
    check(
        &folder,
        &[(
            "run phold --until 1s --out o --trace o/summary.json",
            2,
            "--out would write over o/summary.json, which --trace is; name another file",
        )],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn devices_and_pipes_are_no_results() {
    let folder = Folder::new("devices");
    for run in ["a", "b"] {
        folder.write(&format!("{run}/summary.json"), r#"{"trace": {"lps": null}}"#);
    }
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, folder.0.join(name)).unwrap();
    std::fs::create_dir_all(folder.0.join("zero")).unwrap();
    link("/dev/zero", "zero/summary.json");
    link("/dev/zero", "a/trace.txt");
    let pipe = std::process::Command::new("mkfifo").arg(folder.0.join("pipe")).status().unwrap();
    assert!(pipe.success());
    std::fs::create_dir_all(folder.0.join("pipes")).unwrap();
    link("../pipe", "pipes/summary.json");
    let said = |file: &str| format!("{file}: is no file that a run wrote; give a folder that `run --out` wrote");
    check(
        &folder,
        &[
            ("diff zero a", 2, &said("zero/summary.json")),
            ("diff pipes a", 2, &said("pipes/summary.json")),
            ("diff a b", 2, &said("a/trace.txt")),
            (
                "sweep flows --set platform=/dev/zero --seeds 1..2 --out o",
                2,
                "/dev/zero: the file is longer than 256 MiB; use clusters to make it shorter",
            ),
        ],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_may_not_grow_are_errors_of_writing() {
    let folder = Folder::new("full-files");
    for (option, file) in [("--trace", "t"), ("--timeline", "t.json")] {
        let (status, said) = limited(&folder, "ulimit -f 1", &format!("run phold --until 1s --quiet {option} {file}"));
        assert_eq!(status, Some(1), "{said}");
        let begins = format!("error: the events could not be recorded: {file} cannot be written: File too large");
        assert!(
            said.starts_with(&begins) && said.ends_with("; record them elsewhere, or make room for them\n"),
            "{said}"
        );
    }
}

#[test]
fn time_warp_that_fills_its_memory_without_getting_on_ends_as_sequential_does() {
    let folder = Folder::new("circle");
    let run = |engine: &str| {
        let run = "run phold --set mean_delay=0 --set lookahead=0 --set lps=64 --memory-limit 20MiB --quiet --engine";
        let output = parades(&folder.0, &format!("{run} {engine}"));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).replace(engine, "ENGINE"))
    };
    let (status, said) = run("time-warp --threads 2");
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("zero-delay events went on for 1048576 rounds"), "{said}");
    let sentence = |said: &str| said.split("; reproduce it").next().map(str::to_owned);
    assert_eq!(sentence(&said), sentence(&run("sequential").1));
}
