//! Programs whose processes are written in Python: the scenario `python`.
//!
//! One type of program serves all: a process of a node is a future that drives a coroutine ([`drive`]).
//! Messages are values in a canonical form ([`value`]), over one of three carriers ([`carriers`]).

mod carriers;
mod drive;
mod node;
mod sync;
mod value;
mod waits;

pub(crate) use node::{Node, NodeKey, Process, executing, fail_here};
pub(crate) use sync::{Event, Resource};
pub(crate) use value::canonical;
pub(crate) use waits::Awaited;

use carriers::{Names, Over};
use drive::{Coroutine, execute};
use parades::core::prelude::*;
use parades::netfile::NetworkFile;
use parades::p2p::churn::{Churn, Sessions};
use parades::program::{Node as RustNode, Processes, Program, Start};
use parades::{
    ChurnParameters, ConfigError, FromValues, Parameter, Parameters, Scenario, Simulation, UnderlayParameters, Values,
};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use value::{Canonical, Mail};

#[derive(Parameters)]
struct Settings {
    #[parameter(
        text,
        default = "",
        meaning = "the program: `module:name` or `file.py:name`, made by `parades.program`"
    )]
    program: String,
    #[parameter(integer, default = 0, range = 0..=100_000_000, meaning = "number of nodes; 0: as many as the program says")]
    nodes: u32,
    #[parameter(text, default = "{}", meaning = "arguments of the program, as a JSON object")]
    arguments: String,
    #[parameter(
        path,
        meaning = "network file or SimGrid platform (.xml) over which messages travel, instead of by the latencies of an underlay"
    )]
    over: Option<PathBuf>,
    #[parameter(
        text,
        default = "",
        meaning = "names or patterns of the nodes of the network file `over` at which nodes of the program are, line by line; all by default"
    )]
    places: String,
    #[parameter(group)]
    underlay: UnderlayParameters,
    #[parameter(group)]
    churn: ChurnParameters,
}

/// The scenario of programs in Python.
pub(crate) const SCENARIO: Scenario =
    Scenario::new("python", "a program whose processes are written in Python", Settings::PARAMETERS, build)
        .without_rollback();

/// Returns the parameters of the scenario.
pub(crate) fn parameters() -> &'static [Parameter] {
    Settings::PARAMETERS
}

/// The metrics of every program, beside those of its carrier.
const OF_EVERY_PROGRAM: [&str; 11] = [
    "processes_ended",
    "processes_killed",
    "processes_waiting",
    "messages_lost",
    "messages_unread",
    "messages_on_their_way",
    "messages_failed",
    "nodes_asleep",
    "first_waiting",
    "deadlock",
    "states_unfolded",
];

/// The virtual end of a run whose program names none.
const END: Time = Time::from_secs(60);

fn build(values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let Settings { program, nodes, arguments, over, places, underlay, churn } = Settings::from_values(values)?;
    let wrong = |key: &str, message: &str, help: &str| values.error_at(key, message, help);
    if program.is_empty() {
        return Err(wrong("program", "no program is named", "write `--set program=file.py:name`"));
    }
    let found = Python::attach(|py| Found::of(py, &program, &arguments).map_err(|error| failed(py, error)));
    let mut found =
        found.map_err(|why| wrong("program", &why, "name a program that each process of the run can import"))?;
    let Some(path) = over else {
        if !places.is_empty() {
            return Err(wrong("places", "there is no network with these nodes", "name one by `over`"));
        }
        found.nodes = if nodes == 0 { found.nodes } else { nodes };
        if found.nodes == 0 {
            return Err(wrong("nodes", "the program has no node", "give it a number of nodes from 1 on"));
        }
        let (carrier, notes) = underlay.carrier("nodes", found.nodes, seed)?;
        return found.simulation(values, seed, &churn, carrier, None, notes);
    };
    let of_underlay = UnderlayParameters::PARAMETERS.iter().map(|parameter| parameter.key());
    if let Some(key) = of_underlay.chain(["nodes"]).find(|key| values.is_changed(key)) {
        let help = format!("leave `{key}` out, or `over`");
        return Err(wrong(key, "it has no effect over a network file or a platform", &help));
    }
    let is_xml = path.extension().is_some_and(|extension| extension == "xml");
    let file = if is_xml { None } else { NetworkFile::read(&path)? };
    if let Some(file) = file {
        let (carrier, names, notes) = carriers::packets(values, &file, &places, seed)?;
        found.simulation(values, seed, &churn, carrier, Some(names), notes)
    } else {
        let (carrier, names, notes) = carriers::platform(values, &path, &places)?;
        found.simulation(values, seed, &churn, carrier, Some(names), notes)
    }
}

/// The facts that Python knows of a program.
#[derive(FromPyObject)]
struct Found {
    name: String,
    nodes: u32,
    stable: u32,
    counters: Vec<String>,
    tallies: Vec<String>,
    /// Makes the node, and the coroutine of its first process.
    begin: Py<PyAny>,
}

impl Found {
    fn of(py: Python<'_>, program: &str, arguments: &str) -> PyResult<Found> {
        py.import("parades._program")?.getattr("found")?.call1((program, arguments))?.extract()
    }

    /// Makes the model of the program over a carrier. `names` has the names of the nodes, if they have any.
    fn simulation<C: Over>(
        self,
        values: &Values,
        seed: u64,
        churn: &ChurnParameters,
        carrier: C,
        names: Option<Arc<Names>>,
        notes: Vec<String>,
    ) -> Result<Simulation, ConfigError> {
        let nodes = match &names {
            Some(names) => names.count(),
            None => self.nodes,
        };
        if self.stable > nodes {
            let message = format!("the program has {nodes} nodes, and {} that neither come nor go", self.stable);
            return Err(values.error_at("program", &message, "give it fewer of the latter (`stable`)"));
        }
        let mut of_carrier = Metrics::new();
        carrier.metrics(&mut of_carrier);
        let is_taken = |name: &&String| OF_EVERY_PROGRAM.contains(&name.as_str()) || of_carrier.get(name).is_some();
        if let Some(name) = self.counters.iter().chain(&self.tallies).find(is_taken) {
            let message = format!("every program has a metric `{name}` of its own");
            return Err(values.error_at("program", &message, "give the counter or tally another name"));
        }
        let churn = churn.churn("nodes", nodes, seed)?.map(|churn| churn.with_stable(self.stable));
        let mut metrics = Metrics::new();
        let counters = self.counters.into_iter().map(|name| (metrics.counter(&name, Unit::Count), name)).collect();
        let tallies = self.tallies.into_iter().map(|name| (metrics.float(&name, Unit::Count), name)).collect();
        let unfolded = metrics.counter("states_unfolded", Unit::Count);
        let code = Code {
            name: self.name,
            nodes,
            names,
            carrier,
            churn,
            begin: self.begin,
            counters,
            tallies,
            unfolded,
            metrics,
            fault: Mutex::new(None),
        };
        Ok(Simulation::distributed_unrestorable(Processes::new(code), END).with_notes(notes))
    }
}

/// Returns a sentence on an exception, with the line at which it was raised.
fn failed(py: Python<'_>, error: PyErr) -> String {
    let told =
        |module: Bound<'_, PyModule>| module.getattr("told")?.call1((error.value(py), error.traceback(py)))?.extract();
    let told = py.import("parades._failures").and_then(told);
    told.unwrap_or_else(|_: PyErr| error.to_string())
}

/// The code of the nodes.
pub(crate) struct Code<C> {
    name: String,
    nodes: u32,
    /// The names of the nodes, if they have any.
    names: Option<Arc<Names>>,
    carrier: C,
    churn: Option<Churn>,
    begin: Py<PyAny>,
    counters: Vec<(CounterId, String)>,
    tallies: Vec<(FloatId, String)>,
    /// The nodes whose state has no canonical form.
    unfolded: CounterId,
    metrics: Metrics,
    /// The first reason for that in this process.
    fault: Mutex<Option<String>>,
}

impl<C> Code<C> {
    fn counter(&self, name: &str) -> Option<CounterId> {
        self.counters.iter().find(|(_, other)| other == name).map(|(id, _)| *id)
    }

    fn tally(&self, name: &str) -> Option<FloatId> {
        self.tallies.iter().find(|(_, other)| other == name).map(|(id, _)| *id)
    }

    /// Returns the state of a node in its canonical form.
    fn canonical(&self, State(node): &State) -> Option<Canonical> {
        let found = Python::attach(|py| {
            let node = node.as_ref()?.bind(py);
            let state = match node.getattr_opt("fold") {
                Ok(Some(fold)) => fold.call0(),
                _ => node.cast::<Node>().map_err(PyErr::from).map(|node| node.borrow().state(py)),
            };
            let form = state.and_then(|state| Canonical::of(&state));
            Some(form.map_err(|error| failed(py, error)))
        });
        match found? {
            Ok(state) => Some(state),
            Err(why) => {
                self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
                None
            }
        }
    }
}

/// The node of Python, if it could be made.
pub(crate) struct State(Option<Py<PyAny>>);

impl<C: Over> Program for Code<C> {
    type Message = Mail;
    type State = State;
    type Carrier = C;

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn carrier(&self) -> &C {
        &self.carrier
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    fn start(&self, start: &mut Start<'_, Self>) -> State {
        let mut state = State(None);
        start.spawn("main", |node| {
            let made = Python::attach(|py| {
                let made = Py::new(py, NodeKey { node: C::any(node), names: self.names.clone() })
                    .and_then(|key| self.begin.bind(py).call1((key,)));
                made.map(Bound::unbind).map_err(|error| failed(py, error))
            });
            state.0 = made.as_ref().ok().map(|made| Python::attach(|py| made.clone_ref(py)));
            life(node, made)
        });
        state
    }

    fn fold(&self, state: &State, digest: &mut Digest) {
        if let Some(form) = self.canonical(state) {
            form.fold(digest);
        }
    }

    fn finish(&self, _: LpId, state: &State, _: &End, metrics: &mut Metrics) {
        if state.0.is_some() && self.canonical(state).is_none() {
            metrics.count(self.unfolded, 1);
        }
    }

    fn conclude(&self, _: &End, metrics: &mut Metrics) -> Result<(), String> {
        let count = metrics.by_id(self.unfolded).and_then(|metric| metric.counter()).unwrap_or(0);
        if count == 0 {
            return Ok(());
        }
        let why = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        let why = why.unwrap_or_else(|| "a value has no canonical form".to_owned());
        Err(format!("the states of {count} nodes cannot be part of the digest: {why}"))
    }
}

/// The life of a node: one session after another.
async fn life<C: Over>(node: RustNode<Code<C>>, made: Result<Py<PyAny>, String>) {
    let mut sessions = Sessions::new(node, |code| code.churn.as_ref());
    while let Some(session) = sessions.next().await {
        let begun = match &made {
            Ok(object) => Python::attach(|py| {
                let _inside = node::Inside::enter(C::any(node));
                let begun = object.bind(py).call_method1("_begin", (session.is_fresh(),));
                begun.and_then(|begun| Coroutine::new(&begun, C::any(node), None)).map_err(|error| failed(py, error))
            }),
            Err(why) => Err(why.clone()),
        };
        match begun {
            Ok(coroutine) => {
                session.run(execute(node, coroutine)).await;
            }
            Err(why) => return node.fail(why),
        }
    }
}
