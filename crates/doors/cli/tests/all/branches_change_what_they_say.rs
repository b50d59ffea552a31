//! `branch`: a saved run that goes on with other values, from the save on and only from there.

use crate::common::{Folder, check, parades};
use serde_json::{Value, json};

/// Runs the command, which must succeed, and returns its JSON.
fn json(folder: &Folder, arguments: &str) -> Value {
    let output = parades(&folder.0, &format!("{arguments} --json --quiet"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {said}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// The results of a run but the digest.
fn results(run: &Value) -> [Value; 4] {
    ["events", "global_events", "virtual_time_s", "metrics"].map(|field| run[field].clone())
}

/// Two bottlenecks, of which the first is overloaded: its queue is long at each time.
const NETWORK: &str = r#"
network = "two bottlenecks"
until = "3s"
nodes = ["a", "b", "c"]
parameters = { first = "2Mbps" }
link = [
    { from = "a", to = "b", rate = "$first", rate_back = "1Mbps", delay = "10ms", queue = 60, framing = "ethernet" },
    { name = "second", from = "b", to = "c", rate = "10Mbps", delay = "5ms", loss = 0.01, queue = { kind = "codel" } },
]
app = [
    { name = "video", kind = "constant", from = "a", to = "c", rate = "2500kbps", packet = "900B" },
    { name = "web", kind = "request-response", from = "c", to = "a", response = "30kB", think = "20ms" },
    { name = "file", kind = "tcp", from = "a", to = "c", size = "2MB" },
]
measure = { every = "100ms", links = "*", apps = "*", flows = "*" }
"#;

#[test]
fn a_branch_with_a_changed_link_has_the_results_of_the_run_whose_file_changes_it() {
    let folder = Folder::new("branch-of-a-link");
    // Another change of the other link, and a failure after the end, with which routes are looked up.
    let failure = "\n[[event]]\nat = \"1s\"\nlink = \"second\"\nrate = \"8Mbps\"\n\n[[event]]\nat = \"9s\"\nlink = \"second\"\nstate = \"down\"\n";
    let cases = [
        ("", "rate = \"700kbps\"", "--set link.a-b.rate=700kbps"),
        ("", "rate = \"30Mbps\"", "--set link.a-b.rate=30Mbps"),
        ("", "rate_back = \"200kbps\"", "--set link.a-b.rate_back=200kbps"),
        (failure, "rate = \"1Mbps\"\ndelay = \"25ms\"", "--set link.a-b.rate=1Mbps --set link.a-b.delay=25ms"),
    ];
    for (number, (more, change, set)) in cases.into_iter().enumerate() {
        let file = format!("{NETWORK}{more}");
        folder.write("n.toml", &file);
        folder.write("changed.toml", format!("{file}\n[[event]]\nat = \"1500ms\"\nlink = \"a-b\"\n{change}\n"));
        let whole = json(&folder, "run changed.toml --engine sequential");
        json(&folder, "run n.toml --until 1500ms --engine window --threads 2 --save a.save");
        let plain = json(&folder, "resume a.save --until 3s");
        let engine = ["sequential", "window --threads 2", "null-message --threads 3", "time-warp --threads 2"][number];
        let branch = json(&folder, &format!("branch a.save --until 3s {set} --engine {engine}"));
        assert_eq!(results(&branch), results(&whole), "{set}");
        assert_ne!(results(&branch), results(&plain), "{set}: the change acts");
        assert_eq!(branch["digest"], json(&folder, &format!("branch a.save --until 3s {set}"))["digest"]);
    }
}

#[test]
fn a_branch_is_recorded_saved_and_goes_on_with_its_change() {
    let folder = Folder::new("branch-goes-on");
    folder.write("n.toml", NETWORK);
    for (scenario, set, key, before, after, cut, cut_ps, middle, end) in [
        (
            "n.toml",
            "link.a-b.rate=700kbps",
            "link.a-b.rate",
            "2Mbps",
            "700kbps",
            "1s",
            1_000_000_000_000_u64,
            "2s",
            "3s",
        ),
        (
            "phold --set lps=40",
            "mean_delay=300ms",
            "mean_delay",
            "1s",
            "300ms",
            "10s",
            10_000_000_000_000,
            "20s",
            "30s",
        ),
    ] {
        let saved = json(&folder, &format!("run {scenario} --until {cut} --save a.save"));
        let whole = json(&folder, &format!("branch a.save --set {set} --until {end} --out whole --overwrite"));
        let recorded = json!([{
            "file": "a.save", "time_ps": cut_ps, "digest": whole["branches"][0]["digest"], "seed": null, "fresh_metrics": false,
            "changes": [{"key": key, "before": before, "after": after}],
        }]);
        assert_eq!(whole["branches"], recorded);
        // Samples are taken at the end of the first part, after its save.
        assert_eq!(recorded[0]["digest"] == saved["digest"], key == "mean_delay");
        let note = format!("a branch of `a.save`, from {cut} on with `{key}={after}` ({before} before)");
        assert!(whole["notes"].as_array().expect("it is a list").contains(&json!(note)), "{}", whole["notes"]);
        json(&folder, &format!("branch a.save --set {set} --until {middle} --save b.save --engine window --threads 2"));
        let resumed = json(&folder, &format!("resume b.save --until {end} --engine null-message --threads 2"));
        assert_eq!((results(&resumed), &resumed["digest"]), (results(&whole), &whole["digest"]));
        assert_eq!(resumed["branches"], recorded);
        check(
            &folder,
            &[(
                "rerun whole",
                2,
                &format!(
                    "whole: is of a branch, which `parades branch a.save --set {set}` makes again; give a folder that `run --out` wrote"
                ),
            )],
        );
    }
}

#[test]
fn a_branch_over_itself_can_be_resumed() {
    let folder = Folder::new("branch-over-itself");
    json(&folder, "run phold --set lps=40 --until 10s --save a.save");
    let whole = json(&folder, "branch a.save --set remote=0.9 --until 30s");
    json(&folder, "branch a.save --set remote=0.9 --until 20s --save a.save");
    assert_eq!(json(&folder, "resume a.save --until 30s")["digest"], whole["digest"]);
}

/// Scenarios, the time of the cut and the end; and for each key that may change, a value that acts.
const KEYS: &[(&str, &str, &str, &[&str])] = &[
    ("phold --set lps=40", "20s", "40s", &["remote=0.1", "lookahead=50ms", "mean_delay=2s", "delay=constant"]),
    ("multicast --set trees=3 --set levels=4", "50ms", "100ms", &["delay=2ms", "jitter=3ms"]),
    ("mm1 --set customers=3000", "1s", "2500ms", &["utilisation=0.5", "service_rate=2000", "transit=1ms"]),
    ("jackson --set customers=3000", "1s", "2s", &["utilisation=0.5", "service_rate=2000", "transit=1ms"]),
    (
        "transfer --set pairs=8",
        "500ms",
        "3s",
        &["segments=100", "loss=0.1", "delay=20ms", "jitter=1ms", "rate=10Mbps", "pause=10ms", "min_timeout=1s"],
    ),
    (
        "campus --set networks=2 --set lan_clients=3 --set start_span=1s",
        "1s",
        "3s",
        &["flow_rate=100kbps", "inner_rate=5Mbps", "access_rate=1Mbps", "ring_rate=1Mbps"],
    ),
    (
        "campus --set networks=1 --set lan_clients=9 --set access_rate=520kbps --set start_span=1s",
        "1s",
        "2s",
        &["queue=1"],
    ),
    ("wan --set flows=60", "500ms", "1s", &["load=0.5", "queue=0"]),
    ("wan --set flows=60 --set packets_per_s=20000", "500ms", "1s", &["packets_per_s=1000"]),
    ("wan --set flows=60 --set arrivals=on-off", "500ms", "1s", &["period=10ms"]),
    (
        "averaging --set nodes=60 --set loss=0.2 --set partition_at=300s --set partition_for=100s",
        "250s",
        "1500s",
        &["timeout=110s", "loss=0.6", "jitter=5ms", "partition_for=600s", "partition_at=500s"],
    ),
    ("averaging --set nodes=60 --set jitter=1ms --set jitter_law=normal", "250s", "400s", &["jitter_shape=2"]),
    (
        "gossipsub --set nodes=60 --set messages=40",
        "100s",
        "200s",
        &[
            "validation=50ms",
            "degree_low=5",
            "degree_high=7",
            "degree_lazy=2",
            "gossip_factor=0.9",
            "heartbeat=500ms",
            "flood_publish=false",
        ],
    ),
    ("gossipsub --set nodes=60 --set messages=40 --set degree_high=7", "3s", "100s", &["degree=5"]),
    (
        "bittorrent --set peers=30 --set seeds=1 --set pieces=100 --set piece_bits=20000000 --set network=capacity \
         --set outgoing=5 --set announce=60s",
        "40s",
        "300s",
        &["unchokes=2", "rechoke=4s", "announce=40s"],
    ),
    (
        "bittorrent --set peers=20 --set seeds=1 --set pieces=50 --set piece_bits=2000 --set network=capacity \
         --set seeding=100s",
        "10s",
        "900s",
        &["seeding=5s"],
    ),
    (
        "chord --set nodes=40 --set form=machine --set session=60s --set fix_fingers=20s",
        "100s",
        "300s",
        &[
            "latency=1ms",
            "stabilise=7s",
            "fix_fingers=5s",
            "check_predecessor=20s",
            "look_up=3s",
            "timeout=3s",
            "session=20s",
            "absence=5s",
            "crash=1",
        ],
    ),
    (
        "kademlia --set nodes=60 --set session=60s --set values=10 --set find_values=0.3 --set republish=40s --set expire=2min",
        "100s",
        "400s",
        &[
            "timeout=1s",
            "questionable=20s",
            "refresh=30s",
            "look_up=3s",
            "find_values=0.9",
            "republish=15s",
            "expire=45s",
            "keep_state=1",
            "loss=0.2",
        ],
    ),
    (
        "gossip --set nodes=60 --set underlay=constant",
        "2s",
        "30s",
        &["fanout=3", "period=2s", "rumour_bytes=200", "latency=20ms"],
    ),
];

#[test]
fn each_key_that_may_change_acts_from_the_cut_on() {
    let folder = Folder::new("branch-keys");
    folder.write("n.toml", NETWORK);
    let of_network: &[&str] =
        &["link.second.loss=0.2", "link.a-b.queue=5", "app.video.rate=500kbps", "link.*.rate=900kbps"];
    let of_clients: &[&str] = &["app.web.think=200ms"];
    let of_files = [("n.toml", "1s", "3s", of_network), ("n.toml --set first=30Mbps", "1s", "3s", of_clients)];
    let mut idle = Vec::new();
    for (scenario, cut, end, sets) in KEYS.iter().chain(&of_files) {
        json(&folder, &format!("run {scenario} --until {cut} --save a.save"));
        let plain = json(&folder, &format!("resume a.save --until {end}"));
        for (number, set) in sets.iter().enumerate() {
            let engine = ["sequential", "window --threads 2"][number % 2];
            let branch = json(&folder, &format!("branch a.save --set {set} --until {end} --engine {engine}"));
            if (results(&branch), &branch["digest"]) == (results(&plain), &plain["digest"]) {
                idle.push(format!("{scenario}: {set}"));
            }
        }
    }
    assert!(idle.is_empty(), "{idle:#?}");
}

#[test]
fn each_key_that_show_names_is_tried() {
    let folder = Folder::new("branch-keys-shown");
    let mut missing = Vec::new();
    for scenario in [
        "phold",
        "multicast",
        "mm1",
        "jackson",
        "transfer",
        "campus",
        "wan",
        "averaging",
        "gossip",
        "gossipsub",
        "bittorrent",
        "chord",
        "kademlia",
    ] {
        let shown = String::from_utf8(parades(&folder.0, &format!("show {scenario}")).stdout).expect("it is text");
        let mut comment = String::new();
        for line in shown.lines() {
            if let Some(text) = line.strip_prefix('#') {
                comment += text;
                continue;
            }
            let may_change = std::mem::take(&mut comment).contains("may change in a branch)");
            let Some((key, _)) = line.split_once(" = ") else { continue };
            // Parameters that scenarios share are tried in one of them.
            let is_tried = KEYS.iter().flat_map(|(.., sets)| *sets).any(|set| set.starts_with(&format!("{key}=")));
            if may_change && !is_tried {
                missing.push(format!("{scenario}: {key}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    let shown = parades(&folder.0, "show phold").stdout;
    let shown = String::from_utf8(shown).expect("it is text");
    assert!(
        shown.contains("# (number between 0 and 1; default 0.5; may change in a branch)\nremote = 0.5\n"),
        "{shown}"
    );
}

#[test]
fn new_random_streams_are_functions_of_seed_and_time() {
    let folder = Folder::new("branch-streams");
    json(&folder, "run mm1 --set customers=3000 --until 1s --save a.save");
    let digest = |more: &str| json(&folder, &format!("branch a.save --until 2s {more}"))["digest"].clone();
    let first = digest("--seed 7 --engine sequential");
    assert_eq!(digest("--seed 7 --engine window --threads 2"), first);
    assert_eq!(digest("--seed 7 --engine time-warp --threads 2"), first);
    assert_ne!(digest("--seed 8"), first);
    assert_ne!(json(&folder, "resume a.save --until 2s")["digest"], first);
    // The metrics of a branch that measures afresh have the customers that leave from the cut on.
    let sojourns =
        |more: &str| json(&folder, more)["metrics"]["sojourn_distribution_s"]["count"].as_u64().expect("it is a count");
    let before = sojourns("resume a.save --until 1s");
    let all = sojourns("branch a.save --until 2s --seed 7");
    assert_eq!(sojourns("branch a.save --until 2s --seed 7 --fresh-metrics"), all - before);
}

#[test]
fn what_cannot_change_is_refused() {
    let folder = Folder::new("branch-refused");
    folder.write("n.toml", NETWORK);
    for (file, scenario) in [
        ("p.save", "phold --set lps=40 --until 10s"),
        ("n.save", "n.toml --until 1s"),
        ("k.save", "kademlia --set nodes=30 --set form=program --until 20s"),
        ("f.save", "flows --until 1s"),
        ("g.save", "gossip --set nodes=30 --until 2s"),
    ] {
        json(&folder, &format!("run {scenario} --save {file}"));
    }
    let of_phold = "the keys that may are `remote`, `lookahead`, `mean_delay` and `delay`";
    let of_networks = "the keys that may are `link.NAME.rate`, `link.NAME.rate_back`, `link.NAME.delay`, `link.NAME.loss`, \
         `link.NAME.queue`, `app.NAME.rate`, `app.NAME.gap` and `app.NAME.think`";
    check(
        &folder,
        &[
            ("branch p.save --set lps=41", 2, &format!("--set lps=41: `lps` may not change during a run; {of_phold}")),
            (
                "branch p.save --set remot=1",
                2,
                "--set remot=1: `remot` may not change during a run; did you mean `remote`, of the keys that may: \
                 `remote`, `lookahead`, `mean_delay` and `delay`?",
            ),
            (
                "branch p.save --set lookahead=2s",
                2,
                "--set lookahead=2s: the lookahead of 2s is above the mean delay of 1s; lower `lookahead` or raise `mean_delay`",
            ),
            (
                "branch p.save --fresh-metrics",
                2,
                "p.save cannot go on from 10s in this way: the states of its LPs hold measurements of the time before, \
                 which cannot begin again; change less, or start the run again with these values",
            ),
            (
                "branch n.save --set routing=hops",
                2,
                &format!("--set routing=hops: `routing` may not change during a run; {of_networks}"),
            ),
            (
                "branch n.save --set link.a-b.delay=1s",
                2,
                "--set link.a-b.delay=1s: `link.a-b.delay` decides on routes, and packets carry theirs; \
                 give the network an event that changes routes, such as a failure after its end",
            ),
            (
                "branch n.save --set link.a-c.rate=1Mbps",
                2,
                "--set link.a-c.rate=1Mbps: the file has no link `a-c`; did you mean `link.a-b.rate`?",
            ),
            (
                "branch n.save --set app.file.rate=1Mbps",
                2,
                "--set app.file.rate=1Mbps: `app.file.rate` is nothing that may change; leave it out",
            ),
            (
                "branch k.save --set latency=1ms",
                2,
                "k.save has no states, since the states of its logical processes cannot be written: nothing can \
                 change in the middle of the run; change the parameter from the start on, with `run`",
            ),
            ("branch f.save --set flows=3", 2, "--set flows=3: `flows` may not change during a run; none of flows may"),
            (
                "branch g.save --set latency=3ms",
                2,
                "--set latency=3ms: `latency` acts only with `underlay=constant`; set `underlay=constant`, or leave `latency` out",
            ),
        ],
    );
}

#[test]
fn a_value_that_is_set_already_is_noted() {
    let folder = Folder::new("branch-equal");
    json(&folder, "run phold --set lps=40 --until 10s --save p.save");
    let said = json(&folder, "branch p.save --set remote=0.5 --until 20s");
    assert!(
        said["notes"].as_array().expect("it is a list").contains(&json!("`remote` is 0.5 already")),
        "{}",
        said["notes"]
    );
    assert_eq!(said["digest"], json(&folder, "resume p.save --until 20s")["digest"]);
}

#[test]
fn a_branch_that_has_no_time_left_is_refused() {
    let folder = Folder::new("branch-at-the-end");
    json(&folder, "run phold --set lps=40 --until 10s --save p.save");
    let message = "p.save was saved at 10s, where the run ends: a branch would change nothing; \
                   give a later end with `--until`";
    check(&folder, &[("branch p.save --seed 2", 2, message), ("sweep --from p.save --seeds 1..3", 2, message)]);
    assert_ne!(
        json(&folder, "branch p.save --seed 2 --until 12s")["digest"],
        json(&folder, "resume p.save --until 12s")["digest"]
    );
}
