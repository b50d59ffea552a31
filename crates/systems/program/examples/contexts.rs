//! The cost of a process: the time to wake it by a message and let it wait again, and its memory. The same
//! model as plain LPs is measured beside it.
//!
//! `cargo run --release -p parades-program --example contexts -- 1000 2000` lets messages hop among 1000
//! nodes, about 2000 times each. Every node passes each message on to another node.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures, and says what it measured")]

use parades_carriers::Constant;
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_program::{Processes, Program, Start};

/// The time of a hop, and its distance.
const HOP: Delay = Delay::from_ms(1);
const STRIDE: u32 = 7919;

fn next(id: LpId, nodes: u32) -> LpId {
    LpId((id.0 + STRIDE) % nodes)
}

/// The nodes as processes.
struct Asynchronous {
    nodes: u32,
    carrier: Constant,
}

impl Program for Asynchronous {
    type Message = u32;
    type State = ();
    type Carrier = Constant;
    fn nodes(&self) -> u32 {
        self.nodes
    }
    fn carrier(&self) -> &Constant {
        &self.carrier
    }
    fn start(&self, start: &mut Start<'_, Self>) {
        let nodes = self.nodes;
        start.spawn("hopper", move |node| async move {
            node.sleep(Delay::from_ps(u64::from(node.id().0) * 1_000_000_000 / u64::from(nodes))).await;
            let next = next(node.id(), nodes);
            node.send(next, 0);
            loop {
                let received = node.receive().await;
                node.send(next, received.message + 1);
            }
        });
    }
}

/// The nodes as plain LPs.
struct Plain {
    nodes: u32,
}

impl Model for Plain {
    type State = ();
    type Message = u32;
    type Global = NoGlobal;
    fn lps(&self) -> u32 {
        self.nodes
    }
    fn channels(&self) -> Channels {
        Channels::whole(HOP)
    }
    fn start(&self, ctx: &mut Context<'_, Self>) {
        ctx.set_timer(TimerId(0), Delay::from_ps(u64::from(ctx.id().0) * 1_000_000_000 / u64::from(self.nodes)));
    }
    fn handle(&self, (): &mut (), event: Body<&u32>, ctx: &mut Context<'_, Self>) {
        let hops = match event {
            Body::Message(hops) => hops + 1,
            Body::Timer(_) => 0,
        };
        ctx.send_to(next(ctx.id(), self.nodes), HOP, hops);
    }
}

fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(f64::NAN) * 4096.0
}

/// Measures a run. Returns the nanoseconds per event, and the bytes per LP during the run.
fn measure<M: Model>(model: &M, hops: u64) -> Result<(f64, f64), Error> {
    let nodes = f64::from(model.lps());
    let before = resident_bytes();
    let most = std::sync::Mutex::new(0.0_f64);
    let control = parades_core::run::Control::default();
    let begin = std::time::Instant::now();
    let options = || RunOptions::until(Time::from_ps(HOP.as_ps() * (hops + 1)));
    let done = std::sync::atomic::AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let now = resident_bytes();
                if let Ok(mut most) = most.lock() {
                    *most = most.max(now);
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        let outcome = sequential::run(model, RunOptions { control: Some(&control), ..options() });
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        outcome
    })?;
    let most = most.into_inner().unwrap_or_default();
    Ok((begin.elapsed().as_secs_f64() * 1e9 / outcome.events as f64, (most - before) / nodes))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let nodes = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let hops = arguments.next().map_or(Ok(2000), |text| text.parse())?;
    for _ in 0..3 {
        let (plain, plain_bytes) = measure(&Plain { nodes }, hops)?;
        let (process, process_bytes) =
            measure(&Processes::new(Asynchronous { nodes, carrier: Constant::new(HOP) }), hops)?;
        println!(
            "an event of a plain LP: {plain:.0} ns; of a process: {process:.0} ns, {:.0} more; bytes a node: {plain_bytes:.0}, {process_bytes:.0}",
            process - plain
        );
    }
    Ok(())
}
