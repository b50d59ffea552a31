//! A model in a run, with the abilities that its type gives it.

use parades_core::any_model::{AnyChecked, AnyModel, AnyRestorable, AnyWire, Typed};
use parades_core::model::Model;
use parades_core::restore::Restorable;
use parades_engine::WireModel;
use std::fmt::Debug;

/// A model in a run, with the abilities that its type gives it. Runs are started from here, so that all that
/// follows is compiled once, and not once for each model.
#[derive(Clone, Copy)]
pub(crate) struct Able<'k> {
    pub(crate) model: &'k dyn AnyModel<'k>,
    /// The same model, if its executions can be undone.
    pub(crate) undoes: Option<Undoes<'k>>,
    /// The same model, if several processes can run it together.
    pub(crate) wire: Option<&'k dyn AnyWire<'k>>,
}

/// A model whose executions can be undone.
#[derive(Clone, Copy)]
pub(crate) struct Undoes<'k> {
    pub(crate) restorable: &'k dyn AnyRestorable<'k>,
    pub(crate) checked: &'k dyn AnyChecked<'k>,
}

impl<'k> Able<'k> {
    /// Returns a model without further abilities.
    pub(crate) fn plain<M: Model>(model: &'k Typed<'k, '_, M>) -> Able<'k> {
        Able { model, undoes: None, wire: None }
    }

    /// Returns the model as one whose executions can be undone.
    pub(crate) fn undoing<M>(self, model: &'k Typed<'k, '_, M>) -> Able<'k>
    where
        M: Restorable<State: Clone + PartialEq + Debug>,
    {
        Able { undoes: Some(Undoes { restorable: model, checked: model }), ..self }
    }

    /// Returns the model as one that several processes can run together.
    pub(crate) fn wired<M: WireModel>(self, model: &'k Typed<'k, '_, M>) -> Able<'k> {
        Able { wire: Some(model), ..self }
    }

    /// Returns true if the model restores its states by copy.
    pub(crate) fn copies(&self) -> bool {
        self.undoes.is_some_and(|undoes| undoes.restorable.copies())
    }
}
