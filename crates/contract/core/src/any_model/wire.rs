//! The table of a model that several processes can run together.

use super::{AnyModel, Typed};
use crate::event::{Body, TimerId};
use crate::global::{AnyGlobal, AnySummaries, Global, Summaries, SummaryOf};
use crate::model::Model;
use crate::wire::{self, Malformed, Wire};
use parades_raw::message::{Container, Hidden, Kind, MessageRef, Packed, Taggable, Use};

/// A model that several processes can run together. Its messages, its global events and their summaries can
/// cross process boundaries.
pub trait WireModel: Model<Message: Wire, Global: Wire + Global<Self, Summary: Wire>> {}
impl<M: Model<Message: Wire, Global: Wire + Global<M, Summary: Wire>>> WireModel for M {}

/// A model of any type that several processes can run together.
pub trait AnyWire<'k>: AnyModel<'k> {
    /// Appends the bytes of a body, within [`wire::FrameWriter::within`].
    fn write_body(&self, body: Body<MessageRef<'_, 'k>>, to: &mut Vec<u8>);
    /// Reads a body from the front of `from`, within [`wire::read_frame`].
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a body.
    fn read_body(&self, from: &mut &[u8], to: Hidden<'_, 'k, Bodies>) -> Result<(), Malformed>;
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

/// The container of a body that is read.
#[derive(Debug)]
pub enum Bodies {}

impl Container for Bodies {
    type Of<P: Taggable> = Option<Body<P>>;
}

/// A wake, or else a message follows.
type Head = Option<TimerId>;

impl<'k, M: WireModel> AnyWire<'k> for Typed<'k, '_, M> {
    fn write_body(&self, body: Body<MessageRef<'_, 'k>>, to: &mut Vec<u8>) {
        match body {
            Body::Timer(timer) => wire::write::<Head>(&Some(timer), to),
            Body::Message(message) => {
                wire::write::<Head>(&None, to);
                wire::write(self.kind().open(message), to);
            }
        }
    }

    fn read_body(&self, from: &mut &[u8], to: Hidden<'_, 'k, Bodies>) -> Result<(), Malformed> {
        let body = match wire::read::<Head>(from)? {
            Some(timer) => Body::Timer(timer),
            None => Body::Message(wire::read::<M::Message>(from)?),
        };
        self.kind().view(to).apply(Put(body));
        Ok(())
    }

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

/// Puts a body where it is read to.
struct Put<T>(Body<T>);

impl<T: Send + 'static> Use<T, Bodies> for Put<T> {
    type Out = ();

    fn with<'k, P: Packed<'k>>(self, to: &mut Option<Body<P>>, kind: Kind<'k, T>) {
        *to = Some(self.0.map(|message| kind.pack(message)));
    }
}
