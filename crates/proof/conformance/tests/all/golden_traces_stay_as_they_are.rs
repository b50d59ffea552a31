//! The first events of small runs, and their digests, are those in `golden/`.

#[test]
fn golden_traces_are_unchanged() {
    parades_conformance::golden::check().unwrap_or_else(|what| panic!("{what}\nIf that is meant: bless"));
}
