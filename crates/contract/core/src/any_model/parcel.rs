//! Parcels: lists of events on their way to a partition, whatever the form of their messages.

use super::{AnyEvent, any_event, event_of};
use crate::event::Event;
use crate::optimistic::Tagged;
use parades_raw::message::{Container, Form, Hidden, InForm, Packed, Taggable};
use parades_raw::{in_form, with_form};
use std::fmt::Debug;
use std::marker::PhantomData;

/// The kind of messages that travel in a run.
pub trait Traffic: Debug + Send + Sync + 'static {
    /// A message of form `P` on its way.
    type Message<P: Taggable>: Send;
}

/// The traffic of engines that execute no event too early: the model's messages.
#[derive(Debug)]
pub enum Conservative {}

impl Traffic for Conservative {
    type Message<P: Taggable> = P;
}

/// The traffic of engines that roll back: messages with the number of the execution that sent them, and
/// anti-messages.
#[derive(Debug)]
pub enum Optimistic {}

impl Traffic for Optimistic {
    type Message<P: Taggable> = Tagged<P>;
}

/// The container of a list of events.
#[derive(Debug)]
pub struct Lists<T>(PhantomData<T>);

impl<T: Traffic> Container for Lists<T> {
    type Of<P: Taggable> = Vec<Event<T::Message<P>>>;
}

/// A list of events.
pub type Parcel<'k, T> = InForm<'k, Lists<T>>;

/// A list of events by exclusive reference.
pub type ParcelRef<'a, 'k, T> = Hidden<'a, 'k, Lists<T>>;

/// Makes an empty list for messages of this form.
pub fn empty<'k, T: Traffic>(form: Form) -> Parcel<'k, T> {
    fn empty_in<'k, P: Packed<'k>, T: Traffic>() -> Parcel<'k, T> {
        Parcel::new::<P>(Vec::new())
    }
    in_form!(form, empty_in::<T>())
}

/// Returns the number of events of a list.
pub fn parcel_len<T: Traffic>(parcel: ParcelRef<'_, '_, T>) -> usize {
    fn len_in<'k, P: Packed<'k>, T: Traffic>(parcel: ParcelRef<'_, 'k, T>) -> usize {
        parcel.show::<P>().len()
    }
    in_form!(parcel.form(), len_in::<T>(parcel))
}

/// Drops the events of a list.
pub fn clear<T: Traffic>(parcel: ParcelRef<'_, '_, T>) {
    fn clear_in<'k, P: Packed<'k>, T: Traffic>(parcel: ParcelRef<'_, 'k, T>) {
        parcel.show::<P>().clear();
    }
    in_form!(parcel.form(), clear_in::<T>(parcel));
}

/// Exchanges the content of a list with that of `parcel`, which has the same form.
pub fn swap<'k, T: Traffic>(parcel: &mut Parcel<'k, T>, other: ParcelRef<'_, 'k, T>) {
    fn swap_in<'k, P: Packed<'k>, T: Traffic>(parcel: &mut Parcel<'k, T>, other: ParcelRef<'_, 'k, T>) {
        std::mem::swap(parcel.of_mut::<P>(), other.show::<P>());
    }
    in_form!(other.form(), swap_in::<T>(parcel, other));
}

/// Returns the bytes of memory that a list holds, not counting memory that payloads own.
pub fn allocated_bytes<T: Traffic>(parcel: &Parcel<'_, T>) -> usize {
    fn bytes<T>(list: &Vec<T>) -> usize {
        list.capacity() * size_of::<T>()
    }
    with_form!(parcel, list => bytes(list))
}

/// Makes a list of events for messages of this form.
pub fn of_events<'k>(form: Form, events: Vec<AnyEvent<'k>>) -> Parcel<'k, Conservative> {
    fn list_in<'k, P: Packed<'k>>(events: Vec<AnyEvent<'k>>) -> Parcel<'k, Conservative> {
        Parcel::new::<P>(events.into_iter().map(event_of).collect())
    }
    in_form!(form, list_in(events))
}

/// Removes and returns the events of a list.
pub fn take_events<'k>(parcel: ParcelRef<'_, 'k, Conservative>) -> Vec<AnyEvent<'k>> {
    fn take_in<'k, P: Packed<'k>>(parcel: ParcelRef<'_, 'k, Conservative>) -> Vec<AnyEvent<'k>> {
        parcel.show::<P>().drain(..).map(any_event).collect()
    }
    in_form!(parcel.form(), take_in(parcel))
}
