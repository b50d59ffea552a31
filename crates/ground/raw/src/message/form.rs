//! The forms in which messages are stored.

use super::Brand;
use super::container::{Container, InForm};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The way in which messages of a type are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// [`Empty`].
    Empty,
    /// [`Plain`] of up to 8 bytes.
    Plain8,
    /// [`Plain`] of up to 24 bytes.
    Plain24,
    /// [`Plain`] of up to 40 bytes.
    Plain40,
    /// [`Owned`] of up to 8 bytes, and a pointer to every message that fits no other form.
    Owned8,
    /// [`Owned`] of up to 24 bytes.
    Owned24,
    /// [`Owned`] of up to 56 bytes, and larger messages without a destructor.
    Owned56,
}

impl Form {
    /// Returns the form in which messages of type `T` are stored.
    pub const fn of<T>() -> Form {
        match (size_of::<T>(), std::mem::needs_drop::<T>()) {
            _ if is_boxed::<T>() => Form::Owned8,
            (0, false) => Form::Empty,
            (1..=8, false) => Form::Plain8,
            (9..=24, false) => Form::Plain24,
            (25..=40, false) => Form::Plain40,
            (0..=8, true) => Form::Owned8,
            (9..=24, true) => Form::Owned24,
            _ => Form::Owned56,
        }
    }
}

/// True if messages of type `T` are stored behind a pointer.
pub(super) const fn is_boxed<T>() -> bool {
    size_of::<T>() > size_of::<Room<56>>() || align_of::<T>() > align_of::<Room<8>>()
}

/// Room for a message. Bytes, not words: a copy of words would lose the origin of pointers inside. In a cell,
/// because a message may have cells of its own, which its handler may change.
#[repr(C, align(8))]
struct Room<const N: usize>(UnsafeCell<[MaybeUninit<u8>; N]>);

impl<const N: usize> Room<N> {
    #[inline(always)]
    fn empty() -> Room<N> {
        Room(UnsafeCell::new([MaybeUninit::uninit(); N]))
    }

    #[inline(always)]
    fn place(&self) -> NonNull<u8> {
        NonNull::from(&self.0).cast()
    }
}

/// A message without bytes and without a destructor.
///
/// *Invariant*: messages of the type of the [`Kind`](super::Kind) of the same `'k` have this form, and this
/// is one.
pub struct Empty<'k> {
    brand: Brand<'k>,
}

/// A message without a destructor, in `N` bytes.
///
/// *Invariant*: it holds a message of the type of the [`Kind`](super::Kind) of the same `'k`, not boxed.
#[repr(C)]
pub struct Plain<'k, const N: usize> {
    /// Nothing reads it: it is there for the enums around messages.
    mark: Mark,
    room: Room<N>,
    brand: Brand<'k>,
}

/// Says that there is a message. An `enum` around the message keeps its tag in the other values of the mark.
/// So the enum is copied from its first byte, in the same words each time. A copy that began behind a short
/// tag would read words across two earlier writes, and wait until these have left the core.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Mark {
    Here = 1,
}

/// A [`Plain`] without its mark.
///
/// *Invariant*: as of [`Plain`].
#[repr(C)]
pub struct Unmarked<'k, const N: usize> {
    room: Room<N>,
    brand: Brand<'k>,
}

/// A message with a destructor, in `N` bytes, or a pointer to a message. Dropping it drops the message.
///
/// *Invariant*: it holds a message of the type of the [`Kind`](super::Kind) of the same `'k`, or a box of
/// one. `drop` is the function that drops what it holds.
#[repr(C)]
pub struct Owned<'k, const N: usize> {
    drop: unsafe fn(*mut u8),
    room: Room<N>,
    brand: Brand<'k>,
}

impl<const N: usize> Drop for Owned<'_, N> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: by the invariant, `drop` is the function for the content, which nobody uses afterwards.
        unsafe { (self.drop)(self.room.place().as_ptr()) }
    }
}

impl fmt::Debug for Empty<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Empty")
    }
}

impl<const N: usize> fmt::Debug for Plain<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plain<{N}>")
    }
}

impl<const N: usize> fmt::Debug for Unmarked<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unmarked<{N}>")
    }
}

impl<const N: usize> fmt::Debug for Owned<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owned<{N}>")
    }
}

/// A stored message: [`Empty`], [`Plain`] or [`Owned`]. No other type implements it.
pub trait Packed<'k>: Send + Taggable + fmt::Debug + private::Parts + 'k {
    /// The form.
    const FORM: Form;

    /// Returns the message by reference, for code that knows its type.
    #[inline(always)]
    fn as_message(&self) -> MessageRef<'_, 'k> {
        MessageRef { place: self.place(), of: PhantomData }
    }

    /// Makes a container of any form.
    fn into_any<C: Container>(container: C::Of<Self>) -> InForm<'k, C>;

    /// Returns the container, if it is of this form.
    fn out_of_any<C: Container>(any: InForm<'k, C>) -> Option<C::Of<Self>>;

    /// Returns the container, if it is of this form.
    fn in_any<'a, C: Container>(any: &'a mut InForm<'k, C>) -> Option<&'a mut C::Of<Self>>;

    /// Returns a message without its mark by reference.
    #[inline(always)]
    fn bare_as_message(bare: &Self::Bare) -> MessageRef<'_, 'k> {
        MessageRef { place: Self::bare_place(bare), of: PhantomData }
    }
}

/// A message that an enum with a tag and a number of its own can hold in fewer bytes.
pub trait Taggable: Sized + Send {
    /// The message without what marks it.
    type Bare: Send + fmt::Debug;

    /// Removes the mark.
    fn into_bare(self) -> Self::Bare;

    /// Adds the mark again.
    fn from_bare(bare: Self::Bare) -> Self;
}

impl<'k, const N: usize> Taggable for Plain<'k, N> {
    type Bare = Unmarked<'k, N>;

    #[inline(always)]
    fn into_bare(self) -> Unmarked<'k, N> {
        Unmarked { room: self.room, brand: self.brand }
    }

    #[inline(always)]
    fn from_bare(bare: Unmarked<'k, N>) -> Self {
        Plain { mark: Mark::Here, room: bare.room, brand: bare.brand }
    }
}

/// Implements [`Taggable`] for a form without a mark.
macro_rules! bare_as_it_is {
    ($type:ty $(, $bytes:ident)?) => {
        impl $(<const $bytes: usize>)? Taggable for $type {
            type Bare = Self;

            #[inline(always)]
            fn into_bare(self) -> Self {
                self
            }

            #[inline(always)]
            fn from_bare(bare: Self) -> Self {
                bare
            }
        }
    };
}
bare_as_it_is!(Empty<'_>);
bare_as_it_is!(Owned<'_, N>, N);

mod private {
    use std::ptr::NonNull;

    /// The parts of a form. It is private, so that the types of this module alone are forms.
    pub trait Parts: super::Taggable {
        /// Returns the place of the message, or of the pointer to it.
        fn place(&self) -> NonNull<u8>;

        /// Returns the same place of a message without its mark.
        fn bare_place(bare: &Self::Bare) -> NonNull<u8>;

        /// Makes a stored message. `write` writes the message, or the pointer to it, at the place that it
        /// gets.
        ///
        /// # Safety
        ///
        /// The result must fulfil the invariant of its form, with `drop` as the function of an
        /// [`Owned`](super::Owned).
        unsafe fn filled(write: impl FnOnce(NonNull<u8>), drop: unsafe fn(*mut u8)) -> Self;
    }
}

impl private::Parts for Empty<'_> {
    #[inline(always)]
    fn place(&self) -> NonNull<u8> {
        NonNull::<Room<8>>::dangling().cast()
    }

    #[inline(always)]
    fn bare_place(bare: &Self) -> NonNull<u8> {
        bare.place()
    }

    #[inline(always)]
    unsafe fn filled(write: impl FnOnce(NonNull<u8>), _: unsafe fn(*mut u8)) -> Self {
        let empty = Empty { brand: PhantomData };
        write(empty.place());
        empty
    }
}

impl<const N: usize> private::Parts for Plain<'_, N> {
    #[inline(always)]
    fn place(&self) -> NonNull<u8> {
        self.room.place()
    }

    #[inline(always)]
    fn bare_place(bare: &Self::Bare) -> NonNull<u8> {
        bare.room.place()
    }

    #[inline(always)]
    unsafe fn filled(write: impl FnOnce(NonNull<u8>), _: unsafe fn(*mut u8)) -> Self {
        let plain = Plain { mark: Mark::Here, room: Room::empty(), brand: PhantomData };
        write(plain.room.place());
        plain
    }
}

impl<const N: usize> private::Parts for Owned<'_, N> {
    #[inline(always)]
    fn place(&self) -> NonNull<u8> {
        self.room.place()
    }

    #[inline(always)]
    fn bare_place(bare: &Self) -> NonNull<u8> {
        bare.place()
    }

    #[inline(always)]
    unsafe fn filled(write: impl FnOnce(NonNull<u8>), drop: unsafe fn(*mut u8)) -> Self {
        let room = Room::empty();
        write(room.place());
        Owned { drop, room, brand: PhantomData }
    }
}

/// Names the types of the forms.
macro_rules! packed {
    ($($form:ident: $type:ty),* $(,)?) => {
        $(impl<'k> Packed<'k> for $type {
            const FORM: Form = Form::$form;

            #[inline(always)]
            fn into_any<C: Container>(container: C::Of<Self>) -> InForm<'k, C> {
                InForm::$form(container)
            }

            #[inline(always)]
            fn out_of_any<C: Container>(any: InForm<'k, C>) -> Option<C::Of<Self>> {
                if let InForm::$form(container) = any { Some(container) } else { None }
            }

            #[inline(always)]
            fn in_any<'a, C: Container>(any: &'a mut InForm<'k, C>) -> Option<&'a mut C::Of<Self>> {
                if let InForm::$form(container) = any { Some(container) } else { None }
            }
        })*
    };
}
packed! {
    Empty: Empty<'k>,
    Plain8: Plain<'k, 8>,
    Plain24: Plain<'k, 24>,
    Plain40: Plain<'k, 40>,
    Owned8: Owned<'k, 8>,
    Owned24: Owned<'k, 24>,
    Owned56: Owned<'k, 56>,
}

/// Calls a function that is generic over [`Packed`], for a [`Form`] that is known only at run time. Further
/// type arguments of the function come after the form.
///
/// ```
/// use parades_raw::{in_form, message::{Form, Packed}};
/// fn describe<'k, P: Packed<'k>>(name: &str) -> String {
///     format!("{name}: {:?}", P::FORM)
/// }
/// assert_eq!(in_form!(Form::of::<[u32; 5]>(), describe("five numbers")), "five numbers: Plain24");
/// ```
#[macro_export]
macro_rules! in_form {
    ($form:expr, $function:ident $(::<$($more:ty),*>)? ($($argument:expr),* $(,)?)) => {{
        use $crate::message::{Empty, Form, Owned, Plain};
        match $form {
            Form::Empty => $function::<Empty<'_> $($(, $more)*)?>($($argument),*),
            Form::Plain8 => $function::<Plain<'_, 8> $($(, $more)*)?>($($argument),*),
            Form::Plain24 => $function::<Plain<'_, 24> $($(, $more)*)?>($($argument),*),
            Form::Plain40 => $function::<Plain<'_, 40> $($(, $more)*)?>($($argument),*),
            Form::Owned8 => $function::<Owned<'_, 8> $($(, $more)*)?>($($argument),*),
            Form::Owned24 => $function::<Owned<'_, 24> $($(, $more)*)?>($($argument),*),
            Form::Owned56 => $function::<Owned<'_, 56> $($(, $more)*)?>($($argument),*),
        }
    }};
}

/// Calls a function that is generic over [`Packed`], for the form of a type of messages. Further type
/// arguments of the function come after the form.
///
/// Each `if` has a constant condition, so that the function is compiled for this form alone. The arms of a
/// `match` would all be compiled, for each type of messages.
macro_rules! in_form_of {
    ($message:ty, $function:ident ::<$($more:ty),*> ($($argument:expr),* $(,)?)) => {{
        use $crate::message::{Empty, Form, Owned, Plain};
        if const { matches!(Form::of::<$message>(), Form::Empty) } {
            $function::<Empty<'_>, $($more),*>($($argument),*)
        } else if const { matches!(Form::of::<$message>(), Form::Plain8) } {
            $function::<Plain<'_, 8>, $($more),*>($($argument),*)
        } else if const { matches!(Form::of::<$message>(), Form::Plain24) } {
            $function::<Plain<'_, 24>, $($more),*>($($argument),*)
        } else if const { matches!(Form::of::<$message>(), Form::Plain40) } {
            $function::<Plain<'_, 40>, $($more),*>($($argument),*)
        } else if const { matches!(Form::of::<$message>(), Form::Owned8) } {
            $function::<Owned<'_, 8>, $($more),*>($($argument),*)
        } else if const { matches!(Form::of::<$message>(), Form::Owned24) } {
            $function::<Owned<'_, 24>, $($more),*>($($argument),*)
        } else {
            $function::<Owned<'_, 56>, $($more),*>($($argument),*)
        }
    }};
}
pub(super) use in_form_of;

/// A message by reference, whose type the holder does not know.
///
/// *Invariant*: `place` is that of a stored message with the same `'k`, which is neither moved nor dropped
/// during `'a`.
#[derive(Clone, Copy)]
pub struct MessageRef<'a, 'k> {
    /// The place of the message, or of the pointer to it.
    pub(super) place: NonNull<u8>,
    of: PhantomData<(&'a (), Brand<'k>)>,
}

impl fmt::Debug for MessageRef<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageRef").finish_non_exhaustive()
    }
}
