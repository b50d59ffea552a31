//! The conversion of a model's events to bytes and back, for transports between processes.

use parades_core::any_model::{AnyWire, Hidden, MessageRef, Packed, hide_body};
use parades_core::event::{Body, Event, Header};
use parades_core::optimistic::{Tagged, TaggedEvent, body_of, execution_of, is_anti_message};
use parades_core::wire::{self, Malformed};
use parades_transport::Codec;

/// The codec of a model's events.
#[derive(Clone, Copy)]
pub struct ModelCodec<'k>(pub &'k dyn AnyWire<'k>);

impl std::fmt::Debug for ModelCodec<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelCodec").finish_non_exhaustive()
    }
}

impl<'k> ModelCodec<'k> {
    fn read_body<P: Packed<'k>>(self, from: &mut &[u8]) -> Result<Body<P>, Malformed> {
        let mut body = None;
        self.0.read_body(from, Hidden::new(&mut body))?;
        Ok(body.expect("it has been read"))
    }
}

impl<'k, P: Packed<'k>> Codec<P> for ModelCodec<'k> {
    fn write(&self, event: &Event<P>, to: &mut Vec<u8>) {
        wire::write(&event.header(), to);
        self.0.write_body(hide_body(&event.body), to);
    }

    fn read(&self, from: &mut &[u8]) -> Result<Event<P>, Malformed> {
        let header: Header = wire::read(from)?;
        Ok(header.with(self.read_body(from)?))
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

impl<'k, P: Packed<'k>> Codec<Tagged<P>> for TaggedCodec<'k> {
    fn write(&self, event: &TaggedEvent<P>, to: &mut Vec<u8>) {
        wire::write(&(event.header(), execution_of(event), is_anti_message(event)), to);
        if let Some(body) = hide_unless_anti(event) {
            self.0.0.write_body(body, to);
        }
    }

    fn read(&self, from: &mut &[u8]) -> Result<TaggedEvent<P>, Malformed> {
        let (header, execution, is_anti): (Header, _, _) = wire::read(from)?;
        let tagged = if is_anti { Tagged::Anti(execution) } else { Tagged::new(execution, self.0.read_body(from)?) };
        Ok(header.with(Body::Message(tagged)))
    }
}
