//! Standard output and standard error. Words of files and of arguments are escaped here, in one place.

use parades_report::escaping::{Escaping, escaped};
use parades_session::Failure;
use std::fmt::Display;
use std::io::{self, StdoutLock, Write};
use std::process::ExitCode;

/// Writes a line to standard error. A reader that has gone away is no error.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{}", escaped(&line.to_string()));
}

/// Writes to standard output, with characters escaped that a terminal would execute. A reader that has gone
/// away (`parades list | head -1`) is no error.
///
/// # Errors
///
/// [`Failure::Simulation`] if standard output cannot be written.
pub fn print(text: &str) -> Result<ExitCode, Failure> {
    print_by(|to| to.write_all(text.as_bytes()))
}

/// Lets `write` write to standard output.
pub(crate) fn print_by(
    write: impl FnOnce(&mut Escaping<StdoutLock<'_>>) -> io::Result<()>,
) -> Result<ExitCode, Failure> {
    match write(&mut Escaping::new(io::stdout().lock())) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::simulation(format!(
            "standard output cannot be written: {error}; make room, or write elsewhere"
        ))),
        _ => Ok(ExitCode::SUCCESS),
    }
}
