//! Derive macros for models: state that records its changes, the function that undoes them, and parameters.
//!
//! The traits, with worked examples, are in `parades_core::restore` and `parades_config::fields`; this crate
//! only writes their implementations.
//!
//! *Read next*: `input` (accepted types), `record` (the record of a change), `view` (the views of handlers),
//! `parameters` (the fields that are parameters).

#![forbid(unsafe_code)]

mod input;
mod model;
mod parameters;
mod record;
mod view;
mod whole;

use input::State;
use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, parse_macro_input};

/// Implements `Undoable` for a struct or an enum from its fields.
///
/// For a struct `Node` it generates, with the visibility of `Node`:
///
/// - `NodeUndo`: a record of one change. It names the field, and holds the record of the field's change.
/// - `NodeMut<'_, R>`: the view that handlers get. It reads as `Node` does. For each field it has a method
///   with the field's name and visibility, which returns the view of the field. The model can add methods:
///   `impl<R: Recorder<NodeUndo>> NodeMut<'_, R> { … }`.
/// - `NodeParts<'_, R>`: the views of all fields, to be used side by side. `NodeMut::split` returns it.
///
/// For an enum, `NodeMut<'_, R>` is an enum with the same variants, whose fields are views. Such a view
/// cannot change the variant. A state whose variant changes is held in an `Option`, or recorded whole.
///
/// Attributes:
///
/// - `#[undoable(whole)]` on the type: plain data, recorded whole. No types are generated. The view is
///   `Tracked<'_, Node, R>`, to which a value is assigned; a type that is not `Copy` needs `Tracked::set`.
/// - `#[undoable(constant)]` on a field: the field never changes. Views can only read it.
/// - `#[undoable(boxed)]` on a field: its records are boxed. It is for large records that are rarely made,
///   since `NodeUndo` has the size of the largest record.
///
/// A generic type states in its own bounds that its fields are `Undoable`.
#[proc_macro_derive(Undoable, attributes(undoable))]
pub fn derive_undoable(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let generated = State::parse(&input).map(|state| {
        if state.is_whole {
            return whole::generate(&state);
        }
        let (record, view) = (record::generate(&state), view::generate(&state));
        quote!(#record #view)
    });
    generated.unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `Restorable` for a model that implements `ByRecord`.
#[proc_macro_derive(Restorable)]
pub fn derive_restorable(input: TokenStream) -> TokenStream {
    model::generate(&parse_macro_input!(input as DeriveInput)).into()
}

/// Implements `FromValues` and `Default` for a struct whose fields are parameters.
///
/// `parades_config::fields` has an example. Each field has an attribute `#[parameter(…)]`, which holds, in
/// any order:
///
/// | word | meaning |
/// |---|---|
/// | `integer`, `float`, `fraction`, `duration`, `size`, `rate`, `boolean`, `choice`, `text`, `path` | the kind: a constructor of `Parameter` |
/// | `skip` | instead of a kind: the field is no parameter, and always has its default |
/// | `group` | instead of a kind: the field is a struct of parameters, which keep their names |
/// | `default = VALUE` | the default, as the constructor takes it; a `path` has none |
/// | `range = LEAST..=MOST` | the range of an `integer` or a `float` |
/// | `of = WORDS` | the words of a `choice` whose field is no enum with `Words` |
/// | `meaning = "TEXT"` | the meaning, as users see it |
/// | `key = "KEY"` | the name for users; otherwise the name of the field |
/// | `unit = "UNIT"` | the unit of a number without one |
/// | `positive` | the value is above 0 |
/// | `changeable` | the value may change during a run, as `Parameter::changeable` says |
/// | `needs = "CONDITION"` | what other parameters must be, as `Parameter::needs` takes it |
/// | `read = FUNCTION` | makes the field from `&Values` and the key; otherwise `FromValue` of the field's type |
///
/// Values of words have no commas outside brackets.
#[proc_macro_derive(Parameters, attributes(parameter))]
pub fn derive_parameters(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    parameters::generate(&input).unwrap_or_else(Error::into_compile_error).into()
}
