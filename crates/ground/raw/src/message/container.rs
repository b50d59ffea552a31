//! Containers of messages, such as lists, whose type of messages their holder does not know.

use super::form::{Form, Packed, Taggable};
use super::{Brand, Exactly, Kind};
use crate::in_form;
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
        // SAFETY: `new` made it of a `C::Of<Q>`, which it borrowed exclusively for `'a`. `Q` and `P` are the
        // same type: each is the one type with this form and this `'k`.
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
        // The form is constant, so one arm of the match is compiled. SAFETY: `Kind::view` has checked that
        // the container is one for this form, and has borrowed it for `self`.
        unsafe { in_form!(const { Form::of::<T>() }, act_in::<T, C, U>(self.container, act)) }
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
