//! Apps of the kind `tcp`: their keys, and the file written out in full.

use crate::common::on_every_engine;
use parades_netfile::{NetworkFile, explicit};
use parades_packet::description::AppKind;
use parades_tcp::control::{Algorithm, HyStart};
use parades_tcp::settings::{EcnUse, RtoFloor, Settings};

const FILE: &str = r#"
network = "two hosts"
until = "20s"
nodes = ["a", "r", "b"]
[[link]]
from = "a"
to = "r"
rate = "20Mbps"
delay = "1ms"
[[link]]
from = "r"
to = "b"
rate = "2Mbps"
delay = "10ms"
queue = 8
framing = "ppp"
[[app]]
name = "bulk"
kind = "tcp"
from = "a"
to = "b"
size = "300kB"
APP
"#;

fn file(keys: &str) -> NetworkFile {
    let text = FILE.replace("APP", keys);
    NetworkFile::parse("n.toml".as_ref(), text).expect("it is right").expect("it is a network")
}

fn settings(keys: &str) -> Settings {
    let file = file(keys);
    let (description, ..) = file.describe(&file.parameters(), 1).expect("it is possible");
    match &description.apps[0].kind {
        AppKind::Tcp(tcp) => tcp.settings.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_profile_sets_everything_and_keys_change_it() {
    assert_eq!(settings("congestion = \"newreno\"").mss, 1460);
    let ns3 = settings("profile = \"ns3\"\nmss = \"1448B\"\nmin_rto = \"200ms\"\nhystart = false\nbuffer = \"4MB\"");
    assert_eq!((ns3.mss, ns3.send_buffer, ns3.receive_buffer), (1448, 4_000_000, 4_000_000));
    assert_eq!(ns3.rto_floor, RtoFloor::Whole(parades_core::time::Delay::from_ms(200)));
    assert!(matches!(ns3.algorithm, Algorithm::Cubic(cubic) if cubic.hystart == HyStart::Off));
    let dctcp = settings("congestion = \"dctcp\"");
    assert_eq!((dctcp.ecn, dctcp.marks_all_segments), (EcnUse::Ask, false));
    for name in ["newreno", "cubic", "dctcp", "bbr", "vegas"] {
        assert_eq!(settings(&format!("congestion = \"{name}\"")).algorithm.name(), name);
    }
}

#[test]
fn a_file_written_out_in_full_has_the_same_streams() {
    for keys in [
        "",
        "keep_alive = \"1h\"\nuser_timeout = \"30s\"",
        "profile = \"ns3\"\ncongestion = \"dctcp\"",
        "writes = \"1kB\"\nrate = \"1Mbps\"\necn = true",
    ] {
        let file = file(keys);
        let (description, until, _) = file.describe(&file.parameters(), 1).expect("it is possible");
        let text = explicit("two hosts", &Default::default(), until, &description);
        let again = NetworkFile::parse("n.toml".as_ref(), text).expect("it is right").expect("it is a network");
        let (described, ..) = again.describe(&again.parameters(), 1).expect("it is possible");
        assert_eq!(described.apps, description.apps, "{keys}");
    }
}

#[test]
fn a_stream_of_a_file_arrives_on_every_engine() {
    let file = file("");
    let built = file.build(&file.parameters(), 1).expect("it is possible");
    let all = on_every_engine(&built.model, 1, built.until);
    for (name, outcome) in &all {
        assert_eq!(outcome.digest, all[0].1.digest, "{name}");
        let bytes = outcome.metrics.get("bytes_received").and_then(|metric| metric.counter());
        assert_eq!(bytes, Some(300_000), "{name}");
    }
}

#[test]
fn a_stream_without_an_end_needs_a_rate() {
    let text = FILE.replace("size = \"300kB\"\nAPP", "");
    let error = NetworkFile::parse("n.toml".as_ref(), text).map(|file| {
        let file = file.expect("it is a network");
        file.build(&file.parameters(), 1).map(|_| ()).unwrap_err().to_string()
    });
    let message = error.unwrap_or_else(|error| error.to_string());
    assert!(message.contains("needs a `size`, or `writes` and `rate`"), "{message}");
}

#[test]
fn hystart_is_refused_where_it_has_no_effect() {
    let file = file("congestion = \"newreno\"\nhystart = true");
    let error = file.describe(&file.parameters(), 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "n.toml:24:11: `hystart` acts only with `congestion=cubic`; set `congestion = \"cubic\"`, or leave `hystart` out"
    );
}
