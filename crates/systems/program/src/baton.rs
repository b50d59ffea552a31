//! Processes on threads of their own. Only one thread runs at a time: a baton goes from the thread that polls
//! to the process's thread, and back.
//!
//! The desk with the node goes with the baton. So the process finds its node as any other process does.

use crate::desk::{AnyDesk, borrow, lend, try_with_parts};
use parades_raw::affinity;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

type Desk = Option<AnyDesk>;
type Ended<T> = Result<T, Box<dyn Any + Send>>;

/// The holder of the baton, or its next holder.
enum Turn {
    /// A thread has taken the baton, and works.
    Taken,
    /// The process is next. With a waker it continues; without one it ends.
    Process(Desk, Option<Waker>),
    /// The poller is next. True if the process is over.
    Poller(Desk, bool),
}

struct Baton {
    turn: Mutex<Turn>,
    passed: Condvar,
}

impl Baton {
    fn pass(&self, turn: Turn) {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = turn;
        self.passed.notify_one();
    }

    /// Waits until `take` accepts the baton.
    fn take<T>(&self, take: impl Fn(Turn) -> Result<T, Turn>) -> T {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match take(std::mem::replace(&mut *turn, Turn::Taken)) {
                Ok(taken) => return taken,
                Err(other) => *turn = other,
            }
            turn = self.passed.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn take_as_process(&self) -> (Desk, Option<Waker>) {
        self.take(|turn| match turn {
            Turn::Process(desk, waker) => Ok((desk, waker)),
            other => Err(other),
        })
    }

    fn take_as_poller(&self) -> (Desk, bool) {
        self.take(|turn| match turn {
            Turn::Poller(desk, over) => Ok((desk, over)),
            other => Err(other),
        })
    }
}

thread_local! {
    /// The process to which this thread belongs.
    static HERE: RefCell<Option<Here>> = const { RefCell::new(None) };
}

struct Here {
    baton: Arc<Baton>,
    /// `None` if the process must end.
    waker: Option<Waker>,
    /// The number of times that the process has been unwound.
    unwound: u32,
}

/// The panic that unwinds a process that is dropped before its end.
struct Unwound;

/// The greatest number of times that a process is unwound. Code that catches its unwinding this often would
/// go on forever.
const UNWOUND_AT_MOST: u32 = 1000;

/// Returns whether this thread belongs to a process.
pub(crate) fn is_here() -> bool {
    HERE.with_borrow(Option::is_some)
}

/// Waits for a future on this process's thread.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        let waker = HERE.with_borrow(|here| here.as_ref().and_then(|here| here.waker.clone()));
        let waker = waker.unwrap_or(Waker::noop().clone());
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        suspend();
    }
}

/// Passes the baton, and waits for it. Unwinds if the process must end.
fn suspend() {
    if std::thread::panicking() {
        // This aborts the program, since unwinding code cannot be unwound.
        panic!("a destructor waited while its process was ended or panicked: it can do only what needs no waiting");
    }
    let baton = HERE.with_borrow(|here| {
        let here = here.as_ref().expect("a process waits on its own thread");
        here.waker.is_some().then(|| Arc::clone(&here.baton))
    });
    if let Some(baton) = baton {
        let desk = lend();
        baton.pass(Turn::Poller(desk, false));
        let (desk, waker) = baton.take_as_process();
        borrow(desk);
        HERE.with_borrow_mut(|here| here.as_mut().expect("as above").waker = waker);
    }
    let unwound = HERE.with_borrow_mut(|here| {
        let here = here.as_mut().filter(|here| here.waker.is_none())?;
        here.unwound += 1;
        Some(here.unwound)
    });
    if let Some(times) = unwound {
        if times > UNWOUND_AT_MOST {
            eprintln!(
                "error: a process was ended {UNWOUND_AT_MOST} times and goes on, as it catches its own end: let what `catch_unwind` caught there go on \
                 by `resume_unwind`"
            );
            std::process::exit(1);
        }
        resume_unwind(Box::new(Unwound));
    }
}

/// Code on a thread of its own. The thread begins with the first poll.
pub(crate) struct OnThread<T> {
    state: State<T>,
}

enum State<T> {
    New { bytes: usize, name: &'static str, code: Box<dyn FnOnce() -> T + Send> },
    Alive(Alive<T>),
    Over,
}

struct Alive<T> {
    baton: Arc<Baton>,
    /// `None` when the thread is over.
    thread: Option<JoinHandle<Ended<T>>>,
}

impl<T: Send + 'static> OnThread<T> {
    pub(crate) fn new(bytes: usize, name: &'static str, code: impl FnOnce() -> T + Send + 'static) -> OnThread<T> {
        OnThread { state: State::New { bytes, name, code: Box::new(code) } }
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<T> {
        if matches!(self.state, State::New { .. })
            && let State::New { bytes, name, code } = std::mem::replace(&mut self.state, State::Over)
        {
            self.state = State::Alive(Alive::begin(bytes, name, code));
        }
        let State::Alive(alive) = &mut self.state else { panic!("a process was polled after its end") };
        let Some(ended) = alive.resume(Some(context.waker().clone())) else { return Poll::Pending };
        self.state = State::Over;
        Poll::Ready(ended.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

impl<T: Send + 'static> Alive<T> {
    fn begin(bytes: usize, name: &'static str, code: Box<dyn FnOnce() -> T + Send>) -> Alive<T> {
        let baton = Arc::new(Baton { turn: Mutex::new(Turn::Taken), passed: Condvar::new() });
        let own = Arc::clone(&baton);
        let builder = std::thread::Builder::new().name(name.replace('\0', "?")).stack_size(bytes);
        match affinity::while_unbound(|| builder.spawn(move || run(&own, code))) {
            Ok(thread) => Alive { baton, thread: Some(thread) },
            Err(error) => resume_unwind(Box::new(format!(
                "the system gives its process no thread ({error}): raise its limits (`ulimit -u`, `sysctl kernel.threads-max vm.max_map_count`), or \
                 spawn it with `Stack::SLAB` or as `async`"
            ))),
        }
    }
}

/// Runs a process on its thread.
fn run<T>(baton: &Arc<Baton>, code: Box<dyn FnOnce() -> T>) -> Ended<T> {
    let (desk, waker) = baton.take_as_process();
    borrow(desk);
    let begins = waker.is_some();
    HERE.set(Some(Here { baton: Arc::clone(baton), waker, unwound: 0 }));
    let ended = if begins {
        catch_unwind(AssertUnwindSafe(code))
    } else {
        drop(code);
        Err(Box::new(Unwound) as Box<dyn Any + Send>)
    };
    HERE.set(None);
    baton.pass(Turn::Poller(lend(), true));
    ended
}

impl<T> Alive<T> {
    /// Lets the process go on until it waits or is over. Returns its result if it is over.
    fn resume(&mut self, waker: Option<Waker>) -> Option<Ended<T>> {
        let outer = try_with_parts(|worker, _| std::mem::replace(&mut worker.stackful, true)).unwrap_or(false);
        self.baton.pass(Turn::Process(lend(), waker));
        let (desk, over) = self.baton.take_as_poller();
        borrow(desk);
        try_with_parts(|worker, _| worker.stackful = outer);
        let thread = self.thread.take_if(|_| over)?;
        // The thread itself does not panic: the panic of the process is in its result.
        Some(thread.join().unwrap_or_else(Err))
    }
}

/// A process that is dropped before its end is unwound.
impl<T> Drop for Alive<T> {
    fn drop(&mut self) {
        if self.thread.is_some()
            && let Some(Err(panic)) = self.resume(None)
            && !panic.is::<Unwound>()
            && !std::thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}
