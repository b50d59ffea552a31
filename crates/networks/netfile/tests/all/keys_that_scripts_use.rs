//! Keys that scripts outside the project rely on: each is read, has its effect, and is written out in full
//! again.

use crate::common::{self, count, run};
use parades_core::time::Delay;
use parades_netfile::{NetworkFile, explicit};
use parades_packet::description::{AppKind, Description, Framing};
use parades_packet::protocols::tcp::{Tcp, Writes};
use parades_tcp::control::{Algorithm, HyStart};
use parades_tcp::settings::{EcnUse, RtoFloor, Settings};
use parades_topology::routing::{Metric, Paths};

/// Two hosts and a router. `top`, `link` and `app` are further keys.
fn net(top: &str, link: &str, app: &str) -> String {
    format!(
        "network = \"keys\"\nuntil = \"5s\"\nnodes = [\"a\", \"r\", \"b\"]\n{top}\n\
         [[link]]\nfrom = \"a\"\nto = \"r\"\nrate = \"20Mbps\"\ndelay = \"1ms\"\n\
         [[link]]\nfrom = \"r\"\nto = \"b\"\nrate = \"8Mbps\"\ndelay = \"10ms\"\n{link}\n\
         [[app]]\nname = \"x\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\n{app}\n"
    )
}

/// Reads a file, and checks that the file written out in full makes the same network.
fn described(text: &str) -> Description {
    let read = |text: &str| {
        let file = NetworkFile::parse("n.toml".as_ref(), text.to_owned()).unwrap_or_else(|error| panic!("{error}"));
        let file = file.expect("it is a network");
        let described = file.describe(&file.parameters(), 1).unwrap_or_else(|error| panic!("{error}\n{text}"));
        (described.0, described.1)
    };
    let (description, until) = read(text);
    let full = explicit("in full", &Default::default(), until, &description);
    assert_eq!(read(&full).0, description, "{full}");
    description
}

/// Returns the parameters of the app with these keys.
fn tcp(keys: &str) -> Tcp {
    let description = described(&net("", "", keys));
    match &description.apps[0].kind {
        AppKind::Tcp(tcp) => (**tcp).clone(),
        other => panic!("{other:?}"),
    }
}

fn settings(keys: &str) -> Settings {
    tcp(&format!("size = \"1MB\"\n{keys}")).settings
}

#[test]
fn a_stream_has_a_size_or_writes_at_a_rate_or_both() {
    let writes = Some(Writes { bytes: 1000, rate_bps: Some(2_000_000) });
    let bytes = |keys: &str| (tcp(keys).bytes, tcp(keys).writes);
    assert_eq!(bytes("size = \"300kB\""), (300_000, None));
    assert_eq!(bytes("size = 300000"), (300_000, None));
    assert_eq!(bytes("writes = \"1000B\"\nrate = \"2Mbps\""), (parades_packet::protocols::tcp::ENDLESS, writes));
    assert_eq!(bytes("size = \"1MB\"\nwrites = \"1000B\"\nrate = \"2Mbps\""), (1_000_000, writes));
    // A buffer of ns-3 takes whole pieces, also if they have no rate.
    let pieces = Some(Writes { bytes: 512, rate_bps: None });
    assert_eq!(bytes("size = \"1MB\"\nprofile = \"ns3\"\nwrites = 512"), (1_000_000, pieces));
    // 2 Mbit/s for nearly five seconds, as the application writes no faster.
    let outcome = run(&net("", "", "writes = \"1000B\"\nrate = \"2Mbps\""));
    let received = count(&outcome, "bytes_received");
    assert!((1_200_000..=1_250_000).contains(&received), "{received}");
}

#[test]
fn every_key_of_tcp_changes_its_setting_and_no_other() {
    let changed = |change: fn(&mut Settings)| {
        let mut settings = Settings::linux();
        change(&mut settings);
        settings
    };
    for (keys, expected) in [
        ("", Settings::linux()),
        ("profile = \"linux\"", Settings::linux()),
        ("mss = \"1000B\"", changed(|settings| settings.mss = 1000)),
        ("mss = 1448", changed(|settings| settings.mss = 1448)),
        ("initial_window = 4", changed(|settings| settings.initial_window = 4)),
        ("buffer = \"64KiB\"", changed(|settings| (settings.send_buffer, settings.receive_buffer) = (65_536, 65_536))),
        ("sack = false", changed(|settings| settings.sack = false)),
        ("timestamps = false", changed(|settings| settings.timestamps = false)),
        ("delayed_ack = 1", changed(|settings| settings.delayed_ack_segments = 1)),
        ("min_rto = \"50ms\"", changed(|settings| settings.rto_floor = RtoFloor::Variation(Delay::from_ms(50)))),
        ("pacing = true", changed(|settings| settings.paces = true)),
        ("ecn = true", changed(|settings| settings.ecn = EcnUse::Ask)),
    ] {
        assert_eq!(settings(keys), expected, "{keys}");
    }
    let hystart = |keys: &str| match settings(keys).algorithm {
        Algorithm::Cubic(cubic) => cubic.hystart,
        other => panic!("{other:?}"),
    };
    assert_ne!(hystart("hystart = true"), HyStart::Off);
    assert_eq!(hystart("hystart = false"), HyStart::Off);
}

#[test]
fn every_congestion_control_has_its_name_in_both_profiles() {
    for profile in ["linux", "ns3"] {
        for name in ["newreno", "cubic", "dctcp", "bbr", "vegas"] {
            let settings = settings(&format!("profile = \"{profile}\"\ncongestion = \"{name}\""));
            assert_eq!(settings.algorithm.name(), name);
            assert_eq!(settings.announces_mss, profile == "linux");
        }
    }
}

#[test]
fn links_have_frames_and_networks_have_paths() {
    for (value, framing) in [("none", Framing::None), ("ppp", Framing::Ppp), ("ethernet", Framing::Ethernet)] {
        let links = described(&net("", &format!("framing = \"{value}\""), "size = \"1MB\"")).links;
        assert_eq!((links[0].framing, links[1].framing), (Framing::None, framing));
    }
    for (top, routing, paths) in [
        ("", Metric::Delay, Paths::All),
        ("routing = \"delay\"\npaths = \"ecmp\"", Metric::Delay, Paths::All),
        ("routing = \"hops\"\npaths = \"single\"", Metric::Hops, Paths::One),
    ] {
        let description = described(&net(top, "", "size = \"1MB\""));
        assert_eq!((description.routing, description.paths), (routing, paths), "{top}");
    }
}

/// A stream of 1 MB over 8 Mbit/s: the frames take their share of the link, so the last byte is later.
#[test]
fn frames_take_their_time() {
    let last = |framing: &str| {
        let outcome = run(&net("", &format!("framing = \"{framing}\""), "size = \"1MB\""));
        assert_eq!(count(&outcome, "bytes_received"), 1_000_000);
        common::value(&outcome, "completion_x") / 1e12
    };
    // Timestamps leave 1,448 bytes in a segment, so there are 691 of them, with 2 or 38 further bytes at 1 µs
    // a byte.
    let [none, ppp, ethernet] = ["none", "ppp", "ethernet"].map(last);
    assert!((0.0013..0.0015).contains(&(ppp - none)), "{none} {ppp}");
    assert!((0.0260..0.0280).contains(&(ethernet - none)), "{none} {ethernet}");
}
