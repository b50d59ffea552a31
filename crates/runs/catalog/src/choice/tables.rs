//! The tables of functions by which engines know a model.

use parades_core::any_model::{AnyChecked, AnyModel, AnyRestorable, AnySave, AnyWire, SaveModel, Typed};
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_engine::WireModel;
use std::fmt::Debug;

/// The tables of functions by which engines know a model in a run: one for each ability that its type has.
/// Runs are started from here, so that all code from here on is compiled once, and not once for each model.
#[derive(Clone, Copy)]
pub(crate) struct ModelTables<'k> {
    pub(crate) model: &'k dyn AnyModel<'k>,
    /// The same model, if its executions can be undone.
    pub(crate) undo: Option<UndoTables<'k>>,
    /// The same model, if several processes can run it together.
    pub(crate) wire: Option<&'k dyn AnyWire<'k>>,
    /// The same model, if the states of its LPs can be written.
    pub(crate) save: Option<&'k dyn AnySave<'k>>,
}

/// A model whose executions can be undone.
#[derive(Clone, Copy)]
pub(crate) struct UndoTables<'k> {
    pub(crate) restorable: &'k dyn AnyRestorable<'k>,
    pub(crate) checked: &'k dyn AnyChecked<'k>,
}

impl<'k> ModelTables<'k> {
    /// Returns a model without further abilities.
    pub(crate) fn plain<M: Model>(model: &'k Typed<'k, '_, M>) -> ModelTables<'k> {
        ModelTables { model, undo: None, wire: None, save: None }
    }

    /// Returns the model as one whose executions can be undone.
    pub(crate) fn undoing<M>(self, model: &'k Typed<'k, '_, M>) -> ModelTables<'k>
    where
        M: Restorable<State: Clone + PartialEq + Debug>,
    {
        ModelTables { undo: Some(UndoTables { restorable: model, checked: model }), ..self }
    }

    /// Returns the model as one that several processes can run together.
    pub(crate) fn wired<M: WireModel>(self, model: &'k Typed<'k, '_, M>) -> ModelTables<'k> {
        ModelTables { wire: Some(model), ..self }
    }

    /// Returns the model as one whose runs can be saved.
    pub(crate) fn saving<M: SaveModel>(self, model: &'k Typed<'k, '_, M>) -> ModelTables<'k> {
        ModelTables { save: Some(model), ..self }
    }

    /// Returns the reason why runs of the model cannot be saved, if there is one.
    pub(crate) fn why_not_saved(&self) -> Option<String> {
        match self.save {
            Some(save) => save.can_save().err(),
            None => Some("the states of its logical processes cannot be written".into()),
        }
    }

    /// Returns true if the model restores its states by copy.
    pub(crate) fn copies(&self) -> bool {
        self.undo.is_some_and(|undo| undo.restorable.copies())
    }
}
