//! `cargo test` skips the unit tests of a target with `test = false`. Such a target must have none.

mod workspace;

use serde_json::Value;
use std::path::Path;

/// Returns the root files of the libraries and programs that `cargo test` skips.
fn skipped() -> Vec<String> {
    let metadata = workspace::metadata();
    let packages = metadata["packages"].as_array().expect("it is a list");
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().expect("it is a list"));
    let is_code = |target: &&Value| {
        let kind = target["kind"][0].as_str().expect("a target has a kind");
        ["lib", "proc-macro", "bin"].contains(&kind) && target["test"] == false
    };
    targets.filter(is_code).map(|target| target["src_path"].as_str().expect("it is a path").to_owned()).collect()
}

/// Returns true if a file of the folder, or of a folder in it, has a test.
fn has_test(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).expect("a source folder is readable");
    entries.any(|entry| {
        let path = entry.expect("a source folder is readable").path();
        if path.is_dir() {
            return has_test(&path);
        }
        std::fs::read_to_string(&path).expect("a source file is readable").contains("#[test]")
    })
}

#[test]
fn no_skipped_target_has_a_unit_test() {
    let skipped = skipped();
    assert!(!skipped.is_empty(), "the catalog is skipped");
    for root in skipped {
        let folder = Path::new(&root).parent().expect("a file is in a folder");
        assert!(!has_test(folder), "{root} has `test = false`, and {} has a unit test", folder.display());
    }
    assert!(has_test(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")), "tests are found where they are");
}
