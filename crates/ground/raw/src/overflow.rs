//! An error message for a stack overflow, where the system would only report a segmentation fault.
//!
//! Below each stack of the [pool](crate::stack_pool) lies a guard, which no code may touch. Code that touches
//! it gets SIGSEGV. The handler runs on the thread's alternate signal stack, since the thread's own is full.
//! If the address lies in a guard, the handler writes which process overflowed and how to give it a larger
//! stack, and ends the program. Any other address goes to the handler installed before.
//!
//! The handler allocates nothing, takes no lock and calls no formatting code. It reads memory that is never
//! freed, writes a sentence and exits.

use std::cell::Cell;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// Stacks side by side, each `stride` bytes long. The lowest `guard` bytes of each must not be touched. A
/// range is never unmapped.
pub(crate) struct StackRange {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) stride: usize,
    pub(crate) guard: usize,
    pub(crate) next: *const StackRange,
}

/// The user of a stack. The label lies at the top of the stack, where the handler finds it.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(crate) struct Label {
    name: &'static str,
    kind: &'static str,
    node: u64,
    /// 1 while the stack is in use, else 0. The other fields are valid only while the stack is in use.
    in_use: u64,
}

impl Label {
    pub(crate) fn new(name: &'static str, kind: &'static str, node: u64) -> Label {
        Label { name, kind, node, in_use: 1 }
    }

    /// Marks the stack as unused.
    ///
    /// # Safety
    ///
    /// The label must be valid for writes, and no other thread may access it.
    pub(crate) unsafe fn clear(label: *mut Label) {
        // SAFETY: the caller promises that `label` points to a label.
        let in_use = unsafe { &raw mut (*label).in_use };
        // SAFETY: the caller promises that the label is valid for writes.
        unsafe { in_use.write(0) };
    }
}

static RANGES: AtomicPtr<StackRange> = AtomicPtr::new(null_mut());
static PREVIOUS_ACTION: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

/// Adds a range of stacks, which the handler knows from now on.
pub(crate) fn add_range(mut range: StackRange) {
    static INSTALLED: Once = Once::new();
    static ADDING: Mutex<()> = Mutex::new(());
    INSTALLED.call_once(install);
    let _locked = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    // Ordering: Relaxed. The load and the store below are both made under the lock, so the load sees the
    // latest range.
    range.next = RANGES.load(Ordering::Relaxed);
    // Ordering: Release. It pairs with the Acquire in `find_guard`, which makes the fields of the range
    // visible there.
    RANGES.store(Box::into_raw(Box::new(range)), Ordering::Release);
}

fn install() {
    // SAFETY: the structure consists of numbers, a set of bits and an optional function. For all of them, all
    // bits zero is a valid value.
    let mut previous: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action changes nothing. The system writes the present action to `previous`.
    unsafe { libc::sigaction(libc::SIGSEGV, null(), &raw mut previous) };
    // Ordering: Release. It pairs with the Acquire in `forward`. The store comes before the handler is
    // installed, so every call of the handler finds the action.
    PREVIOUS_ACTION.store(Box::into_raw(Box::new(previous)), Ordering::Release);
    // SAFETY: as for `previous`.
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = on_fault as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler has the signature that SA_SIGINFO requires, and does only things that are safe in a
    // signal handler.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const ours, null_mut()) };
}

/// Gives this thread an alternate signal stack if it has none. Threads started by Rust have one.
pub(crate) fn prepare_thread() {
    thread_local! {
        static PREPARED: Cell<bool> = const { Cell::new(false) };
    }
    const BYTES: usize = 64 << 10;
    if PREPARED.replace(true) {
        return;
    }
    // SAFETY: the structure consists of numbers and a pointer, for which all bits zero is a valid value.
    let mut present: libc::stack_t = unsafe { std::mem::zeroed() };
    // SAFETY: a null new stack changes nothing. The system writes the present stack to `present`.
    unsafe { libc::sigaltstack(null(), &raw mut present) };
    if present.ss_flags & libc::SS_DISABLE != 0 {
        // The signal stack is never freed, because a signal may arrive at any time until the thread ends.
        let memory: &'static mut [u8] = Box::leak(vec![0; BYTES].into_boxed_slice());
        let ours = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: BYTES };
        // SAFETY: the memory is `BYTES` long, is never freed, and has no other user.
        unsafe { libc::sigaltstack(&raw const ours, null_mut()) };
    }
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO, the system passes a valid structure.
    let fault = unsafe { &*info };
    // SAFETY: for SIGSEGV, the structure holds an address.
    let address = unsafe { fault.si_addr() } as usize;
    match find_guard(address) {
        // A code of 0 or less means that a process sent the signal, which then has no address.
        Some((label, bytes)) if fault.si_code > 0 && is_in_use(label) => report_and_exit(label, bytes),
        _ => forward(signal, info, context),
    }
}

/// Returns true if the stack of this label is in use.
fn is_in_use(label: *const Label) -> bool {
    // SAFETY: `find_guard` returns labels within mapped stacks only.
    let in_use = unsafe { &raw const (*label).in_use };
    // SAFETY: the field is mapped. It is a number that was written, or the zero of fresh memory.
    unsafe { in_use.read() != 0 }
}

/// Finds the stack whose guard contains `address`. Returns the stack's label and its size without the guard,
/// in bytes.
fn find_guard(address: usize) -> Option<(*const Label, usize)> {
    // Ordering: Acquire. It pairs with the Release in `add_range`, which makes the fields of each range
    // visible.
    let mut range: *const StackRange = RANGES.load(Ordering::Acquire);
    while !range.is_null() {
        // SAFETY: every range in the list was written before it was added, and is never freed.
        let StackRange { start, end, stride, guard, next } = *unsafe { &*range };
        if start <= address && address < end {
            let offset = (address - start) % stride;
            let top = address - offset + stride;
            return (offset < guard).then(|| ((top - size_of::<Label>()) as *const Label, stride - guard));
        }
        range = next;
    }
    None
}

/// Writes which process overflowed its stack, and ends the program.
fn report_and_exit(label: *const Label, bytes: usize) -> ! {
    // SAFETY: the stack is in use, so `Stack::take` has written its label.
    let Label { name, kind, node, .. } = unsafe { *label };
    let mut message = Message { text: [0; 512], length: 0 };
    message.add(b"error: the process `");
    message.add(name.as_bytes());
    message.add(b"` of node ");
    message.add_number(node);
    message.add(b" needs more than its stack of ");
    message.add_number(bytes as u64);
    message.add(b" bytes (kind: ");
    message.add(kind.as_bytes());
    message.add(b"): spawn it with a larger one (`with_bytes`), or recur less deeply\n");
    // SAFETY: the first `length` bytes of the text are initialised.
    unsafe { libc::write(2, message.text.as_ptr().cast(), message.length) };
    // SAFETY: the call ends the process at once, and is allowed in a signal handler.
    unsafe { libc::_exit(1) }
}

struct Message {
    text: [u8; 512],
    length: usize,
}

impl Message {
    /// Appends `part`, or as much of it as the text has room for.
    fn add(&mut self, part: &[u8]) {
        for (place, &byte) in self.text[self.length..].iter_mut().zip(part) {
            *place = byte;
            self.length += 1;
        }
    }

    fn add_number(&mut self, mut number: u64) {
        let mut digits = [b'0'; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.add(&digits[first..]);
    }
}

/// Treats a fault elsewhere as if this handler had not been installed.
fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // Ordering: Acquire. It pairs with the Release in `install`.
    // SAFETY: the pointer was stored before this handler was installed, and the action is never freed.
    let previous = unsafe { &*PREVIOUS_ACTION.load(Ordering::Acquire) };
    if matches!(previous.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        // Restores the default, so that the instruction faults again when the handler returns, and the
        // default acts.
        // SAFETY: the system filled the action, and the function is allowed in a signal handler.
        unsafe { libc::sigaction(signal, previous, null_mut()) };
    } else if previous.sa_flags & libc::SA_SIGINFO != 0 {
        type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: an action with this flag holds a function with this signature.
        let handler: Handler = unsafe { std::mem::transmute(previous.sa_sigaction) };
        handler(signal, info, context);
    } else {
        // SAFETY: an action without the flag holds a function with this signature.
        let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(previous.sa_sigaction) };
        handler(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_where_its_text_is_full() {
        let mut message = Message { text: [0; 512], length: 0 };
        for number in [0, 7, 10, u64::MAX] {
            message.add_number(number);
            message.add(b" ");
        }
        assert_eq!(&message.text[..message.length], b"0 7 10 18446744073709551615 ");
        message.add(&[b'x'; 600]);
        assert_eq!(message.length, 512);
    }
}
