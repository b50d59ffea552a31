//! Messages whose type the code around them does not know.
//!
//! The loops of engines are compiled once for each [`Form`] of a message, not for each type of message. A form
//! is a size, and whether dropping the message does anything. The code that knows the type holds a [`Kind`],
//! which converts between messages and their forms. Code that is compiled once, for all forms, holds an
//! [`InForm`].
//!
//! *Why this is sound.* A [`Kind<'k, T>`] exists only inside [`Bound::with`], whose lifetime `'k` is
//! different in each call, as in the token of a `GhostCell` (Yanovski and others, ICFP 2021). All forms made
//! by it bear `'k`, which is invariant. So whatever bears `'k` holds a `T`, without a tag in each message.
//!
//! ```
//! use parades_raw::message::{Kind, Owned, Packed};
//!
//! // This function does not know the type.
//! fn last<'k, P: Packed<'k>>(mut list: Vec<P>) -> P {
//!     list.pop().expect("the list has messages")
//! }
//! let text = Kind::with(|kind: Kind<'_, String>| {
//!     let list: Vec<Owned<'_, 24>> = vec![kind.pack("first".into()), kind.pack("last".into())];
//!     kind.unpack(last(list))
//! });
//! assert_eq!(text, "last");
//! ```
//!
//! Messages of two runs cannot be mixed:
//!
//! ```compile_fail
//! use parades_raw::message::{Kind, Plain};
//! Kind::with(|numbers: Kind<'_, u64>| {
//!     Kind::with(|signed: Kind<'_, i64>| {
//!         let message: Plain<'_, 8> = numbers.pack(7);
//!         signed.unpack(message)
//!     })
//! });
//! ```

mod container;
mod form;

pub use container::{AnyMessage, Container, Hidden, InForm, One, Use, View};
pub use form::{Empty, Form, MessageRef, Owned, Packed, Plain, Taggable, Unmarked};

use form::is_boxed;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Marks a form with the run that it belongs to. Invariant in `'k`, `Send`, and not `Sync`: a message may not
/// be shared between threads.
type Brand<'k> = PhantomData<Cell<&'k ()>>;

/// Makes a type invariant in `T`, and neither more nor less `Send` by it.
type Exactly<T> = PhantomData<fn(T) -> T>;

/// A value, and the [`Kind`] of the messages of its run. The value may be borrowed for all of `'k`.
pub struct Bound<'k, V, T> {
    value: V,
    kind: Kind<'k, T>,
}

impl<V: fmt::Debug, T> fmt::Debug for Bound<'_, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<'k, V, T> Bound<'k, V, T> {
    /// Calls `act` with a value and a kind whose lifetime no other kind has.
    pub fn with<R>(value: V, act: impl for<'new> FnOnce(&'new Bound<'new, V, T>) -> R) -> R {
        // SAFETY: `act` must take any lifetime, so it can have no message with this one.
        let kind = unsafe { Kind::unchecked() };
        let bound = Bound { value, kind };
        act(&bound)
    }

    /// Returns the value.
    #[inline(always)]
    pub fn value(&self) -> &V {
        &self.value
    }

    /// Returns the kind.
    #[inline(always)]
    pub fn kind(&self) -> Kind<'k, T> {
        self.kind
    }
}

/// The knowledge that the messages with the brand `'k` have type `T`.
pub struct Kind<'k, T> {
    brand: Exactly<&'k ()>,
    of: Exactly<T>,
}

impl<T> Clone for Kind<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Kind<'_, T> {}

impl<T> fmt::Debug for Kind<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({})", std::any::type_name::<T>())
    }
}

impl<T> Kind<'_, T> {
    /// Makes a kind.
    ///
    /// # Safety
    ///
    /// Messages with the lifetime of the kind must have the type `T`.
    unsafe fn unchecked() -> Self {
        Kind { brand: PhantomData, of: PhantomData }
    }
}

impl<'k, T: Send + 'static> Kind<'k, T> {
    /// The form of the messages.
    pub const FORM: Form = Form::of::<T>();

    /// Calls `act` with a kind whose lifetime no other kind has.
    pub fn with<R>(act: impl for<'new> FnOnce(Kind<'new, T>) -> R) -> R {
        Bound::with((), |bound| act(bound.kind))
    }

    /// Stores a message.
    ///
    /// # Panics
    ///
    /// If `P` is not the type of [`Kind::FORM`].
    #[inline(always)]
    pub fn pack<P: Packed<'k>>(self, message: T) -> P {
        assert!(P::FORM == Self::FORM, "a message is stored in the form of its type");
        if is_boxed::<T>() {
            let boxed = Box::into_raw(Box::new(message));
            let write = |place: NonNull<u8>| {
                // SAFETY: every form for boxed types has room for a pointer, aligned to 8 bytes.
                unsafe { place.cast::<*mut T>().write(boxed) }
            };
            // SAFETY: the place gets a pointer to a box, and `drop_box` drops the box.
            unsafe { P::filled(write, drop_box::<T>) }
        } else {
            let write = |place: NonNull<u8>| {
                // SAFETY: the form of `T` has room for a `T`, aligned to 8 bytes as `T` is at most.
                unsafe { place.cast::<T>().write(message) }
            };
            // SAFETY: the place gets a `T`. A plain form stores types without a destructor only.
            unsafe { P::filled(write, drop_in_place::<T>) }
        }
    }

    /// Returns the message.
    ///
    /// # Panics
    ///
    /// If `P` is not the type of [`Kind::FORM`]. No such message can exist.
    #[inline(always)]
    pub fn unpack<P: Packed<'k>>(self, packed: P) -> T {
        assert!(P::FORM == Self::FORM, "a message is stored in the form of its type");
        let packed = ManuallyDrop::new(packed);
        let place = packed.place();
        if is_boxed::<T>() {
            // SAFETY: by the invariant of an owned form with this `'k`, it holds a box of a `T`.
            let boxed = unsafe { place.cast::<*mut T>().read() };
            // SAFETY: as above, and `packed` is never dropped, so the box has one owner.
            *unsafe { Box::from_raw(boxed) }
        } else {
            // SAFETY: by the invariant of each form with this `'k`, it holds a `T`, and `packed` is never
            // dropped.
            unsafe { place.cast::<T>().read() }
        }
    }

    /// Returns the message by reference.
    #[inline(always)]
    pub fn open<'a>(self, message: MessageRef<'a, 'k>) -> &'a T {
        if is_boxed::<T>() {
            // SAFETY: by the invariants of `MessageRef` and of the form, the place holds a box of a `T`.
            let boxed = unsafe { message.place.cast::<NonNull<T>>().read() };
            // SAFETY: the box lives as long as the stored message, which lives for `'a`.
            unsafe { boxed.as_ref() }
        } else {
            // SAFETY: by the invariants of `MessageRef` and of the form, the place holds a `T` for `'a`.
            unsafe { message.place.cast::<T>().as_ref() }
        }
    }
}

/// Drops a value.
///
/// # Safety
///
/// `place` must hold a `T` that nobody uses afterwards.
unsafe fn drop_in_place<T>(place: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { place.cast::<T>().drop_in_place() }
}

/// Drops a box.
///
/// # Safety
///
/// `place` must hold a pointer from [`Box::into_raw`], which nobody uses afterwards.
unsafe fn drop_box<T>(place: *mut u8) {
    // SAFETY: the caller's promise.
    let boxed = unsafe { place.cast::<*mut T>().read() };
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(boxed) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_form;
    use std::sync::Arc;

    struct Lists;
    impl Container for Lists {
        type Of<P: Taggable> = Vec<P>;
    }

    struct Push<T>(T);
    impl<T: Send + 'static> Use<T, Lists> for Push<T> {
        type Out = usize;
        fn with<'k, P: Packed<'k>>(self, list: &mut Vec<P>, kind: Kind<'k, T>) -> usize {
            list.push(kind.pack(self.0));
            list.len()
        }
    }

    /// Packs two messages, one of them through a view, and returns both.
    fn cross<T: Send + 'static>(first: T, second: T) -> (T, T) {
        fn hide<'k, P: Packed<'k>, T: Send + 'static>(kind: Kind<'k, T>, first: T, second: T) -> (T, T) {
            let mut list: Vec<P> = vec![kind.pack(first)];
            assert_eq!(kind.view(Hidden::<Lists>::new(&mut list)).apply(Push(second)), 2);
            let second = kind.unpack(list.pop().expect("there are two"));
            (kind.unpack(list.pop().expect("there are two")), second)
        }
        Kind::with(|kind| in_form!(Form::of::<T>(), hide::<T>(kind, first, second)))
    }

    #[test]
    fn messages_of_every_form_come_back() {
        assert_eq!(cross((), ()), ((), ()));
        assert_eq!(cross(7_u8, 8), (7, 8));
        assert_eq!(cross([1_u32; 5], [2; 5]), ([1; 5], [2; 5]));
        assert_eq!(cross([1_u64; 6], [2; 6]), ([1; 6], [2; 6]));
        assert_eq!(cross([1_u64; 9], [2; 9]), ([1; 9], [2; 9]));
        assert_eq!(cross(7_u128, 8), (7, 8));
        assert_eq!(cross("a".to_string(), "b".into()), ("a".into(), "b".into()));
        assert_eq!(cross(Some(Box::new(1)), None), (Some(Box::new(1)), None));
        assert_eq!(cross([(); 2].map(|()| vec![1]), Default::default()).0[1], [1]);
        let large = || (vec![1], [7_u64; 20]);
        assert_eq!(cross(large(), large()), (large(), large()));
    }

    #[test]
    fn a_message_is_dropped_once_in_every_form() {
        fn drop_packed<T: Send + 'static>(message: T) {
            fn fill<'k, P: Packed<'k>, T: Send + 'static>(kind: Kind<'k, T>, message: T) {
                drop(kind.pack::<P>(message));
            }
            Kind::with(|kind| in_form!(Form::of::<T>(), fill::<T>(kind, message)));
        }
        let held = Arc::new(7);
        drop_packed(Arc::clone(&held));
        drop_packed((Arc::clone(&held), [1_u64; 2]));
        drop_packed((Arc::clone(&held), [1_u64; 5]));
        drop_packed((Arc::clone(&held), [1_u64; 50]));
        let both = cross(Arc::clone(&held), Arc::clone(&held));
        assert_eq!(Arc::strong_count(&held), 3);
        drop(both);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_message_may_have_cells() {
        Kind::with(|kind: Kind<'_, std::cell::RefCell<Vec<u8>>>| {
            let packed: Owned<'_, 56> = kind.pack(vec![1].into());
            kind.open(packed.as_message()).borrow_mut().extend([2; 100]);
            assert_eq!(kind.unpack(packed).into_inner().len(), 101);
        });
    }

    #[test]
    fn a_destructor_that_panics_does_not_abort() {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("in the destructor");
            }
        }
        let dropped = std::panic::catch_unwind(|| {
            Kind::with(|kind: Kind<'_, Panics>| drop(kind.pack::<Owned<'_, 8>>(Panics)));
        });
        assert!(dropped.is_err());
    }

    #[test]
    fn a_pointer_says_that_there_is_a_message() {
        assert_eq!(size_of::<Option<Owned<'_, 8>>>(), size_of::<Owned<'_, 8>>());
        assert_eq!(size_of::<Option<Plain<'_, 24>>>(), size_of::<Plain<'_, 24>>());
        assert_eq!((size_of::<Owned<'_, 8>>(), size_of::<Plain<'_, 24>>(), size_of::<Empty<'_>>()), (16, 32, 0));
    }
}
