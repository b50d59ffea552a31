//! Changed files in a child process, with a bound on its memory and a time limit for each file.
//!
//! The child reads numbers of files from its standard input, a line each, and answers each with a line. A
//! child that does not answer in time, or that is gone, is replaced, and its file is reported.

use super::files::{Fate, Fates, Files, replay};
use crate::report::Report;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The hidden command with which the program starts itself as such a child.
pub const CHILD_COMMAND: &str = "changed-saves";

/// The time limit of a file. Most take some milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The number of files after which a child is replaced. A process holds the files that it has read.
const FILES_PER_CHILD: u64 = 5_000;
/// The bound on the child's address space, in bytes. The stacks of its threads are part of it.
#[cfg(unix)]
const ADDRESS_SPACE: u64 = 1 << 30;

/// Changes files until the standard input ends. `files` makes them, within the bound on memory.
///
/// # Errors
///
/// If the bound cannot be set, or if the process that started this one is gone.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
pub fn serve(files: impl FnOnce() -> Files) -> Result<(), String> {
    #[cfg(unix)]
    {
        use nix::sys::resource::{Resource, setrlimit};
        setrlimit(Resource::RLIMIT_AS, ADDRESS_SPACE, ADDRESS_SPACE).map_err(|error| error.to_string())?;
    }
    let mut files = files();
    for line in std::io::stdin().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let number = line.parse().map_err(|_| format!("`{line}` is no number"))?;
        match files.check(number) {
            Ok(fate) => println!("{}", Fate::ALL.iter().position(|&other| other == fate).unwrap_or(0)),
            Err(what) => println!("{}", what.replace('\n', " ")),
        }
    }
    Ok(())
}

/// A child, and the lines that it answers.
struct Server {
    child: Child,
    /// `None` once the child may end.
    numbers: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Server {
    fn start(program: &Path) -> Result<Server, String> {
        let piped = || Stdio::piped();
        let mut child = Command::new(program)
            .arg(CHILD_COMMAND)
            .stdin(piped())
            .stdout(piped())
            .stderr(piped())
            .spawn()
            .map_err(|error| format!("the child cannot be started: {error}"))?;
        let (numbers, said) = (child.stdin.take(), child.stdout.take());
        let (numbers, said) = numbers.zip(said).ok_or("the child has no pipes")?;
        let (to, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                if to.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Server { child, numbers: Some(numbers), answers })
    }

    /// Returns the answer to a number, or the end of the child as the error.
    fn ask(&mut self, number: u64) -> Result<String, String> {
        // A child that is gone does not read; the missing answer says so.
        let _ = self.numbers.as_mut().map(|numbers| writeln!(numbers, "{number}"));
        match self.answers.recv_timeout(TIME_LIMIT) {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                Err(format!("no answer within {} s", TIME_LIMIT.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                let mut said = String::new();
                let _ = self.child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
                Err(format!("the process ended with {status}: {}", said.trim()))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends it, and its temporary files.
        drop(self.numbers.take());
        let _ = self.child.wait();
    }
}

/// Changes the files of these numbers in children. `program` must call [`serve`] for the argument
/// [`CHILD_COMMAND`].
///
/// # Errors
///
/// If a child cannot be started.
pub fn check_files(program: &Path, numbers: impl IntoIterator<Item = u64>) -> Result<(Fates, Report), String> {
    let (mut fates, mut report) = (Fates::default(), Report::default());
    let mut server = Server::start(program)?;
    for number in numbers {
        report.runs += 1;
        if report.runs.is_multiple_of(FILES_PER_CHILD) {
            server = Server::start(program)?;
        }
        match server.ask(number) {
            Ok(answer) => match answer.parse().ok().and_then(|place: usize| Fate::ALL.get(place)) {
                Some(&fate) => fates.add(fate),
                None => report.difference(answer, &replay(number)),
            },
            Err(end) => {
                report.difference(end, &replay(number));
                server = Server::start(program)?;
            }
        }
    }
    Ok((fates, report))
}
