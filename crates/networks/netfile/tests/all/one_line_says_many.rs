//! Groups at many nodes, links between patterns, and keys that the command line sets.

use crate::common::{self, count, error, file, options};
use parades_config::Value;
use parades_engine::sequential;
use parades_netfile::NetworkFile;
use parades_packet::description::{App, AppKind, Description, Link};
use parades_packet::queue::QueueLimit;

fn described_with(file: &NetworkFile, sets: &[&str]) -> Description {
    let mut values = file.parameters();
    sets.iter().for_each(|set| values.set_argument("--set", set).unwrap_or_else(|error| panic!("{error}")));
    file.describe(&values, 1).unwrap_or_else(|error| panic!("{error}")).0
}

fn described(text: &str) -> Description {
    described_with(&file(text), &[])
}

/// The names of both ends of a link.
fn ends<'a>(description: &'a Description, link: &Link) -> [&'a str; 2] {
    [link.from, link.to].map(|node| description.nodes[node as usize].as_str())
}

const RACK: &str = "network = \"racks\"\nnodes = [\"core\"]\ndefaults = { rate = \"1Gbps\", delay = \"1us\" }\n";

#[test]
fn forty_hosts_at_each_of_ten_switches_are_one_line() {
    let text = format!(
        "{RACK}group = [{{ name = \"tor\", size = 10, attach = \"core\" }}, {{ name = \"host\", size = 40, attach = \"tor.*\" }}]\n"
    );
    let description = described(&text);
    assert_eq!((description.nodes.len(), description.links.len()), (1 + 10 + 400, 10 + 400));
    let of_host = description.links.iter().find(|link| link.name.starts_with("host.7.39-")).expect("it is there");
    assert_eq!(ends(&description, of_host), ["host.7.39", "tor.7"]);
    for tor in 0..10 {
        let hosts = description.links.iter().filter(|link| ends(&description, link)[1] == format!("tor.{tor}")).count();
        assert_eq!(hosts, 40);
    }
}

#[test]
fn a_group_may_be_at_the_nodes_of_a_part_and_of_a_list() {
    let part = "part = [{ name = \"r\", kind = \"ring\", size = 3 }]\n";
    let description =
        described(&format!("{RACK}{part}group = [{{ name = \"h\", size = 2, attach = [\"r.*\", \"core\"] }}]\n"));
    let at: Vec<_> = description.links.iter().filter(|link| link.name.starts_with("h.")).collect();
    assert_eq!(at.len(), 8);
    assert_eq!(ends(&description, at[7]), ["h.3.1", "core"]);
}

#[test]
fn a_group_at_one_node_is_numbered_as_before() {
    let description = described(&format!("{RACK}group = [{{ name = \"h\", size = 2, attach = \"core\" }}]\n"));
    assert_eq!(description.nodes, ["core", "h.0", "h.1"]);
}

#[test]
fn patterns_are_linked_each_with_each_or_in_pairs() {
    let groups = "group = [{ name = \"a\", size = 3 }, { name = \"b\", size = 3 }]\n";
    let links = |more: &str| {
        let text = format!("{RACK}{groups}link = [{{ from = \"a.*\", to = \"b.*\"{more} }}]\n");
        let description = described(&text);
        let names: Vec<String> = description.links.into_iter().map(|link| link.name).collect();
        names
    };
    assert_eq!(links("").len(), 9);
    assert_eq!(links(", pairs = \"matching\""), ["a.0-b.0", "a.1-b.1", "a.2-b.2"]);
    let mesh = described(&format!("{RACK}{groups}link = [{{ from = \"a.*\", to = \"a.*\" }}]\n"));
    let names: Vec<&str> = mesh.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["a.0-a.1", "a.0-a.2", "a.1-a.2"]);
    let unlike =
        format!("{RACK}{groups}link = [{{ from = \"a.*\", to = [\"b.0\", \"b.1\"], pairs = \"matching\" }}]\n");
    assert!(error(&unlike).contains("`from` has 3 nodes and `to` 2, so they do not match"), "{}", error(&unlike));
}

const SMALL: &str = "network = \"small\"\nuntil = \"1s\"\nnodes = [\"a\", \"b\"]\n[parameters]\nqueue = 7\n\
    [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10Mbps\"\ndelay = \"5ms\"\nqueue = \"$queue\"\n\
    [[app]]\nname = \"video.hd\"\nkind = \"constant\"\nrate = \"1Mbps\"\nfrom = \"a\"\nto = \"b\"\n\
    [[event]]\nat = \"1s\"\nlink = \"a-b\"\nstate = \"down\"\n";

#[test]
fn any_key_is_set_by_its_path() {
    let file = file(SMALL);
    let sets = [
        "link.a-b.delay=2ms",
        "link.a-b.queue=64KiB",
        "link.a-b.loss=1%",
        "event.1.at=300ms",
        "routing=hops",
        "until=3s",
    ];
    let description = described_with(&file, &sets);
    let link = &description.links[0];
    assert_eq!((link.delay.as_ps(), link.loss), (2_000_000_000, 0.01));
    assert_eq!(link.queue, QueueLimit::Bytes(65_536).into());
    assert_eq!(description.events[0].at.as_ps(), 300_000_000_000);
    assert_eq!(described_with(&file, &["queue=9"]).links[0].queue, QueueLimit::Packets(9).into());
    let [codel, named] = ["queue=codel", "link.a-b.queue=codel"].map(|set| described_with(&file, &[set]));
    assert_eq!(codel.links[0].queue, named.links[0].queue);
    assert_ne!(codel.links[0].queue, link.queue);
    assert_eq!(described_with(&file, &["queue=64KiB"]).links[0].queue, link.queue);
    assert_eq!(described_with(&file, &["link.a-b.queue=8"]).links[0].queue, QueueLimit::Packets(8).into());
    // Of the table of defaults, which the file does not have.
    let without = SMALL.replace("queue = \"$queue\"\n", "");
    let defaults = described_with(&common::file(&without), &["defaults.queue=3"]);
    assert_eq!(defaults.links[0].queue, QueueLimit::Packets(3).into());
}

/// Three apps, two of which have a `packet`, and two links.
const SEVERAL: &str = "network = \"several\"\nuntil = \"1s\"\nnodes = [\"a\", \"b\", \"c\"]\n\
    link = [{ from = \"a\", to = \"b\", rate = \"10Mbps\", delay = \"5ms\" }, { from = \"b\", to = \"c\", rate = \"10Mbps\", delay = \"5ms\" }]\n\
    app = [{ name = \"video.hd\", kind = \"constant\", rate = \"1Mbps\", from = \"a\", to = \"b\" },\
    { name = \"video.sd\", kind = \"constant\", rate = \"1Mbps\", from = \"a\", to = \"c\" },\
    { name = \"mail\", kind = \"tcp\", size = \"1MB\", from = \"a\", to = \"c\" }]\n";

#[test]
fn a_star_sets_a_key_of_all_tables_that_know_it() {
    let file = file(SEVERAL);
    let facts = |sets: &[&str]| {
        let Description { links, apps, .. } = described_with(&file, sets);
        let packet = |app: &App| match &app.kind {
            AppKind::Datagrams(datagrams) => datagrams.sizes.greatest(),
            AppKind::Tcp(tcp) => Some(tcp.settings.mss),
            other => panic!("{other:?}"),
        };
        let delays: Vec<u64> = links.iter().map(|link| link.delay.as_ps() / 1_000_000_000).collect();
        (delays, apps.iter().filter_map(packet).collect::<Vec<_>>())
    };
    assert_eq!(facts(&[]), (vec![5, 5], vec![1000, 1000, 1460]));
    assert_eq!(facts(&["link.*.delay=2ms", "app.*.packet=500B"]), (vec![2, 2], vec![500, 500, 1460]));
    assert_eq!(facts(&["app.*.mss=1000B", "link.b*.delay=7ms"]), (vec![5, 7], vec![1000, 1000, 1000]));
    // A path that names its table goes before one that names many, wherever it stands.
    let own = "app.video.sd.packet=700B";
    assert_eq!(facts(&[own, "app.video.*.packet=500B"]).1, [500, 700, 1460]);
    assert_eq!(facts(&["app.*.packet=500B", own]).1, [500, 700, 1460]);
    for (set, said) in [
        ("app.*.windo=5", "has no key `windo` that can be set"),
        ("app.*.window=5", "has no key `window` that can be set"),
        ("app.web*.packet=5B", "the file has no app with a name like `web*`; the first is `video.hd`"),
        ("event.*.at=5s", "the file has no event with a name like `*`; the file has no table `event`"),
        ("link.*.delay=5", "`link.*.delay`: `5` has no unit"),
    ] {
        let error = file.parameters().set_argument("--set", set).expect_err(set).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_set_rate_changes_the_run_as_an_edited_file_does() {
    let sent = |text: &str, sets: &[&str]| {
        let file = file(text);
        let mut values = file.parameters();
        sets.iter().for_each(|set| values.set_argument("--set", set).expect("it is a key"));
        let built = file.build(&values, 1).expect("right");
        let outcome = sequential::run(&built.model, options(1, built.until)).expect("it runs");
        (outcome.digest, count(&outcome, "packets_sent"))
    };
    let edited = sent(&SMALL.replace("rate = \"1Mbps\"", "rate = \"4Mbps\""), &[]);
    assert_eq!(sent(SMALL, &["app.video.hd.rate=4Mbps"]), edited);
    assert_ne!(sent(SMALL, &[]), edited);
}

#[test]
fn set_keys_are_among_the_values_and_wrong_ones_are_refused() {
    let file = file(SMALL);
    let mut values = file.parameters();
    assert_eq!(values.iter().count(), 1, "only what is set is listed");
    values.set_argument("--set", "app.video.hd.rate=4Mbps").expect("it is a key");
    assert_eq!(values.get("app.video.hd.rate"), Some(&Value::Rate(4_000_000)));
    for (set, said) in [
        ("app.vido.hd.rate=1Mbps", "the file has no app `vido.hd`; did you mean `app.video.hd.rate`?"),
        ("app.video.hd.rat=1Mbps", "an app has no key `rat` that can be set; did you mean `rate`?"),
        ("app.video.hd.rate=5", "`app.video.hd.rate`: `5` has no unit"),
        ("app.video=5", "`app.video` names an app and no key of it"),
        ("nodes=c", "`nodes` is a list"),
        ("queu=5", "the network has no key `queu`; did you mean `queue`?"),
        ("link.a-b.loss=2", "`link.a-b.loss` must be between 0 and 1, not 2"),
    ] {
        let error = values.set_argument("--set", set).expect_err(set).to_string();
        assert!(error.starts_with(&format!("--set {set}: ")) && error.contains(said), "{error}");
    }
}

#[test]
fn what_has_no_effect_is_said() {
    let text = SMALL.replace("queue = \"$queue\"\n", "").replace("at = \"1s\"", "at = \"2s\"");
    let notes = |text: &str| common::built(text).notes;
    assert_eq!(
        notes(&text),
        [
            "parameters that nothing in the file refers to: `queue`",
            "1 of 1 changes of links and nodes come too late: the run ends at 1s"
        ]
    );
    assert_eq!(
        notes(&format!("{RACK}group = [{{ name = \"h\", size = 2, attach = \"core\" }}]\n")),
        ["the network has no app, so nothing is sent: add one with `[[app]]`"]
    );
}
