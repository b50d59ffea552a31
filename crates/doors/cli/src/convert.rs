//! `parades convert`: a configuration of another simulator, as a scenario file.

use crate::arguments::{ConvertArguments, Simulator};
use crate::printing::{print, say};
use parades_catalog::speer;
use parades_report::result_file::{ResultFile, check_apart, late};
use parades_session::Failure;
use std::io::Write;
use std::process::ExitCode;

pub(crate) fn convert(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    let ConvertArguments { from, file, out } = arguments;
    check_apart([("the configuration", file.clone())], out.iter().map(|out| ("--out", out.clone())))?;
    let out = out.as_deref().map(ResultFile::create).transpose()?;
    let converted = match from {
        Simulator::Speer => speer::read(file)?,
    };
    if let Some(mut out) = out {
        out.write_all(converted.toml.as_bytes()).map_err(|error| late(&error))?;
        out.finish()?;
    } else {
        print(&converted.toml)?;
    }
    converted.notes.iter().for_each(|note| say(format_args!("note: {note}")));
    Ok(ExitCode::SUCCESS)
}
