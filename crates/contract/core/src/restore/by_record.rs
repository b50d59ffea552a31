//! The link between undoable state and a model.

use super::{Recorder, Undoable};
use crate::event::Body;
use crate::model::{Context, Model};

/// A model restored from records of single changes, which its state makes by itself ([`Undoable`]).
///
/// The handler is written once, over a view of the state. Two more lines make the model complete: [`Model::handle`] calls
/// it with [`Undoable::unrecorded`], and `#[derive(Restorable)]` on the model implements [`super::Restorable`]. A trait
/// of one's own and a derive, since a second blanket implementation beside that for [`super::ByCopy`] is not allowed.
pub trait ByRecord: Model<State: Undoable<Undo: Send>> {
    /// Executes an event.
    fn execute<R: Recorder<<Self::State as Undoable>::Undo>>(
        &self,
        state: <Self::State as Undoable>::View<'_, R>,
        event: Body<&Self::Message>,
        ctx: &mut Context<'_, Self>,
    );
}
