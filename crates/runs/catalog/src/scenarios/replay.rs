//! `replay`.

use super::{Scenario, about_file, check_memory, flows, int32};
use crate::simulation::Simulation;
use parades_config::{ConfigError, Parameter, Values};
use parades_core::time::{Delay, Time};
use parades_replay::trace::Stencil;
use parades_replay::{AllToAll, Replay, trace};

/// The memory that an action of the built-in program takes, in bytes, estimated low.
const STEP_BYTES: u64 = 300;

pub(crate) const SCENARIO: Scenario = Scenario { platform: Some("platform"), ..BASE.without_rollback() };

const BASE: Scenario = Scenario::new(
    "replay",
    "time-independent traces of an MPI program (or a built-in stencil), replayed on the hosts of a platform",
    &[
        Parameter::path(
            "platform",
            "platform file, SimGrid's XML or TOML, whose hosts the ranks share; without one, a built-in cluster with a host for each rank",
        ),
        Parameter::path(
            "trace",
            "SimGrid's time-independent trace of all ranks, or a list of such files; without one, the trace of a stencil",
        ),
        Parameter::choice(
            "model",
            "auto",
            &["auto", "CM02", "LV08", "LV08-noct"],
            "latency and bandwidth of messages, as in SimGrid's models of this name; `auto`: the model of the platform's <config>, or else LV08",
        ),
        Parameter::choice(
            "alltoall",
            "auto",
            &["auto", "linear", "pairwise", "bruck"],
            "whether a rank exchanges data with all others at a time, with one after another, or by Bruck's algorithm; `auto`: SMPI's choice by ranks and amounts",
        )
        .needs("trace"),
        Parameter::integer("ranks", 16, 1..=100_000, "ranks of the stencil, in a ring").needs("no trace"),
        Parameter::integer("steps", 10, 1..=1_000_000, "steps of the stencil: exchange borders, compute, agree")
            .needs("no trace"),
        Parameter::float("flops", 1e8, 0.0..=1e18, "what a rank of the stencil computes in a step").needs("no trace"),
        Parameter::size("border", 100_000, "data that a rank of the stencil sends to each neighbour in a step")
            .needs("no trace"),
    ],
    build,
);

fn build(values: &Values, _: u64) -> Result<Simulation, ConfigError> {
    let trace = match values.path("trace") {
        Some(path) => trace::read(&path).map_err(|error| about_file(values, "trace", error))?,
        None => {
            let (ranks, steps) = (int32(values, "ranks"), int32(values, "steps"));
            check_memory(values, "steps", u64::from(ranks) * u64::from(steps) * STEP_BYTES)?;
            let (flops, bytes) = (values.float("flops"), values.size("border") as f64);
            Stencil { ranks, steps, flops, bytes }.trace()
        }
    };
    let ranks = u32::try_from(trace.ranks.len()).expect("ranks are bounded");
    let (platform, note) = flows::platform(values, ranks)?;
    let mut notes = platform.notes_of_programs().to_vec();
    notes.extend(note);
    let hosts = platform.hosts().len();
    if hosts == 0 {
        return Err(values.error_at("platform", "the platform has no host for the ranks", "give one that has"));
    }
    if hosts < ranks as usize {
        notes.push(format!("{ranks} ranks share the platform's {hosts} hosts"));
    }
    let mut settings = platform.settings();
    if values.choice("model") != "auto" {
        settings.set("network/model", values.choice("model")).expect("the choices are names of models");
    }
    let network_model = settings.network_model(Delay::from_ms(1));
    let all_to_all = match values.choice("alltoall") {
        "linear" => Some(AllToAll::Linear),
        "pairwise" => Some(AllToAll::Pairwise),
        "bruck" => Some(AllToAll::Bruck),
        _ => None,
    };
    if all_to_all.is_some() && !trace.has_all_to_all() {
        notes.push("`alltoall` has no effect: no rank of the trace has that action".to_owned());
    }
    let model = Replay::model(platform, network_model, trace, all_to_all);
    Ok(Simulation::distributed_unrestorable(model, Time::MAX).with_notes(notes))
}
