//! Networks that are too large are refused before they are made.

use crate::common::{error, file};
use parades_core::budget;

const DEFAULTS: &str = "network = \"large\"\ndefaults = { rate = \"1Mbps\", delay = \"1ms\" }\n";

/// The error of a file that may take this much memory. The process reports none, so only estimates count.
fn error_within(limit: u64, text: &str) -> String {
    let file = file(text);
    let (built, exceeded) = budget::within(limit, || 0, || file.build(&file.parameters(), 1).map(|_| ()));
    assert!(exceeded.is_some(), "{built:?}");
    built.expect_err("it is too large").to_string()
}

#[test]
fn more_links_than_a_network_may_have_are_counted_first() {
    for (tables, said) in [
        (
            "group = [{ name = \"a\", size = 10000 }, { name = \"b\", size = 10000 }]\nlink = [{ from = \"a.*\", to = \"b.*\" }]\n",
            "net.toml:4:18: this makes 100000000 links, and a network has at most 16777216; make it smaller",
        ),
        (
            "part = [{ name = \"r\", kind = \"random-geometric\", size = 16384, radius = 2.0 }]\n",
            "net.toml:3:73: this makes more than 16777216 links, the largest number that a network may have; make it smaller",
        ),
        (
            "nodes = [\"c\"]\ngroup = [{ name = \"a\", size = 5000, attach = \"c\" }, { name = \"b\", size = 5000, attach = \"a.*\" }]\n",
            "net.toml:4:74: this makes 25000000 nodes beside the 5001 before it, and a network has at most 16777216",
        ),
    ] {
        let found = error(&format!("{DEFAULTS}{tables}"));
        assert!(found.starts_with(said), "{found}\n{said}");
    }
}

#[test]
fn a_memory_limit_is_checked_before_a_part_is_made() {
    let tree = format!("{DEFAULTS}part = [{{ name = \"r\", kind = \"fat-tree\", arity = 128 }}]\n");
    // By Al-Fares et al. k^3/4 hosts, 5k^2/4 switches and 3k^3/4 links, for k = 128.
    let (nodes, links) = (128 * 128 * 128 / 4 + 5 * 128 * 128 / 4, 3 * 128 * 128 * 128 / 4);
    let said = error_within(100_000_000, &tree);
    assert!(
        said.starts_with("net.toml:3:30: ") && said.contains(&format!("{nodes} nodes and {links} links")),
        "{said}"
    );
    assert!(said.ends_with("above the limit of 100.0 MB; make it smaller, or raise the memory limit"), "{said}");
}

#[test]
fn memory_that_grows_beyond_its_limit_is_noticed() {
    // A process whose memory grows without a bound, whatever the estimates say.
    use std::sync::atomic::{AtomicU64, Ordering};
    static HELD: AtomicU64 = AtomicU64::new(0);
    let held = || HELD.fetch_add(1 << 30, Ordering::Relaxed);
    let file = file(&format!("{DEFAULTS}group = [{{ name = \"a\", size = 100000 }}]\n"));
    let (built, _) = budget::within(2 << 30, held, || file.build(&file.parameters(), 1).map(|_| ()));
    let said = built.expect_err("it grows").to_string();
    assert!(
        said.contains("building the model takes") && said.contains("above the limit of 2147483648 bytes"),
        "{said}"
    );
}
