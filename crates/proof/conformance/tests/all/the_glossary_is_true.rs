//! Every module that the glossary names exists, and every row has one term and one sentence.

use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Returns the rows of the glossary: term, meaning, modules.
fn rows() -> Vec<[String; 3]> {
    let text = std::fs::read_to_string(Path::new(ROOT).join("GLOSSARY.md")).expect("the glossary is readable");
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = text.lines().filter(|line| line.starts_with("| **"));
    rows.map(|line| cells(line).try_into().unwrap_or_else(|_| panic!("not three cells: {line}"))).collect()
}

/// Returns the source folder of a crate, on whichever floor it is.
fn source_of(name: &str) -> Option<PathBuf> {
    let floors = std::fs::read_dir(Path::new(ROOT).join("crates")).expect("the floors are readable");
    let sources = floors.map(|floor| floor.expect("a floor is readable").path().join(name).join("src"));
    sources.into_iter().find(|source| source.is_dir())
}

fn exists(module: &str) -> bool {
    let mut parts = module.split("::");
    let Some(mut path) = parts.next().and_then(source_of) else { return false };
    parts.all(|part| {
        path.push(part);
        path.is_dir() || path.with_extension("rs").is_file()
    })
}

#[test]
fn every_module_of_the_glossary_exists() {
    let rows = rows();
    assert!(rows.len() > 100, "{} rows", rows.len());
    for [term, _, modules] in &rows {
        for module in modules.split(", ") {
            assert!(exists(module.trim_matches('`')), "{term}: there is no module {module}");
        }
    }
    assert!(!exists("core::no_such_module") && !exists("no_such_crate"));
}

#[test]
fn every_term_has_one_row_and_one_sentence() {
    let rows = rows();
    for (index, [term, meaning, _]) in rows.iter().enumerate() {
        assert!(rows[..index].iter().all(|[other, ..]| other != term), "{term} has two rows");
        assert!(meaning.ends_with('.') && !meaning.trim_end_matches('.').contains(". "), "{term}: {meaning}");
    }
}
