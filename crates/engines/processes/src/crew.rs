//! The side of rank 0.

use crate::{Greeting, VARIABLE, ended};
use parades_core::arena::{self, Installed};
use parades_transport::{LaneShape, Lost, SegmentFile, SharedMemory};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time for which children may continue after rank 0 has its results.
const END_MAX: Duration = Duration::from_secs(2);
/// The time between two looks at the children.
const LOOK: Duration = Duration::from_millis(2);

/// The last words of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The error that ended the run on this rank; `None` if the run came to its end.
    pub error: Option<String>,
    /// The most memory that the process has held, in bytes.
    pub peak_rss_bytes: u64,
    /// The memory that the process took when it stopped the run for that, in bytes.
    pub too_much_memory: Option<u64>,
    /// True if a signal to the process stopped the run.
    pub is_interrupted: bool,
}

/// The children of rank 0. They end when this value is dropped.
#[derive(Debug)]
pub struct Crew {
    fabric: Arc<SharedMemory>,
    /// By rank, from rank 1.
    members: Vec<Member>,
    /// Keeps the arenas for payloads.
    _arenas: Option<OwnArenas>,
}

/// The arenas of the one crew of this process that has any.
#[derive(Debug)]
struct OwnArenas {
    installed: Option<Installed>,
    /// The descriptors, which the children open.
    files: Vec<SegmentFile>,
}

/// True while a crew of this process has arenas. The payloads of a second crew are copied.
static HAVE_ARENAS: AtomicBool = AtomicBool::new(false);

impl OwnArenas {
    /// Makes an arena of `bytes` bytes for each rank. Memory is taken only as payloads need it.
    fn install(ranks: usize, bytes: usize) -> io::Result<Option<OwnArenas>> {
        // Ordering: Relaxed; the flag publishes nothing.
        if HAVE_ARENAS.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        let install = || {
            let files: Vec<_> = (0..ranks).map(|_| SegmentFile::create(bytes)).collect::<Result<_, _>>()?;
            let mapped = files.iter().map(|file| file.try_clone().map(Some)).collect::<Result<_, _>>()?;
            Ok(OwnArenas { installed: Some(arena::install_segments(0, mapped)?), files })
        };
        install().map(Some).inspect_err(|_| HAVE_ARENAS.store(false, Ordering::Relaxed))
    }
}

impl Drop for OwnArenas {
    fn drop(&mut self) {
        drop(self.installed.take());
        // Ordering: Relaxed, as in `install`.
        HAVE_ARENAS.store(false, Ordering::Relaxed);
    }
}

/// A child, and the thread that waits for it.
#[derive(Debug)]
struct Member {
    pid: u32,
    /// The child exits when this pipe ends.
    stdin: Option<ChildStdin>,
    watch: Option<JoinHandle<()>>,
    report: Arc<Mutex<Option<Report>>>,
}

impl Crew {
    /// Starts the ranks from 1 to `ranks - 1`, each by `command`. Each child finds `order` in its
    /// [`Joined`](crate::Joined). The payloads that a rank sends take at most `arena_bytes` bytes of shared
    /// memory; further payloads are copied.
    ///
    /// # Errors
    ///
    /// If the system gives no memory, no descriptors or no processes.
    pub fn start(
        (ranks, arena_bytes): (usize, usize),
        command: &dyn Fn() -> Command,
        order: &serde_json::Value,
    ) -> io::Result<Crew> {
        let segments = SharedMemory::create(ranks, LaneShape::default())?;
        let descriptors: Vec<i32> = segments.iter().map(|segment| segment.raw_fd()).collect();
        // Rank 0 keeps descriptors of its own, which children open.
        let fabric = SharedMemory::join(0, segments)?;
        let arenas = OwnArenas::install(ranks, arena_bytes)?;
        let arena_files = arenas.iter().flat_map(|arenas| &arenas.files).map(SegmentFile::raw_fd);
        let first = Greeting {
            launcher: std::process::id(),
            rank: 0,
            segments: descriptors,
            arenas: arena_files.collect(),
            order: order.clone(),
        };
        let mut crew = Crew { fabric, members: Vec::new(), _arenas: arenas };
        for rank in 1..ranks {
            let greeting = Greeting { rank, ..first.clone() };
            let member = Member::start(command(), &greeting, &crew.fabric)?;
            crew.members.push(member);
        }
        Ok(crew)
    }

    /// Returns the way to the other ranks.
    pub fn fabric(&self) -> Arc<SharedMemory> {
        Arc::clone(&self.fabric)
    }

    /// Waits, for a short time, until the children have ended. Returns their reports in rank order, from
    /// rank 1; `None` for a child that sent no report.
    pub fn finish(mut self) -> Vec<Option<Report>> {
        let looks = END_MAX.as_micros() / LOOK.as_micros();
        for _ in 0..looks {
            if self.members.iter().all(|member| member.watch.as_ref().is_none_or(JoinHandle::is_finished)) {
                break;
            }
            std::thread::sleep(LOOK);
        }
        self.end();
        self.members.iter().map(|member| lock(&member.report).clone()).collect()
    }

    /// Ends all children, and waits for them.
    fn end(&mut self) {
        self.members.iter_mut().for_each(|member| drop(member.stdin.take()));
        for member in &mut self.members {
            if member.watch.as_ref().is_some_and(|watch| !watch.is_finished()) {
                kill(member.pid);
            }
            // A watch does not panic.
            let _ = member.watch.take().map(JoinHandle::join);
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.end();
    }
}

/// Kills a child that has not been waited for, so that its number is its own.
fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // An error means that the child has ended.
    let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // The content is consistent whenever the lock is free.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Member {
    fn start(mut command: Command, greeting: &Greeting, fabric: &Arc<SharedMemory>) -> io::Result<Member> {
        command.env(VARIABLE, greeting.rank.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let pid = child.id();
        let mut stdin = child.stdin.take().expect("it was piped");
        let mut line = serde_json::to_vec(greeting)?;
        line.push(b'\n');
        // A child that has ended already is declared lost by its watch.
        let _ = stdin.write_all(&line);
        let report = Arc::new(Mutex::new(None));
        let (rank, fabric, kept) = (greeting.rank, Arc::clone(fabric), Arc::clone(&report));
        let watch = std::thread::Builder::new().name(format!("watch of rank {rank}"));
        let watch = watch.spawn(move || watch_child(child, rank, &fabric, &kept));
        match watch {
            Ok(watch) => Ok(Member { pid, stdin: Some(stdin), watch: Some(watch), report }),
            Err(error) => {
                kill(pid);
                Err(error)
            }
        }
    }
}

/// Waits for the end of a child. Declares its rank lost, unless the child reports that the run came to its
/// end.
fn watch_child(mut child: Child, rank: usize, fabric: &SharedMemory, kept: &Mutex<Option<Report>>) {
    let pid = child.id();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let said = std::thread::scope(|scope| {
        let errors = scope.spawn(|| read_all(stderr));
        let report = read_all(stdout);
        *lock(kept) = serde_json::from_str(&report).ok();
        errors.join().unwrap_or_default()
    });
    let how = match child.wait() {
        Ok(status) => ended::how(status),
        Err(error) => format!("cannot be waited for: {error}"),
    };
    let report = lock(kept).clone();
    let has_crashed = report.is_none();
    let why = match report {
        Some(Report { error: None, .. }) => return,
        Some(Report { error: Some(error), .. }) => format!("worker {rank} (process {pid}) failed: {error}"),
        None if said.trim().is_empty() => format!("worker {rank} (process {pid}) {how}"),
        None => format!("worker {rank} (process {pid}) {how}: {}", said.trim().trim_start_matches("error: ")),
    };
    fabric.declare_lost(Lost { rank, why: Some(why), has_crashed });
}

fn read_all(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // The bytes that were read before an error are kept.
    let _ = from.map(|mut from| from.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
