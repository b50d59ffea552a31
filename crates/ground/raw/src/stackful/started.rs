//! A coroutine that has started: resuming it, and dropping it on its own thread only.

use super::running::{Running, SwitchBack, Unwinding};
use super::{Command, New, Refused, Switch};
use crate::overflow::{Label, prepare_thread};
use crate::stack_pool::Stack;
#[cfg(target_env = "gnu")]
use crate::ucontext::Ucontext;
use corosensei::{Coroutine, CoroutineResult};
use std::any::Any;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;
use std::ptr::null;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The state of a thread.
pub(super) struct Thread {
    /// A number that no other thread ever has, or 0 before its first use.
    number: Cell<u64>,
    /// The innermost coroutine that runs on this thread now, or null.
    pub(super) running: Cell<*const Running>,
}

thread_local! {
    pub(super) static THREAD: Thread = const { Thread { number: Cell::new(0), running: Cell::new(null()) } };
}

impl Thread {
    fn number(&self) -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        if self.number.get() == 0 {
            // Ordering: Relaxed. Only the numbers matter, and each addition returns a different one.
            self.number.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
        }
        self.number.get()
    }
}

/// The result of a coroutine's code, or the payload of its panic.
pub(super) type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// A coroutine that has started.
///
/// Invariant: the coroutine is resumed, unwound and dropped only by the thread whose number is `thread`. Each
/// of these operations compares the numbers first. A drop on another thread leaks `stack` and `outcome`.
pub(super) struct Started<T> {
    thread: u64,
    stack: ManuallyDrop<OnStack>,
    outcome: ManuallyDrop<Rc<Cell<Option<Outcome<T>>>>>,
    finished: bool,
}

enum OnStack {
    Registers(Coroutine<Command, (), (), Stack>),
    #[cfg(target_env = "gnu")]
    Ucontext(Ucontext),
}

// SAFETY: by the invariant, the values on the stack and the shared `outcome` are used by one thread only.
// Other threads only move the `Started`, or leak its fields. The result is taken on the coroutine's thread,
// and `T: Send` allows to move it on.
unsafe impl<T: Send> Send for Started<T> {}

impl<T: Send + 'static> Started<T> {
    pub(super) fn new(new: New<T>) -> Result<Started<T>, Refused> {
        let New { switch, bytes, name, code } = new;
        #[cfg(not(target_env = "gnu"))]
        if switch == Switch::Ucontext {
            return Err(Refused::Unsupported);
        }
        prepare_thread();
        let kind = if switch == Switch::Registers { "slab" } else { "ucontext" };
        let label = Label::new(name.process, kind, name.node);
        let stack = Stack::take(bytes, label).map_err(Refused::NoStack)?;
        let outcome = Rc::new(Cell::new(None));
        let outcome_inside = Rc::clone(&outcome);
        let run = move |switch_back, first| outcome_inside.set(Some(Running::run(switch_back, first, code)));
        let stack = match switch {
            #[cfg(target_env = "gnu")]
            Switch::Ucontext => OnStack::Ucontext(Ucontext::new(
                stack,
                Box::new(move |frame, first| run(SwitchBack::Ucontext(frame), first)),
            )),
            _ => OnStack::Registers(Coroutine::with_stack(stack, move |yielder, first| {
                run(SwitchBack::Registers(yielder), first);
            })),
        };
        let thread = THREAD.with(Thread::number);
        Ok(Started { thread, stack: ManuallyDrop::new(stack), outcome: ManuallyDrop::new(outcome), finished: false })
    }
}

impl<T> Started<T> {
    /// Switches to the stack until the code waits or finishes. Returns true if it has finished.
    pub(super) fn resume(&mut self, command: Command) -> Result<bool, Refused> {
        THREAD.with(|thread| {
            if thread.number() != self.thread {
                return Err(Refused::OtherThread);
            }
            let outer = thread.running.get();
            self.finished = match &mut *self.stack {
                OnStack::Registers(coroutine) => matches!(coroutine.resume(command), CoroutineResult::Return(())),
                #[cfg(target_env = "gnu")]
                OnStack::Ucontext(context) => context.resume(command),
            };
            thread.running.set(outer);
            Ok(self.finished)
        })
    }

    /// Takes the outcome of code that has finished.
    pub(super) fn take_outcome(&mut self) -> Option<Outcome<T>> {
        self.outcome.take()
    }
}

impl<T> Drop for Started<T> {
    fn drop(&mut self) {
        // The thread-local state may be gone while a thread ends. The coroutine is then leaked, as on another
        // thread.
        let here = THREAD.try_with(Thread::number);
        if here != Ok(self.thread) || (!self.finished && self.resume(Command::FINISH) != Ok(true)) {
            return;
        }
        // SAFETY: `drop` runs once, and nothing else drops the stack.
        unsafe { ManuallyDrop::drop(&mut self.stack) };
        // SAFETY: as above. The cell was made on this thread, and no other thread uses its reference count.
        let outcome = unsafe { ManuallyDrop::take(&mut self.outcome) };
        if let Some(Err(panic)) = outcome.take()
            && !panic.is::<Unwinding>()
            && !std::thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}
