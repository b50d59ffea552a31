//! A case as a network, and what it gives.

use super::cases::{Case, FIRST_START};
use parades_core::metrics::{Cell, Metrics, Table};
use parades_core::run::RunOptions;
use parades_core::time::Time;
use parades_packet::description::{App, AppKind, Description, Ends, Framing, Link, Marking};
use parades_packet::network::Network;
use parades_packet::protocols::tcp::Tcp;
use parades_packet::queue::QueueLimit;
use parades_session::Failure;
use parades_tcp::control::Algorithm;
use parades_tcp::settings::{EcnUse, RtoFloor, Settings};
use parades_topology::NodeId;

/// The results of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct Results {
    /// For each flow, the seconds from its start to its first and to its last byte; `None` if it has none.
    pub(super) flows: Vec<Option<(f64, f64)>>,
    /// The longest time from a flow's start to its last byte, in seconds.
    pub(super) last_s: f64,
    /// The mean completion of all flows, in seconds.
    pub(super) mean_s: f64,
    /// Packets dropped at the bottleneck.
    pub(super) drops: f64,
    /// Packets marked there.
    pub(super) marks: f64,
    /// The mean number of packets that wait there, from the first start to the last byte.
    pub(super) queue: f64,
}

impl Results {
    /// Returns the median of each quantity over several runs, with the flows of the first run.
    fn median(runs: &[Results]) -> Results {
        let median = |of: fn(&Results) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Results {
            flows: runs[0].flows.clone(),
            last_s: median(|run| run.last_s),
            mean_s: median(|run| run.mean_s),
            drops: median(|run| run.drops),
            marks: median(|run| run.marks),
            queue: median(|run| run.queue),
        }
    }
}

/// The end of a run: no case takes as long.
const UNTIL: Time = Time::from_ps(1_000_000_000_000_000);

/// Runs a case. Returns the median of each quantity over its runs.
pub(super) fn run(case: &Case) -> Result<Results, Failure> {
    let wrong = |what: String| Failure::usage(format!("the case {}: {what}", case.name), "correct the case");
    let run = |(seed, longer): (u64, f64)| {
        let description = describe(case, longer).map_err(wrong)?;
        let network = Network::described(description).map_err(|error| wrong(error.to_string()))?;
        let options = RunOptions { seed, ..RunOptions::until(UNTIL) };
        let outcome = parades_engine::sequential::run(&network, options);
        let outcome = outcome.map_err(|error| Failure::simulation(format!("the case {}: {error}", case.name)))?;
        Ok(read(case, &outcome.metrics))
    };
    let runs = case.runs().into_iter().map(run).collect::<Result<Vec<_>, Failure>>()?;
    Ok(Results::median(&runs))
}

/// Returns the network of a case. Access delays are longer by a factor.
fn describe(case: &Case, longer: f64) -> Result<Description, String> {
    let names = |what: &str| (0..case.n).map(|i| format!("{what}{i}")).collect::<Vec<_>>();
    let nodes = [vec!["r0".to_owned(), "r1".to_owned()], names("sender"), names("receiver")].concat();
    let (rate_bps, delay) = case.bottleneck;
    let link = |from: u32, to: u32, rate_bps, delay| Link {
        name: format!("{from}-{to}"),
        from,
        to,
        rate_bps,
        delay,
        queue: QueueLimit::Packets(1_000_000).into(),
        framing: Framing::Ppp,
        ..Link::default()
    };
    // The bottleneck loses packets in one direction only, so it is two links.
    let (queue, device) = super::queues::discipline(case)?;
    let there = Link { is_duplex: false, queue, device, loss: case.loss, ..link(0, 1, rate_bps, delay) };
    let back = Link { is_duplex: false, ..link(1, 0, rate_bps, delay) };
    let mut links = vec![there, back];
    for i in 0..case.n {
        let delay = case.sender_delays[i as usize % case.sender_delays.len()];
        links.push(link(2 + i, 0, case.access_bps, delay.scaled(longer)));
        links.push(link(1, 2 + case.n + i, case.access_bps, case.receiver_delay.scaled(longer)));
    }
    let apps = (0..case.n).map(|i| {
        let ends = Ends { source: NodeId(2 + i), destination: NodeId(2 + case.n + i), start: case.start(i) };
        let tcp = Tcp { settings: settings(case)?, bytes: case.size(i), writes: None, read_rate_bps: None };
        Ok(App {
            name: format!("flow{i}"),
            kind: AppKind::Tcp(Box::new(tcp)),
            flows: vec![ends],
            marking: Marking::default(),
        })
    });
    let apps = apps.collect::<Result<Vec<_>, String>>()?;
    Ok(Description { nodes, links, apps, headers: 28, ..Description::default() })
}

/// Returns the settings of TCP: those of ns-3, changed by the case.
fn settings(case: &Case) -> Result<Settings, String> {
    let (name, ecn) = match &*case.control {
        "TcpNewReno" => ("newreno", EcnUse::Off),
        "TcpCubic" => ("cubic", EcnUse::Off),
        "TcpDctcp" => ("dctcp", EcnUse::Ask),
        other => return Err(format!("there is no congestion control `{other}`")),
    };
    let algorithm: Algorithm = name.parse().map_err(|error| format!("{error}"))?;
    Ok(Settings {
        algorithm: algorithm.as_in_ns3(),
        ecn,
        marks_all_segments: ecn == EcnUse::Ask,
        mss: case.mss,
        initial_window: case.initial_window,
        delayed_ack_segments: case.delayed,
        sack: case.has_sack,
        timestamps: case.has_timestamps,
        send_buffer: case.buffer,
        receive_buffer: case.buffer,
        rto_floor: RtoFloor::Whole(case.min_rto),
        ..Settings::ns3()
    })
}

/// Returns the place of a column.
fn column(table: &Table, name: &str) -> usize {
    table.columns().iter().position(|column| &*column.name == name).expect("the table has the column")
}

fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Integer(number) => *number as f64,
        Cell::Float(number) => *number,
        _ => 0.0,
    }
}

fn read(case: &Case, metrics: &Metrics) -> Results {
    let table = |name: &str| metrics.get(name).and_then(|metric| metric.table()).expect("the network has the table");
    let connections = table("connections");
    let [first, last] = ["first_byte", "completion"].map(|name| column(connections, name));
    let seconds = |cell: &Cell| number(cell) / 1e12;
    let flows: Vec<_> = connections
        .rows()
        .iter()
        .map(|row| (row[last] != Cell::Empty).then(|| (seconds(&row[first]), seconds(&row[last]))))
        .collect();
    let ends = (0..).zip(&flows).filter_map(|(i, flow)| Some(case.start(i).as_secs_f64() + flow.as_ref()?.1));
    let end_s = ends.fold(0.0, f64::max);
    let last_s = flows.iter().flatten().map(|(_, last)| *last).fold(0.0, f64::max);
    let mean_s = flows.iter().flatten().map(|(_, last)| last).sum::<f64>() / flows.len() as f64;
    let links = table("links");
    let of_bottleneck = links.rows().into_iter().find(|row| row[column(links, "link")] == Cell::from("0-1"));
    let count = |name: &str| of_bottleneck.as_ref().map_or(0.0, |row| number(&row[column(links, name)]));
    let span = end_s - FIRST_START.as_secs_f64();
    Results {
        flows,
        last_s,
        mean_s,
        drops: count("lost_queue") + count("lost_early"),
        marks: count("packets_marked"),
        queue: count("queue_mean") * UNTIL.as_secs_f64() / span,
    }
}
