//! A comparison in plain words.

use super::people::digest;
use super::{COMPARISON, ComparisonReport, difference};
use crate::figure::group;
use crate::ties::{Ties, nothing_depends, percent};
use parades_session::circumstances::Circumstances;
use parades_session::recorded::{Difference, RECORD, SCENARIO};
use parades_session::request::quote;
use parades_session::sweep::RUNS;
use parades_session::{Comparison, FinishedRun};
use parades_sweep::DIGEST;
use parades_sweep::ties::{Effect, Spread};
use std::fmt::Write;

impl ComparisonReport<'_> {
    /// Returns the comparison in plain words. `names` are those of the runs.
    pub(super) fn proof(&self, names: &[String]) -> String {
        let mut text = String::new();
        self.write_question(&mut text);
        self.write_answer(&mut text, names);
        self.write_runs(&mut text, names);
        if self.tie_seeds().len() > 1 {
            self.write_ties(&mut text);
        }
        self.write_origin(&mut text);
        self.write_repetition(&mut text, names);
        text
    }

    fn write_question(&self, text: &mut String) {
        let first = self.first();
        let plan = &first.plan;
        let _ = writeln!(text, "THE SAME RUN ON SEVERAL ENGINES\n\nscenario: {}", plan.title());
        let _ = writeln!(text, "seed: {}", plan.seed);
        match (self.tie_seeds().as_slice(), plan.tie_seed) {
            ([], _) | (_, None) => {}
            (seeds, _) => _ = writeln!(text, "tie seeds: {}", list(seeds)),
        }
        let _ = writeln!(text, "end of virtual time: {}", first.outcome.end);
        let _ = writeln!(text, "logical processes: {}", group(first.lps.into()));
        let _ = writeln!(
            text,
            "parameters: {SCENARIO} has those that a file can set; {COMPARISON} has all, defaults included"
        );
    }

    fn write_answer(&self, text: &mut String, names: &[String]) {
        let Comparison { runs, left_out, .. } = self.compared;
        let _ = writeln!(text, "\nRESULT\n");
        for group_of_runs in self.compared.groups() {
            let first = &group_of_runs[0];
            let same = group_of_runs.iter().filter(|run| run.has_result_of(first)).count();
            let tie = match first.plan.tie_seed {
                Some(seed) => format!("with tie seed {seed}, "),
                None => String::new(),
            };
            let _ = writeln!(
                text,
                "{tie}{same} of {} runs have one result: {} events, digest {}, and every metric equal to the last bit",
                group_of_runs.len(),
                group(first.outcome.events.into()),
                digest(first),
            );
        }
        let mut first: Option<(&FinishedRun, &String)> = None;
        for (run, name) in runs.iter().zip(names) {
            // The first run of a tie seed is the one with which the others are compared.
            let (reference, first_name) = match first {
                Some(first) if first.0.plan.tie_seed == run.plan.tie_seed => first,
                _ => *first.insert((run, name)),
            };
            if let Some(Difference { what, values: [here, there] }) = difference(run, reference) {
                let _ = writeln!(text, "DIFFERENT: {name} differs from {first_name}: {what} is {here}, not {there}");
            }
        }
        for name in &names[runs.len()..] {
            let _ = writeln!(text, "not finished: {name}, which was stopped");
        }
        for out in left_out {
            let _ = writeln!(text, "left out: {out}");
        }
        let _ = writeln!(
            text,
            "\nThe digest is a hash of all that was executed. Each logical process folds the time, the sender and the\n\
             content of each of its events, in their order, and its final state. Equal digests mean equal histories."
        );
    }

    fn write_runs(&self, text: &mut String, names: &[String]) {
        let _ = writeln!(text, "\nRUNS\n");
        for (run, name) in self.compared.runs.iter().zip(names) {
            let _ = writeln!(
                text,
                "{name}: digest {}, {} events, {:.3} s of set-up, {:.3} s of execution",
                digest(run),
                group(run.outcome.events.into()),
                run.setup_wall.as_secs_f64(),
                run.run_wall.as_secs_f64()
            );
        }
        let making = self.compared.making.as_secs_f64();
        let _ = writeln!(
            text,
            "\nAll runs share one model. The {making:.3} s in which it was made are in each time of set-up."
        );
    }

    fn write_ties(&self, text: &mut String) {
        let _ = writeln!(text, "\nORDER OF SIMULTANEOUS EVENTS\n");
        let Ties { effects, .. } = self.ties();
        let (depending, same): (Vec<&Effect>, Vec<&Effect>) =
            effects.iter().partition(|effect| effect.greatest.is_some());
        if depending.iter().all(|effect| effect.metric == DIGEST) {
            let _ = writeln!(text, "{}", nothing_depends(&effects));
        }
        for Effect { metric, greatest } in depending {
            let found = greatest.as_ref().expect("it depends");
            let by = match found.spread {
                Spread::Numbers { least, greatest, relative } => {
                    let spread =
                        relative.map_or_else(String::new, |relative| format!(", {} of the mean", percent(relative)));
                    format!("from {least} to {greatest}{spread}")
                }
                Spread::Other => "another text, or other rows".to_owned(),
            };
            let row = found.row.as_ref().map_or_else(String::new, |row| format!(" ({row})"));
            let _ = writeln!(text, "depends on it: {metric}{row}, {by}");
        }
        let _ = writeln!(text, "the same with each tie seed:");
        same.iter().for_each(|effect| _ = writeln!(text, "  {}", effect.metric));
    }

    fn write_origin(&self, text: &mut String) {
        let (machine, now) = (&self.first().machine, Circumstances::now());
        let _ = writeln!(text, "\nORIGIN\n\ndate: {}", now.date);
        let _ = writeln!(text, "program: parades {}, commit {}", self.program.version, self.program.commit);
        let _ = writeln!(text, "compiler: {}", self.program.build);
        let _ = writeln!(
            text,
            "machine: {}, {} cores, {} bytes of memory",
            machine.cpu, machine.cores, machine.memory_bytes
        );
        let _ = writeln!(text, "system: {} {}, kernel {}", now.os, now.distribution, now.kernel);
        for input in &self.first().inputs {
            let _ =
                writeln!(text, "file read: {}, {} bytes, hash {:016x}", input.path.display(), input.bytes, input.hash);
        }
        let _ = writeln!(text, "command: {}", self.program.command);
    }

    fn write_repetition(&self, text: &mut String, names: &[String]) {
        let program = parades_catalog::program_name();
        let _ = writeln!(text, "\nTO REPEAT IT, IN THIS FOLDER\n\n{}", self.commands(SCENARIO).join("\n"));
        for name in &names[..self.compared.runs.len()] {
            let _ = writeln!(text, "{program} rerun {}", quote(&format!("{RUNS}/{name}")));
        }
        let _ = writeln!(
            text,
            "\n`rerun` checks the digest, and names what differs: files, program, compiler, machine. {RECORD} has the\n\
             origin, and {COMPARISON} all of this, for scripts."
        );
    }
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}
