//! Containers of messages, such as lists, whose type of messages their holder does not know.

use super::form::{Empty, Form, MessageRef, Owned, Packed, Plain, Taggable, in_form_of};
use super::{Brand, Exactly, Kind};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A generic type that holds messages, such as a list. `Of<P>` is that type for messages of type `P`.
pub trait Container {
    /// The type that holds messages of type `P`.
    type Of<P: Taggable>;
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
        // SAFETY: `new::<Q>` made this pointer of a `&'a mut C::Of<Q>`, for some type `Q`. `Q` and `P` are
        // the same type, because there is only one type with this form and this `'k`.
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

/// An owned container of messages of any form.
///
/// ```
/// use parades_raw::message::{Container, InForm, Kind, Packed, Plain, Taggable};
/// struct List;
/// impl Container for List {
///     type Of<P: Taggable> = Vec<P>;
/// }
/// let sum: u64 = Kind::with(|kind: Kind<'_, u64>| {
///     let list: Vec<Plain<'_, 8>> = vec![kind.pack(3), kind.pack(4)];
///     // From here on the form is not part of the type.
///     let list: InForm<'_, List> = InForm::new(list);
///     let list: Vec<Plain<'_, 8>> = list.into_of();
///     list.into_iter().map(|message| kind.unpack(message)).sum()
/// });
/// assert_eq!(sum, 7);
/// ```
pub enum InForm<'k, C: Container> {
    /// Of messages without bytes.
    Empty(C::Of<Empty<'k>>),
    /// Of messages in up to 8 bytes.
    Plain8(C::Of<Plain<'k, 8>>),
    /// Of messages in up to 24 bytes.
    Plain24(C::Of<Plain<'k, 24>>),
    /// Of messages in up to 40 bytes.
    Plain40(C::Of<Plain<'k, 40>>),
    /// Of messages with a destructor in up to 8 bytes, or behind a pointer.
    Owned8(C::Of<Owned<'k, 8>>),
    /// Of messages with a destructor in up to 24 bytes.
    Owned24(C::Of<Owned<'k, 24>>),
    /// Of messages in up to 56 bytes.
    Owned56(C::Of<Owned<'k, 56>>),
}

impl<C: Container> fmt::Debug for InForm<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InForm").field(&self.form()).finish()
    }
}

/// Evaluates an expression with the container of an [`InForm`], whatever its form.
#[macro_export]
macro_rules! with_form {
    ($any:expr, $container:ident => $result:expr) => {{
        use $crate::message::InForm;
        match $any {
            InForm::Empty($container) => $result,
            InForm::Plain8($container) => $result,
            InForm::Plain24($container) => $result,
            InForm::Plain40($container) => $result,
            InForm::Owned8($container) => $result,
            InForm::Owned24($container) => $result,
            InForm::Owned56($container) => $result,
        }
    }};
}

/// Says which form a container has that is not of the expected one.
#[cold]
fn wrong_form(is: Form, expected: Form) -> ! {
    panic!("a container of a run has the form of the run's messages: {is:?}, not {expected:?}")
}

impl<'k, C: Container> InForm<'k, C> {
    /// Makes a container of any form from one of a known form.
    #[inline(always)]
    pub fn new<P: Packed<'k>>(container: C::Of<P>) -> InForm<'k, C> {
        P::into_any(container)
    }

    /// Returns the form of the messages.
    #[inline]
    pub fn form(&self) -> Form {
        match self {
            InForm::Empty(_) => Form::Empty,
            InForm::Plain8(_) => Form::Plain8,
            InForm::Plain24(_) => Form::Plain24,
            InForm::Plain40(_) => Form::Plain40,
            InForm::Owned8(_) => Form::Owned8,
            InForm::Owned24(_) => Form::Owned24,
            InForm::Owned56(_) => Form::Owned56,
        }
    }

    /// Returns the container.
    ///
    /// # Panics
    ///
    /// If `P` is not the type of its form.
    #[inline(always)]
    pub fn into_of<P: Packed<'k>>(self) -> C::Of<P> {
        let form = self.form();
        P::out_of_any(self).unwrap_or_else(|| wrong_form(form, P::FORM))
    }

    /// Returns the container.
    ///
    /// # Panics
    ///
    /// If `P` is not the type of its form.
    #[inline(always)]
    pub fn of_mut<P: Packed<'k>>(&mut self) -> &mut C::Of<P> {
        let form = self.form();
        P::in_any(self).unwrap_or_else(|| wrong_form(form, P::FORM))
    }

    /// Returns the container by reference, where its form is hidden.
    #[inline]
    pub fn hide(&mut self) -> Hidden<'_, 'k, C> {
        with_form!(self, container => Hidden::new(container))
    }
}

/// The container of one message.
#[derive(Debug)]
pub enum One {}

impl Container for One {
    type Of<P: Taggable> = P;
}

/// A message of any form.
pub type AnyMessage<'k> = InForm<'k, One>;

impl<'k> InForm<'k, One> {
    /// Returns the message by reference, for code that knows its type.
    #[inline]
    pub fn as_message(&self) -> MessageRef<'_, 'k> {
        with_form!(self, message => message.as_message())
    }
}

impl<'k, T: Send + 'static> Kind<'k, T> {
    /// Stores a message.
    pub fn pack_any(self, message: T) -> AnyMessage<'k> {
        fn pack<'k, P: Packed<'k>, T: Send + 'static>(kind: Kind<'k, T>, message: T) -> AnyMessage<'k> {
            AnyMessage::new::<P>(kind.pack(message))
        }
        in_form_of!(T, pack::<T>(self, message))
    }

    /// Returns a message of any form.
    ///
    /// # Panics
    ///
    /// If it is of another form than messages of type `T`.
    pub fn unpack_any(self, message: AnyMessage<'k>) -> T {
        fn unpack<'k, P: Packed<'k>, T: Send + 'static>(kind: Kind<'k, T>, message: AnyMessage<'k>) -> T {
            kind.unpack(message.into_of::<P>())
        }
        in_form_of!(T, unpack::<T>(self, message))
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
        // SAFETY: `Kind::view` has checked that the container is one for this form, and has borrowed it for
        // `self`.
        unsafe { in_form_of!(T, act_in::<T, C, U>(self.container, act)) }
    }
}

/// Acts on a container of messages of type `T`.
///
/// # Safety
///
/// `container` must be a `C::Of<P>`, apart from the lifetime of the brand, and nobody else may use it
/// meanwhile. Its brand must be that of a [`Kind`] of `T`.
#[inline(always)]
unsafe fn act_in<'k, P: Packed<'k>, T, C: Container, U: Use<T, C>>(container: NonNull<()>, act: U) -> U::Out {
    // SAFETY: the caller's promise. The brand that the container gets here is that of the kind below.
    let container = unsafe { container.cast::<C::Of<P>>().as_mut() };
    // SAFETY: as above, and `act` knows no other message with this brand.
    let kind = unsafe { Kind::unchecked() };
    act.with(container, kind)
}

impl<'k, T: Send + 'static> Kind<'k, T> {
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
