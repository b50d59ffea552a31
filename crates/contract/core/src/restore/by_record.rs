//! The link between undoable state and a model.

use super::{Recorder, Undoable};
use crate::event::Body;
use crate::model::{Context, Model};

/// A model restored from records of single changes, which its state makes by itself ([`Undoable`]).
///
/// The handler is written once, over a view of the state. Two more lines make the model complete:
/// [`Model::handle`] calls [`ByRecord::execute`] with [`Undoable::unrecorded`], and `#[derive(Restorable)]`
/// on the model implements [`super::Restorable`]. That implementation is derived because the language allows
/// only one blanket implementation, which [`super::ByCopy`] has.
pub trait ByRecord: Model<State: Undoable<Undo: Send>> {
    /// Executes an event, as [`Model::handle`] does.
    fn execute<R: Recorder<<Self::State as Undoable>::Undo>>(
        &self,
        state: <Self::State as Undoable>::View<'_, R>,
        event: Body<&Self::Message>,
        ctx: &mut Context<'_, Self>,
    );
}
