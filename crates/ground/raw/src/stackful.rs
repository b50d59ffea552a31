//! Code on a stack of its own, which can wait for a future deep inside its calls.
//!
//! A [`Stackful`] is resumed like a future is polled: the thread goes over to its stack, and comes back when the code waits ([`wait`]) or has come to its end.
//!
//! **It stays on the thread on which it began.** Of `async` code the compiler checks that nothing it keeps across a wait is bound to a thread; of what lies on
//! a stack nobody can: a count of references that is not atomic, a thread's own variable, the address of one that the compiler keeps in a register. So another
//! thread is refused ([`Refused::OtherThread`]). The value itself may go to other threads and come back. If it is dropped on another, what lies on its stack is
//! neither dropped nor used for anything else.
//!
//! **Dropped before its end, it is unwound**: its wait does not return, and what it remembers is dropped, from the innermost call out. Code that catches the
//! unwinding (`catch_unwind`) and waits again is unwound again. A destructor that waits meanwhile cannot be served: the program is aborted with a sentence.

#[cfg(all(target_os = "linux", not(miri)))]
pub use crate::slab::NoStack;
use std::fmt;
use std::marker::PhantomData;
use std::pin::pin;
use std::ptr::null;
use std::task::{Context, Poll, Waker};

#[cfg(all(target_os = "linux", not(miri)))]
use on_linux::{Alive, Running};

/// How a thread goes from stack to stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Some instructions that save what a call must preserve (the crate corosensei).
    Registers,
    /// `swapcontext` of the C library.
    Ucontext,
}

/// Why code on a stack of its own cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no stack for it.
    #[cfg(all(target_os = "linux", not(miri)))]
    NoStack(NoStack),
    /// It has begun on another thread.
    OtherThread,
    /// This system has no such stacks.
    NotHere,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(all(target_os = "linux", not(miri)))]
            Refused::NoStack(why) => why.fmt(f),
            Refused::OtherThread => {
                f.write_str("code on a stack of its own can go on only on the thread on which it began")
            }
            Refused::NotHere => f.write_str("on this system, code has no stacks of this kind"),
        }
    }
}
impl std::error::Error for Refused {}

/// What a stack that is resumed shall do: go on with a waker, or come to its end.
#[derive(Clone, Copy)]
pub(crate) struct Order(*const Waker);

impl Order {
    pub(crate) const END: Order = Order(null());
}

/// Who uses a stack, for the sentence that is said if it is too small.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    /// The process.
    pub process: &'static str,
    /// The node to which it belongs.
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
    Alive(Alive<T>),
    Over,
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
    /// Code that will run on a stack of at least so many bytes. The stack is taken when it is first resumed.
    pub fn new(switch: Switch, bytes: usize, name: Name, code: impl FnOnce() -> T + Send + 'static) -> Stackful<T> {
        Stackful { state: State::New(New { switch, bytes, name, code: Box::new(code) }) }
    }

    /// Lets the code run until it waits for something that is not ready, or comes to its end. It waits with the context's waker.
    ///
    /// # Errors
    ///
    /// Where there is no stack for it, the code is dropped. On another thread than that on which it began, it stays where it is.
    ///
    /// # Panics
    ///
    /// If the code does, with the same payload; and when it is over already.
    pub fn resume(&mut self, context: &mut Context<'_>) -> Result<Poll<T>, Refused> {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            if matches!(self.state, State::New(_))
                && let State::New(new) = std::mem::replace(&mut self.state, State::Over)
            {
                self.state = State::Alive(Alive::new(new)?);
            }
            let State::Alive(alive) = &mut self.state else {
                panic!("code on a stack of its own was resumed after its end")
            };
            if !alive.resume(Order(context.waker()))? {
                return Ok(Poll::Pending);
            }
            let result = alive.result();
            self.state = State::Over;
            match result {
                Some(Ok(result)) => Ok(Poll::Ready(result)),
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                None => unreachable!("code that is over has left its result"),
            }
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        {
            let _ = context;
            self.state = State::Over;
            Err(Refused::NotHere)
        }
    }
}

/// What runs here is not on a stack of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotStackful(PhantomData<()>);

impl fmt::Display for NotStackful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only code on a stack of its own can wait without `async`")
    }
}
impl std::error::Error for NotStackful {}

/// Waits for a future: polls it here, and goes back to who resumed this code while it is pending.
///
/// # Errors
///
/// Outside of a [`Stackful`]: nothing is polled.
pub fn wait<F: Future>(future: F) -> Result<F::Output, NotStackful> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let running = Running::current().ok_or(NotStackful(PhantomData))?;
        let mut future = pin!(future);
        loop {
            // A clone, since another wait inside of the poll may come back with another waker.
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

#[cfg(all(target_os = "linux", not(miri)))]
mod on_linux {
    use super::{New, Order, Refused, Switch};
    use crate::overflow::{Label, prepare_thread};
    use crate::slab::Stack;
    #[cfg(target_env = "gnu")]
    use crate::ucontext::{Frame, Ucontext};
    use corosensei::{Coroutine, CoroutineResult, Yielder};
    use std::any::Any;
    use std::cell::Cell;
    use std::mem::ManuallyDrop;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::ptr::null;
    use std::rc::Rc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::Waker;

    /// What a thread knows of itself.
    struct Thread {
        /// No other thread has ever had the same; 0 before it is asked for.
        number: Cell<u64>,
        /// What runs here on a stack of its own: the innermost.
        running: Cell<*const Running>,
    }

    thread_local! {
        static THREAD: Thread = const { Thread { number: Cell::new(0), running: Cell::new(null()) } };
    }

    impl Thread {
        fn number(&self) -> u64 {
            static LAST: AtomicU64 = AtomicU64::new(0);
            if self.number.get() == 0 {
                // Ordering: Relaxed; all that counts is that the numbers differ.
                self.number.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
            }
            self.number.get()
        }
    }

    type Ended<T> = Result<T, Box<dyn Any + Send>>;

    /// Code that has begun. Dropped on its thread, it is over or is unwound; on another it is left as it is.
    pub(super) struct Alive<T> {
        thread: u64,
        stack: ManuallyDrop<OnStack>,
        ended: ManuallyDrop<Rc<Cell<Option<Ended<T>>>>>,
        over: bool,
    }

    enum OnStack {
        Registers(Coroutine<Order, (), (), Stack>),
        #[cfg(target_env = "gnu")]
        Ucontext(Ucontext),
    }

    // SAFETY: what has begun on a thread is resumed, unwound and dropped by that thread only, as `thread` is compared before each; elsewhere it is only moved,
    // or forgotten for ever. The result of type `T: Send` is taken on that thread too.
    unsafe impl<T: Send> Send for Alive<T> {}

    impl<T: Send + 'static> Alive<T> {
        pub(super) fn new(new: New<T>) -> Result<Alive<T>, Refused> {
            let New { switch, bytes, name, code } = new;
            #[cfg(not(target_env = "gnu"))]
            if switch == Switch::Ucontext {
                return Err(Refused::NotHere);
            }
            prepare_thread();
            let kind = if switch == Switch::Registers { "slab" } else { "ucontext" };
            let label = Label::new(name.process, kind, name.node);
            let stack = Stack::take(bytes, label).map_err(Refused::NoStack)?;
            let ended = Rc::new(Cell::new(None));
            let end = Rc::clone(&ended);
            let run = move |way, first| end.set(Some(Running::run(way, first, code)));
            let stack = match switch {
                #[cfg(target_env = "gnu")]
                Switch::Ucontext => OnStack::Ucontext(Ucontext::new(
                    stack,
                    Box::new(move |frame, first| run(Way::Ucontext(frame), first)),
                )),
                _ => OnStack::Registers(Coroutine::with_stack(stack, move |yielder, first| {
                    run(Way::Registers(yielder), first);
                })),
            };
            let thread = THREAD.with(Thread::number);
            Ok(Alive { thread, stack: ManuallyDrop::new(stack), ended: ManuallyDrop::new(ended), over: false })
        }
    }

    impl<T> Alive<T> {
        /// Goes over to the stack; whether the code is over.
        pub(super) fn resume(&mut self, order: Order) -> Result<bool, Refused> {
            THREAD.with(|thread| {
                if thread.number() != self.thread {
                    return Err(Refused::OtherThread);
                }
                let outer = thread.running.get();
                self.over = match &mut *self.stack {
                    OnStack::Registers(coroutine) => matches!(coroutine.resume(order), CoroutineResult::Return(())),
                    #[cfg(target_env = "gnu")]
                    OnStack::Ucontext(context) => context.resume(order),
                };
                thread.running.set(outer);
                Ok(self.over)
            })
        }

        pub(super) fn result(&mut self) -> Option<Ended<T>> {
            self.ended.take()
        }
    }

    impl<T> Drop for Alive<T> {
        fn drop(&mut self) {
            // A thread that is ending may have no variables of its own any more: then it is left as by any other thread.
            let here = THREAD.try_with(Thread::number);
            if here != Ok(self.thread) || (!self.over && self.resume(Order::END) != Ok(true)) {
                return;
            }
            // SAFETY: this is the only place that drops it, once.
            unsafe { ManuallyDrop::drop(&mut self.stack) };
            // SAFETY: as above; the slot was made on this thread, and its count of references is used by no other.
            let ended = unsafe { ManuallyDrop::take(&mut self.ended) };
            if let Some(Err(panic)) = ended.take()
                && !panic.is::<Unwound>()
                && !std::thread::panicking()
            {
                resume_unwind(panic);
            }
        }
    }

    /// With what code is unwound that is dropped before its end.
    struct Unwound;

    #[derive(Clone, Copy)]
    enum Way {
        Registers(*const Yielder<Order, ()>),
        #[cfg(target_env = "gnu")]
        Ucontext(*const Frame),
    }

    /// Code that runs, at the root of its stack.
    pub(super) struct Running {
        way: Way,
        order: Cell<Order>,
        /// Whether the thread was unwinding already when it came here.
        unwinding: Cell<bool>,
        unwound: Cell<u32>,
    }

    /// Code that catches its own unwinding so often goes on for ever.
    const UNWOUND_AT_MOST: u32 = 1000;

    impl Running {
        fn run<T>(way: Way, first: Order, code: impl FnOnce() -> T) -> Ended<T> {
            let running = Running {
                way,
                order: Cell::new(first),
                unwinding: Cell::new(std::thread::panicking()),
                unwound: Cell::new(0),
            };
            if first.0.is_null() {
                return Err(Box::new(Unwound));
            }
            THREAD.with(|thread| thread.running.set(&raw const running));
            catch_unwind(AssertUnwindSafe(code))
        }

        /// What runs here.
        pub(super) fn current<'a>() -> Option<&'a Running> {
            let running = THREAD.with(|thread| thread.running.get());
            // SAFETY: it is set while code runs on the stack at whose root it lies, and set back when the thread leaves that stack. The caller is such code,
            // and returns before the root does. Nothing changes it but through cells.
            unsafe { running.as_ref() }
        }

        pub(super) fn waker(&self) -> Waker {
            let waker = self.order.get().0;
            // SAFETY: the waker of the latest order, borrowed by the call of `resume` that waits for this code; it is null only when the code is to end.
            unsafe { waker.as_ref() }.unwrap_or(Waker::noop()).clone()
        }

        /// Goes back to who resumed this code; comes back when it is resumed. If it is to end, does not come back, but unwinds.
        pub(super) fn suspend(&self) {
            if std::thread::panicking() && !self.unwinding.get() {
                // It aborts, since what unwinds cannot be unwound.
                panic!(
                    "a destructor waited while its process was ended or panicked: it can do only what needs no waiting"
                );
            }
            if !self.order.get().0.is_null() {
                let order = match self.way {
                    // SAFETY: the yielder of this stack, which lives as long as the stack's root.
                    Way::Registers(yielder) => unsafe { &*yielder }.suspend(()),
                    #[cfg(target_env = "gnu")]
                    // SAFETY: the frame of this stack, which lives as long as the stack.
                    Way::Ucontext(frame) => unsafe { &*frame }.suspend(),
                };
                self.order.set(order);
                self.unwinding.set(std::thread::panicking());
                THREAD.with(|thread| thread.running.set(self));
            }
            if self.order.get().0.is_null() {
                self.unwound.set(self.unwound.get() + 1);
                if self.unwound.get() > UNWOUND_AT_MOST {
                    eprintln!(
                        "error: a process was ended {UNWOUND_AT_MOST} times and goes on, as it catches its own end: let what `catch_unwind` caught \
                         there go on by `resume_unwind`"
                    );
                    std::process::exit(1);
                }
                resume_unwind(Box::new(Unwound));
            }
        }
    }
}
