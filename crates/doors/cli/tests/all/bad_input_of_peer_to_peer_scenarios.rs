//! Bad input of peer-to-peer scenarios: tables of latencies, files of sessions, torrents, and impossible
//! swarms.

use crate::common::{Folder, check};

#[test]
fn tables_of_latencies_are_refused_at_the_wrong_entry() {
    let folder = Folder::new("p2p-matrix");
    folder.write("wide.txt", "0 1 2\n1 0 3\n");
    folder.write("short.txt", "0 1 2\n1 0 3\n2 3\n");
    folder.write("negative.txt", "0 1 2\n1 0 -5\n2 -5 0\n");
    folder.write("missing.txt", "0 1 2\n1 0 nan\n2 4 0\n");
    folder.write("word.txt", "0 1 2\n1 0 abc\n2 4 0\n");
    folder.write("infinite.txt", "0 1e400\n1 0\n");
    folder.write("long.txt", "0 1e30\n1e30 0\n");
    folder.write("empty.txt", "# nothing\n");
    folder.write("apart.txt", "0 - -\n- 0 -\n- - 0\n");
    folder.write(
        "file.toml",
        "scenario = \"bittorrent\"\n[parameters]\npeers = 2\nunderlay = \"matrix\"\nmatrix = \"negative.txt\"\n",
    );
    let case =
        |file: &str| format!("run bittorrent --quiet --set peers=2 --set underlay=matrix --set matrix={file}.txt");
    let cases = [
        (case("none"), "none.txt: the file cannot be read: No such file or directory; check its name and permissions"),
        (
            case("wide"),
            "wide.txt:1:1: this line has 3 latencies, not 2; a table has as many latencies in each line as it has lines",
        ),
        (
            case("short"),
            "short.txt:3:1: this line has 2 latencies, not 3; a table has as many latencies in each line as it has lines",
        ),
        (case("word"), "word.txt:2:5: a latency cannot be `abc`; write a number of 0 or more"),
        (case("infinite"), "infinite.txt:1:3: a latency cannot be 1e400; write a number of 0 or more"),
        (case("long"), "long.txt:1:3: a latency cannot be 1e30; write a number of 0 or more"),
        (case("empty"), "empty.txt:1:1: there is no table of latencies; write a line of numbers for each place"),
        (
            case("apart") + " --set missing=detour",
            "apart.txt:1:3: no other place joins the places 1 and 2, counted from 1; write a latency, or leave one of the two places out",
        ),
        (
            "run bittorrent --quiet --set underlay=matrix".to_owned(),
            "--set underlay=matrix: the underlay `matrix` needs a file; set `matrix` to its name",
        ),
        (case("negative"), "negative.txt:2:5: a latency cannot be -5; write a number of 0 or more"),
        (case("missing"), "missing.txt:2:5: a latency cannot be nan; write a number of 0 or more"),
        ("run file.toml".to_owned(), "negative.txt:2:5: a latency cannot be -5; write a number of 0 or more"),
    ];
    let cases: Vec<(&str, i32, &str)> = cases.iter().map(|(command, message)| (&**command, 2, *message)).collect();
    check(&folder, &cases);
}

#[test]
fn files_of_sessions_are_refused_at_the_wrong_time() {
    let folder = Folder::new("p2p-sessions");
    folder.write("overlap.txt", "1 2 10 20 15 30\n");
    folder.write("order.txt", "1 2 30 40 10 20\n");
    folder.write("back.txt", "1 1 20 10\n");
    folder.write("odd.txt", "1 2 10 20 30\n");
    folder.write("count.txt", "1 3 10 20 30 40\n");
    folder.write("negative.txt", "1 1 -5 20\n");
    folder.write("far.txt", "1 1 1e300 2e300\n");
    folder.write("lines.txt", "1 10 20\n1 15 30\n");
    folder.write("nan.txt", "1 10 nan\n");
    folder.write("node.txt", "70 10 20\n");
    let case = |file: &str| format!("run kademlia --quiet --set nodes=20 --until 100s --set churn_file={file}.txt");
    let cases = [
        (case("none"), "none.txt: the file cannot be read: No such file or directory; check its name and permissions"),
        (
            case("overlap"),
            "overlap.txt:1:11: a session begins at 15 s, but the one before it ends at 20 s; list the sessions of a host in the order of time",
        ),
        (
            case("lines"),
            "lines.txt:2:1: node 1 joins at 15 s, before its session from 10 s has ended; let the sessions of a node not overlap",
        ),
        (
            case("order"),
            "order.txt:1:11: a session begins at 10 s, but the one before it ends at 40 s; list the sessions of a host in the order of time",
        ),
        (case("back"), "back.txt:1:8: the session ends before it has begun; let it end later"),
        (
            case("odd"),
            "odd.txt:1:3: 2 sessions have 2 times each, but this line has 3 times; write `host n start_1 end_1 … start_n end_n`, or `node join_s leave_s` in all lines",
        ),
        (
            case("count"),
            "count.txt:1:3: 3 sessions have 2 times each, but this line has 4 times; write `host n start_1 end_1 … start_n end_n`, or `node join_s leave_s` in all lines",
        ),
        (
            case("negative"),
            "negative.txt:1:5: `-5` is no time in seconds; write `host n start_1 end_1 … start_n end_n`, or `node join_s leave_s` in all lines",
        ),
        (
            case("far"),
            "far.txt:1:5: `1e300` is no time in seconds; write `host n start_1 end_1 … start_n end_n`, or `node join_s leave_s` in all lines",
        ),
        (
            case("nan"),
            "nan.txt:1:6: `nan` is no time in seconds; write `node join_s leave_s` as numbers, `3 0 9.5`, and no line of names",
        ),
        (
            case("node"),
            "--set churn_file=node.txt: the file has sessions of node 70, but the last node is 19; raise `nodes`, or leave its lines out",
        ),
        (
            "run bittorrent --quiet --set churn_file=node.txt".to_owned(),
            "--set churn_file=node.txt: the file has sessions of node 70, but the last node is 50; raise `peers`, or leave its lines out",
        ),
    ];
    let cases: Vec<(&str, i32, &str)> = cases.iter().map(|(command, message)| (&**command, 2, *message)).collect();
    check(&folder, &cases);
}

#[test]
fn torrents_are_refused_at_the_wrong_byte() {
    let folder = Folder::new("p2p-torrents");
    let hash = "h".repeat(20);
    let torrent = |length: &str, piece: &str, hashes: &str| {
        let pieces = format!("{}:{hashes}", hashes.len());
        format!("d4:infod6:lengthi{length}e12:piece lengthi{piece}e6:pieces{pieces}ee")
    };
    folder.write("zero.torrent", torrent("1000", "600", ""));
    folder.write("short.torrent", torrent("1000", "0", &hash));
    folder.write("negative.torrent", torrent("-5", "600", &hash));
    folder.write("hashes.torrent", torrent("9000", "600", &hash));
    folder.write("huge.torrent", torrent("9223372036854775807", "9223372036854775807", &hash));
    folder.write("cut.torrent", "d4:info");
    folder.write("text.torrent", "hello");
    folder.write("empty.torrent", "");
    folder.write("deep.torrent", "l".repeat(100_000));
    folder.write("v2.torrent", "d4:infod9:file treed1:ad0:d6:lengthi9eeee12:meta versioni2e12:piece lengthi9eee");
    let help = "give a `.torrent` file as BEP 3 describes it";
    let cases = [
        ("zero", "at byte 50, the torrent has zero pieces"),
        ("short", "at byte 37, a length above zero is expected"),
        ("negative", "at byte 16, a length above zero is expected"),
        ("hashes", "at byte 50, 9000 bytes of data make 15 pieces, but `pieces` has 1"),
        ("huge", "at byte 7, the data is too long"),
        ("cut", "at byte 7, the file ends too early"),
        ("text", "at byte 0, no bencoded value begins"),
        ("empty", "at byte 0, the file ends too early"),
        ("deep", "at byte 33, values are nested deeper than 32"),
    ];
    let cases = cases.map(|(file, what)| {
        (format!("run bittorrent --quiet --set torrent={file}.torrent"), format!("{file}.torrent: {what}; {help}"))
    });
    let mut cases: Vec<(&str, i32, &str)> =
        cases.iter().map(|(command, message)| (&**command, 2, &**message)).collect();
    cases.push((
        "run bittorrent --quiet --set torrent=v2.torrent",
        2,
        "v2.torrent: at byte 56, the torrent is of BitTorrent v2 alone (BEP 52); make a v1 or hybrid torrent of its files, \
         or give `pieces` and `piece_bits`",
    ));
    cases.push((
        "run bittorrent --quiet --set torrent=none.torrent",
        2,
        "none.torrent: the file cannot be read: No such file or directory; check its name and permissions",
    ));
    check(&folder, &cases);
}

#[test]
fn impossible_swarms_are_refused_with_a_remedy() {
    let folder = Folder::new("p2p-swarms");
    folder.write("up.toml", "scenario = \"bittorrent\"\n[parameters]\nup = \"0bps\"\n");
    folder.write("unit.toml", "scenario = \"bittorrent\"\n[parameters]\nup = 0\n");
    folder.write("peers.toml", "scenario = \"bittorrent\"\n[parameters]\npeers = 500\nstub_domains = 2\n");
    check(
        &folder,
        &[
            (
                "run bittorrent --quiet --set up=0",
                2,
                "--set up=0: `up`: `0` has no unit; a rate's units are bps, kbps, Mbps, Gbps and Tbps, as in `10Mbps`",
            ),
            (
                "run bittorrent --quiet --set link_classes=20x1Mbps",
                2,
                "--set link_classes=20x1Mbps: `20x1Mbps` is not a class of links; write NUMBERxUP/DOWN, as in \
                 `20x128kbps/1Mbps`",
            ),
            (
                "run bittorrent --quiet --set link_classes=20x0bps/1Mbps",
                2,
                "--set link_classes=20x0bps/1Mbps: `20x0bps/1Mbps` is not a class of links; write \
                 NUMBERxUP/DOWN, as in `20x128kbps/1Mbps`",
            ),
            (
                "run bittorrent --quiet --set link_classes=30x1Mbps/1Mbps,21x2Mbps/2Mbps",
                2,
                "--set link_classes=30x1Mbps/1Mbps,21x2Mbps/2Mbps: the classes have more links than the 50 \
                 peers; lower their numbers, or raise `peers`",
            ),
            ("run bittorrent --quiet --set up=0bps", 2, "--set up=0bps: `up` must be above 0, not 0bps"),
            ("run bittorrent --quiet --set down=0kbps", 2, "--set down=0kbps: `down` must be above 0, not 0kbps"),
            (
                "run bittorrent --quiet --set up=-1kbps",
                2,
                "--set up=-1kbps: `up`: `-1kbps` is negative; a rate is at least 0",
            ),
            ("run up.toml", 2, "up.toml:3:6: `up` must be above 0, not 0bps"),
            (
                "run unit.toml",
                2,
                "unit.toml:3:6: `up`: `0` has no unit; a rate's units are bps, kbps, Mbps, Gbps and Tbps, as in `10Mbps`",
            ),
            (
                "run bittorrent --quiet --set peers=1000 --set stub_domains=2",
                2,
                "--set peers=1000: 1001 peers need a place of their own each, but there are only 40 stub routers; raise `stub_domains` or `stub_nodes`, or lower it",
            ),
            (
                "run peers.toml",
                2,
                "peers.toml:3:9: 501 peers need a place of their own each, but there are only 40 stub routers; raise `stub_domains` or `stub_nodes`, or lower it",
            ),
        ],
    );
}

#[test]
fn swarms_of_impossible_numbers_are_refused_with_a_remedy() {
    let folder = Folder::new("p2p-numbers");
    check(
        &folder,
        &[
            (
                "run bittorrent --quiet --set swarms=51",
                2,
                "--set swarms=51: the number of swarms must be from 1 to the number of peers, 50; choose another value",
            ),
            (
                "run bittorrent --quiet --set swarms=3 --set seeds=17",
                2,
                "--set seeds=17: 17 seeds are more than 16 peers in a swarm; choose another value",
            ),
            (
                "run bittorrent --quiet --set peers=0",
                2,
                "--set peers=0: `peers` must be between 1 and 4294967291, not 0",
            ),
            (
                "run bittorrent --quiet --set seeds=51",
                2,
                "--set seeds=51: 51 seeds are more than 50 peers; choose another value",
            ),
            (
                "run bittorrent --quiet --set free_riders=50",
                2,
                "--set free_riders=50: 50 free riders are more than the 49 peers that download; choose another value",
            ),
            (
                "run bittorrent --quiet --set pieces=0",
                2,
                "--set pieces=0: `pieces` must be between 1 and 10000000, not 0",
            ),
            ("run bittorrent --quiet --set rechoke=0s", 2, "--set rechoke=0s: `rechoke` must be above 0, not 0s"),
            (
                "run bittorrent --quiet --set jitter_law=measured",
                2,
                "--set jitter_law=measured: the underlay `transit-stub` has no measured jitter; set `underlay=cities`, or choose another law",
            ),
            (
                "run bittorrent --quiet --set peers=10 --set partition_groups=100 --set partition_at=1s --set partition_for=1s",
                2,
                "--set partition_groups=100: 11 peers cannot be parted into 100 groups; lower it, or simulate more peers",
            ),
        ],
    );
}
