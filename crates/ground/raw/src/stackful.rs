//! Stackful coroutines: code on a stack of its own, which can wait for a future deep inside its calls.
//!
//! A [`Stackful`] is resumed as a future is polled. The thread switches to its stack, and switches back when
//! the code waits ([`wait`]) or finishes.
//!
//! **A coroutine stays on the thread on which it started.** The compiler checks that `async` code keeps
//! nothing that is bound to a thread across a wait. It cannot check this for values on a stack. Such a value
//! may be a reference count that is not atomic, a thread-local variable, or the address of such a variable in
//! a register. So resuming on another thread is refused ([`Refused::OtherThread`]). The `Stackful` itself may
//! move to other threads and back. If it is dropped on another thread, the values on its stack are leaked,
//! and the stack is never used again.
//!
//! **A coroutine dropped before it finishes is unwound.** Its [`wait`] does not return; the values on its
//! stack are dropped, from the innermost call outwards. Code that catches the unwinding (`catch_unwind`) and
//! waits again is unwound again. A destructor cannot wait during unwinding: the program is then aborted with
//! an error message.

#[cfg(all(target_os = "linux", not(miri)))]
mod running;
#[cfg(all(target_os = "linux", not(miri)))]
mod started;

#[cfg(all(target_os = "linux", not(miri)))]
pub use crate::stack_pool::NoStack;
#[cfg(all(target_os = "linux", not(miri)))]
use running::Running;
#[cfg(all(target_os = "linux", not(miri)))]
use started::Started;
use std::fmt;
use std::marker::PhantomData;
use std::pin::pin;
use std::ptr::null;
use std::task::{Context, Poll, Waker};

/// The way in which a thread switches stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// A few instructions that save the registers that a call must preserve, by the crate `corosensei`.
    Registers,
    /// `swapcontext` of the C library, which also saves the signal mask.
    Ucontext,
}

/// The reason why a coroutine cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no stack for the coroutine.
    #[cfg(all(target_os = "linux", not(miri)))]
    NoStack(NoStack),
    /// The coroutine started on another thread.
    OtherThread,
    /// This system does not support stackful coroutines.
    Unsupported,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(all(target_os = "linux", not(miri)))]
            Refused::NoStack(why) => why.fmt(f),
            Refused::OtherThread => {
                f.write_str("code on a stack of its own can go on only on the thread on which it began")
            }
            Refused::Unsupported => f.write_str("on this system, code has no stacks of this kind"),
        }
    }
}
impl std::error::Error for Refused {}

/// The instruction given with a switch to a stack: to continue with a waker, or to finish. The pointer is
/// null in the command to finish.
#[derive(Clone, Copy)]
pub(crate) struct Command(*const Waker);

impl Command {
    pub(crate) const FINISH: Command = Command(null());
}

/// The user of a stack, named in the message about a stack overflow.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    /// The name of the process.
    pub process: &'static str,
    /// The node that the process belongs to.
    pub node: u64,
}

/// Code that runs on a stack of its own.
///
/// # Examples
///
/// ```
/// use parades_raw::stackful::{Name, Stackful, Switch, wait};
/// use std::future::poll_fn;
/// use std::task::{Context, Poll, Waker};
///
/// fn deep(depth: u32) -> u32 {
///     if depth > 0 {
///         return 1 + deep(depth - 1);
///     }
///     let mut ready = false;
///     wait(poll_fn(move |_| if std::mem::replace(&mut ready, true) { Poll::Ready(1) } else { Poll::Pending })).unwrap()
/// }
///
/// # if !cfg!(target_os = "linux") { return }
/// let name = Name { process: "deep", node: 0 };
/// let mut code = Stackful::new(Switch::Registers, 64 << 10, name, || deep(9));
/// let mut context = Context::from_waker(Waker::noop());
/// assert_eq!(code.resume(&mut context), Ok(Poll::Pending));
/// assert_eq!(code.resume(&mut context), Ok(Poll::Ready(10)));
/// ```
pub struct Stackful<T> {
    state: State<T>,
}

enum State<T> {
    New(New<T>),
    #[cfg(all(target_os = "linux", not(miri)))]
    Started(Started<T>),
    Finished,
}

struct New<T> {
    switch: Switch,
    bytes: usize,
    name: Name,
    code: Box<dyn FnOnce() -> T + Send>,
}

impl<T> fmt::Debug for Stackful<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stackful").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Stackful<T> {
    /// Creates a coroutine that will run `code` on a stack of at least `bytes` bytes. The stack is taken at
    /// the first [`resume`](Stackful::resume).
    pub fn new(switch: Switch, bytes: usize, name: Name, code: impl FnOnce() -> T + Send + 'static) -> Stackful<T> {
        Stackful { state: State::New(New { switch, bytes, name, code: Box::new(code) }) }
    }

    /// Runs the code until it finishes or waits for a future that is not ready. The code polls its futures
    /// with the waker of `context`.
    ///
    /// # Errors
    ///
    /// Fails if there is no stack, and then drops the code. Fails on a thread other than the first, and then
    /// changes nothing.
    ///
    /// # Panics
    ///
    /// Panics if the code does, with the same payload. Panics if the code has finished already.
    pub fn resume(&mut self, context: &mut Context<'_>) -> Result<Poll<T>, Refused> {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            if matches!(self.state, State::New(_))
                && let State::New(new) = std::mem::replace(&mut self.state, State::Finished)
            {
                self.state = State::Started(Started::new(new)?);
            }
            let State::Started(started) = &mut self.state else {
                panic!("code on a stack of its own was resumed after its end")
            };
            if !started.resume(Command(context.waker()))? {
                return Ok(Poll::Pending);
            }
            let outcome = started.take_outcome();
            self.state = State::Finished;
            match outcome {
                Some(Ok(output)) => Ok(Poll::Ready(output)),
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => unreachable!("finished code has left its result"),
            }
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        {
            let _ = context;
            self.state = State::Finished;
            Err(Refused::Unsupported)
        }
    }
}

/// The error of a wait outside of a stackful coroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotStackful(PhantomData<()>);

impl fmt::Display for NotStackful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only code on a stack of its own can wait without `async`")
    }
}
impl std::error::Error for NotStackful {}

/// Waits for `future` from within a coroutine: polls it, and switches back to the resuming code while it is
/// pending.
///
/// # Errors
///
/// Fails outside of a [`Stackful`], without polling.
pub fn wait<F: Future>(future: F) -> Result<F::Output, NotStackful> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let running = Running::current().ok_or(NotStackful(PhantomData))?;
        let mut future = pin!(future);
        loop {
            // The waker is cloned, because a wait nested in the poll may return with another waker in place.
            let waker = running.waker();
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Ok(output);
            }
            drop(waker);
            running.suspend();
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    {
        let _ = pin!(future);
        Err(NotStackful(PhantomData))
    }
}
