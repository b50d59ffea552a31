//! Work on a thread of its own, while the interpreter is free: other threads of Python go on, signals are
//! answered, and a callback hears of the progress.

use crate::errors::{interrupted, raise};
use parades_catalog::Choice;
use parades_config::inputs::{Input, apart};
use parades_session::interrupt::Stop;
use parades_session::machine::count_as_program;
use parades_session::{Failure, Observer, Progress};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// The longest time for which a signal waits for its answer.
const PERIOD: Duration = Duration::from_millis(50);
/// The time in which a run comes to a cut, unless code of its user never returns.
const TO_A_CUT: Duration = Duration::from_secs(1);
/// The bytes of the stack of the thread, as main threads have them.
pub(crate) const STACK_BYTES: usize = 8 << 20;

/// Returns the wall time.
#[expect(clippy::disallowed_methods, reason = "it decides how long a caller waits, and reaches no model")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Work with runs that is being done. While there is none, all memory of this process is that of the program in
/// Python, to which no limit of a run applies.
pub(crate) struct Working(());

/// The number of values of [`Working`].
static WORKING: Mutex<usize> = Mutex::new(0);

impl Working {
    pub(crate) fn begin() -> Working {
        let mut others = WORKING.lock().unwrap_or_else(PoisonError::into_inner);
        if *others == 0 {
            count_as_program();
        }
        *others += 1;
        Working(())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        *WORKING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

/// A message of the thread to the interpreter.
pub(crate) enum Said {
    /// A run begins on this engine.
    Begins(String),
    /// The progress of a run: its virtual time, its end, and its events in a second of wall time.
    Progress(f64, f64, f64),
    /// The numbers of runs of a sweep that are over, and of all.
    Runs(usize, usize),
}

/// Tells the interpreter of the progress of the work.
#[derive(Clone)]
pub(crate) struct Listener(Sender<Said>);

impl Listener {
    pub(crate) fn say(&self, said: Said) {
        // Without a receiver nobody listens.
        let _ = self.0.send(said);
    }
}

impl Observer for Listener {
    fn begins(&mut self, choice: &Choice, _: &[String]) {
        self.say(Said::Begins(choice.engine.to_string()));
    }

    fn progress(&mut self, &Progress { time, until, events_per_s }: &Progress) {
        self.say(Said::Progress(time.as_secs_f64(), until.as_secs_f64(), events_per_s));
    }
}

/// Work that is over, and the exception that ended it, if one did.
pub(crate) struct Waited<T> {
    pub(crate) result: Result<T, Failure>,
    /// The exception of a signal or of the callback. The work was stopped then.
    pub(crate) raised: Option<PyErr>,
}

impl<T> Waited<T> {
    /// Returns the result, or raises the exception or the failure.
    pub(crate) fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        match self.raised {
            Some(error) => Err(error),
            None => raise(py, self.result),
        }
    }

    /// True if Ctrl-C ended the work.
    pub(crate) fn is_interrupted(&self, py: Python<'_>) -> bool {
        self.raised.as_ref().is_some_and(|error| error.is_instance_of::<PyKeyboardInterrupt>(py))
    }
}

/// Calls `work` on a thread of its own, which holds `inputs`, and waits for its end. An exception of a signal
/// or of `callback` stops the runs of the work, which then ends with the results so far.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    inputs: Vec<Input>,
    work: impl FnOnce(&mut Listener) -> Result<T, Failure> + Send,
) -> Waited<T> {
    let stop = Stop::default();
    let _working = Working::begin();
    thread::scope(|scope| {
        let (to, from) = channel();
        let task = stop.clone();
        let on_thread = move || task.within(|| apart(inputs, || work(&mut Listener(to))));
        match thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, on_thread) {
            Ok(thread) => {
                let raised = listen(py, callback, from, &stop);
                let result = py.detach(|| joined(thread));
                // A signal that came with the end belongs to the work too.
                let raised = raised.or_else(|| py.check_signals().err()).map(|error| interrupted(py, error));
                let waited = Waited { result, raised };
                match waited {
                    // The failure says the same of Ctrl-C, and why there is no result.
                    Waited { result: Err(Failure::Stopped(why)), .. } if waited.is_interrupted(py) => {
                        Waited { result: Err(Failure::Stopped(why)), raised: None }
                    }
                    waited => waited,
                }
            }
            Err(error) => Waited { result: Err(Failure::no_thread("run", &error)), raised: None },
        }
    })
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, Failure>>) -> Result<T, Failure> {
    thread.join().unwrap_or_else(|_| Err(defect()))
}

/// Returns the failure for a panic outside of the handlers of a model.
pub(crate) fn defect() -> Failure {
    let parades_session::panics::Panic { message, place } = parades_session::panics::last().unwrap_or_default();
    Failure::simulation(format!(
        "parades itself is at fault ({message}, at {place}); please report it with the program that led here"
    ))
}

/// Passes messages to the callback until the work is over. Returns the first exception, after which the work
/// is stopped.
fn listen(py: Python<'_>, callback: Option<&Bound<'_, PyAny>>, mut from: Receiver<Said>, stop: &Stop) -> Option<PyErr> {
    let mut raised: Option<PyErr> = None;
    let (mut asked_again, mut times) = (now(), 0);
    loop {
        let received;
        (from, received) = py.detach(move || {
            let mut received = from.recv_timeout(PERIOD);
            // A callback that is slower than the news hears the newest.
            while let Some(later) = from.try_recv().ok().filter(|_| received.is_ok()) {
                received = Ok(later);
            }
            (from, received)
        });
        let heard = match (received, callback) {
            (Err(RecvTimeoutError::Disconnected), _) => return raised,
            (Ok(said), Some(callback)) if raised.is_none() => tell(callback, said),
            _ => Ok(()),
        };
        if let Err(error) = heard.and_then(|()| py.check_signals()) {
            stop.stop();
            raised.get_or_insert(error);
            asked_again = now();
        }
        if raised.is_some() && asked_again.elapsed() > TO_A_CUT {
            asked_again = now();
            // A process in Python that never waits lets its run come to no cut.
            let _ = py.import("parades._failures").and_then(|module| module.getattr("interrupt")?.call1((times,)));
            times += 1;
        }
    }
}

fn tell(callback: &Bound<'_, PyAny>, said: Said) -> PyResult<()> {
    match said {
        Said::Begins(engine) => callback.call1(("begins", engine)),
        Said::Progress(time_s, until_s, events_per_s) => callback.call1(("progress", (time_s, until_s, events_per_s))),
        Said::Runs(finished, total) => callback.call1(("runs", (finished, total))),
    }
    .map(drop)
}
