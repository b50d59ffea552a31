//! Processes on a stack of their own, which can wait deep inside their calls.
//!
//! For the node, such a process is a future like any other. A poll continues its code, on its own stack,
//! until the code waits for a future that is not ready, or ends. So events, their order and the answer are
//! those of the `async` program that waits for the same futures.

use crate::baton::OnThread;
use crate::context::{Node, Start};
use crate::desk::{try_with_parts, with_parts};
use crate::program::Program;
use crate::spawn::{Handle, code};
use parades_raw::stackful::{Name, Refused, Stackful, Switch};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The stack on which a process runs: its kind and its size.
///
/// | kind | where | thread | greatest number |
/// |---|---|---|---|
/// | [`Stack::SLAB`] | Linux | with the worker on which it began | a million with Linux 6.13 or later, else about 32,000 |
/// | [`Stack::UCONTEXT`] | Linux, GNU library | with the worker on which it began | as above |
/// | [`Stack::THREAD`] | everywhere | on a thread of its own, whichever thread polls it | the system's number of threads |
///
/// **Choice.** Use `async` where the code can be `async`: it is the fastest, takes the least memory, and its
/// nodes may move from worker to worker. Use [`Stack::SLAB`] for code that waits inside calls of code that is
/// not `async`. Use [`Stack::THREAD`], slower by two orders of magnitude, if such a program must run in
/// parallel under `rounds`. `parades bench contexts` measures the cost of a switch and of a waiting process.
///
/// **Threads.** Values on a stack may be bound to their thread, and the compiler does not check that as it
/// does for `async`. So a process on a stack of the slab stays on its thread. Once there is one, `window` and
/// `null-message` leave all nodes with their workers: load is no longer balanced, and the run retreats to one
/// worker no more. `rounds` executes the nodes of a program that begins with such processes on one thread.
/// Each worker unwinds the processes that still wait at the end of the run. If a run goes on from a cut on
/// another thread, or its states are dropped on another, it ends with an error that names the process, or
/// leaks the values on the stack.
///
/// **Size.** Only the pages that are used take memory. A process that needs more than its stack ends the
/// program with a sentence that names it, and exit status 1. On a thread of its own, the standard library
/// reports the overflow and aborts.
///
/// **Ends.** A process that is killed is unwound where it waits, so that its local state is dropped. A
/// destructor that waits during the unwinding aborts the program. Code that catches panics must resume those
/// that are not its own.
///
/// # Examples
///
/// Node 0 waits for numbers in a recursive function that is not `async`:
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_program::{Node, Program, Processes, Stack, Start};
///
/// struct Sums { carrier: Constant, stack: Stack }
///
/// fn sum(node: Node<Sums>, numbers: u64) -> u64 {
///     if numbers == 0 { 0 } else { node.wait(node.receive()).message + sum(node, numbers - 1) }
/// }
///
/// impl Program for Sums {
///     type Message = u64;
///     type State = u64;
///     type Carrier = Constant;
///     fn nodes(&self) -> u32 { 2 }
///     fn carrier(&self) -> &Constant { &self.carrier }
///     fn start(&self, start: &mut Start<'_, Self>) -> u64 {
///         start.spawn_on(self.stack, "main", |node| {
///             if node.id() == LpId(0) {
///                 let found = sum(node, 4);
///                 node.with_state(|sum| *sum = found);
///             } else {
///                 (1..=4).for_each(|number| node.wait(node.send(LpId(0), number)).expect("nothing fails"));
///             }
///         });
///         0
///     }
///     fn finish(&self, id: LpId, sum: &u64, _: &End, _: &mut Metrics) {
///         assert_eq!(*sum, if id == LpId(0) { 10 } else { 0 });
///     }
/// }
///
/// let mut digests = Vec::new();
/// # #[cfg(all(target_os = "linux", target_env = "gnu"))]
/// for stack in [Stack::SLAB, Stack::UCONTEXT, Stack::THREAD.with_bytes(64 << 10)] {
///     let model = Processes::new(Sums { carrier: Constant::new(Delay::from_ms(1)), stack });
///     digests.push(parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(1_000_000_000_000)))?.digest);
/// }
/// assert!(digests.windows(2).all(|pair| pair[0] == pair[1]));
/// # Ok::<(), parades_core::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    kind: StackKind,
    bytes: usize,
}

/// The kind of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackKind {
    /// A stack of a slab, with a switch of some instructions.
    Slab,
    /// A stack of a slab, with the switch of the C library.
    Ucontext,
    /// The stack of a thread.
    Thread,
}

impl Stack {
    /// A stack of a slab of 256 KiB each.
    pub const SLAB: Stack = Stack { kind: StackKind::Slab, bytes: 256 << 10 };
    /// The same stacks, switched by `swapcontext`, for comparison.
    pub const UCONTEXT: Stack = Stack { kind: StackKind::Ucontext, bytes: 256 << 10 };
    /// A thread with a stack of 256 KiB.
    pub const THREAD: Stack = Stack { kind: StackKind::Thread, bytes: 256 << 10 };

    /// Returns the same kind of stack with at least `bytes` bytes. Sizes in a slab are powers of two, from 16
    /// KiB.
    #[must_use]
    pub const fn with_bytes(self, bytes: usize) -> Stack {
        Stack { kind: self.kind, bytes }
    }

    /// Returns the kind of the stack.
    pub const fn kind(self) -> StackKind {
        self.kind
    }

    /// Returns true if code on the stack goes on only on the thread on which it began.
    pub(crate) const fn stays_on_thread(self) -> bool {
        matches!(self.kind, StackKind::Slab | StackKind::Ucontext)
    }

    /// Returns the least size of the stack, in bytes.
    pub const fn bytes(self) -> usize {
        self.bytes
    }
}

/// A process on a stack of its own, as a future.
struct Blocking<T: Send + 'static> {
    code: Code<T>,
}

enum Code<T> {
    Stack(Stackful<T>),
    Thread(OnThread<T>),
    /// The code has been dropped.
    Gone,
}

/// Code that is unwound may wait for futures that are ready.
impl<T: Send + 'static> Drop for Blocking<T> {
    fn drop(&mut self) {
        let outer = set_stackful(true);
        self.code = Code::Gone;
        set_stackful(outer);
    }
}

impl<T: Send + 'static> Blocking<T> {
    fn new<P: Program>(
        stack: Stack,
        name: &'static str,
        node: Node<P>,
        code: impl FnOnce(Node<P>) -> T + Send + 'static,
    ) -> Blocking<T> {
        let run = move || code(node);
        let switch = match stack.kind {
            StackKind::Slab => Switch::Registers,
            StackKind::Ucontext => Switch::Ucontext,
            StackKind::Thread => return Blocking { code: Code::Thread(OnThread::new(stack.bytes, name, run)) },
        };
        let name = Name { process: name, node: u64::from(node.id().0) };
        Blocking { code: Code::Stack(Stackful::new(switch, stack.bytes, name, run)) }
    }
}

impl<T: Send + 'static> Future for Blocking<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.get_mut().code {
            Code::Stack(code) => {
                let outer = set_stackful(true);
                let polled = code.resume(context);
                set_stackful(outer);
                polled.unwrap_or_else(|why| refuse(why))
            }
            Code::Thread(code) => code.poll(context),
            Code::Gone => unreachable!("code that has been dropped is not polled"),
        }
    }
}

/// Sets whether the code that is polled now may wait without `async`. Returns whether it could before.
fn set_stackful(stackful: bool) -> bool {
    try_with_parts(|worker, _| std::mem::replace(&mut worker.stackful, stackful)).unwrap_or(false)
}

#[cold]
fn refuse(why: Refused) -> ! {
    let remedy = match why {
        Refused::OtherThread => {
            ": begin a process on such a stack in `Program::start`, so that the engine keeps all nodes on their threads, or spawn it with `Stack::THREAD` or as `async`"
        }
        Refused::Unsupported => ": spawn it with `Stack::THREAD` or as `async`",
        _ => "; processes that are `async` need no stack",
    };
    // `panic!` would report it a second time.
    std::panic::resume_unwind(Box::new(format!("{why}{remedy}")))
}

impl<P: Program> Node<P> {
    /// Begins another process of the node, on a stack of its own, where it may [`wait`](Node::wait) at any
    /// depth of its calls. It runs after the processes that are ready now.
    ///
    /// The run ends with an error that names the process if there is no room for its stack, if there are no
    /// more threads, or if the first such process of a run under `rounds` begins on a worker (see [`Stack`]).
    #[track_caller]
    pub fn spawn_on<T: Send + 'static>(
        self,
        stack: Stack,
        name: &'static str,
        process: impl FnOnce(Node<P>) -> T + Send + 'static,
    ) -> Handle<T> {
        let code = code(Blocking::new(stack, name, self, process));
        with_parts(|worker, table| {
            let (place, serial) = table.add(name, code, true);
            table.stays_on_thread |= stack.stays_on_thread();
            worker.ready(table, place);
            Handle::new(place, serial)
        })
    }

    /// Waits for a future, in a process on a stack of its own. An `async` process uses `.await` instead.
    ///
    /// # Panics
    ///
    /// In a process that is not on a stack of its own ([`Node::spawn_on`]).
    #[track_caller]
    pub fn wait<F: Future>(self, future: F) -> F::Output {
        let here = try_with_parts(|worker, _| worker.stackful).unwrap_or(false);
        assert!(
            here,
            "`wait` was called where no process on a stack of its own runs: begin the process with `spawn_on`, or use `.await`"
        );
        if crate::baton::is_here() {
            return crate::baton::wait(future);
        }
        parades_raw::stackful::wait(future).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl<P: Program> Start<'_, P> {
    /// Begins a process of the node, at time 0, on a stack of its own. Processes begin in the order in which
    /// they are spawned.
    pub fn spawn_on(&mut self, stack: Stack, name: &'static str, process: impl FnOnce(Node<P>) + Send + 'static) {
        self.table_mut().stays_on_thread |= stack.stays_on_thread();
        self.spawn(name, |node| Blocking::new(stack, name, node, process));
    }
}
