//! The promises to scripts: fields, exit statuses, and the same answer to the same question.

use crate::common::{Folder, SLOW_PLATFORM, command, parades};
use serde_json::Value;
use std::io::Read;
use std::process::Stdio;

fn json(folder: &Folder, arguments: &str) -> Value {
    let output = parades(&folder.0, arguments);
    assert!(output.status.success(), "parades {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON object")
}

#[test]
fn the_json_object_has_every_promised_field() {
    let folder = Folder::new("fields");
    let run = json(&folder, "run phold --json --quiet --until 3s");
    let fields = [
        "schema",
        "version",
        "commit",
        "command",
        "machine",
        "scenario",
        "parameters",
        "engine",
        "threads",
        "processes",
        "seed",
        "virtual_time_s",
        "lps",
        "events",
        "digest",
        "wall_s",
        "events_per_s",
        "peak_rss_bytes",
        "metrics",
        "engine_stats",
    ];
    for field in fields {
        assert!(!run[field].is_null(), "{field}");
    }
    assert_eq!((&run["schema"], &run["virtual_time_s"], &run["lps"]), (&1.into(), &3.0.into(), &1024.into()));
    assert_eq!(run["digest"].as_str().unwrap().len(), 16);
    assert!(run["machine"]["cores"].as_u64().unwrap() > 0);
    assert_eq!(run["parameters"].as_object().unwrap().len(), 12, "every parameter, defaults included");
    assert_eq!(run["wall_s"].as_object().unwrap().len(), 3);
}

#[test]
fn equal_seeds_give_equal_answers_and_others_do_not() {
    let folder = Folder::new("seeds");
    for scenario in [
        "phold",
        "multicast --until 10ms",
        "transfer --until 2s",
        "mm1 --set customers=20000",
        "campus --until 1s",
        "wan --until 100ms",
        "flows --set hosts=50 --set flows=300",
    ] {
        let answer = |seed: u32| {
            let run = json(&folder, &format!("run {scenario} --json --quiet --seed {seed}"));
            (run["digest"].clone(), run["events"].clone(), run["metrics"].clone())
        };
        assert_eq!(answer(1), answer(1), "{scenario}");
        assert_ne!(answer(1).0, answer(2).0, "{scenario}");
    }
}

#[test]
fn sharing_a_packets_data_changes_no_answer() {
    let folder = Folder::new("share");
    let answer = |how: &str| {
        let run = json(&folder, &format!("run multicast --set levels=7 --until 20ms --json --quiet {how}"));
        assert_eq!(run["lps"], 8 * 127);
        (run["digest"].clone(), run["events"].clone(), run["metrics"].clone())
    };
    let shared = answer("");
    for how in
        ["--set share=false", "--engine time-warp --threads 2", "--engine null-message --threads 2 --set share=false"]
    {
        assert_eq!(answer(how), shared, "{how}");
    }
}

#[test]
fn ties_shuffled_leave_sound_models_alone_and_show_the_others() {
    let folder = Folder::new("ties");
    let metrics =
        |run: &str, seed: u32| json(&folder, &format!("run {run} --json --quiet --tie-seed {seed}"))["metrics"].clone();
    let order: Vec<Value> =
        (1..=5).map(|seed| metrics("faulty --set fault=tie-order", seed)["order"].clone()).collect();
    assert!(
        order.iter().any(|of_seed| *of_seed != order[0]),
        "the order of simultaneous events is shuffled: {order:?}"
    );
    for seed in 1..=5 {
        let run = metrics("phold --set delay=quantised --until 200s", seed);
        let mean = run["mean_delay_s"].as_f64().unwrap();
        // Exponential of mean 1 rounded up to tenths: 0.1 / (1 - exp(-0.1)).
        assert!((mean - 1.0508).abs() < 0.01, "tie seed {seed}: {mean}");
    }
}

#[test]
fn a_memory_limit_bounds_the_run_and_not_the_program() {
    // The program alone takes more memory than this bound.
    let folder = Folder::new("limit");
    let long = "run phold --set work=2000 --until 150s --json --quiet --memory-limit 2MiB --engine";
    let of = |engine: &str| json(&folder, &format!("{long} {engine}"));
    let (sequential, ahead) = (of("sequential"), of("time-warp --tune ahead=16777216"));
    assert!(sequential["peak_rss_bytes"].as_u64().unwrap() > 2 << 20);
    assert_eq!(sequential["digest"], ahead["digest"]);
}

#[test]
fn what_show_prints_runs_to_the_same_digest() {
    let folder = Folder::new("show");
    let listed = parades(&folder.0, "list").stdout;
    let listed = String::from_utf8(listed).expect("names are text");
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 11 && names.contains(&"network"), "{names:?}");
    // The scenario `faulty` exists to fail.
    for scenario in names.into_iter().filter(|name| *name != "faulty") {
        let shown = parades(&folder.0, &format!("show {scenario} --seed 5 --until 200ms"));
        assert!(shown.status.success());
        folder.write("shown.toml", &shown.stdout);
        let of = |run: &str| json(&folder, &format!("run {run} --json --quiet"))["digest"].clone();
        assert_eq!(of("shown.toml"), of(&format!("{scenario} --seed 5 --until 200ms")), "{scenario}");
    }
}

#[test]
fn a_network_in_a_file_runs_on_every_engine_and_is_written_out_in_full() {
    let folder = Folder::new("network");
    folder.write("net.toml", parades(&folder.0, "show network").stdout);
    let run = |file: &str, more: &str| json(&folder, &format!("run {file} --json --quiet --until 9s {more}"));
    let expected = run("net.toml", "--set rate=4Mbps --engine sequential");
    assert_eq!((&expected["scenario"], &expected["parameters"]["rate"]), (&"network".into(), &"4Mbps".into()));
    assert!(expected["metrics"]["packets_lost_down"].as_u64().unwrap() > 0, "the bottleneck fails");
    for engine in ["rounds", "window", "null-message", "time-warp"] {
        let other = run("net.toml", &format!("--set rate=4Mbps --engine {engine} --threads 2"));
        assert_eq!((&other["digest"], &other["metrics"]), (&expected["digest"], &expected["metrics"]), "{engine}");
    }
    let full = parades(&folder.0, "show net.toml --set rate=4Mbps");
    assert!(full.status.success());
    folder.write("full.toml", full.stdout);
    assert_eq!(run("full.toml", "")["digest"], expected["digest"]);
    assert_ne!(run("net.toml", "")["digest"], expected["digest"]);
    let schema: Value = serde_json::from_slice(&parades(&folder.0, "show --schema").stdout).expect("it is JSON");
    assert_eq!(schema["required"][0], "network");
    let sweep = "sweep net.toml --set rate=4Mbps,8Mbps --seeds 1..3 --jobs 2 --until 3s --quiet --csv --metric response_web_s.mean";
    let table = String::from_utf8(parades(&folder.0, sweep).stdout).expect("CSV is text");
    assert_eq!(table.lines().count(), 1 + 2 * 3, "{table}");
}

#[test]
fn compare_checks_digests_and_diff_finds_where_runs_part() {
    let folder = Folder::new("compare");
    // A setting goes to the engines that have it.
    let tuned =
        "compare phold --until 1s --engines sequential,window,time-warp --json --quiet --tune ahead=64 --tune order=lp";
    assert_eq!(json(&folder, tuned)["runs"].as_array().unwrap().len(), 3);
    // The number of threads in a scenario file holds for `compare` too.
    folder.write("three.toml", "scenario = \"phold\"\nuntil = \"1s\"\nthreads = 3\n");
    let three = json(&folder, "compare three.toml --engines sequential,window --json --quiet");
    assert_eq!((&three["runs"][0]["threads"], &three["runs"][1]["threads"]), (&1.into(), &3.into()));
    let compared = json(&folder, "compare transfer --until 1s --json --quiet");
    let runs = compared["runs"].as_array().unwrap();
    assert!(runs.len() >= 2 && runs.iter().all(|run| run["same"] == true && run["digest"] == runs[0]["digest"]));

    let differ = |a: &str, b: &str| command(&folder.0, "diff").args([a, b]).output().unwrap();
    let same = differ("phold --until 2s", "phold --until 2s --engine rollback-check");
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stderr));
    assert!(String::from_utf8_lossy(&same.stdout).starts_with("the runs are the same: "));

    // One run is longer. The two differ where the shorter one has no more events.
    let longer = differ("phold --until 2s", "phold --until 2100ms");
    assert_eq!(longer.status.code(), Some(1));
    let said = String::from_utf8_lossy(&longer.stdout).into_owned();
    assert!(
        said.contains("phold --until 2s: (no more events)") && said.contains("phold --until 2100ms: 2.0"),
        "{said}"
    );
}

#[test]
fn out_writes_a_folder_that_diff_reads() {
    let folder = Folder::new("out");
    for (name, seed) in [("a", 1), ("b", 1), ("c", 2)] {
        assert!(
            parades(&folder.0, &format!("run phold --quiet --until 2s --seed {seed} --out {name}")).status.success()
        );
    }
    assert_eq!(folder.read("a/metrics.json"), folder.read("b/metrics.json"));
    let summary: Value = serde_json::from_str(&folder.read("a/summary.json")).unwrap();
    assert_eq!(summary["scenario"], "phold");
    assert!(parades(&folder.0, "run mm1 --quiet --set customers=1000 --out m").status.success());
    let stations = folder.read("m/tables/stations.csv");
    assert!(stations.starts_with("station,arrivals,utilisation,") && stations.lines().count() == 2, "{stations}");
    assert!(parades(&folder.0, "diff a b").status.success());
    assert_eq!(parades(&folder.0, "diff a c").status.code(), Some(1));
    assert_eq!(parades(&folder.0, "diff a .").status.code(), Some(2));
}

#[test]
fn traces_are_filtered_by_lp_and_time() {
    let folder = Folder::new("trace");
    let arguments =
        "run phold --quiet --until 5s --trace t.txt --trace-lps 3,10..=12 --trace-from 1s --trace-before 4s";
    assert!(parades(&folder.0, arguments).status.success());
    let trace = folder.read("t.txt");
    assert!(trace.lines().count() > 5, "{trace}");
    for line in trace.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let time: f64 = words[0].trim_end_matches('s').parse().unwrap();
        assert!(
            (1.0..4.0).contains(&time) && words[1] == "LP" && ["3", "10", "11", "12"].contains(&words[2]),
            "{line}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_run_stopped_by_hand_ends_with_its_results_so_far() {
    let folder = Folder::new("interrupt");
    let mut child =
        command(&folder.0, "run phold --until 1000000s --json --quiet").stdout(Stdio::piped()).spawn().unwrap();
    // This is long enough for the run to have begun, even on a busy machine. The run itself would take hours.
    std::thread::sleep(std::time::Duration::from_millis(700));
    // SIGTERM acts as Ctrl-C does. SIGINT may be ignored if the tests themselves run in the background.
    let kill = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let run: Value = serde_json::from_str(&text).unwrap();
    assert!(run["stopped_at_s"].as_f64().unwrap() > 0.0);
    let until = run["until"].as_str().unwrap();
    let again = json(&folder, &format!("run phold --until {until} --json --quiet"));
    assert_eq!(
        (&again["digest"], &again["events"]),
        (&run["digest"], &run["events"]),
        "the same run until then has the same digest"
    );
}

#[cfg(unix)]
#[test]
fn two_signals_at_once_are_one() {
    let folder = Folder::new("twice");
    let mut child =
        command(&folder.0, "run phold --until 100000s --threads 1 --engine sequential --json --quiet --out results")
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
    // This is long enough for the run to have begun, even on a busy machine.
    std::thread::sleep(std::time::Duration::from_millis(700));
    // GNU `timeout` sends its signal to its child, and to the group of its child.
    for _ in 0..2 {
        let sent = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut text = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let printed: Value = serde_json::from_str(&text).expect("the results so far");
    let written: Value = serde_json::from_str(&folder.read("results/summary.json")).unwrap();
    assert_eq!(printed["events"], written["events"]);
    assert!(printed["events"].as_u64() > Some(0));
}

#[test]
fn a_folder_of_results_has_one_writer_at_a_time() {
    let folder = Folder::new("writers");
    let run =
        |until: &str| format!("run phold --until {until} --threads 1 --engine sequential --quiet --json --out results");
    let mut first = command(&folder.0, &run("20000s")).stdout(std::process::Stdio::null()).spawn().unwrap();
    while !folder.0.join("results").exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    std::thread::sleep(std::time::Duration::from_millis(20));
    let second = parades(&folder.0, &run("1s"));
    let refused = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{refused}");
    assert_eq!(
        refused.trim_end(),
        "error: another run or sweep is writing into results; name another folder for `--out`, or wait until it is over"
    );
    assert!(first.wait().unwrap().success());
    let written: Value = serde_json::from_str(&folder.read("results/summary.json")).unwrap();
    assert_eq!(written["virtual_time_s"], 20000.0);
    // Then the folder is free again.
    assert!(parades(&folder.0, &(run("1s") + " --overwrite")).status.success());
}

#[test]
fn flows_on_a_platform_end_when_they_should_under_every_engine() {
    let folder = Folder::new("flows");
    let platform = r#"<platform version="4.1"><zone id="world" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
        <link id="wire" bandwidth="100MBps" latency="1ms"/><route src="a" dst="b"><link_ctn id="wire"/></route></zone></platform>"#;
    folder.write("wire.xml", platform);
    folder.write("pattern.txt", "# id source destination bytes start_s\n1 a b 100000000 0\n2 a b 100000000 .5\n");
    for engine in ["sequential", "rollback-check", "window", "null-message", "time-warp", "auto"] {
        let run = format!(
            "run flows --set platform=wire.xml --set pattern=pattern.txt --set model=CM02 --engine {engine} --json --quiet"
        );
        let run = json(&folder, &run);
        let flows = run["metrics"]["flows"].as_array().unwrap();
        for (flow, (id, start_s, end_s)) in flows.iter().zip([(1, 0.0, 1.601), (2, 0.5, 2.101)]) {
            assert_eq!(
                (&flow["id"], &flow["start_s"]),
                (&serde_json::json!(id), &serde_json::json!(start_s)),
                "{engine}"
            );
            let error = flow["end_s"].as_f64().unwrap() / end_s - 1.0;
            assert!(error.abs() < 1e-9, "{engine}: {flow}");
            assert_eq!(flow.as_object().unwrap().len(), 3);
        }
        assert_eq!(flows.len(), 2);
    }
    folder.write("cut.xml", &platform[..60]);
    for (arguments, place) in [("platform=cut.xml", "cut.xml:1:"), ("pattern=pattern.txt", "pattern.txt:2:3: ")] {
        let output = parades(&folder.0, &format!("run flows --quiet --set {arguments}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with(&format!("error: {place}")), "{said}");
    }
}

#[test]
fn lists_and_completions_are_complete() {
    let folder = Folder::new("lists");
    let text = |arguments: &str| {
        let output = parades(&folder.0, arguments);
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let scenarios = text("list");
    for name in ["phold", "multicast", "transfer", "mm1", "jackson", "campus", "wan", "flows"] {
        assert!(scenarios.lines().any(|line| line.starts_with(name)), "{name}");
    }
    assert!(text("list --engines").contains("sequential"));
    assert!(text("completions bash").contains("complete"));
}

#[cfg(unix)]
#[test]
fn bench_is_the_program_beside_the_command() {
    use std::os::unix::fs::symlink;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    let folder = Folder::new("beside");
    let at = |name: &str| folder.0.join(name);
    let built = env!("CARGO_BIN_EXE_parades");
    // Where this process wrote a program itself, another thread's process could keep it from being started.
    assert!(Command::new("cp").args([built, "parades"]).current_dir(&folder.0).status().unwrap().success());
    symlink("parades", at("link")).unwrap();
    let bench = |program: &str, words: &[&str]| {
        Command::new(at(program)).arg("bench").args(words).env("PATH", "/nowhere").output().unwrap()
    };
    let missing = bench("parades", &["phold", "--pairs", "1"]);
    let said = String::from_utf8_lossy(&missing.stderr);
    let expected = "error: measurements are a program of their own, and there is no `parades-bench` beside this one \
                    or in the path; build it with `cargo build --release -p parades-bench`, or install it \
                    with `cargo install --path crates/doors/bench`\n";
    assert_eq!((said.as_ref(), missing.status.code()), (expected, Some(2)));
    assert!(missing.stdout.is_empty());

    // A shell in the place of the program.
    symlink("/bin/sh", at("parades-bench")).unwrap();
    for program in ["parades", "link"] {
        let started = bench(program, &["-c", "echo $# \"$@\"; exit 7", "name", "phold", "--help", "two words"]);
        assert_eq!(String::from_utf8_lossy(&started.stdout), "3 phold --help two words\n");
        assert_eq!(started.status.code(), Some(7));
        assert_eq!(bench(program, &["-c", "kill -TERM $$"]).status.signal(), Some(15));
    }
    let elsewhere = at("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::rename(at("parades-bench"), elsewhere.join("parades-bench")).unwrap();
    let mut in_path = Command::new(at("parades"));
    let in_path = in_path.args(["bench", "-c", "exit 8"]).env("PATH", &elsewhere).status().unwrap();
    assert_eq!(in_path.code(), Some(8));
}

#[test]
fn results_before_the_end_of_virtual_time_are_kept() {
    let folder = Folder::new("end-of-time");
    folder.write("p.xml", SLOW_PLATFORM);
    // Two flows in both directions share a link of 1 byte/s. The first needs more than virtual time has.
    folder.write("p.txt", "0 a b 20000000 0\n1 b a 1000 0\n2 a b 1000 20000000\n");
    let output = parades(&folder.0, "run flows --set platform=p.xml --set pattern=p.txt --quiet --json --out o");
    assert_eq!(output.status.code(), Some(1));
    let message = "virtual time ends after 18446744 s (213 days), and 2 flows have not ended, the first of them `0` from `a` to `b`";
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.starts_with(&format!("error: {message}")) && said.lines().count() == 1, "{said}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let kept: Value = serde_json::from_str(&folder.read("o/summary.json")).unwrap();
    for results in [printed, kept] {
        let flows = results["metrics"]["flows"].as_array().unwrap();
        assert!(flows[0]["end_s"].is_null() && flows[2]["end_s"].is_null(), "{results}");
        // LV08: a flow gets 97 % of what it takes, and its acknowledgements take 5 % of it on the way back.
        let end = flows[1]["end_s"].as_f64().unwrap();
        assert!((end - 1000.0 * 2.0 * 1.05 / 0.97).abs() < 1e-6, "{end}");
        assert!(results["notes"].to_string().contains(message), "{results}");
    }
}

#[test]
fn a_scenario_comes_from_standard_input() {
    use std::io::Write;
    let folder = Folder::new("stdin");
    let fed = |arguments: &str, text: &str| {
        let piped = std::process::Stdio::piped;
        let mut child = command(&folder.0, arguments);
        let mut child = child.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let (network, scenario) = (
        "network = \"x\"\nuntil = \"1s\"\nnodes = [\"a\", \"b\"]\nlink = [{ from = \"a\", to = \"b\", rate = \"8Mbps\", delay = \"5ms\" }]\n\
         app = [{ name = \"x\", kind = \"constant\", from = \"a\", to = \"b\", rate = \"80kbps\" }]\n",
        "scenario = \"phold\"\nuntil = \"2s\"\n[parameters]\nlps = 32\n",
    );
    for (name, text) in [("network", network), ("phold", scenario)] {
        folder.write("in.toml", text);
        let of_file = json(&folder, "run in.toml --json --quiet");
        for options in ["", " --engine window --threads 1 --processes 2", " --out o --copy-inputs --overwrite"] {
            let output = fed(&format!("run - --json --quiet{options}"), text);
            assert!(output.status.success(), "{name}{options}: {}", String::from_utf8_lossy(&output.stderr));
            let run: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!((&run["digest"], &run["scenario"]), (&of_file["digest"], &name.into()), "{options}");
            assert_eq!(run["inputs"][0]["path"], "standard input");
        }
        assert_eq!(json(&folder, "run o/scenario.toml --json --quiet")["digest"], of_file["digest"]);
        assert!(parades(&folder.0, "rerun o").status.success());
        let swept: Value = serde_json::from_slice(&fed("sweep - --seeds 1,2 --json --quiet", text).stdout).unwrap();
        assert_eq!(swept["runs"][0]["digest"], of_file["digest"], "{name}");
    }
    for (text, message) in [
        (&network.replace("rate = \"8Mbps\"", "rat = 1")[..], "error: standard input:4:33: "),
        (&scenario.replace("lps", "lsp"), "error: standard input:4:1: "),
        ("scenario = ", "error: standard input:1:"),
        ("", "error: standard input: "),
    ] {
        let output = fed("run -", text);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.starts_with(message), "{text}: {said}");
    }
}

#[test]
fn commands_that_only_the_program_itself_gives_are_never_suggested() {
    let folder = Folder::new("hidden");
    for typo in ["rnak", "ranks", "sweep-worke", "sweepworker"] {
        let said = String::from_utf8_lossy(&parades(&folder.0, typo).stderr).into_owned();
        assert!(!said.contains("'rank'") && !said.contains("sweep-worker'"), "{said}");
    }
}

#[test]
fn every_engine_runs_to_the_very_end_of_virtual_time() {
    let folder = Folder::new("very-end");
    let slow = "gossip --set nodes=20 --set period=20d --set underlay=constant --set latency=1d";
    let last = format!("{}ps", u64::MAX);
    let compared = json(&folder, &format!("compare {slow} --until {last} --threads 2 --json --quiet"));
    let runs = compared["runs"].as_array().unwrap();
    assert!(runs.len() == 5 && runs.iter().all(|run| run["same"] == true && run["until"] == "18446744.073709551615s"));
    let checked = json(&folder, &format!("run {slow} --until {last} --engine rollback-check --json --quiet"));
    assert_eq!(checked["digest"], runs[0]["digest"]);
}
