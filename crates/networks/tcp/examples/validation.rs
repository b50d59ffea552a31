//! Compares the profile `ns3` with what ns-3 computed: `validation FOLDER [CASE]`.
//!
//! The folder has `cases.tsv`, `expected.tsv`, `totals.tsv` and `bands.tsv`. Cases with a queue discipline
//! are left out: they need a network.

#![allow(clippy::print_stdout, reason = "a program")]

#[path = "../tests/harness/mod.rs"]
mod harness;

use harness::{Dumbbell, Outcome};
use parades_core::time::{Delay, Time};
use parades_tcp::control::{Algorithm, Cubic, Dctcp};
use parades_tcp::settings::{EcnUse, RtoFloor, Settings};
use std::collections::BTreeMap;

type Row = BTreeMap<String, String>;

fn table(folder: &str, name: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("a table");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a head").split('\t').collect();
    let row = |line: &str| names.iter().zip(line.split('\t')).map(|(&k, v)| (k.to_owned(), v.to_owned())).collect();
    lines.map(row).collect()
}

fn rate(text: &str) -> u64 {
    let (number, factor) = match text.strip_suffix("Gbps") {
        Some(number) => (number, 1_000_000_000),
        None => (text.strip_suffix("Mbps").expect("a rate"), 1_000_000),
    };
    number.parse::<u64>().expect("a rate") * factor
}

fn delay(text: &str) -> Delay {
    if let Some(number) = text.strip_suffix("us") {
        Delay::from_us(number.parse().expect("a delay"))
    } else {
        Delay::from_ms(text.strip_suffix("ms").expect("a delay").parse().expect("a delay"))
    }
}

/// Returns the network and the settings of a case; `None` if it needs a queue discipline.
fn case(parameters: &str) -> Option<(Dumbbell, Settings)> {
    let all: BTreeMap<&str, &str> = parameters.split(' ').filter_map(|word| word.split_once('=')).collect();
    let get = |key: &str, default: &'static str| all.get(key).copied().unwrap_or(default).to_owned();
    let real = |key: &str, default: &'static str| get(key, default).parse::<f64>().expect("a number");
    let count = |key: &str, default: &'static str| get(key, default).parse::<u32>().expect("a count");
    let q = get("q", "droptail");
    if q != "droptail" && q != "dctcp" {
        return None;
    }
    let n = count("n", "1") as usize;
    let sizes: Vec<u64> = get("size", "1000000").split(',').map(|size| size.parse().expect("a size")).collect();
    let access_delays: Vec<Delay> = match all.get("adelays") {
        Some(list) => list.split(',').map(delay).collect(),
        None => vec![delay(&get("adelay", "1ms")); n],
    };
    let stagger = real("stagger", "0");
    let dumbbell = Dumbbell {
        sizes: (0..n).map(|flow| sizes[flow % sizes.len()]).collect(),
        starts: (0..n).map(|flow| Time::from_secs_f64(1.0 + stagger * flow as f64)).collect(),
        rate: rate(&get("rate", "10Mbps")),
        delay: delay(&get("delay", "20ms")),
        access: rate(&get("access", "100Mbps")),
        access_delays,
        queue: count("qlen", "100") as usize + usize::from(q == "dctcp"),
        mark_above: all.get("K").map(|k| k.parse().expect("a threshold")),
        // A probability is a span of at most one second, in picoseconds.
        loss: (Delay::from_secs_f64(real("loss", "0")).as_ps() << 24) / (1_000_000_000_000 >> 8),
        seed: count("run", "1").into(),
        until: Time::from_secs(1000),
    };
    let mut settings = Settings::ns3();
    settings.mss = count("mss", "1448");
    settings.initial_window = count("iw", "10");
    settings.delayed_ack_segments = count("del", "2");
    settings.sack = get("sack", "true") == "true";
    settings.timestamps = get("ts", "true") == "true";
    settings.send_buffer = count("buf", "4000000");
    settings.receive_buffer = count("buf", "4000000");
    settings.rto_floor = RtoFloor::Whole(Delay::from_secs_f64(real("minrto", "1.0")));
    match get("cc", "TcpNewReno").as_str() {
        "TcpNewReno" => {}
        "TcpCubic" => settings.algorithm = Algorithm::Cubic(Cubic::ns3()),
        "TcpDctcp" => {
            settings.algorithm = Algorithm::Dctcp(Dctcp::ns3());
            settings.ecn = EcnUse::Ask;
            settings.marks_all_segments = true;
        }
        _ => return None,
    }
    Some((dumbbell, settings))
}

/// Prints a value with its band, and a star if it lies outside.
fn show(value: f64, band: (f64, f64), width: f64) -> String {
    let (low, high) = (band.0 * (1.0 - width), band.1 * (1.0 + width));
    let mark = if (low..=high).contains(&value) { ' ' } else { '*' };
    format!("{value:10.5} [{:.5} {:.5}]{mark}", band.0, band.1)
}

fn report(name: &str, outcome: &Outcome, bands: Option<&Row>, expected: &[&Row]) {
    let seconds: Vec<f64> =
        outcome.flows.iter().map(|flow| flow.completion.map_or(f64::NAN, Delay::as_secs_f64)).collect();
    let last = seconds.iter().copied().fold(0.0, f64::max);
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    let counts = outcome.clients.iter().fold((0, 0, 0, 0), |(a, b, c, d), client| {
        let counts = client.counts();
        (
            a + counts.fast_retransmissions,
            b + counts.timeout_retransmissions,
            c + counts.timeouts,
            d + counts.recoveries,
        )
    });
    print!("{name:28}");
    if let Some(bands) = bands {
        let band = |key: &str| {
            let number = |end: &str| bands[&format!("{key}_{end}")].parse::<f64>().expect("a number");
            (number("min"), number("max"))
        };
        print!(" last {}", show(last, band("last_s"), 0.03));
        print!(" mean {}", show(mean, band("mean_s"), 0.03));
        print!(" drops {}", show(outcome.drops as f64, band("drops"), 0.1));
        print!(" queue {}", show(outcome.mean_queue, band("queue"), 0.1));
        print!(" marks {}", show(outcome.marks as f64, band("marks"), 0.1));
    } else {
        let theirs: f64 = expected[0]["completion_s"].parse().expect("a time");
        print!(" ours {last:.6} theirs {theirs:.6} drops {}", outcome.drops);
    }
    println!(
        " fast {} after-rto {} timeouts {} recoveries {} sent {}",
        counts.0, counts.1, counts.2, counts.3, outcome.sent
    );
    if std::env::args().nth(2).is_some() {
        for (flow, row) in outcome.flows.iter().zip(expected) {
            println!(
                "  first {:.8} ({}) completion {:.8} ({})",
                flow.first_byte.map_or(f64::NAN, Delay::as_secs_f64),
                row["first_byte_s"],
                flow.completion.map_or(f64::NAN, Delay::as_secs_f64),
                row["completion_s"]
            );
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("the folder of the validation");
    let only = arguments.next();
    let (expected, bands) = (table(&folder, "expected.tsv"), table(&folder, "bands.tsv"));
    for row in table(&folder, "cases.tsv") {
        let name = &row["case"];
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let Some((dumbbell, settings)) = case(&row["parameters"]) else { continue };
        let outcome = harness::run(&dumbbell, &settings);
        let rows: Vec<&Row> = expected.iter().filter(|row| row["case"] == *name).collect();
        report(name, &outcome, bands.iter().find(|row| row["case"] == *name), &rows);
    }
}
