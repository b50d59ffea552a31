//! Inference: the KV caches of a queue of requests cross a fabric that they share.
//!
//! *Covers*: [`parades::network`], a network that another program steps.
//!
//! *Scenario*: two workers compute the prompts of requests (prefill), and two others generate the answers
//! (decode). Between them, the KV cache of a prompt, 128 KiB a token, crosses a leaf–spine fabric with one
//! uplink of 50 Gb/s for each side, so caches that cross at one time share it. The scheduler below knows
//! nothing of networks: it asks when a cache has arrived. In the middle of the run the uplink falls to half
//! of its rate.

use parades::flow::generators::of_topology;
use parades::flow::platform::HostId;
use parades::network::{IDEAL, LinkChange, Network, TransferId};
use parades::prelude::*;
use parades::topology::{Link, NodeId, Topology};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

/// Bytes of KV cache for each token.
const KV_BYTES: u64 = 128 << 10;
/// The time in which a prefill worker computes a token.
const PREFILL: Delay = Delay::from_us(50);

/// A request: its arrival, and the tokens of its prompt.
const REQUESTS: [(u64, u64); 6] = [(0, 4000), (0, 4000), (50, 2000), (250, 8000), (260, 1000), (700, 4000)];

/// A request in the prefill worker.
struct Prefill {
    request: usize,
    done: Time,
}

fn after(time: Time, delay: Delay) -> Time {
    time.checked_add(delay).expect("virtual time is long")
}

/// Plays the requests, and returns a line for each.
pub(crate) fn run() -> Result<String, Box<dyn std::error::Error>> {
    // Hosts 0 and 1 prefill, hosts 2 and 3 decode; 4 and 5 are the leaves, 6 is the spine.
    let link =
        |a, b, gbps: u64| Link { a: NodeId(a), b: NodeId(b), rate_bps: gbps * 1_000_000_000, delay: Delay::from_us(1) };
    let links =
        vec![link(0, 4, 100), link(1, 4, 100), link(2, 5, 100), link(3, 5, 100), link(4, 6, 50), link(5, 6, 50)];
    let topology = Topology::new(&["p0", "p1", "d0", "d1", "leaf0", "leaf1", "spine"], links)?;
    let mut network = Network::new(of_topology(&topology)?, IDEAL)?;
    let uplink = network.platform().link("l4_UP").ok_or("the uplink has this name")?;
    let slows_at = Time::from_ms(600);

    let mut queue: VecDeque<usize> = (0..REQUESTS.len()).collect();
    let mut workers: [Option<Prefill>; 2] = [None, None];
    let mut crossing: BTreeMap<TransferId, (usize, Time)> = BTreeMap::new();
    let (mut lines, mut is_slow) = (vec![String::new(); REQUESTS.len()], false);
    while lines.iter().any(String::is_empty) {
        let now = network.now();
        if now >= slows_at && !is_slow {
            network.set_link(uplink, LinkChange::Rate(50e9 / 8.0 / 2.0))?;
            is_slow = true;
        }
        for (worker, place) in (0..).zip(&mut workers) {
            // A prompt is computed: its cache sets out for a decoder.
            if let Some(prefill) = place.take_if(|prefill| prefill.done <= now) {
                let bytes = REQUESTS[prefill.request].1 * KV_BYTES;
                let id = network.send(HostId(worker), HostId(2 + worker), bytes)?;
                crossing.insert(id, (prefill.request, now));
            }
            let has_come = |request: &mut usize| Time::from_ms(REQUESTS[*request].0) <= now;
            if place.is_none()
                && let Some(request) = queue.pop_front_if(has_come)
            {
                let (_, tokens) = REQUESTS[request];
                let done = after(now, Delay::from_ps(PREFILL.as_ps() * tokens));
                *place = Some(Prefill { request, done });
            }
        }
        // The scheduler wakes at what comes first: the end of a prefill, a request, the change of the uplink.
        // A worker may be free before that; caches arrive in between.
        let prefills = workers.iter().flatten().map(|prefill| prefill.done);
        let arrivals = queue.iter().map(|&request| Time::from_ms(REQUESTS[request].0));
        let wakes = prefills.chain(arrivals).chain([slows_at]).filter(|&time| time > now);
        network.advance_to(wakes.min().unwrap_or_else(|| after(now, Delay::from_ms(100))))?;
        for ended in network.completions()? {
            let (request, sent) = crossing.remove(&ended.id).ok_or("a cache arrives once")?;
            let (arrived, tokens) = REQUESTS[request];
            let (crossed, first) = (ended.at.since(sent), ended.at.since(Time::from_ms(arrived)));
            let line = &mut lines[request];
            write!(line, "request {request}, {tokens} tokens: prefilled at {:.1} ms, ", sent.as_secs_f64() * 1e3)?;
            let [crossed, first] = [crossed, first].map(|delay| delay.as_secs_f64() * 1e3);
            writeln!(line, "its cache crossed in {crossed:.3} ms, decode began after {first:.3} ms")?;
        }
    }
    Ok(lines.concat())
}

#[allow(dead_code, reason = "the test of the examples has a main function of its own")]
#[allow(clippy::print_stdout, reason = "it is what examples do")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", run()?);
    Ok(())
}
