//! Wrong files, and their messages: the place, the mistake, the remedy.

use crate::common::{error, file};
use parades_netfile::{EXAMPLE, NetworkFile};

/// Two nodes and a link, and then `more`.
fn small(more: &str) -> String {
    format!(
        "network = \"small\"\nuntil = \"10s\"\nnodes = [\"a\", \"b\"]\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10Mbps\"\ndelay = \"5ms\"\n{more}"
    )
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of mistakes")]
fn each_mistake_has_its_message() {
    let app = "[[app]]\nname = \"x\"\nkind = \"constant\"\nrate = \"1Mbps\"\nfrom = \"a\"\n";
    let cases = [
        // A misspelt key, above all tables, in a table, and in a kind of table.
        (
            "network = \"\"\nrooting = \"hops\"\n".to_owned(),
            "net.toml:2:1: a network file has no key `rooting`; did you mean `routing`?",
        ),
        (small("quue = 3\n"), "net.toml:9:1: a link has no key `quue`; did you mean `queue`?"),
        (
            small(&format!("{app}to = \"b\"\nwindow = 3\n")),
            "net.toml:15:1: an app of kind `constant` has no key `window`; \
            its keys are name, from, to, pairs, except, flows, start, class, ecn, spread, rate, packet, size, stop, multicast, kind",
        ),
        // A list of nobody.
        (
            small(&format!("{}to = \"b\"\n", app.replace("from = \"a\"", "from = []"))),
            "net.toml:13:8: `from` names nothing; name at least one",
        ),
        // A unit missing, or of another quantity.
        (
            small("queue = \"100\"\n"),
            "net.toml:9:9: `queue`: `100` has no unit; write packets as `100`, bytes as `\"64KiB\"`",
        ),
        (
            small("").replace("5ms", "5"),
            "net.toml:8:9: `delay`: `5` has no unit; a duration's units are ps, ns, us, ms, s, min, h and d, as in `10s`",
        ),
        (
            small("").replace("\"10Mbps\"", "10"),
            "net.toml:7:8: `rate`: `10` has no unit; a rate's units are bps, kbps, Mbps, Gbps and Tbps, as in `10Mbps`",
        ),
        (
            small("").replace("5ms", "5Mbps"),
            "net.toml:8:9: `delay`: `5Mbps` is a rate, not a duration; a duration's units are ps, ns, us, ms, s, min, h and d",
        ),
        // A node that there is not.
        (small("").replace("to = \"b\"", "to = \"bb\""), "net.toml:6:6: there is no node `bb`; did you mean `b`?"),
        (
            small("").replace("to = \"b\"", "to = \"west.*\""),
            "net.toml:6:6: no node has a name like `west.*`; one node is `a`",
        ),
        // A link twice.
        (
            small("[[link]]\nfrom = \"b\"\nto = \"a\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n"),
            "net.toml:9:1: `b` and `a` are linked twice, first in line 4; \
            leave one out, or give the second a `name` of its own",
        ),
        (
            small("").replace("to = \"b\"", "to = \"a\""),
            "net.toml:4:1: a link joins `a` to itself; give it two different ends",
        ),
        // A negative rate, and none.
        (small("").replace("10Mbps", "-10Mbps"), "net.toml:7:8: `rate`: `-10Mbps` is negative; a rate is at least 0"),
        (small("").replace("10Mbps", "0Mbps"), "net.toml:7:8: `rate` must be above 0, not 0Mbps"),
        (small("loss = 1.5\n"), "net.toml:9:8: `loss` must be between 0 and 1, not 1.5"),
        (
            small("").replace("rate = \"10Mbps\"\n", ""),
            "net.toml:4:1: nothing says the rate of the link `a-b`; add `rate = \"10Mbps\"` here or below `[defaults]`",
        ),
        // A link whose name would mean several.
        (
            small("name = \"a*\"\n"),
            "net.toml:9:8: `a*` is no name for a link; leave out `*` and control characters, and `$` at the start",
        ),
        // An event of nothing.
        (
            small("[[event]]\nat = \"1s\"\nlink = \"a-c\"\nstate = \"down\"\n"),
            "net.toml:11:8: there is no link `a-c`; did you mean `a-b`?",
        ),
        (
            small("[[event]]\nat = \"1s\"\nlink = \"b-a\"\n"),
            "net.toml:9:1: the event changes nothing of the link; add `state = \"down\"`, or a `rate`, `delay` or `loss`",
        ),
        (
            small("[[event]]\nat = \"1s\"\nstate = \"down\"\n"),
            "net.toml:9:1: an event is of a link or of a node; add `link = \"a-b\"` or `node = \"a\"`",
        ),
        (
            small("[[event]]\nat = \"1s\"\nnode = \"a\"\nstate = \"dwon\"\n"),
            "net.toml:12:9: `state` must be down or up, not `dwon`; did you mean `down`?",
        ),
        (
            small("[[event]]\nat = \"1s\"\nlink = \"zzz\"\nstate = \"down\"\n"),
            "net.toml:11:8: there is no link `zzz`; the only link is `a-b`",
        ),
        // An app on a node that there is not, to itself, without a way, of no kind.
        (
            small(&format!("{app}to = \"c\"\n")),
            "net.toml:14:6: there is no node `c`; there are 2 nodes, of which the first is `a`; `*` stands for any letters",
        ),
        (
            small(&format!("{app}to = \"a\"\n")),
            "net.toml:13:8: a node cannot send to itself; name different nodes in `from` and `to`, or set `pairs = \"random\"`",
        ),
        (
            small("[[app]]\nname = \"x\"\nkind = \"constant\"\nrate = \"1Mbps\"\nflows = []\n"),
            "net.toml:13:9: `flows` names nothing; name at least one pair, or leave the app out",
        ),
        (small(app), "net.toml:9:1: an app needs the key `to`; add `to = \"NODE\"`, or give `flows`"),
        (
            small(&format!("{app}to = \"c\"\n")).replace("\"b\"]", "\"b\", \"c\"]"),
            "net.toml:9:1: there is no way from `a` to `c`, for the app `x`; add a link between them, or leave the app out",
        ),
        // Keys of a network without the key `network`.
        (
            "until = \"1s\"\nnodes = []\n".to_owned(),
            "net.toml:2:1: this key is one of network files, and the file has no key `network`; write `network = \"TITLE\"` as its first line",
        ),
        // More samples, and references, than make sense.
        (
            small("[measure]\nevery = \"1ps\"\n"),
            "net.toml:10:9: a sample every 0.000000000001s makes 10000000000000 of them until 10s, more than 1000000; give a longer time",
        ),
        (
            (0..20).fold(small("[parameters]\n"), |text, i| text + &format!("p{i} = \"$p{}\"\n", i + 1)) + "p20 = 1\n",
            "net.toml:10:6: `$p1` refers to a parameter that refers to another, and so on more than 16 times; give it its value",
        ),
        (
            (0..1001).fold(small("[parameters]\n"), |text, i| text + &format!("p{i} = {i}\n")),
            "net.toml:1010:1: the file has 1001 parameters, more than 1000; write what never changes where it is used",
        ),
        (
            small("[[app]]\nname = \"x\"\nkind = \"constnat\"\n"),
            "net.toml:11:8: an app has no kind `constnat`; did you mean `constant`?",
        ),
        (
            small("[[app]]\nname = \"x\"\n"),
            "net.toml:9:1: an app needs the key `kind`; its kinds are constant, poisson, on-off, request-response, transfer, tcp",
        ),
        (
            small(&format!("{app}to = \"b\"\n{app}to = \"b\"\n")),
            "net.toml:16:8: there are two apps of the name `x`, the first in line 9; give one another name",
        ),
        // A part that would not fit into memory.
        (
            small("[[part]]\nname = \"c\"\nkind = \"campus\"\nsize = 4096\nlan_clients = 65536\n"),
            "net.toml:12:8: this makes 3221364736 nodes beside the 2 before it, and a network has at most 16777216; make it smaller",
        ),
        // A group of no nodes.
        (small("[[group]]\nname = \"g\"\nsize = 0\n"), "net.toml:11:8: `size` must be between 1 and 16777216, not 0"),
        (
            small("[[group]]\nname = \"g\"\n"),
            "net.toml:9:1: a group needs the key `size`; add `size = 10`: how many nodes it has",
        ),
        (
            small("[[group]]\nname = \"g\"\nsize = 2\nattach = \"c\"\n"),
            "net.toml:12:10: there is no node `c`; there are 4 nodes, of which the first is `a`; `*` stands for any letters",
        ),
        // References to parameters: circular, to none, of the wrong kind.
        (
            small("[parameters]\nx = \"$y\"\ny = \"$z\"\nz = \"$x\"\n"),
            "net.toml:10:5: the parameters refer to each other in a circle: `$y` is `$z` is `$x` is `$y`; give one of them a value",
        ),
        (
            small("queue = \"$q\"\n"),
            "net.toml:9:9: there is no parameter `q`; declare it: `q = …` below `[parameters]`",
        ),
        (
            small("queue = \"$qeue\"\n[parameters]\nqueue = 3\n"),
            "net.toml:9:9: there is no parameter `qeue`; did you mean `queue`?",
        ),
        (
            small("loss = \"$p\"\n[parameters]\np = \"3s\"\n"),
            "net.toml:9:8: `loss` must be a number, not `3s` (`$p` is `3s`)",
        ),
        // One bracket for two, and the other way round.
        (
            small("[event]\nat = \"1s\"\n"),
            "net.toml:9:1: `event` must be a list of tables, not a table; write `[[event]]`, with two brackets, as there may be several",
        ),
        (
            small("[[measure]]\nevery = \"1s\"\n"),
            "net.toml:9:1: `measure` must be a table, not a list; write `[measure]`, with one bracket, as there is one",
        ),
        ("network = \"\"\n".to_owned(), "net.toml: the network has no nodes; name some: `nodes = [\"a\", \"b\"]`"),
        (
            "network = \"\"\nnodes = [\"a\", \"a\"]\n".to_owned(),
            "net.toml:2:15: there are two nodes of the name `a`; give one another name",
        ),
        (
            small("").replace("\"5ms\"", "5ms"),
            "net.toml:8:9: malformed TOML: text, and a value with its unit, needs quotes; write `delay = \"5ms\"`",
        ),
    ];
    let wrong: Vec<String> = cases
        .into_iter()
        .map(|(text, expected)| (error(&text), expected, text))
        .filter(|(said, expected, _)| said != expected)
        .map(|(said, expected, text)| format!("{text}\n  said      {said}\n  should be {expected}\n"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parameters_that_the_command_line_sets_wrongly_are_named() {
    let file = file(&small("queue = \"$limit\"\n[parameters]\nlimit = 10\nfast = \"10Mbps\"\n"));
    let mut values = file.parameters();
    let wrong = values.set_argument("--set", "fast=3s").expect_err("seconds are no rate");
    assert!(wrong.to_string().starts_with("--set fast=3s: `fast`: `3s` is a duration, not a rate"), "{wrong}");
    values.set_argument("--set", "limit=99999999999").expect("an integer");
    let wrong = file.build(&values, 1).expect_err("a queue is shorter");
    assert_eq!(
        wrong.to_string(),
        "net.toml:9:9: `queue` must be a whole number of packets from 0 to 4294967295, not 99999999999 (`$limit` is `99999999999`); \
         write packets as `100`, bytes as `\"64KiB\"`"
    );
}

#[test]
fn nesting_of_any_depth_is_refused_without_a_crash() {
    let deep = 2_000_000;
    for (text, place) in [
        (format!("network = \"\"\nnodes = {}", "[".repeat(deep)), "net.toml:2:"),
        (format!("network = \"\"\nx = {}", "{a = ".repeat(deep)), "net.toml:2:"),
        (format!("network = \"\"\n{}a = 1", "a.".repeat(deep)), "net.toml:2:1:"),
        (format!("network = \"\"\n[{}a]\n", "a.".repeat(deep)), "net.toml:2:1:"),
    ] {
        let message = error(&text);
        assert!(message.starts_with(place) && message.contains("malformed TOML: ") && message.len() < 300, "{message}");
    }
    let path = std::env::temp_dir().join(format!("parades-nesting-{}.toml", std::process::id()));
    // As long as networks that are written out in full may be; and longer.
    std::fs::write(&path, small(&"# A comment.\n".repeat(1 << 20))).expect("there is room for 13 MiB");
    assert!(NetworkFile::read(&path).expect("it is not too large").is_some());
    let longer = std::fs::File::create(&path).and_then(|file| file.set_len((256 << 20) + 1));
    longer.expect("holes take no room");
    let message = NetworkFile::read(&path).expect_err("it is too large").to_string();
    std::fs::remove_file(&path).expect("it was written");
    assert!(
        message.contains("is larger than 256 MiB, too large for a network; check that it is the file you meant"),
        "{message}"
    );
}

#[test]
fn a_file_of_many_apps_and_names_is_read() {
    // Forty times as long where lines are counted from the beginning for each app, and all names gone through
    // for each name.
    let many = 30_000;
    let mut text =
        small(&format!("[[group]]\nname = \"h\"\nsize = {many}\nattach = \"a\"\nrate = \"1Mbps\"\ndelay = \"1ms\"\n"));
    for host in 0..many {
        text += &format!(
            "[[app]]\nname = \"x{host}\"\nkind = \"constant\"\nrate = \"1Mbps\"\nflows = [[\"h.{host}\", \"b\"]]\n"
        );
    }
    let read = file(&text);
    let (description, ..) = read.describe(&read.parameters(), 1).expect("all is right");
    assert_eq!((description.nodes.len(), description.apps.len()), (many + 2, many));
    let twice = text.replace("\"x29999\"", "\"x0\"");
    assert_eq!(
        error(&twice),
        "net.toml:150011:8: there are two apps of the name `x0`, the first in line 15; give one another name"
    );
}

#[test]
fn other_files_are_left_to_others() {
    let read = |text: &str| NetworkFile::parse("x.toml".as_ref(), text.to_owned());
    assert!(read("scenario = \"phold\"\n").expect("it is TOML").is_none());
    assert!(read("\u{feff}network = \"\"\n").expect("it is TOML").is_some());
    assert!(
        NetworkFile::read("no/such/file.toml".as_ref())
            .expect_err("there is none")
            .to_string()
            .starts_with("no/such/file.toml: cannot be read:")
    );
}

#[test]
fn the_errors_of_files_that_are_referred_to_name_those() {
    let folder = std::env::temp_dir().join(format!("parades-edges-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder of the test's own");
    let text = "network = \"\"\n[[part]]\nname = \"p\"\nkind = \"edges\"\nfile = \"e.txt\"\ndelay = \"1ms\"\n";
    let of = |edges: &str| {
        std::fs::write(folder.join("e.txt"), edges).expect("a file of the test's own");
        let file =
            NetworkFile::parse(&folder.join("n.toml"), text.to_owned()).expect("it is well-formed").expect("a network");
        file.describe(&file.parameters(), 1)
            .map(|(description, ..)| description.links)
            .map_err(|error| error.to_string().replace(&format!("{}/", folder.display()), ""))
    };
    let links = of("# two links\na b 1Mbps 5ms 0.25\n\n  b c 2Mbps # the delay is the part's\n").expect("all is right");
    let [first, second] = &links[..] else { panic!("{links:?}") };
    assert_eq!((first.name.as_str(), first.rate_bps, first.loss), ("p.a-p.b", 1_000_000, 0.25));
    assert_eq!(
        (second.delay.as_ps(), &second.queue),
        (1_000_000_000, &parades_packet::queue::QueueLimit::Packets(100).into())
    );
    // A byte order mark is no part of the first name.
    let links = of("\u{feff}a b 1Mbps\nc a 1Mbps\n").expect("all is right");
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["p.a-p.b", "p.c-p.a"]);
    // HPCC's simulator has counts in the first line, and then the switches.
    let links = of("3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 25Gbps 0.001ms 0.5\n").expect("all is right");
    let [first, second] = &links[..] else { panic!("{links:?}") };
    assert_eq!((first.name.as_str(), first.rate_bps, first.loss), ("p.0-p.2", 100_000_000_000, 0.0));
    assert_eq!((second.rate_bps, second.delay.as_ps(), second.loss), (25_000_000_000, 1_000_000, 0.5));
    for (edges, expected) in [
        (
            "\u{feff}a b 1\n",
            "e.txt:1:5: `1` has no unit; a rate's units are bps, kbps, Mbps, Gbps and Tbps, as in `10Mbps`",
        ),
        (
            "a b 1Mbps\nc\n",
            "e.txt:2:1: a link has two ends; write two names, and perhaps rate, delay and loss, as in `a b 10Mbps 5ms 0.01`",
        ),
        ("a b 1\n", "e.txt:1:5: `1` has no unit; a rate's units are bps, kbps, Mbps, Gbps and Tbps, as in `10Mbps`"),
        (
            "a b 1Mbps 1ms 2\n",
            "e.txt:1:15: `2` is no number between 0 and 1; write two names, and perhaps rate, delay and loss, as in `a b 10Mbps 5ms 0.01`",
        ),
        ("", "e.txt: has no links; write a line for each, with two names"),
        (
            "a b\n",
            "n.toml:2:1: nothing says the rate of the link `p.a-p.b`; add `rate = \"10Mbps\"` here or below `[defaults]`",
        ),
    ] {
        assert_eq!(of(edges).expect_err("something is wrong"), expected);
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
}

#[test]
fn any_cut_or_garbled_file_is_refused_or_read_and_never_crashes() {
    let bytes = EXAMPLE.as_bytes();
    for end in (0..bytes.len()).step_by(7) {
        let text = EXAMPLE[..EXAMPLE.floor_char_boundary(end)].to_owned();
        if let Ok(Some(file)) = NetworkFile::parse("cut.toml".as_ref(), text) {
            let _ = file.describe(&file.parameters(), 1);
        }
    }
    for (at, replacement) in
        (0..bytes.len()).step_by(3).zip(["\"", "[", "0", "-", "$", "*", "\n", "{", "=", "é"].into_iter().cycle())
    {
        let mut text = EXAMPLE.to_owned();
        text.replace_range(at..=at, replacement);
        if let Ok(Some(file)) = NetworkFile::parse("garbled.toml".as_ref(), text) {
            let _ = file.describe(&file.parameters(), 1);
        }
    }
}
