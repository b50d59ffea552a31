//! Incast: many senders answer one receiver at once, while a controller changes the rate of its link.
//!
//! *Covers*: [`parades::network::PacketNetwork`], a packet network that another program steps.
//!
//! *Scenario*: eight hosts send 2 MB each to a ninth over a switch, by TCP. The link from the switch to the
//! receiver has 10 Gb/s, and a queue that holds all windows. A controller looks at that link each 100 µs.
//! Once a quarter of the bytes has passed, it gives the link 2.5 Gb/s, as if another tenant needed the rest,
//! and takes that back once half of the bytes has passed.
//!
//! *Theory*: the link is never idle, so it is done when its rate, summed over time, is the bytes of all
//! packets. The controller checks the end against this sum, within 1 %.

use parades::AnyEngine;
use parades::network::{Fate, PacketLinkChange, PacketNetwork, TcpApp};
use parades::packet::description::{Description, Link};
use parades::packet::queue::QueueLimit;
use parades::prelude::*;
use parades::tcp::settings::Settings;
use parades::topology::NodeId;
use std::fmt::Write;

const SENDERS: u32 = 8;
const BYTES: u64 = 2_000_000;
/// A full segment of Linux carries 1448 bytes, in a packet of 1500.
const PACKETS: f64 = SENDERS as f64 * BYTES as f64 * 1500.0 / 1448.0;
const FAST_BPS: u64 = 10_000_000_000;
const SLOW_BPS: u64 = 2_500_000_000;
const STEP: Delay = Delay::from_us(100);

/// Plays the incast, and returns what has happened.
pub(crate) fn run() -> Result<String, Box<dyn std::error::Error>> {
    // Nodes 0 to 7 send, node 8 is the switch, and node 9 the receiver.
    let link = |name: &str, from, to| Link {
        name: name.into(),
        from,
        to,
        rate_bps: FAST_BPS,
        delay: Delay::from_us(1),
        queue: QueueLimit::Packets(20_000).into(),
        ..Link::default()
    };
    let (switch, receiver) = (SENDERS, SENDERS + 1);
    let senders: Vec<u32> = (0..SENDERS).collect();
    let description = Description {
        nodes: senders
            .iter()
            .map(|sender| format!("sender{sender}"))
            .chain(["switch".into(), "receiver".into()])
            .collect(),
        links: senders.iter().map(|&sender| link("", sender, switch)).chain([link("last", switch, receiver)]).collect(),
        ..Description::default()
    };
    let apps = vec![TcpApp::new(Settings::linux())];
    let mut network =
        PacketNetwork::new(description, apps, AnyEngine::Sequential, RunOptions::until(Time::from_secs(1)))?;
    let last = network.link("last").ok_or("the link has this name")?;
    for &sender in &senders {
        network.send(NodeId(sender), NodeId(receiver), BYTES)?;
    }

    // The changes of the rate, with their times.
    let mut rates = vec![(Time::ZERO, FAST_BPS)];
    let (mut lines, mut ends) = (String::new(), Vec::new());
    while ends.len() < senders.len() {
        network.advance_to(network.now().checked_add(STEP).ok_or("virtual time is long")?)?;
        ends.extend(network.completions()?);
        let port = network.ports(last)?[0];
        let share = port.bytes as f64 / PACKETS;
        let rate_bps = if (0.25..0.5).contains(&share) { SLOW_BPS } else { FAST_BPS };
        if rates.last().is_some_and(|&(_, before)| before != rate_bps) {
            network.set_link(last, PacketLinkChange::Rate(rate_bps))?;
            rates.push((network.now(), rate_bps));
            let (now, gbps, waiting) = (network.now(), rate_bps as f64 / 1e9, port.waiting);
            writeln!(lines, "{now}: the last link has {gbps} Gb/s from now on, and {waiting} packets wait for it")?;
        }
    }
    for end in &ends {
        let (sender, at, again) = (end.id.0, end.end.as_secs_f64() * 1e3, end.retransmissions);
        assert_eq!((end.fate, end.bytes), (Fate::Done, BYTES));
        writeln!(lines, "sender {sender} is done after {at:.3} ms, with {again} retransmissions")?;
    }

    // The bytes that the link could carry until the last end.
    let end = ends.iter().map(|end| end.end).max().ok_or("all have ended")?;
    let until = rates.iter().skip(1).map(|&(time, _)| time).chain([end]);
    let could: f64 =
        rates.iter().zip(until).map(|(&(from, bps), to)| bps as f64 / 8.0 * to.since(from).as_secs_f64()).sum();
    assert!((could / PACKETS - 1.0).abs() < 0.01, "the link could carry {could} bytes, and carried {PACKETS}");
    writeln!(lines, "the link could carry {could:.4e} bytes until then, and all packets have {PACKETS:.4e}")?;
    Ok(lines)
}

#[allow(dead_code, reason = "the test of the examples has a main function of its own")]
#[allow(clippy::print_stdout, reason = "it is what examples do")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", run()?);
    Ok(())
}
