//! Chord on one thread: its time, its memory, and its metrics.
//!
//! `cargo run --release -p parades-p2p --example chord -- 1000 1000` simulates 1000 nodes for 1000 s; with
//! `precise` before the numbers, messages are flows.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures, and says what it measured")]

use parades_carriers::FlowLevel;
use parades_core::prelude::*;
use parades_flow::generators::star;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_p2p::chord::{Chord, Keys, MESSAGE_BYTES, Parameters};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let precise = arguments.next_if(|word| word == "precise").is_some();
    let mut number = |default: u32| arguments.next().map_or(Ok(default), |text| text.parse());
    let (nodes, seconds, seed) = (number(1000)?, number(1000)?, number(1)?);
    let keys = if number(0)? == 0 { Keys::OwnFingers } else { Keys::Uniform };
    let fingers_at_once = number(0)? > 0;
    let parameters = Parameters { nodes, keys, fingers_at_once, ..Parameters::default() };
    let begin = std::time::Instant::now();
    let until = Time::ZERO.checked_add(Delay::from_secs(u64::from(seconds))).ok_or("too long")?;
    let options = RunOptions { seed: u64::from(seed), ..RunOptions::until(until) };
    let outcome = if precise {
        let network =
            FlowLevel::new(star(nodes)?.into(), NetworkModel::MaxMin(MaxMinModel::LV08), nodes, |_| MESSAGE_BYTES);
        let model = Chord::over(network, parameters, u64::from(seed)).map_err(|(_, what)| what)?;
        parades_engine::sequential::run(&model, options)?
    } else {
        let model = Chord::model(parameters, u64::from(seed)).map_err(|(_, what)| what)?;
        parades_engine::sequential::run(&model, options)?
    };
    let took = begin.elapsed();
    for (name, unit, metric) in outcome.metrics.iter() {
        let mean = metric.tally().and_then(|tally| tally.mean()).map(|mean| unit.show(mean));
        match (metric.counter(), mean) {
            (Some(count), _) => println!("{name}: {count}"),
            (_, Some((mean, suffix))) => println!("{name}: {mean:.4} {suffix} on average"),
            _ => {}
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!(
        "{} events in {took:.3?}, {:.0} ns each; {peak}",
        outcome.events,
        took.as_secs_f64() * 1e9 / outcome.events as f64
    );
    Ok(())
}
