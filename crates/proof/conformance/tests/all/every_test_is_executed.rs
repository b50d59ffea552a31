//! `cargo test` executes every test, and `.ci/run` those that need a feature.
//!
//! Cargo skips the unit tests of a target with `test = false`, and the examples of a library with
//! `doctest = false`: such a target must have none. The compiler skips a file that no module names.

use crate::workspace;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// A target of a crate: a library, a program, an example or a program of tests.
struct Target {
    kind: String,
    name: String,
    /// The root file.
    file: PathBuf,
    /// False if `cargo test` skips its unit tests, or its examples.
    is_tested: bool,
    has_doctests: bool,
    /// True if cargo makes it with some feature alone.
    needs_feature: bool,
}

/// Returns the targets of all crates.
fn targets() -> Vec<Target> {
    let metadata = workspace::metadata();
    let packages = metadata["packages"].as_array().expect("it is a list");
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().expect("it is a list"));
    let text = |value: &Value| value.as_str().expect("it is text").to_owned();
    let target = |target: &Value| Target {
        kind: text(&target["kind"][0]),
        name: text(&target["name"]),
        file: text(&target["src_path"]).into(),
        is_tested: target["test"] == true,
        has_doctests: target["doctest"] == true,
        needs_feature: target["required-features"].as_array().is_some_and(|features| !features.is_empty()),
    };
    targets.map(target).collect()
}

/// Returns the programs of tests.
fn programs() -> Vec<Target> {
    targets().into_iter().filter(|target| target.kind == "test").collect()
}

/// Returns the Rust files of a folder and the folders in it, without those of other crates.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a source folder is readable");
    let of_entry = |path: PathBuf| match path.is_dir() {
        true if path.join("Cargo.toml").exists() => Vec::new(),
        true => files(&path),
        false => vec![path],
    };
    let all = entries.flat_map(|entry| of_entry(entry.expect("a source folder is readable").path()));
    all.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a source file is readable")
}

/// Returns the folder of a file.
fn folder_of(file: &Path) -> &Path {
    file.parent().expect("a file is in a folder")
}

/// Returns true if a file of the folder, or of a folder in it, has this text.
fn has(folder: &Path, text: &str) -> bool {
    files(folder).iter().any(|file| read(file).contains(text))
}

/// Adds a file, and the files of the modules that it names. `folder` is where its modules are.
fn add_modules(file: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) {
    found.insert(file.canonicalize().expect("it exists"));
    let mut elsewhere = None;
    for line in read(file).lines() {
        let declared = line.strip_suffix(';').and_then(|line| line.split_once("mod "));
        if let Some(path) = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            elsewhere = Some(folder_of(file).join(path));
        } else if let Some(("" | "pub " | "pub(crate) ", name)) = declared {
            let module = elsewhere.take().unwrap_or_else(|| folder.join(name).with_extension("rs"));
            add_modules(&module, &module.with_extension(""), found);
        }
    }
}

#[test]
fn no_skipped_target_has_a_unit_test() {
    let is_code = |target: &Target| ["lib", "proc-macro", "bin"].contains(&target.kind.as_str());
    let skipped: Vec<_> = targets().into_iter().filter(|target| is_code(target) && !target.is_tested).collect();
    assert!(!skipped.is_empty(), "the catalog is skipped");
    for Target { file, .. } in skipped {
        let folder = folder_of(&file);
        let (file, shown) = (file.display(), folder.display());
        assert!(!has(folder, "#[test]"), "{file} has `test = false`, and {shown} has a unit test");
    }
    assert!(has(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), "#[test]"), "tests are found where they are");
}

#[test]
fn no_skipped_documentation_has_an_example() {
    let is_library = |target: &Target| ["lib", "proc-macro"].contains(&target.kind.as_str());
    let libraries: Vec<_> = targets().into_iter().filter(is_library).collect();
    assert!(libraries.iter().any(|library| library.has_doctests), "most libraries have examples");
    for Target { file, .. } in libraries.iter().filter(|library| !library.has_doctests) {
        let is_example = ["/// ```", "//! ```"].iter().any(|begin| has(folder_of(file), begin));
        assert!(!is_example, "{} has `doctest = false`, and its crate has an example", file.display());
    }
}

#[test]
fn every_file_of_tests_is_a_module_of_a_program() {
    let (mut folders, mut modules) = (BTreeSet::new(), BTreeSet::new());
    for Target { file, .. } in programs() {
        add_modules(&file, folder_of(&file), &mut modules);
        folders.extend(file.ancestors().find(|path| path.ends_with("tests")).map(Path::to_owned));
    }
    let files: Vec<_> = folders.iter().flat_map(|folder| files(folder)).collect();
    assert!(files.len() > 200, "{} files", files.len());
    for file in files {
        let path = file.canonicalize().expect("it exists");
        assert!(modules.contains(&path), "no program of tests has {} as a module", path.display());
    }
}

#[test]
fn the_tests_of_a_crate_are_one_program_and_others_have_a_reason() {
    for Target { name, file, .. } in programs().iter().filter(|program| program.name != "all") {
        let tests = file.ancestors().find(|path| path.ends_with("tests")).expect("it is in `tests`");
        let all = tests.join("all/main.rs");
        let is_named = all.exists() && read(&all).contains(&format!("`{name}`"));
        assert!(is_named, "{name} is a program, and {} has no reason for it", all.display());
    }
}

#[test]
fn ci_executes_the_programs_that_need_a_feature_and_its_filters_match() {
    let run = read(&Path::new(ROOT).join(".ci/run")).replace("\\\n", " ");
    let tests: Vec<_> = run.lines().map(str::trim).filter(|line| line.starts_with("cargo test ")).collect();
    let words: BTreeSet<_> = tests.iter().flat_map(|line| line.split_whitespace()).collect();
    let programs = programs();
    for Target { name, .. } in programs.iter().filter(|program| program.needs_feature) {
        assert!(words.contains(name.as_str()), "`.ci/run` does not execute {name}");
    }
    // A filter that matches no test is no error.
    let mut modules = BTreeSet::new();
    programs.iter().for_each(|program| add_modules(&program.file, folder_of(&program.file), &mut modules));
    let filters =
        tests.iter().filter_map(|line| line.split_once(" -- ")).flat_map(|(_, words)| words.split_whitespace());
    let is_module = |name: &str| modules.iter().any(|file| file.ends_with(format!("{name}.rs")));
    for filter in filters.filter(|word| !word.starts_with("--") && *word != LONG) {
        assert!(is_module(filter), "no module is named {filter}");
    }
}

/// The end of the names of tests that `cargo test` leaves out because they take long.
const LONG: &str = "at_length";

#[test]
fn ci_executes_the_tests_that_are_left_out_because_they_take_long() {
    let run = read(&Path::new(ROOT).join(".ci/run"));
    assert!(run.contains(&format!("cargo test --workspace --tests -- --ignored {LONG}\n")), "`.ci/run` executes them");
    let mut found = 0;
    let sources: BTreeSet<_> = targets().iter().flat_map(|target| files(folder_of(&target.file))).collect();
    for file in sources {
        let (text, shown) = (read(&file), file.display());
        for after in text.split("#[ignore = \"").skip(1).filter(|after| after.contains("fn ")) {
            let (reason, test) = after.split_once('"').expect("a reason ends");
            let name = test.split_once("fn ").and_then(|(_, test)| test.split_once('(')).expect("a test has a name").0;
            let is_by_ci = reason.contains("`.ci/run`");
            assert_eq!(is_by_ci, name.ends_with(LONG), "{shown}: {name} is left out because it {reason}");
            found += usize::from(is_by_ci);
        }
    }
    assert!(found >= 3, "{found} tests");
}
