//! Steps: how many steps a second a stepped run takes on this machine.
//!
//! *Covers*: [`parades::Run`] under several engines, [`parades::network`].
//!
//! *Scenario*: of 1,000 nodes that are idle, one wakes each second of virtual time. The run is advanced by a
//! microsecond, in which nothing happens, again and again; then by a second. A network of flows is given a
//! transfer in each step, and is asked what has ended; so is a packet network, with transfers of some 70
//! packets over two links. PHOLD of a million LPs is run in one piece and with a
//! cut each second of virtual time, in turn.

use parades::flow::generators::star;
use parades::flow::platform::HostId;
use parades::models::phold::{Parameters, Phold};
use parades::network::{IDEAL, Network, PacketLinkChange, PacketNetwork, TcpApp};
use parades::packet::description::{Description, Link};
use parades::prelude::*;
use parades::tcp::settings::Settings;
use parades::topology::{LinkId, NodeId};
use parades::{AnyEngine, Run, Steppable, rounds, window};
use std::time::Instant as Clock;

struct Idle;

impl Model for Idle {
    type State = ();
    type Message = ();
    type Global = NoGlobal;
    fn lps(&self) -> u32 {
        1000
    }
    fn channels(&self) -> Channels {
        Channels::whole(Delay::from_ms(1))
    }
    fn start(&self, ctx: &mut Context<'_, Self>) {
        if ctx.id() == LpId(0) {
            ctx.send_self(Delay::from_secs(1), ());
        }
    }
    fn handle(&self, (): &mut (), _: Body<&()>, ctx: &mut Context<'_, Self>) {
        ctx.send_to(LpId((ctx.id().0 + 1) % 1000), Delay::from_secs(1), ());
    }
}

/// Calls `step` until half a second has passed. Returns the steps a second.
#[allow(clippy::disallowed_methods, reason = "it measures")]
fn rate(mut step: impl FnMut()) -> f64 {
    let (begin, mut steps) = (Clock::now(), 0.0);
    while begin.elapsed().as_secs_f64() < 0.5 {
        (0..100).for_each(|_| step());
        steps += 100.0;
    }
    steps / begin.elapsed().as_secs_f64()
}

/// Returns the wall time of a run of PHOLD, in seconds. It goes on in one piece, or has a cut each second of
/// virtual time.
#[allow(clippy::disallowed_methods, reason = "it measures")]
fn phold(engine: AnyEngine, has_cuts: bool) -> Result<f64, parades::core::error::Error> {
    const SECONDS: u64 = 10;
    let begin = Clock::now();
    let model = Phold::<()>::new(Parameters { lps: 1_000_000, ..Parameters::default() });
    let mut run = Run::start(Steppable::new(model), engine, RunOptions::until(Time::from_secs(SECONDS)))?;
    for second in (1..SECONDS).filter(|_| has_cuts) {
        run.advance(Time::from_secs(second))?;
    }
    run.conclude()?;
    Ok(begin.elapsed().as_secs_f64())
}

/// Returns a packet network of 16 hosts at a switch.
fn packets() -> Result<PacketNetwork, parades::core::error::Error> {
    let link = |from| Link { name: format!("l{from}"), from, to: 16, rate_bps: 10_000_000_000, ..Link::default() };
    let description = Description {
        nodes: (0..17).map(|node| format!("n{node}")).collect(),
        links: (0..16).map(link).collect(),
        ..Description::default()
    };
    let apps = vec![TcpApp::new(Settings::linux())];
    PacketNetwork::new(description, apps, AnyEngine::Sequential, RunOptions::until(Time::MAX))
}

#[allow(clippy::print_stdout, reason = "it is what examples do")]
fn main() -> Result<(), parades::core::error::Error> {
    let engines = [
        ("sequential", AnyEngine::Sequential),
        ("window on 1 thread", AnyEngine::Window(window::Settings::of_threads(1))),
        ("window on 2 threads", AnyEngine::Window(window::Settings::of_threads(2))),
        ("rounds on 2 threads", AnyEngine::Rounds(rounds::Settings::of_threads(2))),
    ];
    for (name, engine) in &engines {
        let walls = (0..5).map(|_| Ok((phold(*engine, false)?, phold(*engine, true)?)));
        let mut ratios = walls
            .map(|walls| walls.map(|(whole, stepped)| stepped / whole))
            .collect::<Result<Vec<f64>, parades::core::error::Error>>()?;
        ratios.sort_unstable_by(f64::total_cmp);
        println!("{name:<20} {:<14} {:>12.3} times the wall time, median of five", "PHOLD by second", ratios[2]);
    }
    for (name, engine) in engines {
        let mut run = Run::start(Steppable::new(Idle), engine, RunOptions::until(Time::MAX))?;
        for (what, step) in [("empty", Delay::from_us(1)), ("with an event", Delay::from_secs(1))] {
            let steps = rate(|| {
                let next = run.now().checked_add(step).expect("virtual time is long");
                run.advance(next).expect("nothing fails");
            });
            println!("{name:<20} {what:<14} {steps:>12.0} steps/s");
        }
    }
    let mut network = Network::new(star(16).expect("a star has hosts"), IDEAL)?;
    let mut number = 0;
    let steps = rate(|| {
        network.send(HostId(number % 16), HostId((number + 1) % 16), 1_000_000).expect("there is a route");
        let next = network.now().checked_add(Delay::from_ms(1)).expect("virtual time is long");
        network.advance_to(next).expect("nothing fails");
        network.completions().expect("nothing fails");
        number += 1;
    });
    println!("{:<20} {:<14} {steps:>12.0} steps/s", "network of flows", "one transfer");
    let mut network = packets()?;
    let before = network.events();
    let (mut number, mut events) = (0, 0);
    let steps = rate(|| {
        network.send(NodeId(number % 16), NodeId((number + 1) % 16), 100_000).expect("there is a path");
        let next = network.now().checked_add(Delay::from_ms(1)).expect("virtual time is long");
        network.advance_to(next).expect("nothing fails");
        network.completions().expect("nothing fails");
        (number, events) = (number + 1, network.events() - before);
    });
    let each = events as f64 / f64::from(number);
    println!("{:<20} {:<14} {steps:>12.0} steps/s, of {each:.0} events", "network of packets", "one transfer");
    let (mut network, mut rate_bps) = (packets()?, 10_000_000_000);
    let changes = rate(|| {
        rate_bps ^= 1;
        network.set_link(LinkId(0), PacketLinkChange::Rate(rate_bps)).expect("it can change");
    });
    println!("{:<20} {:<14} {changes:>12.0} changes/s", "network of packets", "a link changes");
    Ok(())
}
