//! Random programs on random platforms, run here and as actors of SimGrid: the worst difference between the
//! times at which their actions end. Processes compute, use disks, exchange messages with timeouts, and lock;
//! hosts fail, and some processes begin again with them.
//!
//! usage: `cargo run --release -p parades-carriers --example programs_against_simgrid -- COUNT [FROM
//! [FOLDER]]`
//!
//! COUNT is the number of programs, FROM the first seed, and FOLDER keeps the files of the last program.
//! Needs `g++` and SimGrid 3.32 (Debian: `apt install libsimgrid-dev`). The status is 1 if a difference
//! exceeds one in a million, or if an action ends in only one of the two.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers are small")]
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command line prints")]

use parades_carriers::FlowLevel;
use parades_carriers::flow_level::OnPlatform;
use parades_core::prelude::*;
use parades_core::random::Rng;
use parades_engine::sequential;
use parades_flow::network::Execution;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_program::{Node, Processes, Program, Start};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// The greatest difference, relative to SimGrid's time.
const TOLERANCE: f64 = 1e-6;

/// An action of a process.
#[derive(Clone, Debug)]
struct Action {
    kind: &'static str,
    /// The name of a mailbox or mutex, or the priority of a computation.
    name: String,
    /// In flops, bytes or seconds.
    amount: f64,
    /// The longest wait for a message, in seconds.
    timeout: f64,
}

/// A process, with its host.
#[derive(Clone, Debug)]
struct Actor {
    host: u32,
    restarts: bool,
    actions: Arc<[Action]>,
}

/// A host is switched on or off.
#[derive(Clone, Debug)]
struct Switch {
    time: f64,
    host: u32,
    works: bool,
}

/// A program on a platform.
struct Case {
    hosts: u32,
    platform: String,
    actors: Vec<Actor>,
    switches: Vec<Switch>,
    model: &'static str,
}

/// The end of an action: its time in seconds, its process, its index, and whether it succeeded.
type Ended = (f64, usize, usize, bool);

/// The processes of a case.
struct Script {
    hosts: u32,
    actors: Vec<Actor>,
    switches: Vec<Switch>,
    carrier: FlowLevel<u64>,
}

impl Script {
    fn begin(&self, start: &mut Start<'_, Script>, again: bool) {
        for (id, actor) in self.actors.iter().enumerate() {
            if actor.host == start.id().0 && (actor.restarts || !again) {
                let actions = Arc::clone(&actor.actions);
                start.spawn("actor", move |node| live(node, id, actions));
            }
        }
    }
}

impl Program for Script {
    type Message = u64;
    type State = Vec<(Time, usize, usize, bool)>;
    type Carrier = FlowLevel<u64>;
    fn nodes(&self) -> u32 {
        self.hosts
    }
    fn carrier(&self) -> &FlowLevel<u64> {
        &self.carrier
    }
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        let column = |name| Column::new(name, Unit::Count);
        metrics.table("log", vec![column("time"), column("actor"), column("index"), column("ok")]);
        metrics
    }
    fn start(&self, start: &mut Start<'_, Self>) -> Self::State {
        self.begin(start, false);
        if start.id() == LpId(0) {
            let switches = self.switches.clone();
            start.spawn("switches", |node| async move {
                for Switch { time, host, works } in switches {
                    node.sleep_until(Time::try_from_secs_f64(time).expect("it is short")).await;
                    let host = node.host_named(&format!("h{host}")).expect("there is such a host");
                    node.switch_host(host, works);
                }
            });
        }
        Vec::new()
    }
    fn restart(&self, start: &mut Start<'_, Self>, _: &mut Self::State) {
        self.begin(start, true);
    }
    fn finish(&self, _: LpId, log: &Self::State, _: &End, metrics: &mut Metrics) {
        for &(time, actor, index, ok) in log {
            let cells = [time.as_ps(), actor as u64, index as u64, u64::from(ok)];
            metrics.row(MetricId(0), cells.map(Cell::from));
        }
    }
}

/// The life of a process.
async fn live(node: Node<Script>, id: usize, actions: Arc<[Action]>) {
    let mut held = None;
    for (index, Action { kind, name, amount, timeout }) in actions.iter().enumerate() {
        let seconds = |seconds: f64| Delay::try_from_secs_f64(seconds).expect("it is short");
        let mailbox = node.mailbox(name.as_str());
        let is_done = match *kind {
            "compute" => {
                let priority = name.parse().expect("a priority is a number");
                node.execute(Execution { priority, ..Execution::new(*amount) }).await.is_ok()
            }
            "read" => node.read_disk("d", *amount).await.is_ok(),
            "write" => node.write_disk("d", *amount).await.is_ok(),
            "put" => node.within(seconds(*timeout), mailbox.put(*amount as u64)).await.is_some_and(|put| put.is_ok()),
            "get" => node.within(seconds(*timeout), mailbox.get()).await.is_some_and(|got| got.is_ok()),
            "lock" => {
                held = Some(node.shared_mutex(name.as_str()).acquire().await);
                true
            }
            "unlock" => held.take().is_some(),
            _ => {
                node.sleep(seconds(*amount)).await;
                true
            }
        };
        let now = node.now();
        node.with_state(|log| log.push((now, id, index, is_done)));
    }
}

/// Returns a number of seconds with six places.
fn seconds(rng: &Rng, most: u64) -> f64 {
    rng.below(most * 1_000_000) as f64 / 1e6
}

impl Case {
    fn draw(seed: u64) -> Case {
        let rng = Rng::shared(seed, 1);
        let hosts = 2 + rng.below(7) as u32;
        let fails: Vec<bool> = (0..hosts).map(|host| host > 0 && rng.below(3) == 0).collect();
        let actors = (0..hosts + rng.below(12) as u32).map(|number| {
            let host = number % hosts;
            // Actors that act at one time have another order in SimGrid, that of their numbers. So they pause before
            // each action, for times of their own.
            let pause = |most_ms: u64| {
                let amount = (1 + rng.below(most_ms * 1_000_000)) as f64 / 1e9;
                Action { kind: "sleep", name: "-".to_owned(), amount, timeout: 1.0 }
            };
            let drawn = (0..2 + rng.below(8)).map(|_| actions(&rng, fails[host as usize]));
            let paused = drawn.flat_map(|drawn| std::iter::once(pause(10)).chain(drawn));
            let actions = std::iter::once(pause(1_000)).chain(paused).collect();
            Actor { host, restarts: rng.below(2) == 0, actions }
        });
        let actors = actors.collect();
        let mut switches = Vec::new();
        for host in (0..hosts).filter(|&host| fails[host as usize]) {
            let mut time = 0.0;
            for _ in 0..1 + rng.below(2) {
                for works in [false, true] {
                    time += 0.1 + seconds(&rng, 4);
                    switches.push(Switch { time, host, works });
                }
            }
        }
        switches.sort_by(|one, other| one.time.total_cmp(&other.time));
        let model = ["CM02", "LV08"][rng.below(2) as usize];
        Case { hosts, platform: platform(&rng, hosts), actors, switches, model }
    }

    /// Returns the script in the words of `script.cpp`.
    fn script(&self) -> String {
        let mut text = String::new();
        for Actor { host, restarts, actions } in &self.actors {
            let _ = writeln!(text, "actor h{host} {}", u8::from(*restarts));
            for Action { kind, name, amount, timeout } in &**actions {
                let _ = writeln!(text, "{kind} {name} {amount} {timeout}");
            }
        }
        for Switch { time, host, works } in &self.switches {
            let _ = writeln!(text, "switch {time} h{host} {}", u8::from(*works));
        }
        text
    }

    fn log_here(&self) -> Result<Vec<Ended>, String> {
        let platform = parades_flow::xml::parse("platform.xml".as_ref(), self.platform.as_bytes());
        let platform = platform.map_err(|error| error.to_string())?;
        let model = NetworkModel::MaxMin(if self.model == "CM02" { MaxMinModel::CM02 } else { MaxMinModel::LV08 });
        let carrier = FlowLevel::new(platform.into(), model, self.hosts, |&bytes| bytes as f64);
        let (actors, switches) = (self.actors.clone(), self.switches.clone());
        let script = Script { hosts: self.hosts, actors, switches, carrier: carrier.with_ends_of_processes() };
        let outcome = sequential::run(&Processes::new(script), RunOptions::until(Time::MAX));
        let outcome = outcome.map_err(|error| error.to_string())?;
        let table = outcome.metrics.get("log").and_then(|metric| metric.table()).ok_or("there is no log")?;
        let ended = |row: &Vec<Cell>| match row[..] {
            [Cell::Integer(time), Cell::Integer(actor), Cell::Integer(index), Cell::Integer(ok)] => {
                (Time::from_ps(time).as_secs_f64(), actor as usize, index as usize, ok == 1)
            }
            _ => unreachable!("the log has numbers"),
        };
        Ok(table.rows().iter().map(ended).collect())
    }

    fn log_in_simgrid(&self, program: &Path, folder: &Path) -> Result<Vec<Ended>, String> {
        let (platform, script) = (folder.join("platform.xml"), folder.join("script"));
        for (file, text) in [(&platform, &self.platform), (&script, &self.script())] {
            std::fs::write(file, text).map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
        }
        let mut command = Command::new(program);
        command.arg(platform).arg(script).arg(format!("--cfg=network/model:{}", self.model));
        let output = command.arg("--log=root.thres:critical").output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("SimGrid fails: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let ended = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let [time, actor, index, ok] = words[..] else { return None };
            Some((time.parse().ok()?, actor.parse().ok()?, index.parse().ok()?, ok == "ok"))
        };
        String::from_utf8_lossy(&output.stdout).lines().map(|line| ended(line).ok_or(line.to_owned())).collect()
    }
}

/// Draws an action, or two that belong together. Processes of hosts that fail do not lock, since SimGrid
/// leaves the mutexes of killed actors locked.
fn actions(rng: &Rng, fails: bool) -> Vec<Action> {
    let name = |kind: &str, count| format!("{kind}{}", rng.below(count));
    let action = |kind, name, amount| vec![Action { kind, name, amount, timeout: 0.1 + seconds(rng, 6) }];
    let bytes = |most: u64| (1 + rng.below(most)) as f64;
    match rng.below(if fails { 8 } else { 9 }) {
        0 | 1 => action("compute", (1 + rng.below(3)).to_string(), bytes(3_000_000_000)),
        2 => action("sleep", "-".to_owned(), seconds(rng, 2)),
        3 => action(["read", "write"][rng.below(2) as usize], "-".to_owned(), bytes(100_000_000)),
        4 | 5 => action("put", name("m", 3), bytes(50_000_000)),
        6 | 7 => action("get", name("m", 3), 0.0),
        _ => {
            let name = name("mutex", 2);
            let mut all = action("lock", name.clone(), 0.0);
            all.extend(action("compute", "1".to_owned(), bytes(1_000_000_000)));
            all.extend(action("unlock", name, 0.0));
            all
        }
    }
}

/// Draws a platform whose hosts share the links of both ends, and have a disk each.
fn platform(rng: &Rng, hosts: u32) -> String {
    let mut text = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
                    <platform version=\"4.1\">\n<zone id=\"w\" routing=\"Full\">\n"
        .to_owned();
    for host in 0..hosts {
        let (mflops, cores, read, write) =
            (500 + rng.below(3000), 1 + rng.below(3), 20 + rng.below(200), 20 + rng.below(100));
        let _ = writeln!(
            text,
            "<host id=\"h{host}\" speed=\"{mflops}Mf\" core=\"{cores}\">\
             <disk id=\"d\" read_bw=\"{read}MBps\" write_bw=\"{write}MBps\"/></host>"
        );
    }
    for host in 0..hosts {
        let (mbps, us) = (5 + rng.below(100), 1 + rng.below(5000));
        let _ = writeln!(text, "<link id=\"l{host}\" bandwidth=\"{mbps}MBps\" latency=\"{us}us\"/>");
    }
    for (one, other) in (0..hosts).flat_map(|one| (one + 1..hosts).map(move |other| (one, other))) {
        let _ = writeln!(
            text,
            "<route src=\"h{one}\" dst=\"h{other}\"><link_ctn id=\"l{one}\"/><link_ctn id=\"l{other}\"/></route>"
        );
    }
    text.push_str("</zone>\n</platform>\n");
    text
}

/// Sorts a log by process, action and time.
fn sorted(mut log: Vec<Ended>) -> Vec<Ended> {
    log.sort_by(|one, other| (one.1, one.2).cmp(&(other.1, other.2)).then(one.0.total_cmp(&other.0)));
    log
}

/// Returns the greatest relative difference of two logs, or a sentence on how they differ.
fn compare(here: Vec<Ended>, there: Vec<Ended>) -> Result<f64, String> {
    let (here, there) = (sorted(here), sorted(there));
    let mut most = 0.0_f64;
    for (one, other) in here.iter().zip(&there) {
        let difference = (one.0 - other.0).abs() / other.0.max(1e-3);
        most = most.max(difference);
        if (one.1, one.2, one.3) != (other.1, other.2, other.3) || difference > TOLERANCE {
            return Err(format!(
                "an action ends as {one:?}, but in SimGrid as {other:?} (s, process, action, success)"
            ));
        }
    }
    if here.len() == there.len() {
        return Ok(most);
    }
    Err(format!("{} actions end, but {} in SimGrid", here.len(), there.len()))
}

/// Compiles `script.cpp`. Returns the path of the program.
fn compile(folder: &Path) -> Result<PathBuf, String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    let program = folder.join("script-of-simgrid");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/simgrid/script.cpp");
    let mut compiler = Command::new("g++");
    compiler.args(["-O2", "-w", "-std=c++17", source, "-lsimgrid", "-o"]).arg(&program);
    match compiler.status() {
        Ok(status) if status.success() => Ok(program),
        Ok(_) => Err("script.cpp cannot be compiled; install libsimgrid-dev".to_owned()),
        Err(error) => Err(format!("g++ cannot be started: {error}")),
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: &str| words.get(index).map_or(default, String::as_str).parse::<u64>();
    let (Ok(count), Ok(from)) = (number(0, "200"), number(1, "0")) else {
        println!("usage: programs_against_simgrid [COUNT [FROM [FOLDER]]]");
        return ExitCode::from(2);
    };
    let folder = words.get(2).map_or_else(|| std::env::temp_dir().join("parades-programs-simgrid"), PathBuf::from);
    let program = match compile(&folder) {
        Ok(program) => program,
        Err(why) => {
            println!("{why}");
            return ExitCode::from(2);
        }
    };
    let (mut most, mut wrong, mut actions, mut failed) = (0.0_f64, 0_u64, 0, 0);
    for seed in from..from.saturating_add(count) {
        let case = Case::draw(seed);
        let logs = case.log_here().and_then(|here| Ok((here, case.log_in_simgrid(&program, &folder)?)));
        let compared = logs.and_then(|(here, there)| {
            actions += there.len();
            failed += there.iter().filter(|ended| !ended.3).count();
            compare(here, there)
        });
        match compared {
            Ok(difference) => most = most.max(difference),
            Err(why) => {
                wrong += 1;
                println!("seed {seed}: {why}");
            }
        }
    }
    println!(
        "{count} programs with {actions} actions, of which {failed} fail: {wrong} differ, and the worst relative difference \
         of the others is {most:.1e}"
    );
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
