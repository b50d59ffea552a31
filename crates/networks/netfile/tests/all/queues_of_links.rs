//! A link's key `queue`: packets, a size, the name of a kind, or a table; and what is said of a wrong table.

use crate::common::{count, error, file, run};
use parades_core::time::Delay;
use parades_netfile::{NetworkFile, explicit, schema};
use parades_packet::description::{Description, Link};
use parades_packet::probability::Probability;
use parades_packet::queue::{
    Cake, Cells, Codel, Discipline, FairCodel, Isolation, Pie, Priority, QueueLimit, Red, Threshold, TokenBucket,
};

/// A file with two links. `own` is the queue of the first one, and `usual` that of the table of defaults.
fn net(own: &str, usual: &str) -> String {
    format!(
        "network = \"queues\"\nnodes = [\"a\", \"b\", \"c\"]\n[defaults]\nrate = \"10Mbps\"\ndelay = \"5ms\"\n\
         queue = {usual}\n[[link]]\nfrom = \"a\"\nto = \"b\"\nqueue = {own}\n[[link]]\nfrom = \"b\"\nto = \"c\"\n"
    )
}

fn described(text: &str) -> Description {
    let file = file(text);
    file.describe(&file.parameters(), 1).unwrap_or_else(|error| panic!("{error}\n{text}")).0
}

/// Returns the queue of a link for a value of its key, and its device.
fn queue(value: &str) -> (Discipline, u32) {
    let links = described(&net(value, "100")).links;
    let usual = described(&net("100", value)).links;
    assert_eq!(links[0].queue, usual[1].queue, "the table of defaults takes the same values as a link");
    (links[0].queue.clone(), links[0].device)
}

/// Returns CAKE with all its keys.
fn cake_in_full() -> (&'static str, Discipline) {
    let cake = Cake {
        rate_bps: Some(20_000_000),
        isolation: Isolation::DualSource,
        rtt: Delay::from_ms(30),
        overhead: 44,
        mpu: 84,
        cells: Cells::Ptm,
        is_ingress: true,
        marks: false,
        mtu: 1000,
        queues: 64,
        limit: QueueLimit::Packets(300),
        memory: Some(1 << 20),
    };
    let text = "{ kind = \"cake\", limit = 300, bandwidth = \"20Mbps\", isolation = \"dual-srchost\", rtt = \"30ms\", \
         overhead = 44, mpu = 84, cells = \"ptm\", ingress = true, ecn = false, mtu = \"1000B\", queues = 64, \
         memory = \"1MiB\" }";
    (text, Discipline::Cake(cake))
}

/// Returns the disciplines in the spelling that the documents use, with all their keys.
fn all_kinds() -> Vec<(&'static str, Discipline)> {
    let packets = QueueLimit::Packets;
    let ratio = Probability::quotient;
    let red = Red {
        limit: packets(60),
        min_average_milli: 5_000,
        max_average_milli: 15_500,
        max_probability: ratio(1, 10),
        weight: ratio(2, 1000),
        is_gentle: false,
        waits: false,
        mean_packet: 1000,
        marks: false,
    };
    let codel = Codel {
        target: Delay::from_ms(10),
        interval: Delay::from_ms(200),
        mtu: 1000,
        marks: false,
        limit: packets(300),
        ..Codel::default()
    };
    let fair = FairCodel { codel, queues: 64, quantum: 300, memory: 1 << 20 };
    vec![
        ("{ kind = \"droptail\", limit = 50 }", packets(50).into()),
        ("{ kind = \"droptail\", limit = \"64KiB\" }", QueueLimit::Bytes(65_536).into()),
        ("{ kind = \"droptail\", limit = \"unbounded\" }", QueueLimit::UNBOUNDED.into()),
        (
            "{ kind = \"red\", limit = 60, min = 5, max = 15.5, max_probability = \"10%\", weight = 0.002, \
             gentle = false, wait = false, mean_packet = \"1000B\", ecn = false }",
            Discipline::Red(red),
        ),
        (
            "{ kind = \"codel\", limit = 300, target = \"10ms\", interval = \"200ms\", mtu = \"1000B\", ecn = false }",
            Discipline::Codel(codel),
        ),
        (
            "{ kind = \"fqcodel\", limit = 300, target = \"10ms\", interval = \"200ms\", mtu = \"1000B\", ecn = false, \
             flows = 64, quantum = \"300B\", memory_limit = \"1MiB\" }",
            Discipline::FairCodel(fair),
        ),
        cake_in_full(),
        (
            "{ kind = \"pie\", limit = 300, target = \"10ms\", tupdate = \"5ms\", burst = \"100ms\", \
             mean_packet = \"1000B\", ecn = false }",
            Discipline::Pie(Pie {
                limit: packets(300),
                target: Delay::from_ms(10),
                update: Delay::from_ms(5),
                burst: Delay::from_ms(100),
                mean_packet: 1000,
                marks: false,
            }),
        ),
        (
            "{ kind = \"dctcp\", k = 65, limit = \"1MB\" }",
            Discipline::Threshold(Threshold { mark_at: 65, limit: QueueLimit::Bytes(1_000_000) }),
        ),
        ("{ kind = \"priority\", limit = 10 }", Discipline::Priority(Priority { limit: packets(10) })),
        (
            "{ kind = \"token-bucket\", rate = \"5Mbps\", burst = \"3000B\", limit = 20 }",
            Discipline::TokenBucket(TokenBucket { rate_bps: 5_000_000, burst_bytes: 3000, limit: packets(20) }),
        ),
    ]
}

#[test]
fn a_queue_is_packets_a_size_or_a_table() {
    assert_eq!(queue("7"), (QueueLimit::Packets(7).into(), 0));
    assert_eq!(queue("\"64KiB\""), (QueueLimit::Bytes(65_536).into(), 0));
    assert_eq!(queue("\"unbounded\""), (QueueLimit::UNBOUNDED.into(), 0));
    for (table, expected) in all_kinds() {
        assert_eq!(queue(table), (expected.clone(), 0), "{table}");
        let with_device = table.replace(" }", ", device = 3 }");
        assert_eq!(queue(&with_device), (expected, 3), "{with_device}");
    }
}

#[test]
fn a_table_at_a_link_and_a_table_with_a_name_have_the_same_keys() {
    for (table, expected) in all_kinds() {
        let keys = table.trim_matches(['{', '}']).split(", ").map(str::trim).collect::<Vec<_>>().join("\n");
        let named = format!("{}\n[[queue]]\nname = \"own\"\n{keys}\n", net("\"own\"", "100"));
        assert_eq!(described(&named).links[0].queue, expected, "{named}");
    }
}

#[test]
fn both_spellings_of_a_kind_mean_the_same_with_the_usual_values() {
    let threshold = Threshold { mark_at: 20, limit: QueueLimit::Packets(100) };
    for (names, expected) in [
        (&["droptail", "drop-tail"][..], Discipline::default()),
        (&["red"], Discipline::Red(Red::with_limit(100))),
        (&["codel"], Discipline::Codel(Codel::default())),
        (&["fqcodel", "fq-codel"], Discipline::FairCodel(FairCodel::default())),
        (&["cake"], Discipline::Cake(Cake::default())),
        (&["dctcp", "threshold"], Discipline::Threshold(threshold)),
        (&["priority"], Discipline::Priority(Priority { limit: QueueLimit::Packets(100) })),
    ] {
        for name in names {
            for value in [format!("\"{name}\""), format!("{{ kind = \"{name}\" }}")] {
                assert_eq!(queue(&value), (expected.clone(), 0), "{value}");
            }
            let named = format!("{}[[queue]]\nname = \"own\"\nkind = \"{name}\"\n", net("\"own\"", "100"));
            assert_eq!(described(&named).links[0].queue, expected, "{named}");
        }
    }
    // A queue of a byte limit has the averages of as many packets of the mean size.
    let Discipline::Red(red) = queue("{ kind = \"red\", limit = \"120kB\" }").0 else { panic!("it is RED") };
    assert_eq!((red.min_average_milli, red.max_average_milli), (10_000, 30_000));
}

#[test]
fn a_file_written_out_in_full_has_the_same_queues() {
    for (table, _) in all_kinds() {
        let file = file(&net(table, "\"fqcodel\""));
        let (description, until, _) = file.describe(&file.parameters(), 1).expect("it is right");
        let text = explicit("in full", &Default::default(), until, &description);
        let full = NetworkFile::parse("full.toml".as_ref(), text.clone()).expect("right").expect("a network");
        let (again, ..) = full.describe(&full.parameters(), 1).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again, description, "{text}");
        let kind = table.split('"').nth(1).expect("a table has its kind first");
        let is_plain = kind == "droptail";
        assert!(is_plain || text.contains(&format!("kind = \"{kind}\"")), "{text}");
        assert!(text.contains("kind = \"fqcodel\""), "{text}");
    }
}

#[test]
fn the_command_line_sets_keys_of_a_table_at_a_link() {
    let file = file(&net("{ kind = \"red\", limit = 60 }", "{ kind = \"dctcp\" }"));
    let mut values = file.parameters();
    for set in ["link.a-b.queue.limit=40", "link.a-b.queue.max_probability=5%", "defaults.queue.k=9"] {
        values.set_argument("--set", set).unwrap_or_else(|error| panic!("{error}"));
    }
    let (Description { links, .. }, ..) = file.describe(&values, 1).unwrap_or_else(|error| panic!("{error}"));
    let Link { queue: Discipline::Red(red), .. } = &links[0] else { panic!("{:?}", links[0]) };
    assert_eq!((red.limit, red.max_probability), (QueueLimit::Packets(40), Probability::quotient(1, 20)));
    assert!(matches!(links[1].queue, Discipline::Threshold(Threshold { mark_at: 9, .. })), "{:?}", links[1]);
    // The whole queue may be replaced too.
    for (value, expected) in [("codel", Discipline::Codel(Codel::default())), ("9", QueueLimit::Packets(9).into())] {
        let mut values = file.parameters();
        values.set_argument("--set", &format!("link.a-b.queue={value}")).expect("it is a key");
        assert_eq!(file.describe(&values, 1).expect("it is right").0.links[0].queue, expected);
    }
    let wrong = file.parameters().set_argument("--set", "link.a-b.queue.limits=3").expect_err("there is no such key");
    assert!(wrong.to_string().contains("did you mean `limit`?"), "{wrong}");
}

#[test]
fn the_kind_of_a_queue_is_set_and_keys_that_it_lacks_are_noted() {
    let file = file(&net("{ kind = \"red\", limit = 10, probability = 0.1 }", "100"));
    let with = |sets: &[&str]| {
        let mut values = file.parameters();
        sets.iter().for_each(|set| values.set_argument("--set", set).unwrap());
        file.describe(&values, 1).map(|(described, _, notes)| (described.links[0].queue.clone(), notes))
    };
    let (queue, notes) = with(&["link.a-b.queue.kind=codel", "link.a-b.queue.target=9ms"]).unwrap();
    let limit = QueueLimit::Packets(10);
    assert_eq!(queue, Discipline::Codel(Codel { target: Delay::from_ms(9), limit, ..Codel::default() }));
    let note = "a queue of kind `codel` has no `probability`, which is a key of red";
    assert!(notes.contains(&note.to_owned()), "{notes:?}");
    let (queue, notes) = with(&["link.a-b.queue.kind=fq-codel", "link.a-b.queue.burst=9kB"]).unwrap();
    assert!(matches!(queue, Discipline::FairCodel(_)), "{queue:?}");
    let note = "a queue of kind `fqcodel` has no `burst`, which is a key of pie, token-bucket";
    assert!(notes.contains(&note.to_owned()), "{notes:?}");
    for (sets, message) in [
        (
            &["link.a-b.queue.target=9ms"][..],
            "a queue of kind `red` has no key `target`; it is a key of pie, codel, fqcodel",
        ),
        (&["link.a-b.queue.kind=codl"], "a queue has no kind `codl` (`--set` is `codl`); did you mean `codel`?"),
        (&["link.a-b.queue.kind=codel", "link.a-b.queue.target=9"], "`target`"),
    ] {
        let error = with(sets).map(|_| ()).expect_err("it is wrong").to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn keys_of_a_queue_that_is_no_table_are_refused_with_what_to_write() {
    for (queue, set, message) in [
        (
            "50",
            "link.a-b.queue.target=9ms",
            "`link.a-b` has no key `queue.target`: its `queue` is `50`, a limit alone; write `queue = { kind = \"pie\", \
             target = … }` in the file",
        ),
        (
            "\"64KiB\"",
            "link.a-b.queue.kind=codel",
            "its `queue` is `64KiB`, a limit alone; `--set link.a-b.queue=…` sets the whole queue: packets, bytes, or a \
             kind such as `codel`",
        ),
        ("\"codel\"", "link.a-b.queue.interval=9ms", "its `queue` is `codel`, a kind without keys of its own"),
        ("\"own\"", "link.a-b.queue.limit=9", "its `queue` is `own`, the name of a queue; set `queue.own.limit`"),
        ("\"own\"", "defaults.queue.limit=9", "`defaults` has no key `queue.limit`: its `queue` is `100`"),
        ("\"own\"", "link.b-c.queue.limit=9", "`link.b-c` has no key `queue.limit`: its `queue` is not given there"),
    ] {
        let text = format!("{}[[queue]]\nname = \"own\"\nkind = \"droptail\"\n", net(queue, "100"));
        let error = file(&text).parameters().set_argument("--set", set).expect_err("it is wrong").to_string();
        assert!(error.contains(message), "{queue} {set}: {error}");
    }
}

#[test]
fn tables_at_links_are_valid_by_the_schema() {
    use boon::{Compiler, Schemas};
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("network.json", schema()).expect("it is a schema");
    let index = compiler.compile("network.json", &mut schemas).expect("it is a schema");
    let is_valid = |text: &str| {
        let table: toml::Table = text.parse().expect("it is TOML");
        schemas.validate(&serde_json::to_value(table).expect("there are no dates in it"), index).is_ok()
    };
    for (table, _) in all_kinds() {
        assert!(is_valid(&net(table, "\"fq-codel\"")), "{table}");
    }
    for wrong in ["{ kind = \"blue\" }", "{ kind = \"red\", mn = 3 }", "{ limit = 3 }", "true"] {
        assert!(!is_valid(&net(wrong, "100")), "{wrong}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of mistakes")]
fn a_wrong_table_gets_one_sentence_with_its_place() {
    for (value, says) in [
        (
            "{ kind = \"blue\" }",
            "net.toml:10:18: a queue has no kind `blue`; its kinds are droptail, red, dctcp, pie, \
          token-bucket, codel, fqcodel, cake, priority",
        ),
        ("{ kind = \"drptail\" }", "net.toml:10:18: a queue has no kind `drptail`; did you mean `droptail`?"),
        (
            "{ kind = 3 }",
            "net.toml:10:18: `kind` must be text, not a number; its kinds are droptail, red, dctcp, pie, \
          token-bucket, codel, fqcodel, cake, priority",
        ),
        (
            "{ limit = 3 }",
            "net.toml:10:9: a queue needs the key `kind`; its kinds are droptail, red, dctcp, pie, \
          token-bucket, codel, fqcodel, cake, priority",
        ),
        ("{ kind = \"red\", mn = 3 }", "net.toml:10:25: a queue of kind `red` has no key `mn`; did you mean `min`?"),
        (
            "{ kind = \"red\", max_probabilty = 0.1 }",
            "net.toml:10:25: a queue of kind `red` has no key \
          `max_probabilty`; did you mean `max_probability`?",
        ),
        (
            "{ kind = \"droptail\", name = \"x\" }",
            "net.toml:10:30: a queue of kind `droptail` has no key `name`; \
          its keys are limit, device, kind",
        ),
        (
            "{ kind = \"dctcp\", k = 3, mark_at = 4 }",
            "net.toml:10:34: `mark_at` and `k` are two names of one key; \
          leave one of them out",
        ),
        ("{ kind = \"dctcp\", k = 0 }", "net.toml:10:31: `mark_at` must be between 1 and 1000000000, not 0"),
        (
            "{ kind = \"codel\", target = 5 }",
            "net.toml:10:36: `target`: `5` has no unit; a duration's units are ps, \
          ns, us, ms, s, min, h and d, as in `10s`",
        ),
        (
            "{ kind = \"red\", gentle = \"yes\" }",
            "net.toml:10:34: `gentle` must be `true` or `false`, not text in \
          quotes; write it without quotes",
        ),
        (
            "{ kind = \"droptail\", limit = true }",
            "net.toml:10:38: `limit` must be packets or bytes, not `true`; \
          write packets as `100`, bytes as `\"64KiB\"`",
        ),
        (
            "{ kind = \"priority\", limit = \"0B\" }",
            "net.toml:10:38: `limit` has zero bytes, room for no packet; give it room for a packet; `0`, in packets, \
             lets no packet wait",
        ),
        (
            "{ kind = \"red\", min = 20, max = 5 }",
            "net.toml:10:9: the queue has a `min` of 20 packets and a `max` \
          of 5; `min` must not exceed `max`",
        ),
        (
            "{ kind = \"token-bucket\", burst = \"3kB\" }",
            "net.toml:10:9: a queue of kind `token-bucket` needs the \
          key `rate`; add `rate = \"10Mbps\"`: bits in a second, headers included",
        ),
        (
            "\"token-bucket\"",
            "net.toml:10:9: a queue of kind `token-bucket` needs the key `rate`; add \
          `rate = \"10Mbps\"`: bits in a second, headers included",
        ),
        ("\"fqcodl\"", "net.toml:10:9: there is no queue `fqcodl`; did you mean `fqcodel`?"),
        (
            "true",
            "net.toml:10:9: `queue` must be packets or bytes, not `true`; write packets as `100`, bytes as \
          `\"64KiB\"`",
        ),
    ] {
        assert_eq!(error(&net(value, "100")), says, "{value}");
    }
}

/// A hundred packets arrive within a millisecond, and the link sends one in 8 ms. One is being sent and ten
/// wait; all others are dropped, as the limit of 20 packets is never reached.
#[test]
fn red_with_equal_limits_is_a_threshold() {
    let text = "network = \"threshold\"\nuntil = \"3s\"\nheaders = \"0B\"\nnodes = [\"a\", \"r\", \"b\"]\n\
        [[link]]\nfrom = \"a\"\nto = \"r\"\nrate = \"1Gbps\"\ndelay = \"0s\"\nqueue = \"unbounded\"\n\
        [[link]]\nfrom = \"r\"\nto = \"b\"\nrate = \"1Mbps\"\ndelay = \"0s\"\n\
        queue = { kind = \"red\", limit = 20, min = 10, max = 10, weight = 1 }\n\
        [[app]]\nname = \"c\"\nkind = \"constant\"\nfrom = \"a\"\nto = \"b\"\nrate = \"800Mbps\"\npacket = \"1000B\"\n\
        size = \"100kB\"\n";
    let outcome = run(text);
    let counts = ["packets_received", "packets_lost_early", "packets_lost_queue"].map(|name| count(&outcome, name));
    assert_eq!(counts, [11, 89, 0]);
}
