//! Random traces on random platforms, replayed here and by SimGrid's SMPI: the worst difference between the
//! times at which ranks end.
//!
//! usage: `cargo run --release -p parades-replay --example against_simgrid -- COUNT [FROM [FOLDER]]`
//!
//! COUNT is the number of traces, FROM the first seed, and FOLDER keeps the files of the last trace. Needs
//! `smpirun` of SimGrid 3.32 (Debian: `apt install libsimgrid-dev`). The status is 1 if a difference exceeds
//! one in a million. No link is a fat pipe, whose rates SimGrid computes in another way (`flow::solver`).

#![expect(clippy::cast_possible_truncation, reason = "ranks and choices are few")]
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command line prints")]

use parades_core::prelude::*;
use parades_core::random::Rng;
use parades_engine::sequential;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_replay::{Replay, trace};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The greatest difference, relative to SimGrid's time.
const TOLERANCE: f64 = 1e-6;
/// The greatest number of ranks.
const RANKS_MAX: u64 = 16;

/// A trace on a platform, in the forms of the files of both simulators.
struct Case {
    ranks: u64,
    hosts: u64,
    platform: String,
    trace: String,
    /// The name of the network model.
    model: &'static str,
    cross_traffic: bool,
}

impl Case {
    fn draw(seed: u64) -> Case {
        let rng = Rng::shared(seed, 1);
        let ranks = 2 + rng.below(RANKS_MAX - 1);
        let hosts = if rng.below(4) == 0 { 1 + rng.below(ranks) } else { ranks };
        let model = ["CM02", "LV08"][rng.below(2) as usize];
        Case {
            ranks,
            hosts,
            platform: platform(&rng, hosts),
            trace: Draw { rng: &rng, lines: String::new(), ranks, tag: 0 }.trace(),
            model,
            cross_traffic: rng.below(2) == 0,
        }
    }

    /// Returns the time in seconds at which each rank ends here.
    fn ends_here(&self) -> Result<Vec<f64>, String> {
        let platform = parades_flow::xml::parse("platform.xml".as_ref(), self.platform.as_bytes());
        let platform = platform.map_err(|error| error.to_string())?;
        let trace = trace::parse("trace.ti".as_ref(), &self.trace).map_err(|error| error.to_string())?;
        let model = if self.model == "CM02" { MaxMinModel::CM02 } else { MaxMinModel::LV08 };
        let cross_traffic = if self.cross_traffic { model.cross_traffic } else { 0.0 };
        let model = NetworkModel::MaxMin(MaxMinModel { cross_traffic, ..model });
        let replay = Replay::model(platform, model, trace, None);
        let outcome = sequential::run(&replay, RunOptions::until(Time::MAX)).map_err(|error| error.to_string())?;
        let table = outcome.metrics.get("ranks").and_then(|metric| metric.table()).ok_or("there is no table")?;
        let end = |row: &Vec<Cell>| match row[2] {
            Cell::Integer(end) => Ok(Time::from_ps(end).as_secs_f64()),
            _ => Err("a rank does not end".to_owned()),
        };
        table.rows().iter().map(end).collect()
    }

    /// Returns the time in seconds at which each rank ends in SimGrid.
    fn ends_in_simgrid(&self, folder: &Path) -> Result<Vec<f64>, String> {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
            Ok::<PathBuf, String>(path)
        };
        let platform = write("platform.xml", &self.platform)?;
        let trace = write("trace.ti", &self.trace)?;
        let list = write("list", &trace.display().to_string())?;
        let hosts: String = (0..self.hosts).map(|host| format!("n{host}\n")).collect();
        let hosts = write("hosts", &hosts)?;
        let output = Command::new("smpirun")
            .args(["-no-privatize", "-np", &self.ranks.to_string(), "-platform"])
            .arg(platform)
            .arg("-hostfile")
            .arg(hosts)
            .arg("-replay")
            .arg(list)
            .arg(format!("--cfg=network/model:{}", self.model))
            .arg(format!("--cfg=network/crosstraffic:{}", u8::from(self.cross_traffic)))
            .args(["--log=smpi_replay.thresh:verbose", "--log=root.fmt:%a;%.12r;%m%n"])
            .output()
            .map_err(|error| format!("smpirun cannot be started: {error}; install libsimgrid-dev"))?;
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let why = text.lines().find(|line| !line.starts_with("maestro") || line.contains("xception"));
            return Err(format!("SimGrid fails: {}", why.unwrap_or("it says nothing")));
        }
        let mut ends = vec![0.0; self.ranks as usize];
        for line in text.lines() {
            // The last line of a rank is its last action, or the end of the replay.
            let mut fields = line.split(';');
            let (rank, time) = (fields.next().map(str::parse::<usize>), fields.next().map(str::parse::<f64>));
            if let (Some(Ok(rank)), Some(Ok(time))) = (rank, time) {
                ends[rank] = time;
            }
        }
        Ok(ends)
    }
}

/// Returns one of the values.
fn one_of<T: Copy>(rng: &Rng, values: &[T]) -> T {
    values[rng.below(values.len() as u64) as usize]
}

/// Draws a platform: a cluster, or hosts whose messages share the links of both.
fn platform(rng: &Rng, hosts: u64) -> String {
    let mut text = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
                    <platform version=\"4.1\">\n"
        .to_owned();
    let mbps = |rng: &Rng| format!("{}MBps", 1 + rng.below(1000));
    let us = |rng: &Rng| format!("{}us", 1 + rng.below(500));
    if rng.below(2) == 0 {
        let bone =
            if rng.below(2) == 0 { format!("bb_bw=\"{}\" bb_lat=\"{}\"", mbps(rng), us(rng)) } else { String::new() };
        let (bandwidth, latency) = (mbps(rng), us(rng));
        let sharing = one_of(rng, &["SHARED", "SPLITDUPLEX"]);
        let (last, mflops, cores) = (hosts - 1, 100 + rng.below(5000), 1 + rng.below(3));
        let _ = writeln!(
            text,
            "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-{last}\" speed=\"{mflops}Mf\" core=\"{cores}\" \
             bw=\"{bandwidth}\" lat=\"{latency}\" sharing_policy=\"{sharing}\" {bone}/>"
        );
    } else {
        text.push_str("<zone id=\"w\" routing=\"Full\">\n");
        for host in 0..hosts {
            let (mflops, cores) = (100 + rng.below(5000), 1 + rng.below(3));
            let _ = writeln!(text, "<host id=\"n{host}\" speed=\"{mflops}Mf\" core=\"{cores}\"/>");
        }
        for host in 0..hosts {
            let (bandwidth, latency) = (mbps(rng), us(rng));
            let _ = writeln!(text, "<link id=\"l{host}\" bandwidth=\"{bandwidth}\" latency=\"{latency}\"/>");
        }
        for one in 0..hosts {
            for other in one + 1..hosts {
                let _ = writeln!(
                    text,
                    "<route src=\"n{one}\" dst=\"n{other}\"><link_ctn id=\"l{one}\"/><link_ctn id=\"l{other}\"/></route>"
                );
            }
        }
        text.push_str("</zone>\n");
    }
    text.push_str("</platform>\n");
    text
}

/// A trace that is drawn.
struct Draw<'r> {
    rng: &'r Rng,
    lines: String,
    ranks: u64,
    /// The tag of the last messages.
    tag: u64,
}

impl Draw<'_> {
    fn trace(mut self) -> String {
        self.each(|_| "init".to_owned());
        for _ in 0..2 + self.rng.below(10) {
            match self.rng.below(7) {
                0 | 1 => self.compute(),
                2 | 3 => self.messages(),
                4 => self.any_source(),
                _ => self.collective(),
            }
        }
        // The last action of each rank is at its end.
        self.each(|_| "waitall".to_owned());
        self.each(|_| "compute 1".to_owned());
        self.lines
    }

    fn line(&mut self, rank: u64, action: &str) {
        let _ = writeln!(self.lines, "{rank} {action}");
    }

    /// Adds an action for each rank.
    fn each(&mut self, action: impl Fn(u64) -> String) {
        (0..self.ranks).for_each(|rank| self.line(rank, &action(rank)));
    }

    fn below(&self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    /// Draws a number of elements: few, or many.
    fn amount(&self) -> u64 {
        let bound = one_of(self.rng, &[2, 100, 10_000, 100_000, 1_000_000]);
        self.below(bound)
    }

    /// Each rank computes, or sleeps.
    fn compute(&mut self) {
        for rank in 0..self.ranks {
            let (flops, ms) = (self.below(1_000_000_000), self.below(500));
            let action = if self.below(4) == 0 { format!("sleep 0.{ms:03}") } else { format!("compute {flops}") };
            self.line(rank, &action);
        }
    }

    /// Messages between two ranks, one after another, or as requests.
    fn messages(&mut self) {
        for _ in 0..1 + self.below(2 * self.ranks) {
            let (from, to, amount, kind) = (self.below(self.ranks), self.below(self.ranks), self.amount(), self.kind());
            let tag = self.below(3);
            if from == to {
                continue;
            }
            let (send, receive) = one_of(self.rng, &[("send", "recv"), ("isend", "irecv"), ("isend", "recv")]);
            self.line(from, &format!("{send} {to} {tag} {amount} {kind}"));
            self.line(to, &format!("{receive} {from} {tag} {amount} {kind}"));
            if self.below(4) == 0 {
                self.line(from, "waitall");
                self.line(to, "waitall");
            }
        }
        self.each(|_| "waitall".to_owned());
    }

    /// A rank receives one message from each rank, in the order of their arrival.
    fn any_source(&mut self) {
        self.tag += 10;
        let (to, tag) = (self.below(self.ranks), self.tag);
        let form = one_of(self.rng, &["recv", "irecv"]);
        for from in (0..self.ranks).filter(|&from| from != to) {
            let (flops, amount) = (self.below(100_000_000), self.amount());
            self.line(from, &format!("compute {flops}"));
            self.line(from, &format!("send {to} {tag} {amount} 1"));
            self.line(to, &format!("{form} -555 {tag} 1000000 1"));
        }
        self.line(to, "waitall");
    }

    /// Draws a data type.
    fn kind(&self) -> u64 {
        one_of(self.rng, &[0, 1, 3, 6, 26, 31])
    }

    /// An operation of all ranks.
    fn collective(&mut self) {
        let (amount, root, kind, flops) = (self.amount(), self.below(self.ranks), self.kind(), self.below(100_000_000));
        let parts: Vec<u64> = (0..self.ranks).map(|_| self.amount()).collect();
        let words = |parts: &[u64]| parts.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let same = words(&vec![amount; self.ranks as usize]);
        let all = words(&parts);
        // SMPI refuses pairs of a number of ranks that is no power of two.
        let few = if self.ranks.is_power_of_two() { amount } else { amount % 8000 };
        match self.below(16) {
            0 => self.each(|_| "barrier".to_owned()),
            1 => self.each(|_| format!("bcast {amount} {root} {kind}")),
            2 => self.each(|_| format!("reduce {amount} {flops} {root} {kind}")),
            3 => self.each(|_| format!("allreduce {amount} {flops} {kind}")),
            4 => self.each(|_| format!("scan {amount} {flops} {kind}")),
            5 => self.each(|_| format!("exscan {amount} {flops} {kind}")),
            6 => self.each(|_| format!("reducescatter {all} {flops} {kind}")),
            7 => self.each(|_| format!("reducescatter {same} {flops} {kind}")),
            8 => self.each(|_| format!("alltoall {few} {few} {kind} {kind}")),
            9 => self.each(|_| format!("gather {amount} {amount} {root} {kind} {kind}")),
            10 => self.each(|rank| format!("gatherv {} {all} {root} {kind} {kind}", parts[rank as usize])),
            11 => self.each(|_| format!("allgather {amount} {amount} {kind} {kind}")),
            12 => self.each(|rank| format!("allgatherv {} {all} {kind} {kind}", parts[rank as usize])),
            13 => self.each(|_| format!("scatter {amount} {amount} {root} {kind} {kind}")),
            14 => self.each(|rank| format!("scatterv {all} {} {root} {kind} {kind}", parts[rank as usize])),
            _ => {
                // Rank i sends the part of i to each rank.
                let sends = |rank: u64| words(&vec![parts[rank as usize]; parts.len()]);
                self.each(|rank| format!("alltoallv 1000000 {} 1000000 {all} {kind} {kind}", sends(rank)));
            }
        }
    }
}

/// Returns the rank whose times differ most, with both times, and the difference relative to SimGrid's.
fn worst(here: &[f64], there: &[f64]) -> (usize, f64) {
    let difference = |(here, there): (&f64, &f64)| (here - there).abs() / there;
    let all = here.iter().zip(there).map(difference).enumerate();
    all.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, f64::INFINITY))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: &str| words.get(index).map_or(default, String::as_str).parse::<u64>();
    let (Ok(count), Ok(from)) = (number(0, "200"), number(1, "0")) else {
        println!("usage: against_simgrid [COUNT [FROM [FOLDER]]]");
        return ExitCode::from(2);
    };
    let folder = words.get(2).map_or_else(|| std::env::temp_dir().join("parades-against-simgrid"), PathBuf::from);
    if let Err(error) = std::fs::create_dir_all(&folder) {
        println!("{} cannot be made: {error}", folder.display());
        return ExitCode::from(2);
    }
    let (mut most, mut wrong, mut ranks) = (0.0_f64, 0_u64, 0);
    for seed in from..from + count {
        let case = Case::draw(seed);
        match case.ends_here().and_then(|here| Ok((here, case.ends_in_simgrid(&folder)?))) {
            Ok((here, there)) => {
                let (rank, difference) = worst(&here, &there);
                (most, ranks) = (most.max(difference), ranks + case.ranks);
                if difference > TOLERANCE {
                    wrong += 1;
                    println!("seed {seed}: rank {rank} ends at {}, but at {} in SimGrid", here[rank], there[rank]);
                }
            }
            Err(why) => {
                wrong += 1;
                println!("seed {seed}: {why}");
            }
        }
    }
    println!("{count} traces with {ranks} ranks, {wrong} wrong; the worst relative difference is {most:.1e}");
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
