//! Interrupts, by Ctrl-C or by another process. The first interrupt ends the runs of this process at their
//! next cut, with the results so far. Runs that begin after it end at once.
//!
//! A library must not take signals away from its program, so nothing listens to them before [`listen`] is
//! called. A program that hears of signals by itself ends the runs of one task by a [`Stop`].

use parades_core::run::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The time after an interrupt in which further signals belong to it. Some programs send two signals at once
/// (GNU `timeout` to its child and to the group), and people press Ctrl-C twice.
const ONE_INTERRUPT: Duration = Duration::from_secs(1);

/// The runs of this process or of a task, and the interrupt that they have had.
#[derive(Debug)]
struct Runs {
    /// The runs that an interrupt stops.
    running: Vec<Arc<Control>>,
    /// True if a run has begun, now or earlier.
    have_begun: bool,
    /// The time of the first interrupt that came after a run had begun.
    interrupted: Option<Instant>,
}

impl Runs {
    const NONE: Runs = Runs { running: Vec::new(), have_begun: false, interrupted: None };

    /// Adds a run. After an interrupt, it is stopped.
    fn begin(&mut self, control: &Arc<Control>) {
        self.have_begun = true;
        if self.interrupted.is_some() {
            control.stop();
        }
        self.running.push(Arc::clone(control));
    }

    fn end(&mut self, control: &Arc<Control>) {
        self.running.retain(|other| !Arc::ptr_eq(other, control));
    }

    /// Stops all runs. Returns true if there were none.
    fn stop(&mut self) -> bool {
        let stopped: Vec<_> = self.running.drain(..).collect();
        stopped.iter().for_each(|control| control.stop());
        stopped.is_empty()
    }
}

/// True once [`listen`] was called.
static LISTENS: AtomicBool = AtomicBool::new(false);

static RUNS: Mutex<Runs> = Mutex::new(Runs::NONE);

fn lock(runs: &Mutex<Runs>) -> MutexGuard<'_, Runs> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

fn runs() -> MutexGuard<'static, Runs> {
    lock(&RUNS)
}

/// The runs of one task, which a program ends together, and without the runs of its other tasks.
///
/// ```
/// use parades_session::interrupt::Stop;
/// use parades_session::{Failure, Plan, Recording, Request, run};
///
/// let plan = Plan::of(&Request::of("phold"))?;
/// let stop = Stop::default();
/// stop.stop(); // from any thread
/// let stopped = stop.within(|| run(&plan, &plan.choice()?, Recording::default(), &mut ()));
/// assert!(matches!(stopped, Err(Failure::Stopped(_))) || stopped?.is_interrupted()?);
/// # Ok::<(), Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stop(Arc<Mutex<Runs>>);

impl Default for Stop {
    fn default() -> Stop {
        Stop(Arc::new(Mutex::new(Runs::NONE)))
    }
}

thread_local! {
    /// The task to which runs that begin on this thread belong.
    static TASK: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

impl Stop {
    /// Calls `act`. The runs that it begins on this thread belong to this task.
    pub fn within<T>(&self, act: impl FnOnce() -> T) -> T {
        /// Restores the task that the thread had before, after a panic too.
        struct Before(Option<Stop>);
        impl Drop for Before {
            fn drop(&mut self) {
                TASK.set(self.0.take());
            }
        }
        let _before = Before(TASK.replace(Some(self.clone())));
        act()
    }

    /// Ends the runs of this task at their next cut, with the results so far. Runs of the task that begin
    /// later end at once.
    #[expect(clippy::disallowed_methods, reason = "no result depends on the time of an interrupt")]
    pub fn stop(&self) {
        let mut runs = lock(&self.0);
        runs.interrupted.get_or_insert_with(Instant::now);
        runs.stop();
    }

    /// Returns the task of this thread.
    pub(crate) fn of_this_thread() -> Option<Stop> {
        TASK.with_borrow(Clone::clone)
    }
}

/// A run that interrupts stop, until this value is dropped.
#[derive(Debug)]
pub struct Interruptible {
    control: Arc<Control>,
    task: Option<Stop>,
}

impl Interruptible {
    /// Lets interrupts, and the task of this thread, stop the run of `control`. After an interrupt, the run
    /// is stopped already.
    pub fn new(control: &Arc<Control>) -> Interruptible {
        let task = Stop::of_this_thread();
        runs().begin(control);
        task.iter().for_each(|Stop(runs)| lock(runs).begin(control));
        Interruptible { control: Arc::clone(control), task }
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        runs().end(&self.control);
        self.task.iter().for_each(|Stop(runs)| lock(runs).end(&self.control));
    }
}

/// Lets the signal `SIGUSR1` ask the runs of this process for a cut, at which they are saved, if the process
/// listens to signals at all.
pub(crate) fn listen_for_saves() {
    // Ordering: Relaxed. A program begins to listen before its runs.
    if !LISTENS.load(Ordering::Relaxed) {
        return;
    }
    static LISTENER: OnceLock<()> = OnceLock::new();
    LISTENER.get_or_init(|| {
        let Ok(mut signals) = Signals::new([SIGUSR1]) else { return };
        let hear = move || {
            for _ in signals.forever() {
                runs().running.iter().for_each(|control| control.ask_for_cut());
            }
        };
        let _ = std::thread::Builder::new().spawn(hear);
    });
}

/// True if an interrupt has come since the first run has begun, or if the task of this thread was stopped.
pub(crate) fn is_interrupted() -> bool {
    let is_stopped = |Stop(runs): Stop| lock(&runs).interrupted.is_some();
    runs().interrupted.is_some() || Stop::of_this_thread().is_some_and(is_stopped)
}

/// A signal that found no run to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// No run has begun, so there are no results.
    BeforeRuns,
    /// Runs are over, and their results are being written; or other runs follow, which end at once.
    AfterRuns,
    /// An interrupt came more than a second earlier. The user does not want to wait for the results.
    Again,
}

/// Stops all runs of this process at their next cut. Returns `None` if there was a run to stop, or if the
/// signal belongs to an earlier interrupt.
#[expect(clippy::disallowed_methods, reason = "signals come at wall-clock times, and no result depends on them")]
fn interrupt() -> Option<Idle> {
    let mut runs = runs();
    let found_none = runs.stop();
    match runs.interrupted {
        None if !runs.have_begun => Some(Idle::BeforeRuns),
        None => {
            runs.interrupted = Some(Instant::now());
            found_none.then_some(Idle::AfterRuns)
        }
        Some(first) => (first.elapsed() > ONE_INTERRUPT).then_some(Idle::Again),
    }
}

/// Listens, from the first call on, to the signals that ask this process to stop. Each signal stops all runs
/// of this process at their next cut. A signal that finds none to stop calls `idle`.
///
/// A signal that the process was started to ignore stays ignored, as under `nohup`. Where the process cannot
/// listen, signals end it as they always do.
pub fn listen(idle: impl Fn(Idle) + Send + 'static) {
    static LISTENER: OnceLock<()> = OnceLock::new();
    LISTENER.get_or_init(|| {
        LISTENS.store(true, Ordering::Relaxed);
        let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
        // From here on, no signal ends the process as long as it has files that must be removed.
        let Ok(mut signals) = Signals::new(heard) else { return };
        let hear = move || {
            for _ in signals.forever() {
                interrupt().into_iter().for_each(&idle);
            }
        };
        let _ = std::thread::Builder::new().spawn(hear);
    });
}

/// True if the process was started with this signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Turns writing beyond the greatest size of a file into an ordinary error. Without this call the system ends
/// the program.
pub fn survive_full_files() {
    // The writer learns of it by its error. Where the signal cannot be caught, it ends the program.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}
