//! The table of a model that several processes can run together.
//!
//! Events are written and read by lists. The type of their messages is known within, so a list takes one call
//! through a table.

use super::parcel::{self, Conservative, Lists, Optimistic, Parcel, ParcelRef, Traffic};
use super::{AnyModel, Typed};
use crate::event::{Body, Event, Header};
use crate::global::{AnyGlobal, AnySummaries, Global, Summaries, SummaryOf};
use crate::model::Model;
use crate::optimistic::{ExecutionId, Tagged, TaggedEvent, body_of, execution_of};
use crate::wire::{self, Malformed, Room, Wire};
use parades_raw::message::{Kind, Packed, Use};
use std::fmt;
use std::ops::Range;

/// A model that several processes can run together. Its messages, its global events and their summaries can
/// cross process boundaries.
pub trait WireModel: Model<Message: Wire, Global: Wire + Global<Self, Summary: Wire>> {}
impl<M: Model<Message: Wire, Global: Wire + Global<M, Summary: Wire>>> WireModel for M {}

/// Writes events as bytes, and reads them back. `T` is the [`Traffic`] of the run.
pub trait Codec<'k, T: Traffic>: Send + Sync {
    /// Appends the bytes of some events of a list, up to about `bytes` bytes ([`wire::write_up_to`]). Returns
    /// the number of events written, at least one if the range is not empty. Called within
    /// [`wire::FrameWriter::within`].
    fn write(&self, events: ParcelRef<'_, 'k, T>, range: Range<usize>, bytes: usize, to: &mut Room<'_>) -> usize;

    /// Reads `count` events from the front of `from`. Called within [`wire::read_frame`].
    ///
    /// # Errors
    ///
    /// If the bytes are not those of events.
    fn read(&self, count: u32, from: &mut &[u8]) -> Result<Parcel<'k, T>, Malformed>;
}

impl<'k, T: Traffic, C: Codec<'k, T> + ?Sized> Codec<'k, T> for &C {
    fn write(&self, events: ParcelRef<'_, 'k, T>, range: Range<usize>, bytes: usize, to: &mut Room<'_>) -> usize {
        C::write(self, events, range, bytes, to)
    }

    fn read(&self, count: u32, from: &mut &[u8]) -> Result<Parcel<'k, T>, Malformed> {
        C::read(self, count, from)
    }
}

/// A model of any type that several processes can run together.
pub trait AnyWire<'k>: AnyModel<'k> + Codec<'k, Conservative> + Codec<'k, Optimistic> {
    /// Appends the bytes of a global event.
    fn write_global(&self, global: &AnyGlobal, to: &mut Vec<u8>);
    /// Reads a global event from the front of `from`.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a global event.
    fn read_global(&self, from: &mut &[u8]) -> Result<AnyGlobal, Malformed>;
    /// Appends the bytes of listed summaries. They are then empty.
    fn write_summaries(&self, summaries: &mut AnySummaries, to: &mut Vec<u8>);
    /// Reads listed summaries from the front of `from`.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of summaries.
    fn read_summaries(&self, from: &mut &[u8]) -> Result<AnySummaries, Malformed>;
}

impl fmt::Debug for dyn AnyWire<'_> + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyWire").finish_non_exhaustive()
    }
}

impl<'k, M: WireModel> AnyWire<'k> for Typed<'k, '_, M> {
    fn write_global(&self, global: &AnyGlobal, to: &mut Vec<u8>) {
        wire::write::<M::Global>(global.get(), to);
    }

    fn read_global(&self, from: &mut &[u8]) -> Result<AnyGlobal, Malformed> {
        wire::read::<M::Global>(from).map(AnyGlobal::new)
    }

    fn write_summaries(&self, summaries: &mut AnySummaries, to: &mut Vec<u8>) {
        let Summaries::Listed(all) = summaries.get_mut::<SummaryOf<M>>() else {
            unreachable!("summaries are folded where all LPs are")
        };
        wire::write(&std::mem::take(all), to);
    }

    fn read_summaries(&self, from: &mut &[u8]) -> Result<AnySummaries, Malformed> {
        wire::read(from).map(|all| AnySummaries::new(Summaries::<SummaryOf<M>>::Listed(all)))
    }
}

impl<'k, T: WireTraffic, M: WireModel> Codec<'k, T> for Typed<'k, '_, M> {
    fn write(&self, events: ParcelRef<'_, 'k, T>, range: Range<usize>, bytes: usize, to: &mut Room<'_>) -> usize {
        self.kind().view(events).apply(Write { range, bytes, to })
    }

    fn read(&self, count: u32, from: &mut &[u8]) -> Result<Parcel<'k, T>, Malformed> {
        let mut events = parcel::empty(self.form());
        self.kind().view(events.hide()).apply(Read { count, from })?;
        Ok(events)
    }
}

/// Traffic whose events can be written as bytes.
trait WireTraffic: Traffic {
    /// Appends the bytes of an event.
    fn write<'k, P: Packed<'k>, M: Wire + Send + 'static>(
        event: &Event<Self::Message<P>>,
        kind: Kind<'k, M>,
        to: &mut Room<'_>,
    );

    /// Reads an event from the front of `from`.
    fn read<'k, P: Packed<'k>, M: Wire + Send + 'static>(
        kind: Kind<'k, M>,
        from: &mut &[u8],
    ) -> Result<Event<Self::Message<P>>, Malformed>;
}

impl WireTraffic for Conservative {
    #[inline(always)]
    fn write<'k, P: Packed<'k>, M: Wire + Send + 'static>(event: &Event<P>, kind: Kind<'k, M>, to: &mut Room<'_>) {
        let (header, body) = event.parts();
        wire::write(&(header, body.map(|message| kind.open(message.as_message()))), to);
    }

    #[inline(always)]
    fn read<'k, P: Packed<'k>, M: Wire + Send + 'static>(
        kind: Kind<'k, M>,
        from: &mut &[u8],
    ) -> Result<Event<P>, Malformed> {
        let (header, body): (Header, Body<M>) = wire::read(from)?;
        Ok(header.with(body.map(|message| kind.pack(message))))
    }
}

impl WireTraffic for Optimistic {
    #[inline(always)]
    fn write<'k, P: Packed<'k>, M: Wire + Send + 'static>(
        event: &TaggedEvent<P>,
        kind: Kind<'k, M>,
        to: &mut Room<'_>,
    ) {
        let body = body_of(event).map(|body| body.map(|message| kind.open(P::bare_as_message(message))));
        wire::write(&(event.header(), execution_of(event), body), to);
    }

    #[inline(always)]
    fn read<'k, P: Packed<'k>, M: Wire + Send + 'static>(
        kind: Kind<'k, M>,
        from: &mut &[u8],
    ) -> Result<TaggedEvent<P>, Malformed> {
        let (header, execution, body): (Header, ExecutionId, Option<Body<M>>) = wire::read(from)?;
        let tagged = match body {
            None => Tagged::Anti(execution),
            Some(body) => Tagged::new(execution, body.map(|message| kind.pack(message))),
        };
        Ok(header.with(Body::Message(tagged)))
    }
}

/// Writes events of a list.
struct Write<'a, 'b> {
    range: Range<usize>,
    bytes: usize,
    to: &'a mut Room<'b>,
}

impl<T: WireTraffic, M: Wire + Send + 'static> Use<M, Lists<T>> for Write<'_, '_> {
    type Out = usize;

    fn with<'k, P: Packed<'k>>(self, events: &mut Vec<Event<T::Message<P>>>, kind: Kind<'k, M>) -> usize {
        wire::write_up_to(&events[self.range], self.bytes, self.to, |event, to| T::write(event, kind, to))
    }
}

/// Reads a number of events into an empty list.
struct Read<'a, 'b> {
    count: u32,
    from: &'a mut &'b [u8],
}

impl<T: WireTraffic, M: Wire + Send + 'static> Use<M, Lists<T>> for Read<'_, '_> {
    type Out = Result<(), Malformed>;

    fn with<'k, P: Packed<'k>>(
        self,
        events: &mut Vec<Event<T::Message<P>>>,
        kind: Kind<'k, M>,
    ) -> Result<(), Malformed> {
        // The bytes may be wrong, and each event takes several.
        events.reserve(self.from.len().min(self.count as usize));
        (0..self.count).try_for_each(|_| {
            events.push(T::read(kind, self.from)?);
            Ok(())
        })
    }
}
