//! A run that is broken at a cut, written, read and continued has the answer of the unbroken run. Bytes that
//! are changed are refused, or the run goes on without a panic.

mod own;

use own::{app_of_streams, packets, queue_on_arrival, queue_on_departure};
use parades_core::any_model::{AnySave, SaveModel, with_model};
use parades_core::cut::{AtRest, Cut, Cuts, Span, Then};
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_core::time::Instant;
use parades_core::wire;
use parades_engine::sequential;
use parades_packet::description::{App, AppKind, Change, Description, Ends, Event, Link, Marking, Measure};
use parades_packet::flow::Limit;
use parades_packet::impairment::{Bursts, Impairments, Jitter};
use parades_packet::network::Network;
use parades_packet::probability::Probability;
use parades_packet::protocols::tcp::Writes;
use parades_packet::protocols::{Control, Datagrams, Requests, Tcp, Transfer};
use parades_packet::queue::{Codel, Discipline, FairCodel, Pie, Priority, QueueLimit, Red, Threshold, TokenBucket};
use parades_packet::segment::SegmentRef;
use parades_packet::traffic::{Pattern, Period, Sizes};
use parades_tcp::control::{Algorithm, Bbr, Cubic, Dctcp, NewReno, Vegas};
use parades_tcp::settings::{EcnUse, Settings};
use parades_topology::NodeId;
use std::ops::Range;
use std::sync::{Arc, Mutex};

const END: Time = Time::from_ms(400);

fn at(ms: u64) -> Time {
    Time::from_ms(ms)
}

/// A queue of each discipline, short enough that packets wait and are lost.
fn disciplines() -> Vec<Discipline> {
    let limit = QueueLimit::Packets(12);
    let codel = Codel { target: Delay::from_ms(1), interval: Delay::from_ms(10), limit, ..Codel::default() };
    vec![
        limit.into(),
        Discipline::Red(Red::with_limit(12)),
        Discipline::Pie(Pie { target: Delay::from_ms(2), update: Delay::from_ms(2), limit, ..Pie::default() }),
        Discipline::Threshold(Threshold { mark_at: 3, limit }),
        Discipline::TokenBucket(TokenBucket { rate_bps: 6_000_000, burst_bytes: 3000, limit }),
        Discipline::Codel(codel),
        Discipline::FairCodel(FairCodel { codel, queues: 16, quantum: 500, memory: 20_000 }),
        Discipline::Priority(Priority { limit }),
        queue_on_arrival(),
        queue_on_departure(),
    ]
}

fn tcps() -> Vec<Tcp> {
    let cubic_with_train = Algorithm::Cubic(Cubic { hystart: parades_tcp::control::HyStart::ns3(), ..Cubic::ns3() });
    let algorithms = [
        Algorithm::NewReno(NewReno::linux()),
        Algorithm::Cubic(Cubic::rfc9438()),
        cubic_with_train,
        Algorithm::Dctcp(Dctcp::linux()),
        Algorithm::Vegas(Vegas::linux()),
        Algorithm::Bbr(Bbr::draft00()),
        own::control(),
    ];
    let of = |(number, algorithm): (usize, Algorithm)| {
        let has_ecn = matches!(algorithm, Algorithm::Dctcp(_));
        let settings = if number % 2 == 0 { Settings::linux() } else { Settings::ns3() };
        let ecn = if has_ecn { EcnUse::Ask } else { settings.ecn };
        let settings = Settings { algorithm, ecn, mss: 500, paces: number == 1, ..settings };
        let writes = (number == 4).then_some(Writes { bytes: 700, rate_bps: Some(4_000_000) });
        let read_rate_bps = (number == 0).then_some(1_000_000);
        Tcp { settings, bytes: 200_000, writes, read_rate_bps }
    };
    algorithms.into_iter().enumerate().map(of).collect()
}

/// A ring of links, one of each discipline, with traffic of each kind. Without failures, packets have source
/// routes, and a group's packets follow a tree. With a failure, nodes look up tables.
fn description(fails: bool) -> Description {
    let disciplines = disciplines();
    let count = u32::try_from(disciplines.len()).expect("few");
    let half = Probability::quotient(1, 50);
    let bursts = Bursts { to_bad: half, to_good: Probability::quotient(1, 3), loss_bad: half, ..Bursts::default() };
    let jitter = Jitter::Uniform { most: Delay::from_us(800) };
    let impaired =
        Impairments { jitter, keeps_order: true, duplicate: half, bursts: Some(bursts), ..Impairments::default() };
    let link = |(from, queue): (u32, Discipline)| Link {
        name: format!("l{from}"),
        from,
        to: (from + 1) % count,
        rate_bps: 8_000_000,
        delay: Delay::from_ms(1),
        device: u32::from(from % 3 == 1),
        impairments: if from % 4 == 2 { impaired } else { Impairments::default() },
        loss: if from == 1 { 0.01 } else { 0.0 },
        queue,
        ..Link::default()
    };
    let datagrams = |pattern| Datagrams { sizes: Sizes::Mix(vec![(100, 1), (700, 2)]), pattern, limit: Limit::Never };
    let period = |ms| Period::Exponential(Delay::from_ms(ms));
    let on_off = Pattern::OnOff { rate_bps: 6_000_000, on: period(10), off: period(5) };
    let transfer = Transfer { bytes: 60_000, segment: 400, window: 40, control: Control::Reno };
    let requests = Requests {
        request: 100,
        response: 3000,
        packet: 600,
        think: period(5),
        service: Period::Constant(Delay::from_ms(2)),
        timeout: Delay::from_ms(60),
        stop: Time::MAX,
        count: 30,
    };
    let mut kinds = vec![
        AppKind::Datagrams(datagrams(on_off)),
        AppKind::Multicast(datagrams(Pattern::Poisson { mean_gap: Delay::from_ms(3) })),
        AppKind::Transfer(transfer),
        AppKind::Requests(requests),
        packets(),
        app_of_streams(),
    ];
    kinds.extend(tcps().into_iter().map(|tcp| AppKind::Tcp(Box::new(tcp))));
    let app = |(number, kind): (u32, AppKind)| {
        let is_group = matches!(kind, AppKind::Multicast(_));
        let flow = |copy: u32| Ends {
            source: NodeId((number + if is_group { 0 } else { copy * 3 }) % count),
            destination: NodeId((number + copy * if is_group { 2 } else { 4 } + 3) % count),
            start: at(u64::from(number) * 4),
        };
        let marking = Marking { class: (number % 8) as u8, is_ecn_capable: number % 2 == 0 };
        App { name: format!("a{number}"), kind, marking, flows: (0..3).map(flow).collect() }
    };
    let down = |ms, is_up| Event { at: at(ms), change: Change::Link { link: 3, is_up } };
    let gone = |ms, is_up| Event { at: at(ms), change: Change::Node { node: 7, is_up } };
    Description {
        nodes: (0..count).map(|node| format!("n{node}")).collect(),
        links: (0..).zip(disciplines).map(link).collect(),
        apps: (0..).zip(kinds).map(app).collect(),
        events: if fails {
            vec![down(60, false), down(90, true), gone(150, false), gone(190, true)]
        } else {
            Vec::new()
        },
        measure: Measure { every: Delay::from_ms(20), percentiles: true, links: vec![0, 5], ..Measure::default() },
        ..Description::default()
    }
}

fn network(fails: bool) -> Network<SegmentRef> {
    Network::described(description(fails)).expect("the network is possible")
}

/// The bytes of a cut, and where the states of its LPs are in them.
struct Written {
    bytes: Vec<u8>,
    states: Vec<Range<usize>>,
}

/// Returns the range of the state of an LP within the bytes of the LP: behind the kernel's part.
fn after_kernel(lp: &[u8]) -> usize {
    type Kernel = (Rng, u64, Digest, Vec<Option<(Instant, u64)>>);
    let mut rest = lp;
    wire::read::<Kernel>(&mut rest).expect("an LP begins with the kernel's part");
    lp.len() - rest.len()
}

/// Notes the bytes of a run at rest.
fn note(run: &mut AtRest<'_, '_>) -> Written {
    let mut bytes = Vec::new();
    run.write(&mut bytes);
    let save = run.save.expect("the network can be saved");
    let placement = run.resting.put_down();
    let lps: Vec<Vec<u8>> = (0..save.lps())
        .map(|id| {
            let mut lp = Vec::new();
            save.write_lp(LpId(id), &placement, &mut lp);
            lp
        })
        .collect();
    run.resting.pick_up();
    let all = lps.concat();
    let mut begin = bytes.windows(all.len()).position(|window| window == all).expect("LPs are written one by one");
    let mut states = Vec::new();
    for lp in &lps {
        states.push(begin + after_kernel(lp)..begin + lp.len());
        begin += lp.len();
    }
    Written { bytes, states }
}

/// Runs from a cut, or from the start, to a cut or to the end of the run.
fn run<M: SaveModel>(model: &M, from: Option<&[u8]>, cut: Option<Time>) -> Result<(Option<Outcome>, Written), String> {
    let written = Arc::new(Mutex::new(Written { bytes: Vec::new(), states: Vec::new() }));
    let noted = Arc::clone(&written);
    let act = move |run: &mut AtRest<'_, '_>| {
        *noted.lock().expect("no holder of this lock panics") = note(run);
        Then::Leave
    };
    let cuts = cut.map(|next| Cuts { next, at_end: false, act: Box::new(act) });
    let options = RunOptions { seed: 3, cuts, ..RunOptions::until(END) };
    let outcome = with_model(model, options, |model, options| {
        let save: &dyn AnySave<'_> = model;
        let mut span = Span { save: Some(save), ..Span::from(options) };
        if let Some(mut bytes) = from {
            span.from = Some(Box::new(Cut::read(save, &mut bytes).map_err(|why| why.to_string())?));
        }
        match sequential::advance(model, span) {
            Ok(parades_core::cut::Reached::End(outcome)) => Ok(Some(outcome)),
            Ok(parades_core::cut::Reached::Cut(_)) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::Panic(_)) => panic!("{error}"),
            Err(error) => Err(error.to_string()),
        }
    })?;
    let written = std::mem::replace(
        &mut *written.lock().expect("no holder of this lock panics"),
        Written { bytes: Vec::new(), states: Vec::new() },
    );
    Ok((outcome, written))
}

fn answer(outcome: Option<Outcome>) -> (u64, Option<u64>, String) {
    let outcome = outcome.expect("the run has come to its end");
    (outcome.events, outcome.digest, format!("{:?}", outcome.metrics))
}

#[test]
fn a_run_of_every_queue_and_protocol_goes_on_from_its_bytes() {
    for fails in [false, true] {
        let network = network(fails);
        assert_eq!(network.can_save(), Ok(()));
        let whole = answer(run(&network, None, None).expect("it runs").0);
        let mut before: Option<Vec<u8>> = None;
        for ms in [1, 20, 61, 133, 170, 250, 399] {
            let direct = run(&network, None, Some(at(ms))).expect("it runs").1.bytes;
            let broken = run(&network, before.as_deref(), Some(at(ms))).expect("it can be read").1.bytes;
            assert!(direct == broken, "a run from the cut before comes to the same bytes at {ms} ms");
            let continued = run(&network, Some(&direct), None).expect("it can be read").0;
            assert_eq!(answer(continued), whole, "{ms} ms");
            before = Some(direct);
        }
    }
}

#[test]
fn changed_bytes_are_refused_or_go_on_without_a_panic() {
    let (mut refused, mut gone_on) = (0, 0);
    for (fails, ms) in [(false, 130), (true, 70), (false, 390)] {
        let network = network(fails);
        let Written { bytes, states } = run(&network, None, Some(at(ms))).expect("it runs").1;
        let rng = Rng::shared(ms, 1);
        let below = |n: usize| usize::try_from(rng.below(n as u64)).expect("below an index");
        for _ in 0..CHANGES {
            // One change of four is in the messages, which are behind the states.
            let messages = states[states.len() - 1].end..bytes.len();
            let state = if below(4) == 0 { &messages } else { &states[below(states.len())] };
            let mut changed = bytes.clone();
            for _ in 0..1 + below(2) {
                let place = state.start + below(state.len());
                changed[place] = match below(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => changed[place] ^ 1 << below(8),
                    _ => changed[place].wrapping_add(1),
                };
            }
            let until = at(ms + 15).min(at(399));
            match run(&network, Some(&changed), Some(until)) {
                Ok(_) => gone_on += 1,
                Err(_) => refused += 1,
            }
        }
        let cut_off = &bytes[..bytes.len() - 1];
        assert!(run(&network, Some(cut_off), None).is_err(), "a byte is missing");
    }
    assert!(refused > 100 && gone_on > 100, "{refused} refused, {gone_on} gone on");
}

/// The number of changed cuts of each kind.
const CHANGES: usize = 300;

#[test]
fn parts_of_other_crates_that_cannot_be_written_are_named() {
    for (change, expected) in [
        (own::with_mute_queue as fn(Description) -> Description, "the queue \"mute\" cannot be written"),
        (own::with_mute_protocol, "the protocol \"mute\" cannot be written"),
        (own::with_mute_stream, "the application \"mute\" cannot be written"),
        (own::with_mute_control, "the congestion control \"mute\" cannot be written"),
    ] {
        let network: Network<SegmentRef> = Network::described(change(description(false))).expect("it is possible");
        assert_eq!(network.can_save(), Err(expected.to_owned()));
    }
}
