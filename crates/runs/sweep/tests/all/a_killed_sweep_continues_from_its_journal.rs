//! Any part of a journal may be on the disk when a sweep is killed. The sweep that continues from it has the
//! same tables, and no run is executed twice.

use crate::common::{self, Folder, header, table_of};
use parades_sweep::journal::Record;
use parades_sweep::{Journal, Outcome};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs;

/// Returns the seeds of the runs in a journal.
fn seeds(path: &std::path::Path) -> Vec<u64> {
    let (_, records) = Journal::open(path, &header()).expect("it is a journal of this sweep");
    records.iter().map(|record| record.seed).collect()
}

#[test]
fn a_journal_cut_anywhere_gives_the_same_table_as_a_whole_one() {
    let folder = Folder::new("cut");
    let path = folder.0.join("journal.jsonl");
    let (whole, runs) = table_of(Some(&path), usize::MAX);
    assert_eq!(runs, 12);
    let bytes = fs::read(&path).unwrap();
    // Cutting at every byte would take long. The ends of lines matter most; some bytes between them are
    // added.
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    let near_ends = ends.iter().flat_map(|end| [end - 1, *end, end + 1]);
    let cuts: BTreeSet<usize> = near_ends.chain((0..bytes.len()).step_by(97)).collect();
    for cut in cuts {
        fs::write(&path, &bytes[..cut]).unwrap();
        let lines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        let (table, runs) = table_of(Some(&path), usize::MAX);
        assert_eq!(table, whole, "cut at {cut}");
        assert_eq!(runs, 12 - lines.saturating_sub(1), "cut at {cut}: the runs on the disk are not executed again");
        let mut seeds = seeds(&path);
        seeds.sort_unstable();
        assert_eq!(seeds, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], "cut at {cut}: each run is in the journal once");
    }
}

#[test]
fn a_sweep_that_is_stopped_after_each_run_has_the_same_table() {
    let folder = Folder::new("stopped");
    let path = folder.0.join("journal.jsonl");
    let (whole, _) = table_of(None, usize::MAX);
    let mut finished = 0;
    while finished < 12 {
        table_of(Some(&path), 1);
        let now = seeds(&path).len();
        assert!(now > finished, "each sweep keeps the finished runs and adds to them");
        finished = now;
    }
    assert_eq!(table_of(Some(&path), usize::MAX), (whole, 0));
    assert_eq!(seeds(&path).len(), 12);
}

#[test]
fn a_journal_of_another_sweep_is_refused_with_what_differs() {
    let folder = Folder::new("other");
    let path = folder.0.join("journal.jsonl");
    // A journal without runs is of no sweep, and its file is gone.
    drop(Journal::open(&path, &header()).unwrap());
    assert!(!path.exists());
    table_of(Some(&path), 1);
    let refusal = |change: &dyn Fn(&mut serde_json::Map<String, serde_json::Value>)| {
        let mut header = header();
        change(&mut header.0);
        let error = Journal::open(&path, &header).expect_err("it is another sweep's").to_string();
        error.replace(&path.display().to_string(), "FILE")
    };
    let remedy = "give the options that it began with, or name another file or folder";
    assert_eq!(
        refusal(&|header| header["scenario"] = "phold".into()),
        format!("FILE: is the journal of another sweep: `scenario` is `\"test\"` there and `\"phold\"` here; {remedy}")
    );
    assert_eq!(
        refusal(&|header| header["commit"] = "beef".into()),
        "FILE: is the journal of another sweep: `commit` is `\"cafe\"` there and `\"beef\"` here; go on with the program that began it, or name another file or folder"
    );
    assert_eq!(
        refusal(&|header| header["parameters"]["lps"] = 3.into()),
        format!("FILE: is the journal of another sweep: `lps` is `8` there and `3` here; {remedy}")
    );
    assert_eq!(
        refusal(&|header| {
            header.shift_remove("tie_seed");
        }),
        format!("FILE: is the journal of another sweep: `tie_seed` is `null` there and not given here; {remedy}")
    );
}

#[test]
fn a_file_that_is_no_journal_is_refused_and_not_changed() {
    let folder = Folder::new("none");
    let path = folder.0.join("file");
    let refusal = |text: &str| {
        fs::write(&path, text).unwrap();
        let error = Journal::open(&path, &header()).expect_err("it is no journal").to_string();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        error.replace(&path.display().to_string(), "FILE")
    };
    let no_journal = "FILE: is not the journal of a sweep; name another file or folder";
    assert_eq!(refusal("my thesis"), no_journal);
    assert_eq!(refusal("my thesis\n"), no_journal);
    assert_eq!(refusal("{\"schema\": 1}\n"), no_journal);
    assert_eq!(
        refusal("{\"parades_journal\":1}\n"),
        "FILE: is a journal of format 1, and this program has format 2; name another file or folder"
    );
    fs::remove_file(&path).unwrap();
    Journal::open(&path, &header()).unwrap().0.begin().unwrap();
    let begun = fs::read_to_string(&path).unwrap();
    assert_eq!(
        refusal(&format!("{begun}nonsense\n{{}}\n")),
        "FILE: line 2 is no run: the file was altered; remove that line, or name another file or folder"
    );
    // A line whose seed was altered.
    fs::remove_file(&path).unwrap();
    table_of(Some(&path), usize::MAX);
    let whole = fs::read_to_string(&path).unwrap();
    let altered = whole.replacen("\"seed\":1", "\"seed\":4", 1);
    assert_ne!(altered, whole);
    let altered_in = whole.lines().position(|line| line.contains("\"seed\":1")).unwrap() + 1;
    assert_eq!(
        refusal(&altered),
        format!(
            "FILE: line {altered_in} is no run: the file was altered; remove that line, or name another file or folder"
        )
    );
    let error = Journal::open(&folder.0, &header()).unwrap_err().to_string();
    assert!(error.ends_with(": is not a file; name one for the journal"), "{error}");
}

#[test]
fn two_sweeps_do_not_write_one_journal() {
    let folder = Folder::new("two");
    let path = folder.0.join("journal.jsonl");
    let one = Journal::open(&path, &header()).unwrap();
    let error = Journal::open(&path, &header()).unwrap_err().to_string();
    assert!(error.ends_with(": is in use by another sweep; wait for it, or name another file or folder"), "{error}");
    drop(one);
    assert!(Journal::open(&path, &header()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_are_read_back_to_the_bit(
        bits in proptest::collection::vec(any::<u64>(), 1..20),
        text in ".*",
        seed in any::<u64>(),
        events in any::<u64>(),
    ) {
        let folder = Folder::new(&format!("bits-{seed}"));
        let path = folder.0.join("journal.jsonl");
        let number = |bits: &u64| Some(f64::from_bits(*bits)).filter(|x| x.is_finite());
        let metrics = bits.iter().enumerate().map(|(at, bits)| (format!("m{at}"), number(bits).into()));
        let metrics = metrics.chain([("text".to_owned(), text.into()), ("count".into(), events.into())]).collect();
        let mut figures = common::figures(events);
        figures.metrics = metrics;
        let record = Record {
            parameters: [("a".to_owned(), "1,\"2\"\n".to_owned())].into(),
            seed,
            outcome: Outcome::Figures(Box::new(figures)),
        };
        let (mut journal, _) = Journal::open(&path, &header()).unwrap();
        journal.append(record.clone()).unwrap();
        journal.finish().unwrap();
        let (_, records) = Journal::open(&path, &header()).unwrap();
        prop_assert_eq!(records, vec![record]);
    }
}
