//! `parades convert`: a configuration of another simulator, as a scenario file.

use crate::arguments::{ConvertArguments, Simulator};
use crate::printing::{print, say};
use parades_catalog::speer;
use parades_report::place;
use parades_session::Failure;
use std::process::ExitCode;

pub(crate) fn convert(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    let ConvertArguments { from, file, out } = arguments;
    let converted = match from {
        Simulator::Speer => speer::read(file)?,
    };
    if let Some(out) = out {
        place::can_be_written(out)?;
        std::fs::write(out, &converted.toml).map_err(|error| Failure::written_late(out, &error))?;
    } else {
        print(&converted.toml)?;
    }
    converted.notes.iter().for_each(|note| say(format_args!("note: {note}")));
    Ok(ExitCode::SUCCESS)
}
