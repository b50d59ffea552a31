//! What parades generates for models: state that records its changes, and the function that undoes them.
//!
//! The traits and a worked example are in `parades_core::restore`; this crate only writes their implementations.
//!
//! *Read next*: `input`, what is accepted; `record`, the record of a change; `view`, what handlers get.

#![forbid(unsafe_code)]

mod input;
mod model;
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
/// - `NodeUndo`: a record of one change, which says of which field, and holds the record of that field's change.
/// - `NodeMut<'_, R>`: the view that handlers get. It reads as `Node` does. For each field it has a method of the
///   field's name and visibility, which returns the view of the field. Methods of one's own can be added:
///   `impl<R: Recorder<NodeUndo>> NodeMut<'_, R> { … }`.
/// - `NodeParts<'_, R>`, returned by `NodeMut::split`: the views of all fields, to be used side by side.
///
/// For an enum, `NodeMut<'_, R>` is an enum of the same variants, with views of the fields. The variant of such an enum
/// cannot be changed; one that changes belongs in an `Option`, or is recorded whole.
///
/// Attributes:
///
/// - `#[undoable(whole)]` on the type: plain data, recorded whole. No types are generated; the view is
///   `Tracked<'_, Node, R>`, which can be assigned to. The type must be `Copy` for that, else only `Tracked::set` is there.
/// - `#[undoable(constant)]` on a field: never changes. Views show it, and give no way to change it.
/// - `#[undoable(boxed)]` on a field: its records are boxed. For a large one that is rarely made, as the size of
///   `NodeUndo` is that of the largest record.
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
