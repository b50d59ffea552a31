//! `sweep --from`: one warm-up for all points and seeds.

use crate::common::{Folder, check, parades};
use serde_json::{Value, json};
use std::time::Instant;

/// Runs the command, which must succeed, and returns its JSON.
fn json(folder: &Folder, arguments: &str) -> Value {
    let quiet = if arguments.starts_with("merge") { "" } else { "--quiet" };
    let output = parades(&folder.0, &format!("{arguments} --json {quiet}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {said}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// Saves M/M/1 at 2 s, by a run with this seed.
fn save(folder: &Folder, seed: u64) {
    json(folder, &format!("run mm1 --set utilisation=0.5 --until 2s --seed {seed} --save {seed}.save"));
}

#[test]
fn each_run_of_a_sweep_is_a_branch() {
    let folder = Folder::new("sweep-of-branches");
    save(&folder, 1);
    let sweep = json(&folder, "sweep --from 1.save --until 4s --seeds 5,6 --set utilisation=0.3,0.6 --jobs 2 --out s");
    assert_eq!((&sweep["from"], &sweep["from_time_s"]), (&json!(["1.save"]), &json!(2.0)));
    let again = parades(&folder.0, "sweep --from 1.save --until 4s --seeds 5,6 --set utilisation=0.3,0.6 --out s");
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("4 runs are in s/journal.jsonl already") && said.lines().count() == 1, "{said}");
    let note = sweep["notes"][0].as_str().expect("it is a sentence");
    assert!(
        note.starts_with("the runs share what was before 2s: their intervals hold given this saved run alone"),
        "{note}"
    );
    let runs = sweep["runs"].as_array().expect("it is a list");
    assert_eq!(runs.len(), 4);
    for run in runs {
        let set = format!("--set utilisation={} --seed {}", run["parameters"]["utilisation"], run["seed"]);
        let branch = json(&folder, &format!("branch 1.save {set} --until 4s"));
        assert_eq!(run["digest"], branch["digest"], "{set}");
    }
    let summary: Value =
        serde_json::from_str(&folder.read("s/runs/utilisation=0.3,seed=5/summary.json")).expect("it is JSON");
    assert_eq!(summary["command"], "parades branch 1.save --set utilisation=0.3 --seed 5");
}

#[test]
fn an_interrupted_sweep_and_shards_add_up() {
    let folder = Folder::new("sweep-of-branches-in-parts");
    save(&folder, 1);
    save(&folder, 2);
    let words = "--from 1.save --from 2.save --until 3s --set utilisation=0.3,0.6 --fresh-metrics";
    let whole = json(&folder, &format!("sweep {words} --seeds 1..3"));
    json(&folder, &format!("sweep {words} --seeds 1..2 --out journal"));
    let resumed = json(&folder, &format!("sweep {words} --seeds 1..3 --out journal"));
    for part in ["1/2", "2/2"] {
        json(&folder, &format!("sweep {words} --seeds 1..3 --shard {part} --out shards/{}", &part[..1]));
    }
    let merged = json(&folder, "merge shards");
    for other in [&resumed, &merged] {
        assert_eq!([&other["points"], &other["over_saved_runs"]], [&whole["points"], &whole["over_saved_runs"]]);
    }
    assert_eq!(whole["finished"], 12);
    // A file that changed is another saved run.
    save(&folder, 3);
    std::fs::rename(folder.0.join("3.save"), folder.0.join("1.save")).expect("the test's own files");
    let output = parades(&folder.0, &format!("sweep {words} --seeds 1..3 --out journal --quiet"));
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_mean_of_a_saved_run_is_one_value_of_the_interval_over_saved_runs() {
    let folder = Folder::new("sweep-over-saved-runs");
    (1..=3).for_each(|seed| save(&folder, seed));
    let sweep =
        json(&folder, "sweep --from 1.save --from 2.save --from 3.save --until 3s --seeds 1..4 --fresh-metrics");
    let mean = |of: &Value| of["metrics"]["sojourn_s.mean"]["mean"].as_f64().expect("it is a number");
    let means: Vec<f64> = sweep["points"].as_array().expect("it is a list").iter().map(mean).collect();
    let over = &sweep["over_saved_runs"][0]["metrics"]["sojourn_s.mean"];
    let centre = means.iter().sum::<f64>() / 3.0;
    let variance = means.iter().map(|mean| (mean - centre).powi(2)).sum::<f64>() / 2.0;
    // Student's t for two degrees of freedom.
    let half_width = 4.302_652_73 * (variance / 3.0).sqrt();
    let near = |of: &Value, value: f64| (of.as_f64().expect("it is a number") - value).abs() < 1e-6 * value;
    assert!(near(&over["mean"], centre) && near(&over["half_width_95"], half_width), "{over}: {centre}, {half_width}");
    assert_eq!(over["count"], 3);
}

#[test]
fn sweeps_from_saved_runs_that_cannot_be_are_refused() {
    let folder = Folder::new("sweep-from-refused");
    save(&folder, 1);
    json(&folder, "run mm1 --set utilisation=0.5 --until 3s --seed 2 --save later.save");
    json(&folder, "run mm1 --set utilisation=0.6 --until 2s --seed 2 --save busier.save");
    let help = "save runs that differ in `--seed` alone, at one time";
    check(
        &folder,
        &[
            (
                "sweep --from 1.save --set customers=1,2",
                2,
                "--set customers=1: `customers` may not change during a run; the keys that may are `utilisation`, `service_rate` and `transit`",
            ),
            (
                "sweep --from 1.save --from later.save",
                2,
                &format!("later.save was saved at 3s, and 1.save at 2s; {help}"),
            ),
            (
                "sweep --from 1.save --from busier.save",
                2,
                &format!("busier.save is of another run than 1.save, beside the seed; {help}"),
            ),
        ],
    );
}

/// Prints the share of intervals that hold the mean sojourn time of theory, and the wall time: of sweeps that
/// warm up in each run, of sweeps from one saved run, and of sweeps from several.
#[test]
#[ignore = "it takes minutes: 200 sweeps of each kind"]
#[expect(clippy::disallowed_methods, reason = "the wall time of sweeps is printed, and asserted by nothing")]
fn intervals_of_shared_warm_ups_hold_what_theory_says() {
    let (folder, theory, sweeps) = (Folder::new("warm-ups"), 1.0 / (1000.0 - 800.0), 200_u32);
    let (mut inside, mut wall) = ([0; 3], [0.0; 3]);
    for sweep in 0..sweeps {
        let first = 1 + 100 * sweep;
        for (kind, saved) in [0, 1, 4].into_iter().enumerate() {
            let begin = Instant::now();
            let from: String = (0..saved)
                .map(|number| {
                    let file = format!("{number}.save");
                    json(
                        &folder,
                        &format!("run mm1 --until 200s --seed {} --engine sequential --save {file}", first + number),
                    );
                    format!(" --from {file}")
                })
                .collect();
            let seeds =
                |runs: u32| format!("--seeds {}..{} --until 240s --engine sequential", first + 10, first + 9 + runs);
            let run = match saved {
                0 => json(&folder, &format!("sweep mm1 {}", seeds(8))),
                1 => json(&folder, &format!("sweep{from} --fresh-metrics {}", seeds(8))),
                _ => json(&folder, &format!("sweep{from} --fresh-metrics {}", seeds(2))),
            };
            wall[kind] += begin.elapsed().as_secs_f64();
            let over = if saved > 1 { &run["over_saved_runs"][0] } else { &run["points"][0] };
            let estimate = &over["metrics"]["sojourn_s.mean"];
            let [mean, half_width] =
                ["mean", "half_width_95"].map(|field| estimate[field].as_f64().expect("it is a number"));
            inside[kind] += u32::from((mean - theory).abs() <= half_width);
        }
    }
    for (kind, name) in
        ["8 cold runs", "8 branches of 1 saved run", "2 branches of each of 4 saved runs"].into_iter().enumerate()
    {
        println!(
            "{name}: theory is inside {} of {sweeps} intervals; {:.2} s a sweep",
            inside[kind],
            wall[kind] / f64::from(sweeps)
        );
    }
    // Of 200 intervals of 95 %, 180 or fewer hold the truth once in 500 cases.
    assert!(inside[0] > 180 && inside[2] > 180, "{inside:?}");
}
