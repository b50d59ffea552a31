//! `parades bench`: one table of measurements, or the list of tables.

use crate::arguments::BenchArguments;
use crate::printing::print;
use crate::program;
use parades_bench::record::{self, Origin};
use parades_bench::{Measured, Options, TABLES};
use parades_session::Failure;
use parades_session::machine::Machine;
use std::process::ExitCode;

pub(crate) fn bench(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    let Some(name) = &arguments.table else {
        let lines = TABLES.iter().map(|table| format!("{:<15} {}\n", table.name, table.about));
        return print(&lines.collect::<String>());
    };
    if let Some(folder) = &arguments.validation {
        let validation = parades_bench::validate(name, folder)?;
        return print(&if arguments.json { format!("{}\n", validation.json) } else { validation.text });
    }
    let this = std::env::current_exe()
        .map_err(|error| Failure::simulation(format!("a process for a run cannot be started: {error}")))?;
    let BenchArguments { pairs, simgrid, ns3, large, .. } = arguments;
    let options = Options { pairs: *pairs, program: this, simgrid: simgrid.clone(), ns3: ns3.clone(), large: *large };
    parades_bench::check(name, &options)?;
    let before = arguments.against.as_deref().map(record::read).transpose()?;
    let mut file = arguments.record.as_deref().map(record::open).transpose()?;
    let Measured { mut text, figures } = parades_bench::measure(name, &options)?;
    let origin = Origin { table: name, commit: program().commit, machine: &Machine::this() };
    if let Some(before) = before {
        text.push_str(&record::compare(origin, &figures, &before));
    }
    if let Some(file) = &mut file {
        record::write(file, origin, &figures)?;
    }
    print(&text)
}
