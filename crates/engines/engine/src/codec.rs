//! The conversion of a model's events to bytes and back, for transports between processes.

use parades_core::any_model::{AnyWire, Hidden, MessageRef, Packed, hide_body, in_form};
use parades_core::event::{Body, Event, Header};
use parades_core::optimistic::{Tagged, TaggedEvent, body_of, execution_of, is_anti_message};
use parades_core::wire::{self, Malformed};
use parades_transport::{Codec, Conservative, Optimistic, Parcel, ParcelRef};
use std::ops::Range;

/// The codec of a model's events.
#[derive(Clone, Copy)]
pub struct ModelCodec<'k>(pub &'k dyn AnyWire<'k>);

impl std::fmt::Debug for ModelCodec<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelCodec").finish_non_exhaustive()
    }
}

impl<'k> ModelCodec<'k> {
    /// Appends the bytes of an event, within [`wire::FrameWriter::within`].
    pub(crate) fn write_event(self, header: Header, body: Body<MessageRef<'_, 'k>>, to: &mut Vec<u8>) {
        wire::write(&header, to);
        self.0.write_body(body, to);
    }

    /// Reads an event from the front of `from`, within [`wire::read_frame`].
    pub(crate) fn read_event<P: Packed<'k>>(self, from: &mut &[u8]) -> Result<Event<P>, Malformed> {
        let header: Header = wire::read(from)?;
        Ok(header.with(self.read_body(from)?))
    }

    fn read_body<P: Packed<'k>>(self, from: &mut &[u8]) -> Result<Body<P>, Malformed> {
        let mut body = None;
        self.0.read_body(from, Hidden::new(&mut body))?;
        Ok(body.expect("it has been read"))
    }
}

impl<'k> Codec<'k, Conservative> for ModelCodec<'k> {
    fn write(&self, events: ParcelRef<'_, 'k, Conservative>, range: Range<usize>, to: &mut Vec<u8>) {
        fn write_in<'k, P: Packed<'k>>(
            codec: ModelCodec<'k>,
            events: ParcelRef<'_, 'k, Conservative>,
            range: Range<usize>,
            to: &mut Vec<u8>,
        ) {
            let events = &events.show::<P>()[range];
            events.iter().for_each(|event| codec.write_event(event.header(), hide_body(&event.body), to));
        }
        in_form!(events.form(), write_in(*self, events, range, to));
    }

    fn read(&self, count: u32, from: &mut &[u8]) -> Result<Parcel<'k, Conservative>, Malformed> {
        fn read_in<'k, P: Packed<'k>>(
            codec: ModelCodec<'k>,
            count: u32,
            from: &mut &[u8],
        ) -> Result<Parcel<'k, Conservative>, Malformed> {
            let events = (0..count).map(|_| codec.read_event(from));
            events.collect::<Result<Vec<Event<P>>, _>>().map(Parcel::new::<P>)
        }
        in_form!(self.0.form(), read_in(*self, count, from))
    }
}

/// Returns the body of an event with the message by reference, or `None` for an anti-message.
#[inline(always)]
pub(crate) fn hide_unless_anti<'a, 'k, P: Packed<'k>>(event: &'a TaggedEvent<P>) -> Option<Body<MessageRef<'a, 'k>>> {
    body_of(event).map(|body| body.map(P::bare_as_message))
}

/// The codec of a model's events under an engine that rolls back.
#[derive(Clone, Copy, Debug)]
pub struct TaggedCodec<'k>(pub ModelCodec<'k>);

impl<'k> TaggedCodec<'k> {
    fn write_event<P: Packed<'k>>(self, event: &TaggedEvent<P>, to: &mut Vec<u8>) {
        wire::write(&(event.header(), execution_of(event), is_anti_message(event)), to);
        if let Some(body) = hide_unless_anti(event) {
            self.0.0.write_body(body, to);
        }
    }

    fn read_event<P: Packed<'k>>(self, from: &mut &[u8]) -> Result<TaggedEvent<P>, Malformed> {
        let (header, execution, is_anti): (Header, _, _) = wire::read(from)?;
        let tagged = if is_anti { Tagged::Anti(execution) } else { Tagged::new(execution, self.0.read_body(from)?) };
        Ok(header.with(Body::Message(tagged)))
    }
}

impl<'k> Codec<'k, Optimistic> for TaggedCodec<'k> {
    fn write(&self, events: ParcelRef<'_, 'k, Optimistic>, range: Range<usize>, to: &mut Vec<u8>) {
        fn write_in<'k, P: Packed<'k>>(
            codec: TaggedCodec<'k>,
            events: ParcelRef<'_, 'k, Optimistic>,
            range: Range<usize>,
            to: &mut Vec<u8>,
        ) {
            events.show::<P>()[range].iter().for_each(|event| codec.write_event::<P>(event, to));
        }
        in_form!(events.form(), write_in(*self, events, range, to));
    }

    fn read(&self, count: u32, from: &mut &[u8]) -> Result<Parcel<'k, Optimistic>, Malformed> {
        fn read_in<'k, P: Packed<'k>>(
            codec: TaggedCodec<'k>,
            count: u32,
            from: &mut &[u8],
        ) -> Result<Parcel<'k, Optimistic>, Malformed> {
            let events = (0..count).map(|_| codec.read_event::<P>(from));
            events.collect::<Result<Vec<TaggedEvent<P>>, _>>().map(Parcel::new::<P>)
        }
        in_form!(self.0.0.form(), read_in(*self, count, from))
    }
}
