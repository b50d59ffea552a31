//! `parades why`: the chain of events that led to a given one, or to the failure of a run.

use crate::arguments::WhyArguments;
use crate::printing::{print, print_by};
use crate::terminal::Terminal;
use parades_report::{chain_as_json, chain_for_people};
use parades_session::why::Question;
use parades_session::{Failure, Plan};
use std::io::Write;
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
        return print_by(|to| writeln!(to, "{}", chain_as_json(&answer)));
    }
    print(&chain_for_people(&answer))
}
