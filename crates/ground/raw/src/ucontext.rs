//! Switching stacks by the C library: `makecontext` and `swapcontext`. Each switch also saves and restores the mask of signals, which are calls of the system.
//!
//! *Source*: The Open Group, *Single UNIX Specification*, version 2, `makecontext`; POSIX.1-2008 has withdrawn it, the GNU library keeps it.

use crate::slab::Stack;
use crate::stackful::Order;
use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;

/// What runs on the stack, from its first order.
type Body = Box<dyn FnOnce(*const Frame, Order)>;

/// Both sides of the switch, at an address of their own.
pub(crate) struct Frame {
    inside: UnsafeCell<libc::ucontext_t>,
    outside: UnsafeCell<libc::ucontext_t>,
    order: Cell<Order>,
    body: Cell<Option<Body>>,
    over: Cell<bool>,
}

/// A stack, and what runs on it. It must not be dropped before it is over.
pub(crate) struct Ucontext {
    frame: Box<Frame>,
    _stack: Stack,
}

impl Ucontext {
    pub(crate) fn new(stack: Stack, body: Body) -> Ucontext {
        // SAFETY: numbers and pointers, for which zeros are values.
        let zero = || UnsafeCell::new(unsafe { std::mem::zeroed::<libc::ucontext_t>() });
        let frame = Box::new(Frame {
            inside: zero(),
            outside: zero(),
            order: Cell::new(Order::END),
            body: Cell::new(Some(body)),
            over: Cell::new(false),
        });
        let inside = frame.inside.get();
        // SAFETY: there is room for what it writes.
        unsafe { libc::getcontext(inside) };
        let (lowest, bytes) = stack.usable();
        // SAFETY: nobody else uses the frame yet.
        let context = unsafe { &mut *inside };
        context.uc_stack.ss_sp = std::ptr::with_exposed_provenance_mut(lowest);
        context.uc_stack.ss_size = bytes;
        context.uc_link = null_mut();
        let address = (&raw const *frame).expose_provenance() as u64;
        #[expect(clippy::cast_possible_truncation, reason = "the mask leaves the bits of one half")]
        let half = |shift: u32| (address >> shift & u64::from(u32::MAX)) as libc::c_int;
        let (high, low) = (half(32), half(0));
        let entry = begin as extern "C" fn(libc::c_int, libc::c_int);
        // SAFETY: the function takes the two numbers that `makecontext` is told to pass, whatever the type by which it is named.
        let entry = unsafe { std::mem::transmute::<extern "C" fn(libc::c_int, libc::c_int), extern "C" fn()>(entry) };
        // SAFETY: the context was got above, and has a stack that lives as long as it.
        unsafe { libc::makecontext(inside, entry, 2, high, low) };
        Ucontext { frame, _stack: stack }
    }

    /// Lets it run until it suspends or is over; whether it is over.
    pub(crate) fn resume(&mut self, order: Order) -> bool {
        assert!(!self.frame.over.get(), "what is over was resumed");
        self.frame.order.set(order);
        // SAFETY: `inside` was made by `makecontext` or saved by `suspend`, on this very thread; `outside` is read only when it has been saved here.
        unsafe { libc::swapcontext(self.frame.outside.get(), self.frame.inside.get()) };
        self.frame.over.get()
    }
}

impl Frame {
    /// Goes back to who resumed it, until it is resumed again; with what order.
    pub(crate) fn suspend(&self) -> Order {
        // SAFETY: this runs on the frame's stack, so that `outside` has been saved by `resume`, which waits for this.
        unsafe { libc::swapcontext(self.inside.get(), self.outside.get()) };
        self.order.get()
    }
}

extern "C" fn begin(high: libc::c_int, low: libc::c_int) {
    let address = usize::try_from(u64::from(high as u32) << 32 | u64::from(low as u32)).unwrap_or_default();
    // SAFETY: the two halves of the address of the frame, which lives until its stack is over.
    let frame = unsafe { &*std::ptr::with_exposed_provenance::<Frame>(address) };
    if let Some(body) = frame.body.take() {
        body(frame, frame.order.get());
    }
    frame.over.set(true);
    // SAFETY: as in `suspend`; as it is over, nobody comes back here, and nothing is left to be dropped.
    unsafe { libc::setcontext(frame.outside.get()) };
    std::process::abort();
}
