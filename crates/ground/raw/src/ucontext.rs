//! Switching stacks by the C library's `makecontext` and `swapcontext`.
//!
//! Each switch also saves and restores the signal mask, by system calls.
//!
//! *Source*: The Open Group, *Single UNIX Specification*, version 2, `makecontext`. POSIX.1-2008 has
//! withdrawn these functions; the GNU C library keeps them.

use crate::stack_pool::Stack;
use crate::stackful::Command;
use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;

/// The code that runs on the stack. It receives the frame and the first command.
type Body = Box<dyn FnOnce(*const Frame, Command)>;

/// The saved contexts of both sides of the switch. The frame stays at one address while its stack is in use.
pub(crate) struct Frame {
    inside: UnsafeCell<libc::ucontext_t>,
    outside: UnsafeCell<libc::ucontext_t>,
    command: Cell<Command>,
    body: Cell<Option<Body>>,
    finished: Cell<bool>,
}

/// A stack with the code that runs on it. It must not be dropped before the code has finished.
pub(crate) struct Ucontext {
    frame: Box<Frame>,
    _stack: Stack,
}

impl Ucontext {
    pub(crate) fn new(stack: Stack, body: Body) -> Ucontext {
        // SAFETY: a context consists of numbers and pointers, for which all bits zero is a valid value.
        let zero = || UnsafeCell::new(unsafe { std::mem::zeroed::<libc::ucontext_t>() });
        let frame = Box::new(Frame {
            inside: zero(),
            outside: zero(),
            command: Cell::new(Command::FINISH),
            body: Cell::new(Some(body)),
            finished: Cell::new(false),
        });
        let inside = frame.inside.get();
        // SAFETY: `inside` points to a context, which the call fills.
        unsafe { libc::getcontext(inside) };
        let (lowest, bytes) = stack.usable();
        // SAFETY: nothing else uses the frame yet.
        let context = unsafe { &mut *inside };
        context.uc_stack.ss_sp = std::ptr::with_exposed_provenance_mut(lowest);
        context.uc_stack.ss_size = bytes;
        context.uc_link = null_mut();
        let address = (&raw const *frame).expose_provenance() as u64;
        #[expect(clippy::cast_possible_truncation, reason = "the mask leaves the bits of one half")]
        let half = |shift: u32| (address >> shift & u64::from(u32::MAX)) as libc::c_int;
        let (high, low) = (half(32), half(0));
        let entry = begin as extern "C" fn(libc::c_int, libc::c_int);
        // SAFETY: `makecontext` calls the function with the two integers passed below, which is its real
        // signature.
        let entry = unsafe { std::mem::transmute::<extern "C" fn(libc::c_int, libc::c_int), extern "C" fn()>(entry) };
        // SAFETY: `getcontext` filled the context, and its stack lives as long as the context.
        unsafe { libc::makecontext(inside, entry, 2, high, low) };
        Ucontext { frame, _stack: stack }
    }

    /// Runs the code until it suspends or finishes. Returns true if it has finished.
    pub(crate) fn resume(&mut self, command: Command) -> bool {
        assert!(!self.frame.finished.get(), "a finished stack was resumed");
        self.frame.command.set(command);
        // SAFETY: `makecontext` made `inside`, or `suspend` saved it, on this thread. This call saves
        // `outside` before anything reads it.
        unsafe { libc::swapcontext(self.frame.outside.get(), self.frame.inside.get()) };
        self.frame.finished.get()
    }
}

impl Frame {
    /// Switches to the code that resumed this stack. Returns the command with which the stack is resumed
    /// next.
    pub(crate) fn suspend(&self) -> Command {
        // SAFETY: this code runs on the frame's stack, so `resume` has saved `outside` and is waiting for
        // this switch.
        unsafe { libc::swapcontext(self.inside.get(), self.outside.get()) };
        self.command.get()
    }
}

extern "C" fn begin(high: libc::c_int, low: libc::c_int) {
    let address = usize::try_from(u64::from(high as u32) << 32 | u64::from(low as u32)).unwrap_or_default();
    // SAFETY: the two halves form the address of the frame, which lives until its stack has finished.
    let frame = unsafe { &*std::ptr::with_exposed_provenance::<Frame>(address) };
    if let Some(body) = frame.body.take() {
        body(frame, frame.command.get());
    }
    frame.finished.set(true);
    // SAFETY: as in `suspend`. Since `finished` is set, nothing switches back to this stack, and it holds
    // nothing that would need dropping.
    unsafe { libc::setcontext(frame.outside.get()) };
    std::process::abort();
}
