//! The networks of the parts of a platform give the dates of the network of the whole platform, and their
//! states are written and read.

use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_flow::network::{Change, Ended, Execution, FluidNetwork, Outcome, Property};
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::platform::{HostId, LinkId, Platform};
use parades_flow::{generators, xml};
use std::sync::Arc;

/// Clusters, and a pair of hosts with profiles and disks between them in the order of the file.
fn platform() -> Platform {
    let cluster = |name: &str| {
        format!(
            r#"<cluster id="{name}" prefix="{name}-" suffix="" radical="0-4" speed="1Gf" bw="125MBps" lat="50us"
               bb_bw="300MBps" bb_lat="100us"/>"#
        )
    };
    let text = format!(
        r#"<platform version="4.1"><zone id="world" routing="Full">
        {}
        <host id="a" speed="1Gf"><disk id="d" read_bw="100MBps" write_bw="50MBps"/></host>
        <host id="b" speed="1Gf" speed_file="s"/>
        <link id="wire" bandwidth="10MBps" latency="1ms" bandwidth_file="w"/>
        <route src="a" dst="b"><link_ctn id="wire"/></route>
        {}
        </zone></platform>"#,
        cluster("one"),
        cluster("two")
    );
    // The profiles are written in the file.
    let with = |text: String| {
        let text = text.replace(" speed_file=\"s\"", "").replace(" bandwidth_file=\"w\"", "");
        let profiles = r#"<trace id="s" periodicity="0.5">0 1
0.2 0.5</trace><trace id="w" periodicity="0.7">0 1e7
0.3 2e6</trace>
<trace_connect kind="SPEED" trace="s" element="b"/><trace_connect kind="BANDWIDTH" trace="w" element="wire"/>"#;
        text.replace("</zone></platform>", &format!("{profiles}</zone></platform>"))
    };
    xml::parse("parts.xml".as_ref(), with(text).as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// Something that begins in a network: a flow, a computation, or the transfer of the disk of `a`.
#[derive(Clone, Copy)]
enum Begins {
    Flow(HostId, HostId, f64),
    Computation(HostId, f64),
    Disk(f64),
}

fn begin(network: &mut FluidNetwork, what: Begins) -> bool {
    let disk = network.platform().disk(network.platform().host("a").expect("it is there"), "d").expect("it has one");
    match what {
        Begins::Flow(from, to, _) | Begins::Flow(to, from, _) if !(network.has_host(from) && network.has_host(to)) => {
            return false;
        }
        Begins::Flow(from, to, bytes) => drop(network.start_flow(from, to, bytes).expect("a route")),
        Begins::Computation(host, _) if !network.has_host(host) => return false,
        Begins::Computation(host, flops) => drop(network.start_execution(host, Execution::new(flops))),
        Begins::Disk(_) if !network.has_host(network.platform().disks()[disk.0 as usize].host) => return false,
        Begins::Disk(bytes) => drop(network.start_disk(disk, parades_flow::network::Transfer::Read, bytes)),
    }
    true
}

fn ends(network: &mut FluidNetwork) -> impl Iterator<Item = (Time, Outcome)> {
    std::iter::from_fn(|| network.take_ended()).map(|Ended { at, outcome, .. }| (at, outcome))
}

#[test]
fn what_begins_in_a_part_ends_as_in_the_whole_platform() {
    let platform = Arc::new(platform());
    let parts = Arc::new(platform.parts());
    assert_eq!(parts.number(), 3);
    let model = NetworkModel::MaxMin(MaxMinModel::LV08);
    let mut whole = FluidNetwork::new(Arc::clone(&platform), model);
    let of_part = |part| FluidNetwork::of_part(Arc::clone(&platform), Arc::clone(&parts), part, model);
    let mut networks: Vec<FluidNetwork> = (0..3).map(of_part).collect();
    let rng = Rng::shared(1, 2);
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    let hosts = platform.hosts().len() as u64;
    let drawn = || HostId(u32::try_from(rng.below(hosts)).expect("few hosts"));
    for step in 0..400_u64 {
        let now = Time::ZERO.checked_add(Delay::from_ms(5 * step)).expect("soon");
        whole.advance(now);
        networks.iter_mut().for_each(|network| network.advance(now));
        let (from, to) = (drawn(), drawn());
        let what = match step % 4 {
            0 => Begins::Computation(from, 1e8),
            1 => Begins::Disk(1e6),
            _ => Begins::Flow(from, to, 1e6),
        };
        if let Begins::Flow(from, to, _) = what
            && (from == to || parts.of(from) != parts.of(to))
        {
            // No route connects parts: that is an error in either network.
            let here = &mut networks[parts.of(from) as usize];
            let refused = whole.start_flow(from, to, 1.0).map_err(|why| why.to_string());
            assert_eq!(here.start_flow(from, to, 1.0).map_err(|why| why.to_string()).err(), refused.err());
            continue;
        }
        assert!(begin(&mut whole, what));
        assert_eq!(networks.iter_mut().filter_map(|network| begin(network, what).then_some(())).count(), 1);
        if step == 100 {
            // A failure of a link, in the part that has it.
            let change = Change { property: Property::LinkState(LinkId(0)), value: 0.0 };
            whole.apply(change);
            let of_link = parts.of(HostId(0)) as usize;
            networks[of_link].apply(change);
        }
        expected.extend(ends(&mut whole));
        networks.iter_mut().for_each(|network| found.extend(ends(network)));
        // The states are written and read.
        if step % 50 == 7 {
            for (part, network) in (0..).zip(&mut networks) {
                let mut bytes = Vec::new();
                network.write(&mut bytes);
                let mut read = of_part(part);
                read.read_state(&mut &bytes[..]).expect("it was written");
                let mut again = Vec::new();
                read.write(&mut again);
                assert!(again == bytes, "part {part}");
                *network = read;
            }
        }
    }
    let sorted = |mut ends: Vec<(Time, Outcome)>| {
        ends.sort_by_key(|&(at, outcome)| (at, outcome == Outcome::Done));
        ends
    };
    assert!(expected.len() > 200, "{}", expected.len());
    assert!(expected.iter().any(|&(_, outcome)| outcome == Outcome::Failed));
    assert_eq!(sorted(found), sorted(expected));
}

#[test]
fn a_platform_of_one_part_is_that_part() {
    let platform = Arc::new(generators::star(3).expect("it is possible"));
    let parts = platform.parts();
    assert_eq!(parts.number(), 1);
    let network =
        FluidNetwork::of_part(Arc::clone(&platform), parts.into(), 0, NetworkModel::MaxMin(MaxMinModel::LV08));
    assert!(network == FluidNetwork::new(platform, NetworkModel::MaxMin(MaxMinModel::LV08)));
}
