//! The commands of README and docs are understood, and the run that README shows is what the program prints.

use crate::common::{Folder, parades};
use parades_session::sweep::{SweepPlan, SweepRequest};
use parades_session::{Plan, Request};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Returns README and the pages of `docs`, each with its text.
fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let pages = std::fs::read_dir(root.join("docs")).expect("there are docs").flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = pages.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.push(root.join("README.md"));
    paths.sort();
    let text = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        (path, text)
    };
    paths.into_iter().map(text).collect()
}

/// Returns the commands of a document: the lines of its blocks for shells, and what stands in backticks.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut is_block, mut is_shell, mut prose) = (false, false, String::new());
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            is_shell = !is_block && matches!(language, "sh" | "console");
            is_block = !is_block;
        } else if is_shell {
            let line = line.trim_start_matches("$ ");
            found.push(line.split(" #").next().unwrap_or(line).to_owned());
        } else if !is_block {
            prose.push_str(line);
            prose.push(' ');
        }
    }
    found.extend(prose.split('`').skip(1).step_by(2).map(str::to_owned));
    found.retain(|command| command.starts_with("parades "));
    found
}

/// Returns the request of a command for a run, a comparison or a sweep. `None` for other commands, and for
/// those that stand for many: a word in capitals is for the reader to replace, and files are the reader's.
fn request(command: &str) -> Option<(String, Request)> {
    let is_pattern = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_open = words.iter().any(|word| {
        word.split(['=', '.']).any(is_pattern) || word.contains(['$', '…', '{', '\\', '"']) || word.contains(".t")
    });
    let [_, verb @ ("run" | "compare" | "sweep"), scenario, options @ ..] = words.as_slice() else { return None };
    if is_open || scenario.contains('.') || scenario.starts_with('-') {
        return None;
    }
    let mut request = Request::of(*scenario);
    for pair in options.windows(2) {
        match pair {
            ["--set", assignment] => request.set.push((*assignment).to_owned()),
            ["--tune", assignment] => request.tune.push((*assignment).to_owned()),
            ["--engine", engine] if *engine != "N" => request.engine = Some((*engine).to_owned()),
            ["--until", until] => {
                let until = parades_config::units::parse_time(until);
                request.until = Some(until.unwrap_or_else(|error| panic!("{command}: {error}")));
            }
            _ => {}
        }
    }
    Some(((*verb).to_owned(), request))
}

#[test]
fn every_command_of_a_document_is_possible() {
    let mut wrong = String::new();
    let mut count = 0;
    for (path, text) in documents() {
        for command in commands(&text) {
            let Some((verb, request)) = request(&command) else { continue };
            count += 1;
            let result = match verb.as_str() {
                "sweep" => SweepPlan::of(&SweepRequest {
                    base: request,
                    seeds: None,
                    tie_seeds: Vec::new(),
                    jobs: Some(1),
                    metrics: Vec::new(),
                    until_interval: None,
                    folder: None,
                    journal: None,
                    shard: None,
                    missing: false,
                })
                .map(|_| ()),
                _ => Plan::of(&request).and_then(|plan| {
                    plan.choice()?;
                    plan.simulation().map(|_| ())
                }),
            };
            if let Err(failure) = result {
                wrong += &format!("{}: {command}\n  {failure}\n", path.display());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 40, "only {count} commands were found");
}

/// Returns a number as tables show it: `11,669,288`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

#[test]
fn the_run_of_the_readme_is_what_the_program_prints() {
    let readme = documents().into_iter().find(|(path, _)| path.ends_with("README.md")).expect("there is one").1;
    let folder = Folder::new("readme");
    let printed = parades(&folder.0, "run campus --engine window --threads 2 --json --quiet").stdout;
    let run: Value = serde_json::from_slice(&printed).expect("it is JSON");
    let number = |key: &str| grouped(run[key].as_u64().expect("it is a number"));
    let block = readme.split("```text").nth(1).and_then(|rest| rest.split("```").next()).expect("README shows a run");
    let row = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)).expect("README has this row");
        line.trim().to_owned()
    };
    assert_eq!(row("virtual time"), format!("{} s", run["virtual_time_s"]).replace(".0 ", " "));
    assert_eq!(row("logical processes"), number("lps"));
    assert_eq!(row("events"), number("events"));
    assert_eq!(row("digest"), run["digest"].as_str().expect("it is text"));
    let of_metrics = |key: &str| grouped(run["metrics"][key].as_u64().expect("it is counted"));
    let said = format!("{} nodes, {} flows", number("lps"), of_metrics("flows_total"));
    assert!(readme.contains(&said), "README does not say {said}");
    // The rows are those that the program prints for people.
    let shown = parades(&folder.0, "run campus --until 1ms --engine window --threads 2 --brief --quiet").stdout;
    let shown = String::from_utf8(shown).expect("it is text");
    for name in ["engine", "virtual time", "logical processes", "events", "run time", "speed", "peak memory", "digest"]
    {
        assert!(shown.lines().any(|line| line.starts_with(name)), "{name}: {shown}");
        row(name);
    }
    for words in ["set-up", "results)"] {
        assert!(row("run time").contains(words) && shown.contains(words), "{words}");
    }
}
