//! Worker processes: each is asked with a line, and answers with a line.
//!
//! A run in a process of its own takes no other with it: not when it exhausts the memory, overflows its stack or aborts. A worker executes
//! one run after another, because a process takes longer to start than a short run takes. One that ends is started again for the next run.
//!
//! A worker should end when its standard input does: then none is left behind, however this process ends.
//!
//! *Read next*: [`crate::drive`](mod@crate::drive).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// What is kept of what a worker says on standard error.
const LAST_WORDS_BYTES: usize = 4096;

/// Workers, none of which is started before it has something to do.
#[derive(Debug)]
pub struct Pool {
    workers: Vec<Worker>,
    answers: Receiver<Answer>,
}

#[derive(Debug)]
struct Worker {
    /// `None` once the pool is closed.
    requests: Option<Sender<String>>,
    /// The process, while there is one.
    child: Arc<Mutex<Option<Child>>>,
    thread: Option<JoinHandle<()>>,
}

/// What a worker answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which worker.
    pub worker: usize,
    /// Its line, or a sentence that says how it came to its end.
    pub said: Result<String, String>,
}

impl Pool {
    /// So many workers, each a process of `command`.
    ///
    /// # Errors
    ///
    /// Where the system gives no thread to wait for each.
    pub fn new(workers: usize, command: impl Fn() -> Command + Send + Sync + 'static) -> io::Result<Pool> {
        let command = Arc::new(command);
        let (answer, answers) = channel();
        let worker = |number| {
            let (requests, asked) = channel::<String>();
            let child = Arc::default();
            let (command, answer, slot) = (Arc::clone(&command), answer.clone(), Arc::clone(&child));
            let thread = Builder::new().spawn(move || {
                let mut process = Process { child: slot, pipes: None };
                for request in asked {
                    let said = process.ask(&request, &*command);
                    if answer.send(Answer { worker: number, said }).is_err() {
                        break;
                    }
                }
                process.end();
            });
            Ok(Worker { requests: Some(requests), child, thread: Some(thread?) })
        };
        let workers = (0..workers).map(worker).collect::<io::Result<_>>()?;
        Ok(Pool { workers, answers })
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Asks a worker. It answers its requests in their order.
    pub fn ask(&self, worker: usize, request: String) {
        if let Some(requests) = &self.workers[worker].requests {
            // Its thread ends only after the pool, so somebody listens.
            let _ = requests.send(request);
        }
    }

    /// The next answer of any worker; `None` if there is none for so long.
    pub fn answer(&self, patience: Duration) -> Option<Answer> {
        self.answers.recv_timeout(patience).ok()
    }

    /// An answer that is there already.
    pub fn answer_at_hand(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

impl Drop for Pool {
    /// Ends all workers, in the middle of a run if there is one.
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.requests = None;
            if let Some(child) = &mut *locked(&worker.child) {
                // It may have ended already.
                let _ = child.kill();
            }
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

fn locked(child: &Mutex<Option<Child>>) -> MutexGuard<'_, Option<Child>> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker's process, and the ways to it.
struct Process {
    child: Arc<Mutex<Option<Child>>>,
    pipes: Option<Pipes>,
}

struct Pipes {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last_words: JoinHandle<Vec<u8>>,
}

impl Process {
    /// Asks, starting the process if there is none.
    fn ask(&mut self, request: &str, command: &dyn Fn() -> Command) -> Result<String, String> {
        if self.pipes.is_none() {
            let pipes = self.start(command()).map_err(|error| format!("its process cannot be started: {error}"))?;
            self.pipes = Some(pipes);
        }
        let Some(pipes) = &mut self.pipes else { unreachable!("it was just started") };
        let mut line = String::new();
        let heard = pipes
            .to
            .write_all(format!("{request}\n").as_bytes())
            .and_then(|()| pipes.to.flush())
            .and_then(|()| pipes.from.read_line(&mut line));
        if heard.is_ok() && line.pop() == Some('\n') {
            return Ok(line);
        }
        Err(self.end())
    }

    fn start(&mut self, mut command: Command) -> io::Result<Pipes> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for this process alone: a worker that it ended would look like one that failed.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let piped = "it was asked to be piped";
        let (to, from) = (child.stdin.take().expect(piped), child.stdout.take().expect(piped));
        let mut errors = child.stderr.take().expect(piped);
        let last_words = Builder::new().spawn(move || {
            let (mut kept, mut buffer) = (Vec::new(), [0; 512]);
            while let Ok(bytes @ 1..) = errors.read(&mut buffer) {
                kept.extend_from_slice(&buffer[..bytes]);
                kept.drain(..kept.len().saturating_sub(LAST_WORDS_BYTES));
            }
            kept
        });
        match last_words {
            Ok(last_words) => {
                *locked(&self.child) = Some(child);
                Ok(Pipes { to, from: BufReader::new(from), last_words })
            }
            Err(error) => {
                let _ = child.kill();
                child.wait()?;
                Err(error)
            }
        }
    }

    /// Ends the process, or finds that it has ended, and says how.
    fn end(&mut self) -> String {
        let Some(Pipes { to, from, last_words }) = self.pipes.take() else { return String::new() };
        drop((to, from));
        let Some(mut child) = locked(&self.child).take() else { return String::new() };
        let status = child.wait();
        let words = last_words.join().unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        let words = words.lines().map(str::trim).rfind(|line| !line.is_empty());
        let how = status.map_or_else(|error| error.to_string(), how_it_ended);
        match words {
            Some(words) => format!("its process {how}: {}", words.trim_start_matches("error: ")),
            None => format!("its process {how}"),
        }
    }
}

/// How a process came to its end.
fn how_it_ended(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return match signal {
            9 => "was killed, as the system does where memory runs out".into(),
            signal => format!("was ended by signal {signal}"),
        };
    }
    match status.code() {
        Some(code) => format!("ended with status {code}"),
        None => "ended".into(),
    }
}
