//! The matrix: shipped models × engines × transports × workers × seeds.

mod peers;

use crate::compare::{Answer, Question, check, expected};
use crate::engines::ranks::engines_on_ranks;
use crate::engines::{
    Engine, Fault, SaveView, Setting, Subject, Varies, WireView, engines, engines_without_rollback, save_view,
    wire_view,
};
use crate::random::WORKERS;
use crate::report::{Feature, Report};
use crate::transport::Carrier;
use parades_core::any_model::SaveModel;
use parades_core::bytes::Bytes;
use parades_core::model::Model;
use parades_core::shared::Shared;
use parades_core::time::{Delay, Time};
use parades_models::phold::{Contents, DelayKind, Parameters, Phold, Restore};
use parades_models::queueing::{self, Queueing};
use parades_models::transfer::{self, Transfer};
use parades_models::{faulty, multicast};
use parades_packet::segment::SegmentRef;
use std::fmt;

/// The seeds with which each model is run, with the tie seed.
const SEEDS: [(u64, Option<u64>); 3] = [(1, None), (2, None), (1, Some(7))];
/// The numbers of workers of each rank.
const WORKERS_OF_RANK: [usize; 2] = [1, 2];
/// Traces are compared line by line for runs of up to this number of events.
const TRACED_EVENTS: u64 = 20_000;

/// A part of the matrix. A field that is `None` selects everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The name of the model.
    pub model: Option<String>,
    /// The name of the engine.
    pub engine: Option<String>,
    /// The name of the transport.
    pub transport: Option<String>,
    /// The number of workers.
    pub workers: Option<usize>,
    /// The seed.
    pub seed: Option<u64>,
    /// The tie seed.
    pub tie_seed: Option<u64>,
    /// True for runs on ranks instead of runs in one process.
    pub ranks: bool,
}

impl Selection {
    fn allows(wanted: Option<&String>, name: &str) -> bool {
        wanted.is_none_or(|wanted| wanted == name)
    }
}

/// A function that runs the selected part of a model's row.
type Check = dyn Fn(&Selection, &mut Report);

/// A model of the matrix.
pub struct Case {
    /// The name of the model on the command line.
    pub name: &'static str,
    check: Box<Check>,
    trace: Box<dyn Fn(Option<u64>) -> Answer>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Case {
    /// Returns the trace of the model with seed 1, by `sequential`.
    pub fn trace(&self, tie_seed: Option<u64>) -> Answer {
        (self.trace)(tie_seed)
    }
}

/// Makes the case of a model that runs until `until_ms` of virtual time, over bytes and on ranks too, and
/// whose runs can be saved.
fn saved<M: Subject + SaveModel + 'static>(name: &'static str, until_ms: u64, model: M) -> Case {
    let all = || engines().into_iter().chain(engines_on_ranks()).collect();
    case_on(all, name, until_ms, Views { wire: Some(wire_view), save: Some(save_view) }, model)
}

/// Makes the case of a model whose state cannot be restored. It does not run over bytes.
fn unrestorable<M: Model + 'static>(name: &'static str, until_ms: u64, model: M) -> Case {
    case_on(engines_without_rollback, name, until_ms, Views { wire: None, save: None }, model)
}

/// The views of a model by its abilities.
struct Views<M: Model> {
    wire: Option<WireView<M>>,
    save: Option<SaveView<M>>,
}

fn case_on<M: Model + 'static>(
    engines: fn() -> Vec<Engine<M>>,
    name: &'static str,
    until_ms: u64,
    views: Views<M>,
    model: M,
) -> Case {
    let until = Time::from_ps(Delay::from_ms(until_ms).as_ps());
    let model = std::rc::Rc::new(model);
    let traced = std::rc::Rc::clone(&model);
    Case {
        name,
        check: Box::new(move |selection, report| {
            check_case(name, &engines(), until, &views, &*model, selection, report)
        }),
        trace: Box::new(move |tie_seed| expected(&*traced, Question { until, seed: 1, tie_seed, traced: true })),
    }
}

/// Makes a [`Phold`] with default parameters, except for those that `change` sets.
fn phold<C: Contents>(change: impl FnOnce(&mut Parameters)) -> Phold<C> {
    let mut parameters = Parameters { lps: 24, ..Parameters::default() };
    change(&mut parameters);
    Phold::new(parameters)
}

fn queueing(network: Result<queueing::Network, queueing::Invalid>) -> Queueing {
    let model = network.and_then(|network| Queueing::new(network, Delay::from_us(100), None));
    model.expect("the parameters are possible")
}

/// Makes a transfer with few pairs, short transfers and heavy loss, so that timers are due.
fn transfer(restore: transfer::Restore) -> Transfer {
    let few = transfer::Parameters { pairs: 6, segments: 60, loss: 0.05, restore, ..transfer::Parameters::default() };
    Transfer::new(few).expect("the parameters are possible")
}

/// Makes one tree, so that workers must share it. Each level has several packets at a time.
fn multicast<C: multicast::PacketHandle>(jitter: Delay) -> multicast::Multicast<C> {
    let (trees, levels, start_events, data) = (1, 5, 3, 16);
    let few = multicast::Parameters { trees, levels, start_events, data, jitter, ..multicast::Parameters::default() };
    multicast::Multicast::new(few).expect("the parameters are possible")
}

/// Makes a campus. `sample` is the time between two samples, or zero for none.
fn campus(sample: Delay) -> parades_packet::network::Network {
    use parades_packet::campus::Parameters;
    let small = Parameters { lan_clients: 1, start_span: Delay::from_ms(500), sample, ..Parameters::default() };
    small.network(1).expect("the parameters are possible")
}

/// Makes a campus with TCP. Short queues before slow links to hosts drop segments of every stream.
fn campus_tcp() -> parades_packet::network::Network<SegmentRef> {
    use parades_packet::campus::Parameters;
    let small = Parameters {
        lan_clients: 1,
        access_rate_bps: 10_000_000,
        ring_rate_bps: 100_000_000,
        ring_delay: Delay::from_ms(20),
        queue: parades_packet::queue::QueueLimit::Packets(6),
        flow_rate_bps: 50_000_000,
        flow_bytes: 100_000,
        start_span: Delay::from_ms(100),
        ..Parameters::default()
    };
    small.streams(1).expect("the parameters are possible")
}

/// Makes two campuses, in each of which a server sends by two trees: to the hosts of its own campus, and to
/// those of the other. Packets are large and none may wait, so copies are dropped where the trees meet.
fn campus_multicast() -> parades_packet::network::Network<Shared<Box<[u8]>>> {
    use parades_packet::network::{Network, Settings};
    use parades_packet::{campus::Parameters, flow::Group, queue::QueueLimit};
    let (packet_size, flow_rate_bps, start_span) = (40_000, 60_000_000, Delay::from_ms(50));
    let small = Parameters { lan_clients: 1, packet_size, flow_rate_bps, start_span, ..Parameters::default() };
    let own = small.multicast::<Shared<Box<[u8]>>>(1).expect("the parameters are possible");
    let mut groups = own.groups();
    for (group, other) in own.groups().iter().zip(own.groups().iter().rev()) {
        let start = group.start.checked_add(Delay::from_ms(1)).expect("soon");
        groups.push(Group { start, receivers: other.receivers.clone(), ..group.clone() });
    }
    let settings = Settings { queue: QueueLimit::Packets(0).into(), ..Settings::default() };
    Network::multicast(own.topology().clone(), groups, settings).expect("the groups are possible")
}

/// Makes a wide-area network. Large packets and a short queue cause overload and drops with few packets.
/// `sample` is as in [`campus`].
fn wan(sample: Delay) -> parades_packet::network::Network {
    use parades_packet::wan::Parameters;
    use parades_topology::generators::backbone;
    let (queue, sizes) =
        (parades_packet::queue::QueueLimit::Packets(2), parades_packet::traffic::Sizes::Constant(40_000));
    let small = Parameters { flows: 100, load: 1.5, queue, sizes, sample, ..Parameters::default() };
    small.build(backbone(), 1).expect("the parameters are possible").network
}

/// Makes flows on a cluster with a narrow backbone, so that they slow each other down.
fn flows() -> parades_flow::flows::Flows {
    let text = br#"<platform version="4.1"><zone id="world" routing="Floyd">
        <cluster id="c" prefix="n" suffix="" radical="0-7" speed="1Gf" bw="10MBps" lat="1ms" bb_bw="25MBps" bb_lat="2ms"/>
        </zone></platform>"#;
    let platform = parades_flow::xml::parse("narrow.xml".as_ref(), text).expect("it is right");
    let mut pattern = String::new();
    for flow in 0..60 {
        let (source, destination) = (flow % 8, (flow * 5 + 3) % 8);
        let destination = if source == destination { (destination + 1) % 8 } else { destination };
        pattern +=
            &format!("{flow} n{source} n{destination} {} {}\n", 50_000 * (1 + flow % 7), f64::from(flow / 4) / 50.0);
    }
    let network_model =
        parades_flow::network_model::NetworkModel::MaxMin(parades_flow::network_model::MaxMinModel::LV08);
    let list = parades_flow::pattern::parse("pattern".as_ref(), pattern.as_bytes(), &platform, network_model)
        .expect("it is right");
    parades_flow::flows::Flows::new(platform, list, network_model)
}

/// Makes two sites with three kinds of traffic, and a bottleneck that fails after 1.5 s.
fn network() -> parades_packet::network::Network<SegmentRef> {
    let sooner =
        parades_netfile::EXAMPLE.replace("at = \"8s\"", "at = \"1500ms\"").replace("for = \"2s\"", "for = \"300ms\"");
    let file = parades_netfile::NetworkFile::parse("two-sites.toml".as_ref(), sooner);
    let file = file.ok().flatten().expect("the example is a network");
    file.build(&file.parameters(), 1).expect("the example is right").model
}

fn faulty(fault: faulty::Fault) -> faulty::Faulty {
    faulty::Faulty { fault, at_event: 20, ..faulty::Faulty::default() }
}

/// Returns the models. A new one is one line here.
pub fn models() -> Vec<Case> {
    let zero = |p: &mut Parameters| p.lookahead = Delay::ZERO;
    let quantised = |p: &mut Parameters| p.delay = DelayKind::Quantised;
    vec![
        saved("phold", 20_000, phold::<()>(|_| {})),
        saved("phold-reverse", 20_000, phold::<()>(|p| p.restore = Restore::Reverse)),
        saved("phold-log", 20_000, phold::<()>(|p| p.restore = Restore::Log)),
        saved("phold-one-lp", 20_000, phold::<()>(|p| p.lps = 1)),
        saved("phold-crowded", 10_000, phold::<()>(|p| (p.start_events, p.remote) = (5, 1.0))),
        saved("phold-no-lookahead", 20_000, phold::<()>(zero)),
        saved("phold-ties", 20_000, phold::<()>(quantised)),
        saved("phold-constant", 20_000, phold::<()>(|p| p.delay = DelayKind::Constant)),
        saved("phold-uniform", 20_000, phold::<()>(|p| p.delay = DelayKind::Uniform)),
        saved("phold-radius", 20_000, phold::<()>(|p| p.radius = 5)),
        saved("phold-payload", 20_000, phold::<Bytes>(|p| p.payload = 100)),
        saved("mm1", 2_000, queueing(queueing::Network::mm1(0.8, 1000.0))),
        saved("jackson", 500, queueing(queueing::Network::central_server(0.8, 1000.0))),
        saved("transfer", 1_500, transfer(transfer::Restore::Log)),
        saved("transfer-copy", 1_500, transfer(transfer::Restore::Copy)),
        saved("multicast", 40, multicast::<Shared<multicast::Packet>>(Delay::from_ms(1))),
        saved("multicast-copied", 40, multicast::<multicast::Copied>(Delay::from_ms(1))),
        saved("multicast-in-step", 40, multicast::<Shared<multicast::Packet>>(Delay::ZERO)),
        saved("campus", 800, campus(Delay::ZERO)),
        saved("campus-sampled", 800, campus(Delay::from_ms(50))),
        saved("campus-tcp", 1_500, campus_tcp()),
        saved("campus-multicast", 350, campus_multicast()),
        saved("wan", 400, wan(Delay::ZERO)),
        saved("wan-sampled", 400, wan(Delay::from_ms(3))),
        saved("flows", 5_000, flows()),
        unrestorable("chord", 30_000, peers::chord_constant()),
        saved("chord-machine", 30_000, peers::chord_machine()),
        saved("chord-packets", 30_000, peers::chord_packets()),
        unrestorable("chord-precise", 30_000, peers::chord_precise()),
        saved("bittorrent", 20_000, peers::bittorrent()),
        saved("kademlia", 40_000, peers::kademlia()),
        saved("gossip", 15_000, peers::gossip()),
        saved("gossipsub", 12_000, peers::gossipsub()),
        saved("averaging", 12_000, peers::averaging()),
        unrestorable("replay", 5_000, peers::replay()),
        unrestorable("clusters", 5_000, peers::clusters(0.0)),
        unrestorable("clusters-at-random", 5_000, peers::clusters(0.5)),
        unrestorable("sockets", 2_000, crate::sockets::talk_model()),
        saved("network", 2_000, network()),
        saved("faulty-lookahead", 5_000, faulty(faulty::Fault::Lookahead)),
        saved("faulty-loop", 5_000, faulty(faulty::Fault::ZeroDelayLoop)),
        saved("faulty-panic", 5_000, faulty(faulty::Fault::Panic)),
        saved("faulty-fail", 5_000, faulty(faulty::Fault::Fail)),
        saved("faulty-channel", 5_000, faulty(faulty::Fault::NoChannel)),
        saved("faulty-ties", 5_000, faulty(faulty::Fault::TieOrder)),
    ]
}

/// Runs the selected part of the matrix. Over all models, each engine must show each
/// [`crate::report::Feature`] that it has. A single model need not show it.
pub fn check_selection(selection: &Selection) -> Report {
    check_models(&models(), selection)
}

/// Runs the selected part of the matrix of these models.
pub fn check_models(models: &[Case], selection: &Selection) -> Report {
    let mut report = Report::default();
    for case in models.iter().filter(|case| Selection::allows(selection.model.as_ref(), case.name)) {
        (case.check)(selection, &mut report);
    }
    if selection.ranks {
        // On ranks, runs have no mode switches.
        report.occurrences.retain(|(feature, ..), _| matches!(feature, Feature::Rollback | Feature::Travel));
    }
    if selection.model.is_none() {
        report.require_all_features();
    }
    report
}

fn check_case<M: Model>(
    name: &str,
    engines: &[Engine<M>],
    until: Time,
    views: &Views<M>,
    model: &M,
    selection: &Selection,
    report: &mut Report,
) {
    let seeds = match selection.seed {
        Some(seed) => vec![(seed, selection.tie_seed)],
        None => SEEDS.to_vec(),
    };
    for (seed, tie_seed) in seeds {
        let mut question = Question { until, seed, tie_seed, traced: false };
        let plain = expected(model, question);
        report.count_model(&plain);
        question.traced = plain.result.as_ref().map_or(true, |outcome| outcome.events <= TRACED_EVENTS);
        let expected = if question.traced { expected(model, question) } else { plain };
        for engine in engines.iter().filter(|engine| Selection::allows(selection.engine.as_ref(), engine.name)) {
            for (carrier, workers) in variants(engine.varies, views.wire.is_some(), selection) {
                let choices = choice_seed(name, seed + workers as u64);
                let &Views { wire, save } = views;
                let setting = Setting { workers, seed: choices, carrier, wire, save, fault: Fault::None };
                let (found, same) = check(model, question, engine, &setting, &expected);
                report.add(&found);
                report.count_features(engine.name, carrier.name(), workers, &found);
                let Err(what) = same else { continue };
                let tie = tie_seed.map_or_else(String::new, |seed| format!(" --tie-seed {seed}"));
                let (engine, carrier) = (engine.name, carrier.name());
                let command = if selection.ranks { "ranks" } else { "matrix" };
                let replay = format!(
                    "{command} --model {name} --engine {engine} --transport {carrier} --workers {workers} --seed {seed}{tie}"
                );
                report.difference(format!("{name} on {engine}: {what}"), &replay);
            }
        }
    }
}

/// Returns the seed of an engine's choices. It depends on the model, so that all models together cover many
/// choices.
fn choice_seed(name: &str, seed: u64) -> u64 {
    name.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
}

/// Returns the pairs of a transport and a number of workers with which an engine is run.
fn variants(varies: Varies, has_codec: bool, selection: &Selection) -> impl Iterator<Item = (Carrier, usize)> {
    let all = if selection.ranks { &Carrier::RANKS[..] } else { &Carrier::ALL[..] };
    let carriers = all.iter().copied().filter(move |carrier| *carrier == Carrier::Direct || has_codec);
    let carriers = carriers.filter(|carrier| Selection::allows(selection.transport.as_ref(), carrier.name()));
    let numbers = if selection.ranks { &WORKERS_OF_RANK[..] } else { &WORKERS[..] };
    let workers = numbers.iter().copied().filter(|workers| selection.workers.is_none_or(|wanted| wanted == *workers));
    varies.variants(carriers, workers)
}
