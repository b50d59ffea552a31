//! `parades rerun`: a recorded run, executed again.

use crate::arguments::RerunArguments;
use crate::printing::{print, say};
use crate::program;
use crate::terminal::Terminal;
use parades_session::recorded::Recorded;
use parades_session::rerun::{Repeated, RerunOn};
use parades_session::{Failure, rerun};
use std::process::ExitCode;

pub(crate) fn rerun(arguments: &RerunArguments) -> Result<ExitCode, Failure> {
    let RerunArguments { folder, engine, workers, quiet } = arguments;
    let recorded = Recorded::read(folder)?;
    let on = RerunOn { engine: engine.clone(), threads: workers.threads, processes: workers.processes };
    let Repeated { run, differences } = rerun::rerun(&recorded, &on, &program(), &mut Terminal::new(*quiet))?;
    if !quiet {
        differences.iter().for_each(|difference| say(format_args!("note: {difference}")));
    }
    let digest = run.outcome.digest.map(|digest| format!("{digest:016x}")).unwrap_or_default();
    let (folder, events) = (folder.display(), run.outcome.events);
    print(&format!("the run is the same as that in {folder}: {events} events, digest {digest}\n"))
}
