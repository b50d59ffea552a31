//! Values that no network can have, and networks that cannot work: the place, the mistake, the remedy.
//!
//! [`common::error`] reads a file and builds its network. The command's tests show the exit status.

use crate::common::{built, error};

/// Four nodes in a row. The keys of `top` stand above them, those of `link` are of the last link.
fn row(top: &str, link: &str, more: &str) -> String {
    format!(
        "network = \"row\"\nuntil = \"1s\"\nnodes = [\"a\", \"b\", \"c\", \"d\"]\n{top}\n[defaults]\nrate = \"10Mbps\"\n\
         delay = \"1ms\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\n[[link]]\nfrom = \"b\"\nto = \"c\"\n[[link]]\nfrom = \"c\"\n\
         to = \"d\"\n{link}\n{more}\n"
    )
}

const DATAGRAMS: &str = "[[app]]\nname = \"x\"\nkind = \"constant\"\nrate = \"1Mbps\"\nfrom = \"a\"\nto = \"d\"\n";
const TCP: &str = "[[app]]\nname = \"x\"\nkind = \"tcp\"\nsize = \"1MB\"\nfrom = \"a\"\nto = \"d\"\n";

/// Compares the message of each case with the expected one.
fn check(cases: impl IntoIterator<Item = (String, &'static str)>) {
    let wrong: Vec<String> = cases
        .into_iter()
        .map(|(text, expected)| (error(&text), expected))
        .filter(|(said, expected)| said != expected)
        .map(|(said, expected)| format!("said      {said}\nshould be {expected}\n"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn links_and_queues_that_cannot_be() {
    let cases = [
        ("rate = \"0bps\"", "net.toml:17:8: `rate` must be above 0, not 0bps"),
        ("rate = \"-1Mbps\"", "net.toml:17:8: `rate`: `-1Mbps` is negative; a rate is at least 0"),
        ("rate = \"1e30bps\"", "net.toml:17:8: `rate`: `1e30bps` is too large; rates are below 2^64 bits per second"),
        ("delay = \"-1ms\"", "net.toml:17:9: `delay`: `-1ms` is negative; a duration is at least 0"),
        ("delay = \"1e9s\"", "net.toml:17:9: `delay`: `1e9s` is too large; virtual time ends after 213 days"),
        ("loss = -0.1", "net.toml:17:8: `loss` must be between 0 and 1, not -0.1"),
        ("framing = \"wifi\"", "net.toml:17:11: `framing` must be none, ppp or ethernet, not `wifi`"),
        (
            "queue = \"0B\"",
            "net.toml:17:9: `queue` has zero bytes, room for no packet; give it room for a packet; `0`, in packets, lets \
             no packet wait",
        ),
        (
            "queue = -1",
            "net.toml:17:9: `queue` must be a whole number of packets from 0 to 4294967295, not -1; write packets as \
             `100`, bytes as `\"64KiB\"`",
        ),
        (
            "queue = { kind = \"codel\", limit = 0 }",
            "net.toml:17:9: the queue has a limit of zero packets; give it at least 1",
        ),
        (
            "queue = { kind = \"red\", min = 20, max = 5 }",
            "net.toml:17:9: the queue has a `min` of 20 packets and a `max` of 5; `min` must not exceed `max`",
        ),
        ("queue = { kind = \"red\", min = -1 }", "net.toml:17:31: `min` must be between 0 and 1000000000, not -1"),
        (
            "queue = { kind = \"token-bucket\", rate = \"0bps\", burst = \"3kB\" }",
            "net.toml:17:41: `rate` must be above 0, not 0bps",
        ),
        (
            "queue = { kind = \"codel\", target = \"10ms\", interval = \"1ms\" }",
            "net.toml:17:9: the queue has a target of 0.01s and an interval of 0.001s; the target must be above zero, and \
             the interval no shorter than the target",
        ),
        (
            "[[link]]\nfrom = \"a\"\nto = \"b\"",
            "net.toml:17:1: `a` and `b` are linked twice, first in line 8; leave one \
          out, or give the second a `name` of its own",
        ),
        (
            "name = \"a-b\"",
            "net.toml:14:1: there are two links of the name `a-b`, the first in line 8; give one another \
          `name`",
        ),
    ];
    check(cases.map(|(link, says)| (row("", link, ""), says)));
}

#[test]
fn apps_that_cannot_be() {
    let with = |keys: &str| row("", "", &format!("{TCP}{keys}"));
    let datagrams = |from: &str, to: &str| row("", "", &DATAGRAMS.replacen(from, to, 1));
    check([
        (
            datagrams("\"a\"", "\"z\""),
            "net.toml:22:8: there is no node `z`; there are 4 nodes, of which the first is `a`; `*` stands for any letters",
        ),
        (
            datagrams("from = \"a\"\nto = \"d\"", "flows = [[\"a\", \"z\"]]"),
            "net.toml:22:16: there is no node `z`; there are 4 nodes, of which the first is `a`; `*` stands for any \
             letters",
        ),
        (
            datagrams("from = \"a\"\nto = \"d\"", "flows = [[\"a\", \"a\"]]"),
            "net.toml:22:10: a flow is a list of two nodes, and perhaps a start; its two nodes must differ",
        ),
        (
            datagrams("to = \"d\"", "to = [\"d\", \"d\"]\nmulticast = true"),
            "net.toml:23:6: `d` would receive each packet twice; name each node once",
        ),
        (
            with("mss = 65507"),
            "net.toml:24:7: `mss` is 65507B, more than a packet can carry beside the headers; 65447B is \
          the most",
        ),
        (
            with("buffer = \"1000B\""),
            "net.toml:24:10: `buffer` is 1000B, and a segment 1460B; give it room for a segment, \
          or lower `mss`",
        ),
        (
            with("buffer = \"2GiB\""),
            "net.toml:24:10: `buffer` is 2147483648B, more than a window that can be announced \
          (RFC 7323); 1073741824B is the most",
        ),
        (with("initial_window = 0"), "net.toml:24:18: `initial_window` must be between 1 and 65536, not 0"),
        (with("min_rto = \"-1s\""), "net.toml:24:11: `min_rto`: `-1s` is negative; a duration is at least 0"),
        (with("writes = \"1kB\""), "net.toml:24:10: `writes` needs a `rate`; give both, or none of them"),
        (
            with("writes = \"1MB\"\nprofile = \"ns3\""),
            "net.toml:24:10: `writes` is 1000000B, and the send buffer 131072B, which takes it whole; write less at a \
             time, or raise `buffer`",
        ),
        (
            with("congestion = \"cubik\""),
            "net.toml:24:14: `congestion` must be newreno, cubic, dctcp, bbr or vegas, not \
          `cubik`; did you mean `cubic`?",
        ),
        (with("").replace("1MB", "0B"), "net.toml:21:8: `size` must be above 0, not 0B"),
        (
            row("", "duplex = false", TCP),
            "net.toml:18:1: there is no way from `d` to `a`, for the app `x`; add a link between them, or leave the app \
             out",
        ),
    ]);
}

#[test]
fn routes_and_events_that_cannot_be() {
    let route = |keys: &str| row("", "", &format!("{DATAGRAMS}[[route]]\nat = \"b\"\nto = \"d\"\n{keys}"));
    let event = |keys: &str| row("", "", &format!("[[event]]\n{keys}"));
    check([
        (
            route("via = \"c\"\n[[route]]\nat = \"c\"\nto = \"d\"\nvia = \"b\""),
            "net.toml:24:1: the static routes to `d` lead in a loop: `b`, `c`, `b`; change one of the routes, or leave it \
             out",
        ),
        (
            route("via = \"d\""),
            "net.toml:27:7: no link joins `b` and `d`; name a neighbour of each node of `at`, or a link of it",
        ),
        (
            route("via = \"z\""),
            "net.toml:27:7: there is no node `z`; there are 4 nodes, of which the first is `a`; `*` stands for any \
             letters",
        ),
        (
            event("at = \"1s\"\nlink = \"a-z\"\nstate = \"down\""),
            "net.toml:20:8: there is no link `a-z`; did you mean \
          `a-b`?",
        ),
        (event("at = \"0s\"\nlink = \"a-b\"\nstate = \"down\""), "net.toml:19:6: `at` must be above 0, not 0s"),
        (event("at = \"1s\"\nlink = \"a-b\"\nrate = \"0bps\""), "net.toml:21:8: `rate` must be above 0, not 0bps"),
        (
            row("[[queue]]\nname = \"q\"\nkind = \"codel\"\n[[queue]]\nname = \"q\"\nkind = \"red\"", "", ""),
            "net.toml:8:8: there are two queues of the name `q`; give one another name",
        ),
    ]);
}

/// A loop that only arises when a link fails is refused before the run, with its time. No packet needs a
/// limit of hops.
#[test]
fn static_routes_that_loop_after_a_failure_are_refused() {
    let ring = "[[link]]\nfrom = \"d\"\nto = \"a\"\ndelay = \"9ms\"\n[[route]]\nat = \"a\"\nto = \"d\"\nvia = \"b\"\n\
                [[event]]\nat = \"500ms\"\nlink = \"b-c\"\nstate = \"down\"\n";
    let text = row("", "", &format!("{ring}{DATAGRAMS}"));
    assert_eq!(
        error(&text),
        "net.toml:22:1: after the change at 0.5s, the static routes to `d` lead in a loop: `a`, `b`, `a`; change one of \
         the routes, or leave it out"
    );
}

#[test]
fn a_token_bucket_that_cannot_hold_a_packet_is_noted() {
    let bucket = |burst: u32, app| {
        let link = format!("queue = {{ kind = \"token-bucket\", rate = \"1Mbps\", burst = \"{burst}B\" }}");
        built(&row("", &link, app)).notes
    };
    // 1,000 bytes of payload and 30 of headers; 1,460 and 40.
    let says = "the token bucket of the link `c-d` has a burst of 1029B: it drops packets of `x` of 1030B, if they come \
                there";
    assert_eq!(bucket(1029, DATAGRAMS), [says]);
    assert_eq!(bucket(1030, DATAGRAMS), [""; 0]);
    assert_eq!(bucket(1499, TCP).len(), 1);
    assert_eq!(bucket(1500, TCP), [""; 0]);
}
