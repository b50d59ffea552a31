//! Random network files on all engines, and on ranks.

use crate::compare::{Answer, Question, check, expected};
use crate::engines::ranks::engines_on_ranks;
use crate::engines::{Engine, Fault, SaveView, Setting, WireView, engines, index_below, save_view, wire_view};
use crate::random::WORKERS;
use crate::random_network::{build, describe, from_seed, in_full};
use crate::report::Report;
use crate::transport::Carrier;
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::time::Time;
use parades_packet::network::Network;
use parades_packet::segment::SegmentRef;

type Model = Network<SegmentRef>;

/// The arguments that run a file again. The command `networks` takes the seed.
const REPLAY: &str = "networks 1 --from SEED";
/// The largest number of workers of a rank.
const WORKERS_OF_RANK: usize = 2;
/// The greatest number of events of a run. A run that would have more ends earlier.
const EVENTS_MAX: u64 = 20_000;

/// Runs the files of these seeds. The first file with a difference is shrunk, and the report has its text.
pub fn check_networks(seeds: impl IntoIterator<Item = u64>) -> Report {
    let mut report = Report::default();
    for seed in seeds {
        let before = report.differences.len();
        let text = from_seed(seed);
        check_network(&text, &mut report);
        for difference in &mut report.differences[before..] {
            difference.insert_str(0, &format!("seed {seed}: "));
        }
        if before == 0 && !report.differences.is_empty() {
            report.differences.push(format!("seed {seed} shrunk is\n{}", shrunk(text, has_difference)));
        }
    }
    report
}

/// Runs the network file of this text on all engines and on ranks, and compares each answer with that of
/// `sequential`. The file written out in full must be the same network.
pub fn check_network(text: &str, report: &mut Report) {
    if let Err(what) = check_in_full(text) {
        report.difference(what, REPLAY);
    }
    let model = match build(text) {
        Ok(built) => (built.model, built.until),
        Err(what) => return report.difference(format!("the file is refused: {what}"), REPLAY),
    };
    let (model, mut until) = model;
    let mut digest = Digest::default();
    text.bytes().for_each(|byte| digest.word(byte.into()));
    let rng = Rng::shared(digest.value(), 16);
    let tie_seed = rng.chance(0.3).then(|| rng.below(100));
    let (question, answer) = loop {
        let question = Question { until, seed: rng.below(1 << 20), tie_seed, traced: false };
        let answer = expected(&model, question);
        match &answer.result {
            Ok(outcome) if outcome.events > EVENTS_MAX => until = Time::from_ps(until.as_ps() / 2),
            _ => break (question, answer),
        }
    };
    report.count_model(&answer);
    if let Err(error) = &answer.result {
        return report.difference(format!("sequential ended with the error `{error}`"), REPLAY);
    }
    let in_one = engines().into_iter().map(|engine| (engine, &Carrier::ALL[..], &WORKERS[..]));
    let on_ranks =
        engines_on_ranks().into_iter().map(|engine| (engine, &Carrier::RANKS[..], &WORKERS[..WORKERS_OF_RANK]));
    for (engine, carriers, workers) in in_one.chain(on_ranks) {
        for (carrier, _) in engine.varies.variants(carriers.iter().copied(), [0]) {
            let workers = workers[index_below(&rng, workers.len())];
            let (wire, save) = (Some(wire_view as WireView<_>), Some(save_view as SaveView<_>));
            let setting = Setting { workers, seed: rng.next_u64(), carrier, wire, save, fault: Fault::None };
            check_run(&model, question, &engine, &setting, &answer, report);
        }
    }
}

/// Compares one run. Another run with a trace shows where a difference begins.
fn check_run(
    model: &Model,
    question: Question,
    engine: &Engine<Model>,
    setting: &Setting<Model>,
    answer: &Answer,
    report: &mut Report,
) {
    let (found, same) = check(model, question, engine, setting, answer);
    report.add(&found);
    let Err(what) = same else { return };
    let traced = Question { traced: true, ..question };
    let (_, again) = check(model, traced, engine, setting, &expected(model, traced));
    let traced = again.err().unwrap_or_else(|| "no difference in a second run, with traces".into());
    let (name, carrier, workers) = (engine.name, setting.carrier.name(), setting.workers);
    report.difference(format!("{name} over {carrier}, {workers} workers: {what}\n  {traced}"), REPLAY);
}

/// Checks that the file written out in full makes the same network.
fn check_in_full(text: &str) -> Result<(), String> {
    let full = in_full(text)?;
    let again = describe(&full).map_err(|what| format!("the file written out in full is refused: {what}\n{full}"))?;
    match again == describe(text)? {
        true => Ok(()),
        false => Err(format!("the file written out in full is another network:\n{full}")),
    }
}

fn has_difference(text: &str) -> bool {
    let mut report = Report::default();
    // A candidate that is refused shows nothing.
    if build(text).is_err() {
        return false;
    }
    check_network(text, &mut report);
    !report.differences.is_empty()
}

/// Returns the simplest text for which `fails` still returns true. It leaves out blocks, and then lines.
pub fn shrunk(text: String, fails: impl Fn(&str) -> bool) -> String {
    let text = without_parts(text, "\n\n", &fails);
    without_parts(text, "\n", &fails)
}

fn without_parts(mut text: String, separator: &str, fails: &impl Fn(&str) -> bool) -> String {
    let mut place = 0;
    loop {
        let mut parts: Vec<&str> = text.split(separator).collect();
        if place >= parts.len() {
            return text;
        }
        parts.remove(place);
        let candidate = parts.join(separator);
        if fails(&candidate) {
            text = candidate;
        } else {
            place += 1;
        }
    }
}
