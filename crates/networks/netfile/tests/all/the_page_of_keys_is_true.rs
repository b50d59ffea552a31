//! `docs/network-file.md` lists every key. It is made from the tables that the reader uses.

use parades_netfile::reference;
use std::path::Path;

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/network-file.md");
    let made = reference();
    if std::env::var_os("PARADES_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the page can be written");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == made,
        "write the page anew: PARADES_BLESS=1 cargo test -p parades-netfile --test all the_page_of_keys_is_true"
    );
}

#[test]
fn every_line_of_a_table_has_four_columns() {
    for line in reference().lines().filter(|line| line.starts_with('|')) {
        assert_eq!(line.replace("\\|", "").matches('|').count(), 5, "{line}");
    }
}
