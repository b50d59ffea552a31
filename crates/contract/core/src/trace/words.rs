//! The words of a model for an event, without the type of the model.

use crate::digest::Payload;
use crate::escape::Escaping;
use crate::event::{Event, LpId};
use crate::model::{Model, describe_body};
use std::fmt::{self, Write};

/// An event that can be shown, with the names of all LPs.
pub(super) trait Words {
    /// Returns the name of an LP.
    fn name(&self, lp: LpId) -> Option<String>;
    /// Returns the name of a flow.
    fn flow(&self, flow: u32) -> Option<String>;
    /// Writes the body of the event.
    fn describe(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// An event of a model.
pub(super) struct InModel<'a, M: Model> {
    pub(super) model: &'a M,
    pub(super) event: &'a Event<&'a M::Message>,
}

impl<M: Model> Words for InModel<'_, M> {
    fn name(&self, lp: LpId) -> Option<String> {
        self.model.lp_name(lp)
    }

    fn flow(&self, flow: u32) -> Option<String> {
        self.model.flow_name(flow)
    }

    fn describe(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.describe(self.event, to)
    }
}

/// An event without a model, so without names.
pub(super) struct Plain<'a, P>(pub(super) &'a Event<P>);

impl<P: Payload> Words for Plain<'_, P> {
    fn name(&self, _: LpId) -> Option<String> {
        None
    }

    fn flow(&self, _: u32) -> Option<String> {
        None
    }

    fn describe(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe_body(self.0.body.as_ref(), to)
    }
}

/// The body of an event, escaped.
pub(super) struct Body<'a>(pub(super) &'a dyn Words);

impl fmt::Display for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", Unescaped(self.0))
    }
}

struct Unescaped<'a>(&'a dyn Words);

impl fmt::Display for Unescaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe(f)
    }
}
