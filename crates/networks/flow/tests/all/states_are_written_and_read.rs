//! A network that is written and read goes on as the one it was, to the bit. Changed bytes are refused, or
//! the network goes on without a panic.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::any_model::{AnySave, with_model};
use parades_core::cut::{AtRest, Cut, Cuts, Reached, Span, Then};
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_flow::flows::Flows;
use parades_flow::network::{ActivityId, Change, Execution, FluidNetwork, Property, Transfer};
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::platform::{DiskId, HostId, Platform};
use parades_flow::{pattern, xml};
use std::sync::{Arc, Mutex};

/// A cluster with a narrow backbone and profiles of each kind.
const PLATFORM: &str = r#"<platform version="4.1"><zone id="world" routing="Full">
    <trace id="off" periodicity="2">0.4 0
        0.6 1</trace>
    <trace id="slow" periodicity="1">0.3 0.5
        0.7 1.0</trace>
    <trace id="narrow" periodicity="3">0.5 20000000
        1.5 80000000</trace>
    <trace id="far" periodicity="2">0.2 0.03
        1.1 0.001</trace>
    <trace id="gone" periodicity="5">1.2 0
        2.2 1</trace>
    <cluster id="c" prefix="n" suffix="" radical="0-9" speed="1Gf" bw="100MBps" lat="50us" bb_bw="250MBps" bb_lat="1ms"/>
    <host id="lone" speed="1Gf,300Mf" core="2"><disk id="d" read_bw="100MBps" write_bw="40MBps"/><disk id="e" read_bw="10MBps" write_bw="40MBps"/></host>
    <trace_connect kind="LINK_AVAIL" trace="off" element="c_link_3"/>
    <trace_connect kind="BANDWIDTH" trace="narrow" element="c_link_1"/>
    <trace_connect kind="LATENCY" trace="far" element="c_link_2"/>
    <trace_connect kind="SPEED" trace="slow" element="n4"/>
    <trace_connect kind="HOST_AVAIL" trace="gone" element="n5"/>
    </zone></platform>"#;

const MODELS: [NetworkModel; 3] = [
    NetworkModel::MaxMin(MaxMinModel::LV08),
    NetworkModel::MaxMin(MaxMinModel::CM02),
    NetworkModel::Constant(Delay::from_ms(300)),
];

fn platform() -> Platform {
    xml::parse("c.xml".as_ref(), PLATFORM.as_bytes()).unwrap()
}

fn below(rng: &Rng, n: usize) -> usize {
    usize::try_from(rng.below(n as u64)).unwrap()
}

/// Does one random thing to a network, and returns what is seen of it.
fn step(network: &mut FluidNetwork, rng: &Rng, ids: &mut Vec<ActivityId>) -> String {
    // The host after those of the cluster has no route.
    let host = |rng: &Rng| HostId(u32::try_from(rng.below(10)).unwrap());
    let computes = |rng: &Rng| HostId(u32::try_from(rng.below(11)).unwrap());
    match rng.below(20) {
        0..3 => {
            let (from, to) = (host(rng), host(rng));
            let bytes = [0.0, 1e5, 3e6, 2e7][below(rng, 4)];
            ids.extend(network.start_flow(from, to, bytes).ok().filter(|_| from != to));
        }
        3 => ids.push(network.start_execution(computes(rng), Execution::new([1e6, 7e8][below(rng, 2)]))),
        4 if !ids.is_empty() => network.cancel(ids[below(rng, ids.len())]),
        5 if !ids.is_empty() => network.suspend(ids[below(rng, ids.len())]),
        6 if !ids.is_empty() => network.resume(ids[below(rng, ids.len())]),
        7 if !ids.is_empty() => network.set_limit(ids[below(rng, ids.len())], [4e6, f64::INFINITY][below(rng, 2)]),
        8 if !ids.is_empty() => network.set_priority(ids[below(rng, ids.len())], [0.5, 3.0][below(rng, 2)]),
        9 => {
            let transfer = [Transfer::Read, Transfer::Write][below(rng, 2)];
            ids.push(network.start_disk(DiskId(u32::from(rng.below(2) == 1)), transfer, [0.0, 3e6][below(rng, 2)]));
        }
        10 => network.apply(Change { property: Property::PowerState(HostId(10)), value: below(rng, 2) as f64 }),
        _ => {
            let next = network.next_event().unwrap_or(network.now());
            let later = network.now().saturating_add(Delay::from_ms(rng.below(90)));
            network.advance(next.min(later));
        }
    }
    let ended: Vec<_> = std::iter::from_fn(|| network.take_ended()).collect();
    let rates: Vec<_> = ids.iter().map(|&id| network.rate(id).map(f64::to_bits)).collect();
    let left: Vec<_> = ids.iter().map(|&id| network.remaining(id).map(f64::to_bits)).collect();
    let change = network.take_host_change();
    format!("{:?} {ended:?} {rates:?} {left:?} {change:?} {:?}", network.now(), network.next_event())
}

fn written(network: &FluidNetwork) -> Vec<u8> {
    let mut bytes = Vec::new();
    network.write(&mut bytes);
    bytes
}

#[test]
fn a_network_that_was_read_goes_on_to_the_bit() {
    let platform = Arc::new(platform());
    for (seed, model) in (0..).zip(MODELS) {
        let (rng, mut ids) = (Rng::shared(seed, 1), Vec::new());
        let mut network = FluidNetwork::new(Arc::clone(&platform), model);
        network.watch_hosts();
        let mut other = network.clone();
        let mut all_seen = String::new();
        for number in 0..4000 {
            if number % 7 == 0 {
                let bytes = written(&other);
                assert!(bytes == written(&network), "equal states have equal bytes: {number}");
                let mut rest = &bytes[..];
                other = FluidNetwork::read(Arc::clone(&platform), model, &mut rest).unwrap();
                assert!(rest.is_empty() && written(&other) == bytes, "{number}");
            }
            let (mut same_ids, same) = (ids.clone(), rng.clone());
            let seen = step(&mut network, &rng, &mut ids);
            assert_eq!(step(&mut other, &same, &mut same_ids), seen, "{number}");
            all_seen += &seen;
            ids.drain(..ids.len().saturating_sub(30));
        }
        for what in ["Done", "Failed", "Cancelled", "Some((HostId(5), false))", "Some((HostId(5), true))"] {
            assert!(all_seen.contains(what), "{what} with {model:?}");
        }
    }
}

#[test]
fn changed_bytes_are_refused_or_the_network_goes_on() {
    let platform = Arc::new(platform());
    let (mut refused, mut gone_on) = (0, 0);
    for (seed, model) in (0..).zip(MODELS) {
        let (rng, mut ids) = (Rng::shared(seed, 2), Vec::new());
        let mut network = FluidNetwork::new(Arc::clone(&platform), model);
        network.watch_hosts();
        for _ in 0..300 {
            step(&mut network, &rng, &mut ids);
            ids.drain(..ids.len().saturating_sub(30));
            for _ in 0..CHANGES {
                let mut changed = written(&network);
                for _ in 0..1 + below(&rng, 2) {
                    let place = below(&rng, changed.len());
                    changed[place] =
                        [0, 0xff, changed[place] ^ 1 << below(&rng, 8), changed[place].wrapping_add(1)][below(&rng, 4)];
                }
                let Ok(mut other) = FluidNetwork::read(Arc::clone(&platform), model, &mut &changed[..]) else {
                    refused += 1;
                    continue;
                };
                gone_on += 1;
                for _ in 0..5 {
                    step(&mut other, &rng, &mut Vec::new());
                }
            }
        }
    }
    assert!(refused > 100 && gone_on > 100, "{refused} refused, {gone_on} gone on");
}

#[test]
fn a_suspended_activity_with_a_date_is_refused() {
    let platform = Arc::new(platform());
    let mut network = FluidNetwork::new(Arc::clone(&platform), MODELS[0]);
    let id = network.start_execution(HostId(0), Execution::new(1e9));
    network.suspend(id);
    let bytes = written(&network);
    // An activity of number 0, which computes on host 0 with 1 thread, is suspended without a latency, and
    // has no date.
    let suspended = [1, 0, 1, 0, 1, 4, 0, 0];
    let place = bytes.windows(suspended.len()).position(|window| window == suspended).unwrap();
    let date = place + suspended.len() - 1;
    let changed = [&bytes[..date], &[1, 5], &bytes[date + 1..]].concat();
    assert!(FluidNetwork::read(Arc::clone(&platform), MODELS[0], &mut &bytes[..]).is_ok());
    let error = FluidNetwork::read(platform, MODELS[0], &mut &changed[..]).unwrap_err();
    assert!(error.to_string().contains("a flow-level network has a state that none can have"), "{error}");
}

/// The number of changed forms of each state.
const CHANGES: usize = 10;

#[test]
fn a_run_of_flows_goes_on_from_its_bytes() {
    let lines: String = (0..60)
        .map(|k| format!("{k} n{} n{} {}e6 {}.{:02}\n", k % 10, (k * 7 + 1) % 10, 1 + k * 3 % 47, k / 20, k * 3 % 50))
        .collect();
    for model in MODELS {
        let platform = platform();
        let flows = pattern::parse("p.txt".as_ref(), lines.as_bytes(), &platform, model).unwrap();
        let flows = Flows::new(platform, flows, model);
        let whole = run(&flows, None, None);
        for ms in [1, 401, 900, 1500, 2001] {
            let cut = run(&flows, None, Some(Time::from_ms(ms))).1;
            let continued = run(&flows, Some(&cut), None);
            assert_eq!(continued.0, whole.0, "{model:?}, {ms} ms");
            let early = run(&flows, None, Some(Time::from_ms(ms / 2 + 1))).1;
            assert!(
                run(&flows, Some(&early), Some(Time::from_ms(ms + 1))).1 == {
                    run(&flows, None, Some(Time::from_ms(ms + 1))).1
                }
            );
        }
    }
}

/// Runs from a cut, or from the start, to a cut or to the end. Returns the answer at the end, or the cut.
fn run(flows: &Flows, from: Option<&[u8]>, cut: Option<Time>) -> (String, Vec<u8>) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&written);
    let act = move |run: &mut AtRest<'_, '_>| {
        run.write(&mut noted.lock().unwrap());
        Then::Leave
    };
    let cuts = cut.map(|next| Cuts { next, at_end: false, act: Box::new(act) });
    let answer = with_model(flows, RunOptions { cuts, ..RunOptions::until(Time::MAX) }, |model, options| {
        let save: &dyn AnySave<'_> = model;
        let from = from.map(|mut bytes| Box::new(Cut::read(save, &mut bytes).unwrap()));
        match sequential::advance(model, Span { save: Some(save), from, ..Span::from(options) }).unwrap() {
            Reached::End(outcome) => format!("{} {:?} {:?}", outcome.events, outcome.digest, outcome.metrics),
            Reached::Cut(_) => String::new(),
        }
    });
    (answer, std::mem::take(&mut *written.lock().unwrap()))
}
