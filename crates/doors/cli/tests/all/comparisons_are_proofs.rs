//! A comparison is complete for a reviewer: in its JSON, in its folder, and about the order of simultaneous
//! events.

use crate::common::{Folder, parades};
use serde_json::Value;
use std::io::{BufRead, BufReader};

/// Two senders at the rate of one link, so that half of their packets are lost. Where packets arrive at one
/// time, their order decides which.
const COLLIDING: &str = r#"
network = "two streams collide"
until = "1s"
nodes = ["a", "b", "m", "z"]
link = [
    { from = ["a", "b"], to = "m", rate = "8Mbps", delay = "1ms", queue = 10 },
    { from = "m", to = "z", rate = "8Mbps", delay = "1ms", queue = 1 },
]
app = [{ name = "x", kind = "constant", from = ["a", "b"], to = "z", rate = "8Mbps" }]
"#;

fn json(folder: &Folder, arguments: &str) -> Value {
    let output = parades(&folder.0, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments}: {error}: {said}"))
}

fn names(list: &Value) -> Vec<&str> {
    let entries = list.as_array().expect("it is a list").iter();
    entries.filter_map(|entry| entry.as_str().or_else(|| entry["metric"].as_str())).collect()
}

#[test]
fn the_json_of_a_comparison_has_all_that_the_json_of_its_runs_has() {
    let folder = Folder::new("compared-json");
    let options = "phold --set lps=64 --until 2s --quiet --json";
    let compared = json(&folder, &format!("compare {options} --engines sequential,window --threads 2"));
    for (index, engine) in ["sequential --threads 1", "window --threads 2"].iter().enumerate() {
        let mut run = json(&folder, &format!("run {options} --engine {engine}"));
        let fields = run.as_object_mut().expect("it is an object");
        // The command differs, and wall times do.
        for different in
            ["command", "wall_s", "events_per_s", "peak_rss_bytes", "engine_stats", "notes", "metrics", "until"]
        {
            fields.shift_remove(different);
        }
        for (name, value) in fields {
            let found = if compared.get(name).is_some() { &compared[name] } else { &compared["runs"][index][name] };
            assert_eq!(found, value, "{engine}: {name}");
        }
        let row = &compared["runs"][index];
        assert!(row["wall_s"]["run"].is_f64() && row["engine_stats"].is_object() && row["difference"].is_null());
        assert_eq!((&row["same"], &row["until"]), (&true.into(), &"2s".into()));
    }
    assert_eq!(compared["runs"][0]["metrics"], json(&folder, &format!("run {options}"))["metrics"]);
    assert_eq!((&compared["same"], &compared["left_out"]), (&true.into(), &Value::Array(Vec::new())));
    let repeat = compared["repeat"].as_str().expect("it is text");
    assert_eq!(repeat, "parades compare SCENARIO --engines sequential,window --threads 2");
}

#[test]
fn the_folder_of_a_comparison_is_repeated_by_the_commands_in_it() {
    let folder = Folder::new("compared-folder");
    folder.write("net.toml", COLLIDING);
    let engines = "--engines sequential,window,time-warp --threads 2 --tie-seed 1..2 --quiet";
    let first = parades(&folder.0, &format!("compare net.toml {engines} --out proof"));
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let proof = folder.read("proof/proof.txt");
    let compared: Value = serde_json::from_str(&folder.read("proof/comparison.json")).expect("it is JSON");
    let digest = compared["runs"][0]["digest"].as_str().expect("it is text").to_owned();
    assert!(proof.contains(&digest) && proof.contains("3 of 3 runs have one result"), "{proof}");
    let record: Value = serde_json::from_str(&folder.read("proof/record.json")).expect("it is JSON");
    assert!(record["build"].as_str().is_some_and(|build| build.contains("rustc")), "{record}");
    assert!(record["machine"]["cpu"].is_string() && record["circumstances"]["kernel"].is_string(), "{record}");
    assert!(record["inputs"][0]["path"].as_str().is_some_and(|path| path.ends_with("net.toml")), "{record}");
    assert!(record["inputs"][0]["hash"].is_string(), "{record}");
    // Each command of the proof leads to the same digests, where there is nothing but the folder.
    let (_, commands) = proof.split_once("IN THIS FOLDER").expect("it has the commands");
    let commands: Vec<&str> = commands.lines().filter_map(|line| line.strip_prefix("parades ")).collect();
    assert_eq!(commands.len(), 1 + 6, "{proof}");
    let inside = folder.0.join("proof");
    let again = parades(&inside, &format!("{} --json --quiet", commands[0]));
    let again: Value = serde_json::from_slice(&again.stdout).expect("it is JSON");
    for (before, now) in compared["runs"].as_array().into_iter().flatten().zip(again["runs"].as_array().expect("runs"))
    {
        assert_eq!(before["digest"], now["digest"]);
    }
    for command in &commands[1..] {
        let rerun = parades(&inside, command);
        assert!(
            String::from_utf8_lossy(&rerun.stdout).starts_with("the run is the same as that in runs/"),
            "{command}"
        );
    }
    // It is replaced only if the user says so, and a run's folder never.
    let refused = |arguments: &str, why: &str| {
        let output = parades(&folder.0, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(why), "{arguments}: {said}");
    };
    refused(&format!("compare net.toml {engines} --out proof"), "proof has the results of another comparison");
    refused("run net.toml --quiet --out proof", "and no run wrote it");
    assert!(parades(&folder.0, "run net.toml --quiet --out run").status.success());
    refused(&format!("compare net.toml {engines} --out run --overwrite"), "and no comparison wrote it");
    let again = "compare net.toml --engines sequential,window --out proof --overwrite --quiet";
    assert!(parades(&folder.0, again).status.success());
    assert!(!folder.read("proof/proof.txt").contains("time-warp"));
    assert_eq!(std::fs::read_dir(folder.0.join("proof/runs")).expect("it is there").count(), 2);
}

#[test]
fn tie_seeds_tell_which_metrics_depend_on_the_order_of_simultaneous_events() {
    let folder = Folder::new("ties");
    folder.write("net.toml", COLLIDING);
    let compared =
        json(&folder, "compare net.toml --engines sequential,window --threads 2 --tie-seed 1..5 --json --quiet");
    let runs = compared["runs"].as_array().expect("there are runs");
    assert_eq!(runs.len(), 10);
    for pair in runs.chunks(2) {
        assert_eq!((&pair[0]["digest"], &pair[0]["tie_seed"]), (&pair[1]["digest"], &pair[1]["tie_seed"]));
    }
    let depending = names(&compared["ties"]["depends"]);
    assert!(depending.contains(&"digest") && depending.contains(&"flows.packets_lost"), "{depending:?}");
    let independent = names(&compared["ties"]["independent"]);
    assert!(independent.contains(&"packets_sent") && independent.contains(&"flows.packets_sent"), "{independent:?}");
    // The spread is that of the values in the runs themselves.
    let lost = |run: &Value, row: usize| run["metrics"]["flows"][row]["packets_lost"].as_f64().expect("a number");
    let spread = |row: usize| {
        let of_runs: Vec<f64> = runs.iter().step_by(2).map(|run| lost(run, row)).collect();
        let (least, greatest) =
            (of_runs.iter().copied().fold(f64::MAX, f64::min), of_runs.iter().copied().fold(0.0, f64::max));
        (least, greatest, (greatest - least) / (of_runs.iter().sum::<f64>() / of_runs.len() as f64))
    };
    let expected = if spread(1).2 > spread(0).2 { spread(1) } else { spread(0) };
    let told = compared["ties"]["depends"].as_array().expect("a list").iter();
    let told = told.into_iter().find(|effect| effect["metric"] == "flows.packets_lost").expect("it depends");
    // The row is named by its texts: two flows of one app, from `a` and from `b`.
    let row = if spread(1).2 > spread(0).2 { "x b" } else { "x a" };
    assert_eq!(told["row"], row);
    let told = ["least", "greatest", "relative_spread"].map(|name| told[name].as_f64().expect("a number"));
    let expected = [expected.0, expected.1, expected.2];
    assert!(told.iter().zip(expected).all(|(told, expected)| (told - expected).abs() < 1e-12), "{told:?} {expected:?}");
    let table = parades(&folder.0, "compare net.toml --engines sequential,window --threads 2 --tie-seed 1..5 --quiet");
    let table = String::from_utf8(table.stdout).expect("it is text");
    for words in [
        "tie",
        "depend on the order of simultaneous events (tie seeds 1, 2, 3, 4, 5)",
        "other metrics are the same",
        row,
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    // One seed is no range.
    let one = json(&folder, "compare net.toml --engines sequential,window --tie-seed 3..3 --json --quiet");
    assert_eq!((&one["tie_seed"], &one["ties"]), (&3.into(), &Value::Null));
    assert_eq!(one["runs"][0]["digest"], runs[4]["digest"]);
}

#[test]
fn a_sweep_over_tie_seeds_has_their_runs_and_their_verdict() {
    let folder = Folder::new("tie-sweep");
    folder.write("net.toml", COLLIDING);
    let sweep = "sweep net.toml --tie-seed 1..3 --seeds 1,2 --quiet";
    let swept = json(&folder, &format!("{sweep} --json --out s"));
    assert_eq!((&swept["total"], &swept["swept"]["tie_seed"]), (&6.into(), &serde_json::json!([1, 2, 3])));
    for run in swept["runs"].as_array().expect("there are runs") {
        let (seed, tie) = (&run["seed"], &run["parameters"]["tie_seed"]);
        let alone = json(&folder, &format!("run net.toml --seed {seed} --tie-seed {tie} --json --quiet"));
        assert_eq!(run["digest"], alone["digest"], "{seed} {tie}");
    }
    assert!(names(&swept["ties"]["depends"]).contains(&"digest"));
    let groups = ["groups", "incomplete"].map(|name| &swept["ties"][name]);
    assert_eq!(groups, [&2, &0].map(|count: &u64| Value::from(*count)).each_ref());
    assert!(names(&swept["ties"]["independent"]).contains(&"packets_sent"));
    // The same command goes on from its journal, and further tie seeds are added to it.
    let more = json(&folder, &sweep.replace("1..3", "1..4").replace("--quiet", "--quiet --json --out s"));
    assert_eq!((&more["finished"], &more["runs"][0]["digest"]), (&8.into(), &swept["runs"][0]["digest"]));
    // A shard knows of them, and the merge too.
    for shard in ["1/2", "2/2"] {
        let part = format!("{sweep} --shard {shard} --out {}", shard.replace('/', "-"));
        assert!(parades(&folder.0, &part).status.success());
    }
    assert_eq!(json(&folder, "merge 1-2 2-2 --json")["ties"], swept["ties"]);
    let one = json(&folder, "sweep net.toml --tie-seed 2..2 --json --quiet");
    assert_eq!((&one["tie_seed"], &one["ties"], &one["swept"]), (&2.into(), &Value::Null, &serde_json::json!({})));
}

#[test]
fn a_sweep_over_tie_seeds_names_the_point_where_they_matter_most() {
    let folder = Folder::new("tie-places");
    folder.write(
        "net.toml",
        COLLIDING
            .replace("queue = 1 }", "queue = \"$queue\" }")
            .replace("nodes =", "parameters = { queue = \"1\" }\nnodes ="),
    );
    let sweep = "sweep net.toml --set queue=1,3 --tie-seed 1..3 --seeds 1,2 --quiet";
    let swept = json(&folder, &format!("{sweep} --json --journal j"));
    let runs = swept["runs"].as_array().expect("there are runs");
    let depends = swept["ties"]["depends"].as_array().expect("a list");
    let told = depends.iter().find(|effect| effect["metric"] == "fairness").or_else(|| depends.last());
    let told = told.expect("something depends");
    let name = told["metric"].as_str().expect("a name");
    // The greatest relative spread among the groups of runs, computed here from the runs themselves.
    let spread_at = |place: &Value| {
        let of_place =
            |run: &&Value| run["parameters"]["queue"] == place["parameters"]["queue"] && run["seed"] == place["seed"];
        let of = |run: &Value| run["metrics"][name].as_f64().expect("a number");
        let values: Vec<f64> = runs.iter().filter(of_place).map(of).collect();
        assert_eq!(values.len(), 3);
        let (least, greatest) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
        (greatest - least) * 3.0 / values.iter().sum::<f64>().abs()
    };
    let places = runs
        .iter()
        .map(|run| serde_json::json!({"parameters": {"queue": run["parameters"]["queue"]}, "seed": run["seed"]}));
    let greatest = places.map(|place| spread_at(&place)).fold(0.0, f64::max);
    assert!((spread_at(&told["greatest_at"]) - greatest).abs() < 1e-12, "{told} {greatest}");
    let text = |arguments: &str| String::from_utf8(parades(&folder.0, arguments).stdout).expect("it is text");
    let queue = told["greatest_at"]["parameters"]["queue"].as_str().expect("it is text");
    let place = format!("queue={queue}, seed {}", told["greatest_at"]["seed"]);
    let table = text(&format!("{sweep} --journal j"));
    assert!(table.contains("greatest at") && table.contains(&place), "{place}: {table}");
    assert!(table.contains("tables and series are not compared here"), "{table}");
    // A metric that was asked for stands alone.
    let one = text(&format!("{sweep} --journal j --metric {name}"));
    let (_, ties) = one.split_once("order of simultaneous events").expect("it has them");
    assert!(ties.contains(&place) && ties.contains("metrics that were not asked for depend on it"), "{ties}");
    let none = text(&format!("{sweep} --journal j --metric packets_sent"));
    assert!(none.contains("no metric asked for depends on the order"), "{none}");
    // A shard says how many groups lack runs, or that it has nothing to compare.
    let half = text(&format!("{sweep} --shard 1/2 --journal half"));
    assert!(half.contains("of 4 pairs of a grid point and a seed, 4 lack runs of some tie seeds"), "{half}");
    let quarter = text(&format!("{sweep} --shard 1/4 --journal quarter"));
    assert!(quarter.contains("the effect of tie seeds is unknown"), "{quarter}");
}

#[test]
fn a_comparison_on_several_workers_is_repeated_with_the_same_numbers() {
    let folder = Folder::new("compared-workers");
    let compare = "compare phold --set lps=64 --until 2s --quiet";
    let repeat = |options: &str| {
        json(&folder, &format!("{compare} --json {options}"))["repeat"].as_str().expect("text").to_owned()
    };
    assert_eq!(
        repeat("--engines sequential,rounds,window --threads 2,1 --processes 1,2"),
        "parades compare SCENARIO --engines sequential,rounds,window --threads 2,1 --processes 1,2"
    );
    // By default the threads of a process are the cores divided by the processes, so each number of processes
    // has its own.
    let cores = std::thread::available_parallelism().expect("it is known").get();
    let lines = repeat("--engines sequential,window --processes 1,2");
    let expected = format!(
        "parades compare SCENARIO --engines sequential,window --threads {cores}\n\
         parades compare SCENARIO --engines window --threads {} --processes 2",
        (cores / 2).max(1)
    );
    if cores > 1 {
        assert_eq!(lines, expected);
    }
}

#[test]
fn the_folder_of_a_comparison_can_be_moved_with_the_files_that_it_names() {
    let folder = Folder::new("compared-moved");
    std::fs::create_dir_all(folder.0.join("work/in")).expect("a folder");
    folder.write("work/in/p.txt", "0 host-0 host-1 1000 0\n1 host-1 host-2 5000 0.1\n");
    let compare =
        "compare flows --set hosts=10 --set pattern=in/p.txt --engines sequential,window --quiet --json --out proof";
    let work = folder.0.join("work");
    let compared = parades(&work, compare);
    assert!(compared.status.success(), "{}", String::from_utf8_lossy(&compared.stderr));
    let scenario = std::fs::read_to_string(work.join("proof/scenario.toml")).expect("it is there");
    assert!(scenario.contains("pattern = \"../in/p.txt\""), "{scenario}");
    // The runs are repeated from any folder.
    let rerun = parades(&work.join("proof"), "rerun runs/engine=sequential,threads=1");
    assert!(rerun.status.success(), "{}", String::from_utf8_lossy(&rerun.stderr));
    let several = parades(&work, "rerun proof");
    let said = String::from_utf8_lossy(&several.stderr).into_owned();
    assert_eq!(
        said,
        "error: proof: holds several runs, so name one of them, such as proof/runs/engine=sequential,threads=1; \
         give a folder that `run --out` wrote\n"
    );
    std::fs::rename(&work, folder.0.join("moved")).expect("it can be moved");
    let again =
        json(&Folder(folder.0.join("moved/proof")), "compare scenario.toml --engines sequential,window --quiet --json");
    let compared: Value = serde_json::from_slice(&compared.stdout).expect("it is JSON");
    assert_eq!(again["runs"][0]["digest"], compared["runs"][0]["digest"]);
}

#[test]
fn runs_that_were_stopped_are_named_and_repeated() {
    let folder = Folder::new("compared-stopped");
    let compare = "compare phold --set lps=64 --set work=20000 --until 400s --engines sequential,auto,window --threads 1 \
                   --tie-seed 7..8 --out proof --json";
    let piped = std::process::Stdio::piped;
    let mut child =
        crate::common::command(&folder.0, compare).stdout(piped()).stderr(piped()).spawn().expect("it starts");
    // `auto` says what it chooses when its run begins, and then has a second of work before it.
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().expect("it is piped")).read_line(&mut line).expect("it is text");
    assert!(line.starts_with("engine: "), "{line}");
    let kill = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(kill.expect("kill starts").success());
    let output = child.wait_with_output().expect("it ends");
    let compared: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let proof = folder.read("proof/proof.txt");
    let run =
        |engine: &str, seed: u64| serde_json::json!({"engine": engine, "threads": 1, "processes": 1, "tie_seed": seed});
    let expected = [run("auto", 7), run("window", 7), run("sequential", 8), run("auto", 8), run("window", 8)];
    assert_eq!(compared["stopped"], Value::Array(expected.to_vec()), "{proof}");
    assert!(proof.contains("not finished: engine=window,threads=1,tie_seed=8, which was stopped"), "{proof}");
    let repeat = "compare scenario.toml --engines sequential,auto,window --threads 1 --tie-seed 7,8";
    assert!(proof.contains(repeat), "{proof}");
}
