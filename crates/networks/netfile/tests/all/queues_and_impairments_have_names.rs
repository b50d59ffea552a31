//! Links name queues and impairments, which the tables `[[queue]]` and `[[impairment]]` define.

use crate::common::{built, count, error, file, on_every_engine, options};
use parades_core::time::Delay;
use parades_engine::sequential;
use parades_netfile::{NetworkFile, explicit};
use parades_packet::description::{Description, Link};
use parades_packet::impairment::{Bursts, Impairments, Jitter};
use parades_packet::probability::Probability;
use parades_packet::queue::{Codel, Discipline, FairCodel, Priority, QueueLimit, Red, Threshold, TokenBucket};

const NET: &str = r#"
network = "every kind of queue"
until = "3s"
nodes = ["a", "b"]
[defaults]
rate = "2Mbps"
delay = "2ms"
queue = "usual"
[[queue]]
name = "usual"
kind = "red"
limit = 80
max = 35.5
gentle = false
[[queue]]
name = "data-centre"
kind = "dctcp"
mark_at = 20
limit = "64KiB"
device = 1
[[queue]]
name = "shaper"
kind = "token-bucket"
rate = "1Mbps"
burst = "3000B"
[[queue]]
name = "home"
kind = "fqcodel"
target = "10ms"
queues = 64
ecn = false
[[queue]]
name = "classes"
kind = "priority"
limit = 10
[[impairment]]
name = "radio"
jitter = "3ms"
distribution = "normal"
deviation = "1ms"
keep_order = true
duplicate = "1%"
[[impairment]]
name = "storm"
jitter = "1ms"
distribution = "pareto"
shape = 2.5
reorder = 0.1
to_bad = 0.01
to_good = 0.25
[[link]]
from = "a"
to = "b"
name = "usual"
[[link]]
from = "a"
to = "b"
name = "dc"
queue = "data-centre"
impairment = "radio"
[[link]]
from = "a"
to = "b"
name = "shaped"
queue = "shaper"
[[link]]
from = "a"
to = "b"
name = "home"
queue = "home"
impairment = "storm"
[[link]]
from = "a"
to = "b"
name = "classes"
queue = "classes"
[[link]]
from = "a"
to = "b"
name = "codel"
queue = "codel"
[[link]]
from = "a"
to = "b"
name = "plain"
queue = 7
[[app]]
name = "video"
kind = "poisson"
from = ["a", "b"]
to = ["b", "a"]
rate = "1.5Mbps"
class = 5
[[app]]
name = "file"
kind = "transfer"
from = ["a", "b", "a", "b"]
to = ["b", "a", "b", "a"]
size = "400kB"
ecn = true
"#;

fn described(text: &str) -> Description {
    let file = file(text);
    file.describe(&file.parameters(), 1).unwrap_or_else(|error| panic!("{error}")).0
}

#[test]
fn links_have_the_queues_and_impairments_that_they_name() {
    let Description { links, apps, .. } = described(NET);
    let queues: Vec<(Discipline, u32)> = links.iter().map(|link| (link.queue.clone(), link.device)).collect();
    let red = Red { max_average_milli: 35_500, is_gentle: false, ..Red::with_limit(80) };
    let codel = Codel { target: Delay::from_ms(10), marks: false, ..FairCodel::default().codel };
    let shaper = TokenBucket { rate_bps: 1_000_000, burst_bytes: 3000, limit: QueueLimit::Packets(100) };
    let expected = [
        (Discipline::Red(red), 0),
        (Discipline::Threshold(Threshold { mark_at: 20, limit: QueueLimit::Bytes(65_536) }), 1),
        (Discipline::TokenBucket(shaper), 0),
        (Discipline::FairCodel(FairCodel { codel, queues: 64, ..FairCodel::default() }), 0),
        (Discipline::Priority(Priority { limit: QueueLimit::Packets(10) }), 0),
        (Discipline::Codel(Codel::default()), 0),
        (QueueLimit::Packets(7).into(), 0),
    ];
    assert_eq!(queues, expected);
    let ratio = Probability::quotient;
    let [radio, storm] = [1, 3].map(|link: usize| links[link].impairments);
    let jitter = Jitter::Normal { mean: Delay::from_ms(3), deviation: Delay::from_ms(1) };
    assert_eq!(radio, Impairments { jitter, keeps_order: true, duplicate: ratio(1, 100), ..Impairments::default() });
    let jitter = Jitter::Pareto { scale: Delay::from_ms(1), shape_milli: 2500 };
    let bursts =
        Bursts { to_bad: ratio(1, 100), to_good: ratio(1, 4), loss_bad: Probability::ONE, ..Bursts::default() };
    assert_eq!(storm, Impairments { jitter, reorder: ratio(1, 10), bursts: Some(bursts), ..Impairments::default() });
    assert!(links.iter().enumerate().all(|(n, link)| [1, 3].contains(&n) || link.impairments.is_none()));
    let marking = |app: usize| (apps[app].marking.class, apps[app].marking.is_ecn_capable);
    assert_eq!((marking(0), marking(1)), ((5, false), (0, true)));
}

#[test]
fn the_file_in_full_makes_the_same_network() {
    let file = file(NET);
    let (description, until, _) = file.describe(&file.parameters(), 1).expect("right");
    let text = explicit("in full", &file.settings(&file.parameters()).expect("right"), until, &description);
    let full = NetworkFile::parse("full.toml".as_ref(), text.clone()).expect("right").expect("a network");
    let (again, ..) = full.describe(&full.parameters(), 1).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again, description, "{text}");
}

#[test]
fn every_engine_gives_the_same_answer() {
    let built = built(NET);
    let expected = sequential::run(&built.model, options(1, built.until)).unwrap_or_else(|error| panic!("{error}"));
    assert!(count(&expected, "packets_received") > 500);
    for (name, outcome) in on_every_engine(&built.model, 1, built.until) {
        assert_eq!((outcome.digest, &outcome.metrics), (expected.digest, &expected.metrics), "{name}");
    }
}

#[test]
fn the_command_line_sets_keys_of_a_queue() {
    let file = file(NET);
    let mut values = file.parameters();
    for set in ["queue.usual.limit=40", "queue.home.target=7ms", "impairment.radio.jitter=4ms"] {
        values.set_argument("--set", set).unwrap_or_else(|error| panic!("{error}"));
    }
    let (Description { links, .. }, ..) = file.describe(&values, 1).unwrap_or_else(|error| panic!("{error}"));
    let Link { queue: Discipline::Red(red), .. } = &links[0] else { panic!("{:?}", links[0]) };
    assert_eq!((red.limit, red.min_average_milli), (QueueLimit::Packets(40), 5_000));
    let Discipline::FairCodel(fair) = &links[3].queue else { panic!("{:?}", links[3]) };
    assert_eq!(fair.codel.target, Delay::from_ms(7));
}

#[test]
fn a_wrong_queue_or_impairment_gets_one_clear_message() {
    for (from, to, says) in [
        ("queue = \"shaper\"", "queue = \"shapr\"", "there is no queue `shapr`"),
        ("queue = \"shaper\"", "queue = \"token-bucket\"", "a queue of kind `token-bucket` needs the key `rate`"),
        ("impairment = \"radio\"", "impairment = \"wire\"", "there is no impairment `wire`"),
        ("limit = 10\n", "limit = \"0B\"\n", "`limit` has zero bytes, room for no packet"),
        ("max = 35.5", "max = 5", "a `min` of 10 packets and a `max` of 5"),
        ("duplicate = \"1%\"", "duplicate = 2", "`duplicate`"),
        ("mark_at = 20", "mark_at = 0", "`mark_at`"),
        ("burst = \"3000B\"", "burst = \"0B\"", "`burst`"),
        ("rate = \"1Mbps\"\nburst", "burst", "needs the key `rate`"),
        ("name = \"home\"\nkind", "name = \"usual\"\nkind", "there are two queues of the name `usual`"),
        ("name = \"usual\"\nkind = \"red\"", "name = \"codel\"\nkind = \"red\"", "cannot be the name"),
        ("name = \"usual\"\nkind = \"red\"", "name = \"drop-tail\"\nkind = \"red\"", "cannot be the name"),
        ("target = \"10ms\"", "target = \"2s\"", "the interval no shorter than the target"),
        ("kind = \"priority\"", "kind = \"priorities\"", "has no kind `priorities`"),
        ("jitter = \"1ms\"\ndistribution = \"pareto\"\nshape = 2.5\n", "", "has no jitter"),
        (
            "deviation = \"1ms\"",
            "shape = 2.0",
            "`shape` acts only with `distribution=pareto`; set `distribution = \"pareto\"`",
        ),
        ("to_bad = 0.01\n", "", "give `to_bad` more than 0"),
        ("class = 5", "class = 8", "`class`"),
    ] {
        let text = NET.replacen(from, to, 1);
        assert_ne!(text, NET, "{from}");
        let said = error(&text);
        assert!(said.starts_with("net.toml:") && said.contains(says), "{to}: {said}");
    }
}
