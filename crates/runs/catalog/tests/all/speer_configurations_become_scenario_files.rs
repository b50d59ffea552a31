//! Configurations of Speer, of both forms: the scenario file, the notes, and what is wrong.

use parades_catalog::speer::{Converted, convert};
use parades_config::ScenarioFile;

/// The workload that was published, in the form of Speer's BitTorrent simulations.
const PUBLISHED: &str = r#"// The workload of the measurements.
{
  "outPeers": 7, "inPeers": 7,
  "minNodes": 50, "seeds": 1,
  "pieceSize": 196, // in bits
  "pieces": 1000,
  "uploads": 4, "optimistics": 1, "interval": 10000, "backlog": 10,
  "transitDomains": 10, "transitDomainSize": 20, "stubDomains": 10, "stubDomainSize": 20,
  "transferInterval": 10,
  "capacityNodes": [{"number": 51, "upload": 10, "download": 20,}],
}
"#;

/// Speer's own form.
const OWN: &str = r#"{
  "lang": "go", "entry": "example.org/swarm/Peer",
  "nodes": 100,
  "network": {"transitDomains": 3, "transitDomainSize": 4, "stubDomains": 20, "stubDomainSize": 8},
  "transferInterval": 10,
  "capacityNodes": [{"number": 60, "upload": 10, "download": 20}]
}"#;

fn converted(text: &str) -> Converted {
    convert("swarm.json".as_ref(), text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the lines of the parameters, without comments.
fn parameters(toml: &str) -> Vec<&str> {
    let lines = toml.split_once("[parameters]\n").expect("there are parameters").1.lines();
    lines.map(|line| line.split("  #").next().unwrap_or_default()).collect()
}

#[test]
fn the_published_workload_keeps_its_numbers() {
    let Converted { toml, notes } = converted(PUBLISHED);
    assert_eq!(
        parameters(&toml),
        [
            "peers = 50",
            "seeds = 1",
            "pieces = 1000",
            "piece_bits = 196",
            "outgoing = 7",
            "answer = 7",
            "connections = 55",
            "unchokes = 4",
            "rechoke = \"10000ms\"",
            "pipeline = 10",
            "on_way = 10",
            "spacing = \"2ms\"",
            "optimistic_turns = 1",
            "random_first = 0",
            "snub = \"100d\"",
            "underlay = \"transit-stub\"",
            "transit_domains = 10",
            "transit_nodes = 20",
            "stub_domains = 10",
            "stub_nodes = 20",
            "network = \"both\"",
            "up = \"10kbps\"",
            "down = \"20kbps\"",
        ]
    );
    let keys: Vec<&str> = notes.iter().filter_map(|note| note.split(':').next()).collect();
    assert_eq!(keys, ["`transferInterval`", "`inPeers`", "`latency`"]);
    for note in &notes {
        assert!(toml.lines().any(|line| line == format!("# - {note}")), "{toml}");
    }
    let settings = ScenarioFile::parse("swarm.toml".as_ref(), toml).expect("it is a scenario file").settings();
    assert_eq!(
        (settings.scenario.as_str(), settings.until.map(|until| until.to_string())),
        ("bittorrent", Some("1000s".into()))
    );
}

#[test]
fn speers_own_form_sets_the_network_and_the_links() {
    let Converted { toml, notes } = converted(OWN);
    let expected = [
        "peers = 60",
        "connections = 60",
        "spacing = \"0s\"",
        "underlay = \"transit-stub\"",
        "transit_domains = 3",
        "transit_nodes = 4",
        "stub_domains = 20",
        "stub_nodes = 8",
        "network = \"both\"",
        "up = \"10kbps\"",
        "down = \"20kbps\"",
    ];
    assert_eq!(parameters(&toml), expected);
    assert!(notes.iter().any(|note| note.starts_with("`entry`: ")), "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("`nodes`: 100 nodes are asked for, but Speer makes the 60")));
    let network = |text: &str| {
        parameters(&converted(text).toml).into_iter().find(|line| line.starts_with("network")).map(str::to_owned)
    };
    assert_eq!(
        network(&OWN.replace("\"capacityNodes\"", "\"latency\": false, \"capacityNodes\"")).as_deref(),
        Some("network = \"capacity\"")
    );
    assert_eq!(
        network(r#"{"nodes": 2, "capacityNodes": [{"number": 2, "upload": 6, "download": 5}]}"#).as_deref(),
        Some("network = \"capacity\"")
    );
    let (without_links, _) = OWN.split_once(",\n  \"transferInterval\"").expect("the key is there");
    assert_eq!(network(&format!("{without_links}}}")).as_deref(), Some("network = \"latency\""));
}

#[test]
fn groups_of_nodes_with_links_of_their_own_become_classes() {
    // The tracker, a seed, and two groups of other peers.
    let groups = r#"{"number": 1, "upload": 0, "download": 0}, {"number": 1, "upload": 400, "download": 0},
        {"number": 30, "upload": 100, "download": 1000}, {"number": 25, "upload": 50, "download": 60}"#;
    let text = PUBLISHED.replace("{\"number\": 51, \"upload\": 10, \"download\": 20,}", groups);
    let Converted { toml, notes } = converted(&text);
    let links: Vec<&str> = parameters(&toml).into_iter().filter(|line| line.ends_with("kbps\"")).collect();
    let classes = "link_classes = \"1x400kbps/1000kbps, 30x100kbps/1000kbps, 19x50kbps/60kbps\"";
    assert_eq!(links, ["up = \"100kbps\"", "down = \"1000kbps\"", classes]);
    assert!(
        notes.iter().any(|note| note
            == "`capacityNodes`: 1 with `upload` 400 and `download` 0; a link has capacity here, so that 0 becomes the \
                100 and 1000 of most nodes"),
        "{notes:?}"
    );
    // In Speer's own form there is no tracker.
    let groups = r#"{"number": 60, "upload": 100, "download": 1000}, {"number": 60, "upload": 50, "download": 60}"#;
    let text = OWN.replace("{\"number\": 60, \"upload\": 10, \"download\": 20}", groups);
    let toml = converted(&text).toml;
    assert!(toml.contains("link_classes = \"60x100kbps/1000kbps, 40x50kbps/60kbps\""), "{toml}");
}

#[test]
fn a_large_file_has_time_to_be_downloaded() {
    // A gigabit over a link of 100 kbit/s takes 10,000 s.
    let text = PUBLISHED.replace("196", "1000000").replace("\"upload\": 10,", "\"upload\": 100,");
    let toml = converted(&text.replace("\"download\": 20", "\"download\": 1000")).toml;
    assert!(toml.contains("\nuntil = \"100000s\""), "{toml}");
}

#[test]
fn comments_and_last_commas_are_skipped() {
    let plain = converted(OWN);
    for (from, to) in [
        ("{\n", "// ü\n{\n"),
        ("\"nodes\": 100,", "\"nodes\": 100, // one, }\n"),
        ("\"download\": 20}]", "\"download\": 20,},\n]"),
        // Strings are left alone.
        ("example.org/swarm/Peer", "//,} \\\",]"),
        ("\"lang\": \"go\"", "\"lang\": \"\\\\\""),
    ] {
        assert!(OWN.contains(from), "{from}");
        assert_eq!(converted(&OWN.replacen(from, to, 1)), plain, "{to}");
    }
    // A comment does not hide its line from the places of errors.
    let error = convert("swarm.json".as_ref(), "// ü\n{\"nodes\": 1, \"open // ,}").expect_err("it is cut off");
    assert!(error.to_string().starts_with("swarm.json:2:"), "{error}");
}

#[test]
fn keys_are_found_in_any_case_as_go_finds_them() {
    assert_eq!(converted(&PUBLISHED.replace("\"pieces\"", "\"Pieces\"")), converted(PUBLISHED));
    let null = PUBLISHED.replace("\"transferInterval\": 10", "\"transferInterval\": null");
    assert!(converted(&null).notes.iter().all(|note| !note.contains("transferInterval")));
}

/// A text of a published configuration, the text in its place, and the sentence that follows.
const WRONG: &[(&str, &str, &str)] = &[
    ("\"pieces\"", "\"peices\"", "6:13: the configuration has no key `peices`; did you mean `pieces`?"),
    ("\"seeds\"", "\"sedes\"", "4:28: the configuration has no key `sedes`; did you mean `seeds`?"),
    ("\"seeds\": 1", "\"seeds\": 51", "4:28: `seeds` cannot be `51`; write a whole number from 0 to 50"),
    ("\"pieces\": 1000", "\"pieces\": 0", "6:13: `pieces` cannot be `0`; write a whole number from 1 to 10000000"),
    (
        "\"pieces\": 1000",
        "\"pieces\": \"many\"",
        "6:13: `pieces` cannot be `\"many\"`; write a whole number from 1 to 10000000",
    ),
    (
        "\"backlog\": 10",
        "\"backlog\": null",
        "2:1: the configuration has no `backlog`, which Speer would take as 0; add it",
    ),
    (
        "\"backlog\": 10",
        "\"backlog\": 1, \"Backlog\": 2",
        "7:65: the configuration has the key `backlog` twice; leave one of the two out",
    ),
    (
        "\"upload\": 10",
        "\"upload\": 0",
        "10:20: `capacityNodes` has no nodes that both upload and download; give an entry `upload` and `download` above 0",
    ),
    (
        "\"number\": 51",
        "\"number\": 50",
        "10:20: `capacityNodes` has links for 50 nodes, and the 50 peers of `minNodes` and the tracker need 51; raise `number`, or lower `minNodes`",
    ),
    ("\"number\": 51, ", "", "10:21: an entry of `capacityNodes` has no `number`, which Speer would take as 0; add it"),
    (
        "[{",
        "{",
        "10:65: malformed JSON: expected `,` or `}`; give a JSON configuration of Speer: an object between `{` and `}`",
    ),
    (
        "[{\"number\": 51",
        "[3, {\"number\": 51",
        "10:21: an entry of `capacityNodes` must be an object; write `{` and `}` around it",
    ),
    (
        "\"stubDomains\": 10",
        "\"stubDomains\": 2",
        "8:65: 2 stub domains of 20 routers have no router for each of 50 peers and the tracker; raise `stubDomains` or `stubDomainSize`",
    ),
    (
        "\"transferInterval\"",
        "\"latency\": 3, \"transferInterval\"",
        "9:14: `latency` cannot be `3`; write `true` or `false`",
    ),
    (
        "\"minNodes\"",
        "\"maxNodes\"",
        " the configuration has neither `nodes` nor `minNodes`; give a JSON configuration of Speer, or of its BitTorrent simulations",
    ),
];

#[test]
fn wrong_files_are_refused_with_place_and_remedy() {
    for &(from, to, message) in WRONG {
        assert!(PUBLISHED.contains(from), "{from}");
        let error = convert("swarm.json".as_ref(), &PUBLISHED.replacen(from, to, 1)).expect_err(to);
        assert_eq!(error.to_string(), format!("swarm.json:{message}"));
    }
    let neither = convert("swarm.json".as_ref(), r#"{"nodes": 2}"#).expect_err("nothing takes time").to_string();
    assert!(neither.starts_with("swarm.json:1:11: the configuration has neither `network`"), "{neither}");
    for text in ["", "[]", "{", "\u{1b}", "{\"nodes\": 1e400}", &"[".repeat(100_000), &"{\"nodes\":".repeat(100_000)] {
        let error = convert("swarm.json".as_ref(), text).expect_err("it is no configuration").to_string();
        assert!(error.starts_with("swarm.json") && error.len() < 300 && error.lines().count() == 1, "{error}");
    }
}
