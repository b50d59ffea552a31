//! Telling of a stack that was too small, where the system would only say that a segment was violated.
//!
//! The guard below each stack of a [slab](crate::slab) is an address that nothing may touch. Who touches it gets SIGSEGV, on the thread's alternate signal
//! stack, since its own is full. The handler looks whether the address is a guard's; if so it says which process it was and how to give it more, and ends the
//! run. Any other address goes to the handler that was there before. In the handler nothing is allocated, locked or formatted by the library: it reads memory
//! that lives for ever, writes a sentence, and leaves.

use std::cell::Cell;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// Stacks side by side, `stride` bytes each, of which the lowest `guard` may not be touched. It is never unmapped.
pub(crate) struct Range {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) stride: usize,
    pub(crate) guard: usize,
    pub(crate) next: *const Range,
}

/// Who uses a stack. It lies at the stack's top, where the handler finds it.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(crate) struct Label {
    name: &'static str,
    kind: &'static str,
    node: u64,
    /// 0 where nobody uses the stack, and the rest may be anything.
    taken: u64,
}

impl Label {
    pub(crate) fn new(name: &'static str, kind: &'static str, node: u64) -> Label {
        Label { name, kind, node, taken: 1 }
    }

    /// Says that nobody uses the stack any more.
    ///
    /// # Safety
    ///
    /// The label may be written to, and nobody else does.
    pub(crate) unsafe fn clear(label: *mut Label) {
        // SAFETY: as the caller promises.
        let taken = unsafe { &raw mut (*label).taken };
        // SAFETY: as the caller promises.
        unsafe { taken.write(0) };
    }
}

static RANGES: AtomicPtr<Range> = AtomicPtr::new(null_mut());
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

/// Adds a range of stacks, for ever.
pub(crate) fn watch(mut range: Range) {
    static INSTALLED: Once = Once::new();
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    INSTALLED.call_once(install);
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // Ordering: Relaxed; the one before was stored under the lock.
    range.next = RANGES.load(Ordering::Relaxed);
    // Ordering: Release; pairs with the Acquire in `overflown`, which makes the range's fields visible.
    RANGES.store(Box::into_raw(Box::new(range)), Ordering::Release);
}

fn install() {
    // SAFETY: the structure is numbers, a set of bits and an optional function, for all of which zeros are values.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null action changes nothing; the old one is written to where there is room for it.
    unsafe { libc::sigaction(libc::SIGSEGV, null(), &raw mut before) };
    // Ordering: Release; pairs with the Acquire in `pass_on`. It is stored before the handler can be called.
    BEFORE.store(Box::into_raw(Box::new(before)), Ordering::Release);
    // SAFETY: as above.
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = on_fault as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler has the signature that SA_SIGINFO asks for, and does nothing that a handler may not do.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const ours, null_mut()) };
}

/// Gives this thread an alternate signal stack, if it has none: those of Rust's own threads have one.
pub(crate) fn prepare_thread() {
    thread_local! {
        static PREPARED: Cell<bool> = const { Cell::new(false) };
    }
    const BYTES: usize = 64 << 10;
    if PREPARED.replace(true) {
        return;
    }
    // SAFETY: numbers and a pointer, for which zeros are values.
    let mut now: libc::stack_t = unsafe { std::mem::zeroed() };
    // SAFETY: a null stack changes nothing; the present one is written to where there is room for it.
    unsafe { libc::sigaltstack(null(), &raw mut now) };
    if now.ss_flags & libc::SS_DISABLE != 0 {
        // Left to the thread for ever: a signal may come as late as it likes.
        let room: &'static mut [u8] = Box::leak(vec![0; BYTES].into_boxed_slice());
        let ours = libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: BYTES };
        // SAFETY: the room is as long as said, is never freed, and is used by nobody else.
        unsafe { libc::sigaltstack(&raw const ours, null_mut()) };
    }
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the system passes a valid structure.
    let info_of = unsafe { &*info };
    // SAFETY: for this signal the structure has an address.
    let address = unsafe { info_of.si_addr() } as usize;
    match overflown(address) {
        // What another process sent has no address.
        Some((label, bytes)) if info_of.si_code > 0 && is_taken(label) => tell(label, bytes),
        _ => pass_on(signal, info, context),
    }
}

/// Whether anybody uses the stack of this label.
fn is_taken(label: *const Label) -> bool {
    // SAFETY: a stack with a guard has been taken before, so that its label is in memory.
    let taken = unsafe { &raw const (*label).taken };
    // SAFETY: it can be read, and is a number, which the system's zeros are too.
    unsafe { taken.read() != 0 }
}

/// Whose guard it is, and the size of the stack above it.
fn overflown(address: usize) -> Option<(*const Label, usize)> {
    // Ordering: Acquire; pairs with the Release in `watch`.
    let mut range: *const Range = RANGES.load(Ordering::Acquire);
    while !range.is_null() {
        // SAFETY: a pointer in the list is to a range that was written before it was put there and that lives for ever.
        let Range { start, end, stride, guard, next } = *unsafe { &*range };
        if start <= address && address < end {
            let offset = (address - start) % stride;
            let top = address - offset + stride;
            return (offset < guard).then(|| ((top - size_of::<Label>()) as *const Label, stride - guard));
        }
        range = next;
    }
    None
}

/// Says what happened, and ends the run.
fn tell(label: *const Label, bytes: usize) -> ! {
    // SAFETY: the stack is taken, and who took it has written its label.
    let Label { name, kind, node, .. } = unsafe { *label };
    let mut sentence = Sentence { text: [0; 512], length: 0 };
    sentence.add(b"error: the process `");
    sentence.add(name.as_bytes());
    sentence.add(b"` of node ");
    sentence.number(node);
    sentence.add(b" needs more than its stack of ");
    sentence.number(bytes as u64);
    sentence.add(b" bytes (kind: ");
    sentence.add(kind.as_bytes());
    sentence.add(b"): spawn it with a larger one (`with_bytes`), or recur less deeply\n");
    // SAFETY: the text is initialised and as long as said.
    unsafe { libc::write(2, sentence.text.as_ptr().cast(), sentence.length) };
    // SAFETY: it ends the process at once, and may be called in a handler.
    unsafe { libc::_exit(1) }
}

struct Sentence {
    text: [u8; 512],
    length: usize,
}

impl Sentence {
    /// What does not fit is left out.
    fn add(&mut self, part: &[u8]) {
        for (place, &byte) in self.text[self.length..].iter_mut().zip(part) {
            *place = byte;
            self.length += 1;
        }
    }

    fn number(&mut self, mut number: u64) {
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

/// Any other fault is as it would be without this handler.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // Ordering: Acquire; pairs with the Release in `install`.
    // SAFETY: it was stored before this handler was installed, and lives for ever.
    let before = unsafe { &*BEFORE.load(Ordering::Acquire) };
    if matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        // Back to where it faulted, to do so again without a handler.
        // SAFETY: the structure is as it was got from the system; a handler may call this function.
        unsafe { libc::sigaction(signal, before, null_mut()) };
    } else if before.sa_flags & libc::SA_SIGINFO != 0 {
        type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: an action with this flag holds a function of this signature.
        let handler: Handler = unsafe { std::mem::transmute(before.sa_sigaction) };
        handler(signal, info, context);
    } else {
        // SAFETY: an action without the flag holds a function of this signature.
        let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(before.sa_sigaction) };
        handler(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_cut_at_their_room() {
        let mut sentence = Sentence { text: [0; 512], length: 0 };
        for number in [0, 7, 10, u64::MAX] {
            sentence.number(number);
            sentence.add(b" ");
        }
        assert_eq!(&sentence.text[..sentence.length], b"0 7 10 18446744073709551615 ");
        sentence.add(&[b'x'; 600]);
        assert_eq!(sentence.length, 512);
    }
}
