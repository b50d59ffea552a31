//! The commands of README and docs are understood, and their output is what README and docs show of it.

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
                    from: Vec::new(),
                    fresh_metrics: false,
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

/// The mark of a block that is what a command prints.
const MARK: &str = "<!-- printed by: parades ";

/// The beginnings of lines that differ between executions: they have wall times, rates or memory.
const DIFFERING: [&str; 3] = ["run time ", "speed ", "peak memory "];

/// Returns each marked block of a document: the arguments of its command, and its lines.
fn printed_blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let block = |part: &'_ str| -> Option<(usize, usize, usize)> {
        let end = part.find(" -->")?;
        let begin = end + part[end..].find("```text\n")? + "```text\n".len();
        Some((end, begin, begin + part[begin..].find("```")?))
    };
    text.split(MARK)
        .skip(1)
        .map(|part| {
            let (end, begin, after) = block(part).expect("a block follows the mark");
            (&part[..end], part[begin..after].lines().collect())
        })
        .collect()
}

/// Returns a line without the blanks that align it.
fn unaligned(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the words of a line, without numbers and units of time, rate or memory.
fn words_of(line: &str) -> Vec<&str> {
    let is_word = |word: &&str| word.len() > 3 && word.chars().all(|c| c.is_ascii_alphabetic() || "-,)(".contains(c));
    line.split_whitespace().filter(is_word).collect()
}

#[test]
fn each_marked_block_is_what_the_program_prints() {
    let folder = Folder::new("printed");
    let (mut wrong, mut count) = (String::new(), 0);
    for (path, text) in documents() {
        for (arguments, lines) in printed_blocks(&text) {
            count += 1;
            let output = parades(&folder.0, arguments);
            assert!(output.status.success(), "{arguments}: {output:?}");
            let printed = String::from_utf8([output.stderr, output.stdout].concat()).expect("it is text");
            // The block has the first lines, without those that only draw.
            let is_drawn = |line: &&str| line.chars().any(|c| !"─═".contains(c));
            // On a slow machine `auto` may change the engine.
            let is_change = |line: &&str| line.starts_with("note: engine: auto:");
            let has_changed = printed.lines().any(|line| is_change(&line));
            let lines: Vec<&str> = lines.into_iter().filter(is_drawn).collect();
            let printed: Vec<&str> = printed.lines().filter(|line| is_drawn(line) && !is_change(line)).collect();
            assert!(printed.len() >= lines.len(), "{}: parades {arguments} prints less", path.display());
            for (line, printed) in lines.into_iter().zip(printed) {
                let is_label = |label: &&str| line.starts_with(label) && printed.starts_with(label);
                // The number of such a line may differ, and perhaps the unit of a time.
                let same_words = DIFFERING.iter().any(&is_label) && words_of(line) == words_of(printed)
                    || has_changed && is_label(&"engine ");
                if unaligned(line) != unaligned(printed) && !same_words {
                    wrong += &format!("{}: parades {arguments}\n  says   {line}\n  prints {printed}\n", path.display());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 0, "no block was found");
}

/// Returns the numbers of a remark with the words after them: `50 peers, 1,000 pieces`.
fn numbers(remark: &str) -> Vec<(u64, String)> {
    let words: Vec<&str> = remark.split_whitespace().collect();
    let pair = |pair: &[&str]| {
        let word = pair[1].trim_matches(|c: char| !c.is_ascii_alphanumeric());
        Some((pair[0].replace(',', "").parse().ok()?, word.to_owned()))
    };
    words.windows(2).filter_map(pair).collect()
}

#[test]
fn remarks_beside_commands_have_the_numbers_of_their_runs() {
    let (mut wrong, mut count) = (String::new(), 0);
    for (path, text) in documents() {
        let lines = text.lines().filter_map(|line| line.split_once(" # "));
        for (command, remark) in lines {
            let Some(start) = command.find("parades run ").or_else(|| command.find("run campus")) else { continue };
            let command = command[start..].trim_start_matches("parades ");
            let Some((_, request)) = request(&format!("parades {}", command.trim())) else { continue };
            let plan = Plan::of(&request).expect("another test has checked it");
            let simulation = plan.simulation().expect("another test has checked it");
            // "eight files, each with 50 peers" is about a part of the run.
            let is_of_part = remark.contains("each");
            for (number, word) in numbers(remark).into_iter().filter(|_| !is_of_part) {
                let parameter = plan.values.get(&word).and_then(|value| value.to_string().parse().ok());
                let known = match word.as_str() {
                    "nodes" => Some(u64::from(simulation.lps())),
                    "virtual" => Some(simulation.until.as_ps() / 1_000_000_000_000),
                    _ => parameter,
                };
                let Some(known) = known else { continue };
                count += 1;
                if known != number {
                    wrong += &format!("{}: {command} # {remark}: {word} {known}\n", path.display());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 4, "only {count} numbers were found");
}

#[test]
fn the_readme_lists_what_the_program_lists() {
    let readme = documents().into_iter().find(|(path, _)| path.ends_with("README.md")).expect("there is one").1;
    let table = readme.split("| engine | in one sentence |").nth(1).expect("README lists the engines");
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| `"));
    let listed: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let engines: Vec<&str> = parades_catalog::Engine::algorithms().map(parades_catalog::Engine::name).collect();
    assert_eq!(listed, engines);
    // The totals of the first run that README shows.
    let folder = Folder::new("readme");
    let printed = parades(&folder.0, "run campus --until 1ms --json --quiet").stdout;
    let run: Value = serde_json::from_slice(&printed).expect("it is JSON");
    let flows = grouped(run["metrics"]["flows_total"].as_u64().expect("it is counted"));
    assert!(readme.contains(&format!("{} nodes, {flows} flows", grouped(run["lps"].as_u64().expect("a number")))));
}
