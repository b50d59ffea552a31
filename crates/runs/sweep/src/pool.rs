//! Worker processes. A request is a line, and so is its answer.
//!
//! A run in a process of its own cannot harm other runs, even if it exhausts the memory, overflows its stack
//! or aborts. A worker executes run after run, because a process takes longer to start than a short run
//! takes. A worker that has ended is started again for its next run.
//!
//! A worker must end when its standard input ends. Then no worker is left over, however this process ends.
//!
//! *Read next*: [`crate::drive`](mod@crate::drive).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The number of bytes that are kept of the end of a worker's standard error.
const ERROR_TAIL_BYTES: usize = 4096;

/// A pool of workers. A worker's process is started at its first request.
#[derive(Debug)]
pub struct Pool {
    workers: Vec<Worker>,
    answers: Receiver<Answer>,
}

#[derive(Debug)]
struct Worker {
    /// The channel to the worker's thread. `None` once the pool is closed.
    requests: Option<Sender<String>>,
    /// The process, if one is running.
    child: Arc<Mutex<Option<Child>>>,
    thread: Option<JoinHandle<()>>,
}

/// The answer of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The index of the worker.
    pub worker: usize,
    /// The worker's line, or a sentence about the end of its process.
    pub reply: Result<String, String>,
}

impl Pool {
    /// Returns a pool of `workers` workers, each a process of `command`.
    ///
    /// # Errors
    ///
    /// If the system cannot start a thread for each worker.
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
                    let reply = process.ask(&request, &*command);
                    if answer.send(Answer { worker: number, reply }).is_err() {
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

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Sends a request to a worker. A worker answers its requests in their order.
    pub fn ask(&self, worker: usize, request: String) {
        if let Some(requests) = &self.workers[worker].requests {
            // The receiving thread ends after the pool, so sending cannot fail.
            let _ = requests.send(request);
        }
    }

    /// Waits for the next answer of any worker. Returns `None` if there is none within `timeout`.
    pub fn answer(&self, timeout: Duration) -> Option<Answer> {
        self.answers.recv_timeout(timeout).ok()
    }

    /// Returns an answer that has arrived already.
    pub fn try_answer(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

impl Drop for Pool {
    /// Kills all workers, even in the middle of a run.
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.requests = None;
            if let Some(child) = &mut *locked(&worker.child) {
                // The process may have ended already.
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

/// A worker's process and its pipes.
struct Process {
    child: Arc<Mutex<Option<Child>>>,
    pipes: Option<Pipes>,
}

struct Pipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The thread that reads standard error. It returns the last [`ERROR_TAIL_BYTES`] bytes.
    error_tail: JoinHandle<Vec<u8>>,
}

impl Process {
    /// Sends a request and waits for the answer. Starts the process if none is running.
    fn ask(&mut self, request: &str, command: &dyn Fn() -> Command) -> Result<String, String> {
        if self.pipes.is_none() {
            let pipes = self.start(command()).map_err(|error| format!("its process cannot be started: {error}"))?;
            self.pipes = Some(pipes);
        }
        let Some(pipes) = &mut self.pipes else { unreachable!("the process was just started") };
        let mut line = String::new();
        let read = pipes
            .input
            .write_all(format!("{request}\n").as_bytes())
            .and_then(|()| pipes.input.flush())
            .and_then(|()| pipes.output.read_line(&mut line));
        if read.is_ok() && line.pop() == Some('\n') {
            return Ok(line);
        }
        Err(self.end())
    }

    /// Starts the process, and the thread that reads its standard error.
    fn start(&mut self, mut command: Command) -> io::Result<Pipes> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In a process group of its own, the worker does not get Ctrl-C. A worker that Ctrl-C ends would look
        // like a failed run.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let piped = "the command requests pipes";
        let (input, output) = (child.stdin.take().expect(piped), child.stdout.take().expect(piped));
        let mut errors = child.stderr.take().expect(piped);
        let error_tail = Builder::new().spawn(move || {
            let (mut kept, mut buffer) = (Vec::new(), [0; 512]);
            while let Ok(bytes @ 1..) = errors.read(&mut buffer) {
                kept.extend_from_slice(&buffer[..bytes]);
                kept.drain(..kept.len().saturating_sub(ERROR_TAIL_BYTES));
            }
            kept
        });
        match error_tail {
            Ok(error_tail) => {
                *locked(&self.child) = Some(child);
                Ok(Pipes { input, output: BufReader::new(output), error_tail })
            }
            Err(error) => {
                let _ = child.kill();
                child.wait()?;
                Err(error)
            }
        }
    }

    /// Closes the pipes, waits for the end of the process, and returns a sentence about it.
    fn end(&mut self) -> String {
        let Some(Pipes { input, output, error_tail }) = self.pipes.take() else { return String::new() };
        drop((input, output));
        let Some(mut child) = locked(&self.child).take() else { return String::new() };
        let status = child.wait();
        let tail = error_tail.join().unwrap_or_default();
        let tail = String::from_utf8_lossy(&tail);
        let last_line = tail.lines().map(str::trim).rfind(|line| !line.is_empty());
        let how = status.map_or_else(|error| error.to_string(), how_it_ended);
        match last_line {
            Some(line) => format!("its process {how}: {}", line.trim_start_matches("error: ")),
            None => format!("its process {how}"),
        }
    }
}

/// Returns the end of a sentence about how a process ended.
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
