//! `parades why`: the chain of events that led to a given one, or to the failure of a run.

use crate::arguments::WhyArguments;
use crate::printing::print_by;
use crate::terminal::Terminal;
use parades_session::cause::{Link, origin};
use parades_session::why::{Answer, Question};
use parades_session::{Failure, Plan};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;

pub(crate) fn why(arguments: &WhyArguments) -> Result<ExitCode, Failure> {
    let plan =
        Plan::of(&arguments.workers.of(arguments.how.request(&arguments.scenario, arguments.engine.as_deref())))?;
    let choice = plan.choice()?;
    let question = Question {
        event: arguments.event.as_deref(),
        links: arguments.links.map_or(usize::MAX, |links| links as usize),
    };
    let mut terminal = Terminal::new(arguments.how.quiet);
    let answer = parades_session::why(&plan, &choice, question, &mut terminal)?;
    terminal.note(&answer.notes);
    if arguments.how.json {
        return print_by(|to| writeln!(to, "{}", as_json(&answer)));
    }
    print_by(|to| write_lines(to, &answer))
}

fn as_json(Answer { chain, is_whole, failure, .. }: &Answer) -> Value {
    let link = |link: &Link| {
        let sender = link.sent.0.as_lp().map_or_else(|| json!(link.sent.0.to_string()), |lp| json!(lp.0));
        json!({
            "time_s": link.instant.time.as_secs_f64(), "round": link.instant.round, "lp": link.lp.0, "lp_name": link.name, "sender": sender,
            "sequence": link.sent.1, "event": link.line, "notes": link.notes,
        })
    };
    let chain: Vec<Value> = chain.iter().map(link).collect();
    let failure = failure.as_ref().map(ToString::to_string);
    json!({"schema": 1, "whole": is_whole, "chain": chain, "failure": failure})
}

/// Writes the chain, the first cause first.
fn write_lines(to: &mut dyn Write, Answer { chain, is_whole, failure, .. }: &Answer) -> io::Result<()> {
    match chain.first() {
        Some(first) if *is_whole => writeln!(to, "({})", origin(first))?,
        Some(_) => writeln!(to, "…")?,
        None => {}
    }
    for line in chain.iter().flat_map(|link| std::iter::once(&link.line).chain(&link.notes)) {
        writeln!(to, "{line}")?;
    }
    failure.as_ref().map_or(Ok(()), |failure| writeln!(to, "failed: {failure}"))
}
