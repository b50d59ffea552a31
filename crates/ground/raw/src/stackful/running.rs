//! A coroutine seen from its own stack: the latest waker, suspension, and unwinding when it is dropped.

use super::Command;
use super::started::{Outcome, THREAD};
#[cfg(target_env = "gnu")]
use crate::ucontext::Frame;
use corosensei::Yielder;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// The panic payload that unwinds a coroutine which is dropped before it finishes.
pub(super) struct Unwinding;

/// The access to the stack that resumed this one.
#[derive(Clone, Copy)]
pub(super) enum SwitchBack {
    Registers(*const Yielder<Command, ()>),
    #[cfg(target_env = "gnu")]
    Ucontext(*const Frame),
}

/// The record at the root of a coroutine's stack.
pub(super) struct Running {
    switch_back: SwitchBack,
    /// The command with which the coroutine was resumed last.
    command: Cell<Command>,
    /// True if the thread was unwinding already when it resumed the coroutine.
    resumed_in_unwinding: Cell<bool>,
    /// The number of times that unwinding has begun.
    unwinds: Cell<u32>,
}

/// Largest number of times that unwinding begins. Code that catches its own unwinding this often would do so
/// forever.
const UNWINDS_MAX: u32 = 1000;

impl Running {
    /// Runs `code` at the root of a new stack, and returns its outcome.
    pub(super) fn run<T>(switch_back: SwitchBack, first: Command, code: impl FnOnce() -> T) -> Outcome<T> {
        let running = Running {
            switch_back,
            command: Cell::new(first),
            resumed_in_unwinding: Cell::new(std::thread::panicking()),
            unwinds: Cell::new(0),
        };
        if first.0.is_null() {
            return Err(Box::new(Unwinding));
        }
        THREAD.with(|thread| thread.running.set(&raw const running));
        catch_unwind(AssertUnwindSafe(code))
    }

    /// Returns the record of the stack that the caller runs on, or `None` outside of coroutines.
    pub(super) fn current<'a>() -> Option<&'a Running> {
        let running = THREAD.with(|thread| thread.running.get());
        // SAFETY: the pointer is set while the thread runs on the stack that holds the record, and reset when
        // the thread leaves that stack. The caller runs on that stack above the record, so it returns before
        // the record is gone. The record changes only through cells.
        unsafe { running.as_ref() }
    }

    /// Returns the waker of the latest command.
    pub(super) fn waker(&self) -> Waker {
        let waker = self.command.get().0;
        // SAFETY: the call of `resume` that gave the command borrows the waker, and does not return while
        // this code runs. The pointer is null only in the command to finish.
        unsafe { waker.as_ref() }.unwrap_or(Waker::noop()).clone()
    }

    /// Switches back to the code that resumed this stack, and returns when the stack is resumed. If the new
    /// command tells the coroutine to finish, begins unwinding instead of returning.
    pub(super) fn suspend(&self) {
        if std::thread::panicking() && !self.resumed_in_unwinding.get() {
            // This panic of a destructor during unwinding aborts the program. Nothing else can be done: the
            // stack can neither be left, nor be unwound a second time.
            panic!("a destructor waited while its process was ended or panicked: it can do only what needs no waiting");
        }
        if !self.command.get().0.is_null() {
            let command = match self.switch_back {
                // SAFETY: the yielder belongs to this stack, and lives as long as the stack's root.
                SwitchBack::Registers(yielder) => unsafe { &*yielder }.suspend(()),
                #[cfg(target_env = "gnu")]
                // SAFETY: the frame belongs to this stack, and lives as long as the stack.
                SwitchBack::Ucontext(frame) => unsafe { &*frame }.suspend(),
            };
            self.command.set(command);
            self.resumed_in_unwinding.set(std::thread::panicking());
            THREAD.with(|thread| thread.running.set(self));
        }
        if self.command.get().0.is_null() {
            self.unwinds.set(self.unwinds.get() + 1);
            if self.unwinds.get() > UNWINDS_MAX {
                eprintln!(
                    "error: a process was ended {UNWINDS_MAX} times and goes on, as it catches its own end: let what `catch_unwind` caught \
                     there go on by `resume_unwind`"
                );
                std::process::exit(1);
            }
            resume_unwind(Box::new(Unwinding));
        }
    }
}
