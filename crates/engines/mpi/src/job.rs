//! The start and the end of a rank.

use crate::fabric::MpiFabric;
use crate::messenger::Messenger;
use crate::queues::Queues;
use crate::thread::{Request, Thread};
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// The communicating thread of this rank. It ends with status 1 if it is dropped.
pub struct Job {
    /// Where the rank runs.
    machine: String,
    requests: Sender<Request>,
    /// `None` once the thread has ended.
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Job(on {})", self.machine)
    }
}

/// This rank, connected to the others.
#[derive(Debug)]
pub struct Connected {
    /// The communicating thread.
    pub job: Job,
    /// The fabric between all ranks.
    pub fabric: MpiFabric,
}

/// Starts the communicating thread, which calls `open` to reach the other ranks.
///
/// # Errors
///
/// The error of `open`, or a sentence if the thread cannot be started or `open` panics.
pub fn connect<M: Messenger>(open: impl FnOnce() -> Result<M, String> + Send + 'static) -> Result<Connected, String> {
    let (requests, of_thread) = channel();
    let (report, opened) = channel();
    let thread = std::thread::Builder::new().name("mpi".into()).spawn(move || {
        let messenger = match open() {
            Ok(messenger) => messenger,
            Err(why) => return drop(report.send(Err(why))),
        };
        let queues = Arc::new(Queues::new(messenger.rank(), messenger.ranks()));
        drop(report.send(Ok((messenger.machine(), Arc::clone(&queues)))));
        Thread::new(&messenger, &queues).run(&of_thread);
    });
    let thread = thread.map_err(|error| format!("the thread for MPI cannot be started: {error}"))?;
    let (machine, queues) = opened.recv().map_err(|_| "MPI cannot be initialised".to_owned())??;
    let fabric = MpiFabric { queues, thread: thread.thread().clone() };
    Ok(Connected { job: Job { machine, requests, thread: Some(thread) }, fabric })
}

impl Job {
    /// Returns the name of the machine that this rank runs on.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Sends `mine` to all ranks, and waits for the bytes of all ranks. Returns them in rank order. All ranks
    /// call this function equally often, before they send through the fabric.
    ///
    /// # Errors
    ///
    /// A sentence if the communicating thread has ended.
    pub fn gather_all(&self, mine: Vec<u8>) -> Result<Vec<Vec<u8>>, String> {
        let (reply, gathered) = channel();
        self.request(Request::Gather(mine, reply));
        gathered.recv().map_err(|_| "the thread for MPI has ended".to_owned())
    }

    /// Ends this rank, and waits for the others to end. If `status` is not 0, aborts the job if another rank
    /// has not ended after [`PATIENCE`](crate::PATIENCE).
    pub fn end(mut self, status: u8) {
        self.finish(status);
    }

    fn request(&self, request: Request) {
        // A thread that has ended needs no request.
        let _ = self.requests.send(request);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    fn finish(&mut self, status: u8) {
        self.request(Request::End(status.into()));
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.finish(1);
        }
    }
}
