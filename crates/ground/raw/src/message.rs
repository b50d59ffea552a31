//! Messages whose type the code around them does not know.
//!
//! Engines are compiled once for each [`Form`] of a message, not for each type of message. A form is a size, and
//! whether dropping the message does anything. The code that knows the type holds a [`Kind`], which converts
//! between messages and their forms.
//!
//! *Why this is sound.* A [`Kind<'k, T>`] exists only inside [`Bound::with`], whose lifetime `'k` is different in each
//! call, as in the token of a `GhostCell` (Yanovski and others, ICFP 2021). All forms made by it bear `'k`, which is
//! invariant. So whatever bears `'k` holds a `T`, without a tag in each message.
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

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

/// Marks a form with the run that it belongs to. Invariant in `'k`, `Send`, and not `Sync`: a message may not be
/// shared between threads.
type Brand<'k> = PhantomData<Cell<&'k ()>>;

/// Makes a type invariant in `T`, and neither more nor less `Send` by it.
type Exactly<T> = PhantomData<fn(T) -> T>;

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
const fn is_boxed<T>() -> bool {
    size_of::<T>() > size_of::<Room<56>>() || align_of::<T>() > align_of::<Room<8>>()
}

/// Room for a message. Bytes, not words: a copy of words would lose the origin of pointers inside. In a cell, because
/// a message may have cells of its own, which its handler may change.
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
pub struct Empty<'k> {
    brand: Brand<'k>,
}

/// A message without a destructor, in `N` bytes.
///
/// *Invariant*: it holds a message of the type of the [`Kind`] of the same `'k`, not boxed.
#[repr(C)]
pub struct Plain<'k, const N: usize> {
    mark: Mark,
    room: Room<N>,
    brand: Brand<'k>,
}

/// Says that there is a message, and has room for its number ([`Numbered`]).
///
/// An `enum` around the message keeps its tag in the other values of `here`. So the enum is copied from its first
/// byte, in the same words each time. A copy that began behind a short tag would read words across two earlier writes,
/// and wait until these have left the core.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Mark {
    here: Here,
    number: u32,
}

#[derive(Clone, Copy)]
#[repr(u32)]
enum Here {
    Yes = 1,
}

/// A message with a destructor, in `N` bytes, or a pointer to a message. Dropping it drops the message.
///
/// *Invariant*: it holds a message of the type of the [`Kind`] of the same `'k`, or a box of one, and `drop` is the
/// function that drops what it holds.
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

impl<const N: usize> fmt::Debug for Owned<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owned<{N}>")
    }
}

/// A stored message: [`Empty`], [`Plain`] or [`Owned`]. No other type implements it.
pub trait Packed<'k>: Send + Numbered + fmt::Debug + private::Parts + 'k {
    /// The form.
    const FORM: Form;

    /// Returns the message by reference, for code that knows its type.
    #[inline(always)]
    fn as_message(&self) -> MessageRef<'_, 'k> {
        MessageRef { place: self.place(), of: PhantomData }
    }
}

/// A message with a number, which an engine gives it.
pub trait Numbered: Sized {
    /// What is kept beside the message: the number, or `()` if the message has room for it.
    type Beside: Copy + fmt::Debug + Send;

    /// Gives the message a number.
    fn with_number(self, number: u32) -> (Self::Beside, Self);

    /// Returns the number, given what is beside the message.
    fn number(&self, beside: Self::Beside) -> u32;
}

impl<const N: usize> Numbered for Plain<'_, N> {
    type Beside = ();

    #[inline(always)]
    fn with_number(mut self, number: u32) -> ((), Self) {
        self.mark.number = number;
        ((), self)
    }

    #[inline(always)]
    fn number(&self, (): ()) -> u32 {
        self.mark.number
    }
}

/// Keeps the number beside the message.
macro_rules! number_beside {
    ($type:ty $(, $bytes:ident)?) => {
        impl $(<const $bytes: usize>)? Numbered for $type {
            type Beside = u32;

            #[inline(always)]
            fn with_number(self, number: u32) -> (u32, Self) {
                (number, self)
            }

            #[inline(always)]
            fn number(&self, beside: u32) -> u32 {
                beside
            }
        }
    };
}
number_beside!(Empty<'_>);
number_beside!(Owned<'_, N>, N);

mod private {
    use std::ptr::NonNull;

    /// The parts of a form. It is private, so that the types of this module alone are forms.
    pub trait Parts {
        /// Returns the place of the message, or of the pointer to it.
        fn place(&self) -> NonNull<u8>;

        /// Makes a form that holds what `write` writes. `drop` drops that.
        ///
        /// # Safety
        ///
        /// What `write` writes must fulfil the invariant of the form.
        unsafe fn filled(write: impl FnOnce(NonNull<u8>), drop: unsafe fn(*mut u8)) -> Self;
    }
}

impl private::Parts for Empty<'_> {
    #[inline(always)]
    fn place(&self) -> NonNull<u8> {
        NonNull::<Room<8>>::dangling().cast()
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
    unsafe fn filled(write: impl FnOnce(NonNull<u8>), _: unsafe fn(*mut u8)) -> Self {
        let plain = Plain { mark: Mark { here: Here::Yes, number: 0 }, room: Room::empty(), brand: PhantomData };
        debug_assert!(matches!(plain.mark.here, Here::Yes));
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
    unsafe fn filled(write: impl FnOnce(NonNull<u8>), drop: unsafe fn(*mut u8)) -> Self {
        let room = Room::empty();
        write(room.place());
        Owned { drop, room, brand: PhantomData }
    }
}

/// Calls a macro with each form, and the type that has it.
macro_rules! with_forms {
    ($macro:ident) => {
        $macro! {
            Empty: Empty<>, Plain8: Plain<8>, Plain24: Plain<24>, Plain40: Plain<40>,
            Owned8: Owned<8>, Owned24: Owned<24>, Owned56: Owned<56>
        }
    };
}

macro_rules! implement_packed {
    ($($form:ident: $type:ident<$($bytes:literal)?>),*) => {
        $(impl<'k> Packed<'k> for $type<'k $(, $bytes)?> {
            const FORM: Form = Form::$form;
        })*
    };
}
with_forms!(implement_packed);

/// Calls a function that is generic over [`Packed`], for a [`Form`] that is known only at run time. Further type
/// arguments of the function come after the form.
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
        let bound = Bound { value, kind: Kind { brand: PhantomData, of: PhantomData } };
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

/// A message by reference, whose type the holder does not know.
#[derive(Clone, Copy)]
pub struct MessageRef<'a, 'k> {
    /// The place of the message, or of the pointer to it.
    place: NonNull<u8>,
    of: PhantomData<(&'a (), Brand<'k>)>,
}

impl fmt::Debug for MessageRef<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageRef").finish_non_exhaustive()
    }
}

/// The knowledge that the messages with the brand `'k` have type `T`.
pub struct Kind<'k, T> {
    brand: Brand<'k>,
    of: Exactly<T>,
}

impl<T> Clone for Kind<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Kind<'_, T> {}

// SAFETY: a kind has no content. It makes and opens messages, which are `Send`, wherever it is.
unsafe impl<T> Send for Kind<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Kind<'_, T> {}

impl<T> fmt::Debug for Kind<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({})", std::any::type_name::<T>())
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
            // SAFETY: by the invariant, the place holds a pointer from `Box::into_raw`.
            let boxed = unsafe { place.cast::<*mut T>().read() };
            // SAFETY: `packed` is never dropped, so the box has one owner.
            *unsafe { Box::from_raw(boxed) }
        } else {
            // SAFETY: by the invariant, the place holds a `T`, and `packed` is never dropped.
            unsafe { place.cast::<T>().read() }
        }
    }

    /// Returns the message by reference.
    #[inline(always)]
    pub fn open<'a>(self, message: MessageRef<'a, 'k>) -> &'a T {
        if is_boxed::<T>() {
            // SAFETY: by the invariant, the place holds a pointer from `Box::into_raw`.
            let boxed = unsafe { message.place.cast::<NonNull<T>>().read() };
            // SAFETY: the box lives as long as the form, for `'a`.
            unsafe { boxed.as_ref() }
        } else {
            // SAFETY: by the invariant, the place holds a `T`, for `'a`.
            unsafe { message.place.cast::<T>().as_ref() }
        }
    }

    /// Returns a container of messages as one whose type of messages is known.
    ///
    /// # Panics
    ///
    /// If the container is for messages of another form. It is then empty.
    #[inline(always)]
    pub fn view<'a, C: Container>(self, hidden: Hidden<'a, 'k, C>) -> View<'a, T, C> {
        assert!(hidden.form == Self::FORM, "a container of a run has the form of the run's messages");
        View { container: hidden.container, borrowed: PhantomData, messages: PhantomData, of: PhantomData }
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

/// A generic type that holds messages, such as a list. `Of<P>` is that type for messages of type `P`.
pub trait Container {
    /// The type that holds messages of type `P`.
    type Of<P: Numbered>;
}

/// A container by exclusive reference, where neither the type of the messages nor their form is known.
pub struct Hidden<'a, 'k, C> {
    container: NonNull<()>,
    form: Form,
    borrowed: PhantomData<&'a mut ()>,
    brand: Brand<'k>,
    of: Exactly<C>,
}

impl<C> fmt::Debug for Hidden<'_, '_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hidden").field("form", &self.form).finish_non_exhaustive()
    }
}

impl<'a, 'k, C: Container> Hidden<'a, 'k, C> {
    /// Hides the form of the messages of a container.
    #[inline(always)]
    pub fn new<P: Packed<'k>>(container: &'a mut C::Of<P>) -> Hidden<'a, 'k, C> {
        Hidden {
            container: NonNull::from(container).cast(),
            form: P::FORM,
            borrowed: PhantomData,
            brand: PhantomData,
            of: PhantomData,
        }
    }

    /// Returns the form of the messages.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns the container.
    ///
    /// # Panics
    ///
    /// If `P` is not the type of the form.
    pub fn show<P: Packed<'k>>(self) -> &'a mut C::Of<P> {
        assert!(self.form == P::FORM, "a container is shown in its own form");
        let mut container = self.container.cast::<C::Of<P>>();
        // SAFETY: it was made of a container for this form and this `'k`, which belong to one type of [`Packed`]. It
        // borrowed that container exclusively for `'a`.
        unsafe { container.as_mut() }
    }

    /// Returns the same container, for a shorter time.
    #[inline(always)]
    pub fn reborrow(&mut self) -> Hidden<'_, 'k, C> {
        Hidden {
            container: self.container,
            form: self.form,
            borrowed: PhantomData,
            brand: PhantomData,
            of: PhantomData,
        }
    }
}

/// A container by exclusive reference, whose messages have type `T`. Its form is that of `T`.
pub struct View<'a, T, C> {
    container: NonNull<()>,
    borrowed: PhantomData<&'a mut ()>,
    messages: Exactly<T>,
    of: Exactly<C>,
}

impl<T, C> fmt::Debug for View<'_, T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View of {}", std::any::type_name::<C>())
    }
}

/// An action on a container of messages of type `T`, whatever their brand.
pub trait Use<T, C: Container> {
    /// The result of the action.
    type Out;

    /// Acts on the container.
    fn with<'k, P: Packed<'k>>(self, container: &mut C::Of<P>, kind: Kind<'k, T>) -> Self::Out;
}

impl<T: Send + 'static, C: Container> View<'_, T, C> {
    /// Acts on the container.
    #[inline(always)]
    pub fn apply<U: Use<T, C>>(&mut self, act: U) -> U::Out {
        // The form is constant, so one arm of the match is compiled.
        macro_rules! in_this_form {
            ($($form:ident: $type:ident<$($bytes:literal)?>),*) => {
                match const { Form::of::<T>() } {
                    $(Form::$form => {
                        let mut container = self.container.cast::<C::Of<$type<'_ $(, $bytes)?>>>();
                        // SAFETY: `Kind::view` has checked that the container is one for this form. Its brand was
                        // that of messages of type `T`, and `act` cannot tell it from the brand that it gets here.
                        act.with(unsafe { container.as_mut() }, Kind { brand: PhantomData, of: PhantomData })
                    })*
                }
            };
        }
        with_forms!(in_this_form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Lists;
    impl Container for Lists {
        type Of<P: Numbered> = Vec<P>;
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
        macro_rules! in_each {
            ($($form:ident: $type:ident<$($bytes:literal)?>),*) => {
                Kind::with(|kind| match Form::of::<T>() {
                    $(Form::$form => hide::<$type<'_ $(, $bytes)?>, T>(kind, first, second),)*
                })
            };
        }
        with_forms!(in_each)
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
            macro_rules! in_each {
                ($($form:ident: $type:ident<$($bytes:literal)?>),*) => {
                    Kind::with(|kind| match Form::of::<T>() {
                        $(Form::$form => fill::<$type<'_ $(, $bytes)?>, T>(kind, message),)*
                    })
                };
            }
            with_forms!(in_each);
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
