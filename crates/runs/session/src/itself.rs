//! This program: the words of its command, and how it starts itself for the processes of a run and for the
//! workers of a sweep.

use parades_catalog::program_name;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The words that start this program; without a value, its file does.
static START: OnceLock<Vec<OsString>> = OnceLock::new();

/// The words of the command; without a value, those of this process.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Tells by which words this program is started, for a library in another program: `python -m parades`. The
/// program must pass the words after them to the command. Only the first call counts.
pub fn is_started_by(words: impl IntoIterator<Item = OsString>) {
    let _ = START.set(words.into_iter().collect());
}

/// Tells the words of the command, the name of the program first, for a program in another one: the arguments
/// of the process begin with those of an interpreter. Only the first call counts.
pub fn has_words(words: impl IntoIterator<Item = OsString>) {
    let _ = WORDS.set(words.into_iter().collect());
}

/// Returns the words of the command, the name of the program first.
pub fn words() -> Vec<OsString> {
    WORDS.get().cloned().unwrap_or_else(|| std::env::args_os().collect())
}

/// Returns the command that starts this program once more, as it was started, even if its file has been
/// replaced since.
///
/// # Errors
///
/// If the system does not tell the path of the program, or if no words start it.
pub fn command() -> io::Result<Command> {
    if let Some(words) = START.get() {
        let (program, words) = words.split_first().filter(|(program, _)| !program.is_empty()).ok_or_else(nobody)?;
        let mut command = Command::new(program);
        command.args(words);
        return Ok(command);
    }
    let running = PathBuf::from("/proc/self/exe");
    let program = if running.exists() { running } else { std::env::current_exe()? };
    let mut command = Command::new(program);
    // Messages of the process name it as this program does.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, program_name());
    Ok(command)
}

fn nobody() -> io::Error {
    io::Error::other("the interpreter of this program has no path")
}
